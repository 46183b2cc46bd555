//! State that submitters, readers, the writer and the checkpointer share, and the order of its
//! locks.
//!
//! Locks, in the order in which they may be taken: the gate, the bounds of the frozen generation,
//! one table's rows in memory, the events in memory, the openings, the snapshot, the checkpointer's
//! signal, the faults. The gate is never held over a disk access or a callback.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::{Condvar, Mutex, RwLock};
use stet_domain::ends::ExpiryClock;
use stet_domain::store::{Backlog, Epoch, Health, ReadLevel, RowChange, Seq, StoreError, StoredEvent};
use stet_domain::trace::Trace;

use super::backend::DiskError;
use super::blob::ChangeSetParts;
use super::log::SegmentCache;
use super::options::StoreOptions;
use super::overlay::Overlay;
use super::reader::Snapshot;
use super::reopening::Reopening;

/// A change set in the queue.
pub(super) struct QueuedChangeSet {
    pub seq: Seq,
    /// Empty, like `events`, for a set that only waits for the sets before it.
    pub changes: Vec<RowChange>,
    pub events: Vec<StoredEvent>,
    pub bytes: usize,
    pub trace: Trace,
    pub on_commit: Box<dyn FnOnce(Seq) + Send>,
    pub on_done: Box<dyn FnOnce(Result<Seq, StoreError>) + Send>,
}

impl QueuedChangeSet {
    /// Reports whether the set changes anything.
    pub fn writes(&self) -> bool {
        !self.changes.is_empty() || !self.events.is_empty()
    }

    /// Returns the set in the form in which the journal writes it.
    pub fn parts(&self) -> ChangeSetParts<'_> {
        ChangeSetParts { seq: self.seq, changes: &self.changes, events: &self.events }
    }
}

/// The store's readiness for submissions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SubmissionPhase {
    /// Submissions are accepted.
    Open,
    /// The journal has failed and has not been reopened: submissions are refused at once.
    Failing,
    /// The store is closed or being closed. Submissions are refused; queued sets are still written.
    Closing,
    /// The writer has panicked. Submissions are refused, and nothing is written any more.
    Broken,
}

/// State that must change in one instant for all submitters.
pub(super) struct Gate {
    pub phase: SubmissionPhase,
    /// The last number that was assigned.
    pub last: Seq,
    /// Everything up to this number is committed or refused, and its callbacks have returned.
    pub decided: Seq,
    pub queue: VecDeque<QueuedChangeSet>,
    /// The number of change sets that the writer has taken and whose callbacks have not all
    /// returned.
    pub taken: usize,
    /// The time at which the writer took them, in epoch milliseconds.
    pub taken_ms: u64,
    /// The writer waits for [`StoreCore::work`].
    pub asleep: bool,
}

impl Gate {
    /// Reports whether the outcome of any accepted set is still open or unreported.
    pub fn pending(&self) -> bool {
        self.taken > 0 || !self.queue.is_empty()
    }
}

/// Requests to the checkpointer.
#[derive(Debug, Default)]
pub(super) struct CheckpointSignal {
    /// A threshold has been passed.
    pub due: bool,
    /// A reader found the tables unreadable.
    pub broken: bool,
    /// No more changes will follow: fold all rows into the tables, then end.
    pub last: bool,
}

/// The store's lasting faults.
#[derive(Debug, Default)]
pub(super) struct StoreFaults {
    pub journal: Option<DiskError>,
    pub state: Option<DiskError>,
    /// The tables could not even be opened for reading.
    pub unreadable: bool,
    pub closed: bool,
}

pub(super) struct StoreCore {
    pub options: StoreOptions,
    /// The clock that decides when stored things expire.
    pub ends: Arc<ExpiryClock>,
    pub overlay: Overlay,
    pub gate: Mutex<Gate>,
    /// Wakes the writer; used with the gate.
    pub work: Condvar,
    /// Notified when `decided` rises; used with the gate.
    pub settled: Condvar,
    committed: AtomicU64,
    published: AtomicU64,
    epoch: AtomicU64,
    snapshot: RwLock<Arc<Snapshot>>,
    pub reopening: Reopening,
    pub signal: Mutex<CheckpointSignal>,
    pub signalled: Condvar,
    /// Mirrors `CheckpointSignal::due`; spares submitters the lock.
    pub due: AtomicBool,
    /// The journal up to this number has been folded.
    pub folded: AtomicU64,
    /// Bytes of all records written to the journal, and of those read back from it.
    pub journaled: AtomicU64,
    /// The value of `journaled` when the rows that were folded last had been frozen.
    pub journal_folded: AtomicU64,
    pub opened: SegmentCache,
    faults: Mutex<StoreFaults>,
    #[cfg(test)]
    pub hooks: super::reader::ReadHooks,
}

impl StoreCore {
    pub fn new(
        (options, ends): (StoreOptions, ExpiryClock),
        overlay: Overlay,
        snapshot: Snapshot,
        committed: Seq,
        folded: Seq,
    ) -> StoreCore {
        StoreCore {
            options,
            ends: Arc::new(ends),
            overlay,
            gate: Mutex::new(Gate {
                phase: SubmissionPhase::Open,
                last: committed,
                decided: committed,
                queue: VecDeque::new(),
                taken: 0,
                taken_ms: 0,
                asleep: false,
            }),
            work: Condvar::new(),
            settled: Condvar::new(),
            committed: AtomicU64::new(committed),
            published: AtomicU64::new(committed),
            epoch: AtomicU64::new(0),
            snapshot: RwLock::new(Arc::new(snapshot)),
            reopening: Reopening::default(),
            signal: Mutex::default(),
            signalled: Condvar::new(),
            due: AtomicBool::new(false),
            folded: AtomicU64::new(folded),
            journaled: AtomicU64::new(0),
            journal_folded: AtomicU64::new(0),
            opened: SegmentCache::default(),
            faults: Mutex::default(),
            #[cfg(test)]
            hooks: super::reader::ReadHooks::default(),
        }
    }

    /// Returns the last change set on disk.
    pub fn committed(&self) -> Seq {
        self.committed.load(Ordering::Acquire)
    }

    /// Returns the last change set whose callback at its commit has been called.
    pub fn published(&self) -> Seq {
        self.published.load(Ordering::Acquire)
    }

    /// Notes that the callbacks at the commit have been called for everything up to `seq`.
    pub fn set_published(&self, seq: Seq) {
        self.published.store(seq, Ordering::Release);
    }

    /// Makes everything up to `seq` visible as committed.
    pub fn set_committed(&self, seq: Seq) {
        self.committed.store(seq, Ordering::Release);
    }

    /// Returns the present epoch.
    pub fn epoch(&self) -> Epoch {
        self.epoch.load(Ordering::Acquire)
    }

    /// Begins the next epoch. The gate must be held.
    pub fn next_epoch(&self) {
        self.epoch.fetch_add(1, Ordering::AcqRel);
    }

    /// Returns the newest change set that `view` shows. Call it under a table's lock, so that no
    /// version that it shows is forgotten in between.
    pub fn limit_of(&self, view: ReadLevel) -> Seq {
        match view {
            ReadLevel::Committed => self.committed(),
            ReadLevel::Latest => Seq::MAX,
        }
    }

    /// Returns the present snapshot of the tables.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshot.read().clone()
    }

    /// Replaces the snapshot and returns the former one.
    pub fn replace_snapshot(&self, snapshot: Snapshot) -> Arc<Snapshot> {
        std::mem::replace(&mut *self.snapshot.write(), Arc::new(snapshot))
    }

    /// Bytes of the journal that a start would have to read.
    pub fn journal_bytes(&self) -> u64 {
        self.journaled.load(Ordering::Acquire).saturating_sub(self.journal_folded.load(Ordering::Acquire))
    }

    /// Asks for a checkpoint if a threshold of rows, bytes or journal size is passed.
    pub fn checkpoint_if_due(&self) {
        if self.options.is_due(self.overlay.active(), self.journal_bytes()) {
            self.checkpoint_due();
        }
    }

    /// Asks for a checkpoint.
    pub fn checkpoint_due(&self) {
        if !self.due.swap(true, Ordering::AcqRel) {
            self.signal.lock().due = true;
            self.signalled.notify_one();
        }
    }

    /// Changes the noted faults, and updates the health metric.
    pub fn fault<T>(&self, change: impl FnOnce(&mut StoreFaults) -> T) {
        let mut faults = self.faults.lock();
        change(&mut faults);
        let well = !faults.closed && !faults.unreadable && faults.journal.is_none() && faults.state.is_none();
        metrics::gauge!("stet_store_healthy").set(if well { 1.0 } else { 0.0 });
    }

    /// Returns the error for submissions while the journal has a fault.
    pub fn journal_error(&self) -> StoreError {
        match &self.faults.lock().journal {
            Some(fault) => refusal(fault),
            None => StoreError::Failed("the journal is being reopened".to_owned()),
        }
    }

    /// Implements [`stet_domain::store::Store::is_certain`].
    pub fn is_certain(&self) -> bool {
        // Any record of a set of unknown outcome is removed before the phase is `Open` again.
        self.gate.lock().phase == SubmissionPhase::Open
    }

    /// Implements [`stet_domain::store::Store::backlog`].
    pub fn backlog(&self) -> Backlog {
        let fills = self.options.limits.fills(self.overlay.total(), self.journal_bytes());
        let gate = self.gate.lock();
        Backlog { sets: gate.taken + gate.queue.len(), since_ms: (gate.taken > 0).then_some(gate.taken_ms), fills }
    }

    /// Implements [`stet_domain::store::Store::health`].
    pub fn health(&self) -> Health {
        let faults = self.faults.lock();
        if faults.closed {
            return Health::Closed;
        }
        if faults.unreadable {
            return Health::Failing("the tables can't be read".to_owned());
        }
        match (&faults.journal, &faults.state) {
            (None, None) => Health::Ok,
            (Some(fault), _) | (None, Some(fault)) if fault.full => Health::Full,
            (Some(fault), _) => Health::Failing(fault.text.clone()),
            (None, Some(fault)) => Health::Lagging(fault.text.clone()),
        }
    }
}

/// Returns the error for callers while `fault` lasts.
pub(super) fn refusal(fault: &DiskError) -> StoreError {
    if fault.full { StoreError::Full } else { StoreError::Failed(fault.text.clone()) }
}
