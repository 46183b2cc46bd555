//! Clients that send little by little, or stop in the middle.

use std::net::Shutdown;

use super::*;

const WRITERS: usize = 300;

#[test]
fn many_heads_that_drip_are_cut_off_and_others_served_meanwhile() {
    let _turn = turn();
    let server = Server::with(&[("SERVER__SLOW_REQUEST_SECONDS", "2")]);
    assert_serves(&server);
    let (before, files) = (peak(&server), open_files(&server));
    let mut streams: Vec<TcpStream> = (0..WRITERS).map(|_| connect(&server)).collect();
    for stream in &mut streams {
        stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\nx-long: ").expect("half a head can be sent");
    }
    go_on_until_cut_off(&server, &streams, files);
    assert_peak(&server, before, 64 * MIB);
}

/// Sends byte by byte until all connections are cut off, whatever they have sent so far. The open
/// files return to their number before, and others are served.
fn go_on_until_cut_off(server: &Server, streams: &[TcpStream], files: usize) {
    assert_serves(server);
    wait_until("they are all cut off", || {
        streams.iter().for_each(|mut stream| drop(stream.write(b"y")));
        open_files(server) <= files + 4
    });
    assert_serves(server);
}

#[test]
fn bodies_that_drip_are_cut_off_and_others_served_meanwhile() {
    let _turn = turn();
    let server = Server::with(&[("LIMITS__BODY_SECONDS", "2")]);
    assert_serves(&server);
    let client = server.login("editor");
    let (before, files) = (peak(&server), open_files(&server));
    // The rest is so long that no client finishes it byte by byte, however often it is tried.
    let head = post(&client, "/v3/object", &json!({ "sources": ["x".repeat(60_000)] }));
    let mut streams: Vec<TcpStream> = (0..WRITERS).map(|_| connect(&server)).collect();
    for stream in &mut streams {
        stream.write_all(&head[..head.len() - 50_000]).expect("a part of a body can be sent");
    }
    go_on_until_cut_off(&server, &streams, files);
    assert_peak(&server, before, 64 * MIB);
}

#[test]
fn uploads_that_stop_in_the_middle_leave_nothing_behind() {
    let _turn = turn();
    let server = Server::start();
    let client = server.login("editor");
    let folder = own_folder();
    client.story(&folder, "there.xml");
    let files = open_files(&server);
    let before = peak(&server);
    let unfinished = server.data().join("content/tmp");
    let count = || std::fs::read_dir(&unfinished).expect("there is such a folder").count();
    let options = json!({ "name": "half.xml", "type": "Story", "folderPath": folder });
    let part = "--b\r\ncontent-disposition: form-data; name=";
    let begun = format!("{part}\"options\"\r\n\r\n{options}\r\n{part}\"content\"\r\n\r\n");
    let head = format!(
        "POST /v3/object/create HTTP/1.1\r\nhost: x\r\ntoken: {}\r\ncontent-type: multipart/form-data; boundary=b\r\n\
         content-length: 100000000\r\n\r\n{begun}",
        token(&client)
    );
    // Enough that it lies in a file.
    let bytes = [head.into_bytes(), vec![b'x'; 12 << 20]].concat();
    // Each sends at once: the server closes a connection that sends nothing for long.
    let begin_upload = |_| {
        let mut stream = connect(&server);
        stream.write_all(&bytes).expect("a part can be sent");
        stream
    };
    let streams: Vec<TcpStream> = (0..20).map(begin_upload).collect();
    wait_until("all of them are being written", || count() == streams.len());
    assert_serves(&server);
    // 240 MiB have come: they are on disk.
    assert_peak(&server, before, 120 * MIB);
    for (number, stream) in streams.iter().enumerate() {
        // Some say that they have no more to say, some are just gone.
        if number % 2 == 0 {
            stream.shutdown(Shutdown::Write).expect("it can be closed");
        }
    }
    drop(streams);
    wait_until("what was written is removed", || count() == 0);
    wait_until_closed(&server, files);
    client.get(&format!("/v3/object/{}", encoded(&format!("{folder}/half.xml")))).fails(404, "ObjectNotFound");
}
