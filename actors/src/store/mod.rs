//! What persistence must do for the domain: the door behind which the database engine lives.
//!
//! **The promise.** A change set whose `on_done` is called with `Ok` is on disk, whole, and so is
//! everything submitted before it that was not refused. One that is answered with an error is not
//! there, and never will be, not even after a crash; save for [`StoreError::Unknown`], which says
//! that it is unknown.
//!
//! **Two views.** Between its submission and its commit a change set is *pending*. Readers see
//! [`View::Committed`] only. The containers that compute further changes see [`View::Latest`],
//! which has the pending ones too: that is how a drawer that takes the next command without waiting
//! for the disk, and a folder that must keep names unique, know what is already on its way.
//!
//! **Epochs.** When a commit fails, everything pending was computed on top of something that will
//! never be: all of it is refused, [`View::Latest`] falls back to [`View::Committed`], and the
//! epoch goes up by one. A change set carries the epoch that its container last loaded in, and is
//! refused with [`StoreError::Stale`] if that has passed.

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

use crate::ends::Ends;
use crate::trace::Trace;

pub use self::event::{Event, EventId, EventLog, Logged, Passage, Resumed, Room, StatusStep, Times, Way, loid_key};
pub use self::row::{DecodeError, Key, Row, decode_value, encode_value, key_of};
pub use self::segment::{Segment, SegmentHead};
pub use self::table::Table;

/// Number of a submitted change set; the order of submission is the order of commits.
pub type Seq = u64;

/// Counts the failed commits since the store was opened; see the module's head.
pub type Epoch = u64;

/// What a reader gets to see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// The state on disk.
    Committed,
    /// That, and what is on its way there.
    Latest,
}

/// One row set to a value, or removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The row's table.
    pub table: Table,
    /// The row's key.
    pub key: Bytes,
    /// The new value; `None` removes the row.
    pub value: Option<Bytes>,
}

/// A step from one state of the repository to the next: all of it is done, or nothing.
pub struct ChangeSet {
    /// The rows and index entries that change; a later change of the same key wins.
    pub changes: Vec<Change>,
    /// One for each container changed; they go into the log ([`EventLog`]).
    pub events: Vec<Event>,
    /// The oldest epoch in which a container of the change set was loaded.
    pub epoch: Epoch,
    /// It is taken where memory is full, too: one row that is written over again and again takes no
    /// room there, and other changes can't be made without it.
    pub passes: bool,
    /// Whom the commit is done for.
    pub trace: Trace,
    /// Called after the commit and before any `on_done` of the same batch: publishes the
    /// containers' new views. Runs on the writer's thread, so it must be quick and must not block.
    /// Not called when the commit fails.
    pub on_commit: Box<dyn FnOnce(Seq) + Send>,
    /// Called once when the outcome is known: lets the reply go. Same rules.
    pub on_done: Box<dyn FnOnce(Result<Seq, StoreError>) + Send>,
}

impl ChangeSet {
    /// A change set without changes: `on_done` hears when everything submitted before it has been
    /// decided.
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

/// Why the store did not do what it was asked to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreError {
    /// A commit has failed since the container was loaded: it must load again.
    Stale,
    /// The disk is full. Nothing was changed; reads go on.
    Full,
    /// Too much is waiting for the disk.
    Overloaded,
    /// The commit failed; nothing was changed.
    Failed(String),
    /// The commit failed, and whether its changes are on disk could not be found out: they may be
    /// there after a restart.
    Unknown(String),
    /// A stored row can't be understood.
    Corrupt(String),
    /// The store has been closed, or has failed for good.
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
            StoreError::Corrupt(why) => write!(f, "a stored row can't be understood: {why}"),
            StoreError::Closed => f.write_str("the store is closed"),
        }
    }
}

impl std::error::Error for StoreError {}

/// A change set that was not taken, given back with the reason. Neither callback has been called.
#[derive(Debug)]
pub struct Refusal {
    /// Why.
    pub why: StoreError,
    /// The submitted change set.
    pub set: ChangeSet,
}

/// The part of a table that a scan covers: `from` inclusive, `to` exclusive (`None`: to the table's
/// end).
#[derive(Debug, Clone)]
pub struct Range {
    /// First key.
    pub from: Bytes,
    /// The key after the last.
    pub to: Option<Bytes>,
}

impl Range {
    /// Every key that begins with `prefix`.
    pub fn prefix(prefix: &[u8]) -> Range {
        let mut to = prefix.to_vec();
        // The next key after all of the prefix: its last byte below 0xff raised by one.
        while let Some(last) = to.pop() {
            if last < 0xff {
                to.push(last + 1);
                break;
            }
        }
        Range { from: Bytes::copy_from_slice(prefix), to: (!to.is_empty()).then(|| to.into()) }
    }

    /// The rest of this range after `key`.
    #[must_use]
    pub fn after(&self, key: &[u8]) -> Range {
        let mut from = key.to_vec();
        from.push(0);
        Range { from: from.into(), to: self.to.clone() }
    }
}

/// Whether the store can do its work; readiness reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Health {
    /// Commits go through.
    Ok,
    /// The last commit or checkpoint found the disk full; each new one tries again.
    Full,
    /// Commits go through, but what they bring stays in the journal and in memory, since
    /// checkpoints fail.
    Lagging(String),
    /// Commits fail; the store tries to recover by itself.
    Failing(String),
    /// Closed.
    Closed,
}

/// What waits for the disk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Change sets that have been taken and not decided.
    pub sets: usize,
    /// Since when the commit under way has been with the disk, epoch milliseconds; `None`: none is.
    pub since_ms: Option<u64>,
    /// So much waits for the tables that what room there is left is for small changes.
    pub fills: bool,
}

/// Reads of rows, consistent at one instant per call.
pub trait Look: Send + Sync {
    /// The row's value.
    fn get(&self, view: View, table: Table, key: &[u8]) -> Result<Option<Bytes>, StoreError>;

    /// At most `limit` rows of the range, in key order, or from its end backwards.
    fn scan(
        &self,
        view: View,
        table: Table,
        range: &Range,
        limit: usize,
        backwards: bool,
    ) -> Result<Vec<(Bytes, Bytes)>, StoreError>;
}

/// Persistence. See the module's head for the promise that an implementation gives.
pub trait Store: Look + EventLog + 'static {
    /// Takes a change set into the queue for the disk and into [`View::Latest`], in one instant.
    ///
    /// Never blocks on the disk. An empty change set has the number of the last one before it, and
    /// is answered when everything submitted before it has been decided: at once if nothing is
    /// pending.
    ///
    /// # Errors
    /// [`StoreError::Stale`], [`StoreError::Overloaded`] (not for a set that
    /// [passes](ChangeSet::passes)), [`StoreError::Closed`], and while the disk is known not to
    /// work [`StoreError::Full`] and [`StoreError::Failed`]: nothing has been taken.
    fn submit(&self, set: ChangeSet) -> Result<Seq, Box<Refusal>>;

    /// The present epoch.
    fn epoch(&self) -> Epoch;

    /// The last change set that is on disk; everything up to it is in [`View::Committed`].
    fn committed(&self) -> Seq;

    /// The last change set whose `on_commit` has been called, and that of all before it. It follows
    /// [`Store::committed`] within microseconds, unless the thread in between has to wait for a
    /// processor.
    fn published(&self) -> Seq;

    /// Whether commits go through.
    fn health(&self) -> Health;

    /// Whether of every change set that is not pending it is known for certain if it is on disk,
    /// now and after a crash: not while one was answered with [`StoreError::Unknown`] and what it
    /// may have left was not removed.
    fn is_certain(&self) -> bool {
        true
    }

    /// The clock that what is stored ends by, and what the store knows of earlier times; `None`: it
    /// knows of none.
    fn ends(&self) -> Option<Arc<Ends>>;

    /// What waits for the disk; nothing, where there is none.
    fn backlog(&self) -> Backlog {
        Backlog::default()
    }

    /// Resolves when everything submitted before the call has been committed or refused.
    fn barrier(&self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let fence = ChangeSet::fence(self.epoch(), move |_| {
            // The waiter may have gone; then nobody needs to know.
            let _ = sender.send(());
        });
        // Refused as stale: the epoch has just gone up, so all that was pending has been decided.
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
