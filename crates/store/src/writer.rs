//! The writer: takes the queued change sets, commits them as one record of the journal, publishes
//! them and reports the outcomes. After a failed commit, `CommitWriter::recover` in `recover.rs`
//! decides the batch.
//!
//! The running commit is the batching window: while it waits for the disk, the next batch gathers,
//! so there is no timer. Under [`Durability::None`](super::Durability) there is no journal, and a
//! batch is committed as soon as it is taken.
//!
//! An idle writer stays awake for a moment and yields to other threads. The client that just
//! received a reply is likely to send the next change, and waking a sleeping thread takes longer
//! than applying a change.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use stet_domain::store::{Seq, StoreError};

use super::journal::Journal;
use super::shared::{QueuedChangeSet, StoreCore, SubmissionPhase};
use super::tap::CommittedRecord;

pub(super) struct CommitWriter {
    pub shared: Arc<StoreCore>,
    /// `None` under `Durability::None`.
    pub journal: Option<Journal>,
    /// Change sets have failed whose record may still be in the journal. Nothing is committed
    /// before that record has been removed.
    pub unsettled: bool,
}

/// The writer's next action.
enum WriterAction {
    Commit(Vec<QueuedChangeSet>),
    End,
}

/// Marks the store as broken when the writer panics, before its batch is dropped. Callers who learn
/// of the failure from the drop then can't submit to the store any more.
struct ClosesInPanic(Arc<StoreCore>);

impl Drop for ClosesInPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.gate.lock().phase = SubmissionPhase::Broken;
        }
    }
}

impl CommitWriter {
    pub fn new(shared: Arc<StoreCore>, journal: Option<Journal>) -> CommitWriter {
        CommitWriter { shared, journal, unsettled: false }
    }

    /// Runs until the store is closed and everything queued has been decided. Returns the journal
    /// for its last cleanup.
    pub fn run(mut self) -> Option<Journal> {
        loop {
            match self.next() {
                WriterAction::Commit(batch) => self.commit(batch),
                WriterAction::End => return self.journal.filter(|_| !self.unsettled),
            }
        }
    }

    fn next(&mut self) -> WriterAction {
        let limits = &self.shared.options.limits;
        let awake_until = Instant::now() + self.shared.options.linger;
        let mut gate = self.shared.gate.lock();
        loop {
            if !gate.queue.is_empty() {
                let (mut count, mut bytes) = (0, 0);
                while count < gate.queue.len().min(limits.batch_sets) && bytes < limits.batch_bytes {
                    bytes += gate.queue[count].bytes;
                    count += 1;
                }
                gate.taken = count;
                gate.taken_ms = self.shared.options.clock.now_ms();
                return WriterAction::Commit(gate.queue.drain(..count).collect());
            }
            if gate.phase == SubmissionPhase::Closing {
                return WriterAction::End;
            }
            if Instant::now() < awake_until {
                parking_lot::MutexGuard::unlocked(&mut gate, std::thread::yield_now);
                continue;
            }
            gate.asleep = true;
            self.shared.work.wait(&mut gate);
            gate.asleep = false;
        }
    }

    fn commit(&mut self, batch: Vec<QueuedChangeSet>) {
        let _closing = ClosesInPanic(self.shared.clone());
        let last = batch.iter().rev().find(|set| set.writes()).map(|set| set.seq);
        if let (Some(last), Some(journal)) = (last, &mut self.journal) {
            let begun = Instant::now();
            #[cfg(feature = "planted-bugs")]
            stet_domain::planted::slow_disk();
            let sets = batch.iter().filter(|set| set.writes()).map(QueuedChangeSet::parts);
            let folded = self.shared.folded.load(Ordering::Acquire);
            match journal.append(last, sets, folded) {
                Ok(bytes) => self.shared.journaled.fetch_add(bytes, Ordering::AcqRel),
                Err(error) => return self.recover(batch, last, &error),
            };
            metrics::histogram!("stet_store_commit_seconds").record(begun.elapsed().as_secs_f64());
        }
        self.publish(batch, last);
    }

    /// Makes a batch that is on disk visible, then reports its outcome.
    pub fn publish(&mut self, mut batch: Vec<QueuedChangeSet>, last: Option<Seq>) {
        if let Some(last) = last {
            self.tell_tap(&batch, last);
            self.shared.set_committed(last);
            #[cfg(feature = "planted-bugs")]
            stet_domain::planted::late_views();
            // Events are appended only after the committed number was raised. A reader of an event
            // waits for the views of everything that is committed by then.
            self.shared.overlay.log.append(batch.iter_mut().flat_map(|set| std::mem::take(&mut set.events)));
            self.shared.fault(|faults| faults.journal = None);
            metrics::counter!("stet_store_commits_total").increment(1);
            metrics::histogram!("stet_store_batch_size").record(batch.len() as f64);
            let (rows, bytes) = self.shared.overlay.total();
            metrics::gauge!("stet_store_overlay_rows").set(rows as f64);
            metrics::gauge!("stet_store_overlay_bytes").set(bytes as f64);
        }
        #[cfg(feature = "planted-bugs")]
        stet_domain::planted::late_views();
        if tracing::enabled!(tracing::Level::DEBUG) {
            for set in &batch {
                set.trace.in_scope(|| tracing::debug!(seq = set.seq, batch = batch.len(), "committed"));
            }
        }
        let mut answers = Vec::with_capacity(batch.len());
        for QueuedChangeSet { seq, on_commit, on_done, .. } in batch {
            run_callback("on_commit", || on_commit(seq));
            answers.push((seq, on_done));
        }
        if let Some(last) = last {
            self.shared.set_published(last);
        }
        let decided = answers.last().map(|(seq, _)| *seq);
        for (seq, on_done) in answers {
            run_callback("on_done", || on_done(Ok(seq)));
        }
        self.settle(decided);
    }

    /// Passes a batch that is on disk to the tap.
    fn tell_tap(&self, batch: &[QueuedChangeSet], last: Seq) {
        let Some(tap) = self.shared.options.tap.as_ref().filter(|_| self.journal.is_some()) else { return };
        let sets = batch.iter().filter(|set| set.writes()).map(QueuedChangeSet::parts);
        let at_ms = self.shared.options.clock.now_ms();
        tap.committed(CommittedRecord::of((self.shared.committed(), last), at_ms, sets));
    }

    /// Refuses a batch with `why`, and all sets queued behind it for the disk's error (`cause`):
    /// they were computed on top of the batch and never written. New submissions meet `phase` from
    /// the same instant. So a caller who was refused, loads again and submits is not refused for
    /// the old failure.
    pub fn refuse(
        &mut self,
        batch: Vec<QueuedChangeSet>,
        why: &StoreError,
        cause: &StoreError,
        phase: SubmissionPhase,
    ) {
        let (behind, decided) = {
            let mut gate = self.shared.gate.lock();
            if gate.phase != SubmissionPhase::Closing {
                gate.phase = phase;
            }
            // In this order: readers see the new epoch without the gate, and must not find refused
            // rows then.
            self.shared.overlay.fall_back(self.shared.committed());
            self.shared.next_epoch();
            (std::mem::take(&mut gate.queue), gate.last)
        };
        metrics::counter!("stet_store_failed_commits_total").increment(1);
        tracing::error!(%why, sets = batch.len(), behind = behind.len(), "a commit failed");
        for set in batch {
            run_callback("on_done", || (set.on_done)(Err(why.clone())));
        }
        for set in behind {
            run_callback("on_done", || (set.on_done)(Err(error_for_queued(cause))));
        }
        self.settle(Some(decided));
    }

    fn settle(&self, decided: Option<Seq>) {
        let mut gate = self.shared.gate.lock();
        gate.taken = 0;
        gate.decided = gate.decided.max(decided.unwrap_or(0));
        self.shared.settled.notify_all();
    }
}

/// Returns the error for sets that were queued behind a failed commit. A full disk is reported as
/// such, because a user who has to make room must not see an internal fault. For any other cause
/// the sets are merely stale: the fault was the commit's and not theirs.
fn error_for_queued(cause: &StoreError) -> StoreError {
    match cause {
        StoreError::Full => StoreError::Full,
        _ => StoreError::Stale,
    }
}

/// Calls a callback. Its panic must not end the writer.
fn run_callback(which: &str, callback: impl FnOnce()) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(callback)) {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
        tracing::error!(which, panic = text, "a change set's callback panicked");
    }
}
