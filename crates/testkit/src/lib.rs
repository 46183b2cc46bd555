//! What tests share: a server to test against and clients to talk to it, a disk that fails when a test says so, whiteboards that
//! containers are held against, and a family of containers that nobody else has.

mod dice;
mod document;
pub mod drawer;
mod follow;
pub mod shelf;

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

pub use self::dice::{Dice, seed, setting};
pub use self::follow::{Follow, Told};
/// A disk in memory, for the store's own tests and for those of the whole server.
pub use stet_store::fault as disk;

/// Password of `admin` in every test server.
pub const ADMIN_PASSWORD: &str = "admin-secret";
/// Password of the sample's other users.
pub const SAMPLE_PASSWORD: &str = "sample-secret";

/// How long anything may take before a test gives up. No test asserts on time; this only ends what hangs.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A running `stet`, killed when dropped.
pub struct Server {
    child: Child,
    /// `http://127.0.0.1:PORT`
    pub base: String,
    data: Data,
    settings: Vec<(String, String)>,
    log: PathBuf,
}

/// The binary that servers here are: the one built with the tests, or the one that `STET_TEST_BINARY` names.
pub fn binary() -> PathBuf {
    std::env::var_os("STET_TEST_BINARY").map_or_else(built, PathBuf::from)
}

/// Cargo puts test binaries into `deps`, below the folder of the package's own binary.
fn built() -> PathBuf {
    let test = std::env::current_exe().expect("a process has a binary");
    test.parent().and_then(Path::parent).expect("a test lies in a folder of its build").join("stet")
}

enum Data {
    Own(TempDir),
    Given(PathBuf),
}

impl Server {
    /// A server on a new data directory with the sample newsroom.
    pub fn start() -> Server {
        Server::with(&[])
    }

    /// The same with keys of the configuration set, e.g. `("DRAWER__DEFAULT_CAPACITY", "3")`.
    pub fn with(settings: &[(&str, &str)]) -> Server {
        let data = TempDir::new().expect("a temporary directory can be made");
        let settings = settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        Server::spawn(Data::Own(data), settings)
    }

    /// The server that tests share which change nothing but what they make themselves.
    pub fn shared() -> &'static Server {
        static SHARED: OnceLock<(Server, Child)> = OnceLock::new();
        let (server, _) = SHARED.get_or_init(|| {
            let server = Server::start();
            // A static is never dropped. This one waits for the pipe to close, which it does when the tests end, however they do.
            let clean_up = format!("cat; kill -9 {}; rm -rf {:?} {:?}", server.child.id(), server.data(), server.log);
            let watch = Command::new("sh").args(["-c", &clean_up]).stdin(Stdio::piped()).stdout(Stdio::null()).spawn();
            (server, watch.expect("a shell can be started"))
        });
        server
    }

    /// A server on a given directory, which stays when the server ends.
    pub fn on(directory: &Path, settings: &[(&str, &str)]) -> Server {
        let settings = settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        Server::spawn(Data::Given(directory.to_owned()), settings)
    }

    fn spawn(data: Data, settings: Vec<(String, String)>) -> Server {
        let directory = match &data {
            Data::Own(own) => own.path().to_owned(),
            Data::Given(path) => path.clone(),
        };
        let log = directory.with_extension("log");
        let mut child = Server::begin(&directory, &settings, &log);
        let mut lines = BufReader::new(child.stdout.take().expect("its output is piped")).lines();
        let base = loop {
            let line = lines.next().unwrap_or_else(|| {
                panic!("the server ended before it listened:\n{}", std::fs::read_to_string(&log).unwrap_or_default())
            });
            if let Some(base) = line.expect("its output is text").strip_prefix("listening on ") {
                break base.to_owned();
            }
        };
        Server { child, base, data, settings, log }
    }

    /// Starts a process, without waiting for anything.
    fn begin(directory: &Path, settings: &[(String, String)], log: &Path) -> Child {
        let errors = std::fs::OpenOptions::new().create(true).append(true).open(log).expect("a log can be written");
        let mut command = Command::new(binary());
        command
            .current_dir(std::env::temp_dir())
            .args(["serve", "--listen", "127.0.0.1:0", "--data"])
            .arg(directory)
            .env("STET_ADMIN_PASSWORD", ADMIN_PASSWORD)
            .env("STET_SAMPLE_PASSWORD", SAMPLE_PASSWORD)
            // Tests log in often; how hard passwords are to guess is tested where they are hashed.
            .env("STET_AUTH__PASSWORD_MEMORY_KIB", "64")
            .env("STET_AUTH__PASSWORD_ITERATIONS", "1")
            // And none of their sessions may end for another test's login.
            .env("STET_AUTH__SESSIONS_PER_USER", "0")
            .envs(settings.iter().map(|(key, value)| (variable(key), value)))
            .stdout(Stdio::piped())
            .stderr(errors);
        command.spawn().expect("the binary can be started")
    }

    /// The data directory.
    pub fn data(&self) -> &Path {
        match &self.data {
            Data::Own(own) => own.path(),
            Data::Given(path) => path,
        }
    }

    /// What it has logged so far.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// `kill -9`, as a crash would be.
    pub fn kill(&mut self) {
        self.child.kill().expect("it can be killed");
        self.child.wait().expect("it can be waited for");
    }

    /// Starts a server that was killed, and kills it again at some moment of its recovery or soon after.
    pub fn crash_while_starting(&mut self, moment: Duration) {
        self.child = Server::begin(self.data(), &self.settings, &self.log);
        std::thread::sleep(moment);
        self.kill();
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// SIGTERM, without waiting for what comes of it.
    pub fn ask_to_end(&self) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args(["-TERM", &pid]).status().expect("`kill` can be run");
        assert!(sent.success());
    }

    /// SIGTERM; gives the exit code.
    pub fn terminate(&mut self) -> Option<i32> {
        self.ask_to_end();
        self.ended()
    }

    /// Waits until it has ended; gives the exit code.
    pub fn ended(&mut self) -> Option<i32> {
        let log = self.log.clone();
        ended(&mut self.child, || std::fs::read_to_string(&log).unwrap_or_default())
    }

    /// Starts again on the same data directory; kills what still runs.
    pub fn restart(mut self) -> Server {
        if self.child.try_wait().expect("it can be asked").is_none() {
            self.kill();
        }
        let data = std::mem::replace(&mut self.data, Data::Given(PathBuf::new()));
        let settings = std::mem::take(&mut self.settings);
        Server::spawn(data, settings)
    }

    /// Runs `stet check` on the data directory of a server that has ended: exit code and output.
    pub fn check(&self) -> (Option<i32>, String) {
        let output = Command::new(binary())
            .current_dir(std::env::temp_dir())
            .args(["check", "--data"])
            .arg(self.data())
            .output()
            .expect("the binary can be started");
        let text = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8_lossy(&text).into_owned())
    }

    /// A client without a session.
    pub fn client(&self) -> Client {
        Client::at(&self.base, None)
    }

    /// A client logged in as a user of the sample.
    pub fn login(&self, user: &str) -> Client {
        let mut client = self.client();
        let password = if user == "admin" { ADMIN_PASSWORD } else { SAMPLE_PASSWORD };
        let body =
            json!({ "connectionId": "Editorial", "applicationId": "test", "username": user, "password": password });
        let reply = client.post("/v3/auth/login", &body).ok();
        client.token = Some(reply["token"]["value"].as_str().expect("a login gives a token").to_owned());
        client
    }
}

fn agent() -> ureq::Agent {
    ureq::Agent::config_builder()
        .http_status_as_error(false)
        .allow_non_standard_methods(true)
        .timeout_global(Some(PATIENCE))
        // They are filled with zeros for each connection, which takes its time without optimisation. A head must fit.
        .input_buffer_size(16 << 10)
        .output_buffer_size(64 << 10)
        .build()
        .new_agent()
}

/// The environment variable of a setting; those of the TLS library are nobody's to rename.
fn variable(key: &str) -> String {
    if key.starts_with("SSL_") { key.to_owned() } else { format!("STET_{key}") }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("--- log of the server ---\n{}", self.log());
        }
        let _ = std::fs::remove_file(&self.log);
    }
}

/// Speaks to a server.
#[derive(Clone)]
pub struct Client {
    agent: ureq::Agent,
    /// `http://127.0.0.1:PORT`
    pub base: String,
    /// Sent as query parameter `token`, as clients do.
    pub token: Option<String>,
}

/// An answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Client {
    /// A client of the server at `base`, with the token of a session or without.
    pub fn at(base: &str, token: Option<String>) -> Client {
        Client { agent: agent(), base: base.to_owned(), token }
    }

    /// The same client with connections of its own.
    pub fn afresh(&self) -> Client {
        Client { agent: agent(), ..self.clone() }
    }

    /// The same client, speaking to a server that was started again.
    pub fn to(&self, server: &Server) -> Client {
        Client { token: self.token.clone(), ..server.client() }
    }

    /// Sends a request, or tells that no answer came.
    pub fn try_send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Result<Answer, String> {
        let glue = if path.contains('?') { '&' } else { '?' };
        let token = self.token.as_ref().map(|token| format!("{glue}token={token}")).unwrap_or_default();
        let uri = format!("{}{path}{token}", self.base);
        // A DELETE may have a body here, which the library wants to be told.
        let outcome = if method == "DELETE" && !body.is_empty() {
            let request =
                headers.iter().fold(self.agent.delete(&uri), |request, (name, value)| request.header(*name, *value));
            request.force_send_body().send(body)
        } else {
            let request = ureq::http::Request::builder().method(method).uri(&uri);
            let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
            let made = "a request can be made of this";
            match method {
                "POST" | "PUT" | "PATCH" => self.agent.run(request.body(body).expect(made)),
                _ => self.agent.run(request.body(()).expect(made)),
            }
        };
        let mut response = outcome.map_err(|error| format!("{method} {path}: {error}"))?;
        let headers = response
            .headers()
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_str().unwrap_or_default().to_owned()))
            .collect();
        let status = response.status().as_u16();
        let mut bytes = Vec::new();
        response.body_mut().as_reader().read_to_end(&mut bytes).map_err(|error| format!("{method} {path}: {error}"))?;
        let answer = Answer { status, headers, body: bytes };
        document::hold(method, path, &answer);
        Ok(answer)
    }

    /// Sends a request.
    pub fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        self.try_send(method, path, headers, body).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Sends JSON.
    pub fn send_json(&self, method: &str, path: &str, body: &Value) -> Answer {
        self.send(method, path, &[("content-type", "application/json")], body.to_string().as_bytes())
    }

    pub fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], b"")
    }

    pub fn post(&self, path: &str, body: &Value) -> Answer {
        self.send_json("POST", path, body)
    }

    pub fn put(&self, path: &str, body: &Value) -> Answer {
        self.send_json("PUT", path, body)
    }

    pub fn delete(&self, path: &str) -> Answer {
        self.send("DELETE", path, &[], b"")
    }

    pub fn delete_with(&self, path: &str, body: &Value) -> Answer {
        self.send_json("DELETE", path, body)
    }

    /// A multipart form of `options` and, if given, a file `content` (name, media type, bytes).
    pub fn upload(&self, path: &str, options: &Value, content: Option<(&str, &str, &[u8])>) -> Answer {
        let files: Vec<_> =
            content.map(|(name, media_type, bytes)| ("content", name, media_type, bytes)).into_iter().collect();
        self.send_form("POST", path, &[], options, &files)
    }

    /// Creates a liveblog from the default template; gives its loid.
    pub fn liveblog(&self, folder: &str, name: &str) -> String {
        let body = json!({ "name": name, "folderPath": folder });
        let reply = self.post("/v3/container/liveblog/from/template", &body).ok();
        reply["info"]["id"].as_str().expect("a new liveblog has an id").to_owned()
    }

    /// Sends a multipart form of `options` and files: name of the part, file name, media type, bytes.
    pub fn send_form(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        options: &Value,
        files: &[(&str, &str, &str, &[u8])],
    ) -> Answer {
        self.try_send_form(method, path, headers, options, files).unwrap_or_else(|error| panic!("{error}"))
    }

    /// The same, or tells that no answer came.
    pub fn try_send_form(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        options: &Value,
        files: &[(&str, &str, &str, &[u8])],
    ) -> Result<Answer, String> {
        const BOUNDARY: &str = "----stet-form-boundary";
        let mut body = format!(
            "--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"options\"\r\n\
             content-type: application/json\r\n\r\n{options}\r\n"
        )
        .into_bytes();
        for (part, name, media_type, bytes) in files {
            let head = format!(
                "--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"{part}\"; filename=\"{name}\"\r\n\
                 content-type: {media_type}\r\n\r\n"
            );
            body.extend([head.as_bytes(), bytes, b"\r\n"].concat());
        }
        body.extend(format!("--{BOUNDARY}--\r\n").bytes());
        let content_type = format!("multipart/form-data; boundary={BOUNDARY}");
        let headers: Vec<_> = headers.iter().copied().chain([("content-type", content_type.as_str())]).collect();
        self.try_send(method, path, &headers, &body)
    }

    /// Creates a story in a folder; gives its loid.
    pub fn story(&self, folder: &str, name: &str) -> String {
        let options = json!({ "name": name, "type": "Story", "folderPath": folder });
        let reply = self.upload("/v3/object/create", &options, Some((name, "text/xml", b"<story/>"))).ok();
        reply["id"].as_str().expect("a new object has an id").to_owned()
    }

    /// Creates a drawer in a folder; gives its loid.
    pub fn drawer(&self, folder: &str, name: &str, capacity: u32) -> String {
        let body = json!({ "name": name, "folderPath": folder, "capacity": capacity });
        let reply = self.post("/v3/container/drawer", &body).ok();
        reply["info"]["id"].as_str().expect("a new drawer has an id").to_owned()
    }

    /// The loids of a drawer's items, first to last.
    pub fn items(&self, drawer: &str) -> Vec<String> {
        let reply = self.get(&format!("/v3/container/drawer/{}?showItems=true", encoded(drawer))).ok();
        let items = reply["items"].as_array().expect("a drawer has items").iter();
        items.map(|item| item["source"].as_str().expect("an item has a source").to_owned()).collect()
    }

    /// A value of the server's `/metrics`; 0 when it is not there yet.
    pub fn metric(&self, name: &str) -> f64 {
        let text = String::from_utf8(self.get("/metrics").body).expect("metrics are text");
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value.map_or(0.0, |value| value.parse().expect("a metric is a number"))
    }

    /// The same of one that counts.
    pub fn count(&self, name: &str) -> u64 {
        self.metric(name) as u64
    }
}

impl Answer {
    /// The JSON of the body.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {} {:?}", self.status, String::from_utf8_lossy(&self.body)))
    }

    /// The `result` of a success in its envelope.
    pub fn ok(&self) -> Value {
        assert_eq!(self.status, 200, "{}", String::from_utf8_lossy(&self.body));
        let mut json = self.json();
        assert_eq!(json["status"], "success");
        json["result"].take()
    }

    /// The `result` of a failure in its envelope, which must have this status and code.
    pub fn fails(&self, status: u16, code: &str) -> Value {
        assert_eq!(self.status, status, "{}", String::from_utf8_lossy(&self.body));
        let mut json = self.json();
        assert_eq!(json["status"], "error");
        assert_eq!(json["result"]["code"], format!("CMS.{code}"), "{json}");
        json["result"].take()
    }

    /// The same, telling what it was the answer to.
    pub fn fails_on(&self, what: &str, status: u16, code: &str) -> Value {
        assert_eq!(self.status, status, "{what}: {}", String::from_utf8_lossy(&self.body));
        self.fails(status, code)
    }

    /// A response header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }
}

/// A source as it stands in a path segment.
pub fn encoded(source: &str) -> String {
    percent_encoding::utf8_percent_encode(source, percent_encoding::NON_ALPHANUMERIC).to_string()
}

/// A folder that no other test uses.
pub fn own_folder() -> String {
    static COUNT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    let number = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    format!("/Test/{}-{number}", std::process::id())
}

/// Waits until a process has ended; gives the exit code. `told` is what it has said, in case that it does not.
pub fn ended(child: &mut Child, told: impl Fn() -> String) -> Option<i32> {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("it can be waited for") {
            return status.code();
        }
        assert!(begun.elapsed() < PATIENCE, "the server does not end:\n{}", told());
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Waits until `done`, looking again and again without taking the processor from those it waits for; often enough to kill a server
/// amid what it is doing.
pub fn wait_until(what: &str, done: impl Fn() -> bool) {
    wait(what, done, Duration::from_micros(200), Duration::from_micros(200));
}

/// The same for what is dear to look at, or takes long: less and less often.
pub fn wait_patiently_until(what: &str, done: impl Fn() -> bool) {
    wait(what, done, Duration::from_millis(1), Duration::from_millis(100));
}

fn wait(what: &str, done: impl Fn() -> bool, first: Duration, most: Duration) {
    let (begun, mut pause) = (Instant::now(), first);
    while !done() {
        assert!(begun.elapsed() < PATIENCE, "waited in vain: {what}");
        std::thread::sleep(pause);
        pause = most.min(pause * 2);
    }
}
