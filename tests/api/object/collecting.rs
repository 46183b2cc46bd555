//! Content files that no row refers to are removed, and no others.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{CREATE, bytes_of, id, object, upload};
use crate::harness::*;

/// Bytes that lie in a file; different for each number.
fn large(number: usize) -> Vec<u8> {
    let mut bytes = vec![b'x'; 40_000];
    bytes[..8].copy_from_slice(&(number as u64).to_be_bytes());
    bytes
}

/// A server that keeps nothing that nobody needs, and a client of it.
struct House {
    server: Server,
    client: Client,
    folder: String,
    /// How many files must have been collected.
    collected: u64,
}

impl House {
    fn new() -> House {
        let server = Server::with(&[("CONTENT__COLLECT_AFTER_SECONDS", "1")]);
        let (client, folder) = (server.login("admin"), own_folder());
        upload(&client, &folder, "taken.xml", b"", json!({})).ok();
        House { server, client, folder, collected: 0 }
    }

    fn upload(&self, name: &str, bytes: &[u8], extra: Value) -> String {
        id(&upload(&self.client, &self.folder, name, bytes, extra).ok())
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

    /// Waits until each file has been looked at that is there now. A creation that is refused leaves one, and all folders are
    /// looked at once a second; so when a second one has gone, too, all of them were looked at since the first call.
    fn look_at_all(&mut self) {
        for number in [1_000_000, 1_000_001] {
            let bytes = large(number);
            upload(&self.client, &self.folder, "taken.xml", &bytes, json!({})).fails(409, "DuplicatedName");
            self.goes("what a refused creation has left goes", &bytes);
        }
    }

    fn destroy(&self, loid: &str) {
        self.client.delete(&format!("{}/destroy", object(loid))).ok();
    }

    fn write(&self, loid: &str, query: &str, bytes: &[u8]) {
        self.client.send("PUT", &format!("{}/content?{query}", object(loid)), &[], bytes).ok();
    }

    /// All went that had to, nothing else did, and no row has lost its bytes.
    fn done(mut self) {
        // They go before they are counted.
        let counted = || self.client.count("stet_content_collected_total");
        wait_until("all are counted", || counted() >= self.collected);
        let bytes = self.client.count("stet_content_collected_bytes_total");
        assert_eq!((counted(), bytes), (self.collected, self.collected * 40_000));
        let line = "content files that nothing refers to were removed";
        wait_until("it is told", || self.server.log().contains(line));
        assert_eq!(self.server.terminate(), Some(0));
        let (code, output) = self.server.check();
        assert_eq!(code, Some(0), "{output}");
        assert!(!output.contains("referred to by no row"), "{output}");
    }
}

#[test]
fn a_file_that_objects_share_stays_until_the_last_of_them_is_destroyed() {
    let mut house = House::new();
    let shared = large(1);
    let one = house.upload("one.xml", &shared, json!({}));
    let other = house.upload("other.xml", &shared, json!({}));
    house.client.delete(&format!("{}/discard", object(&other))).ok();
    house.destroy(&one);
    house.look_at_all();
    assert!(house.is_there(&shared), "the recycle bin keeps it");
    house.client.post(&format!("{}/restore", object(&other)), &json!({})).ok();
    assert!(bytes_of(&house.client, &other) == shared);
    house.destroy(&other);
    house.goes("the file goes", &shared);
    // And comes again when it is needed again.
    let again = house.upload("again.xml", &shared, json!({}));
    house.look_at_all();
    assert!(bytes_of(&house.client, &again) == shared);
    house.done();
}

#[test]
fn old_versions_and_drafts_keep_their_files_and_what_is_replaced_does_not() {
    let mut house = House::new();
    let [first, second, replaced, draft] = [11, 12, 13, 14].map(large);
    let loid = house.upload("a.xml", &first, json!({}));
    house.write(&loid, "newVersion=true", &replaced);
    house.write(&loid, "", &second);
    house.write(&loid, "checkOut=true&checkIn=false", &draft);
    house.goes("the version that was replaced goes", &replaced);
    house.look_at_all();
    for (version, bytes) in [("?version=1", &first), ("?version=2", &second), ("", &draft)] {
        let answer = house.client.get(&format!("{}/content{version}", object(&loid)));
        assert!(answer.status == 200 && answer.body == *bytes, "{version}: {}", answer.status);
    }
    house.write(&loid, "checkOutClean=true&checkIn=false", b"");
    house.goes("the dropped draft goes", &draft);
    house.look_at_all();
    assert!(bytes_of(&house.client, &loid) == second);
    // Of the first version again: one more that refers to it.
    house.client.post(&format!("{}/unlock", object(&loid)), &json!({})).ok();
    house.client.post(&format!("{}/versions/1/restore", object(&loid)), &json!({})).ok();
    house.look_at_all();
    assert!(bytes_of(&house.client, &loid) == first);
    house.destroy(&loid);
    house.goes("the first goes", &first);
    house.goes("the second goes", &second);
    house.done();
}

#[test]
fn attachments_keep_their_files_and_so_does_a_liveblog_the_file_of_its_template() {
    let mut house = House::new();
    let [one, other, template] = [21, 22, 23].map(large);
    let taken = house.upload("template.xml", &template, json!({}));
    let body = json!({ "name": "night", "folderPath": house.folder });
    let from = format!("/v3/container/liveblog/from/template/{}", encoded(&taken));
    let blog = house.client.post(&from, &body);
    let loid = blog.ok()["info"]["id"].as_str().expect("it has an id").to_owned();
    house.destroy(&taken);
    let path = format!("/v3/container/liveblog/{}/post", encoded(&loid));
    let files = [
        ("content", "p.xml", "text/xml", &b"<post><p>x</p></post>"[..]),
        ("attachments", "a.png", "image/png", &one[..]),
        ("attachments", "b.png", "image/png", &one[..]),
        ("attachments", "c.png", "image/png", &other[..]),
    ];
    let post = house.client.send_form("POST", &path, &[], &json!({}), &files).ok();
    let path = format!("{path}/{}", encoded(post["info"]["id"].as_str().expect("a post has an id")));
    let ids: Vec<&Value> = post["attachments"].as_array().expect("a list").iter().map(|at| &at["id"]).collect();
    let options = json!({ "removeAttachments": [ids[0], ids[2]] });
    house.client.send_form("PUT", &path, &[], &options, &[]).ok();
    house.goes("an attachment that was removed goes", &other);
    house.look_at_all();
    let answer = house.client.get(&format!("{path}/attachment/{}", ids[1].to_string().trim_matches('"')));
    assert!(answer.status == 200 && answer.body == one, "{}", answer.status);
    assert!(house.is_there(&template), "the liveblog's first version is the template's content");
    house.destroy(&loid);
    house.goes("the other goes with its liveblog", &one);
    house.goes("and so does its own content", &template);
    house.done();
}

/// Clients that create objects of the same few contents and destroy them again, while files are collected and the server is
/// killed.
#[test]
fn a_kill_amid_uploads_and_collecting_leaves_no_row_without_its_file() {
    const BODIES: usize = 4;
    let mut server = Server::with(&[("CONTENT__COLLECT_AFTER_SECONDS", "1")]);
    let mut client = server.login("admin");
    let folder = own_folder();
    for round in 0..2 {
        let over = AtomicBool::new(false);
        let kept: Vec<(String, usize)> = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..3)
                .map(|worker| {
                    let (client, folder, over) = (client.afresh(), folder.clone(), &over);
                    scope.spawn(move || work(&client, &folder, &format!("{round}-{worker}"), BODIES, over))
                })
                .collect();
            // What nobody ever needs goes meanwhile: collecting is under way.
            let before = client.count("stet_content_collected_total");
            wait_until("files are collected", || client.count("stet_content_collected_total") >= before + 3);
            server.kill();
            over.store(true, Ordering::Relaxed);
            workers.into_iter().flat_map(|worker| worker.join().expect("a worker ends")).collect()
        });
        let (code, output) = server.check();
        assert_eq!(code, Some(0), "{output}");
        server = server.restart();
        client = client.to(&server);
        for (loid, body) in &kept {
            assert!(bytes_of(&client, loid) == large(*body), "{loid}");
        }
        assert!(!kept.is_empty());
    }
    assert_eq!(server.terminate(), Some(0));
    let (code, output) = server.check();
    assert_eq!(code, Some(0), "{output}");
}

/// Creates and destroys until the server is gone; gives what it had created and not asked to be destroyed.
fn work(client: &Client, folder: &str, name: &str, bodies: usize, over: &AtomicBool) -> Vec<(String, usize)> {
    let mut kept: Vec<(String, usize)> = Vec::new();
    for number in 0.. {
        if over.load(Ordering::Relaxed) {
            break;
        }
        let body = number % bodies;
        let options = json!({ "name": format!("{name}-{number}.xml"), "type": "Story", "folderPath": folder });
        let Some(answer) = try_upload(client, &options, &large(body)) else { break };
        kept.push((id(&answer.ok()), body));
        // One that is refused: its file is nobody's.
        let refused = json!({ "name": format!("{name}-{number}.xml"), "type": "Nonsense", "folderPath": folder });
        let Some(answer) = try_upload(client, &refused, &large(1000 + number)) else { break };
        answer.fails(404, "TypeNotFound");
        if kept.len() > 2 {
            let (loid, _) = kept.remove(0);
            let path = format!("{}/destroy", object(&loid));
            if client.try_send("DELETE", &path, &[], b"").is_err() {
                break;
            }
        }
    }
    kept
}

fn try_upload(client: &Client, options: &Value, bytes: &[u8]) -> Option<Answer> {
    client.try_send_form("POST", CREATE, &[], options, &[("content", "a.xml", "text/xml", bytes)]).ok()
}
