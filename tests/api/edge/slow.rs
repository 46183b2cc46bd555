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
