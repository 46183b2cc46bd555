//! The checkpointer: folds the rows in memory into the tables, sorted and coalesced, in a
//! transaction of its own.
//!
//! 1. Freeze the active generation. From then on changes enter a new one.
//! 2. Wait until the writer has decided everything in the frozen one.
//! 3. Write its rows, and the number of the change set up to which the tables are filled.
//! 4. Publish a snapshot of the tables to readers, then drop the frozen rows.
//! 5. Report to the writer which part of the journal may be overwritten.
//!
//! Once an hour by the store's clock, a checkpoint runs without rows if there are events past their
//! retention, or if the clock time noted in the tables is too old. So both are kept up to date even
//! if nothing changes.
//!
//! The writer never waits for a checkpoint. Commits that are synced use quick repair, so that a big
//! file opens in milliseconds after a crash. After a failure the file is reopened and the same rows
//! are written again, whatever it then contains. Only a successful commit counts, and writing a row
//! twice does no harm. Until then the active generation grows, and submissions are refused as
//! overloaded once it is full.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use redb::{Database, Durability as Commit};
use stet_domain::ends::ExpiryClock;
use stet_domain::store::{Seq, Table};

use super::backend::DiskError;
use super::lease::{KeptFile, Lease};
use super::log::{self, EventFoldResult, PackingRules, SegmentTrimmer};
use super::options::{DAY_MS, Durability, StoreOptions};
use super::overlay::Overlay;
use super::reader::Snapshot;
use super::shared::StoreCore;
use super::tables::{self, BELIEVED, FOLDED, META, RedbError, failure};
use super::texts::Texts;

/// The first pause after a failure; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(5);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// The number of attempts of closing to fold the remaining rows, which the journal keeps anyway.
const LAST_ATTEMPTS: u32 = 3;

/// The interval of checks whether a checkpoint is due while nothing changes, in milliseconds.
const IDLE_MS: u64 = 60 * 60 * 1000;

/// The age, in milliseconds, of the noted clock time after which a checkpoint notes a new one
/// although nothing changes.
const NOTED_MS: u64 = DAY_MS / 2;

/// `state.redb`, open for writing.
pub(super) struct StateFile {
    kept: Arc<KeptFile>,
    lease: Lease,
    /// `None` between a failure and the next success of [`StateFile::reopen`].
    db: Option<Database>,
    cache_bytes: usize,
}

impl StateFile {
    pub fn new(kept: Arc<KeptFile>, lease: Lease, db: Database, cache_bytes: usize) -> StateFile {
        StateFile { kept, lease, db: Some(db), cache_bytes }
    }

    pub fn db(&self) -> Result<&Database, RedbError> {
        self.db.as_ref().ok_or_else(|| Box::new(redb::Error::DatabaseClosed))
    }

    pub fn snapshot(&self) -> Result<Snapshot, RedbError> {
        Snapshot::take(self.db()?, &self.lease)
    }

    pub fn fault(&self, error: &redb::Error) -> DiskError {
        tables::fault(&self.lease, error)
    }

    /// Reopens the file. If it cannot be written at all, readers get a snapshot of its present
    /// state, and the error is returned.
    fn reopen(&mut self) -> (Option<Snapshot>, Result<(), RedbError>) {
        self.lease.end();
        // Writing may panic on damaged pages where reading does not.
        let opened = unless_it_panics(|| {
            self.db = None;
            let (lease, db) = tables::reopen(&self.kept, self.cache_bytes);
            self.lease = lease;
            db.and_then(|db| Snapshot::take(&db, &self.lease).map(|snapshot| (db, snapshot)))
        });
        match opened {
            Ok((db, snapshot)) => {
                self.db = Some(db);
                (Some(snapshot), Ok(()))
            }
            Err(error) => {
                let snapshot = unless_it_panics(|| self.read_only())
                    .inspect_err(|error| tracing::error!(%error, "the tables can't be read"));
                (snapshot.ok(), Err(error))
            }
        }
    }

    fn read_only(&self) -> Result<Snapshot, RedbError> {
        let lease = self.kept.read_only_lease().map_err(|error| failure(redb::StorageError::Io(error)))?;
        let db = tables::open(&lease, self.cache_bytes)?;
        Snapshot::take_with(db, &lease)
    }

    /// Writes the frozen rows and events, and that everything up to `folded` is in the tables. With
    /// `ending`, removes events past their retention. Returns the number of rows and the outcome
    /// for events.
    pub fn fold(
        &self,
        overlay: &Overlay,
        folded: Seq,
        commit: Commit,
        packing: &PackingRules,
        ending: Option<(&mut SegmentTrimmer, &StoreOptions, &ExpiryClock)>,
    ) -> Result<(usize, EventFoldResult), RedbError> {
        let mut transaction = self.db()?.begin_write().map_err(failure)?;
        transaction.set_durability(commit).map_err(failure)?;
        transaction.set_quick_repair(matches!(commit, Commit::Immediate));
        let mut written = 0;
        for table in Table::ALL {
            let Some(rows) = overlay.frozen(*table).filter(|rows| !rows.is_empty()) else { continue };
            let mut stored = transaction.open_table(tables::rows(*table)).map_err(failure)?;
            let mut texts = Texts::open(&transaction, *table)?;
            for (key, versions) in rows.iter() {
                let before = match (versions.newest(), &mut texts) {
                    // The texts of the new row are counted before those of the former row are
                    // released, as they may be the same.
                    (Some(value), Some(texts)) => stored.insert(&key.key[..], &texts.cut(value)?[..]),
                    (Some(value), None) => stored.insert(&key.key[..], &value[..]),
                    (None, _) => stored.remove(&key.key[..]),
                };
                if let (Some(before), Some(texts)) = (before.map_err(failure)?, &mut texts) {
                    texts.release(before.value())?;
                }
            }
            written += rows.len();
        }
        log::fold(&transaction, overlay.frozen_events(), packing)?;
        let mut events = EventFoldResult::default();
        let mut meta = transaction.open_table(META).map_err(failure)?;
        meta.insert(FOLDED, folded).map_err(failure)?;
        if let Some((trim, options, ends)) = ending {
            events = trim.run(options, ends, &transaction)?;
            if let Some(last_ms) = ends.last_ms() {
                meta.insert(BELIEVED, last_ms).map_err(failure)?;
            }
        }
        drop(meta);
        transaction.commit().map_err(failure)?;
        Ok((written, events))
    }
}

/// Converts a panic of redb, which is a sign of a damaged file, into an error.
fn unless_it_panics<T>(work: impl FnOnce() -> Result<T, RedbError>) -> Result<T, RedbError> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|_| Err(Box::new(redb::Error::Corrupted("it panicked".to_owned()))))
}

/// The state and body of the checkpointer's thread.
pub(super) struct Checkpointer {
    pub shared: Arc<StoreCore>,
    pub state: StateFile,
    /// The last change set of the frozen generation, if there is one, and the size of the journal
    /// in bytes when it was frozen.
    frozen: Option<(Seq, u64)>,
    trim: SegmentTrimmer,
    /// When events past their retention were last removed or looked for, in epoch milliseconds.
    looked_ms: Option<u64>,
    /// The last trusted clock time that the tables have noted.
    noted_ms: Option<u64>,
    /// The time before which the tables are not reopened at the request of readers.
    reopens_at: Instant,
}

impl Checkpointer {
    pub fn new(shared: Arc<StoreCore>, state: StateFile) -> Checkpointer {
        let (trim, reopens_at) = (SegmentTrimmer::default(), Instant::now());
        let noted_ms = shared.ends.last_ms();
        Checkpointer { shared, state, frozen: None, trim, looked_ms: None, noted_ms, reopens_at }
    }

    /// Runs until the store is closed.
    pub fn run(mut self) {
        let mut pause = None;
        let mut attempts = 0;
        let mut panicked = false;
        loop {
            let (broken, last) = self.wait(pause);
            // redb panics on some damaged pages. The thread must survive that. Without checkpoints
            // memory fills up, and the cause would not be reported.
            let work = || {
                let opens = broken || panicked || self.state.db.is_none();
                (!opens || self.reopen()) && self.checkpoint(last)
            };
            let outcome = catch_unwind(AssertUnwindSafe(work));
            panicked = outcome.is_err();
            if panicked {
                self.note(DiskError { full: false, text: "the tables are damaged: writing them panicked".to_owned() });
            }
            let done = outcome.unwrap_or(false);
            pause = match pause {
                _ if done => None,
                None => Some(FIRST_PAUSE),
                Some(pause) => Some((pause * 2).min(LONGEST_PAUSE)),
            };
            if last {
                attempts += 1;
                if (done && self.shared.overlay.total().0 == 0) || attempts >= LAST_ATTEMPTS {
                    return;
                }
            }
        }
    }

    /// Waits for the time of the next checkpoint, or for `pause` after a failure. Returns whether
    /// the tables should be reopened for readers, and whether this checkpoint is the last.
    fn wait(&self, pause: Option<Duration>) -> (bool, bool) {
        let until = Instant::now() + pause.unwrap_or(self.shared.options.checkpoint.interval);
        let mut signal = self.shared.signal.lock();
        // After a failure the threshold has been passed already.
        while !signal.last && (pause.is_some() || !signal.due) {
            let until = if signal.broken { until.min(self.reopens_at) } else { until };
            if self.shared.signalled.wait_until(&mut signal, until).timed_out() {
                break;
            }
        }
        let broken = signal.broken && Instant::now() >= self.reopens_at;
        signal.broken &= !broken;
        signal.due = false;
        self.shared.due.store(false, Ordering::Release);
        (broken, signal.last)
    }

    /// Runs one checkpoint, if there is anything to fold. Returns whether it succeeded.
    fn checkpoint(&mut self, last: bool) -> bool {
        let idle = match self.is_idle_checkpoint_due() {
            Ok(is_due) => is_due,
            Err(error) => {
                self.failed(&error);
                self.reopen();
                return false;
            }
        };
        let Some(folded) = self.freeze(idle) else { return true };
        if let Some(tap) = &self.shared.options.tap {
            tap.keep(folded);
        }
        let begun = Instant::now();
        let options = &self.shared.options;
        let commit = match options.durability {
            Durability::None if !last => Commit::None,
            _ => Commit::Immediate,
        };
        let ending = Some((&mut self.trim, options, &*self.shared.ends));
        let outcome = self.state.fold(&self.shared.overlay, folded, commit, &PackingRules::of(options), ending);
        let outcome = outcome.and_then(|counts| Ok((counts, self.state.snapshot()?)));
        let ((rows, EventFoldResult { trimmed, packed, removed }), snapshot) = match outcome {
            Ok(outcome) => outcome,
            Err(error) => {
                self.failed(&error);
                self.reopen();
                return false;
            }
        };
        self.shared.set_snapshot(snapshot);
        self.shared.overlay.drop_frozen();
        if let Some(packed) = packed {
            self.shared.overlay.log.let_go(packed, removed);
        }
        self.noted_ms = self.shared.ends.last_ms();
        // One checkpoint may leave some of them.
        self.looked_ms = Some(options.clock.now_ms()).filter(|_| trimmed == 0);
        if let Some((_, journaled)) = self.frozen.take() {
            self.shared.journal_folded.store(journaled, Ordering::Release);
        }
        self.shared.folded.store(folded, Ordering::Release);
        self.shared.fault(|faults| faults.state = None);
        metrics::histogram!("stet_store_checkpoint_seconds").record(begun.elapsed().as_secs_f64());
        tracing::debug!(folded, rows, trimmed, "checkpoint");
        true
    }

    /// Reports whether a checkpoint without rows is due. There must be nothing else to fold, and
    /// the last search must be an hour ago. Then it is due if there are events past their
    /// retention, or if a later clock time is to be noted.
    fn is_idle_checkpoint_due(&mut self) -> Result<bool, RedbError> {
        let options = &self.shared.options;
        let now_ms = options.clock.now_ms();
        // The clock may have been set back in the meantime.
        let is_time = self.looked_ms.is_none_or(|looked| now_ms.abs_diff(looked) >= IDLE_MS);
        if self.frozen.is_some() || self.shared.overlay.active().0 > 0 || !is_time {
            return Ok(false);
        }
        // A failed search counts as a search. Otherwise it would be repeated, and the tables
        // reopened, as long as nothing changes.
        self.looked_ms = Some(now_ms);
        let past = log::is_past(self.state.db()?, options, &self.shared.ends)?;
        if past {
            // An event from the future, which was skipped, may be old by now.
            self.trim = SegmentTrimmer::default();
        }
        Ok(past || self.is_to_be_noted())
    }

    /// Reports whether the tables should note a later trusted clock time. Otherwise an unused
    /// server would wait at its next start as if it had been stopped for that long.
    fn is_to_be_noted(&self) -> bool {
        let last_ms = self.shared.ends.last_ms();
        last_ms.is_some_and(|last_ms| self.noted_ms.is_none_or(|noted_ms| last_ms.abs_diff(noted_ms) >= NOTED_MS))
    }

    /// Freezes the active generation, unless one is frozen already; an empty one only for an `idle`
    /// checkpoint. Waits until everything in it is decided. Returns `None` if there is nothing to
    /// fold.
    ///
    /// Returns the last change set whose frozen changes are valid. It is never above the committed
    /// number. The record of a batch that was given up may still be found, and must then be
    /// replayed as a whole.
    fn freeze(&mut self, idle: bool) -> Option<Seq> {
        let mut gate = self.shared.gate.lock();
        let folded = match self.frozen {
            Some((folded, _)) => folded,
            None if self.shared.overlay.active().0 == 0 && !idle => return None,
            None => {
                self.shared.overlay.freeze(gate.last);
                // Any part of it that is written to the journal from now on counts as not folded.
                // That is too much until the next checkpoint.
                self.frozen.insert((gate.last, self.shared.journaled.load(Ordering::Acquire))).0
            }
        };
        while gate.decided < folded {
            self.shared.settled.wait(&mut gate);
        }
        // A commit is counted before it is reported as decided.
        Some(folded.min(self.shared.committed()))
    }

    fn failed(&self, error: &redb::Error) {
        self.note(self.state.fault(error));
    }

    fn note(&self, fault: DiskError) {
        tracing::warn!(fault = fault.text, "state.redb failed; reopening it");
        metrics::counter!("stet_store_failed_checkpoints_total").increment(1);
        self.shared.fault(|faults| faults.state = Some(fault));
    }

    /// Reopens `state.redb`. Returns whether it can be written.
    fn reopen(&mut self) -> bool {
        let (snapshot, outcome) = self.state.reopen();
        self.shared.fault(|faults| faults.unreadable = snapshot.is_none());
        self.reopens_at = self.shared.end_reopening(snapshot, outcome.is_ok());
        match outcome {
            Ok(()) => {
                // As long as a checkpoint is outstanding, only its success proves that the disk
                // works.
                self.shared.fault(|faults| faults.state.take_if(|_| self.frozen.is_none()));
                true
            }
            Err(error) => {
                self.failed(&error);
                false
            }
        }
    }
}
