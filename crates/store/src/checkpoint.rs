//! The checkpointer: folds what has gathered in memory into the tables, sorted and coalesced, in
//! one transaction of its own.
//!
//! 1. Freeze the active generation; from that instant on changes go into a new one.
//! 2. Wait until everything in the frozen one is decided, which the writer sees to.
//! 3. Write its rows, and the mark up to where the tables are filled.
//! 4. Let readers see the tables as they are now, then drop the frozen rows.
//! 5. Report to the writer which stretch of the journal may be written over.
//!
//! Once an hour, by the store's clock, a checkpoint is made of nothing, if there are events that
//! are past their time: they go although nobody changes anything.
//!
//! The writer never waits for any of it. Commits are made with quick repair, so that a big file
//! opens in milliseconds after a crash. When one fails the file is opened anew and the same rows
//! are written again, whatever it then contains: only a commit that has succeeded counts, and
//! writing a row twice does no harm. Meanwhile the active generation grows until submissions are
//! refused as overloaded.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use redb::{Database, Durability as Commit};
use stet_actors::ends::Ends;
use stet_actors::store::{Seq, Table};

use super::backend::DiskError;
use super::lease::{Kept, Lease};
use super::log::{self, Folded, Packing, Trim};
use super::options::{DAY_MS, Durability, StoreOptions};
use super::overlay::Overlay;
use super::reader::Snapshot;
use super::shared::Shared;
use super::tables::{self, BELIEVED, FOLDED, META, RedbError, failure};
use super::texts::Texts;

/// The first pause after a failure; each is twice the one before.
const FIRST_PAUSE: Duration = Duration::from_millis(5);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// How often closing tries to fold what is left; the journal keeps it anyway.
const LAST_ATTEMPTS: u32 = 3;

/// How often is looked for events that are past their time while nothing changes, in milliseconds.
const IDLE_MS: u64 = 60 * 60 * 1000;

/// So long after the time that the tables have noted another is, in milliseconds, although nothing
/// changes.
const NOTED_MS: u64 = DAY_MS / 2;

/// `state.redb`, open for writing.
pub(super) struct State {
    kept: Arc<Kept>,
    lease: Lease,
    /// `None` between a failure and the next success of [`State::reopen`].
    db: Option<Database>,
    cache_bytes: usize,
}

impl State {
    pub fn new(kept: Arc<Kept>, lease: Lease, db: Database, cache_bytes: usize) -> State {
        State { kept, lease, db: Some(db), cache_bytes }
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

    /// Opens the file anew. If it can't be written at all, readers get a snapshot of it as it is,
    /// and the error is returned.
    fn reopen(&mut self) -> (Option<Snapshot>, Result<(), RedbError>) {
        self.lease.end();
        // Where writing panics, on damaged pages, reading may still do.
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

    /// Writes the frozen rows and events, and that everything up to `folded` is in the tables; with
    /// `ending`, takes out the events whose time is over. Returns the number of rows, and what
    /// became of events.
    pub fn fold(
        &self,
        overlay: &Overlay,
        folded: Seq,
        commit: Commit,
        packing: &Packing,
        ending: Option<(&mut Trim, &StoreOptions, &Ends)>,
    ) -> Result<(usize, Folded), RedbError> {
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
                    // The texts are counted before those of the former row, which may be the same,
                    // are let go.
                    (Some(value), Some(texts)) => stored.insert(&key.key[..], &texts.cut(*table, value)?[..]),
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
        let mut events = Folded::default();
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

/// Treats a panic of redb as what it means: a damaged file.
fn unless_it_panics<T>(work: impl FnOnce() -> Result<T, RedbError>) -> Result<T, RedbError> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|_| Err(Box::new(redb::Error::Corrupted("it panicked".to_owned()))))
}

/// The thread's body.
pub(super) struct Checkpointer {
    pub shared: Arc<Shared>,
    pub state: State,
    /// Up to where the frozen generation goes, if there is one, and the bytes that had been written
    /// to the journal when it was frozen.
    frozen: Option<(Seq, u64)>,
    trim: Trim,
    /// When events that are past their time were last removed, or looked for, in epoch
    /// milliseconds.
    looked_ms: Option<u64>,
    /// What the tables know of when the clock was last believed.
    noted_ms: Option<u64>,
    /// Before that the tables are not opened anew because readers ask for it.
    reopens_at: Instant,
}

impl Checkpointer {
    pub fn new(shared: Arc<Shared>, state: State) -> Checkpointer {
        let (trim, reopens_at) = (Trim::default(), Instant::now());
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
            // redb panics on some pages that are damaged. The thread must outlive that: without
            // checkpoints memory fills up, and nobody would be told why.
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

    /// Waits for the next checkpoint's time: `pause` after a failure. Returns whether the tables
    /// are to be opened anew for readers, and whether this is the last.
    fn wait(&self, pause: Option<Duration>) -> (bool, bool) {
        let until = Instant::now() + pause.unwrap_or(self.shared.options.checkpoint.interval);
        let mut signal = self.shared.signal.lock();
        // After a failure a passed threshold says nothing new.
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

    /// One checkpoint, if there is anything to fold; false if it failed.
    fn checkpoint(&mut self, last: bool) -> bool {
        let idle = match self.is_past() {
            Ok(past) => past,
            Err(error) => {
                self.failed(&error);
                self.reopen();
                return false;
            }
        };
        let Some(folded) = self.freeze(idle) else { return true };
        let begun = Instant::now();
        let options = &self.shared.options;
        let commit = match options.durability {
            Durability::None if !last => Commit::None,
            _ => Commit::Immediate,
        };
        let ending = Some((&mut self.trim, options, &*self.shared.ends));
        let outcome = self.state.fold(&self.shared.overlay, folded, commit, &Packing::of(options), ending);
        let outcome = outcome.and_then(|counts| Ok((counts, self.state.snapshot()?)));
        let ((rows, Folded { trimmed, packed, removed }), snapshot) = match outcome {
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
        // There may be more than one checkpoint removes.
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

    /// Whether there are events that are past their time and nothing else to fold, and an hour has
    /// passed since that was last looked for.
    fn is_past(&mut self) -> Result<bool, RedbError> {
        let options = &self.shared.options;
        let now_ms = options.clock.now_ms();
        // The clock may have been set back meanwhile.
        let is_time = self.looked_ms.is_none_or(|looked| now_ms.abs_diff(looked) >= IDLE_MS);
        if self.frozen.is_some() || self.shared.overlay.active().0 > 0 || !is_time {
            return Ok(false);
        }
        // A look that fails has been one: it would be repeated, and the tables opened anew, for as
        // long as nothing changes.
        self.looked_ms = Some(now_ms);
        let past = log::is_past(self.state.db()?, options, &self.shared.ends)?;
        if past {
            // One from the future, which was passed over, may be old by now.
            self.trim = Trim::default();
        }
        Ok(past || self.is_to_be_noted())
    }

    /// Whether the tables should know of a later time at which the clock was believed: a server
    /// that nobody uses is not to wait at its next start as if it had stood still.
    fn is_to_be_noted(&self) -> bool {
        let last_ms = self.shared.ends.last_ms();
        last_ms.is_some_and(|last_ms| self.noted_ms.is_none_or(|noted_ms| last_ms.abs_diff(noted_ms) >= NOTED_MS))
    }

    /// Freezes what has gathered, or nothing if `idle`, unless something is frozen already, and
    /// waits until all of it is decided. `None`: there is nothing to be folded.
    ///
    /// Gives the change set up to which all that stands is frozen. That is never more than has been
    /// committed: of a batch that was given up the record may yet be found, and must then be
    /// carried out whole.
    fn freeze(&mut self, idle: bool) -> Option<Seq> {
        let mut gate = self.shared.gate.lock();
        let folded = match self.frozen {
            Some((folded, _)) => folded,
            None if self.shared.overlay.active().0 == 0 && !idle => return None,
            None => {
                self.shared.overlay.freeze(gate.last);
                // What is written of it from now on counts as not folded: too much, until the next
                // checkpoint.
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
        tracing::warn!(fault = fault.text, "state.redb failed; opening it anew");
        metrics::counter!("stet_store_failed_checkpoints_total").increment(1);
        self.shared.fault(|faults| faults.state = Some(fault));
    }

    /// Opens `state.redb` anew; false if it can't be written.
    fn reopen(&mut self) -> bool {
        let (snapshot, outcome) = self.state.reopen();
        self.shared.fault(|faults| faults.unreadable = snapshot.is_none());
        self.reopens_at = self.shared.end_reopening(snapshot, outcome.is_ok());
        match outcome {
            Ok(()) => {
                // While a checkpoint is outstanding, only its success shows that the disk works.
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
