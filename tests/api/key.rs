//! Keys for machine clients (docs/api/keys.md).

use serde_json::{Value, json};

use super::endpoints::cases::{Made, cases, word};
use crate::harness::*;

fn request(name: &str, privileges: Value) -> Value {
    json!({ "name": name, "user": "reporter", "privileges": privileges })
}

fn reads() -> Value {
    json!([{ "privilege": "read" }])
}

fn make(admin: &Client, body: &Value) -> Value {
    admin.call("stet-key-create-post", &[]).json(body).ok()
}

/// A client that has nothing but a new key, which may do this.
fn machine(server: &Server, name: &str, privileges: Value) -> Client {
    server.client_with(&make(&server.user("admin"), &request(name, privileges))["token"])
}

fn keys(client: &Client) -> Call<'_> {
    client.call("stet-key-list-get", &[])
}

#[test]
fn a_key_acts_under_its_user_with_its_own_privileges_and_no_others() {
    let server = Server::start();
    let grants =
        json!([{ "privilege": "read" }, { "privilege": "manageGroups" }, { "privilege": "write", "folder": "/News" }]);
    let made = make(&server.user("admin"), &request("wire", grants));
    assert!(made["token"].as_str().is_some_and(|token| token.starts_with("stk_")));
    let key = &made["key"];
    includes(key, &json!({ "name": "wire", "user": "reporter", "expires": null }));
    assert_eq!(key["privileges"][2], json!({ "privilege": "write", "folder": "/News" }));
    let wire = server.client_with(&made["token"]);
    let connection = json!({ "username": "reporter", "expires": null, "session": key["session"] });
    wire.call("auth-connection-get", &[]).gives(&connection);
    // More than the user's groups give, and less.
    assert_eq!(keys(&wire).ok()["total"], 1);
    let reporter = server.user("reporter");
    keys(&reporter).fails(403, "PermissionDenied");
    // Its user may create.
    says(
        &wire.call("drawer-post", &[]).fails(403, "PermissionDenied"),
        "This key of `reporter` lacks the privilege `create`",
    );
    reporter.call("drawer-post", &[]).ok();
    // What a key makes is its user's.
    let maker = machine(&server, "maker", json!([{ "privilege": "create" }, { "privilege": "read" }]));
    let body = json!({ "name": "from the wire" });
    maker.call("drawer-post", &[]).json(&body).gives(&json!({ "info": { "creator": "reporter" } }));
}

#[test]
fn a_key_without_write_privilege_overwrites_no_existing_object() {
    let server = Server::start();
    let (admin, reporter) = (server.user("admin"), server.user("reporter"));
    let key = |name: &str, privileges: &[&str]| {
        let grants: Vec<Value> = privileges.iter().map(|privilege| json!({ "privilege": privilege })).collect();
        machine(&server, name, json!(grants))
    };
    let (feed, desk) = (key("feed", &["read", "create"]), key("desk", &["read", "create", "write"]));
    let all = [("a.xml", reporter.story("/News", "a.xml")), ("b.xml", feed.story("/News", "b.xml"))];
    let again = |client: &Client, name: &str, mode: &str| {
        let options = json!({ "name": name, "type": "Story", "folderPath": "/News", "createMode": mode });
        let content: &[File<'_>] = &[("content", name, "text/xml", b"<story>2</story>")];
        client.call("stet-object-create-post", &[]).form(&options, content).send()
    };
    for (name, loid) in &all {
        let read = || admin.call("object-get", &[loid]).ok();
        let before = read();
        for mode in ["REPLACE", "NEW_VERSION"] {
            says(&again(&feed, name, mode).fails(403, "PermissionDenied"), loid);
        }
        assert_eq!(read(), before);
        again(&desk, name, "NEW_VERSION").ok();
        // The person may: it was made under their name.
        again(&reporter, name, "NEW_VERSION").ok();
        assert_eq!(read()["version"], 3);
    }
}

#[test]
fn keys_survive_a_crash_and_a_new_user_password_until_they_are_revoked() {
    let mut server = Server::start();
    let admin = server.user("admin");
    assert_eq!(keys(&admin).ok(), json!({ "items": [], "total": 0 }));
    let key = machine(&server, "wire", reads());
    let reporter = server.user("reporter");
    admin.call("stet-user-update-put", &[&"reporter"]).json(&json!({ "password": "another-one" })).ok();
    reporter.is_dead();
    key.lives();
    server.kill();
    let server = server.restart();
    let (admin, key) = (admin.to(&server), key.to(&server));
    key.lives();
    let revoke = admin.call("stet-key-delete", &[&"wire"]);
    assert_eq!(revoke.ok(), json!({ "result": "ok" }));
    key.is_dead();
    says(&revoke.fails(404, "ObjectNotFound"), "wire");
}

#[test]
fn a_key_dies_with_its_user_and_does_not_come_back() {
    let server = Server::start();
    let admin = server.user("admin");
    let key = machine(&server, "wire", reads());
    for disabled in [true, false] {
        admin.call("stet-user-update-put", &[&"reporter"]).json(&json!({ "disabled": disabled })).ok();
        key.is_dead();
    }
    assert_eq!(keys(&admin).ok()["total"], 0);
}

#[test]
fn a_key_can_not_be_copied_or_logged_out_and_has_no_sessions_of_its_own() {
    let server = Server::start();
    let admin = server.user("admin");
    let made = make(&admin, &request("wire", reads()));
    let key = server.client_with(&made["token"]);
    let reporter = server.user("reporter");
    let session = reporter.call("auth-connection-get", &[]).ok()["session"].as_str().expect("a reference").to_owned();
    let copy = server.client().call("auth-copy-post", &[]).json(&json!({ "token": key.token })).send();
    says(&copy.fails(403, "PermissionDenied"), "wire");
    assert_eq!(key.call("old-auth-logout-get", &[]).send().status, 401);
    let passwords = json!({ "old": SAMPLE_PASSWORD, "new": "another-one" });
    for refused in [
        key.call("auth-logout-get", &[]),
        key.call("stet-session-list-get", &[]),
        key.call("stet-session-delete", &[&session]),
        key.call("stet-user-password-post", &[]).json(&passwords),
    ] {
        refused.fails(403, "PermissionDenied");
    }
    let reference = made["key"]["session"].as_str().expect("a reference");
    admin.call("stet-session-delete", &[&reference]).fails(404, "ObjectNotFound");
    assert_eq!(reporter.call("stet-session-list-get", &[]).ok()["total"], 1);
    for client in [&key, &reporter] {
        client.lives();
    }
}

#[test]
fn a_key_that_can_not_be_is_refused_by_what_is_wrong_with_it() {
    let server = Server::start();
    let admin = server.user("admin");
    make(&admin, &request("wire", reads()));
    let with = |key: &str, value: Value| {
        let mut body = request("new", reads());
        body[key] = value;
        body
    };
    for (body, status, code, part) in [
        (request("wire", reads()), 409, "DuplicatedName", "wire"),
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
        let answer = admin.call("stet-key-create-post", &[]).json(&body).send();
        says(&answer.fails_on(&body.to_string(), status, code), part);
    }
    assert_eq!(keys(&admin).ok()["total"], 1);
}

/// Regression test: with another key than `folder`, the privilege was granted everywhere.
#[test]
fn a_privilege_with_an_unknown_key_is_refused() {
    let server = Server::start();
    let admin = server.user("admin");
    let grants = json!([{ "privilege": "read", "folderPath": "/News" }]);
    let refused = admin.call("stet-key-create-post", &[]).json(&request("wide", grants.clone()));
    // The body is one that may have a secret: what came is not repeated.
    says(&refused.fails(400, "InvalidBody"), "at `$.privileges[0]`: a key is not one of `privilege` or `folder`");
    assert_eq!(keys(&admin).ok()["total"], 0);
    let group = json!({ "groupName": "wide", "privileges": grants });
    says(&admin.call("group-create-post", &[]).json(&group).fails(400, "InvalidBody"), "folderPath");
    let names = admin.call("old-group-list-get", &[]).send().bare();
    assert!(!names.as_array().is_some_and(|names| names.contains(&json!("wide"))));
}

#[test]
fn a_token_is_told_once_and_nowhere_else() {
    let server = Server::with(&[("LOG__FILTER", "debug")]);
    let (admin, key) = (server.user("admin"), machine(&server, "wire", reads()));
    let token = key.token();
    key.call("folder-home-get", &[]).ok();
    key.call("drawer-post", &[]).fails(403, "PermissionDenied");
    let list = keys(&admin).ok().to_string();
    assert!(list.contains("wire") && !list.contains(token) && !list.contains("stk_"), "{list}");
    admin.call("stet-key-delete", &[&"wire"]).ok();
    wait_until("all of it is in the log", || server.log().contains("key revoked"));
    let log = server.log();
    assert!(log.contains("key created") && !log.contains(&token[4..]), "{log}");
}

/// A key for the calendar of one folder, in an address that anybody may come by, read names and
/// e-mail addresses of the whole staff.
#[test]
fn a_key_for_one_folder_sees_no_people() {
    let server = Server::start();
    let below = machine(&server, "below", json!([{ "privilege": "read", "folder": "/News" }]));
    let everything = machine(&server, "everything", reads());
    let person = server.user("reader");
    let lists = ["old-user-list-get", "old-group-list-get", "cache-users-get", "cache-groups-get"];
    let of_database = ["cache-users-db-get", "cache-groups-db-get", "cache-users-timestamp-db-get"];
    let first: [&dyn std::fmt::Display; 1] = [&"1"];
    let calls = lists.iter().map(|id| (id, &first[..0])).chain(of_database.iter().map(|id| (id, &first[..])));
    for (id, params) in calls {
        let refused = below.call(id, params).send();
        assert!(matches!(refused.status, 401 | 403), "{id}: {}", refused.status);
        let text = String::from_utf8_lossy(&refused.body);
        assert!(text.contains("a key needs it for the whole server"), "{id}: {text}");
        assert_eq!(everything.call(id, params).send().status, 200, "{id}");
        assert_eq!(person.call(id, params).send().status, 200, "{id}");
    }
    assert_eq!(below.call("cache-workflows-get", &[]).send().status, 200, "it is about no people");
}

/// Messages lie in no folder: a grant below one is none for them, and reading is not removing.
#[test]
fn a_key_reads_and_removes_messages_only_with_repository_wide_grants() {
    let server = Server::start();
    let body = json!({ "subject": "s", "recipients": ["reporter"] });
    let sent = server.user("editor").call("message-sendmail-post", &[]).json(&body).ok();
    let id = sent["id"].as_str().expect("it has an id");
    let below = machine(
        &server,
        "below",
        json!([{ "privilege": "read", "folder": "/News" }, { "privilege": "create", "folder": "/News" }]),
    );
    below.call("message-inbox-get", &[]).fails(403, "PermissionDenied");
    below.call("message-sendmail-post", &[]).json(&body).fails(403, "PermissionDenied");
    let reads = machine(&server, "reads", json!([{ "privilege": "read" }]));
    assert_eq!(reads.call("message-inbox-get", &[]).ok()["total"], 1);
    reads.call("stet-message-read-put", &[&id]).fails(403, "PermissionDenied");
    reads.call("stet-message-delete", &[&id]).fails(403, "PermissionDenied");
    let all =
        machine(&server, "all", json!([{ "privilege": "read" }, { "privilege": "write" }, { "privilege": "delete" }]));
    all.call("stet-message-read-put", &[&id]).ok();
    all.call("stet-message-delete", &[&id]).ok();
    assert_eq!(server.user("reporter").call("message-inbox-get", &[]).ok()["total"], 0);
}

#[test]
fn a_key_has_neither_its_users_home_nor_what_its_user_created() {
    let server = Server::start();
    let (admin, reporter) = (server.user("admin"), server.user("reporter"));
    admin.call("folder-post", &[]).json(&json!({ "path": "/Wire" })).ok();
    let own = reporter.story("/Wire", "theirs.xml");
    let private = reporter.story("/Users/reporter", "private.xml");
    let grants = json!([{ "privilege": "read", "folder": "/Wire" }, { "privilege": "create", "folder": "/Wire" }]);
    let key = machine(&server, "wire", grants);
    key.story("/Wire", "mine.xml");
    key.call("object-get", &[&private]).fails(404, "ObjectNotFound");
    key.call("folder-home-get", &[]).fails(404, "ObjectNotFound");
    key.call("object-discard", &[&own]).fails(403, "PermissionDenied");
    reporter.call("object-discard", &[&own]).ok();
}

cases! {
    "stet-key-list-get": |_| Made::default();
    "stet-key-create-post": |corner| {
        Made::default().json(json!({ "name": corner.name(), "user": "editor", "privileges": [{ "privilege": "read" }] }))
    };
    "stet-key-delete": |corner| {
        let name = corner.name();
        let body = json!({ "name": name, "user": "editor", "privileges": [{ "privilege": "read" }] });
        corner.client.call("stet-key-create-post", &[]).json(&body).ok();
        Made::on([word(name)])
    };
}
