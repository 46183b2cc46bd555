//! The kinds of rows by table, for a check of the whole store.

use bytes::Bytes;

use crate::families::Families;
use stet_domain::id::Loid;
use stet_domain::object::{Attributes, Draft, Link, Record, Remainder, Version};
use stet_domain::part::RowDerivation;
use stet_domain::receipt::Receipt;
use stet_domain::store::{DecodeError, EventId, RowPlace, Segment, StoredEvent, Table};

/// Returns the index entries, key and value, that must follow from a stored row of the domain.
///
/// # Errors
/// An error if the row can't be decoded, or has a wrong key.
pub fn index_of(
    families: Families,
    table: Table,
    key: &[u8],
    value: &[u8],
) -> Result<Vec<(RowPlace, Bytes)>, DecodeError> {
    let derived = match table {
        Table::Objects | Table::Recycled => RowDerivation::read::<Record>(value)?,
        Table::Attributes => RowDerivation::read::<Attributes>(value)?,
        Table::Versions => RowDerivation::read::<Version>(value)?,
        Table::Drafts => RowDerivation::read::<Draft>(value)?,
        Table::Remainders => RowDerivation::read::<Remainder>(value)?,
        Table::Receipts => RowDerivation::read::<Receipt>(value)?,
        Table::Correlates => RowDerivation::read::<Link>(value)?,
        Table::Parts => {
            let number = key.get(Loid::KEY_LEN).copied();
            let kind = number.and_then(|number| families.part(number));
            let kind = kind.ok_or_else(|| DecodeError(format!("a part of unknown kind {number:?}")))?;
            let Some(derived) = kind.derive(value)? else { return Ok(Vec::new()) };
            derived
        }
        Table::Events => {
            let id = EventId::from_key(key).ok_or_else(|| DecodeError("the key of an event is none".to_owned()))?;
            return StoredEvent::read(id, Bytes::copy_from_slice(value)).map(|_| Vec::new());
        }
        Table::EventSegments => {
            let segment = Segment::decode(value)?;
            if segment.key() != key {
                return Err(DecodeError(
                    "a segment of events stands under another key than that of its first".to_owned(),
                ));
            }
            return Ok(segment.index());
        }
        // These have no index entries, and some of their values have a meaning only outside of the
        // domain.
        _ => return Ok(Vec::new()),
    };
    let RowDerivation { place, entries } = derived;
    if place.table != table || place.key != key {
        return Err(DecodeError(format!("a row of {:?} stands in {table:?} under another key", place.table)));
    }
    Ok(entries)
}

/// Returns the object that a row belongs to, which must have a record; `None` if it belongs to
/// none.
pub fn owner_of(table: Table, key: &[u8]) -> Option<Loid> {
    match table {
        Table::Attributes | Table::Parts | Table::Versions | Table::Bodies | Table::Drafts | Table::Correlates => {
            Loid::from_key(key).map(Loid::object)
        }
        _ => None,
    }
}
