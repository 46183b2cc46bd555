//! Clients that take their time.

use std::io::{Read, Write};
use std::net::TcpStream;

use super::*;

fn connect(server: &Server) -> TcpStream {
    let address = server.base.strip_prefix("http://").expect("the address is known");
    let stream = TcpStream::connect(address).expect("the server takes connections");
    stream.set_read_timeout(Some(PATIENCE)).expect("a time can be set");
    stream
}

/// Sends a head and the beginning of its body, and then a byte now and then for as long as it is taken; gives the answer.
fn trickle(server: &Server, path: &str, media_type: &str, beginning: &str) -> String {
    let token = server.login("editor").token.expect("a login gives a token");
    let mut stream = connect(server);
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: x\r\ntoken: {token}\r\ncontent-type: {media_type}\r\ncontent-length: 100000\r\n\r\n"
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
        assert!(answer.contains("CMS.InvalidBody") && answer.contains("within the 1 seconds"), "{answer}");
    }
    server.login("editor").post("/v3/object", &json!({ "sources": [] })).ok();
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
    server.login("editor").story(&own_folder(), "quick");
}

#[test]
fn a_form_of_too_many_parts_is_refused() {
    let server = Server::shared();
    let client = server.login("editor");
    let form = |parts: usize| {
        let options = json!({ "name": "parts", "type": "Story", "folderPath": own_folder() });
        let options = format!("--b\r\ncontent-disposition: form-data; name=\"options\"\r\n\r\n{options}\r\n");
        let more = |n| format!("--b\r\ncontent-disposition: form-data; name=\"more{n}\"\r\n\r\nx\r\n");
        let more: String = (1..parts).map(more).collect();
        client.send(
            "POST",
            "/v3/object/create",
            &[("content-type", BOUNDARY)],
            format!("{options}{more}--b--\r\n").as_bytes(),
        )
    };
    form(32).ok();
    let error = form(33).fails(413, "TooLarge");
    assert_eq!(error["details"]["limit"], 32);
}

#[test]
fn the_head_of_a_part_has_no_more_than_32_headers_and_65536_bytes() {
    let server = Server::shared();
    let client = server.login("editor");
    let form = |name: &str, headers: &str| {
        let options = json!({ "name": "heads", "type": "Story", "folderPath": own_folder() });
        let options = format!("--b\r\ncontent-disposition: form-data; name=\"options\"\r\n\r\n{options}\r\n");
        let more = format!("--b\r\ncontent-disposition: form-data; name=\"{name}\"\r\n{headers}\r\nx\r\n--b--\r\n");
        client.send("POST", "/v3/object/create", &[("content-type", BOUNDARY)], format!("{options}{more}").as_bytes())
    };
    form("more", &"x: y\r\n".repeat(31)).ok();
    form("more", &"x: y\r\n".repeat(32)).fails(400, "InvalidBody");
    form(&"n".repeat(60_000), "").ok();
    form(&"n".repeat(70_000), "").fails(400, "InvalidBody");
}

/// Status of what is asked with a head of its own; `None` if the connection is just closed.
fn status_of(server: &Server, headers: &str) -> Option<u16> {
    let mut stream = connect(server);
    let request = format!("GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{headers}\r\n");
    let _ = stream.write_all(request.as_bytes());
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()
}

#[test]
fn a_head_has_no_more_than_96_headers_and_131072_bytes() {
    let server = Server::shared();
    assert_eq!(status_of(server, &"x: y\r\n".repeat(94)), Some(200));
    let refused = |status: Option<u16>| status.is_none_or(|status| (400..500).contains(&status));
    assert!(refused(status_of(server, &"x: y\r\n".repeat(95))));
    assert_eq!(status_of(server, &format!("x: {}\r\n", "y".repeat(100_000))), Some(200));
    assert!(refused(status_of(server, &format!("x: {}\r\n", "y".repeat(140_000)))));
}

#[test]
#[cfg(target_os = "linux")]
fn who_asks_and_never_reads_is_cut_off() {
    let server = Server::with(&[("SERVER__SLOW_READER_SECONDS", "1")]);
    let token = server.login("editor").token.expect("a login gives a token");
    let mut stream = connect(&server);
    // Until neither side's buffers take any more of what is asked, and what is answered.
    stream.set_nonblocking(true).expect("it can be set");
    let request = format!("GET /v3/folder/home HTTP/1.1\r\nhost: x\r\ntoken: {token}\r\n\r\n").repeat(100);
    wait_until("it is cut off", || {
        let _ = (&stream).write(request.as_bytes());
        stream.take_error().expect("it can be asked").is_some()
            || matches!((&stream).write(b"GET"), Err(error) if error.kind() != std::io::ErrorKind::WouldBlock)
    });
    assert_eq!(server.client().get("/healthz").status, 200);
    let _ = stream.read(&mut [0]);
}
