//! The index of rows that refer to a content file, which shows when a file is unused.

use bytes::Bytes;

use super::record::{Content, ContentLocation};
use crate::store::{KeyRange, ReadLevel, RowPlace, RowReader, StoreError, Table, key_of};

/// Notes that the row at `row` refers to the content's file, if the content is in a file. `part`
/// distinguishes several contents of one row.
pub fn refer(content: &Content, row: &RowPlace, part: &[u8], entries: &mut Vec<(RowPlace, Bytes)>) {
    if content.stored == ContentLocation::File {
        let key = key_of(&[&content.sha256, &[row.table as u8], &row.key, part]);
        entries.push((RowPlace { table: Table::Files, key }, Bytes::new()));
    }
}

/// Returns the first rows that refer to a content file, at most `limit`. The bytes that follow a
/// row's key distinguish several contents of one row.
///
/// # Errors
/// Errors of the store.
pub fn referrers(
    look: &dyn RowReader,
    view: ReadLevel,
    sha256: &[u8; 32],
    limit: usize,
) -> Result<Vec<RowPlace>, StoreError> {
    let entries = look.scan(view, Table::Files, &KeyRange::prefix(sha256), limit, false)?;
    let rows = entries.iter().filter_map(|(key, _)| {
        let number = *key.get(sha256.len())?;
        let table = *Table::ALL.iter().find(|table| **table as u8 == number)?;
        Some(RowPlace { table, key: key.slice(sha256.len() + 1..) })
    });
    Ok(rows.collect())
}

/// Reports whether any row refers to a content file.
///
/// # Errors
/// Errors of the store.
pub fn is_referred_to(look: &dyn RowReader, view: ReadLevel, sha256: &[u8; 32]) -> Result<bool, StoreError> {
    Ok(!look.scan(view, Table::Files, &KeyRange::prefix(sha256), 1, false)?.is_empty())
}
