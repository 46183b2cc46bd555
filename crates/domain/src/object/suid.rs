//! Story families: the objects that share a SUID.

use crate::id::Loid;
use crate::store::{KeyRange, ReadLevel, RowReader, StoreError, Table, key_of};

/// Returns at most `limit` live objects with a SUID, in the order of their loids.
///
/// # Errors
/// Errors of the store.
pub fn family_of(look: &dyn RowReader, view: ReadLevel, suid: &str, limit: usize) -> Result<Vec<Loid>, StoreError> {
    let prefix = key_of(&[suid.as_bytes(), &[0]]);
    let page = look.scan(view, Table::Suids, &KeyRange::prefix(&prefix), limit, false)?;
    // The key of another SUID with a zero byte may begin with the same bytes.
    let loid = |key: &[u8]| key.get(prefix.len()..).filter(|loid| loid.len() == Loid::KEY_LEN).and_then(Loid::from_key);
    Ok(page.iter().filter_map(|(key, _)| loid(key)).collect())
}
