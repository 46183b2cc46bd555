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
    let made = blog.try_post(&blog.editor, &options, &files).ok();
    let read = blog.read_post(&blog.editor, &id(&made));
    assert_eq!(made, read, "the reply to the creation is the post as it is read");
    for field in ["title", "summary", "description", "type", "timestamp", "pinned", "tags", "moderated"] {
        assert_eq!(read[field], options[field], "{field}");
    }
    assert_eq!((&read["status"], &read["author"]), (&json!("pending"), &json!("editor")));
    assert_eq!(read["content"], String::from_utf8_lossy(PAGE).into_owned());
    let info = &read["info"];
    assert_eq!((&info["name"], &info["type"]), (&json!("20251121-140304-005"), &json!("LiveBlogPost")));
    assert_eq!((&info["version"], &info["creator"]), (&json!(1), &json!("editor")));
    assert_eq!(info["attributes"], json!({ "metadata": { "headline": "Ferry" } }));
    assert_eq!(info["systemAttributes"], json!({ "props": { "notes": "x" } }));
    assert_eq!(info["virtualAttributes"]["contentType"], "text/xml");
    assert!(info["pstate"]["uuid"].is_string());
    let history = read["history"].as_array().unwrap();
    assert_eq!((history.len(), &history[0]["from"], &history[0]["to"]), (1, &Value::Null, &json!("pending")));
    assert_eq!(history[0]["user"], "editor");
    assert!(history[0]["at"].as_u64().unwrap() > 1_700_000_000_000, "milliseconds");
    let attachments = read["attachments"].as_array().unwrap();
    assert_eq!(attachments.len(), 2);
    assert_eq!((&attachments[0]["name"], &attachments[0]["contentType"]), (&json!("map.png"), &json!("image/png")));
    assert_eq!((&attachments[1]["name"], &attachments[1]["size"]), (&json!("table.csv"), &json!(3)));
}

#[test]
fn a_form_may_have_its_parts_in_any_order_and_no_options() {
    let blog = Blog::new();
    let form = |parts: &[&str]| {
        let content_type = [("content-type", "multipart/form-data; boundary=b")];
        let body =
            parts.iter().map(|part| format!("--b\r\ncontent-disposition: form-data; {part}\r\n")).collect::<String>();
        blog.editor.send("POST", &blog.path("/post"), &content_type, format!("{body}--b--\r\n").as_bytes())
    };
    let (options, content) = ("name=\"options\"\r\n\r\n{\"title\": \"x\"}", "name=\"content\"\r\n\r\nbytes");
    assert_eq!(form(&[content, options]).ok()["title"], "x");
    assert_eq!(form(&[options, content]).ok()["title"], "x");
    let plain = form(&[content]).ok();
    assert_eq!((&plain["title"], &plain["status"], &plain["content"]), (&json!(""), &json!("approved"), &Value::Null));
    assert_eq!(plain["info"]["virtualAttributes"]["contentType"], "application/octet-stream");
    let twice = form(&[content, content]).fails(400, "InvalidBody");
    assert!(twice["message"].as_str().unwrap().contains("`content` twice"), "{twice}");
    let missing = form(&[options]).fails(400, "InvalidBody");
    assert!(missing["message"].as_str().unwrap().contains("`content`"), "{missing}");
    form(&["name=\"options\"\r\n\r\n[]", content]).fails(400, "InvalidBody");
    form(&["name=\"options\"\r\n\r\n{\"title\": 1}", content]).fails(400, "InvalidBody");
    assert_eq!(blog.read(&blog.editor, "")["total"], 3, "what was refused is not there");
}

#[test]
fn what_can_not_be_is_refused_by_name_and_changes_nothing() {
    let blog = Blog::new();
    let post = blog.post(&json!({ "title": "One" }), "one");
    let before = blog.read(&blog.editor, "");
    for (options, status, code, said) in [
        (json!({ "timestamp": 253_402_300_800_000_u64 }), 400, "InvalidParameter", "253402300800000"),
        (json!({ "timestamp": -1 }), 400, "InvalidBody", "timestamp"),
        (json!({ "attributes": "<a>" }), 400, "InvalidAttributes", "attributes"),
        (json!({ "systemAttributes": "<a/>" }), 400, "InvalidAttributes", "props"),
        (json!({ "tags": "one" }), 400, "InvalidBody", "tags"),
        (json!({ "pinned": "perhaps" }), 400, "InvalidBody", "pinned"),
    ] {
        let made = blog.try_post(&blog.editor, &options, &[content(PAGE)]).fails_on(&options.to_string(), status, code);
        assert!(made["message"].as_str().unwrap().contains(said), "{made}");
        blog.update(&blog.editor, &post, &options, &[]).fails_on(&options.to_string(), status, code);
    }
    let files = [content(PAGE)];
    blog.try_post(&blog.editor, &json!({ "createMode": "SOMEHOW" }), &files).fails(400, "InvalidBody");
    for (ids, status, code) in
        [(json!([1]), 404, "ObjectNotFound"), (json!(["x"]), 400, "InvalidParameter"), (json!("x"), 400, "InvalidBody")]
    {
        let options = json!({ "title": "Two", "removeAttachments": ids });
        blog.update(&blog.editor, &post, &options, &files).fails_on(&ids.to_string(), status, code);
    }
    assert_eq!(blog.read(&blog.editor, ""), before);
}

#[test]
fn a_part_that_is_too_large_is_refused() {
    let server = Server::with(&[("LIMITS__UPLOAD_BYTES", "2000"), ("LIMITS__UPLOAD_PARTS", "4")]);
    let editor = server.login("editor");
    let loid = editor.liveblog("/LiveBlogs", "small");
    let path = format!("/v3/container/liveblog/{}/post", encoded(&loid));
    let send = |files: &[File<'_>]| editor.send_form("POST", &path, &[], &json!({}), files);
    let (most, more) = ([b'x'; 2000], [b'x'; 2001]);
    send(&[content(&most), ("attachments", "a", "text/plain", &most)]).ok();
    for (files, part) in [
        (vec![content(&more)], "content"),
        (vec![content(&most), ("attachments", "a", "text/plain", &more)], "attachments"),
    ] {
        let refused = send(&files).fails(413, "TooLarge");
        assert!(refused["message"].as_str().unwrap().contains(part), "{refused}");
    }
    let many: Vec<File<'_>> =
        std::iter::once(content(&most)).chain([("attachments", "a", "a/b", &b"x"[..]); 3]).collect();
    send(&many).fails(413, "TooLarge");
    assert_eq!(editor.get(&format!("/v3/container/liveblog/{}", encoded(&loid))).ok()["total"], 1);
}

#[test]
fn a_name_that_is_taken_is_met_as_the_mode_says() {
    let blog = Blog::new();
    let at = |mode: Value| json!({ "timestamp": 1000, "createMode": mode });
    let first = blog.post(&at(Value::Null), "one");
    let send = |options: &Value| blog.try_post(&blog.editor, options, &[content(b"<p>two</p>")]);
    let refused = send(&at(json!("EXCEPTION"))).fails(409, "DuplicatedName");
    assert_eq!(refused["source"], first);
    let renamed = send(&at(json!("AUTO_RENAME"))).ok();
    assert_ne!(id(&renamed), first);
    let replaced = send(&json!({ "timestamp": 1000, "options": { "createMode": "REPLACE" } })).ok();
    assert_eq!((id(&replaced), &replaced["info"]["version"]), (first.clone(), &json!(1)));
    assert_eq!(replaced["content"], "<p>two</p>");
    let newer = send(&at(json!("NEW_VERSION"))).ok();
    assert_eq!((id(&newer), &newer["info"]["version"]), (first, &json!(2)));
    assert_eq!(blog.read(&blog.editor, "")["total"], 2);
}

#[test]
fn a_post_is_found_by_loid_uuid_name_and_path_in_its_own_liveblog() {
    let (blog, other) = (Blog::new(), Blog::new());
    let post = blog.post(&json!({ "timestamp": 1000 }), "one");
    let read = blog.read_post(&blog.editor, &post);
    let uuid = read["info"]["pstate"]["uuid"].as_str().unwrap().to_owned();
    let path = format!("{}/night/19700101-000001-000", blog.folder);
    for source in [&uuid, "19700101-000001-000", &path, &post.replace("$1.0.", "$1.1.")] {
        assert_eq!(blog.read_post(&blog.editor, source), read, "{source}");
        other.editor.get(&other.post_path(source, "")).fails_on(source, 404, "ObjectNotFound");
    }
    for source in ["nonsense", "/nowhere", "1$1.0.999999999", &blog.loid] {
        let refused = blog.editor.get(&blog.post_path(source, "")).fails_on(source, 404, "ObjectNotFound");
        assert_eq!(refused["source"], source);
    }
    let listed = blog.read(&blog.editor, "?showPath=true");
    assert_eq!(listed["items"][0]["info"]["path"], path);
}

#[test]
fn an_update_changes_what_it_names() {
    let blog = Blog::new();
    let options = json!({ "title": "One", "summary": "S", "timestamp": 1000, "tags": ["a"],
        "attributes": { "m": { "h": "1" } }, "systemAttributes": { "props": { "n": "1" } } });
    let files = [content(PAGE), ("attachments", "a.txt", "text/plain", &b"one"[..])];
    let post = id(&blog.try_post(&blog.editor, &options, &files).ok());
    let before = blog.read_post(&blog.editor, &post);
    let same = blog.update(&blog.editor, &post, &json!({}), &[]).ok();
    assert_eq!(same, before, "nothing named, nothing changed");

    let change = json!({ "title": "Two", "timestamp": 2000, "attributes": { "m": { "h": "2" } }, "moderated": true });
    let changed = blog.update(&blog.editor, &post, &change, &[]).ok();
    assert_eq!((&changed["title"], &changed["summary"]), (&json!("Two"), &json!("S")));
    assert_eq!(
        (&changed["timestamp"], &changed["info"]["name"]),
        (&json!(2000), &before["info"]["name"]),
        "its name stays"
    );
    assert_eq!(changed["info"]["attributes"], json!({ "m": { "h": "2" } }));
    assert_eq!(changed["info"]["systemAttributes"], before["info"]["systemAttributes"]);
    assert_eq!((&changed["moderated"], &changed["status"]), (&json!(false), &json!("approved")));
    assert_eq!((&changed["info"]["version"], &changed["content"]), (&json!(1), &before["content"]));
    assert!(changed["revision"].as_u64() > before["revision"].as_u64());

    let written = blog.update(&blog.editor, &post, &json!({}), &[content(b"<p>new</p>")]).ok();
    assert_eq!((&written["info"]["version"], &written["content"]), (&json!(2), &json!("<p>new</p>")));
    assert_eq!(written["attachments"], before["attachments"]);
}

#[test]
fn attachments_are_added_taken_away_and_downloaded() {
    let blog = Blog::new();
    let large = vec![b'x'; 200_000];
    let files = [content(PAGE), ("attachments", "bild 1.png", "image/png", &b"png"[..])];
    let made = blog.try_post(&blog.editor, &json!({}), &files).ok();
    let post = id(&made);
    let added = blog.update(&blog.editor, &post, &json!({}), &[("attachments", "large.bin", "a/b", &large)]).ok();
    let ids: Vec<String> = added["attachments"]
        .as_array()
        .unwrap()
        .iter()
        .map(|attachment| attachment["id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(ids.len(), 2);
    let get = |id: &str, headers: &[(&str, &str)]| {
        blog.editor.send("GET", &blog.post_path(&post, &format!("/attachment/{id}")), headers, b"")
    };
    for (id, media_type, bytes) in [(&ids[0], "image/png", &b"png"[..]), (&ids[1], "a/b", &large)] {
        let answer = get(id, &[]);
        assert_eq!((answer.status, answer.header("content-type")), (200, Some(media_type)));
        assert_eq!(answer.body, bytes);
        assert!(answer.header("content-disposition").is_some_and(|value| value.starts_with("attachment; filename=")));
        let etag = answer.header("etag").expect("it has an ETag").to_owned();
        blog.post(&json!({}), "something else");
        assert_eq!(get(id, &[("if-none-match", &etag)]).status, 304, "another post does not change it");
    }
    get("x", &[]).fails(400, "InvalidParameter");
    get("1", &[]).fails(404, "ObjectNotFound");
    let other = blog.post(&json!({}), "other");
    let elsewhere = blog.post_path(&other, &format!("/attachment/{}", ids[0]));
    blog.editor.get(&elsewhere).fails(404, "ObjectNotFound");

    let options = json!({ "removeAttachments": [ids[0]] });
    let removed = blog.update(&blog.editor, &post, &options, &[]).ok();
    assert_eq!(removed["attachments"].as_array().unwrap().len(), 1);
    get(&ids[0], &[]).fails(404, "ObjectNotFound");
    let number: u64 = ids[1].parse().unwrap();
    let none = blog.update(&blog.editor, &post, &json!({ "removeAttachments": [number] }), &[]).ok();
    assert_eq!(none["attachments"], json!([]));
}

#[test]
fn a_post_may_grow_so_far_and_no_further() {
    let blog = Blog::new();
    let file: File<'_> = ("attachments", "a.txt", "text/plain", b"x");
    let post = id(&blog.try_post(&blog.editor, &json!({}), &[&[content(PAGE)][..], &vec![file; 30]].concat()).ok());
    for _ in 0..2 {
        blog.update(&blog.editor, &post, &json!({}), &vec![file; 30]).ok();
    }
    blog.update(&blog.editor, &post, &json!({}), &vec![file; 10]).ok();
    let before = blog.read_post(&blog.editor, &post);
    let attachments = before["attachments"].as_array().unwrap();
    assert_eq!(attachments.len(), 100);
    let refused = blog.update(&blog.editor, &post, &json!({ "title": "x" }), &[file, file]).fails(413, "TooLarge");
    let message = refused["message"].as_str().unwrap();
    assert!(message.contains("`attachments`") && message.contains("102") && message.contains("100"), "{message}");
    assert_eq!(refused["details"]["limit"], 100);

    let tags = |count: usize, bytes: usize| json!({ "tags": vec!["x".repeat(bytes); count] });
    let files = [content(PAGE)];
    for (options, is) in [(tags(101, 1), "101"), (tags(1, 256), "256"), (tags(100, 256), "256")] {
        for answer in [blog.update(&blog.editor, &post, &options, &[]), blog.try_post(&blog.editor, &options, &files)] {
            let refused = answer.fails(413, "TooLarge");
            let message = refused["message"].as_str().unwrap();
            assert!(message.contains("`tags`") && message.contains(is), "{message}");
        }
    }
    let long = "x".repeat(256);
    for (name, said) in [(long.as_str(), "256"), ("a/b.txt", "a/b.txt"), ("..", ".."), (" ", "empty")] {
        for part in ["attachments", "content"] {
            let refused =
                blog.update(&blog.editor, &post, &json!({ "title": "x" }), &[(part, name, "text/plain", b"x")]);
            let refused = refused.fails_on(name, 400, "InvalidName");
            let message = refused["message"].as_str().unwrap();
            assert!(message.contains(part) && message.contains(said), "{message}");
        }
    }
    let kind = format!("text/{long}");
    let refused =
        blog.update(&blog.editor, &post, &json!({}), &[("attachments", "a", &kind, b"x")]).fails(400, "InvalidBody");
    assert!(refused["message"].as_str().unwrap().contains("261"), "{refused}");
    assert!(blog.read_post(&blog.editor, &post) == before, "nothing was changed");
    assert_eq!(blog.read(&blog.editor, "?limit=0")["total"], 1, "nothing was made");

    // Room is made by taking away, and what is at the limits is well.
    let removed = json!({ "removeAttachments": [attachments[0]["id"]], "tags": tags(100, 255)["tags"] });
    let name = &long[1..];
    let changed = blog.update(&blog.editor, &post, &removed, &[("attachments", name, &kind[6..], b"x")]).ok();
    assert_eq!(
        (changed["attachments"].as_array().unwrap().len(), &changed["attachments"][99]["name"]),
        (100, &json!(name))
    );
    assert_eq!(changed["tags"], removed["tags"]);
}

#[test]
fn a_part_of_a_file_is_sent_as_a_part_of_any_content_is() {
    let blog = Blog::new();
    let large: Vec<u8> = (0..200_000_u32).map(|number| (number % 251) as u8).collect();
    let files: [File<'_>; 3] =
        [content(PAGE), ("attachments", "s.bin", "a/b", b"0123456789"), ("attachments", "l.bin", "a/b", &large)];
    let made = blog.try_post(&blog.editor, &json!({}), &files).ok();
    let path = |number: usize| {
        let id = made["attachments"][number]["id"].as_str().expect("an attachment has an id");
        blog.post_path(&self::id(&made), &format!("/attachment/{id}"))
    };
    let get = |path: &str, headers: &[(&str, &str)]| blog.editor.send("GET", path, headers, b"");
    for (path, bytes) in
        [(blog.post_path(&id(&made), "/content"), PAGE), (path(0), b"0123456789"), (path(1), large.as_slice())]
    {
        // The time is told once its second is over.
        wait_until("the file has a time", || get(&path, &[]).header("last-modified").is_some());
        let whole = get(&path, &[]);
        assert_eq!((whole.status, whole.header("accept-ranges")), (200, Some("bytes")));
        assert!(whole.body == bytes);
        let size = bytes.len();
        let (tag, time) = (whole.header("etag").unwrap(), whole.header("last-modified").unwrap());
        for state in [None, Some(tag), Some(time)] {
            let headers = [("range", "bytes=2-4"), ("if-range", state.unwrap_or_default())];
            let part = get(&path, if state.is_some() { &headers } else { &headers[..1] });
            assert_eq!((part.status, part.body.as_slice()), (206, &bytes[2..5]), "{state:?}");
            assert_eq!(part.header("content-range"), Some(&*format!("bytes 2-4/{size}")));
        }
        let other = get(&path, &[("range", "bytes=2-4"), ("if-range", "\"1-0\"")]);
        assert_eq!((other.status, other.body.len()), (200, size));
        let behind = get(&path, &[("range", &format!("bytes={size}-"))]).fails(416, "RangeNotSatisfiable");
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
        let made = blog.try_post(&blog.editor, &json!({}), &[("content", "c", media_type, bytes)]).ok();
        assert_eq!(made["content"], shown, "{media_type}");
        let answer = blog.editor.get(&blog.post_path(&id(&made), "/content"));
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
            blog.set(&blog.editor, &post, call).ok();
        }
        let removed = blog.editor.delete(&blog.post_path(&post, "")).ok();
        assert_eq!(removed["id"], post);
        assert_eq!(removed["revision"], blog.read(&blog.editor, "")["revision"]);
        blog.editor.delete(&blog.post_path(&post, "")).fails(404, "ObjectNotFound");
        blog.editor.get(&blog.post_path(&post, "")).fails(404, "ObjectNotFound");
        blog.update(&blog.editor, &post, &json!({}), &[]).fails(404, "ObjectNotFound");
    }
    assert_eq!(blog.read(&blog.editor, "")["total"], 0);
}

#[test]
fn a_write_with_an_old_etag_of_the_liveblog_fails_with_the_current_record() {
    let blog = Blog::new();
    let post = blog.post(&json!({}), "one");
    let old = blog.editor.get(&blog.post_path(&post, ""));
    let (old, current) = (old.header("etag").unwrap().to_owned(), blog.post(&json!({}), "two"));
    let form = |method: &str, path: &str, etag: &str| {
        blog.editor.send_form(method, path, &[("if-match", etag)], &json!({}), &[content(PAGE)])
    };
    for (method, path) in [("POST", blog.path("/post")), ("PUT", blog.post_path(&post, ""))] {
        let refused = form(method, &path, &old).fails_on(method, 412, "PreconditionFailed");
        assert_eq!(refused["details"]["current"]["id"], blog.loid);
    }
    for (method, path) in [("DELETE", blog.post_path(&post, "")), ("POST", blog.post_path(&post, "/reject"))] {
        blog.editor.send(method, &path, &[("if-match", &old)], b"").fails_on(method, 412, "PreconditionFailed");
    }
    let now = blog.editor.get(&blog.post_path(&current, ""));
    form("POST", &blog.path("/post"), now.header("etag").unwrap()).ok();
}

#[test]
fn a_post_sent_again_under_its_key_is_made_once() {
    let blog = Blog::new();
    let key = own_folder();
    let send = |options: &Value, files: &[File<'_>]| {
        blog.editor.send_form("POST", &blog.path("/post"), &[("idempotency-key", &key)], options, files)
    };
    let (options, files) = (json!({ "title": "x" }), [content(PAGE), ("attachments", "a", "a/b", &b"one"[..])]);
    let first = send(&options, &files);
    first.ok();
    let again = send(&options, &files);
    assert_eq!((again.header("idempotency-replayed"), &again.body), (Some("true"), &first.body));
    send(&json!({ "title": "y" }), &files).fails(422, "IdempotencyMismatch");
    send(&options, &files[..1]).fails(422, "IdempotencyMismatch");
    send(&options, &[content(PAGE), ("attachments", "a", "a/b", b"two")]).fails(422, "IdempotencyMismatch");
    assert_eq!(blog.read(&blog.editor, "")["total"], 1);
}

#[test]
fn posts_and_their_files_are_there_after_a_crash() {
    let mut server = Server::start();
    let editor = server.login("editor");
    let loid = editor.liveblog("/LiveBlogs", "crash");
    let path = format!("/v3/container/liveblog/{}", encoded(&loid));
    let files = [content(PAGE), ("attachments", "a", "a/b", &b"one"[..])];
    let post = editor.send_form("POST", &format!("{path}/post"), &[], &json!({ "title": "x" }), &files).ok();
    let before = editor.get(&path).ok();
    server.kill();
    let server = server.restart();
    let editor = editor.to(&server);
    assert_eq!(editor.get(&path).ok(), before);
    let attachment = post["attachments"][0]["id"].as_str().unwrap();
    assert_eq!(editor.get(&format!("{path}/post/{}/attachment/{attachment}", encoded(&id(&post)))).body, b"one");
}
