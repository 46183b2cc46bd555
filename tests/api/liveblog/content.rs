//! A liveblog's own content, with its posts in it and as it is stored.

use roxmltree::Node;

use super::*;

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
    fn with_content(content: &str) -> Blog {
        let blog = Blog::new();
        blog.write(content).ok();
        blog
    }

    /// A post of a type and these bytes.
    fn post_of(&self, title: &str, content_type: &str, bytes: &[u8]) -> String {
        id(&self.new_post(&json!({ "title": title }), &[("content", "post", content_type, bytes)]).ok())
    }
}

#[test]
fn approved_posts_stand_in_order_at_the_contents_mark_for_all_readers() {
    let blog = Blog::new();
    for (title, timestamp, pinned) in [("a", 1000, false), ("b", 3000, false), ("c", 500, true), ("d", 2000, false)] {
        blog.post(&json!({ "title": title, "timestamp": timestamp, "pinned": pinned, "summary": "short" }), title);
    }
    blog.add_unseen();
    let text = text(&blog.content());
    assert_eq!(titles(text.as_bytes()), ["c", "b", "d", "a"]);
    let document = parsed(text.as_bytes());
    let place = document.descendants().find(|node| node.attribute("posts") == Some("here")).expect("it stays");
    assert_eq!(place.children().filter(Node::is_element).count(), 4);
    assert!(text.starts_with("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE liveblog SYSTEM"), "{text}");
    assert!(text.contains("</posts>\n  <foot>") && text.ends_with("</liveblog>\n"), "the rest is as it is stored");
    let first = posts(&document)[0];
    let [name, uuid] = ["name", "uuid"].map(|name| first.attribute(name).expect("a post has a name and a uuid"));
    blog.read_post(first.attribute("loid").unwrap())
        .gives(&json!({ "info": { "name": name, "pstate": { "uuid": uuid } } }));
    let told = ["timestamp", "author", "pinned", "type"].map(|name| first.attribute(name));
    assert_eq!(told, [Some("500"), Some("editor"), Some("true"), None]);
    assert_eq!(child(first, "summary").text(), Some("short"));
    for name in ["reader", "contributor", "reporter", "admin"] {
        assert!(blog.content().by(&user(name)).send().body == text.as_bytes(), "{name}");
    }
}

#[test]
fn a_content_stands_as_xml_as_text_or_as_a_reference() {
    let blog = Blog::with_content("<blog xmlns='urn:blog'><posts posts='here'><p>Own</p></posts></blog>");
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
    blog.new_post(&json!({ "title": "picture\u{1}<" , "type": "a\"b" }), &files).ok();
    let answer = served(&blog.content());
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
fn large_post_contents_are_read_from_files_and_oversized_ones_referenced() {
    let server = Server::with(&[("LIMITS__XML_BYTES", "100000"), ("SERVER__BASE_PATH", "/rest")]);
    let blog = Blog::of(editor_below(&server, "/rest"));
    for (title, size) in [("file", 90_000), ("beyond", 100_001)] {
        blog.post_of(title, "text/plain", "x".repeat(size).as_bytes());
    }
    let text = text(&blog.content());
    let document = parsed(text.as_bytes());
    let contents: Vec<_> = posts(&document).into_iter().map(|post| child(post, "content")).collect();
    assert_eq!(contents[0].attribute("form"), Some("reference"));
    let href = contents[0].attribute("href").unwrap();
    assert!(href.starts_with("/rest/v3/container/liveblog/"), "{href}");
    assert_eq!(blog.editor.get(href.strip_prefix("/rest").unwrap()).body.len(), 100_001);
    assert_eq!((contents[1].attribute("form"), contents[1].text().map(str::len)), (Some("text"), Some(90_000)));
    blog.write(format!("<a>{}</a>", "x".repeat(100_000))).fails(413, "TooLarge");
}

#[test]
fn parts_of_a_resolved_content_are_those_of_the_whole() {
    let blog = Blog::new();
    // More than are built at a time, of different lengths.
    for number in 0..140 {
        blog.post(&json!({ "title": number.to_string(), "timestamp": number }), &"äx".repeat(number % 7));
    }
    let whole = served(&blog.content());
    let size = whole.body.len();
    assert_eq!(titles(&whole.body).len(), 140);
    assert_eq!(whole.header("accept-ranges"), Some("bytes"));
    assert_eq!(whole.header("content-length"), Some(&*size.to_string()));
    assert_eq!(whole.header("content-type"), Some("text/xml"));
    let tag = tag(&whole);
    let part = |range: &str| blog.content().header("range", format!("bytes={range}"));
    let ends = (0..40).map(|part| (part * size / 40 + part, size / 3)).chain([(0, size), (size - 1, 1), (0, 1)]);
    for (first, len) in ends {
        let last = (first + len - 1).min(size - 1);
        let part = part(&format!("{first}-{last}")).header("if-range", &tag).send();
        assert_eq!(part.status, 206);
        assert_eq!(part.header("content-range"), Some(&*format!("bytes {first}-{last}/{size}")));
        assert!(part.body == whole.body[first..=last], "{first}-{last}");
    }
    assert!(part("-100").send().body == whole.body[size - 100..]);
    part(&format!("{size}-")).fails(416, "RangeNotSatisfiable");
    let head = blog.editor.send("HEAD", &blog.path("/content"), &[("range", "bytes=0-1")], b"");
    assert_eq!((head.status, head.body.len()), (200, 0));
    for name in ["content-length", "content-type", "etag", "accept-ranges", "content-disposition"] {
        assert_eq!(head.header(name), whole.header(name), "{name}");
        assert!(head.header(name).is_some(), "{name}");
    }
    // A range of one content must not be combined with another content.
    let post = blog.post(&json!({ "title": "later" }), "more");
    let other = part("0-9").header("if-range", &tag).send();
    assert!(other.status == 200 && other.body.len() > size);
    assert_eq!(blog.content().header("if-none-match", &tag).send().status, 200);
    // An ETag of the content serves for a write of the liveblog.
    blog.write("<a/>").header("if-match", &tag).fails(412, "PreconditionFailed");
    blog.write("<a/>").header("if-match", self::tag(&other)).ok();
    blog.remove(&post).ok();
    assert_eq!(titles(&served(&blog.content()).body).len(), 140);
}

#[test]
fn maxsize_cuts_a_resolved_content_and_is_part_of_its_etag() {
    let blog = Blog::with_content("<a/>");
    blog.post_of("long", "text/plain", &b"x".repeat(1_200_000));
    let cut = |size: i32| blog.content().query("maxSize", size);
    let (whole, first) = (served(&blog.content()), served(&cut(1)));
    assert!(whole.body.len() > 1_200_000 && first.body == whole.body[..1_000_000]);
    assert_ne!(tag(&whole), tag(&first));
    assert!(served(&cut(2)).body == whole.body);
    assert_eq!(served(&cut(0)).body, b"");
    let tail = cut(1).header("range", "bytes=-5").send();
    assert_eq!(tail.header("content-range"), Some("bytes 999995-999999/1000000"));
    cut(-1).fails(400, "InvalidParameter");
}

#[test]
fn raw_reads_return_the_stored_content_of_the_same_version_or_draft() {
    let blog = Blog::with_content("<one/>");
    blog.post(&json!({ "title": "x" }), "x");
    blog.write("<two/>").query("newVersion", true).ok();
    with(blog.write("<draft/>"), "checkOut=true&checkIn=false").ok();
    let reader = user("reader");
    for (client, latest) in [(&blog.editor, "draft"), (&reader, "two")] {
        for (query, root) in [("", latest), ("version=-1", "two"), ("version=1", "one"), ("version=2", "two")] {
            let read = || with(blog.content(), query).by(client);
            assert_eq!(text(&read().query("raw", true)), format!("<{root}/>"), "{query}");
            let resolved = text(&read());
            assert!(resolved.starts_with(&format!("<{root}><post ")), "{resolved}");
            assert!(resolved.ends_with(&format!("</post>\n</{root}>")), "{resolved}");
        }
    }
    let version = blog.loid.replace(".0.", ".1.");
    assert_eq!(text(&reader.call("liveblog-content-get", &[&version]).query("raw", 1)), "<one/>");
    let read = || blog.content().by(&reader);
    read().query("version", 9).fails(404, "ObjectNotFound");
    read().query("version", 0).fails(400, "InvalidParameter");
    let raw = || read().query("raw", true);
    assert_ne!(tag(&raw().send()), tag(&read().send()));
    let part = raw().header("range", "bytes=1-3").send();
    assert_eq!((part.status, part.body), (206, b"two".to_vec()));
}

#[test]
fn what_is_no_xml_is_served_as_it_is_stored() {
    let blog = Blog::new();
    blog.post(&json!({}), "x");
    let deep = format!("{}{}", "<a>".repeat(65), "</a>".repeat(65));
    for bytes in [b"no XML".as_slice(), b"<a>", b"\xff\xfe<\0a\0/\0>\0", b"<a>&undeclared;</a>", deep.as_bytes()] {
        blog.call("stet-object-content-put", &[]).bytes("text/plain", bytes).ok();
        let answer = served(&blog.content());
        assert!(answer.body == bytes);
        assert_eq!(answer.header("content-type"), Some("text/plain"));
    }
}

#[test]
fn a_content_says_what_it_is_when_posts_are_in_it() {
    let blog = Blog::with_content(
        "<?xml version='1.1' encoding='US-ASCII' standalone='yes'?><!DOCTYPE a [<!ENTITY x 'y'>]><a>&x;</a>",
    );
    blog.post_of("ä", "text/plain", "Fähre\u{85}".as_bytes());
    let text = text(&blog.content());
    let expected = "<?xml version=\"1.0\" encoding=\"UTF-8\"?><!DOCTYPE a [<!ENTITY x 'y'>]><a>&x;<post ";
    assert!(text.starts_with(expected), "{text}");
    assert_eq!(titles(text.as_bytes()), ["ä"]);
}

#[test]
fn readers_get_approved_posts_or_an_aborted_reply_during_replacements() {
    let blog = Blog::with_content("<a/>");
    let author = user("contributor");
    let put = |client: &Client, number: u64, text: &str| {
        let options = json!({ "title": number.to_string(), "timestamp": number, "createMode": "REPLACE" });
        let files = [("content", "p.txt", "text/plain", text.as_bytes())];
        id(&blog.new_post(&options, &files).by(client).ok())
    };
    for number in 0..70 {
        put(&author, number, "approved");
    }
    for post in ids(&blog.read().ok()) {
        blog.set(&post, "approve").ok();
    }
    let done = std::sync::atomic::AtomicBool::new(false);
    let read = std::thread::scope(|scope| {
        let readers: Vec<_> = (0..2)
            .map(|number| {
                let (blog, done, client) = (&blog, &done, blog.editor.afresh());
                scope.spawn(move || {
                    let mut whole = 0;
                    while !done.load(std::sync::atomic::Ordering::Relaxed) || whole == 0 {
                        let read = blog.content().by(&client);
                        let read = if number == 0 { read } else { read.header("range", "bytes=0-") };
                        // One that can't be brought to its end breaks off.
                        let Ok(answer) = read.try_send() else { continue };
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
            // A replacement of the approved content, which is not approved itself.
            let post = put(&author, round, "unseen");
            match round % 3 {
                0 => drop(blog.remove(&post).ok()),
                1 => {
                    put(&blog.editor, round, "approved");
                    blog.set(&post, "approve").ok();
                }
                _ => {}
            }
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        readers.into_iter().map(|reader| reader.join().expect("it does not fail")).collect::<Vec<i32>>()
    });
    assert!(read.iter().all(|whole| *whole > 0), "{read:?}");
    let seen = titles(&served(&blog.content()).body);
    assert!(seen.len() == 43 && seen.iter().all(|title| title.parse::<u64>().is_ok()), "{seen:?}");
}
