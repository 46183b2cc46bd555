//! `/v3/group`, `/conf/group/list`

use serde_json::{Value, json};

use super::endpoints::cases::{Made, cases, word};
use crate::harness::*;

#[test]
fn a_group_is_made_changed_listed_and_removed() {
    let server = Server::start();
    let admin = server.user("admin");
    let update = |admin: &Client, body: Value| admin.call("group-update-post", &[]).json(&body).send();
    let body = json!({ "groupName": "city desk", "description": "The city", "members": ["reader", "contributor"],
        "privileges": [{ "privilege": "read" }, { "privilege": "write", "folder": "/News/City" }] });
    let group = json!({ "groupName": "city desk", "description": "The city", "members": ["contributor", "reader"],
        "privileges": [{ "privilege": "read", "folder": null }, { "privilege": "write", "folder": "/News/City" }] });
    assert_eq!(admin.call("group-create-post", &[]).json(&body).ok(), group);
    // Fields that are not named stay.
    let changed = update(&admin, json!({ "name": "city desk", "members": ["reader"] })).ok();
    assert_eq!(changed, with(group, json!({ "members": ["reader"] })));
    let list = server.user("reader").call("old-group-list-get", &[]).send().json();
    let list = list.as_array().expect("the older surface answers a bare list").clone();
    assert!(list.contains(&json!("city desk")) && list.contains(&json!("readers")), "{list:?}");
    let server = server.restart();
    let admin = server.user("admin");
    assert_eq!(update(&admin, json!({ "groupName": "city desk" })).ok(), changed);
    let gone = admin.call("group-delete", &[]).query("groupName", "city desk").ok();
    assert_eq!(gone, json!({ "groupName": "city desk" }));
    says(&update(&admin, json!({ "groupName": "city desk" })).fails(404, "ObjectNotFound"), "city desk");
    // A new one of that name has none of the old one's members.
    admin.call("group-create-post", &[]).json(&json!({ "groupName": "city desk" })).gives(&json!({ "members": [] }));
}

#[test]
fn invalid_group_changes_are_reported_and_change_nothing() {
    let server = Server::start();
    let admin = server.user("admin");
    let send = |id: &str, body: &Value| admin.call(id, &[]).json(body).send();
    let before = send("group-create-post", &json!({ "groupName": "desk" })).ok();
    let of_new = |privilege: &str| json!({ "groupName": "new", "privileges": [{ "privilege": privilege }] });
    let below = |folder: &str| json!({ "privileges": [{ "privilege": "write", "folder": folder }] });
    let desk = |more: Value| with(json!({ "groupName": "desk", "description": "x" }), more);
    let story = "/News/City/harbour-ferry.xml";
    let many = json!({ "privileges": vec![json!({ "privilege": "read" }); 1001] });
    for (id, body, status, code, part) in [
        ("group-create-post", json!({}), 400, "InvalidName", ""),
        ("group-create-post", json!({ "groupName": "a/b" }), 400, "InvalidName", ""),
        ("group-create-post", json!({ "groupName": "desk" }), 409, "DuplicatedName", ""),
        ("group-create-post", of_new("fly"), 400, "InvalidBody", ""),
        ("group-update-post", desk(json!({ "members": ["reader", "nobody"] })), 404, "ObjectNotFound", "nobody"),
        ("group-update-post", desk(below("/nowhere")), 404, "ObjectNotFound", "/nowhere"),
        ("group-update-post", desk(below(story)), 400, "InvalidType", ""),
        ("group-update-post", desk(many), 413, "TooLarge", "1001"),
    ] {
        says(&send(id, &body).fails_on(&body.to_string(), status, code), part);
    }
    assert_eq!(send("group-update-post", &json!({ "groupName": "desk" })).ok(), before);
    send("group-update-post", &json!({ "groupName": "new" })).fails(404, "ObjectNotFound");
    admin.call("group-delete", &[]).fails(400, "InvalidParameter");
    admin.call("group-delete", &[]).query("groupName", "nobody").fails(404, "ObjectNotFound");
}

#[test]
fn the_last_administrator_can_be_neither_removed_nor_disabled() {
    let server = Server::start();
    let admin = server.user("admin");
    let update = |body: Value| admin.call("group-update-post", &[]).json(&body).send();
    let change = |user: &str, body: Value| admin.call("stet-user-update-put", &[&user]).json(&body).send();
    let refused = |answer: Answer| {
        let error = answer.fails(403, "PermissionDenied");
        assert_eq!(error["details"]["reason"], "lastAdministrator", "{error}");
    };
    let before = update(json!({ "groupName": "administrators" })).ok();
    refused(admin.call("group-delete", &[]).query("groupName", "administrators").send());
    refused(update(json!({ "groupName": "administrators", "members": ["editor"], "privileges": [] })));
    refused(update(json!({ "groupName": "administrators", "members": [] })));
    let below =
        json!([{ "privilege": "manageGroups", "folder": "/News" }, { "privilege": "manageGroups", "folder": "/" }]);
    refused(update(json!({ "groupName": "administrators", "privileges": below })));
    refused(change("admin", json!({ "disabled": true })));
    refused(change("admin", json!({ "groups": ["editors"], "fullName": "Nobody" })));
    assert_eq!(update(json!({ "groupName": "administrators" })).ok(), before);
    assert_ne!(admin.call("stet-user-get", &[&"admin"]).ok()["fullName"], "Nobody");
    // Who is disabled is none, and of two that are one may go.
    change("reader", json!({ "groups": ["administrators"], "disabled": true })).ok();
    refused(change("admin", json!({ "disabled": true })));
    change("reader", json!({ "disabled": false })).ok();
    change("admin", json!({ "groups": ["editors"] })).ok();
    admin.call("stet-user-get", &[&"admin"]).fails(403, "PermissionDenied");
}

/// Guards against a state in which no administrator could log in.
#[test]
fn users_without_a_login_are_no_administrators_without_single_sign_on() {
    let group = |server: &Server| {
        let admin = server.user("admin");
        admin
            .call("stet-user-create-post", &[])
            .json(&json!({ "name": "mute", "groups": ["administrators", "readers", "administrators"] }))
            .ok();
        assert_eq!(
            admin.call("stet-user-get", &[&"mute"]).ok()["groups"],
            json!(["administrators", "readers"]),
            "each once"
        );
        admin.call("stet-user-update-put", &[&"admin"]).json(&json!({ "groups": [] })).send()
    };
    group(&Server::start()).fails(403, "PermissionDenied");
    let sso = [("AUTH__CAS__SERVER_URL", "http://127.0.0.1:1"), ("AUTH__CAS__SERVICE_URL", "http://127.0.0.1:2")];
    group(&Server::with(&sso)).ok();
}

#[test]
fn the_cache_of_groups_tells_of_folders_only_to_who_sees_all() {
    let server = Server::start();
    let admin = server.user("admin");
    let make = |name: &str, privileges: Value| {
        let body = json!({ "groupName": name, "privileges": privileges });
        admin.call("group-create-post", &[]).json(&body).ok();
    };
    make("desk", json!([{ "privilege": "read", "folder": "/News" }]));
    make("secret", json!([{ "privilege": "write", "folder": "/Pictures" }, { "privilege": "moderate" }]));
    admin.call("stet-user-update-put", &[&"reader"]).json(&json!({ "groups": ["desk"] })).ok();
    let seen = |client: &Client| {
        let items = client.call("cache-groups-db-get", &[&1]).ok()["items"].clone();
        let secret = items.as_array().expect("a list").iter().find(|group| group["groupName"] == "secret").cloned();
        secret.expect("it is there")["privileges"].clone()
    };
    assert_eq!(seen(&admin).as_array().map(Vec::len), Some(2));
    assert_eq!(seen(&server.login("reader")), json!([{ "privilege": "moderate", "folder": null }]));
}

#[test]
fn one_of_two_administrators_removed_at_once_stays() {
    let server = Server::start();
    let admin = server.user("admin");
    let put = |client: &Client, user: &str, groups: &[&str]| {
        client.call("stet-user-update-put", &[&user]).json(&json!({ "groups": groups })).send()
    };
    // A key may do the same, but it does not count as an administrator who can log in.
    let key = json!({ "name": "k", "user": "reporter", "privileges": [{ "privilege": "manageGroups" }] });
    let keeper = server.client_with(&admin.call("stet-key-create-post", &[]).json(&key).ok()["token"]);
    for _ in 0..8 {
        for (user, groups) in [("editor", &["administrators"][..]), ("reader", &["administrators"]), ("admin", &[])] {
            put(&keeper, user, groups).ok();
        }
        let mut statuses = std::thread::scope(|scope| {
            ["editor", "reader"]
                .map(|user| scope.spawn(|| put(&keeper, user, &[]).status))
                .map(|it| it.join().expect("it ends"))
        });
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 403]);
    }
}

cases! {
    "group-create-post": |corner| Made::default().json(json!({ "groupName": corner.name() }));
    "group-update-post": |corner| Made::default().json(json!({ "groupName": corner.group(), "description": "new" }));
    "group-delete": |corner| Made::default().query("groupName", word(corner.group()));
}
