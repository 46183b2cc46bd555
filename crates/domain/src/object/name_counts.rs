//! The number of names in each folder, kept in a row by each change of names, so that counting need
//! not read them all.

use std::collections::BTreeMap;

use bytes::Bytes;

use crate::id::Loid;
use crate::store::{DecodeError, ReadLevel, RowChange, RowReader, StoreError, Table};

/// Returns the number of objects in a folder.
///
/// # Errors
/// Errors of the store.
pub fn names_in(look: &dyn RowReader, view: ReadLevel, folder: Loid) -> Result<u64, StoreError> {
    match look.get(view, Table::NameCounts, &folder.to_key())? {
        None => Ok(0),
        Some(count) => count_of(&count),
    }
}

/// Decodes a stored number of names.
fn count_of(value: &[u8]) -> Result<u64, StoreError> {
    let bytes = value.try_into().map_err(|_| DecodeError("a number of names has another length".to_owned()))?;
    Ok(u64::from_be_bytes(bytes))
}

/// Returns the changes of the counts that follow from changes of names, in folders whose turns are
/// held. The last change of a name counts.
///
/// # Errors
/// Errors of the store.
pub fn recount(look: &dyn RowReader, changes: &[RowChange]) -> Result<Vec<RowChange>, StoreError> {
    let mut names: BTreeMap<&[u8], bool> = BTreeMap::new();
    for change in changes.iter().filter(|change| change.table == Table::Names) {
        names.insert(&change.key, change.value.is_some());
    }
    let mut by_folder: BTreeMap<&[u8], i64> = BTreeMap::new();
    for (name, is_there) in names {
        let was = look.get(ReadLevel::Latest, Table::Names, name)?.is_some();
        let (folder, _) = name.split_at_checked(Loid::KEY_LEN).unwrap_or((name, &[]));
        *by_folder.entry(folder).or_default() += i64::from(is_there) - i64::from(was);
    }
    let mut counts = Vec::new();
    for (folder, more) in by_folder.into_iter().filter(|(_, more)| *more != 0) {
        let before = look.get(ReadLevel::Latest, Table::NameCounts, folder)?.map_or(Ok(0), |count| count_of(&count))?;
        let now = before.saturating_add_signed(more);
        let value = (now > 0).then(|| Bytes::copy_from_slice(&now.to_be_bytes()));
        counts.push(RowChange { table: Table::NameCounts, key: Bytes::copy_from_slice(folder), value });
    }
    Ok(counts)
}

/// The entries of [`Table::NameCounts`] that follow from the keys of [`Table::Names`].
#[derive(Debug, Default)]
pub struct NameCounts(BTreeMap<Vec<u8>, u64>);

impl NameCounts {
    /// Counts one more name.
    pub fn add(&mut self, name: &[u8]) {
        let (folder, _) = name.split_at_checked(Loid::KEY_LEN).unwrap_or((name, &[]));
        match self.0.get_mut(folder) {
            Some(count) => *count += 1,
            None => drop(self.0.insert(folder.to_vec(), 1)),
        }
    }

    /// Returns the keys and values.
    pub fn entries(self) -> impl Iterator<Item = (Vec<u8>, [u8; 8])> {
        self.0.into_iter().map(|(folder, count)| (folder, count.to_be_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::DatabaseId;
    use crate::object::name_key;
    use crate::store::memory::MemoryStore;
    use crate::store::{ChangeSet, Store};

    fn name(folder: u64, name: &str, is_there: bool) -> RowChange {
        let key = name_key(Loid::new(DatabaseId::FIRST, folder), name);
        RowChange { table: Table::Names, key, value: is_there.then(|| Bytes::from_static(b"an object")) }
    }

    #[test]
    fn the_last_change_of_each_name_counts_once() {
        let store = MemoryStore::new();
        let counts = |changes: Vec<RowChange>| {
            let counted = recount(&store, &changes).expect("the store can be read");
            let mut set = ChangeSet::fence(store.epoch(), |_| ());
            set.changes = [changes, counted.clone()].concat();
            store.submit(set).expect("it is taken");
            let of =
                |folder| names_in(&store, ReadLevel::Latest, Loid::new(DatabaseId::FIRST, folder)).expect("a number");
            ([1, 2].map(of), counted.len())
        };
        assert_eq!(counts(vec![name(1, "a", true), name(1, "b", true), name(2, "a", true)]), ([2, 1], 2));
        // A move from one to the other; and the replacement of one object by another.
        assert_eq!(counts(vec![name(1, "a", false), name(2, "x", true)]), ([1, 2], 2));
        assert_eq!(counts(vec![name(1, "b", false), name(1, "b", true)]), ([1, 2], 0));
        assert_eq!(counts(vec![name(1, "c", true), name(1, "c", false), name(1, "none", false)]), ([1, 2], 0));
        assert_eq!(counts(vec![name(1, "b", false), name(2, "a", true)]), ([0, 2], 1));
        let rows = store.rows();
        let mut wanted = NameCounts::default();
        rows.iter().filter(|((table, _), _)| *table == Table::Names).for_each(|((_, key), _)| wanted.add(key));
        let there = rows.iter().filter(|((table, _), _)| *table == Table::NameCounts);
        let there: Vec<_> = there.map(|((_, key), value)| (key.to_vec(), value.to_vec())).collect();
        assert_eq!(there, wanted.entries().map(|(key, value)| (key, value.to_vec())).collect::<Vec<_>>());
    }
}
