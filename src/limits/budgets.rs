//! Many budgets of one quota.

use std::hash::Hash;

use lru::LruCache;
use parking_lot::Mutex;

use super::quota::{Quota, Standing};

/// A budget for each key, for a bounded number of keys: beyond it, the one that was used longest ago is forgotten, which
/// makes it whole.
pub struct Budgets<K: Hash + Eq> {
    quota: Quota,
    most: usize,
    /// Those that were taken from. Grows as they come; see [`Quota`] for what is kept.
    used: Mutex<LruCache<K, u64>>,
}

impl<K: Hash + Eq> Budgets<K> {
    /// Budgets of `quota`, no more than `most` at a time.
    pub fn new(quota: Quota, most: usize) -> Budgets<K> {
        Budgets { quota, most, used: Mutex::new(LruCache::unbounded()) }
    }

    /// Takes one from a key's budget; tells how it stands, and whether there was one.
    pub fn take(&self, key: K, now_ms: u64) -> (bool, Standing) {
        let mut used = self.used.lock();
        let before = used.get(&key).copied().unwrap_or(0);
        let Some(after) = self.quota.take(before, now_ms) else {
            let standing = self.quota.standing(before, now_ms);
            return (false, standing);
        };
        used.put(key, after);
        if used.len() > self.most {
            used.pop_lru();
        }
        (true, self.quota.standing(after, now_ms))
    }

    /// Puts one back into a key's budget.
    pub fn give_back(&self, key: &K) {
        if let Some(budget) = self.used.lock().get_mut(key) {
            *budget = self.quota.give_back(*budget);
        }
    }

    /// Makes a key's budget whole.
    pub fn fill(&self, key: &K) {
        self.used.lock().pop(key);
    }

    /// How many are kept.
    #[cfg(test)]
    fn count(&self) -> usize {
        self.used.lock().len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_700_000_000_000;

    fn budgets(most: usize) -> Budgets<u32> {
        Budgets::new(Quota::new(2, 60), most)
    }

    #[test]
    fn each_key_has_its_own() {
        let budgets = budgets(10);
        assert!(budgets.take(1, NOW).0 && budgets.take(1, NOW).0 && !budgets.take(1, NOW).0);
        assert!(budgets.take(2, NOW).0);
        budgets.give_back(&1);
        assert!(budgets.take(1, NOW).0 && !budgets.take(1, NOW).0);
        budgets.fill(&1);
        assert_eq!(budgets.take(1, NOW).1.remaining, 1);
    }

    #[test]
    fn many_keys_do_not_grow_it_and_the_longest_unused_is_forgotten() {
        let budgets = budgets(100);
        budgets.take(0, NOW);
        budgets.take(0, NOW);
        for key in 1..10_000 {
            budgets.take(key, NOW);
            // One that is blocked and tries on stays known.
            assert!(!budgets.take(0, NOW).0);
        }
        assert_eq!(budgets.count(), 100);
        assert_eq!(budgets.take(1, NOW).1.remaining, 1);
    }
}
