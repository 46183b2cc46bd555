//! A client that costs little: prepared requests over kept connections.

use std::time::{Duration, Instant};

use stet_testkit::Server;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The header of a reply of unknown length; its JSON has no line ends.
const CHUNKED: &[u8] = b"\r\ntransfer-encoding: chunked\r\n";

/// A session of a user, who writes requests.
#[derive(Clone)]
pub struct UserSession {
    /// The server's host and port.
    pub address: String,
    token: String,
}

impl UserSession {
    /// Logs a user of the sample in.
    pub fn of(server: &Server, user: &str) -> UserSession {
        let address = server.base.strip_prefix("http://").expect("the server has no TLS").to_owned();
        UserSession { address, token: server.login(user).token().to_owned() }
    }

    /// Logs all users of the sample in who take part.
    pub fn all(server: &Server) -> Vec<UserSession> {
        ["editor", "admin", "reporter"].iter().map(|user| UserSession::of(server, user)).collect()
    }

    /// Returns the bytes of a request without a body.
    pub fn request(&self, method: &str, path: &str) -> Vec<u8> {
        self.request_with(method, path, "application/json", "")
    }

    /// Returns the bytes of a request with a body.
    pub fn request_with(&self, method: &str, path: &str, content_type: &str, body: &str) -> Vec<u8> {
        format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\ntoken: {}\r\ncontent-type: {content_type}\r\n\
             content-length: {}\r\n\r\n{body}",
            self.address,
            self.token,
            body.len()
        )
        .into_bytes()
    }

    /// Returns the bytes of a request with a form of `options` and, if given, a content.
    pub fn form(&self, method: &str, path: &str, options: &serde_json::Value, content: Option<&str>) -> Vec<u8> {
        let mut body = format!("--b\r\ncontent-disposition: form-data; name=\"options\"\r\n\r\n{options}\r\n");
        if let Some(content) = content {
            body += &format!(
                "--b\r\ncontent-disposition: form-data; name=\"content\"; filename=\"text.xml\"\r\n\
                 content-type: text/xml\r\n\r\n{content}\r\n"
            );
        }
        body += "--b--\r\n";
        self.request_with(method, path, "multipart/form-data; boundary=b", &body)
    }
}

/// A connection to the server.
pub struct WireConnection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl WireConnection {
    /// Opens a connection.
    pub async fn open(address: &str) -> WireConnection {
        let stream = TcpStream::connect(address).await.expect("the server listens");
        stream.set_nodelay(true).expect("the option exists");
        WireConnection { stream, buffer: Vec::with_capacity(1 << 16) }
    }

    /// Sends a request and reads its reply. Returns the status.
    pub async fn call(&mut self, request: &[u8]) -> u16 {
        self.stream.write_all(request).await.expect("the server reads");
        let buffer = &mut self.buffer;
        buffer.clear();
        let head = loop {
            let read = self.stream.read_buf(buffer).await.expect("the server replies");
            assert!(read > 0, "the server closed the connection");
            if let Some(end) = buffer.windows(4).position(|four| four == b"\r\n\r\n") {
                break end + 4;
            }
        };
        let status = buffer[9..12].iter().fold(0, |status, digit| status * 10 + u16::from(digit - b'0'));
        let is_chunked = buffer[..head].windows(CHUNKED.len()).any(|window| window == CHUNKED);
        let whole = head + content_length(&buffer[..head]);
        while if is_chunked { !buffer.ends_with(b"\r\n0\r\n\r\n") } else { buffer.len() < whole } {
            assert!(self.stream.read_buf(buffer).await.expect("the server replies") > 0, "a reply is incomplete");
        }
        buffer.drain(..head);
        status
    }

    /// Sends a request until the server is no longer overloaded. Returns the number of repetitions.
    pub async fn call_patiently(&mut self, request: &[u8]) -> usize {
        let mut repetitions = 0;
        loop {
            match self.call(request).await {
                200 => return repetitions,
                429 | 503 => repetitions += 1,
                status => panic!("{status}: {}\n{}", self.body(), String::from_utf8_lossy(request)),
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Returns the body of the last reply.
    pub fn body(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.buffer)
    }
}

/// Returns the length in the head of a reply, whose names are in lower case.
fn content_length(head: &[u8]) -> usize {
    const NAME: &[u8] = b"\r\ncontent-length: ";
    let Some(at) = head.windows(NAME.len()).position(|window| window == NAME) else { return 0 };
    let digits = head[at + NAME.len()..].iter().take_while(|byte| byte.is_ascii_digit());
    digits.fold(0, |length, digit| length * 10 + usize::from(digit - b'0'))
}

/// The results of calls, by their class.
#[derive(Default)]
pub struct CallSamples {
    /// The times of replies, by class.
    pub times: Vec<Vec<Duration>>,
    /// The number of replies other than 200.
    pub failures: usize,
    /// The time from the first call to the last reply.
    pub elapsed: Duration,
}

impl CallSamples {
    /// Adds the time of a reply.
    pub fn add(&mut self, class: usize, took: Duration, status: u16) {
        if self.times.len() <= class {
            self.times.resize_with(class + 1, Vec::new);
        }
        self.times[class].push(took);
        self.failures += usize::from(status != 200);
    }

    /// Adds the results of another client.
    pub fn merge(&mut self, other: CallSamples) {
        self.failures += other.failures;
        self.elapsed = self.elapsed.max(other.elapsed);
        if self.times.len() < other.times.len() {
            self.times.resize_with(other.times.len(), Vec::new);
        }
        self.times.iter_mut().zip(other.times).for_each(|(own, times)| own.extend(times));
    }

    /// Returns the times of a class.
    pub fn of(&self, class: usize) -> &[Duration] {
        self.times.get(class).map_or(&[], Vec::as_slice)
    }

    /// Returns the times of all classes.
    pub fn all(&self) -> Vec<Duration> {
        self.times.concat()
    }

    /// Returns the number of replies per second.
    pub fn rate(&self) -> f64 {
        self.times.iter().map(Vec::len).sum::<usize>() as f64 / self.elapsed.as_secs_f64()
    }
}

/// Runs a future on a runtime of the calling thread.
pub fn run<T>(future: impl Future<Output = T>) -> T {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().build().expect("a runtime can be built").block_on(future)
}

/// Requests of a client with their classes, sent in turn.
pub type ClassedRequests = Vec<(usize, Vec<u8>)>;

/// Sends the requests of each client in turn, each after the last reply, for a time.
pub fn drive(address: &str, clients: Vec<ClassedRequests>, length: Duration) -> CallSamples {
    run(async {
        let begun = Instant::now();
        let mut tasks = Vec::new();
        for requests in clients {
            let mut connection = WireConnection::open(address).await;
            tasks.push(tokio::spawn(async move {
                let mut samples = CallSamples::default();
                let mut turn = requests.iter().cycle();
                while let Some((class, request)) = turn.next().filter(|_| begun.elapsed() < length) {
                    let sent = Instant::now();
                    let status = connection.call(request).await;
                    samples.add(*class, sent.elapsed(), status);
                }
                samples.elapsed = begun.elapsed();
                samples
            }));
        }
        let mut all = CallSamples::default();
        for task in tasks {
            all.merge(task.await.expect("a client runs to its end"));
        }
        all
    })
}
