//! Consistent reads of a container's parts: each part is shown in one state.
//!
//! A part comes from a published view. Its attributes and its bytes are rows of their own. A change
//! may write them in place, and readers see them a moment before the new view. So a reader of such
//! rows checks afterwards that the part's own row is still that of the view. If it is not, the
//! reply is built again from a newer view. Otherwise a text that has not been approved could be
//! shown as the approved part.

use std::sync::Arc;
use std::time::Duration;

use stet_actors::repository::Reader;
use stet_auth::Privilege;
use stet_domain::error::{Code, Error, Result};
use stet_domain::family::{Family, State};
use stet_domain::id::Loid;
use stet_domain::store::Row;
use stet_newsroom::caller::SeenView;
use stet_newsroom::records::CachedRecord;
use stet_web::call::Call;

/// The largest number of attempts to build a reply.
const TRIES: usize = 500;

/// The number of consecutive failures after which a part counts as removed, although it is still
/// found at its place.
const MISSING: usize = 5;

/// The wait for a view whose rows are visible already.
const PAUSE: Duration = Duration::from_millis(2);

/// The reason why a reply could not be built.
#[derive(Debug)]
pub enum UnsettledReply {
    /// A part has changed since the view was published.
    Changed,
    /// A permanent failure.
    Failed(Error),
}

impl From<Error> for UnsettledReply {
    fn from(error: Error) -> UnsettledReply {
        UnsettledReply::Failed(error)
    }
}

/// A container in the state of a view, with the caller's rights in it.
pub trait OpenContainer: Sized {
    /// The family of the container.
    type Family: Family;

    /// The noun for a part of it in messages, such as `post`.
    const PART_NOUN: &'static str;

    /// Opens the container in the state `view` for the caller.
    ///
    /// # Errors
    /// Errors of the store.
    fn of(call: &Call, view: SeenView<Self::Family>) -> Result<Self>;

    /// Returns the view.
    fn view(&self) -> &SeenView<Self::Family>;
}

/// Returns what `read` finds in rows beside a part, if they belong to the state `part`. Every
/// change of the part must raise its `revision`.
///
/// # Errors
/// [`UnsettledReply::Changed`] if the part's row has changed; errors of `read` and the store.
pub fn read_beside<R: Row, T>(
    repository: &Reader,
    part: &R,
    revision: impl Fn(&R) -> u64,
    read: impl FnOnce() -> Result<T>,
) -> Result<T, UnsettledReply> {
    let read = read();
    let place = part.place();
    let there: Option<R> = repository.row(place.table, &place.key)?;
    // The row was that of the view, or a newer one, when `read` began.
    if there.is_none_or(|there| revision(&there) != revision(part)) {
        return Err(UnsettledReply::Changed);
    }
    Ok(read?)
}

/// Returns the record of an object that a view shows; `None` if the caller may not read it.
///
/// The change that removes an object also hides it in the containers that hold it. So a view that
/// still shows a removed object is of the past. Leaving the object out would show a state that
/// never was, if the container was changed between the view and the removal.
///
/// # Errors
/// [`UnsettledReply::Changed`] if the object was removed or is in the recycle bin; errors of the
/// store.
pub fn readable_in_view(call: &Call, object: Loid) -> Result<Option<Arc<CachedRecord>>, UnsettledReply> {
    let cached = call.app.records.get(&call.app.repository, object)?.ok_or(UnsettledReply::Changed)?;
    Ok(call.access().may(Privilege::Read, &cached)?.then_some(cached))
}

/// Builds a reply about a container with `make`, and again from a newer view whenever a part has
/// changed in between.
///
/// # Errors
/// Errors of `make`; `Overloaded` if the container changes all the time; `ObjectNotFound` if it no
/// longer exists.
pub async fn build_settled<O: OpenContainer, T>(
    call: &Call,
    mut open: O,
    make: impl AsyncFn(&O) -> Result<T, UnsettledReply>,
) -> Result<T> {
    let loid = open.view().state.object().record.loid;
    let again = async || O::of(call, call.view_of::<O::Family>(loid).await?);
    for _ in 0..TRIES {
        match make(&open).await {
            Ok(made) => return Ok(made),
            Err(UnsettledReply::Failed(error)) => return Err(error),
            Err(UnsettledReply::Changed) => {}
        }
        let before = open.view().revision();
        open = again().await?;
        if open.view().revision() == before {
            tokio::time::sleep(PAUSE).await;
            open = again().await?;
        }
    }
    let message = format!("The {}s of `{loid}` keep changing; try again.", O::PART_NOUN);
    Err(Error::new(Code::Overloaded, message).with_source(loid))
}

/// Changes parts at the places that `find` returns. If others move them elsewhere before the change
/// has its turns, it is repeated at their new places.
///
/// # Errors
/// Errors of `find` and `change`.
pub async fn change_in_place<P: PartialEq + Clone, T>(
    find: impl AsyncFn() -> Result<P>,
    change: impl AsyncFn(P) -> Result<T>,
) -> Result<T> {
    let mut place = find().await?;
    // A part may have been moved away and back. So a part that is found at the same place again
    // gets another attempt, and counts as removed only after several consecutive failures.
    let mut missing = 0;
    for _ in 0..TRIES {
        let error = match change(place.clone()).await {
            Err(error) if error.code == Code::ObjectNotFound => error,
            done => return done,
        };
        let now = find().await?;
        missing = if now == place { missing + 1 } else { 0 };
        if missing == MISSING {
            return Err(error);
        }
        place = now;
    }
    Err(Error::new(Code::Overloaded, "The objects to change keep being moved; try again."))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use serde::{Deserialize, Serialize};
    use stet_actors::repository::Repository;
    use stet_actors::runtime::RuntimeOptions;
    use stet_domain::clock::SystemClock;
    use stet_domain::store::memory::MemoryStore;
    use stet_domain::store::{ChangeSet, RowChange, RowPlace, Store, Table, encode_value};

    use super::*;

    /// A part that consists of its revision.
    #[derive(Debug, Clone, Serialize, Deserialize)]
    struct Part(u64);

    impl Row for Part {
        fn place(&self) -> RowPlace {
            RowPlace { table: Table::Parts, key: Bytes::from_static(b"part") }
        }
    }

    #[actix_web::test]
    async fn parts_that_change_during_a_read_are_not_shown() {
        let store = Arc::new(MemoryStore::new());
        let started = Repository::start(store.clone(), Arc::new(SystemClock), RuntimeOptions::default()).await;
        let repository = started.expect("a repository starts");
        let put = |part: Option<Part>| {
            let RowPlace { table, key } = Part(0).place();
            let mut set = ChangeSet::fence(store.epoch(), |_| ());
            set.changes.push(RowChange { table, key, value: part.map(|part| encode_value(Part::FORMAT, &part)) });
            store.submit(set).expect("it is taken");
        };
        let shown_of = |revision, read: &dyn Fn() -> Result<&'static str>| {
            read_beside(&repository, &Part(revision), |part| part.0, read)
        };
        put(Some(Part(5)));
        let shown = shown_of(5, &|| Ok("as it was"));
        assert!(matches!(shown, Ok("as it was")), "{shown:?}");
        // The other part has not been approved, but a reader would take it for the approved one.
        for then in [Some(Part(6)), None] {
            put(Some(Part(5)));
            let read = || {
                put(then.clone());
                Ok("another")
            };
            let shown = shown_of(5, &read);
            assert!(matches!(shown, Err(UnsettledReply::Changed)), "{shown:?}");
        }
        // Rows are visible before the view.
        put(Some(Part(6)));
        let shown = shown_of(5, &|| Ok("another"));
        assert!(matches!(shown, Err(UnsettledReply::Changed)), "{shown:?}");
        // A read that fails because the part was removed is no failure.
        put(None);
        let shown = shown_of(5, &|| Err(Error::internal()));
        assert!(matches!(shown, Err(UnsettledReply::Changed)), "{shown:?}");
    }
}
