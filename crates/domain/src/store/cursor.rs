//! Reading the rows of a range in batches.

use bytes::Bytes;

use super::{KeyRange, ReadLevel, RowReader, StoreError, Table};

/// The number of rows in a batch. With rows of 50 KB that is 13 MB.
const BATCH: usize = 256;

/// A cursor over the rows of a range, which reads a batch at a time. Rows that are added or removed
/// in the range meanwhile may be returned or not.
pub struct RowCursor {
    level: ReadLevel,
    table: Table,
    /// The rows still to be read; `None` after the last.
    rest: Option<KeyRange>,
    backwards: bool,
}

impl RowCursor {
    /// Creates a cursor over committed rows in the order of their keys.
    pub fn over(table: Table, range: KeyRange) -> RowCursor {
        RowCursor { level: ReadLevel::Committed, table, rest: Some(range), backwards: false }
    }

    /// Reverses the order: the last rows of the range are the first to be read.
    #[must_use]
    pub fn backwards(self) -> RowCursor {
        RowCursor { backwards: true, ..self }
    }

    /// Reads the rows at another level than [`ReadLevel::Committed`].
    #[must_use]
    pub fn at(self, level: ReadLevel) -> RowCursor {
        RowCursor { level, ..self }
    }

    /// Returns the next rows, at least one; `None` after the last.
    ///
    /// # Errors
    /// Errors of the store. The cursor stays where it is.
    pub fn batch(&mut self, look: &dyn RowReader) -> Result<Option<Vec<(Bytes, Bytes)>>, StoreError> {
        let Some(range) = &self.rest else { return Ok(None) };
        let rows = look.scan(self.level, self.table, range, BATCH, self.backwards)?;
        self.rest = rows.last().filter(|_| rows.len() == BATCH).map(|(last, _)| match self.backwards {
            true => KeyRange { from: range.from.clone(), to: Some(last.clone()) },
            false => range.after(last),
        });
        Ok((!rows.is_empty()).then_some(rows))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::memory::MemoryStore;
    use crate::store::{ChangeSet, RowChange, Store};

    #[test]
    fn all_rows_of_a_range_are_read_once_in_either_order() {
        for count in [0, 1, BATCH - 1, BATCH, BATCH + 1, 3 * BATCH] {
            let store = MemoryStore::new();
            let mut set = ChangeSet::fence(store.epoch(), |_| ());
            // The range does not have the first row, nor the last.
            for number in 0..count + 2 {
                let key = Bytes::copy_from_slice(&number.to_be_bytes());
                set.changes.push(RowChange { table: Table::Parts, key, value: Some(Bytes::new()) });
            }
            store.submit(set).expect("it is taken");
            let key = |number: usize| Bytes::copy_from_slice(&number.to_be_bytes());
            let range = KeyRange { from: key(1), to: Some(key(count + 1)) };
            let read = |mut cursor: RowCursor| {
                let mut keys = Vec::new();
                while let Some(rows) = cursor.batch(&store).expect("it can be read") {
                    assert!((1..=BATCH).contains(&rows.len()));
                    keys.extend(rows.into_iter().map(|(key, _)| key));
                }
                keys
            };
            let mut wanted: Vec<Bytes> = (1..=count).map(key).collect();
            assert_eq!(read(RowCursor::over(Table::Parts, range.clone())), wanted, "{count}");
            wanted.reverse();
            assert_eq!(read(RowCursor::over(Table::Parts, range).backwards()), wanted, "{count}");
        }
    }
}
