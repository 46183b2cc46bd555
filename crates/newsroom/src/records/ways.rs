//! The cached sets of folders on the way to the folders that callers may read. They are kept until
//! a folder changes that was read to compute them.
//!
//! A caller may have grants on a thousand folders, dozens of levels deep. A listing asks for each
//! of its folders whether it is on the way to one of them. So the answer must not take a walk up
//! from each grant.
//!
//! # Why an outdated set can't stay
//!
//! A caller that computes a set notes the generation first, and watches each folder before reading
//! it. A change of a watched folder starts the next generation, which begins without sets and
//! watched folders. A set of an older generation is not kept. Changes are reported after readers
//! can see them. So a folder that changes after it was read is watched by then, and one that
//! changed before was read as it is now.

use std::sync::Arc;

use foldhash::{HashMap, HashSet};
use parking_lot::RwLock;
use stet_domain::id::Loid;

/// The largest number of watched folders, and of folders in all kept sets: some 10 MB each.
const MOST: usize = 1 << 18;

/// The cache of these sets.
#[derive(Default)]
pub struct AncestorCache(RwLock<State>);

#[derive(Default)]
struct State {
    generation: u64,
    watched: HashSet<Loid>,
    /// Sets by the identity of the rights.
    sets: HashMap<u64, Arc<HashSet<Loid>>>,
    /// The number of folders in all sets.
    kept: usize,
}

impl State {
    fn start_next_generation(&mut self) {
        *self = State { generation: self.generation + 1, ..State::default() };
    }
}

impl AncestorCache {
    /// Returns the set for these rights.
    ///
    /// # Errors
    /// The current generation, if the set is not kept.
    pub fn kept(&self, rights: u64) -> Result<Arc<HashSet<Loid>>, u64> {
        let state = self.0.read();
        state.sets.get(&rights).cloned().ok_or(state.generation)
    }

    /// Watches a folder before it is read for a set of this generation.
    pub fn watch(&self, generation: u64, folder: Loid) {
        let mut state = self.0.write();
        if state.generation != generation {
            return;
        }
        if state.watched.len() >= MOST {
            // This set will not be kept, but others find room.
            state.start_next_generation();
        } else {
            state.watched.insert(folder);
        }
    }

    /// Keeps a set of this generation, unless the next one has begun.
    pub fn keep(&self, generation: u64, rights: u64, folders: Arc<HashSet<Loid>>) {
        let mut state = self.0.write();
        // An empty set takes room, too.
        let size = folders.len() + 1;
        if state.generation != generation || size > MOST {
            return;
        }
        if state.kept + size > MOST {
            // Many may belong to rights that no caller has any more.
            state.sets.clear();
            state.kept = 0;
        }
        state.kept += size;
        if let Some(before) = state.sets.insert(rights, folders) {
            state.kept -= before.len() + 1;
        }
    }

    /// Notes that objects have changed.
    pub fn changed(&self, objects: &[Loid]) {
        let is_watched = |state: &State| objects.iter().any(|object| state.watched.contains(object));
        // Most changes concern other objects, and readers need not wait for them.
        if is_watched(&self.0.read()) {
            self.0.write().start_next_generation();
        }
    }
}

#[cfg(test)]
mod tests {
    use stet_domain::id::DatabaseId;

    use super::*;

    fn folder(number: usize) -> Loid {
        Loid::new(DatabaseId::FIRST, number as u64)
    }

    fn set(folders: std::ops::Range<usize>) -> Arc<HashSet<Loid>> {
        Arc::new(folders.map(folder).collect())
    }

    #[test]
    fn a_set_is_kept_until_a_watched_folder_changes() {
        let ways = AncestorCache::default();
        let first = ways.kept(1).expect_err("nothing is kept");
        ways.watch(first, folder(1));
        ways.keep(first, 1, set(0..2));
        ways.changed(&[folder(2), folder(3)]);
        assert_eq!(ways.kept(1).expect("no watched folder has changed").len(), 2);
        ways.changed(&[folder(2), folder(1)]);
        let second = ways.kept(1).expect_err("a watched folder has changed");
        ways.keep(first, 1, set(0..2));
        assert_eq!(ways.kept(1).expect_err("it was found before the change"), second);
        ways.watch(first, folder(1));
        ways.changed(&[folder(1)]);
        assert_eq!(ways.kept(1), Err(second), "nothing is watched for a set that will not be kept");
    }

    #[test]
    fn the_ancestor_cache_bounds_its_kept_sets_and_watched_folders() {
        let ways = AncestorCache::default();
        let mut generation = ways.kept(0).expect_err("nothing is kept");
        for rights in 0..40 {
            ways.keep(generation, rights, set(0..MOST / 10));
            let state = ways.0.read();
            let folders: usize = state.sets.values().map(|folders| folders.len() + 1).sum();
            assert!(state.kept == folders && folders <= MOST && state.sets.contains_key(&rights));
        }
        ways.keep(generation, 77, set(0..MOST));
        assert!(ways.kept(77).is_err(), "it alone is too large");
        for number in 0..MOST + 2 {
            generation = ways.kept(99).expect_err("it is not kept");
            ways.watch(generation, folder(number));
        }
        let state = ways.0.read();
        assert!(state.watched.len() <= MOST && state.sets.is_empty() && state.kept == 0);
    }
}
