//! Keys for machine clients (docs/api/keys.md).

use serde_json::{Value, json};

use crate::harness::*;

fn request(name: &str, privileges: Value) -> Value {
    json!({ "name": name, "user": "reporter", "privileges": privileges })
}

/// A client that has nothing but the key.
fn machine(server: &Server, reply: &Value) -> Client {
    let mut client = server.client();
    client.token = Some(reply["token"].as_str().expect("a new key has a token").to_owned());
    client
}

#[test]
fn a_key_acts_under_its_user_with_its_own_privileges_and_no_others() {
    let server = Server::start();
    let admin = server.login("admin");
    let grants =
        json!([{ "privilege": "read" }, { "privilege": "manageGroups" }, { "privilege": "write", "folder": "/News" }]);
    let made = admin.post("/v3/key", &request("wire", grants.clone())).ok();
    assert!(made["token"].as_str().is_some_and(|token| token.starts_with("stk_")));
    let key = &made["key"];
    assert_eq!((&key["name"], &key["user"], &key["expires"]), (&json!("wire"), &json!("reporter"), &Value::Null));
    assert_eq!(key["privileges"][2], json!({ "privilege": "write", "folder": "/News" }));
    let machine = machine(&server, &made);
    let connection = machine.get("/v3/auth/connection").ok();
    assert_eq!((&connection["username"], &connection["expires"]), (&json!("reporter"), &Value::Null));
    assert_eq!(connection["session"], key["session"]);
    // More than the user's groups give, and less.
    assert_eq!(machine.get("/v3/key").ok()["total"], 1);
    let reporter = server.login("reporter");
    reporter.get("/v3/key").fails(403, "PermissionDenied");
    let error = machine.post("/v3/container/drawer", &json!({})).fails(403, "PermissionDenied");
    assert!(error["message"].as_str().is_some_and(|message| message.contains("create")), "{error}");
    reporter.post("/v3/container/drawer", &json!({})).ok();
    // What a key makes is its user's.
    let made =
        admin.post("/v3/key", &request("maker", json!([{ "privilege": "create" }, { "privilege": "read" }]))).ok();
    let maker = self::machine(&server, &made);
    let drawer = maker.post("/v3/container/drawer", &json!({ "name": "from the wire" })).ok();
    assert_eq!(drawer["info"]["creator"], "reporter");
}

#[test]
fn a_key_writes_over_nothing_that_its_user_or_itself_has_made_unless_it_may_write() {
    let server = Server::start();
    let (admin, reporter) = (server.login("admin"), server.login("reporter"));
    let key = |name: &str, privileges: &[&str]| {
        let grants: Vec<Value> = privileges.iter().map(|privilege| json!({ "privilege": privilege })).collect();
        machine(&server, &admin.post("/v3/key", &request(name, json!(grants))).ok())
    };
    let (feed, desk) = (key("feed", &["read", "create"]), key("desk", &["read", "create", "write"]));
    let all = [("a.xml", reporter.story("/News", "a.xml")), ("b.xml", feed.story("/News", "b.xml"))];
    let again = |client: &Client, name: &str, mode: &str| {
        let options = json!({ "name": name, "type": "Story", "folderPath": "/News", "createMode": mode });
        client.upload("/v3/object/create", &options, Some((name, "text/xml", b"<story>2</story>")))
    };
    for (name, loid) in &all {
        let read = || admin.get(&format!("/v3/object/{}", encoded(loid))).ok();
        let before = read();
        for mode in ["REPLACE", "NEW_VERSION"] {
            let error = again(&feed, name, mode).fails(403, "PermissionDenied");
            assert!(error["message"].as_str().is_some_and(|message| message.contains(loid.as_str())), "{error}");
        }
        assert_eq!(read(), before);
        again(&desk, name, "NEW_VERSION").ok();
        // The person may: it was made under their name.
        again(&reporter, name, "NEW_VERSION").ok();
        assert_eq!(read()["version"], 3);
    }
}

#[test]
fn keys_are_for_those_who_manage_groups() {
    let server = Server::start();
    let editor = server.login("editor");
    editor.get("/v3/key").fails(403, "PermissionDenied");
    editor.post("/v3/key", &request("wire", json!([{ "privilege": "read" }]))).fails(403, "PermissionDenied");
    editor.delete("/v3/key/wire").fails(403, "PermissionDenied");
    assert_eq!(server.login("admin").get("/v3/key").ok(), json!({ "items": [], "total": 0 }));
}

#[test]
fn a_key_lasts_over_a_crash_and_its_users_new_password_until_it_is_revoked() {
    let mut server = Server::start();
    let admin = server.login("admin");
    let made = admin.post("/v3/key", &request("wire", json!([{ "privilege": "read" }]))).ok();
    let key = machine(&server, &made);
    let reporter = server.login("reporter");
    admin.put("/v3/user/reporter", &json!({ "password": "another" })).ok();
    reporter.get("/v3/auth/connection/check").fails(401, "InvalidToken");
    key.get("/v3/auth/connection/check").ok();
    server.kill();
    let server = server.restart();
    let (admin, key) = (admin.to(&server), key.to(&server));
    key.get("/v3/auth/connection/check").ok();
    assert_eq!(admin.delete("/v3/key/wire").ok(), json!({ "result": "ok" }));
    key.get("/v3/auth/connection/check").fails(401, "InvalidToken");
    let error = admin.delete("/v3/key/wire").fails(404, "ObjectNotFound");
    assert!(error["message"].as_str().is_some_and(|message| message.contains("wire")), "{error}");
}

#[test]
fn a_key_dies_with_its_user_and_does_not_come_back() {
    let server = Server::start();
    let admin = server.login("admin");
    let made = admin.post("/v3/key", &request("wire", json!([{ "privilege": "read" }]))).ok();
    let key = machine(&server, &made);
    admin.put("/v3/user/reporter", &json!({ "disabled": true })).ok();
    key.get("/v3/auth/connection/check").fails(401, "InvalidToken");
    admin.put("/v3/user/reporter", &json!({ "disabled": false })).ok();
    key.get("/v3/auth/connection/check").fails(401, "InvalidToken");
    assert_eq!(admin.get("/v3/key").ok()["total"], 0);
}

#[test]
fn a_key_can_not_be_copied_or_logged_out_and_has_no_sessions_of_its_own() {
    let server = Server::start();
    let admin = server.login("admin");
    let made = admin.post("/v3/key", &request("wire", json!([{ "privilege": "read" }]))).ok();
    let key = machine(&server, &made);
    let reporter = server.login("reporter");
    let session = reporter.get("/v3/auth/connection").ok()["session"].as_str().expect("a reference").to_owned();
    let copy = server.client().post("/v3/auth/copy", &json!({ "token": key.token })).fails(403, "PermissionDenied");
    assert!(copy["message"].as_str().is_some_and(|message| message.contains("wire")), "{copy}");
    key.get("/v3/auth/logout").fails(403, "PermissionDenied");
    assert_eq!(key.get("/auth/logout").status, 401);
    key.get("/v3/session").fails(403, "PermissionDenied");
    key.delete(&format!("/v3/session/{session}")).fails(403, "PermissionDenied");
    let passwords = json!({ "old": SAMPLE_PASSWORD, "new": "another" });
    key.post("/v3/user/password", &passwords).fails(403, "PermissionDenied");
    let reference = made["key"]["session"].as_str().expect("a reference");
    admin.delete(&format!("/v3/session/{reference}")).fails(404, "ObjectNotFound");
    assert_eq!(reporter.get("/v3/session").ok()["total"], 1);
    for client in [&key, &reporter] {
        client.get("/v3/auth/connection/check").ok();
    }
}

#[test]
fn a_key_that_can_not_be_is_refused_by_what_is_wrong_with_it() {
    let server = Server::start();
    let admin = server.login("admin");
    let read = || json!([{ "privilege": "read" }]);
    admin.post("/v3/key", &request("wire", read())).ok();
    let with = |key: &str, value: Value| {
        let mut body = request("new", read());
        body[key] = value;
        body
    };
    for (body, status, code, part) in [
        (request("wire", read()), 409, "DuplicatedName", "wire"),
        (with("name", json!("a/b")), 400, "InvalidName", "a/b"),
        (with("name", json!(null)), 400, "InvalidBody", "name"),
        (with("user", json!("nobody")), 404, "ObjectNotFound", "nobody"),
        (with("privileges", json!([])), 400, "InvalidParameter", "privileges"),
        (with("privileges", json!([{ "privilege": "fly" }])), 400, "InvalidBody", "privileges[0].privilege"),
        (with("privileges", json!([{ "privilege": "read", "folder": "News" }])), 400, "InvalidParameter", "News"),
        (with("privileges", json!([{ "privilege": "read", "folder": "/nowhere" }])), 404, "ObjectNotFound", "/nowhere"),
        (with("expires", json!(1)), 400, "InvalidParameter", "expires"),
        (with("expires", json!(-1)), 400, "InvalidBody", "expires"),
        (json!({}), 400, "InvalidBody", "name"),
    ] {
        let error = admin.post("/v3/key", &body).fails_on(&body.to_string(), status, code);
        assert!(error["message"].as_str().is_some_and(|message| message.contains(part)), "{part}: {error}");
    }
    assert_eq!(admin.get("/v3/key").ok()["total"], 1);
}

#[test]
fn a_token_is_told_once_and_nowhere_else() {
    let server = Server::with(&[("LOG__FILTER", "debug")]);
    let admin = server.login("admin");
    let made = admin.post("/v3/key", &request("wire", json!([{ "privilege": "read" }]))).ok();
    let token = made["token"].as_str().expect("a new key has a token").to_owned();
    let key = machine(&server, &made);
    key.get("/v3/folder/home").ok();
    key.post("/v3/container/drawer", &json!({})).fails(403, "PermissionDenied");
    let list = admin.get("/v3/key").ok().to_string();
    assert!(list.contains("wire") && !list.contains(&token) && !list.contains("stk_"), "{list}");
    admin.delete("/v3/key/wire").ok();
    let log = server.log();
    assert!(log.contains("key made") && log.contains("key revoked") && !log.contains(&token[4..]), "{log}");
}

#[test]
fn a_key_has_neither_its_users_home_nor_what_its_user_created() {
    let server = Server::start();
    let admin = server.login("admin");
    let reporter = server.login("reporter");
    admin.post("/v3/folder", &json!({ "path": "/Wire" })).ok();
    let own = reporter.story("/Wire", "theirs.xml");
    let private = reporter.story("/Users/reporter", "private.xml");
    let grants = json!([{ "privilege": "read", "folder": "/Wire" }, { "privilege": "create", "folder": "/Wire" }]);
    let key = machine(&server, &admin.post("/v3/key", &request("wire", grants)).ok());
    key.story("/Wire", "mine.xml");
    key.get(&format!("/v3/object/{private}")).fails(404, "ObjectNotFound");
    key.get("/v3/folder/home").fails(404, "ObjectNotFound");
    key.delete(&format!("/v3/object/{own}/discard")).fails(403, "PermissionDenied");
    reporter.delete(&format!("/v3/object/{own}/discard")).ok();
}
