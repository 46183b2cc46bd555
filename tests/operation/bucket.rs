//! The continuous backup in a bucket of an S3 server: moto, a server of the Python package index
//! that `scripts/clients tools` installs.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use super::backup::{archived, content, large_story, status};
use super::{Run, path, run, stet};
use crate::harness::*;

const SECRET: &str = "secret-of-the-bucket";

/// A running moto with the bucket `news`.
struct MotoServer {
    child: Child,
    endpoint: String,
    folder: TempDir,
}

impl MotoServer {
    /// Starts it; `None` if it is not installed.
    fn start() -> Option<MotoServer> {
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/clients/venv/bin/moto_server");
        if !program.exists() {
            println!("skipped: there is no moto; `scripts/clients tools` installs it");
            return None;
        }
        let mut command = Command::new(program);
        command.args(["-H", "127.0.0.1", "-p", "0"]).env("PYTHONUNBUFFERED", "1").env("NO_COLOR", "1");
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("moto can be started");
        let mut lines = BufReader::new(child.stderr.take().expect("it is piped")).lines();
        let mut server = MotoServer {
            child,
            endpoint: String::new(),
            folder: tempfile::tempdir().expect("a directory can be made"),
        };
        server.endpoint = loop {
            let line = lines.next().expect("moto says where it listens").expect("its output is text");
            if let Some((_, endpoint)) = line.split_once("Running on ") {
                break endpoint.trim().to_owned();
            }
        };
        // A full pipe would stop it.
        std::thread::spawn(move || lines.for_each(drop));
        let bucket = ureq::put(format!("{}/news", server.endpoint));
        let credential =
            "AWS4-HMAC-SHA256 Credential=key/20260131/us-east-1/s3/aws4_request, SignedHeaders=, Signature=";
        bucket.header("Authorization", credential).send_empty().expect("a bucket can be created");
        Some(server)
    }

    /// A file with credentials, of which moto takes any.
    fn credentials(&self) -> PathBuf {
        let file = self.folder.path().join("credentials");
        let text = format!("aws_access_key_id = key\naws_secret_access_key = {SECRET}\n");
        std::fs::write(&file, text).expect("it can be written");
        file
    }

    /// Runs a command with credentials of the environment.
    fn run(&self, arguments: &[&str]) -> Run {
        let mut command = stet(arguments);
        command.env("STET_BACKUP__S3_ENDPOINT", &self.endpoint);
        command.env("AWS_ACCESS_KEY_ID", "key").env("AWS_SECRET_ACCESS_KEY", SECRET);
        run(command)
    }
}

impl Drop for MotoServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_killed_server_is_restored_from_a_bucket() {
    let Some(moto) = MotoServer::start() else { return };
    let (folder, credentials) = (own_folder(), moto.credentials());
    let mut server = Server::with(&[
        ("BACKUP__TARGET", "s3://news/stet"),
        ("BACKUP__S3_ENDPOINT", &moto.endpoint),
        ("BACKUP__S3_CREDENTIALS_FILE", path(&credentials)),
        ("STORE__SMALL_BODY_BYTES", "1000"),
    ]);
    let drawer = server.user("editor").drawer(&folder, "front", 50);
    let mut made = Vec::new();
    for round in 0..3 {
        let client = server.login("editor");
        for number in 0..4 {
            let name = format!("story-{round}-{number}.xml");
            let story = large_story(&client, &folder, &name, char::from(b'a' + number));
            client.call("drawer-item-post", &[&drawer, &story]).ok();
            made.push(story);
        }
        server.kill();
        server = server.restart();
    }
    archived(&server);
    let wanted = server.user("editor").items(&drawer);
    let status = status(&server).to_string();
    assert!(status.contains("s3://news/stet") && !status.contains(SECRET), "{status}");
    server.kill();

    let listed = moto.run(&["backup", "list", "--from", "s3://news/stet"]);
    assert!(listed.code == Some(0) && listed.out.contains("base of change"), "{}{}", listed.out, listed.err);
    let data = moto.folder.path().join("restored");
    let restored = moto.run(&["restore", "--from", "s3://news/stet", "--data", path(&data)]);
    assert_eq!(restored.code, Some(0), "{}{}", restored.out, restored.err);
    assert!(restored.out.contains("0 faults"), "{}", restored.out);
    let server = Server::on(&data, &[]);
    let client = server.user("editor");
    assert_eq!(client.items(&drawer), wanted);
    for (place, story) in made.iter().enumerate() {
        let sign = char::from(b'a' + (place % 4) as u8).to_string();
        assert!(content(&client, story).contains(&sign.repeat(5_000)), "{story}");
    }
}

#[test]
fn a_probe_of_a_bucket_tells_what_works_and_what_is_wrong() {
    let Some(moto) = MotoServer::start() else { return };
    let probed = moto.run(&["backup", "probe", "--from", "s3://news/other"]);
    assert_eq!(probed.code, Some(0), "{}{}", probed.out, probed.err);
    assert_eq!(probed.out.lines().filter(|line| line.ends_with(" ok")).count(), 8, "{}", probed.out);
    let missing = moto.run(&["backup", "probe", "--from", "s3://others"]);
    assert_eq!(missing.code, Some(1), "{}", missing.out);
    assert!(missing.err.contains("There is no such bucket"), "{}", missing.err);
    let mut nameless = stet(&["backup", "list", "--from", "s3://news/stet"]);
    nameless.env_remove("AWS_ACCESS_KEY_ID");
    let nowhere = run(nameless);
    assert!(nowhere.code == Some(1) && nowhere.err.contains("AWS_ACCESS_KEY_ID"), "{}", nowhere.err);
}

#[test]
fn a_probe_of_a_folder_leaves_nothing_behind() {
    let folder = tempfile::tempdir().expect("a directory can be made");
    let target = format!("file://{}", folder.path().display());
    let probed = run(stet(&["backup", "probe", "--json", "--from", &target]));
    assert_eq!(probed.code, Some(0), "{}{}", probed.out, probed.err);
    let steps: serde_json::Value = serde_json::from_str(&probed.out).expect("it prints JSON");
    let outcomes: Vec<_> = steps.as_array().expect("a list").iter().map(|step| &step["outcome"]).collect();
    assert!(outcomes.len() == 8 && outcomes.iter().all(|outcome| *outcome == "ok"), "{steps}");
    assert_eq!(std::fs::read_dir(folder.path()).expect("it is there").count(), 0);
}
