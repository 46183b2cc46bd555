//! Posts as JSON, made once for each change and display.

use std::sync::Arc;

use quick_cache::Weighter;
use quick_cache::sync::Cache;
use stet_actors::id::Loid;

use crate::http::display::Display;
use crate::weighed;

/// A post, the revision of its last change, and what is shown of it. A change makes another key, so nothing kept is ever stale.
pub(super) type Key = (Loid, u64, Display);

#[derive(Clone)]
struct ByWeight;

impl Weighter<Key, Arc<str>> for ByWeight {
    fn weight(&self, _: &Key, json: &Arc<str>) -> u64 {
        (weighed::ENTRY + json.len()) as u64
    }
}

/// The posts asked for lately, up to so many bytes.
pub struct KeptPosts(Cache<Key, Arc<str>, ByWeight>);

impl KeptPosts {
    /// Keeps that many bytes at most.
    pub fn new(most: usize) -> KeptPosts {
        // A post is some 2 KiB.
        KeptPosts(weighed::cache(most as u64, 2 << 10, 1, ByWeight))
    }

    pub(super) fn get(&self, key: &Key) -> Option<Arc<str>> {
        self.0.get(key)
    }

    pub(super) fn put(&self, key: Key, json: Arc<str>) {
        self.0.insert(key, json);
    }
}

#[cfg(test)]
mod tests {
    use stet_actors::id::DatabaseId;

    use super::*;

    const ROOM: usize = 100 * weighed::ENTRY;

    fn key(number: u64) -> Key {
        (Loid::new(DatabaseId::MAIN, number), 1, Display::with_defaults(false))
    }

    fn json(bytes: usize) -> Arc<str> {
        "x".repeat(bytes).into()
    }

    #[test]
    fn no_more_is_kept_than_there_is_room_for_and_what_is_asked_for_stays() {
        let kept = KeptPosts::new(ROOM);
        for number in 0..1000 {
            kept.put(key(number), json(weighed::ENTRY));
            assert!(kept.0.weight() <= ROOM as u64);
            assert_eq!(kept.get(&key(0)), Some(json(weighed::ENTRY)), "{number}");
        }
        assert_eq!(kept.0.len(), 50);
        let weight = kept.0.weight();
        kept.put(key(0), json(weighed::ENTRY));
        assert_eq!(kept.0.weight(), weight, "the same again takes no more room");
    }

    #[test]
    fn what_is_larger_than_all_the_room_is_not_kept() {
        let kept = KeptPosts::new(ROOM);
        kept.put(key(1), json(10));
        kept.put(key(2), json(ROOM + 1));
        assert_eq!((kept.get(&key(2)), kept.get(&key(1))), (None, Some(json(10))));
        let none = KeptPosts::new(0);
        none.put(key(1), json(0));
        assert_eq!(none.get(&key(1)), None);
    }
}
