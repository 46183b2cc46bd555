//! Requests as bytes, for what no library sends.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};

use super::*;

/// Opens a connection to the server with a timeout for reads.
pub fn connect(server: &Server) -> TcpStream {
    let address = server.base.strip_prefix("http://").expect("the address is known");
    let stream = TcpStream::connect(address).expect("the server takes connections");
    stream.set_read_timeout(Some(PATIENCE)).expect("a time can be set");
    stream.set_write_timeout(Some(PATIENCE)).expect("a time can be set");
    stream
}

/// Reads until the server closes the connection.
pub fn rest(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    // A reset after the answer is as good as an end.
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

/// Sends bytes, which should ask for the connection to be closed, and returns the whole answer.
pub fn ask(server: &Server, request: &str) -> String {
    let mut stream = connect(server);
    // The server may have refused and closed before the last byte.
    let _ = stream.write_all(request.as_bytes());
    rest(&mut stream)
}

/// Sends bytes and nothing more, and returns the whole answer.
pub fn ask_and_end(server: &Server, request: &[u8]) -> String {
    let mut stream = connect(server);
    let _ = stream.write_all(request);
    let _ = stream.shutdown(Shutdown::Write);
    rest(&mut stream)
}

/// Status of the first answer.
pub fn status_of(answer: &str) -> Option<u16> {
    answer.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()
}
