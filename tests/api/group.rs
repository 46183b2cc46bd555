//! `/v3/group`, `/conf/group/list`

use serde_json::{Value, json};

use crate::harness::*;

fn create(client: &Client, body: Value) -> Answer {
    client.post("/v3/group/create", &body)
}

fn update(client: &Client, body: Value) -> Answer {
    client.post("/v3/group/update", &body)
}

#[test]
fn a_group_is_made_changed_listed_and_removed() {
    let server = Server::start();
    let admin = server.login("admin");
    let body = json!({ "groupName": "city desk", "description": "The city", "members": ["reader", "contributor"],
        "privileges": [{ "privilege": "read" }, { "privilege": "write", "folder": "/News/City" }] });
    let group = json!({ "groupName": "city desk", "description": "The city", "members": ["contributor", "reader"],
        "privileges": [{ "privilege": "read", "folder": null }, { "privilege": "write", "folder": "/News/City" }] });
    assert_eq!(create(&admin, body).ok(), group);
    // What is not named stays.
    let changed = update(&admin, json!({ "name": "city desk", "members": ["reader"] })).ok();
    assert_eq!((&changed["description"], &changed["members"]), (&json!("The city"), &json!(["reader"])));
    assert_eq!(changed["privileges"], group["privileges"]);
    let list = server.login("reader").get("/conf/group/list").json();
    let list = list.as_array().expect("the older surface answers a bare list").clone();
    assert!(list.contains(&json!("city desk")) && list.contains(&json!("readers")), "{list:?}");
    let server = server.restart();
    let admin = server.login("admin");
    assert_eq!(update(&admin, json!({ "groupName": "city desk" })).ok(), changed);
    let gone = admin.delete("/v3/group/delete?groupName=city%20desk").ok();
    assert_eq!(gone, json!({ "groupName": "city desk" }));
    let error = update(&admin, json!({ "groupName": "city desk" })).fails(404, "ObjectNotFound");
    assert!(error["message"].as_str().is_some_and(|message| message.contains("city desk")));
    // A new one of that name has none of the old one's members.
    let again = create(&admin, json!({ "groupName": "city desk" })).ok();
    assert_eq!(again["members"], json!([]));
}

#[test]
fn what_is_wrong_with_a_group_is_told_and_changes_nothing() {
    let server = Server::start();
    let admin = server.login("admin");
    let privileges = |folder: &str| json!([{ "privilege": "write", "folder": folder }]);
    create(&admin, json!({ "groupName": "desk" })).ok();
    let before = update(&admin, json!({ "groupName": "desk" })).ok();
    create(&admin, json!({})).fails(400, "InvalidName");
    create(&admin, json!({ "groupName": "a/b" })).fails(400, "InvalidName");
    create(&admin, json!({ "groupName": "desk" })).fails(409, "DuplicatedName");
    let wrong = json!([{ "privilege": "fly" }]);
    create(&admin, json!({ "groupName": "new", "privileges": wrong })).fails(400, "InvalidBody");
    for (field, body) in [
        ("nobody", json!({ "groupName": "desk", "description": "x", "members": ["reader", "nobody"] })),
        ("/nowhere", json!({ "groupName": "desk", "description": "x", "privileges": privileges("/nowhere") })),
    ] {
        let error = update(&admin, body).fails(404, "ObjectNotFound");
        assert!(error["message"].as_str().is_some_and(|message| message.contains(field)), "{error}");
    }
    let story = privileges("/News/City/harbour-ferry.xml");
    update(&admin, json!({ "groupName": "desk", "privileges": story })).fails(400, "InvalidType");
    assert_eq!(update(&admin, json!({ "groupName": "desk" })).ok(), before);
    admin.delete("/v3/group/delete").fails(400, "InvalidParameter");
    admin.delete("/v3/group/delete?groupName=nobody").fails(404, "ObjectNotFound");
    create(&server.login("editor"), json!({ "groupName": "mine" })).fails(403, "PermissionDenied");
}
