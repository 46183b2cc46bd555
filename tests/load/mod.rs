//! `stet load` against a running server: its work, its output, and its detection of false replies.

mod blog_liar;
mod ends;
mod faults;
mod liar;
mod liveblog;
mod newsroom;
mod newsroom_liar;
mod proxy;
mod topic;
mod topic_liar;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use base64::Engine;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use serde_json::{Value, json};
use tempfile::TempDir;

use self::liar::{Lie, liar};
use crate::harness::*;

/// A load of a server, with a report in a directory of its own.
struct Load {
    directory: TempDir,
    command: Command,
}

impl Load {
    fn of(base: &str, options: &[&str]) -> Load {
        Load::scenario("drawer", base, options)
    }

    fn scenario(name: &str, base: &str, options: &[&str]) -> Load {
        let directory = TempDir::new().expect("a temporary directory can be made");
        let mut command = Command::new(env!("CARGO_BIN_EXE_stet"));
        command
            .args(["load", name, "--url", base, "--report"])
            .arg(directory.path().join("report"))
            .args(options)
            .current_dir(directory.path())
            .env("STET_LOAD_PASSWORD", ADMIN_PASSWORD)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        Load { directory, command }
    }

    fn report(&self) -> PathBuf {
        self.directory.path().join("report")
    }

    /// Runs to its end, which must have this exit code, and returns its output.
    #[track_caller]
    fn ends(&mut self, code: i32) -> String {
        let output = self.command.output().expect("the binary can be started");
        said(&output, code)
    }

    /// Runs to its end, which must be successful, and returns the report.
    #[track_caller]
    fn verified(&mut self) -> Value {
        let said = self.ends(0);
        let report = self.json();
        assert_eq!(report["verdict"]["finding"], "verified", "{said}");
        assert!(said.contains("verified: "), "{said}");
        report
    }

    fn json(&self) -> Value {
        let text = std::fs::read_to_string(self.report().join("report.json")).expect("there is a report");
        serde_json::from_str(&text).expect("it is JSON")
    }
}

/// The condition of loads that are expected to lose calls.
const ANY_MAY_FAIL: &str = "--fail-if=failed>100%";

#[track_caller]
fn said(output: &Output, code: i32) -> String {
    let text = [output.stdout.as_slice(), &output.stderr].concat();
    let text = String::from_utf8(text).expect("it is text");
    assert_eq!(output.status.code(), Some(code), "{text}");
    text
}

fn count(report: &Value, kind: &str) -> u64 {
    ["succeeded", "refused", "overloaded", "failed"]
        .iter()
        .map(|what| report["kinds"][kind][what].as_u64().unwrap_or(0))
        .sum()
}

fn histogram(of: &Value) -> Histogram<u64> {
    let text = of["histogram"].as_str().expect("there is one");
    let bytes = base64::engine::general_purpose::STANDARD.decode(text).expect("it is base64");
    Deserializer::new().deserialize(&mut bytes.as_slice()).expect("it is a histogram")
}

fn is_replayed(report: &Value) -> bool {
    report["verdict"]["method"].as_str().is_some_and(|method| method.starts_with("Replay"))
}

/// The drawers of the load that runs.
fn drawers(client: &Client) -> Vec<Value> {
    let items = |folder: &str| {
        let answer = client.get(&format!("/v3/folder/{}", encoded(folder)));
        // It may not be there yet.
        let items = if answer.status == 200 { answer.ok()["items"].take() } else { Value::Null };
        items.as_array().cloned().unwrap_or_default()
    };
    let run = items("/Load").first().and_then(|run| run["id"].as_str().map(str::to_owned));
    let made = run.map(|run| items(&run)).unwrap_or_default();
    made.into_iter().filter(|item| item["type"] == "Drawer").collect()
}

/// Returns the current items of the folder that loads work in.
fn left(server: &Server) -> Value {
    let client = server.login("admin");
    client.get(&format!("/v3/folder/{}", encoded("/Load"))).ok()["items"].take()
}

#[test]
fn a_closed_loop_by_count_is_verified_by_replay_and_leaves_nothing_behind() {
    let server = Server::start();
    let options = ["--count", "400", "--clients", "8", "--drawers", "3", "--capacity", "8", "--skew", "1.5"];
    let mut load = Load::of(&server.base, &options);
    let report = load.verified();
    assert!(is_replayed(&report), "{}", report["verdict"]);
    let kinds = ["read", "add", "position", "shift", "delete", "move"];
    assert_eq!(kinds.iter().map(|kind| count(&report, kind)).sum::<u64>(), 400);
    assert!(kinds.iter().all(|kind| count(&report, kind) > 0), "{report}");
    assert_eq!(report["all"]["failed"], 0, "{}", report["failed"]);
    assert!(report["kinds"]["move"]["succeeded"].as_u64() > Some(0), "some items moved to another drawer");
    assert!(report["refused"]["CMS.DrawerFull"].as_u64() > Some(0), "{}", report["refused"]);
    let all = &report["all"];
    assert_eq!(Some(histogram(all).len()), all["succeeded"].as_u64(), "latencies are of successes");
    assert_eq!(Some(histogram(&report["kinds"]["add"]).len()), report["kinds"]["add"]["succeeded"].as_u64());
    let rate = all["succeeded"].as_f64().zip(report["elapsedSeconds"].as_f64()).map(|(count, seconds)| count / seconds);
    assert!(rate.is_some_and(|rate| (rate - all["perSecond"].as_f64().unwrap_or(0.0)).abs() < 1e-6), "{all}");
    let page = std::fs::read_to_string(load.report().join("report.html")).expect("there is a page");
    is_well_formed(&page);
    assert!(page.contains("verified") && page.contains("<svg") && !page.contains("<script"));
    for text in [page, load.json().to_string()] {
        assert!(!text.contains(ADMIN_PASSWORD) && !text.contains("token="));
    }
    assert_eq!(left(&server), json!([]));
    let remarks = report["saturation"]["remarks"].to_string();
    assert!(!remarks.contains("left"), "nor in the recycle bin: {remarks}");
    // Existing reports are not overwritten.
    let told = load.ends(2);
    assert!(told.contains("report.html"), "{told}");
}

fn is_well_formed(page: &str) {
    let mut reader = quick_xml::Reader::from_str(page);
    loop {
        match reader.read_event() {
            Ok(quick_xml::events::Event::Eof) => return,
            Ok(_) => {}
            Err(error) => panic!("{error} in {page}"),
        }
    }
}

#[test]
fn the_same_seed_does_the_same_and_one_hot_drawer_has_no_moves() {
    let options = ["--count", "120", "--clients", "3", "--drawers", "1", "--seed", "5", "--capacity", "6"];
    let kinds = |report: &Value| ["read", "add", "position", "shift", "delete", "move"].map(|kind| count(report, kind));
    let first = Load::of(&Server::shared().base, &options).verified();
    assert_eq!(kinds(&first), kinds(&Load::of(&Server::shared().base, &options).verified()));
    assert_eq!(kinds(&first)[5], 0);
    let other = [&options[..], &["--threads", "3"]].concat();
    assert_eq!(kinds(&first), kinds(&Load::of(&Server::shared().base, &other).verified()), "threads are no part of it");
    let another = [&options[..7], &["6"]].concat();
    assert_ne!(kinds(&first), kinds(&Load::of(&Server::shared().base, &another).verified()));
}

#[test]
fn an_open_loop_keeps_to_its_times_and_tells_how_late_it_was() {
    let options = ["--rate", "200", "--count", "150", "--clients", "20", "--drawers", "2", "--threads", "2"];
    let report = Load::of(&Server::shared().base, &options).verified();
    assert_eq!(report["open"], true);
    let open = &report["saturation"]["open"];
    assert_eq!(open["sent"], 150);
    assert_eq!(open["unsent"], 0);
    // The last is due at 745 ms: it may be later, and never earlier.
    assert!(report["elapsedSeconds"].as_f64() >= Some(0.745), "{}", report["elapsedSeconds"]);
    assert_eq!(report["saturation"]["threads"].as_array().map(Vec::len), Some(2));
}

/// Checks that one slow call shows in all calls that were due during it and had to wait.
#[test]
fn in_an_open_loop_a_standstill_shows_in_every_call_that_was_due_in_it() {
    let server = Server::start();
    let slow = liar(&server, Lie::Stall);
    let options = ["--rate", "100", "--count", "60", "--clients", "1", "--drawers", "1", "--mix", "read=1"];
    let report = Load::of(&slow.base, &[&options[..], &["--objects", "4", "--capacity", "4"]].concat()).verified();
    assert!(slow.has_lied());
    // Every 10 ms one is due: 30 of them at least a quarter of the time before its end.
    let waited = histogram(&report["all"]).count_between(100_000, u64::MAX / 2);
    assert!(waited >= 25, "{waited}");
    assert!(report["saturation"]["open"]["queued"].as_u64() >= Some(25), "{}", report["saturation"]);
    assert!(report["saturation"]["warnings"].to_string().contains("The rate was not kept"));
}

#[test]
fn ramps_and_a_file_of_options_are_followed() {
    let file = tempfile::NamedTempFile::new().expect("a file can be made");
    let text = "ramp = \"0s:1,1s:6\"\nduration = \"1500ms\"\n[mix]\nadd = 2\nread = 1\n[drawer]\ncapacity = 5\n";
    std::fs::write(file.path(), text).expect("it can be written");
    let path = file.path().to_str().expect("the path is a text");
    let report = Load::of(&Server::shared().base, &["--file", path, "--drawers", "2"]).verified();
    assert!(count(&report, "add") > 0 && count(&report, "delete") == 0);
    assert_eq!(report["parameters"]["loop"], "closed, clients over time 0s:1,1s:6");
    assert_eq!(report["parameters"]["clients"], "6");
    let options = ["--ramp", "0s:20,1s:200", "--open", "--duration", "1s", "--clients", "8"];
    let report = Load::of(&Server::shared().base, &options).verified();
    let (open, all) = (&report["saturation"]["open"], report["all"]["succeeded"].as_u64().expect("a number"));
    // The area under the ramp is 110 calls. Those not sent by the end are reported.
    let due = open["sent"].as_u64().unwrap_or(0) + open["unsent"].as_u64().unwrap_or(0);
    assert!((109..=111).contains(&due), "{open}");
    assert!(all > 0);
}

#[test]
fn an_interrupt_ends_it_with_a_report() {
    let server = Server::start();
    let mut load = Load::of(&server.base, &["--duration", "1h", "--clients", "4", "--keep"]);
    let child = load.command.spawn().expect("the binary can be started");
    let client = server.login("admin");
    let drawers = || drawers(&client);
    let works = || {
        let tag = |drawer: &Value| {
            let id = drawer["id"].as_str().expect("it has an id");
            let answer = client.get(&format!("/v3/container/drawer/{}", encoded(id)));
            answer.header("etag").and_then(|tag| tag.trim_matches('"').split('-').next()?.parse::<u64>().ok())
        };
        let drawers = drawers();
        drawers.len() == 4 && drawers.iter().all(|drawer| tag(drawer) > Some(20))
    };
    wait_until("all drawers are worked on", works);
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().expect("`kill` can be run").success());
    let said = said(&child.wait_with_output().expect("it ends"), 0);
    let report = load.json();
    assert_eq!((&report["interrupted"], &report["verdict"]["finding"]), (&json!(true), &json!("verified")), "{said}");
    assert_eq!(drawers().len(), 4, "what was made is kept if asked");
}

#[test]
fn a_server_that_dies_is_not_verified_and_the_report_says_so() {
    let mut server = Server::start();
    let mut load = Load::of(&server.base, &["--duration", "1h", "--clients", "3", "--drawers", "2"]);
    let child = load.command.spawn().expect("the binary can be started");
    let client = server.login("admin");
    // It fills them, and begins.
    let filled = |drawer: &Value| !client.items(drawer["id"].as_str().expect("it has an id")).is_empty();
    wait_until("its drawers are filled", || {
        let drawers = drawers(&client);
        drawers.len() == 2 && drawers.iter().all(filled)
    });
    server.kill();
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().expect("`kill` can be run").success());
    let said = said(&child.wait_with_output().expect("it ends"), 1);
    // The reason depends on its progress: at its end, or still checking the filled drawers.
    let reasons = ["could not be verified", "no connection", "the connection was lost"];
    assert!(reasons.iter().any(|reason| said.contains(reason)), "{said}");
}

#[test]
fn a_server_that_forgets_what_it_acknowledged_is_found_out() {
    let server = Server::start();
    let options = ["--count", "150", "--clients", "4", "--drawers", "2"];
    let honest = liar(&server, Lie::None);
    assert!(is_replayed(&Load::of(&honest.base, &options).verified()), "through a proxy it is as good");

    let liar = liar(&server, Lie::Undo);
    let mut load = Load::of(&liar.base, &options);
    let said = load.ends(4);
    assert!(liar.has_lied() && said.contains("NOT AS ACKNOWLEDGED"), "{said}");
    assert_eq!(load.json()["verdict"]["finding"], "violated");
    assert!(is_well_formed_page(&load.report()));
}

fn is_well_formed_page(report: &Path) -> bool {
    let page = std::fs::read_to_string(report.join("report.html")).expect("there is a page");
    is_well_formed(&page);
    page.contains("✗")
}

#[test]
fn without_revisions_membership_is_verified_and_a_loss_is_still_found() {
    let server = Server::start();
    let options = ["--count", "60", "--clients", "4", "--drawers", "2", "--mix", "add=3,read=1", "--fill", "0"];
    let dumb = liar(&server, Lie::NoRevisions);
    let report = Load::of(&dumb.base, &options).verified();
    assert!(!is_replayed(&report), "{}", report["verdict"]);
    assert!(report["verdict"]["method"].as_str().is_some_and(|method| method.contains("no revision")));

    let liar = liar(&server, Lie::UndoWithoutRevisions);
    let said = Load::of(&liar.base, &options).ends(4);
    assert!(liar.has_lied() && said.contains("is missing"), "{said}");
}

#[test]
fn calls_whose_answers_are_lost_are_in_doubt_and_the_rest_is_verified() {
    let server = Server::start();
    let mix = "add=4,delete=1,move=1,read=1";
    let options = ["--count", "200", "--clients", "4", "--drawers", "2", "--fill", "0", "--mix", mix, ANY_MAY_FAIL];
    let lossy = liar(&server, Lie::LoseAnswers);
    let report = Load::of(&lossy.base, &options).verified();
    assert!(lossy.has_lied() && is_replayed(&report), "{}", report["verdict"]);
    assert!(report["failed"]["connection lost"].as_u64() > Some(0), "{}", report["failed"]);
    let details = report["verdict"]["details"].to_string();
    assert!(details.contains("with an unknown outcome"), "{details}");
}
