//! The continuous backup as operators meet it: states restored after kills, a target that is away,
//! a spool that is full, and directories that must not be mixed up.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Run, stet};
use crate::harness::*;

/// The places of a test: the target, and those of restored directories.
struct Places(TempDir);

impl Places {
    fn new() -> Places {
        Places(tempfile::tempdir().expect("a directory can be made"))
    }

    fn target(&self) -> String {
        format!("file://{}", self.target_folder().display())
    }

    fn target_folder(&self) -> PathBuf {
        self.0.path().join("target")
    }

    fn restored(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

/// The settings of a server with a backup.
fn settings(target: &str) -> Vec<(&str, &str)> {
    vec![("BACKUP__TARGET", target), ("STORE__SMALL_BODY_BYTES", "1000")]
}

/// Runs a command on a directory, which must succeed if it is to.
pub(super) fn run(arguments: &[&str], data: &Path) -> Run {
    let mut command = stet(arguments);
    command.arg("--data").arg(data);
    super::run(command)
}

/// The state of a running server's backup.
pub(super) fn status(server: &Server) -> Value {
    let run = run(&["backup", "status", "--json"], server.data());
    assert_eq!(run.code, Some(0), "{}", run.err);
    serde_json::from_str(&run.out).expect("it prints JSON")
}

/// Waits until the target has every change and a base, and returns the last change.
pub(super) fn archived(server: &Server) -> u64 {
    let is_there = || {
        let status = status(server);
        let is_quiet = status["isTakingBase"] == false && !status["base"].is_null();
        (is_quiet && status["archived"] == status["committed"] && status["gap"].is_null())
            .then(|| status["archived"].as_u64())
    };
    wait_patiently_until("the target has everything", || is_there().is_some());
    is_there().flatten().expect("nothing has changed since")
}

/// Restores a directory, which is checked by that.
fn restored(places: &Places, name: &str, more: &[&str]) -> PathBuf {
    let (data, target) = (places.restored(name), places.target());
    let run = run(&[&["restore", "--from", &target], more].concat(), &data);
    assert_eq!(run.code, Some(0), "{}{}", run.out, run.err);
    assert!(run.out.contains("0 faults"), "{}", run.out);
    data
}

/// A restoration that must be refused, and what it says.
fn refused(places: &Places, name: &str, more: &[&str]) -> String {
    let (data, target) = (places.restored(name), places.target());
    let run = run(&[&["restore", "--from", &target], more].concat(), &data);
    assert_eq!(run.code, Some(1), "{}{}", run.out, run.err);
    run.err
}

/// Creates a story with a content that is a file of its own.
pub(super) fn large_story(client: &Client, folder: &str, name: &str, sign: char) -> String {
    let content = format!("<story>{}</story>", sign.to_string().repeat(5_000));
    let options = json!({ "name": name, "type": "Story", "folderPath": folder });
    let reply = client.upload("/v3/object/create", &options, Some((name, "text/xml", content.as_bytes()))).ok();
    reply["id"].as_str().expect("a new object has an id").to_owned()
}

pub(super) fn content(client: &Client, object: &str) -> String {
    let reply = client.get(&format!("/v3/object/{}/content", encoded(object)));
    assert_eq!(reply.status, 200, "{object}");
    String::from_utf8(reply.body).expect("it is text")
}

#[test]
fn every_archived_change_is_restored_after_kills_and_no_session_is() {
    let (places, folder) = (Places::new(), own_folder());
    let target = places.target();
    let mut server = Server::with(&settings(&target));
    let drawer = server.user("editor").drawer(&folder, "front", 50);
    let (mut made, mut token) = (Vec::new(), String::new());
    for round in 0..4 {
        let client = server.login("editor");
        for number in 0..5 {
            let name = format!("story-{round}-{number}.xml");
            let story = large_story(&client, &folder, &name, char::from(b'a' + number));
            client.call("drawer-item-post", &[&drawer, &story]).ok();
            made.push(story);
        }
        token = client.token.clone().expect("it is logged in");
        // Changes of the last moment are in the spool or in the journal.
        server.kill();
        server = server.restart();
    }
    archived(&server);
    let wanted = server.user("editor").items(&drawer);
    assert_eq!(wanted.len(), made.len());
    drop(server);

    let data = restored(&places, "restored", &[]);
    let server = Server::on(&data, &[]);
    assert_eq!(Client::at(&server.base, Some(token)).get("/v3/auth/connection").status, 401);
    let client = server.user("editor");
    assert_eq!(client.items(&drawer), wanted);
    for (place, story) in made.iter().enumerate() {
        let sign = char::from(b'a' + (place % 5) as u8).to_string();
        assert!(content(&client, story).contains(&sign.repeat(5_000)), "{story}");
    }
    drop(server);
    let verified = super::run(stet(&["backup", "verify", "--from", &target]));
    assert_eq!(verified.code, Some(0), "{}{}", verified.out, verified.err);
}

/// The stories of a restored drawer.
fn items_of(data: &Path, drawer: &str) -> Vec<String> {
    let server = Server::on(data, &[]);
    server.user("editor").items(drawer)
}

#[test]
fn each_state_between_kills_at_any_moment_is_restored_whole() {
    let (places, folder) = (Places::new(), own_folder());
    let (target, away) = (places.target(), places.restored("away"));
    let mut dice = Dice::new(seed("STET_BACKUP_KILLS_SEED"));
    let mut server = Server::with(&settings(&target));
    let drawer = server.user("editor").drawer(&folder, "front", 1000);
    let first = archived(&server);
    let mut made = Vec::new();
    for _ in 0..setting("STET_BACKUP_KILLS").unwrap_or(6) {
        let is_away = dice.roll(3) == 0;
        if is_away {
            std::fs::rename(places.target_folder(), &away).expect("it can be moved");
        }
        let client = server.login("editor");
        for _ in 0..dice.roll(8) + 1 {
            let story = large_story(&client, &folder, &format!("{}.xml", made.len()), 'x');
            client.call("drawer-item-post", &[&drawer, &story]).ok();
            made.push(story);
        }
        // While it gathers, ships, merges, or takes a base.
        std::thread::sleep(std::time::Duration::from_millis(dice.roll(900) as u64));
        server.kill();
        if is_away {
            std::fs::rename(&away, places.target_folder()).expect("it can be moved");
        }
        if dice.roll(3) == 0 {
            server.crash_while_starting(std::time::Duration::from_millis(dice.roll(900) as u64));
        }
        server = server.restart();
    }
    let last = archived(&server);
    assert_eq!(server.user("editor").items(&drawer).len(), made.len(), "no acknowledged change is missing");
    drop(server);
    // New items are last in the drawer, so an older state has the first of them.
    let mut before = 0;
    for number in 1..=4 {
        let change = first + (last - first) * number / 4;
        let data = restored(&places, &format!("restored-{number}"), &["--change", &change.to_string()]);
        let found = items_of(&data, &drawer);
        assert_eq!(found, made[..found.len()], "change {change}");
        assert!(found.len() >= before, "change {change}");
        before = found.len();
    }
    assert_eq!(before, made.len());
}

#[test]
fn a_state_is_restored_by_its_change_and_by_its_time() {
    let (places, folder) = (Places::new(), own_folder());
    let server = Server::with(&settings(&places.target()));
    let client = server.user("editor");
    let story = client.story(&folder, "story.xml");
    let mut states = Vec::new();
    for number in 0..4 {
        client.call("stet-object-rename-post", &[&story]).json(&json!({ "name": format!("{number}.xml") })).ok();
        let change = archived(&server);
        let now = std::time::SystemTime::now();
        states.push((change, humantime::format_rfc3339_millis(now).to_string()));
        // The next change is a moment later.
        wait_until("a millisecond has passed", || now.elapsed().is_ok_and(|since| since.as_millis() > 20));
    }
    let name = |data: &Path| {
        let server = Server::on(data, &[]);
        server.user("editor").get(&format!("/v3/object/{}", encoded(&story))).ok()["name"].clone()
    };
    let (change, _) = &states[1];
    assert_eq!(name(&restored(&places, "by-change", &["--change", &change.to_string()])), "1.xml");
    let (_, time) = &states[2];
    assert_eq!(name(&restored(&places, "by-time", &["--at", time])), "2.xml");
    assert_eq!(name(&restored(&places, "newest", &[])), "3.xml");

    let error = refused(&places, "later", &["--change", "99999"]);
    assert!(error.contains("change 99999") && error.contains("These changes can"), "{error}");
    assert!(refused(&places, "newest", &[]).contains("is not empty"));
    let others = places.restored("kept.restoring").join("mine");
    std::fs::create_dir_all(others.parent().expect("it has a parent")).expect("it can be made");
    std::fs::write(&others, "mine").expect("it can be written");
    assert!(refused(&places, "kept", &[]).contains("no unfinished restoration"));
    assert!(others.exists(), "what is somebody else's stays");
    let error = refused(&places, "other", &["--timeline", "0123456789abcdef"]);
    assert!(error.contains("no timeline `0123456789abcdef`"), "{error}");
}

#[test]
fn a_target_that_is_away_costs_no_change_and_gets_them_later() {
    let (places, folder) = (Places::new(), own_folder());
    let mut server = Server::with(&settings(&places.target()));
    let before = archived(&server);
    let away = places.restored("away");
    std::fs::rename(places.target_folder(), &away).expect("it can be moved");
    let client = server.user("editor");
    (0..10).for_each(|number| drop(client.story(&folder, &format!("{number}.xml"))));
    wait_patiently_until("it is told", || !status(&server)["fault"].is_null());
    let said = status(&server);
    assert_eq!((said["archived"].as_u64(), said["gap"].is_null()), (Some(before), true));
    assert!(!places.target_folder().exists(), "nothing is created in the place of a disk that is not mounted");
    // A crash in between changes nothing about it.
    server.kill();
    server = server.restart();
    wait_patiently_until("it is told again", || !status(&server)["fault"].is_null());
    std::fs::rename(&away, places.target_folder()).expect("it can be moved");
    archived(&server);
    let data = restored(&places, "restored", &[]);
    let server = Server::on(&data, &[]);
    let path = format!("/v3/object/{}", encoded(&format!("{folder}/9.xml")));
    assert_eq!(server.user("editor").get(&path).status, 200);
}

#[test]
fn a_spool_that_is_full_leaves_a_gap_and_a_new_base_ends_it() {
    let (places, folder) = (Places::new(), own_folder());
    let target = places.target();
    let server = Server::with(&[&settings(&target)[..], &[("BACKUP__SPOOL_BYTES", "1048576")]].concat());
    archived(&server);
    let away = places.restored("away");
    std::fs::rename(places.target_folder(), &away).expect("it can be moved");
    let client = server.user("editor");
    // In rows, not in files.
    let filler = "x".repeat(900);
    let number = std::cell::Cell::new(0);
    wait_patiently_until("the spool is full", || {
        for _ in 0..50 {
            let options = json!({ "name": format!("{}.xml", number.get()), "type": "Story", "folderPath": folder });
            let content = format!("<story>{filler}</story>");
            client.upload("/v3/object/create", &options, Some(("x.xml", "text/xml", content.as_bytes()))).ok();
            number.set(number.get() + 1);
        }
        !status(&server)["gap"].is_null()
    });
    std::fs::rename(&away, places.target_folder()).expect("it can be moved");
    let last = archived(&server);
    client.story(&folder, "after.xml");
    archived(&server);
    let survey = super::run(stet(&["backup", "list", "--json", "--from", &target]));
    let survey: Value = serde_json::from_str(&survey.out).expect("it prints JSON");
    let ranges = survey["timelines"][0]["ranges"].as_array().expect("a list");
    assert_eq!(ranges.len(), 2, "{survey}");
    let lost = ranges[0]["last"].as_u64().expect("a number") + 1;
    assert!(lost < last, "{survey}");
    assert!(refused(&places, "lost", &["--change", &lost.to_string()]).contains("can't be restored"));
    let data = restored(&places, "restored", &[]);
    let server = Server::on(&data, &[]);
    let path = format!("/v3/object/{}", encoded(&format!("{folder}/after.xml")));
    assert_eq!(server.user("editor").get(&path).status, 200);
}

#[test]
fn directories_that_are_no_longer_that_of_the_backup_do_not_write_it() {
    let (places, folder) = (Places::new(), own_folder());
    let target = places.target();
    let mut server = Server::with(&settings(&target));
    archived(&server);
    assert_eq!(server.terminate(), Some(0));
    let copy = places.restored("copy");
    let copied = std::process::Command::new("cp").arg("-a").args([server.data(), &copy]).status();
    assert!(copied.expect("`cp` can be run").success());
    server = server.restart();
    server.user("editor").story(&folder, "story.xml");
    let last = archived(&server);
    drop(server);

    // A copy of before, and another newsroom.
    let set_back = Server::on(&copy, &settings(&target));
    wait_patiently_until("it is refused", || {
        status(&set_back)["fault"].as_str().is_some_and(|why| why.contains("set back"))
    });
    set_back.user("editor").story(&folder, "other.xml");
    drop(set_back);
    let other = Server::with(&settings(&target));
    let why = "the backup of another data directory";
    wait_patiently_until("it is refused", || status(&other)["fault"].as_str().is_some_and(|said| said.contains(why)));
    drop(other);

    // A restored directory goes on beside the old timeline.
    let data = restored(&places, "restored", &[]);
    let server = Server::on(&data, &settings(&target));
    server.user("editor").story(&folder, "later.xml");
    archived(&server);
    drop(server);
    let survey = super::run(stet(&["backup", "list", "--json", "--from", &target]));
    let survey: Value = serde_json::from_str(&survey.out).expect("it prints JSON");
    assert_eq!(survey["timelines"].as_array().map(Vec::len), Some(2), "{survey}");
    assert_eq!(survey["timelines"][1]["branch"]["change"], last, "{survey}");
    let server = Server::on(&restored(&places, "again", &[]), &[]);
    let path = format!("/v3/object/{}", encoded(&format!("{folder}/later.xml")));
    assert_eq!(server.user("editor").get(&path).status, 200);
}

#[test]
fn a_base_is_taken_on_request_and_sends_only_what_has_changed() {
    let places = Places::new();
    let server = Server::with(&settings(&places.target()));
    archived(&server);
    let taken = |server: &Server| {
        let run = run(&["backup", "now", "--json"], server.data());
        assert_eq!(run.code, Some(0), "{}", run.err);
        serde_json::from_str::<Value>(&run.out).expect("it prints JSON")
    };
    let sent = || server.client().metric("stet_backup_base_sent_bytes_total");
    wait_patiently_until("two bases are of one state", || {
        let (first, bytes) = (taken(&server), sent());
        let second = taken(&server);
        // A checkpoint in between writes what was changed before.
        if second["change"] != first["change"] {
            return false;
        }
        assert_eq!(sent(), bytes, "nothing has changed");
        true
    });
    let without = Server::start();
    let run = run(&["backup", "now"], without.data());
    assert_eq!(run.code, Some(1));
    assert!(run.err.contains("backup.target"), "{}", run.err);
}

/// The files below a folder.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let (mut files, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("it can be read") {
            let path = entry.expect("it can be read").path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files
}

/// Runs a command of the backup that must succeed and print JSON.
fn asked(server: &Server, arguments: &[&str]) -> Value {
    let run = run(&[&["backup"], arguments, &["--json"]].concat(), server.data());
    assert_eq!(run.code, Some(0), "{}{}", run.out, run.err);
    serde_json::from_str(&run.out).expect("it prints JSON")
}

/// The first timeline of the target.
fn listed(target: &str) -> Value {
    let run = super::run(stet(&["backup", "list", "--json", "--from", target]));
    assert_eq!(run.code, Some(0), "{}", run.err);
    let survey: Value = serde_json::from_str(&run.out).expect("it prints JSON");
    survey["timelines"][0].clone()
}

/// Takes a base of everything: a start folds the journal into the tables.
fn with_base_of_all(mut server: Server) -> Server {
    archived(&server);
    assert_eq!(server.terminate(), Some(0));
    let server = server.restart();
    archived(&server);
    asked(&server, &["now"]);
    server
}

#[test]
fn what_only_older_states_need_is_removed_and_the_others_are_restored() {
    let (places, folder) = (Places::new(), own_folder());
    let target = places.target();
    let server = Server::with(&settings(&target));
    let story = large_story(&server.user("editor"), &folder, "first.xml", 'a');
    let server = with_base_of_all(server);
    // The first base may be as late as that. So the next one is of other tables for certain.
    server.user("editor").story(&folder, "between.xml");
    let server = with_base_of_all(server);
    let before = listed(&target);
    assert!(before["bases"].as_array().is_some_and(|bases| bases.len() >= 2), "{before}");
    // Everything is younger than the span.
    assert_eq!(asked(&server, &["prune"])["files"], 0);
    let shorter = run(&["backup", "prune", "--keep-days", "13"], server.data());
    assert_eq!(shorter.code, Some(1));
    assert!(shorter.err.contains("`backup.keep_days` is 14") && shorter.err.contains("--force"), "{}", shorter.err);
    assert_eq!(listed(&target), before, "nothing is removed");

    let chunks = places.target_folder().join("chunks");
    let count = files_below(&chunks).len();
    for chunk in files_below(&chunks) {
        let file = std::fs::File::options().append(true).open(&chunk).expect("it can be opened");
        let now = std::time::SystemTime::now();
        file.set_modified(now - std::time::Duration::from_secs(2 * 86_400)).expect("it can be dated back");
    }
    let pruned = asked(&server, &["prune", "--keep-days", "0", "--force"]);
    assert!(pruned["files"].as_u64() > Some(1) && pruned["bytes"].as_u64() > Some(0), "{pruned}");
    assert!(files_below(&chunks).len() < count, "chunks that no base has go");
    let after = listed(&target);
    assert_eq!(after["bases"].as_array().map(Vec::len), Some(1), "{after}");
    assert_eq!(status(&server)["prune"]["files"], pruned["files"]);
    let first = before["ranges"][0]["first"].to_string();
    assert!(refused(&places, "older", &["--change", &first]).contains("can't be restored"));
    server.user("editor").story(&folder, "second.xml");
    archived(&server);
    drop(server);
    let server = Server::on(&restored(&places, "restored", &[]), &[]);
    assert!(content(&server.user("editor"), &story).contains("aaaa"));
    let path = format!("/v3/object/{}", encoded(&format!("{folder}/second.xml")));
    assert_eq!(server.user("editor").get(&path).status, 200);
}

#[test]
fn removals_that_are_killed_leave_only_states_that_can_be_restored() {
    let (places, folder) = (Places::new(), own_folder());
    let target = places.target();
    let mut dice = Dice::new(seed("STET_BACKUP_KILLS_SEED"));
    let mut server = Server::with(&settings(&target));
    for round in 0..setting("STET_BACKUP_KILLS").unwrap_or(3) {
        let client = server.user("editor");
        for number in 0..dice.roll(5) + 1 {
            large_story(&client, &folder, &format!("{round}-{number}.xml"), 'x');
        }
        server = with_base_of_all(server);
        let mut command = stet(&["backup", "prune", "--keep-days", "0", "--force", "--data"]);
        let mut pruning =
            command.arg(server.data()).stderr(std::process::Stdio::null()).spawn().expect("it is started");
        std::thread::sleep(std::time::Duration::from_millis(dice.roll(120) as u64));
        server.kill();
        pruning.wait().expect("it can be waited for");
        let (ranges, data) = (listed(&target)["ranges"].clone(), places.restored(&format!("restored-{round}")));
        for range in ranges.as_array().expect("a list") {
            let first = range["first"].to_string();
            let run = run(&["restore", "--from", &target, "--change", &first], &data);
            assert_eq!(run.code, Some(0), "{range}: {}{}", run.out, run.err);
            std::fs::remove_dir_all(&data).expect("it can be removed");
        }
        server = server.restart();
    }
    archived(&server);
    restored(&places, "newest", &[]);
}

#[test]
fn a_drill_restores_the_newest_state_and_reports_damage() {
    let (places, folder) = (Places::new(), own_folder());
    let target = places.target();
    let mut server = Server::with(&settings(&target));
    assert_eq!(status(&server)["drill"]["verified"], Value::Null);
    large_story(&server.user("editor"), &folder, "story.xml", 'a');
    let last = archived(&server);
    let drilled = asked(&server, &["drill"]);
    assert!(drilled["change"].as_u64() >= Some(last), "{drilled}");
    let described = run(&["backup", "status"], server.data()).out;
    assert!(described.contains(&format!("verified   change {}", drilled["change"])), "{described}");
    let scratch = server.data().join("backup/drill");
    assert!(!scratch.exists(), "the scratch directory is removed");
    let verified = || server.client().metric("stet_backup_verified_timestamp_seconds");
    let at = drilled["atMs"].as_f64().expect("a number") / 1000.0;
    wait_until("it is measured", || (verified() - at).abs() < 0.01);

    // The server's own file of the content is whole.
    let contents = files_below(&places.target_folder().join("contents"));
    let whole: Vec<_> = contents.iter().map(|path| (path, std::fs::read(path).expect("it can be read"))).collect();
    for (path, bytes) in &whole {
        std::fs::write(path, vec![b'?'; bytes.len()]).expect("it can be written");
    }
    let failed = run(&["backup", "drill"], server.data());
    assert_eq!(failed.code, Some(1));
    assert!(failed.err.contains("is damaged"), "{}", failed.err);
    assert_eq!(server.terminate(), Some(0));
    // A kill in the middle of a drill would leave it.
    std::fs::create_dir_all(scratch.join("data")).expect("it can be made");
    let server = server.restart();
    wait_until("it is removed", || !scratch.exists());
    let drill = status(&server)["drill"].clone();
    assert!(drill["fault"]["why"].as_str().is_some_and(|why| why.contains("is damaged")), "{drill}");
    assert_eq!(drill["verified"], drilled, "the older proof stays");
    for (path, bytes) in &whole {
        std::fs::write(path, bytes).expect("it can be written");
    }
    asked(&server, &["drill"]);
    assert_eq!(status(&server)["drill"]["fault"], Value::Null);
}

#[test]
fn a_drill_for_which_the_disk_has_no_room_is_not_begun() {
    let places = Places::new();
    let target = places.target();
    let server = Server::with(&[&settings(&target)[..], &[("STORE__RESERVE_BYTES", "1000000000000")]].concat());
    archived(&server);
    let failed = run(&["backup", "drill"], server.data());
    assert_eq!(failed.code, Some(1));
    assert!(failed.err.contains("free bytes") && failed.err.contains("twice the size"), "{}", failed.err);
}
