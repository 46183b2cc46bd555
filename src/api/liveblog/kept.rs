//! Posts as JSON, made once for each change and display.

use std::sync::Arc;

use lru::LruCache;
use parking_lot::Mutex;
use stet_actors::id::Loid;

use crate::http::display::Display;

/// A post, the revision of its last change, and what is shown of it. A change makes another key, so nothing kept is ever stale.
pub(super) type Key = (Loid, u64, Display);

/// The posts asked for lately, up to so many bytes.
pub struct KeptPosts {
    most: usize,
    kept: Mutex<Kept>,
}

struct Kept {
    posts: LruCache<Key, Arc<str>>,
    /// Of all of them.
    bytes: usize,
}

impl KeptPosts {
    /// Keeps that many bytes of JSON at most.
    pub fn new(most: usize) -> KeptPosts {
        KeptPosts { most, kept: Mutex::new(Kept { posts: LruCache::unbounded(), bytes: 0 }) }
    }

    pub(super) fn get(&self, key: &Key) -> Option<Arc<str>> {
        self.kept.lock().posts.get(key).cloned()
    }

    pub(super) fn put(&self, key: Key, json: Arc<str>) {
        if json.len() > self.most {
            return;
        }
        let mut kept = self.kept.lock();
        kept.bytes += json.len();
        if let Some(before) = kept.posts.put(key, json) {
            kept.bytes -= before.len();
        }
        while kept.bytes > self.most
            && let Some((_, oldest)) = kept.posts.pop_lru()
        {
            kept.bytes -= oldest.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use stet_actors::id::DatabaseId;

    use super::*;

    #[test]
    fn what_was_asked_for_longest_ago_makes_room() {
        let kept = KeptPosts::new(10);
        let key = |number| (Loid::new(DatabaseId::MAIN, number), 1, Display::with_defaults(false));
        let there = |number| kept.get(&key(number)).is_some();
        kept.put(key(1), "12345".into());
        kept.put(key(2), "12345".into());
        assert!(there(1) && there(2));
        kept.put(key(2), "54321".into());
        assert!(there(1), "the same again takes no more room");
        kept.put(key(3), "1".into());
        assert!(!there(2) && there(1) && there(3), "the one looked at longest ago went");
        kept.put(key(4), "12345678901".into());
        assert!(!there(4) && there(1), "what is larger than all the room is not kept");
        kept.put(key(5), "1234567890".into());
        assert_eq!((there(1), there(3), kept.kept.lock().bytes), (false, false, 10));
    }
}
