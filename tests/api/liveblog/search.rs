//! `POST /v3/container/liveblog/{source}`

use super::*;

/// Posts of two authors at 1000, 2000 and so on.
fn posts(blog: &Blog) -> Vec<String> {
    let reporter = user("reporter");
    let make = |client: &Client, number: u64, kind: &str, tags: Value, title: &str, text: &str| {
        let options = json!({ "timestamp": number * 1000, "type": kind, "tags": tags, "title": title });
        blog.post_by(client, &options, text)
    };
    vec![
        make(&blog.editor, 1, "news", json!(["ferry", "harbour"]), "The Ferry", "It is L<b>ate</b> again"),
        make(&blog.editor, 2, "goal", json!(["match"]), "1:0", "Früh im Spiel"),
        make(&reporter, 3, "news", json!(["ferry"]), "Ferry back", "It has arrived"),
        make(&reporter, 4, "goal", json!([]), "Ärger", "Late goal"),
    ]
}

#[test]
fn filters_combine_with_and_and_what_stands_in_one_with_or() {
    let blog = Blog::new();
    let all = posts(&blog);
    let found = |body: Value| -> Vec<usize> {
        let reply = blog.search(&body).ok();
        let found = ids(&reply);
        assert_eq!(reply["total"], found.len(), "{body}");
        found.iter().map(|found| all.iter().position(|post| post == found).unwrap() + 1).collect()
    };
    for (filters, wanted) in [
        (json!({}), vec![4, 3, 2, 1]),
        (json!({ "status": ["approved"] }), vec![2, 1]),
        (json!({ "status": ["Pending", "approved"] }), vec![4, 3, 2, 1]),
        (json!({ "author": ["reporter"] }), vec![4, 3]),
        (json!({ "author": ["reporter", "editor", "nobody"] }), vec![4, 3, 2, 1]),
        (json!({ "type": ["goal"] }), vec![4, 2]),
        (json!({ "title": ["ferry"] }), vec![3, 1]),
        (json!({ "title": ["ÄRG", "1:0"] }), vec![4, 2]),
        (json!({ "text": ["late"] }), vec![4, 1]),
        (json!({ "text": ["FRÜH", "arriv"] }), vec![3, 2]),
        (json!({ "text": ["<b>"] }), vec![]),
        (json!({ "tag": ["harbour", "match"] }), vec![2, 1]),
        (json!({ "source": [all[2], "19700101-000001-000", all[2], "nonsense"] }), vec![3, 1]),
        (json!({ "source": ["nonsense"] }), vec![]),
        (json!({ "title": ["ferry"], "author": ["editor"], "status": ["approved"] }), vec![1]),
        (json!({ "source": [all[0]], "type": ["goal"] }), vec![]),
        (json!({ "text": ["late"], "type": ["news", "other"] }), vec![1]),
    ] {
        assert_eq!(found(json!({ "filters": filters })), wanted, "{filters}");
    }
    for nothing in [json!({ "filters": null }), json!({ "filters": { "status": null, "title": null, "source": null } })]
    {
        assert_eq!(found(nothing), [4, 3, 2, 1]);
    }
    assert_eq!(found(json!({ "filters": { "type": null, "tag": ["match"] } })), [2]);
    assert_eq!(found(json!({ "from": 2000, "to": 3000 })), [3, 2], "both bounds are within");
    assert_eq!(found(json!({ "from": 3001 })), [4]);
    assert_eq!(found(json!({ "to": 999 })), [0; 0]);
    assert_eq!(found(json!({ "from": 2000, "filters": { "type": ["goal"] }, "sortBy": "timestamp" })), [2, 4]);
}

#[test]
fn a_word_is_found_in_whatever_form_its_characters_are_written() {
    let blog = Blog::new();
    for word in ["Cafe\u{301}", "Caf\u{e9}"] {
        blog.post_by(&blog.editor, &json!({ "title": word }), word);
    }
    for (filter, wanted) in
        [("title", "Cafe\u{301}"), ("title", "CAF\u{c9}"), ("text", "Cafe\u{301}"), ("text", "caf\u{e9}")]
    {
        let found = blog.search(&json!({ "filters": { filter: [wanted] } })).ok();
        assert_eq!(found["total"], 2, "{filter} {wanted:?}");
    }
}

#[test]
fn a_search_has_an_order_and_pages() {
    let blog = Blog::new();
    let all = posts(&blog);
    let page = |body: Value| {
        let reply = blog.search(&body).ok();
        (ids(&reply), reply["total"].as_u64().unwrap())
    };
    assert_eq!(page(json!({ "limit": 2, "offset": 1 })), (vec![all[2].clone(), all[1].clone()], 4));
    let approved = json!({ "filters": { "status": ["approved"] }, "limit": 1, "offset": 1 });
    assert_eq!(page(approved), (vec![all[0].clone()], 2));
    let sorted = json!({ "filters": { "type": ["news", "goal"] }, "sortBy": "-title", "limit": 2 });
    assert_eq!(page(sorted), (vec![all[3].clone(), all[0].clone()], 4));
    assert_eq!(page(json!({ "filters": { "type": ["news"] }, "offset": 9 })), (vec![], 2));
    for (body, code) in [
        (json!({ "sortBy": "colour" }), "InvalidParameter"),
        (json!({ "sortBy": "title,-title" }), "InvalidParameter"),
        (json!({ "sortBy": "author,title,creator" }), "InvalidParameter"),
        (json!({ "sortBy": "title,".repeat(10_000) }), "InvalidParameter"),
        (json!({ "filters": { "status": ["asleep"] } }), "InvalidParameter"),
        (json!({ "filters": { "author": "editor" } }), "InvalidBody"),
        (json!({ "filters": [] }), "InvalidBody"),
        (json!({ "from": "yesterday" }), "InvalidBody"),
        (json!({ "limit": -1 }), "InvalidBody"),
        (json!({ "since": -1 }), "InvalidBody"),
        (json!({ "options": { "showPath": "perhaps" } }), "InvalidParameter"),
    ] {
        blog.search(&body).send().fails_on(&body.to_string(), 400, code);
    }
    let long = json!({ "filters": { "author": vec!["x"; 9000], "tag": vec!["x"; 1001] } });
    blog.search(&long).fails(413, "TooLarge");
    let long = json!({ "filters": { "title": vec!["x".repeat(1000); 40], "text": vec!["x".repeat(1000); 40] } });
    assert_eq!(blog.search(&long).fails(413, "TooLarge")["details"]["limit"], 65_536);
    let most = json!({ "filters": { "author": vec!["editor"; 9000], "text": vec!["late"; 1000] } });
    assert_eq!(page(most), (vec![all[0].clone()], 1));
}

#[test]
fn since_tells_what_has_changed_after_a_revision() {
    let blog = Blog::new();
    let (one, two, three) =
        (blog.post(&json!({}), "one"), blog.post(&json!({}), "two"), blog.post(&json!({}), "three"));
    let revision = || blog.read().query("limit", 0).ok()["revision"].as_u64().unwrap();
    let start = revision();
    let since = |since: u64, filters: Value| {
        let reply = blog.search(&json!({ "since": since, "filters": filters })).ok();
        assert_eq!((reply["revision"].as_u64(), &reply["info"]["revision"]), (Some(revision()), &reply["revision"]));
        (ids(&reply), reply["removed"].clone())
    };
    assert_eq!(since(start, json!({})), (vec![], json!([])));
    blog.update(&three, &json!({ "title": "3" }), &[]).ok();
    blog.set(&one, "reject").ok();
    blog.remove(&two).ok();
    let four = blog.post(&json!({}), "four");
    assert_eq!(since(start, json!({})), (vec![three.clone(), one.clone(), four.clone()], json!([two])), "oldest first");
    assert_eq!(since(0, json!({})).0.len(), 3);
    // A post that no longer matches is reported as removed.
    let approved = json!({ "status": ["approved"] });
    assert_eq!(since(start, approved.clone()), (vec![three.clone(), four.clone()], json!([one, two])));
    assert_eq!(since(revision(), approved), (vec![], json!([])));
    assert_eq!(since(u64::MAX, json!({})), (vec![], json!([])));
    let named = json!({ "source": [four] });
    assert_eq!(since(start, named).0, [four.as_str()]);
    assert!(blog.search(&json!({})).ok().get("removed").is_none(), "only with `since`");

    // A reader gets reports only about posts that they could see.
    blog.post(&json!({ "moderated": true }), "waits");
    let reply = blog.search(&json!({ "since": start })).by(&user("reader")).ok();
    assert_eq!((ids(&reply), &reply["removed"]), (vec![three, four], &json!([one, two])));
}

#[test]
fn a_removed_post_is_told_to_those_only_who_may_have_seen_it() {
    let (blog, reporter, contributor) = (Blog::new(), user("reporter"), user("contributor"));
    let start = blog.read().query("limit", 0).ok()["revision"].clone();
    let waiting = json!({ "moderated": true });
    let post = |author: &Client, calls: &[&str]| {
        let post = blog.post_by(author, &waiting, "x");
        calls.iter().for_each(|call| drop(blog.set(&post, call).ok()));
        post
    };
    let never = post(&blog.editor, &["reject", "delete", "pending"]);
    let own = post(&contributor, &[]);
    let once = post(&blog.editor, &["approve", "pending"]);
    let still = post(&reporter, &["approve"]);
    let all = [&never, &own, &once, &still];
    all.iter().for_each(|post| drop(blog.remove(post).ok()));
    for (who, client, told) in [
        ("editor", blog.editor.clone(), vec![&never, &own, &once, &still]),
        ("reporter", reporter, vec![&never, &own, &once, &still]),
        ("contributor", contributor, vec![&own, &once, &still]),
        ("reader", user("reader"), vec![&once, &still]),
        ("a key of the contributor", machine("contributor", &["read"]), vec![&once, &still]),
    ] {
        let reply = blog.search(&json!({ "since": start })).by(&client).ok();
        assert_eq!((ids(&reply), &reply["removed"]), (vec![], &json!(told)), "{who}");
    }
}

#[test]
fn the_text_follows_the_content() {
    let blog = Blog::new();
    let post = blog.post(&json!({}), "before");
    let found = |part: &str| blog.search(&json!({ "filters": { "text": [part] } })).ok()["total"].clone();
    assert_eq!((found("before"), found("after")), (json!(1), json!(0)));
    let html = "<p>Aft<b>er</b> all &uuml;ber</p>".as_bytes();
    blog.update(&post, &json!({}), &[("content", "c", "text/html", html)]).ok();
    assert_eq!((found("before"), found("after all über")), (json!(0), json!(1)));
    // One that lies in a file has words, too, as far as they are looked at.
    let large = format!("<p>First {} last</p>", "and more ".repeat(20_000));
    blog.update(&post, &json!({}), &[("content", "c", "text/xml", large.as_bytes())]).ok();
    assert_eq!((found("first and"), found("last")), (json!(1), json!(0)));
    blog.update(&post, &json!({}), &[("content", "c", "image/png", b"first and")]).ok();
    assert_eq!(found("first"), json!(0));
}
