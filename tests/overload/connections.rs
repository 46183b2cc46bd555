//! Connections, many of them, that ask for nothing.

use super::*;

/// More than two thousand, or what this process may have open beside all that other tests have.
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
    // Its threads have come up then, and have open what they need.
    assert_serves(&server);
    let before = peak(&server);
    let files = open_files(&server);
    let silent: Vec<TcpStream> = (0..4 * LIMIT).map(|_| connect(&server)).collect();
    // All that is beyond is in the system's hands and costs this process nothing; a few may be on their way to a worker.
    wait_until("the limit is reached", || open_files(&server) >= files + LIMIT - 4);
    assert!(open_files(&server) <= files + LIMIT + 16, "{} files are open", open_files(&server) - files);
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
