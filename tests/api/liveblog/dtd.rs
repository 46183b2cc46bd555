//! `showDtd`: of a liveblog's content and of any other object's.

use roxmltree::{Document, ParsingOptions};

use super::*;

fn parsed(xml: &[u8]) -> Document<'_> {
    let text = std::str::from_utf8(xml).expect("it is UTF-8");
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    Document::parse_with_options(text, options).unwrap_or_else(|error| panic!("{error}:\n{text}"))
}

/// An object with these bytes; the path of its content.
fn object(client: &Client, folder: &str, name: &str, bytes: &[u8]) -> String {
    let options =
        json!({ "name": name, "type": "Story", "folderPath": folder, "options": { "createMode": "REPLACE" } });
    let made = client.upload("/v3/object/create", &options, Some((name, "text/xml", bytes))).ok();
    format!("/v3/object/{}/content", encoded(made["id"].as_str().expect("it has an id")))
}

fn read(client: &Client, path: &str) -> Answer {
    let answer = client.get(path);
    assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
    answer
}

#[test]
fn the_dtd_stands_in_a_liveblogs_content_resolved_or_raw() {
    let blog = Blog::new();
    blog.post(&json!({ "title": "x" }), "x");
    let plain = blog.path("/content");
    for raw in ["false", "true"] {
        let path = format!("{plain}?raw={raw}");
        let (without, with) = (read(&blog.editor, &path), read(&blog.editor, &format!("{path}&showDtd=true")));
        let text = String::from_utf8(with.body.clone()).unwrap();
        assert!(text.contains("<!DOCTYPE liveblog [\n<!-- DTD of a live blog"), "{text}");
        assert!(text.contains("<!ELEMENT em (#PCDATA)>") && !text.contains("SYSTEM"), "{text}");
        let posts = |xml: &[u8]| parsed(xml).descendants().filter(|node| node.has_tag_name("post")).count();
        assert_eq!((posts(&with.body), posts(&without.body)), if raw == "true" { (0, 0) } else { (2, 2) });
        let behind = |body: &[u8]| String::from_utf8_lossy(body).split_once("<liveblog>").unwrap().1.to_owned();
        assert_eq!(behind(&with.body), behind(&without.body), "the rest is as it was");
        assert_ne!(with.header("etag"), without.header("etag"));
        let part = [("range", "bytes=30-400"), ("if-range", with.header("etag").unwrap())];
        let part = blog.editor.send("GET", &format!("{path}&showDtd=true"), &part, b"");
        assert!(part.status == 206 && part.body == with.body[30..=400]);
    }
}

#[test]
fn the_dtd_of_an_object_is_that_of_the_repository_as_it_is_now() {
    let editor = Server::shared().login("editor");
    let folder = own_folder();
    object(&editor, &folder, "a.dtd", b"<?xml version='1.0'?><!ENTITY x 'first'><!ENTITY y 'why'>");
    let document = format!(
        "\u{feff}<?xml version='1.0'?><!DOCTYPE a PUBLIC '-//a' '{folder}/a.dtd' [<!ENTITY y 'own'>]><a>&x; &y;</a>"
    );
    let path = object(&editor, &folder, "a.xml", document.as_bytes());
    assert!(read(&editor, &path).body == document.as_bytes(), "nobody asked for it");
    let shown = format!("{path}?showDtd=true");
    let first = read(&editor, &shown);
    assert_eq!(parsed(&first.body).root_element().text(), Some("first own"));
    let tag = first.header("etag").unwrap().to_owned();
    let again = || editor.send("GET", &shown, &[("if-none-match", &tag)], b"");
    assert_eq!(again().status, 304);
    let by_loid = format!("/v3/object/loid/content?showDtd=1&loid={}", path.split('/').nth(3).unwrap());
    assert!(read(&editor, &by_loid).body == first.body);
    object(&editor, &folder, "a.dtd", b"<!ENTITY x 'second'>");
    assert_eq!(parsed(&again().body).root_element().text(), Some("second own"));
    let head = editor.send("HEAD", &shown, &[], b"");
    assert_eq!(head.header("content-length"), Some(&*again().body.len().to_string()));
}

#[test]
fn a_document_whose_dtd_can_not_be_had_is_served_as_it_is_stored() {
    let server = Server::start();
    let (admin, reporter) = (server.login("admin"), server.login("reporter"));
    let group = json!({ "groupName": "desk", "members": ["reporter"], "privileges": [{ "privilege": "read", "folder": "/Desk" }] });
    admin.post("/v3/folder", &json!({ "path": "/Desk" })).ok();
    admin.post("/v3/group/create", &group).ok();
    admin.post("/v3/group/update", &json!({ "groupName": "reporters", "members": [] })).ok();
    object(&admin, "/Hidden", "a.dtd", b"<!ENTITY x 'secret'>");
    object(&admin, "/Desk", "bad.dtd", b"<![INCLUDE[<!ENTITY x 'y'>]]>");
    object(&admin, "/Desk", "latin.dtd", b"<!ENTITY x '\xf6'>");
    object(&admin, "/Desk", "end.dtd", b"]><!--");
    let far = format!("<!-- {} --><!DOCTYPE a SYSTEM '/Desk/a.dtd'><a/>", "x".repeat(70_000));
    object(&admin, "/Desk", "a.dtd", b"<!ENTITY x 'y'>");
    let mut number = 0;
    let mut unchanged = |client: &Client, document: &[u8]| {
        number += 1;
        let path = object(&admin, "/Desk", &format!("{number}.xml"), document);
        read(client, &format!("{path}?showDtd=true")).body == document
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
