//! Which rows refer to a content file: the index that shows when none does.

use bytes::Bytes;

use super::record::{Content, Stored};
use crate::store::{Key, Look, Range, StoreError, Table, View, key_of};

/// Notes that the row at `row` refers to the content's file, if it lies in one. `part`
/// distinguishes several contents of one row.
pub(crate) fn refer(content: &Content, row: &Key, part: &[u8], entries: &mut Vec<(Key, Bytes)>) {
    if content.stored == Stored::File {
        let key = key_of(&[&content.sha256, &[row.table as u8], &row.key, part]);
        entries.push((Key { table: Table::Files, key }, Bytes::new()));
    }
}

/// The first rows that refer to the content file of that SHA-256, `limit` at most; what follows a
/// row's key tells several contents of one row apart.
///
/// # Errors
/// What the store says.
pub fn referrers(look: &dyn Look, view: View, sha256: &[u8; 32], limit: usize) -> Result<Vec<Key>, StoreError> {
    let entries = look.scan(view, Table::Files, &Range::prefix(sha256), limit, false)?;
    let rows = entries.iter().filter_map(|(key, _)| {
        let number = *key.get(sha256.len())?;
        let table = *Table::ALL.iter().find(|table| **table as u8 == number)?;
        Some(Key { table, key: key.slice(sha256.len() + 1..) })
    });
    Ok(rows.collect())
}

/// Whether any row refers to the content file of that SHA-256.
///
/// # Errors
/// What the store says.
pub fn is_referred_to(look: &dyn Look, view: View, sha256: &[u8; 32]) -> Result<bool, StoreError> {
    Ok(!look.scan(view, Table::Files, &Range::prefix(sha256), 1, false)?.is_empty())
}
