//! The main database of a data directory. Paths of users, groups and templates are resolved there,
//! so it stays the one that the directory was filled with. A mark in the tables names it. A start
//! with another main database is refused once the marked one has objects.

use bytes::Bytes;
use stet_actors::repository::Repository;
use stet_config::Config;
use stet_domain::id::DatabaseId;
use stet_domain::store::{KeyRange, ReadLevel, RowChange, RowReader, StoreError, Table};

use super::left_out::has_objects;
use crate::exit::{Exit, Failure};

/// The mark's key in [`Table::Marks`]; the value is the number as digits.
pub(crate) const MARK: &[u8] = b"main database";

/// Returns the database that a mark names. Without a mark it is the first one: releases without
/// marks allowed no other.
///
/// # Errors
/// A message, if the mark can't be parsed.
pub(crate) fn named_by(mark: Option<&[u8]>) -> Result<DatabaseId, String> {
    let Some(mark) = mark else { return Ok(DatabaseId::FIRST) };
    let number = str::from_utf8(mark).ok().and_then(|text| text.parse().ok());
    number
        .map(DatabaseId)
        .ok_or_else(|| "the tables don't say which database is the main one: their mark is damaged".to_owned())
}

/// Returns why a directory with the main database `noted` can't be used with a configuration that
/// has another.
pub(crate) fn mismatch(noted: DatabaseId, configured: DatabaseId) -> String {
    format!("its main database is number {noted}, but the configuration makes number {configured} the main one")
}

/// The advice for a mismatch.
pub(crate) const ADVICE: &str = "set `main = true` in the [[databases]] entry with the number that the directory has";

fn read_mark(store: &dyn RowReader) -> Result<DatabaseId, Failure> {
    let unread = |error: StoreError| Failure::new(Exit::Data, format!("the main database can't be read: {error}"));
    let mark = store.get(ReadLevel::Committed, Table::Marks, MARK).map_err(unread)?;
    named_by(mark.as_deref()).map_err(|why| Failure::new(Exit::Data, why))
}

/// Makes the marked main database that of the process. Commands that do not serve use it, because
/// they need no configuration.
///
/// # Errors
/// [`Exit::Data`].
pub(super) fn adopt(store: &dyn RowReader) -> Result<(), Failure> {
    read_mark(store)?.set_main();
    Ok(())
}

/// Makes the configured main database that of the process. Returns whether the directory needs a
/// new mark ([`note`]).
///
/// # Errors
/// [`Exit::Data`] if the directory's mark names another one with objects.
pub(super) fn settle(config: &Config, store: &dyn RowReader) -> Result<bool, Failure> {
    let (noted, configured) = (read_mark(store)?, config.main_database());
    if noted != configured {
        let keys = |table: Table, range: &KeyRange, limit: usize| {
            let found = store.scan(ReadLevel::Committed, table, range, limit, false)?;
            Ok::<_, StoreError>(found.into_iter().map(|(key, _)| key).collect::<Vec<Bytes>>())
        };
        let data = config.data.directory.display();
        let has_some = has_objects(noted, &keys)
            .map_err(|error| Failure::new(Exit::Data, format!("{data} can't be read: {error}")))?;
        if has_some {
            let why = mismatch(noted, configured);
            return Err(Failure::new(Exit::Data, format!("{data} can't be used: {why}. {}", capitalised(ADVICE))));
        }
    }
    configured.set_main();
    Ok(noted != configured)
}

fn capitalised(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect()
}

/// Writes the configured main database to the directory's mark.
///
/// # Errors
/// [`Exit::Data`] if the disk does not accept it.
pub(super) async fn note(config: &Config, repository: &Repository) -> Result<(), Failure> {
    let value = config.main_database().to_string();
    let change = RowChange { table: Table::Marks, key: Bytes::from_static(MARK), value: Some(value.into()) };
    repository.commit(|set| set.changes = vec![change]).await.map_err(|error| {
        let data = config.data.directory.display();
        Failure::new(Exit::Data, format!("{data}: the main database can't be stored: {}", error.message))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directory_without_a_mark_has_the_first_database() {
        assert_eq!(named_by(None), Ok(DatabaseId::FIRST));
        assert_eq!(named_by(Some(b"33")), Ok(DatabaseId(33)));
        assert!(named_by(Some(b"x")).is_err() && named_by(Some(b"70000")).is_err());
    }
}
