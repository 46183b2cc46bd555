//! The places of a token in a request, and the rights of a cookie (docs/api/README.md, "Tokens").

use serde_json::json;

use super::*;

const COOKIE: &str = "MRS_CONNECTION_TOKEN";

/// Returns the user that a request with this query and these headers is attributed to.
fn user(server: &Server, query: &str, headers: &[(&str, &str)]) -> Option<String> {
    let answer = server.client().send("GET", &format!("/v3/auth/connection{query}"), headers, b"");
    match answer.status {
        200 => Some(answer.ok()["username"].as_str().expect("a session has a user").to_owned()),
        _ => {
            answer.fails(401, "InvalidToken");
            None
        }
    }
}

/// The token of the session of a user that tests share.
fn token_of(server: &Server, user: &str) -> String {
    server.user(user).token().to_owned()
}

/// Sends JSON without a token, except for those in the headers.
fn post(server: &Server, path: &str, headers: &[(&str, &str)], body: &Value) -> Answer {
    server.client().send("POST", path, &[&[JSON], headers].concat(), body.to_string().as_bytes())
}

#[test]
fn a_token_is_taken_from_query_header_bearer_and_cookie() {
    let server = Server::shared();
    let token = token_of(server, "editor");
    let editor = Some("editor".to_owned());
    let cookie = format!("a=b; {COOKIE}={token}; c=d");
    assert_eq!(user(server, &format!("?token={token}"), &[]), editor);
    assert_eq!(user(server, &format!("?TOKEN={token}"), &[]), editor);
    assert_eq!(user(server, "", &[("token", &token)]), editor);
    assert_eq!(user(server, "", &[("authorization", &format!("Bearer {token}"))]), editor);
    assert_eq!(user(server, "", &[("authorization", &format!("bearer  {token}"))]), editor);
    assert_eq!(user(server, "", &[("cookie", &cookie)]), editor);
    assert_eq!(user(server, "", &[("authorization", &format!("Basic {token}"))]), None);
    assert_eq!(user(server, "", &[("cookie", &format!("OTHER={token}"))]), None);
}

#[test]
fn the_query_counts_before_the_header_before_bearer_before_the_cookie() {
    let server = Server::shared();
    let users = ["editor", "reporter", "contributor", "reader"];
    let tokens = users.map(|user| token_of(server, user));
    let (query, bearer, cookie) =
        (format!("?token={}", tokens[0]), format!("Bearer {}", tokens[2]), format!("{COOKIE}={}", tokens[3]));
    let headers = [("token", tokens[1].as_str()), ("authorization", bearer.as_str()), ("cookie", cookie.as_str())];
    assert_eq!(user(server, &query, &headers).as_deref(), Some("editor"));
    assert_eq!(user(server, "", &headers).as_deref(), Some("reporter"));
    assert_eq!(user(server, "", &headers[1..]).as_deref(), Some("contributor"));
    assert_eq!(user(server, "", &headers[2..]).as_deref(), Some("reader"));
}

#[test]
fn a_token_that_is_no_good_is_not_made_up_for_by_one_that_counts_less() {
    let server = Server::shared();
    let token = token_of(server, "editor");
    assert_eq!(user(server, "?token=nonsense", &[("token", &token)]), None);
    assert_eq!(user(server, "", &[("token", "nonsense"), ("cookie", &format!("{COOKIE}={token}"))]), None);
}

#[test]
fn an_empty_token_counts_as_absent_wherever_it_stands() {
    let server = Server::shared();
    let token = token_of(server, "editor");
    let cookie = format!("{COOKIE}=");
    let cookies = format!("{COOKIE}=; {COOKIE}={token}");
    assert_eq!(user(server, "", &[("cookie", &cookie)]), None);
    assert_eq!(user(server, "?token=", &[("token", &token)]).as_deref(), Some("editor"));
    assert_eq!(
        user(server, "", &[("token", ""), ("authorization", &format!("Bearer {token}"))]).as_deref(),
        Some("editor")
    );
    assert_eq!(user(server, "", &[("cookie", &cookies)]).as_deref(), Some("editor"));
    // So it is no bad token either where none is needed.
    post(server, "/v3/auth/copy", &[("cookie", &cookie)], &json!({ "token": token })).ok();
}

#[test]
fn a_copy_needs_no_token_but_that_in_its_body() {
    let server = Server::shared();
    let (body, stale) = (json!({ "token": token_of(server, "editor") }), format!("{COOKIE}=stale"));
    assert_eq!(post(server, "/v3/auth/copy", &[("cookie", &stale)], &body).ok()["username"], "editor");
}

#[test]
fn a_login_does_not_mind_a_token_that_has_died() {
    let server = Server::shared();
    let stale = format!("{COOKIE}=stale");
    let headers = [("cookie", stale.as_str()), ("token", "stale")];
    post(server, "/v3/auth/login?token=stale", &headers, &credentials("editor", SAMPLE_PASSWORD)).ok();
}

#[test]
fn writes_with_only_a_cookie_need_the_same_origin_or_none() {
    let server = Server::shared();
    let token = token_of(server, "editor");
    let cookie = format!("{COOKIE}={token}");
    let folder = own_folder();
    let write =
        |headers: &[(&str, &str)]| post(server, "/v3/container/drawer", headers, &json!({ "folderPath": folder }));
    let authority = server.base.strip_prefix("http://").expect("the address is known");
    write(&[("cookie", &cookie)]).ok();
    write(&[("cookie", &cookie), ("origin", &server.base)]).ok();
    write(&[("cookie", &cookie), ("origin", &format!("HTTP://{}", authority.to_uppercase()))]).ok();
    for origin in
        ["http://evil.example", "null", "", authority, "http://127.0.0.1", &format!("{}.evil.example", server.base)]
    {
        says(&write(&[("cookie", &cookie), ("origin", origin)]).fails_on(origin, 403, "OriginRefused"), origin);
    }
    // A refused write must not have been made.
    server.user("editor").call("folder-get", &[&folder]).gives(&json!({ "items": [{}, {}, {}] }));
}

#[test]
fn cookie_reads_and_writes_with_other_tokens_are_accepted_from_any_origin() {
    let server = Server::shared();
    let token = token_of(server, "editor");
    let (cookie, bearer, foreign) =
        (format!("{COOKIE}={token}"), format!("Bearer {token}"), ("origin", "http://evil.example"));
    assert!(user(server, "", &[("cookie", &cookie), foreign]).is_some());
    for headers in [
        vec![("token", token.as_str())],
        vec![("authorization", &bearer)],
        vec![("cookie", &cookie), ("token", &token)],
    ] {
        post(server, "/v3/object", &[&[foreign], headers.as_slice()].concat(), &json!({ "sources": [] })).ok();
    }
}

#[test]
fn a_login_sets_the_cookie_and_a_logout_takes_it_away() {
    let server = Server::shared();
    let attributes = |answer: &Answer| -> Vec<String> {
        let cookie = answer.header("set-cookie").expect("a cookie is set");
        cookie.split(';').map(|part| part.trim().to_owned()).collect()
    };
    let v3 = server.log_in("editor", SAMPLE_PASSWORD);
    let form = format!("connectionId=Editorial&applicationId=test&username=editor&pwd={SAMPLE_PASSWORD}");
    let form_type = [("content-type", "application/x-www-form-urlencoded")];
    let older = server.client().send("POST", "/auth/login", &form_type, form.as_bytes());
    let tokens = [v3.json()["result"]["token"]["value"].clone(), older.json()["token"].clone()];
    for (answer, token) in [v3, older].iter().zip(tokens) {
        let set = attributes(answer);
        let token = token.as_str().expect("a login gives a token");
        assert_eq!(set[0], format!("{COOKIE}={token}"));
        for wanted in ["HttpOnly", "SameSite=Lax", "Path=/"] {
            assert!(set.iter().any(|found| found == wanted), "{wanted}: {set:?}");
        }
        // There is no TLS here: with it the browser would keep the cookie to itself.
        assert!(!set.iter().any(|found| found == "Secure"), "{set:?}");
        assert!(user(server, "", &[("cookie", &set[0])]).is_some());
    }
    let gone = attributes(&server.login("editor").call("auth-logout-get", &[]).send());
    assert_eq!(gone[0], format!("{COOKIE}="));
    assert!(gone.iter().any(|found| found == "Max-Age=0") && gone.iter().any(|found| found == "Path=/"), "{gone:?}");
}

#[test]
fn behind_tls_the_cookie_is_secure() {
    let server = Server::with(&[("SERVER__TRUSTED_PROXIES", "127.0.0.1")]);
    let headers = [("x-forwarded-proto", "https")];
    let answer = post(&server, "/v3/auth/login", &headers, &credentials("editor", SAMPLE_PASSWORD));
    assert!(answer.header("set-cookie").is_some_and(|cookie| cookie.contains("; Secure")), "{answer:?}");
}
