//! A map from numbers to numbers.

use super::{Sequence, SequenceItem};

/// A persistent map from numbers to numbers, based on a [`Sequence`]. A change of it copies less
/// than a change of a hash trie.
#[derive(Debug, Clone, Default)]
pub struct NumberMap(Sequence<NumberPair>);

#[derive(Debug, Clone, Copy)]
struct NumberPair {
    key: u128,
    value: u128,
}

impl SequenceItem for NumberPair {
    fn order(&self) -> u128 {
        self.key
    }

    fn is_visible(&self) -> bool {
        true
    }
}

impl NumberMap {
    /// Returns the number stored for a key.
    pub fn get(&self, key: u128) -> Option<u128> {
        self.0.get(key).map(|pair| pair.value)
    }

    /// Returns the number of keys.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Reports whether the map is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Stores a number for a key, in place of an earlier one.
    pub fn insert(&mut self, key: u128, value: u128) {
        self.0.put(NumberPair { key, value });
    }

    /// Removes a key.
    pub fn remove(&mut self, key: u128) {
        self.0.remove(key);
    }
}

impl FromIterator<(u128, u128)> for NumberMap {
    fn from_iter<I: IntoIterator<Item = (u128, u128)>>(pairs: I) -> NumberMap {
        NumberMap(pairs.into_iter().map(|(key, value)| NumberPair { key, value }).collect())
    }
}
