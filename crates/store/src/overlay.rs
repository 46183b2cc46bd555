//! The rows in memory that the tables on disk do not contain yet: pending ones, and committed ones
//! that are not folded.
//!
//! There are two generations. Changes enter the *active* one. A checkpoint freezes it, folds the
//! *frozen* one into the tables and drops it as a whole, so that rows are never removed one by one.
//! A row is a short list of versions, newest first. Versions that no view can see any more are
//! dropped when the next version is added. So a commit touches no row: it only raises the committed
//! number.
//!
//! Events are not rows. They are counted here, and are in the [`EventTail`] of their log once they
//! are committed.
//!
//! Each table has a lock, which is held for the few instructions of a look-up or while a page of a
//! scan is copied. It is never held during a disk access. A plain `BTreeMap` is enough: the frozen
//! generation serves as a snapshot, so a persistent map is not needed.
//!
//! A look-up in a big tree mostly waits for memory. So a key's first 16 bytes, which distinguish
//! nearly all keys of a table, are in the tree's nodes.

use std::collections::btree_map;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use parking_lot::{Mutex, RwLock, RwLockReadGuard};
use stet_domain::store::{EventId, KeyRange, RowChange, Seq, StoredEvent, Table};

use super::blob::NumberedChangeSet;
use super::log::{self, EventTail};
use super::tables::{COUNT, table_index};
use super::versions::{ComparableKey, LookupKey, ROW_OVERHEAD, RowKey, VersionedRows, Versions, version_bytes};

/// The rows of one table in memory.
#[derive(Debug, Default)]
pub(super) struct OverlayTable {
    active: VersionedRows,
    frozen: Option<Arc<VersionedRows>>,
}

impl OverlayTable {
    /// Returns the row's value as of `seq`: `Some(None)` if it was removed, `None` if only the
    /// tables on disk have it.
    pub fn get(&self, key: &[u8], seq: Seq) -> Option<&Option<Bytes>> {
        let sought: &dyn ComparableKey = &LookupKey::new(key);
        let active = self.active.get(sought).and_then(|versions| versions.at(seq));
        active.or_else(|| self.frozen.as_ref()?.get(sought)?.at(seq))
    }

    /// Returns the rows of a range, which must not be empty, as of `seq` and in order or backwards.
    /// Removed rows are included; the walk ends at `limit` others.
    pub fn collect(&self, range: &KeyRange, seq: Seq, limit: usize, backwards: bool) -> Vec<(Bytes, Option<Bytes>)> {
        let (from, to) = (LookupKey::new(&range.from), range.to.as_ref().map(|to| LookupKey::new(to)));
        let from: Bound<&dyn ComparableKey> = Bound::Included(&from);
        let to: Bound<&dyn ComparableKey> = to.as_ref().map_or(Bound::Unbounded, |to| Bound::Excluded(to));
        let active = self.active.range::<dyn ComparableKey, _>((from, to));
        let frozen =
            self.frozen.as_ref().map(|rows| rows.range::<dyn ComparableKey, _>((from, to))).unwrap_or_default();
        let mut merged = MergedRows { active: OneWay::new(active, backwards), frozen: OneWay::new(frozen, backwards) };
        let (mut found, mut live) = (Vec::new(), 0);
        while live < limit {
            let Some((key, first, second)) = merged.next(backwards) else { break };
            let Some(value) = first.and_then(|row| row.at(seq)).or_else(|| second.and_then(|row| row.at(seq))) else {
                continue;
            };
            live += usize::from(value.is_some());
            found.push((key.key.clone(), value.clone()));
        }
        found
    }
}

/// A walk through a range in one direction, with the next row in advance.
struct OneWay<'a> {
    rows: btree_map::Range<'a, RowKey, Versions>,
    backwards: bool,
    next: Option<(&'a RowKey, &'a Versions)>,
}

impl<'a> OneWay<'a> {
    fn new(rows: btree_map::Range<'a, RowKey, Versions>, backwards: bool) -> Self {
        let mut this = OneWay { rows, backwards, next: None };
        this.advance();
        this
    }

    fn advance(&mut self) -> Option<&'a Versions> {
        let next = if self.backwards { self.rows.next_back() } else { self.rows.next() };
        std::mem::replace(&mut self.next, next).map(|(_, versions)| versions)
    }
}

/// Both generations of a table, merged.
struct MergedRows<'a> {
    active: OneWay<'a>,
    frozen: OneWay<'a>,
}

impl<'a> MergedRows<'a> {
    fn next(&mut self, backwards: bool) -> Option<(&'a RowKey, Option<&'a Versions>, Option<&'a Versions>)> {
        let (active, frozen) = (self.active.next.map(|(key, _)| key), self.frozen.next.map(|(key, _)| key));
        let (key, from_active, from_frozen) = match (active, frozen) {
            (None, None) => return None,
            (Some(key), None) => (key, true, false),
            (None, Some(key)) => (key, false, true),
            (Some(one), Some(other)) if one == other => (one, true, true),
            (Some(one), Some(other)) if (one < other) != backwards => (one, true, false),
            (Some(_), Some(other)) => (other, false, true),
        };
        let first = if from_active { self.active.advance() } else { None };
        let second = if from_frozen { self.frozen.advance() } else { None };
        Some((key, first, second))
    }
}

/// The size of a generation.
#[derive(Debug, Default)]
struct GenerationSize {
    rows: AtomicUsize,
    bytes: AtomicUsize,
}

impl GenerationSize {
    fn get(&self) -> (usize, usize) {
        (self.rows.load(Ordering::Relaxed), self.bytes.load(Ordering::Relaxed))
    }

    fn set(&self, (rows, bytes): (usize, usize)) {
        self.rows.store(rows, Ordering::Relaxed);
        self.bytes.store(bytes, Ordering::Relaxed);
    }
}

/// All rows in memory. The submission lock ensures that only one thread changes them at a time.
#[derive(Debug)]
pub(super) struct Overlay {
    tables: [RwLock<OverlayTable>; COUNT],
    /// The committed events.
    pub log: EventTail,
    /// The change sets whose events are frozen: those after the first number, up to the second.
    /// Active ones have higher numbers. The lock is held while the frozen generation or all pending
    /// rows are dropped. That takes a few instructions a table, or a walk through all rows.
    events_frozen: Mutex<(Seq, Seq)>,
    active: GenerationSize,
    frozen: GenerationSize,
}

impl Overlay {
    pub fn new() -> Overlay {
        let tables = std::array::from_fn(|_| RwLock::default());
        Overlay {
            tables,
            log: EventTail::default(),
            events_frozen: Mutex::default(),
            active: GenerationSize::default(),
            frozen: GenerationSize::default(),
        }
    }

    /// Returns the rows of one table, locked while the guard lives. Hold it briefly.
    pub fn read_table(&self, table: Table) -> RwLockReadGuard<'_, OverlayTable> {
        self.tables[table_index(table)].read()
    }

    /// Returns the number of rows, and of bytes, that wait for the next checkpoint.
    pub fn active(&self) -> (usize, usize) {
        self.active.get()
    }

    /// Returns the number of rows, and of bytes, of both generations.
    pub fn total(&self) -> (usize, usize) {
        let (active, frozen) = (self.active.get(), self.frozen.get());
        (active.0 + frozen.0, active.1 + frozen.1)
    }

    /// Adds the events that are stored as rows of the tables, which have everything up to `folded`.
    /// They precede the events that are here already. `packed` is the last event in a segment.
    pub fn begin_log(&self, unpacked: Vec<StoredEvent>, packed: Option<EventId>, folded: Seq) {
        let active = self.log.between(folded, Seq::MAX);
        self.log.begin(unpacked.into_iter().chain(active), packed);
        *self.events_frozen.lock() = (folded, folded);
    }

    /// Adds a committed change set after all others. Returns its number.
    pub fn replay(&self, set: NumberedChangeSet, committed: Seq) -> Seq {
        let NumberedChangeSet { seq, changes, events } = set;
        self.insert(seq, &changes, &events, committed);
        self.log.append(events);
        seq
    }

    /// Adds the changes of a change set. Its events are only counted, as they enter the log when it
    /// is committed.
    pub fn insert(&self, seq: Seq, changes: &[RowChange], events: &[StoredEvent], committed: Seq) {
        let (mut rows, mut bytes) = self.active.get();
        rows += events.len();
        bytes += weight(events);
        for change in changes {
            let mut table = self.tables[table_index(change.table)].write();
            bytes += version_bytes(change.value.as_ref());
            match table.active.entry(RowKey::new(change.key.clone())) {
                btree_map::Entry::Vacant(entry) => {
                    rows += 1;
                    bytes += change.key.len() + ROW_OVERHEAD;
                    entry.insert(Versions::new(seq, change.value.clone()));
                }
                btree_map::Entry::Occupied(mut entry) => {
                    bytes -= entry.get_mut().push(seq, change.value.clone(), committed);
                }
            }
        }
        self.active.set((rows, bytes));
    }

    /// Begins a new active generation, for change sets after `last`. There must be no frozen
    /// generation.
    pub fn freeze(&self, last: Seq) {
        self.events_frozen.lock().1 = last;
        for table in &self.tables {
            let mut table = table.write();
            let rows = std::mem::take(&mut table.active);
            table.frozen = Some(Arc::new(rows));
        }
        self.frozen.set(self.active.get());
        self.active.set((0, 0));
    }

    /// Returns the frozen rows of a table, for folding. None of them may be pending.
    pub fn frozen(&self, table: Table) -> Option<Arc<VersionedRows>> {
        self.read_table(table).frozen.clone()
    }

    /// Returns the frozen events in order, for folding. None of them is pending.
    pub fn frozen_events(&self) -> Vec<StoredEvent> {
        let (folded, last) = *self.events_frozen.lock();
        self.log.between(folded, last)
    }

    /// Drops the frozen generation. From now on the tables on disk, as every reader sees them,
    /// contain it.
    pub fn drop_frozen(&self) {
        let mut events = self.events_frozen.lock();
        let rows: Vec<_> = self.tables.iter().map(|table| table.write().frozen.take()).collect();
        events.0 = events.1;
        self.frozen.set((0, 0));
        drop(events);
        // The rows are freed without a lock, since a million of them take a while.
        drop(rows);
    }

    /// Drops all pending versions.
    pub fn fall_back(&self, committed: Seq) {
        // The lock is held until everything is counted. Otherwise a frozen generation dropped in
        // the meantime would be counted in part, or permanently.
        let events_frozen = self.events_frozen.lock();
        let mut active = (0, 0);
        let mut frozen = (0, 0);
        let tally = |count: &mut (usize, usize), key: &RowKey, versions: &Versions| {
            count.0 += 1;
            count.1 += key.key.len() + ROW_OVERHEAD + versions.bytes();
        };
        for table in &self.tables {
            let mut table = table.write();
            table.active.retain(|key, versions| {
                let stays = versions.fall_back(committed);
                if stays {
                    tally(&mut active, key, versions);
                }
                stays
            });
            // The frozen rows are shared only after everything in them was decided. Then there is
            // nothing to drop.
            if let Some(rows) = table.frozen.as_mut().and_then(Arc::get_mut) {
                rows.retain(|_, versions| versions.fall_back(committed));
            }
            if let Some(rows) = &table.frozen {
                rows.iter().for_each(|(key, versions)| tally(&mut frozen, key, versions));
            }
        }
        // Pending events are in no list yet.
        let (folded, last) = *events_frozen;
        for (count, events) in
            [(&mut frozen, self.log.between(folded, last)), (&mut active, self.log.between(last, Seq::MAX))]
        {
            count.0 += events.len();
            count.1 += weight(&events);
        }
        self.active.set(active);
        self.frozen.set(frozen);
    }
}

fn weight(events: &[StoredEvent]) -> usize {
    events.iter().map(log::weight).sum()
}

#[cfg(test)]
mod tests {
    use proptest::option::of;
    use proptest::prelude::*;

    use super::*;
    use crate::tests::until;

    fn put(table: Table, key: &str, value: Bytes) -> RowChange {
        RowChange { table, key: Bytes::copy_from_slice(key.as_bytes()), value: Some(value) }
    }

    proptest! {
        /// Each commit counts what it adds and drops, and a fall-back counts anew.
        #[test]
        fn the_running_count_of_rows_and_bytes_is_that_of_a_recount(
            sets in prop::collection::vec((prop::collection::vec((0..4u8, of(0..200usize)), 1..4), 0..5u64), 1..60),
        ) {
            let (overlay, mut committed): (_, Seq) = (Overlay::new(), 0);
            for (seq, (set, pending)) in (1 as Seq..).zip(sets) {
                let change = |(key, len): (u8, Option<usize>)| RowChange {
                    table: Table::ALL[0],
                    key: Bytes::copy_from_slice(&[key]),
                    value: len.map(|len| vec![0; len].into()),
                };
                let changes: Vec<_> = set.into_iter().map(change).collect();
                committed = committed.max((seq - 1).saturating_sub(pending));
                overlay.insert(seq, &changes, &[], committed);
                let counted = overlay.total();
                overlay.fall_back(seq);
                prop_assert_eq!(overlay.total(), counted);
            }
        }
    }

    /// A regression test: the frozen generation was counted before it was dropped, and the count
    /// was stored after that, as if it still existed.
    #[test]
    fn a_frozen_generation_dropped_with_pending_changes_is_not_counted() {
        let (first, last) = (Table::ALL[0], Table::ALL[COUNT - 1]);
        let overlay = Overlay::new();
        let one = || Bytes::from_static(b"1");
        overlay.insert(1, &[put(first, "a", one()), put(last, "a", one())], &[], 0);
        overlay.freeze(1);
        overlay.insert(2, &[put(first, "b", one())], &[], 1);
        std::thread::scope(|scope| {
            let reader = overlay.read_table(last);
            scope.spawn(|| overlay.fall_back(1));
            // The thread has been through all tables but the last.
            until("it waits for the reader", || overlay.tables[table_index(last)].try_read().is_none());
            scope.spawn(|| overlay.drop_frozen());
            until("one of them counts", || overlay.events_frozen.is_locked());
            drop(reader);
        });
        assert_eq!(overlay.total(), (0, 0));
        assert!(overlay.frozen(first).is_none());
    }

    /// A regression test: the thread that drops pending rows holds the gate, and waited until a
    /// generation was freed.
    #[test]
    fn dropped_overlay_rows_are_freed_without_holding_a_lock() {
        /// A value that notes, when it is freed, whether any lock is held.
        struct Freed(Arc<Overlay>, Arc<AtomicUsize>);
        impl AsRef<[u8]> for Freed {
            fn as_ref(&self) -> &[u8] {
                b"1"
            }
        }
        impl Drop for Freed {
            fn drop(&mut self) {
                let waits = self.0.events_frozen.is_locked() || self.0.tables.iter().any(RwLock::is_locked);
                self.1.fetch_add(if waits { 100 } else { 1 }, Ordering::Relaxed);
            }
        }
        let (overlay, freed) = (Arc::new(Overlay::new()), Arc::new(AtomicUsize::new(0)));
        let changes: Vec<RowChange> = Table::ALL
            .iter()
            .map(|table| put(*table, "a", Bytes::from_owner(Freed(overlay.clone(), freed.clone()))))
            .collect();
        overlay.insert(1, &changes, &[], 0);
        drop(changes);
        overlay.freeze(1);
        overlay.drop_frozen();
        assert_eq!(freed.load(Ordering::Relaxed), COUNT);
    }
}
