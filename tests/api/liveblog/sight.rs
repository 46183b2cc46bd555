//! Who sees which posts.

use super::*;

/// Author, status and loid of a post.
type Known = (&'static str, &'static str, String);

/// A liveblog of the editor with a post in each state of each author, and who is an author there.
fn mixed() -> (Blog, Vec<(&'static str, Client)>, Vec<Known>) {
    let blog = Blog::new();
    let clients: Vec<(&str, Client)> =
        ["editor", "contributor"].map(|user| (user, Server::shared().login(user))).into_iter().collect();
    let mut posts = Vec::new();
    for (user, client) in &clients {
        for (call, status) in
            [("approve", "approved"), ("pending", "pending"), ("reject", "rejected"), ("delete", "deleted")]
        {
            let post = blog.post_by(client, &json!({ "title": format!("{user} {status}") }), status);
            blog.set(&blog.editor, &post, call).ok();
            posts.push((*user, status, post));
        }
    }
    (blog, clients, posts)
}

#[test]
fn what_is_not_approved_is_seen_by_its_author_and_by_who_may_moderate_or_write() {
    let (blog, _, posts) = mixed();
    for user in ["editor", "reporter", "contributor", "reader"] {
        let client = Server::shared().login(user);
        let all = matches!(user, "editor" | "reporter");
        let seen: Vec<&Known> =
            posts.iter().filter(|(author, status, _)| all || *status == "approved" || *author == user).collect();
        let wanted: Vec<&String> = seen.iter().rev().map(|(.., post)| post).collect();
        let listing = blog.read(&client, "");
        assert_eq!(ids(&listing).iter().collect::<Vec<_>>(), wanted, "{user}: newest first");
        assert_eq!(listing["total"], wanted.len());
        for status in ["pending", "approved", "rejected", "deleted"] {
            let count = seen.iter().filter(|(_, of, _)| *of == status).count();
            assert_eq!(listing["info"]["postCounts"][status], count, "{user} {status}");
            let found = blog.search(&client, &json!({ "filters": { "status": [status] } }));
            assert_eq!(found["total"], count, "{user} {status}");
        }
        for offset in 0..wanted.len() + 1 {
            let page = blog.read(&client, &format!("?limit=2&offset={offset}"));
            let end = wanted.len().min(offset + 2);
            assert_eq!(ids(&page).iter().collect::<Vec<_>>(), wanted[offset..end], "{user} from {offset}");
            assert_eq!(page["total"], wanted.len());
        }
        let sources: Vec<&String> = posts.iter().map(|(.., post)| post).collect();
        let named = client.post("/v3/container/liveblog/posts", &json!({ "sources": sources })).ok();
        assert_eq!(ids(&named).len(), wanted.len(), "{user}");
        let refused: Vec<&str> =
            named["errors"].as_array().unwrap().iter().map(|error| error["source"].as_str().unwrap()).collect();
        for (author, status, post) in &posts {
            let is_seen = wanted.contains(&post);
            let answers = [client.get(&blog.post_path(post, "")), client.get(&blog.post_path(post, "/content"))];
            for answer in answers {
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
fn to_a_key_belongs_nothing_not_even_what_its_user_or_itself_has_made() {
    let (blog, clients, posts) = mixed();
    let of_user = |status: &str| {
        let (.., post) = posts.iter().find(|(user, of, _)| (*user, *of) == ("contributor", status)).unwrap();
        post.clone()
    };
    for privileges in [&["read"][..], &["read", "create"]] {
        let key = machine("contributor", privileges);
        let listing = blog.read(&key, "");
        let approved = json!({ "pending": 0, "approved": 2, "rejected": 0, "deleted": 0 });
        assert_eq!((&listing["total"], &listing["info"]["postCounts"]), (&json!(2), &approved), "{privileges:?}");
        assert!(listing["items"].as_array().unwrap().iter().all(|post| post["status"] == "approved"));
        let page = blog.read(&key, "?limit=1&offset=1");
        assert_eq!(ids(&page), ids(&listing)[1..], "{privileges:?}");
        let found = |filters: Value| blog.search(&key, &json!({ "filters": filters }))["total"].clone();
        assert_eq!(
            (found(json!({ "status": ["pending"] })), found(json!({ "author": ["contributor"] }))),
            (json!(0), json!(1))
        );
        for status in ["pending", "rejected", "deleted"] {
            key.get(&blog.post_path(&of_user(status), "")).fails_on(status, 404, "ObjectNotFound");
        }
    }
    // What it adds is shown to it once, and then is no more its own than any other.
    let (key, own) = (machine("contributor", &["read", "create"]), of_user("approved"));
    let made = blog.try_post(&key, &json!({ "timestamp": 1000 }), &[("content", "c", "text/plain", b"wire")]).ok();
    assert_eq!((&made["status"], &made["author"]), (&json!("pending"), &json!("contributor")));
    key.get(&blog.post_path(&id(&made), "")).fails(404, "ObjectNotFound");
    blog.set(&blog.editor, &id(&made), "approve").ok();
    let before = blog.read(&blog.editor, "");
    for post in [&own, &id(&made)] {
        blog.update(&key, post, &json!({ "title": "x" }), &[]).fails(403, "PermissionDenied");
        for call in ["pending", "delete", "approve", "reject"] {
            blog.set(&key, post, call).fails_on(call, 403, "PermissionDenied");
        }
        key.delete(&blog.post_path(post, "")).fails(403, "PermissionDenied");
    }
    for mode in ["REPLACE", "NEW_VERSION"] {
        let options = json!({ "timestamp": 1000, "createMode": mode });
        let files: [File<'_>; 1] = [("content", "c", "text/plain", b"other")];
        blog.try_post(&key, &options, &files).fails_on(mode, 403, "PermissionDenied");
    }
    assert_eq!(blog.read(&blog.editor, ""), before);
    // The person may, and so may a key that moderates.
    blog.update(&clients[1].1, &id(&made), &json!({ "title": "mine" }), &[]).ok();
    let desk = machine("contributor", &["read", "create", "moderate"]);
    assert_eq!(blog.read(&desk, "")["total"], 9);
    assert_eq!(blog.set(&desk, &id(&made), "approve").ok()["status"], "approved");
    assert_eq!(blog.read(&machine("contributor", &["read", "write"]), "")["total"], 9);
}

#[test]
fn a_post_that_may_not_be_seen_is_as_one_that_is_not_there_whatever_is_done_to_it() {
    let (blog, clients, posts) = mixed();
    let contributor = &clients[1].1;
    let (.., hidden) = posts.iter().find(|(user, status, _)| *user == "editor" && *status == "pending").unwrap();
    let nowhere = "1$1.0.999999999";
    let said = |answer: Answer, source: &str| {
        answer.fails_on(source, 404, "ObjectNotFound")["message"].as_str().unwrap().replace(source, "*")
    };
    for call in ["pending", "delete"] {
        assert_eq!(
            said(blog.set(contributor, hidden, call), hidden),
            said(blog.set(contributor, nowhere, call), nowhere)
        );
    }
    for of in [hidden.as_str(), nowhere] {
        said(blog.update(contributor, of, &json!({ "title": "x" }), &[]), of);
        said(contributor.delete(&blog.post_path(of, "")), of);
        said(contributor.get(&blog.post_path(of, "/attachment/1")), of);
    }
    assert_eq!(blog.read_post(&blog.editor, hidden)["title"], "editor pending");
}

#[test]
fn posts_of_a_liveblog_that_may_not_be_read_are_not_there() {
    let server = Server::start();
    let admin = server.login("admin");
    let loid = admin.liveblog("/Hidden", "x");
    let path = format!("/v3/container/liveblog/{}", encoded(&loid));
    let files: [File<'_>; 1] = [("content", "c", "text/plain", b"x")];
    let post = id(&admin.send_form("POST", &format!("{path}/post"), &[], &json!({ "timestamp": 0 }), &files).ok());
    let desk = json!([{ "privilege": "read", "folder": "/News" }, { "privilege": "create", "folder": "/News" }]);
    admin.post("/v3/group/create", &json!({ "groupName": "desk", "members": ["reporter"], "privileges": desk })).ok();
    admin.post("/v3/group/update", &json!({ "groupName": "reporters", "members": [] })).ok();
    let reporter = server.login("reporter");
    for source in [post.as_str(), "/Hidden/x/19700101-000000-000", "/Hidden/y/z", "1$1.0.999999999"] {
        let named = |client: &Client| client.post("/v3/container/liveblog/posts", &json!([source])).ok();
        let told = named(&reporter);
        assert_eq!(told["items"], json!([]));
        let expected = json!({ "source": source, "code": "CMS.ObjectNotFound",
            "message": format!("There is no object `{source}`.") });
        assert_eq!(told["errors"], json!([expected]));
        let there = source == post || source.starts_with("/Hidden/x/");
        assert_eq!(ids(&named(&admin)).len(), usize::from(there), "{source}");
    }
    reporter.get(&path).fails(404, "ObjectNotFound");
    reporter.get(&format!("{path}/post/{}", encoded(&post))).fails(404, "ObjectNotFound");
}

#[test]
fn the_sample_has_a_night_to_read_and_a_match_to_come() {
    let server = Server::start();
    let read = |user: &str, name: &str| {
        let reply = server.login(user).get(&format!("/v3/container/liveblog/%2FLiveBlogs%2F{name}")).ok();
        (reply["info"]["postCounts"].clone(), reply)
    };
    let (counts, night) = read("reader", "council-night");
    assert_eq!((&counts["approved"], &counts["pending"]), (&json!(6), &json!(0)));
    let titles: Vec<&Value> = night["items"].as_array().unwrap().iter().map(|post| &post["title"]).collect();
    assert_eq!(titles[..2], ["What this is about", "Caps in the gallery"], "pinned first, then the newest");
    assert_eq!(read("editor", "council-night").0["pending"], 1);
    let (_, game) = read("reader", "saturday-match");
    assert_eq!((&game["total"], &game["info"]["moderated"]), (&json!(0), &json!(true)));
}

#[test]
fn a_text_that_nobody_has_approved_is_never_shown_in_place_of_the_one_that_was() {
    let blog = Blog::new();
    let contributor = Server::shared().login("contributor");
    let write = |text: &str| {
        let options = json!({ "timestamp": 1000, "createMode": "REPLACE", "attributes": { "said": text } });
        blog.post_by(&contributor, &options, text)
    };
    let post = write("approved 0");
    blog.set(&blog.editor, &post, "approve").ok();
    let done = std::sync::atomic::AtomicBool::new(false);
    let (blog, post, done) = (&blog, &post, &done);
    std::thread::scope(|scope| {
        for reader in 0..6 {
            scope.spawn(move || {
                let client = Server::shared().login("reader");
                // Additional information is never kept, so what is shown is put together each time.
                let path = match reader % 3 {
                    0 => blog.post_path(post, "/content"),
                    1 => blog.path("?showAdditionalInfo=true"),
                    _ => blog.post_path(post, ""),
                };
                while !done.load(std::sync::atomic::Ordering::Relaxed) {
                    let answer = client.get(&path);
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
            blog.set(&blog.editor, post, "approve").ok();
        }
    });
    let read = blog.read_post(&blog.editor, post);
    assert_eq!(read["content"], "<post><p>approved 60</p></post>");
    assert_eq!(read["info"]["attributes"]["said"], "approved 60");
}
