//! The writer: takes what has gathered, commits it as one record of the journal, publishes,
//! answers.
//!
//! The commit under way is the batching window: while it waits for the disk the next batch gathers,
//! so there is no timer. Under [`Durability::None`](super::Durability) there is no journal, and a
//! batch is committed as soon as it is taken.
//!
//! A writer that has nothing to do stays awake for a moment, yielding to other threads: the client
//! that has just been answered is likely to send the next change, and to wake a sleeping thread
//! takes longer than to apply a change.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use stet_actors::store::{Seq, StoreError};

use super::journal::Journal;
use super::shared::{Phase, Shared, Waiting};

pub(super) struct Writer {
    pub shared: Arc<Shared>,
    /// `None` under `Durability::None`.
    pub journal: Option<Journal>,
    /// Change sets have been answered with an error whose record may be in the journal: nothing is
    /// committed before it has been removed.
    pub unsettled: bool,
}

/// What the writer does next.
enum Work {
    Commit(Vec<Waiting>),
    End,
}

/// Closes the store when the writer panics, before its batch is let go: those who wait for that
/// hear of it so, and whoever they tell is not taken in any more.
struct ClosesInPanic(Arc<Shared>);

impl Drop for ClosesInPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.gate.lock().phase = Phase::Broken;
        }
    }
}

impl Writer {
    pub fn new(shared: Arc<Shared>, journal: Option<Journal>) -> Writer {
        Writer { shared, journal, unsettled: false }
    }

    /// Runs until the store is closed and everything queued has been decided. Gives the journal
    /// back for its last tidying.
    pub fn run(mut self) -> Option<Journal> {
        loop {
            match self.next() {
                Work::Commit(batch) => self.commit(batch),
                Work::End => return self.journal.filter(|_| !self.unsettled),
            }
        }
    }

    fn next(&mut self) -> Work {
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
                return Work::Commit(gate.queue.drain(..count).collect());
            }
            if gate.phase == Phase::Closing {
                return Work::End;
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

    fn commit(&mut self, batch: Vec<Waiting>) {
        let _closing = ClosesInPanic(self.shared.clone());
        let last = batch.iter().rev().find(|set| set.writes()).map(|set| set.seq);
        if let (Some(last), Some(journal)) = (last, &mut self.journal) {
            let begun = Instant::now();
            #[cfg(feature = "planted-bugs")]
            stet_actors::planted::slow_disk();
            let sets = batch.iter().filter(|set| set.writes()).map(Waiting::parts);
            let folded = self.shared.folded.load(Ordering::Acquire);
            match journal.append(last, sets, folded) {
                Ok(bytes) => self.shared.journaled.fetch_add(bytes, Ordering::AcqRel),
                Err(error) => return self.recover(batch, last, &error),
            };
            metrics::histogram!("stet_store_commit_seconds").record(begun.elapsed().as_secs_f64());
        }
        self.publish(batch, last);
    }

    /// Makes a batch that is on disk visible, then answers it.
    pub fn publish(&mut self, mut batch: Vec<Waiting>, last: Option<Seq>) {
        if let Some(last) = last {
            self.shared.set_committed(last);
            #[cfg(feature = "planted-bugs")]
            stet_actors::planted::late_views();
            // Not before: whoever sees an event waits for the views of all that is committed by
            // then.
            self.shared.overlay.log.append(batch.iter_mut().flat_map(|set| std::mem::take(&mut set.events)));
            self.shared.fault(|faults| faults.journal = None);
            metrics::counter!("stet_store_commits_total").increment(1);
            metrics::histogram!("stet_store_batch_size").record(batch.len() as f64);
            let (rows, bytes) = self.shared.overlay.total();
            metrics::gauge!("stet_store_overlay_rows").set(rows as f64);
            metrics::gauge!("stet_store_overlay_bytes").set(bytes as f64);
        }
        #[cfg(feature = "planted-bugs")]
        stet_actors::planted::late_views();
        if tracing::enabled!(tracing::Level::DEBUG) {
            for set in &batch {
                set.trace.in_scope(|| tracing::debug!(seq = set.seq, batch = batch.len(), "committed"));
            }
        }
        let mut answers = Vec::with_capacity(batch.len());
        for Waiting { seq, on_commit, on_done, .. } in batch {
            guarded("on_commit", || on_commit(seq));
            answers.push((seq, on_done));
        }
        if let Some(last) = last {
            self.shared.set_published(last);
        }
        let decided = answers.last().map(|(seq, _)| *seq);
        for (seq, on_done) in answers {
            guarded("on_done", || on_done(Ok(seq)));
        }
        self.settle(decided);
    }

    /// Refuses a batch with `why`, and everything queued behind it for what the disk said
    /// (`cause`): it was computed on top of the batch, and none of it was ever written. In the same
    /// instant new submissions meet `phase`, so that who is refused, loads again and submits is not
    /// refused for the old failure.
    pub fn refuse(&mut self, batch: Vec<Waiting>, why: &StoreError, cause: &StoreError, phase: Phase) {
        let (behind, decided) = {
            let mut gate = self.shared.gate.lock();
            if gate.phase != Phase::Closing {
                gate.phase = phase;
            }
            // In this order: whoever finds the new epoch, which they do without the gate, finds
            // nothing any more of what is refused.
            self.shared.overlay.fall_back(self.shared.committed());
            self.shared.next_epoch();
            (std::mem::take(&mut gate.queue), gate.last)
        };
        metrics::counter!("stet_store_failed_commits_total").increment(1);
        tracing::error!(%why, sets = batch.len(), behind = behind.len(), "a commit failed");
        for set in batch {
            guarded("on_done", || (set.on_done)(Err(why.clone())));
        }
        for set in behind {
            guarded("on_done", || (set.on_done)(Err(told_behind(cause))));
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

/// What those hear who were queued behind a commit that failed for this: of a full disk as the
/// commit's own callers do, for whoever has to make room must not be told of a fault. Anything else
/// happened to the commit and not to them: they are stale.
fn told_behind(cause: &StoreError) -> StoreError {
    match cause {
        StoreError::Full => StoreError::Full,
        _ => StoreError::Stale,
    }
}

/// Calls a callback; its panic must not end the writer.
fn guarded(which: &str, callback: impl FnOnce()) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(callback)) {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
        tracing::error!(which, panic = text, "a change set's callback panicked");
    }
}
