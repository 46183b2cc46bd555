//! Clients that take their time.

use std::io::{Read, Write};

use super::*;
use crate::api::http::raw::{ask, connect, status_of};

/// Sends a head and the beginning of its body, and then a byte now and then while they are
/// accepted. Returns the answer.
fn trickle(server: &Server, path: &str, media_type: &str, beginning: &str) -> String {
    let editor = server.user("editor");
    let mut stream = connect(server);
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: x\r\ntoken: {}\r\ncontent-type: {media_type}\r\ncontent-length: 10000\r\n\r\n",
        editor.token()
    );
    stream.write_all(format!("{head}{beginning}").as_bytes()).expect("the beginning can be sent");
    let writer = stream.try_clone().expect("a socket can be shared");
    let mut answer = Vec::new();
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| stream.read_to_end(&mut answer));
        wait_until("an answer comes and the connection ends", || {
            let _ = (&writer).write(b" ");
            reader.is_finished()
        });
    });
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn a_json_body_that_trickles_is_refused_and_its_connection_closed() {
    let server = Server::with(&[("LIMITS__BODY_SECONDS", "1")]);
    for (path, media_type) in [("/v3/object", "application/json"), ("/auth/login", "application/x-www-form-urlencoded")]
    {
        let answer = trickle(&server, path, media_type, " ");
        assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
        assert!(answer.contains("CMS.InvalidBody") && answer.contains("within the 1 second "), "{answer}");
    }
    server.user("editor").call("stet-object-list-post", &[]).json(&json!({ "sources": [] })).ok();
}

const BOUNDARY: &str = "multipart/form-data; boundary=b";

#[test]
fn an_upload_that_does_not_get_on_is_refused() {
    let server = Server::with(&[("LIMITS__UPLOAD_PROGRESS_SECONDS", "1")]);
    let begun = format!(
        "--b\r\ncontent-disposition: form-data; name=\"options\"\r\n\r\n{{\"name\": \"slow\", \"type\": \"Story\", \
         \"folderPath\": \"{}\"}}\r\n--b\r\ncontent-disposition: form-data; name=\"content\"\r\n\r\nbeginning",
        own_folder()
    );
    let answer = trickle(&server, "/v3/object/create", BOUNDARY, &begun);
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    assert!(answer.contains("CMS.InvalidBody") && answer.contains("fewer than 16384 bytes"), "{answer}");
    server.user("editor").story(&own_folder(), "quick");
}

/// Creates a story by a form with more parts: the head of each behind its name, and its name.
fn create(more: &[(&str, &str)]) -> Answer {
    let options = json!({ "name": "parts", "type": "Story", "folderPath": own_folder() });
    let options = format!("--b\r\ncontent-disposition: form-data; name=\"options\"\r\n\r\n{options}\r\n");
    let part = |(name, head): &(&str, &str)| {
        format!("--b\r\ncontent-disposition: form-data; name=\"{name}\"\r\n{head}\r\nx\r\n")
    };
    let more: String = more.iter().map(part).collect();
    let client = Server::shared().user("editor");
    client.call("stet-object-create-post", &[]).bytes(BOUNDARY, format!("{options}{more}--b--\r\n")).send()
}

#[test]
fn a_form_of_too_many_parts_is_refused() {
    let client = Server::shared().user("editor");
    let liveblog = client.liveblog(&own_folder(), "parts");
    let post = |attachments: usize| {
        let mut files = vec![("attachments", "a.txt", "text/plain", b"x".as_slice()); attachments];
        files.push(("content", "p.xml", "text/xml", b"<p/>"));
        client.call("liveblog-post-create", &[&liveblog]).form(&json!({ "title": "parts" }), &files).send()
    };
    // With the options and the content they are two more.
    post(30).ok();
    assert_eq!(post(31).fails(413, "TooLarge")["details"]["limit"], 32);
}

#[test]
fn the_head_of_a_part_has_no_more_than_32_headers_and_65536_bytes() {
    create(&[("content", &"x: y\r\n".repeat(31))]).ok();
    create(&[("content", &"x: y\r\n".repeat(32))]).fails(400, "InvalidBody");
    create(&[("content", &format!("x: {}\r\n", "y".repeat(60_000)))]).ok();
    create(&[("content", &format!("x: {}\r\n", "y".repeat(70_000)))]).fails(400, "InvalidBody");
}

/// Returns the status of a request with these headers; `None` if the connection is just closed.
fn status(server: &Server, headers: &str) -> Option<u16> {
    status_of(&ask(server, &format!("GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{headers}\r\n")))
}

#[test]
fn a_head_has_no_more_than_96_headers_and_131072_bytes() {
    let server = Server::shared();
    assert_eq!(status(server, &"x: y\r\n".repeat(94)), Some(200));
    let refused = |status: Option<u16>| status.is_none_or(|status| (400..500).contains(&status));
    assert!(refused(status(server, &"x: y\r\n".repeat(95))));
    assert_eq!(status(server, &format!("x: {}\r\n", "y".repeat(100_000))), Some(200));
    assert!(refused(status(server, &format!("x: {}\r\n", "y".repeat(140_000)))));
}

#[test]
#[cfg(target_os = "linux")]
fn clients_that_send_requests_and_never_read_are_cut_off() {
    let server = Server::with(&[("SERVER__SLOW_READER_SECONDS", "1")]);
    let editor = server.user("editor");
    let mut stream = connect(&server);
    // Until neither side's buffers take any more requests or replies.
    stream.set_nonblocking(true).expect("it can be set");
    let request = format!("GET /v3/folder/home HTTP/1.1\r\nhost: x\r\ntoken: {}\r\n\r\n", editor.token()).repeat(100);
    wait_until("it is cut off", || {
        let _ = (&stream).write(request.as_bytes());
        stream.take_error().expect("it can be asked").is_some()
            || matches!((&stream).write(b"GET"), Err(error) if error.kind() != std::io::ErrorKind::WouldBlock)
    });
    assert_eq!(server.client().get("/healthz").status, 200);
    let _ = stream.read(&mut [0]);
}
