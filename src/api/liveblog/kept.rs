//! Posts as JSON, made once for each change and display.

use quick_cache::Weighter;
use quick_cache::sync::Cache;
use stet_actors::id::Loid;

use super::types::Post;
use crate::http::display::Display;
use crate::json::Ready;
use crate::weighed;

/// A post, the revision of its last change, what is shown of it, and the path it is shown with. A change makes another key, so
/// nothing kept is ever stale.
pub(super) type Key = (Loid, u64, Display, Option<String>);

#[derive(Clone)]
struct ByWeight;

impl Weighter<Key, Ready<Post>> for ByWeight {
    fn weight(&self, (_, _, _, path): &Key, post: &Ready<Post>) -> u64 {
        (weighed::ENTRY + path.as_ref().map_or(0, String::len) + post.text().len()) as u64
    }
}

/// The posts asked for lately, up to so many bytes.
pub struct KeptPosts(Cache<Key, Ready<Post>, ByWeight>);

impl KeptPosts {
    /// Keeps that many bytes at most.
    pub fn new(most: usize) -> KeptPosts {
        // A post is some 2 KiB.
        KeptPosts(weighed::cache(most as u64, 2 << 10, 1, ByWeight))
    }

    pub(super) fn get(&self, key: &Key) -> Option<Ready<Post>> {
        self.0.get(key)
    }

    pub(super) fn put(&self, key: Key, post: Ready<Post>) {
        self.0.insert(key, post);
    }
}

#[cfg(test)]
mod tests {
    use stet_actors::id::DatabaseId;

    use super::*;

    const ROOM: usize = 100 * weighed::ENTRY;

    fn key(number: u64) -> Key {
        (Loid::new(DatabaseId::MAIN, number), 1, Display::with_defaults(false), None)
    }

    /// How long what is kept is; nothing if it is not.
    fn length(kept: &KeptPosts, number: u64) -> Option<usize> {
        kept.get(&key(number)).map(|post| post.text().len())
    }

    #[test]
    fn no_more_is_kept_than_there_is_room_for_and_what_is_asked_for_stays() {
        let kept = KeptPosts::new(ROOM);
        for number in 0..1000 {
            kept.put(key(number), Ready::of_length(weighed::ENTRY));
            assert!(kept.0.weight() <= ROOM as u64);
            assert_eq!(length(&kept, 0), Some(weighed::ENTRY), "{number}");
        }
        assert_eq!(kept.0.len(), 50);
        let weight = kept.0.weight();
        kept.put(key(0), Ready::of_length(weighed::ENTRY));
        assert_eq!(kept.0.weight(), weight, "the same again takes no more room");
    }

    #[test]
    fn what_is_larger_than_all_the_room_is_not_kept() {
        let kept = KeptPosts::new(ROOM);
        kept.put(key(1), Ready::of_length(10));
        kept.put(key(2), Ready::of_length(ROOM + 1));
        assert_eq!((length(&kept, 2), length(&kept, 1)), (None, Some(10)));
        let none = KeptPosts::new(0);
        none.put(key(1), Ready::of_length(2));
        assert_eq!(length(&none, 1), None);
    }
}
