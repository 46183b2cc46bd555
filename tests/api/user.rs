//! Users as they are administered, and one's own password (docs/api/groups-and-users.md).

use serde_json::{Value, json};

use super::endpoints::cases::{Made, PASSWORD, cases, editor_credentials, word};
use crate::harness::*;

fn change(admin: &Client, user: &str, body: Value) -> Answer {
    admin.call("stet-user-update-put", &[&user]).json(&body).send()
}

#[test]
fn a_user_is_made_read_changed_and_kept_out() {
    let server = Server::with(&[("LOG__FILTER", "debug")]);
    let admin = server.user("admin");
    let body = json!({ "name": "grace", "fullName": "Grace Holt", "description": "Night desk", "groups": ["reporters"],
        "home": "/Users/gh", "workFolder": "/News/City", "team": "Night", "homeEmail": "g@home.example",
        "businessEmail": "g@desk.example" });
    let new = with(body.clone(), json!({ "password": "first-of-grace" }));
    let made = admin.call("stet-user-create-post", &[]).json(&new).gives(&with(body, json!({ "disabled": false })));
    assert!(made["passwordChanged"].is_u64(), "{made}");
    assert_eq!(admin.call("stet-user-get", &[&"grace"]).ok(), made);
    let log_in = |password: &str| server.log_in("grace", password);
    let grace = server.client_with(&log_in("first-of-grace").ok()["token"]["value"]);
    grace.lives();

    // Named fields change, the others stay, and an empty text removes the value.
    let changed = change(&admin, "grace", json!({ "team": "", "groups": ["editors"], "fullName": "G. Holt" })).ok();
    includes(
        &changed,
        &json!({ "groups": ["editors"], "fullName": "G. Holt", "home": "/Users/gh",
            "passwordChanged": made["passwordChanged"] }),
    );
    assert_eq!(changed["team"], Value::Null);
    grace.lives();
    let body = with(credentials("grace", "first-of-grace"), json!({ "showPrivileges": true }));
    let privileges = server.client().call("auth-login-post", &[]).json(&body).ok()["privileges"].clone();
    assert!(privileges.as_array().is_some_and(|names| names.contains(&json!("moderate"))), "{privileges}");

    change(&admin, "grace", json!({ "password": "second-of-grace" })).ok();
    grace.is_dead();
    log_in("first-of-grace").fails(401, "InvalidLogin");
    let grace = server.client_with(&log_in("second-of-grace").ok()["token"]["value"]);
    assert_eq!(change(&admin, "grace", json!({ "disabled": true })).ok()["disabled"], true);
    grace.is_dead();
    log_in("second-of-grace").fails(401, "InvalidLogin");

    let name = |name: &str| json!({ "name": name });
    let names = ["admin", "contributor", "editor", "grace", "reader", "reporter"].map(name);
    let list = admin.call("stet-user-list-get", &[]).gives(&json!({ "items": names }));
    let page = admin.call("stet-user-list-get", &[]).query("limit", 2).query("offset", 3);
    page.gives(&json!({ "items": names[3..5], "total": 6 }));
    let all = format!("{list}{made}{changed}{}", server.log());
    for secret in ["first-of-grace", "second-of-grace", "argon2", ADMIN_PASSWORD] {
        assert!(!all.contains(secret), "{secret}");
    }
}

#[test]
fn a_user_that_can_not_be_is_refused_by_what_is_wrong_and_nothing_changes() {
    let server = Server::start();
    let admin = server.user("admin");
    let list = || admin.call("stet-user-list-get", &[]).ok();
    let before = list();
    let long = "x".repeat(1025);
    let x = |more: Value| with(json!({ "name": "x" }), more);
    for (body, status, code, part) in [
        (json!({ "name": "editor" }), 409, "DuplicatedName", "editor"),
        (json!({ "fullName": "No Name" }), 400, "InvalidBody", "$.name"),
        (json!({ "name": "" }), 400, "InvalidName", "empty"),
        (json!({ "name": "a/b" }), 400, "InvalidName", "a/b"),
        (x(json!({ "groups": "editors" })), 400, "InvalidBody", "$.groups"),
        (x(json!({ "groups": ["nogroup"] })), 404, "ObjectNotFound", "nogroup"),
        (x(json!({ "home": "relative" })), 400, "InvalidPath", "relative"),
        (x(json!({ "password": "" })), 400, "InvalidParameter", "at least 8 characters, and has 0"),
        (x(json!({ "password": "e\u{301}234567" })), 400, "InvalidParameter", "at least 8 characters, and has 7"),
        (json!({ "name": "constance", "password": "Constance" }), 400, "InvalidParameter", "`constance`"),
        (x(json!({ "password": long })), 400, "InvalidParameter", "1025"),
    ] {
        says(&admin.call("stet-user-create-post", &[]).json(&body).send().fails_on(part, status, code), part);
    }
    for (user, body, status, code, part) in [
        ("nobody", json!({ "fullName": "x" }), 404, "ObjectNotFound", "nobody"),
        ("editor", json!({ "name": "other" }), 400, "InvalidParameter", "other"),
        ("editor", json!({ "disabled": "yes" }), 400, "InvalidBody", "$.disabled"),
        ("editor", json!({ "fullName": "x", "groups": ["nogroup"] }), 404, "ObjectNotFound", "nogroup"),
        ("editor", json!({ "fullName": "x", "password": "" }), 400, "InvalidParameter", "password"),
        ("editor", json!({ "fullName": "x", "password": "seven77" }), 400, "InvalidParameter", "and has 7"),
        ("reporter", json!({ "fullName": "x", "password": "REPORTER" }), 400, "InvalidParameter", "`reporter`"),
    ] {
        says(&change(&admin, user, body).fails_on(part, status, code), part);
    }
    says(&admin.call("stet-user-get", &[&"nobody"]).fails(404, "ObjectNotFound"), "nobody");
    assert_eq!(list(), before);
}

#[test]
fn one_changes_ones_own_password_and_all_of_ones_sessions_end() {
    let server = Server::with(&[("LOG__FILTER", "debug")]);
    let [one, two, other] = ["editor", "editor", "reporter"].map(|user| server.login(user));
    let change = |body: &Value| one.call("stet-user-password-post", &[]).json(body).send();
    for (body, status, code) in [
        (json!({ "old": "wrong-old-one", "new": "next-password" }), 403, "PermissionDenied"),
        (json!({ "old": SAMPLE_PASSWORD, "new": "" }), 400, "InvalidParameter"),
        (json!({ "old": SAMPLE_PASSWORD, "new": "seven77" }), 400, "InvalidParameter"),
        (json!({ "old": SAMPLE_PASSWORD }), 400, "InvalidBody"),
    ] {
        change(&body).fails(status, code);
    }
    let name = json!({ "old": SAMPLE_PASSWORD, "new": "Reporter" });
    let refused = other.call("stet-user-password-post", &[]).json(&name).send().fails(400, "InvalidParameter");
    assert_eq!(refused["details"], json!({ "reason": "passwordIsName" }), "{refused}");
    for client in [&one, &two] {
        client.lives();
    }
    let answer = change(&json!({ "old": SAMPLE_PASSWORD, "new": "next-password" }));
    assert!(answer.header("set-cookie").is_some_and(|cookie| cookie.contains("Max-Age=0")), "{answer:?}");
    assert_eq!(answer.ok(), json!({ "result": "ok" }));
    for client in [&one, &two] {
        client.is_dead();
    }
    other.lives();
    server.log_in("editor", SAMPLE_PASSWORD).fails(401, "InvalidLogin");
    server.log_in("editor", "next-password").ok();
    let log = server.log();
    for secret in [SAMPLE_PASSWORD, "wrong-old-one", "next-password"] {
        assert!(!log.contains(secret), "{secret}");
    }
}

#[test]
fn names_that_read_the_same_are_one_user_with_one_home() {
    let (composed, decomposed) = ("ren\u{e9}", "rene\u{301}");
    let server = Server::start();
    let admin = server.user("admin");
    let make = |name: &str, password: &str| {
        let body = json!({ "name": name, "password": password, "groups": ["editors"] });
        admin.call("stet-user-create-post", &[]).json(&body).send()
    };
    assert_eq!(make(decomposed, "secret-of-rene").ok()["name"], composed);
    for name in [composed, decomposed, " ren\u{e9} "] {
        make(name, "of-another").fails_on(name, 409, "DuplicatedName");
        let reply = server.log_in(name, "secret-of-rene").ok();
        assert_eq!(reply["username"], composed);
        let client = server.client_with(&reply["token"]["value"]);
        client.call("auth-connection-get", &[]).gives(&json!({ "username": composed }));
        let same = json!({ "name": decomposed, "team": "Night" });
        assert_eq!(change(&admin, name.trim(), same).ok()["name"], composed);
        admin.call("stet-session-list-get", &[]).query("user", name).gives(&json!({ "items": [{ "user": composed }] }));
        client.call("auth-logout-get", &[]).ok();
    }
    change(&admin, "Ren\u{e9}", json!({})).fails(404, "ObjectNotFound");
    // Failures count for the one user, however the name is spelled.
    make("zo\u{eb}", "secret-of-zoe").ok();
    for (number, name) in ["zo\u{eb}", "zoe\u{308}"].iter().cycle().take(10).enumerate() {
        server.log_in(name, "wrong").fails_on(&number.to_string(), 401, "InvalidLogin");
    }
    server.log_in("zo\u{eb}", "wrong").fails(429, "TooManyRequests");

    let group =
        |id: &str, name: &str| admin.call(id, &[]).json(&json!({ "groupName": name, "members": [decomposed] })).send();
    assert_eq!(group("group-create-post", decomposed).ok()["groupName"], composed);
    group("group-create-post", composed).fails(409, "DuplicatedName");
    let reply = group("group-update-post", decomposed).ok();
    assert_eq!((&reply["groupName"], &reply["members"]), (&json!(composed), &json!([composed])));
    let changed = change(&admin, composed, json!({ "groups": [decomposed] })).ok();
    assert_eq!(changed["groups"], json!([composed]));
    let key = json!({ "name": decomposed, "user": decomposed, "privileges": [{ "privilege": "read" }] });
    let reply = admin.call("stet-key-create-post", &[]).json(&key).ok();
    assert_eq!((&reply["key"]["name"], &reply["key"]["user"]), (&json!(composed), &json!(composed)));
    admin.call("stet-key-create-post", &[]).json(&with(key, json!({ "name": composed }))).fails(409, "DuplicatedName");
    admin.call("stet-key-delete", &[&composed]).ok();
    admin.call("group-delete", &[]).query("groupName", decomposed).gives(&json!({ "groupName": composed }));
}

#[test]
fn a_user_has_a_name_that_a_folder_can_have() {
    let server = Server::start();
    let admin = server.user("admin");
    for name in ["mia|b", "zoe:b", "a\"b", "a/b", ".", "..", " ", "a\nb", &"x".repeat(256), &"\u{e9}".repeat(128)] {
        let body = json!({ "name": name, "password": "some-password" });
        admin.call("stet-user-create-post", &[]).json(&body).send().fails_on(name, 400, "InvalidName");
    }
    // Nothing of a group or a key is named after it.
    let key = json!({ "name": "wire: AP", "user": "editor", "privileges": [{ "privilege": "read" }] });
    admin.call("stet-key-create-post", &[]).json(&key).ok();
    admin.call("group-create-post", &[]).json(&json!({ "groupName": "desk: \"sports\"" })).ok();
}

cases! {
    "stet-user-list-get": |_| Made::default();
    "stet-user-create-post": |corner| Made::default().json(json!({ "name": corner.name() }));
    "stet-user-get": |corner| Made::on([word(corner.user())]);
    "stet-user-update-put": |corner| Made::on([word(corner.user())]).json(json!({ "fullName": "New Name" }));
    "stet-user-password-post": |corner| {
        let user = corner.user();
        let mut body = editor_credentials();
        body["username"] = json!(user);
        body["password"] = json!(PASSWORD);
        let reply = corner.client.call("auth-login-post", &[]).json(&body).ok();
        let token = reply["token"]["value"].as_str().expect("a login gives a token").to_owned();
        let client = Client::at(&corner.client.base, Some(token));
        Made::default().json(json!({ "old": PASSWORD, "new": "another long secret" })).by(client)
    };
}
