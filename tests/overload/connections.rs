//! Connections, many of them, that ask for nothing.

use super::*;

/// Returns a number of connections: more than two thousand, or fewer if this process may not open
/// that many beside other tests.
fn many() -> usize {
    let limits = std::fs::read_to_string("/proc/self/limits").expect("limits can be read");
    let files =
        limits.lines().find_map(|line| line.strip_prefix("Max open files")?.split_whitespace().next()?.parse().ok());
    // Without a number there is no limit.
    files.map_or(2500, |files: usize| (files / 8).min(2500))
}

#[test]
fn thousands_of_silent_connections_are_let_go_and_others_served_meanwhile() {
    let _turn = turn();
    let server = Server::with(&[("SERVER__SLOW_REQUEST_SECONDS", "10")]);
    assert_serves(&server);
    let (before, files) = (peak(&server), open_files(&server));
    let streams: Vec<TcpStream> = (0..many()).map(|_| connect(&server)).collect();
    // On a slow machine the first are cut off before the last are connected.
    wait_until("they are connected", || open_files(&server) >= files + streams.len() / 2);
    assert_serves(&server);
    // 50 KiB for each would be much.
    assert_peak(&server, before, streams.len() as u64 * (50 << 10));
    wait_until_closed(&server, files);
    assert_serves(&server);
}

#[test]
fn beyond_the_limit_clients_wait_and_are_served_once_there_is_room() {
    let _turn = turn();
    const LIMIT: usize = 50;
    let server = Server::with(&[
        ("SERVER__WORKERS", "1"),
        ("SERVER__MAX_CONNECTIONS", "50"),
        ("SERVER__SLOW_REQUEST_SECONDS", "3"),
    ]);
    // By then its threads run, and have opened their files.
    assert_serves(&server);
    let before = peak(&server);
    let files = open_files(&server);
    let silent: Vec<TcpStream> = (0..4 * LIMIT).map(|_| connect(&server)).collect();
    // All that is beyond is in the system's hands and costs this process nothing; a few may be on
    // their way to a worker. Each is open twice.
    wait_until("the limit is reached", || open_files(&server) >= files + 2 * (LIMIT - 4));
    assert!(open_files(&server) <= files + 2 * LIMIT + 16, "{} files are open", open_files(&server) - files);
    // Behind all of them: served when those have been cut off.
    assert_serves(&server);
    assert_peak(&server, before, 64 * MIB);
    drop(silent);
}

#[test]
fn idle_connections_that_have_been_answered_are_closed_in_time() {
    let _turn = turn();
    let server = Server::with(&[("SERVER__KEEP_ALIVE_SECONDS", "2")]);
    assert_serves(&server);
    let files = open_files(&server);
    let mut streams: Vec<TcpStream> = (0..200).map(|_| connect(&server)).collect();
    for stream in &mut streams {
        stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").expect("a request can be sent");
        assert_eq!(next_answer(stream).map(|(status, _)| status), Some(200));
    }
    wait_until_closed(&server, files);
    // The server has closed them, and not this side.
    assert!(streams.iter_mut().all(|stream| next_answer(stream).is_none()));
    assert_serves(&server);
}

/// Sends these bytes now and then until the server has closed the connection.
fn drip_until_closed(what: &str, stream: TcpStream, drip: &[u8]) {
    stream.set_nonblocking(true).expect("it can be set");
    let waits = |error: &std::io::Error| error.kind() == std::io::ErrorKind::WouldBlock;
    wait_patiently_until(what, || {
        let sent = (&stream).write_all(drip);
        let came = (&stream).read(&mut [0; 4096]);
        sent.is_err_and(|error| !waits(&error)) || came.map_or_else(|error| !waits(&error), |count| count == 0)
    });
}

#[test]
fn clients_that_send_single_bytes_are_cut_off_and_long_replies_are_not() {
    let _turn = turn();
    let server = Server::with(&[("SERVER__KEEP_ALIVE_SECONDS", "1"), ("SERVER__SLOW_REQUEST_SECONDS", "1")]);
    let client = server.login("editor");
    let drawer = client.drawer(&own_folder(), "followed", 3);
    let files = open_files(&server);
    let mut following = connect(&server);
    let path = format!("/v3/container/drawer/{}", encoded(&drawer));
    let target = format!("/v3/container/{}/events", encoded(&drawer));
    write!(following, "GET {target} HTTP/1.1\r\nhost: x\r\ntoken: {}\r\n\r\n", token(&client)).expect("it can be sent");
    let mut head = [0; 15];
    following.read_exact(&mut head).expect("it is answered");
    assert_eq!(&head, b"HTTP/1.1 200 OK");
    const HEALTH: &str = "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n";
    for (what, request, drip) in [
        ("a second head", format!("{HEALTH}GET /heal"), "x"),
        ("empty lines", HEALTH.to_owned(), "\r\n"),
        (
            "a body that nobody wants",
            "POST /nowhere HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n".to_owned(),
            "1\r\nx\r\n",
        ),
    ] {
        let mut stream = connect(&server);
        stream.write_all(request.as_bytes()).expect("it can be sent");
        drip_until_closed(what, stream, drip.as_bytes());
    }
    // By now more time has passed than each of them had, and the follower's connection still works.
    client.put(&path, &json!({ "capacity": 7 })).ok();
    let mut told = Vec::new();
    while !String::from_utf8_lossy(&told).contains("event: ") {
        let mut some = [0; 512];
        let count = following.read(&mut some).expect("it is told");
        assert!(count > 0, "it was cut off");
        told.extend_from_slice(&some[..count]);
    }
    drop(following);
    wait_until_closed(&server, files);
}

/// A head takes some 4 KB until its turn comes, and the shortest there is has 26 bytes.
#[test]
fn requests_that_are_sent_ahead_wait_with_their_client() {
    const CONNECTIONS: usize = 24;
    const AHEAD: usize = 5000;
    let _turn = turn();
    let server = Server::start();
    let before = peak(&server);
    let heads = b"GET /nowhere HTTP/1.1\r\nhost:x\r\n\r\n".repeat(AHEAD);
    let mut streams: Vec<TcpStream> = (0..CONNECTIONS).map(|_| connect(&server)).collect();
    for stream in &mut streams {
        // As many as go out; nothing is read yet.
        stream.set_nonblocking(true).expect("it is a socket");
        let mut sent = 0;
        while let Ok(more) = stream.write(&heads[sent..])
            && more > 0
        {
            sent += more;
        }
        stream.set_nonblocking(false).expect("it is a socket");
    }
    // Others are served meanwhile.
    let client = server.client();
    for _ in 0..50 {
        assert_eq!(client.get("/healthz").status, 200);
    }
    assert_peak(&server, before, CONNECTIONS as u64 * 3 * MIB);
    // A client that reads gets all replies, in order.
    drop(streams.split_off(1));
    let mut stream = connect(&server);
    let mut reading = stream.try_clone().expect("it is a socket");
    let reader = std::thread::spawn(move || {
        for n in 0..AHEAD {
            assert_eq!(next_answer(&mut reading).expect("each is answered").0, 404, "{n}");
        }
    });
    stream.write_all(&heads).expect("it reads on");
    reader.join().expect("all are answered");
}
