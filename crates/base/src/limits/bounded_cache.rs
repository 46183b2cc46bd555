//! Caches that are bounded by the bytes of their entries, not by their number. The least used
//! entries are evicted.
//!
//! All of them share one budget, `memory.caches_bytes`; `stet_config::CacheShares` has the part of
//! each. `/metrics` shows the size, hits and misses of each.

use std::hash::Hash;
use std::ops::Deref;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, Weighter};

/// The number of bytes that an entry takes besides its content. It matters because there may be
/// many small entries.
pub const ENTRY: usize = 128;

/// The divisor of a cache's size for the largest entry: an eighth. A larger one would evict too
/// many others.
const ENTRY_DIVISOR: u64 = 8;

/// A cache whose entries are weighed. An entry's weight must not change while it is in the cache,
/// and must include all memory that only the entry keeps allocated.
pub struct BoundedCache<K, V, W> {
    cache: Arc<Cache<K, V, W>>,
    weighter: W,
    bytes: u64,
}

impl<K, V, W> BoundedCache<K, V, W>
where
    K: Eq + Hash + Send + Sync + 'static,
    V: Clone + Send + Sync + 'static,
    W: Weighter<K, V> + Clone + Send + Sync + 'static,
{
    /// Creates a cache of that many bytes, whose entries take about `each`; `name` is its label in
    /// the metrics.
    ///
    /// The room and the locking are divided among `shards`, and an entry larger than a shard is not
    /// kept. Use one shard if a single entry may be large, and more if very many are looked up at
    /// once. quick_cache's default is the number of processors, but which entries are kept must not
    /// depend on the machine.
    pub fn new(name: &'static str, bytes: u64, each: u64, shards: usize, weighter: W) -> BoundedCache<K, V, W> {
        let entries = usize::try_from(bytes / each).unwrap_or(usize::MAX).clamp(16, 1 << 20);
        let options =
            OptionsBuilder::new().shards(shards).estimated_items_capacity(entries).weight_capacity(bytes).build();
        // These two options are the only required ones.
        let options = options.expect("capacity and weight are given");
        let (hasher, lifecycle) = (DefaultHashBuilder::default(), DefaultLifecycle::default());
        let cache = Arc::new(Cache::with_options(options, weighter.clone(), hasher, lifecycle));
        let shown: Weak<dyn RegisteredCache> = Arc::downgrade(&(cache.clone() as Arc<dyn RegisteredCache>));
        SHOWN.lock().push((name, shown));
        BoundedCache { cache, weighter, bytes }
    }

    /// Returns the largest weight of an entry.
    pub fn most(&self) -> u64 {
        self.bytes / ENTRY_DIVISOR
    }

    /// Reports whether an entry may be kept.
    pub fn takes(&self, key: &K, value: &V) -> bool {
        self.weighter.weight(key, value) <= self.most()
    }

    /// Keeps an entry, if it is not too large a part of the cache.
    pub fn insert(&self, key: K, value: V) {
        if self.takes(&key, &value) {
            self.cache.insert(key, value);
        } else {
            self.cache.remove(&key);
        }
    }

    /// Replaces the value of an existing entry, or removes the entry if the value is too large.
    pub fn replace(&self, key: K, value: V) {
        if self.takes(&key, &value) {
            // Refused if the entry has been evicted in the meantime.
            let _ = self.cache.replace(key, value, true);
        } else {
            self.cache.remove(&key);
        }
    }
}

/// Look-ups, which are those of the inner cache.
impl<K, V, W> Deref for BoundedCache<K, V, W> {
    type Target = Cache<K, V, W>;

    fn deref(&self) -> &Cache<K, V, W> {
        &self.cache
    }
}

/// The figures of a cache in the metrics.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct CacheFigures {
    bytes: u64,
    entries: u64,
    hits: u64,
    misses: u64,
}

trait RegisteredCache: Send + Sync {
    fn shown(&self) -> CacheFigures;
    fn empty(&self);
}

impl<K, V, W> RegisteredCache for Cache<K, V, W>
where
    K: Eq + Hash + Send + Sync,
    V: Clone + Send + Sync,
    W: Weighter<K, V> + Clone + Send + Sync,
{
    fn shown(&self) -> CacheFigures {
        CacheFigures { bytes: self.weight(), entries: self.len() as u64, hits: self.hits(), misses: self.misses() }
    }

    fn empty(&self) {
        self.clear();
    }
}

/// Returns the bytes in all caches of the process.
pub fn bytes_of_all() -> u64 {
    SHOWN.lock().iter().filter_map(|(_, cache)| cache.upgrade()).map(|cache| cache.shown().bytes).sum()
}

/// Empties all caches of the process.
pub fn clear_all() {
    let caches: Vec<_> = SHOWN.lock().iter().filter_map(|(_, cache)| cache.upgrade()).collect();
    caches.iter().for_each(|cache| cache.empty());
}

/// The existing caches: a handful for each server in the process.
static SHOWN: Mutex<Vec<(&'static str, Weak<dyn RegisteredCache>)>> = Mutex::new(Vec::new());

/// Updates the metrics. Counting at each look-up would cost more than the look-up.
pub fn report() {
    let mut sums: Vec<(&'static str, CacheFigures)> = Vec::new();
    SHOWN.lock().retain(|(name, cache)| {
        let Some(cache) = cache.upgrade() else { return false };
        let now = cache.shown();
        match sums.iter_mut().find(|(known, _)| known == name) {
            Some((_, sum)) => {
                sum.bytes += now.bytes;
                sum.entries += now.entries;
                sum.hits += now.hits;
                sum.misses += now.misses;
            }
            None => sums.push((name, now)),
        }
        true
    });
    for (name, sum) in sums {
        metrics::gauge!("stet_cache_bytes", "cache" => name).set(sum.bytes as f64);
        metrics::gauge!("stet_cache_entries", "cache" => name).set(sum.entries as f64);
        metrics::counter!("stet_cache_hits_total", "cache" => name).absolute(sum.hits);
        metrics::counter!("stet_cache_misses_total", "cache" => name).absolute(sum.misses);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone)]
    struct ByLength;

    impl Weighter<u32, Vec<u8>> for ByLength {
        fn weight(&self, _: &u32, value: &Vec<u8>) -> u64 {
            (ENTRY + value.len()) as u64
        }
    }

    #[test]
    fn values_too_large_for_a_cache_are_not_kept_and_evict_the_old_one() {
        let cache = BoundedCache::new("test", 16_000, 1000, 1, ByLength);
        cache.insert(1, vec![0; 2000 - ENTRY]);
        assert!(cache.get(&1).is_some());
        cache.insert(2, vec![0; 2001 - ENTRY]);
        assert!(cache.get(&2).is_none());
        cache.insert(1, vec![0; 5000]);
        assert!(cache.get(&1).is_none(), "what was there is old");
        cache.insert(1, vec![0; 10]);
        cache.replace(1, vec![0; 20]);
        assert_eq!(cache.get(&1).map(|value| value.len()), Some(20));
        cache.replace(1, vec![0; 5000]);
        assert!(cache.get(&1).is_none());
        assert_eq!(cache.cache.shown(), CacheFigures { bytes: 0, entries: 0, hits: 2, misses: 3 });
        cache.insert(1, vec![0; 10]);
        // `clear_all` does this with each cache.
        cache.cache.empty();
        assert!(cache.peek(&1).is_none());
    }
}
