//! Writing a liveblog's content: check-out, write and check-in as one step (docs/api/content.md, "Writing content").

use super::*;

/// A liveblog with the content `<one/>`, and the editor in another session, and a reader.
fn desk() -> (Blog, Client, Client) {
    let blog = Blog::new();
    write(&blog.editor, &blog, "", "<one/>").ok();
    (blog, Server::shared().login("editor"), Server::shared().login("reader"))
}

fn write(client: &Client, blog: &Blog, query: &str, content: &str) -> Answer {
    client.send("PUT", &blog.path(&format!("?{query}")), &[], content.as_bytes())
}

/// Version, content as this client reads it, and who has it locked.
fn state(client: &Client, blog: &Blog) -> (u64, String, Value) {
    let info = blog.read(client, "")["info"].clone();
    let raw = client.get(&blog.path("/content?raw=true"));
    assert_eq!(raw.status, 200);
    let version = info["version"].as_u64().expect("a record has a version");
    (version, String::from_utf8(raw.body).expect("it is text"), info["locker"]["id"].clone())
}

fn is(version: u64, content: &str, locker: Option<&str>) -> (u64, String, Value) {
    (version, content.to_owned(), json!(locker))
}

#[test]
fn the_reply_is_the_liveblog_without_posts() {
    let (blog, _, reader) = desk();
    blog.post(&json!({ "title": "x" }), "x");
    let answer = write(&blog.editor, &blog, "showPath=true&newVersion=true", "<two/>");
    let tag = answer.header("etag").expect("it has an ETag").to_owned();
    let reply = answer.ok();
    assert_eq!((&reply["info"]["id"], &reply["info"]["version"]), (&json!(blog.loid), &json!(2)));
    assert_eq!(reply["info"]["path"], format!("{}/night", blog.folder));
    assert_eq!((&reply["items"], &reply["total"]), (&json!([]), &json!(1)));
    assert_eq!(reply["revision"], blog.read(&reader, "")["revision"]);
    assert_eq!(reply["info"]["postCounts"]["approved"], 1);
    let write = blog.editor.send("PUT", &blog.path(""), &[("if-match", &tag)], b"<three/>");
    assert_eq!(write.ok()["info"]["version"], 2);
    blog.editor.send("PUT", &blog.path(""), &[("if-match", &tag)], b"<late/>").fails(412, "PreconditionFailed");
    assert_eq!(state(&reader, &blog), is(2, "<three/>", None));
}

#[test]
fn every_switch_does_what_it_says() {
    let (blog, _, reader) = desk();
    let by_editor = |query: &str, content: &str| write(&blog.editor, &blog, query, content).ok();
    by_editor("newVersion=true", "<two/>");
    assert_eq!(state(&reader, &blog), is(2, "<two/>", None), "newVersion adds one");
    by_editor("", "<three/>");
    assert_eq!(state(&reader, &blog), is(2, "<three/>", None), "without it the latest is replaced");
    by_editor("checkOut=true&checkIn=true", "<four/>");
    assert_eq!(state(&reader, &blog), is(2, "<four/>", None), "from the unlocked state and back");
    by_editor("checkOut=true&keepCheckedOut=true", "<five/>");
    assert_eq!(state(&reader, &blog), is(2, "<five/>", Some("editor")), "keepCheckedOut keeps the lock");
    by_editor("checkIn=false", "<draft/>");
    assert_eq!(state(&reader, &blog), is(2, "<five/>", Some("editor")), "nobody else sees a draft");
    assert_eq!(state(&blog.editor, &blog), is(2, "<draft/>", Some("editor")));
    by_editor("checkIn=false&unlock=true", "<later/>");
    assert_eq!(state(&blog.editor, &blog), is(2, "<five/>", None), "unlock releases the lock and keeps the draft");
    by_editor("checkOut=true&checkIn=false", "");
    assert_eq!(state(&blog.editor, &blog), is(2, "<later/>", Some("editor")), "a check-out goes on from the draft");
    by_editor("checkOutClean=true&checkIn=false", "");
    assert_eq!(state(&blog.editor, &blog), is(2, "<five/>", Some("editor")), "a clean one from the latest version");
    by_editor("checkIn=false", "<last/>");
    by_editor("newVersion=true", "");
    assert_eq!(state(&reader, &blog), is(3, "<last/>", None), "without a body the draft is checked in");
    by_editor("checkIn=false", "<saved/>");
    assert_eq!(
        state(&reader, &blog),
        is(3, "<last/>", None),
        "without a lock it is taken and released within the step"
    );
}

#[test]
fn the_four_refusals_of_locks_change_nothing() {
    let (blog, twin, reader) = desk();
    let admin = Server::shared().login("admin");
    for (query, body) in [("", ""), ("checkIn=false", ""), ("newVersion=true", "{}"), ("keepCheckedOut=true", "")] {
        let error = write(&blog.editor, &blog, query, body).fails_on(query, 403, "ObjectNotCheckedOut");
        assert_eq!(error["source"], blog.loid);
    }
    let unlock = |client: &Client| client.post(&format!("/v3/object/{}/unlock", encoded(&blog.loid)), &json!({}));
    unlock(&blog.editor).fails(403, "ObjectNotLocked");
    write(&blog.editor, &blog, "checkOut=true&checkIn=false", "<draft/>").ok();
    let before = blog.read(&reader, "");
    for query in ["", "checkIn=false", "checkOut=true", "checkOutClean=true", "checkIn=false&unlock=true"] {
        for body in ["<other/>", ""] {
            write(&twin, &blog, query, body).fails_on(query, 403, "ObjectLockedByMe");
            write(&admin, &blog, query, body).fails_on(query, 403, "ObjectLocked");
        }
    }
    unlock(&twin).fails(403, "ObjectLockedByMe");
    unlock(&admin).fails(403, "ObjectLocked");
    assert_eq!(blog.read(&reader, ""), before);
    assert_eq!(state(&blog.editor, &blog), is(1, "<draft/>", Some("editor")));
    // Posts are no part of what is locked.
    blog.post_by(&admin, &json!({ "title": "x" }), "x");
}

#[test]
fn a_content_must_be_well_formed_xml() {
    let (blog, _, reader) = desk();
    let before = blog.read(&reader, "");
    let deep = format!("{}{}", "<a>".repeat(65), "</a>".repeat(65));
    for (content, place) in [
        ("no XML", "byte 0"),
        ("<a>", "byte 0"),
        ("<a></b>", "byte 3"),
        ("<a/><b/>", "byte 4"),
        ("<a>&x;</a>", "byte 3"),
        ("<a b='1' b='2'/>", "byte 9"),
        ("  ", "byte 2"),
        ("{\"a\": 1}", "byte 0"),
        (deep.as_str(), "byte 192"),
    ] {
        for query in ["", "checkOut=true&checkIn=false"] {
            let error = write(&blog.editor, &blog, query, content).fails_on(content, 400, "InvalidBody");
            let message = error["message"].as_str().unwrap();
            assert!(message.contains("well-formed XML") && message.contains(place), "{content}: {message}");
        }
    }
    let latin = blog.editor.send("PUT", &blog.path(""), &[], b"<a>\xf6</a>").fails(400, "InvalidBody");
    assert!(latin["message"].as_str().unwrap().contains("byte 3"), "{latin}");
    assert_eq!(blog.read(&reader, ""), before);
    for (said, kept) in [
        ("text/xml; charset=utf-8", "text/xml; charset=utf-8"),
        ("application/octet-stream", "text/xml; charset=utf-8"),
        ("application/json", "text/xml; charset=utf-8"),
        ("application/xhtml+xml", "application/xhtml+xml"),
    ] {
        blog.editor.send("PUT", &blog.path(""), &[("content-type", said)], b"<a/>").ok();
        assert_eq!(reader.get(&blog.path("/content?raw=1")).header("content-type"), Some(kept));
    }
}

#[test]
fn who_may_not_write_and_what_is_no_liveblog_is_refused() {
    let (blog, _, reader) = desk();
    write(&reader, &blog, "", "<a/>").fails(403, "PermissionDenied");
    let version = format!("/v3/container/liveblog/{}", encoded(&blog.loid.replace(".0.", ".1.")));
    blog.editor.send("PUT", &version, &[], b"<a/>").fails(400, "InvalidType");
    let story = blog.editor.story(&blog.folder, "a.xml");
    blog.editor.send("PUT", &format!("/v3/container/liveblog/{story}"), &[], b"<a/>").fails(400, "InvalidType");
    blog.editor.send("PUT", "/v3/container/liveblog/%2Fnowhere", &[], b"<a/>").fails(404, "ObjectNotFound");
    write(&blog.editor, &blog, "checkIn=perhaps", "<a/>").fails(400, "InvalidParameter");
    assert_eq!(state(&reader, &blog), is(1, "<one/>", None));
    blog.editor.delete(&blog.path("")).ok();
    write(&blog.editor, &blog, "", "<a/>").fails(404, "ObjectNotFound");
}
