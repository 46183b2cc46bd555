//! Many budgets of one quota.

use std::collections::HashMap;
use std::hash::Hash;
use std::mem;

use parking_lot::Mutex;

use super::quota::{Quota, Standing};

/// A budget for each key, for a bounded number of keys: beyond it, those that were used longest ago
/// are forgotten, which makes them whole.
///
/// No cache, for a cache may forget what it likes: here, to use many keys must not free one of them
/// sooner than that.
pub struct Quotas<K: Hash + Eq> {
    quota: Quota,
    /// Keys of a generation: half of those that are kept.
    generation: usize,
    used: Mutex<Used<K>>,
}

/// Those that were taken from, in two generations; see [`Quota`] for what is kept. A key is in one
/// of them.
struct Used<K> {
    /// Used since the last generation was full.
    young: HashMap<K, u64>,
    /// Used in the last generation, and not since. Forgotten when the young are the last.
    old: HashMap<K, u64>,
}

impl<K: Hash + Eq> Used<K> {
    /// The key's budget, if it is known, which makes it one that was used.
    fn take(&mut self, key: &K) -> u64 {
        match self.young.get(key) {
            Some(budget) => *budget,
            None => self.old.remove(key).unwrap_or(0),
        }
    }

    fn put(&mut self, key: K, budget: u64, generation: usize) {
        if self.young.len() >= generation && !self.young.contains_key(&key) {
            self.old = mem::take(&mut self.young);
        }
        self.young.insert(key, budget);
    }
}

impl<K: Hash + Eq> Quotas<K> {
    /// Quotas of `quota`, no more than `most` at a time; half of them are remembered in any case.
    pub fn new(quota: Quota, most: usize) -> Quotas<K> {
        let used = Used { young: HashMap::new(), old: HashMap::new() };
        Quotas { quota, generation: (most / 2).max(1), used: Mutex::new(used) }
    }

    /// Takes one from a key's budget. Returns the state of the budget, and whether one was left.
    pub fn take(&self, key: K, now_ms: u64) -> (bool, Standing) {
        let mut used = self.used.lock();
        let before = used.take(&key);
        let after = self.quota.take(before, now_ms);
        let budget = after.unwrap_or(before);
        used.put(key, budget, self.generation);
        (after.is_some(), self.quota.standing(budget, now_ms))
    }

    /// Takes that many from a key's budget, also if there are fewer. Returns whether the budget is
    /// in debt: see [`Quota::spend`].
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

    /// Puts one back into a key's budget.
    pub fn give_back(&self, key: &K) {
        let Used { young, old } = &mut *self.used.lock();
        if let Some(budget) = young.get_mut(key).or_else(|| old.get_mut(key)) {
            *budget = self.quota.give_back(*budget);
        }
    }

    /// Makes a key's budget whole.
    pub fn fill(&self, key: &K) {
        let Used { young, old } = &mut *self.used.lock();
        young.remove(key).or_else(|| old.remove(key));
    }

    /// Makes whole all budgets whose key is one of `which`. It looks at all of them.
    pub fn fill_all(&self, which: impl Fn(&K) -> bool) {
        let Used { young, old } = &mut *self.used.lock();
        young.retain(|key, _| !which(key));
        old.retain(|key, _| !which(key));
    }

    /// How many are kept.
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
            // One that is blocked and tries on stays known.
            assert!(!budgets.take(0, NOW).0);
            assert!(budgets.count() <= 100);
        }
        assert_eq!(budgets.take(1, NOW).1.remaining, 1);
        // Of the last, half are known.
        for key in 10_000 - 48..10_000 {
            assert!(budgets.take(key, NOW).0 && !budgets.take(key, NOW).0, "{key}");
        }
    }
}
