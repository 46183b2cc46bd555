//! Posts as JSON, made once for each change and display.

use lru::LruCache;
use parking_lot::Mutex;
use stet_actors::id::Loid;

use super::types::Post;
use crate::http::display::Display;
use crate::json::Ready;

/// A post, the revision of its last change, what is shown of it, and the path it is shown with. A change makes another key, so
/// nothing kept is ever stale.
pub(super) type Key = (Loid, u64, Display, Option<String>);

/// The posts asked for lately, up to so many bytes.
pub struct KeptPosts {
    most: usize,
    kept: Mutex<Kept>,
}

struct Kept {
    posts: LruCache<Key, Ready<Post>>,
    /// Of all of them.
    bytes: usize,
}

impl KeptPosts {
    /// Keeps that many bytes of JSON at most.
    pub fn new(most: usize) -> KeptPosts {
        KeptPosts { most, kept: Mutex::new(Kept { posts: LruCache::unbounded(), bytes: 0 }) }
    }

    pub(super) fn get(&self, key: &Key) -> Option<Ready<Post>> {
        self.kept.lock().posts.get(key).cloned()
    }

    pub(super) fn put(&self, key: Key, post: Ready<Post>) {
        let bytes = post.text().len();
        if bytes > self.most {
            return;
        }
        let mut kept = self.kept.lock();
        kept.bytes += bytes;
        if let Some(before) = kept.posts.put(key, post) {
            kept.bytes -= before.text().len();
        }
        while kept.bytes > self.most
            && let Some((_, oldest)) = kept.posts.pop_lru()
        {
            kept.bytes -= oldest.text().len();
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
        let key = |number| (Loid::new(DatabaseId::MAIN, number), 1, Display::with_defaults(false), None);
        let there = |number| kept.get(&key(number)).is_some();
        kept.put(key(1), Ready::of_length(5));
        kept.put(key(2), Ready::of_length(5));
        assert!(there(1) && there(2));
        kept.put(key(2), Ready::of_length(5));
        assert!(there(1), "the same again takes no more room");
        kept.put(key(3), Ready::of_length(2));
        assert!(!there(2) && there(1) && there(3), "the one looked at longest ago went");
        kept.put(key(4), Ready::of_length(11));
        assert!(!there(4) && there(1), "what is larger than all the room is not kept");
        kept.put(key(5), Ready::of_length(10));
        assert_eq!((there(1), there(3), kept.kept.lock().bytes), (false, false, 10));
    }
}
