//! Which parts of containers hold an object: the index of those that are notified when the object goes or comes back.

use bytes::Bytes;

use crate::id::Loid;
use crate::store::{Key, Look, Range, StoreError, Table, View, key_of};

/// Notes that the part at `part`, a place in [`Table::Parts`], holds an object. Once for each object, however often the part
/// names it.
pub fn hold(object: Loid, part: &Key, entries: &mut Vec<(Key, Bytes)>) {
    let key = Key { table: Table::Members, key: key_of(&[&object.to_key(), &part.key]) };
    if !entries.iter().any(|(there, _)| *there == key) {
        entries.push((key, Bytes::new()));
    }
}

/// The containers that hold an object, live or discarded ones, each once and in the order of their loids.
///
/// # Errors
/// What the store says.
pub fn containers_of(look: &dyn Look, view: View, object: Loid) -> Result<Vec<Loid>, StoreError> {
    Ok(containers_within(look, view, object, usize::MAX)?.0)
}

/// The same, found by so many parts at most; and how many parts these are. If there are as many, there may be more.
///
/// # Errors
/// What the store says.
pub(crate) fn containers_within(
    look: &dyn Look,
    view: View,
    object: Loid,
    parts: usize,
) -> Result<(Vec<Loid>, usize), StoreError> {
    let range = Range::prefix(&object.to_key());
    let found = look.scan(view, Table::Members, &range, parts, false)?;
    let mut containers = Vec::new();
    for (key, _) in &found {
        let container = Loid::from_key(&key[Loid::KEY_LEN..])
            .ok_or_else(|| StoreError::Corrupt("a key in `members` is too short".to_owned()))?;
        // Parts of one container stand together.
        if containers.last() != Some(&container) {
            containers.push(container);
        }
    }
    Ok((containers, found.len()))
}
