//! Whole replies, each with the data that it was rendered from, by which a lookup checks that it is
//! still current.

use std::hash::Hash;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use quick_cache::Weighter;
use stet_actors::runtime::ContainerView;
use stet_base::limits::bounded_cache::{self, BoundedCache};
use stet_domain::error::Result;
use stet_domain::expect::RevisionTag;
use stet_domain::family::{Family, State};
use stet_domain::id::Loid;
use stet_newsroom::Newsroom;
use stet_newsroom::caller::ViewOf;
use stet_newsroom::records::{Basis, Display};
use stet_web::call::Call;
use stet_web::etag::ETag;
use stet_web::reply::{EnvelopedReply, Json};

/// The records that a reply was rendered from. Each is identified by its copy in memory
/// ([`CachedRecord::copy`](stet_newsroom::records::CachedRecord::copy)), because the records
/// themselves are not held; `None` for an object that did not exist.
pub type RecordCopies = Vec<(Loid, Option<u64>)>;

/// A cached reply of type `T` about a container of family `F`, with the data that it was rendered
/// from.
pub struct RenderedReply<F: Family, T> {
    /// [`RecordCache::changes`](stet_newsroom::records::RecordCache::changes) when it was last
    /// known to be current.
    right_at: AtomicU64,
    /// The stamp of users and configuration that its records were rendered with.
    basis: Basis,
    /// The view that it shows, for comparison only. A reply about a page must not keep its whole
    /// container in memory.
    view: Weak<ContainerView<F::State>>,
    seen: RecordCopies,
    reply: EnvelopedReply<T>,
    etag: ETag,
}

impl<F: Family, T> RenderedReply<F, T> {
    /// Returns the reply to a read.
    pub fn answer(&self, call: &Call) -> Json<T> {
        if call.has(&self.etag) {
            return Json::not_modified(self.etag.clone());
        }
        Json::from(self.reply.clone()).with_etag(self.etag.clone())
    }

    /// Reports whether rendering would give the same reply now.
    fn is_current(&self, newsroom: &Newsroom, view: &ViewOf<F>) -> Result<bool> {
        // No other view can have this address while this points to it.
        if self.view.as_ptr() != Arc::as_ptr(view) || self.basis != Basis::now(newsroom) {
            return Ok(false);
        }
        // Read before the records are checked, so that the next check notices a concurrent change.
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

/// The bytes of a dropped view that stay allocated as long as a reply points to it.
const VIEW: usize = 512;

/// The container, the display, and the part of the container that is shown.
type ReplyKey<P> = (Loid, Display, P);

#[derive(Clone)]
struct RenderedReplyWeighter;

impl<F: Family, P, T> Weighter<ReplyKey<P>, Arc<RenderedReply<F, T>>> for RenderedReplyWeighter {
    fn weight(&self, _: &ReplyKey<P>, rendered: &Arc<RenderedReply<F, T>>) -> u64 {
        (bounded_cache::ENTRY
            + VIEW
            + rendered.reply.bytes()
            + rendered.seen.capacity() * size_of::<(Loid, Option<u64>)>()) as u64
    }
}

/// A cache of recently used replies of type `T` about containers of family `F`. `P` identifies the
/// part of its container that a reply shows.
pub struct Renderings<F: Family, P, T>(BoundedCache<ReplyKey<P>, Arc<RenderedReply<F, T>>, RenderedReplyWeighter>);

impl<F: Family, P: Eq + Hash + Send + Sync + 'static, T: 'static> Renderings<F, P, T> {
    /// Creates a cache of at most `most` bytes. Each reply is as large as the container that it
    /// shows, and there may be one for each display.
    pub fn new(most: u64) -> Self {
        Renderings(BoundedCache::new("replies", most, 512 << 10, 1, RenderedReplyWeighter))
    }

    /// Looks up the reply about a container in the state `view`.
    ///
    /// `part` identifies the part of the container that is shown. `None` prevents caching, for
    /// instance of a reply that not every caller may see.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn ask(
        &self,
        newsroom: &Newsroom,
        view: &ViewOf<F>,
        display: &Display,
        part: Option<P>,
    ) -> Result<ReplyLookup<F, P, T>> {
        // Paths depend on the folders above, which are not checked here.
        let key = part.filter(|_| !display.path);
        let key = key.map(|part| (view.state.object().record.loid, display.clone(), part));
        if let Some(kept) = key.as_ref().and_then(|key| self.0.get(key))
            && kept.is_current(newsroom, view)?
        {
            return Ok(ReplyLookup::Kept(kept));
        }
        Ok(ReplyLookup::Missing(MissingReply {
            key,
            right_at: newsroom.records.changes(),
            basis: Basis::now(newsroom),
        }))
    }

    /// Caches a reply that was missing. The reply must depend on nothing but `view`, the display,
    /// the part, users, and the records in `seen`.
    pub fn keep(
        &self,
        missing: MissingReply<P>,
        view: &ViewOf<F>,
        reply: EnvelopedReply<T>,
        mut seen: RecordCopies,
    ) -> Arc<RenderedReply<F, T>> {
        seen.shrink_to_fit();
        let etag = reply.tag(RevisionTag::of(&view.state.object().record));
        let (right_at, basis) = (AtomicU64::new(missing.right_at), missing.basis);
        let fresh = Arc::new(RenderedReply { right_at, basis, view: Arc::downgrade(view), seen, reply, etag });
        if let Some(key) = missing.key {
            self.0.insert(key, fresh.clone());
        }
        fresh
    }
}

/// The result of a cache lookup.
pub enum ReplyLookup<F: Family, P, T> {
    /// The cached reply, which is current.
    Kept(Arc<RenderedReply<F, T>>),
    /// A reply that must be rendered, because none that is current is cached.
    Missing(MissingReply<P>),
}

/// A reply that is not cached.
pub struct MissingReply<P> {
    /// The cache key, if the reply may be cached.
    key: Option<ReplyKey<P>>,
    /// [`RecordCache::changes`](stet_newsroom::records::RecordCache::changes) before its records
    /// were read.
    right_at: u64,
    /// The stamp of users and configuration at that time.
    basis: Basis,
}

impl<P> MissingReply<P> {
    /// Reports whether the reply will be cached.
    pub fn is_kept(&self) -> bool {
        self.key.is_some()
    }
}

#[cfg(test)]
mod tests {
    use stet_domain::document::Document;
    use stet_domain::lifecycle::{NewObject, RenameObject};
    use stet_domain::object::CreateMode;

    use super::*;
    use stet_web::testing::{ServerFixture, by_editor};

    type Kept = Renderings<Document, bool, usize>;

    /// Returns the number of the reply: that of the first one rendered, or of a later one.
    fn given(fixture: &ServerFixture, kept: &Kept, view: &ViewOf<Document>, part: Option<bool>, seen: Loid) -> usize {
        given_under(&Display::with_defaults(false), fixture, kept, view, part, seen)
    }

    fn given_under(
        display: &Display,
        fixture: &ServerFixture,
        kept: &Kept,
        view: &ViewOf<Document>,
        part: Option<bool>,
        seen: Loid,
    ) -> usize {
        use std::sync::atomic::AtomicUsize;
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let reply = match kept.ask(&fixture.app, view, display, part).expect("it can be looked up") {
            ReplyLookup::Kept(reply) => reply,
            ReplyLookup::Missing(missing) => {
                let records = &fixture.app.records;
                let copy =
                    records.get(&fixture.app.repository, seen).expect("it can be read").map(|cached| cached.copy());
                let number = MADE.fetch_add(1, Ordering::Relaxed);
                kept.keep(missing, view, EnvelopedReply::of(&number, 0).expect("it is made"), vec![(seen, copy)])
            }
        };
        let number = Json::from(reply.reply.clone()).result();
        usize::try_from(number.as_u64().expect("a number")).expect("it is small")
    }

    #[actix_web::test]
    async fn a_reply_is_kept_until_its_container_or_a_record_in_it_changes() {
        let fixture = ServerFixture::new().await;
        let container = fixture.create(NewObject::document("container", "Story")).await;
        let shown = fixture.create(NewObject::document("shown", "Story")).await;
        let other = fixture.create(NewObject::document("other", "Story")).await;
        let rename = async |object, name: &str| {
            let rename = RenameObject { object, name: name.to_owned(), mode: CreateMode::Exception };
            fixture.repository.joint(rename, by_editor()).await.expect("it is renamed");
        };
        let view = async || fixture.app.repository.view::<Document>(container).await.expect("it is there");
        let kept = Kept::new(1 << 20);
        let now = view().await;
        let first = given(&fixture, &kept, &now, Some(true), shown);
        assert_eq!(given(&fixture, &kept, &now, Some(true), shown), first);
        rename(other, "another").await;
        assert_eq!(given(&fixture, &kept, &now, Some(true), shown), first, "nothing of it has changed");
        rename(shown, "renamed").await;
        let second = given(&fixture, &kept, &now, Some(true), shown);
        assert_ne!(second, first, "a record in it has changed");
        rename(container, "another container").await;
        let now = view().await;
        let third = given(&fixture, &kept, &now, Some(true), shown);
        assert_ne!(third, second, "the container has changed");
        assert_eq!(given(&fixture, &kept, &now, Some(true), shown), third);
    }

    #[actix_web::test]
    async fn other_parts_are_other_replies_and_some_are_not_kept() {
        let fixture = ServerFixture::new().await;
        let container = fixture.create(NewObject::document("container", "Story")).await;
        let view = fixture.app.repository.view::<Document>(container).await.expect("it is there");
        let kept = Kept::new(1 << 20);
        let whole = given(&fixture, &kept, &view, Some(true), container);
        assert_ne!(given(&fixture, &kept, &view, Some(false), container), whole);
        assert_ne!(given(&fixture, &kept, &view, None, container), whole);
        assert_eq!(given(&fixture, &kept, &view, Some(true), container), whole);
        let with_path = Display { path: true, ..Display::with_defaults(false) };
        let under_path = || given_under(&with_path, &fixture, &kept, &view, Some(true), container);
        assert_ne!(under_path(), under_path(), "a path may change without the container");
    }
}
