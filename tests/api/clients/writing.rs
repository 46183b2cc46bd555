//! A story's XML sent to `/object/story`.

use super::*;

fn write(desk: &Client, query: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
    let headers = [&[("content-type", "text/xml")], headers].concat();
    desk.send("POST", &format!("/object/story?{query}"), &headers, body)
}

fn versions(desk: &Client, id: &str) -> usize {
    result(desk.get(&format!("/v3/object/{id}/versions")))["items"].as_array().expect("there are versions").len()
}

fn content(desk: &Client, id: &str) -> String {
    String::from_utf8_lossy(&desk.get(&format!("/v3/object/{id}/content")).body).into_owned()
}

#[test]
fn story_is_written_as_a_new_version_and_stays_checked_out() {
    let server = server_with(&[]);
    let desk = desk(&server, "editor");
    let id = id_of(&result(create(&desk, &story("a.xml", json!(1)))));
    let answer = write(&desk, &format!("id={id}&newVersion=true"), &[], b"<story>one</story>");
    assert_eq!((answer.status, answer.json()), (200, json!({ "result": "ok" })));
    assert_eq!((versions(&desk, &id), content(&desk, &id).as_str()), (2, "<story>one</story>"));
    assert_eq!(record(&desk, &id)["locker"]["id"], "editor");
    // Without the switch the latest is replaced.
    assert_eq!(write(&desk, &format!("id={id}"), &[], b"<story>two</story>").status, 200);
    assert_eq!((versions(&desk, &id), content(&desk, &id).as_str()), (2, "<story>two</story>"));
    // Sent again under its key it is done once.
    let key = [("idempotency-key", "once")];
    for _ in 0..2 {
        let answer = write(&desk, &format!("id={id}&newVersion=true"), &key, b"<story>three</story>");
        assert_eq!((answer.status, answer.json()), (200, json!({ "result": "ok" })));
    }
    assert_eq!(versions(&desk, &id), 3);
    let other = write(&desk, &format!("id={id}&newVersion=true"), &key, b"<story>four</story>");
    assert_eq!(refusal(&other), refused(422, "IdempotencyMismatch"));
}

#[test]
fn story_that_nobody_has_checked_out_is_free_afterwards() {
    let server = server_with(&[]);
    let desk = desk(&server, "editor");
    let mut body = story("a.xml", json!(1));
    body["options"]["keepCheckedOut"] = json!(false);
    let id = id_of(&result(create(&desk, &body)));
    assert_eq!(write(&desk, &format!("id={id}&newVersion=true"), &[], b"<story/>").status, 200);
    assert_eq!((versions(&desk, &id), &record(&desk, &id)["locker"]), (2, &Value::Null));
}

#[test]
fn write_of_a_story_is_refused_to_all_others() {
    let server = server_with(&[]);
    let [editor, second, reporter, reader] = ["editor", "editor", "reporter", "reader"].map(|user| desk(&server, user));
    let id = id_of(&result(create(&editor, &story("a.xml", json!(1)))));
    let query = format!("id={id}&newVersion=true");
    assert_eq!(refusal(&write(&reporter, &query, &[], b"<story/>")), refused(400, "ObjectLocked"));
    assert_eq!(refusal(&write(&second, &query, &[], b"<story/>")), refused(400, "ObjectLockedByMe"));
    assert_eq!(refusal(&write(&reader, &query, &[], b"<story/>")), refused(401, "PermissionDenied"));
    assert_eq!(refusal(&write(&editor, "id=1$1.0.99999999", &[], b"<story/>")), refused(404, "ObjectNotFound"));
    assert_eq!(refusal(&write(&editor, "id=story", &[], b"<story/>")), refused(400, "InvalidParameter"));
    assert_eq!(refusal(&write(&editor, &query, &[], b"")), refused(400, "InvalidBody"));
    let stale = [("if-match", "\"1-1$1.0.1\"")];
    assert_eq!(refusal(&write(&editor, &query, &stale, b"<story/>")), refused(412, "PreconditionFailed"));
    // A form is no content, and a content without an id is no creation.
    let form = [("content-type", "multipart/form-data; boundary=b")];
    let as_form = editor.send("POST", &format!("/object/story?{query}"), &form, b"--b--\r\n");
    assert_eq!(refusal(&as_form), refused(400, "InvalidBody"));
    let nameless = write(&editor, "newVersion=true", &[], b"<story/>");
    assert_eq!(refusal(&nameless), refused(400, "InvalidBody"));
    assert!(nameless.json()["message"].as_str().is_some_and(|message| message.contains("`id`")), "{nameless:?}");
    assert_eq!(versions(&editor, &id), 1);
}

#[test]
fn write_of_a_story_needs_write_and_no_right_to_create() {
    let server = server_with(&[]);
    let (editor, admin) = (desk(&server, "editor"), admin(&server));
    let mut body = story("a.xml", json!(1));
    body["options"]["keepCheckedOut"] = json!(false);
    let id = id_of(&result(create(&editor, &body)));
    let privileges = json!([{ "privilege": "read" }, { "privilege": "write" }]);
    let group = json!({ "groupName": "subs", "members": ["reader"], "privileges": privileges });
    result(admin.post("/v3/group/create", &group));
    let sub = desk(&server, "reader");
    assert_eq!(write(&sub, &format!("id={id}&newVersion=true"), &[], b"<story/>").status, 200);
    let form = b"--b\r\ncontent-disposition: form-data; name=\"options\"\r\n\r\n{\"name\":\"b.xml\"}\r\n--b--\r\n";
    let created = sub.send("POST", "/object/story", &[("content-type", "multipart/form-data; boundary=b")], form);
    assert_eq!(refusal(&created), refused(401, "PermissionDenied"));
}
