//! `/v3/audit`

use serde_json::{Value, json};

use super::endpoints::cases::{Made, cases};
use crate::harness::*;

fn audit(client: &Client) -> Call<'_> {
    client.call("stet-audit-get", &[])
}

fn items(page: &Value) -> &[Value] {
    page["items"].as_array().expect("a page has items")
}

fn texts<'r>(page: &'r Value, field: &str) -> Vec<&'r str> {
    items(page).iter().map(|item| item[field].as_str().expect("the field is text")).collect()
}

#[test]
fn an_objects_audit_trail_is_newest_first_and_outlives_it() {
    let server = Server::shared();
    let (editor, admin) = (server.user("editor"), server.user("admin"));
    let story = editor.story(&own_folder(), "a.xml");
    editor.call("object-discard", &[&story]).ok();
    admin.call("object-destroy", &[&story]).ok();
    let page = audit(&admin).query("object", &story).ok();
    let mut actions = texts(&page, "action");
    actions.dedup();
    assert_eq!(actions, ["object.destroy", "object.discard", "object.create"]);
    let last = items(&page).len() - 1;
    for (item, user) in [(&page["items"][0], "admin"), (&page["items"][last], "editor")] {
        includes(item, &json!({ "user": user, "address": "127.0.0.1" }));
        assert!(item["session"].as_str().is_some_and(|session| !session.is_empty()), "{item}");
        assert!(item["objects"].as_array().is_some_and(|objects| objects.contains(&json!(story))), "{item}");
        assert!(item["at"].as_u64().is_some_and(|at| at > 1_600_000_000_000), "{item}");
    }
    assert!(!page.to_string().contains(editor.token()), "a token is nobody's business");
}

#[test]
fn pages_follow_each_other_and_filters_narrow_them() {
    let server = Server::shared();
    let (client, reporter) = (server.user("admin"), server.user("reporter"));
    let top = own_folder();
    let drawer = reporter.drawer(&top, "d", 9);
    for name in ["a.xml", "b.xml", "c.xml"] {
        reporter.call("drawer-item-post", &[&drawer, &reporter.story(&top, name)]).ok();
    }
    let of_drawer = || audit(&client).query("object", &drawer);
    let all = of_drawer().ok();
    assert_eq!(texts(&all, "action")[..3], ["drawer.item.add"; 3]);
    let (mut pages, mut call) = (Vec::new(), of_drawer().query("limit", 1));
    loop {
        let page = call.ok();
        pages.extend_from_slice(items(&page));
        assert!(items(&page).len() <= 1, "{page}");
        match page["next"].as_str() {
            Some(next) => call = of_drawer().query("limit", 1).query("after", next),
            None => break,
        }
    }
    assert_eq!(pages, items(&all));
    assert_eq!(audit(&client).query("object", format!("{top}/d")).ok()["items"], all["items"]);
    let users = audit(&client).query("user", "reporter").query("limit", 1000).ok();
    assert!(texts(&users, "user").iter().all(|user| *user == "reporter") && items(&users).len() >= 7, "{users}");
    let at = all["items"][0]["at"].as_u64().expect("it has a time");
    of_drawer().query("from", at + 1).gives(&json!({ "items": [] }));
    assert_eq!(of_drawer().query("from", at).query("to", at + 1).ok()["items"][0], all["items"][0]);
    let before = of_drawer().query("to", at).ok();
    assert!(items(&before).iter().all(|item| item["at"].as_u64() < Some(at)), "{before}");
}

#[test]
fn a_parameter_that_cannot_be_is_refused_by_name_and_value() {
    let client = Server::shared().user("admin");
    for (name, value) in [
        ("limit", "0"),
        ("limit", "1001"),
        ("offset", "1"),
        ("sortBy", "at"),
        ("from", "-1"),
        ("to", "noon"),
        ("after", "x"),
        ("object", "a.xml"),
    ] {
        let refused = audit(&client).query(name, value).fails(400, "InvalidParameter");
        says(&refused, &format!("`{name}`"));
        says(&refused, value);
    }
    audit(&client).query("object", "/nowhere/at/all").fails(404, "ObjectNotFound");
}

#[test]
fn the_audit_trail_names_who_changed_users_groups_keys_and_configuration() {
    let server = Server::start();
    let admin = server.user("admin");
    let page = |limit: usize| audit(&admin).query("limit", limit).ok();
    let told = |page: &Value| -> Vec<String> {
        let line = |item: &Value| format!("{} {}", item["action"].as_str().unwrap_or_default(), item["objects"]);
        items(page).iter().map(line).collect()
    };
    let user = json!({ "name": "ada", "groups": ["readers"], "password": "correct horse" });
    admin.call("stet-user-create-post", &[]).json(&user).ok();
    admin.call("stet-user-update-put", &[&"ada"]).json(&json!({ "fullName": "Ada" })).ok();
    admin.call("stet-user-update-put", &[&"ada"]).json(&json!({ "fullName": "Ada" })).ok();
    admin.call("group-create-post", &[]).json(&json!({ "name": "desk", "members": ["ada"] })).ok();
    admin.call("group-delete", &[]).query("groupName", "desk").ok();
    let key = json!({ "name": "k", "user": "ada", "privileges": [{ "privilege": "read" }] });
    admin.call("stet-key-create-post", &[]).json(&key).ok();
    admin.call("stet-key-delete", &[&"k"]).ok();
    let newest_first = [
        r#"key.revoke ["k"]"#,
        r#"key.create ["k"]"#,
        r#"group.leave ["desk","ada"]"#,
        r#"group.delete ["desk"]"#,
        r#"group.join ["desk","ada"]"#,
        r#"group.create ["desk"]"#,
        r#"user.change ["ada"]"#,
        r#"group.join ["readers","ada"]"#,
        r#"user.create ["ada"]"#,
    ];
    let found = page(newest_first.len());
    assert_eq!(told(&found), newest_first);
    for item in items(&found) {
        includes(item, &json!({ "user": "admin", "container": null, "revision": null, "address": "127.0.0.1" }));
    }
    // Configurations that come into force are logged, but not saved files, nor a refresh without a
    // change.
    let file = "/SysConfig/Workflows/workflows.xml";
    let text = admin.call("stet-object-content-get", &[&file]).send().body;
    let text = String::from_utf8(text).expect("it is text").replace("rgb(190,190,190)", "rgb(1,2,3)");
    admin.call("stet-object-content-put", &[&file]).bytes("text/xml", text).ok();
    let refresh = || admin.call("cache-workflows-refresh-db-get", &[&1]).ok();
    refresh();
    let once = page(2);
    assert_eq!(told(&once)[0], r#"configuration.refresh ["workflows/1"]"#);
    includes(&once["items"][0], &json!({ "user": "admin", "container": null }));
    assert_eq!(once["items"][1]["action"], "object.content.write");
    refresh();
    assert_eq!(page(2), once);
    // A change of one's own password is logged as well, and the trail survives a restart.
    let token = server.log_in("ada", "correct horse").ok()["token"]["value"].clone();
    let ada = server.client_with(&token);
    ada.call("stet-user-password-post", &[]).json(&json!({ "old": "correct horse", "new": "battery staple" })).ok();
    let server = server.restart();
    let admin = server.user("admin");
    let last = audit(&admin).query("limit", 1).ok()["items"][0].clone();
    includes(&last, &json!({ "user": "ada", "action": "user.password", "objects": ["ada"] }));
    assert!(!audit(&admin).query("limit", 1000).ok().to_string().contains("battery"));
}

cases! {
    "stet-audit-get": |_| Made::default();
}
