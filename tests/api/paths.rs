//! The limits on the length and depth of paths (docs/api/README.md, "Names and paths").

use serde_json::{Value, json};

use crate::harness::*;

/// The defaults of `limits.path_depth` and `limits.path_bytes`.
const DEPTH: usize = 64;
const BYTES: usize = 16_384;

/// Returns a path of `names` names that begins with `top`.
fn deep(top: &str, names: usize) -> String {
    format!("{top}{}", "/d".repeat(names - top.matches('/').count()))
}

/// Returns calls that create something in the folder, named by its loid or by its path.
fn creations(folder: &Value, path: &str) -> Vec<(&'static str, Value)> {
    let ids = ["folder-post", "drawer-post", "liveblog-from-default-template-post"];
    let both = [json!({ "name": "x", "folder": folder }), json!({ "name": "x", "folderPath": path })];
    ids.into_iter().flat_map(|id| both.clone().map(|body| (id, body))).collect()
}

#[test]
fn a_path_has_so_many_names_and_no_more_wherever_something_is_made() {
    let client = Server::shared().user("editor");
    let top = own_folder();
    let make = |path: &str| client.call("folder-post", &[]).json(&json!({ "path": path }));
    let refusal = make(&deep(&top, DEPTH + 1)).fails(400, "InvalidPath");
    assert_eq!(refusal["details"]["limit"], DEPTH, "{refusal}");
    make(&format!("{top}{}", "/d".repeat(2_000))).fails(400, "InvalidPath");
    client.call("folder-get", &[&top]).fails(404, "ObjectNotFound");

    let path = deep(&top, DEPTH);
    let deepest = make(&path).ok()["info"].clone();
    assert_eq!(deepest["path"], path);
    for (id, body) in creations(&deepest["id"], &path) {
        let refusal = client.call(id, &[]).json(&body).fails(400, "InvalidPath");
        assert_eq!(refusal["details"]["limit"], DEPTH, "{id} {body}: {refusal}");
    }
    for place in [json!({ "folder": deepest["id"] }), json!({ "folderPath": path })] {
        let mut options = place;
        options["name"] = json!("x.xml");
        client.upload("/v3/object/create", &options, Some(("x.xml", "text/xml", b"<x/>"))).fails(400, "InvalidPath");
    }
    assert_eq!(client.call("folder-get", &[&path]).ok()["total"], 0);

    // One level up there is room, and paths are shown.
    let above = deep(&top, DEPTH - 1);
    client.story(&above, "story.xml");
    let listed = client.call("folder-get", &[&above]).query("showPath", true).ok();
    includes(&listed["items"], &json!([{ "path": path }, { "path": format!("{above}/story.xml") }]));
}

#[test]
fn a_restored_subtree_must_fit_the_depth_limit_at_its_target() {
    let client = Server::shared().user("editor");
    let top = own_folder();
    let make = |path: &str| client.call("folder-post", &[]).json(&json!({ "path": path })).ok()["info"]["id"].clone();
    let folder = make(&format!("{top}/a"));
    let folder = folder.as_str().expect("a loid");
    make(&format!("{top}/a/b/c"));
    make(&deep(&top, DEPTH - 2));
    client.call("object-discard", &[&folder]).ok();
    let restore = |to: &str| client.call("stet-object-restore-post", &[&folder]).json(&json!({ "folderPath": to }));
    restore(&deep(&top, DEPTH - 2)).fails(400, "InvalidPath");
    let there = deep(&top, DEPTH - 3);
    restore(&there).gives(&json!({ "path": format!("{there}/a") }));
    client.call("object-get", &[&format!("{there}/a/b/c")]).ok();
}

#[test]
fn a_path_that_is_too_long_is_refused_and_not_sent_back() {
    let client = Server::shared().user("editor");
    let most = format!("/{}", "x".repeat(BYTES - 1));
    for (long, code) in [
        (most.clone(), "ObjectNotFound"),
        (format!("{most}x"), "InvalidPath"),
        ("/x".repeat(10_000), "InvalidPath"),
        (format!("/{}", "x".repeat(40_000)), "InvalidPath"),
    ] {
        let list = client.call("stet-object-list-post", &[]).json(&json!({ "sources": [long] })).send();
        assert_eq!(list.ok()["errors"][0]["code"], format!("CMS.{code}"));
        assert!(list.body.len() < 4 * BYTES, "{}", list.body.len());
        if code == "ObjectNotFound" {
            continue;
        }
        let named = json!(long);
        for (id, body) in creations(&named, &long) {
            let answer = client.call(id, &[]).json(&body).send();
            answer.fails_on(id, 400, code);
            assert!(answer.body.len() < 4 * BYTES, "{id}: {}", answer.body.len());
        }
        client.call("folder-post", &[]).json(&json!({ "path": long })).fails(400, code);
    }
}

#[test]
fn error_replies_do_not_repeat_megabytes_of_input() {
    let client = Server::shared().user("editor");
    let list = client.call("stet-object-list-post", &[]).json(&json!({ "sources": ["/x".repeat(1_000_000)] })).send();
    assert_eq!(list.ok()["errors"][0]["code"], "CMS.InvalidPath");
    assert!(list.body.len() < 40_000, "{}", list.body.len());
    let blog = client.liveblog(&own_folder(), "blog");
    let long = "x".repeat(2_000_000);
    for (id, arguments, body) in [
        ("folder-post", vec![], json!({ "name": long })),
        ("folder-post", vec![], json!({ "name": "x", "databaseId": long })),
        ("folder-post", vec![], json!({ "name": "x", "createMode": long })),
        ("drawer-post", vec![], json!({ "name": "x", "sources": [long] })),
        ("liveblog-from-default-template-post", vec![], json!({ "name": "x", "type": long })),
        ("liveblog-from-default-template-post", vec![], json!({ "name": "x", "workFolder": long })),
        ("liveblog-from-default-template-post", vec![], json!({ "name": "x", "suid": long })),
        ("liveblog-from-default-template-post", vec![], json!({ "name": "x", "status": long })),
        ("liveblog-from-default-template-post", vec![], json!({ "name": "x", "issueDate": long })),
        ("liveblog-from-default-template-post", vec![], json!({ "name": "x", "attributes": long })),
        ("liveblog-search-post", vec![&blog], json!({ "sortBy": long })),
        ("liveblog-search-post", vec![&blog], json!({ "filters": { "status": [long] } })),
        ("liveblog-search-post", vec![&blog], json!({ "filters": long })),
        ("liveblog-search-post", vec![&blog], json!({ "options": { "showPath": long } })),
    ] {
        let arguments: Vec<&dyn std::fmt::Display> =
            arguments.into_iter().map(|argument| argument as &dyn std::fmt::Display).collect();
        let answer = client.call(id, &arguments).json(&body).send();
        assert!((400..500).contains(&answer.status), "{id}: {}", answer.status);
        assert!(answer.body.len() < 40_000, "{id} {}: {}", body.to_string().len(), answer.body.len());
    }
}
