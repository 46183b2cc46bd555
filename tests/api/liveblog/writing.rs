//! Writing a liveblog's content: check-out, write and check-in as one step (docs/api/content.md,
//! "Writing content").

use super::*;

/// A liveblog with the content `<one/>`, and a reader.
fn desk() -> (Blog, Client) {
    let blog = Blog::new();
    blog.write("<one/>").ok();
    (blog, user("reader"))
}

/// Version, content as this client reads it, and who has it locked.
fn state(client: &Client, blog: &Blog) -> (u64, String, Value) {
    let info = blog.read().by(client).ok()["info"].take();
    let raw = text(&blog.content().by(client).query("raw", true));
    (info["version"].as_u64().expect("a record has a version"), raw, info["locker"]["id"].clone())
}

fn is(version: u64, content: &str, locker: Option<&str>) -> (u64, String, Value) {
    (version, content.to_owned(), json!(locker))
}

#[test]
fn the_reply_is_the_liveblog_without_posts() {
    let (blog, reader) = desk();
    blog.post(&json!({ "title": "x" }), "x");
    let answer = with(blog.write("<two/>"), "showPath=true&newVersion=true").send();
    let tag = tag(&answer);
    let info = json!({ "id": blog.loid, "version": 2, "path": format!("{}/night", blog.folder),
        "postCounts": { "approved": 1 } });
    let revision = blog.read().by(&reader).ok()["revision"].clone();
    includes(&answer.ok(), &json!({ "info": info, "items": [], "total": 1, "revision": revision }));
    blog.write("<three/>").header("if-match", &tag).gives(&json!({ "info": { "version": 2 } }));
    blog.write("<late/>").header("if-match", &tag).fails(412, "PreconditionFailed");
    assert_eq!(state(&reader, &blog), is(2, "<three/>", None));
}

#[test]
fn every_switch_does_what_it_says() {
    let (blog, reader) = desk();
    let (editor, kept, none) = (&blog.editor, Some("editor"), None);
    for (query, content, who, version, seen, locker, rule) in [
        ("newVersion=true", "<two/>", &reader, 2, "<two/>", none, "newVersion adds one"),
        ("", "<three/>", &reader, 2, "<three/>", none, "without it the latest is replaced"),
        ("checkOut=true&checkIn=true", "<four/>", &reader, 2, "<four/>", none, "from the unlocked state and back"),
        ("checkOut=true&keepCheckedOut=true", "<five/>", &reader, 2, "<five/>", kept, "the lock is kept"),
        ("checkIn=false", "<draft/>", &reader, 2, "<five/>", kept, "nobody else sees a draft"),
        ("checkIn=false", "<draft/>", editor, 2, "<draft/>", kept, "and its writer does"),
        ("checkIn=false&unlock=true", "<later/>", editor, 2, "<five/>", none, "unlock ends the lock, not the draft"),
        ("checkOut=true&checkIn=false", "", editor, 2, "<later/>", kept, "a check-out goes on from the draft"),
        ("checkOutClean=true&checkIn=false", "", editor, 2, "<five/>", kept, "a clean one from the latest version"),
        ("checkIn=false", "<last/>", editor, 2, "<last/>", kept, "a draft replaces the draft"),
        ("newVersion=true", "", &reader, 3, "<last/>", none, "without a body the draft is checked in"),
        ("checkIn=false", "<saved/>", &reader, 3, "<last/>", none, "a lock is taken for the step alone"),
    ] {
        with(blog.write(content), query).ok();
        assert_eq!(state(who, &blog), is(version, seen, locker), "{rule}");
    }
}

#[test]
fn the_four_refusals_of_locks_change_nothing() {
    let (blog, reader) = desk();
    let (twin, admin) = (Server::shared().login("editor"), user("admin"));
    let others = [(&twin, "ObjectLockedByMe"), (&admin, "ObjectLocked")];
    for (query, body) in [("", ""), ("checkIn=false", ""), ("newVersion=true", "{}"), ("keepCheckedOut=true", "")] {
        let error = with(blog.write(body), query).fails(403, "ObjectNotCheckedOut");
        assert_eq!(error["source"], blog.loid);
    }
    let unlock = || blog.call("stet-object-unlock-post", &[]);
    unlock().fails(403, "ObjectNotLocked");
    with(blog.write("<draft/>"), "checkOut=true&checkIn=false").ok();
    let before = blog.read().by(&reader).ok();
    for (other, code) in others {
        for query in ["", "checkIn=false", "checkOut=true", "checkOutClean=true", "checkIn=false&unlock=true"] {
            for body in ["<other/>", ""] {
                with(blog.write(body), query).by(other).send().fails_on(query, 403, code);
            }
        }
        unlock().by(other).fails(403, code);
    }
    assert_eq!(blog.read().by(&reader).ok(), before);
    assert_eq!(state(&blog.editor, &blog), is(1, "<draft/>", Some("editor")));
    // The lock does not cover posts.
    blog.post_by(&admin, &json!({ "title": "x" }), "x");
}

#[test]
fn a_content_must_be_well_formed_xml() {
    let (blog, reader) = desk();
    let before = blog.read().by(&reader).ok();
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
            let error = with(blog.write(content), query).send().fails_on(content, 400, "InvalidBody");
            names(&error, &["well-formed XML", place]);
        }
    }
    names(&blog.write(b"<a>\xf6</a>").fails(400, "InvalidBody"), &["byte 3"]);
    assert_eq!(blog.read().by(&reader).ok(), before);
    for (said, kept) in [
        ("text/xml; charset=utf-8", "text/xml; charset=utf-8"),
        ("application/octet-stream", "text/xml; charset=utf-8"),
        ("application/json", "text/xml; charset=utf-8"),
        ("application/xhtml+xml", "application/xhtml+xml"),
    ] {
        blog.call("liveblog-put", &[]).bytes(said, "<a/>").ok();
        let raw = blog.content().by(&reader).query("raw", 1).send();
        assert_eq!(raw.header("content-type"), Some(kept));
    }
    // Without one it keeps the one that it has.
    blog.editor.send("PUT", &blog.path(""), &[], b"<b/>").ok();
    let raw = blog.content().by(&reader).query("raw", 1).send();
    assert_eq!((raw.header("content-type"), &*raw.body), (Some("application/xhtml+xml"), &b"<b/>"[..]));
}

#[test]
fn a_version_is_not_written() {
    let (blog, reader) = desk();
    let version = blog.loid.replace(".0.", ".1.");
    blog.editor.call("liveblog-put", &[&version]).bytes("text/xml", "<a/>").fails(400, "InvalidType");
    assert_eq!(state(&reader, &blog), is(1, "<one/>", None));
}
