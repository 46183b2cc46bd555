//! Receipts: how a call that is sent again is carried out once (docs/api/README.md, "Sending a call again").
//!
//! A caller names a call by a key of its own. The outcome of each command of the call, a *step*, is kept in a row that
//! goes with the command's own change set: it is on disk exactly if the change is. The reply that the caller got is kept
//! in one more row, afterwards. When the call is sent again, its reply is repeated if it was kept; else the call runs
//! again, and each step that has an outcome gives that back and changes nothing.
//!
//! A step that changes nothing leaves no outcome, for it may be repeated: no caller has seen its reply yet.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::command::Context;
use crate::error::{Code, Error, Result};
use crate::object::Text;
use crate::store::{Change, Key, Range, Row, Table, decode_value, encode_value, key_of};

/// The format of a kept outcome.
const OUTCOME_FORMAT: u8 = 1;

/// SHA-256 over all that makes two calls the same one.
pub type Fingerprint = [u8; 32];

/// What a receipt keeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kept {
    /// What a step's command said.
    Outcome {
        /// Name of the command.
        command: String,
        /// Its reply.
        reply: Bytes,
    },
    /// What the caller got.
    Reply(KeptReply),
}

/// An answer as it went out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptReply {
    /// HTTP status.
    pub status: u16,
    /// Names and values of the headers that belong to the answer and not to the connection.
    pub headers: Vec<(String, Bytes)>,
    /// The body.
    pub body: Bytes,
    /// A fingerprint of the caller's rights at the time: a caller who may see other things gets another answer.
    #[serde(default)]
    pub rights: u64,
}

/// A row of [`Table::Receipts`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// Name of the user: keys of others are others.
    pub user: Text,
    /// The key, as the caller gave it.
    pub key: Text,
    /// 0 for the reply, then the steps in their order.
    pub step: u16,
    /// The fingerprint of the call.
    pub fingerprint: Bytes,
    /// When it was written, epoch milliseconds.
    pub at_ms: u64,
    /// See [`Kept`].
    pub kept: Kept,
}

impl Receipt {
    /// All receipts of a key of a user. The lengths in front keep one pair from beginning with another.
    pub fn range(user: &str, key: &str) -> Range {
        Range::prefix(&prefix(user, key))
    }

    /// The changes that put the row, which must not be there: that of a reply is put by [`Once::reply`].
    pub fn put(&self) -> Vec<Change> {
        let place = self.place();
        let value = Some(encode_value(Receipt::FORMAT, self));
        let mut changes = vec![Change { table: place.table, key: place.key, value }];
        changes.extend(self.entries().map(|(place, value)| Change {
            table: place.table,
            key: place.key,
            value: Some(value),
        }));
        changes
    }

    /// The changes that remove the row.
    pub fn remove(&self) -> Vec<Change> {
        let places = std::iter::once(self.place()).chain(self.entries().map(|(place, _)| place));
        places.map(|place| Change { table: place.table, key: place.key, value: None }).collect()
    }

    fn entries(&self) -> impl Iterator<Item = (Key, Bytes)> {
        let mut entries = Vec::new();
        self.index(&mut entries);
        entries.into_iter()
    }

    /// The user and the key that an entry of [`Table::ReceiptTimes`] belongs to; `None` for what is none.
    pub fn named(entry: &[u8]) -> Option<(Text, Text)> {
        let (user, rest) = part(Receipt::row_of(entry)?)?;
        let (key, step) = part(rest)?;
        (step.len() == size_of::<u16>()).then(|| (user.into(), key.into()))
    }

    /// The place of the row that such an entry speaks of.
    pub fn row_of(entry: &[u8]) -> Option<&[u8]> {
        entry.split_at_checked(size_of::<u64>()).map(|(_, row)| row)
    }

    /// Whether such an entry speaks of this row as it is.
    pub fn has_entry(&self, entry: &[u8]) -> bool {
        Receipt::entry(&self.place().key, self.at_ms).key == entry
    }

    /// Where the index has a row of that place and time.
    fn entry(place: &[u8], at_ms: u64) -> Key {
        Key { table: Table::ReceiptTimes, key: key_of(&[&at_ms.to_be_bytes(), place]) }
    }
}

fn prefix(user: &str, key: &str) -> Bytes {
    // Neither comes near 4 GiB: one is a stored name, the other a header's value.
    let (user_len, key_len) = (user.len() as u32, key.len() as u32);
    key_of(&[&user_len.to_be_bytes(), user.as_bytes(), &key_len.to_be_bytes(), key.as_bytes()])
}

/// A text behind its length, and what follows.
fn part(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let (len, rest) = bytes.split_first_chunk()?;
    let (text, rest) = rest.split_at_checked(u32::from_be_bytes(*len) as usize)?;
    Some((std::str::from_utf8(text).ok()?, rest))
}

impl Row for Receipt {
    fn place(&self) -> Key {
        let key = key_of(&[&prefix(&self.user, &self.key), &self.step.to_be_bytes()]);
        Key { table: Table::Receipts, key }
    }

    fn index(&self, entries: &mut Vec<(Key, Bytes)>) {
        entries.push((Receipt::entry(&self.place().key, self.at_ms), Bytes::new()));
    }
}

/// Says, as long as there is a clone of it, that a call is being carried out.
pub type UnderWay = Arc<dyn Any + Send + Sync>;

/// What an earlier try of a call has left, taken in row by row: there may be thousands.
#[derive(Debug, Default)]
pub struct Earlier {
    /// By step: the name of the command, and its reply.
    outcomes: BTreeMap<u16, (String, Bytes)>,
    /// When a reply was kept that is not to be repeated.
    replied_ms: Option<u64>,
}

impl Earlier {
    /// Takes in one of its receipts.
    pub fn add(&mut self, receipt: Receipt) {
        match receipt.kept {
            Kept::Outcome { command, reply } => drop(self.outcomes.insert(receipt.step, (command, reply))),
            Kept::Reply(_) => self.replied_ms = Some(receipt.at_ms),
        }
    }

    /// Whether it has left nothing.
    pub fn is_empty(&self) -> bool {
        self.outcomes.is_empty() && self.replied_ms.is_none()
    }
}

/// A call that is carried out once; goes with each [`Request`](crate::runtime::Request) of the call.
pub struct Once {
    user: Text,
    key: Text,
    fingerprint: Fingerprint,
    earlier: Earlier,
    /// Bytes of the outcomes that this try keeps.
    kept_bytes: Arc<AtomicU64>,
    /// Steps begun so far.
    steps: AtomicU16,
    /// Held by whoever carries out the call, see [`UnderWay`].
    under_way: Weak<dyn Any + Send + Sync>,
}

impl Once {
    /// A call, and what an earlier try of it has left. Of `under_way` each command holds a clone until it has been decided, also if
    /// the caller goes away before.
    pub fn new(user: Text, key: Text, fingerprint: Fingerprint, earlier: Earlier, under_way: &UnderWay) -> Once {
        let under_way = Arc::downgrade(under_way);
        Once { user, key, fingerprint, earlier, kept_bytes: Arc::default(), steps: AtomicU16::new(0), under_way }
    }

    /// Bytes of the outcomes that this try keeps: they grow until its last command is decided. One that the disk refuses counts, too.
    pub fn kept_bytes(&self) -> Arc<AtomicU64> {
        self.kept_bytes.clone()
    }

    /// A fingerprint of the call.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// The changes that keep the reply that the caller gets, in place of an earlier one.
    pub fn reply(&self, reply: KeptReply, now_ms: u64) -> Vec<Change> {
        let receipt = self.receipt(0, Kept::Reply(reply), now_ms);
        let mut changes = receipt.put();
        // The row is written over, but the index has it by its time.
        if let Some(before_ms) = self.earlier.replied_ms.filter(|before_ms| *before_ms != now_ms) {
            let Key { table, key } = Receipt::entry(&receipt.place().key, before_ms);
            changes.push(Change { table, key, value: None });
        }
        changes
    }

    /// What a command holds until it has been decided.
    pub(crate) fn under_way(&self) -> Option<UnderWay> {
        self.under_way.upgrade()
    }

    /// Begins the next step. A call has its steps in the same order each time.
    pub(crate) fn next_step(self: &Arc<Once>) -> Step {
        // Relaxed: the number alone counts. A call of 65,535 steps would come back to those that it has made.
        let before = self.steps.fetch_add(1, Ordering::Relaxed);
        Step { once: self.clone(), number: before.checked_add(1) }
    }

    fn receipt(&self, step: u16, kept: Kept, now_ms: u64) -> Receipt {
        Receipt {
            user: self.user.clone(),
            key: self.key.clone(),
            step,
            fingerprint: Bytes::copy_from_slice(&self.fingerprint),
            at_ms: now_ms,
            kept,
        }
    }
}

impl std::fmt::Debug for Once {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Once").field("user", &self.user).field("key", &self.key).finish_non_exhaustive()
    }
}

/// One command of a call that is carried out once.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    once: Arc<Once>,
    /// `None`: the call has had as many steps as there are numbers.
    number: Option<u16>,
}

impl Step {
    /// The outcome that an earlier try has left.
    ///
    /// # Errors
    /// `IdempotencyMismatch` when it is that of another command, or can't be understood any more: the change was made and
    /// will not be made again, but its reply can't be repeated. `InvalidParameter` when there are too many steps.
    pub fn kept<R: DeserializeOwned>(&self, command: &str) -> Result<Option<R>> {
        let Some(number) = self.number else {
            let message = "The call has too many parts to be carried out under an `Idempotency-Key`.";
            return Err(Error::new(Code::InvalidParameter, message));
        };
        let Some((kept, reply)) = self.once.earlier.outcomes.get(&number) else { return Ok(None) };
        let reply = if kept == command { decode_value(OUTCOME_FORMAT, reply).ok() } else { None };
        reply.map(Some).ok_or_else(|| {
            let key = &self.once.key;
            let message = format!("What was done under the `Idempotency-Key` `{key}` can't be told any more.");
            Error::new(Code::IdempotencyMismatch, message)
        })
    }

    /// The outcome, to be kept.
    pub fn outcome<R: Serialize>(&self, command: &str, reply: &R, now_ms: u64) -> Option<Outcome> {
        let reply = encode_value(OUTCOME_FORMAT, reply);
        let receipt = self.once.receipt(self.number?, Kept::Outcome { command: command.to_owned(), reply }, now_ms);
        Some(Outcome { once: self.once.clone(), receipt })
    }
}

/// The outcome of a step, which goes with the change set of its command.
#[derive(Debug)]
pub(crate) struct Outcome {
    once: Arc<Once>,
    receipt: Receipt,
}

impl Outcome {
    /// The changes that keep it. To be taken once for each change set that is submitted: what is kept for a user is bounded, and this
    /// counts.
    pub fn put(self) -> Vec<Change> {
        let changes = self.receipt.put();
        let bytes: usize =
            changes.iter().map(|change| change.key.len() + change.value.as_ref().map_or(0, Bytes::len)).sum();
        self.once.kept_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        changes
    }

    /// The same, into the change set that is being made.
    pub fn put_into(self, context: &mut Context<'_>) {
        for Change { table, key, value } in self.put() {
            context.set(Key { table, key }, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn once(receipts: Vec<Receipt>) -> Arc<Once> {
        let mut earlier = Earlier::default();
        receipts.into_iter().for_each(|receipt| earlier.add(receipt));
        Arc::new(Once::new("editor".into(), "k".into(), [7; 32], earlier, &(Arc::new(()) as UnderWay)))
    }

    fn row(step: &Step, command: &str, reply: u64, now_ms: u64) -> Receipt {
        step.outcome(command, &reply, now_ms).unwrap().receipt
    }

    #[test]
    fn a_key_of_a_user_is_no_part_of_another() {
        let inside = |range: &Range, receipt: &Receipt| {
            let key = receipt.place().key;
            key >= range.from && range.to.as_ref().is_none_or(|to| key < *to)
        };
        let receipt = once(Vec::new()).receipt(1, Kept::Outcome { command: "c".into(), reply: Bytes::new() }, 5);
        assert!(inside(&Receipt::range("editor", "k"), &receipt));
        for (user, key) in [("editork", ""), ("edito", "rk"), ("editor", "k2"), ("editor", ""), ("", "k")] {
            assert!(!inside(&Receipt::range(user, key), &receipt), "{user} {key}");
        }
    }

    #[test]
    fn a_step_finds_its_own_outcome_and_no_other() {
        let first = once(Vec::new());
        let (one, two) = (first.next_step(), first.next_step());
        assert_eq!(one.kept::<u64>("a"), Ok(None));
        let kept = vec![row(&one, "a", 11, 5), row(&two, "b", 22, 6)];
        assert_eq!(kept.iter().map(|receipt| receipt.step).collect::<Vec<_>>(), [1, 2]);
        let again = once(kept);
        let (one, two, three) = (again.next_step(), again.next_step(), again.next_step());
        assert_eq!(one.kept::<u64>("a"), Ok(Some(11)));
        assert_eq!(two.kept::<u64>("b"), Ok(Some(22)));
        assert_eq!(three.kept::<u64>("a"), Ok(None));
        for refused in [one.kept::<u64>("b").unwrap_err(), one.kept::<String>("a").unwrap_err()] {
            assert_eq!(refused.code, Code::IdempotencyMismatch);
        }
    }

    #[test]
    fn steps_that_have_no_number_are_refused_rather_than_mixed_up() {
        let once = once(Vec::new());
        once.steps.store(u16::MAX, Ordering::Relaxed);
        let step = once.next_step();
        assert_eq!(step.kept::<u64>("a").unwrap_err().code, Code::InvalidParameter);
        assert!(step.outcome("a", &1u64, 5).is_none());
    }

    #[test]
    fn a_reply_takes_the_place_of_an_earlier_one_in_the_index_too() {
        let reply = || KeptReply { rights: 0, status: 200, headers: vec![], body: Bytes::new() };
        let before = once(Vec::new()).receipt(0, Kept::Reply(reply()), 9);
        let again = once(vec![before.clone()]);
        let entry = before.entries().map(|(place, _)| place.key).next().unwrap();
        let removed = |changes: Vec<Change>| {
            changes.into_iter().filter(|change| change.value.is_none()).map(|change| change.key).collect::<Vec<_>>()
        };
        assert_eq!(removed(again.reply(reply(), 10)), [entry]);
        assert_eq!(removed(again.reply(reply(), 9)), [Bytes::new(); 0], "it is the same entry");
        assert_eq!(removed(once(Vec::new()).reply(reply(), 10)), [Bytes::new(); 0]);
    }

    #[test]
    fn the_index_tells_whose_key_it_is() {
        let receipt = row(&once(Vec::new()).next_step(), "a", 1, 5);
        let entry = receipt.entries().map(|(place, _)| place.key).next().unwrap();
        assert_eq!(Receipt::named(&entry), Some(("editor".into(), "k".into())));
        assert_eq!(Receipt::row_of(&entry), Some(&*receipt.place().key));
        assert!(receipt.has_entry(&entry) && !Receipt { at_ms: 6, ..receipt }.has_entry(&entry));
        for no_entry in [&entry[..7], &entry[..entry.len() - 1], b""] {
            assert_eq!(Receipt::named(no_entry), None);
        }
    }

    #[test]
    fn outcomes_count_by_what_they_take() {
        let once = once(Vec::new());
        let changes = [once.next_step(), once.next_step()].map(|step| step.outcome("a", &1u64, 5).unwrap().put());
        let bytes = |change: &Change| change.key.len() + change.value.as_ref().map_or(0, Bytes::len);
        let all: usize = changes.iter().flatten().map(bytes).sum();
        assert_eq!(once.kept_bytes().load(Ordering::Relaxed), all as u64);
    }

    #[test]
    fn what_is_removed_is_what_was_put() {
        let receipt = once(Vec::new()).receipt(1, Kept::Outcome { command: "c".into(), reply: Bytes::new() }, 9);
        let places = |changes: Vec<Change>| changes.into_iter().map(|change| (change.table, change.key));
        assert!(places(receipt.put()).eq(places(receipt.remove())));
        assert!(receipt.put().iter().any(|change| change.table == Table::ReceiptTimes));
        assert!(receipt.remove().iter().all(|change| change.value.is_none()));
    }
}
