//! Reads: first the rows in memory, then the tables as of the last checkpoint.
//!
//! The order makes a look-up consistent. The reader locks a table's rows in memory. Then it takes
//! the present [`Snapshot`], the number of the change set up to which it reads, and last the rows
//! from memory. A checkpoint folds only committed changes, so the snapshot extends no further than
//! that number. It publishes its snapshot before it drops rows from memory, which waits for the
//! reader, so memory has everything after the snapshot. The tables are read without any lock.
//!
//! A checkpoint does not wait for readers before it publishes. So in the opposite order, or with a
//! snapshot later than the rows from memory, a scan would mix two states. A row that was moved in
//! the meantime would be in both places, or in neither.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use bytes::Bytes;
use redb::{Database, ReadOnlyTable, ReadableDatabase};
use stet_domain::store::{KeyRange, ReadLevel, Seq, StoreError, Table};

use super::lease::Lease;
use super::reopening::number_of;
use super::shared::StoreCore;
use super::tables::{self, FOLDED, META, RedbError, failure, table_index};
use super::texts::{self, TEXTS};

/// The maximum number of attempts of one read. Failures of other reads end its snapshot, too, but
/// it must not wait forever.
const MOST_ATTEMPTS: usize = 4;

/// A table opened for reading only.
pub(super) type TableReader = ReadOnlyTable<&'static [u8], &'static [u8]>;
type RowsFound = Vec<(Bytes, Bytes)>;

/// The tables as of one checkpoint; empty after the store is closed.
pub(super) struct Snapshot {
    tables: Vec<TableReader>,
    /// The table of texts that several rows share.
    texts: Option<TableReader>,
    /// The last change set that the tables have.
    folded: Seq,
    /// The database of the tables, if only the snapshot holds it.
    _kept: Option<Database>,
    lease: Option<Lease>,
}

impl Snapshot {
    /// Returns the snapshot of a closed store.
    pub fn closed() -> Snapshot {
        Snapshot { tables: Vec::new(), texts: None, folded: 0, _kept: None, lease: None }
    }

    /// Reports whether this is the snapshot of a closed store.
    pub fn is_closed(&self) -> bool {
        self.tables.is_empty()
    }

    /// Takes a snapshot of the tables in `db`.
    pub fn take(db: &Database, lease: &Lease) -> Result<Snapshot, RedbError> {
        let transaction = db.begin_read().map_err(failure)?;
        let open = |table: &Table| transaction.open_table(tables::rows(*table)).map_err(failure);
        let tables = Table::ALL.iter().map(open).collect::<Result<_, _>>()?;
        let texts = Some(transaction.open_table(TEXTS).map_err(failure)?);
        let meta = transaction.open_table(META).map_err(failure)?;
        let folded = meta.get(FOLDED).map_err(failure)?.map_or(0, |seq| seq.value());
        Ok(Snapshot { tables, texts, folded, _kept: None, lease: Some(lease.clone()) })
    }

    /// Takes a snapshot of `db`, which then lives as long as the snapshot.
    pub fn take_with(db: Database, lease: &Lease) -> Result<Snapshot, RedbError> {
        let mut snapshot = Snapshot::take(&db, lease)?;
        snapshot._kept = Some(db);
        Ok(snapshot)
    }

    /// Reports whether a read failed by itself, rather than because of an earlier failure.
    fn is_own(&self, error: &redb::StorageError) -> bool {
        let others = matches!(
            error,
            redb::StorageError::PreviousIo | redb::StorageError::LockPoisoned(_) | redb::StorageError::DatabaseClosed
        );
        !others && !self.lease.as_ref().is_some_and(Lease::is_ended)
    }

    /// Returns the number of the last change set that the tables have.
    pub fn folded(&self) -> Seq {
        self.folded
    }

    /// Returns a table by its name, with the rows as they are stored.
    pub fn stored(&self, name: &str) -> Result<&TableReader, SnapshotError> {
        let place = Table::ALL.iter().position(|table| table.name() == name);
        let found = place.map_or(self.texts.as_ref(), |place| self.tables.get(place));
        found.ok_or(SnapshotError::Closed)
    }

    fn table(&self, table: Table) -> Result<&TableReader, SnapshotError> {
        self.tables.get(table_index(table)).ok_or(SnapshotError::Closed)
    }

    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Bytes>, SnapshotError> {
        let found = self.table(table)?.get(key)?;
        found.map(|value| self.whole(table, value.value())).transpose()
    }

    /// Restores the row's original value, with its shared text.
    fn whole(&self, table: Table, stored: &[u8]) -> Result<Bytes, SnapshotError> {
        Ok(texts::restore_row(table, stored, self.texts.as_ref().ok_or(SnapshotError::Closed)?)?)
    }

    /// Merges the rows in memory, which take precedence, with those of the table.
    fn scan(
        &self,
        table: Table,
        range: &KeyRange,
        limit: usize,
        backwards: bool,
        memory: &[(Bytes, Option<Bytes>)],
    ) -> Result<RowsFound, SnapshotError> {
        let stored = self.table(table)?;
        let mut rows = match &range.to {
            Some(to) => stored.range::<&[u8]>(&range.from[..]..&to[..])?,
            None => stored.range::<&[u8]>(&range.from[..]..)?,
        };
        let mut next = || if backwards { rows.next_back() } else { rows.next() }.transpose();
        let mut memory = memory.iter().peekable();
        let mut on_disk = next()?;
        let mut found = Vec::new();
        while found.len() < limit {
            let order = match (memory.peek(), &on_disk) {
                (None, None) => break,
                (Some(_), None) => std::cmp::Ordering::Less,
                (None, Some(_)) => std::cmp::Ordering::Greater,
                (Some((key, _)), Some((other, _))) if backwards => other.value().cmp(&key[..]),
                (Some((key, _)), Some((other, _))) => key[..].cmp(other.value()),
            };
            if order.is_le() {
                if let Some((key, Some(value))) = memory.next() {
                    found.push((key.clone(), value.clone()));
                }
            } else if let Some((key, value)) = &on_disk {
                found.push((Bytes::copy_from_slice(key.value()), self.whole(table, value.value())?));
            }
            // The table's row is consumed if it was returned, or if the row in memory replaces it.
            if order.is_ge() {
                on_disk = next()?;
            }
        }
        Ok(found)
    }
}

/// The reason why a snapshot could not be read.
pub(super) enum SnapshotError {
    Closed,
    Storage(redb::StorageError),
}

impl From<redb::StorageError> for SnapshotError {
    fn from(error: redb::StorageError) -> Self {
        SnapshotError::Storage(error)
    }
}

impl StoreCore {
    /// Implements [`stet_domain::store::RowReader::get`].
    pub fn get(&self, view: ReadLevel, table: Table, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        let look = || {
            // A single-row read may observe any state that was current during the call. So it takes
            // the snapshot only if memory does not have the row. Most rows that are read are in
            // memory, or have been in the tables for a while.
            let rows = self.overlay.read_table(table);
            if let Some(value) = rows.get(key, self.limit_of(view)) {
                return ControlFlow::Break(value.clone());
            }
            #[cfg(test)]
            self.hooks.amid_look.call();
            ControlFlow::Continue((self.snapshot(), ()))
        };
        self.read(|| number_of((table, key)), look, |snapshot, ()| snapshot.get(table, key))
    }

    /// Implements [`stet_domain::store::RowReader::scan`].
    pub fn scan(
        &self,
        view: ReadLevel,
        table: Table,
        range: &KeyRange,
        limit: usize,
        backwards: bool,
    ) -> Result<RowsFound, StoreError> {
        if limit == 0 || range.to.as_ref().is_some_and(|to| *to <= range.from) {
            return Ok(Vec::new());
        }
        let look = || {
            let rows = self.overlay.read_table(table);
            let snapshot = self.snapshot();
            #[cfg(test)]
            self.hooks.amid_look.call();
            ControlFlow::Continue((snapshot, rows.collect(range, self.limit_of(view), limit, backwards)))
        };
        let number = || number_of((table, &range.from, &range.to, limit, backwards));
        self.read(number, look, |snapshot, memory| snapshot.scan(table, range, limit, backwards, memory))
    }

    /// Looks into memory, which has the result or is combined with a snapshot, and reads from the
    /// snapshot. Repeats both if the file was reopened in the meantime, because rows from memory
    /// match no other snapshot.
    ///
    /// `number` identifies the read if it fails.
    fn read<M, T>(
        &self,
        number: impl Fn() -> u64,
        look: impl Fn() -> ControlFlow<T, (Arc<Snapshot>, M)>,
        work: impl Fn(&Snapshot, &M) -> Result<T, SnapshotError>,
    ) -> Result<T, StoreError> {
        let mut attempt = 0;
        loop {
            attempt += 1;
            let (snapshot, memory) = match look() {
                ControlFlow::Continue(looked) => looked,
                ControlFlow::Break(found) => return Ok(found),
            };
            if let Some(why) = self.reopening.failure_of(&number) {
                return Err(why);
            }
            // redb panics on some damaged pages, and leaves locks behind that only a new opening
            // removes.
            let outcome = catch_unwind(AssertUnwindSafe(|| work(&snapshot, &memory)));
            let damaged = || SnapshotError::Storage(redb::StorageError::Corrupted("reading it panicked".to_owned()));
            let error = match outcome.unwrap_or_else(|_| Err(damaged())) {
                Ok(found) => return Ok(found),
                Err(SnapshotError::Closed) => return Err(StoreError::Closed),
                Err(SnapshotError::Storage(error)) => error,
            };
            #[cfg(test)]
            self.hooks.read_failed.call();
            let own = snapshot.is_own(&error);
            if attempt < MOST_ATTEMPTS && self.is_reopened(&snapshot, own) {
                continue;
            }
            let fault = snapshot.lease.as_ref().and_then(Lease::fault);
            let why = fault.map_or_else(|| error.to_string(), |fault| fault.text);
            let why = match error {
                redb::StorageError::Corrupted(_) => StoreError::Corrupt(why),
                _ => StoreError::Failed(format!("the tables can't be read: {why}")),
            };
            if own {
                self.reopening.has_failed(number(), &why);
            }
            return Err(why);
        }
    }
}

/// Callbacks of tests in the middle of a read.
#[cfg(test)]
#[derive(Default)]
pub(super) struct ReadHooks {
    /// Called when a scan has its snapshot and is about to look into memory. For a single row,
    /// called when it is not in memory and is about to be read.
    pub amid_look: ReadHook,
    /// Called when a snapshot could not be read.
    pub read_failed: ReadHook,
}

/// A callback that runs once, at its first call.
#[cfg(test)]
#[derive(Default)]
pub(super) struct ReadHook(parking_lot::Mutex<Option<Box<dyn FnOnce() + Send>>>);

#[cfg(test)]
impl ReadHook {
    pub fn set(&self, work: impl FnOnce() + Send + 'static) {
        *self.0.lock() = Some(Box::new(work));
    }

    fn call(&self) {
        let work = self.0.lock().take();
        work.into_iter().for_each(|work| work());
    }
}
