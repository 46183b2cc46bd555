//! The depth of objects.

use super::record::Record;
use crate::id::Loid;
use crate::store::{ReadLevel, Row, RowReader, StoreError, Table, decode_value};

/// Returns the number of names in the path of an object, which may be in the recycle bin. If there
/// are more than `most`, it returns some greater number without visiting further folders.
///
/// # Errors
/// Errors of the store.
pub fn depth_of(look: &dyn RowReader, view: ReadLevel, object: Loid, most: usize) -> Result<usize, StoreError> {
    let (mut at, mut depth) = (object, 0);
    while depth <= most {
        let key = at.to_key();
        let row = match look.get(view, Table::Objects, &key)? {
            Some(row) => Some(row),
            None => look.get(view, Table::Recycled, &key)?,
        };
        let record: Option<Record> = row.map(|row| decode_value(Record::FORMAT, &row)).transpose()?;
        match record.and_then(|record| record.folder()) {
            Some(folder) => at = folder,
            None => break,
        }
        depth += 1;
    }
    Ok(depth)
}
