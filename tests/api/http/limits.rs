//! Requests that are too large, too deep, cut off or not HTTP at all. They are refused, and the
//! server continues to serve.

use std::io::{Read, Write};

use serde_json::json;

use super::raw::{ask, ask_and_end, connect, rest, status_of};
use super::*;

fn lives(server: &Server) {
    assert_eq!(server.client().get("/healthz").status, 200);
}

fn head(server: &Server, method: &str, path: &str, headers: &str) -> String {
    let editor = server.user("editor");
    let token = editor.token();
    format!("{method} {path} HTTP/1.1\r\nhost: x\r\ntoken: {token}\r\ncontent-type: application/json\r\n{headers}\r\n")
}

/// Sends bytes and nothing more, and returns the answer. The request must be refused with a 4xx
/// status or this one, or by the end of the connection. The server must continue to serve.
#[track_caller]
fn refused(server: &Server, request: &[u8], or: u16) -> String {
    let answer = ask_and_end(server, request);
    let shown = String::from_utf8_lossy(&request[..request.len().min(200)]);
    let well = |status| (400..500).contains(&status) || status == or;
    assert!(status_of(&answer).is_none_or(well), "{shown:?}: {answer}");
    lives(server);
    answer
}

#[test]
fn web_products_are_limited_in_length_and_change_nothing_shown() {
    let client = Server::shared().user("editor");
    let story = client.story(&own_folder(), "a.xml");
    let read = || client.call("object-get", &[&story]).query("showWebType", true);
    let list = |body: Value| client.call("stet-object-list-post", &[]).json(&body).send();
    let (most, more) = ("ä".repeat(127), "x".repeat(256));
    let asked = |product: &str| {
        let options = json!({ "webProduct": product, "showWebType": true });
        [
            read().query("webProduct", product).send(),
            list(json!({ "sources": [story], "options": options })),
            list(json!({ "sources": [story], "webProduct": product })),
        ]
    };
    for answer in asked(&more).into_iter().chain(asked(&more.repeat(2))) {
        let message = answer.fails(400, "InvalidParameter")["message"].as_str().unwrap().to_owned();
        assert!(message.contains("`webProduct`") && message.contains("255") && message.len() < 200, "{message}");
    }
    let [shown, listed, _] = asked(&most).map(|answer| answer.ok());
    assert_eq!(shown, read().ok());
    assert_eq!(listed["items"][0], shown);
}

#[test]
fn oversized_request_heads_get_no_reply_body_and_end_the_connection() {
    let server = Server::shared();
    let next = "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n";
    let headers = |count: usize| "x: y\r\n".repeat(count - 1);
    let of_path = |bytes: usize| format!("GET /{} HTTP/1.1\r\nhost: x\r\n\r\n", "x".repeat(bytes - 1));
    for (head, status) in [
        (of_path(65_534), 413),
        (of_path(65_535), 400),
        (of_path(200_000), 431),
        (format!("GET /healthz HTTP/1.1\r\nhost: x\r\n{}\r\n", headers(96)), 200),
        (format!("GET /healthz HTTP/1.1\r\nhost: x\r\n{}\r\n", headers(97)), 431),
        (format!("GET /healthz HTTP/1.1\r\nhost: x\r\nx: {}\r\n\r\n", "y".repeat(200_000)), 431),
    ] {
        let readable = matches!(status, 200 | 413);
        for used in [false, true] {
            let mut stream = connect(server);
            if used {
                stream.write_all(next.as_bytes()).expect("a request can be sent");
                let mut answer = Vec::new();
                while !answer.ends_with(b"}") {
                    let mut byte = [0];
                    stream.read_exact(&mut byte).expect("an answer comes");
                    answer.extend(byte);
                }
            }
            // The server may have closed before the last byte.
            let _ = stream.write_all(format!("{head}{next}").as_bytes());
            if readable {
                let _ = stream.shutdown(std::net::Shutdown::Write);
            }
            let answer = rest(&mut stream);
            assert_eq!(status_of(&answer), Some(status), "{answer}");
            // As docs/api/README.md has it, under "Limits".
            let answers = answer.matches("HTTP/1.1 ").count();
            assert_eq!(answers, if readable { 2 } else { 1 }, "{status}: {answer}");
            assert_eq!(answer.contains("x-request-id"), readable, "{answer}");
            assert!(readable || answer.contains("content-length: 0\r\n"), "{answer}");
        }
    }
    lives(server);
}

#[test]
fn a_body_announced_to_be_huge_is_refused_before_it_comes() {
    let server = Server::shared();
    let mut stream = connect(server);
    let head = head(server, "POST", "/v3/object", "content-length: 99999999999\r\n");
    stream.write_all(head.as_bytes()).expect("the head can be sent");
    stream.write_all(b"{\"sources\":").expect("a little can be sent");
    // No more bytes are sent, and the answer must come nevertheless.
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).expect("an answer comes");
    assert_eq!(status_of(&String::from_utf8_lossy(&answer)), Some(413));
    lives(server);
}

#[test]
fn a_body_that_grows_too_large_is_refused_while_it_streams() {
    let server = Server::shared();
    let mut stream = connect(server);
    let head = head(server, "POST", "/v3/object", "transfer-encoding: chunked\r\n");
    stream.write_all(head.as_bytes()).expect("the head can be sent");
    let mut reader = stream.try_clone().expect("a socket can be shared");
    let answer = std::thread::spawn(move || {
        let mut answer = [0; 12];
        reader.read_exact(&mut answer).map(|()| String::from_utf8_lossy(&answer).into_owned())
    });
    // Endless, were it not refused: sixteen times what a JSON body may have.
    let chunk = [b"10000\r\n".as_slice(), &[b' '; 0x10000], b"\r\n"].concat();
    let sent = (0..1024).take_while(|_| !answer.is_finished() && stream.write_all(&chunk).is_ok()).count();
    drop(stream);
    let answer = answer.join().expect("the reader ends").expect("an answer comes");
    assert_eq!(status_of(&answer), Some(413));
    assert!(sent < 1024, "everything was taken");
    lives(server);
}

#[test]
fn a_refusal_of_a_large_body_names_the_limit() {
    let server = Server::with(&[("LIMITS__JSON_BYTES", "1024"), ("LIMITS__SHORT_BODY_BYTES", "1024")]);
    let client = server.user("editor");
    let fits = format!("{{\"sources\": []{}}}", " ".repeat(1024 - 15));
    assert_eq!(client.send("POST", "/v3/object", &[JSON], fits.as_bytes()).status, 200);
    let error = client.send("POST", "/v3/object", &[JSON], format!("{fits} ").as_bytes()).fails(413, "TooLarge");
    says(&error, "1024");
    assert_eq!(error["details"]["limit"], 1024);
    let form = format!("username={}", "x".repeat(1024));
    assert_eq!(error_of(&client.send("POST", "/auth/login", &[], form.as_bytes()), true)["code"], "CMS.TooLarge");
}

#[test]
fn deep_json_is_refused() {
    let client = Server::shared().user("editor");
    for deep in ["[".repeat(1_000_000), "{\"a\":".repeat(100_000), format!("{}1{}", "[".repeat(65), "]".repeat(65))] {
        let error = client.send("POST", "/v3/object", &[JSON], deep.as_bytes()).fails(400, "InvalidBody");
        says(&error, "nested deeper");
    }
    let body = format!("{{\"sources\": [], \"what\": {}{}}}", "[".repeat(63), "]".repeat(63));
    assert_eq!(client.send("POST", "/v3/object", &[JSON], body.as_bytes()).status, 200);
}

#[test]
fn a_list_of_too_many_sources_is_refused() {
    let server = Server::with(&[("LIMITS__LIST_SOURCES", "3")]);
    let client = server.user("editor");
    let sources = |count: usize| json!({ "sources": vec!["/News"; count] });
    // The same again counts, too: the list is as long as it is.
    assert_eq!(client.post("/v3/object", &sources(3)).ok()["items"].as_array().map(Vec::len), Some(1));
    let error = client.post("/v3/object", &sources(40)).fails(413, "TooLarge");
    says(&error, "`sources` has 40 entries; at most 3");
    client.call("drawer-post", &[]).json(&sources(4)).fails(413, "TooLarge");
}

#[test]
fn a_long_url_is_refused() {
    let server = Server::shared();
    let client = server.user("editor");
    client.get(&format!("/v3/folder/home?x={}", "x".repeat(16_000))).ok();
    client.get(&format!("/v3/folder/home?x={}", "x".repeat(16_384))).fails(413, "TooLarge");
    client.get(&format!("/v3/object/{}", "x".repeat(17_000))).fails(413, "TooLarge");
    // Beyond what can be read at all; how that is said is the HTTP library's.
    for length in [70_000, 500_000] {
        let request = format!("GET /v3/{} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n", "x".repeat(length));
        let status = status_of(&ask(server, &request));
        assert!(status.is_none_or(|status| (400..500).contains(&status)), "{status:?}");
    }
    lives(server);
}

#[test]
fn what_is_no_http_is_refused_and_the_server_lives_on() {
    let server = Server::shared();
    let long_header = format!("GET /healthz HTTP/1.1\r\nhost: x\r\nx: {}\r\n\r\n", "x".repeat(1_000_000));
    let many_headers = format!("GET /healthz HTTP/1.1\r\nhost: x\r\n{}\r\n", "x: y\r\n".repeat(10_000));
    for garbage in [
        &b""[..],
        b"\0\0\0\0\r\n\r\n",
        b"\xff\xfe\xfd\r\n\r\n",
        b"\r\n\r\n\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET /healthz\r\n\r\n",
        b"GET /healthz HTTP/9.9\r\nhost: x\r\n\r\n",
        b"G\xc3\x89T /healthz HTTP/1.1\r\nhost: x\r\n\r\n",
        b"GET /v3/object/\xff\xfe HTTP/1.1\r\nhost: x\r\n\r\n",
        b"GET /v3/object/\xc3\xa9 HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n",
        b"GET * HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n",
        b"OPTIONS * HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n",
        b"CONNECT a:1 HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n",
        b"GET http://x/nowhere HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n",
        b"GET /nowhere HTTP/1.1\r\nhost: \xff\r\nconnection: close\r\n\r\n",
        b"GET /nowhere HTTP/1.1\r\nno colon\r\n\r\n",
        b"GET /nowhere HTTP/1.1\r\nhost: x\r\ntoken: \xff\xfe\r\ncookie: \xff\r\nauthorization: \xff\r\nconnection: close\r\n\r\n",
        b"POST /auth/login HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n",
        b"POST /auth/login HTTP/1.1\r\nhost: x\r\ncontent-length: 99999999999999999999999\r\n\r\n",
        b"POST /auth/login HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        long_header.as_bytes(),
        many_headers.as_bytes(),
    ] {
        refused(server, garbage, 505);
    }
}

#[test]
fn ambiguously_framed_bodies_are_refused_and_hide_no_second_request() {
    let server = Server::shared();
    for headers in [
        "transfer-encoding: chunked\r\ncontent-length: 4\r\n",
        "content-length: 4\r\ntransfer-encoding: chunked\r\n",
        "transfer-encoding: rubbish\r\n",
        "transfer-encoding: chunked, rubbish\r\n",
        "transfer-encoding: \u{b}chunked\r\n",
        "transfer-encoding: identity\r\n",
        "content-length: 4, 4\r\n",
        "content-length: +4\r\n",
    ] {
        let head = head(server, "POST", "/v3/object", headers);
        let second = "GET /openapi.json HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
        let answer = refused(server, format!("{head}zz\r\n{second}").as_bytes(), 501);
        assert!(!answer.contains("\"openapi\""), "{headers:?} let a second request through: {answer}");
    }
}

#[test]
fn chunks_that_are_none_are_refused() {
    let server = Server::shared();
    for chunks in ["zz\r\n{}\r\n0\r\n\r\n", "-1\r\n{}\r\n", "ffffffffffffffffff\r\n{}", "2\r\n{}", "2\r\n{}xx0\r\n\r\n"]
    {
        let head = head(server, "POST", "/v3/object", "transfer-encoding: chunked\r\n");
        refused(server, format!("{head}{chunks}").as_bytes(), 400);
    }
}

#[test]
fn half_a_request_is_let_go() {
    let server = Server::shared();
    let head = head(server, "POST", "/v3/container/drawer", "content-length: 100\r\n");
    for half in ["GET /heal", "GET /healthz HTTP/1.1\r\nhost:", &head, &format!("{head}{{\"name\": \"half\"")] {
        refused(server, half.as_bytes(), 400);
        // And one that is dropped without a word.
        connect(server).write_all(half.as_bytes()).expect("half a request can be sent");
        lives(server);
    }
}

#[test]
fn a_client_that_is_slow_with_its_head_is_cut_off() {
    let server = Server::with(&[("SERVER__SLOW_REQUEST_SECONDS", "1")]);
    let mut stream = connect(&server);
    stream.write_all(b"GET /healthz HTTP/1.1\r\n").expect("half a head can be sent");
    let answer = rest(&mut stream);
    assert!(status_of(&answer).is_none_or(|status| status == 408), "{answer}");
    lives(&server);
}
