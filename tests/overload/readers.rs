//! Clients that ask for much and do not read it.

use super::*;

const READERS: usize = 40;
/// MiB of the answer: more than the system's own buffers take for a connection.
const LARGE: usize = 10;

/// Connections whose answer has begun to come, and is not read.
fn readers_of(server: &Server, request: &[u8]) -> Vec<TcpStream> {
    let mut streams: Vec<TcpStream> = (0..READERS).map(|_| connect(server)).collect();
    for stream in &mut streams {
        stream.write_all(request).expect("a request can be sent");
        stream.read_exact(&mut [0; 8]).expect("an answer begins");
    }
    streams
}

#[test]
fn stalled_readers_cost_no_copy_of_their_reply_and_finally_get_all_of_it() {
    let _turn = turn();
    let server = Server::start();
    let (client, drawer) = large_drawer(&server, LARGE);
    let request = whole_drawer(&client, &drawer);
    let expected = client.get(&format!("/v3/container/drawer/{}?showItems=true", encoded(&drawer))).body;
    assert!(expected.len() as u64 > LARGE as u64 * MIB, "{} bytes are not large", expected.len());
    let before = peak(&server);
    let mut streams = readers_of(&server, &request);
    assert_serves(&server);
    // With a copy for each it would be 400 MiB.
    assert_peak(&server, before, 100 * MIB);
    for stream in streams.iter_mut().step_by(10) {
        // The version has been read.
        let (status, body) = next_answer(stream).expect("all of it comes");
        assert_eq!(status, 200);
        assert!(body == expected, "not what others get");
    }
}

#[test]
fn pipelined_requests_with_unread_answers_pile_up_at_the_client() {
    let _turn = turn();
    let server = Server::start();
    let (client, drawer) = large_drawer(&server, 1);
    let request = whole_drawer(&client, &drawer).repeat(50);
    client.get(&format!("/v3/container/drawer/{}?showItems=true", encoded(&drawer))).ok();
    let before = peak(&server);
    let mut streams: Vec<TcpStream> = (0..READERS).map(|_| connect(&server)).collect();
    let push = |streams: &mut Vec<TcpStream>| {
        let taken = |stream: &mut TcpStream| std::iter::from_fn(|| stream.write(&request).ok()).sum::<usize>();
        streams.iter_mut().map(taken).sum::<usize>()
    };
    streams.iter().for_each(|stream| stream.set_nonblocking(true).expect("it can be set"));
    push(&mut streams);
    // Until both sides' buffers are full.
    wait_until("no more requests are taken", || push(&mut streams.iter().map(clone).collect()) == 0);
    assert_serves(&server);
    // Each client has requested thousands of MiB. Requests ahead of the answers are read up to 128
    // KiB, and a parsed request is some ten times larger.
    assert_peak(&server, before, READERS as u64 * 12 * MIB);
}

fn clone(stream: &TcpStream) -> TcpStream {
    stream.try_clone().expect("a socket can be shared")
}

#[test]
fn a_content_that_nobody_takes_is_not_read_ahead() {
    let _turn = turn();
    let server = Server::start();
    let client = server.login("editor");
    let bytes: Vec<u8> = (0..32usize << 20).map(|at| ((at * 31) >> 7) as u8).collect();
    let options = json!({ "name": "large.bin", "type": "Document", "folderPath": own_folder() });
    let made = client.upload("/v3/object/create", &options, Some(("large.bin", "application/pdf", &bytes))).ok();
    let path = format!("/v3/object/{}/content", encoded(made["id"].as_str().expect("a new object has an id")));
    let before = peak(&server);
    let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\ntoken: {}\r\n\r\n", token(&client));
    let streams = readers_of(&server, request.as_bytes());
    assert_serves(&server);
    assert!(client.get(&path).body == bytes, "not what was put in");
    // Of 1280 MiB asked for.
    assert_peak(&server, before, 64 * MIB);
    drop(streams);
}

#[test]
fn readers_that_take_nothing_are_disconnected_and_their_replies_freed() {
    let _turn = turn();
    let server = Server::with(&[("SERVER__SLOW_READER_SECONDS", "1")]);
    let (client, drawer) = large_drawer(&server, LARGE);
    let request = whole_drawer(&client, &drawer);
    client.get("/healthz");
    let before = open_files(&server);
    let streams = readers_of(&server, &request);
    assert!(open_files(&server) >= before + READERS / 2, "they are not connected");
    // Those that this test's own clients keep open may come and go.
    wait_until_closed(&server, before);
    assert_serves(&server);
    drop(streams);
}
