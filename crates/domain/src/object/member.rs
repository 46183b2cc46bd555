//! The index of the parts of containers that hold an object. These containers are notified when the
//! object is discarded, restored or destroyed.

use bytes::Bytes;

use crate::id::Loid;
use crate::store::{KeyRange, ReadLevel, RowPlace, RowReader, StoreError, Table, key_of};

/// Notes that the part at `part`, a key in [`Table::Parts`], holds an object. There is one entry
/// for each object, however often the part names it.
pub fn hold(object: Loid, part: &RowPlace, entries: &mut Vec<(RowPlace, Bytes)>) {
    let key = RowPlace { table: Table::Members, key: key_of(&[&object.to_key(), &part.key]) };
    if !entries.iter().any(|(there, _)| *there == key) {
        entries.push((key, Bytes::new()));
    }
}

/// The number of entries read at a time where containers hold the object with several parts. Of
/// each container, all entries after the first are useless.
const FEW: usize = 8;

/// The maximal number of entries read at a time, where each is of another container.
const MANY: usize = 256;

/// A cursor over the containers that hold an object, live or discarded. Each is returned once, in
/// the order of loids, some at a time. Only a few entries of each container are read, however many
/// of its parts hold the object.
pub struct HolderCursor {
    /// The range still to be read; `None` after the last entry.
    range: Option<KeyRange>,
    /// The number of entries to read next.
    most: usize,
}

impl HolderCursor {
    /// Creates a cursor over the containers of an object.
    pub fn of(object: Loid) -> HolderCursor {
        HolderCursor { range: Some(KeyRange::prefix(&object.to_key())), most: FEW }
    }

    /// Returns the next containers, at least one; `None` after the last.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn batch(&mut self, look: &dyn RowReader, view: ReadLevel) -> Result<Option<Vec<Loid>>, StoreError> {
        let Some(range) = self.range.take() else { return Ok(None) };
        let entries = look.scan(view, Table::Members, &range, self.most, false)?;
        let mut containers = Vec::with_capacity(entries.len());
        for (key, _) in &entries {
            let container = Loid::from_key(&key[Loid::KEY_LEN..])
                .ok_or_else(|| StoreError::Corrupt("a key in `members` is too short".to_owned()))?;
            // Parts of one container have adjacent keys.
            if containers.last() != Some(&container) {
                containers.push(container);
            }
        }
        if let Some((last, _)) = entries.last().filter(|_| entries.len() == self.most) {
            // The next range begins after all parts of the last container.
            let of_last = KeyRange::prefix(&last[..2 * Loid::KEY_LEN]);
            self.range = of_last.to.map(|behind| KeyRange { from: behind, to: range.to });
        }
        self.most = if containers.len() == entries.len() { (2 * self.most).min(MANY) } else { FEW };
        Ok((!containers.is_empty()).then_some(containers))
    }
}

/// Returns all containers that hold an object at once; see [`HolderCursor`].
///
/// # Errors
/// Errors of the store.
pub fn containers_of(look: &dyn RowReader, view: ReadLevel, object: Loid) -> Result<Vec<Loid>, StoreError> {
    let (mut holders, mut containers) = (HolderCursor::of(object), Vec::new());
    while let Some(batch) = holders.batch(look, view)? {
        containers.extend(batch);
    }
    Ok(containers)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use proptest::prelude::*;

    use super::*;
    use crate::id::DatabaseId;
    use crate::store::memory::MemoryStore;
    use crate::store::{ChangeSet, RowChange, Store};

    fn loid(number: u64) -> Loid {
        Loid::new(DatabaseId::FIRST, number)
    }

    /// Returns a store in which these containers hold an object, each with the given number of
    /// parts.
    fn store(object: u64, holders: &[(u64, usize)]) -> MemoryStore {
        let store = MemoryStore::new();
        let mut set = ChangeSet::fence(store.epoch(), |_| ());
        for (container, parts) in holders {
            for part in 0..*parts {
                let key = key_of(&[&loid(object).to_key(), &loid(*container).to_key(), &(part as u64).to_be_bytes()]);
                set.changes.push(RowChange { table: Table::Members, key, value: Some(Bytes::new()) });
            }
        }
        store.submit(set).expect("it is taken");
        store
    }

    /// A store that counts the rows that are read.
    struct Counting(MemoryStore, AtomicUsize);

    impl RowReader for Counting {
        fn get(&self, view: ReadLevel, table: Table, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
            self.0.get(view, table, key)
        }

        fn scan(
            &self,
            view: ReadLevel,
            table: Table,
            range: &KeyRange,
            limit: usize,
            backwards: bool,
        ) -> Result<Vec<(Bytes, Bytes)>, StoreError> {
            let found = self.0.scan(view, table, range, limit, backwards)?;
            self.1.fetch_add(found.len(), Ordering::SeqCst);
            Ok(found)
        }
    }

    #[test]
    fn a_lookup_of_containers_reads_few_entries_of_each_container() {
        let often = [(3, 20_000), (4, 20_000), (5, 1), (6, 1), (7, 20_000)];
        let counting = Counting(store(9, &often), AtomicUsize::new(0));
        let found = containers_of(&counting, ReadLevel::Committed, loid(9)).expect("it can be read");
        assert_eq!(found, [3, 4, 5, 6, 7].map(loid));
        let read = counting.1.load(Ordering::SeqCst);
        assert!(read <= often.len() * FEW, "{read} rows");
    }

    #[test]
    fn where_each_has_one_part_many_are_read_at_a_time() {
        let once: Vec<(u64, usize)> = (1..=2_000).map(|container| (container, 1)).collect();
        let store = store(9, &once);
        let (mut holders, mut lens) = (HolderCursor::of(loid(9)), Vec::new());
        while let Some(batch) = holders.batch(&store, ReadLevel::Committed).expect("it can be read") {
            lens.push(batch.len());
        }
        assert_eq!((lens.iter().sum::<usize>(), lens.iter().max()), (2_000, Some(&MANY)));
        assert!(lens.len() < 2_000 / MANY + 10, "{lens:?}");
    }

    proptest! {
        #[test]
        fn each_holder_is_found_once_and_in_order(holders in prop::collection::btree_map(0..500u64, 1..40usize, 0..60)) {
            let entries: Vec<(u64, usize)> = holders.into_iter().collect();
            let store = store(9, &entries);
            let wanted: Vec<Loid> = entries.iter().map(|(container, _)| loid(*container)).collect();
            prop_assert_eq!(containers_of(&store, ReadLevel::Committed, loid(9)), Ok(wanted));
            prop_assert_eq!(containers_of(&store, ReadLevel::Committed, loid(8)), Ok(vec![]));
            prop_assert_eq!(containers_of(&store, ReadLevel::Committed, loid(10)), Ok(vec![]));
        }
    }
}
