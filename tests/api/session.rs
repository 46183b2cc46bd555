//! Sessions: the limit, the list, and ending one (docs/api/auth.md, "Sessions").

use serde_json::{Value, json};

use super::endpoints::cases::{Made, cases, word};
use crate::harness::*;

fn reference(client: &Client) -> String {
    client.call("auth-connection-get", &[]).ok()["session"].as_str().expect("a session has a reference").to_owned()
}

fn list(client: &Client) -> Call<'_> {
    client.call("stet-session-list-get", &[])
}

fn ids(reply: &Value) -> Vec<String> {
    let items = reply["items"].as_array().expect("a list has items").iter();
    items.map(|item| item["id"].as_str().expect("a session has an id").to_owned()).collect()
}

#[test]
fn one_sees_ones_own_sessions_and_which_of_them_asks() {
    let server = Server::start();
    let (one, two, _other) = (server.login("editor"), server.login("editor"), server.login("reporter"));
    let all = list(&one).gives(&json!({ "total": 2, "items": [{}, {}] }));
    for client in [&one, &two] {
        let reply = list(client).ok();
        let items = reply["items"].as_array().expect("a list has items").iter();
        let current: Vec<_> = items.filter(|item| item["current"] == true).collect();
        assert_eq!(current.len(), 1, "{reply}");
        let current = current[0];
        includes(
            current,
            &json!({ "id": reference(client), "user": "editor", "applicationId": "test", "connectionId": "Editorial",
                "address": "127.0.0.1" }),
        );
        let time = |name: &str| current[name].as_u64().expect("a time is a number");
        assert!(time("created") <= time("lastUsed") && time("lastUsed") < time("expires"), "{current}");
        assert!(!reply.to_string().contains(one.token()), "{reply}");
    }
    let page = list(&one).query("limit", 1).query("offset", 1).gives(&json!({ "total": 2 }));
    assert_eq!(ids(&page), ids(&all)[1..]);
}

#[test]
fn others_sessions_are_for_those_who_manage_groups() {
    let server = Server::start();
    let [admin, editor, reporter] = ["admin", "editor", "reporter"].map(|user| server.user(user));
    for (name, value) in [("user", "reporter"), ("all", "true"), ("user", "nobody")] {
        says(&list(&editor).query(name, value).fails(403, "PermissionDenied"), "manageGroups");
    }
    assert_eq!(ids(&list(&editor).query("user", "editor").ok()), [reference(&editor)]);
    assert_eq!(ids(&list(&admin).ok()), [reference(&admin)]);
    assert_eq!(ids(&list(&admin).query("user", "reporter").ok()), [reference(&reporter)]);
    assert_eq!(ids(&list(&admin).query("all", true).ok()).len(), 3);
    says(&list(&admin).query("user", "nobody").fails(404, "ObjectNotFound"), "nobody");
}

#[test]
fn one_ends_ones_own_sessions_and_those_who_manage_groups_end_any() {
    let mut server = Server::start();
    let [admin, editor, lost, reporter] = ["admin", "editor", "editor", "reporter"].map(|user| server.login(user));
    let end = |client: &Client, id: &str| client.call("stet-session-delete", &[&id]).send();
    let (own, others) = (reference(&lost), reference(&reporter));
    let told = |id: &str| end(&editor, id).fails(404, "ObjectNotFound")["message"].to_string().replace(id, "…");
    assert_eq!(told(&others), told("nowhere"), "told alike");
    reporter.lives();
    assert_eq!(end(&editor, &own).ok(), json!({ "result": "ok" }));
    lost.is_dead();
    end(&editor, &own).fails(404, "ObjectNotFound");
    end(&admin, &others).ok();
    reporter.is_dead();
    // One's own, at last.
    end(&editor, &reference(&editor)).ok();
    list(&editor).fails(401, "InvalidToken");
    server.kill();
    let server = server.restart();
    for dead in [lost, reporter, editor] {
        dead.to(&server).is_dead();
    }
    admin.to(&server).lives();
}

#[test]
fn a_login_beyond_the_limit_ends_the_session_that_was_least_recently_used() {
    let server = Server::with(&[("AUTH__SESSIONS_PER_USER", "2")]);
    let [other, first, second] = ["reporter", "editor", "editor"].map(|user| server.login(user));
    // So that the first is the later used, by a millisecond at least.
    let used = std::time::SystemTime::now();
    wait_until("time goes on", || used.elapsed().is_ok_and(|passed| passed.as_millis() > 1));
    first.lives();
    let third = server.login("editor");
    second.is_dead();
    for client in [&first, &third, &other] {
        client.lives();
    }
    list(&first).gives(&json!({ "total": 2 }));
}

cases! {
    "stet-session-list-get": |_| Made::default();
    "stet-session-delete": |_| {
        let other = Server::shared().login("editor").call("auth-connection-get", &[]).ok();
        Made::on([word(other["session"].as_str().expect("a session has a reference"))])
    };
}
