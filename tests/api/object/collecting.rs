//! Content files that no row refers to are removed, and no others.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use sha2::{Digest, Sha256};

use super::*;

/// Bytes that lie in a file; different for each number.
fn large(number: usize) -> Vec<u8> {
    let mut bytes = vec![b'x'; 40_000];
    bytes[..8].copy_from_slice(&(number as u64).to_be_bytes());
    bytes
}

/// A server that collects unused files at once, and a client of it.
struct House {
    server: Server,
    desk: Desk,
    /// The number of files that must have been collected.
    collected: u64,
}

impl House {
    fn new() -> House {
        let server = Server::with(&[("CONTENT__COLLECT_AFTER_SECONDS", "1")]);
        let desk = Desk::at(server.user("admin"));
        desk.make("taken.xml", b"");
        House { server, desk, collected: 0 }
    }

    fn file(&self, bytes: &[u8]) -> PathBuf {
        let name: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        self.server.data().join("content").join(&name[..2]).join(&name[2..])
    }

    fn is_there(&self, bytes: &[u8]) -> bool {
        self.file(bytes).exists()
    }

    fn goes(&mut self, what: &str, bytes: &[u8]) {
        wait_until(what, || !self.is_there(bytes));
        self.collected += 1;
    }

    /// Waits until each present file has been checked. A refused creation leaves a file, and all
    /// folders are checked once a second. When a second such file is deleted, all files were
    /// checked since the call.
    fn look_at_all(&mut self) {
        for number in [1_000_000, 1_000_001] {
            let bytes = large(number);
            self.desk.create("taken.xml", &bytes, json!({})).fails(409, "DuplicatedName");
            self.goes("what a refused creation has left goes", &bytes);
        }
    }

    /// Asserts that exactly the unused files were deleted, and no row has lost its bytes.
    fn done(self) {
        // They go before they are counted.
        let counted = || self.desk.client.count("stet_content_collected_total");
        wait_until("all are counted", || counted() >= self.collected);
        let bytes = self.desk.client.count("stet_content_collected_bytes_total");
        assert_eq!((counted(), bytes), (self.collected, self.collected * 40_000));
        let line = "removed content files without references";
        wait_until("it is told", || self.server.log().contains(line));
        let output = ends_sound(self.server);
        assert!(!output.contains("unreferenced"), "{output}");
    }
}

#[test]
fn a_file_that_objects_share_stays_until_the_last_of_them_is_destroyed() {
    let mut house = House::new();
    let shared = large(1);
    let one = house.desk.make("one.xml", &shared);
    let other = house.desk.make("other.xml", &shared);
    discard(&house.desk, &other).ok();
    destroy(&house.desk, &one).ok();
    house.look_at_all();
    assert!(house.is_there(&shared), "the recycle bin keeps it");
    restore(&house.desk, &other, json!({})).ok();
    assert!(bytes_of(&house.desk, &other) == shared);
    destroy(&house.desk, &other).ok();
    house.goes("the file goes", &shared);
    // And comes again when it is needed again.
    let again = house.desk.make("again.xml", &shared);
    house.look_at_all();
    assert!(bytes_of(&house.desk, &again) == shared);
    house.done();
}

#[test]
fn old_versions_and_drafts_keep_their_files_and_what_is_replaced_does_not() {
    let mut house = House::new();
    let [first, second, replaced, draft] = [11, 12, 13, 14].map(large);
    let loid = house.desk.make("a.xml", &first);
    write(&house.desk, &loid, "newVersion", &replaced).ok();
    write(&house.desk, &loid, "", &second).ok();
    write(&house.desk, &loid, "checkOut&checkIn=false", &draft).ok();
    house.goes("the version that was replaced goes", &replaced);
    house.look_at_all();
    for (version, expected) in [(1, &first), (2, &second)] {
        assert!(bytes_of_version(&house.desk, &loid, version) == *expected, "{version}");
    }
    assert!(bytes_of(&house.desk, &loid) == draft);
    write(&house.desk, &loid, "checkOutClean&checkIn=false", b"").ok();
    house.goes("the dropped draft goes", &draft);
    house.look_at_all();
    assert!(bytes_of(&house.desk, &loid) == second);
    // Of the first version again: one more that refers to it.
    house.desk.call("stet-object-unlock-post", &[&loid]).ok();
    house.desk.call("stet-object-version-restore-post", &[&loid, &1]).ok();
    house.look_at_all();
    assert!(bytes_of(&house.desk, &loid) == first);
    destroy(&house.desk, &loid).ok();
    house.goes("the first goes", &first);
    house.goes("the second goes", &second);
    house.done();
}

#[test]
fn attachments_keep_their_files_and_a_liveblog_its_templates_file() {
    let mut house = House::new();
    let [one, other, template] = [21, 22, 23].map(large);
    let taken = house.desk.make("template.xml", &template);
    let body = json!({ "name": "night", "folderPath": house.desk.folder });
    let blog = house.desk.call("liveblog-from-template-post", &[&taken]).json(&body).ok();
    let loid = id(&blog["info"]);
    destroy(&house.desk, &taken).ok();
    let files = [
        ("content", "p.xml", "text/xml", &b"<post><p>x</p></post>"[..]),
        ("attachments", "a.png", "image/png", &one[..]),
        ("attachments", "b.png", "image/png", &one[..]),
        ("attachments", "c.png", "image/png", &other[..]),
    ];
    let made = house.desk.call("liveblog-post-create", &[&loid]).form(&json!({}), &files).ok();
    let post = id(&made["info"]);
    let [one_id, other_one, last] = [0, 1, 2].map(|place| id(&made["attachments"][place]));
    let options = json!({ "removeAttachments": [one_id, last] });
    house.desk.call("liveblog-post-put", &[&loid, &post]).form(&options, &[]).ok();
    house.goes("an attachment that was removed goes", &other);
    house.look_at_all();
    let kept = house.desk.call("stet-liveblog-post-attachment-get", &[&loid, &post, &other_one]);
    assert!(bytes(&kept) == one);
    assert!(house.is_there(&template), "the liveblog's first version is the template's content");
    destroy(&house.desk, &loid).ok();
    house.goes("the other goes with its liveblog", &one);
    house.goes("and so does its own content", &template);
    house.done();
}

/// Clients that create objects of the same few contents and destroy them again, while files are
/// collected and the server is killed.
#[test]
fn a_kill_amid_uploads_and_collecting_leaves_no_row_without_its_file() {
    const BODIES: usize = 4;
    let mut server = Server::with(&[("CONTENT__COLLECT_AFTER_SECONDS", "1")]);
    let mut desk = Desk::at(server.user("admin"));
    for round in 0..2 {
        let over = AtomicBool::new(false);
        let kept: Vec<(String, usize)> = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..3)
                .map(|worker| {
                    let (desk, over) = (Desk { client: desk.afresh(), folder: desk.folder.clone() }, &over);
                    scope.spawn(move || work(&desk, &format!("{round}-{worker}"), BODIES, over))
                })
                .collect();
            // Unused files are deleted at the same time: collecting is under way.
            let before = desk.client.count("stet_content_collected_total");
            wait_until("files are collected", || desk.client.count("stet_content_collected_total") >= before + 3);
            server.kill();
            over.store(true, Ordering::Relaxed);
            workers.into_iter().flat_map(|worker| worker.join().expect("a worker ends")).collect()
        });
        let (code, output) = server.check();
        assert_eq!(code, Some(0), "{output}");
        server = server.restart();
        desk.client = desk.to(&server);
        for (loid, body) in &kept {
            assert!(bytes_of(&desk, loid) == large(*body), "{loid}");
        }
        assert!(!kept.is_empty());
    }
    ends_sound(server);
}

/// Creates and destroys objects until the server is gone. Returns those that it had created and not
/// asked to be destroyed.
fn work(desk: &Desk, name: &str, bodies: usize, over: &AtomicBool) -> Vec<(String, usize)> {
    let mut kept: Vec<(String, usize)> = Vec::new();
    for number in 0.. {
        if over.load(Ordering::Relaxed) {
            break;
        }
        let (name, body) = (format!("{name}-{number}.xml"), number % bodies);
        let Ok(answer) = desk.create(&name, &large(body), json!({ "type": "Story" })).try_send() else { break };
        kept.push((id(&answer.ok()), body));
        // A refused creation: its file is unused.
        let refused = desk.create(&name, &large(1000 + number), json!({ "type": "Nonsense" }));
        let Ok(answer) = refused.try_send() else { break };
        answer.fails(404, "TypeNotFound");
        if kept.len() > 2 {
            let (loid, _) = kept.remove(0);
            if destroy(desk, &loid).try_send().is_err() {
                break;
            }
        }
    }
    kept
}
