//! The past of containers, from the former rows in their events ([`stet_domain::history`]).

use std::sync::Arc;

use super::Reader;
use crate::runtime::{ContainerView, ReadingRoom, overloaded_error, read_object, store_failure};
use stet_domain::error::{Code, Error, Result};
use stet_domain::family::Family;
use stet_domain::history::{ContainerRows, former_rows};
use stet_domain::id::Loid;
use stet_domain::object::Record;
use stet_domain::store::{BatchRoom, Event, EventLog, ResumeRequest, StoreError};

/// The number of changes that a read goes back at most. A thread is busy with them for about a
/// second.
pub const MOST_CHANGES_BACK: u64 = 200_000;

/// The events that are in memory at a time during a read.
const BATCH: BatchRoom = BatchRoom::of(1_000, 4 << 20);

/// A moment in the past of a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PastMoment {
    /// After the change that led to this revision.
    Revision(u64),
    /// At this time, in epoch milliseconds.
    Time(u64),
}

/// A container as it was. The room counts its memory as long as it is used.
pub struct PastView<F: Family> {
    /// The view.
    pub view: Arc<ContainerView<F::State>>,
    /// The room in memory.
    pub room: Arc<ReadingRoom>,
}

impl Reader {
    /// Returns a container as it was at a moment. Others' objects that it shows are those of today.
    /// It takes a thread for as long as the changes since take; the caller bounds how many run.
    ///
    /// # Errors
    /// `ObjectNotFound` for a container that is gone, and for a moment before its history;
    /// `InvalidParameter` for a revision to come; `TooLarge` for more than [`MOST_CHANGES_BACK`];
    /// `Overloaded`.
    pub async fn view_at<F: Family>(&self, container: Loid, moment: PastMoment) -> Result<PastView<F>> {
        let record = self.record(container)?.ok_or_else(|| Error::not_found(container))?;
        let services = self.registry.shared();
        let room = services.memory.reserve(record.container_bytes).await;
        let room = Arc::new(room.ok_or_else(|| overloaded_error("The memory for containers is used up"))?);
        let store = services.store.clone();
        let look = store.clone();
        let read =
            move || ContainerRows::read(&*look, container).map_err(failure)?.ok_or_else(|| Error::not_found(container));
        let mut rows = aside(read).await?;
        // Rows are a moment ahead of the log, which must have the changes that they show.
        self.views_agree().await;
        let read = move || {
            let revision = match moment {
                PastMoment::Revision(revision) => revision,
                PastMoment::Time(at_ms) => revision_at(&*store, &rows.record().map_err(failure)?, at_ms)?,
            };
            take_back_to(&*store, &mut rows, revision)?;
            read_object::<F>(&rows, container).map_err(failure)?.ok_or_else(|| Error::not_found(container))
        };
        let state = aside(read).await?;
        Ok(PastView { view: Arc::new(ContainerView { state }), room })
    }

    /// Returns at most `limit` of a container's events after a revision, oldest first.
    ///
    /// # Errors
    /// Errors of the store; `Overloaded`.
    pub async fn events_after(&self, container: Loid, after: u64, limit: usize) -> Result<Vec<Event>> {
        let store = self.registry.shared().store.clone();
        let room = BatchRoom::of(limit, BATCH_BYTES);
        aside(move || {
            let (events, _) = store.events_of(&ResumeRequest { container, after, room }).map_err(failure)?;
            Ok(events)
        })
        .await
    }
}

/// The bytes of events that [`Reader::events_after`] returns at most.
const BATCH_BYTES: usize = 4 << 20;

/// Runs a read on a blocking thread.
async fn aside<T: Send + 'static>(read: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(read).await.map_err(|error| {
        tracing::error!(%error, "a read of the past has failed");
        Error::internal()
    })?
}

/// Takes the rows of a container back to a revision.
fn take_back_to(log: &dyn EventLog, rows: &mut ContainerRows, revision: u64) -> Result<()> {
    let Record { loid: container, revision: present, .. } = rows.record().map_err(failure)?;
    if revision > present {
        return Err(Error::parameter("at", revision, &format!("at most the present revision, {present}")));
    }
    if present - revision > MOST_CHANGES_BACK {
        let message = format!("`{container}` has had more than {MOST_CHANGES_BACK} changes since revision {revision}.");
        return Err(Error::new(Code::TooLarge, message).with_detail("limit", MOST_CHANGES_BACK));
    }
    let own = events_of(log, container, revision.saturating_sub(1), BatchRoom::of(1, BATCH_BYTES))?.0;
    let own = own.into_iter().find(|event| event.revision == revision);
    let mut reached = revision;
    loop {
        let (events, more) = events_of(log, container, reached, BATCH)?;
        for event in events {
            let former = former_rows(&event).map_err(|error| failure(error.into()))?;
            let Some(former) = former.filter(|_| event.revision == reached + 1) else {
                return Err(before_history(container, revision, event.revision));
            };
            rows.take_back(former);
            reached = event.revision;
        }
        if !more {
            break;
        }
    }
    if reached < present {
        return Err(before_history(container, revision, present));
    }
    rows.stamp(revision, own.as_ref()).map_err(failure)
}

/// Returns the revision of a container at a time: that of the last change until then. Times of
/// changes ascend, unless the clock was set back.
fn revision_at(log: &dyn EventLog, record: &Record, at_ms: u64) -> Result<u64> {
    let container = record.loid;
    if at_ms < record.created * 1000 {
        let message = format!("`{container}` did not exist yet at that time.");
        return Err(Error::new(Code::ObjectNotFound, message).with_source(container).with_detail("at", at_ms));
    }
    let first_from = |revision: u64| -> Result<Option<Event>> {
        let (events, _) = events_of(log, container, revision.saturating_sub(1), BatchRoom::of(1, BATCH_BYTES))?;
        Ok(events.into_iter().next())
    };
    // The first revision is that of the creation. The change to `low` was made by then, and that to
    // `high` was not.
    let (mut low, mut high) = (1, record.revision + 1);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        // The oldest events are removed in time. Those that are left are without a gap.
        match first_from(middle)? {
            Some(event) if event.at_ms > at_ms => high = if event.revision == middle { middle } else { low + 1 },
            Some(event) => low = event.revision,
            None => high = low + 1,
        }
    }
    let is_known = match low {
        1 => record.revision == 1 || first_from(2)?.is_some_and(|event| event.revision == 2 && event.at_ms > at_ms),
        low => first_from(low)?.is_some_and(|event| event.revision == low),
    };
    if is_known {
        return Ok(low);
    }
    // Its events may all be gone.
    if at_ms / 1000 > record.modified {
        return Ok(record.revision);
    }
    let message = format!("The history of `{container}` does not reach back to that time.");
    Err(Error::new(Code::ObjectNotFound, message).with_source(container).with_detail("at", at_ms))
}

fn events_of(log: &dyn EventLog, container: Loid, after: u64, room: BatchRoom) -> Result<(Vec<Event>, bool)> {
    log.events_of(&ResumeRequest { container, after, room }).map_err(failure)
}

/// The error for a revision that can't be reached, because `first` is the first whose former rows
/// are missing.
fn before_history(container: Loid, revision: u64, first: u64) -> Error {
    let message = format!("The history of `{container}` does not reach back to revision {revision}.");
    Error::new(Code::ObjectNotFound, message).with_source(container).with_detail("missing", first)
}

fn failure(error: StoreError) -> Error {
    tracing::error!(%error, "the past of a container can't be read");
    store_failure(&error)
}

#[cfg(test)]
mod tests {
    use stet_domain::command::CallerIdentity;
    use stet_domain::id::DatabaseId;
    use stet_domain::object::FamilyKind;
    use stet_domain::store::memory::MemoryStore;
    use stet_domain::store::{ChangeSet, Store};

    use super::*;

    const DRAWER: Loid = Loid::new(DatabaseId::FIRST, 9);

    /// Returns a log with the events of these revisions, each a second after the one before, and
    /// the record of a drawer that was created at second 0 and is at the last of the revisions.
    fn log(revisions: impl IntoIterator<Item = u64>, present: u64) -> (MemoryStore, Record) {
        let store = MemoryStore::new();
        let mut set = ChangeSet::fence(store.epoch(), |_| ());
        for revision in revisions {
            let event = CallerIdentity::operator().deed("drawer.item.add", Vec::new(), revision * 1_000);
            set.events.push(Event { container: Some(DRAWER), revision, ..event });
        }
        store.submit(set).expect("it is taken");
        let record = Record::new(DRAWER, "d", "Drawer", FamilyKind::Drawer, &"ada".into(), 500);
        (store, Record { revision: present, modified: present, created: 0, ..record })
    }

    #[test]
    fn a_time_means_the_last_change_until_then() {
        let (log, record) = log(2..=9, 9);
        for (at_ms, revision) in
            [(500, 1), (1_999, 1), (2_000, 2), (2_500, 2), (8_999, 8), (9_000, 9), (10_000, 9), (u64::MAX, 9)]
        {
            assert_eq!(revision_at(&log, &record, at_ms), Ok(revision), "{at_ms}");
        }
    }

    #[test]
    fn a_time_from_which_no_event_is_left_is_not_known() {
        let (events, record) = log(5..=9, 9);
        let at = |at_ms| revision_at(&events, &record, at_ms).map_err(|error| error.code);
        assert_eq!((at(5_000), at(7_500), at(20_000)), (Ok(5), Ok(7), Ok(9)));
        assert_eq!((at(4_999), at(1_000)), (Err(Code::ObjectNotFound), Err(Code::ObjectNotFound)));
        // A drawer that has not been changed for long is as it was after its last change.
        let (events, record) = log([], 9);
        assert_eq!(revision_at(&events, &record, 10_000), Ok(9));
        assert_eq!(revision_at(&events, &record, 8_000).map_err(|error| error.code), Err(Code::ObjectNotFound));
        let (events, record) = log([], 1);
        assert_eq!(revision_at(&events, &record, 8_000), Ok(1));
    }

    #[test]
    fn a_time_before_the_creation_is_refused() {
        let (log, record) = log(2..=3, 3);
        let late = Record { created: 2, ..record };
        assert_eq!(revision_at(&log, &late, 1_999).map_err(|error| error.code), Err(Code::ObjectNotFound));
    }
}
