//! The binary as an operator meets it: standard output, exit codes, signals, and data directories
//! that are not as they should be.

mod admin;
mod audit;
mod backup;
mod bucket;
mod configuration;
mod data;
mod doctor;
mod ending;
mod log;
mod loss;
mod main_database;
mod manual;
pub mod metrics;
mod probe;
mod search;
mod serving;
mod traces;
mod transfer;

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::json;
use tempfile::TempDir;

use crate::harness::*;

/// The binary, without what this process's environment says of it.
fn stet(arguments: &[&str]) -> Command {
    let mut command = without_settings(Command::new(env!("CARGO_BIN_EXE_stet")));
    // Where no `config.toml` lies.
    command.current_dir("/").args(arguments).stdin(Stdio::null());
    command.env("STET_AUTH__PASSWORD_MEMORY_KIB", "64").env("STET_AUTH__PASSWORD_ITERATIONS", "1");
    command
}

/// A command that another program starts, as it would have been started.
fn started_by(mut program: Command, command: &Command) -> Command {
    program.arg(command.get_program()).args(command.get_args()).stdin(Stdio::null());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => program.env(name, value),
            None => program.env_remove(name),
        };
    }
    program.current_dir(command.get_current_dir().unwrap_or(Path::new("/")));
    program
}

/// The exit code and output of a finished run.
struct Run {
    code: Option<i32>,
    out: String,
    err: String,
}

fn run(mut command: Command) -> Run {
    let output = command.output().expect("the binary can be started");
    let text = |bytes| String::from_utf8(bytes).expect("output is text");
    Run { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

fn path(directory: &Path) -> &str {
    directory.to_str().expect("the path is text")
}

/// A server that this module started itself.
struct Serving {
    child: Child,
    out: BufReader<ChildStdout>,
    /// The lines up to and with that which says where it listens.
    lines: Vec<String>,
}

impl Serving {
    fn start(command: Command) -> Serving {
        Serving::logging(command, Stdio::null())
    }

    /// Starts the command with its log in that place.
    fn logging(mut command: Command, log: impl Into<Stdio>) -> Serving {
        let mut child = command.stdout(Stdio::piped()).stderr(log).spawn().expect("the binary can be started");
        let out = BufReader::new(child.stdout.take().expect("its output is piped"));
        // Made before anything can fail, so that it ends the process whatever happens.
        let mut serving = Serving { child, out, lines: Vec::new() };
        loop {
            let mut line = String::new();
            let read = serving.out.read_line(&mut line).expect("its output is text");
            assert_ne!(read, 0, "it ended after {:?}", serving.lines);
            serving.lines.push(line.trim_end().to_owned());
            if line.starts_with("listening on ") {
                return serving;
            }
        }
    }

    fn in_directory(data: &Path) -> Serving {
        Serving::start(stet(&["--data", path(data), "--listen", "127.0.0.1:0"]))
    }

    fn base(&self) -> &str {
        let line = self.lines.last().expect("it said where it listens");
        line.strip_prefix("listening on ").expect("it said where it listens")
    }

    /// Status of a login.
    fn login(&self, user: &str, password: &str) -> u16 {
        let body = json!({ "connectionId": "Editorial", "applicationId": "t", "username": user, "password": password });
        let agent = ureq::Agent::config_builder().http_status_as_error(false).build().new_agent();
        let sent = agent.post(format!("{}/v3/auth/login", self.base())).send_json(&body);
        sent.expect("it answers").status().as_u16()
    }

    fn signal(&self, signal: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().expect("`kill` can be run").success());
    }

    /// Ends the server regularly. Returns the exit code, and the output since it began to listen.
    fn end(mut self) -> (Option<i32>, String) {
        self.signal("-TERM");
        let mut rest = String::new();
        self.out.read_to_string(&mut rest).expect("its output is text");
        (self.child.wait().expect("it can be waited for").code(), rest)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A data directory as a server leaves it behind.
fn used_directory() -> TempDir {
    let data = TempDir::new().expect("a temporary directory can be made");
    let mut command = stet(&["--data", path(data.path()), "--listen", "127.0.0.1:0"]);
    command.env("STET_ADMIN_PASSWORD", ADMIN_PASSWORD);
    assert_eq!(Serving::start(command).end().0, Some(0));
    data
}

fn check(data: &Path) -> Run {
    run(stet(&["check", "--data", path(data)]))
}
