//! Homes: who may make which.

use serde_json::{Value, json};

use super::*;

#[test]
fn a_home_that_is_missing_is_made_for_whoever_may_create_anywhere() {
    let (server, admin, _) = desk();
    let user = json!({ "name": "newcomer", "password": "a good one", "groups": ["desk"] });
    admin.call("stet-user-create-post", &[]).json(&user).ok();
    let newcomer = server.client_with(&server.log_in("newcomer", "a good one").ok()["token"]["value"]);
    let home = newcomer.call("folder-home-get", &[]);
    home.fails(404, "ObjectNotFound");
    newcomer.call("folder-post", &[]).json(&json!({ "path": "/Users/other" })).fails(403, "PermissionDenied");
    newcomer.call("folder-post", &[]).json(&json!({ "path": "/Users/newcomers" })).fails(403, "PermissionDenied");
    newcomer.call("drawer-automatic-post", &[]).ok();
    assert_eq!(names(&home.ok()), ["Clipboard"]);
}

#[test]
fn a_home_may_be_made_by_its_own_path_and_under_no_other_name() {
    let (server, admin, _) = desk();
    let user = json!({ "name": "newcomer", "password": "a good one", "groups": ["desk"] });
    admin.call("stet-user-create-post", &[]).json(&user).ok();
    let newcomer = server.client_with(&server.log_in("newcomer", "a good one").ok()["token"]["value"]);
    let make = |body: Value| newcomer.call("folder-post", &[]).json(&body).send();
    for name in ["other", "newcomers"] {
        make(json!({ "path": format!("/Users/{name}") })).fails(403, "PermissionDenied");
        make(json!({ "name": name, "folderPath": "/Users" })).fails(403, "PermissionDenied");
    }
    let home = make(json!({ "path": "/Users/newcomer" })).ok()["info"]["id"].clone();
    assert_eq!(newcomer.call("folder-home-get", &[]).ok()["info"]["id"], home);
    // An existing home is the answer, and no other is created.
    assert_eq!(make(json!({ "name": "newcomer", "folderPath": "/Users" })).ok()["info"]["id"], home);
    make(json!({ "path": "/Users/newcomer", "createMode": "AUTO_RENAME" })).fails(409, "DuplicatedName");
    // It gives no rights to a user who may create nowhere.
    grant(&admin, &["read"]);
    make(json!({ "path": "/Users/newcomer" })).fails(403, "PermissionDenied");
}

#[test]
fn homes_are_in_the_main_database_and_in_no_other() {
    let server = Server::with(&[("DATABASES__1__ID", "2"), ("DATABASES__1__NAME", "archive")]);
    let admin = server.user("admin");
    let privileges = json!([
        { "privilege": "read", "folder": "/News/Sport" },
        { "privilege": "create", "folder": "/News/Sport" },
    ]);
    let group = json!({ "groupName": "sport", "members": [], "privileges": privileges });
    admin.call("group-create-post", &[]).json(&group).ok();
    let user = json!({ "name": "newcomer", "password": "a good one", "groups": ["sport"] });
    admin.call("stet-user-create-post", &[]).json(&user).ok();
    let newcomer = server.client_with(&server.log_in("newcomer", "a good one").ok()["token"]["value"]);
    let there = json!({ "path": "/Users/newcomer/there", "databaseId": 2 });
    // Whether anybody has put something there makes no difference.
    for _ in 0..2 {
        for path in ["/Users/newcomer", "/Users/newcomer/there/x", "/Users/newcomer/other", "/Users/other"] {
            let refuse = |id: &str, body: Value| {
                newcomer.call(id, &[]).json(&body).fails(403, "PermissionDenied");
            };
            refuse("folder-post", json!({ "path": path, "databaseId": 2 }));
            refuse("drawer-post", json!({ "name": "x", "folderPath": path, "databaseId": 2 }));
        }
        let own = json!({ "name": "x", "databaseId": 2 });
        newcomer.call("drawer-post", &[]).json(&own).fails(403, "PermissionDenied");
        admin.call("folder-post", &[]).json(&there).ok();
    }
    newcomer.call("folder-home-get", &[]).fails(404, "ObjectNotFound");
    newcomer.call("folder-post", &[]).json(&json!({ "path": "/Users/newcomer/notes" })).ok();
    let home = newcomer.call("folder-home-get", &[]).ok();
    assert_eq!(names(&home), ["notes"]);
    newcomer.call("folder-post", &[]).json(&there).fails(403, "PermissionDenied");
}

/// Regression test: a user has in their home every privilege that they hold anywhere. With `write`
/// in one folder and `destroy` in another, they could move a story home and destroy it there.
#[test]
fn a_move_to_where_the_caller_may_do_more_needs_delete() {
    let server = Server::start();
    let admin = server.user("admin");
    let story = admin.story("/News/Sport", "kick-off");
    admin.call("folder-post", &[]).json(&json!({ "path": "/News/Sport/Archive" })).ok();
    let group = |more: &[&str]| {
        let held = ["read", "create", "write"].iter().chain(more);
        let held = held.map(|privilege| json!({ "privilege": privilege, "folder": "/News/Sport" }));
        let privileges: Vec<_> = held.chain([json!({ "privilege": "destroy", "folder": "/News/City" })]).collect();
        json!({ "groupName": "sport", "privileges": privileges })
    };
    admin.call("group-create-post", &[]).json(&group(&[])).ok();
    let user = json!({ "name": "newcomer", "password": "a good one", "groups": ["sport"] });
    admin.call("stet-user-create-post", &[]).json(&user).ok();
    let newcomer = server.client_with(&server.log_in("newcomer", "a good one").ok()["token"]["value"]);
    newcomer.call("folder-post", &[]).json(&json!({ "path": "/Users/newcomer" })).ok();
    let to = |path: &str| newcomer.post(&format!("/v3/object/{story}/move"), &json!({ "folderPath": path }));
    says(&to("/Users/newcomer").fails(403, "PermissionDenied"), "delete");
    assert_eq!(to("/News/Sport/Archive").status, 200, "there they may do nothing more");
    admin.call("group-update-post", &[]).json(&group(&["delete"])).ok();
    assert_eq!(to("/Users/newcomer").status, 200);
}
