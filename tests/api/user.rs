//! Users as they are administered, and one's own password (docs/api/groups-and-users.md).

use serde_json::{Value, json};

use crate::harness::*;

fn log_in(server: &Server, user: &str, password: &str) -> Answer {
    let body = json!({ "connectionId": "Editorial", "applicationId": "t", "username": user, "password": password,
        "options": { "showPrivileges": true } });
    server.client().post("/v3/auth/login", &body)
}

fn client(server: &Server, user: &str, password: &str) -> Client {
    let mut client = server.client();
    client.token = log_in(server, user, password).ok()["token"]["value"].as_str().map(str::to_owned);
    client
}

#[test]
fn a_user_is_made_read_changed_and_kept_out() {
    let server = Server::with(&[("LOG__FILTER", "debug")]);
    let admin = server.login("admin");
    let body = json!({ "name": "grace", "fullName": "Grace Holt", "description": "Night desk", "groups": ["reporters"],
        "home": "/Users/gh", "workFolder": "/News/City", "team": "Night", "homeEmail": "g@home.example",
        "businessEmail": "g@desk.example", "password": "first-of-grace" });
    let made = admin.post("/v3/user", &body).ok();
    for (key, value) in body.as_object().expect("an object").iter().filter(|(key, _)| *key != "password") {
        assert_eq!(made[key], *value, "{key}");
    }
    assert!(made["passwordChanged"].is_u64() && made["disabled"] == false, "{made}");
    assert_eq!(admin.get("/v3/user/grace").ok(), made);
    let grace = client(&server, "grace", "first-of-grace");
    grace.get("/v3/auth/connection/check").ok();

    // What is named changes, the rest stays; an empty text takes away.
    let changed =
        admin.put("/v3/user/grace", &json!({ "team": "", "groups": ["editors"], "fullName": "G. Holt" })).ok();
    assert_eq!((&changed["team"], &changed["groups"]), (&Value::Null, &json!(["editors"])));
    assert_eq!((&changed["fullName"], &changed["home"]), (&json!("G. Holt"), &json!("/Users/gh")));
    assert_eq!(changed["passwordChanged"], made["passwordChanged"]);
    grace.get("/v3/auth/connection/check").ok();
    let privileges = log_in(&server, "grace", "first-of-grace").ok()["privileges"].clone();
    assert!(privileges.as_array().is_some_and(|names| names.contains(&json!("moderate"))), "{privileges}");

    admin.put("/v3/user/grace", &json!({ "password": "second-of-grace" })).ok();
    grace.get("/v3/auth/connection/check").fails(401, "InvalidToken");
    log_in(&server, "grace", "first-of-grace").fails(401, "InvalidLogin");
    let grace = client(&server, "grace", "second-of-grace");
    assert_eq!(admin.put("/v3/user/grace", &json!({ "disabled": true })).ok()["disabled"], true);
    grace.get("/v3/auth/connection/check").fails(401, "InvalidToken");
    log_in(&server, "grace", "second-of-grace").fails(401, "InvalidLogin");

    let list = admin.get("/v3/user").ok();
    let names: Vec<_> = list["items"].as_array().expect("items").iter().map(|user| user["name"].clone()).collect();
    assert_eq!(names, ["admin", "contributor", "editor", "grace", "reader", "reporter"]);
    let page = admin.get("/v3/user?limit=2&offset=3").ok();
    assert_eq!((&page["items"][0]["name"], &page["total"]), (&json!("grace"), &json!(6)));
    let all = format!("{list}{made}{changed}{}", server.log());
    for secret in ["first-of-grace", "second-of-grace", "argon2", ADMIN_PASSWORD] {
        assert!(!all.contains(secret), "{secret}");
    }
}

#[test]
fn users_are_for_those_who_manage_groups() {
    let server = Server::shared();
    let editor = server.login("editor");
    editor.get("/v3/user").fails(403, "PermissionDenied");
    editor.get("/v3/user/editor").fails(403, "PermissionDenied");
    editor.post("/v3/user", &json!({ "name": "x" })).fails(403, "PermissionDenied");
    editor.put("/v3/user/editor", &json!({ "groups": ["administrators"] })).fails(403, "PermissionDenied");
}

#[test]
fn a_user_that_can_not_be_is_refused_by_what_is_wrong_and_nothing_changes() {
    let server = Server::start();
    let admin = server.login("admin");
    let before = admin.get("/v3/user").ok();
    let long = "x".repeat(1025);
    for (method, path, body, status, code, part) in [
        ("POST", "/v3/user", json!({ "name": "editor" }), 409, "DuplicatedName", "editor"),
        ("POST", "/v3/user", json!({ "fullName": "No Name" }), 400, "InvalidBody", "$.name"),
        ("POST", "/v3/user", json!({ "name": "" }), 400, "InvalidName", "empty"),
        ("POST", "/v3/user", json!({ "name": "a/b" }), 400, "InvalidName", "a/b"),
        ("POST", "/v3/user", json!({ "name": "x", "groups": "editors" }), 400, "InvalidBody", "$.groups"),
        ("POST", "/v3/user", json!({ "name": "x", "groups": ["nogroup"] }), 404, "ObjectNotFound", "nogroup"),
        ("POST", "/v3/user", json!({ "name": "x", "home": "relative" }), 400, "InvalidPath", "relative"),
        ("POST", "/v3/user", json!({ "name": "x", "password": "" }), 400, "InvalidParameter", "password"),
        ("POST", "/v3/user", json!({ "name": "x", "password": long }), 400, "InvalidParameter", "1025"),
        ("PUT", "/v3/user/nobody", json!({ "fullName": "x" }), 404, "ObjectNotFound", "nobody"),
        ("PUT", "/v3/user/editor", json!({ "name": "other" }), 400, "InvalidParameter", "other"),
        ("PUT", "/v3/user/editor", json!({ "disabled": "yes" }), 400, "InvalidBody", "$.disabled"),
        ("PUT", "/v3/user/editor", json!({ "fullName": "x", "groups": ["nogroup"] }), 404, "ObjectNotFound", "nogroup"),
        ("PUT", "/v3/user/editor", json!({ "fullName": "x", "password": "" }), 400, "InvalidParameter", "password"),
        ("GET", "/v3/user/nobody", json!(null), 404, "ObjectNotFound", "nobody"),
    ] {
        let error = admin.send_json(method, path, &body).fails_on(&format!("{method} {path} {part}"), status, code);
        assert!(error["message"].as_str().is_some_and(|message| message.contains(part)), "{part}: {error}");
    }
    assert_eq!(admin.get("/v3/user").ok(), before);
}

#[test]
fn one_changes_ones_own_password_and_all_of_ones_sessions_end() {
    let server = Server::with(&[("LOG__FILTER", "debug")]);
    let (one, two, other) = (server.login("editor"), server.login("editor"), server.login("reporter"));
    for (body, status, code) in [
        (json!({ "old": "wrong-old-one", "new": "next-password" }), 403, "PermissionDenied"),
        (json!({ "old": SAMPLE_PASSWORD, "new": "" }), 400, "InvalidParameter"),
        (json!({ "old": SAMPLE_PASSWORD }), 400, "InvalidBody"),
    ] {
        one.post("/v3/user/password", &body).fails(status, code);
    }
    for client in [&one, &two] {
        client.get("/v3/auth/connection/check").ok();
    }
    let answer = one.post("/v3/user/password", &json!({ "old": SAMPLE_PASSWORD, "new": "next-password" }));
    assert!(answer.header("set-cookie").is_some_and(|cookie| cookie.contains("Max-Age=0")), "{answer:?}");
    assert_eq!(answer.ok(), json!({ "result": "ok" }));
    for client in [&one, &two] {
        client.get("/v3/auth/connection/check").fails(401, "InvalidToken");
    }
    other.get("/v3/auth/connection/check").ok();
    log_in(&server, "editor", SAMPLE_PASSWORD).fails(401, "InvalidLogin");
    log_in(&server, "editor", "next-password").ok();
    let log = server.log();
    for secret in [SAMPLE_PASSWORD, "wrong-old-one", "next-password"] {
        assert!(!log.contains(secret), "{secret}");
    }
}
