//! Removes events that are past their retention, some with each checkpoint.

use redb::{ReadableTable, WriteTransaction};
use stet_actors::store::{Event, Table, decode_value, key_of};

use super::options::StoreOptions;
use super::tables::{self, RedbError, failure};

/// Which events go.
pub(super) struct Trim {
    /// Those older than this; `None` keeps them all.
    before_ms: Option<u64>,
    /// At most so many at a time.
    most: usize,
}

impl Trim {
    /// What the options and the clock say now.
    pub fn new(options: &StoreOptions) -> Trim {
        let before_ms = options.event_retention_ms.map(|kept| options.clock.now_ms().saturating_sub(kept));
        Trim { before_ms, most: options.checkpoint.trim }
    }

    /// Removes the oldest, from both tables. They are in order of time, nearly: the first that is young enough ends it.
    pub fn run(&self, transaction: &WriteTransaction) -> Result<usize, RedbError> {
        let Some(before_ms) = self.before_ms else { return Ok(0) };
        let mut events = transaction.open_table(tables::rows(Table::Events)).map_err(failure)?;
        let mut old = Vec::new();
        for row in events.iter().map_err(failure)?.take(self.most) {
            let (key, value) = row.map_err(failure)?;
            let event = decode_value::<Event>(1, value.value());
            if event.as_ref().is_ok_and(|event| event.at_ms >= before_ms) {
                break;
            }
            // An unreadable event is of no use, and must not keep the later ones from being removed.
            old.push((key.value().to_vec(), event.ok()));
        }
        let mut of = transaction.open_table(tables::rows(Table::EventsOf)).map_err(failure)?;
        for (key, event) in &old {
            events.remove(&key[..]).map_err(failure)?;
            let Some(event) = event else { continue };
            let place = key_of(&[&event.container.to_key(), &event.revision.to_be_bytes()]);
            let points_here = of.get(&place[..]).map_err(failure)?.is_some_and(|found| found.value() == &key[..]);
            if points_here {
                of.remove(&place[..]).map_err(failure)?;
            }
        }
        Ok(old.len())
    }
}
