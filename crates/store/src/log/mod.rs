//! The log of events, by commit.
//!
//! - An event goes to the journal with the change set that it belongs to, and into memory at the
//!   commit ([`Tail`]).
//! - A checkpoint takes it to the tables ([`mod@fold`]): as a row of
//!   [`Table::Events`](stet_actors::store::Table), until there are enough of them or the first is
//!   old enough; then they are packed into a [`Segment`](stet_actors::store::Segment), one row for
//!   thousands.
//! - A segment goes when all in it is past its retention. A checkpoint is made for that alone if
//!   nothing changes.
//!
//! Memory always has all events that are in no segment, and beyond them the last [`RECENT_BYTES`].
//! So readers (`read`) look there first, which is all that followers need as a rule, and then into
//! segments; nobody reads the rows but a start.

use stet_actors::store::Logged;

mod fold;
mod read;
mod tail;

pub(super) use self::fold::{Folded, Packing, Trim, fold, is_past, newest_ms, unpacked};
pub(super) use self::read::Opened;
pub(super) use self::tail::Tail;

/// Bytes that an event takes in memory beside its stored form: what it is found by, and what an
/// allocation has more than is asked for.
const EVENT_OVERHEAD: usize = 256;

/// What an event takes in memory.
pub(super) fn weight(event: &Logged) -> usize {
    event.value.len() + EVENT_OVERHEAD
}

/// Bytes of events that stay in memory after they have gone to a segment, for followers that are a
/// little behind.
const RECENT_BYTES: usize = 8 << 20;

/// Events that a passage has at most. It is read whole, however few of them are wanted.
const PASSAGE: usize = 500;

/// Bytes of events, before they are packed, after which a segment is full. More compress little
/// better, and one is read whole.
const SEGMENT_BYTES: usize = 1 << 20;
