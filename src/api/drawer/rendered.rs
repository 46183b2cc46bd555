//! Whole replies kept in memory, each with what it was made of, so that it can be told whether it is still right.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use quick_cache::Weighter;
use quick_cache::sync::Cache;
use stet_actors::drawer::DrawerState;
use stet_actors::error::Result;
use stet_actors::id::Loid;
use stet_actors::repository::Reader;
use stet_actors::runtime::Published;

use super::types::DrawerReply;
use crate::http::etag::ETag;
use crate::http::reply::Enveloped;
use crate::records::{Display, RecordCache};
use crate::weighed;

/// The records that a reply was made of, by the copy that was in memory ([`Cached::copy`](crate::records::Cached::copy)), for
/// they are not held; `None` for an object that was not there.
pub type Seen = Vec<(Loid, Option<u64>)>;

/// A reply of type `T` about a container with the state `S`, and what it was made of.
pub struct Rendered<S, T> {
    /// [`RecordCache::changes`] when it was last known to be right.
    right_at: AtomicU64,
    view: Arc<Published<S>>,
    seen: Seen,
    /// The reply.
    pub reply: Enveloped<T>,
    /// Its ETag.
    pub etag: ETag,
}

impl<S, T> Rendered<S, T> {
    /// A reply made of `view` and `seen`; `right_at` is [`RecordCache::changes`] from before the records were looked at.
    pub fn new(right_at: u64, view: Arc<Published<S>>, seen: Seen, reply: Enveloped<T>, etag: ETag) -> Rendered<S, T> {
        Rendered { right_at: AtomicU64::new(right_at), view, seen, reply, etag }
    }

    /// Whether it would be rendered the same now.
    ///
    /// # Errors
    /// What the store says.
    pub fn is_current(&self, records: &RecordCache, repository: &Reader, view: &Arc<Published<S>>) -> Result<bool> {
        if !Arc::ptr_eq(&self.view, view) {
            return Ok(false);
        }
        // Noted before the records are looked at: a change meanwhile is looked at the next time.
        let changes = records.changes();
        if self.right_at.load(Ordering::Acquire) == changes {
            return Ok(true);
        }
        for (loid, then) in &self.seen {
            if records.get(repository, *loid)?.map(|now| now.copy()) != *then {
                return Ok(false);
            }
        }
        self.right_at.store(changes, Ordering::Release);
        Ok(true)
    }
}

/// Which container, under which display, with its items or without.
type Key = (Loid, Display, bool);

/// Bytes of replies that are kept: each is as large as the container it shows, under each display.
const KEPT_BYTES: u64 = 256 << 20;

#[derive(Clone)]
struct ByWeight;

impl<S, T> Weighter<Key, Arc<Rendered<S, T>>> for ByWeight {
    fn weight(&self, _: &Key, rendered: &Arc<Rendered<S, T>>) -> u64 {
        (weighed::ENTRY + rendered.reply.bytes() + size_of_val(&*rendered.seen)) as u64
    }
}

/// The replies asked for lately.
pub struct Renderings<S, T>(Cache<Key, Arc<Rendered<S, T>>, ByWeight>);

impl<S, T> Default for Renderings<S, T> {
    fn default() -> Self {
        Renderings(weighed::cache(KEPT_BYTES, 512 << 10, 1, ByWeight))
    }
}

impl<S, T> Renderings<S, T> {
    /// What was kept; whether it is still right is for the caller to find out.
    pub fn get(&self, key: &Key) -> Option<Arc<Rendered<S, T>>> {
        self.0.get(key)
    }

    /// Keeps a reply.
    pub fn put(&self, key: Key, rendered: Arc<Rendered<S, T>>) {
        self.0.insert(key, rendered);
    }
}

/// Rendered drawers.
pub type RenderedDrawers = Renderings<DrawerState, DrawerReply>;
