//! A persistent ordered map in two layers, for data that is changed at every command.
//!
//! A clone shares everything with its original. Recent changes are in an array above a tree
//! (`imbl`'s). The array is sorted by key, and is copied as a whole at each change: one allocation,
//! and some dozen small entries. A full array is merged into the tree at once, so that the tree's
//! nodes are copied once for many changes. Without the array, each change would copy and free six
//! nodes of a tree of 100,000 entries.

use std::cmp::Ordering;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use imbl::OrdMap;

/// The maximal number of entries in the upper layer.
const LATELY: usize = 32;

/// An ordered map whose recent changes lie above a tree. Keys and values are copied at each change:
/// they are small, and copying them counts no references.
#[derive(Debug, Clone)]
pub struct LayeredMap<K: Ord, V> {
    tree: OrdMap<K, V>,
    /// The keys whose value differs from the tree's, or that have none any more; sorted and unique.
    lately: Arc<[(K, Option<V>)]>,
}

impl<K: Ord + Clone, V: Clone> Default for LayeredMap<K, V> {
    fn default() -> LayeredMap<K, V> {
        LayeredMap { tree: OrdMap::new(), lately: Arc::new([]) }
    }
}

impl<K: Ord + Clone, V: Clone> LayeredMap<K, V> {
    /// Returns the value of a key.
    pub fn get(&self, key: &K) -> Option<&V> {
        match self.find(key) {
            Ok(at) => self.lately[at].1.as_ref(),
            Err(_) => self.tree.get(key),
        }
    }

    /// Sets the value of a key.
    pub fn insert(&mut self, key: K, value: V) {
        self.change(key, Some(value));
    }

    /// Removes a key, if it is there.
    pub fn remove(&mut self, key: &K) {
        if self.get(key).is_some() {
            self.change(key.clone(), None);
        }
    }

    /// Returns the entries, sorted by key.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.from(Bound::Unbounded)
    }

    /// Returns the entries after a key, sorted by key.
    pub fn after<'m>(&'m self, key: &K) -> impl Iterator<Item = (&'m K, &'m V)> + use<'m, K, V> {
        self.from(Bound::Excluded(key))
    }

    fn from<'m>(&'m self, from: Bound<&K>) -> impl Iterator<Item = (&'m K, &'m V)> + use<'m, K, V> {
        let mut tree = self.tree.range::<_, K>((from, Bound::Unbounded)).peekable();
        let start = self.lately.partition_point(|(key, _)| !(from, Bound::Unbounded).contains(key));
        let mut lately = self.lately[start..].iter().peekable();
        std::iter::from_fn(move || {
            loop {
                let next = match (tree.peek(), lately.peek()) {
                    (Some((old, _)), Some((new, _))) => (*old).cmp(new),
                    (Some(_), None) => Ordering::Less,
                    (None, _) => Ordering::Greater,
                };
                if next == Ordering::Less {
                    return tree.next();
                }
                if next == Ordering::Equal {
                    tree.next();
                }
                let (key, value) = lately.next()?;
                if let Some(value) = value {
                    return Some((key, value));
                }
            }
        })
    }

    /// Returns the last entry whose key is not greater than `key`.
    pub fn last_up_to(&self, key: &K) -> Option<(&K, &V)> {
        let end = self.lately.partition_point(|(new, _)| new <= key);
        let new = self.lately[..end].iter().rev().find_map(|(key, value)| Some((key, value.as_ref()?)));
        let old = self.tree.range::<_, K>(..=key).rev().find(|(key, _)| self.find(key).is_err());
        match (new, old) {
            (Some(new), Some(old)) => Some(if new.0 > old.0 { new } else { old }),
            (new, old) => new.or(old),
        }
    }

    fn find(&self, key: &K) -> Result<usize, usize> {
        self.lately.binary_search_by(|(new, _)| new.cmp(key))
    }

    fn change(&mut self, key: K, value: Option<V>) {
        if self.lately.len() == LATELY {
            for (key, value) in self.lately.iter() {
                match value {
                    Some(value) => self.tree.insert(key.clone(), value.clone()),
                    None => self.tree.remove(key),
                };
            }
            self.lately = Arc::new([]);
        }
        let (before, after) = match self.find(&key) {
            Ok(at) => (&self.lately[..at], &self.lately[at + 1..]),
            Err(at) => self.lately.split_at(at),
        };
        self.lately = before.iter().cloned().chain([(key, value)]).chain(after.iter().cloned()).collect();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, Clone)]
    enum Step {
        Insert(u8, u16),
        Remove(u8),
        /// Keeps a clone of the map, which later changes must not affect.
        Keep,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            6 => (0u8..100, any::<u16>()).prop_map(|(key, value)| Step::Insert(key, value)),
            4 => (0u8..100).prop_map(Step::Remove),
            1 => Just(Step::Keep),
        ]
    }

    fn is_like(map: &LayeredMap<u8, u16>, model: &BTreeMap<u8, u16>) -> Result<(), TestCaseError> {
        prop_assert!(map.iter().eq(model));
        prop_assert!(map.lately.is_sorted_by(|(a, _), (b, _)| a < b) && map.lately.len() <= LATELY);
        for key in 0..=100 {
            prop_assert_eq!(map.get(&key), model.get(&key));
            prop_assert_eq!(map.last_up_to(&key), model.range(..=key).next_back());
            prop_assert!(map.after(&key).eq(model.range((Bound::Excluded(key), Bound::Unbounded))), "after {key}");
        }
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

        #[test]
        fn a_layered_map_and_its_clones_hold_what_plain_maps_would(steps in proptest::collection::vec(step(), 0..300)) {
            let (mut map, mut model) = (LayeredMap::default(), BTreeMap::new());
            let mut kept = Vec::new();
            for step in steps {
                match step {
                    Step::Insert(key, value) => {
                        map.insert(key, value);
                        model.insert(key, value);
                    }
                    Step::Remove(key) => {
                        map.remove(&key);
                        model.remove(&key);
                    }
                    Step::Keep => kept.push((map.clone(), model.clone())),
                }
            }
            kept.push((map, model));
            for (map, model) in kept {
                is_like(&map, &model)?;
            }
        }
    }

    #[test]
    fn the_tree_is_changed_once_for_many_changes() {
        let mut map = LayeredMap::default();
        for n in 0..LATELY {
            map.insert(n, n);
        }
        let full = map.clone();
        map.insert(LATELY, 0);
        assert_eq!((full.tree.len(), map.tree.len(), map.lately.len()), (0, LATELY, 1));
    }
}
