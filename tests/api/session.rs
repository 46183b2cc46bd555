//! Sessions: the limit, the list, and ending one (docs/api/auth.md, "Sessions").

use serde_json::{Value, json};

use crate::harness::*;

fn reference(client: &Client) -> String {
    client.get("/v3/auth/connection").ok()["session"].as_str().expect("a session has a reference").to_owned()
}

fn ids(reply: &Value) -> Vec<String> {
    let items = reply["items"].as_array().expect("a list has items").iter();
    items.map(|item| item["id"].as_str().expect("a session has an id").to_owned()).collect()
}

#[test]
fn one_sees_ones_own_sessions_and_which_of_them_asks() {
    let server = Server::start();
    let (one, two, _other) = (server.login("editor"), server.login("editor"), server.login("reporter"));
    let list = one.get("/v3/session").ok();
    assert_eq!(list["total"], 2);
    assert_eq!(ids(&list).len(), 2);
    for client in [&one, &two] {
        let list = client.get("/v3/session").ok();
        let current: Vec<_> =
            list["items"].as_array().expect("items").iter().filter(|item| item["current"] == true).collect();
        assert_eq!(current.len(), 1, "{list}");
        let current = current[0];
        assert_eq!(current["id"], reference(client));
        assert_eq!((&current["user"], &current["applicationId"]), (&json!("editor"), &json!("test")));
        assert_eq!((&current["connectionId"], &current["address"]), (&json!("Editorial"), &json!("127.0.0.1")));
        let time = |name: &str| current[name].as_u64().expect("a time is a number");
        assert!(time("created") <= time("lastUsed") && time("lastUsed") < time("expires"), "{current}");
        assert!(!list.to_string().contains(one.token.as_deref().expect("it has logged in")), "{list}");
    }
    let page = one.get("/v3/session?limit=1&offset=1").ok();
    assert_eq!((ids(&page), &page["total"]), (ids(&list)[1..].to_vec(), &json!(2)));
}

#[test]
fn others_sessions_are_for_those_who_manage_groups() {
    let server = Server::start();
    let (admin, editor, reporter) = (server.login("admin"), server.login("editor"), server.login("reporter"));
    for query in ["user=reporter", "all=true", "user=nobody"] {
        let error = editor.get(&format!("/v3/session?{query}")).fails_on(query, 403, "PermissionDenied");
        assert!(error["message"].as_str().is_some_and(|message| message.contains("manageGroups")), "{error}");
    }
    assert_eq!(ids(&editor.get("/v3/session?user=editor").ok()), [reference(&editor)]);
    assert_eq!(ids(&admin.get("/v3/session").ok()), [reference(&admin)]);
    assert_eq!(ids(&admin.get("/v3/session?user=reporter").ok()), [reference(&reporter)]);
    assert_eq!(ids(&admin.get("/v3/session?all=true").ok()).len(), 3);
    let error = admin.get("/v3/session?user=nobody").fails(404, "ObjectNotFound");
    assert!(error["message"].as_str().is_some_and(|message| message.contains("nobody")), "{error}");
    admin.get("/v3/session?all=perhaps").fails(400, "InvalidParameter");
}

#[test]
fn one_ends_ones_own_sessions_and_those_who_manage_groups_end_any() {
    let server = Server::start();
    let (admin, editor, reporter) = (server.login("admin"), server.login("editor"), server.login("reporter"));
    let lost = server.login("editor");
    let path = |client: &Client| format!("/v3/session/{}", reference(client));
    let (own, others) = (path(&lost), path(&reporter));
    let refused = editor.delete(&others).fails(404, "ObjectNotFound");
    let nowhere = editor.delete("/v3/session/nowhere").fails(404, "ObjectNotFound");
    let told = |error: &Value, id: &str| error["message"].as_str().expect("a message").replace(id, "…");
    assert_eq!(told(&refused, others.rsplit('/').next().expect("an id")), told(&nowhere, "nowhere"), "told alike");
    reporter.get("/v3/auth/connection/check").ok();
    assert_eq!(editor.delete(&own).ok(), json!({ "result": "ok" }));
    lost.get("/v3/auth/connection/check").fails(401, "InvalidToken");
    editor.delete(&own).fails(404, "ObjectNotFound");
    admin.delete(&others).ok();
    reporter.get("/v3/auth/connection/check").fails(401, "InvalidToken");
    // One's own, at last.
    editor.delete(&path(&editor)).ok();
    editor.get("/v3/session").fails(401, "InvalidToken");
    let server = {
        let mut server = server;
        server.kill();
        server.restart()
    };
    for dead in [lost, reporter, editor] {
        dead.to(&server).get("/v3/auth/connection/check").fails(401, "InvalidToken");
    }
    admin.to(&server).get("/v3/auth/connection/check").ok();
}

#[test]
fn a_login_beyond_the_limit_ends_the_session_that_was_least_recently_used() {
    let server = Server::with(&[("AUTH__SESSIONS_PER_USER", "2")]);
    let other = server.login("reporter");
    let first = server.login("editor");
    let second = server.login("editor");
    // So that the first is the later used, by a millisecond at least.
    let used = std::time::SystemTime::now();
    wait_until("time goes on", || used.elapsed().is_ok_and(|passed| passed.as_millis() > 1));
    first.get("/v3/auth/connection/check").ok();
    let third = server.login("editor");
    second.get("/v3/auth/connection/check").fails(401, "InvalidToken");
    for client in [&first, &third, &other] {
        client.get("/v3/auth/connection/check").ok();
    }
    assert_eq!(first.get("/v3/session").ok()["total"], 2);
}
