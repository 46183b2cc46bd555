//! Multipart forms as browsers and scripts send them (docs/api/README.md, "Multipart forms"), for
//! every call that takes them.

use base64::Engine;
use serde_json::{Value, json};

use crate::harness::*;

/// Returns the part that a browser sends for a file input without a chosen file.
fn unchosen(part: &str) -> File<'_> {
    (part, "", "application/octet-stream", b"")
}

fn editor() -> Client {
    Server::shared().user("editor")
}

fn bytes_of(client: &Client, object: &Value) -> Vec<u8> {
    client.call("stet-object-content-get", &[&object.as_str().expect("it has an id")]).send().body
}

#[test]
fn a_file_that_nobody_has_chosen_changes_nothing_of_a_post() {
    let (editor, folder) = (editor(), own_folder());
    let blog = editor.liveblog(&folder, "night");
    let none = [unchosen("content"), unchosen("attachments")];
    let call = |files: &[File<'_>]| editor.call("liveblog-post-create", &[&blog]).form(&json!({}), files).send();
    assert_eq!(call(&none).fails(400, "InvalidBody")["details"]["part"], "content", "a post needs a content");
    let page: File<'_> = ("content", "post.xml", "text/xml", b"<p>the editor's words</p>");
    let post = call(&[page, unchosen("attachments")]).ok();
    assert_eq!(post["attachments"], json!([]));

    let id = post["info"]["id"].as_str().expect("it has an id");
    let put = |summary: &str, files: &[File<'_>]| {
        let options = json!({ "summary": summary });
        editor.call("liveblog-post-put", &[&blog, &id]).form(&options, files).ok()
    };
    let changed = put("in short", &none);
    assert_eq!((&changed["content"], &changed["attachments"]), (&json!("<p>the editor's words</p>"), &json!([])));
    assert_eq!((&changed["summary"], &changed["info"]["version"]), (&json!("in short"), &json!(1)));

    // A file that has a name was chosen, though there is nothing in it.
    let empty: [File<'_>; 2] = [("content", "p.txt", "text/plain", b""), ("attachments", "a.txt", "text/plain", b"")];
    let emptied = put("in short", &empty);
    assert_eq!((&emptied["content"], &emptied["info"]["version"]), (&json!(""), &json!(2)));
    includes(&emptied["attachments"], &json!([{ "name": "a.txt", "size": 0 }]));
}

#[test]
fn a_file_that_nobody_has_chosen_is_no_content_of_an_object_either() {
    let (editor, folder) = (editor(), own_folder());
    let none = [unchosen("content")];
    let create =
        |options: &Value, files: &[File<'_>]| editor.call("stet-object-create-post", &[]).form(options, files).send();
    let options = json!({ "name": "a.xml", "folderPath": folder });
    let made = create(&options, &[("content", "a.xml", "text/xml", b"<story/>")]).ok();
    for mode in ["REPLACE", "NEW_VERSION"] {
        let met = json!({ "name": "a.xml", "folderPath": folder, "suid": mode, "createMode": mode });
        let after = create(&met, &none).ok();
        assert_eq!((&after["id"], &after["version"]), (&made["id"], &made["version"]), "{mode}");
        assert_eq!(bytes_of(&editor, &made["id"]), b"<story/>", "{mode}");
    }
    let new = create(&json!({ "name": "b.xml", "folderPath": folder }), &none);
    includes(&new.ok(), &json!({ "type": "Story", "version": 0 }));
    // Nothing is called as a file that is not there.
    create(&json!({ "folderPath": folder }), &none).fails(400, "InvalidName");

    let story = editor.call("stet-old-object-story-post", &[]).form(&json!({ "folderPath": folder }), &none).send();
    let begin = json!("/SysConfig/Product/Shared/Templates/Default/story.xml");
    assert!(story.status == 200 && bytes_of(&editor, &story.json()["id"]) == bytes_of(&editor, &begin), "{story:?}");

    let uuid = uuid::Uuid::now_v7().to_string();
    let taken_over = json!({ "uuid": uuid, "name": "c.xml", "type": "Story", "folderPath": folder });
    let admin = Server::shared().user("admin");
    let imported = admin.call("stet-object-import-post", &[]).form(&taken_over, &none).ok();
    includes(&imported["info"], &json!({ "name": "c.xml", "version": 0 }));
}

/// A form of parts as they stand on the wire: what heads each, and its bytes.
fn parts<'c>(call: Call<'c>, parts: &[(&str, &str)]) -> Call<'c> {
    let part =
        |(head, bytes): &(&str, &str)| format!("--b\r\ncontent-disposition: form-data; {head}\r\n\r\n{bytes}\r\n");
    let body = parts.iter().map(part).collect::<String>();
    call.bytes("multipart/form-data; boundary=b", format!("{body}--b--\r\n"))
}

#[test]
fn a_post_without_a_content_type_is_read_found_and_shown_like_xml() {
    let (editor, folder) = (editor(), own_folder());
    let blog = editor.liveblog(&folder, "night");
    let post = |head: &str, text: &str| {
        parts(editor.call("liveblog-post-create", &[&blog]), &[(&format!("name=\"content\"{head}"), text)]).ok()
    };
    let told = "\r\ncontent-type: text/xml";
    let mut posts = Vec::new();
    for head in ["", "; filename=\"post\"", "; filename=\"post.xml\"", "; filename=\"post.unknown\"", told] {
        let text = "\u{feff}\n<p>the <b>Ferry</b> is late</p>";
        let made = post(head, text);
        assert_eq!(made["info"]["virtualAttributes"]["contentType"], "text/xml", "{head}");
        assert_eq!(made["content"], text.trim_start_matches('\u{feff}'), "{head}");
        posts.push(made["info"]["id"].clone());
    }
    let search = json!({ "filters": { "text": ["ferry is"] } });
    let found = editor.call("liveblog-search-post", &[&blog]).json(&search).ok();
    assert_eq!(found["total"], posts.len());
    let resolved = editor.call("liveblog-content-get", &[&blog]).send();
    let resolved = String::from_utf8(resolved.body).expect("it is text");
    let as_xml = "<content contentType=\"text/xml\" form=\"xml\"><p>the <b>Ferry</b> is late</p></content>";
    assert_eq!(resolved.matches(as_xml).count(), posts.len(), "{resolved}");

    // Any other beginning means text, unless the name has another type. An invalid type counts as
    // none.
    for (head, text, kind) in [
        ("", "1 < 2", "text/plain"),
        ("; filename=\"a\"\r\ncontent-type: ?", "1 < 2", "text/plain"),
        ("", "", "text/plain"),
        ("; filename=\"a.html\"", "<p>x", "text/html"),
        ("; filename=\"a.HTM\"", "x", "text/html"),
        ("; filename=\"a.json\"", "{}", "application/json"),
    ] {
        let made = post(head, text);
        assert_eq!((&made["info"]["virtualAttributes"]["contentType"], &made["content"]), (&json!(kind), &json!(text)));
    }
    let beside = [
        ("name=\"attachments\"; filename=\"map.png\"", "x"),
        ("name=\"attachments\"; filename=\"LICENSE\"", "free"),
        ("name=\"attachments\"", "<svg/>"),
    ];
    let put = editor.call("liveblog-post-put", &[&blog, &posts[0].as_str().expect("it has an id")]);
    let attached = parts(put, &beside).ok()["attachments"].clone();
    let kinds: Vec<_> = attached.as_array().unwrap().iter().map(|file| &file["contentType"]).collect();
    assert_eq!(kinds, ["image/png", "text/plain", "text/xml"]);
}

#[test]
fn an_object_without_a_content_type_infers_it_from_file_or_object_name() {
    let (editor, folder) = (editor(), own_folder());
    for (file, name, bytes, kind, content_type) in [
        ("", "a.xml", "<story/>", "Story", "text/xml"),
        ("", "b", "<story/>", "Story", "text/xml"),
        ("; filename=\"c.txt\"", "c.xml", "<story/>", "Text", "text/plain"),
        ("; filename=\"d\"", "d.jpg", "\u{1}", "Image", "image/jpeg"),
        ("; filename=\"\"", "e.json", "{}", "WireItem", "application/json"),
        ("", "f", "words", "Text", "text/plain"),
    ] {
        let head = format!("name=\"content\"{file}");
        let options = json!({ "name": name, "folderPath": folder }).to_string();
        let form = [(head.as_str(), bytes), ("name=\"options\"", options.as_str())];
        let made = parts(editor.call("stet-object-create-post", &[]), &form).ok();
        includes(&made, &json!({ "type": kind, "virtualAttributes": { "contentType": content_type } }));
    }
    let admin = Server::shared().user("admin");
    let uuid = uuid::Uuid::now_v7().to_string();
    let options = json!({ "uuid": uuid, "name": "i.html", "type": "Story", "folderPath": folder }).to_string();
    let form = [("name=\"content\"", "<p>x</p>"), ("name=\"options\"", options.as_str())];
    let imported = parts(admin.call("stet-object-import-post", &[]), &form).ok();
    assert_eq!(imported["info"]["virtualAttributes"]["contentType"], "text/html");
}

/// Creates an object by a form of `options` and a `content` with this head.
fn created(client: &Client, options: &Value, head: &str, bytes: &str) -> Answer {
    let options = options.to_string();
    let form = [("name=\"options\"", options.as_str()), (head, bytes)];
    parts(client.call("stet-object-create-post", &[]), &form).send()
}

#[test]
fn an_encoded_part_is_decoded_whatever_call_takes_it() {
    let (editor, folder) = (editor(), own_folder());
    let (base64, quoted) = ("content-transfer-encoding: base64", "Content-Transfer-Encoding: Quoted-Printable");
    let head = |encoding: &str| format!("name=\"content\"; filename=\"a.xml\"\r\n{encoding}");
    for (name, encoding, text, bytes) in [
        ("a.xml", base64, "PHN0b3J5Pk\r\nbDpGhyZTwvc3Rvcnk+\r\n", "<story>Fähre</story>"),
        ("b.xml", quoted, "<story>F=C3=A4hre =\r\nlate</story>", "<story>Fähre late</story>"),
        ("c.xml", "content-transfer-encoding: 8bit", "<story>Fähre=20</story>", "<story>Fähre=20</story>"),
        ("d.xml", "content-transfer-encoding: binary", "PHN0b3J5Lz4=", "PHN0b3J5Lz4="),
        ("e.xml", "content-transfer-encoding: base64\r\ncontent-length: 12", "PHN0b3J5Lz4=", "<story/>"),
    ] {
        let made = created(&editor, &json!({ "name": name, "folderPath": folder }), &head(encoding), text).ok();
        assert_eq!(bytes_of(&editor, &made["id"]), bytes.as_bytes(), "{name}");
        assert_eq!(made["virtualAttributes"]["size"], bytes.len(), "{name}");
    }
    // Guesses go by the bytes that the text stands for, and options may be encoded too.
    let options = json!({ "name": "guessed", "folderPath": folder }).to_string();
    let options = base64::engine::general_purpose::STANDARD.encode(options);
    let heads = [format!("name=\"options\"\r\n{base64}"), format!("name=\"content\"\r\n{base64}")];
    let form = [(heads[0].as_str(), options.as_str()), (heads[1].as_str(), "PHN0b3J5Lz4=")];
    let made = parts(editor.call("stet-object-create-post", &[]), &form).ok();
    includes(&made, &json!({ "name": "guessed", "virtualAttributes": { "contentType": "text/xml" } }));

    let blog = editor.liveblog(&folder, "night");
    let encoded =
        |part: &str, text: &str| (format!("name=\"{part}\"; filename=\"p.xml\"\r\n{base64}"), text.to_owned());
    let form = [encoded("content", "PHA+RsOkaHJlPC9wPg=="), encoded("attachments", "YWJj")];
    let form = form.each_ref().map(|(head, text)| (head.as_str(), text.as_str()));
    let post = parts(editor.call("liveblog-post-create", &[&blog]), &form).ok();
    assert_eq!(post["content"], "<p>Fähre</p>");
    includes(&post["attachments"], &json!([{ "name": "p.xml", "size": 3 }]));
}

#[test]
fn a_form_of_a_mail_library_is_read() {
    let (editor, folder) = (editor(), own_folder());
    let options = json!({ "folderPath": folder });
    let body = format!(
        "------=_Part_0_1\r\nContent-Type: application/json; charset=UTF-8\r\nContent-Transfer-Encoding: 7bit\r\n\
         Content-Disposition: form-data; name=options\r\n\r\n{options}\r\n\
         ------=_Part_0_1\r\nContent-Type: text/xml; charset=UTF-8; \r\n\tname=\"=?UTF-8?Q?F=C3=A4hre.xml?=\"\r\n\
         Content-Transfer-Encoding: base64\r\nContent-Disposition: form-data; name=content; \r\n\
         \tfilename=\"=?UTF-8?Q?F=C3=A4hre_im_?=\r\n =?UTF-8?Q?Hafen.xml?=\"\r\n\r\nPHN0b3J5Lz4=\r\n------=_Part_0_1--\r\n"
    );
    let call = editor.call("stet-object-create-post", &[]);
    let made = call.bytes("multipart/form-data; boundary=----=_Part_0_1", body).ok();
    assert_eq!(made["name"], "Fähre im Hafen.xml");
    assert_eq!(bytes_of(&editor, &made["id"]), b"<story/>");
}

#[test]
fn a_part_that_can_not_be_decoded_is_refused_by_name() {
    let (editor, folder) = (editor(), own_folder());
    let options = json!({ "name": "a.xml", "folderPath": folder });
    for (encoding, text, part) in [
        ("x-uuencode", "x", "`x-uuencode`"),
        ("base64", "<a/>", "base64"),
        ("base64", "PGEvPg", "within a group"),
        ("quoted-printable", "a=zz", "quoted-printable"),
    ] {
        let head = format!("name=\"content\"; filename=\"a.xml\"\r\ncontent-transfer-encoding: {encoding}");
        let error = created(&editor, &options, &head, text).fails(400, "InvalidBody");
        assert_eq!(error["details"]["part"], "content");
        says(&error, part);
    }
    let form = [("name=\"options\"\r\ncontent-transfer-encoding: gzip", "x"), ("name=\"content\"", "x")];
    let error = parts(editor.call("stet-object-create-post", &[]), &form).fails(400, "InvalidBody");
    assert_eq!(error["details"]["part"], "options");
    editor.call("object-get", &[&format!("{folder}/a.xml")]).fails(404, "ObjectNotFound");
}

#[test]
fn decoded_and_encoded_bytes_of_a_part_are_both_bounded() {
    let server = Server::with(&[("LIMITS__UPLOAD_BYTES", "3000")]);
    let admin = server.user("admin");
    let head = "name=\"content\"; filename=\"a.txt\"\r\ncontent-transfer-encoding: base64";
    let options = |name: &str| json!({ "name": name, "folderPath": "/" });
    let lines = "YWJj\r\n".repeat(1000);
    assert_eq!(created(&admin, &options("a.txt"), head, &lines).ok()["virtualAttributes"]["size"], 3000);
    created(&admin, &options("b.txt"), head, &(lines + "YQ==")).fails(413, "TooLarge");
    created(&admin, &options("c.txt"), head, &"\r\n".repeat(20_000)).fails(413, "TooLarge");
}

#[test]
fn a_file_is_called_as_its_client_encodes_the_name() {
    let (editor, folder) = (editor(), own_folder());
    for (name, expected) in [
        ("filename*=utf-8''F%C3%A4hre.xml", "Fähre.xml"),
        ("filename=\"=?utf-8?B?Qm9vdC54bWw=?=\"; filename*=utf-8''F%C3%A4hre2.xml", "Fähre2.xml"),
        ("filename=\"=?utf-8?Q?F=C3=A4hre3.xml?=\"", "Fähre3.xml"),
        ("filename*=iso-8859-1''F%E4hre4.xml", "Fähre4.xml"),
        ("filename=\"Fähre5.xml\"", "Fähre5.xml"),
        ("filename=\"C:\\Desk\\new\\ferry.xml\"", "ferry.xml"),
        ("filename=\"desk/new/ferry2.xml\"", "ferry2.xml"),
        ("filename=ferry3.xml", "ferry3.xml"),
        ("filename=\"a%22b.xml\"", "a_b.xml"),
        ("filename=\"a\\\"c.xml\"", "a_c.xml"),
    ] {
        let made = created(&editor, &json!({ "folderPath": folder }), &format!("name=\"content\"; {name}"), "x").ok();
        let expected = json!({ "name": expected, "virtualAttributes": { "contentType": "text/xml" } });
        includes(&made, &expected);
    }
    for (name, status, code) in [
        ("filename*=koi8-r''a.xml", 400, "InvalidBody"),
        ("filename*=utf-8''%FF.xml", 400, "InvalidBody"),
        ("filename*=a.xml", 400, "InvalidBody"),
        ("filename=\"a/\"; x=\"", 400, "InvalidBody"),
        ("filename=\"dir/..\"", 400, "InvalidName"),
    ] {
        let form = format!("name=\"content\"; {name}");
        created(&editor, &json!({ "folderPath": folder }), &form, "x").fails(status, code);
    }
    let blog = editor.liveblog(&folder, "night");
    let attached = "name=\"attachments\"; filename*=utf-8''F%C3%A4hre.png";
    let post = parts(editor.call("liveblog-post-create", &[&blog]), &[("name=\"content\"", "x"), (attached, "y")]).ok();
    includes(&post["attachments"], &json!([{ "name": "Fähre.png", "contentType": "image/png" }]));
}

#[test]
fn a_boundary_is_taken_without_quotes_or_the_answer_asks_for_them() {
    let (editor, folder) = (editor(), own_folder());
    let send = |boundary: &str, content_type: &str, name: &str| {
        let options = json!({ "name": name, "folderPath": folder });
        let body = format!(
            "--{boundary}\r\ncontent-disposition: form-data; name=\"options\"\r\n\r\n{options}\r\n--{boundary}--\r\n"
        );
        editor.call("stet-object-create-post", &[]).bytes(content_type, body).send()
    };
    let java = "----=_Part_0_1330685.1342696";
    send(java, &format!("multipart/form-data; boundary={java}"), "a.xml").ok();
    send(java, &format!("multipart/form-data; charset=utf-8; Boundary=\"{java}\""), "b.xml").ok();
    send("a b;c", "multipart/form-data; boundary=\"a b;c\"", "c.xml").ok();
    for content_type in ["multipart/form-data; boundary=a b", "multipart/form-data; boundary=a;b"] {
        says(&send("a b", content_type, "d.xml").fails(400, "InvalidBody"), "must be quoted");
    }
}
