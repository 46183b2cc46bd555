//! What is shown of a post is one state of it.
//!
//! A post comes from a published view. Its attributes and its bytes are rows of their own, which a change may write in place, and
//! which readers see a moment before the view that goes with them. So who has read such rows looks whether the post's own row is
//! still that of the view; if it is not, the reply is made again from a newer view. Otherwise a text that nobody has approved yet
//! could be shown as the post that was.

use std::time::Duration;

use stet_actors::error::{Code, Error, Result};
use stet_actors::liveblog::{Liveblog, Post};
use stet_actors::repository::Repository;
use stet_actors::store::Row;

use super::Open;
use crate::http::call::Call;

/// How often a reply is made at most.
const TRIES: usize = 500;

/// How long a view is waited for whose rows are there already.
const PAUSE: Duration = Duration::from_millis(2);

/// Why a reply could not be made.
#[derive(Debug)]
pub(super) enum Unsettled {
    /// A post has changed since the view was published.
    Changed,
    /// For good.
    Failed(Error),
}

impl From<Error> for Unsettled {
    fn from(error: Error) -> Unsettled {
        Unsettled::Failed(error)
    }
}

/// What `read` finds in the rows beside a post, as they were when the post was what it is in the view.
///
/// # Errors
/// [`Unsettled::Changed`] when it is that no longer; what `read` and the store say.
pub(super) fn of_post<T>(
    repository: &Repository,
    post: &Post,
    read: impl FnOnce() -> Result<T>,
) -> Result<T, Unsettled> {
    let read = read();
    let place = post.place();
    let there: Option<Post> = repository.row(place.table, &place.key)?;
    // Every change of a post raises its revision, and its row was that of the view, or newer, when `read` began.
    if there.is_none_or(|there| there.record.revision != post.record.revision) {
        return Err(Unsettled::Changed);
    }
    Ok(read?)
}

/// A reply that `make` makes of a liveblog, and of a newer view of it as often as a post has changed meanwhile.
///
/// # Errors
/// What `make` says; `Overloaded` if the liveblog never stands still; that it is not there any more.
pub(super) async fn settled<T>(
    call: &Call,
    mut open: Open,
    make: impl AsyncFn(&Open) -> Result<T, Unsettled>,
) -> Result<T> {
    for _ in 0..TRIES {
        match make(&open).await {
            Ok(made) => return Ok(made),
            Err(Unsettled::Failed(error)) => return Err(error),
            Err(Unsettled::Changed) => {}
        }
        let before = open.view.revision();
        open = again(call, &open).await?;
        if open.view.revision() == before {
            tokio::time::sleep(PAUSE).await;
            open = again(call, &open).await?;
        }
    }
    let message = format!("The posts of `{}` keep changing; try again.", open.loid());
    Err(Error::new(Code::Overloaded, message).with_source(open.loid()))
}

/// The same caller with the liveblog as it is by now.
async fn again(call: &Call, open: &Open) -> Result<Open> {
    Open::of(call, call.app.repository.view::<Liveblog>(open.loid()).await?)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use stet_actors::clock::SystemClock;
    use stet_actors::id::{DatabaseId, Loid};
    use stet_actors::liveblog::PostStatus;
    use stet_actors::object::{FamilyKind, Record};
    use stet_actors::runtime::RuntimeOptions;
    use stet_actors::store::memory::MemoryStore;
    use stet_actors::store::{Change, ChangeSet, Key, Store, encode_value};

    use super::*;

    fn post(revision: u64) -> Post {
        let (loid, empty) = (Loid::new(DatabaseId::MAIN, 11), stet_actors::object::Text::from(""));
        Post {
            liveblog: Loid::new(DatabaseId::MAIN, 10),
            record: Record { revision, ..Record::new(loid, "p", "Any", FamilyKind::Document, &"editor".into(), 1000) },
            status: PostStatus::Approved,
            title: empty.clone(),
            summary: empty.clone(),
            description: empty.clone(),
            kind: empty.clone(),
            timestamp: 1,
            moderated: false,
            pinned: false,
            tags: Vec::new(),
            attachments: Vec::new(),
            history: Vec::new(),
            text: empty,
        }
    }

    #[actix_web::test]
    async fn what_is_read_of_a_post_that_changes_meanwhile_is_not_shown() {
        let store = Arc::new(MemoryStore::new());
        let started = Repository::start(store.clone(), Arc::new(SystemClock), RuntimeOptions::default()).await;
        let repository = started.expect("a repository starts");
        let put = |post: Option<Post>| {
            let Key { table, key } = self::post(1).place();
            let mut set = ChangeSet::fence(store.epoch(), |_| ());
            set.changes.push(Change { table, key, value: post.map(|post| encode_value(Post::FORMAT, &post)) });
            store.submit(set).expect("it is taken");
        };
        put(Some(post(5)));
        let shown = of_post(&repository, &post(5), || Ok("as it was"));
        assert!(matches!(shown, Ok("as it was")), "{shown:?}");
        // Nobody has approved the other one; the reader would take it for the approved post.
        for then in [Some(post(6)), None] {
            put(Some(post(5)));
            let read = || {
                put(then.clone());
                Ok("another")
            };
            let shown = of_post(&repository, &post(5), read);
            assert!(matches!(shown, Err(Unsettled::Changed)), "{shown:?}");
        }
        // Rows are there before the view is.
        put(Some(post(6)));
        let shown = of_post(&repository, &post(5), || Ok("another"));
        assert!(matches!(shown, Err(Unsettled::Changed)), "{shown:?}");
        // What can't be read because the post has gone is no failure.
        put(None);
        let shown = of_post(&repository, &post(5), || Err::<(), _>(Error::internal()));
        assert!(matches!(shown, Err(Unsettled::Changed)), "{shown:?}");
    }
}
