//! After a failed commit: find out what the disk has, answer accordingly, and go on.
//!
//! An error says only that a commit failed, not whether it is there. So the journal is opened anew
//! and read. If the record is there, it is written again and synced, and counts as committed, and
//! those queued behind it stay; if not, the batch is refused, and everything behind it as stale, or
//! with it for want of room.
//!
//! When the journal can't be opened either, the batch waits for its fate, up to
//! `StoreOptions::decide_within`, while it is tried again and again and new submissions are refused
//! at once. Past that it is answered with an error that calls the outcome unknown, and the first
//! thing done to a journal that opens again is to remove whatever lies above the last commit. What
//! remains is the crash of the process between that answer and the next opening: then the change
//! may be found there.

use std::io;
use std::time::{Duration, Instant};

use stet_actors::store::{Seq, StoreError};

use super::backend::DiskError;
use super::shared::{Phase, Waiting, refusal};
use super::writer::Writer;

/// The first pause between two attempts; each is twice the one before.
const FIRST_PAUSE: Duration = Duration::from_millis(2);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

impl Writer {
    /// Decides the batch whose commit failed, and gets the journal back. When the store is closed
    /// meanwhile it gives up after one more attempt.
    pub fn recover(&mut self, batch: Vec<Waiting>, last: Seq, error: &io::Error) {
        let mut batch = Some((batch, last));
        let fault = DiskError::of(error);
        tracing::warn!(fault = fault.text, "the journal failed; opening it anew");
        let cause = refusal(&fault);
        self.enter(Phase::Failing);
        self.shared.fault(|faults| faults.journal = Some(fault));

        let until = Instant::now() + self.shared.options.decide_within;
        let mut pause = FIRST_PAUSE;
        loop {
            let Some(journal) = &mut self.journal else { return };
            let last = batch.as_ref().map(|(_, last)| *last);
            match journal.reopen(last) {
                Ok(found) => {
                    self.unsettled = false;
                    // A journal that opens has been synced, so the disk works. That it was full is
                    // reported until a commit succeeds.
                    self.shared.fault(|faults| faults.journal.take_if(|fault| !fault.full || batch.is_none()));
                    match batch {
                        Some((batch, _)) if !found => self.refuse(batch, &cause, &cause, Phase::Open),
                        Some((batch, last)) => {
                            self.enter(Phase::Open);
                            self.publish(batch, Some(last));
                        }
                        None => self.enter(Phase::Open),
                    }
                    return;
                }
                Err(error) => {
                    let fault = DiskError::of(&error);
                    tracing::warn!(fault = fault.text, "the journal can't be opened");
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

    /// Answers those who have waited long enough. Sets that are still queued were never written:
    /// they are refused for certain.
    fn stop_waiting(&mut self, batch: Option<Vec<Waiting>>, cause: &StoreError) {
        if let Some(batch) = batch {
            self.unsettled = true;
            let why = match cause {
                StoreError::Failed(why) => why.clone(),
                other => other.to_string(),
            };
            let why = format!("{why}; if the change is found on disk it will be removed");
            self.refuse(batch, &StoreError::Unknown(why), cause, Phase::Failing);
        } else if !self.shared.gate.lock().queue.is_empty() {
            self.refuse(Vec::new(), cause, cause, Phase::Failing);
        }
    }

    /// Notes the phase, unless the store is being closed.
    fn enter(&self, phase: Phase) {
        let mut gate = self.shared.gate.lock();
        if gate.phase != Phase::Closing {
            gate.phase = phase;
        }
    }

    /// Waits a while; returns whether the store is being closed.
    pub fn pause(&mut self, pause: Duration) -> bool {
        let mut gate = self.shared.gate.lock();
        if gate.phase != Phase::Closing {
            self.shared.work.wait_for(&mut gate, pause);
        }
        gate.phase == Phase::Closing
    }
}
