//! Whole replies, each with what it was made of, which shows whether it is still right.

use std::hash::Hash;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use quick_cache::Weighter;
use stet_actors::error::Result;
use stet_actors::expect::Tag;
use stet_actors::family::{Family, State};
use stet_actors::id::Loid;
use stet_actors::runtime::Published;

use crate::http::call::Call;
use crate::http::change::ViewOf;
use crate::http::etag::ETag;
use crate::http::reply::{Enveloped, Json};
use crate::limits::bounded_cache::{self, BoundedCache};
use crate::newsroom::Newsroom;
use crate::records::{Basis, Display};

/// The records that a reply was made of, by the copy that was in memory
/// ([`Cached::copy`](crate::records::Cached::copy)), for they are not held; `None` for an object
/// that was not there.
pub(crate) type Seen = Vec<(Loid, Option<u64>)>;

/// A reply of type `T` about a container of family `F`, and what it was made of.
pub(crate) struct Rendered<F: Family, T> {
    /// [`RecordCache::changes`](crate::records::RecordCache::changes) when it was last known to be
    /// right.
    right_at: AtomicU64,
    /// What the records in it were rendered of beside.
    basis: Basis,
    /// The view that it shows, for comparison alone: a reply about a page must not keep all of its
    /// container in memory.
    view: Weak<Published<F::State>>,
    seen: Seen,
    reply: Enveloped<T>,
    etag: ETag,
}

impl<F: Family, T> Rendered<F, T> {
    /// The reply to a read.
    pub(crate) fn answer(&self, call: &Call) -> Json<T> {
        if call.has(&self.etag) {
            return Json::not_modified(self.etag.clone());
        }
        Json::from(self.reply.clone()).with_etag(self.etag.clone())
    }

    /// Whether it would be rendered the same now.
    fn is_current(&self, newsroom: &Newsroom, view: &ViewOf<F>) -> Result<bool> {
        // An address is not given to another view as long as this points to it.
        if self.view.as_ptr() != Arc::as_ptr(view) || self.basis != Basis::now(newsroom) {
            return Ok(false);
        }
        // Noted before the records are looked at: a change meanwhile is looked at the next time.
        let changes = newsroom.records.changes();
        if self.right_at.load(Ordering::Acquire) == changes {
            return Ok(true);
        }
        for (loid, then) in &self.seen {
            if newsroom.records.get(&newsroom.repository, *loid)?.map(|now| now.copy()) != *then {
                return Ok(false);
            }
        }
        self.right_at.store(changes, Ordering::Release);
        Ok(true)
    }
}

/// Bytes that a view leaves in memory as long as a reply points to it, when all that is in it has
/// gone.
const VIEW: usize = 512;

/// Which container, under which display, and how much of it.
type Key<P> = (Loid, Display, P);

#[derive(Clone)]
struct ByWeight;

impl<F: Family, P, T> Weighter<Key<P>, Arc<Rendered<F, T>>> for ByWeight {
    fn weight(&self, _: &Key<P>, rendered: &Arc<Rendered<F, T>>) -> u64 {
        (bounded_cache::ENTRY
            + VIEW
            + rendered.reply.bytes()
            + rendered.seen.capacity() * size_of::<(Loid, Option<u64>)>()) as u64
    }
}

/// Replies of type `T` about containers of family `F` that were asked for lately. `P` says how much
/// of its container a reply shows.
pub(crate) struct Renderings<F: Family, P, T>(BoundedCache<Key<P>, Arc<Rendered<F, T>>, ByWeight>);

impl<F: Family, P: Eq + Hash + Send + Sync + 'static, T: 'static> Renderings<F, P, T> {
    /// Keeps that many bytes at most: each reply is as large as the container it shows, under each
    /// display.
    pub(crate) fn new(most: u64) -> Self {
        Renderings(BoundedCache::new("replies", most, 512 << 10, 1, ByWeight))
    }

    /// Asks for the reply about a container as it is in `view`, kept from an earlier read.
    ///
    /// `part` is how much of the container it shows; `None` for what is not kept, such as a reply
    /// that not every caller may see.
    ///
    /// # Errors
    /// What the store says.
    pub(crate) fn ask(
        &self,
        newsroom: &Newsroom,
        view: &ViewOf<F>,
        display: &Display,
        part: Option<P>,
    ) -> Result<Asked<F, P, T>> {
        // Paths depend on folders above, which nothing here looks at.
        let key = part.filter(|_| !display.path);
        let key = key.map(|part| (view.state.object().record.loid, display.clone(), part));
        if let Some(kept) = key.as_ref().and_then(|key| self.0.get(key))
            && kept.is_current(newsroom, view)?
        {
            return Ok(Asked::Kept(kept));
        }
        Ok(Asked::Missing(Missing { key, right_at: newsroom.records.changes(), basis: Basis::now(newsroom) }))
    }

    /// Keeps what was made since it was missing. It must follow from `view`, the display and the
    /// part that were asked for, users, and the records that were `seen`.
    pub(crate) fn keep(
        &self,
        missing: Missing<P>,
        view: &ViewOf<F>,
        reply: Enveloped<T>,
        mut seen: Seen,
    ) -> Arc<Rendered<F, T>> {
        seen.shrink_to_fit();
        let etag = reply.tag(Tag::of(&view.state.object().record));
        let (right_at, basis) = (AtomicU64::new(missing.right_at), missing.basis);
        let fresh = Arc::new(Rendered { right_at, basis, view: Arc::downgrade(view), seen, reply, etag });
        if let Some(key) = missing.key {
            self.0.insert(key, fresh.clone());
        }
        fresh
    }
}

/// Whether a reply is kept.
pub(crate) enum Asked<F: Family, P, T> {
    /// It is.
    Kept(Arc<Rendered<F, T>>),
    /// It must be made.
    Missing(Missing<P>),
}

/// A reply that is not kept.
pub(crate) struct Missing<P> {
    /// What it would be kept by, if it may be.
    key: Option<Key<P>>,
    /// [`RecordCache::changes`](crate::records::RecordCache::changes) before the records were
    /// looked at that it is made of.
    right_at: u64,
    /// What records are rendered of beside, then.
    basis: Basis,
}

impl<P> Missing<P> {
    /// Whether it will be kept once it is made.
    pub(crate) fn is_kept(&self) -> bool {
        self.key.is_some()
    }
}

#[cfg(test)]
mod tests {
    use stet_actors::document::Document;
    use stet_actors::lifecycle::{NewObject, Rename};
    use stet_actors::object::CreateMode;

    use super::*;
    use crate::http::testing::{House, by_editor};

    type Kept = Renderings<Document, bool, usize>;

    /// Which reply is given: the first one that was made, or a later one.
    fn given(house: &House, kept: &Kept, view: &ViewOf<Document>, part: Option<bool>, seen: Loid) -> usize {
        given_under(&Display::with_defaults(false), house, kept, view, part, seen)
    }

    fn given_under(
        display: &Display,
        house: &House,
        kept: &Kept,
        view: &ViewOf<Document>,
        part: Option<bool>,
        seen: Loid,
    ) -> usize {
        use std::sync::atomic::AtomicUsize;
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let reply = match kept.ask(&house.app, view, display, part).expect("it can be looked up") {
            Asked::Kept(reply) => reply,
            Asked::Missing(missing) => {
                let records = &house.app.records;
                let copy =
                    records.get(&house.app.repository, seen).expect("it can be read").map(|cached| cached.copy());
                let number = MADE.fetch_add(1, Ordering::Relaxed);
                kept.keep(missing, view, Enveloped::of(&number, 0).expect("it is made"), vec![(seen, copy)])
            }
        };
        let number = Json::from(reply.reply.clone()).result();
        usize::try_from(number.as_u64().expect("a number")).expect("it is small")
    }

    #[actix_web::test]
    async fn a_reply_is_kept_until_its_container_or_a_record_in_it_changes() {
        let house = House::new().await;
        let container = house.create(NewObject::document("container", "Story")).await;
        let shown = house.create(NewObject::document("shown", "Story")).await;
        let other = house.create(NewObject::document("other", "Story")).await;
        let rename = async |object, name: &str| {
            let rename = Rename { object, name: name.to_owned(), mode: CreateMode::Exception };
            house.repository.joint(rename, by_editor()).await.expect("it is renamed");
        };
        let view = async || house.app.repository.view::<Document>(container).await.expect("it is there");
        let kept = Kept::new(1 << 20);
        let now = view().await;
        let first = given(&house, &kept, &now, Some(true), shown);
        assert_eq!(given(&house, &kept, &now, Some(true), shown), first);
        rename(other, "another").await;
        assert_eq!(given(&house, &kept, &now, Some(true), shown), first, "nothing of it has changed");
        rename(shown, "renamed").await;
        let second = given(&house, &kept, &now, Some(true), shown);
        assert_ne!(second, first, "a record in it has changed");
        rename(container, "another container").await;
        let now = view().await;
        let third = given(&house, &kept, &now, Some(true), shown);
        assert_ne!(third, second, "the container has changed");
        assert_eq!(given(&house, &kept, &now, Some(true), shown), third);
    }

    #[actix_web::test]
    async fn other_parts_are_other_replies_and_some_are_not_kept() {
        let house = House::new().await;
        let container = house.create(NewObject::document("container", "Story")).await;
        let view = house.app.repository.view::<Document>(container).await.expect("it is there");
        let kept = Kept::new(1 << 20);
        let whole = given(&house, &kept, &view, Some(true), container);
        assert_ne!(given(&house, &kept, &view, Some(false), container), whole);
        assert_ne!(given(&house, &kept, &view, None, container), whole);
        assert_eq!(given(&house, &kept, &view, Some(true), container), whole);
        let with_path = Display { path: true, ..Display::with_defaults(false) };
        let under_path = || given_under(&with_path, &house, &kept, &view, Some(true), container);
        assert_ne!(under_path(), under_path(), "a path may change without the container");
    }
}
