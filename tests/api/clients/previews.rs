//! Previews of stories on pages, and the pictures that clients read of them.

use image::GrayImage;
use stet_testkit::Pdf;

use super::*;

const SENTENCE: &str = "Under a bright morning sky the harbour ferry came in late, and nobody on the quay was amused.";

/// The XML of a story, as editors write it.
fn xml(headline: &str, paragraphs: usize) -> String {
    let text = format!("<p>{SENTENCE} <b>Ms</b> Møller &amp; Σία – Дом.</p>").repeat(paragraphs);
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<doc><story><headline><p>{headline}</p></headline>{text}</story></doc>"
    )
}

/// A story of the desk; its loid.
fn new_story(desk: &Client) -> String {
    let mut body = story("preview.xml", json!(1));
    body["options"]["keepCheckedOut"] = json!(false);
    id_of(&result(create(desk, &body)))
}

/// The body that a client sends.
fn request(id: &str, content: &str) -> Value {
    json!({
        "requestID": "preview-1", "content": content, "pgx": null, "op": "preview", "forcePdfCreation": false,
        "parameters": { "id": id, "border": "yes", "hrefPdf": "", "channel": null, "lid": null, "page": null },
    })
}

fn preview(desk: &Client, id: &str, get_pdf: bool, body: &Value) -> Answer {
    desk.post(&format!("/v3/printService/createStoryPreview?id={id}&getPdf={get_pdf}"), body)
}

/// The loid that the query of an address names, as clients put it together.
fn loid_in(address: &str) -> String {
    let (_, query) = address.split_once('?').expect("an address has a query");
    let value = |name: &str| {
        let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.find(|(known, _)| *known == name).map(|(_, value)| value.to_owned()).expect("the query names a loid")
    };
    format!("{}${}", value("dbid"), value("eomid"))
}

/// Reads an address of the server.
fn followed(desk: &Client, address: &Value) -> Answer {
    let address = address.as_str().expect("a text");
    let answer = desk.get(address.strip_prefix(&desk.base).expect("it is the address that the client uses"));
    assert_eq!(answer.status, 200, "{answer:?}");
    answer
}

/// The picture that a client shows.
fn lowres(desk: &Client, result: &Value) -> GrayImage {
    let loid = loid_in(result["hrefPdf"].as_str().expect("there is an address"));
    assert_eq!(result["id"], loid);
    let answer = desk.get(&format!("/v3/object/{loid}/content/lowres?maxSize=4"));
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("image/jpeg")), "{answer:?}");
    image::load_from_memory(&answer.body).expect("it is a picture").into_luma8()
}

/// The share of dark pixels in a part of a picture, from top to bottom in hundredths.
fn darkness(picture: &GrayImage, from: u32, to: u32) -> f64 {
    let (width, height) = picture.dimensions();
    let rows = height * from / 100..height * to / 100;
    let dark = rows.clone().flat_map(|y| (0..width).map(move |x| (x, y)));
    let dark = dark.filter(|(x, y)| picture.get_pixel(*x, *y).0[0] < 140).count();
    dark as f64 / f64::from(rows.len() as u32 * width)
}

#[test]
fn preview_is_a_picture_and_a_pdf_of_the_text_that_is_sent() {
    let server = server_with(&[]);
    let desk = desk(&server, "editor");
    let id = new_story(&desk);
    let made = result(preview(&desk, &id, true, &request(&id, &xml("Harbour ferry", 30))));
    let picture = lowres(&desk, &made);
    assert_eq!(picture.dimensions(), (361, 512));
    // The headline, the text, and the space between frame and text; then another text.
    assert!(darkness(&picture, 8, 12) > 0.03, "{}", darkness(&picture, 8, 12));
    assert!(darkness(&picture, 20, 80) > 0.03, "{}", darkness(&picture, 20, 80));
    assert!(darkness(&picture, 4, 7) < 0.01);
    let whole = desk.get(&format!("/v3/object/{}/content/binary", id_of(&made)));
    let whole = image::load_from_memory(&whole.body).expect("it is a picture").into_luma8();
    assert_eq!(whole.dimensions(), (840, 1190));

    let file = followed(&desk, &made["hrefPdf"]);
    assert_eq!(file.header("content-type"), Some("application/pdf"));
    assert!(file.body.starts_with(b"%PDF-"));
    let pages = Pdf::read(&file.body).pages;
    assert_eq!(made["pages"], pages.len());
    assert!(pages.len() > 1 && pages[0].starts_with("Harbour ferry\n"), "{}", pages[0]);
    let lines: Vec<&str> = pages.iter().flat_map(|page| page.lines()).filter(|line| line.len() > 2).collect();
    let text = lines.join(" ");
    assert_eq!(text.matches(&format!("{SENTENCE} Ms Møller & Σία – Дом.")).count(), 30, "{text}");
    assert_eq!(id_of(&record(&desk, made["pdfId"].as_str().expect("there is a PDF"))), made["pdfId"]);

    // Another text, another page, and no frame are other pictures.
    let mut pictures = vec![picture];
    let mut body = request(&id, &xml("Harbour ferry", 30));
    for (place, value) in [("page", json!(2)), ("border", json!("no")), ("border", Value::Null)] {
        body["parameters"][place] = value;
        pictures.push(lowres(&desk, &result(preview(&desk, &id, false, &body))));
    }
    pictures.push(lowres(&desk, &result(preview(&desk, &id, false, &request(&id, &xml("Night ferry", 30))))));
    let differ = |a: usize, b: usize| pictures[a] != pictures[b];
    assert!(differ(0, 1) && differ(1, 2) && differ(0, 4) && !differ(2, 3));
}

#[test]
fn preview_made_anew_replaces_the_one_before() {
    let server = server_with(&[]);
    let (mine, other) = (desk(&server, "editor"), desk(&server, "reporter"));
    let id = new_story(&mine);
    let first = result(preview(&mine, &id, false, &request(&id, &xml("One", 3))));
    assert_eq!((&first["pdfId"], &first["pages"]), (&Value::Null, &json!(1)));
    let png = followed(&mine, &first["hrefPdf"]);
    assert_eq!(png.header("content-type"), Some("image/png"));
    let shown = result(mine.get(&format!("/v3/object/{}?showPath=true", id_of(&first))));
    assert_eq!(
        (&shown["path"], &shown["type"]),
        (&json!(format!("/Users/editor/Previews/{id}.png")), &json!("Image")),
        "{shown}"
    );

    let mut body = request(&id, &xml("Two", 3));
    body["forcePdfCreation"] = json!(true);
    let second = result(preview(&mine, &id, false, &body));
    assert_eq!(id_of(&second), id_of(&first));
    assert_ne!(lowres(&mine, &second), image::load_from_memory(&png.body).expect("a picture").into_luma8());
    let pdf = second["pdfId"].clone();
    assert!(Pdf::read(&followed(&mine, &second["hrefPdf"]).body).pages[0].starts_with("Two\n"));
    let third = result(preview(&mine, &id, true, &request(&id, &xml("Three", 3))));
    assert_eq!((id_of(&third), &third["pdfId"]), (id_of(&first), &pdf));
    assert!(Pdf::read(&followed(&mine, &third["hrefPdf"]).body).pages[0].starts_with("Three\n"));
    // No versions gather, and there are no more objects.
    let versions = result(mine.get(&format!("/v3/object/{}/versions", id_of(&first))));
    assert_eq!(versions["total"], 1, "{versions}");
    let folder = result(mine.get("/v3/folder/%2FUsers%2Feditor%2FPreviews"));
    assert_eq!(folder["items"].as_array().map(Vec::len), Some(2), "{folder}");
    // Another caller has one of their own.
    let others = result(preview(&other, &id, false, &request(&id, &xml("Two", 3))));
    assert_ne!(id_of(&others), id_of(&first));
}

#[test]
fn preview_that_is_sent_again_or_held_to_a_tag_is_made_once() {
    let server = server_with(&[]);
    let desk = desk(&server, "editor");
    let id = new_story(&desk);
    let body = request(&id, &xml("One", 3)).to_string();
    let send = |headers: &[(&str, &str)]| {
        let headers = [&[("content-type", "application/json")], headers].concat();
        desk.send(
            "POST",
            &format!("/v3/printService/createStoryPreview?id={id}&getPdf=true"),
            &headers,
            body.as_bytes(),
        )
    };
    let first = send(&[("idempotency-key", "once")]);
    let made = first.json()["result"].clone();
    let picture = id_of(&made);
    let tag = |id: &str| desk.get(&format!("/v3/object/{id}")).header("etag").expect("a record has an ETag").to_owned();
    let before = tag(&picture);
    let again = send(&[("idempotency-key", "once")]);
    assert_eq!((again.status, &again.body, tag(&picture)), (200, &first.body, before.clone()));
    // It speaks of the picture, and not of the PDF beside it.
    let pdf = made["pdfId"].as_str().expect("there is a PDF").to_owned();
    let (held, held_pdf) = (send(&[("if-match", &tag(&pdf))]), tag(&pdf));
    assert_eq!(
        (refusal(&held), tag(&picture), tag(&pdf)),
        (refused(412, "PreconditionFailed"), before.clone(), held_pdf)
    );
    assert_eq!(send(&[("if-match", &before)]).status, 200);
}

#[test]
fn preview_refuses_what_is_no_story_and_stores_nothing() {
    let server = server_with(&[]);
    let desk = desk(&server, "editor");
    let id = new_story(&desk);
    let with = |change: &dyn Fn(&mut Value)| {
        let mut body = request(&id, "<story/>");
        change(&mut body);
        body
    };
    for (body, says) in [
        (with(&|body| body["content"] = json!("<story><p>One</story>")), &["`content`", "byte"][..]),
        (with(&|body| body["content"] = json!("")), &["`content`", "byte"]),
        (with(&|body| body["content"] = json!("<p>&entity;</p>")), &["`content`", "entity"]),
        (with(&|body| body["content"] = json!("<a>".repeat(1000))), &["`content`", "levels"]),
        (with(&|body| body["content"] = Value::Null), &["content"]),
        (with(&|body| drop(body.as_object_mut().expect("an object").remove("content"))), &["content"]),
        (with(&|body| body["op"] = json!("print")), &["print", "preview"]),
        (with(&|body| body["forcePdfCreation"] = json!("perhaps")), &["forcePdfCreation"]),
        (with(&|body| body["parameters"]["page"] = json!(0)), &["parameters.page", "1 or more"]),
        (with(&|body| body["parameters"]["page"] = json!("0")), &["parameters.page", "1 or more"]),
        (with(&|body| body["parameters"]["page"] = json!(-1)), &["page"]),
    ] {
        let answer = preview(&desk, &id, true, &body);
        assert_eq!(refusal(&answer), refused(400, "InvalidBody"), "{body}");
        let text = String::from_utf8_lossy(&answer.body).into_owned();
        assert!(says.iter().all(|part| text.contains(part)), "{says:?}: {text}");
    }
    let body = request(&id, "<story/>");
    assert_eq!(refusal(&preview(&desk, "1$1.0.99999999", true, &body)), refused(404, "ObjectNotFound"));
    assert_eq!(refusal(&preview(&desk, "nonsense", true, &body)), refused(400, "InvalidParameter"));
    let nowhere = desk.post("/v3/printService/createStoryPreview", &body);
    assert_eq!(refusal(&nowhere), refused(400, "InvalidParameter"));
    assert_eq!(refusal(&desk.get("/v3/folder/%2FUsers%2Feditor%2FPreviews")), refused(404, "ObjectNotFound"));
}

#[test]
fn preview_takes_what_clients_leave_out_or_add() {
    let server = server_with(&[]);
    let desk = desk(&server, "editor");
    let id = new_story(&desk);
    let least = result(preview(&desk, &id, false, &json!({ "content": "<story/>" })));
    assert_eq!(darkness(&lowres(&desk, &least), 0, 100), 0.0);
    let mut body = request(&id, &xml("Pages", 30));
    body["pgx"] = json!("<pgx/>");
    body["op"] = Value::Null;
    body["unknown"] = json!(true);
    body["parameters"]["page"] = json!("99");
    let answer = preview(&desk, &id, false, &body);
    let warnings = answer.json()["warnings"].clone();
    let names: Vec<&str> =
        warnings.as_array().into_iter().flatten().filter_map(|warning| warning["name"].as_str()).collect();
    assert_eq!((answer.status, &names[..]), (200, &["$.unknown", "$.parameters.page"][..]), "{warnings}");
    // The id of a page of a newspaper.
    body["parameters"]["page"] = json!(id);
    assert_eq!(preview(&desk, &id, false, &body).status, 200);
    // By path; the answer is the same object.
    let shown = result(desk.get(&format!("/v3/object/{id}?showPath=true")));
    let path = shown["path"].as_str().expect("a story has a path");
    let by_path = result(preview(&desk, &path.replace('/', "%2F"), false, &body));
    assert_eq!(id_of(&by_path), id_of(&least));
}

#[test]
fn preview_of_a_megabyte_is_bounded_and_others_are_served() {
    // They wait for each other, on a busy machine for longer than people would.
    let server = server_with(&[("CONTENT__SCALING_WAIT_SECONDS", "300")]);
    let desk = desk(&server, "editor");
    let id = new_story(&desk);
    let long = request(&id, &xml("Long", 8000));
    let one_word = request(&id, &format!("<story>{}</story>", "x".repeat(1 << 20)));
    let many = request(&id, &format!("<story>{}</story>", "<p>a</p><h2>b</h2>".repeat(60_000)));
    assert!(long.to_string().len() > 1 << 20);
    std::thread::scope(|scope| {
        let calls: Vec<_> =
            [&long, &one_word, &many].map(|body| scope.spawn(|| preview(&desk, &id, true, body))).into_iter().collect();
        while !calls.iter().all(std::thread::ScopedJoinHandle::is_finished) {
            assert_eq!(desk.get(&format!("/v3/object/{id}")).status, 200);
        }
        for call in calls {
            let answer = call.join().expect("the call is answered");
            let said = answer.json();
            let warning = said["warnings"][0]["message"].as_str().unwrap_or_default();
            assert!(warning.contains("40 pages"), "{said}");
            assert_eq!(result(answer)["pages"], 40);
        }
    });
}

#[test]
fn preview_needs_to_read_the_story_and_to_create_in_the_home() {
    let server = server_with(&[]);
    let (admin, editor) = (admin(&server), desk(&server, "editor"));
    let hidden = new_story(&editor);
    let open = editor.story("/Top/Open", "open.xml");
    let grant = |privileges: Value| {
        let members = |group: &str, members: Value| json!({ "groupName": group, "members": members });
        result(admin.post("/v3/group/update", &members("reporters", json!([]))));
        let mut group = members("few", json!(["reporter"]));
        group["privileges"] = privileges;
        if admin.post("/v3/group/create", &group).status != 200 {
            result(admin.post("/v3/group/update", &group));
        }
    };
    let of = |privilege: &str| json!({ "privilege": privilege, "folder": "/Top/Open" });
    grant(json!([of("read"), of("create"), of("write")]));
    let few = desk(&server, "reporter");
    let send = |id: &str| preview(&few, id, true, &request(id, "<story><p>One</p></story>"));
    assert_eq!(refusal(&send(&hidden)), refused(404, "ObjectNotFound"));
    let made = result(send(&open));
    assert_eq!(few.get(&format!("/v3/object/{}", id_of(&made))).status, 200);
    grant(json!([of("read")]));
    assert_eq!(refusal(&send(&open)), refused(403, "PermissionDenied"));
}

#[test]
fn preview_without_a_type_for_pictures_is_refused() {
    let server = server_with(&[]);
    let (admin, desk) = (admin(&server), desk(&server, "editor"));
    let id = new_story(&desk);
    let types = "/v3/object/%2FSysConfig%2FObjectTypes%2Fobjecttypes.xml/content";
    let text = String::from_utf8(admin.get(types).body).expect("it is a text");
    let without = |text: &str, parts: &[&str]| parts.iter().fold(text.to_owned(), |text, part| text.replace(part, ""));
    let send = |text: &str| {
        assert_eq!(admin.send("PUT", types, &[("content-type", "text/xml")], text.as_bytes()).status, 200);
        assert_eq!(admin.get("/v3/conf/cache/refresh").status, 200);
        preview(&desk, &id, false, &request(&id, "<story/>"))
    };
    // Pictures are unspecific files, and then nothing.
    let unspecific = without(&text, &["<contentType>image/png</contentType>", "<extension>png</extension>"]);
    let made = result(send(&unspecific));
    assert_eq!(record(&desk, &id_of(&made))["type"], "Binary");
    let answer = send(&without(&unspecific, &["<contentType>application/octet-stream</contentType>"]));
    assert_eq!(refusal(&answer).1, "EOM.TypeNotFound", "{answer:?}");
}
