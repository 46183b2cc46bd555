//! Bodies that are not as they must be: refused with the place of the fault, and nothing changed.

use super::*;

fn send(desk: &Desk, method: &str, rest: &str, body: &str) -> Answer {
    desk.client.send(method, &desk.path(rest), &[("content-type", "application/json")], body.as_bytes())
}

#[test]
fn what_is_no_json_is_refused_where_a_body_is_required() {
    let desk = Desk::new(5, 2, 1);
    for method in ["POST", "DELETE"] {
        for body in ["", " ", "{", "sources=1", "{\"sources\":[]} x", "{\"sources\":[\u{1}]}", "\u{feff}[]"] {
            desk.refuses(|| send(&desk, method, "/item", body), 400, "InvalidBody");
        }
        let broken = || desk.client.send(method, &desk.path("/item"), &[], b"{\"sources\":[\"\xff\"]}");
        desk.refuses(broken, 400, "InvalidBody");
    }
}

#[test]
fn what_is_no_json_is_refused_where_a_body_is_optional() {
    let desk = Desk::new(5, 2, 1);
    let folder = format!("{}/new", desk.folder);
    for body in ["{", "nonsense", "{} {}", "{\"name\":\"x\",}"] {
        desk.refuses(|| send(&desk, "PUT", "", body), 400, "InvalidBody");
        let rest = format!("/item/{}", encoded(&desk.stories[1]));
        desk.refuses(|| send(&desk, "POST", &rest, body), 400, "InvalidBody");
        for rest in ["/v3/container/drawer", "/v3/container/drawer/automatic"] {
            desk.client.send("POST", rest, &[], body.as_bytes()).fails(400, "InvalidBody");
        }
    }
    desk.client.get(&below(&folder, "")).fails(404, "ObjectNotFound");
}

#[test]
fn a_wrong_type_is_named_by_its_place() {
    let desk = Desk::new(5, 2, 1);
    let first = &desk.stories[0];
    for (body, path) in [
        (json!({ "sources": first }), "$.sources"),
        (json!({ "sources": [desk.stories[1], 1.5] }), "$.sources[1]"),
        (json!({ "sources": [desk.stories[1], null] }), "$.sources[1]"),
        (json!({ "sources": [desk.stories[1], { "id": first }] }), "$.sources[1]"),
        (json!({ "sources": null }), "$.sources"),
        (json!({ "source": [first] }), "$"),
        (json!({}), "$"),
        (json!(7), "$"),
        (json!(first), "$"),
        (json!([desk.stories[1], true]), "$[1]"),
    ] {
        for method in ["POST", "DELETE"] {
            let error = desk.refuses(|| send(&desk, method, "/item", &body.to_string()), 400, "InvalidBody");
            let message = error["message"].as_str().unwrap();
            assert!(message.contains(&format!("`{path}`")), "{body}: {message}");
        }
    }
    for (body, path) in [
        (json!({ "title": 7 }), "$.title"),
        (json!({ "title": "never", "capacity": "many" }), "$.capacity"),
        (json!({ "capacity": 1.5 }), "$.capacity"),
        (json!({ "capacity": true }), "$.capacity"),
        (json!({ "name": ["x"] }), "$.name"),
        (json!({ "description": {} }), "$.description"),
    ] {
        let error = desk.refuses(|| send(&desk, "PUT", "", &body.to_string()), 400, "InvalidBody");
        assert!(error["message"].as_str().is_some_and(|message| message.contains(&format!("`{path}`"))), "{error}");
        let error = desk.client.post("/v3/container/drawer", &body).fails(400, "InvalidBody");
        assert!(error["message"].as_str().is_some_and(|message| message.contains(&format!("`{path}`"))), "{error}");
    }
    for body in [json!([]), json!("x"), json!(7)] {
        desk.refuses(|| send(&desk, "PUT", "", &body.to_string()), 400, "InvalidBody");
    }
    let error = desk.client.post("/v3/container/drawer", &json!({ "sources": ["x", 5.5] })).fails(400, "InvalidBody");
    assert!(error["message"].as_str().is_some_and(|message| message.contains("`$.sources[1]`")), "{error}");
}

#[test]
fn a_display_option_that_is_none_refuses_the_change_too() {
    let desk = Desk::new(5, 2, 1);
    let wrong = json!({ "showPath": "maybe" });
    let listed = json!({ "sources": [desk.stories[1]], "options": wrong });
    desk.refuses(|| desk.client.post(&desk.path("/item"), &listed), 400, "InvalidParameter");
    let listed = json!({ "sources": [desk.stories[0]], "options": wrong });
    desk.refuses(|| desk.client.delete_with(&desk.path("/item"), &listed), 400, "InvalidParameter");
    desk.refuses(|| desk.client.post(&desk.item(1), &json!({ "options": wrong })), 400, "InvalidParameter");
    desk.refuses(|| desk.client.post(&desk.item(1), &wrong), 400, "InvalidParameter");
    let body = json!({ "title": "never", "options": wrong });
    desk.refuses(|| desk.client.put(&desk.path(""), &body), 400, "InvalidParameter");
    let body = json!({ "name": "never", "folderPath": desk.folder, "options": wrong });
    desk.client.post("/v3/container/drawer", &body).fails(400, "InvalidParameter");
    desk.client.get(&below(&format!("{}/never", desk.folder), "")).fails(404, "ObjectNotFound");
}

#[test]
fn a_list_that_is_too_long_is_refused() {
    let desk = Desk::new(5, 2, 1);
    let many: Vec<&str> = std::iter::repeat_n(desk.stories[1].as_str(), 10_001).collect();
    for body in [json!({ "sources": many }), json!(many)] {
        for method in ["POST", "DELETE"] {
            let error = desk.refuses(|| desk.client.send_json(method, &desk.path("/item"), &body), 413, "TooLarge");
            assert!(error["message"].as_str().is_some_and(|message| message.contains("10000")), "{error}");
        }
    }
    let body = json!({ "sources": many, "name": "never", "folderPath": desk.folder });
    desk.client.post("/v3/container/drawer", &body).fails(413, "TooLarge");
    // As long as it may be: all the same object.
    desk.client.post(&desk.path("/item"), &json!({ "sources": many[1..] })).ok();
    assert_eq!(desk.order(), [0, 1]);
}

#[test]
fn a_body_that_is_nested_too_deep_is_refused() {
    let desk = Desk::new(5, 1, 1);
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for (method, rest) in [("POST", "/item"), ("DELETE", "/item"), ("PUT", "")] {
        desk.refuses(|| send(&desk, method, rest, &deep), 400, "InvalidBody");
    }
}

#[test]
fn a_content_type_does_not_matter() {
    let desk = Desk::new(5, 1, 0);
    let body = json!({ "sources": desk.stories }).to_string();
    desk.client.send("POST", &desk.path("/item"), &[("content-type", "text/plain")], body.as_bytes()).ok();
    assert_eq!(desk.order(), [0]);
    desk.client.send("GET", &desk.path(""), &[("content-type", "application/json")], b"").ok();
}

#[test]
fn what_is_no_source_is_told_in_words_of_the_interface() {
    let client = editor();
    let drawer = client.drawer(&own_folder(), "front", 5);
    let body = json!({ "sources": ["1$1.0.1", { "a": 1 }] });
    let error = client.post(&below(&drawer, "/item"), &body).fails(400, "InvalidBody");
    assert_eq!(error["details"]["path"], "$.sources[1]");
    let message = error["message"].as_str().expect("a failure has a message");
    assert!(message.contains("a source must be a text"), "{message}");
    assert!(!message.contains("enum"), "{message}");
}
