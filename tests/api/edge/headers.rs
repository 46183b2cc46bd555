//! Security headers for browsers.

use super::*;

const NO_PAGE: Option<&str> = Some("default-src 'none'; sandbox");

#[test]
fn a_login_is_kept_by_nobody() {
    let server = Server::shared();
    let first = server.log_in("editor", SAMPLE_PASSWORD);
    let token = first.ok()["token"]["value"].clone();
    let copy = server.client().call("auth-copy-post", &[]).json(&json!({ "token": token })).send();
    for answer in [first, copy, older_log_in(server, SAMPLE_PASSWORD)] {
        assert_eq!((answer.status, answer.header("cache-control")), (200, Some("no-store")), "{answer:?}");
    }
}

#[test]
fn a_content_with_a_type_of_its_own_can_do_nothing_as_a_page() {
    let client = Server::shared().user("editor");
    let options = json!({ "name": "page.html", "type": "Story", "folderPath": own_folder() });
    let page: &[File<'_>] = &[("content", "page.html", "text/html", b"<script>alert(1)</script>")];
    let made = client.call("stet-object-create-post", &[]).form(&options, page).ok();
    let read = client.call("stet-object-content-get", &[&made["id"].as_str().expect("an object has an id")]);
    let answer = read.send();
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("text/html")));
    assert_eq!(answer.header("content-security-policy"), NO_PAGE);
    assert_eq!(answer.header("referrer-policy"), Some("no-referrer"));
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    // One that the client has already says none of it again.
    let tag = answer.header("etag").expect("a content has an ETag").to_owned();
    let again = read.header("if-none-match", tag).send();
    assert_eq!(again.status, 304);
    for name in ["content-security-policy", "referrer-policy", "x-content-type-options"] {
        assert_eq!(again.header(name), None, "{name}");
    }
}

#[test]
fn json_and_failures_are_no_pages() {
    let client = Server::shared().user("editor");
    for path in ["/v3/folder/home", "/v3/object/1$1.0.999999999/content", "/healthz"] {
        let answer = client.get(path);
        assert_eq!(answer.header("content-security-policy"), None, "{path}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
    }
}
