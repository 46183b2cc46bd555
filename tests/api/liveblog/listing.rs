//! Reading a liveblog with its posts.

use super::*;

#[test]
fn pinned_posts_are_listed_first_then_the_newest_unless_sorted_otherwise() {
    let blog = Blog::new();
    let post = |timestamp: u64, title: &str, pinned: bool| {
        blog.post(&json!({ "timestamp": timestamp, "title": title, "pinned": pinned }), title)
    };
    let (b, c, a) = (post(1000, "b", false), post(3000, "c", false), post(2000, "a", true));
    let order = |query: &str| ids(&with(blog.read(), query).ok());
    for (query, expected) in [
        ("", vec![&a, &c, &b]),
        ("sortBy=title", vec![&a, &b, &c]),
        ("sortBy=-timestamp", vec![&c, &a, &b]),
        ("sortBy=pinned:asc,timestamp:asc", vec![&b, &c, &a]),
        ("sortBy=name&limit=1&offset=1", vec![&a]),
        ("limit=0", vec![]),
    ] {
        assert_eq!(order(query).iter().collect::<Vec<_>>(), expected, "{query}");
    }
    for field in ["id", "type", "status", "author", "creator", "created", "modified", "lastModifier"] {
        assert_eq!(order(&format!("sortBy={field}")).len(), 3, "{field}");
    }
    names(&with(blog.read(), "sortBy=colour").fails(400, "InvalidParameter"), &["`colour`"]);
    blog.read().gives(&json!({ "info": { "lastPostTimestamp": 3000 } }));
    blog.set(&c, "reject").ok();
    // Of those that are approved.
    blog.read().gives(&json!({ "info": { "lastPostTimestamp": 2000 } }));
}

#[test]
fn display_options_speak_of_the_liveblog_and_its_posts() {
    let blog = Blog::new();
    blog.post(&json!({ "timestamp": 0, "attributes": { "m": { "h": "1" } } }), "x");
    let query = "showPath=true&showAttributes=false&showXml=true&showAdditionalInfo=1&showUniquenessString=1";
    let reply = with(blog.read(), query).ok();
    let path = format!("{}/night", blog.folder);
    for (info, path, family) in [
        (&reply["info"], path.clone(), "liveblog"),
        (&reply["items"][0]["info"], format!("{path}/19700101-000000-000"), "document"),
    ] {
        includes(info, &json!({ "path": path, "additionalInfo": { "family": family } }));
        assert!(info["attributes"].is_null() && info["systemAttributesXml"].is_string(), "{info}");
        assert!(info["uniquenessString"].is_string());
    }
    let plain = blog.read().ok();
    assert!(plain["items"][0]["info"]["path"].is_null() && plain["items"][0]["info"]["attributes"]["m"]["h"] == "1");
    let options = json!({ "showPath": true, "showAttributes": false });
    let path = format!("{path}/19700101-000000-000");
    for call in [
        named(&blog.editor, &json!({ "sources": ids(&plain), "options": options })),
        blog.search(&json!({ "options": options })),
    ] {
        let reply = call.gives(&json!({ "items": [{ "info": { "path": path } }] }));
        assert!(reply["items"][0]["info"]["attributes"].is_null());
    }
    // Replies about a post are cached, but not its path.
    let below = json!({ "path": format!("{}/below", blog.folder) });
    blog.editor.call("folder-post", &[]).json(&below).ok();
    blog.read().query("showPath", true).gives(&json!({ "items": [{ "info": { "path": path } }] }));
}

#[test]
fn a_reader_who_has_it_already_is_told_so_until_something_changes() {
    let blog = Blog::new();
    let post = blog.post(&json!({}), "one");
    let reader = user("reader");
    for call in [
        blog.read(),
        blog.read().query("limit", 1).by(&reader),
        blog.read().query("showPath", true),
        blog.read_post(&post).by(&reader),
    ] {
        let known = tag(&call.send());
        let again = || call.clone().header("if-none-match", &known).send();
        assert_eq!(again().status, 304);
        blog.update(&post, &json!({ "title": known }), &[]).ok();
        assert_eq!(again().status, 200);
    }
    let read = |client: &Client, query: &str| tag(&with(blog.read(), query).by(client).send());
    assert_ne!(read(&blog.editor, ""), read(&reader, ""), "they may see other posts");
    for query in ["limit=1", "showXml=true", "sortBy=title"] {
        assert_ne!(read(&reader, ""), read(&reader, query));
    }
}

#[test]
fn posts_named_in_a_body_come_from_any_liveblogs_and_in_that_order() {
    let (blog, other) = (Blog::new(), Blog::new());
    let (one, two) = (blog.post(&json!({ "timestamp": 0 }), "one"), other.post(&json!({}), "two"));
    let read = other.read_post(&two).ok();
    let uuid = &read["info"]["pstate"]["uuid"];
    let path = format!("{}/night/19700101-000000-000", blog.folder);
    let story = blog.editor.story(&blog.folder, "s.xml");
    let last = format!("{}/s.xml/x", blog.folder);
    let sources = json!([uuid, one, path, story, blog.loid, "/", "/nowhere", "nonsense", &last]);
    let errors = [&story, &blog.loid, "/", "/nowhere", "nonsense", &last].map(|source| {
        let code = if source == "nonsense" { "CMS.InvalidParameter" } else { "CMS.ObjectNotFound" };
        json!({ "source": source, "code": code })
    });
    let reply = named(&blog.editor, &sources).gives(&json!({ "errors": errors }));
    // The path is another name of an object that is listed already.
    assert_eq!(ids(&reply), [two, one]);
    named(&blog.editor, &json!({})).fails(400, "InvalidBody");
}
