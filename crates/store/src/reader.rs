//! Reads: first the rows in memory, then the tables as of the last checkpoint.
//!
//! The order makes a look-up consistent. With a table's rows in memory held still, the reader picks
//! up the present [`Snapshot`], then the number of the change set up to which it reads, and then
//! takes what it needs from memory. A checkpoint folds only what is committed, so the tables in the
//! snapshot go no further than that number; and it publishes its snapshot before it drops rows from
//! memory, which waits for the reader, so memory has all that came after the snapshot. The tables
//! are read without any lock.
//!
//! A checkpoint asks no reader before it publishes. So the other way round, or with a snapshot that
//! comes later than what was taken from memory, a scan would be of two states: a row that was moved
//! meanwhile would be in both of its places, or in none.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use bytes::Bytes;
use redb::{Database, ReadOnlyTable, ReadableDatabase};
use stet_actors::store::{Range, StoreError, Table, View};

use super::lease::Lease;
use super::reopening::number_of;
use super::shared::Shared;
use super::tables::{self, RedbError, failure, place};
use super::texts::{self, TEXTS};

/// How often one read is tried, as others' failures end a snapshot, too: nobody should wait for
/// ever.
const MOST_ATTEMPTS: usize = 4;

/// A table that is read alone.
pub(super) type TableReader = ReadOnlyTable<&'static [u8], &'static [u8]>;
type RowsFound = Vec<(Bytes, Bytes)>;

/// The tables as of one checkpoint. Empty once the store is closed.
pub(super) struct Snapshot {
    tables: Vec<TableReader>,
    /// The texts that rows have in common.
    texts: Option<TableReader>,
    /// The database that the tables are in, where nobody else holds it.
    _kept: Option<Database>,
    lease: Option<Lease>,
}

impl Snapshot {
    /// The snapshot after closing.
    pub fn closed() -> Snapshot {
        Snapshot { tables: Vec::new(), texts: None, _kept: None, lease: None }
    }

    /// Whether it is that after closing.
    pub fn is_closed(&self) -> bool {
        self.tables.is_empty()
    }

    /// The present state of the tables in `db`.
    pub fn take(db: &Database, lease: &Lease) -> Result<Snapshot, RedbError> {
        let transaction = db.begin_read().map_err(failure)?;
        let open = |table: &Table| transaction.open_table(tables::rows(*table)).map_err(failure);
        let tables = Table::ALL.iter().map(open).collect::<Result<_, _>>()?;
        let texts = Some(transaction.open_table(TEXTS).map_err(failure)?);
        Ok(Snapshot { tables, texts, _kept: None, lease: Some(lease.clone()) })
    }

    /// The present state of `db`, which lives as long as the snapshot.
    pub fn take_with(db: Database, lease: &Lease) -> Result<Snapshot, RedbError> {
        let mut snapshot = Snapshot::take(&db, lease)?;
        snapshot._kept = Some(db);
        Ok(snapshot)
    }

    /// Whether a read has failed by itself, and not because an earlier one had.
    fn is_own(&self, error: &redb::StorageError) -> bool {
        let others = matches!(
            error,
            redb::StorageError::PreviousIo | redb::StorageError::LockPoisoned(_) | redb::StorageError::DatabaseClosed
        );
        !others && !self.lease.as_ref().is_some_and(Lease::is_ended)
    }

    fn table(&self, table: Table) -> Result<&TableReader, Broken> {
        self.tables.get(place(table)).ok_or(Broken::Closed)
    }

    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Bytes>, Broken> {
        let found = self.table(table)?.get(key)?;
        found.map(|value| self.whole(table, value.value())).transpose()
    }

    /// A row as it was written.
    fn whole(&self, table: Table, stored: &[u8]) -> Result<Bytes, Broken> {
        Ok(texts::whole(table, stored, self.texts.as_ref().ok_or(Broken::Closed)?)?)
    }

    /// Merges the rows in memory, which win, with those of the table.
    fn scan(
        &self,
        table: Table,
        range: &Range,
        limit: usize,
        backwards: bool,
        memory: &[(Bytes, Option<Bytes>)],
    ) -> Result<RowsFound, Broken> {
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
            // The table's row is used up if it was taken, or if the one in memory has replaced it.
            if order.is_ge() {
                on_disk = next()?;
            }
        }
        Ok(found)
    }
}

/// Why a snapshot could not be read.
pub(super) enum Broken {
    Closed,
    Storage(redb::StorageError),
}

impl From<redb::StorageError> for Broken {
    fn from(error: redb::StorageError) -> Self {
        Broken::Storage(error)
    }
}

impl Shared {
    /// [`stet_actors::store::Look::get`].
    pub fn get(&self, view: View, table: Table, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        let look = || {
            // One row is of one state, whichever of those that there are during the call. So this
            // takes the snapshot only where it is needed: most of what is asked for is in memory,
            // or in the tables for long.
            let shelf = self.overlay.shelf(table);
            if let Some(value) = shelf.get(key, self.limit_of(view)) {
                return ControlFlow::Break(value.clone());
            }
            #[cfg(test)]
            self.hooks.amid_look.call();
            ControlFlow::Continue((self.snapshot(), ()))
        };
        self.read(|| number_of((table, key)), look, |snapshot, ()| snapshot.get(table, key))
    }

    /// [`stet_actors::store::Look::scan`].
    pub fn scan(
        &self,
        view: View,
        table: Table,
        range: &Range,
        limit: usize,
        backwards: bool,
    ) -> Result<RowsFound, StoreError> {
        if limit == 0 || range.to.as_ref().is_some_and(|to| *to <= range.from) {
            return Ok(Vec::new());
        }
        let look = || {
            let shelf = self.overlay.shelf(table);
            let snapshot = self.snapshot();
            #[cfg(test)]
            self.hooks.amid_look.call();
            ControlFlow::Continue((snapshot, shelf.collect(range, self.limit_of(view), limit, backwards)))
        };
        let number = || number_of((table, &range.from, &range.to, limit, backwards));
        self.read(number, look, |snapshot, memory| snapshot.scan(table, range, limit, backwards, memory))
    }

    /// Looks into memory, which may have the answer or goes with a snapshot, and reads from that;
    /// and does both again if the file had to be opened anew meanwhile: what was taken from memory
    /// goes with no other snapshot.
    ///
    /// `number` is what the read is known by if it fails.
    fn read<M, T>(
        &self,
        number: impl Fn() -> u64,
        look: impl Fn() -> ControlFlow<T, (Arc<Snapshot>, M)>,
        work: impl Fn(&Snapshot, &M) -> Result<T, Broken>,
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
            // redb panics on some pages that are damaged, and leaves locks behind that only a new
            // opening is rid of.
            let outcome = catch_unwind(AssertUnwindSafe(|| work(&snapshot, &memory)));
            let damaged = || Broken::Storage(redb::StorageError::Corrupted("reading it panicked".to_owned()));
            let error = match outcome.unwrap_or_else(|_| Err(damaged())) {
                Ok(found) => return Ok(found),
                Err(Broken::Closed) => return Err(StoreError::Closed),
                Err(Broken::Storage(error)) => error,
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

/// What tests do in the midst of a read.
#[cfg(test)]
#[derive(Default)]
pub(super) struct Hooks {
    /// A scan has its snapshot, and is to look into memory; or what is sought alone is not in
    /// memory, and is to be read.
    pub amid_look: Hook,
    /// A snapshot could not be read.
    pub read_failed: Hook,
}

/// What is done once, by whom it comes to first.
#[cfg(test)]
#[derive(Default)]
pub(super) struct Hook(parking_lot::Mutex<Option<Box<dyn FnOnce() + Send>>>);

#[cfg(test)]
impl Hook {
    pub fn set(&self, work: impl FnOnce() + Send + 'static) {
        *self.0.lock() = Some(Box::new(work));
    }

    fn call(&self) {
        let work = self.0.lock().take();
        work.into_iter().for_each(|work| work());
    }
}
