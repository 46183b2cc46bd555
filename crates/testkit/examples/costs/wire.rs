//! Requests, and a caller that sends them without holding a reply in memory.

use std::fmt::Display;
use std::io::Read;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use stet_testkit::{Endpoint, encoded};

/// The time after which a caller hangs up. Of a reply that takes longer, the received part is
/// counted.
const HANG_UP: Duration = Duration::from_secs(5);
/// The bytes of one reply after which a caller hangs up.
const ENOUGH: u64 = 64 << 20;

/// A request that can be sent any number of times.
#[derive(Clone, Debug)]
pub struct Request {
    pub endpoint: &'static Endpoint,
    path: String,
    headers: Vec<(String, String)>,
    body: Arc<Vec<u8>>,
}

/// The reply to a request, without its body.
#[derive(Debug, Clone)]
pub struct Reply {
    /// The status; `None` if the connection ended before one arrived.
    pub status: Option<u16>,
    /// The bytes of the body, as received.
    pub bytes: u64,
    /// `true` if the caller hung up before the end of the reply.
    pub cut: bool,
    /// The time until the last byte.
    pub took: Duration,
}

impl Request {
    /// Creates a request for an endpoint with these arguments in place of the parameters of its
    /// path.
    pub fn new(id: &str, arguments: &[&dyn Display]) -> Request {
        let endpoint = Endpoint::of(id);
        Request { endpoint, path: endpoint.path_of(arguments), headers: Vec::new(), body: Arc::default() }
    }

    /// Adds a parameter to the query.
    pub fn query(mut self, name: &str, value: impl Display) -> Request {
        let glue = if self.path.contains('?') { '&' } else { '?' };
        self.path = format!("{}{glue}{name}={}", self.path, encoded(&value.to_string()));
        self
    }

    /// Adds a header.
    pub fn header(mut self, name: &str, value: impl Display) -> Request {
        self.headers.push((name.to_owned(), value.to_string()));
        self
    }

    /// Adds a body of JSON.
    pub fn json(self, body: &Value) -> Request {
        self.bytes("application/json", body.to_string().into_bytes())
    }

    /// Adds a body of bytes.
    pub fn bytes(mut self, content_type: &str, body: Vec<u8>) -> Request {
        self.body = Arc::new(body);
        self.header("content-type", content_type)
    }

    /// Adds a multipart form of `options` and files, each with the name of its part, its media type
    /// and its bytes.
    pub fn form(self, options: &Value, files: &[(&str, &str, &[u8])]) -> Request {
        const BOUNDARY: &str = "----stet-costs";
        let part = |name: &str, media_type: &str, bytes: &[u8]| {
            let file = if name == "options" { "" } else { "; filename=\"file\"" };
            let head = format!(
                "--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"{name}\"{file}\r\n\
                 content-type: {media_type}\r\n\r\n"
            );
            [head.as_bytes(), bytes, b"\r\n"].concat()
        };
        let mut body = part("options", "application/json", options.to_string().as_bytes());
        files.iter().for_each(|(name, media_type, bytes)| body.extend(part(name, media_type, bytes)));
        body.extend(format!("--{BOUNDARY}--\r\n").bytes());
        self.bytes(&format!("multipart/form-data; boundary={BOUNDARY}"), body)
    }

    /// Returns roughly the bytes that the request takes on the line: its body, path and headers.
    pub fn size(&self) -> u64 {
        let headers: usize = self.headers.iter().map(|(name, value)| name.len() + value.len() + 4).sum();
        (self.body.len() + self.path.len() + headers + 100) as u64
    }
}

/// A user's connection pool.
#[derive(Clone)]
pub struct Caller {
    agent: ureq::Agent,
    base: String,
    token: Option<String>,
}

impl Caller {
    /// Creates a caller of the server at `base`.
    pub fn new(base: &str, token: Option<String>) -> Caller {
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .allow_non_standard_methods(true)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .timeout_global(Some(HANG_UP * 24))
            .input_buffer_size(256 << 10)
            .output_buffer_size(256 << 10);
        Caller { agent: config.build().new_agent(), base: base.to_owned(), token }
    }

    /// Sends a request and reads its reply to the end, or until the caller hangs up.
    pub fn send(&self, request: &Request) -> Reply {
        let begun = Instant::now();
        let mut bytes = 0;
        match self.open(request) {
            Err(_) => Reply { status: None, bytes, cut: false, took: begun.elapsed() },
            Ok(mut response) => {
                let status = Some(response.status().as_u16());
                let mut reader = response.body_mut().as_reader();
                let mut buffer = vec![0; 256 << 10];
                let (reading, mut cut) = (Instant::now(), false);
                while let Ok(read) = reader.read(&mut buffer) {
                    bytes += read as u64;
                    cut = read > 0 && (reading.elapsed() > HANG_UP || bytes > ENOUGH);
                    if read == 0 || cut {
                        break;
                    }
                }
                Reply { status, bytes, cut, took: begun.elapsed() }
            }
        }
    }

    /// Sends a request, and again while the server is overloaded. Returns its status and the JSON
    /// of its reply.
    pub fn json(&self, request: &Request) -> (u16, Value) {
        let begun = Instant::now();
        loop {
            let (status, value) = match self.open(request) {
                Ok(mut response) => {
                    let mut text = Vec::new();
                    let read = response.body_mut().as_reader().read_to_end(&mut text);
                    let value = read.ok().and_then(|_| serde_json::from_slice(&text).ok()).unwrap_or_default();
                    (response.status().as_u16(), value)
                }
                Err(error) => (0, Value::String(error)),
            };
            if ![0, 429, 503].contains(&status) || begun.elapsed() > HANG_UP * 12 {
                return (status, value);
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Returns the `result` of a success.
    ///
    /// # Errors
    /// The status and the reply of a failure.
    pub fn result(&self, request: &Request) -> Result<Value, String> {
        let (status, mut value) = self.json(request);
        if status != 200 {
            return Err(format!("{} {}: {status} {value}", request.endpoint.id, request.path));
        }
        Ok(if request.endpoint.older() { value } else { value["result"].take() })
    }

    fn open(&self, request: &Request) -> Result<ureq::http::Response<ureq::Body>, String> {
        let uri = format!("{}{}", self.base, request.path);
        let method = request.endpoint.method.to_uppercase();
        let mut builder = ureq::http::Request::builder().method(method.as_str()).uri(&uri);
        for (name, value) in &request.headers {
            builder = builder.header(name, value);
        }
        if let Some(token) = &self.token {
            builder = builder.header("token", token);
        }
        let built = "a request can be built of this";
        let body = request.body.as_slice();
        let sent = match method.as_str() {
            "POST" | "PUT" | "PATCH" => self.agent.run(builder.body(body).expect(built)),
            "DELETE" if !body.is_empty() => {
                let mut deletion = self.agent.delete(&uri);
                for (name, value) in builder.headers_ref().into_iter().flatten() {
                    deletion = deletion.header(name, value);
                }
                deletion.force_send_body().send(body)
            }
            _ => self.agent.run(builder.body(()).expect(built)),
        };
        sent.map_err(|error| error.to_string())
    }
}
