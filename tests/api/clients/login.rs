//! The login beside the REST root.

use super::*;

#[test]
fn login_beside_the_root_gives_a_token_and_a_cookie_of_the_root() {
    let server = server_with(&[]);
    let answer = log_in(&server, "editor", SAMPLE_PASSWORD);
    assert_eq!(answer.status, 200, "{answer:?}");
    let reply = answer.json();
    assert!(reply.get("status").is_none() && reply.get("result").is_none(), "{reply}");
    let token = reply["token"].as_str().expect("the token stands at the top");
    let cookie = answer.header("set-cookie").expect("a cookie is set");
    assert!(cookie.starts_with(&format!("MRS_CONNECTION_TOKEN={token};")), "{cookie}");
    assert!(cookie.contains(&format!("Path={ROOT};")), "{cookie}");
    assert_eq!(desk(&server, "editor").get("/v3/auth/connection/check").status, 200);
    let by_cookie = [("cookie", format!("MRS_CONNECTION_TOKEN={token}"))];
    let by_cookie = by_cookie.each_ref().map(|(name, value)| (*name, value.as_str()));
    let check = server.client().send("GET", &format!("{ROOT}/v3/auth/connection/check"), &by_cookie, b"");
    assert_eq!(check.status, 200);
}

#[test]
fn login_beside_the_root_is_refused_as_any_other() {
    let server = server_with(&[("AUTH__FAILURES_PER_USER", "2"), ("AUTH__FAILURE_WINDOW_SECONDS", "86400")]);
    let foreign = server.client().send("POST", LOGIN, &[("origin", "http://evil.example")], b"");
    assert_eq!(refusal(&foreign), refused(403, "OriginRefused"));
    assert_eq!(server.client().get(LOGIN).status, 405);
    assert_eq!(refusal(&log_in(&server, "editor", "wrong")), refused(401, "InvalidLogin"));
    // Failures count together, wherever they are.
    let body = credentials("editor", "wrong");
    assert_eq!(server.client().post(&format!("{ROOT}/v3/auth/login"), &body).status, 401);
    assert_eq!(refusal(&log_in(&server, "editor", SAMPLE_PASSWORD)), refused(429, "TooManyRequests"));
    let body = credentials("editor", SAMPLE_PASSWORD);
    assert_eq!(server.client().post(&format!("{ROOT}/v3/auth/login"), &body).status, 429);
}

#[test]
fn login_path_is_no_endpoint_unless_it_is_configured() {
    let server = Server::with(&[("SERVER__BASE_PATH", ROOT)]);
    assert_eq!(log_in(&server, "editor", SAMPLE_PASSWORD).status, 404);
    let server = server_with(&[]);
    for path in ["/swing/login/", "/swing/login/x", "/swing", "/login", "/swing/loginx"] {
        assert_eq!(server.client().send("POST", path, &[], b"").status, 404, "{path}");
    }
}
