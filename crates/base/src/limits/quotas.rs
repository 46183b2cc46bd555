//! The balances of many keys under one quota.

use std::collections::HashMap;
use std::hash::Hash;
use std::mem;

use parking_lot::Mutex;

use super::quota::{Quota, QuotaBalance};

/// A balance for each of a bounded number of keys. Beyond that number the least recently used ones
/// are forgotten, which makes them full.
///
/// This is no cache, because a cache may evict any entry: here the use of many keys must not free a
/// recent one early.
pub struct Quotas<K: Hash + Eq> {
    quota: Quota,
    /// The number of keys in a generation: half of those that are kept.
    generation: usize,
    used: Mutex<UsedBalances<K>>,
}

/// The used balances, in two generations; see [`Quota`] for their form. A key is in only one of
/// them.
struct UsedBalances<K> {
    /// The balances used since the previous generation was full.
    young: HashMap<K, u64>,
    /// The balances used in the previous generation, and not since. They are forgotten when the
    /// young generation is full.
    old: HashMap<K, u64>,
}

impl<K: Hash + Eq> UsedBalances<K> {
    /// Returns the balance of a key, 0 if it is unknown, and removes it from the old generation.
    fn take(&mut self, key: &K) -> u64 {
        match self.young.get(key) {
            Some(balance) => *balance,
            None => self.old.remove(key).unwrap_or(0),
        }
    }

    fn put(&mut self, key: K, balance: u64, generation: usize) {
        if self.young.len() >= generation && !self.young.contains_key(&key) {
            self.old = mem::take(&mut self.young);
        }
        self.young.insert(key, balance);
    }
}

impl<K: Hash + Eq> Quotas<K> {
    /// Creates balances under `quota` for at most `most` keys. At least half of that number are
    /// remembered.
    pub fn new(quota: Quota, most: usize) -> Quotas<K> {
        let used = UsedBalances { young: HashMap::new(), old: HashMap::new() };
        Quotas { quota, generation: (most / 2).max(1), used: Mutex::new(used) }
    }

    /// Takes one use of a key. Returns whether a use remained, and the state of its balance.
    pub fn take(&self, key: K, now_ms: u64) -> (bool, QuotaBalance) {
        let mut used = self.used.lock();
        let before = used.take(&key);
        let after = self.quota.take(before, now_ms);
        let balance = after.unwrap_or(before);
        used.put(key, balance, self.generation);
        (after.is_some(), self.quota.state_at(balance, now_ms))
    }

    /// Takes that many uses of a key, even if fewer remain. Returns whether the balance is in debt:
    /// see [`Quota::spend`].
    pub fn spend(&self, key: &K, now_ms: u64, count: u64) -> bool
    where
        K: Clone,
    {
        let mut used = self.used.lock();
        let before = used.take(key);
        let (after, is_in_debt) = self.quota.spend(before, now_ms, count);
        used.put(key.clone(), after, self.generation);
        is_in_debt
    }

    /// Restores one use of a key.
    pub fn give_back(&self, key: &K) {
        let UsedBalances { young, old } = &mut *self.used.lock();
        if let Some(balance) = young.get_mut(key).or_else(|| old.get_mut(key)) {
            *balance = self.quota.give_back(*balance);
        }
    }

    /// Fills the balance of a key.
    pub fn fill(&self, key: &K) {
        let UsedBalances { young, old } = &mut *self.used.lock();
        young.remove(key).or_else(|| old.remove(key));
    }

    /// Fills all balances whose key satisfies `which`. It checks every key.
    pub fn fill_all(&self, which: impl Fn(&K) -> bool) {
        let UsedBalances { young, old } = &mut *self.used.lock();
        young.retain(|key, _| !which(key));
        old.retain(|key, _| !which(key));
    }

    /// Returns the number of balances kept.
    #[cfg(test)]
    fn count(&self) -> usize {
        let used = self.used.lock();
        used.young.len() + used.old.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_700_000_000_000;

    fn budgets(most: usize) -> Quotas<u32> {
        Quotas::new(Quota::new(2, 60), most)
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
            // A blocked key that keeps trying stays known.
            assert!(!budgets.take(0, NOW).0);
            assert!(budgets.count() <= 100);
        }
        assert_eq!(budgets.take(1, NOW).1.remaining, 1);
        // At least half of the last keys are known.
        for key in 10_000 - 48..10_000 {
            assert!(budgets.take(key, NOW).0 && !budgets.take(key, NOW).0, "{key}");
        }
    }
}
