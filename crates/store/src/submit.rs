//! Taking a change set in: one instant for all submitters, and no disk access within it.

use std::sync::Arc;

use bytes::Bytes;
use stet_actors::store::{
    Change, ChangeSet, Event, Guard, Refusal, Seq, StoreError, Table, View, encode_value, key_of,
};

use super::blob::change_bytes;
use super::reader::Snapshot;
use super::shared::{Gate, Phase, Shared, Waiting};

/// An event as it will be stored; its key needs the change set's number.
struct StoredEvent {
    of: Bytes,
    value: Bytes,
}

impl StoredEvent {
    fn of(event: &Event) -> StoredEvent {
        let of = key_of(&[&event.container.to_key(), &event.revision.to_be_bytes()]);
        StoredEvent { of, value: encode_value(1, event) }
    }

    fn changes(self, seq: Seq, ordinal: usize) -> [Change; 2] {
        // One event for each container changed: a request can't name 65,536 of them.
        let ordinal = u16::try_from(ordinal).unwrap_or(u16::MAX);
        let key = key_of(&[&seq.to_be_bytes(), &ordinal.to_be_bytes()]);
        [
            Change { table: Table::Events, key: key.clone(), value: Some(self.value) },
            Change { table: Table::EventsOf, key: self.of, value: Some(key) },
        ]
    }
}

/// Rows read from the tables before the gate was entered, so that nothing inside waits for the disk.
struct Ahead {
    snapshot: Arc<Snapshot>,
    on_disk: Vec<Option<bool>>,
}

impl Shared {
    /// [`stet_actors::store::Store::submit`].
    pub fn submit(&self, mut set: ChangeSet) -> Result<Seq, Box<Refusal>> {
        let events: Vec<StoredEvent> = set.events.iter().map(StoredEvent::of).collect();
        let bytes: usize = set.changes.iter().map(change_bytes).sum::<usize>()
            + events.iter().map(|event| 2 * (9 + 10) + event.of.len() + event.value.len()).sum::<usize>();
        let (ahead, mut gate) = loop {
            let ahead = match self.look_ahead(&set.guards) {
                Ok(ahead) => ahead,
                Err(why) => return Err(Box::new(Refusal { why, set })),
            };
            let gate = self.gate.lock();
            // A checkpoint may have come between; then look again, but not in here. They are far apart.
            if ahead.as_ref().is_none_or(|ahead| Arc::ptr_eq(&ahead.snapshot, &self.snapshot())) {
                break (ahead, gate);
            }
        };
        if let Err(why) = self.admit(&gate, &set, bytes, &ahead) {
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

        let (rows, bytes) = self.overlay.active();
        let checkpoint = &self.options.checkpoint;
        if rows >= checkpoint.entries || bytes >= checkpoint.bytes {
            self.checkpoint_due();
        }
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

    fn look_ahead(&self, guards: &[Guard]) -> Result<Option<Ahead>, StoreError> {
        if guards.is_empty() {
            return Ok(None);
        }
        let snapshot = self.snapshot();
        let mut on_disk = Vec::with_capacity(guards.len());
        for guard in guards {
            let in_memory = self.overlay.shelf(guard.table).get(&guard.key, self.limit_of(View::Latest)).is_some();
            on_disk.push(if in_memory {
                None
            } else {
                Some(self.on_disk(snapshot.clone(), guard.table, &guard.key)?)
            });
        }
        Ok(Some(Ahead { snapshot, on_disk }))
    }

    fn admit(&self, gate: &Gate, set: &ChangeSet, bytes: usize, ahead: &Option<Ahead>) -> Result<(), StoreError> {
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
            let (rows, held) = self.overlay.total();
            if gate.queue.len() >= limits.queued || rows >= limits.overlay_entries || held >= limits.overlay_bytes {
                return Err(StoreError::Overloaded);
            }
        }
        self.guard(&set.guards, ahead)
    }

    /// Checks the guards against [`View::Latest`].
    fn guard(&self, guards: &[Guard], ahead: &Option<Ahead>) -> Result<(), StoreError> {
        let Some(ahead) = ahead else { return Ok(()) };
        for (index, (guard, on_disk)) in guards.iter().zip(&ahead.on_disk).enumerate() {
            let in_memory =
                self.overlay.shelf(guard.table).get(&guard.key, self.limit_of(View::Latest)).map(Option::is_some);
            // The snapshot is still the one that was looked into, so memory has lost nothing to it since.
            let exists = in_memory.or(*on_disk).unwrap_or(false);
            if exists != guard.exists {
                return Err(StoreError::Guard(index));
            }
        }
        Ok(())
    }
}
