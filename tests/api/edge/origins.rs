//! The cookie is set and cleared for our own pages and for programs, and for no page of another
//! site.

use super::*;

const COOKIE: &str = "MRS_CONNECTION_TOKEN";

/// Headers with which browsers mark requests from pages of other sites.
const FOREIGN: [&[(&str, &str)]; 5] = [
    &[("origin", "http://evil.example")],
    &[("origin", "null")],
    &[("sec-fetch-site", "cross-site")],
    &[("sec-fetch-site", "same-site")],
    &[("origin", "http://evil.example"), ("sec-fetch-site", "cross-site")],
];

/// Tries each way to get the cookie with this password: JSON sent as text, a form, and a copy of a
/// session. A page may send the first without asking.
fn ways_in(server: &Server, token: &str, password: &str, headers: &[(&str, &str)]) -> [Answer; 3] {
    let send = |path: &str, media_type: &str, body: &str| {
        server.client().send("POST", path, &[&[("content-type", media_type)], headers].concat(), body.as_bytes())
    };
    let form = format!("connectionId=Editorial&applicationId=desk&username=editor&password={password}");
    [
        send("/v3/auth/login", "text/plain", &credentials("editor", password).to_string()),
        send("/auth/login", "application/x-www-form-urlencoded", &form),
        send("/v3/auth/copy", "text/plain", &json!({ "token": token }).to_string()),
    ]
}

/// Asserts that the request was refused for where it comes from, in the form of whichever surface.
#[track_caller]
fn refused(server: &Server, answer: &Answer, from: &[(&str, &str)]) {
    let told = String::from_utf8_lossy(&answer.body);
    let well = answer.status == 403 && told.contains("OriginRefused") && told.contains(&server.base);
    assert!(well && answer.header("set-cookie").is_none(), "{from:?}: {answer:?}");
}

#[test]
fn a_page_of_another_site_can_not_log_its_reader_in() {
    let server = Server::with(&[("AUTH__FAILURES_PER_USER", "3"), ("AUTH__FAILURE_WINDOW_SECONDS", "3600")]);
    let token = server.login("editor").token().to_owned();
    for headers in FOREIGN {
        for password in [SAMPLE_PASSWORD, "wrong"] {
            for answer in ways_in(&server, &token, password, headers) {
                refused(&server, &answer, headers);
            }
        }
        // Before anything is asked of a CAS server, be there one or not.
        let path = "/v3/auth/login?applicationId=a&connectionId=Editorial&ticket=ST-1";
        refused(&server, &server.client().send("GET", path, headers, b""), headers);
    }
    // No password was looked at: that would have been more failures than are allowed.
    let own = server.base.clone();
    for headers in [
        &[][..],
        &[("origin", own.as_str())],
        &[("origin", own.as_str()), ("sec-fetch-site", "same-origin")],
        &[("sec-fetch-site", "none")],
    ] {
        for answer in ways_in(&server, &token, SAMPLE_PASSWORD, headers) {
            assert_eq!(answer.status, 200, "{headers:?}: {answer:?}");
            assert!(answer.header("set-cookie").is_some(), "{headers:?}");
        }
    }
}

/// Refreshing is a GET, which a link is enough for.
#[test]
fn a_page_of_another_site_can_not_refresh_the_configuration() {
    let server = Server::start();
    let cookie = format!("MRS_CONNECTION_TOKEN={}", server.user("admin").token());
    let acts =
        Endpoint::all().iter().filter(|it| it.path.contains("/refresh")).map(|it| it.path.replace("{databaseId}", "1"));
    let acts: Vec<String> = acts.chain(["/v3/conf/siteconfigxml?forceRefresh=true".to_owned()]).collect();
    assert_eq!(acts.len(), 15);
    for path in acts {
        for headers in FOREIGN {
            let answer = server.client().send("GET", &path, &[&[("cookie", &*cookie)][..], headers].concat(), b"");
            assert_eq!((answer.status, answer.said()["code"].as_str()), (403, Some("CMS.OriginRefused")), "{path}");
        }
        assert_eq!(server.client().send("GET", &path, &[("cookie", &cookie)], b"").status, 200, "{path}");
    }
    let read = "/v3/conf/siteconfigxml";
    assert_eq!(server.client().send("GET", read, &[("cookie", &*cookie), FOREIGN[0][0]], b"").status, 200);
}

#[test]
fn a_page_of_another_site_can_not_log_its_reader_out() {
    let server = Server::shared();
    let out = |path: &str, headers: &[(&str, &str)]| server.client().send("GET", path, headers, b"");
    for path in ["/v3/auth/logout", "/auth/logout"] {
        for headers in FOREIGN {
            let client = server.login("editor");
            let cookie = format!("{COOKIE}={}", client.token());
            let cookie = ("cookie", cookie.as_str());
            let answer = out(path, &[headers, &[cookie]].concat());
            refused(server, &answer, headers);
            client.lives();
            // A caller with the token itself may do everything, but the browser sends the cookie by
            // itself.
            let answer = out(path, &[headers, &[cookie, ("token", client.token())]].concat());
            assert_eq!((answer.status, answer.header("set-cookie")), (200, None), "{headers:?}");
            client.is_dead();
        }
        let own = server.base.clone();
        for headers in [&[][..], &[("origin", own.as_str())], &[("sec-fetch-site", "same-origin")]] {
            let client = server.login("editor");
            let cookie = format!("{COOKIE}={}", client.token());
            let answer = out(path, &[headers, &[("cookie", &cookie)]].concat());
            assert!(answer.header("set-cookie").is_some_and(|cookie| cookie.contains("Max-Age=0")), "{answer:?}");
            client.is_dead();
        }
    }
}

#[test]
fn a_page_that_is_listed_may_log_its_reader_in_and_out() {
    let server = Server::with(&[("SERVER__CORS_ORIGINS", "https://desk.example.org")]);
    let token = server.login("editor").token().to_owned();
    let headers = [("origin", "https://desk.example.org"), ("sec-fetch-site", "cross-site")];
    for answer in ways_in(&server, &token, SAMPLE_PASSWORD, &headers) {
        assert!(answer.header("set-cookie").is_some(), "{answer:?}");
    }
    let without_tls = [("origin", "http://desk.example.org")];
    for answer in ways_in(&server, &token, SAMPLE_PASSWORD, &without_tls) {
        refused(&server, &answer, &without_tls);
    }
    let cookie = format!("{COOKIE}={token}");
    let answer = server.client().send("GET", "/v3/auth/logout", &[&headers[..], &[("cookie", &cookie)]].concat(), b"");
    assert!(answer.header("set-cookie").is_some_and(|cookie| cookie.contains("Max-Age=0")), "{answer:?}");
}
