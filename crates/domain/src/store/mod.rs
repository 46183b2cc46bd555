//! The interface between the domain and the database engine.
//!
//! **The promise.** If a change set's `on_done` is called with `Ok`, all of it is on disk, and so
//! is everything submitted before it that was not refused. A change set that is answered with an
//! error is not on disk and never will be, not even after a crash. The exception is
//! [`StoreError::Unknown`], which reports that the outcome is unknown.
//!
//! **Two views.** Between its submission and its commit a change set is *pending*. Readers see
//! [`ReadLevel::Committed`] only. Containers that compute further changes see
//! [`ReadLevel::Latest`], which includes pending ones. So a drawer can take its next command
//! without waiting for the disk, and a folder can keep names unique.
//!
//! **Epochs.** When a commit fails, everything pending was computed from a state that will never
//! exist. So all of it is refused, [`ReadLevel::Latest`] falls back to [`ReadLevel::Committed`],
//! and the epoch rises by one. A change set carries the epoch in which its container was last
//! loaded. If that has passed, it is refused with [`StoreError::Stale`].

mod cursor;
mod event;
pub mod memory;
pub mod observe;
mod row;
mod segment;
mod table;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;

use crate::ends::ExpiryClock;
use crate::trace::Trace;

pub use self::cursor::RowCursor;
pub use self::event::{
    BatchRoom, Event, EventId, EventLog, EventPeriod, LogDirection, LogPassage, ResumeRequest, StatusStep, StoredEvent,
    loid_key,
};
pub use self::row::{DecodeError, Row, RowPlace, decode_value, encode_value, key_of};
pub use self::segment::{Segment, SegmentHead};
pub use self::table::Table;

/// The number of a submitted change set; change sets are committed in the order of submission.
pub type Seq = u64;

/// The number of failed commits since the store was opened; see the module's head.
pub type Epoch = u64;

/// The state that a read of the store observes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadLevel {
    /// The state on disk.
    Committed,
    /// The committed state and all pending change sets.
    Latest,
}

/// One row with its new value, or its removal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowChange {
    /// The row's table.
    pub table: Table,
    /// The row's key.
    pub key: Bytes,
    /// The new value; `None` removes the row.
    pub value: Option<Bytes>,
}

impl RowChange {
    /// Returns the change that writes a row without index entries.
    pub fn put<R: Row>(row: &R) -> RowChange {
        let RowPlace { table, key } = row.place();
        RowChange { table, key, value: Some(encode_value(R::FORMAT, row)) }
    }

    /// Returns the change that removes a row without index entries.
    pub fn remove(place: RowPlace) -> RowChange {
        RowChange { table: place.table, key: place.key, value: None }
    }
}

/// An atomic step from one state of the repository to the next.
pub struct ChangeSet {
    /// The rows and index entries that change; a later change of the same key wins.
    pub changes: Vec<RowChange>,
    /// One event for each changed container; they are added to the log ([`EventLog`]).
    pub events: Vec<Event>,
    /// The oldest epoch in which a container of the change set was loaded.
    pub epoch: Epoch,
    /// Whether the change set is accepted although memory is full. For a row that is overwritten
    /// again and again: it takes no further room, and other changes depend on it.
    pub passes: bool,
    /// The trace of the call that the commit is for.
    pub trace: Trace,
    /// The callback after the commit and before any `on_done` of the same batch: publishes the
    /// containers' new views. Runs on the writer's thread, so it must be quick and must not block.
    /// Not called when the commit fails.
    pub on_commit: Box<dyn FnOnce(Seq) + Send>,
    /// The callback for the outcome, called once: sends the reply. The same rules apply.
    pub on_done: Box<dyn FnOnce(Result<Seq, StoreError>) + Send>,
}

impl ChangeSet {
    /// Creates a change set without changes, whose `on_done` is called when everything submitted
    /// before it has been decided.
    pub fn fence(epoch: Epoch, on_done: impl FnOnce(Result<Seq, StoreError>) + Send + 'static) -> ChangeSet {
        ChangeSet {
            changes: Vec::new(),
            events: Vec::new(),
            epoch,
            passes: false,
            trace: Trace::none(),
            on_commit: Box::new(|_| ()),
            on_done: Box::new(on_done),
        }
    }
}

impl fmt::Debug for ChangeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChangeSet")
            .field("changes", &self.changes.len())
            .field("events", &self.events)
            .field("epoch", &self.epoch)
            .finish_non_exhaustive()
    }
}

/// The reason why the store did not do what was requested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreError {
    /// A commit has failed since the container was loaded; it must be loaded again.
    Stale,
    /// The disk is full. Nothing was changed; reads still work.
    Full,
    /// Too many changes are waiting for the disk.
    Overloaded,
    /// The commit failed; nothing was changed.
    Failed(String),
    /// The commit failed, and it is unknown whether its changes are on disk: they may appear after
    /// a restart.
    Unknown(String),
    /// A stored row cannot be decoded.
    Corrupt(String),
    /// The store has been closed, or has failed permanently.
    Closed,
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreError::Stale => f.write_str("an earlier commit failed; the container must be loaded again"),
            StoreError::Full => f.write_str("the disk is full"),
            StoreError::Overloaded => f.write_str("too much is waiting for the disk"),
            StoreError::Failed(why) => write!(f, "the commit failed: {why}"),
            StoreError::Unknown(why) => write!(f, "outcome unknown: {why}"),
            StoreError::Corrupt(why) => write!(f, "a stored row can't be decoded: {why}"),
            StoreError::Closed => f.write_str("the store is closed"),
        }
    }
}

impl std::error::Error for StoreError {}

/// A refused change set with the reason. Neither callback has been called.
#[derive(Debug)]
pub struct SubmitRefusal {
    /// The reason.
    pub why: StoreError,
    /// The submitted change set.
    pub set: ChangeSet,
}

/// The part of a table that a scan covers: `from` inclusive, `to` exclusive, or `None` for the
/// table's end.
#[derive(Debug, Clone)]
pub struct KeyRange {
    /// The first key.
    pub from: Bytes,
    /// The end, exclusive.
    pub to: Option<Bytes>,
}

impl KeyRange {
    /// Returns the range of all keys that begin with `prefix`.
    pub fn prefix(prefix: &[u8]) -> KeyRange {
        let mut to = prefix.to_vec();
        // The first key after the prefix: its last byte below 0xff is raised by one.
        while let Some(last) = to.pop() {
            if last < 0xff {
                to.push(last + 1);
                break;
            }
        }
        KeyRange { from: Bytes::copy_from_slice(prefix), to: (!to.is_empty()).then(|| to.into()) }
    }

    /// Returns the rest of this range after `key`.
    #[must_use]
    pub fn after(&self, key: &[u8]) -> KeyRange {
        let mut from = key.to_vec();
        from.push(0);
        KeyRange { from: from.into(), to: self.to.clone() }
    }
}

/// The store's ability to do its work; readiness reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Health {
    /// Commits go through.
    Ok,
    /// The last commit or checkpoint found the disk full; each new one tries again.
    Full,
    /// Commits succeed, but their changes stay in the journal and in memory, since checkpoints
    /// fail.
    Lagging(String),
    /// Commits fail; the store tries to recover on its own.
    Failing(String),
    /// The store is closed.
    Closed,
}

/// The changes that wait for the disk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Backlog {
    /// The number of accepted change sets whose outcome is open.
    pub sets: usize,
    /// The beginning of the disk's work on the present commit, in epoch milliseconds; `None` if
    /// there is none.
    pub since_ms: Option<u64>,
    /// Whether so much waits for the tables that the remaining room is reserved for small changes.
    pub fills: bool,
}

/// Reads of rows, each consistent at one instant.
pub trait RowReader: Send + Sync {
    /// Returns the row's value.
    fn get(&self, view: ReadLevel, table: Table, key: &[u8]) -> Result<Option<Bytes>, StoreError>;

    /// Returns at most `limit` rows of the range in the order of keys, from its end if `backwards`.
    fn scan(
        &self,
        view: ReadLevel,
        table: Table,
        range: &KeyRange,
        limit: usize,
        backwards: bool,
    ) -> Result<Vec<(Bytes, Bytes)>, StoreError>;
}

/// The store of the repository. See the module's head for the promise that an implementation gives.
pub trait Store: RowReader + EventLog + 'static {
    /// Accepts a change set into the queue for the disk and into [`ReadLevel::Latest`], in one
    /// instant.
    ///
    /// Never blocks on the disk. An empty change set gets the number of the last one before it, and
    /// is answered when everything submitted before it has been decided: at once if nothing is
    /// pending.
    ///
    /// # Errors
    /// [`StoreError::Stale`], [`StoreError::Overloaded`] (not for a set that
    /// [passes](ChangeSet::passes)) and [`StoreError::Closed`]; also [`StoreError::Full`] and
    /// [`StoreError::Failed`] while the disk is known not to work. Nothing has been accepted then.
    fn submit(&self, set: ChangeSet) -> Result<Seq, Box<SubmitRefusal>>;

    /// Returns the present epoch.
    fn epoch(&self) -> Epoch;

    /// Returns the last change set that is on disk; all sets up to it are in
    /// [`ReadLevel::Committed`].
    fn committed(&self) -> Seq;

    /// Returns the last change set whose `on_commit` has been called, as has that of all sets
    /// before it. It follows [`Store::committed`] within microseconds, unless the thread in between
    /// must wait for a processor.
    fn published(&self) -> Seq;

    /// Reports whether commits succeed.
    fn health(&self) -> Health;

    /// Reports whether it is known of every change set that is not pending whether it is on disk,
    /// now and after a crash. False after [`StoreError::Unknown`] until the possible remains of
    /// that commit are removed.
    fn is_certain(&self) -> bool {
        true
    }

    /// Returns the clock by which stored data expires, with the store's knowledge of earlier times;
    /// `None` if the store has none.
    fn ends(&self) -> Option<Arc<ExpiryClock>>;

    /// Returns the changes that wait for the disk.
    fn backlog(&self) -> Backlog {
        Backlog::default()
    }

    /// Resolves when everything submitted before the call has been committed or refused.
    fn barrier(&self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let fence = ChangeSet::fence(self.epoch(), move |_| {
            // The waiter may be gone.
            let _ = sender.send(());
        });
        // Refused as stale: the epoch has just risen, so everything pending has been decided.
        // Closed: nothing is pending any more.
        let taken = self.submit(fence).is_ok();
        Box::pin(async move {
            if taken {
                // A dropped sender means that the writer ended, which decides everything too.
                let _ = receiver.await;
            }
        })
    }
}
