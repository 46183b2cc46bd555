//! Whole replies kept in memory, each with what it was made of, so that it can be told whether it is still right.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lru::LruCache;
use parking_lot::Mutex;
use stet_actors::error::Result;
use stet_actors::id::Loid;
use stet_actors::repository::Repository;
use stet_actors::runtime::Published;

use super::{Cached, Display, RecordCache};
use crate::http::etag::ETag;
use crate::http::reply::Enveloped;

/// The records that a reply was made of; `None` for an object that was not there.
pub type Seen = Vec<(Loid, Option<Arc<Cached>>)>;

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
    pub fn is_current(&self, records: &RecordCache, repository: &Repository, view: &Arc<Published<S>>) -> Result<bool> {
        if !Arc::ptr_eq(&self.view, view) {
            return Ok(false);
        }
        // Noted before the records are looked at: a change meanwhile is looked at the next time.
        let changes = records.changes();
        if self.right_at.load(Ordering::Acquire) == changes {
            return Ok(true);
        }
        for (loid, cached) in &self.seen {
            let same = match (records.get(repository, *loid)?, cached) {
                (Some(now), Some(then)) => Arc::ptr_eq(&now, then),
                (None, None) => true,
                _ => false,
            };
            if !same {
                return Ok(false);
            }
        }
        self.right_at.store(changes, Ordering::Release);
        Ok(true)
    }
}

/// Which container, under which display, with its items or without.
type Key = (Loid, Display, bool);

/// How many replies are kept: each is as large as the container it shows.
const REPLIES: NonZeroUsize = NonZeroUsize::new(512).unwrap();

/// The replies asked for lately.
pub struct Renderings<S, T>(Mutex<LruCache<Key, Arc<Rendered<S, T>>>>);

impl<S, T> Default for Renderings<S, T> {
    fn default() -> Self {
        Renderings(Mutex::new(LruCache::new(REPLIES)))
    }
}

impl<S, T> Renderings<S, T> {
    /// What was kept; whether it is still right is for the caller to find out.
    pub fn get(&self, key: &Key) -> Option<Arc<Rendered<S, T>>> {
        self.0.lock().get(key).cloned()
    }

    /// Keeps a reply.
    pub fn put(&self, key: Key, rendered: Arc<Rendered<S, T>>) {
        self.0.lock().put(key, rendered);
    }
}
