//! A liveblog's own content, with its posts in it and as it is stored.

use roxmltree::{Document, Node, ParsingOptions};

use super::*;

fn parsed(xml: &[u8]) -> Document<'_> {
    let text = std::str::from_utf8(xml).expect("it is UTF-8");
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    Document::parse_with_options(text, options).unwrap_or_else(|error| panic!("{error}:\n{text}"))
}

/// The posts of a resolved content.
fn posts<'d>(document: &'d Document<'_>) -> Vec<Node<'d, 'd>> {
    document.descendants().filter(|node| node.has_tag_name("post") && node.has_attribute("loid")).collect()
}

fn titles(xml: &[u8]) -> Vec<String> {
    let document = parsed(xml);
    let titles =
        posts(&document).into_iter().flat_map(|post| post.children().filter(|child| child.has_tag_name("title")));
    titles.filter_map(|title| title.text().map(str::to_owned)).collect()
}

fn child<'n>(node: Node<'n, 'n>, name: &str) -> Node<'n, 'n> {
    node.children().find(|child| child.tag_name().name() == name).unwrap_or_else(|| panic!("there is no {name}"))
}

impl Blog {
    /// A liveblog whose content is this.
    fn of(content: &str) -> Blog {
        let blog = Blog::new();
        assert_eq!(blog.editor.send("PUT", &blog.path(""), &[], content.as_bytes()).status, 200);
        blog
    }

    fn content(&self, query: &str) -> Answer {
        let answer = self.editor.get(&self.path(&format!("/content{query}")));
        assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
        answer
    }

    /// A post of a type and these bytes.
    fn post_of(&self, title: &str, content_type: &str, bytes: &[u8]) -> String {
        let files = [("content", "post", content_type, bytes)];
        id(&self.try_post(&self.editor, &json!({ "title": title }), &files).ok())
    }
}

#[test]
fn the_approved_posts_stand_in_order_where_the_content_is_marked_for_all_who_may_read() {
    let blog = Blog::new();
    for (title, timestamp, pinned) in [("a", 1000, false), ("b", 3000, false), ("c", 500, true), ("d", 2000, false)] {
        blog.post(&json!({ "title": title, "timestamp": timestamp, "pinned": pinned, "summary": "short" }), title);
    }
    for (number, call) in ["pending", "reject", "delete"].into_iter().enumerate() {
        let post = blog.post(&json!({ "title": call, "timestamp": 9000 + number }), call);
        blog.set(&blog.editor, &post, call).ok();
    }
    let answer = blog.content("");
    assert_eq!(titles(&answer.body), ["c", "b", "d", "a"]);
    let text = String::from_utf8(answer.body.clone()).unwrap();
    let document = parsed(&answer.body);
    let place = document.descendants().find(|node| node.attribute("posts") == Some("here")).expect("it stays");
    assert_eq!(place.children().filter(Node::is_element).count(), 4);
    assert!(text.starts_with("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE liveblog SYSTEM"), "{text}");
    assert!(text.contains("</posts>\n  <foot>") && text.ends_with("</liveblog>\n"), "the rest is as it is stored");
    let first = posts(&document)[0];
    let record = blog.read_post(&blog.editor, first.attribute("loid").unwrap());
    assert_eq!(record["info"]["name"], first.attribute("name").unwrap());
    assert_eq!(record["info"]["pstate"]["uuid"], first.attribute("uuid").unwrap());
    let told = ["timestamp", "author", "pinned", "type"].map(|name| first.attribute(name));
    assert_eq!(told, [Some("500"), Some("editor"), Some("true"), None]);
    assert_eq!(child(first, "summary").text(), Some("short"));
    for user in ["reader", "contributor", "reporter", "admin"] {
        let client = Server::shared().login(user);
        assert!(client.get(&blog.path("/content")).body == answer.body, "{user}");
    }
    Server::shared().client().get(&blog.path("/content")).fails(401, "InvalidToken");
    blog.editor.get("/v3/container/liveblog/1$1.0.999999999/content").fails(404, "ObjectNotFound");
    blog.editor.get("/v3/container/liveblog/%2FNews%2FCity/content").fails(400, "InvalidType");
}

#[test]
fn a_content_stands_as_xml_as_text_or_as_a_reference() {
    let blog = Blog::of("<blog xmlns='urn:blog'><posts posts='here'><p>Own</p></posts></blog>");
    let xml =
        "<?xml version='1.0' encoding='utf-8'?>\n<!DOCTYPE p SYSTEM '/p.dtd'><p xmlns:q='urn:q'><q:r>Fähre</q:r></p>";
    blog.post_of("xml", "text/xml; charset=utf-8", xml.as_bytes());
    blog.post_of("broken", "application/xml", b"<p>Fish & chips");
    blog.post_of("html", "text/html", b"<p>One<br>two");
    blog.post_of("plain", "text/plain", b"1 < 2\x01 & ]]>");
    blog.post_of("json", "application/json", b"{\"a\": \"<b>\"}");
    let latin = b"<?xml version='1.0' encoding='ISO-8859-1'?><p>K\xf6ln</p>";
    blog.post_of("latin", "text/xml", latin);
    let picture = b"\x89PNG\0\xff".as_slice();
    let files =
        [("content", "ferry.png", "image/png", picture), ("attachments", "a <map> & 'more'.png", "image/png", b"map")];
    blog.try_post(&blog.editor, &json!({ "title": "picture\u{1}<" , "type": "a\"b" }), &files).ok();
    let answer = blog.content("");
    let document = parsed(&answer.body);
    let place = document.root_element().first_element_child().unwrap();
    let children: Vec<_> = place.children().filter(Node::is_element).collect();
    assert_eq!((children.len(), children[0].tag_name().name()), (8, "p"), "its own stand before the posts");
    let of = |title: &str| {
        let post = children[1..].iter().find(|post| child(**post, "title").text() == Some(title));
        let post = *post.unwrap_or_else(|| panic!("{title} is not there"));
        assert_eq!(post.tag_name().namespace(), Some("urn:blog"));
        (post, child(post, "content"))
    };
    let (_, content) = of("xml");
    assert_eq!(
        (content.attribute("form"), content.attribute("contentType")),
        (Some("xml"), Some("text/xml; charset=utf-8"))
    );
    let root = content.first_element_child().unwrap();
    assert_eq!((root.tag_name().name(), root.tag_name().namespace().unwrap_or("")), ("p", ""));
    let inner = root.first_element_child().unwrap();
    assert_eq!((inner.tag_name().namespace(), inner.text()), (Some("urn:q"), Some("Fähre")));
    for (title, text) in [
        ("broken", "<p>Fish & chips"),
        ("html", "<p>One<br>two"),
        ("plain", "1 < 2 & ]]>"),
        ("json", "{\"a\": \"<b>\"}"),
    ] {
        let (_, content) = of(title);
        assert_eq!((content.attribute("form"), content.text()), (Some("text"), Some(text)));
    }
    assert_eq!(of("latin").1.first_element_child().unwrap().text(), Some("Köln"));
    let (post, content) = of("picture<");
    assert_eq!((content.attribute("form"), content.attribute("size")), (Some("reference"), Some("6")));
    assert_eq!((content.has_children(), post.attribute("type")), (false, Some("a\"b")));
    assert!(blog.editor.get(content.attribute("href").unwrap()).body == picture);
    let attachment = child(post, "attachment");
    assert_eq!(attachment.attribute("name"), Some("a <map> & 'more'.png"));
    assert_eq!((attachment.attribute("contentType"), attachment.attribute("size")), (Some("image/png"), Some("3")));
    assert_eq!(blog.editor.get(attachment.attribute("href").unwrap()).body, b"map");
}

#[test]
fn a_large_content_of_a_post_is_read_from_its_file_and_one_beyond_all_bounds_is_a_reference() {
    let server = Server::with(&[("LIMITS__XML_BYTES", "100000"), ("SERVER__BASE_PATH", "/rest")]);
    let mut editor = Client::at(&format!("{}/rest", server.base), None);
    let login = json!({ "connectionId": "Editorial", "applicationId": "test", "username": "editor", "password": SAMPLE_PASSWORD });
    editor.token = editor.post("/v3/auth/login", &login).ok()["token"]["value"].as_str().map(str::to_owned);
    let blog = Blog { folder: own_folder(), loid: editor.liveblog(&own_folder(), "large"), editor };
    for (title, size) in [("file", 90_000), ("beyond", 100_001)] {
        blog.post_of(title, "text/plain", "x".repeat(size).as_bytes());
    }
    let answer = blog.content("");
    let document = parsed(&answer.body);
    let contents: Vec<_> = posts(&document).into_iter().map(|post| child(post, "content")).collect();
    assert_eq!(contents[0].attribute("form"), Some("reference"));
    let href = contents[0].attribute("href").unwrap();
    assert!(href.starts_with("/rest/v3/container/liveblog/"), "{href}");
    assert_eq!(blog.editor.get(href.strip_prefix("/rest").unwrap()).body.len(), 100_001);
    assert_eq!((contents[1].attribute("form"), contents[1].text().map(str::len)), (Some("text"), Some(90_000)));
    let long = format!("<a>{}</a>", "x".repeat(100_000));
    blog.editor.send("PUT", &blog.path(""), &[], long.as_bytes()).fails(413, "TooLarge");
}

#[test]
fn parts_of_a_resolved_content_are_those_of_the_whole() {
    let blog = Blog::new();
    // More than are made at a time, of lengths that differ.
    for number in 0..140 {
        blog.post(&json!({ "title": number.to_string(), "timestamp": number }), &"äx".repeat(number % 7));
    }
    let whole = blog.content("");
    let size = whole.body.len();
    assert_eq!(titles(&whole.body).len(), 140);
    assert_eq!(whole.header("accept-ranges"), Some("bytes"));
    assert_eq!(whole.header("content-length"), Some(&*size.to_string()));
    assert_eq!(whole.header("content-type"), Some("text/xml"));
    let tag = whole.header("etag").expect("it has an ETag").to_owned();
    let path = blog.path("/content");
    let get = |headers: &[(&str, &str)]| blog.editor.send("GET", &path, headers, b"");
    let ends = (0..40).map(|part| (part * size / 40 + part, size / 3)).chain([(0, size), (size - 1, 1), (0, 1)]);
    for (first, len) in ends {
        let last = (first + len - 1).min(size - 1);
        let part = get(&[("range", &format!("bytes={first}-{last}")), ("if-range", &tag)]);
        assert_eq!(part.status, 206);
        assert_eq!(part.header("content-range"), Some(&*format!("bytes {first}-{last}/{size}")));
        assert!(part.body == whole.body[first..=last], "{first}-{last}");
    }
    assert!(get(&[("range", "bytes=-100")]).body == whole.body[size - 100..]);
    get(&[("range", &format!("bytes={size}-"))]).fails(416, "RangeNotSatisfiable");
    assert_eq!(get(&[("if-none-match", &tag)]).status, 304);
    let head = blog.editor.send("HEAD", &path, &[("range", "bytes=0-1")], b"");
    assert_eq!((head.status, head.body.len()), (200, 0));
    for name in ["content-length", "content-type", "etag", "accept-ranges", "content-disposition"] {
        assert_eq!(head.header(name), whole.header(name), "{name}");
        assert!(head.header(name).is_some(), "{name}");
    }
    // What was a part of the whole is none of another.
    let post = blog.post(&json!({ "title": "later" }), "more");
    let other = get(&[("range", "bytes=0-9"), ("if-range", &tag)]);
    assert!(other.status == 200 && other.body.len() > size);
    assert_eq!(get(&[("if-none-match", &tag)]).status, 200);
    // An ETag of the content serves for a write of the liveblog.
    let late = [("if-match", tag.as_str())];
    blog.editor.send("PUT", &blog.path(""), &late, b"<a/>").fails(412, "PreconditionFailed");
    let now = other.header("etag").expect("it has an ETag").to_owned();
    blog.editor.send("PUT", &blog.path(""), &[("if-match", &now)], b"<a/>").ok();
    blog.editor.delete(&blog.post_path(&post, "")).ok();
    assert_eq!(titles(&blog.content("").body).len(), 140);
}

#[test]
fn maxsize_cuts_a_resolved_content_and_is_part_of_its_etag() {
    let blog = Blog::of("<a/>");
    blog.post_of("long", "text/plain", &b"x".repeat(1_200_000));
    let (whole, cut) = (blog.content(""), blog.content("?maxSize=1"));
    assert!(whole.body.len() > 1_200_000 && cut.body == whole.body[..1_000_000]);
    assert_ne!(whole.header("etag"), cut.header("etag"));
    assert!(blog.content("?maxSize=2").body == whole.body);
    assert_eq!(blog.content("?maxSize=0").body, b"");
    let tail = blog.editor.send("GET", &blog.path("/content?maxSize=1"), &[("range", "bytes=-5")], b"");
    assert_eq!(tail.header("content-range"), Some("bytes 999995-999999/1000000"));
    blog.editor.get(&blog.path("/content?maxSize=-1")).fails(400, "InvalidParameter");
}

#[test]
fn raw_is_what_is_stored_and_versions_and_working_copies_are_resolved_alike() {
    let blog = Blog::of("<one/>");
    blog.post(&json!({ "title": "x" }), "x");
    let write = |query: &str, bytes: &[u8]| blog.editor.send("PUT", &blog.path(query), &[], bytes).ok();
    write("?newVersion=true", b"<two/>");
    write("?checkOut=true&checkIn=false", b"<draft/>");
    let reader = Server::shared().login("reader");
    let read = |client: &Client, query: &str| {
        String::from_utf8(client.get(&blog.path(&format!("/content{query}"))).body).unwrap()
    };
    for (client, latest) in [(&blog.editor, "draft"), (&reader, "two")] {
        for (query, root) in [("?x=1", latest), ("?version=-1", latest), ("?version=1", "one"), ("?version=2", "two")] {
            assert_eq!(read(client, &format!("{query}&raw=true")), format!("<{root}/>"), "{query}");
            let resolved = read(client, query);
            assert!(resolved.starts_with(&format!("<{root}><post ")), "{resolved}");
            assert!(resolved.ends_with(&format!("</post>\n</{root}>")), "{resolved}");
        }
    }
    let version = format!("/v3/container/liveblog/{}/content?raw=1", encoded(&blog.loid.replace(".0.", ".1.")));
    assert_eq!(reader.get(&version).body, b"<one/>");
    reader.get(&blog.path("/content?version=9")).fails(404, "ObjectNotFound");
    reader.get(&blog.path("/content?version=0")).fails(400, "InvalidParameter");
    let raw = reader.get(&blog.path("/content?raw=true"));
    assert_ne!(raw.header("etag"), reader.get(&blog.path("/content")).header("etag"));
    let part = reader.send("GET", &blog.path("/content?raw=true"), &[("range", "bytes=1-3")], b"");
    assert_eq!((part.status, part.body), (206, b"two".to_vec()));
}

#[test]
fn what_is_no_xml_is_served_as_it_is_stored() {
    let blog = Blog::new();
    blog.post(&json!({}), "x");
    let deep = format!("{}{}", "<a>".repeat(65), "</a>".repeat(65));
    for bytes in [b"no XML".as_slice(), b"<a>", b"\xff\xfe<\0a\0/\0>\0", b"<a>&undeclared;</a>", deep.as_bytes()] {
        let path = format!("/v3/object/{}/content", encoded(&blog.loid));
        blog.editor.send("PUT", &path, &[("content-type", "text/plain")], bytes).ok();
        let answer = blog.content("");
        assert!(answer.body == bytes);
        assert_eq!(answer.header("content-type"), Some("text/plain"));
    }
}

#[test]
fn a_content_says_what_it_is_when_posts_are_in_it() {
    let blog =
        Blog::of("<?xml version='1.1' encoding='US-ASCII' standalone='yes'?><!DOCTYPE a [<!ENTITY x 'y'>]><a>&x;</a>");
    blog.post_of("ä", "text/plain", "Fähre\u{85}".as_bytes());
    let text = String::from_utf8(blog.content("").body).unwrap();
    let expected = "<?xml version=\"1.0\" encoding=\"UTF-8\"?><!DOCTYPE a [<!ENTITY x 'y'>]><a>&x;<post ";
    assert!(text.starts_with(expected), "{text}");
    assert_eq!(titles(text.as_bytes()), ["ä"]);
}

#[test]
fn while_posts_are_replaced_and_removed_readers_get_what_was_approved_or_no_end_of_it() {
    let blog = Blog::of("<a/>");
    let author = Server::shared().login("contributor");
    let put = |client: &Client, number: u64, text: &str| {
        let options = json!({ "title": number.to_string(), "timestamp": number, "createMode": "REPLACE" });
        let files = [("content", "p.txt", "text/plain", text.as_bytes())];
        id(&blog.try_post(client, &options, &files).ok())
    };
    for number in 0..70 {
        put(&author, number, "approved");
    }
    for item in blog.read(&blog.editor, "")["items"].as_array().expect("there are items") {
        blog.set(&blog.editor, &id(item), "approve").ok();
    }
    let done = std::sync::atomic::AtomicBool::new(false);
    let read = std::thread::scope(|scope| {
        let readers: Vec<_> = (0..2)
            .map(|number| {
                let (blog, done, client) = (&blog, &done, blog.editor.afresh());
                scope.spawn(move || {
                    let mut whole = 0;
                    while !done.load(std::sync::atomic::Ordering::Relaxed) || whole == 0 {
                        let headers: &[_] = if number == 0 { &[] } else { &[("range", "bytes=0-")] };
                        // One that can't be brought to its end breaks off.
                        let Ok(answer) = client.try_send("GET", &blog.path("/content"), headers, b"") else { continue };
                        assert!(matches!(answer.status, 200 | 206), "{}", answer.status);
                        let text = String::from_utf8(answer.body).expect("it is UTF-8");
                        assert!(!text.contains("unseen"), "{text}");
                        parsed(text.as_bytes());
                        whole += 1;
                    }
                    whole
                })
            })
            .collect();
        for round in 0..40 {
            // In place of the approved one, and nobody has approved it.
            let post = put(&author, round, "unseen");
            match round % 3 {
                0 => drop(blog.editor.delete(&blog.post_path(&post, "")).ok()),
                1 => {
                    put(&blog.editor, round, "approved");
                    blog.set(&blog.editor, &post, "approve").ok();
                }
                _ => {}
            }
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        readers.into_iter().map(|reader| reader.join().expect("it does not fail")).collect::<Vec<i32>>()
    });
    assert!(read.iter().all(|whole| *whole > 0), "{read:?}");
    let seen = titles(&blog.content("").body);
    assert!(seen.len() == 43 && seen.iter().all(|title| title.parse::<u64>().is_ok()), "{seen:?}");
}
