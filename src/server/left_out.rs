//! Databases that exist in the data directory but not in the configuration. All calls for them are
//! refused as for a database that never existed.

use std::collections::BTreeSet;

use bytes::Bytes;
use stet_config::Config;
use stet_domain::folder::root;
use stet_domain::id::{DatabaseId, Loid};
use stet_domain::store::{KeyRange, ReadLevel, RowReader, StoreError, Table};

/// Returns the databases that are missing in the configuration and have objects beside their root
/// folder, in use or in the recycle bin. `keys` returns the first keys of a range of a table. It is
/// called at most twice per database and table, independent of the number of objects.
///
/// # Errors
/// Errors of `keys`.
pub(crate) fn left_out<E>(
    config: &Config,
    keys: impl Fn(Table, &KeyRange, usize) -> Result<Vec<Bytes>, E>,
) -> Result<BTreeSet<DatabaseId>, E> {
    let mut left_out = BTreeSet::new();
    for table in [Table::Objects, Table::Recycled] {
        let mut rest = KeyRange::prefix(&[]);
        // `stet check` reports keys that are not those of objects.
        while let Some(Loid { database, .. }) = keys(table, &rest, 1)?.first().and_then(|key| Loid::from_key(key)) {
            let of_database = KeyRange::prefix(&database.0.to_be_bytes());
            let is_known = config.databases.iter().any(|known| known.id == database.0);
            if !is_known && has_rows(database, table, &keys)? {
                left_out.insert(database);
            }
            let Some(next) = of_database.to else { break };
            rest = KeyRange { from: next, to: None };
        }
    }
    Ok(left_out)
}

/// Reports whether a table has an object of a database beside its root folder, which is created
/// with the database.
fn has_rows<E>(
    database: DatabaseId,
    table: Table,
    keys: &impl Fn(Table, &KeyRange, usize) -> Result<Vec<Bytes>, E>,
) -> Result<bool, E> {
    let first = keys(table, &KeyRange::prefix(&database.0.to_be_bytes()), 2)?;
    Ok(first.iter().any(|key| Loid::from_key(key) != Some(root(database))))
}

/// Reports whether a database has objects beside its root folder, in use or in the recycle bin.
/// `keys` is that of [`left_out`].
///
/// # Errors
/// Errors of `keys`.
pub(crate) fn has_objects<E>(
    database: DatabaseId,
    keys: &impl Fn(Table, &KeyRange, usize) -> Result<Vec<Bytes>, E>,
) -> Result<bool, E> {
    Ok(has_rows(database, Table::Objects, keys)? || has_rows(database, Table::Recycled, keys)?)
}

/// Returns a message about these databases; `None` if there are none.
pub(crate) fn describe_left_out(left_out: &BTreeSet<DatabaseId>) -> Option<String> {
    let listed = left_out.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    match left_out.len() {
        0 => None,
        1 => Some(format!(
            "database {listed} has objects, but is not in `databases`: calls for it are refused with DatabaseNotFound"
        )),
        _ => Some(format!(
            "databases {listed} have objects, but are not in `databases`: calls for them are refused with \
             DatabaseNotFound"
        )),
    }
}

/// Logs at the start which databases are left out. A failure to read them is only logged, because
/// serving does not depend on it.
pub(super) fn warn_of_left_out(config: &Config, store: &dyn RowReader) {
    let keys = |table: Table, range: &KeyRange, limit: usize| {
        let found = store.scan(ReadLevel::Committed, table, range, limit, false)?;
        Ok::<_, StoreError>(found.into_iter().map(|(key, _)| key).collect())
    };
    match left_out(config, keys).map(|left_out| describe_left_out(&left_out)) {
        Ok(Some(told)) => tracing::warn!("{told}: {ADVICE}"),
        Ok(None) => {}
        Err(error) => tracing::warn!(%error, "cannot find out which databases have objects"),
    }
}

/// The advice for such databases.
pub(crate) const ADVICE: &str = "restore each [[databases]] entry, with its former number";

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::collections::BTreeMap;

    use stet_config::DatabaseConfig;

    use super::*;

    #[test]
    fn databases_with_objects_are_found_by_two_lookups_each() {
        let objects = |database: u16, count: u64| {
            (1..=count).map(move |number| (Table::Objects, Loid::new(DatabaseId(database), number)))
        };
        let rows: Vec<(Table, Loid)> = objects(1, 500)
            .chain(objects(2, 1))
            .chain(objects(3, 500))
            .chain(objects(5, 2))
            .chain(objects(u16::MAX, 500))
            // All its objects are in the recycle bin.
            .chain([(Table::Objects, root(DatabaseId(9))), (Table::Recycled, Loid::new(DatabaseId(9), 7))])
            .collect();
        let mut tables: BTreeMap<u8, BTreeSet<Vec<u8>>> = BTreeMap::new();
        for (table, loid) in rows {
            tables.entry(table as u8).or_default().insert(loid.to_key().to_vec());
        }
        let looks = Cell::new(0);
        let keys = |table: Table, range: &KeyRange, limit: usize| {
            looks.set(looks.get() + 1);
            let within =
                |key: &&Vec<u8>| key[..] >= range.from[..] && range.to.as_ref().is_none_or(|to| key[..] < to[..]);
            let found = tables[&(table as u8)].iter().filter(within).take(limit);
            Ok::<_, ()>(found.map(|key| Bytes::copy_from_slice(key)).collect::<Vec<_>>())
        };
        let with = |ids: &[u16]| {
            let databases = ids.iter().map(|id| DatabaseConfig::named(*id, &format!("d{id}"))).collect();
            let config = Config { databases, ..Config::default() };
            left_out(&config, keys).unwrap().into_iter().map(|database| database.0).collect::<Vec<_>>()
        };
        assert_eq!(with(&[1, 3, 5, 9, u16::MAX]), Vec::<u16>::new(), "2 has its root alone");
        assert_eq!(with(&[1, 2, 3]), [5, 9, u16::MAX]);
        looks.set(0);
        assert_eq!(with(&[1]), [3, 5, 9, u16::MAX]);
        assert!(looks.get() < 20, "{}", looks.get());
    }

    #[test]
    fn left_out_databases_are_described_in_singular_and_plural() {
        let of = |ids: &[u16]| describe_left_out(&ids.iter().map(|id| DatabaseId(*id)).collect());
        assert_eq!(of(&[]), None);
        assert!(of(&[2]).unwrap().starts_with("database 2 has objects, but is not in `databases`"));
        assert!(of(&[2, 3]).unwrap().starts_with("databases 2, 3 have objects"));
    }
}
