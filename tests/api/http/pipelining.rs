//! Requests that are sent before the reply to an earlier one has come (docs/api/README.md,
//! "Requests sent ahead").

use std::io::Write;

use serde_json::json;

use super::raw::{connect, rest};
use super::*;

/// Returns a request that creates a folder, with a body of at least `bytes` bytes.
fn creation(client: &Client, path: &str, bytes: usize, head: &str) -> String {
    let body = format!("{:bytes$}", json!({ "path": path }).to_string());
    let token = client.token();
    let (length, host) = (body.len(), "host: x\r\ncontent-type: application/json");
    format!("POST /v3/folder HTTP/1.1\r\n{host}\r\ntoken: {token}\r\n{head}content-length: {length}\r\n\r\n{body}")
}

/// A server that closes a connection on which nothing comes for a second, so that its replies have
/// an end.
fn server() -> Server {
    Server::with(&[("SERVER__KEEP_ALIVE_SECONDS", "1")])
}

/// Sends requests in one write and nothing more. Returns status and `Connection` of each reply.
fn replies(server: &Server, requests: &str) -> Vec<(u16, String)> {
    let mut stream = connect(server);
    stream.write_all(requests.as_bytes()).expect("the server takes all, though it may not answer all");
    let answer = rest(&mut stream).to_ascii_lowercase();
    let of_reply = |reply: &str| {
        let status = reply[..3].parse().expect("a reply begins with its status");
        let connection = reply.lines().find_map(|line| line.strip_prefix("connection: "));
        (status, connection.unwrap_or_default().to_owned())
    };
    answer.split("http/1.1 ").skip(1).map(of_reply).collect()
}

/// Looks for a folder on a new connection. The server may be closing the last one, which was idle
/// during the wait for the replies.
fn exists(client: &Client, path: &str) -> bool {
    client.afresh().call("folder-get", &[&path]).send().status == 200
}

/// Asserts that nothing follows a reply that closes the connection, and that no request without a
/// reply was carried out.
fn assert_ends_with_close(client: &Client, replies: &[(u16, String)], paths: &[String], what: &str) {
    let closing = replies.iter().position(|(_, connection)| connection == "close");
    assert!(closing.is_none_or(|place| place + 1 == replies.len()), "{what}: {replies:?}");
    for (place, path) in paths.iter().enumerate() {
        let is_answered_well = replies.get(place).is_some_and(|(status, _)| *status == 200);
        assert_eq!(exists(client, path), is_answered_well, "{what}: {path}, {replies:?}");
    }
}

#[test]
fn a_change_behind_a_reply_that_closes_the_connection_is_not_carried_out() {
    let server = server();
    let client = server.login("editor");
    for bytes in [0, 3000, 6000, 40_000, 60_000] {
        let folder = own_folder();
        let paths: Vec<String> = (0..3).map(|number| format!("{folder}/{number}")).collect();
        let requests: String = paths.iter().map(|path| creation(&client, path, bytes, "")).collect();
        let replies = replies(&server, &requests);
        assert_eq!(replies.first().map(|(status, _)| *status), Some(200), "{bytes}");
        assert_ends_with_close(&client, &replies, &paths, &format!("{bytes} bytes"));
    }
}

#[test]
fn a_change_pipelined_behind_connection_close_is_not_executed() {
    let server = server();
    let client = server.login("editor");
    let folder = own_folder();
    let (first, second) = (format!("{folder}/first"), format!("{folder}/second"));
    let requests = creation(&client, &first, 0, "connection: close\r\n") + &creation(&client, &second, 0, "");
    assert_eq!(replies(&server, &requests), [(200, "close".to_owned())]);
    assert!(exists(&client, &first) && !exists(&client, &second));
}

#[test]
fn a_change_behind_the_unread_body_of_a_refused_one_is_not_carried_out() {
    let server = server();
    let client = server.login("editor");
    let stranger = server.client_with(&json!("nobody"));
    for bytes in [6000, 40_000] {
        let folder = own_folder();
        let paths = [format!("{folder}/first"), format!("{folder}/second")];
        let requests = creation(&stranger, &paths[0], bytes, "") + &creation(&client, &paths[1], 0, "");
        let replies = replies(&server, &requests);
        assert_eq!(replies.first().map(|(status, _)| *status), Some(401), "{bytes}");
        assert_ends_with_close(&client, &replies, &paths, &format!("{bytes} bytes"));
    }
}

#[test]
fn a_change_sent_ahead_behind_reads_is_carried_out_or_refused() {
    let server = server();
    let client = server.login("editor");
    let read = format!("GET /v3/folder/home HTTP/1.1\r\nhost: x\r\ntoken: {}\r\n\r\n", client.token());
    for bytes in [0, 6000, 40_000] {
        let path = own_folder();
        let requests = read.repeat(3) + &creation(&client, &path, bytes, "");
        let replies = replies(&server, &requests);
        assert!(replies.len() >= 3, "{bytes}: {replies:?}");
        let (status, connection) = replies.last().expect("the reads are answered");
        assert_eq!(exists(&client, &path), replies.len() == 4 && *status == 200, "{bytes}: {replies:?}");
        assert!(*status == 200 || (*status == 503 && connection == "close"), "{bytes}: {replies:?}");
    }
}

#[test]
fn reads_sent_ahead_are_all_answered() {
    let server = server();
    let client = server.login("editor");
    let read = format!("GET /v3/folder/home HTTP/1.1\r\nhost: x\r\ntoken: {}\r\n\r\n", client.token());
    let replies = replies(&server, &read.repeat(30));
    assert_eq!(replies.len(), 30);
    assert!(replies.iter().all(|(status, connection)| *status == 200 && connection != "close"), "{replies:?}");
}
