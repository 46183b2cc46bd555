//! Checks messages, their mailbox entries and the counts of those against each other.
//!
//! A mailbox entry is stored under the name of its user, so all entries are read to find those of a
//! message. There may be more messages than fit in memory: they are read in batches, with one pass
//! over the entries for each batch.

use std::ops::ControlFlow;

use bytes::Bytes;
use stet_domain::count::count_with_noun;
use stet_domain::store::{KeyRange, ReadLevel, Row, StoreError, Table, decode_value};
use stet_newsroom::messages::{Message, MessageCopies, MessageEntry, id_of};
use stet_store::RedbStore;

use super::CheckReport;

/// Number of messages of a batch: 24 MB.
pub(super) const LOT: usize = 1 << 20;

/// Checks all messages, `most` at a time.
pub(super) fn check(store: &RedbStore, most: usize, report: &mut CheckReport) -> Result<(), StoreError> {
    let mut from = 0;
    loop {
        let mut lot = MessageBatch::read(store, from, most, report)?;
        lot.look_for_entries(store, report)?;
        lot.look_for_counts(store, report)?;
        lot.report(report);
        match lot.to {
            Some(to) => from = to,
            None => return Ok(()),
        }
    }
}

/// A batch: the messages from one number on, up to the first of the next batch.
struct MessageBatch {
    from: u64,
    /// The first number of the next batch; `None` if this is the last.
    to: Option<u64>,
    /// Sorted by number.
    messages: Vec<MessageCounts>,
}

/// A message with its number of mailbox entries.
struct MessageCounts {
    number: u64,
    /// Number of entries found.
    entries: u32,
    /// Number of entries according to the stored count.
    counted: Option<u32>,
}

impl MessageBatch {
    fn read(store: &RedbStore, from: u64, most: usize, report: &mut CheckReport) -> Result<MessageBatch, StoreError> {
        let mut lot = MessageBatch { from, to: None, messages: Vec::new() };
        each(store, Table::Messages, lot.range(), |row: Result<Message, String>| {
            match row {
                Err(fault) => report.fault(fault),
                Ok(Message { number, .. }) if lot.messages.len() == most => {
                    lot.to = Some(number);
                    return ControlFlow::Break(());
                }
                Ok(Message { number, .. }) => lot.messages.push(MessageCounts { number, entries: 0, counted: None }),
            }
            ControlFlow::Continue(())
        })?;
        Ok(lot)
    }

    fn look_for_entries(&mut self, store: &RedbStore, report: &mut CheckReport) -> Result<(), StoreError> {
        each(store, Table::Boxes, KeyRange::prefix(&[]), |row: Result<MessageEntry, String>| {
            match row {
                // Each batch meets this fault; the first reports it.
                Err(fault) if self.from == 0 => report.fault(fault),
                Ok(MessageEntry { user, side, number, .. }) if self.covers(number) => match self.find(number) {
                    Some(message) => message.entries += 1,
                    None => {
                        let (table, message) = (Table::Boxes.name(), id_of(number));
                        report.fault(format!("{table} {user} {side:?}: the message {message} does not exist"));
                    }
                },
                Ok(_) | Err(_) => {}
            }
            ControlFlow::Continue(())
        })
    }

    fn look_for_counts(&mut self, store: &RedbStore, report: &mut CheckReport) -> Result<(), StoreError> {
        each(store, Table::Copies, self.range(), |row: Result<MessageCopies, String>| {
            match row {
                Err(fault) => report.fault(fault),
                Ok(MessageCopies { number, count }) => match self.find(number) {
                    Some(message) => message.counted = Some(count),
                    None => {
                        report.fault(format!("{} {}: the message does not exist", Table::Copies.name(), id_of(number)))
                    }
                },
            }
            ControlFlow::Continue(())
        })
    }

    fn report(&self, report: &mut CheckReport) {
        for MessageCounts { number, entries, counted: noted } in &self.messages {
            let place = format!("{} {}", Table::Messages.name(), id_of(*number));
            if *entries == 0 {
                report.fault(format!("{place}: no inbox or outbox has it"));
            }
            if *noted != Some(*entries) {
                let said = noted.map_or("nothing".to_owned(), |noted| noted.to_string());
                let boxes = count_with_noun(*entries, "box");
                report.fault(format!("{place}: it is in {boxes}, but {} says {said}", Table::Copies.name()));
            }
        }
    }

    fn covers(&self, number: u64) -> bool {
        number >= self.from && self.to.is_none_or(|to| number < to)
    }

    fn find(&mut self, number: u64) -> Option<&mut MessageCounts> {
        let place = self.messages.binary_search_by_key(&number, |message| message.number).ok()?;
        self.messages.get_mut(place)
    }

    /// Returns the range of the rows that are stored by these numbers.
    fn range(&self) -> KeyRange {
        let key = |number: u64| Bytes::copy_from_slice(&number.to_be_bytes());
        let from = if self.from == 0 { Bytes::new() } else { key(self.from) };
        KeyRange { from, to: self.to.map(key) }
    }
}

/// Calls `row` with every row of a part of a table, or with its fault, until it breaks.
fn each<R: Row>(
    store: &RedbStore,
    table: Table,
    range: KeyRange,
    mut row: impl FnMut(Result<R, String>) -> ControlFlow<()>,
) -> Result<(), StoreError> {
    store.for_each_in(ReadLevel::Committed, table, range, |key, value| {
        let place = || format!("{} {}", table.name(), key.escape_ascii());
        row(match decode_value::<R>(R::FORMAT, value) {
            Ok(found) if found.place().key == *key => Ok(found),
            Ok(_) => Err(format!("{}: the row has a wrong key", place())),
            Err(error) => Err(format!("{}: {error}", place())),
        })
    })?;
    Ok(())
}
