//! Uploads that begin and never end: each has a file open and takes room on the disk.

use super::*;

/// Bytes of a content that are surely on disk, and not only gathered in memory.
const BEGUN: usize = 600 << 10;

/// The beginning of an upload of much more.
fn begin_upload(server: &Server, client: &Client, name: &str) -> TcpStream {
    let mut stream = connect(server);
    let token = token(client);
    let options = json!({ "name": name, "type": "Story", "folderPath": own_folder() });
    let head = format!(
        "POST /v3/object/create HTTP/1.1\r\nhost: x\r\ntoken: {token}\r\ncontent-type: multipart/form-data; boundary=b\r\n\
         content-length: 100000000\r\n\r\n--b\r\ncontent-disposition: form-data; name=\"options\"\r\n\r\n{options}\r\n\
         --b\r\ncontent-disposition: form-data; name=\"content\"; filename=\"a.txt\"\r\ncontent-type: text/plain\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).expect("it can be sent");
    // Who is refused is closed, perhaps while it sends.
    let _ = stream.write_all(&vec![b'x'; BEGUN]);
    stream
}

/// Files of uploads that are not done.
fn unfinished(server: &Server) -> usize {
    std::fs::read_dir(server.data().join("content/tmp")).expect("it can be listed").count()
}

#[test]
fn concurrent_uploads_are_limited_per_user_and_leave_nothing_if_aborted() {
    let _turn = turn();
    let server = Server::with(&[("LIMITS__UPLOADS_AT_ONCE", "8")]);
    let (client, other) = (server.login("editor"), server.login("reporter"));
    let mut begun: Vec<TcpStream> =
        (0..2).map(|number| begin_upload(&server, &client, &format!("{number}.txt"))).collect();
    wait_until("they are on their way to the disk", || unfinished(&server) == 2);
    assert_eq!(client.metric("stet_uploads"), 2.0);
    let mut third = begin_upload(&server, &client, "third.txt");
    // The upload was still being sent, so its answer may be lost with the connection.
    assert!(next_answer(&mut third).is_none_or(|(status, _)| status == 503));
    wait_until("it is refused", || client.metric("stet_overloaded_total{what=\"uploads\"}") == 1.0);
    assert_eq!(unfinished(&server), 2);
    let upload = |client: &Client, name: &str| {
        let options = json!({ "name": name, "type": "Story", "folderPath": own_folder() });
        client.upload("/v3/object/create", &options, Some((name, "text/plain", &vec![b'y'; 100_000])))
    };
    assert_overloaded(&upload(&client, "fourth.txt"));
    upload(&other, "others.txt").ok();
    client.drawer(&own_folder(), "meanwhile", 3);
    begun.pop();
    wait_until("one that broke off has left nothing", || unfinished(&server) == 1);
    upload(&client, "fifth.txt").ok();
    drop(begun);
    wait_until("nor has the other", || unfinished(&server) == 0 && client.metric("stet_uploads") == 0.0);
}

#[test]
fn uploads_leave_room_on_the_disk_and_all_else_goes_on() {
    let _turn = turn();
    let server = Server::with(&[("STORE__RESERVE_BYTES", "1099511627776")]);
    let client = server.login("editor");
    let upload = |name: &str, bytes: usize| {
        let options = json!({ "name": name, "type": "Story", "folderPath": own_folder() });
        client.upload("/v3/object/create", &options, Some((name, "text/plain", &vec![b'y'; bytes])))
    };
    upload("large.txt", 100_000).fails(507, "StorageFull");
    assert_eq!(unfinished(&server), 0);
    upload("small.txt", 1000).ok();
    assert_serves(&server);
    assert_eq!(client.get("/readyz").json(), json!({ "status": "ready" }));
}

/// Regression test: only uploads left the reserve free. A user could fill the disk by changes until
/// no change was possible.
#[test]
fn large_changes_leave_room_on_the_disk_and_small_ones_and_removals_go_on() {
    let _turn = turn();
    let server = Server::with(&[("STORE__RESERVE_BYTES", "1099511627776")]);
    let client = server.login("editor");
    let folder = format!("{}/many", own_folder());
    client.call("folder-post", &[]).json(&json!({ "path": folder })).ok();
    let stories: Vec<String> = (0..300).map(|number| client.story(&folder, &format!("{number}.xml"))).collect();
    let drawer = client.drawer(&own_folder(), "drawer", 1000);
    let items = format!("/v3/container/drawer/{}/item", encoded(&drawer));
    let add = |sources: &[String]| client.post(&items, &json!({ "sources": sources }));
    add(&stories).fails(507, "StorageFull");
    assert_eq!(client.items(&drawer).len(), 0);
    add(&stories[..100]).ok();
    client.delete(&format!("/v3/object/{}/discard", encoded(&folder))).ok();
    assert_eq!(client.get(&format!("/v3/object/{}", encoded(&stories[0]))).status, 404);
}

#[test]
fn uploads_keep_their_session_alive_and_end_with_it() {
    let _turn = turn();
    let server = Server::with(&[
        ("AUTH__SESSION_IDLE_SECONDS", "2"),
        ("AUTH__FLUSH_SECONDS", "1"),
        ("LIMITS__UPLOAD_PROGRESS_SECONDS", "0"),
    ]);
    let admin = server.login("admin");
    let idle = server.login("reporter");
    let idles = || {
        let sessions = admin.call("stet-session-list-get", &[]).query("user", "reporter").ok();
        sessions["total"].as_u64().is_some_and(|total| total > 0)
    };
    let client = server.login("editor");
    let slow = begin_upload(&server, &client, "slow.txt");
    wait_until("it is on its way to the disk", || unfinished(&server) == 1);
    // Used once more later than the upload was begun.
    idle.get("/v3/folder/home").ok();
    wait_patiently_until("another session that nobody uses has ended", || !idles());
    assert_eq!(unfinished(&server), 1, "the upload goes on");
    let session = client.call("auth-connection-get", &[]).ok()["session"].as_str().expect("it has one").to_owned();
    admin.call("stet-session-delete", &[&session]).ok();
    wait_patiently_until("the upload ends with its session", || unfinished(&server) == 0);
    drop(slow);
}
