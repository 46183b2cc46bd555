//! Changes of several posts of a liveblog (docs/api/posts.md, "Changing several posts").

use super::*;

/// A source of no object.
const NOWHERE: &str = "1$1.0.999999999";

/// The calls that set states, each with the state.
const CALLS: [(&str, &str); 4] =
    [("pending", "pending"), ("approve", "approved"), ("reject", "rejected"), ("delete", "deleted")];

/// One of the four calls that set the states of posts.
fn set<'c>(blog: &'c Blog, call: &str, sources: &Value) -> Call<'c> {
    blog.call(&format!("stet-liveblog-posts-{call}-post"), &[]).json(sources)
}

fn put<'c>(blog: &'c Blog, body: &Value) -> Call<'c> {
    blog.call("stet-liveblog-posts-put", &[]).json(body)
}

fn remove<'c>(blog: &'c Blog, sources: &Value) -> Call<'c> {
    blog.call("stet-liveblog-posts-delete", &[]).json(sources)
}

/// Returns the source and code of each error.
fn codes(reply: &Value) -> Vec<(String, String)> {
    let errors = reply["errors"].as_array().expect("there is a list of errors").iter();
    let text = |value: &Value| value.as_str().expect("it is a text").to_owned();
    errors.map(|error| (text(&error["source"]), text(&error["code"]))).collect()
}

/// Asserts that each of these sources has failed with this code, and that nothing else has.
#[track_caller]
fn all_fail(reply: &Value, sources: &[&String], code: &str) {
    let expected: Vec<_> = sources.iter().map(|source| ((*source).clone(), format!("CMS.{code}"))).collect();
    assert_eq!((codes(reply), &reply["items"]), (expected, &json!([])));
}

fn revision(blog: &Blog) -> u64 {
    blog.read().ok()["revision"].as_u64().expect("a liveblog has a revision")
}

fn item(source: &str, id: &str, from: &str, to: &str) -> Value {
    let visible = to == "approved";
    json!({ "source": source, "id": id, "status": to, "formerStatus": from, "visibleToReaders": visible })
}

#[test]
fn each_listed_post_gets_the_state_and_an_outcome_with_the_former_one() {
    let blog = Blog::new();
    let posts: Vec<String> = (0..4).map(|number| blog.post(&json!({ "timestamp": number }), "x")).collect();
    let reader = user("reader");
    for (place, (call, _)) in CALLS.iter().enumerate() {
        blog.set(&posts[place], call).ok();
    }
    // Each post has another state before.
    let mut before = CALLS.map(|(_, state)| state);
    for (call, state) in CALLS.into_iter().cycle().take(8) {
        let first = revision(&blog);
        let reply = set(&blog, call, &json!(posts)).ok();
        let expected: Vec<Value> = posts.iter().zip(before).map(|(post, from)| item(post, post, from, state)).collect();
        assert_eq!((&reply["items"], codes(&reply)), (&json!(expected), vec![]), "{call}");
        let changed = before.iter().filter(|from| **from != state).count();
        assert_eq!(revision(&blog), first + changed as u64, "{call}: a change for each that had another state");
        before = [state; 4];
        let seen = ids(&blog.read().by(&reader).ok()).len();
        assert_eq!(seen, if state == "approved" { 4 } else { 0 }, "{call}: readers");
        for post in &posts {
            let read = blog.read_post(post).gives(&json!({ "status": state }));
            let last = read["history"].as_array().and_then(|history| history.last()).expect("there is one");
            assert_eq!(last["to"], state);
        }
    }
}

#[test]
fn posts_are_named_in_any_form_and_failures_stop_no_other() {
    let (blog, other) = (Blog::new(), Blog::new());
    let mut posts: Vec<String> = (1..6).map(|number| blog.post(&json!({ "timestamp": number }), "x")).collect();
    let foreign = other.post(&json!({}), "of another liveblog");
    let read = posts.iter().map(|post| blog.read_post(post).ok()).collect::<Vec<_>>();
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let version = posts[4].replacen(".0.", ".1.", 1);
    let sources = [
        text(&read[0]["info"]["id"]),
        foreign,
        text(&read[1]["info"]["pstate"]["uuid"]),
        "no such name".to_owned(),
        text(&read[2]["info"]["name"]),
        version,
        format!("{}/night/{}", blog.folder, text(&read[3]["info"]["name"])),
        // The same post under another name is another source.
        text(&read[0]["info"]["name"]),
        NOWHERE.to_owned(),
    ];
    let reply = set(&blog, "reject", &json!({ "sources": sources })).ok();
    let done = [(0, 0, "approved"), (2, 1, "approved"), (4, 2, "approved"), (6, 3, "approved"), (7, 0, "rejected")];
    let expected: Vec<Value> =
        done.iter().map(|(source, post, from)| item(&sources[*source], &posts[*post], from, "rejected")).collect();
    assert_eq!(reply["items"], json!(expected));
    let failed = [(1, "ObjectNotFound"), (3, "ObjectNotFound"), (5, "InvalidType"), (8, "ObjectNotFound")];
    let expected: Vec<_> =
        failed.iter().map(|(source, code)| (sources[*source].clone(), format!("CMS.{code}"))).collect();
    assert_eq!(codes(&reply), expected);
    let last = posts.pop().expect("there are five");
    blog.read_post(&last).gives(&json!({ "status": "approved" }));
    // A bare list, in which each source counts once.
    let reply = set(&blog, "pending", &json!([last, last])).ok();
    assert_eq!(reply["items"], json!([item(&last, &last, "approved", "pending")]));
}

#[test]
fn each_post_is_an_event_of_its_own() {
    let blog = Blog::new();
    let posts = [1, 2, 3].map(|number| blog.post(&json!({ "timestamp": number }), "x"));
    let admin = user("admin");
    let count = |kind: &str| {
        let page = admin.call("stet-audit-get", &[]).query("object", &blog.loid).query("limit", 100).ok();
        let entries = page["items"].as_array().expect("there are entries").iter();
        let objects = |entry: &Value| entry["objects"].as_array().map(Vec::len);
        entries.filter(|entry| entry["action"] == kind).map(objects).collect::<Vec<_>>()
    };
    set(&blog, "reject", &json!(posts)).ok();
    assert_eq!(count("liveblog.post.status"), [Some(1); 3]);
    put(&blog, &json!({ "sources": posts, "pinned": true })).ok();
    assert_eq!(count("liveblog.post.update"), [Some(1); 3]);
    remove(&blog, &json!(posts)).ok();
    assert_eq!(count("liveblog.post.remove"), [Some(1); 3]);
}

#[test]
fn rights_are_those_of_the_calls_for_one_post() {
    let blog = Blog::new();
    let editors = blog.post(&json!({ "timestamp": 1 }), "editor's");
    for author in ["reporter", "contributor"].map(user) {
        let own = blog.post_by(&author, &json!({}), "own");
        let hidden = blog.post(&json!({}), "hidden");
        blog.set(&hidden, "reject").ok();
        let sees_all = blog.read_post(&hidden).by(&author).send().status == 200;
        let all = json!([editors, own, hidden]);
        // Without the privilege on the liveblog the whole call is refused, as for one post.
        for call in ["approve", "reject"] {
            set(&blog, call, &all).by(&author).fails(403, "PermissionDenied");
        }
        let of_hidden = if sees_all { "CMS.PermissionDenied" } else { "CMS.ObjectNotFound" };
        let refused =
            vec![(editors.clone(), "CMS.PermissionDenied".to_owned()), (hidden.clone(), of_hidden.to_owned())];
        blog.set(&own, "approve").ok();
        let reply = set(&blog, "pending", &all).by(&author).ok();
        assert_eq!(reply["items"], json!([item(&own, &own, "approved", "pending")]));
        assert_eq!(codes(&reply), refused);
        blog.set(&own, "approve").ok();
        let reply = put(&blog, &json!({ "sources": all, "pinned": true })).by(&author).ok();
        assert_eq!(reply["items"], json!([item(&own, &own, "approved", "pending")]), "a pin is an edit");
        assert_eq!(codes(&reply), refused);
        let reply = set(&blog, "delete", &all).by(&author).ok();
        assert_eq!(reply["items"], json!([item(&own, &own, "pending", "deleted")]));
        // An author may not bring back what is deleted.
        let reply = set(&blog, "pending", &json!([own])).by(&author).ok();
        all_fail(&reply, &[&own], "PermissionDenied");
        let reply = remove(&blog, &all).by(&author).ok();
        assert_eq!(reply["items"], json!([{ "source": own, "id": own }]));
        assert_eq!(codes(&reply), refused);
    }
    let reader = user("reader");
    for (call, _) in CALLS {
        set(&blog, call, &json!([editors])).by(&reader).fails(403, "PermissionDenied");
    }
    put(&blog, &json!({ "sources": [editors], "pinned": true })).by(&reader).fails(403, "PermissionDenied");
    remove(&blog, &json!([editors])).by(&reader).fails(403, "PermissionDenied");
    blog.read_post(&editors).gives(&json!({ "status": "approved", "pinned": false }));
    // A key with the privilege moderates without a person behind it.
    let key = machine("contributor", &["read", "moderate"]);
    let reply = set(&blog, "reject", &json!([editors])).by(&key).ok();
    assert_eq!(reply["items"], json!([item(&editors, &editors, "approved", "rejected")]));
}

#[test]
fn posts_of_a_closed_liveblog_fail_each() {
    let blog = Blog::new();
    let posts = [1, 2].map(|number| blog.post(&json!({ "timestamp": number }), "x"));
    blog.editor.call("stet-object-status-post", &[&blog.loid]).json(&json!({ "status": "LiveBlog/Closed" })).ok();
    let both = [&posts[0], &posts[1]];
    all_fail(&set(&blog, "reject", &json!(posts)).ok(), &both, "InvalidForContainer");
    all_fail(&put(&blog, &json!({ "sources": posts, "pinned": true })).ok(), &both, "InvalidForContainer");
    all_fail(&remove(&blog, &json!(posts)).ok(), &both, "InvalidForContainer");
    // The present state is no change.
    assert_eq!(set(&blog, "approve", &json!(posts)).ok()["errors"], json!([]));
}

#[test]
fn pins_and_tags_change_as_a_model_of_sets_says_and_readers_see_pins_first() {
    let blog = Blog::new();
    let first = blog.post(&json!({ "timestamp": 1, "tags": ["ferry", "quay"] }), "x");
    let second = blog.post(&json!({ "timestamp": 2 }), "x");
    let both = json!([first, second]);
    let steps = [
        (json!({ "addTags": ["quay", "storm"] }), ["ferry quay storm", "quay storm"]),
        (json!({ "removeTags": ["quay", "unknown"] }), ["ferry storm", "storm"]),
        (json!({ "removeTags": ["storm"], "addTags": ["storm", "late"] }), ["ferry storm late", "storm late"]),
        (json!({ "tags": ["a", "b"], "removeTags": ["b"], "addTags": ["c"] }), ["a c", "a c"]),
        (json!({ "tags": [] }), ["", ""]),
    ];
    let tags = |post: &str| {
        let read = blog.read_post(post).ok();
        let tags = read["tags"].as_array().expect("a post has tags").iter();
        tags.map(|tag| tag.as_str().expect("a tag is a text").to_owned()).collect::<Vec<_>>().join(" ")
    };
    for (mut body, expected) in steps {
        body["sources"] = both.clone();
        let reply = put(&blog, &body).ok();
        let items = [&first, &second].map(|post| item(post, post, "approved", "approved"));
        assert_eq!(reply["items"], json!(items), "{body}");
        assert_eq!([tags(&first), tags(&second)], expected, "{body}");
        let before = revision(&blog);
        if body.get("tags").is_none() && body.get("removeTags").is_none() {
            put(&blog, &body).ok();
            assert_eq!(revision(&blog), before, "{body} again changes nothing");
        }
    }
    let reader = user("reader");
    let listed = || ids(&blog.read().by(&reader).ok());
    assert_eq!(listed(), [&*second, &*first]);
    put(&blog, &json!({ "sources": [first], "pinned": true })).ok();
    assert_eq!(listed(), [&*first, &*second]);
    let feed: Value = serde_json::from_str(&text(&blog.feed("json").by(&reader))).expect("a feed is JSON");
    let uuid = blog.read_post(&first).ok()["info"]["pstate"]["uuid"].as_str().expect("it has one").to_owned();
    assert!(feed["items"][0]["id"].as_str().is_some_and(|id| id.ends_with(&uuid)), "{feed}");
    for (pinned, found) in
        [(json!(true), vec![&first]), (json!(false), vec![&second]), (Value::Null, vec![&first, &second])]
    {
        let reply = blog.search(&json!({ "filters": { "pinned": pinned } })).by(&reader).ok();
        assert_eq!(ids(&reply).iter().collect::<Vec<_>>(), found, "{pinned}");
    }
    put(&blog, &json!({ "sources": both, "pinned": false })).ok();
    assert_eq!(listed(), [&*second, &*first]);
    // One post takes the same changes of tags.
    blog.update(&first, &json!({ "addTags": ["x", "y"] }), &[]).ok();
    blog.update(&first, &json!({ "removeTags": ["x"] }), &[]).gives(&json!({ "tags": ["y"] }));
}

#[test]
fn bad_bodies_are_refused_with_the_field_and_what_is_allowed() {
    let blog = Blog::new();
    let post = blog.post(&json!({}), "x");
    let before = revision(&blog);
    let many: Vec<String> = (0..101).map(|number| number.to_string()).collect();
    for (body, status, code, parts) in [
        (json!({ "sources": [post] }), 400, "InvalidBody", &["`pinned`", "`tags`", "`addTags`", "`removeTags`"][..]),
        (
            json!({ "sources": [post], "pinned": "yes" }),
            400,
            "InvalidBody",
            &["`$.pinned`", "\"yes\"", "true or false"],
        ),
        (json!({ "sources": [post], "addTags": "storm" }), 400, "InvalidBody", &["addTags", "storm"]),
        (json!({ "pinned": true }), 400, "InvalidBody", &["sources"]),
        (json!({ "sources": [post], "addTags": many }), 413, "TooLarge", &["`addTags`", "101", "100"]),
        (json!({ "sources": [post], "removeTags": many }), 413, "TooLarge", &["`removeTags`", "101", "100"]),
        (json!({ "sources": [post], "tags": ["t".repeat(256)] }), 413, "TooLarge", &["`tags`", "256", "255"]),
    ] {
        names(&put(&blog, &body).fails(status, code), parts);
    }
    for (call, _) in CALLS {
        names(&set(&blog, call, &json!({ "posts": [post] })).fails(400, "InvalidBody"), &["sources"]);
    }
    // Only one of them gets too many tags.
    let full = blog.post(&json!({ "tags": many[..100] }), "x");
    let reply = put(&blog, &json!({ "sources": [full, post], "addTags": ["more"] })).ok();
    assert_eq!(codes(&reply), [(full, "CMS.TooLarge".to_owned())]);
    assert_eq!(reply["items"], json!([item(&post, &post, "approved", "approved")]));
    assert_eq!(revision(&blog), before + 2);
}

#[test]
fn a_call_lists_no_more_posts_than_other_lists_have_sources() {
    let server = Server::with(&[("LIMITS__LIST_SOURCES", "3")]);
    let blog = Blog::of(server.user("editor"));
    let posts: Vec<String> = (0..4).map(|number| blog.post(&json!({ "timestamp": number }), "x")).collect();
    for call in [set(&blog, "reject", &json!(posts)), remove(&blog, &json!(posts))] {
        names(&call.fails(413, "TooLarge"), &["`sources`", "4", "3"]);
    }
    names(&put(&blog, &json!({ "sources": posts, "pinned": true })).fails(413, "TooLarge"), &["`sources`", "4", "3"]);
    assert_eq!(set(&blog, "reject", &json!(posts[..3])).ok()["items"].as_array().map(Vec::len), Some(3));
}

#[test]
fn if_match_is_about_the_liveblog_and_later_posts_expect_the_calls_own_changes() {
    let blog = Blog::new();
    let posts = [1, 2, 3].map(|number| blog.post(&json!({ "timestamp": number }), "x"));
    let stale = tag(&blog.read().send());
    blog.update(&posts[0], &json!({ "title": "newer" }), &[]).ok();
    let body = json!({ "sources": posts, "pinned": true });
    let calls = [set(&blog, "reject", &json!(posts)), put(&blog, &body), remove(&blog, &json!(posts))];
    let before = blog.read().ok();
    for call in calls.clone() {
        let error = call.header("if-match", &stale).fails(412, "PreconditionFailed");
        assert_eq!(error["details"]["current"]["id"], blog.loid);
    }
    // What would fail without a condition fails in the same way with one.
    let reply = set(&blog, "reject", &json!([NOWHERE])).header("if-match", &stale).ok();
    all_fail(&reply, &[&NOWHERE.to_owned()], "ObjectNotFound");
    assert_eq!(blog.read().ok(), before);
    for call in calls {
        let reply = call.header("if-match", tag(&blog.read().send())).ok();
        assert_eq!((reply["items"].as_array().map(Vec::len), codes(&reply)), (Some(3), vec![]));
    }
}

#[test]
fn a_repeated_call_gets_its_first_reply_and_changes_nothing() {
    let blog = Blog::new();
    let posts = [1, 2].map(|number| blog.post(&json!({ "timestamp": number }), "x"));
    let key = own_name();
    let call = set(&blog, "reject", &json!([posts[0], NOWHERE, posts[1]])).header("idempotency-key", &key);
    let first = call.send();
    first.ok();
    blog.set(&posts[0], "approve").ok();
    blog.remove(&posts[1]).ok();
    let again = call.send();
    assert_eq!((again.status, &again.body), (200, &first.body));
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    blog.read_post(&posts[0]).gives(&json!({ "status": "approved" }));
    set(&blog, "reject", &json!([posts[0]])).header("idempotency-key", &key).fails(422, "IdempotencyMismatch");
}

#[test]
fn a_reply_that_was_too_large_to_keep_reports_the_outcomes_of_the_first_attempt() {
    let blog = Blog::new();
    let posts = [1, 2].map(|number| blog.post(&json!({ "timestamp": number }), "x"));
    // The errors make the reply larger than one that is kept.
    let mut sources: Vec<String> = (0..700).map(|number| format!("{}{number}", "x".repeat(400))).collect();
    sources.splice(0..0, posts.clone());
    let call = set(&blog, "reject", &json!(sources)).header("idempotency-key", own_name());
    let first = call.ok();
    assert!(first.to_string().len() > 256 << 10, "the reply is not large");
    blog.set(&posts[0], "approve").ok();
    blog.remove(&posts[1]).ok();
    let again = call.send();
    assert_eq!(again.header("idempotency-replayed"), None);
    let again = again.ok();
    assert_eq!(again["items"], json!([0, 1].map(|post| item(&posts[post], &posts[post], "approved", "rejected"))));
    assert_eq!(again["errors"], first["errors"]);
    blog.read_post(&posts[0]).gives(&json!({ "status": "approved" }));
}

#[test]
fn the_reply_to_an_edit_states_what_readers_see_of_the_post() {
    let blog = Blog::new();
    let (author, reader) = (user("contributor"), user("reader"));
    let own = blog.post_by(&author, &json!({ "title": "first" }), "one");
    let effect =
        |from: &str, to: &str| json!({ "status": to, "formerStatus": from, "visibleToReaders": to == "approved" });
    let seen = || blog.read_post(&own).by(&reader).send().status;
    blog.set(&own, "approve").gives(&effect("pending", "approved"));
    assert_eq!(seen(), 200);
    let edit = |title: &str| blog.update(&own, &json!({ "title": title }), &[]);
    edit("by a moderator").gives(&effect("approved", "approved"));
    blog.read_post(&own).by(&reader).gives(&json!({ "title": "by a moderator" }));
    let since = blog.read().by(&reader).ok()["revision"].clone();
    edit("by the author").by(&author).gives(&effect("approved", "pending"));
    // Readers see neither the new text nor the former one.
    assert_eq!(seen(), 404);
    let changes = blog.search(&json!({ "since": since })).by(&reader).ok();
    assert_eq!((&changes["items"], &changes["removed"]), (&json!([]), &json!([own])));
    edit("once more").by(&author).gives(&effect("pending", "pending"));
    blog.set(&own, "approve").gives(&effect("pending", "approved"));
    blog.read_post(&own).by(&reader).gives(&json!({ "title": "once more" }));
    // A change of nothing takes no approval back.
    edit("once more").by(&author).gives(&effect("approved", "approved"));
    let new = blog.new_post(&json!({}), &[("content", "c", "text/plain", b"x")]).by(&author).ok();
    includes(&new, &json!({ "status": "pending", "formerStatus": null, "visibleToReaders": false }));
}
