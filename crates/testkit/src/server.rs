//! A running server for tests.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use serde_json::json;
use tempfile::TempDir;

use crate::filled::Filled;
use crate::{Client, PATIENCE};

/// The password of `admin` in every test server.
pub const ADMIN_PASSWORD: &str = "admin-secret";
/// The password of the sample's other users.
pub const SAMPLE_PASSWORD: &str = "sample-secret";

/// A running `stet` process, killed when dropped.
pub struct Server {
    child: Child,
    /// The base address, such as `http://127.0.0.1:PORT`.
    pub base: String,
    data: Data,
    settings: Vec<(String, String)>,
    log: PathBuf,
    /// The sessions that tests share, by user.
    sessions: Mutex<HashMap<String, Client>>,
}

/// Returns the path of the server's binary: the one built with the tests, or the one that
/// `STET_TEST_BINARY` names.
pub fn binary() -> PathBuf {
    std::env::var_os("STET_TEST_BINARY").map_or_else(built, PathBuf::from)
}

/// Cargo writes test binaries to `deps`, below the folder of the package's own binary.
fn built() -> PathBuf {
    let test = std::env::current_exe().expect("a process has a binary");
    test.parent().and_then(Path::parent).expect("a test lies in a folder of its build").join("stet")
}

enum Data {
    Own(TempDir),
    Given(PathBuf),
}

impl Server {
    /// Starts a server on a data directory of its own with the sample newsroom.
    pub fn start() -> Server {
        Server::with(&[])
    }

    /// Starts a server as [`Server::start`] does, with settings such as
    /// `("DRAWER__DEFAULT_CAPACITY", "3")`. If the settings may change what a data directory is
    /// filled with, the server fills the directory itself; see [`Filled`].
    pub fn with(settings: &[(&str, &str)]) -> Server {
        let data = TempDir::new().expect("a temporary directory can be made");
        if Filled::is_alike(settings) {
            Filled::sample().lay_out(data.path());
        }
        Server::spawn(Data::Own(data), owned(settings))
    }

    /// Starts a server that fills a new data directory with the sample newsroom.
    pub fn filling(settings: &[(&str, &str)]) -> Server {
        let data = TempDir::new().expect("a temporary directory can be made");
        Server::spawn(Data::Own(data), owned(settings))
    }

    /// Returns the server that is shared by tests which change only what they create themselves.
    pub fn shared() -> &'static Server {
        static SHARED: OnceLock<(Server, Child)> = OnceLock::new();
        let (server, _) = SHARED.get_or_init(|| {
            // No webhook may be refused because of those of other tests.
            let server = Server::with(&[("WEBHOOKS__MOST", "1000")]);
            // A static is never dropped. This server waits for its pipe to close, which happens
            // when the tests end, even by a crash.
            let clean_up = format!("cat; kill -9 {}; rm -rf {:?} {:?}", server.child.id(), server.data(), server.log);
            let watch = Command::new("sh").args(["-c", &clean_up]).stdin(Stdio::piped()).stdout(Stdio::null()).spawn();
            (server, watch.expect("a shell can be started"))
        });
        server
    }

    /// Starts a server on a given directory, which is kept when the server ends.
    pub fn on(directory: &Path, settings: &[(&str, &str)]) -> Server {
        Server::spawn(Data::Given(directory.to_owned()), owned(settings))
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
        Server { child, base, data, settings, log, sessions: Mutex::default() }
    }

    /// Starts a process, without waiting for it to be ready.
    fn begin(directory: &Path, settings: &[(String, String)], log: &Path) -> Child {
        let errors = std::fs::OpenOptions::new().create(true).append(true).open(log).expect("a log can be written");
        let mut command = without_settings(Command::new(binary()));
        command
            .current_dir(std::env::temp_dir())
            .args(["serve", "--listen", "127.0.0.1:0", "--data"])
            .arg(directory)
            .env("STET_ADMIN_PASSWORD", ADMIN_PASSWORD)
            .env("STET_SAMPLE_PASSWORD", SAMPLE_PASSWORD)
            // Tests log in often. The cost of password hashes is tested where they are computed.
            .env("STET_AUTH__PASSWORD_MEMORY_KIB", "64")
            .env("STET_AUTH__PASSWORD_ITERATIONS", "1")
            // No session may end because of another test's login.
            .env("STET_AUTH__SESSIONS_PER_USER", "0")
            .envs(settings.iter().map(|(key, value)| (variable(key), value)))
            .stdout(Stdio::piped())
            .stderr(errors);
        command.spawn().expect("the binary can be started")
    }

    /// Returns the data directory.
    pub fn data(&self) -> &Path {
        match &self.data {
            Data::Own(own) => own.path(),
            Data::Given(path) => path,
        }
    }

    /// Returns the log so far.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Kills the process with SIGKILL, as a crash would.
    pub fn kill(&mut self) {
        self.child.kill().expect("it can be killed");
        self.child.wait().expect("it can be waited for");
    }

    /// Starts a killed server, and kills it again at a random moment of its recovery or soon after.
    pub fn crash_while_starting(&mut self, moment: Duration) {
        self.child = Server::begin(self.data(), &self.settings, &self.log);
        std::thread::sleep(moment);
        self.kill();
    }

    /// Starts a server without settings on a directory, and kills it at a random moment.
    pub fn crash_on(directory: &Path, moment: Duration) {
        let mut child = Server::begin(directory, &[], &directory.with_extension("log"));
        std::thread::sleep(moment);
        child.kill().expect("it can be killed");
        child.wait().expect("it can be waited for");
    }

    /// Returns the id of the process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends SIGTERM, without waiting for the end.
    pub fn ask_to_end(&self) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args(["-TERM", &pid]).status().expect("`kill` can be run");
        assert!(sent.success());
    }

    /// Sends SIGTERM and waits for the end. Returns the exit code.
    pub fn terminate(&mut self) -> Option<i32> {
        self.ask_to_end();
        self.ended()
    }

    /// Waits until the process has ended. Returns the exit code.
    pub fn ended(&mut self) -> Option<i32> {
        let log = self.log.clone();
        ended(&mut self.child, || std::fs::read_to_string(&log).unwrap_or_default())
    }

    /// Starts the server again on the same data directory; kills it first if it is running.
    pub fn restart(mut self) -> Server {
        if self.child.try_wait().expect("it can be asked").is_none() {
            self.kill();
        }
        let data = std::mem::replace(&mut self.data, Data::Given(PathBuf::new()));
        let settings = std::mem::take(&mut self.settings);
        // The new process appends to the same log, which must outlive this value.
        self.log = PathBuf::new();
        Server::spawn(data, settings)
    }

    /// Runs `stet check` on the data directory of a server that has ended. Returns the exit code
    /// and the output.
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

    /// Creates a client without a session.
    pub fn client(&self) -> Client {
        Client::at(&self.base, None)
    }

    /// Returns a client of a user of the sample, with a session that all callers share. No test may
    /// end it; see [`Server::login`].
    pub fn user(&self, name: &str) -> Client {
        if let Some(known) = self.sessions.lock().expect("nobody panics with it").get(name) {
            return known.clone();
        }
        let client = self.login(name);
        self.sessions.lock().expect("nobody panics with it").insert(name.to_owned(), client.clone());
        client
    }

    /// Creates a client that is logged in as a user of the sample, with a session of its own.
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

fn owned(settings: &[(&str, &str)]) -> Vec<(String, String)> {
    settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

/// Removes the settings of this process's environment from that of a command. The settings of the
/// tests are among them, of which a server would report that nothing reads them.
pub fn without_settings(mut command: Command) -> Command {
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("STET_")) {
        command.env_remove(name);
    }
    command
}

/// Returns the environment variable of a setting. The variables of the TLS library keep their
/// names.
fn variable(key: &str) -> String {
    if key.starts_with("SSL_") { key.to_owned() } else { format!("STET_{key}") }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("--- log of the server ---\n{}", self.log());
        }
        let _ = std::fs::remove_file(&self.log);
    }
}

/// Waits until a process has ended. Returns the exit code. `output` returns what the process has
/// printed, for the panic message if it does not end.
pub fn ended(child: &mut Child, output: impl Fn() -> String) -> Option<i32> {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("it can be waited for") {
            return status.code();
        }
        assert!(begun.elapsed() < PATIENCE, "the server does not end:\n{}", output());
        std::thread::sleep(Duration::from_millis(1));
    }
}
