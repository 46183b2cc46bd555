//! What is shown of a part of a container is one state of it.
//!
//! A part comes from a published view. Its attributes and its bytes are rows of their own, which a
//! change may write in place, and which readers see a moment before the view that goes with them.
//! So who has read such rows looks whether the part's own row is still that of the view; if it is
//! not, the reply is made again from a newer view. Otherwise a text that nobody has approved yet
//! could be shown as the part that was.

use std::time::Duration;

use stet_actors::error::{Code, Error, Result};
use stet_actors::family::{Family, State};
use stet_actors::repository::Reader;
use stet_actors::store::Row;

use crate::http::call::Call;
use crate::http::change::SeenView;

/// How often a reply is made at most.
const TRIES: usize = 500;

/// How often in a row a part that is found is missing when it is to be changed, until it counts as
/// gone.
const MISSING: usize = 5;

/// How long a view is waited for whose rows are there already.
const PAUSE: Duration = Duration::from_millis(2);

/// Why a reply could not be made.
#[derive(Debug)]
pub(crate) enum Unsettled {
    /// A part has changed since the view was published.
    Changed,
    /// For good.
    Failed(Error),
}

impl From<Error> for Unsettled {
    fn from(error: Error) -> Unsettled {
        Unsettled::Failed(error)
    }
}

/// A container as it is in a view, and what the caller may do there.
pub(crate) trait Opened: Sized {
    /// Its family.
    type Family: Family;

    /// What its parts are called in messages: `posts`.
    const PARTS: &'static str;

    /// The caller's container, as it is in `view`.
    ///
    /// # Errors
    /// What the store says.
    fn of(call: &Call, view: SeenView<Self::Family>) -> Result<Self>;

    /// The view.
    fn view(&self) -> &SeenView<Self::Family>;
}

/// What `read` finds in the rows beside a part, as they were when the part's row was `part`. Every
/// change of the part must raise its `revision`.
///
/// # Errors
/// [`Unsettled::Changed`] when the row is that no longer; what `read` and the store say.
pub(crate) fn beside<R: Row, T>(
    repository: &Reader,
    part: &R,
    revision: impl Fn(&R) -> u64,
    read: impl FnOnce() -> Result<T>,
) -> Result<T, Unsettled> {
    let read = read();
    let place = part.place();
    let there: Option<R> = repository.row(place.table, &place.key)?;
    // Its row was that of the view, or newer, when `read` began.
    if there.is_none_or(|there| revision(&there) != revision(part)) {
        return Err(Unsettled::Changed);
    }
    Ok(read?)
}

/// A reply that `make` makes of a container, and of a newer view of it as often as a part has
/// changed meanwhile.
///
/// # Errors
/// What `make` says; `Overloaded` if the container never stands still; that it is not there any
/// more.
pub(crate) async fn settled<O: Opened, T>(
    call: &Call,
    mut open: O,
    make: impl AsyncFn(&O) -> Result<T, Unsettled>,
) -> Result<T> {
    let loid = open.view().state.object().record.loid;
    let again = async || O::of(call, call.view_of::<O::Family>(loid).await?);
    for _ in 0..TRIES {
        match make(&open).await {
            Ok(made) => return Ok(made),
            Err(Unsettled::Failed(error)) => return Err(error),
            Err(Unsettled::Changed) => {}
        }
        let before = open.view().revision();
        open = again().await?;
        if open.view().revision() == before {
            tokio::time::sleep(PAUSE).await;
            open = again().await?;
        }
    }
    let message = format!("The {} of `{loid}` keep changing; try again.", O::PARTS);
    Err(Error::new(Code::Overloaded, message).with_source(loid))
}

/// A change of parts that stand in the places that `find` says. Others may move them elsewhere
/// before the change gets its turns; then it finds them where they are now.
///
/// # Errors
/// What `find` and `change` say.
pub(crate) async fn placed<P: PartialEq + Clone, T>(
    find: impl AsyncFn() -> Result<P>,
    change: impl AsyncFn(P) -> Result<T>,
) -> Result<T> {
    let mut place = find().await?;
    // A part may have been moved away and back meanwhile: what is found at its place twice is tried
    // again, and given up when it was missing there several times in a row.
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
    Err(Error::new(Code::Overloaded, "What is to be changed keeps being moved elsewhere; try again."))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;
    use serde::{Deserialize, Serialize};
    use stet_actors::clock::SystemClock;
    use stet_actors::repository::Repository;
    use stet_actors::runtime::RuntimeOptions;
    use stet_actors::store::memory::MemoryStore;
    use stet_actors::store::{Change, ChangeSet, Key, Store, Table, encode_value};

    use super::*;

    /// A part that is known by its revision alone.
    #[derive(Debug, Clone, Serialize, Deserialize)]
    struct Part(u64);

    impl Row for Part {
        fn place(&self) -> Key {
            Key { table: Table::Parts, key: Bytes::from_static(b"part") }
        }
    }

    #[actix_web::test]
    async fn what_is_read_of_a_part_that_changes_meanwhile_is_not_shown() {
        let store = Arc::new(MemoryStore::new());
        let started = Repository::start(store.clone(), Arc::new(SystemClock), RuntimeOptions::default()).await;
        let repository = started.expect("a repository starts");
        let put = |part: Option<Part>| {
            let Key { table, key } = Part(0).place();
            let mut set = ChangeSet::fence(store.epoch(), |_| ());
            set.changes.push(Change { table, key, value: part.map(|part| encode_value(Part::FORMAT, &part)) });
            store.submit(set).expect("it is taken");
        };
        let shown_of = |revision, read: &dyn Fn() -> Result<&'static str>| {
            beside(&repository, &Part(revision), |part| part.0, read)
        };
        put(Some(Part(5)));
        let shown = shown_of(5, &|| Ok("as it was"));
        assert!(matches!(shown, Ok("as it was")), "{shown:?}");
        // Nobody has approved the other one; the reader would take it for the approved part.
        for then in [Some(Part(6)), None] {
            put(Some(Part(5)));
            let read = || {
                put(then.clone());
                Ok("another")
            };
            let shown = shown_of(5, &read);
            assert!(matches!(shown, Err(Unsettled::Changed)), "{shown:?}");
        }
        // Rows are there before the view is.
        put(Some(Part(6)));
        let shown = shown_of(5, &|| Ok("another"));
        assert!(matches!(shown, Err(Unsettled::Changed)), "{shown:?}");
        // What can't be read because the part has gone is no failure.
        put(None);
        let shown = shown_of(5, &|| Err(Error::internal()));
        assert!(matches!(shown, Err(Unsettled::Changed)), "{shown:?}");
    }
}
