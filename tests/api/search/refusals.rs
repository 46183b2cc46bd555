//! Criteria that are refused, and queries that are hostile.

use super::*;

#[test]
fn wrong_criteria_are_named() {
    let client = Server::shared().user("editor");
    let refused = |criteria: Value, status: u16, code: &str, part: &str| {
        let error = client.call("stet-search-post", &[]).json(&criteria).fails(status, code);
        says(&error, part);
    };
    refused(json!({ "kinds": ["storys"] }), 400, "InvalidParameter", "`kinds` must be one of object, post, message");
    refused(json!({ "families": ["drawers"] }), 400, "InvalidParameter", "`families`");
    refused(json!({ "facets": ["path"] }), 400, "InvalidParameter", "`facets`");
    refused(json!({ "sort": "size" }), 400, "InvalidParameter", "`sort`");
    refused(json!({ "sort": "name:up" }), 400, "InvalidParameter", "`sort`");
    refused(json!({ "limit": 101 }), 400, "InvalidParameter", "`limit` must be between 0 and 100");
    refused(json!({ "offset": -1 }), 400, "InvalidParameter", "`offset`");
    refused(json!({ "waitFor": "then" }), 400, "InvalidParameter", "`waitFor`");
    refused(json!({ "folder": "/Nowhere" }), 404, "ObjectNotFound", "/Nowhere");
    refused(json!({ "folder": "/Drawers/city-desk" }), 400, "InvalidType", "no folder");
    refused(json!({ "query": "modified:yesterday" }), 400, "InvalidParameter", "yesterday");
    refused(json!({ "query": "x ".repeat(600) }), 413, "TooLarge", "`query` has 1200 bytes");
    refused(json!({ "types": vec!["x"; 201] }), 413, "TooLarge", "201 values");
    client.call("stet-search-get", &[]).query("limit", -1).fails(400, "InvalidParameter");
    client.call("stet-search-suggest-get", &[]).query("query", "a").query("limit", 51).fails(400, "InvalidParameter");
    let without = Server::shared().client();
    without.call("stet-search-get", &[]).fails(401, "InvalidToken");
}

#[test]
fn hostile_queries_are_answered() {
    let client = Server::shared().user("editor");
    let queries = [
        "\"",
        "\"\"",
        "-",
        "--a",
        "*",
        "**",
        "a**",
        ":",
        "::",
        "title:",
        ":a",
        "OR",
        "OR OR",
        "a OR",
        "OR a",
        "- -",
        "-\"a",
        "(((((",
        "a AND b",
        "\u{0}\u{1}\u{7f}",
        "\u{202e}abc",
        "\u{ad}\u{ad}",
        "🦆 🦆",
        "a\u{301}\u{301}\u{301}\u{301}",
        "title:title:title:a",
        "modified:..",
        "field:\"\" x",
        "\\",
        "\\\"",
        "+a",
        "[a TO b]",
        "{a}",
        "a~2",
        "a^3",
        "/.*/",
        "<script>",
        "ﷺ",
        "日本語",
    ];
    for query in queries {
        let found = client.call("stet-search-post", &[]).json(&json!({ "query": query, "asYouType": true })).send();
        assert!(matches!(found.status, 200 | 400), "{query}: {}", found.status);
        let words = client.call("stet-search-suggest-get", &[]).query("query", encoded(query)).send();
        assert!(matches!(words.status, 200 | 400), "{query}: {}", words.status);
    }
    let many = (0..33).map(|number| format!("w{number}")).collect::<Vec<_>>().join(" ");
    let error = client.call("stet-search-post", &[]).json(&json!({ "query": many })).fails(400, "InvalidParameter");
    says(&error, "32");
    let long = format!("\"{}\"", "a ".repeat(400));
    let found = client.call("stet-search-post", &[]).json(&json!({ "query": long })).send();
    assert!(matches!(found.status, 200 | 400), "{}", found.status);
}

#[test]
fn hostile_texts_are_indexed_within_bounds() {
    let server = Server::start();
    let client = server.user("admin");
    let folder = own_folder();
    let upload = |name: &str, content: &[u8]| {
        let options = json!({ "name": name, "type": "Story", "folderPath": folder });
        client.upload("/v3/object/create", &options, Some((name, "text/plain", content))).ok();
    };
    upload("one-word.txt", &vec![b'x'; 10 << 20]);
    let words: String = (0..200_000).map(|number| format!("w{number:x} ")).collect();
    upload("many-words.txt", words.as_bytes());
    upload("controls.txt", &(0..=255).cycle().take(100_000).collect::<Vec<u8>>());
    upload("marks.txt", format!("a{} pademelon", "\u{301}".repeat(50_000)).as_bytes());
    let found = || search(&client, &json!({ "query": "pademelon", "folder": folder }))["total"] == 1;
    wait_patiently_until("the last one is found", found);
    assert_eq!(search(&client, &json!({ "folder": folder, "types": ["Story"] }))["total"], 4);
}

#[test]
fn a_server_without_search_says_so() {
    let server = Server::with(&[("SEARCH__ENABLED", "false")]);
    let error = server.user("editor").call("stet-search-get", &[]).fails(404, "NoSuchEndpoint");
    says(&error, "search.enabled");
}
