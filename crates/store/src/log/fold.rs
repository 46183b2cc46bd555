//! Removes events that are past their retention, some with each checkpoint.

use std::ops::Bound;

use redb::{ReadableTable, WriteTransaction};
use stet_actors::store::{Event, Table, decode_value};

use super::options::StoreOptions;
use super::tables::{self, RedbError, failure};

/// Which events go, and how far that is known. Kept from one checkpoint to the next.
///
/// Events are in order of their numbers, and nearly in order of time. One from the future, whose clock was wrong, says nothing of its
/// age; it is as old as those after it at least. So what is past retention takes all before it along, and one from the future ends
/// nothing.
#[derive(Debug, Default)]
pub(super) struct Trim {
    /// Events up to this key are past their retention.
    old: Option<Vec<u8>>,
    /// Events up to this key have been looked at: they are old, or from the future.
    seen: Option<Vec<u8>>,
}

impl Trim {
    /// Removes the oldest from both tables, so many as the options allow at a time.
    pub fn run(&mut self, options: &StoreOptions, transaction: &WriteTransaction) -> Result<usize, RedbError> {
        let Some(kept_ms) = options.event_retention_ms else { return Ok(0) };
        let (now_ms, most) = (options.clock.now_ms(), options.checkpoint.trim);
        let before_ms = now_ms.saturating_sub(kept_ms);
        let mut events = transaction.open_table(tables::rows(Table::Events)).map_err(failure)?;
        let from = self.seen.clone();
        let from = from.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        for row in events.range::<&[u8]>((from, Bound::Unbounded)).map_err(failure)?.take(most) {
            let (key, value) = row.map_err(failure)?;
            match decode_value::<Event>(1, value.value()) {
                Ok(event) if event.at_ms > now_ms => {}
                Ok(event) if event.at_ms >= before_ms => break,
                // An unreadable event is of no use, and must not keep the later ones from being removed.
                _ => self.old = Some(key.value().to_vec()),
            }
            self.seen = Some(key.value().to_vec());
        }
        let Some(old) = &self.old else { return Ok(0) };
        let mut gone = Vec::new();
        for row in events.range::<&[u8]>(..=&old[..]).map_err(failure)?.take(most) {
            let (key, value) = row.map_err(failure)?;
            gone.push((key.value().to_vec(), decode_value::<Event>(1, value.value()).ok()));
        }
        let mut of = transaction.open_table(tables::rows(Table::EventsOf)).map_err(failure)?;
        for (key, event) in &gone {
            events.remove(&key[..]).map_err(failure)?;
            let Some(place) = event.as_ref().and_then(Event::place_of) else { continue };
            let points_here = of.get(&place[..]).map_err(failure)?.is_some_and(|found| found.value() == &key[..]);
            if points_here {
                of.remove(&place[..]).map_err(failure)?;
            }
        }
        Ok(gone.len())
    }
}
