//! Reading the parts of a container.

use bytes::Bytes;

use super::PartKind;
use crate::id::Loid;
use crate::store::{KeyRange, ReadLevel, Row, RowCursor, RowReader, StoreError, Table, decode_value};

/// A reader of the parts of one container, as they are on disk.
pub struct PartReader<'a> {
    look: &'a dyn RowReader,
    container: Loid,
}

impl<'a> PartReader<'a> {
    /// Creates a reader of the parts of `container`.
    pub fn new(look: &'a dyn RowReader, container: Loid) -> PartReader<'a> {
        PartReader { look, container }
    }

    /// Returns all parts of a kind, in key order.
    ///
    /// # Errors
    /// Errors of the store; a row that can't be decoded.
    pub fn all<R: Row>(&self, kind: PartKind) -> Result<Vec<R>, StoreError> {
        let mut rows = Vec::new();
        self.each(kind, |_, value| {
            rows.push(decode_value(R::FORMAT, &value)?);
            Ok(())
        })?;
        Ok(rows)
    }

    /// Returns the part of a kind that exists once in a container.
    ///
    /// # Errors
    /// Errors of the store; a row that is missing or can't be decoded.
    pub fn head<R: Row>(&self, kind: PartKind) -> Result<R, StoreError> {
        let place = kind.place(self.container, &[]);
        let value = self.look.get(ReadLevel::Committed, place.table, &place.key)?;
        let value =
            value.ok_or_else(|| StoreError::Corrupt(format!("the container {} has no head row", self.container)))?;
        Ok(decode_value(R::FORMAT, &value)?)
    }

    /// Calls `each` with the key and the stored value of every part of a kind, in key order.
    ///
    /// # Errors
    /// Errors of the store or of `each`.
    pub fn each(
        &self,
        kind: PartKind,
        mut each: impl FnMut(Bytes, Bytes) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let range = KeyRange::prefix(&kind.place(self.container, &[]).key);
        let mut cursor = RowCursor::over(Table::Parts, range);
        while let Some(rows) = cursor.batch(self.look)? {
            for (key, value) in rows {
                each(key, value)?;
            }
        }
        Ok(())
    }
}
