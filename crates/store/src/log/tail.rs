//! The events in memory: all that are in no segment, and the newest of the packed ones.

use std::collections::VecDeque;
use std::collections::hash_map::Entry;

use foldhash::HashMap;
use parking_lot::{Mutex, MutexGuard};
use stet_domain::id::Loid;
use stet_domain::store::{BatchRoom, EventId, ResumeRequest, Seq, StoredEvent};

use super::{PASSAGE, RECENT_BYTES, SEGMENT_BYTES, weight};

/// The number of events that are indexed or dropped before the lock is released for other threads.
const STEP: usize = 4_096;

/// The events in memory. The lock is held for a few instructions; for indexing and dropping, for
/// those of one step.
#[derive(Debug, Default)]
pub(crate) struct EventTail(Mutex<TailState>);

#[derive(Debug, Default)]
struct TailState {
    /// The events, ordered by id.
    events: VecDeque<StoredEvent>,
    /// The memory that the events take, in bytes ([`weight`]).
    bytes: usize,
    /// The number of dropped events, which is the first event's number among all ever added.
    gone: u64,
    /// The last dropped event. All later ones that are on disk are here.
    last_gone: Option<EventId>,
    /// The number of events, among all ever added, up to which `of` is complete. It grows at a
    /// request of a follower, so that without followers there is no cost.
    indexed: u64,
    /// The revision and number of each event, by container. Numbers count all events ever added.
    of: HashMap<Loid, VecDeque<(u64, u64)>>,
}

/// The result of a search in memory.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct TailEvents {
    /// The events, in the requested order.
    pub events: Vec<StoredEvent>,
    /// Whether memory has more events after these.
    pub more: bool,
    /// The last dropped event. Events up to it are in segments, unless they are past their
    /// retention.
    pub last_gone: Option<EventId>,
}

impl TailState {
    fn number(&self, at: usize) -> u64 {
        self.gone + at as u64
    }

    /// Indexes some more events. Returns whether all are indexed now.
    fn index_some(&mut self) -> bool {
        let begin = (self.indexed.max(self.gone) - self.gone) as usize;
        let end = self.events.len().min(begin + STEP);
        for at in begin..end {
            let number = self.number(at);
            let StoredEvent { container, revision, .. } = self.events[at];
            if let Some(container) = container {
                self.of.entry(container).or_default().push_back((revision, number));
            }
        }
        self.indexed = self.number(end);
        end == self.events.len()
    }

    fn let_go_of_first(&mut self) {
        let Some(first) = self.events.pop_front() else { return };
        self.bytes -= weight(&first);
        self.last_gone = Some(first.id);
        self.gone += 1;
        let Some(container) = first.container.filter(|_| self.gone <= self.indexed) else { return };
        if let Entry::Occupied(mut entry) = self.of.entry(container) {
            entry.get_mut().pop_front();
            if entry.get().is_empty() {
                entry.remove();
            }
        }
    }
}

impl EventTail {
    /// Replaces all events by these, which are all that are in no segment. `packed` is the last
    /// event in a segment.
    pub fn begin(&self, events: impl IntoIterator<Item = StoredEvent>, packed: Option<EventId>) {
        *self.0.lock() = TailState { last_gone: packed, ..TailState::default() };
        self.append(events);
    }

    /// Returns the time of the newest event.
    pub fn newest_ms(&self) -> Option<u64> {
        self.0.lock().events.back().map(|event| event.at_ms)
    }

    /// Returns the place of the oldest event in memory.
    pub fn oldest(&self) -> Option<EventId> {
        self.0.lock().events.front().map(|event| event.id)
    }

    /// Adds committed events after all others.
    pub fn append(&self, events: impl IntoIterator<Item = StoredEvent>) {
        let mut inner = self.0.lock();
        for event in events {
            inner.bytes += weight(&event);
            inner.events.push_back(event);
        }
    }

    /// Returns the events of the change sets after `folded`, up to `last`.
    pub fn between(&self, folded: Seq, last: Seq) -> Vec<StoredEvent> {
        let inner = self.0.lock();
        let begin = inner.events.partition_point(|event| event.id.seq <= folded);
        let end = inner.events.partition_point(|event| event.id.seq <= last);
        inner.events.range(begin..end.max(begin)).cloned().collect()
    }

    /// Drops events up to `packed`, which readers find in segments from now on, the oldest first,
    /// until at most [`RECENT_BYTES`] remain. Also drops all events up to `removed`, which are past
    /// their retention.
    pub fn let_go(&self, packed: EventId, removed: Option<EventId>) {
        self.let_go_while(|inner, first| {
            first.id <= packed && (inner.bytes > RECENT_BYTES || removed.is_some_and(|removed| first.id <= removed))
        });
    }

    /// Drops all events up to `packed`, as if they were old.
    #[cfg(test)]
    pub fn forget(&self, packed: EventId) {
        self.let_go_while(|_, first| first.id <= packed);
    }

    fn let_go_while(&self, goes: impl Fn(&TailState, &StoredEvent) -> bool) {
        loop {
            let mut inner = self.0.lock();
            for _ in 0..STEP {
                if !inner.events.front().is_some_and(|first| goes(&inner, first)) {
                    return;
                }
                inner.let_go_of_first();
            }
            MutexGuard::unlock_fair(inner);
        }
    }

    /// Returns the first events of a container after a revision, as many as there is room for.
    pub fn of(&self, resumed: &ResumeRequest) -> TailEvents {
        let ResumeRequest { container, after, mut room } = *resumed;
        let inner = loop {
            let mut inner = self.0.lock();
            if inner.index_some() {
                break inner;
            }
            MutexGuard::unlock_fair(inner);
        };
        let mut found = TailEvents { last_gone: inner.last_gone, ..TailEvents::default() };
        let Some(of) = inner.of.get(&container) else { return found };
        let behind = of.range(of.partition_point(|(revision, _)| *revision <= after)..);
        let behind = behind.map(|(_, number)| &inner.events[(number - inner.gone) as usize]);
        let all = behind.len();
        found.events = behind.take_while(|event| room.takes(event.value.len())).cloned().collect();
        found.more = found.events.len() < all;
        found
    }

    /// Returns the first events after a place, or the last ones before it, newest first if
    /// backwards. They make at most a passage, and at most the bytes of a segment, except that a
    /// single event may be larger.
    pub fn next_to(&self, place: Option<EventId>, backwards: bool) -> TailEvents {
        let inner = self.0.lock();
        let mut room = BatchRoom::of(PASSAGE, SEGMENT_BYTES);
        let fits = |event: &&StoredEvent| room.takes(event.value.len());
        let (events, all): (Vec<StoredEvent>, usize) = if backwards {
            let end = place.map_or(inner.events.len(), |place| inner.events.partition_point(|event| event.id < place));
            (inner.events.range(..end).rev().take_while(fits).cloned().collect(), end)
        } else {
            let begin = place.map_or(0, |place| inner.events.partition_point(|event| event.id <= place));
            let all = inner.events.len() - begin;
            (inner.events.range(begin..).take_while(fits).cloned().collect(), all)
        };
        TailEvents { more: all > events.len(), events, last_gone: inner.last_gone }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use bytes::Bytes;
    use proptest::prelude::*;
    use stet_domain::id::DatabaseId;

    use super::super::EVENT_OVERHEAD;
    use super::*;

    fn event(seq: Seq, container: Option<u64>, revision: u64, bytes: usize) -> StoredEvent {
        let container = container.map(|number| Loid::new(DatabaseId::FIRST, number));
        StoredEvent {
            id: EventId { seq, ordinal: 0 },
            container,
            revision,
            at_ms: 0,
            value: Bytes::from(vec![0; bytes]),
        }
    }

    fn all(tail: &EventTail) -> Vec<Seq> {
        tail.between(0, Seq::MAX).iter().map(|event| event.id.seq).collect()
    }

    fn seqs(found: &TailEvents) -> Vec<Seq> {
        found.events.iter().map(|event| event.id.seq).collect()
    }

    #[test]
    fn tail_events_in_no_segment_stay_whatever_their_size() {
        let tail = EventTail::default();
        tail.append((1..=10).map(|seq| event(seq, Some(1), seq, RECENT_BYTES / 4 - EVENT_OVERHEAD)));
        tail.let_go(EventId { seq: 3, ordinal: 0 }, None);
        assert_eq!(all(&tail), (4..=10).collect::<Vec<_>>());
        assert_eq!(tail.next_to(None, false).last_gone, Some(EventId { seq: 3, ordinal: 0 }));
        tail.let_go(EventId { seq: 10, ordinal: 0 }, None);
        assert_eq!(all(&tail), [7, 8, 9, 10], "the newest stay beyond that");
        tail.let_go(EventId { seq: 10, ordinal: 0 }, Some(EventId { seq: 8, ordinal: 0 }));
        assert_eq!(all(&tail), [9, 10], "unless they are past their retention");
    }

    #[test]
    fn heavy_events_come_alone_and_it_is_said_that_there_are_more() {
        let tail = EventTail::default();
        tail.append([(1, 10), (2, 10), (3, 100), (4, 1)].map(|(seq, bytes)| event(seq, Some(1), seq, bytes)));
        let of = |after, most| {
            let container = Loid::new(DatabaseId::FIRST, 1);
            let found = tail.of(&ResumeRequest { container, after, room: BatchRoom::of(most, 50) });
            (seqs(&found), found.more)
        };
        assert_eq!(of(0, 10), (vec![1, 2], true));
        assert_eq!(of(2, 10), (vec![3], true));
        assert_eq!(of(3, 10), (vec![4], false));
        assert_eq!(of(0, 1), (vec![1], true));
        assert_eq!(of(4, 10), (vec![], false));
    }

    proptest! {
        /// Compares the tail with a plain list: events of three containers and of none are added,
        /// searched and dropped.
        #[test]
        fn the_event_tail_equals_a_list_searched_by_position_and_container(
            steps in proptest::collection::vec((0..6_u8, 0..4_u64, 0..40_u64), 1..200),
        ) {
            let tail = EventTail::default();
            let mut list: Vec<StoredEvent> = Vec::new();
            let (mut seq, mut revisions) = (0, BTreeMap::<u64, u64>::new());
            for (step, container, number) in steps {
                let loid = Loid::new(DatabaseId::FIRST, container);
                match step {
                    0..=2 => {
                        seq += 1 + number % 3;
                        let revision = revisions.entry(container).or_default();
                        *revision += 1;
                        // One of the containers stands for none. Each event has an eighth of the
                        // kept bytes, so that the limit is soon reached.
                        let new = event(seq, Some(container).filter(|it| *it > 0), *revision, RECENT_BYTES / 8 - EVENT_OVERHEAD);
                        tail.append([new.clone()]);
                        list.push(new);
                    }
                    3 => {
                        tail.let_go(EventId { seq: number, ordinal: 0 }, None);
                        while list.len() > 8 && list[0].id.seq <= number {
                            list.remove(0);
                        }
                    }
                    4 => {
                        let resumed = ResumeRequest { container: loid, after: number, room: BatchRoom::of(5, usize::MAX) };
                        let expected: Vec<Seq> = list
                            .iter()
                            .filter(|event| event.container == Some(loid) && event.revision > number)
                            .map(|event| event.id.seq)
                            .take(5)
                            .collect();
                        prop_assert_eq!(seqs(&tail.of(&resumed)), expected);
                    }
                    _ => {
                        let place = Some(EventId { seq: number, ordinal: 0 });
                        let behind = list.iter().map(|event| event.id.seq).filter(|seq| *seq > number);
                        prop_assert_eq!(seqs(&tail.next_to(place, false)), behind.take(1).collect::<Vec<_>>());
                        let before = list.iter().rev().map(|event| event.id.seq).filter(|seq| *seq < number);
                        prop_assert_eq!(seqs(&tail.next_to(place, true)), before.take(1).collect::<Vec<_>>());
                    }
                }
            }
        }
    }
}
