//! `/v3/audit`

use serde_json::{Value, json};

use crate::harness::*;

fn audit(client: &Client, query: &str) -> Value {
    client.get(&format!("/v3/audit?{query}")).ok()
}

fn texts<'r>(page: &'r Value, field: &str) -> Vec<&'r str> {
    let items = page["items"].as_array().expect("a page has items").iter();
    items.map(|item| item[field].as_str().expect("the field is text")).collect()
}

#[test]
fn what_became_of_an_object_is_told_newest_first_and_also_when_it_is_gone() {
    let server = Server::shared();
    let (editor, admin) = (server.login("editor"), server.login("admin"));
    let story = editor.story(&own_folder(), "a.xml");
    editor.delete(&format!("/v3/object/{}/discard", encoded(&story))).ok();
    admin.delete(&format!("/v3/object/{}/destroy", encoded(&story))).ok();
    let page = audit(&admin, &format!("object={}", encoded(&story)));
    let mut actions = texts(&page, "action");
    actions.dedup();
    assert_eq!(actions, ["object.destroy", "object.discard", "object.create"]);
    for (item, user) in [(&page["items"][0], "admin"), (page["items"].as_array().unwrap().last().unwrap(), "editor")] {
        assert_eq!(item["user"], user);
        assert_eq!(item["address"], "127.0.0.1");
        assert!(item["session"].as_str().is_some_and(|session| !session.is_empty()), "{item}");
        assert!(item["objects"].as_array().is_some_and(|objects| objects.contains(&json!(story))), "{item}");
        assert!(item["at"].as_u64().is_some_and(|at| at > 1_600_000_000_000), "{item}");
    }
    let token = editor.token.as_ref().expect("it is logged in");
    assert!(!page.to_string().contains(token), "a token is nobody's business");
}

#[test]
fn pages_follow_each_other_and_filters_narrow_them() {
    let server = Server::with(&[]);
    let (client, reporter) = (server.login("admin"), server.login("reporter"));
    let top = own_folder();
    let drawer = reporter.drawer(&top, "d", 9);
    let path = format!("/v3/container/drawer/{}/item", encoded(&drawer));
    for name in ["a.xml", "b.xml", "c.xml"] {
        let story = reporter.story(&top, name);
        reporter.post(&path, &json!({ "sources": [story] })).ok();
    }
    let all = audit(&client, &format!("object={}", encoded(&drawer)));
    assert_eq!(texts(&all, "action")[..3], ["drawer.item.add"; 3]);
    let (mut pages, mut after) = (Vec::new(), String::new());
    loop {
        let page = audit(&client, &format!("object={}&limit=1{after}", encoded(&drawer)));
        pages.extend(page["items"].as_array().expect("a page has items").clone());
        match page["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => break,
        }
    }
    assert_eq!(json!(pages), all["items"]);
    let by_path = audit(&client, &format!("object={}", encoded(&format!("{top}/d"))));
    assert_eq!(by_path["items"], all["items"]);
    let users = audit(&client, "user=reporter&limit=1000");
    assert!(texts(&users, "user").iter().all(|user| *user == "reporter"));
    assert!(users["items"].as_array().expect("a page has items").len() >= 7);
    let at = all["items"][0]["at"].as_u64().expect("it has a time");
    let object = format!("object={}", encoded(&drawer));
    assert_eq!(audit(&client, &format!("{object}&from={}", at + 1))["items"], json!([]));
    let since = audit(&client, &format!("{object}&from={at}&to={}", at + 1));
    assert_eq!(since["items"][0], all["items"][0]);
    let before = audit(&client, &format!("{object}&to={at}"));
    assert!(before["items"].as_array().unwrap().iter().all(|item| item["at"].as_u64() < Some(at)));
}

#[test]
fn it_needs_the_privilege_configure_and_refuses_what_cannot_be() {
    let server = Server::shared();
    server.login("reporter").get("/v3/audit").fails(403, "PermissionDenied");
    server.client().get("/v3/audit").fails(401, "InvalidToken");
    let client = server.login("admin");
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
        let refused = client.get(&format!("/v3/audit?{name}={value}")).fails_on(name, 400, "InvalidParameter");
        let message = refused["message"].as_str().expect("it has a message");
        assert!(message.contains(&format!("`{name}`")) && message.contains(value), "{message}");
    }
    client.get(&format!("/v3/audit?object={}", encoded("/nowhere/at/all"))).fails(404, "ObjectNotFound");
}
