//! The real binary on a real file system that fills up. Skipped, with a word, where mounting one is
//! not permitted.

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;
use tempfile::TempDir;

use crate::harness::*;

/// A file system in memory of its own.
pub struct Mounted(TempDir);

impl Mounted {
    /// `None` where it is not permitted.
    pub fn of(megabytes: u32) -> Option<Mounted> {
        let place = TempDir::new().expect("a temporary directory can be made");
        let size = format!("size={megabytes}m");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(place.path()).output();
        match mounted {
            Ok(done) if done.status.success() => Some(Mounted(place)),
            Ok(done) => {
                println!("skipped, for nothing can be mounted: {}", String::from_utf8_lossy(&done.stderr).trim());
                None
            }
            Err(error) => {
                println!("skipped, for there is no `mount`: {error}");
                None
            }
        }
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Mounts the same file system at a second place.
    pub fn also_at(&self, place: &Path) -> Also {
        let bound = Command::new("mount").arg("--bind").arg(self.path()).arg(place).status();
        assert!(bound.is_ok_and(|status| status.success()), "a file system that could be mounted can be mounted twice");
        Also(place.to_owned())
    }

    fn ballast(&self) -> PathBuf {
        self.path().join("ballast")
    }

    /// Fills the file system up to the last `bytes` bytes.
    fn fill_but(&self, bytes: u64) {
        self.fill();
        let ballast = std::fs::OpenOptions::new().write(true).open(self.ballast()).expect("the file can be opened");
        let taken = ballast.metadata().expect("it has a length").len();
        ballast.set_len(taken - bytes).expect("it can be cut");
    }

    /// Fills the file system.
    pub fn fill(&self) {
        let mut file = std::fs::File::create(self.ballast()).expect("a file can be made");
        for size in [1 << 16, 1 << 12, 1] {
            let block = vec![0; size];
            loop {
                match file.write(&block) {
                    Ok(_) => {}
                    Err(error) if error.kind() == ErrorKind::StorageFull => break,
                    Err(error) => panic!("the file system can't be filled: {error}"),
                }
            }
        }
    }

    pub fn make_room(&self) {
        std::fs::remove_file(self.ballast()).expect("the file can be removed");
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // Nothing can be done about a failure, and the next start of the machine ends it.
        let _ = Command::new("umount").arg(self.path()).status();
    }
}

/// A second place of a file system.
pub struct Also(PathBuf);

impl Also {
    /// Says whether what lies there may be changed through this place.
    pub fn writable(&self, writable: bool) {
        let options = format!("remount,bind,{}", if writable { "rw" } else { "ro" });
        let done = Command::new("mount").args(["-o", &options]).arg(&self.0).status();
        assert!(done.is_ok_and(|status| status.success()), "what could be mounted can be mounted otherwise");
    }
}

impl Drop for Also {
    fn drop(&mut self) {
        // As above.
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

fn create(client: &Client, name: &str, size: usize) -> Answer {
    let options = json!({ "name": name, "type": "Story", "folderPath": "/Full" });
    client.upload("/v3/object/create", &options, Some((name, "text/plain", &vec![b'x'; size])))
}

fn size_of(client: &Client, name: &str) -> Option<usize> {
    let answer = client.get(&format!("/v3/object/{}/content/binary", encoded(&format!("/Full/{name}"))));
    assert!(matches!(answer.status, 200 | 404), "{name}: {}", answer.status);
    (answer.status == 200).then_some(answer.body.len())
}

/// Creates stories until there is no room.
fn until_full(client: &Client, made: &mut Vec<(String, usize)>) {
    for number in 0..10_000 {
        let (name, size) = (format!("small{}-{number}", made.len()), 5_000);
        let answer = create(client, &name, size);
        if answer.status != 200 {
            answer.fails(507, "StorageFull");
            assert_eq!(size_of(client, &name), None);
            return;
        }
        made.push((name, size));
    }
    panic!("the file system does not fill up");
}

fn all_there(client: &Client, made: &[(String, usize)]) {
    for (name, size) in made {
        assert_eq!(size_of(client, name), Some(*size), "{name}");
    }
}

fn why(client: &Client) -> Option<String> {
    let answer = client.get("/readyz");
    assert_eq!(answer.status, 200, "reads are of use");
    answer.json()["why"].as_str().map(str::to_owned)
}

#[test]
fn a_full_file_system_refuses_writes_and_a_server_started_on_it_reads() {
    const LARGE: usize = 300_000;
    let Some(mounted) = Mounted::of(48) else { return };
    let settings = [("STORE__CHECKPOINT_SECONDS", "1"), ("STORE__RESERVE_BYTES", "0")];
    let mut server = Server::on(mounted.path(), &settings);
    let mut client = server.login("admin");
    let mut made = Vec::new();
    let drawer = client.drawer("/Full", "drawer", 3);

    mounted.fill();
    // Its bytes differ by length from those of all others, so that it is a file of its own.
    create(&client, "large", LARGE).fails(507, "StorageFull");
    assert_eq!(size_of(&client, "large"), None);
    let unfinished = std::fs::read_dir(mounted.path().join("content/tmp")).expect("it can be listed").count();
    assert_eq!(unfinished, 0, "an upload that failed leaves nothing behind");
    until_full(&client, &mut made);
    all_there(&client, &made);
    assert_eq!(client.items(&drawer), Vec::<String>::new());
    assert!(why(&client).is_some_and(|why| why.contains("full")), "{:?}", why(&client));

    mounted.make_room();
    wait_until("changes go through again", || create(&client, "large", LARGE).status == 200);
    made.push(("large".to_owned(), LARGE));
    wait_until("it is told no more", || why(&client).is_none());

    mounted.fill();
    until_full(&client, &mut made);
    assert_eq!(server.terminate(), Some(0), "{}", server.log());
    server = server.restart();
    client = client.to(&server);
    all_there(&client, &made);
    create(&client, "larger", LARGE + 1).fails(507, "StorageFull");
    mounted.make_room();
    wait_until("changes go through again", || create(&client, "larger", LARGE + 1).status == 200);
    made.push(("larger".to_owned(), LARGE + 1));
    server.kill();
    server = server.restart();
    client = client.to(&server);
    all_there(&client, &made);
    assert_eq!(server.terminate(), Some(0));
    let (code, output) = server.check();
    assert_eq!(code, Some(0), "{output}");
}

#[test]
fn contents_that_find_no_room_are_refused_and_told_and_all_else_goes_on() {
    const LARGE: usize = 300_000;
    let Some(mounted) = Mounted::of(8) else { return };
    let data = TempDir::new().expect("a temporary directory can be made");
    let contents = data.path().join("content");
    std::fs::create_dir(&contents).expect("a folder can be made");
    // Taken away again before the directory is, and after the server has ended.
    let _also = mounted.also_at(&contents);
    let mut server = Server::on(data.path(), &[("STORE__RESERVE_BYTES", "0")]);
    let client = server.login("admin");
    mounted.fill();
    create(&client, "large", LARGE).fails(507, "StorageFull");
    assert_eq!(size_of(&client, "large"), None);
    assert_eq!(client.metric("stet_content_failures_total{what=\"written\",why=\"full\"}"), 1.0);
    assert_eq!(create(&client, "small", 100).status, 200, "it lies in the tables, which have room");
    assert_eq!(why(&client), None, "the store is well");
    mounted.make_room();
    assert_eq!(create(&client, "large", LARGE).status, 200);
    assert_eq!(size_of(&client, "large"), Some(LARGE));
    assert_eq!(server.terminate(), Some(0));
}

#[test]
fn unwritable_contents_are_refused_and_reported_and_all_else_works() {
    const LARGE: usize = 300_000;
    let Some(mounted) = Mounted::of(8) else { return };
    let data = TempDir::new().expect("a temporary directory can be made");
    let contents = data.path().join("content");
    std::fs::create_dir(&contents).expect("a folder can be made");
    let also = mounted.also_at(&contents);
    // Unused files can't be removed either, which blocks no call.
    let mut server = Server::on(data.path(), &[("CONTENT__COLLECT_AFTER_SECONDS", "1"), ("STORE__RESERVE_BYTES", "0")]);
    let client = server.login("admin");
    assert_eq!(create(&client, "first", LARGE).status, 200);
    let replace = |size: usize| {
        let path = format!("/v3/object/{}/content", encoded("/Full/first"));
        client.send("PUT", &path, &[], &vec![b'x'; size])
    };
    replace(LARGE + 1).ok();
    also.writable(false);
    let refused = create(&client, "second", LARGE + 2).fails(500, "RepositoryError");
    assert!(!refused.to_string().contains("Read-only"), "{refused}");
    replace(LARGE + 3).fails(500, "RepositoryError");
    assert_eq!(size_of(&client, "second"), None);
    assert_eq!(size_of(&client, "first"), Some(LARGE + 1), "nothing was changed, and reads go on");
    assert_eq!(create(&client, "small", 100).status, 200, "it lies in the tables");
    assert_eq!(why(&client), None, "the store is well");
    let failed = |what: &str| client.metric(&format!("stet_content_failures_total{{what=\"{what}\",why=\"failed\"}}"));
    assert_eq!(failed("written"), 2.0);
    wait_until("a file can't be removed", || failed("collected") > 0.0);

    also.writable(true);
    assert_eq!(create(&client, "second", LARGE + 2).status, 200, "nobody has to do anything but let it be written");
    replace(LARGE + 3).ok();
    assert_eq!((size_of(&client, "first"), size_of(&client, "second")), (Some(LARGE + 3), Some(LARGE + 2)));
    // Two versions that were replaced.
    wait_until("they are removed now", || client.metric("stet_content_collected_total") >= 2.0);
    assert_eq!(server.terminate(), Some(0));
    let (code, output) = server.check();
    assert_eq!(code, Some(0), "{output}");
}

#[test]
fn a_first_start_on_a_full_disk_is_repeated_once_there_is_room() {
    let Some(mounted) = Mounted::of(32) else { return };
    let data = mounted.path().join("data");
    for kilobytes in [0, 4, 64, 200, 600] {
        mounted.fill_but(kilobytes << 10);
        let output = Command::new(binary())
            .current_dir("/")
            .args(["serve", "--listen", "127.0.0.1:0", "--data"])
            .arg(&data)
            .env("STET_ADMIN_PASSWORD", ADMIN_PASSWORD)
            .output()
            .expect("the binary can be started");
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(
            matches!(output.status.code(), Some(1 | 3)),
            "with {kilobytes} KB it does not end as it should: {told}"
        );
        assert!(output.stdout.is_empty() && told.contains(&*data.display().to_string()), "{told}");
        assert!(told.contains("is full") || told.contains("No space left"), "with {kilobytes} KB: {told}");
        mounted.make_room();
    }
    let mut server = Server::on(&data, &[]);
    server.login("admin").lives();
    assert_eq!(server.terminate(), Some(0));
    let (code, output) = server.check();
    assert_eq!(code, Some(0), "{output}");
}

#[test]
fn contents_leave_room_for_changes_and_unused_ones_give_way_to_uploads() {
    const LARGE: usize = 3_000_000;
    let Some(mounted) = Mounted::of(48) else { return };
    let settings = [("STORE__RESERVE_BYTES", "20000000"), ("STORE__CHECKPOINT_SECONDS", "1")];
    let mut server = Server::on(mounted.path(), &settings);
    let client = server.login("admin");
    assert_eq!(create(&client, "first", LARGE).status, 200);
    let path = format!("/v3/object/{}/content", encoded("/Full/first"));
    // Each leaves a file behind that is no object's, for a day.
    let mut refused = (0..100)
        .map(|number| client.send("PUT", &path, &[("if-match", "\"stale\"")], &vec![b'x'; LARGE + 1 + number]).status);
    let last = refused.find(|status| *status != 412);
    assert_eq!(last, Some(507), "the files leave no room for another upload");
    client.drawer("/Full", "meanwhile", 3);
    assert_eq!(why(&client), None, "the store has all the room that it wants");
    wait_until("they give way", || create(&client, "second", LARGE + 200).status == 200);
    assert_eq!((size_of(&client, "first"), size_of(&client, "second")), (Some(LARGE), Some(LARGE + 200)));
    assert_eq!(server.terminate(), Some(0));
    let (code, output) = server.check();
    assert_eq!(code, Some(0), "{output}");
}
