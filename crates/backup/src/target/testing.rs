//! An S3 server in memory for tests, which can fail in the ways of real ones.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use url::Url;

use super::s3::S3Timing;
use super::{BackupTarget, S3Settings};
use crate::{BackupResult, Sha256Hash};

/// The one bucket, and the one key that may use it.
const BUCKET: &str = "bucket";
pub(super) const KEY_ID: &str = "key-of-tests";
pub(super) const SECRET_KEY: &str = "secret-of-tests";

/// The entries of a page of a listing, few so that there are several pages.
const PAGE: usize = 2;
/// The least size of all parts but the last.
const LEAST_PART: usize = 5 << 20;

/// A way in which the server fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ServerFault {
    /// Refuses conditional puts with this status and code.
    RefusesConditions(u16, &'static str),
    /// Puts whether the condition holds or not.
    IgnoresConditions,
    /// Answers with this status and code.
    Answers(u16, &'static str),
    /// Answers with this status and code, once the request is carried out.
    AnswersAfterwards(u16, &'static str),
    /// Reads requests, and answers nothing until the client ends the connection.
    Silent,
    /// Ends connections in place of an answer.
    CutsConnections,
    /// Ends connections after half of the body of an object.
    CutsBodies,
    /// Announces and sends half of the bodies of objects.
    ShortensBodies,
    /// Changes a bit of each body of an object.
    AltersBodies,
}

#[derive(Default)]
struct ServerState {
    objects: BTreeMap<String, Vec<u8>>,
    uploads: BTreeMap<String, BTreeMap<u32, Vec<u8>>>,
    /// The fault, and the number of requests that it still meets.
    fault: Option<(ServerFault, u32)>,
    /// Method and target of each request.
    requests: Vec<String>,
}

/// A running server.
pub(super) struct S3Server {
    state: Arc<Mutex<ServerState>>,
    address: String,
    folder: tempfile::TempDir,
}

impl S3Server {
    pub fn start() -> S3Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::new(Mutex::new(ServerState::default()));
        let weak = Arc::downgrade(&state);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let Some(state) = weak.upgrade() else { return };
                thread::spawn(move || serve(&stream.unwrap(), &state));
            }
        });
        S3Server { state, address, folder: tempfile::tempdir().unwrap() }
    }

    pub fn open(&self, address: &str) -> BackupResult<BackupTarget> {
        self.open_as(address, SECRET_KEY, KEY_ID)
    }

    pub fn open_as(&self, address: &str, secret_key: &str, key_id: &str) -> BackupResult<BackupTarget> {
        let credentials = format!("aws_access_key_id = {key_id}\naws_secret_access_key = {secret_key}\n");
        std::fs::write(self.folder().join("credentials"), credentials).unwrap();
        BackupTarget::open_bucket(address, &self.settings(), S3Timing::default())
    }

    /// Opens a target whose requests may take that long.
    pub fn open_patiently(&self, address: &str, request: Duration) -> BackupResult<BackupTarget> {
        self.open(address)?;
        let timing = S3Timing { request, ..S3Timing::default() };
        BackupTarget::open_bucket(address, &self.settings(), timing)
    }

    pub fn settings(&self) -> S3Settings {
        let credentials_file = Some(self.folder().join("credentials"));
        S3Settings { endpoint: Some(self.address.clone()), credentials_file, ..S3Settings::default() }
    }

    /// A folder for files of a test.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Lets the next requests meet a fault, or all.
    pub fn fail(&self, fault: ServerFault, requests: u32) {
        self.state().fault = Some((fault, requests));
    }

    pub fn recover(&self) {
        self.state().fault = None;
    }

    pub fn put(&self, key: &str, bytes: Vec<u8>) {
        self.state().objects.insert(key.to_owned(), bytes);
    }

    pub fn object(&self, key: &str) -> Option<Vec<u8>> {
        self.state().objects.get(key).cloned()
    }

    /// The keys of all objects.
    pub fn keys(&self) -> Vec<String> {
        self.state().objects.keys().cloned().collect()
    }

    /// The number of unfinished uploads.
    pub fn uploads(&self) -> usize {
        self.state().uploads.len()
    }

    /// Takes the requests since the last call.
    pub fn requests(&self) -> Vec<String> {
        std::mem::take(&mut self.state().requests)
    }

    fn state(&self) -> MutexGuard<'_, ServerState> {
        self.state.lock().unwrap()
    }
}

struct ServerRequest {
    method: String,
    url: Url,
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

struct ServerReply {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
}

fn reply(status: u16, body: impl Into<Vec<u8>>) -> ServerReply {
    ServerReply { status, headers: Vec::new(), body: body.into() }
}

fn refusal(status: u16, code: &str) -> ServerReply {
    reply(status, format!("<Error><Code>{code}</Code><Message>This is what it says.</Message></Error>"))
}

/// Answers the requests of a connection.
fn serve(stream: &TcpStream, state: &Mutex<ServerState>) {
    let mut reader = BufReader::new(stream);
    while let Some(request) = read_request(&mut reader) {
        let fault = state.lock().unwrap().meet(&request);
        match fault {
            Some(ServerFault::CutsConnections) => return drop(stream.shutdown(std::net::Shutdown::Both)),
            Some(ServerFault::Silent) => return drop(reader.read_to_end(&mut Vec::new())),
            _ => {}
        }
        let mut reply = match fault {
            Some(ServerFault::Answers(status, code)) => refusal(status, code),
            _ => state.lock().unwrap().carry_out(&request, fault),
        };
        if let Some(ServerFault::AnswersAfterwards(status, code)) = fault {
            reply = refusal(status, code);
        }
        let is_object = request.method == "GET" && request.url.query().is_none() && reply.status < 300;
        let whole = reply.body.len();
        let (mut announced, mut sent) = (whole, whole);
        match fault.filter(|_| is_object) {
            Some(ServerFault::CutsBodies) => sent = whole / 2,
            Some(ServerFault::ShortensBodies) => (announced, sent) = (whole / 2, whole / 2),
            Some(ServerFault::AltersBodies) => reply.body[whole / 2] ^= 1,
            _ => {}
        }
        let mut head = format!("HTTP/1.1 {} X\r\nContent-Length: {announced}\r\n", reply.status);
        for (name, value) in &reply.headers {
            head += &format!("{name}: {value}\r\n");
        }
        let mut stream = stream;
        let body = if request.method == "HEAD" { &[] } else { &reply.body[..sent] };
        if stream.write_all(format!("{head}\r\n").as_bytes()).and_then(|()| stream.write_all(body)).is_err() {
            return;
        }
        if sent < announced {
            return drop(stream.shutdown(std::net::Shutdown::Both));
        }
    }
}

fn read_request(reader: &mut impl BufRead) -> Option<ServerRequest> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
    let mut words = line.split(' ');
    let (method, target) = (words.next()?.to_owned(), words.next()?);
    let url = Url::parse(&format!("http://server{target}")).ok()?;
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.insert(name.to_ascii_lowercase(), value.to_owned());
    }
    let length = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(ServerRequest { method, url, headers, body })
}

impl ServerState {
    /// Notes a request, and returns the fault that it meets.
    fn meet(&mut self, request: &ServerRequest) -> Option<ServerFault> {
        self.requests.push(format!("{} {}", request.method, request.url.path()));
        let (fault, left) = self.fault.as_mut()?;
        *left = left.checked_sub(1)?;
        Some(*fault)
    }

    fn carry_out(&mut self, request: &ServerRequest, fault: Option<ServerFault>) -> ServerReply {
        let header = |name: &str| request.headers.get(name).map_or("", String::as_str);
        let query: BTreeMap<_, _> = request.url.query_pairs().into_owned().collect();
        let (bucket, key) = request.url.path()[1..].split_once('/').unwrap_or((&request.url.path()[1..], ""));
        if !header("authorization").contains(&format!("Credential={KEY_ID}/")) {
            return refusal(403, "InvalidAccessKeyId");
        }
        if bucket != BUCKET {
            return refusal(404, "NoSuchBucket");
        }
        if !request.body.is_empty() && header("x-amz-content-sha256") != Sha256Hash::of(&request.body).to_string() {
            return refusal(400, "XAmzContentSHA256Mismatch");
        }
        match (request.method.as_str(), query.get("uploadId")) {
            ("GET", _) if key.is_empty() => self.list(&query),
            ("GET" | "HEAD", _) => self.get(key, header("range"), header("if-match")),
            ("PUT", None) => self.put(key, request.body.clone(), header("if-none-match") == "*", fault),
            ("DELETE", None) => {
                self.objects.remove(key);
                reply(204, "")
            }
            ("POST", None) => {
                static NEXT: AtomicU32 = AtomicU32::new(0);
                let id = NEXT.fetch_add(1, Ordering::Relaxed).to_string();
                self.uploads.insert(id.clone(), BTreeMap::new());
                let key = format!("<Bucket>{BUCKET}</Bucket><Key>{key}</Key><UploadId>{id}</UploadId>");
                reply(200, format!("<InitiateMultipartUploadResult>{key}</InitiateMultipartUploadResult>"))
            }
            (method, Some(upload)) => {
                let number = query.get("partNumber").map(|number| number.parse().unwrap());
                self.upload(method, key, upload, number, &request.body)
            }
            _ => refusal(405, "MethodNotAllowed"),
        }
    }

    fn upload(&mut self, method: &str, key: &str, upload: &str, number: Option<u32>, body: &[u8]) -> ServerReply {
        let Some(parts) = self.uploads.get_mut(upload) else { return refusal(404, "NoSuchUpload") };
        match (method, number) {
            ("PUT", Some(number)) => {
                parts.insert(number, body.to_owned());
                ServerReply { headers: vec![("ETag", tag(body))], ..reply(200, "") }
            }
            ("POST", _) => {
                let parts: Vec<_> = self.uploads.remove(upload).unwrap().into_values().collect();
                if parts.iter().rev().skip(1).any(|part| part.len() < LEAST_PART) {
                    return refusal(400, "EntityTooSmall");
                }
                let bytes = parts.concat();
                let tag = tag(&bytes);
                self.objects.insert(key.to_owned(), bytes);
                let result =
                    format!("<CompleteMultipartUploadResult><ETag>{tag}</ETag></CompleteMultipartUploadResult>");
                reply(200, result)
            }
            _ => {
                self.uploads.remove(upload);
                reply(204, "")
            }
        }
    }

    fn put(&mut self, key: &str, body: Vec<u8>, is_new: bool, fault: Option<ServerFault>) -> ServerReply {
        match fault.filter(|_| is_new) {
            Some(ServerFault::RefusesConditions(status, code)) => return refusal(status, code),
            Some(ServerFault::IgnoresConditions) => {}
            _ if is_new && self.objects.contains_key(key) => return refusal(412, "PreconditionFailed"),
            _ => {}
        }
        let headers = vec![("ETag", tag(&body))];
        self.objects.insert(key.to_owned(), body);
        ServerReply { headers, ..reply(200, "") }
    }

    fn get(&self, key: &str, range: &str, if_match: &str) -> ServerReply {
        let Some(bytes) = self.objects.get(key) else { return refusal(404, "NoSuchKey") };
        let tag = tag(bytes);
        if !if_match.is_empty() && if_match != tag {
            return refusal(412, "PreconditionFailed");
        }
        let date = "Sat, 31 Jan 2026 08:00:00 GMT".to_owned();
        let mut headers = vec![("ETag", tag), ("Last-Modified", date)];
        let Some((from, to)) = range.strip_prefix("bytes=").and_then(|range| range.split_once('-')) else {
            return ServerReply { headers, ..reply(200, bytes.clone()) };
        };
        let (from, to): (usize, usize) = (from.parse().unwrap(), to.parse().unwrap());
        let to = to.min(bytes.len() - 1);
        headers.push(("Content-Range", format!("bytes {from}-{to}/{}", bytes.len())));
        ServerReply { headers, ..reply(206, &bytes[from..=to]) }
    }

    fn list(&self, query: &BTreeMap<String, String>) -> ServerReply {
        let of = |name: &str| query.get(name).map_or("", String::as_str);
        let after = of("continuation-token").max(of("start-after"));
        let mut found =
            self.objects.iter().filter(|(key, _)| key.starts_with(of("prefix")) && key.as_str() > after).peekable();
        let (mut text, mut last) = (String::from("<ListBucketResult>"), String::new());
        for (key, bytes) in found.by_ref().take(PAGE) {
            let (size, tag) = (bytes.len(), tag(bytes));
            let date = "<LastModified>2026-01-31T08:00:00.000Z</LastModified>";
            text += &format!("<Contents><Key>{key}</Key><Size>{size}</Size><ETag>{tag}</ETag>{date}</Contents>");
            last.clone_from(key);
        }
        if found.peek().is_some() {
            text += &format!("<NextContinuationToken>{last}</NextContinuationToken>");
        }
        reply(200, text + "</ListBucketResult>")
    }
}

fn tag(bytes: &[u8]) -> String {
    format!("\"{}\"", Sha256Hash::of(bytes))
}
