//! Receipts, by which a repeated call is carried out only once (docs/api/README.md, "Sending a call
//! again").
//!
//! A caller identifies a call by a key of its own. Each command of the call is a *step*. The
//! outcome of a step is kept in a row of the command's own change set, so it is on disk exactly if
//! the change is. Afterwards one more row keeps the reply to the caller. If the call is sent again,
//! a kept reply is repeated. Without one the call runs again; each step with an outcome returns
//! that outcome and changes nothing.
//!
//! A step that changes nothing leaves no outcome. It may be repeated, as no caller has seen its
//! reply yet.
//!
//! # The identity of a step
//!
//! A call that runs again may issue other commands than the first time: objects may have been
//! created or destroyed, or a change may need another attempt. A step is therefore not identified
//! by counting commands. Most calls have one command ([`IdempotentCall::only`]), which may be
//! attempted until it changes something. Other calls have one command for each object in a list in
//! the body ([`IdempotentCall::at`]). Such a step is identified by the place in the list, which is
//! the same each time. Its outcome also keeps the object, since the text at that place may by now
//! name another one. Each outcome keeps which objects the call's own path named
//! ([`IdempotentCall::names`]): a call that renames an object must find it again.

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
use crate::object::SharedText;
use crate::store::{KeyRange, Row, RowChange, RowPlace, Table, decode_value, encode_value, key_of};

/// The format of a kept outcome.
const OUTCOME_FORMAT: u8 = 1;

/// The SHA-256 over everything that makes two calls the same.
pub type Fingerprint = [u8; 32];

/// The content of a receipt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReceiptContent {
    /// The outcome of a step, as earlier versions kept it. The receipt's number counts the commands
    /// of the call up to this one.
    Outcome {
        /// The name of the command.
        command: String,
        /// The reply of the command.
        reply: Bytes,
    },
    /// The reply to the caller.
    Reply(KeptReply),
    /// The outcome of a step.
    Done(KeptOutcome),
}

/// The outcome of a step's command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptOutcome {
    /// The name of the command.
    pub command: String,
    /// The reply of the command.
    pub reply: Bytes,
    /// The object that was changed, if the body lists several.
    pub object: Option<Loid>,
    /// The objects that the call's path named, as in [`IdempotentCall::names`].
    #[serde(default)]
    pub names: Vec<Option<Loid>>,
}

/// A reply, as it was sent to the caller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptReply {
    /// The HTTP status.
    pub status: u16,
    /// The names and values of the headers that belong to the reply, not to the connection.
    pub headers: Vec<(String, Bytes)>,
    /// The body.
    pub body: Bytes,
    /// The fingerprint of the caller's rights at that time. A caller who may see other things now
    /// gets a new reply.
    #[serde(default)]
    pub rights: u64,
}

/// A row of [`Table::Receipts`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// The name of the user. Keys of different users are independent.
    pub user: SharedText,
    /// The key, as the caller gave it.
    pub key: SharedText,
    /// The number of the step: 0 for the reply, 1 for the only command of a call. In a call with a
    /// list it is one more than the place in the list, counted from 0.
    pub step: u16,
    /// The fingerprint of the call.
    pub fingerprint: Bytes,
    /// The time of writing in epoch milliseconds.
    pub at_ms: u64,
    /// The content.
    pub kept: ReceiptContent,
}

impl Receipt {
    /// Returns the range of all receipts of a user's key. It begins with the lengths, so that no
    /// pair of user and key is a prefix of another.
    pub fn range(user: &str, key: &str) -> KeyRange {
        KeyRange::prefix(&prefix(user, key))
    }

    /// Returns the changes that put the row, which must not exist. The row of a reply is put by
    /// [`IdempotentCall::reply`].
    pub fn put(&self) -> Vec<RowChange> {
        let place = self.place();
        let value = Some(encode_value(Receipt::FORMAT, self));
        let mut changes = vec![RowChange { table: place.table, key: place.key, value }];
        changes.extend(self.entries().map(|(place, value)| RowChange {
            table: place.table,
            key: place.key,
            value: Some(value),
        }));
        changes
    }

    /// Returns the changes that remove the row.
    pub fn remove(&self) -> Vec<RowChange> {
        let places = std::iter::once(self.place()).chain(self.entries().map(|(place, _)| place));
        places.map(|place| RowChange { table: place.table, key: place.key, value: None }).collect()
    }

    fn entries(&self) -> impl Iterator<Item = (RowPlace, Bytes)> {
        let mut entries = Vec::new();
        self.index(&mut entries);
        entries.into_iter()
    }

    /// Returns the user and the key from an entry of [`Table::ReceiptTimes`]; `None` if it is
    /// invalid.
    pub fn named(entry: &[u8]) -> Option<(SharedText, SharedText)> {
        let (user, rest) = split_text(Receipt::row_of(entry)?)?;
        let (key, step) = split_text(rest)?;
        (step.len() == size_of::<u16>()).then(|| (user.into(), key.into()))
    }

    /// Returns the row key in such an entry.
    pub fn row_of(entry: &[u8]) -> Option<&[u8]> {
        entry.split_at_checked(size_of::<u64>()).map(|(_, row)| row)
    }

    /// Reports whether such an entry refers to the present state of this row.
    pub fn has_entry(&self, entry: &[u8]) -> bool {
        Receipt::entry(&self.place().key, self.at_ms).key == entry
    }

    /// Returns the index entry for a row key and time.
    fn entry(place: &[u8], at_ms: u64) -> RowPlace {
        RowPlace { table: Table::ReceiptTimes, key: key_of(&[&at_ms.to_be_bytes(), place]) }
    }
}

fn prefix(user: &str, key: &str) -> Bytes {
    // Both are far shorter than 4 GiB: one is a stored name, the other a header's value.
    let (user_len, key_len) = (user.len() as u32, key.len() as u32);
    key_of(&[&user_len.to_be_bytes(), user.as_bytes(), &key_len.to_be_bytes(), key.as_bytes()])
}

/// Splits off a text that is preceded by its length. Returns the text and the rest.
fn split_text(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let (len, rest) = bytes.split_first_chunk()?;
    let (text, rest) = rest.split_at_checked(u32::from_be_bytes(*len) as usize)?;
    Some((std::str::from_utf8(text).ok()?, rest))
}

impl Row for Receipt {
    fn place(&self) -> RowPlace {
        let key = key_of(&[&prefix(&self.user, &self.key), &self.step.to_be_bytes()]);
        RowPlace { table: Table::Receipts, key }
    }

    fn index(&self, entries: &mut Vec<(RowPlace, Bytes)>) {
        entries.push((Receipt::entry(&self.place().key, self.at_ms), Bytes::new()));
    }
}

/// A guard for a call that is being carried out, which lasts while a clone exists.
pub type CallGuard = Arc<dyn Any + Send + Sync>;

/// The receipts that earlier tries of a call have left. They are added row by row, as there may be
/// thousands.
#[derive(Debug, Default)]
pub struct EarlierReceipts {
    /// The outcomes by step.
    done: BTreeMap<u16, KeptOutcome>,
    /// The last outcome that was kept by an earlier version of stet.
    in_order: Option<KeptOutcome>,
    /// The time of a kept reply that is not to be repeated.
    replied_ms: Option<u64>,
}

impl EarlierReceipts {
    /// Adds a receipt; they have to be added in the order of their keys.
    pub fn add(&mut self, receipt: Receipt) {
        match receipt.kept {
            ReceiptContent::Done(done) => drop(self.done.insert(receipt.step, done)),
            ReceiptContent::Outcome { command, reply } => {
                self.in_order = Some(KeptOutcome { command, reply, object: None, names: Vec::new() });
            }
            ReceiptContent::Reply(_) => self.replied_ms = Some(receipt.at_ms),
        }
    }

    /// Reports whether there are no receipts.
    pub fn is_empty(&self) -> bool {
        self.done.is_empty() && self.in_order.is_none() && self.replied_ms.is_none()
    }
}

/// A call that is carried out once. It accompanies each
/// `ChangeRequest` of the call.
pub struct IdempotentCall {
    user: SharedText,
    key: SharedText,
    fingerprint: Fingerprint,
    earlier: EarlierReceipts,
    /// The bytes of the outcomes that this try keeps.
    kept_bytes: Arc<AtomicU64>,
    /// The objects that the call's path named.
    names: OnceLock<Vec<Option<Loid>>>,
    /// The steps that have left an outcome in this try.
    left: Mutex<BTreeSet<u16>>,
    /// Whether a step has failed temporarily.
    is_unfinished: AtomicBool,
    /// The guard that the running call holds, see [`CallGuard`].
    under_way: Weak<dyn Any + Send + Sync>,
}

impl IdempotentCall {
    /// Creates a call with the receipts of earlier tries. Each command holds a clone of `under_way`
    /// until it is decided, even if the caller has disconnected.
    pub fn new(
        user: SharedText,
        key: SharedText,
        fingerprint: Fingerprint,
        earlier: EarlierReceipts,
        under_way: &CallGuard,
    ) -> IdempotentCall {
        let under_way = Arc::downgrade(under_way);
        IdempotentCall {
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

    /// Returns the bytes of the outcomes that this try keeps, which grow until its last command is
    /// decided. An outcome that the disk refuses counts too.
    pub fn kept_bytes(&self) -> Arc<AtomicU64> {
        self.kept_bytes.clone()
    }

    /// Notes that a step has failed. After a temporary failure the reply must not be repeated: if
    /// the call is sent again, it tries that step again.
    pub fn note_failure(&self, code: Code) {
        if code.is_passing() {
            self.is_unfinished.store(true, Ordering::Relaxed);
        }
    }

    /// Reports whether a step has failed temporarily.
    pub fn is_unfinished(&self) -> bool {
        self.is_unfinished.load(Ordering::Relaxed)
    }

    /// Returns the fingerprint of the call.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// Returns the changes that keep the reply to the caller, in place of an earlier one.
    pub fn reply(&self, reply: KeptReply, now_ms: u64) -> Vec<RowChange> {
        let receipt = self.receipt(0, ReceiptContent::Reply(reply), now_ms);
        let mut changes = receipt.put();
        // The row is overwritten, but the index entry of the old one has another time.
        if let Some(before_ms) = self.earlier.replied_ms.filter(|before_ms| *before_ms != now_ms) {
            let RowPlace { table, key } = Receipt::entry(&receipt.place().key, before_ms);
            changes.push(RowChange { table, key, value: None });
        }
        changes
    }

    /// Returns the step of a call that has one command. All attempts are the same step, as long as
    /// none has changed anything.
    pub fn only(self: &Arc<IdempotentCall>) -> ReceiptStep {
        ReceiptStep { once: self.clone(), number: 1, object: None }
    }

    /// Returns the step for an object that the body lists at a place, counted from 0.
    ///
    /// # Errors
    /// The errors of [`IdempotentCall::check_places`], for a list up to that place.
    pub fn at(self: &Arc<IdempotentCall>, place: usize, object: Loid) -> Result<ReceiptStep> {
        let number = number_of(place)?;
        Ok(ReceiptStep { once: self.clone(), number, object: Some(object) })
    }

    /// Checks that a call whose body lists `many` objects can be carried out under its key.
    ///
    /// # Errors
    /// `InvalidParameter` for a list longer than the number range. `IdempotencyMismatch` if an
    /// earlier version of stet has done a part of the call, as it is unknown which.
    pub fn check_places(&self, many: usize) -> Result<()> {
        many.checked_sub(1).map(number_of).transpose()?;
        if self.earlier.in_order.is_some() { Err(self.forgotten()) } else { Ok(()) }
    }

    /// Sets which objects the sources in the call's own path name, in their order; `None` for a
    /// source that always names the same one. It must be called before the first command, whose
    /// outcome keeps it.
    pub fn means(&self, names: Vec<Option<Loid>>) {
        // A call's path is resolved once.
        let _ = self.names.set(names);
    }

    /// Returns the objects that an earlier try has kept with its first outcome. By now the call's
    /// paths may name others, due to its own change.
    pub fn names(&self) -> Option<&[Option<Loid>]> {
        self.earlier.done.values().next().map(|done| &*done.names)
    }

    /// Reports whether an earlier try has carried out the only command of the call.
    pub fn is_done(&self) -> bool {
        self.earlier.done.contains_key(&1) || self.earlier.in_order.is_some()
    }

    /// Returns the object that an earlier try has changed at a place.
    pub fn done_at(&self, place: usize) -> Option<Loid> {
        self.earlier.done.get(&number_of(place).ok()?)?.object
    }

    /// Returns the error for an unknown outcome. The change was made and will not be made again.
    fn forgotten(&self) -> Error {
        let message = format!(
            "The call with the `Idempotency-Key` `{}` was carried out, but its outcome is no longer known.",
            self.key
        );
        Error::new(Code::IdempotencyMismatch, message)
    }

    fn receipt(&self, step: u16, kept: ReceiptContent, now_ms: u64) -> Receipt {
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

impl std::fmt::Debug for IdempotentCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Once").field("user", &self.user).field("key", &self.key).finish_non_exhaustive()
    }
}

/// Returns the number of the step at a place.
fn number_of(place: usize) -> Result<u16> {
    u16::try_from(place).ok().and_then(|place| place.checked_add(1)).ok_or_else(|| {
        let message = "The call has too many entries for an `Idempotency-Key`. Send it in several calls.";
        Error::new(Code::InvalidParameter, message)
    })
}

/// One command of a call that is carried out once. It accompanies the command's
/// `ChangeRequest`.
#[derive(Debug, Clone)]
pub struct ReceiptStep {
    once: Arc<IdempotentCall>,
    number: u16,
    /// The object to change, if the call lists several.
    object: Option<Loid>,
}

impl ReceiptStep {
    /// Returns the guard that a command holds until it is decided.
    pub fn under_way(&self) -> Option<CallGuard> {
        self.once.under_way.upgrade()
    }

    /// Returns the outcome that an earlier try has left.
    ///
    /// # Errors
    /// `IdempotencyMismatch` if it belongs to another command or object, or can't be decoded any
    /// more.
    pub fn kept<R: DeserializeOwned>(&self, command: &str) -> Result<Option<R>> {
        if self.once.left.lock().contains(&self.number) {
            tracing::error!(command, step = self.number, "two commands of a call have the same receipt step");
            return Err(Error::internal());
        }
        let EarlierReceipts { done, in_order, .. } = &self.once.earlier;
        // A call of one command has left at most one outcome, whatever its number was.
        let in_order = in_order.as_ref().filter(|_| self.object.is_none());
        let Some(KeptOutcome { command: of, reply, object, .. }) = done.get(&self.number).or(in_order) else {
            return Ok(None);
        };
        let reply = (of == command && *object == self.object).then(|| decode_value(OUTCOME_FORMAT, reply).ok());
        reply.flatten().map(Some).ok_or_else(|| self.once.forgotten())
    }

    /// Creates the outcome to keep for the reply of a command.
    pub fn outcome<R: Serialize>(&self, command: &str, reply: &R, now_ms: u64) -> StepOutcome {
        let reply = encode_value(OUTCOME_FORMAT, reply);
        let names = self.once.names.get().cloned().unwrap_or_default();
        let done = KeptOutcome { command: command.to_owned(), reply, object: self.object, names };
        StepOutcome {
            once: self.once.clone(),
            receipt: self.once.receipt(self.number, ReceiptContent::Done(done), now_ms),
        }
    }
}

/// The outcome of a step, which is stored in the change set of its command.
#[derive(Debug)]
pub struct StepOutcome {
    once: Arc<IdempotentCall>,
    receipt: Receipt,
}

impl StepOutcome {
    /// Returns the changes that keep the outcome, for a change set to submit. From then on the step
    /// counts as used. The bytes count against the limit for the user.
    pub fn put(self) -> Vec<RowChange> {
        let changes = self.receipt.put();
        // A change set that the store has refused is made again, but counts once.
        if self.once.left.lock().insert(self.receipt.step) {
            let bytes: usize =
                changes.iter().map(|change| change.key.len() + change.value.as_ref().map_or(0, Bytes::len)).sum();
            self.once.kept_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        }
        changes
    }

    /// Puts the changes that keep the outcome into the change set of a command.
    pub fn put_into(self, context: &mut Context<'_>) {
        for RowChange { table, key, value } in self.put() {
            context.set(RowPlace { table, key }, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::DatabaseId;

    fn once(receipts: Vec<Receipt>) -> Arc<IdempotentCall> {
        let mut earlier = EarlierReceipts::default();
        receipts.into_iter().for_each(|receipt| earlier.add(receipt));
        Arc::new(IdempotentCall::new("editor".into(), "k".into(), [7; 32], earlier, &(Arc::new(()) as CallGuard)))
    }

    fn row(step: &ReceiptStep, command: &str, reply: u64, now_ms: u64) -> Receipt {
        step.outcome(command, &reply, now_ms).receipt
    }

    fn object(number: u64) -> Loid {
        Loid::new(DatabaseId::FIRST, number)
    }

    /// Returns an outcome as an earlier version has kept it.
    fn in_order(step: u16, command: &str, reply: u64) -> Receipt {
        let reply = encode_value(OUTCOME_FORMAT, &reply);
        once(Vec::new()).receipt(step, ReceiptContent::Outcome { command: command.into(), reply }, 5)
    }

    #[test]
    fn a_key_of_a_user_is_no_part_of_another() {
        let inside = |range: &KeyRange, receipt: &Receipt| {
            let key = receipt.place().key;
            key >= range.from && range.to.as_ref().is_none_or(|to| key < *to)
        };
        let receipt =
            once(Vec::new()).receipt(1, ReceiptContent::Outcome { command: "c".into(), reply: Bytes::new() }, 5);
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
        // The result depends neither on steps before it nor on their number.
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
    fn receipts_of_older_versions_are_replayed_only_where_they_are_certain() {
        // The command changed something at its third attempt.
        let one = once(vec![in_order(3, "a", 7)]);
        assert_eq!(one.only().kept::<u64>("a"), Ok(Some(7)));
        assert_eq!(one.only().kept::<u64>("b").unwrap_err().code, Code::IdempotencyMismatch);
        let several = once(vec![in_order(1, "a", 7), in_order(2, "a", 8)]);
        assert_eq!(several.check_places(5).unwrap_err().code, Code::IdempotencyMismatch);
        assert_eq!(once(Vec::new()).check_places(5), Ok(()));
    }

    #[test]
    fn resolved_names_are_stored_with_the_receipt() {
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
            assert_eq!(matches!(receipt.kept, ReceiptContent::Outcome { .. }), is_outcome);
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
        let before = once(Vec::new()).receipt(0, ReceiptContent::Reply(reply()), 9);
        let again = once(vec![before.clone()]);
        let entry = before.entries().map(|(place, _)| place.key).next().unwrap();
        let removed = |changes: Vec<RowChange>| {
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
        let bytes = |change: &RowChange| change.key.len() + change.value.as_ref().map_or(0, Bytes::len);
        let all: usize = changes.iter().flatten().map(bytes).sum();
        assert_eq!(once.kept_bytes().load(Ordering::Relaxed), all as u64);
        // The same outcome is stored again when its change set is built again.
        steps[0].outcome("a", &1u64, 5).put();
        assert_eq!(once.kept_bytes().load(Ordering::Relaxed), all as u64);
    }

    #[test]
    fn a_receipts_removal_deletes_exactly_the_rows_that_were_put() {
        let receipt =
            once(Vec::new()).receipt(1, ReceiptContent::Outcome { command: "c".into(), reply: Bytes::new() }, 9);
        let places = |changes: Vec<RowChange>| changes.into_iter().map(|change| (change.table, change.key));
        assert!(places(receipt.put()).eq(places(receipt.remove())));
        assert!(receipt.put().iter().any(|change| change.table == Table::ReceiptTimes));
        assert!(receipt.remove().iter().all(|change| change.value.is_none()));
    }
}
