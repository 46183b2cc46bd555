//! Reading the log: first memory, then segments as of the last checkpoint.
//!
//! Memory drops an event only after readers can see its segment, and reports the last dropped one.
//! So events that are searched for in segments after memory are there, unless they are past their
//! retention. Events in both places are taken from memory.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use stet_domain::id::Loid;
use stet_domain::store::{
    BatchRoom, Event, EventId, EventLog, EventPeriod, KeyRange, LogDirection, LogPassage, ReadLevel, ResumeRequest,
    Segment, SegmentHead, StoreError, StoredEvent, Table, key_of,
};

use super::{PASSAGE, SEGMENT_BYTES};
use crate::RedbStore;
use crate::shared::StoreCore;

/// The maximum number of segment heads that are examined for a passage.
const HEADS: usize = 10_000;
/// The number of heads in the first read, and the maximum number in further ones.
const FIRST_HEADS: usize = 4;
const MOST_HEADS: usize = 1_024;
/// The number of index entries, which name segments, in one read.
const PLACES: usize = 64;
/// The number of decoded segments that are kept for readers who proceed piece by piece.
const OPENED: usize = 8;

/// The most recently decoded segments. They never change.
#[derive(Debug, Default)]
pub(crate) struct SegmentCache(Mutex<VecDeque<Arc<Segment>>>);

impl SegmentCache {
    fn get(&self, key: &[u8]) -> Option<Arc<Segment>> {
        self.0.lock().iter().find(|segment| segment.key() == key).cloned()
    }

    /// Returns the number of decoded segments.
    #[cfg(test)]
    pub fn count(&self) -> usize {
        self.0.lock().len()
    }

    fn keep(&self, segment: &Arc<Segment>) {
        // A segment of a single large event is not kept, because it is read in one piece anyway.
        if segment.events().iter().map(|event| event.value.len()).sum::<usize>() > SEGMENT_BYTES {
            return;
        }
        let mut kept = self.0.lock();
        kept.push_front(segment.clone());
        kept.truncate(OPENED);
    }
}

impl StoreCore {
    fn check_open(&self) -> Result<(), StoreError> {
        if self.snapshot().is_closed() { Err(StoreError::Closed) } else { Ok(()) }
    }

    /// Returns the segment with this key; `None` if it has just been removed.
    fn segment(&self, key: &[u8]) -> Result<Option<Arc<Segment>>, StoreError> {
        if let Some(segment) = self.opened.get(key) {
            return Ok(Some(segment));
        }
        let Some(value) = self.get(ReadLevel::Committed, Table::EventSegments, key)? else { return Ok(None) };
        let segment = Arc::new(Segment::decode(&value)?);
        self.opened.keep(&segment);
        Ok(Some(segment))
    }

    /// Returns the next segment heads in a direction, with their keys, beginning with the segment
    /// that contains the starting place.
    fn heads(&self, way: LogDirection, most: usize) -> Result<Vec<(Bytes, SegmentHead)>, StoreError> {
        let all = KeyRange { from: Bytes::new(), to: None };
        let (range, backwards) = match way {
            LogDirection::Back(before) => (KeyRange { to: before.map(EventId::to_key), ..all }, true),
            LogDirection::Forth(None) => (all, false),
            // The segment that begins at or before that place may extend beyond it.
            LogDirection::Forth(Some(after)) => {
                let behind = key_of(&[&after.to_key(), &[0]]);
                let up_to = KeyRange { to: Some(behind), ..all.clone() };
                let own = self.scan(ReadLevel::Committed, Table::SegmentTimes, &up_to, 1, true)?;
                (own.first().map_or(all, |(key, _)| KeyRange { from: key.clone(), to: None }), false)
            }
        };
        let rows = self.scan(ReadLevel::Committed, Table::SegmentTimes, &range, most, backwards)?;
        rows.into_iter().map(|(key, head)| Ok((key, SegmentHead::read(&head)?))).collect()
    }

    /// Takes the wanted events of a container from segments. Returns whether there may be more than
    /// there was room for. No segment is decoded merely to find out whether there are more.
    fn segments_of(&self, container: Loid, after: u64, wanted: &mut EventCollector) -> Result<bool, StoreError> {
        let Some(mut range) = Segment::range_of(container, after) else { return Ok(false) };
        loop {
            let places = self.scan(ReadLevel::Committed, Table::SegmentsOf, &range, PLACES, false)?;
            for (_, key) in &places {
                let Some(segment) = self.segment(key)? else { continue };
                for event in segment.events() {
                    let fits = event.container == Some(container) && event.revision > after;
                    if event.id > wanted.up_to {
                        return Ok(false);
                    }
                    if fits && (!wanted.take(event)? || wanted.room.is_used_up()) {
                        return Ok(true);
                    }
                }
            }
            match places.last() {
                Some((last, _)) if places.len() == PLACES => range = range.after(last),
                _ => return Ok(false),
            }
        }
    }
}

/// The events to be found, with the room for them.
struct EventCollector {
    /// The last event that may be taken.
    up_to: EventId,
    room: BatchRoom,
    found: Vec<Event>,
}

impl EventCollector {
    /// Takes the next event. Returns false if there is no room for it.
    fn take(&mut self, event: &StoredEvent) -> Result<bool, StoreError> {
        let fits = self.room.takes(event.value.len());
        if fits {
            self.found.push(event.event()?);
        }
        Ok(fits)
    }
}

impl EventLog for RedbStore {
    fn events_of(&self, resumed: &ResumeRequest) -> Result<(Vec<Event>, bool), StoreError> {
        let (shared, ResumeRequest { container, after, room }) = (&self.shared, *resumed);
        shared.check_open()?;
        let memory = shared.overlay.log.of(resumed);
        // Each change raises the revision by one. If the first event in memory has the revision
        // after `after`, no segment has an earlier wanted one.
        let is_next = memory.events.first().is_some_and(|first| first.revision == after.saturating_add(1));
        let mut wanted = EventCollector { up_to: memory.last_gone.unwrap_or_default(), room, found: Vec::new() };
        if memory.last_gone.is_some() && !is_next && shared.segments_of(container, after, &mut wanted)? {
            return Ok((wanted.found, true));
        }
        for event in &memory.events {
            if !wanted.take(event)? {
                return Ok((wanted.found, true));
            }
        }
        Ok((wanted.found, memory.more))
    }

    fn events(&self, way: LogDirection, times: &EventPeriod) -> Result<LogPassage, StoreError> {
        let (place, backwards) = match way {
            LogDirection::Forth(place) => (place, false),
            LogDirection::Back(place) => (place, true),
        };
        let shared = &self.shared;
        shared.check_open()?;
        let memory = shared.overlay.log.next_to(place, backwards);
        let in_segments = memory.last_gone.filter(|gone| match way {
            LogDirection::Forth(after) => after.is_none_or(|after| after < *gone),
            LogDirection::Back(_) => !memory.more,
        });
        let Some(gone) = in_segments else { return passage(&memory.events, memory.more, times) };
        // Backwards the newest events come first, and those are in memory.
        if backwards && !memory.events.is_empty() {
            return passage(&memory.events, true, times);
        }
        match shared.passage_of_segments(way, gone, times)? {
            Some(passage) => Ok(passage),
            None if backwards => Ok(LogPassage::default()),
            None => {
                let memory = shared.overlay.log.next_to(place.max(Some(gone)), false);
                passage(&memory.events, memory.more, times)
            }
        }
    }

    fn oldest(&self) -> Result<Option<EventId>, StoreError> {
        self.shared.check_open()?;
        // Read first: an event that memory drops afterwards is in a segment before that.
        let memory = self.shared.overlay.log.oldest();
        let heads = self.shared.heads(LogDirection::Forth(None), 1)?;
        let head = heads.first().and_then(|(key, _)| EventId::from_key(key));
        Ok(memory.into_iter().chain(head).min())
    }
}

impl StoreCore {
    /// Returns the next passage from segments, up to `gone`; `None` if the segments have none left.
    fn passage_of_segments(
        &self,
        way: LogDirection,
        gone: EventId,
        times: &EventPeriod,
    ) -> Result<Option<LogPassage>, StoreError> {
        let is_next = |id: EventId| match way {
            LogDirection::Forth(after) => after.is_none_or(|after| id > after) && id <= gone,
            LogDirection::Back(before) => before.is_none_or(|before| id < before) && id <= gone,
        };
        // Usually the first head is that of a matching segment. Where many are outside the times,
        // they are skipped by the thousand.
        let (mut on, mut looked, mut most) = (way, 0, FIRST_HEADS);
        loop {
            let heads = self.heads(on, most)?;
            for (key, head) in &heads {
                if head.touches(times)
                    && let Some(segment) = self.segment(key)?
                {
                    let mut room = BatchRoom::of(PASSAGE, SEGMENT_BYTES);
                    let fits = |event: &&StoredEvent| room.takes(event.value.len());
                    let events = segment.events().iter().filter(|event| is_next(event.id));
                    let events: Vec<StoredEvent> = match way {
                        LogDirection::Forth(_) => events.take_while(fits).cloned().collect(),
                        LogDirection::Back(_) => events.rev().take_while(fits).cloned().collect(),
                    };
                    if !events.is_empty() {
                        return passage(&events, true, times).map(Some);
                    }
                }
                on = match way {
                    LogDirection::Forth(_) => LogDirection::Forth(Some(head.last)),
                    LogDirection::Back(_) => LogDirection::Back(EventId::from_key(key)),
                };
            }
            looked += heads.len();
            if heads.len() < most {
                return Ok(None);
            }
            if looked >= HEADS {
                let (LogDirection::Forth(next) | LogDirection::Back(next)) = on;
                return Ok(Some(LogPassage { next, ..LogPassage::default() }));
            }
            most = (2 * most).min(MOST_HEADS);
        }
    }
}

fn passage(events: &[StoredEvent], more: bool, times: &EventPeriod) -> Result<LogPassage, StoreError> {
    let wanted = events.iter().filter(|event| times.contain(event.at_ms));
    let wanted = wanted.map(|event| Ok((event.id, event.event()?))).collect::<Result<_, StoreError>>()?;
    Ok(LogPassage { events: wanted, read: events.len(), next: events.last().filter(|_| more).map(|event| event.id) })
}
