//! `kill -9` under load, again and again: what was acknowledged is there, and nothing is half there.
//!
//! Each worker changes objects and drawers that nobody else touches, and keeps a model of them: what every acknowledged
//! change has made of them. The one change under way when the server dies may be there or not, but nothing between. One more
//! drawer is shared by all, each adding objects of its own. Now and then the server is killed again while it recovers.
//!
//! `STET_CRASH_ROUNDS` says how many rounds (3), `STET_CRASH_SEED` repeats the choices of a run.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use stet::store::{RedbStore, StoreOptions};
use stet_actors::id::Loid;
use stet_actors::object::{Record, name_key};
use stet_actors::store::{Change as RowChange, ChangeSet, Look, Row, Store, Table, View, decode_value};

use crate::harness::*;

const WORKERS: usize = 4;
/// Small, so that they are often full.
const CAPACITY: usize = 4;
/// Name of the story in a folder of a worker.
const CHILD: &str = "child.xml";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Live,
    Discarded,
    Destroyed,
}

/// A story of a worker, or a folder with a story in it.
#[derive(Debug, Clone)]
struct Entry {
    /// Unknown while the reply to its creation is.
    loid: Option<String>,
    /// Of its content, or of the story in it.
    bytes: Vec<u8>,
    version: u64,
    is_folder: bool,
    /// Meant for the shared drawer, and left alone otherwise.
    for_shared: bool,
    state: State,
}

/// What a worker knows of its own things.
#[derive(Debug, Clone, Default)]
struct Model {
    entries: BTreeMap<String, Entry>,
    /// Names, hidden ones too.
    drawers: [Vec<String>; 2],
    shared: Vec<String>,
    /// Numbers given so far; no name comes twice.
    count: usize,
}

/// What readers can see of a worker's things.
#[derive(Debug, PartialEq)]
struct Seen {
    /// Version and content by name; of a folder those of the story in it.
    entries: BTreeMap<String, (u64, Vec<u8>)>,
    /// Names, and how many are hidden.
    drawers: [(Vec<String>, u64); 2],
    shared: Vec<String>,
}

/// A change; names are entries', numbers drawers'.
#[derive(Debug, Clone)]
enum Change {
    Create { name: String, bytes: Vec<u8>, for_shared: bool },
    CreateFolder { name: String, bytes: Vec<u8> },
    NewVersion { name: String, bytes: Vec<u8> },
    Discard(String),
    Restore(String),
    Destroy(String),
    Add(String, usize),
    Position(String, usize, usize),
    Delete(String, usize),
    Move(String, usize),
    Share(String),
}

impl Model {
    fn is_hidden(&self, name: &str) -> bool {
        self.entries[name].state == State::Discarded
    }

    fn visible(&self, drawer: usize) -> Vec<String> {
        self.drawers[drawer].iter().filter(|name| !self.is_hidden(name)).cloned().collect()
    }

    fn is_full(&self, drawer: usize) -> bool {
        self.visible(drawer).len() >= CAPACITY
    }

    /// Names of the entries that fit.
    fn names(&self, fits: impl Fn(&Entry) -> bool) -> Vec<String> {
        self.entries.iter().filter(|(_, entry)| fits(entry)).map(|(name, _)| name.clone()).collect()
    }

    /// In front of the visible item of that position, or at the tail; then makes room as interface 8.2 has it.
    fn insert(&mut self, name: &str, drawer: usize, position: usize) {
        let visible = self.visible(drawer);
        if let Some(at) = visible.iter().position(|there| there == name)
            && at == position.min(visible.len() - 1)
        {
            // It stays where it is, among the hidden ones too.
            return;
        }
        self.drawers[drawer].retain(|there| there != name);
        let before = self.visible(drawer).get(position).cloned();
        let at = before.and_then(|before| self.drawers[drawer].iter().position(|there| *there == before));
        let at = at.unwrap_or(self.drawers[drawer].len());
        self.drawers[drawer].insert(at, name.to_owned());
        while self.drawers[drawer].len() > CAPACITY {
            let hidden = self.drawers[drawer].iter().rposition(|there| self.is_hidden(there));
            self.drawers[drawer].remove(hidden.unwrap_or(CAPACITY));
        }
    }

    /// What the change makes of it; `None` where it must be refused because a drawer is full.
    fn after(&self, change: &Change) -> Option<Model> {
        let mut next = self.clone();
        let entry = |bytes: &Vec<u8>, is_folder, for_shared| Entry {
            loid: None,
            bytes: bytes.clone(),
            version: 1,
            is_folder,
            for_shared,
            state: State::Live,
        };
        let set_state = |next: &mut Model, name: &String, state| {
            next.entries.get_mut(name).expect("only known names are chosen").state = state;
        };
        match change {
            Change::Create { name, bytes, for_shared } => {
                next.entries.insert(name.clone(), entry(bytes, false, *for_shared));
            }
            Change::CreateFolder { name, bytes } => {
                next.entries.insert(name.clone(), entry(bytes, true, false));
            }
            Change::NewVersion { name, bytes } => {
                let entry = next.entries.get_mut(name).expect("only known names are chosen");
                entry.version += 1;
                entry.bytes.clone_from(bytes);
            }
            Change::Discard(name) => set_state(&mut next, name, State::Discarded),
            Change::Restore(name) => set_state(&mut next, name, State::Live),
            Change::Destroy(name) => {
                set_state(&mut next, name, State::Destroyed);
                for drawer in &mut next.drawers {
                    drawer.retain(|there| there != name);
                }
            }
            Change::Add(name, drawer) => {
                if !self.drawers[*drawer].contains(name) {
                    if self.is_full(*drawer) {
                        return None;
                    }
                    next.insert(name, *drawer, usize::MAX);
                }
            }
            Change::Position(name, drawer, position) => next.insert(name, *drawer, *position),
            Change::Delete(name, drawer) => next.drawers[*drawer].retain(|there| there != name),
            Change::Move(name, from) => {
                let to = 1 - from;
                next.drawers[*from].retain(|there| there != name);
                if !self.drawers[to].contains(name) {
                    if self.is_full(to) {
                        return None;
                    }
                    next.insert(name, to, usize::MAX);
                }
            }
            Change::Share(name) => next.shared.push(name.clone()),
        }
        Some(next)
    }

    fn seen(&self) -> Seen {
        let live = self.entries.iter().filter(|(_, entry)| entry.state == State::Live);
        let drawer = |number: usize| {
            let visible = self.visible(number);
            let hidden = (self.drawers[number].len() - visible.len()) as u64;
            (visible, hidden)
        };
        Seen {
            entries: live.map(|(name, entry)| (name.clone(), (entry.version, entry.bytes.clone()))).collect(),
            drawers: [drawer(0), drawer(1)],
            shared: self.shared.clone(),
        }
    }
}

/// One who changes things.
struct Worker {
    number: usize,
    folder: String,
    drawers: [String; 2],
    shared: String,
    dice: Dice,
    model: Model,
    /// The last change that was acknowledged, to be told when the next one fails.
    before: Option<Change>,
}

/// What became of a worker's last change.
type Pending = Option<(Change, Model)>;

fn name_of(record: &Value) -> String {
    record["name"].as_str().expect("a record has a name").to_owned()
}

impl Worker {
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
        let bytes = |dice: &mut Dice| {
            // Some must lie in files.
            let len = if dice.roll(8) == 0 { 150_000 + dice.roll(100_000) } else { 1 + dice.roll(2000) };
            let seed = dice.roll(256);
            (0..len).map(|at| (at * 31 + seed) as u8).collect::<Vec<u8>>()
        };
        match dice.roll(20) {
            0..=3 => {
                model.count += 1;
                let for_shared = dice.roll(3) == 0;
                let name = format!("w{}-{:04}.xml", self.number, model.count);
                Some(Change::Create { name, bytes: bytes(dice), for_shared })
            }
            4 => {
                model.count += 1;
                Some(Change::CreateFolder { name: format!("w{}-{:04}", self.number, model.count), bytes: bytes(dice) })
            }
            5 => {
                let name = dice.pick(&model.names(story))?.clone();
                Some(Change::NewVersion { name, bytes: bytes(dice) })
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
            let body = form(&options, bytes);
            let content_type = format!("multipart/form-data; boundary={BOUNDARY}");
            client.try_send("POST", "/v3/object/create", &[("content-type", &content_type)], &body)
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

    /// Changes things until the server is gone; gives the change that was under way then.
    fn work(&mut self, client: &Client, acknowledged: &AtomicUsize) -> Pending {
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

    /// Takes over the loid of what was created. A folder's is asked for; `None` when the server is gone.
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

    /// Reads what is there.
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

    /// Compares what is there with what must be, the pending change being done or not, and goes on from that.
    fn settle(&mut self, client: &Client, pending: Pending) {
        let (seen, loids) = self.look(client);
        if let Some((Change::Destroy(name), after)) = &pending
            && self.model.is_hidden(name)
            && self.model.seen() == after.seen()
        {
            // In the bin or gone for good looks the same: it is gone in either case once it is asked for again.
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
        self.settle(client, None);
    }
}

/// What differs, without the bytes.
fn differences(seen: &Seen, wanted: &Seen) -> String {
    let mut told = String::new();
    for name in seen.entries.keys().chain(wanted.entries.keys()) {
        let (a, b) = (seen.entries.get(name), wanted.entries.get(name));
        if a != b {
            let short = |entry: Option<&(u64, Vec<u8>)>| entry.map(|(version, bytes)| (*version, bytes.len()));
            told.push_str(&format!("{name}: there {:?}, acknowledged {:?} (version, bytes)\n", short(a), short(b)));
        }
    }
    if seen.drawers != wanted.drawers {
        told.push_str(&format!("drawers: there {:?}, acknowledged {:?}\n", seen.drawers, wanted.drawers));
    }
    if seen.shared != wanted.shared {
        told.push_str(&format!("shared: there {:?}, acknowledged {:?}\n", seen.shared, wanted.shared));
    }
    told
}

const BOUNDARY: &str = "----stet-crash-test";

fn form(options: &Value, bytes: &[u8]) -> Vec<u8> {
    let head = |text: &str| format!("--{BOUNDARY}\r\ncontent-disposition: form-data; {text}\r\n\r\n").into_bytes();
    [
        &head("name=\"options\""),
        options.to_string().as_bytes(),
        b"\r\n",
        &head("name=\"content\"; filename=\"a.xml\"\r\ncontent-type: text/xml"),
        bytes,
        format!("\r\n--{BOUNDARY}--\r\n").as_bytes(),
    ]
    .concat()
}

/// Rounds on one data directory; then a new one, since all that is there is read in each round.
const ROUNDS_EACH: u64 = 10;

/// What has been done so far.
struct Tally {
    rounds: u64,
    acknowledged: usize,
    unknown: usize,
    /// Kills while it was starting, or had hardly started.
    early: usize,
    begun: Instant,
}

impl Tally {
    fn new() -> Tally {
        Tally { rounds: 0, acknowledged: 0, unknown: 0, early: 0, begun: Instant::now() }
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Tally { rounds, acknowledged, unknown, early, begun } = self;
        let seconds = begun.elapsed().as_secs_f64();
        write!(
            f,
            "{rounds} rounds: {acknowledged} changes acknowledged, {unknown} with an unknown outcome, \
             {rounds} kills and restarts, {early} kills more while it started, {seconds:.1} s"
        )
    }
}

#[test]
fn what_was_acknowledged_survives_a_crash_and_nothing_is_half_done() {
    let rounds = setting("STET_CRASH_ROUNDS").unwrap_or(3);
    let mut dice = Dice::new(seed("STET_CRASH_SEED"));
    let mut tally = Tally::new();
    while tally.rounds < rounds {
        crash_again_and_again((rounds - tally.rounds).min(ROUNDS_EACH), &[], &mut dice, &mut tally);
        println!("{tally}");
    }
}

/// So many rounds on a new data directory.
fn crash_again_and_again(rounds: u64, settings: &[(&str, &str)], dice: &mut Dice, tally: &mut Tally) {
    // Checkpoints fall into the rounds, too.
    let mut server = Server::with(&[&[("STORE__CHECKPOINT_ROWS", "300")], settings].concat());
    let client = server.login("editor");
    let top = own_folder();
    let shared = client.drawer(&top, "shared", 10_000);
    let mut workers: Vec<Worker> = (0..WORKERS)
        .map(|number| {
            let folder = format!("{top}/w{number}");
            let drawers = ["a", "b"].map(|name| client.drawer(&folder, name, CAPACITY as u32));
            let dice = Dice::new(dice.roll(usize::MAX) as u64);
            Worker { number, folder, drawers, shared: shared.clone(), dice, model: Model::default(), before: None }
        })
        .collect();
    for round in 0..rounds {
        let client = client.to(&server);
        let acknowledged = AtomicUsize::new(0);
        let enough = 40 + dice.roll(120);
        let pending: Vec<Pending> = std::thread::scope(|scope| {
            let threads: Vec<_> = workers
                .iter_mut()
                .map(|worker| {
                    let (client, acknowledged) = (&client, &acknowledged);
                    scope.spawn(move || worker.work(client, acknowledged))
                })
                .collect();
            wait_until("the workers get on", || {
                acknowledged.load(Ordering::Relaxed) >= enough || threads.iter().any(|thread| thread.is_finished())
            });
            server.kill();
            threads.into_iter().map(|thread| thread.join().expect("a worker must not fail")).collect()
        });
        tally.rounds += 1;
        tally.acknowledged += acknowledged.into_inner();
        tally.unknown += pending.iter().flatten().count();
        // What lies there right after the crash, in one round before and in the other after a server has seen it.
        if round % 2 == 0 {
            let (code, output) = server.check();
            assert_eq!(code, Some(0), "round {round}: {output}");
        }
        // Now and then it does not get far, and begins its recovery anew.
        while dice.roll(3) == 0 {
            server.crash_while_starting(Duration::from_micros(dice.roll(60_000) as u64));
            tally.early += 1;
        }
        server = server.restart();
        let client = client.to(&server);
        std::thread::scope(|scope| {
            let mut threads = Vec::new();
            for (worker, pending) in workers.iter_mut().zip(pending) {
                let client = client.afresh();
                threads.push(scope.spawn(move || worker.settle(&client, pending)));
            }
            for thread in threads {
                // With the words of the one who found something.
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            }
        });
    }
    let client = client.to(&server);
    for worker in &mut workers {
        worker.empty_bin(&client);
    }
    assert_eq!(server.terminate(), Some(0));
    let (code, output) = server.check();
    assert_eq!(code, Some(0), "{output}");
}

/// See `histories/plants.rs`.
#[cfg(feature = "planted-bugs")]
#[test]
#[should_panic(expected = "neither what was acknowledged")]
fn a_planted_reply_before_the_commit_is_found() {
    let settings = [("PLANTED_BUG", "early-reply")];
    crash_again_and_again(ROUNDS_EACH, &settings, &mut Dice::new(seed("STET_CRASH_SEED")), &mut Tally::new());
}

#[test]
fn a_damaged_index_is_told_of_by_check_with_an_exit_code_of_its_own() {
    let mut server = Server::start();
    let story = server.login("editor").story(&own_folder(), "a.xml");
    assert_eq!(server.terminate(), Some(0));
    let (code, output) = server.check();
    assert_eq!(code, Some(0), "{output}");
    damage(server.data(), &story);
    let (code, output) = server.check();
    assert_eq!(code, Some(4), "{output}");
    assert!(output.contains(&story) && output.contains("names/1"), "{output}");
    // It changes nothing, so it finds the same again.
    assert_eq!(server.check().0, Some(4));
}

/// Takes the name of an object out of its folder, which no command does.
fn damage(data: &std::path::Path, story: &str) {
    let store = RedbStore::open(StoreOptions::new(data)).expect("the store opens");
    let loid: Loid = story.parse().expect("it is a loid");
    let record = store.get(View::Committed, Table::Objects, &loid.to_key()).expect("it can be read");
    let record: Record = decode_value(Record::FORMAT, &record.expect("it is there")).expect("it can be read");
    let folder = record.folder().expect("it lies in a folder");
    let (sender, answer) = std::sync::mpsc::channel();
    let mut set = ChangeSet::fence(store.epoch(), move |outcome| sender.send(outcome).expect("the test waits"));
    set.changes.push(RowChange { table: Table::Names, key: name_key(folder, &record.name), value: None });
    store.submit(set).expect("it is taken");
    answer.recv().expect("it is answered").expect("it is committed");
    store.close();
}
