//! The events in a checkpoint: storage as rows, packing into segments, and removal after the
//! retention.

use std::ops::Bound;

use bytes::Bytes;
use redb::{Database, ReadableDatabase, ReadableTable, ReadableTableMetadata, WriteTransaction};
use stet_domain::ends::{ExpiryClock, ExpiryTime};
use stet_domain::store::{EventId, RowPlace, Segment, SegmentHead, StoredEvent, Table};

use super::{EventTail, SEGMENT_BYTES};
use crate::options::StoreOptions;
use crate::tables::{self, FOLDED, META, RedbError, failure};

/// The conditions under which events are packed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PackingRules {
    /// The maximum number of events in a segment.
    pub events: usize,
    /// The maximum size of a segment's events in bytes of their stored forms; a single event may be
    /// larger.
    pub bytes: usize,
    /// The maximum time between the first event of a segment and any other, in milliseconds, and
    /// the maximum time that an event stays without a segment. So an event is removed at most that
    /// long after its retention.
    pub span_ms: u64,
    /// The present time, epoch milliseconds.
    pub now_ms: u64,
}

impl PackingRules {
    /// Returns the conditions that the options set.
    pub fn of(options: &StoreOptions) -> PackingRules {
        let checkpoint = &options.checkpoint;
        PackingRules {
            events: checkpoint.segment_events.max(1),
            bytes: SEGMENT_BYTES,
            span_ms: checkpoint.segment_span_ms,
            now_ms: options.clock.now_ms(),
        }
    }

    fn are_due(&self, count: usize, bytes: usize, first_ms: Option<u64>) -> bool {
        count >= self.events
            || bytes >= self.bytes
            || first_ms.is_some_and(|first| self.now_ms.saturating_sub(first) >= self.span_ms)
    }
}

/// The outcome of a checkpoint for events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct EventFoldResult {
    /// The number of removed events.
    pub trimmed: usize,
    /// The last event that is in a segment, or was in a removed one.
    pub packed: Option<EventId>,
    /// The last removed event.
    pub removed: Option<EventId>,
}

/// Stores events, of which the tables may already have some: a failed checkpoint is repeated,
/// whatever its outcome was.
pub(crate) fn fold(
    transaction: &WriteTransaction,
    events: Vec<StoredEvent>,
    packing: &PackingRules,
) -> Result<(), RedbError> {
    let meta = transaction.open_table(META).map_err(failure)?;
    let folded = meta.get(FOLDED).map_err(failure)?.map_or(0, |seq| seq.value());
    drop(meta);
    let known = events.partition_point(|event| event.id.seq <= folded);
    let events = &events[known..];
    let mut rows = transaction.open_table(tables::rows(Table::Events)).map_err(failure)?;
    let mut count = usize::try_from(rows.len().map_err(failure)?).unwrap_or(usize::MAX);
    let (mut bytes, mut first_ms) = (0, events.first().map(|event| event.at_ms));
    if count < packing.events {
        for (place, row) in rows.iter().map_err(failure)?.enumerate() {
            let (key, value) = row.map_err(failure)?;
            bytes += value.value().len();
            if place == 0 {
                first_ms = decode_event(key.value(), value.value()).map_or(first_ms, |event| Some(event.at_ms));
            }
        }
    }
    count = count.saturating_add(events.len());
    bytes += events.iter().map(|event| event.value.len()).sum::<usize>();
    if packing.are_due(count, bytes, first_ms) {
        drop(rows);
        return pack(transaction, events, packing);
    }
    for event in events {
        rows.insert(&event.id.to_key()[..], &event.value[..]).map_err(failure)?;
    }
    Ok(())
}

/// Packs the stored rows and the given events after them into segments. Events that do not fill a
/// segment remain rows, unless they are too old for that.
pub(crate) fn pack(
    transaction: &WriteTransaction,
    events: &[StoredEvent],
    packing: &PackingRules,
) -> Result<(), RedbError> {
    let mut packer = Packer {
        packing,
        last: None,
        waiting: Vec::with_capacity(events.len().min(packing.events)),
        bytes: 0,
        segments: transaction.open_table(tables::rows(Table::EventSegments)).map_err(failure)?,
        times: transaction.open_table(tables::rows(Table::SegmentTimes)).map_err(failure)?,
        of: transaction.open_table(tables::rows(Table::SegmentsOf)).map_err(failure)?,
    };
    let rows = transaction.open_table(tables::rows(Table::Events)).map_err(failure)?;
    for row in rows.iter().map_err(failure)? {
        let (key, value) = row.map_err(failure)?;
        // An unreadable event is of no use.
        if let Some(event) = decode_event(key.value(), value.value()) {
            packer.push(event)?;
        }
    }
    drop(rows);
    for event in events {
        packer.push(event.clone())?;
    }
    let rest = packer.rest()?;
    // Deleting the table is quicker than removing the rows one by one.
    transaction.delete_table(tables::rows(Table::Events)).map_err(failure)?;
    let mut rows = transaction.open_table(tables::rows(Table::Events)).map_err(failure)?;
    for event in rest {
        rows.insert(&event.id.to_key()[..], &event.value[..]).map_err(failure)?;
    }
    Ok(())
}

fn decode_event(key: &[u8], value: &[u8]) -> Option<StoredEvent> {
    let event = EventId::from_key(key).and_then(|id| StoredEvent::read(id, Bytes::copy_from_slice(value)).ok());
    if event.is_none() {
        tracing::warn!(key = %key.escape_ascii(), "cannot decode an event; skipped it");
    }
    event
}

/// A builder of segments from events in order.
struct Packer<'a> {
    packing: &'a PackingRules,
    last: Option<EventId>,
    waiting: Vec<StoredEvent>,
    bytes: usize,
    segments: WritableRows<'a>,
    times: WritableRows<'a>,
    of: WritableRows<'a>,
}

type WritableRows<'a> = redb::Table<'a, &'static [u8], &'static [u8]>;

impl Packer<'_> {
    fn push(&mut self, event: StoredEvent) -> Result<(), RedbError> {
        // An error here would be permanent: the checkpoint would fail each time for the same events
        // in memory.
        if self.last.is_some_and(|last| event.id <= last) {
            tracing::error!(id = ?event.id, "an event is out of order; skipped it");
            return Ok(());
        }
        self.last = Some(event.id);
        let len = event.value.len();
        let apart = |first: &StoredEvent| event.at_ms.saturating_sub(first.at_ms) >= self.packing.span_ms;
        let fits = self.bytes.saturating_add(len) <= self.packing.bytes && !self.waiting.first().is_some_and(apart);
        if !fits {
            self.close()?;
        }
        self.waiting.push(event);
        self.bytes += len;
        if self.waiting.len() >= self.packing.events { self.close() } else { Ok(()) }
    }

    fn close(&mut self) -> Result<(), RedbError> {
        self.bytes = 0;
        if self.waiting.is_empty() {
            return Ok(());
        }
        let odd = || failure(redb::Error::Corrupted("events are not in order".to_owned()));
        let segment = Segment::of(std::mem::take(&mut self.waiting)).ok_or_else(odd)?;
        self.segments.insert(&segment.key()[..], &segment.encode()[..]).map_err(failure)?;
        for (RowPlace { table, key }, value) in segment.index() {
            let index = if table == Table::SegmentTimes { &mut self.times } else { &mut self.of };
            index.insert(&key[..], &value[..]).map_err(failure)?;
        }
        // The buffer is reused, since the next segment needs as much room.
        self.waiting = segment.into_events();
        self.waiting.clear();
        Ok(())
    }

    /// Returns the events that remain rows.
    fn rest(mut self) -> Result<Vec<StoredEvent>, RedbError> {
        if self.packing.are_due(self.waiting.len(), self.bytes, self.waiting.first().map(|event| event.at_ms)) {
            self.close()?;
        }
        Ok(self.waiting)
    }
}

/// The search for segments past their retention, with its progress. It is kept between checkpoints.
///
/// Events are ordered by number, and nearly by time. A segment with an event from the future,
/// written while the clock was wrong, has no reliable age; it is at least as old as later segments.
/// So a segment past retention is removed with all before it, and one from the future does not stop
/// the search.
#[derive(Debug, Default)]
pub(crate) struct SegmentTrimmer {
    /// The key up to which segments are past their retention.
    old: Option<Vec<u8>>,
    /// The key up to which segments have been examined: they are old, or from the future.
    seen: Option<Vec<u8>>,
}

impl SegmentTrimmer {
    /// Removes the oldest segments: those with the number of events that the options allow at a
    /// time, and one more.
    pub fn run(
        &mut self,
        options: &StoreOptions,
        ends: &ExpiryClock,
        transaction: &WriteTransaction,
    ) -> Result<EventFoldResult, RedbError> {
        let mut times = transaction.open_table(tables::rows(Table::SegmentTimes)).map_err(failure)?;
        let mut folded = EventFoldResult { packed: last_of(&times)?, ..EventFoldResult::default() };
        if let Some(kept_ms) = options.event_retention_ms
            && let Some(now) = ends.now()
        {
            let (now_ms, most) = (now.ms(), options.checkpoint.trim);
            self.look(&times, (now_ms.saturating_sub(kept_ms), now_ms), most)?;
            let mut gone = Vec::new();
            if let Some(old) = &self.old {
                for row in times.range::<&[u8]>(..=&old[..]).map_err(failure)? {
                    if folded.trimmed >= most {
                        break;
                    }
                    let (key, head) = row.map_err(failure)?;
                    folded.trimmed += count_of(head.value());
                    folded.removed = SegmentHead::read(head.value()).map_or(folded.removed, |head| Some(head.last));
                    gone.push(key.value().to_vec());
                }
            }
            for key in gone {
                times.remove(&key[..]).map_err(failure)?;
                remove(transaction, &key)?;
            }
        }
        Ok(folded)
    }

    fn look(
        &mut self,
        times: &impl SegmentHeadTable,
        (before_ms, now_ms): (u64, u64),
        most: usize,
    ) -> Result<(), RedbError> {
        let from = self.seen.clone();
        let from = from.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let mut looked = 0;
        for row in times.range::<&[u8]>((from, Bound::Unbounded)).map_err(failure)? {
            let (key, head) = row.map_err(failure)?;
            match SegmentHead::read(head.value()) {
                Ok(head) if head.to_ms > now_ms => {}
                Ok(head) if head.to_ms >= before_ms => break,
                // An unreadable segment is of no use, and must not keep later ones from being
                // removed.
                _ => self.old = Some(key.value().to_vec()),
            }
            self.seen = Some(key.value().to_vec());
            looked += count_of(head.value());
            if looked >= most {
                break;
            }
        }
        Ok(())
    }
}

/// The table of segments' heads.
trait SegmentHeadTable: ReadableTable<&'static [u8], &'static [u8]> {}
impl<T: ReadableTable<&'static [u8], &'static [u8]>> SegmentHeadTable for T {}

/// Returns the last event that is in a segment.
fn last_of(times: &impl SegmentHeadTable) -> Result<Option<EventId>, RedbError> {
    let last = times.last().map_err(failure)?;
    Ok(last.and_then(|(_, head)| Some(SegmentHead::read(head.value()).ok()?.last)))
}

fn count_of(head: &[u8]) -> usize {
    SegmentHead::read(head).map_or(1, |head| head.count as usize)
}

/// Removes a segment and its index entries by container.
fn remove(transaction: &WriteTransaction, key: &[u8]) -> Result<(), RedbError> {
    let mut segments = transaction.open_table(tables::rows(Table::EventSegments)).map_err(failure)?;
    let Some(value) = segments.remove(key).map_err(failure)? else { return Ok(()) };
    let Ok(segment) = Segment::decode(value.value()) else { return Ok(()) };
    let mut of = transaction.open_table(tables::rows(Table::SegmentsOf)).map_err(failure)?;
    for (entry, _) in segment.index().into_iter().filter(|(entry, _)| entry.table == Table::SegmentsOf) {
        of.remove(&entry.key[..]).map_err(failure)?;
    }
    Ok(())
}

/// Reports whether a checkpoint without rows would pack events because of their age, or remove some
/// past their retention.
pub(crate) fn is_past(db: &Database, options: &StoreOptions, ends: &ExpiryClock) -> Result<bool, RedbError> {
    let transaction = db.begin_read().map_err(failure)?;
    let rows = transaction.open_table(tables::rows(Table::Events)).map_err(failure)?;
    let first = rows.first().map_err(failure)?;
    let first = first.and_then(|(key, value)| decode_event(key.value(), value.value()));
    if first.is_some_and(|first| PackingRules::of(options).are_due(0, 0, Some(first.at_ms))) {
        return Ok(true);
    }
    let Some(kept_ms) = options.event_retention_ms else { return Ok(false) };
    let Some(now_ms) = ends.now().map(ExpiryTime::ms) else { return Ok(false) };
    let times = transaction.open_table(tables::rows(Table::SegmentTimes)).map_err(failure)?;
    for row in times.iter().map_err(failure)? {
        match SegmentHead::read(row.map_err(failure)?.1.value()) {
            // The segment is from the future; those after it may be old.
            Ok(head) if head.to_ms > now_ms => {}
            Ok(head) => return Ok(head.to_ms < now_ms.saturating_sub(kept_ms)),
            Err(_) => return Ok(true),
        }
    }
    Ok(false)
}

/// Returns the time of the newest event. It is in memory, which has all events without a segment,
/// or in the last segment.
pub(crate) fn newest_ms(db: &Database, tail: &EventTail) -> Result<Option<u64>, RedbError> {
    if let Some(newest_ms) = tail.newest_ms() {
        return Ok(Some(newest_ms));
    }
    let transaction = db.begin_read().map_err(failure)?;
    let times = transaction.open_table(tables::rows(Table::SegmentTimes)).map_err(failure)?;
    let last = times.last().map_err(failure)?;
    Ok(last.and_then(|(_, head)| Some(SegmentHead::read(head.value()).ok()?.to_ms)))
}

/// Returns the events stored as rows, oldest first, and the last event in a segment. Memory begins
/// with these.
pub(crate) fn unpacked_events(db: &Database) -> Result<(Vec<StoredEvent>, Option<EventId>), RedbError> {
    let transaction = db.begin_read().map_err(failure)?;
    let rows = transaction.open_table(tables::rows(Table::Events)).map_err(failure)?;
    let mut events = Vec::new();
    for row in rows.iter().map_err(failure)? {
        let (key, value) = row.map_err(failure)?;
        events.extend(decode_event(key.value(), value.value()));
    }
    let times = transaction.open_table(tables::rows(Table::SegmentTimes)).map_err(failure)?;
    Ok((events, last_of(&times)?))
}
