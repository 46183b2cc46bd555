//! The event log of the store.
//!
//! - An event is written to the journal with its change set, and added to memory at the commit
//!   ([`EventTail`]).
//! - A checkpoint writes it to the tables ([`mod@fold`]) as a row of
//!   [`Table::Events`](stet_domain::store::Table). Once there are enough of these, or the first is
//!   old enough, they are packed into a [`Segment`](stet_domain::store::Segment): one row for
//!   thousands of events.
//! - A segment is removed when all its events are past their retention. If nothing else changes, a
//!   checkpoint runs for that alone.
//!
//! Memory always has all events that are in no segment, and in addition the last [`RECENT_BYTES`].
//! So readers (`read`) look there first, which is usually enough for followers, and then into
//! segments. The rows are read only at the start.

use stet_domain::store::StoredEvent;

mod fold;
mod read;
mod tail;

pub(super) use self::fold::{EventFoldResult, PackingRules, SegmentTrimmer, fold, is_past, newest_ms, unpacked_events};
pub(super) use self::read::SegmentCache;
pub(super) use self::tail::EventTail;

/// The memory in bytes that an event takes beside its stored form: its index entry, and the
/// overhead of the allocation.
const EVENT_OVERHEAD: usize = 256;

/// Returns the memory in bytes that an event takes.
pub(super) fn weight(event: &StoredEvent) -> usize {
    event.value.len() + EVENT_OVERHEAD
}

/// The size in bytes of the packed events that stay in memory, for followers that are a little
/// behind.
const RECENT_BYTES: usize = 8 << 20;

/// The maximum number of events in a passage. It is read as a whole, however few of them are
/// wanted.
const PASSAGE: usize = 500;

/// The size in bytes of a segment's events, before compression, at which it is full. Larger
/// segments would compress little better, and each is read as a whole.
const SEGMENT_BYTES: usize = 1 << 20;
