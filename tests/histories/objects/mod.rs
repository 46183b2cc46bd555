//! Histories of one object that several sessions write and lock: its content, its versions, its
//! working copy and its lock.

pub mod spec;
mod tell;
pub mod wire;

use serde_json::Value;

use self::spec::{Change, PLAIN, Refusal, Session, Sheet, Switches, USERS};
use super::newsroom::{CALLS, CLIENTS, Subject};
use super::record::Whiteboard;
use super::tell::as_it_came;
use crate::harness::*;

/// The identity of a content: the number of the call that wrote it.
pub type Tag = usize;

/// A call of a session.
#[derive(Debug, Clone, PartialEq)]
pub struct Op {
    by: Session,
    what: What,
}

#[derive(Debug, Clone, PartialEq)]
pub enum What {
    Change(Change<Tag>),
    /// The content, as the session reads it.
    Read,
    ReadVersion(usize),
    /// The list of versions.
    Versions,
    /// The record: who holds the lock, and what the latest version is.
    Record,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// The reply to a change shows the record a little later, so that it says no more than this.
    Done,
    Content(Tag),
    /// Oldest first.
    Versions(Vec<Tag>),
    Record {
        locker: Option<String>,
        version: usize,
        content: Tag,
    },
    Refused(Refusal),
    /// Unknown bytes or a failure, which nothing explains.
    Garbled(String),
}

impl Sheet<Tag> {
    fn answer(&mut self, op: &Op) -> Result<Reply, Refusal> {
        Ok(match &op.what {
            What::Change(change) => {
                self.change(op.by, change)?;
                Reply::Done
            }
            What::Read => Reply::Content(*self.seen_by(op.by)),
            What::ReadVersion(number) => {
                let version = number.checked_sub(1).and_then(|at| self.versions.get(at));
                Reply::Content(*version.ok_or(Refusal::ObjectNotFound)?)
            }
            What::Versions => Reply::Versions(self.versions.clone()),
            What::Record => Reply::Record {
                locker: self.lock.map(|session| USERS[session].to_owned()),
                version: self.versions.len(),
                content: *self.latest(),
            },
        })
    }
}

impl Whiteboard for Sheet<Tag> {
    type Op = Op;
    type Reply = Reply;

    fn start() -> Sheet<Tag> {
        Sheet::new(0)
    }

    fn after(&self, op: &Op) -> Sheet<Tag> {
        let mut next = self.clone();
        // A refused call changes nothing.
        let _ = next.answer(op);
        next
    }

    fn after_answer(&self, op: &Op, reply: &Reply) -> Option<Sheet<Tag>> {
        let mut next = self.clone();
        let answer = next.answer(op).unwrap_or_else(Reply::Refused);
        (answer == *reply).then_some(next)
    }

    fn is_idle(op: &Op, reply: &Reply) -> bool {
        !matches!(op.what, What::Change(_)) || matches!(reply, Reply::Refused(_))
    }

    fn legend() -> String {
        format!("sessions 0 to 3 are those of {USERS:?}; contents are numbers, 0 the first")
    }
}

/// Returns the bytes of a content. Each has its own length, which a list of versions shows, and
/// some are too long for a row.
fn bytes(tag: Tag) -> Vec<u8> {
    let len = if tag % 4 == 3 { 2 * LARGE + 2 * tag + 1 } else { 20 + 2 * tag };
    let mut bytes = format!("<story n=\"{tag}\"/>").into_bytes();
    bytes.resize(len, b' ');
    bytes
}

/// `store.small_body_bytes` of these servers.
const LARGE: usize = 500;
/// A bound above the number of contents in a history.
const TAGS: usize = 1 + CLIENTS * CALLS;

fn tag_of(size: usize) -> Option<Tag> {
    (0..TAGS).find(|tag| bytes(*tag).len() == size)
}

/// The object, by loid. `LOCKS`: whether it is about locks rather than contents.
pub struct Object<const LOCKS: bool>(String);

/// The memory of a client.
#[derive(Default)]
pub struct Known {
    /// The number of its calls so far.
    calls: usize,
    /// `true` if it should hold the lock.
    holds: bool,
}

/// Changes of contents. Locks come and go with check-outs.
fn content_change(dice: &mut Dice, holds: bool, tag: Tag) -> Change<Tag> {
    let new_version = dice.roll(2) == 0;
    let keep = dice.roll(4) == 0;
    let check_out = Switches { check_out: true, clean: dice.roll(3) == 0, ..PLAIN };
    match (dice.roll(8), holds) {
        (0, _) => Change::Restore(1 + dice.roll(3)),
        (1 | 2, true) => Change::Write(Switches { check_in: false, unlock: dice.roll(4) == 0, ..PLAIN }, Some(tag)),
        (1 | 2, false) => Change::Write(Switches { check_in: false, ..check_out }, (dice.roll(2) == 0).then_some(tag)),
        (3..=5, true) => Change::Write(Switches { new_version, keep, ..PLAIN }, (dice.roll(2) == 0).then_some(tag)),
        (3, false) => Change::Write(Switches { new_version, keep, ..check_out }, Some(tag)),
        (6, _) => Change::Unlock { force: false },
        // Over a draft of one's own, or where there is none.
        (7, false) => Change::Write(Switches { check_in: false, ..PLAIN }, Some(tag)),
        _ => Change::Write(Switches { new_version, keep, ..PLAIN }, Some(tag)),
    }
}

/// Changes of locks. Nothing is saved without being checked in.
fn lock_change(dice: &mut Dice, holds: bool, tag: Tag) -> Change<Tag> {
    let check_out = Switches { check_out: true, check_in: false, ..PLAIN };
    match (dice.roll(9), holds) {
        (0 | 1, _) => Change::Lock,
        (2, _) | (3, true) => Change::Unlock { force: false },
        (3, false) | (4, _) => Change::Unlock { force: true },
        (5, _) => Change::Write(check_out, None),
        (6, _) => Change::Write(Switches { keep: dice.roll(3) == 0, ..PLAIN }, None),
        (7, _) => Change::Write(Switches { keep: dice.roll(2) == 0, ..PLAIN }, Some(tag)),
        _ => Change::Write(Switches { unlock: true, check_in: false, ..PLAIN }, None),
    }
}

impl<const LOCKS: bool> Subject for Object<LOCKS> {
    type Board = Sheet<Tag>;
    type Room = ();
    type Known = Known;
    const USERS: [&'static str; CLIENTS] = USERS;
    const SETTINGS: &'static [(&'static str, &'static str)] = &[("STORE__SMALL_BODY_BYTES", "500")];

    fn room(_client: &Client, _folder: &str) {}

    fn make(client: &Client, folder: &str, name: &str) -> Object<LOCKS> {
        let loid = client.story(folder, name);
        let first = Change::Write(PLAIN, Some(0));
        wire::send(client, &loid, &first, |tag| bytes(*tag)).expect("the server is up").ok();
        Object(loid)
    }

    fn choose(client: usize, dice: &mut Dice, known: &mut Known) -> Op {
        let tag = 1 + client * CALLS + known.calls;
        known.calls += 1;
        let what = match (dice.roll(8), LOCKS) {
            (0 | 1, false) => What::Read,
            (2, false) => {
                if dice.roll(2) == 0 {
                    What::Versions
                } else {
                    What::ReadVersion(1 + dice.roll(3))
                }
            }
            (0, _) => What::Record,
            (_, false) => What::Change(content_change(dice, known.holds, tag)),
            (_, true) => What::Change(lock_change(dice, known.holds, tag)),
        };
        let what = if !LOCKS && dice.roll(16) == 0 { What::Record } else { what };
        Op { by: client, what }
    }

    fn learn(known: &mut Known, op: &Op, reply: &Reply) {
        if let (What::Change(change), Reply::Done) = (&op.what, reply) {
            known.holds = match change {
                Change::Lock => true,
                Change::Unlock { .. } => false,
                Change::Restore(_) => known.holds,
                Change::Write(to, _) if to.check_in => to.keep,
                Change::Write(to, _) => !to.unlock && (known.holds || to.check_out || to.clean),
            };
        }
    }

    fn send(&self, _room: &(), client: &Client, op: &Op) -> Result<Answer, String> {
        let get = |rest: String| client.try_send("GET", &wire::path(&self.0, &rest), &[], b"");
        match &op.what {
            What::Change(change) => wire::send(client, &self.0, change, |tag| bytes(*tag)),
            What::Read => get("/content".to_owned()),
            What::ReadVersion(number) => get(format!("/content?version={number}")),
            What::Versions => get("/versions".to_owned()),
            What::Record => get(String::new()),
        }
    }

    fn understood(&self, _room: &(), op: &Op, answer: &Answer) -> Reply {
        if answer.status != 200 {
            return refusal(answer).map_or_else(|| Reply::Garbled(as_it_came(answer)), Reply::Refused);
        }
        if let What::Read | What::ReadVersion(_) = op.what {
            let tag = tag_of(answer.body.len()).filter(|tag| bytes(*tag) == answer.body);
            return tag.map_or_else(|| Reply::Garbled(as_it_came(answer)), Reply::Content);
        }
        let reply = answer.ok();
        let number = |value: &Value| value.as_u64().expect("it is a number") as usize;
        let content = |size: &Value| tag_of(number(size)).expect("all contents have a length of ours");
        match op.what {
            What::Versions => {
                let items = reply["items"].as_array().expect("a list has items");
                assert_eq!(items.len(), number(&reply["total"]), "the reply does not agree with itself: {reply}");
                Reply::Versions(items.iter().rev().map(|item| content(&item["size"])).collect())
            }
            What::Record => Reply::Record {
                locker: reply["locker"]["id"].as_str().map(str::to_owned),
                version: number(&reply["version"]),
                content: content(&reply["virtualAttributes"]["size"]),
            },
            _ => Reply::Done,
        }
    }

    fn last_looks() -> Vec<Op> {
        [What::Record, What::Read, What::Versions].map(|what| Op { by: 0, what }).to_vec()
    }
}

fn refusal(answer: &Answer) -> Option<Refusal> {
    let code = answer.json()["result"]["code"].take();
    Some(match (answer.status, code.as_str()) {
        (403, Some("CMS.ObjectLocked")) => Refusal::ObjectLocked,
        (403, Some("CMS.ObjectLockedByMe")) => Refusal::ObjectLockedByMe,
        (403, Some("CMS.ObjectNotLocked")) => Refusal::ObjectNotLocked,
        (403, Some("CMS.ObjectNotCheckedOut")) => Refusal::ObjectNotCheckedOut,
        (403, Some("CMS.PermissionDenied")) => Refusal::PermissionDenied,
        (404, Some("CMS.ObjectNotFound")) => Refusal::ObjectNotFound,
        _ => return None,
    })
}
