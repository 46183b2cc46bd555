//! Receipts: how a call that is sent again is carried out once (docs/api/README.md, "Sending a call
//! again").
//!
//! A caller names a call by a key of its own. The outcome of each command of the call, a *step*, is
//! kept in a row that goes with the command's own change set: it is on disk exactly if the change
//! is. The reply that the caller got is kept in one more row, afterwards. When the call is sent
//! again, its reply is repeated if it was kept; else the call runs again, and each step that has an
//! outcome gives that back and changes nothing.
//!
//! A step that changes nothing leaves no outcome, for it may be repeated: no caller has seen its
//! reply yet.
//!
//! # Which step a command is
//!
//! A call that runs again may come by other commands than the first time: an object may have come
//! or gone, a change may need another attempt. So a step is not known by how many came before. A
//! call has one command ([`Once::only`]), however often it is tried until it changes something; or
//! one for each object that its body lists ([`Once::at`]), known by its place there, which is the
//! same each time. With the outcome of the latter is kept which object it was: the text at that
//! place may be the name of another one by now. And with each is kept what the paths in the call's
//! own path meant ([`Once::names`]): a call that renames an object must find it again.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use bytes::Bytes;
use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::command::Context;
use crate::error::{Code, Error, Result};
use crate::id::Loid;
use crate::object::Text;
use crate::store::{Change, Key, Range, Row, Table, decode_value, encode_value, key_of};

/// The format of a kept outcome.
const OUTCOME_FORMAT: u8 = 1;

/// SHA-256 over all that makes two calls the same one.
pub type Fingerprint = [u8; 32];

/// What a receipt keeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kept {
    /// What a step's command said, as versions before kept it: its number is that of the commands
    /// that the call had come by.
    Outcome {
        /// Name of the command.
        command: String,
        /// Its reply.
        reply: Bytes,
    },
    /// What the caller got.
    Reply(KeptReply),
    /// What a step's command said.
    Done(Done),
}

/// What a step's command said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {
    /// Name of the command.
    pub command: String,
    /// Its reply.
    pub reply: Bytes,
    /// The object that it changed, if it was one of those that the body lists.
    pub object: Option<Loid>,
    /// See [`Once::names`].
    #[serde(default)]
    pub names: Vec<Option<Loid>>,
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
    /// A fingerprint of the caller's rights at the time: a caller who may see other things gets
    /// another answer.
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
    /// 0 for the reply; 1 for the call's only command; else one more than the place of what was
    /// changed, counted from 0.
    pub step: u16,
    /// The fingerprint of the call.
    pub fingerprint: Bytes,
    /// When it was written, epoch milliseconds.
    pub at_ms: u64,
    /// See [`Kept`].
    pub kept: Kept,
}

impl Receipt {
    /// All receipts of a key of a user. The lengths in front keep one pair from beginning with
    /// another.
    pub fn range(user: &str, key: &str) -> Range {
        Range::prefix(&prefix(user, key))
    }

    /// The changes that put the row, which must not be there: that of a reply is put by
    /// [`Once::reply`].
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

    /// The user and the key that an entry of [`Table::ReceiptTimes`] belongs to; `None` for what is
    /// none.
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
    /// By step.
    done: BTreeMap<u16, Done>,
    /// The last outcome that a version before has kept.
    in_order: Option<Done>,
    /// When a reply was kept that is not to be repeated.
    replied_ms: Option<u64>,
}

impl Earlier {
    /// Takes in one of its receipts, which come in their order.
    pub fn add(&mut self, receipt: Receipt) {
        match receipt.kept {
            Kept::Done(done) => drop(self.done.insert(receipt.step, done)),
            Kept::Outcome { command, reply } => {
                self.in_order = Some(Done { command, reply, object: None, names: Vec::new() });
            }
            Kept::Reply(_) => self.replied_ms = Some(receipt.at_ms),
        }
    }

    /// Whether it has left nothing.
    pub fn is_empty(&self) -> bool {
        self.done.is_empty() && self.in_order.is_none() && self.replied_ms.is_none()
    }
}

/// A call that is carried out once; goes with each [`Request`](crate::runtime::Request) of the
/// call.
pub struct Once {
    user: Text,
    key: Text,
    fingerprint: Fingerprint,
    earlier: Earlier,
    /// Bytes of the outcomes that this try keeps.
    kept_bytes: Arc<AtomicU64>,
    /// See [`Once::names`].
    names: OnceLock<Vec<Option<Loid>>>,
    /// The steps that have left an outcome in this try.
    left: Mutex<BTreeSet<u16>>,
    /// Whether a step has failed for a reason that passes.
    is_unfinished: AtomicBool,
    /// Held by whoever carries out the call, see [`UnderWay`].
    under_way: Weak<dyn Any + Send + Sync>,
}

impl Once {
    /// A call, and what an earlier try of it has left. Of `under_way` each command holds a clone
    /// until it has been decided, also if the caller goes away before.
    pub fn new(user: Text, key: Text, fingerprint: Fingerprint, earlier: Earlier, under_way: &UnderWay) -> Once {
        let under_way = Arc::downgrade(under_way);
        Once {
            user,
            key,
            fingerprint,
            earlier,
            kept_bytes: Arc::default(),
            names: OnceLock::new(),
            left: Mutex::default(),
            is_unfinished: AtomicBool::new(false),
            under_way,
        }
    }

    /// Bytes of the outcomes that this try keeps: they grow until its last command is decided. One
    /// that the disk refuses counts, too.
    pub fn kept_bytes(&self) -> Arc<AtomicU64> {
        self.kept_bytes.clone()
    }

    /// Notes that a step has failed. After a failure that passes the reply is not one to be
    /// repeated: sent again, the call tries that step again.
    pub fn note_failure(&self, code: Code) {
        if code.is_passing() {
            self.is_unfinished.store(true, Ordering::Relaxed);
        }
    }

    /// Whether a step has failed for a reason that passes.
    pub fn is_unfinished(&self) -> bool {
        self.is_unfinished.load(Ordering::Relaxed)
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

    /// The step of a call that has one command. Attempts at it are the same step, as long as none
    /// has changed anything.
    pub fn only(self: &Arc<Once>) -> Step {
        Step { once: self.clone(), number: 1, object: None }
    }

    /// The step that changes an object which the body lists at that place, counted from 0.
    ///
    /// # Errors
    /// As [`Once::check_places`], for a list up to that place.
    pub fn at(self: &Arc<Once>, place: usize, object: Loid) -> Result<Step> {
        let number = number_of(place)?;
        Ok(Step { once: self.clone(), number, object: Some(object) })
    }

    /// Whether a call whose body lists so many objects can be carried out under its key.
    ///
    /// # Errors
    /// `InvalidParameter` for more than there are numbers for; `IdempotencyMismatch` when a version
    /// before has done a part of the call: which, nobody knows.
    pub fn check_places(&self, many: usize) -> Result<()> {
        many.checked_sub(1).map(number_of).transpose()?;
        if self.earlier.in_order.is_some() { Err(self.forgotten()) } else { Ok(()) }
    }

    /// Says which objects the sources in the call's own path name, in their order; `None` for what
    /// always names the same one. To be said before the first command, with which it is kept.
    pub fn means(&self, names: Vec<Option<Loid>>) {
        // A call is identified once.
        let _ = self.names.set(names);
    }

    /// What an earlier try that has changed something has said so. By now its paths may lead
    /// elsewhere: by its own doing.
    pub fn names(&self) -> Option<&[Option<Loid>]> {
        self.earlier.done.values().next().map(|done| &*done.names)
    }

    /// Whether an earlier try has carried out the only command of the call.
    pub fn is_done(&self) -> bool {
        self.earlier.done.contains_key(&1) || self.earlier.in_order.is_some()
    }

    /// The object that an earlier try has changed at that place.
    pub fn done_at(&self, place: usize) -> Option<Loid> {
        self.earlier.done.get(&number_of(place).ok()?)?.object
    }

    /// The error for an outcome that can't be told: the change was made and will not be made again.
    fn forgotten(&self) -> Error {
        let message = format!("What was done under the `Idempotency-Key` `{}` can't be told any more.", self.key);
        Error::new(Code::IdempotencyMismatch, message)
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

/// The number of the step at a place.
fn number_of(place: usize) -> Result<u16> {
    u16::try_from(place).ok().and_then(|place| place.checked_add(1)).ok_or_else(|| {
        let message = "The call has too many parts to be carried out under an `Idempotency-Key`.";
        Error::new(Code::InvalidParameter, message)
    })
}

/// One command of a call that is carried out once; goes with its
/// [`Request`](crate::runtime::Request).
#[derive(Debug, Clone)]
pub struct Step {
    once: Arc<Once>,
    number: u16,
    /// What it changes, if it is one of several.
    object: Option<Loid>,
}

impl Step {
    /// What a command holds until it has been decided.
    pub(crate) fn under_way(&self) -> Option<UnderWay> {
        self.once.under_way.upgrade()
    }

    /// The outcome that an earlier try has left.
    ///
    /// # Errors
    /// `IdempotencyMismatch` when it is that of another command, of another object, or can't be
    /// understood any more.
    pub(crate) fn kept<R: DeserializeOwned>(&self, command: &str) -> Result<Option<R>> {
        if self.once.left.lock().contains(&self.number) {
            tracing::error!(command, step = self.number, "a call under a key has two commands for one step");
            return Err(Error::internal());
        }
        let Earlier { done, in_order, .. } = &self.once.earlier;
        // A call of one command has left no more than one outcome, whatever its number was.
        let in_order = in_order.as_ref().filter(|_| self.object.is_none());
        let Some(Done { command: of, reply, object, .. }) = done.get(&self.number).or(in_order) else {
            return Ok(None);
        };
        let reply = (of == command && *object == self.object).then(|| decode_value(OUTCOME_FORMAT, reply).ok());
        reply.flatten().map(Some).ok_or_else(|| self.once.forgotten())
    }

    /// The outcome, to be kept.
    pub(crate) fn outcome<R: Serialize>(&self, command: &str, reply: &R, now_ms: u64) -> Outcome {
        let reply = encode_value(OUTCOME_FORMAT, reply);
        let names = self.once.names.get().cloned().unwrap_or_default();
        let done = Done { command: command.to_owned(), reply, object: self.object, names };
        Outcome { once: self.once.clone(), receipt: self.once.receipt(self.number, Kept::Done(done), now_ms) }
    }
}

/// The outcome of a step, which goes with the change set of its command.
#[derive(Debug)]
pub(crate) struct Outcome {
    once: Arc<Once>,
    receipt: Receipt,
}

impl Outcome {
    /// The changes that keep it, for a change set that is submitted: from then on the step has had
    /// its command. What is kept for a user is bounded, and this counts.
    pub fn put(self) -> Vec<Change> {
        let changes = self.receipt.put();
        // A change set that the store has not taken is made again.
        if self.once.left.lock().insert(self.receipt.step) {
            let bytes: usize =
                changes.iter().map(|change| change.key.len() + change.value.as_ref().map_or(0, Bytes::len)).sum();
            self.once.kept_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        }
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
    use crate::id::DatabaseId;

    fn once(receipts: Vec<Receipt>) -> Arc<Once> {
        let mut earlier = Earlier::default();
        receipts.into_iter().for_each(|receipt| earlier.add(receipt));
        Arc::new(Once::new("editor".into(), "k".into(), [7; 32], earlier, &(Arc::new(()) as UnderWay)))
    }

    fn row(step: &Step, command: &str, reply: u64, now_ms: u64) -> Receipt {
        step.outcome(command, &reply, now_ms).receipt
    }

    fn object(number: u64) -> Loid {
        Loid::new(DatabaseId::FIRST, number)
    }

    /// One as a version before has put it.
    fn in_order(step: u16, command: &str, reply: u64) -> Receipt {
        let reply = encode_value(OUTCOME_FORMAT, &reply);
        once(Vec::new()).receipt(step, Kept::Outcome { command: command.into(), reply }, 5)
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
        let (one, two) = (first.at(0, object(1)).unwrap(), first.at(1, object(2)).unwrap());
        assert_eq!(one.kept::<u64>("a"), Ok(None));
        let kept = vec![row(&one, "a", 11, 5), row(&two, "a", 22, 6)];
        assert_eq!(kept.iter().map(|receipt| receipt.step).collect::<Vec<_>>(), [1, 2]);
        let again = once(kept);
        // Whatever comes before it, and whether it comes at all.
        assert_eq!(again.at(1, object(2)).unwrap().kept::<u64>("a"), Ok(Some(22)));
        assert_eq!(again.at(2, object(3)).unwrap().kept::<u64>("a"), Ok(None));
        assert_eq!([0, 1, 2].map(|place| again.done_at(place)), [Some(object(1)), Some(object(2)), None]);
        let one = again.at(0, object(1)).unwrap();
        assert_eq!(one.kept::<u64>("a"), Ok(Some(11)));
        let other = again.at(0, object(3)).unwrap();
        for refused in [
            one.kept::<u64>("b").unwrap_err(),
            one.kept::<String>("a").unwrap_err(),
            other.kept::<u64>("a").unwrap_err(),
        ] {
            assert_eq!(refused.code, Code::IdempotencyMismatch);
        }
    }

    #[test]
    fn a_command_is_tried_until_it_has_changed_something_and_then_no_more() {
        let first = once(Vec::new());
        assert_eq!([first.only().kept::<u64>("a"), first.only().kept::<u64>("a")], [Ok(None), Ok(None)]);
        let outcome = first.only().outcome("a", &1u64, 5);
        let kept = outcome.receipt.clone();
        outcome.put();
        assert_eq!(first.only().kept::<u64>("a").unwrap_err(), Error::internal());
        assert_eq!(once(vec![kept]).only().kept::<u64>("a"), Ok(Some(1)));
    }

    #[test]
    fn what_versions_before_have_kept_is_told_where_it_is_sure_and_never_made_again() {
        // It changed something at its third attempt.
        let one = once(vec![in_order(3, "a", 7)]);
        assert_eq!(one.only().kept::<u64>("a"), Ok(Some(7)));
        assert_eq!(one.only().kept::<u64>("b").unwrap_err().code, Code::IdempotencyMismatch);
        let several = once(vec![in_order(1, "a", 7), in_order(2, "a", 8)]);
        assert_eq!(several.check_places(5).unwrap_err().code, Code::IdempotencyMismatch);
        assert_eq!(once(Vec::new()).check_places(5), Ok(()));
    }

    #[test]
    fn what_names_meant_is_kept_with_the_outcome() {
        let first = once(Vec::new());
        assert_eq!((first.names(), first.is_done()), (None, false));
        first.means(vec![Some(object(1)), None]);
        let kept = row(&first.only(), "a", 1, 5);
        let stored = decode_value(Receipt::FORMAT, &encode_value(Receipt::FORMAT, &kept)).unwrap();
        let again = once(vec![stored]);
        assert_eq!((again.names(), again.is_done()), (Some(&[Some(object(1)), None][..]), true));
    }

    #[test]
    fn receipts_of_versions_before_are_read() {
        let kept = [
            (b"\x01\x96\xa6editor\xa1k\x01\xc4\x01\x07\x05\x81\xa7Outcome\x92\xa1c\xc4\x01\x01".as_slice(), true),
            (b"\x01\x96\xa6editor\xa1k\x00\xc4\x01\x07\x05\x81\xa5Reply\x94\xcc\xc8\x90\xc4\x00\x00", false),
        ];
        for (bytes, is_outcome) in kept {
            let receipt: Receipt = decode_value(Receipt::FORMAT, bytes).unwrap();
            assert_eq!(matches!(receipt.kept, Kept::Outcome { .. }), is_outcome);
            assert_eq!(encode_value(Receipt::FORMAT, &receipt), bytes);
        }
    }

    #[test]
    fn places_that_have_no_number_are_refused_rather_than_mixed_up() {
        let once = once(Vec::new());
        let most = usize::from(u16::MAX);
        assert_eq!((once.check_places(0), once.check_places(most)), (Ok(()), Ok(())));
        assert_eq!(row(&once.at(most - 1, object(1)).unwrap(), "a", 1, 5).step, u16::MAX);
        for refused in [once.check_places(most + 1).unwrap_err(), once.at(most, object(1)).unwrap_err()] {
            assert_eq!(refused.code, Code::InvalidParameter);
        }
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
        assert!(removed(again.reply(reply(), 9)).is_empty(), "it is the same entry");
        assert!(removed(once(Vec::new()).reply(reply(), 10)).is_empty());
    }

    #[test]
    fn the_index_tells_whose_key_it_is() {
        let receipt = row(&once(Vec::new()).only(), "a", 1, 5);
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
        let steps = [0, 1].map(|place| once.at(place, object(1)).unwrap());
        let changes = steps.each_ref().map(|step| step.outcome("a", &1u64, 5).put());
        let bytes = |change: &Change| change.key.len() + change.value.as_ref().map_or(0, Bytes::len);
        let all: usize = changes.iter().flatten().map(bytes).sum();
        assert_eq!(once.kept_bytes().load(Ordering::Relaxed), all as u64);
        // As it is put into a change set that is made again.
        steps[0].outcome("a", &1u64, 5).put();
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
