//! Bodies that are not as they must be: refused with the place of the fault, and nothing changed.

use super::*;

/// The calls that take a list, with this as their body.
fn lists<'d>(desk: &'d Desk, body: &Value) -> [Call<'d>; 2] {
    [desk.add_all(body.clone()), desk.remove_all(body.clone())]
}

/// Returns the call that creates a drawer beside the desk's.
fn make<'d>(desk: &'d Desk, body: Value) -> Call<'d> {
    desk.client.call("drawer-post", &[]).json(&body)
}

/// Asserts that a call is refused because of what stands at a place of its body.
#[track_caller]
fn is_wrong_at(desk: &Desk, call: Call<'_>, place: &str) {
    says(&desk.refuses(call, 400, "InvalidBody"), &[&format!("`{place}`")]);
}

#[test]
fn what_is_no_utf_8_is_refused() {
    let desk = Desk::new(5, 2, 1);
    for id in ["drawer-items-post", "drawer-items-delete"] {
        let call = desk.call(id, &[]).bytes("application/json", *b"{\"sources\":[\"\xff\"]}");
        desk.refuses(call, 400, "InvalidBody");
    }
}

#[test]
fn a_wrong_type_is_named_by_its_place() {
    let desk = Desk::new(5, 2, 1);
    let [first, second] = [&desk.stories[0], &desk.stories[1]];
    for (body, place) in [
        (json!({ "sources": first }), "$.sources"),
        (json!({ "sources": [second, 1.5] }), "$.sources[1]"),
        (json!({ "sources": [second, null] }), "$.sources[1]"),
        (json!({ "sources": [second, { "id": first }] }), "$.sources[1]"),
        (json!({ "sources": null }), "$.sources"),
        (json!({ "source": [first] }), "$"),
        (json!({}), "$"),
        (json!(7), "$"),
        (json!(first), "$"),
        (json!([second, true]), "$[1]"),
    ] {
        lists(&desk, &body).into_iter().for_each(|call| is_wrong_at(&desk, call, place));
    }
    for (body, place) in [
        (json!({ "title": 7 }), "$.title"),
        (json!({ "title": "never", "capacity": "many" }), "$.capacity"),
        (json!({ "capacity": 1.5 }), "$.capacity"),
        (json!({ "capacity": true }), "$.capacity"),
        (json!({ "name": ["x"] }), "$.name"),
        (json!({ "description": {} }), "$.description"),
    ] {
        [desk.update(body.clone()), make(&desk, body)].into_iter().for_each(|call| is_wrong_at(&desk, call, place));
    }
    is_wrong_at(&desk, make(&desk, json!({ "sources": ["x", 5.5] })), "$.sources[1]");
    for body in [json!([]), json!("x"), json!(7)] {
        desk.refuses(desk.update(body), 400, "InvalidBody");
    }
}

#[test]
fn a_display_option_that_is_none_refuses_the_change_too() {
    let desk = Desk::new(5, 2, 1);
    let wrong = json!({ "showPath": "maybe" });
    for call in [
        desk.add_all(json!({ "sources": [desk.stories[1]], "options": wrong })),
        desk.remove_all(json!({ "sources": [desk.stories[0]], "options": wrong })),
        desk.add(1).json(&json!({ "options": wrong })),
        desk.add(1).json(&wrong),
        desk.update(json!({ "title": "never", "options": wrong })),
        make(&desk, json!({ "name": "never", "folderPath": desk.folder, "options": wrong })),
    ] {
        desk.refuses(call, 400, "InvalidParameter");
    }
    head(&desk.client, &format!("{}/never", desk.folder)).fails(404, "ObjectNotFound");
}

#[test]
fn a_list_that_is_too_long_is_refused() {
    let desk = Desk::new(5, 2, 1);
    let many: Vec<&str> = std::iter::repeat_n(desk.stories[1].as_str(), 10_001).collect();
    for call in [json!({ "sources": many }), json!(many)].iter().flat_map(|body| lists(&desk, body)) {
        says(&desk.refuses(call, 413, "TooLarge"), &["10000"]);
    }
    let body = json!({ "sources": many, "name": "never", "folderPath": desk.folder });
    make(&desk, body).fails(413, "TooLarge");
    // A list of the largest permitted length, with one object throughout.
    desk.add_all(json!({ "sources": many[1..] })).ok();
    assert_eq!(desk.order(), [0, 1]);
}

#[test]
fn invalid_sources_are_reported_in_words_of_the_interface() {
    let desk = Desk::new(5, 0, 0);
    let error = desk.add_all(json!({ "sources": ["1$1.0.1", { "a": 1 }] })).fails(400, "InvalidBody");
    assert_eq!(error["details"]["path"], "$.sources[1]");
    says(&error, &["a source must be a text"]);
    assert!(!error.to_string().contains("enum"), "{error}");
}
