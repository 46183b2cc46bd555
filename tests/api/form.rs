//! Forms as browsers and scripts send them (docs/api/README.md, "Multipart forms"), whatever call takes them.

use serde_json::{Value, json};

use crate::harness::*;

/// What a browser sends of a place for a file in which nobody has chosen one.
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
fn a_post_of_which_no_type_is_told_is_read_found_and_shown_as_one_of_xml_is() {
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

    // What begins otherwise is text, unless its name tells something else; and what can't be a type is none.
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
fn an_object_of_which_no_type_is_told_has_that_of_its_file_or_of_its_own_name() {
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
