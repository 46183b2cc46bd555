//! Reading a liveblog with its posts.

use super::*;

#[test]
fn pinned_posts_stand_first_then_the_newest_and_other_orders_may_be_asked_for() {
    let blog = Blog::new();
    let post = |timestamp: u64, title: &str, pinned: bool| {
        blog.post(&json!({ "timestamp": timestamp, "title": title, "pinned": pinned }), title)
    };
    let (b, c, a) = (post(1000, "b", false), post(3000, "c", false), post(2000, "a", true));
    let order = |query: &str| ids(&blog.read(&blog.editor, query));
    assert_eq!(order(""), [&a, &c, &b].map(Clone::clone));
    assert_eq!(order("?sortBy=title"), [&a, &b, &c].map(Clone::clone));
    assert_eq!(order("?sortBy=-timestamp"), [&c, &a, &b].map(Clone::clone));
    assert_eq!(order("?sortBy=pinned:asc,timestamp:asc"), [&b, &c, &a].map(Clone::clone));
    assert_eq!(order("?sortBy=name&limit=1&offset=1"), [a.as_str()]);
    assert_eq!(order("?limit=0"), [""; 0]);
    for field in ["id", "type", "status", "author", "creator", "created", "modified", "lastModifier"] {
        assert_eq!(order(&format!("?sortBy={field}")).len(), 3, "{field}");
    }
    let refused = blog.editor.get(&blog.path("?sortBy=colour")).fails(400, "InvalidParameter");
    assert!(refused["message"].as_str().unwrap().contains("`colour`"));
    let info = blog.read(&blog.editor, "")["info"].take();
    assert_eq!(info["lastPostTimestamp"], 3000);
    blog.set(&blog.editor, &c, "reject").ok();
    assert_eq!(blog.read(&blog.editor, "")["info"]["lastPostTimestamp"], 2000, "of those that are approved");
}

#[test]
fn display_options_speak_of_the_liveblog_and_its_posts() {
    let blog = Blog::new();
    blog.post(&json!({ "timestamp": 0, "attributes": { "m": { "h": "1" } } }), "x");
    let query = "?showPath=true&showAttributes=false&showXml=true&showAdditionalInfo=1&showUniquenessString=1";
    let reply = blog.read(&blog.editor, query);
    let path = format!("{}/night", blog.folder);
    for (info, path, family) in [
        (&reply["info"], path.clone(), "liveblog"),
        (&reply["items"][0]["info"], format!("{path}/19700101-000000-000"), "document"),
    ] {
        assert_eq!(info["path"], path);
        assert!(info["attributes"].is_null() && info["systemAttributesXml"].is_string(), "{info}");
        assert_eq!(info["additionalInfo"]["family"], family);
        assert!(info["uniquenessString"].is_string());
    }
    let plain = blog.read(&blog.editor, "");
    assert!(plain["items"][0]["info"]["path"].is_null() && plain["items"][0]["info"]["attributes"]["m"]["h"] == "1");
    let options = json!({ "options": { "showPath": true, "showAttributes": false } });
    let named = blog
        .editor
        .post(
            "/v3/container/liveblog/posts",
            &json!({ "sources": [id(&plain["items"][0])],
        "options": options["options"] }),
        )
        .ok();
    for item in [&named["items"][0], &blog.search(&blog.editor, &options)["items"][0]] {
        assert_eq!(item["info"]["path"], format!("{path}/19700101-000000-000"));
        assert!(item["info"]["attributes"].is_null());
    }
    // What is shown of a post is kept, and its path is not.
    blog.editor.post("/v3/folder", &json!({ "path": format!("{}/below", blog.folder) })).ok();
    assert_eq!(
        blog.read(&blog.editor, "?showPath=true")["items"][0]["info"]["path"],
        format!("{path}/19700101-000000-000")
    );
}

#[test]
fn a_reader_who_has_it_already_is_told_so_until_something_changes() {
    let blog = Blog::new();
    let post = blog.post(&json!({}), "one");
    let reader = Server::shared().login("reader");
    let get = |client: &Client, path: &str, etag: &str| client.send("GET", path, &[("if-none-match", etag)], b"");
    for (client, path) in [
        (&blog.editor, blog.path("")),
        (&reader, blog.path("?limit=1")),
        (&blog.editor, blog.path("?showPath=true")),
        (&reader, blog.post_path(&post, "")),
    ] {
        let etag = client.get(&path).header("etag").expect("a read has an ETag").to_owned();
        let again = get(client, &path, &etag);
        assert_eq!((again.status, again.body.len()), (304, 0), "{path}");
        assert_eq!(again.header("etag"), Some(etag.as_str()));
        blog.update(&blog.editor, &post, &json!({ "title": etag }), &[]).ok();
        assert_eq!(get(client, &path, &etag).status, 200, "{path}");
    }
    let etag = |client: &Client, query: &str| client.get(&blog.path(query)).header("etag").unwrap().to_owned();
    assert_ne!(etag(&blog.editor, ""), etag(&reader, ""), "they may see other posts");
    assert_ne!(etag(&reader, ""), etag(&reader, "?limit=1"));
    assert_ne!(etag(&reader, ""), etag(&reader, "?showXml=true"));
    assert_ne!(etag(&reader, ""), etag(&reader, "?sortBy=title"));
}

#[test]
fn posts_named_in_a_body_come_from_any_liveblogs_and_in_that_order() {
    let (blog, other) = (Blog::new(), Blog::new());
    let (one, two) = (blog.post(&json!({ "timestamp": 0 }), "one"), other.post(&json!({}), "two"));
    let uuid = other.read_post(&other.editor, &two)["info"]["pstate"]["uuid"].as_str().unwrap().to_owned();
    let path = format!("{}/night/19700101-000000-000", blog.folder);
    let story = blog.editor.story(&blog.folder, "s.xml");
    let sources =
        json!([uuid, one, path, story, blog.loid, "/", "/nowhere", "nonsense", format!("{}/s.xml/x", blog.folder)]);
    let reply = blog.editor.post("/v3/container/liveblog/posts", &sources).ok();
    assert_eq!(ids(&reply), [two, one.clone(), one]);
    let codes: Vec<(&str, &str)> = reply["errors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|error| (error["source"].as_str().unwrap(), error["code"].as_str().unwrap()))
        .collect();
    let gone = "CMS.ObjectNotFound";
    let last = sources[8].as_str().unwrap();
    let wanted = [
        (story.as_str(), gone),
        (blog.loid.as_str(), gone),
        ("/", gone),
        ("/nowhere", gone),
        ("nonsense", "CMS.InvalidParameter"),
        (last, gone),
    ];
    assert_eq!(codes, wanted);
    blog.editor.post("/v3/container/liveblog/posts", &json!({})).fails(400, "InvalidBody");
}
