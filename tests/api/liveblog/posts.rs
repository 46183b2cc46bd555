//! Posts: their form, their fields, their files.

use super::*;

const PAGE: &[u8] = b"<post><p>The <b>F</b>erry</p><p>is late</p></post>";

fn content(bytes: &[u8]) -> File<'_> {
    ("content", "post.xml", "text/xml", bytes)
}

#[test]
fn every_option_is_found_again_in_the_post() {
    let blog = Blog::new();
    let options = json!({
        "title": "Late", "summary": "In short", "description": "At length", "type": "news", "timestamp": 1_763_733_784_005_u64,
        "pinned": true, "tags": ["ferry", "harbour"], "moderated": true, "createMode": "EXCEPTION",
        "attributes": "<metadata><headline>Ferry</headline></metadata>",
        "systemAttributes": { "props": { "notes": "x" } }, "unknown": 1,
    });
    let files: [File<'_>; 3] = [
        content(PAGE),
        ("attachments", "map.png", "image/png", b"png"),
        ("attachments", "table.csv", "text/csv", b"a,b"),
    ];
    let made = blog.new_post(&options, &files).ok();
    let expected = json!({
        "status": "pending", "author": "editor", "content": String::from_utf8_lossy(PAGE),
        "info": {
            "name": "20251121-140304-005", "type": "LiveBlogPost", "version": 1, "creator": "editor",
            "virtualAttributes": { "contentType": "text/xml" },
        },
        "history": [{ "to": "pending", "user": "editor" }],
        "attachments": [{ "name": "map.png", "contentType": "image/png" }, { "name": "table.csv", "size": 3 }],
    });
    let read = blog.read_post(&id(&made)).gives(&expected);
    assert_eq!(as_read(made), read, "the reply to the creation is the post as it is read");
    for field in ["title", "summary", "description", "type", "timestamp", "pinned", "tags", "moderated"] {
        assert_eq!(read[field], options[field], "{field}");
    }
    let (info, first) = (&read["info"], &read["history"][0]);
    assert_eq!(info["attributes"], json!({ "metadata": { "headline": "Ferry" } }));
    assert_eq!(info["systemAttributes"], json!({ "props": { "notes": "x" } }));
    assert!(info["pstate"]["uuid"].is_string());
    assert_eq!(first["from"], Value::Null);
    assert!(first["at"].as_u64().is_some_and(|at| at > 1_700_000_000_000), "milliseconds");
}

#[test]
fn a_form_may_have_its_parts_in_any_order_and_no_options() {
    let blog = Blog::new();
    let form = |parts: &[&str]| {
        let body =
            parts.iter().map(|part| format!("--b\r\ncontent-disposition: form-data; {part}\r\n")).collect::<String>();
        blog.call("liveblog-post-create", &[]).bytes("multipart/form-data; boundary=b", format!("{body}--b--\r\n"))
    };
    let (options, content) = ("name=\"options\"\r\n\r\n{\"title\": \"x\"}", "name=\"content\"\r\n\r\nbytes");
    for parts in [[content, options], [options, content]] {
        form(&parts).gives(&json!({ "title": "x" }));
    }
    let text = json!({ "virtualAttributes": { "contentType": "text/plain" } });
    form(&[content]).gives(&json!({ "title": "", "status": "approved", "info": text, "content": "bytes" }));
    let twice = form(&[content, content]).fails(400, "InvalidBody");
    names(&twice, &["`content` twice"]);
    assert_eq!(twice["details"]["part"], "content");
    names(&form(&[options]).fails(400, "InvalidBody"), &["`content`"]);
    for wrong in ["[]", "{\"title\": 1}"] {
        form(&[&format!("name=\"options\"\r\n\r\n{wrong}"), content]).fails(400, "InvalidBody");
    }
    assert_eq!(blog.read().ok()["total"], 3, "what was refused is not there");
}

#[test]
fn invalid_post_options_are_refused_by_name_and_change_nothing() {
    let blog = Blog::new();
    let post = blog.post(&json!({ "title": "One" }), "one");
    let before = blog.read().ok();
    for (options, status, code, said) in [
        (json!({ "timestamp": 253_402_300_800_000_u64 }), 400, "InvalidParameter", "253402300800000"),
        (json!({ "timestamp": -1 }), 400, "InvalidBody", "timestamp"),
        (json!({ "attributes": "<a>" }), 400, "InvalidAttributes", "attributes"),
        (json!({ "systemAttributes": "<a/>" }), 400, "InvalidAttributes", "props"),
        (json!({ "tags": "one" }), 400, "InvalidBody", "tags"),
        (json!({ "pinned": "perhaps" }), 400, "InvalidBody", "pinned"),
    ] {
        for call in [blog.new_post(&options, &[content(PAGE)]), blog.update(&post, &options, &[])] {
            names(&call.send().fails_on(&options.to_string(), status, code), &[said]);
        }
    }
    let files = [content(PAGE)];
    blog.new_post(&json!({ "createMode": "SOMEHOW" }), &files).fails(400, "InvalidBody");
    for (ids, status, code) in
        [(json!([1]), 404, "ObjectNotFound"), (json!(["x"]), 400, "InvalidParameter"), (json!("x"), 400, "InvalidBody")]
    {
        let options = json!({ "title": "Two", "removeAttachments": ids });
        blog.update(&post, &options, &files).send().fails_on(&ids.to_string(), status, code);
    }
    assert_eq!(blog.read().ok(), before);
}

#[test]
fn a_part_that_is_too_large_is_refused() {
    let server = Server::with(&[("LIMITS__UPLOAD_BYTES", "2000"), ("LIMITS__UPLOAD_PARTS", "4")]);
    let blog = Blog::of(server.user("editor"));
    let send = |files: &[File<'_>]| blog.new_post(&json!({}), files).send();
    let (most, more) = ([b'x'; 2000], [b'x'; 2001]);
    send(&[content(&most), ("attachments", "a", "text/plain", &most)]).ok();
    for (files, part) in [
        (vec![content(&more)], "content"),
        (vec![content(&most), ("attachments", "a", "text/plain", &more)], "attachments"),
    ] {
        names(&send(&files).fails(413, "TooLarge"), &[part]);
    }
    let many: Vec<File<'_>> =
        std::iter::once(content(&most)).chain([("attachments", "a", "a/b", &b"x"[..]); 3]).collect();
    send(&many).fails(413, "TooLarge");
    assert_eq!(blog.read().ok()["total"], 1);
}

#[test]
fn a_name_that_is_taken_is_met_as_the_mode_says() {
    let blog = Blog::new();
    let at = |mode: Value| json!({ "timestamp": 1000, "createMode": mode });
    let first = blog.post(&at(Value::Null), "one");
    let send = |options: &Value| blog.new_post(options, &[content(b"<p>two</p>")]);
    let refused = send(&at(json!("EXCEPTION"))).fails(409, "DuplicatedName");
    assert_eq!(refused["source"], first);
    assert_ne!(id(&send(&at(json!("AUTO_RENAME"))).ok()), first);
    let again = |version: u64| json!({ "content": "<p>two</p>", "info": { "id": first, "version": version } });
    send(&json!({ "timestamp": 1000, "options": { "createMode": "REPLACE" } })).gives(&again(1));
    send(&at(json!("NEW_VERSION"))).gives(&again(2));
    assert_eq!(blog.read().ok()["total"], 2);
}

#[test]
fn a_post_is_found_by_loid_uuid_name_and_path_in_its_own_liveblog() {
    let (blog, other) = (Blog::new(), Blog::new());
    let post = blog.post(&json!({ "timestamp": 1000 }), "one");
    let read = blog.read_post(&post).ok();
    let uuid = read["info"]["pstate"]["uuid"].as_str().expect("a record has a uuid");
    let path = format!("{}/night/19700101-000001-000", blog.folder);
    for source in [uuid, "19700101-000001-000", &path, &post.replace("$1.0.", "$1.1.")] {
        assert_eq!(blog.read_post(source).ok(), read, "{source}");
        other.read_post(source).fails(404, "ObjectNotFound");
    }
    for source in ["nonsense", &blog.loid] {
        assert_eq!(blog.read_post(source).fails(404, "ObjectNotFound")["source"], source);
    }
    blog.read().query("showPath", true).gives(&json!({ "items": [{ "info": { "path": path } }] }));
}

#[test]
fn an_update_changes_what_it_names() {
    let blog = Blog::new();
    let options = json!({ "title": "One", "summary": "S", "timestamp": 1000, "tags": ["a"],
        "attributes": { "m": { "h": "1" } }, "systemAttributes": { "props": { "n": "1" } } });
    let files = [content(PAGE), ("attachments", "a.txt", "text/plain", &b"one"[..])];
    let before = blog.new_post(&options, &files).ok();
    let post = id(&before);
    assert_eq!(
        as_read(blog.update(&post, &json!({}), &[]).ok()),
        as_read(before.clone()),
        "nothing named, nothing changed"
    );

    let change = json!({ "title": "Two", "timestamp": 2000, "attributes": { "m": { "h": "2" } }, "moderated": true });
    let changed = blog.update(&post, &change, &[]).gives(&json!({
        "title": "Two", "summary": "S", "timestamp": 2000, "moderated": false, "status": "approved",
        "content": before["content"],
        // Its name stays.
        "info": { "name": before["info"]["name"], "version": 1 },
    }));
    assert_eq!(changed["info"]["attributes"], json!({ "m": { "h": "2" } }));
    assert_eq!(changed["info"]["systemAttributes"], before["info"]["systemAttributes"]);
    assert!(changed["revision"].as_u64() > before["revision"].as_u64());

    let expected = json!({ "info": { "version": 2 }, "content": "<p>new</p>" });
    let written = blog.update(&post, &json!({}), &[content(b"<p>new</p>")]).gives(&expected);
    assert_eq!(written["attachments"], before["attachments"]);
}

#[test]
fn attachments_are_added_taken_away_and_downloaded() {
    let blog = Blog::new();
    let large = vec![b'x'; 200_000];
    let files = [content(PAGE), ("attachments", "bild 1.png", "image/png", &b"png"[..])];
    let post = id(&blog.new_post(&json!({}), &files).ok());
    let added = blog.update(&post, &json!({}), &[("attachments", "large.bin", "a/b", &large)]).ok();
    let ids: Vec<&str> = added["attachments"]
        .as_array()
        .expect("a post has attachments")
        .iter()
        .map(|attachment| attachment["id"].as_str().expect("an attachment has an id"))
        .collect();
    assert_eq!(ids.len(), 2);
    for (id, media_type, bytes) in [(ids[0], "image/png", &b"png"[..]), (ids[1], "a/b", &large)] {
        let answer = served(&blog.attachment(&post, id));
        assert_eq!(answer.header("content-type"), Some(media_type));
        assert_eq!(answer.body, bytes);
        assert!(answer.header("content-disposition").is_some_and(|value| value.starts_with("attachment; filename=")));
        blog.post(&json!({}), "something else");
        let again = blog.attachment(&post, id).header("if-none-match", tag(&answer)).send();
        assert_eq!(again.status, 304, "another post does not change it");
    }
    blog.attachment(&post, "x").fails(400, "InvalidParameter");
    blog.attachment(&post, "1").fails(404, "ObjectNotFound");
    blog.attachment(&blog.post(&json!({}), "other"), ids[0]).fails(404, "ObjectNotFound");

    let removed = blog.update(&post, &json!({ "removeAttachments": [ids[0]] }), &[]).ok();
    assert_eq!(removed["attachments"].as_array().map(Vec::len), Some(1));
    blog.attachment(&post, ids[0]).fails(404, "ObjectNotFound");
    let number: u64 = ids[1].parse().expect("an id is a number");
    let options = json!({ "removeAttachments": [number] });
    blog.update(&post, &options, &[]).gives(&json!({ "attachments": [] }));
}

#[test]
fn a_post_may_grow_so_far_and_no_further() {
    let blog = Blog::new();
    let file: File<'_> = ("attachments", "a.txt", "text/plain", b"x");
    let post = id(&blog.new_post(&json!({}), &[&[content(PAGE)][..], &vec![file; 30]].concat()).ok());
    for more in [30, 30, 10] {
        blog.update(&post, &json!({}), &vec![file; more]).ok();
    }
    let before = blog.read_post(&post).ok();
    assert_eq!(before["attachments"].as_array().map(Vec::len), Some(100));
    let refused = blog.update(&post, &json!({ "title": "x" }), &[file, file]).fails(413, "TooLarge");
    names(&refused, &["`attachments`", "102", "100"]);
    assert_eq!(refused["details"]["limit"], 100);

    let tags = |count: usize, bytes: usize| json!({ "tags": vec!["x".repeat(bytes); count] });
    for (options, is) in [(tags(101, 1), "101"), (tags(1, 256), "256"), (tags(100, 256), "256")] {
        for call in [blog.update(&post, &options, &[]), blog.new_post(&options, &[content(PAGE)])] {
            names(&call.fails(413, "TooLarge"), &["`tags`", is]);
        }
    }
    let long = "x".repeat(256);
    for (name, said) in [(long.as_str(), "256"), ("a/..", ".."), ("..", ".."), (" ", "empty")] {
        for part in ["attachments", "content"] {
            let call = blog.update(&post, &json!({ "title": "x" }), &[(part, name, "text/plain", b"x")]);
            names(&call.fails(400, "InvalidName"), &[part, said]);
        }
    }
    let kind = format!("text/{long}");
    let refused = blog.update(&post, &json!({}), &[("attachments", "a", &kind, b"x")]).fails(400, "InvalidBody");
    names(&refused, &["261"]);
    assert!(blog.read_post(&post).ok() == before, "nothing was changed");
    assert_eq!(blog.read().query("limit", 0).ok()["total"], 1, "nothing was made");

    // Removals make room, and values at the limits are accepted.
    let options = json!({ "removeAttachments": [before["attachments"][0]["id"]], "tags": tags(100, 255)["tags"] });
    let name = &long[1..];
    let changed = blog.update(&post, &options, &[("attachments", name, &kind[6..], b"x")]).ok();
    assert_eq!(changed["attachments"].as_array().map(Vec::len), Some(100));
    assert_eq!((&changed["attachments"][99]["name"], &changed["tags"]), (&json!(name), &options["tags"]));
}

#[test]
fn a_part_of_a_file_is_sent_as_a_part_of_any_content_is() {
    let blog = Blog::new();
    let large: Vec<u8> = (0..200_000_u32).map(|number| (number % 251) as u8).collect();
    let files: [File<'_>; 3] =
        [content(PAGE), ("attachments", "s.bin", "a/b", b"0123456789"), ("attachments", "l.bin", "a/b", &large)];
    let made = blog.new_post(&json!({}), &files).ok();
    let post = id(&made);
    let attachment = |number: usize| {
        let id = made["attachments"][number]["id"].as_str().expect("an attachment has an id");
        (blog.attachment(&post, id), blog.path(&format!("/post/{}/attachment/{id}", encoded(&post))))
    };
    let ((small, small_path), (file, file_path)) = (attachment(0), attachment(1));
    let content_path = blog.path(&format!("/post/{}/content", encoded(&post)));
    for (call, path, bytes) in [
        (blog.download(&post), content_path, PAGE),
        (small, small_path, b"0123456789"),
        (file, file_path, large.as_slice()),
    ] {
        // The time is sent once its second is over.
        wait_until("the file has a time", || call.send().header("last-modified").is_some());
        let whole = served(&call);
        assert_eq!(whole.header("accept-ranges"), Some("bytes"));
        assert!(whole.body == bytes);
        let size = bytes.len();
        let part = |range: &str| call.clone().header("range", format!("bytes={range}"));
        let parts = part("2-4");
        for call in [
            parts.clone(),
            parts.clone().header("if-range", tag(&whole)),
            parts.clone().header("if-range", whole.header("last-modified").expect("it has been waited for")),
        ] {
            let part = call.send();
            assert_eq!((part.status, part.body.as_slice()), (206, &bytes[2..5]));
            assert_eq!(part.header("content-range"), Some(&*format!("bytes 2-4/{size}")));
        }
        let other = served(&parts.header("if-range", "\"1-0\""));
        assert_eq!(other.body.len(), size);
        let behind = part(&format!("{size}-")).fails(416, "RangeNotSatisfiable");
        assert_eq!(behind["details"]["size"], size);
        let head = blog.editor.send("HEAD", &path, &[], b"");
        assert_eq!((head.status, head.header("content-length")), (200, Some(&*size.to_string())));
    }
}

#[test]
fn a_content_is_downloaded_as_it_came_and_shown_where_it_is_small_text() {
    let blog = Blog::new();
    let large = format!("<p>{}</p>", "x".repeat(100_000));
    for (media_type, bytes, shown) in [
        ("text/html; charset=utf-8", &b"<p>a<br>b"[..], json!("<p>a<br>b")),
        ("text/plain", b"plain", json!("plain")),
        ("image/png", b"png", Value::Null),
        ("text/xml", large.as_bytes(), Value::Null),
    ] {
        let made = blog.new_post(&json!({}), &[("content", "c", media_type, bytes)]).ok();
        assert_eq!(made["content"], shown, "{media_type}");
        let answer = blog.download(&id(&made)).send();
        assert_eq!((answer.header("content-type"), &*answer.body), (Some(media_type), bytes));
        assert_eq!(answer.header("content-security-policy"), Some("default-src 'none'; sandbox"));
    }
}

#[test]
fn a_removed_post_is_gone_whatever_its_state_was() {
    let blog = Blog::new();
    for call in [None, Some("pending"), Some("reject"), Some("delete")] {
        let post = blog.post(&json!({}), "one");
        if let Some(call) = call {
            blog.set(&post, call).ok();
        }
        let removed = blog.remove(&post).gives(&json!({ "id": post }));
        assert_eq!(removed["revision"], blog.read().ok()["revision"]);
        for call in [blog.remove(&post), blog.read_post(&post), blog.update(&post, &json!({}), &[])] {
            call.fails(404, "ObjectNotFound");
        }
    }
    assert_eq!(blog.read().ok()["total"], 0);
}

#[test]
fn the_etag_of_a_post_is_outdated_by_any_change_of_its_liveblog() {
    let blog = Blog::new();
    let post = blog.post(&json!({}), "one");
    let present = || tag(&blog.read_post(&post).send());
    let (old, files) = (present(), [content(PAGE)]);
    blog.post(&json!({}), "two");
    for call in [
        blog.new_post(&json!({}), &files),
        blog.update(&post, &json!({}), &files),
        blog.set(&post, "reject"),
        blog.remove(&post),
    ] {
        let refused = call.header("if-match", &old).fails(412, "PreconditionFailed");
        assert_eq!(refused["details"]["current"]["id"], blog.loid);
    }
    blog.new_post(&json!({}), &files).header("if-match", present()).ok();
}

#[test]
fn a_key_is_for_the_same_options_and_files() {
    let blog = Blog::new();
    let key = own_folder();
    let send = |options: &Value, files: &[File<'_>]| blog.new_post(options, files).header("idempotency-key", &key);
    let (options, files) = (json!({ "title": "x" }), [content(PAGE), ("attachments", "a", "a/b", &b"one"[..])]);
    let first = send(&options, &files).ok();
    assert_eq!(send(&options, &files).ok(), first);
    for other in [
        send(&json!({ "title": "y" }), &files),
        send(&options, &files[..1]),
        send(&options, &[content(PAGE), ("attachments", "a", "a/b", b"two")]),
    ] {
        other.fails(422, "IdempotencyMismatch");
    }
    assert_eq!(blog.read().ok()["total"], 1);
}

#[test]
fn posts_and_their_files_are_there_after_a_crash() {
    let mut server = Server::start();
    let mut blog = Blog::of(server.login("editor"));
    let files = [content(PAGE), ("attachments", "a", "a/b", &b"one"[..])];
    let post = blog.new_post(&json!({ "title": "x" }), &files).ok();
    let before = blog.read().ok();
    server.kill();
    let server = server.restart();
    blog.editor = blog.editor.to(&server);
    assert_eq!(blog.read().ok(), before);
    let attachment = post["attachments"][0]["id"].as_str().expect("an attachment has an id");
    assert_eq!(served(&blog.attachment(&id(&post), attachment)).body, b"one");
}

#[test]
fn texts_of_a_post_have_bounds_when_it_is_made_and_when_it_is_changed() {
    let blog = Blog::new();
    let file = ("content", "a.txt", "text/plain", &b"x"[..]);
    let limits = [("title", 1024), ("summary", 8192), ("description", 8192), ("type", 255)];
    let most: serde_json::Map<String, Value> =
        limits.iter().map(|(name, limit)| ((*name).to_owned(), json!("x".repeat(*limit)))).collect();
    let post = blog.post(&Value::Object(most.clone()), "x");
    includes(&blog.read_post(&post).ok(), &Value::Object(most));
    for (name, limit) in limits {
        // As many characters, and more bytes.
        for long in ["x".repeat(limit + 1), "é".repeat(limit), "x".repeat(1_000_000)] {
            let options = json!({ name: long });
            for call in [blog.new_post(&options, &[file]), blog.update(&post, &options, &[])] {
                let error = call.fails(400, "InvalidParameter");
                names(&error, &[name, &format!("{limit} bytes")]);
                assert_eq!(
                    (&error["details"]["limit"], &error["details"]["bytes"]),
                    (&json!(limit), &json!(long.len()))
                );
            }
        }
    }
}

/// A version's loid must not change a post, and shows nothing that it is not.
#[test]
fn the_loid_of_a_version_changes_no_post() {
    let blog = Blog::new();
    let post = blog.post(&json!({ "title": "One" }), "one");
    let before = as_read(blog.update(&post, &json!({}), &[content(PAGE)]).ok());
    assert_eq!(blog.read_post(&post.replacen(".0.", ".2.", 1)).ok(), before, "its present version");
    blog.remove(&post.replacen(".0.", ".2.", 1)).fails(400, "InvalidType");
    for number in [1, 42] {
        let version = post.replacen(".0.", &format!(".{number}."), 1);
        for call in ["approve", "reject", "pending", "delete"] {
            blog.set(&version, call).fails(400, "InvalidType");
        }
        names(&blog.remove(&version).fails(400, "InvalidType"), &[&version, &post]);
        blog.update(&version, &json!({ "title": "Two" }), &[]).fails(400, "InvalidType");
        for call in [blog.read_post(&version), blog.download(&version), blog.attachment(&version, "1")] {
            call.fails(404, "ObjectNotFound");
        }
        includes(
            &named(&blog.editor, &json!([version])).ok(),
            &json!({ "items": [], "errors": [{ "source": version }] }),
        );
        assert_eq!(blog.search(&json!({ "filters": { "source": [version] } })).ok()["total"], 0);
    }
    assert_eq!(blog.read_post(&post).ok(), before);
}

#[test]
fn a_posts_content_is_readable_in_its_present_version_only() {
    let blog = Blog::new();
    let post = blog.post(&json!({ "title": "One" }), "one");
    blog.update(&post, &json!({}), &[content(PAGE)]).ok();
    let read = |version: &str| blog.download(&post).query("version", version).send();
    for version in ["", "-1", "0", "2"] {
        assert_eq!((read(version).status, &*read(version).body), (200, PAGE), "{version}");
    }
    for version in ["1", "3"] {
        names(&read(version).fails(404, "ObjectNotFound"), &[&post.replacen(".0.", &format!(".{version}."), 1)]);
    }
    for version in ["x", "-2", "1.5", "4294967296"] {
        read(version).fails(400, "InvalidParameter");
    }
}
