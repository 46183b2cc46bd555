//! Taking a change set in: one instant for all submitters, and no disk access within it.

use bytes::Bytes;
use stet_actors::store::{Change, ChangeSet, Event, Refusal, Seq, StoreError, Table, encode_value, key_of};

use super::blob::change_bytes;
use super::shared::{Gate, Phase, Shared, Waiting};

/// An event as it will be stored; its key needs the change set's number.
struct StoredEvent {
    of: Option<Bytes>,
    value: Bytes,
}

impl StoredEvent {
    fn of(event: &Event) -> StoredEvent {
        StoredEvent { of: event.place_of(), value: encode_value(1, event) }
    }

    fn changes(self, seq: Seq, ordinal: usize) -> impl Iterator<Item = Change> {
        // One event for each container changed: a request can't name 65,536 of them.
        let ordinal = u16::try_from(ordinal).unwrap_or(u16::MAX);
        let key = key_of(&[&seq.to_be_bytes(), &ordinal.to_be_bytes()]);
        let entry = self.of.map(|of| Change { table: Table::EventsOf, key: of, value: Some(key.clone()) });
        [Change { table: Table::Events, key, value: Some(self.value) }].into_iter().chain(entry)
    }
}

impl Shared {
    /// [`stet_actors::store::Store::submit`].
    pub fn submit(&self, mut set: ChangeSet) -> Result<Seq, Box<Refusal>> {
        let events: Vec<StoredEvent> = set.events.iter().map(StoredEvent::of).collect();
        let bytes: usize = set.changes.iter().map(change_bytes).sum::<usize>()
            + events
                .iter()
                .map(|event| 2 * (9 + 10) + event.of.as_ref().map_or(0, Bytes::len) + event.value.len())
                .sum::<usize>();
        let mut gate = self.gate.lock();
        if let Err(why) = self.admit(&gate, &set, bytes) {
            drop(gate);
            return Err(Box::new(Refusal { why, set }));
        }
        if set.changes.is_empty() && events.is_empty() {
            return Ok(self.fence(gate, set));
        }

        gate.last += 1;
        let seq = gate.last;
        set.changes.reserve(2 * events.len());
        for (ordinal, event) in events.into_iter().enumerate() {
            set.changes.extend(event.changes(seq, ordinal));
        }
        self.overlay.insert(seq, &set.changes, self.committed());
        self.enqueue(&mut gate, seq, bytes, set);
        drop(gate);

        self.checkpoint_if_due();
        Ok(seq)
    }

    /// An empty change set: done at once if nothing is pending, else after that.
    fn fence(&self, mut gate: parking_lot::MutexGuard<'_, Gate>, set: ChangeSet) -> Seq {
        let seq = gate.last;
        if gate.pending() {
            self.enqueue(&mut gate, seq, 0, set);
        } else {
            drop(gate);
            (set.on_commit)(seq);
            (set.on_done)(Ok(seq));
        }
        seq
    }

    fn enqueue(&self, gate: &mut Gate, seq: Seq, bytes: usize, set: ChangeSet) {
        let ChangeSet { changes, span, on_commit, on_done, .. } = set;
        gate.queue.push_back(Waiting { seq, changes, bytes, span, on_commit, on_done });
        if gate.asleep {
            gate.asleep = false;
            self.work.notify_one();
        }
    }

    fn admit(&self, gate: &Gate, set: &ChangeSet, bytes: usize) -> Result<(), StoreError> {
        let empty = set.changes.is_empty() && set.events.is_empty();
        // While a store is being closed, those who wait for what it still decides may join the queue.
        if gate.phase == Phase::Closing && !(empty && gate.pending()) {
            return Err(StoreError::Closed);
        }
        if set.epoch < self.epoch() {
            return Err(StoreError::Stale);
        }
        // A set without changes takes no room, and who waits for a decision must not be sent away before it.
        if !empty {
            if gate.phase == Phase::Failing {
                return Err(self.journal_error());
            }
            let limits = &self.options.limits;
            if bytes > limits.set_bytes {
                let why = format!("a change set of {bytes} bytes; the limit is {}", limits.set_bytes);
                return Err(StoreError::Failed(why));
            }
            if gate.queue.len() >= limits.queued || limits.is_full(self.overlay.total(), self.journal_bytes()) {
                return Err(StoreError::Overloaded);
            }
        }
        Ok(())
    }
}
