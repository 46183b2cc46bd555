//! Persistence in redb: an implementation of [`stet_domain::store::Store`].
//!
//! **The promise.** A change set answered with `Ok` has been synced to `journal.wal` completely,
//! and survives a crash of the process and of the machine. So does everything submitted before it
//! that was not refused. A change set answered with an error is not there after any restart. The
//! one exception is [`StoreError::Unknown`]: the disk failed so that the journal could not be
//! reopened within [`StoreOptions::decide_within`], and the process ended before it could.
//!
//! **The life of a change set.** [`Store::submit`] numbers it, adds its rows to memory as pending
//! (`overlay`) and queues it. The writer thread takes the whole queue at once and encodes it as one
//! record (`blob`). It appends that to `journal.wal` with one write and one fsync (`journal`),
//! raises the committed number, and calls every `on_commit` and then every `on_done` (`writer`).
//! When a commit fails it finds out what is on disk and continues (`recover`). Every few seconds or
//! megabytes the checkpointer folds the rows in memory into the tables of `state.redb` in one
//! transaction (`checkpoint`). It drops them from memory, and the writer may then overwrite that
//! part of the journal. A reader looks into memory first, then into the tables as of the last
//! checkpoint (`reader`), and waits for neither thread. At start the unfolded part of the journal
//! is read back into memory.

mod at_rest;
mod backend;
/// The encoding of change sets, public for the fuzzer, which decodes arbitrary bytes with it.
#[doc(hidden)]
pub mod blob;
mod checkpoint;
mod copy;
mod journal;
mod lease;
mod log;
mod mark;
mod migrate;
mod open;
mod options;
mod over;
mod overlay;
mod reader;
mod record;
mod recover;
mod reopening;
mod salvage;
mod shared;
mod submit;
mod tables;
mod tap;
mod texts;
mod versions;
mod writer;

#[cfg(any(test, feature = "simulated-disk"))]
pub mod fault;
#[cfg(test)]
mod tests;

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::thread::JoinHandle;

use bytes::Bytes;
use parking_lot::Mutex;
use stet_domain::ends::ExpiryClock;
use stet_domain::store::{
    Backlog, ChangeSet, Epoch, Health, KeyRange, ReadLevel, RowCursor, RowReader, Seq, Store, StoreError,
    SubmitRefusal, Table,
};

pub use self::at_rest::ClosedStore;
pub use self::backend::{Backends, Files, StoreFile};
pub use self::blob::NumberedChangeSet;
pub use self::copy::{RestoredTables, TablesCopy, is_backed_up};
pub use self::options::{CheckpointOptions, Durability, JournalLoss, LimitOptions, OpenError, StoreOptions};
pub use self::salvage::Salvage;
pub use self::tap::{CommitTap, CommittedRecord};

use self::journal::Journal;
use self::reader::Snapshot;
use self::shared::{StoreCore, SubmissionPhase};

/// A store in a data directory. Dropping it closes it.
pub struct RedbStore {
    shared: Arc<StoreCore>,
    threads: Mutex<Option<Threads>>,
}

struct Threads {
    writer: JoinHandle<Option<Journal>>,
    checkpointer: JoinHandle<()>,
}

impl RedbStore {
    /// Opens the store in `options.data`, or creates one there. Reads the unfolded part of the
    /// journal and starts the two threads.
    ///
    /// # Errors
    /// An [`OpenError`]. Nothing has been changed, except that migrations before a failed one
    /// remain done.
    pub fn open(options: StoreOptions) -> Result<RedbStore, OpenError> {
        RedbStore::open_with(options, migrate::MIGRATIONS)
    }

    /// Determines what is missing from the journal in `options.data`. If anything is and
    /// `accept_loss` is set, it is given up: the tables get every change up to the first missing
    /// one, and the journal is renamed. Then the directory opens again. Otherwise nothing is
    /// changed.
    ///
    /// # Errors
    /// An [`OpenError`], for faults that cannot be repaired this way.
    pub fn salvage(options: StoreOptions, accept_loss: bool) -> Result<Salvage, OpenError> {
        salvage::salvage(options, accept_loss)
    }

    /// Refuses new change sets, waits until the queued ones are decided, folds everything into the
    /// tables, ends the threads and closes the files. Reads fail with [`StoreError::Closed`] from
    /// then on. A second call does nothing, and may return before the first.
    pub fn close(&self) {
        let Some(threads) = self.threads.lock().take() else { return };
        {
            let mut gate = self.shared.gate.lock();
            if gate.phase != SubmissionPhase::Broken {
                gate.phase = SubmissionPhase::Closing;
            }
            self.shared.work.notify_one();
        }
        let own = std::thread::current().id();
        if own == threads.writer.thread().id() || own == threads.checkpointer.thread().id() {
            // A callback dropped the store on one of its own threads, which cannot wait for itself.
            // The threads end on their own, and unfolded rows are in the journal.
            self.end_checkpointer();
            return;
        }
        let journal = threads.writer.join().ok().flatten();
        self.end_checkpointer();
        let folded_all = threads.checkpointer.join().is_ok();
        if let Some(mut journal) = journal.filter(|_| folded_all) {
            let folded = self.shared.folded.load(std::sync::atomic::Ordering::Acquire);
            if let Err(error) = journal.finish(folded) {
                tracing::warn!(%error, "cannot shrink the journal");
            }
        }
        self.shared.set_snapshot(Snapshot::closed());
        self.shared.fault(|faults| faults.closed = true);
        tracing::info!(committed = self.shared.committed(), "the store is closed");
    }

    fn end_checkpointer(&self) {
        self.shared.signal.lock().last = true;
        self.shared.signalled.notify_one();
    }

    /// Returns the number of bytes of the journal that are not in the tables yet, which the next
    /// start would read.
    pub fn unfolded_bytes(&self) -> u64 {
        self.shared.journal_bytes()
    }

    /// Calls `row` with every row of a table in key order, a page at a time, until it breaks. Each
    /// row may be read before or after concurrent changes. Without concurrent writes, all rows are
    /// of one state.
    ///
    /// # Errors
    /// A page cannot be read. The rows before it have been passed on.
    pub fn for_each<B>(
        &self,
        view: ReadLevel,
        table: Table,
        row: impl FnMut(&Bytes, &Bytes) -> ControlFlow<B>,
    ) -> Result<Option<B>, StoreError> {
        self.for_each_in(view, table, KeyRange::prefix(&[]), row)
    }

    /// Calls `row` with the rows of a range, as [`RedbStore::for_each`] does with all rows.
    ///
    /// # Errors
    /// The errors of [`RedbStore::for_each`].
    pub fn for_each_in<B>(
        &self,
        view: ReadLevel,
        table: Table,
        range: KeyRange,
        mut row: impl FnMut(&Bytes, &Bytes) -> ControlFlow<B>,
    ) -> Result<Option<B>, StoreError> {
        let mut cursor = RowCursor::over(table, range).at(view);
        while let Some(rows) = cursor.batch(self)? {
            for (key, value) in &rows {
                if let ControlFlow::Break(found) = row(key, value) {
                    return Ok(Some(found));
                }
            }
        }
        Ok(None)
    }
}

impl RowReader for RedbStore {
    fn get(&self, view: ReadLevel, table: Table, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        self.shared.get(view, table, key)
    }

    fn scan(
        &self,
        view: ReadLevel,
        table: Table,
        range: &KeyRange,
        limit: usize,
        backwards: bool,
    ) -> Result<Vec<(Bytes, Bytes)>, StoreError> {
        self.shared.scan(view, table, range, limit, backwards)
    }
}

impl Store for RedbStore {
    fn submit(&self, set: ChangeSet) -> Result<Seq, Box<SubmitRefusal>> {
        self.shared.submit(set)
    }

    fn epoch(&self) -> Epoch {
        self.shared.epoch()
    }

    fn committed(&self) -> Seq {
        self.shared.committed()
    }

    fn published(&self) -> Seq {
        self.shared.published()
    }

    fn health(&self) -> Health {
        self.shared.health()
    }

    fn is_certain(&self) -> bool {
        self.shared.is_certain()
    }

    fn ends(&self) -> Option<Arc<ExpiryClock>> {
        Some(self.shared.ends.clone())
    }

    fn backlog(&self) -> Backlog {
        self.shared.backlog()
    }
}

impl Drop for RedbStore {
    fn drop(&mut self) {
        self.close();
    }
}

impl fmt::Debug for RedbStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedbStore")
            .field("data", &self.shared.options.data)
            .field("committed", &self.shared.committed())
            .finish_non_exhaustive()
    }
}
