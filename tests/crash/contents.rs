//! Contents, small and large, their versions and drafts, and locks. Each worker has objects of its
//! own.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

use super::{Worker, all_rounds, short, some_bytes};
use crate::harness::*;
use crate::histories::objects::spec::{Change, PLAIN, Refusal, Session, Sheet, Switches};
use crate::histories::objects::wire::{path, send};

const WORKERS: usize = 4;
/// The number of objects of each worker.
const OBJECTS: usize = 3;
/// The session of all workers, out of those that the whiteboard knows.
const MINE: Session = 0;

type Bytes = Vec<u8>;

/// A worker that writes and locks.
struct Desk {
    /// Loids, and the expected objects.
    objects: Vec<(String, Sheet<Bytes>)>,
    /// The token of another session of the same user, whom a lock keeps out.
    twin: String,
    dice: Dice,
    /// The object and the change that was under way when the server died.
    pending: Option<(usize, Change<Bytes>)>,
}

/// The readable state of an object.
#[derive(PartialEq)]
struct Seen {
    versions: Vec<Bytes>,
    /// The content as the worker's session reads it: the draft while it is checked out.
    content: Bytes,
    is_locked: bool,
}

impl std::fmt::Debug for Seen {
    /// Formats the state without the bytes.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sizes: Vec<usize> = self.versions.iter().map(Vec::len).collect();
        write!(f, "versions of {sizes:?} bytes, read as {} bytes, locked: {}", self.content.len(), self.is_locked)
    }
}

impl Seen {
    fn of(sheet: &Sheet<Bytes>) -> Seen {
        Seen { versions: sheet.versions.clone(), content: sheet.seen_by(MINE).clone(), is_locked: sheet.lock.is_some() }
    }

    /// Reads all there is.
    fn on(client: &Client, object: &str) -> Seen {
        let bytes = |query: &str| {
            let answer = client.get(&path(object, &format!("/content{query}")));
            assert_eq!(answer.status, 200, "{object} {query}: {}", String::from_utf8_lossy(&answer.body));
            answer.body
        };
        let record = client.get(&path(object, "")).ok();
        let list = client.get(&path(object, "/versions")).ok();
        assert_eq!(record["version"], list["total"], "{object}");
        let items = list["items"].as_array().expect("a list has items");
        let versions: Vec<Bytes> =
            items.iter().rev().map(|item| bytes(&format!("?version={}", item["version"]))).collect();
        for (item, bytes) in items.iter().rev().zip(&versions) {
            assert_eq!(item["size"], bytes.len(), "{object}: {item}");
        }
        let holder = &record["locker"]["id"];
        assert!(holder.is_null() || holder == "editor", "{object} is locked by {holder}");
        Seen { versions, content: bytes(""), is_locked: *holder != Value::Null }
    }
}

/// Returns the whiteboard after a change, or unchanged if the change is refused.
fn after(sheet: &Sheet<Bytes>, change: &Change<Bytes>) -> (Sheet<Bytes>, Result<(), Refusal>) {
    let mut next = sheet.clone();
    let outcome = next.change(MINE, change);
    (if outcome.is_ok() { next } else { sheet.clone() }, outcome)
}

impl Desk {
    fn choose(&mut self) -> (usize, Change<Bytes>) {
        let dice = &mut self.dice;
        let object = dice.roll(OBJECTS);
        let sheet = &self.objects[object].1;
        let change = match dice.roll(10) {
            0 => Change::Lock,
            1 => Change::Unlock { force: dice.roll(2) == 0 },
            2 => Change::Restore(1 + dice.roll(sheet.versions.len())),
            _ => {
                let mut coin = || dice.roll(2) == 0;
                let switches = Switches {
                    check_in: coin() || coin(),
                    keep: coin() && coin(),
                    unlock: coin(),
                    new_version: coin(),
                    check_out: coin() && coin(),
                    clean: coin() && coin() && coin(),
                };
                let with_bytes = coin() || coin() || sheet.lock.is_none();
                Change::Write(switches, with_bytes.then(|| some_bytes(dice)))
            }
        };
        (object, change)
    }

    fn ask(&self, client: &Client, object: usize, change: &Change<Bytes>) -> Result<Answer, String> {
        send(client, &self.objects[object].0, change, Clone::clone)
    }

    /// Asserts that the object is in one of the possible states, and goes on from that one.
    fn compare(&mut self, client: &Client, object: usize, pending: Option<&Change<Bytes>>) {
        let (loid, before) = self.objects[object].clone();
        let with = pending.map(|change| after(&before, change).0);
        let seen = Seen::on(client, &loid);
        let possible: Vec<_> = std::iter::once(before).chain(with).filter(|sheet| Seen::of(sheet) == seen).collect();
        let sheet = match &possible[..] {
            [] => panic!(
                "{loid}: what is there is neither what was acknowledged nor that with {}: {seen:?} and not {:?}",
                short(&pending),
                Seen::of(&self.objects[object].1)
            ),
            [one] => one.clone(),
            [one, other] if one == other => one.clone(),
            // A draft is seen by who has checked the object out, and they differ in nothing else.
            two => {
                let check_out = Change::Write(Switches { check_out: true, check_in: false, ..PLAIN }, None);
                self.ask(client, object, &check_out).expect("the server is up").ok();
                let seen = Seen::on(client, &loid);
                let found = two.iter().map(|sheet| after(sheet, &check_out).0).find(|sheet| Seen::of(sheet) == seen);
                found.unwrap_or_else(|| panic!("{loid}: there is another draft than was saved: {seen:?}"))
            }
        };
        if sheet.lock.is_some() {
            let twin = Client::at(&client.base, Some(self.twin.clone()));
            send(&twin, &loid, &Change::Lock, Bytes::clone).expect("the server is up").fails(403, "ObjectLockedByMe");
        }
        self.objects[object].1 = sheet;
    }
}

impl Worker for Desk {
    fn work(&mut self, client: &Client, acknowledged: &AtomicUsize) {
        loop {
            let (object, change) = self.choose();
            let (next, outcome) = after(&self.objects[object].1, &change);
            let Ok(answer) = self.ask(client, object, &change) else {
                self.pending = Some((object, change));
                return;
            };
            match outcome {
                Ok(()) => {
                    let told = String::from_utf8_lossy(&answer.body);
                    assert_eq!(answer.status, 200, "{}: {told}", short(&change));
                }
                Err(refusal) => drop(answer.fails_on(&short(&change), 403, &format!("{refusal:?}"))),
            }
            self.objects[object].1 = next;
            acknowledged.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn has_pending(&self) -> bool {
        self.pending.is_some()
    }

    fn settle(&mut self, client: &Client) {
        let pending = self.pending.take();
        for object in 0..OBJECTS {
            let pending = pending.as_ref().filter(|(of, _)| *of == object).map(|(_, change)| change);
            self.compare(client, object, pending);
        }
    }

    /// Asserts that every draft is there, too.
    fn end(&mut self, client: &Client) {
        for object in 0..OBJECTS {
            let check_out = Change::Write(Switches { check_out: true, check_in: false, ..PLAIN }, None);
            self.ask(client, object, &check_out).expect("the server is up").ok();
            self.objects[object].1 = after(&self.objects[object].1, &check_out).0;
            self.compare(client, object, None);
        }
    }
}

fn hire(server: &Server, client: &Client, top: &str, dice: &mut Dice) -> Vec<Box<dyn Worker>> {
    let twin = server.login("editor").token.expect("a login gives a token");
    (0..WORKERS)
        .map(|number| -> Box<dyn Worker> {
            let object = |name: usize| {
                let loid = client.story(top, &format!("{number}-{name}.xml"));
                (loid, Sheet::new(b"<story/>".to_vec()))
            };
            let dice = Dice::new(dice.roll(usize::MAX) as u64);
            Box::new(Desk { objects: (0..OBJECTS).map(object).collect(), twin: twin.clone(), dice, pending: None })
        })
        .collect()
}

#[test]
fn contents_versions_drafts_and_locks_survive_crashes_whole() {
    all_rounds(hire);
}

/// Checks that the planted fault is found (`tests/histories/plants.rs`).
#[cfg(feature = "planted-bugs")]
#[test]
#[should_panic(expected = "what is there is")]
fn a_planted_lock_that_never_gets_to_the_disk_is_found() {
    super::look_for("lost-lock", hire);
}
