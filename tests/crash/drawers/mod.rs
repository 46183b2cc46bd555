//! Objects and drawers. Each worker has objects and two drawers of its own; one more drawer is
//! shared by all, each adding objects of its own.

mod model;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use self::model::{CAPACITY, Change, Entry, Model, Seen, State, differences};
use super::{Worker, all_rounds, some_bytes};
use crate::harness::*;

const WORKERS: usize = 4;
/// Name of the story in a folder of a worker.
const CHILD: &str = "child.xml";

/// A worker that changes things.
struct Shelf {
    number: usize,
    folder: String,
    drawers: [String; 2],
    shared: String,
    dice: Dice,
    model: Model,
    /// The last acknowledged change, for the message if the next one fails.
    before: Option<Change>,
    pending: Pending,
}

/// The change that was under way when the server died, and the model after it.
type Pending = Option<(Change, Model)>;

fn name_of(record: &Value) -> String {
    record["name"].as_str().expect("a record has a name").to_owned()
}

impl Shelf {
    fn choose(&mut self) -> Change {
        loop {
            if let Some(change) = self.try_choose() {
                return change;
            }
        }
    }

    /// A change that the present state allows, if the dice lead to one.
    fn try_choose(&mut self) -> Option<Change> {
        let (dice, model) = (&mut self.dice, &mut self.model);
        let free = |entry: &Entry| entry.state == State::Live && !entry.for_shared;
        let story = |entry: &Entry| free(entry) && !entry.is_folder;
        let drawer = dice.roll(2);
        match dice.roll(20) {
            0..=3 => {
                model.count += 1;
                let for_shared = dice.roll(3) == 0;
                let name = format!("w{}-{:04}.xml", self.number, model.count);
                Some(Change::Create { name, bytes: some_bytes(dice), for_shared })
            }
            4 => {
                model.count += 1;
                Some(Change::CreateFolder {
                    name: format!("w{}-{:04}", self.number, model.count),
                    bytes: some_bytes(dice),
                })
            }
            5 => {
                let name = dice.pick(&model.names(story))?.clone();
                Some(Change::NewVersion { name, bytes: some_bytes(dice) })
            }
            6 | 7 => dice.pick(&model.names(free)).cloned().map(Change::Discard),
            8 | 9 => dice.pick(&model.names(|entry| entry.state == State::Discarded)).cloned().map(Change::Restore),
            10 => {
                let there = |entry: &Entry| entry.state != State::Destroyed && !entry.for_shared;
                dice.pick(&model.names(there)).cloned().map(Change::Destroy)
            }
            11 | 12 => dice.pick(&model.names(story)).cloned().map(|name| Change::Add(name, drawer)),
            13..=15 => {
                let name = dice.pick(&model.names(story))?.clone();
                let there = model.visible(drawer).len();
                let position = dice.roll(if model.is_full(drawer) { there } else { there + 1 });
                Some(Change::Position(name, drawer, position))
            }
            16 => dice.pick(&model.visible(drawer)).cloned().map(|name| Change::Delete(name, drawer)),
            17 => dice.pick(&model.visible(drawer)).cloned().map(|name| Change::Move(name, drawer)),
            _ => {
                let waiting = model.names(|entry| entry.for_shared);
                let waiting: Vec<String> = waiting.into_iter().filter(|name| !model.shared.contains(name)).collect();
                dice.pick(&waiting).cloned().map(Change::Share)
            }
        }
    }

    fn loid(&self, name: &str) -> String {
        encoded(self.model.entries[name].loid.as_ref().expect("what is acknowledged has a loid"))
    }

    /// Asks for the change.
    fn ask(&self, client: &Client, change: &Change) -> Result<Answer, String> {
        let json = |method: &str, path: String, body: Value| {
            client.try_send(method, &path, &[("content-type", "application/json")], body.to_string().as_bytes())
        };
        let upload = |folder: &str, name: &str, bytes: &[u8], mode: &str| {
            let options = json!({ "name": name, "folderPath": folder, "createMode": mode, "type": "Story" });
            let file = [("content", "a.xml", "text/xml", bytes)];
            client.try_send_form("POST", "/v3/object/create", &[], &options, &file)
        };
        let item =
            |name: &str, drawer: &str| format!("/v3/container/drawer/{}/item/{}", encoded(drawer), self.loid(name));
        match change {
            Change::Create { name, bytes, .. } => upload(&self.folder, name, bytes, "EXCEPTION"),
            Change::CreateFolder { name, bytes } => {
                upload(&format!("{}/{name}", self.folder), CHILD, bytes, "EXCEPTION")
            }
            Change::NewVersion { name, bytes } => upload(&self.folder, name, bytes, "NEW_VERSION"),
            Change::Discard(name) => json("DELETE", format!("/v3/object/{}/discard", self.loid(name)), json!({})),
            Change::Restore(name) => json("POST", format!("/v3/object/{}/restore", self.loid(name)), json!({})),
            Change::Destroy(name) => json("DELETE", format!("/v3/object/{}/destroy", self.loid(name)), json!({})),
            Change::Add(name, drawer) => json("POST", item(name, &self.drawers[*drawer]), json!({})),
            Change::Position(name, drawer, position) => {
                json("PUT", format!("{}/position/{position}", item(name, &self.drawers[*drawer])), json!({}))
            }
            Change::Delete(name, drawer) => json("DELETE", item(name, &self.drawers[*drawer]), json!({})),
            Change::Move(name, from) => {
                let to = encoded(&self.drawers[1 - from]);
                json("PUT", format!("{}/move/{to}", item(name, &self.drawers[*from])), json!({}))
            }
            Change::Share(name) => json("POST", item(name, &self.shared), json!({})),
        }
    }

    /// Changes things until the server is gone, and returns the change that was under way then.
    fn work_on(&mut self, client: &Client, acknowledged: &AtomicUsize) -> Pending {
        loop {
            let change = self.choose();
            let after = self.model.after(&change);
            let answer = match (self.ask(client, &change), after) {
                (Ok(answer), Some(mut after)) => {
                    let told = String::from_utf8_lossy(&answer.body);
                    assert_eq!(answer.status, 200, "{change:.100?} after {:.100?}: {told}", self.before);
                    let reply = answer.ok();
                    self.before = Some(change.clone());
                    self.learn(client, &change, &mut after, &reply)?;
                    self.model = after;
                    Ok(())
                }
                (Ok(answer), None) => {
                    answer.fails(409, "DrawerFull");
                    Ok(())
                }
                (Err(_), after) => Err(after),
            };
            match answer {
                Ok(()) => drop(acknowledged.fetch_add(1, Ordering::Relaxed)),
                Err(after) => return after.map(|after| (change, after)),
            }
        }
    }

    /// Notes the loid of a created object. A folder's is requested; `None` if the server is gone.
    fn learn(&mut self, client: &Client, change: &Change, after: &mut Model, reply: &Value) -> Option<()> {
        let (name, loid) = match change {
            Change::Create { name, .. } => (name, reply["id"].as_str()?.to_owned()),
            Change::CreateFolder { name, .. } => {
                // The creation is acknowledged, whatever happens to the question.
                self.model = after.clone();
                let path = format!("/v3/object/{}", encoded(&format!("{}/{name}", self.folder)));
                let answer = client.try_send("GET", &path, &[], b"").ok()?;
                (name, answer.ok()["id"].as_str()?.to_owned())
            }
            _ => return Some(()),
        };
        after.entries.get_mut(name)?.loid = Some(loid);
        Some(())
    }

    /// Reads the present state.
    fn look(&self, client: &Client) -> (Seen, BTreeMap<String, String>) {
        let listing = client.get(&format!("/v3/folder/{}", encoded(&self.folder))).ok();
        let (mut entries, mut loids) = (BTreeMap::new(), BTreeMap::new());
        for item in listing["items"].as_array().expect("a folder has items") {
            let name = name_of(item);
            let loid = item["id"].as_str().expect("a record has an id");
            if item["type"] == "Drawer" {
                continue;
            }
            loids.insert(name.clone(), loid.to_owned());
            let source =
                if item["type"] == "Folder" { format!("{}/{name}/{CHILD}", self.folder) } else { loid.to_owned() };
            let record = client.get(&format!("/v3/object/{}", encoded(&source))).ok();
            let content = client.get(&format!("/v3/object/{}/content", encoded(&source)));
            assert_eq!(content.status, 200, "{name} has no content");
            entries.insert(name, (record["version"].as_u64().expect("a version is a number"), content.body));
        }
        let read = |drawer: &str| client.get(&format!("/v3/container/drawer/{}?showItems=true", encoded(drawer))).ok();
        let names = |reply: &Value| {
            let items = reply["items"].as_array().expect("a drawer has items");
            for (at, item) in items.iter().enumerate() {
                assert_eq!(item["position"], at);
            }
            assert_eq!(reply["info"]["count"], items.len());
            items.iter().map(|item| name_of(&item["object"])).collect::<Vec<_>>()
        };
        let drawers = [0, 1].map(|number| {
            let reply = read(&self.drawers[number]);
            (names(&reply), reply["info"]["hidden"].as_u64().expect("a drawer counts what it hides"))
        });
        let mine = format!("w{}-", self.number);
        let shared = names(&read(&self.shared)).into_iter().filter(|name| name.starts_with(&mine)).collect();
        (Seen { entries, drawers, shared }, loids)
    }

    fn compare(&mut self, client: &Client, pending: Pending) {
        let (seen, loids) = self.look(client);
        if let Some((Change::Destroy(name), after)) = &pending
            && self.model.is_hidden(name)
            && self.model.seen() == after.seen()
        {
            // In the bin or gone for good looks the same: it is gone in either case once it is
            // asked for again.
            let answer = self.ask(client, &Change::Destroy(name.clone())).expect("the server is up");
            if answer.status != 200 {
                answer.fails(404, "ObjectNotFound");
            }
            self.model = after.clone();
        }
        if seen != self.model.seen() {
            let under_way = pending.as_ref().map(|(change, _)| format!("{change:.200?}"));
            let Some((_, after)) = pending.filter(|(_, after)| seen == after.seen()) else {
                panic!(
                    "worker {}: what is there is neither what was acknowledged nor that with {under_way:?}.\n{}",
                    self.number,
                    differences(&seen, &self.model.seen())
                );
            };
            self.model = after;
        }
        for (name, entry) in &mut self.model.entries {
            match (entry.state, &entry.loid) {
                (State::Live, Some(loid)) => assert_eq!(&loids[name], loid, "{name} has another loid"),
                (State::Live, None) => entry.loid = Some(loids[name].clone()),
                (_, Some(loid)) => {
                    client.get(&format!("/v3/object/{}", encoded(loid))).fails(404, "ObjectNotFound");
                }
                (_, None) => unreachable!("only what is known is discarded"),
            }
        }
    }

    /// Takes everything out of the bin: it must all be there, and nothing else.
    fn empty_bin(&mut self, client: &Client) {
        for name in self.model.names(|entry| entry.state != State::Live) {
            let answer = self.ask(client, &Change::Restore(name.clone())).expect("the server is up");
            if self.model.entries[&name].state == State::Destroyed {
                answer.fails(404, "ObjectNotFound");
                continue;
            }
            assert_eq!(answer.status, 200, "{name}: {}", String::from_utf8_lossy(&answer.body));
            self.model = self.model.after(&Change::Restore(name)).expect("a restore is never refused for want of room");
        }
        self.compare(client, None);
    }
}

impl Worker for Shelf {
    fn work(&mut self, client: &Client, acknowledged: &AtomicUsize) {
        self.pending = self.work_on(client, acknowledged);
    }

    fn has_pending(&self) -> bool {
        self.pending.is_some()
    }

    fn settle(&mut self, client: &Client) {
        let pending = self.pending.take();
        self.compare(client, pending);
    }

    fn end(&mut self, client: &Client) {
        self.empty_bin(client);
    }
}

fn hire(_: &Server, client: &Client, top: &str, dice: &mut Dice) -> Vec<Box<dyn Worker>> {
    let shared = client.drawer(top, "shared", 10_000);
    (0..WORKERS)
        .map(|number| -> Box<dyn Worker> {
            let folder = format!("{top}/w{number}");
            let drawers = ["a", "b"].map(|name| client.drawer(&folder, name, CAPACITY as u32));
            let dice = Dice::new(dice.roll(usize::MAX) as u64);
            let (shared, model) = (shared.clone(), Model::default());
            Box::new(Shelf { number, folder, drawers, shared, dice, model, before: None, pending: None })
        })
        .collect()
}

#[test]
fn acknowledged_drawer_changes_survive_crashes_whole() {
    all_rounds(hire);
}

/// Checks that the planted fault is found (`tests/histories/plants.rs`).
#[cfg(feature = "planted-bugs")]
#[test]
#[should_panic(expected = "what is there is")]
fn a_planted_reply_before_the_commit_is_found() {
    super::look_for("early-reply", hire);
}
