//! Checks that the tests of several families share.

use stet_actors::families::Families;
use stet_actors::rows::index_of;
use stet_domain::object::NameCounts;
use stet_domain::store::Table;
use stet_domain::store::memory::MemoryStore;

/// Asserts that the index entries are exactly those that follow from the rows.
pub fn assert_sound(families: Families, store: &MemoryStore) {
    let rows = store.rows();
    let mut wanted: Vec<_> = rows
        .iter()
        .filter(|((table, _), _)| !table.is_index())
        .flat_map(|((table, key), value)| index_of(families, *table, key, value).expect("a row is understood"))
        .map(|(key, value)| ((key.table, key.key), value))
        .collect();
    let mut counts = NameCounts::default();
    rows.iter().filter(|((table, _), _)| *table == Table::Names).for_each(|((_, key), _)| counts.add(key));
    wanted.extend(counts.entries().map(|(key, count)| ((Table::NameCounts, key.into()), count.to_vec().into())));
    let mut there: Vec<_> = rows.into_iter().filter(|((table, _), _)| table.is_index()).collect();
    wanted.sort();
    there.sort();
    assert_eq!(there, wanted);
}
