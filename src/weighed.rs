//! Caches that are bounded by the bytes of what is in them, however many entries that is. The least used entries make room.

use std::hash::Hash;

use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, Weighter};

/// Bytes that an entry takes beside what is in it: there may be many of few bytes.
pub(crate) const ENTRY: usize = 128;

/// A cache of that many bytes, whose entries have some `each`. What a `weighter` says of an entry must not change while it is in
/// the cache.
///
/// Each of `shards` has its share of the room and of the locking, and what is larger than a share is not kept: one where a single
/// entry may be large, more where very many are looked up at once. Not as many as there are processors, as is quick_cache's
/// default: what is kept must not hang on the machine.
pub(crate) fn cache<K, V, W>(bytes: u64, each: u64, shards: usize, weighter: W) -> Cache<K, V, W>
where
    K: Eq + Hash,
    V: Clone,
    W: Weighter<K, V> + Clone,
{
    let entries = usize::try_from(bytes / each).unwrap_or(usize::MAX).clamp(16, 1 << 20);
    let options = OptionsBuilder::new().shards(shards).estimated_items_capacity(entries).weight_capacity(bytes).build();
    // Nothing but these two can be missing.
    let options = options.expect("capacity and weight are given");
    Cache::with_options(options, weighter, DefaultHashBuilder::default(), DefaultLifecycle::default())
}
