//! Feeds of a liveblog, as those read them who have nothing to do with us.

use feed_rs::model::{Feed, FeedType};

use super::*;

fn parsed(answer: &Answer) -> Feed {
    feed_rs::parser::parse(answer.body.as_slice())
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&answer.body)))
}

/// The titles of a feed's entries, in whatever format.
fn titles(blog: &Blog, client: &Client, query: &str) -> Vec<Vec<String>> {
    let of = |format: &str| served(&with(blog.feed(format).by(client), query));
    let mut all: Vec<Vec<String>> = ["atom", "json"]
        .into_iter()
        .map(|format| parsed(&of(format)).entries.into_iter().filter_map(|entry| Some(entry.title?.content)).collect())
        .collect();
    let ld = of("jsonld").json();
    let updates = ld["liveBlogUpdate"].as_array().expect("it has updates").iter();
    all.push(updates.map(|post| post["headline"].as_str().expect("a post has a headline").to_owned()).collect());
    all
}

/// A liveblog with a post of every kind, the newest first: html, xml, plain, picture.
fn mixed() -> (Blog, Vec<String>) {
    let blog = Blog::new();
    let options = json!({ "title": "A <b> & \"ü\"\u{1}", "summary": "In short", "timestamp": 1_763_733_784_005_u64, "tags": ["ferry", "a<b"] });
    let attachments: [File<'_>; 2] = [
        ("content", "p.html", "text/html", b"<p>Fish &amp; <b>C</b>hips<br>two\x0c</p>"),
        ("attachments", "map & more.png", "image/png", b"map"),
    ];
    let html = id(&blog.new_post(&options, &attachments).ok());
    let mut posts = vec![html];
    for (number, (content_type, bytes)) in
        [("text/xml", b"<p>The <b>F</b>erry</p>".as_slice()), ("text/plain", b"1 < 2 & ]]>"), ("image/png", b"\x89PNG")]
            .into_iter()
            .enumerate()
    {
        let files = [("content", "file", content_type, bytes)];
        let options = json!({ "title": content_type, "timestamp": 1_763_733_000_000_u64 - 1000 * number as u64 });
        posts.push(id(&blog.new_post(&options, &files).ok()));
    }
    (blog, posts)
}

fn urn(record: &Value) -> String {
    format!("urn:uuid:{}", record["pstate"]["uuid"].as_str().expect("a record has a uuid"))
}

#[test]
fn readers_of_atom_and_json_feed_find_what_the_posts_say() {
    let (blog, posts) = mixed();
    let editor = &blog.editor;
    let info = blog.read().ok()["info"].clone();
    for (format, media_type, kind) in
        [("atom", "application/atom+xml", FeedType::Atom), ("json", "application/feed+json", FeedType::JSON)]
    {
        let answer = served(&blog.feed(format));
        assert_eq!(answer.header("content-type"), Some(media_type));
        let found = parsed(&answer);
        assert_eq!((found.feed_type == kind, found.title.map(|title| title.content)), (true, Some("night".to_owned())));
        if format == "atom" {
            assert_eq!(found.id, urn(&info));
            assert!(found.updated.is_some());
        }
        let own = format!("{}/v3/container/liveblog/{}/feed/{format}?limit=50&offset=0", editor.base, blog.loid);
        assert!(found.links.iter().any(|link| link.href == own), "{:?}", found.links);
        assert_eq!(found.entries.len(), 4);
        for (entry, post) in found.entries.iter().zip(&posts) {
            let record = blog.read_post(post).ok();
            assert_eq!(entry.id, urn(&record["info"]), "{format}");
            assert_eq!(entry.published.unwrap().timestamp_millis() as u64, record["timestamp"].as_u64().unwrap());
            assert_eq!(entry.updated.unwrap().timestamp() as u64, record["info"]["modified"].as_u64().unwrap());
            assert_eq!(entry.authors[0].name.as_deref(), Some("Mara Lindqvist"));
        }
        let [html, xml, plain, picture] = found.entries.as_slice() else { panic!("there are four") };
        let title = html.title.as_ref().unwrap().content.replace('\u{1}', "");
        assert_eq!((title.as_str(), &*html.summary.as_ref().unwrap().content), ("A <b> & \"ü\"", "In short"));
        let terms: Vec<_> = html.categories.iter().map(|category| category.term.as_str()).collect();
        assert_eq!(terms, ["ferry", "a<b"]);
        let content = |entry: &feed_rs::model::Entry| {
            let content = entry.content.as_ref().expect("an entry has a content");
            (content.content_type.to_string(), content.body.clone().unwrap_or_default().replace('\u{c}', ""))
        };
        let expected = "<p>Fish &amp; <b>C</b>hips<br>two</p>".to_owned();
        assert_eq!(content(html), ("text/html".to_owned(), expected), "{format}");
        assert_eq!(content(xml), ("text/plain".to_owned(), "The Ferry".to_owned()));
        assert_eq!(content(plain), ("text/plain".to_owned(), "1 < 2 & ]]>".to_owned()));
        let whole = String::from_utf8(answer.body.clone()).unwrap();
        let base = format!("{}/v3/container/liveblog/{}/post", editor.base, blog.loid);
        assert!(whole.contains(&format!("{base}/{}/content", posts[3])), "{whole}");
        let first = blog.read_post(&posts[0]).ok();
        let attachment = first["attachments"][0]["id"].as_str().expect("an attachment has an id");
        let address = format!("{base}/{}/attachment/{attachment}", posts[0]);
        assert!(whole.contains(&address), "{whole}");
        assert_eq!(editor.get(address.strip_prefix(&editor.base).unwrap()).body, b"map");
        // A content that is elsewhere must have a summary there.
        assert!(format == "json" || picture.summary.is_some());
    }
    let item = &blog.feed("json").send().json()["items"][3];
    includes(
        item,
        &json!({ "content_text": "image/png", "attachments": [{ "mime_type": "image/png", "size_in_bytes": 4 }] }),
    );
}

/// The times of a post in each of the formats: when it was published, and when it changed.
fn times(blog: &Blog) -> Vec<(String, String)> {
    let atom = String::from_utf8(served(&blog.feed("atom")).body).expect("it is UTF-8");
    let element = |name: &str| {
        let entry = atom.split_once("<entry>").expect("there is an entry").1;
        let (_, rest) = entry.split_once(&format!("<{name}>")).expect("it has that element");
        rest.split_once('<').expect("it ends").0.to_owned()
    };
    let text = |value: &Value, name: &str| value[name].as_str().expect("it is a text").to_owned();
    let (json, ld) = (served(&blog.feed("json")).json(), served(&blog.feed("jsonld")).json());
    let (item, post) = (&json["items"][0], &ld["liveBlogUpdate"][0]);
    vec![
        (element("published"), element("updated")),
        (text(item, "date_published"), text(item, "date_modified")),
        (text(post, "datePublished"), text(post, "dateModified")),
    ]
}

#[test]
fn feed_times_have_milliseconds_and_no_update_precedes_publication() {
    let blog = Blog::new();
    let late = json!({ "title": "late", "timestamp": 4_000_000_000_123_u64 });
    for options in [json!({ "title": "now" }), late] {
        blog.new_post(&options, &[("content", "p.txt", "text/plain", b"text")]).ok();
        for (published, updated) in times(&blog) {
            assert!(published <= updated, "{published} {updated}");
            for time in [published, updated] {
                assert_eq!((time.len(), time.find('.')), (24, Some(19)), "{time}");
            }
        }
        let whole = served(&blog.feed("jsonld")).json();
        assert!(whole["datePublished"].as_str() <= whole["dateModified"].as_str(), "{whole}");
        assert!(whole["liveBlogUpdate"][0]["dateModified"].as_str() <= whole["dateModified"].as_str(), "{whole}");
    }
}

#[test]
fn json_of_a_feed_ends_no_script_that_it_stands_in() {
    let blog = Blog::new();
    let title = "Ferry</script><script>alert(1)</script><!-- x";
    let files = [("content", "p.txt", "text/plain", b"a </Script > <!--<script>".as_slice())];
    blog.new_post(&json!({ "title": title, "tags": ["</script>"] }), &files).ok();
    for (format, posts) in [("jsonld", "liveBlogUpdate"), ("json", "items")] {
        let answer = served(&blog.feed(format));
        let text = String::from_utf8(answer.body.clone()).expect("it is UTF-8");
        assert!(!text.contains("</") && !text.contains("<!--"), "{text}");
        assert!(text.contains(r"Ferry<\/script>"), "{text}");
        let post = &answer.json()[posts][0];
        assert!([&post["headline"], &post["title"]].contains(&&json!(title)), "{post}");
    }
}

#[test]
fn feeds_have_the_liveblogs_title_and_the_full_names_of_people() {
    let blog = Blog::new();
    let made = |name: &str, body: Value| {
        let body = crate::harness::with(body, json!({ "name": name, "folder": blog.folder }));
        blog.editor.call("liveblog-from-default-template-post", &[]).json(&body).ok()
    };
    let headline = json!({ "metadata": { "headline": "Derby night" } });
    let titled = made("titled", json!({ "title": "Gulls v Port Ashby", "attributes": headline, "product": "P" }));
    assert_eq!(titled["info"]["title"], "Gulls v Port Ashby");
    let given = json!({ "title": "T", "systemAttributes": { "props": { "moderated": "true" } } });
    let given = made("given", given);
    includes(&given["info"], &json!({ "title": "T", "moderated": true }));
    let headed = made("headed", json!({ "attributes": headline }));
    assert_eq!((&headed["info"]["title"], &blog.read().ok()["info"]["title"]), (&json!(""), &json!("")));
    let title = |loid: &str| -> Vec<String> {
        let of = |format: &str| served(&blog.editor.call("stet-liveblog-feed-get", &[&loid, &format]));
        let json = of("json").json()["title"].as_str().expect("it has one").to_owned();
        let ld = of("jsonld").json()["headline"].as_str().expect("it has one").to_owned();
        vec![parsed(&of("atom")).title.expect("it has one").content, json, ld]
    };
    assert_eq!(title(&id(&titled)), ["Gulls v Port Ashby"; 3]);
    assert_eq!(title(&id(&given)), ["T"; 3]);
    assert_eq!(title(&id(&headed)), ["Derby night"; 3]);
    assert_eq!(title(&blog.loid), ["night"; 3]);
    // Created again, and by a change of fields.
    let again = made("titled", json!({ "title": "The derby", "createMode": "NEW_VERSION" }));
    assert_eq!(again["info"]["title"], "The derby");
    let system = blog.editor.call("liveblog-get", &[&id(&titled)]).query("showSystemAttributes", true).ok();
    includes(
        &system["info"]["systemAttributes"]["props"],
        &json!({ "title": "The derby", "productInfo": { "name": "P" } }),
    );
    let set = json!({ "set": { "xpath": "/sysattributes/props/title", "content": "Final whistle" } });
    let change = json!({ "updateFields": [{ "sourceIds": [id(&titled)], "operators": [set] }] });
    blog.editor.call("stet-object-metadata-change-fields-post", &[]).json(&change).ok();
    assert_eq!(title(&id(&titled)), ["Final whistle"; 3]);
    let long = json!({ "folder": blog.folder, "title": "x".repeat(1025) });
    blog.editor.call("liveblog-from-default-template-post", &[]).json(&long).fails(400, "InvalidParameter");
    // The post itself has the name of the user.
    blog.new_post(&json!({ "title": "p" }), &[("content", "p.txt", "text/plain", b"text")]).ok();
    assert_eq!(blog.read().ok()["items"][0]["author"], "editor");
    let found = parsed(&served(&blog.feed("atom")));
    assert_eq!(found.entries[0].authors[0].name.as_deref(), Some("Mara Lindqvist"));
}

#[test]
fn json_ld_has_what_schema_org_wants_of_a_live_blog() {
    let (blog, posts) = mixed();
    let info = blog.read().ok()["info"].take();
    let answer = served(&blog.feed("jsonld"));
    assert_eq!(answer.header("content-type"), Some("application/ld+json"));
    let found = answer.json();
    let expected = json!({
        "@context": "https://schema.org", "@type": "LiveBlogPosting", "@id": urn(&info), "headline": "night",
        // The times of the earliest and the latest post.
        "coverageStartTime": "2025-11-21T13:49:58.000Z", "coverageEndTime": "2025-11-21T14:03:04.005Z",
    });
    includes(&found, &expected);
    for field in ["datePublished", "dateModified"] {
        let time = found[field].as_str().expect("it is a text");
        assert!(time.len() == "2025-11-21T14:03:04.005Z".len() && time.ends_with('Z'), "{time}");
    }
    let updates = found["liveBlogUpdate"].as_array().unwrap();
    assert_eq!(updates.len(), 4);
    for (update, post) in updates.iter().zip(&posts) {
        let record = blog.read_post(post).ok();
        let expected = json!({ "@type": "BlogPosting", "@id": urn(&record["info"]), "headline": record["title"],
            "author": { "name": "Mara Lindqvist" } });
        includes(update, &expected);
        assert!(update["datePublished"].is_string() && update["dateModified"].is_string());
    }
    assert_eq!(updates[0]["articleBody"], "Fish & Chips two");
    assert_eq!(updates[1]["articleBody"], "The Ferry");
    assert_eq!(updates[0]["associatedMedia"][0]["name"], "map & more.png");
    assert_eq!(updates[3]["associatedMedia"][0]["encodingFormat"], "image/png");
}

#[test]
fn feeds_have_all_approved_posts_for_everyone_and_pages_on_request() {
    let blog = Blog::new();
    for number in 0..5 {
        blog.post(&json!({ "title": number.to_string(), "timestamp": 1000 + number, "pinned": number == 2 }), "x");
    }
    blog.add_unseen();
    for name in ["editor", "reader", "contributor", "admin"] {
        let client = user(name);
        for (query, expected) in [
            ("", vec!["2", "4", "3", "1", "0"]),
            ("limit=2", vec!["2", "4"]),
            ("limit=2&offset=3", vec!["1", "0"]),
            ("offset=4", vec!["0"]),
            ("offset=9", vec![]),
            ("limit=0", vec![]),
        ] {
            assert_eq!(titles(&blog, &client, query), vec![expected; 3], "{name} {query}");
        }
    }
    let next = |query: &str| with(blog.feed("json"), query).send().json()["next_url"].clone();
    let path = next("limit=2").as_str().expect("there is more").strip_prefix(&blog.editor.base).unwrap().to_owned();
    assert_eq!(blog.editor.get(&path).json()["items"][0]["title"], "3");
    assert_eq!((next("limit=2&offset=3"), next(""), next("limit=0")), (Value::Null, Value::Null, Value::Null));
    for (format, query, wrong) in [
        ("rss", "", "`rss`"),
        ("Atom", "", "`Atom`"),
        ("atom", "limit=1001", "`1001`"),
        ("atom", "limit=-1", "`-1`"),
        ("atom", "offset=-1", "`-1`"),
    ] {
        names(&with(blog.feed(format), query).fails(400, "InvalidParameter"), &[wrong]);
    }
}

#[test]
fn a_json_feeds_coverage_spans_its_posts_or_is_its_creation_time() {
    let blog = Blog::new();
    let covers = || {
        let found = blog.feed("jsonld").send().json();
        ["datePublished", "coverageStartTime", "coverageEndTime"].map(|name| found[name].clone())
    };
    let [made, begin, end] = covers();
    assert_eq!((&begin, &end), (&made, &made));
    for timestamp in [4_102_444_860_000_u64, 4_102_444_800_000] {
        blog.post(&json!({ "timestamp": timestamp }), "x");
    }
    assert_eq!(covers(), [made, json!("2100-01-01T00:00:00.000Z"), json!("2100-01-01T00:01:00.000Z")]);
}

#[test]
fn an_unchanged_feed_is_known_by_its_etag_and_one_without_posts_is_a_feed() {
    let blog = Blog::new();
    for format in ["atom", "json", "jsonld"] {
        let empty = served(&blog.feed(format));
        let again = |query: &str| with(blog.feed(format), query).header("if-none-match", tag(&empty)).send().status;
        assert_eq!(again(""), 304);
        assert_eq!(again("limit=1"), 200, "another part is another representation");
        let head = blog.editor.send("HEAD", &blog.path(&format!("/feed/{format}")), &[], b"");
        assert_eq!((head.status, head.body.len(), tag(&head)), (200, 0, tag(&empty)));
        assert_eq!(head.header("content-length"), Some(&*empty.body.len().to_string()));
        if format != "jsonld" {
            assert_eq!(parsed(&empty).entries.len(), 0);
        }
        let post = blog.post(&json!({ "title": "x" }), "x");
        assert_eq!(again(""), 200);
        blog.remove(&post).ok();
    }
}

#[test]
fn a_key_in_the_address_of_a_feed_is_carried_into_its_own_links() {
    let blog = Blog::new();
    for number in 0..3 {
        let options = json!({ "title": format!("post {number}"), "timestamp": 1_763_733_000_000_u64 + number });
        blog.new_post(&options, &[("content", "p.html", "text/html", b"<p>x</p>")]).ok();
    }
    let admin = Server::shared().user("admin");
    let body =
        json!({ "name": format!("feed {}", blog.loid), "user": "reporter", "privileges": [{ "privilege": "read" }] });
    let made = admin.call("stet-key-create-post", &[]).json(&body).ok();
    let key = made["token"].as_str().expect("it has a token");
    let nobody = Server::shared().client();
    for format in ["atom", "json"] {
        let path = format!("/v3/container/liveblog/{}/feed/{format}?limit=2", blog.loid);
        nobody.get(&path).fails(401, "InvalidToken");
        let mut address = format!("{path}&key={key}");
        let mut read = Vec::new();
        // A reader has nothing but the address, and follows the links of the feed.
        for _ in 0..2 {
            let accept = [("accept-encoding", "gzip")];
            let answer = nobody.send("GET", &address, &accept, b"");
            assert_eq!((answer.status, answer.header("content-encoding")), (200, None), "{answer:?}");
            assert_eq!(answer.header("cache-control"), Some("private, no-cache"));
            let feed = parsed(&answer);
            read.extend(feed.entries.iter().filter_map(|entry| Some(entry.title.as_ref()?.content.clone())));
            let carried = format!("&key={key}");
            let own = feed.links.iter().find(|link| link.rel.as_deref() != Some("next")).expect("it has its own");
            assert!(own.href.ends_with(&carried), "{own:?}");
            let next = match format {
                "json" => answer.json()["next_url"].as_str().map(str::to_owned),
                _ => feed.links.into_iter().find(|link| link.rel.as_deref() == Some("next")).map(|link| link.href),
            };
            let Some(next) = next else { break };
            assert!(next.ends_with(&carried), "{next}");
            address = next.strip_prefix(&nobody.base).expect("it is of this server").to_owned();
        }
        assert_eq!(read, ["post 2", "post 1", "post 0"], "{format}");
    }
    // A token in a header stays out of the links, and what the key may not read is not there for
    // it.
    let answer = served(&blog.feed("atom"));
    assert!(!String::from_utf8_lossy(&answer.body).contains("key="));
    let ld = nobody.get(&format!("/v3/container/liveblog/{}/feed/jsonld?key={key}", blog.loid));
    // JSON-LD stands in pages for everybody.
    assert!(ld.json()["url"].is_string() && !String::from_utf8_lossy(&ld.body).contains(key), "{ld:?}");
}
