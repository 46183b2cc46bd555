//! A client that costs little: prepared requests over kept connections, answers read as far as their length says.

use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Where to.
pub struct Target {
    address: String,
}

impl Target {
    pub fn new(address: &str) -> Target {
        Target { address: address.to_owned() }
    }
}

/// What came of it.
pub struct Load {
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
        let tasks: Vec<_> =
            clients.into_iter().map(|(stream, requests)| tokio::spawn(one(stream, requests, until))).collect();
        let (mut took, mut errors) = (Vec::new(), 0);
        for task in tasks {
            let (times, failed) = task.await.expect("a client runs to its end");
            took.extend(times);
            errors += failed;
        }
        let rate = took.len() as f64 / begun.elapsed().as_secs_f64();
        took.sort_unstable();
        let at = |share: f64| took[((took.len() - 1) as f64 * share) as usize];
        Load { rate, p50: at(0.5), p99: at(0.99), errors }
    })
}

async fn one(mut stream: TcpStream, requests: Vec<Vec<u8>>, until: Instant) -> (Vec<Duration>, usize) {
    let (mut took, mut errors, mut buffer) = (Vec::new(), 0, Vec::with_capacity(1 << 16));
    // A whole turn each time: an add is followed by its delete, so that the next measurement finds things as this one did.
    loop {
        for request in &requests {
            let sent = Instant::now();
            stream.write_all(request).await.expect("the server reads");
            let status = answer(&mut stream, &mut buffer).await;
            took.push(sent.elapsed());
            errors += usize::from(!matches!(status, 200 | 304));
        }
        if Instant::now() >= until {
            return (took, errors);
        }
    }
}

/// Reads one answer; gives its status.
pub async fn answer(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> u16 {
    buffer.clear();
    let head = loop {
        let read = stream.read_buf(buffer).await.expect("the server answers");
        assert!(read > 0, "the server closed the connection");
        if let Some(end) = buffer.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
    };
    let text = String::from_utf8_lossy(&buffer[..head]).to_ascii_lowercase();
    let status: u16 = text[9..12].parse().expect("an answer begins with its status");
    let length = text.split("content-length: ").nth(1).and_then(|rest| rest.split('\r').next()?.parse().ok());
    let whole = head + if status == 304 { 0 } else { length.unwrap_or(0usize) };
    while buffer.len() < whole {
        assert!(stream.read_buf(buffer).await.expect("the server answers") > 0);
    }
    buffer.drain(..head);
    status
}
