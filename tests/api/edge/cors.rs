//! Pages of other sites, in browsers.

use std::process::Command;

use super::*;

const DESK: &str = "https://desk.example.org";
const LOCAL: &str = "http://localhost:3000";
/// Origins that are not listed, though some resemble a listed one.
const OTHERS: [&str; 8] = [
    "https://evil.example",
    "http://desk.example.org",
    "https://desk.example.org:8443",
    "https://desk.example.org.evil.example",
    "https://desk.example.or",
    "https://DESK.example.org",
    "https://desk.example.org, http://localhost:3000",
    "null",
];

const HOME: &str = "/v3/folder/home";
const JSON: (&str, &str) = ("content-type", "application/json");
const METHOD: (&str, &str) = ("access-control-request-method", "PUT");

fn open() -> Server {
    Server::with(&[("SERVER__CORS_ORIGINS", &format!("{DESK}, {LOCAL}"))])
}

/// Sends the request that a browser makes before a call with a token in a header.
fn preflight(server: &Server, path: &str, origin: &str) -> Answer {
    let headers = [("origin", origin), METHOD, ("access-control-request-headers", "content-type,token")];
    server.client().send("OPTIONS", path, &headers, b"")
}

/// The headers of an answer that speak to browsers of other sites.
fn told(answer: &Answer) -> Vec<&str> {
    let speaks = |(name, value): &&(String, String)| {
        name.starts_with("access-control-") || (name == "vary" && value.eq_ignore_ascii_case("origin"))
    };
    answer.headers.iter().filter(speaks).map(|(name, _)| name.as_str()).collect()
}

fn assert_silent(answer: &Answer, what: &str) {
    assert_eq!(told(answer), [""; 0], "{what}: {answer:?}");
}

/// The page of `origin` may read the answer.
fn assert_admitted(answer: &Answer, origin: &str) {
    let header = |name: &str| answer.header(name).unwrap_or_else(|| panic!("no {name}: {answer:?}"));
    assert_eq!(header("access-control-allow-origin"), origin);
    assert_eq!(header("access-control-allow-credentials"), "true");
    assert_eq!(header("vary"), "Origin");
    let exposed: Vec<_> = header("access-control-expose-headers").split(", ").collect();
    for wanted in [
        "Accept-Ranges",
        "Content-Disposition",
        "Content-Encoding",
        "Content-Range",
        "ETag",
        "Idempotency-Replayed",
        "Last-Modified",
        "Preference-Applied",
        "RateLimit-Remaining",
        "Retry-After",
        "X-Request-Id",
    ] {
        assert!(exposed.contains(&wanted), "{wanted} is missing in {exposed:?}");
    }
    assert!(!exposed.contains(&"Set-Cookie"));
    let mut names = told(answer);
    names.sort_unstable();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count, "a header comes twice: {answer:?}");
}

/// Returns a write as a page of that origin sends it.
fn write(server: &Server, origin: &str) -> Answer {
    write_from(server, server.user("editor").token(), origin, &[])
}

#[test]
fn no_page_is_told_anything_unless_origins_are_listed() {
    let server = Server::shared();
    for origin in [DESK, &server.base, "null", "*", ""] {
        let answer = preflight(server, HOME, origin);
        answer.fails(405, "MethodNotAllowed");
        assert_eq!(answer.header("allow"), Some("GET, HEAD"), "{origin}");
        assert_silent(&answer, origin);
        assert_silent(&preflight(server, "/nowhere", origin), origin);
        let answer = server.user("editor").call("folder-home-get", &[]).header("origin", origin).send();
        answer.ok();
        assert_silent(&answer, origin);
    }
    write(server, DESK).fails(403, "OriginRefused");
}

#[test]
fn a_preflight_of_a_listed_origin_is_answered_without_a_token() {
    let server = open();
    let paths =
        [HOME, "/v3/object", "/v3/auth/login", "/auth/login", "/nowhere", "/healthz", "/v3/folder/home?token=x"];
    for (origin, path) in [DESK, LOCAL].iter().flat_map(|origin| paths.map(|path| (*origin, path))) {
        let answer = preflight(&server, path, origin);
        assert_eq!((answer.status, answer.body.as_slice()), (204, b"".as_slice()), "{path}");
        assert_admitted(&answer, origin);
        let header = |name: &str| answer.header(name).unwrap_or_else(|| panic!("no {name}: {answer:?}"));
        assert_eq!(header("access-control-allow-methods"), "GET, HEAD, POST, PUT, DELETE");
        let allowed: Vec<_> = header("access-control-allow-headers").split(", ").collect();
        for wanted in [
            "authorization",
            "cache-control",
            "content-type",
            "idempotency-key",
            "if-match",
            "if-modified-since",
            "if-none-match",
            "if-range",
            "last-event-id",
            "prefer",
            "range",
            "token",
            "traceparent",
        ] {
            assert!(allowed.contains(&wanted), "{wanted} is missing in {allowed:?}");
        }
        assert!(!allowed.contains(&"x-forwarded-for"));
        assert_eq!(header("access-control-max-age"), "3600");
        assert!(!header("x-request-id").is_empty());
    }
}

#[test]
fn pages_may_send_all_headers_of_the_document_and_read_all_that_come() {
    let server = open();
    let allowed = preflight(&server, HOME, DESK);
    let allowed = allowed.header("access-control-allow-headers").expect("it is allowed some").split(", ");
    let allowed: Vec<_> = allowed.collect();
    let document = server.client().get("/openapi.json").json();
    let parameters = document["components"]["parameters"].as_object().expect("it has parameters").values();
    let headers: Vec<_> = parameters.filter(|parameter| parameter["in"] == "header").collect();
    assert!(headers.len() >= 5, "{headers:?}");
    for header in headers {
        let name = header["name"].as_str().expect("it has a name").to_ascii_lowercase();
        assert!(allowed.contains(&name.as_str()), "{name}");
    }

    let client = server.user("editor");
    let story = client.story(&own_folder(), "a.xml");
    let answers = [
        client.call("object-get", &[&story]).header("origin", DESK).header("accept-encoding", "gzip").send(),
        client.call("stet-object-content-get", &[&story]).header("origin", DESK).header("range", "bytes=0-1").send(),
        client
            .call("stet-object-unlock-post", &[&story])
            .header("origin", DESK)
            .header("prefer", "return=minimal")
            .send(),
        client.send("PATCH", HOME, &[("origin", DESK)], b""),
        server.client().send("GET", HOME, &[("origin", DESK)], b""),
    ];
    // For the browser alone, or read without leave.
    let hidden = ["cache-control", "content-type", "connection", "transfer-encoding", "x-content-type-options"];
    let hidden = [&hidden[..], &["content-security-policy", "referrer-policy"]].concat();
    for answer in answers {
        let exposed = answer.header("access-control-expose-headers").expect("it is read").to_ascii_lowercase();
        let exposed: Vec<_> = exposed.split(", ").collect();
        for (name, _) in &answer.headers {
            let told = name.starts_with("access-control-") || hidden.contains(&name.as_str());
            assert!(told || exposed.contains(&name.as_str()), "{name}: {answer:?}");
        }
    }
}

#[test]
fn a_preflight_of_any_other_origin_is_refused_like_every_options() {
    let server = open();
    for origin in OTHERS {
        let answer = preflight(&server, HOME, origin);
        answer.fails_on(origin, 405, "MethodNotAllowed");
        assert_silent(&answer, origin);
        let answer = preflight(&server, "/healthz", origin);
        assert_eq!(answer.status, 405, "{origin}");
        assert_silent(&answer, origin);
    }
    // None without an origin, and none without the method that is to come.
    let answer = server.client().send("OPTIONS", HOME, &[METHOD], b"");
    answer.fails(405, "MethodNotAllowed");
    assert_silent(&answer, "no origin");
    let answer = server.client().send("OPTIONS", HOME, &[("origin", DESK)], b"");
    answer.fails(405, "MethodNotAllowed");
    assert_admitted(&answer, DESK);
}

#[test]
fn a_page_of_a_listed_origin_may_read_every_answer_and_others_none() {
    let server = open();
    let client = server.user("editor");
    let tag = home(&client).header("etag").expect("a folder has an ETag").to_owned();
    let ask = |method: &str, path: &str, origin: &str, more: &[(&str, &str)]| {
        client.send(method, path, &[&[("origin", origin)], more].concat(), b"")
    };
    let fresh = ("if-none-match", tag.as_str());
    for (method, path, more, status) in [
        ("GET", HOME, [JSON], 200),
        ("HEAD", HOME, [JSON], 200),
        ("GET", HOME, [fresh], 304),
        ("GET", "/v3/object/1$1.0.999999999", [JSON], 404),
        ("GET", "/nowhere", [JSON], 404),
        ("PATCH", HOME, [JSON], 405),
        ("GET", "/healthz", [JSON], 200),
    ] {
        for origin in [DESK, LOCAL] {
            let answer = ask(method, path, origin, &more);
            assert_eq!(answer.status, status, "{method} {path}");
            assert_admitted(&answer, origin);
            assert_eq!(answer.header("access-control-max-age"), None);
        }
        for origin in OTHERS {
            let answer = ask(method, path, origin, &more);
            assert_eq!(answer.status, status, "{method} {path}");
            assert_silent(&answer, origin);
        }
        assert_silent(&client.send(method, path, &more, b""), path);
    }
    // Without a token, too: the page must learn that it has to log in.
    let answer = server.client().send("GET", HOME, &[("origin", DESK)], b"");
    answer.fails(401, "InvalidToken");
    assert_admitted(&answer, DESK);
}

#[test]
fn a_kept_reply_speaks_to_who_asks_for_it() {
    let server = open();
    let client = server.user("editor");
    let call = client.call("drawer-post", &[]).json(&json!({ "folderPath": own_folder() }));
    let call = call.header("idempotency-key", "once");
    let make = |origin: &str| {
        let answer = call.clone().header("origin", origin).send();
        answer.ok();
        answer
    };
    let first = make(DESK);
    assert_admitted(&first, DESK);
    for (origin, listed) in [(LOCAL, true), (OTHERS[0], false), (DESK, true)] {
        let again = make(origin);
        assert_eq!((again.header("idempotency-replayed"), &again.body), (Some("true"), &first.body), "{origin}");
        if listed { assert_admitted(&again, origin) } else { assert_silent(&again, origin) }
    }
}

#[test]
fn writes_with_only_a_cookie_are_accepted_from_listed_origins_only() {
    let server = open();
    for origin in [DESK, LOCAL] {
        let answer = write(&server, origin);
        answer.ok();
        assert_admitted(&answer, origin);
    }
    for origin in OTHERS {
        let answer = write(&server, origin);
        answer.fails_on(origin, 403, "OriginRefused");
        assert_silent(&answer, origin);
    }
    // Our own pages need not be listed, and need none of the headers.
    let answer = write(&server, &server.base);
    answer.ok();
    assert_silent(&answer, "our own");
    write_from(&server, "made-up", DESK, &[]).fails(401, "InvalidToken");
}

#[test]
fn an_origin_that_no_browser_sends_is_a_fault_of_the_configuration() {
    let place = tempfile::TempDir::new().expect("a temporary directory can be made");
    let data = place.path().join("data");
    for origin in ["*", "https://*.example.org", "https://desk.example.org/", "desk.example.org", "null"] {
        let output = Command::new(env!("CARGO_BIN_EXE_stet"))
            .current_dir(place.path())
            .args(["serve", "--listen", "127.0.0.1:0", "--data"])
            .arg(&data)
            .env("STET_SERVER__CORS_ORIGINS", format!("{DESK},{origin}"))
            .output()
            .expect("the binary can be started");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{errors}");
        for word in ["server.cors_origins", &format!("`{origin}`"), "STET_SERVER__CORS_ORIGINS"] {
            assert!(errors.contains(word), "{word}: {errors}");
        }
        assert!(!data.exists(), "something was made");
    }
}
