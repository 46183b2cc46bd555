//! Recovery after a failed commit: finds out what is on disk, answers accordingly, and continues.
//!
//! An error says only that a commit failed, not whether its record is on disk. So the journal is
//! reopened and read. If the record is there, it is written again and synced, and counts as
//! committed; the change sets queued after it stay. If not, the batch is refused. Everything after
//! it is refused as stale, or for lack of room as the batch is.
//!
//! If the journal cannot be reopened, the batch waits for at most `StoreOptions::decide_within`. In
//! the meantime reopening is retried and new submissions are refused at once. After that the batch
//! is answered with an error that calls the outcome unknown. Once the journal opens, everything
//! above the last commit is removed first. One case remains: if the process crashes between that
//! answer and the next opening, the change may be found there.

use std::io;
use std::time::{Duration, Instant};

use stet_domain::store::{Seq, StoreError};

use super::backend::DiskError;
use super::shared::{QueuedChangeSet, SubmissionPhase, refusal};
use super::writer::CommitWriter;

/// The first pause between two attempts; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(2);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

impl CommitWriter {
    /// Decides the batch whose commit failed, and reopens the journal. If the store is closed in
    /// the meantime, it gives up after one more attempt.
    pub fn recover(&mut self, batch: Vec<QueuedChangeSet>, last: Seq, error: &io::Error) {
        let mut batch = Some((batch, last));
        let fault = DiskError::of(error);
        tracing::warn!(fault = fault.text, "the journal failed; reopening it");
        let cause = refusal(&fault);
        self.enter(SubmissionPhase::Failing);
        self.shared.fault(|faults| faults.journal = Some(fault));

        let until = Instant::now() + self.shared.options.decide_within;
        let mut pause = FIRST_PAUSE;
        loop {
            let Some(journal) = &mut self.journal else { return };
            let last = batch.as_ref().map(|(_, last)| *last);
            match journal.reopen(last) {
                Ok(found) => {
                    self.unsettled = false;
                    // A journal that opens has been synced, so the disk works. A full disk is
                    // reported until a commit succeeds.
                    self.shared.fault(|faults| faults.journal.take_if(|fault| !fault.full || batch.is_none()));
                    match batch {
                        Some((batch, _)) if !found => self.refuse(batch, &cause, &cause, SubmissionPhase::Open),
                        Some((batch, last)) => {
                            self.enter(SubmissionPhase::Open);
                            self.publish(batch, Some(last));
                        }
                        None => self.enter(SubmissionPhase::Open),
                    }
                    return;
                }
                Err(error) => {
                    let fault = DiskError::of(&error);
                    tracing::warn!(fault = fault.text, "cannot reopen the journal");
                    self.shared.fault(|faults| faults.journal = Some(fault));
                }
            }
            let closing = self.pause(pause);
            if closing || Instant::now() >= until {
                self.stop_waiting(batch.take().map(|(batch, _)| batch), &cause);
            }
            if closing {
                return;
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Answers callers that have waited long enough. Queued change sets were never written: their
    /// refusal is certain.
    fn stop_waiting(&mut self, batch: Option<Vec<QueuedChangeSet>>, cause: &StoreError) {
        if let Some(batch) = batch {
            self.unsettled = true;
            let why = match cause {
                StoreError::Failed(why) => why.clone(),
                other => other.to_string(),
            };
            let why = format!("{why}; if the change is found on disk it will be removed");
            self.refuse(batch, &StoreError::Unknown(why), cause, SubmissionPhase::Failing);
        } else if !self.shared.gate.lock().queue.is_empty() {
            self.refuse(Vec::new(), cause, cause, SubmissionPhase::Failing);
        }
    }

    /// Sets the phase, unless the store is being closed.
    fn enter(&self, phase: SubmissionPhase) {
        let mut gate = self.shared.gate.lock();
        if gate.phase != SubmissionPhase::Closing {
            gate.phase = phase;
        }
    }

    /// Waits for `pause`. Returns whether the store is being closed.
    pub fn pause(&mut self, pause: Duration) -> bool {
        let mut gate = self.shared.gate.lock();
        if gate.phase != SubmissionPhase::Closing {
            self.shared.work.wait_for(&mut gate, pause);
        }
        gate.phase == SubmissionPhase::Closing
    }
}
