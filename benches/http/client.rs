//! A client that costs little: prepared requests over kept connections, answers read as far as
//! their length says.

use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The measured server: its address, and the protocol of its answers.
pub struct Target {
    address: String,
    speaks: Speaks,
}

#[derive(Clone, Copy)]
enum Speaks {
    Http,
    Redis,
}

impl Target {
    pub fn new(address: &str) -> Target {
        Target { address: address.to_owned(), speaks: Speaks::Http }
    }

    /// A Redis, whose answers are one line each: numbers and simple strings.
    pub fn redis(address: &str) -> Target {
        Target { address: address.to_owned(), speaks: Speaks::Redis }
    }
}

/// The result of a measurement.
pub struct Load {
    /// The number of answers.
    pub answers: usize,
    /// Answers a second.
    pub rate: f64,
    pub p50: Duration,
    pub p99: Duration,
    /// Answers that were neither 200 nor 304.
    pub errors: usize,
}

/// Sends each client's requests in turn for so long, each as soon as the last was answered.
pub fn drive(target: &Target, asked: &[Vec<Vec<u8>>], length: Duration) -> Load {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime can be made");
    runtime.block_on(async {
        let mut clients = Vec::new();
        for requests in asked {
            let stream = TcpStream::connect(&target.address).await.expect("the server listens");
            stream.set_nodelay(true).expect("the option is there");
            clients.push((stream, requests.clone()));
        }
        let begun = Instant::now();
        let until = begun + length;
        let tasks: Vec<_> = clients
            .into_iter()
            .map(|(stream, requests)| tokio::spawn(one(stream, target.speaks, requests, until)))
            .collect();
        let (mut took, mut errors) = (Vec::new(), 0);
        for task in tasks {
            let (times, failed) = task.await.expect("a client runs to its end");
            took.extend(times);
            errors += failed;
        }
        let rate = took.len() as f64 / begun.elapsed().as_secs_f64();
        took.sort_unstable();
        let at = |share: f64| took[((took.len() - 1) as f64 * share) as usize];
        Load { answers: took.len(), rate, p50: at(0.5), p99: at(0.99), errors }
    })
}

/// The body of the answer to one request, which must be 200.
pub fn ask(address: &str, request: &[u8]) -> Vec<u8> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime can be made");
    runtime.block_on(async {
        let mut stream = TcpStream::connect(address).await.expect("the server listens");
        stream.write_all(request).await.expect("the server reads");
        let mut body = Vec::new();
        let status = answer(&mut stream, &mut body).await;
        assert_eq!(status, 200, "{}", String::from_utf8_lossy(&body));
        body
    })
}

async fn one(mut stream: TcpStream, speaks: Speaks, requests: Vec<Vec<u8>>, until: Instant) -> (Vec<Duration>, usize) {
    let (mut took, mut errors, mut buffer) = (Vec::new(), 0, Vec::with_capacity(1 << 16));
    // A whole turn each time: an add is followed by its delete, so that the next measurement finds
    // things as this one did.
    loop {
        for request in &requests {
            let sent = Instant::now();
            stream.write_all(request).await.expect("the server reads");
            let well = match speaks {
                Speaks::Http => matches!(answer(&mut stream, &mut buffer).await, 200 | 304),
                Speaks::Redis => line(&mut stream, &mut buffer).await,
            };
            took.push(sent.elapsed());
            errors += usize::from(!well);
        }
        if Instant::now() >= until {
            return (took, errors);
        }
    }
}

/// The header of an answer of unknown length; its JSON has no line ends.
const CHUNKED: &[u8] = b"\r\ntransfer-encoding: chunked\r\n";

/// Reads one answer, and returns its status.
pub async fn answer(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> u16 {
    buffer.clear();
    let head = loop {
        let read = stream.read_buf(buffer).await.expect("the server answers");
        assert!(read > 0, "the server closed the connection");
        if let Some(end) = buffer.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
    };
    // Looked at as bytes, and no more of them than needed: what the client costs is taken from the
    // server's share of the machine.
    let status = buffer[9..12].iter().fold(0, |status, digit| status * 10 + u16::from(digit - b'0'));
    let is_chunked = buffer[..head].windows(CHUNKED.len()).any(|window| window == CHUNKED);
    while is_chunked && !buffer.ends_with(b"\r\n0\r\n\r\n") {
        assert!(stream.read_buf(buffer).await.expect("the server answers") > 0);
    }
    let length = if status == 304 { 0 } else { content_length(&buffer[..head]) };
    let whole = if is_chunked { buffer.len() } else { head + length };
    while buffer.len() < whole {
        assert!(stream.read_buf(buffer).await.expect("the server answers") > 0);
    }
    buffer.drain(..head);
    status
}

/// Reads one line. Returns whether it is not an error.
async fn line(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> bool {
    buffer.clear();
    while !buffer.ends_with(b"\r\n") {
        assert!(stream.read_buf(buffer).await.expect("the server answers") > 0, "the server closed the connection");
    }
    buffer[0] != b'-'
}

/// The length in the head of an answer; actix writes names in lower case.
fn content_length(head: &[u8]) -> usize {
    const NAME: &[u8] = b"\r\ncontent-length: ";
    let Some(at) = head.windows(NAME.len()).position(|window| window == NAME) else { return 0 };
    let digits = head[at + NAME.len()..].iter().take_while(|byte| byte.is_ascii_digit());
    digits.fold(0, |length, digit| length * 10 + usize::from(digit - b'0'))
}
