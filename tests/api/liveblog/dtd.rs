//! `showDtd`: of a liveblog's content and of any other object's.

use super::*;

/// An object with these bytes; its loid.
fn object(client: &Client, folder: &str, name: &str, bytes: &[u8]) -> String {
    let mode = json!({ "createMode": "REPLACE" });
    let options = json!({ "name": name, "type": "Story", "folderPath": folder, "options": mode });
    let files = [("content", name, "text/xml", bytes)];
    let made = client.call("stet-object-create-post", &[]).form(&options, &files).ok();
    made["id"].as_str().expect("it has an id").to_owned()
}

/// The content of an object with its DTD.
fn shown<'c>(client: &'c Client, loid: &str) -> Call<'c> {
    client.call("stet-object-content-get", &[&loid]).query("showDtd", true)
}

#[test]
fn the_dtd_stands_in_a_liveblogs_content_resolved_or_raw() {
    let blog = Blog::new();
    blog.post(&json!({ "title": "x" }), "x");
    for raw in [false, true] {
        let plain = || blog.content().query("raw", raw);
        let shown = || plain().query("showDtd", true);
        let (without, with) = (served(&plain()), served(&shown()));
        let text = String::from_utf8(with.body.clone()).unwrap();
        assert!(text.contains("<!DOCTYPE liveblog [\n<!-- DTD of a live blog"), "{text}");
        assert!(text.contains("<!ELEMENT em (#PCDATA)>") && !text.contains("SYSTEM"), "{text}");
        let posts = |xml: &[u8]| parsed(xml).descendants().filter(|node| node.has_tag_name("post")).count();
        assert_eq!((posts(&with.body), posts(&without.body)), if raw { (0, 0) } else { (2, 2) });
        let behind = |body: &[u8]| String::from_utf8_lossy(body).split_once("<liveblog>").unwrap().1.to_owned();
        assert_eq!(behind(&with.body), behind(&without.body), "the rest is as it was");
        assert_ne!(tag(&with), tag(&without));
        let part = shown().header("range", "bytes=30-400").header("if-range", tag(&with)).send();
        assert!(part.status == 206 && part.body == with.body[30..=400]);
    }
}

#[test]
fn the_dtd_of_an_object_is_that_of_the_repository_as_it_is_now() {
    let (editor, folder) = (user("editor"), own_folder());
    object(&editor, &folder, "a.dtd", b"<?xml version='1.0'?><!ENTITY x 'first'><!ENTITY y 'why'>");
    let document = format!(
        "\u{feff}<?xml version='1.0'?><!DOCTYPE a PUBLIC '-//a' '{folder}/a.dtd' [<!ENTITY y 'own'>]><a>&x; &y;</a>"
    );
    let loid = object(&editor, &folder, "a.xml", document.as_bytes());
    let plain = editor.call("stet-object-content-get", &[&loid]);
    assert!(served(&plain).body == document.as_bytes(), "nobody asked for it");
    let shown = shown(&editor, &loid);
    let first = served(&shown);
    assert_eq!(parsed(&first.body).root_element().text(), Some("first own"));
    let again = || shown.clone().header("if-none-match", tag(&first)).send();
    assert_eq!(again().status, 304);
    let by_loid = editor.call("stet-object-loid-content-get", &[]).query("showDtd", 1).query("loid", &loid);
    assert!(served(&by_loid).body == first.body);
    object(&editor, &folder, "a.dtd", b"<!ENTITY x 'second'>");
    let second = again();
    assert_eq!(parsed(&second.body).root_element().text(), Some("second own"));
    let head = editor.send("HEAD", &format!("/v3/object/{}/content?showDtd=true", encoded(&loid)), &[], b"");
    assert_eq!(head.header("content-length"), Some(&*second.body.len().to_string()));
}

#[test]
fn a_document_whose_dtd_can_not_be_had_is_served_as_it_is_stored() {
    let server = Server::start();
    let (admin, reporter) = (server.user("admin"), reporter_below(&server, "/Desk", &["read"]));
    object(&admin, "/Hidden", "a.dtd", b"<!ENTITY x 'secret'>");
    object(&admin, "/Desk", "bad.dtd", b"<![INCLUDE[<!ENTITY x 'y'>]]>");
    object(&admin, "/Desk", "latin.dtd", b"<!ENTITY x '\xf6'>");
    object(&admin, "/Desk", "end.dtd", b"]><!--");
    let far = format!("<!-- {} --><!DOCTYPE a SYSTEM '/Desk/a.dtd'><a/>", "x".repeat(70_000));
    object(&admin, "/Desk", "a.dtd", b"<!ENTITY x 'y'>");
    let mut number = 0;
    let mut unchanged = |client: &Client, document: &[u8]| {
        number += 1;
        let loid = object(&admin, "/Desk", &format!("{number}.xml"), document);
        served(&shown(client, &loid)).body == document
    };
    for system in [
        "/nowhere.dtd",
        "/Desk",
        "/Desk/bad.dtd",
        "/Desk/latin.dtd",
        "/Desk/end.dtd",
        "a.dtd",
        "",
        "file:///etc/passwd",
        "http://127.0.0.1:1/a.dtd",
        "1$1.0.999999999",
        "%",
    ] {
        let document = format!("<!DOCTYPE a SYSTEM '{system}'><a>&x;</a>");
        assert!(unchanged(&admin, document.as_bytes()), "{system}");
    }
    for document in ["<a/>", "<!DOCTYPE a><a/>", "no XML", "", "<!DOCTYPE a SYSTEM '/Desk/a.dtd'", &far] {
        assert!(unchanged(&admin, document.as_bytes()), "{document:.60}");
    }
    let hidden = b"<!DOCTYPE a SYSTEM '/Hidden/a.dtd'><a>&x;</a>";
    assert!(unchanged(&reporter, hidden), "whoever may not read the DTD is not shown it");
    assert!(!unchanged(&admin, hidden));
    assert!(!unchanged(&reporter, b"<!DOCTYPE a SYSTEM '/Desk/a.dtd'><a>&x;</a>"));
}
