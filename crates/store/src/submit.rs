//! Accepting a change set: in one instant for all submitters, and without disk access.

use stet_domain::store::{ChangeSet, EventId, Seq, StoreError, StoredEvent, SubmitRefusal};

use super::blob::{change_bytes, event_bytes};
use super::shared::{Gate, QueuedChangeSet, StoreCore, SubmissionPhase};

impl StoreCore {
    /// Implements [`stet_domain::store::Store::submit`].
    pub fn submit(&self, set: ChangeSet) -> Result<Seq, Box<SubmitRefusal>> {
        // A set within `LimitOptions::set_bytes` has fewer than 2^32 events, so ordinals cannot
        // overflow.
        let mut events: Vec<StoredEvent> = set
            .events
            .iter()
            .zip(0..)
            .map(|(event, ordinal)| StoredEvent::of(EventId { seq: 0, ordinal }, event))
            .collect();
        let bytes: usize =
            set.changes.iter().map(change_bytes).sum::<usize>() + events.iter().map(event_bytes).sum::<usize>();
        let mut gate = self.gate.lock();
        if let Err(why) = self.admit(&gate, &set, bytes) {
            drop(gate);
            return Err(Box::new(SubmitRefusal { why, set }));
        }
        if set.changes.is_empty() && events.is_empty() {
            return Ok(self.fence(gate, set));
        }

        gate.last += 1;
        let seq = gate.last;
        events.iter_mut().for_each(|event| event.id.seq = seq);
        self.overlay.insert(seq, &set.changes, &events, self.committed());
        self.enqueue(&mut gate, seq, (events, bytes), set);
        drop(gate);

        self.checkpoint_if_due();
        Ok(seq)
    }

    /// Accepts an empty change set: it is done at once if nothing is pending, else after the
    /// pending sets.
    fn fence(&self, mut gate: parking_lot::MutexGuard<'_, Gate>, set: ChangeSet) -> Seq {
        let seq = gate.last;
        if gate.pending() {
            self.enqueue(&mut gate, seq, (Vec::new(), 0), set);
        } else {
            drop(gate);
            (set.on_commit)(seq);
            (set.on_done)(Ok(seq));
        }
        seq
    }

    fn enqueue(&self, gate: &mut Gate, seq: Seq, (events, bytes): (Vec<StoredEvent>, usize), set: ChangeSet) {
        let ChangeSet { changes, trace, on_commit, on_done, .. } = set;
        gate.queue.push_back(QueuedChangeSet { seq, changes, events, bytes, trace, on_commit, on_done });
        if gate.asleep {
            gate.asleep = false;
            self.work.notify_one();
        }
    }

    fn admit(&self, gate: &Gate, set: &ChangeSet, bytes: usize) -> Result<(), StoreError> {
        let empty = set.changes.is_empty() && set.events.is_empty();
        // While a store is being closed, callers may still queue to wait for its last decisions. A
        // broken store decides nothing any more.
        let joins = empty && gate.pending();
        if gate.phase == SubmissionPhase::Broken || (gate.phase == SubmissionPhase::Closing && !joins) {
            return Err(StoreError::Closed);
        }
        if set.epoch < self.epoch() {
            return Err(StoreError::Stale);
        }
        // A set without changes takes no room. A caller who waits for a decision must not be
        // refused before it.
        if !empty {
            if gate.phase == SubmissionPhase::Failing {
                return Err(self.journal_error());
            }
            let limits = &self.options.limits;
            if bytes > limits.set_bytes {
                let why = format!("a change set of {bytes} bytes; the limit is {}", limits.set_bytes);
                return Err(StoreError::Failed(why));
            }
            let full =
                || gate.queue.len() >= limits.queued || limits.is_full(self.overlay.total(), self.journal_bytes());
            if !set.passes && full() {
                metrics::counter!("stet_overloaded_total", "what" => "store").increment(1);
                return Err(StoreError::Overloaded);
            }
        }
        Ok(())
    }
}
