//! The visibility of posts for each caller.

use super::*;

/// Author, status and loid of a post.
type Known = (&'static str, &'static str, String);

/// A liveblog of the editor with a post in each state of each author, and who is an author there.
fn mixed() -> (Blog, Vec<(&'static str, Client)>, Vec<Known>) {
    let blog = Blog::new();
    let clients: Vec<(&str, Client)> =
        ["editor", "contributor"].map(|user| (user, self::user(user))).into_iter().collect();
    let mut posts = Vec::new();
    for (user, client) in &clients {
        for (call, status) in
            [("approve", "approved"), ("pending", "pending"), ("reject", "rejected"), ("delete", "deleted")]
        {
            let post = blog.post_by(client, &json!({ "title": format!("{user} {status}") }), status);
            blog.set(&post, call).ok();
            posts.push((*user, status, post));
        }
    }
    (blog, clients, posts)
}

#[test]
fn unapproved_posts_are_seen_by_their_author_moderators_and_writers() {
    let (blog, _, posts) = mixed();
    for user in ["editor", "reporter", "contributor", "reader"] {
        let client = self::user(user);
        let all = matches!(user, "editor" | "reporter");
        let seen: Vec<&Known> =
            posts.iter().filter(|(author, status, _)| all || *status == "approved" || *author == user).collect();
        let wanted: Vec<&String> = seen.iter().rev().map(|(.., post)| post).collect();
        let listing = blog.read().by(&client).ok();
        assert_eq!(ids(&listing).iter().collect::<Vec<_>>(), wanted, "{user}: newest first");
        assert_eq!(listing["total"], wanted.len());
        for status in ["pending", "approved", "rejected", "deleted"] {
            let count = seen.iter().filter(|(_, of, _)| *of == status).count();
            assert_eq!(listing["info"]["postCounts"][status], count, "{user} {status}");
            let found = blog.search(&json!({ "filters": { "status": [status] } })).by(&client).ok();
            assert_eq!(found["total"], count, "{user} {status}");
        }
        for offset in 0..wanted.len() + 1 {
            let page = with(blog.read().by(&client), &format!("limit=2&offset={offset}")).ok();
            let end = wanted.len().min(offset + 2);
            assert_eq!(ids(&page).iter().collect::<Vec<_>>(), wanted[offset..end], "{user} from {offset}");
            assert_eq!(page["total"], wanted.len());
        }
        let sources: Vec<&String> = posts.iter().map(|(.., post)| post).collect();
        let reply = named(&client, &json!({ "sources": sources })).ok();
        assert_eq!(ids(&reply).len(), wanted.len(), "{user}");
        let refused: Vec<&str> =
            reply["errors"].as_array().unwrap().iter().map(|error| error["source"].as_str().unwrap()).collect();
        for (author, status, post) in &posts {
            let is_seen = wanted.contains(&post);
            for call in [blog.read_post(post), blog.download(post)] {
                let answer = call.by(&client).send();
                if is_seen {
                    assert_eq!(answer.status, 200, "{user}: {author} {status}");
                } else {
                    answer.fails_on(&format!("{user}: {author} {status}"), 404, "ObjectNotFound");
                }
            }
            assert_eq!(refused.contains(&post.as_str()), !is_seen, "{user}: {author} {status}");
        }
    }
}

#[test]
fn keys_own_no_posts_neither_their_own_nor_their_users() {
    let (blog, clients, posts) = mixed();
    let of_user = |status: &str| {
        let (.., post) = posts.iter().find(|(user, of, _)| (*user, *of) == ("contributor", status)).unwrap();
        post.clone()
    };
    for privileges in [&["read"][..], &["read", "create"]] {
        let key = machine("contributor", privileges);
        let read = || blog.read().by(&key);
        let approved = json!({ "pending": 0, "approved": 2, "rejected": 0, "deleted": 0 });
        let post = json!({ "status": "approved" });
        let listing = read().gives(&json!({ "total": 2, "info": { "postCounts": approved }, "items": [post, post] }));
        assert_eq!(ids(&with(read(), "limit=1&offset=1").ok()), ids(&listing)[1..], "{privileges:?}");
        let found = |filters: Value| blog.search(&json!({ "filters": filters })).by(&key).ok()["total"].clone();
        assert_eq!(
            (found(json!({ "status": ["pending"] })), found(json!({ "author": ["contributor"] }))),
            (json!(0), json!(1))
        );
        for status in ["pending", "rejected", "deleted"] {
            blog.read_post(&of_user(status)).by(&key).fails(404, "ObjectNotFound");
        }
    }
    // A post that a key adds is shown to it once. After that it does not count as its own.
    let (key, own) = (machine("contributor", &["read", "create"]), of_user("approved"));
    let add = |options: Value| blog.new_post(&options, &[("content", "c", "text/plain", b"wire")]).by(&key);
    let made = id(&add(json!({ "timestamp": 1000 })).gives(&json!({ "status": "pending", "author": "contributor" })));
    blog.read_post(&made).by(&key).fails(404, "ObjectNotFound");
    blog.set(&made, "approve").ok();
    let before = blog.read().ok();
    let title = json!({ "title": "x" });
    for post in [&own, &made] {
        for call in [blog.update(post, &title, &[]), blog.remove(post)] {
            call.by(&key).fails(403, "PermissionDenied");
        }
        for call in ["pending", "delete", "approve", "reject"] {
            blog.set(post, call).by(&key).fails(403, "PermissionDenied");
        }
    }
    for mode in ["REPLACE", "NEW_VERSION"] {
        add(json!({ "timestamp": 1000, "createMode": mode })).fails(403, "PermissionDenied");
    }
    assert_eq!(blog.read().ok(), before);
    // The person may, and so may a key that moderates.
    blog.update(&made, &json!({ "title": "mine" }), &[]).by(&clients[1].1).ok();
    let desk = machine("contributor", &["read", "create", "moderate"]);
    blog.read().by(&desk).gives(&json!({ "total": 9 }));
    blog.set(&made, "approve").by(&desk).gives(&json!({ "status": "approved" }));
    blog.read().by(&machine("contributor", &["read", "write"])).gives(&json!({ "total": 9 }));
}

#[test]
fn a_key_that_repeats_its_post_sees_no_later_changes_of_others() {
    let blog = Blog::new();
    let key = machine("contributor", &["read", "create"]);
    // The reply is too large to be kept, so it is built anew.
    let options = json!({ "timestamp": 1000, "attributes": { "m": { "h": "x".repeat(300_000) } } });
    let add = || {
        let call = blog.new_post(&options, &[("content", "c", "text/plain", b"wire")]).by(&key);
        call.header("idempotency-key", &blog.loid).ok()
    };
    let post = id(&add());
    assert_eq!(id(&add()), post, "it is as the key has left it");
    blog.update(&post, &json!({ "title": "not for all" }), &[]).ok();
    let again = add();
    assert_eq!((&again["id"], again.get("title"), again.get("info")), (&json!(post), None, None), "{again}");
}

#[test]
fn a_hidden_posts_name_is_taken_without_revealing_more() {
    let blog = Blog::new();
    let (contributor, file) = (user("contributor"), ("content", "c", "text/plain", &b"x"[..]));
    let hidden = blog.post(&json!({ "timestamp": 1000, "moderated": true }), "editor's");
    let said = |mode: &str| {
        let options = json!({ "timestamp": 1000, "createMode": mode });
        blog.new_post(&options, &[file]).by(&contributor).fails(409, "DuplicatedName")
    };
    let error = said("EXCEPTION");
    assert!(error.get("details").is_none() && !error.to_string().contains(&hidden), "{error}");
    for mode in ["REPLACE", "NEW_VERSION"] {
        let other = said(mode);
        assert_eq!((&other["message"], other.get("details")), (&error["message"], None), "{mode}");
        assert!(!other.to_string().contains(&hidden), "{other}");
    }
    blog.read_post(&hidden).gives(&json!({ "content": "<post><p>editor's</p></post>" }));
    // A caller who may see it learns of it from the error.
    blog.set(&hidden, "approve").ok();
    assert_eq!(said("EXCEPTION")["details"]["existing"], hidden);
    let options = json!({ "timestamp": 1000, "createMode": "REPLACE" });
    blog.new_post(&options, &[file]).by(&contributor).fails(403, "PermissionDenied");
}

#[test]
fn invisible_posts_are_answered_like_missing_ones_by_every_call() {
    let (blog, clients, posts) = mixed();
    let contributor = &clients[1].1;
    let (.., hidden) = posts.iter().find(|(user, status, _)| (*user, *status) == ("editor", "pending")).unwrap();
    let said = |post: &str| {
        let calls = [
            blog.set(post, "pending"),
            blog.set(post, "delete"),
            blog.update(post, &json!({ "title": "x" }), &[]),
            blog.remove(post),
            blog.attachment(post, "1"),
        ];
        calls.map(|call| {
            let refused = call.by(contributor).fails(404, "ObjectNotFound");
            refused["message"].as_str().expect("it has a message").replace(post, "*")
        })
    };
    assert_eq!(said(hidden), said("1$1.0.999999999"));
    blog.read_post(hidden).gives(&json!({ "title": "editor pending" }));
}

#[test]
fn posts_of_a_liveblog_that_may_not_be_read_are_not_there() {
    let server = Server::start();
    let admin = server.user("admin");
    let blog = Blog { loid: admin.liveblog("/Hidden", "x"), folder: "/Hidden".to_owned(), editor: admin };
    let post = blog.post(&json!({ "timestamp": 0 }), "x");
    let reporter = reporter_below(&server, "/News", &["read", "create"]);
    for source in [post.as_str(), "/Hidden/x/19700101-000000-000", "/Hidden/y/z", "1$1.0.999999999"] {
        let sources = json!([source]);
        let told = named(&reporter, &sources).ok();
        let expected = json!({ "source": source, "code": "CMS.ObjectNotFound",
            "message": format!("There is no object `{source}`.") });
        assert_eq!((&told["items"], &told["errors"]), (&json!([]), &json!([expected])));
        let there = source == post || source.starts_with("/Hidden/x/");
        assert_eq!(ids(&named(&blog.editor, &sources).ok()).len(), usize::from(there), "{source}");
    }
}

#[test]
fn the_sample_has_a_night_to_read_and_a_match_to_come() {
    let server = Server::start();
    let gives = |user: &str, name: &str, expected: Value| {
        server.user(user).call("liveblog-get", &[&format!("/LiveBlogs/{name}")]).gives(&expected)
    };
    let counts = json!({ "postCounts": { "approved": 6, "pending": 0 } });
    let night = gives("reader", "council-night", json!({ "info": counts }));
    let titles: Vec<&Value> = night["items"].as_array().unwrap().iter().map(|post| &post["title"]).collect();
    assert_eq!(titles[..2], ["What this is about", "Caps in the gallery"], "pinned first, then the newest");
    gives("editor", "council-night", json!({ "info": { "postCounts": { "pending": 1 } } }));
    gives("reader", "saturday-match", json!({ "total": 0, "info": { "moderated": true } }));
}

#[test]
fn an_unapproved_text_is_never_shown_in_place_of_an_approved_one() {
    let blog = Blog::new();
    let contributor = user("contributor");
    let write = |text: &str| {
        let options = json!({ "timestamp": 1000, "createMode": "REPLACE", "attributes": { "said": text } });
        blog.post_by(&contributor, &options, text)
    };
    let post = write("approved 0");
    blog.set(&post, "approve").ok();
    let done = std::sync::atomic::AtomicBool::new(false);
    let (blog, post, done) = (&blog, &post, &done);
    std::thread::scope(|scope| {
        for reader in 0..6 {
            scope.spawn(move || {
                let client = Server::shared().login("reader");
                // Additional information is never cached, so the reply is built each time.
                let call = match reader % 3 {
                    0 => blog.download(post),
                    1 => blog.read().query("showAdditionalInfo", true),
                    _ => blog.read_post(post),
                };
                let call = call.by(&client);
                while !done.load(std::sync::atomic::Ordering::Relaxed) {
                    let answer = call.send();
                    assert!([200, 404].contains(&answer.status), "{}", String::from_utf8_lossy(&answer.body));
                    let text = String::from_utf8_lossy(&answer.body);
                    assert!(!text.contains("secret"), "{text}");
                }
            });
        }
        // However this ends, the readers do.
        struct Done<'d>(&'d std::sync::atomic::AtomicBool);
        impl Drop for Done<'_> {
            fn drop(&mut self) {
                self.0.store(true, std::sync::atomic::Ordering::Relaxed);
            }
        }
        let _done = Done(done);
        for round in 1..=60 {
            write(&format!("secret {round}"));
            write(&format!("approved {round}"));
            blog.set(post, "approve").ok();
        }
    });
    let expected =
        json!({ "content": "<post><p>approved 60</p></post>", "info": { "attributes": { "said": "approved 60" } } });
    blog.read_post(post).gives(&expected);
}
