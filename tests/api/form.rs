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
