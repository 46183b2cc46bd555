//! Segments of packed events: the form in which the log keeps all but the newest. A segment is
//! created once, never changed, and deleted as a whole when all its events are too old.
//!
//! The stored form is a format number, then one compressed LZ4 block with its length before it. The
//! block is a MessagePack array of the events. Each event has the difference of its change set's
//! number to the previous one, its place in that change set, and its own stored form. Events are so
//! alike that this takes an eighth of their size.

use std::collections::BTreeMap;

use bytes::Bytes;
use lz4_flex::block;
use serde::{Deserialize, Serialize};

use super::event::{EventId, EventPeriod, StoredEvent};
use super::row::{DecodeError, RowPlace, decode_value, encode_value, encode_within, key_of};
use super::{KeyRange, Seq, Table};
use crate::id::Loid;

const FORMAT: u8 = 1;

/// The start of the compressed block, behind the format and the block's length.
const BLOCK: usize = 1 + size_of::<u32>();

/// The greatest number of bytes of an event beside its stored form: an array, two numbers and a
/// length of MessagePack.
const EVENT_OVERHEAD: usize = 1 + 9 + 5 + 5;

/// The summary of a segment, for searches that do not read it: its entry in
/// [`Table::SegmentTimes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SegmentHead {
    /// The place of the last event.
    pub last: EventId,
    /// The number of events.
    pub count: u32,
    /// The earliest time of an event, in epoch milliseconds.
    pub from_ms: u64,
    /// The latest time of an event, in epoch milliseconds.
    pub to_ms: u64,
}

impl SegmentHead {
    /// Decodes an entry.
    ///
    /// # Errors
    /// The entry cannot be decoded.
    pub fn read(value: &[u8]) -> Result<SegmentHead, DecodeError> {
        decode_value(1, value)
    }

    /// Reports whether any of the events may lie within the period.
    pub fn touches(&self, times: &EventPeriod) -> bool {
        times.touch(self.from_ms, self.to_ms)
    }
}

/// A compressed row of events: at least one, in the order of their places.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment(Vec<StoredEvent>);

impl Segment {
    /// Creates a segment of these events; `None` if there are none, or if they are not in order.
    pub fn of(events: Vec<StoredEvent>) -> Option<Segment> {
        let in_order = events.windows(2).all(|pair| pair[0].id < pair[1].id);
        (in_order && !events.is_empty()).then_some(Segment(events))
    }

    /// Returns the events, oldest first.
    pub fn events(&self) -> &[StoredEvent] {
        &self.0
    }

    /// Returns the key in [`Table::EventSegments`]: the place of the first event.
    pub fn key(&self) -> Bytes {
        self.0[0].id.to_key()
    }

    /// Returns the index entries that follow from the segment: its head, and one for each container
    /// with events in it.
    pub fn index(&self) -> Vec<(RowPlace, Bytes)> {
        let (key, times) = (self.key(), self.0.iter().map(|event| event.at_ms));
        let head = SegmentHead {
            last: self.0[self.0.len() - 1].id,
            count: u32::try_from(self.0.len()).unwrap_or(u32::MAX),
            from_ms: times.clone().min().unwrap_or_default(),
            to_ms: times.max().unwrap_or_default(),
        };
        // The last event of a container counts: revisions rise.
        let of: BTreeMap<Loid, u64> =
            self.0.iter().filter_map(|event| Some((event.container?, event.revision))).collect();
        let entry = |(container, last): (Loid, u64)| {
            (RowPlace { table: Table::SegmentsOf, key: place_in(container, last) }, key.clone())
        };
        let head = (RowPlace { table: Table::SegmentTimes, key: key.clone() }, encode_value(1, &head));
        std::iter::once(head).chain(of.into_iter().map(entry)).collect()
    }

    /// Returns the stored form.
    pub fn encode(&self) -> Bytes {
        let mut before = 0;
        let packed: Vec<(Seq, u32, &Bytes)> = self
            .0
            .iter()
            .map(|event| (event.id.seq - std::mem::replace(&mut before, event.id.seq), event.id.ordinal, &event.value))
            .collect();
        // Long buffers are allocated in one piece. Each step of growth would be new memory, which
        // the system fills with zeros.
        let len = self.0.iter().map(|event| event.value.len() + EVENT_OVERHEAD).sum();
        let packed = encode_within(FORMAT, &packed, len);
        let mut stored = vec![0; BLOCK + block::get_maximum_output_size(packed.len())];
        stored[0] = FORMAT;
        stored[1..BLOCK].copy_from_slice(&u32::try_from(packed.len()).expect("it has few megabytes").to_le_bytes());
        let len =
            block::compress_into(&packed, &mut stored[BLOCK..]).expect("there is room for what can't be compressed");
        stored.truncate(BLOCK + len);
        stored.into()
    }

    /// Returns the events.
    pub fn into_events(self) -> Vec<StoredEvent> {
        self.0
    }

    /// Decodes the stored form.
    ///
    /// # Errors
    /// The bytes cannot be decoded.
    pub fn decode(stored: &[u8]) -> Result<Segment, DecodeError> {
        let odd = |why: String| DecodeError(format!("a segment of events: {why}"));
        let Some((&FORMAT, block)) = stored.split_first() else {
            return Err(odd(format!("format {:?} where {FORMAT} was expected", stored.first())));
        };
        let (len, _) = block::uncompressed_size(block).map_err(|error| odd(error.to_string()))?;
        // One byte of the format stands for at most 255; a damaged length must not allocate memory.
        if len / 255 > block.len() {
            return Err(odd(format!("{len} bytes are said to be in {}", block.len())));
        }
        let packed = block::decompress_size_prepended(block).map_err(|error| odd(error.to_string()))?;
        let packed: Vec<(Seq, u32, Bytes)> = decode_value(FORMAT, &packed)?;
        let mut seq: Seq = 0;
        let events = packed
            .into_iter()
            .map(|(step, ordinal, value)| {
                seq = seq.checked_add(step).ok_or_else(|| odd("a number is too large".to_owned()))?;
                StoredEvent::unpacked(EventId { seq, ordinal }, value)
            })
            .collect::<Result<_, _>>()?;
        Segment::of(events).ok_or_else(|| odd("it has no events, or not in order".to_owned()))
    }

    /// Returns the range in [`Table::SegmentsOf`] that names the segments with a container's events
    /// after a revision, oldest first.
    pub fn range_of(container: Loid, after: u64) -> Option<KeyRange> {
        let next = after.checked_add(1)?;
        Some(KeyRange { from: place_in(container, next), ..KeyRange::prefix(&container.to_key()) })
    }
}

fn place_in(container: Loid, revision: u64) -> Bytes {
    key_of(&[&container.to_key(), &revision.to_be_bytes()])
}

#[cfg(test)]
mod tests {
    use super::super::event::Event;
    use super::*;
    use crate::id::DatabaseId;

    fn logged(seq: Seq, container: Option<u64>, revision: u64, at_ms: u64) -> StoredEvent {
        let event = Event {
            container: container.map(|number| Loid::new(DatabaseId::FIRST, number)),
            revision,
            kind: "drawer.item.add".to_owned(),
            ids: vec!["1$1.0.8".to_owned()],
            user: "editor".to_owned(),
            at_ms,
            session: "s1".to_owned(),
            address: "::1".to_owned(),
            withdrawn: None,
            unseen: None,
            status: None,
            before: None,
        };
        StoredEvent::of(EventId { seq, ordinal: (seq % 3) as u32 }, &event)
    }

    fn segment() -> Segment {
        Segment::of(vec![
            logged(7, Some(1), 4, 900),
            logged(8, None, 0, 100),
            logged(300, Some(2), 1, 300),
            logged(9_000_000_000, Some(1), 5, 200),
        ])
        .expect("they are in order")
    }

    #[test]
    fn a_segment_is_read_as_it_was_written() {
        assert_eq!(Segment::decode(&segment().encode()), Ok(segment()));
    }

    #[test]
    fn its_index_has_its_head_and_the_last_revision_of_each_container() {
        let index = segment().index();
        let head = SegmentHead { last: EventId { seq: 9_000_000_000, ordinal: 0 }, count: 4, from_ms: 100, to_ms: 900 };
        assert_eq!((index[0].0.table, &index[0].0.key), (Table::SegmentTimes, &segment().key()));
        assert_eq!(SegmentHead::read(&index[0].1), Ok(head));
        let of: Vec<_> = index[1..].iter().map(|(key, value)| (key.table, key.key.clone(), value.clone())).collect();
        let entry = |container, last| {
            (Table::SegmentsOf, place_in(Loid::new(DatabaseId::FIRST, container), last), segment().key())
        };
        assert_eq!(of, [entry(1, 5), entry(2, 1)]);
        let range = Segment::range_of(Loid::new(DatabaseId::FIRST, 1), 4).expect("there are revisions after it");
        assert!(range.from <= of[0].1 && range.to.as_ref().is_some_and(|to| of[0].1 < to && *to <= of[1].1));
        assert!(Segment::range_of(Loid::new(DatabaseId::FIRST, 1), u64::MAX).is_none());
    }

    #[test]
    fn events_out_of_order_are_no_segment_and_neither_are_none() {
        assert_eq!(Segment::of(vec![]), None);
        assert_eq!(Segment::of(vec![logged(8, None, 0, 1), logged(7, None, 0, 1)]), None);
        assert_eq!(Segment::of(vec![logged(8, None, 0, 1), logged(8, None, 0, 1)]), None);
    }

    #[test]
    fn damage_is_an_error_and_takes_no_memory() {
        let stored = segment().encode();
        for at in 0..stored.len() {
            let mut damaged = stored.to_vec();
            damaged[at] ^= 0xff;
            // Some damage leaves another segment; none leaves a panic.
            let _ = Segment::decode(&damaged);
            assert!(Segment::decode(&stored[..at]).is_err(), "cut at {at}");
        }
        let mut huge = stored.to_vec();
        huge[1..5].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(Segment::decode(&huge).is_err_and(|error| error.0.contains("4294967295 bytes")));
    }

    #[test]
    fn many_alike_take_little_room() {
        let events: Vec<StoredEvent> =
            (1..=4_096).map(|n| logged(n, Some(n % 50), n / 50, 1_700_000_000_000 + 7 * n)).collect();
        let plain: usize = events.iter().map(|event| event.value.len()).sum();
        let stored = Segment::of(events).expect("in order").encode().len();
        assert!(stored * 4 < plain, "{stored} of {plain} bytes");
    }
}
