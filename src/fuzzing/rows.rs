//! Fuzzing of data read back from disk: rows and the journal's records.

use std::fmt::Debug;

use bytes::Bytes;
use stet_actors::families::Families;
use stet_actors::rows::{index_of, owner_of};
use stet_auth::{Session, User, UserGroup};
use stet_domain::object::{Attributes, Draft, Link, Record, Version};
use stet_domain::part::{PartKind, RowDerivation};
use stet_domain::receipt::Receipt;
use stet_domain::store::{Event, Row, Segment, Table, decode_value, encode_value};
use stet_store::blob;
use stet_sysconfig::caches::snapshot::Snapshot;

/// The format of events, which are no rows of the domain.
const EVENT_FORMAT: u8 = 1;

/// A function that reads a value as one kind of row, and reports whether it is one.
type RowValueCheck = fn(&[u8]) -> bool;

const KINDS: &[RowValueCheck] = &[
    row::<Record>,
    row::<Attributes>,
    row::<Version>,
    row::<Draft>,
    row::<Receipt>,
    row::<User>,
    row::<UserGroup>,
    row::<Session>,
    event,
    row::<Link>,
    row::<Snapshot>,
    segment,
];

fn row<R: Row + PartialEq + Debug>(value: &[u8]) -> bool {
    let Ok(row) = decode_value::<R>(R::FORMAT, value) else { return false };
    let again = encode_value(R::FORMAT, &row);
    assert_eq!(decode_value::<R>(R::FORMAT, &again).as_ref(), Ok(&row));
    check_derived(RowDerivation::of(&row), &again);
    true
}

/// Reads a part of a container, whose type is known by its kind alone.
fn part(kind: PartKind, value: &[u8]) -> bool {
    let (Ok(derived), Ok(again)) = (kind.derive(value), kind.again(value)) else { return false };
    assert_eq!(kind.again(&again).as_ref(), Ok(&again));
    assert_eq!(kind.derive(&again).as_ref(), Ok(&derived));
    if let Some(derived) = derived {
        check_derived(derived, &again);
    }
    true
}

/// Asserts that the index entries of a row are those that a check of the whole store derives from
/// its value.
fn check_derived(derived: RowDerivation, value: &Bytes) {
    let RowDerivation { place, entries } = derived;
    assert!(entries.iter().all(|(key, _)| key.table.is_index()), "{entries:?}");
    // Rows of the domain are stored under the key that they state; for all others `index_of`
    // returns nothing.
    let found =
        index_of(Families::ALL, place.table, &place.key, value).unwrap_or_else(|error| panic!("{place:?}: {error}"));
    assert!(found == entries, "{place:?}");
}

fn event(value: &[u8]) -> bool {
    let Ok(event) = decode_value::<Event>(EVENT_FORMAT, value) else { return false };
    assert_eq!(decode_value::<Event>(EVENT_FORMAT, &encode_value(EVENT_FORMAT, &event)).as_ref(), Ok(&event));
    true
}

fn segment(value: &[u8]) -> bool {
    let Ok(segment) = Segment::decode(value) else { return false };
    assert_eq!(Segment::decode(&segment.encode()).as_ref(), Ok(&segment));
    assert_eq!(index_of(Families::ALL, Table::EventSegments, &segment.key(), value), Ok(segment.index()));
    true
}

/// Takes the number of a kind of row (one byte, counted from the digit 0, the kinds of parts last),
/// then a stored value.
pub fn rows(data: &[u8]) -> bool {
    let Some((number, value)) = data.split_first() else { return false };
    // Like a check of the whole store: any value, under any key, in any table.
    let table = Table::ALL[usize::from(*number) % Table::ALL.len()];
    let (key, rest) = value.split_at(value.len().min(27));
    let families = Families::ALL;
    let _ = (index_of(families, table, key, rest), index_of(families, table, key, value), owner_of(table, key));
    let number = usize::from(number.wrapping_sub(b'0')) % (KINDS.len() + families.parts().count());
    match (KINDS.get(number), families.parts().nth(number.saturating_sub(KINDS.len()))) {
        (Some(read), _) => read(value),
        (None, Some(kind)) => part(kind, value),
        (None, None) => false,
    }
}

/// Returns the number of a kind of parts among the kinds of rows.
#[cfg(test)]
pub(super) fn number_of(kind: PartKind) -> u8 {
    let among = Families::ALL.parts().position(|other| other.number() == kind.number()).expect("it is listed");
    b'0' + (KINDS.len() + among) as u8
}

/// Takes a record of the journal. The bytes after the first are also taken as the body of a record
/// with a valid head.
pub fn journal(data: &[u8]) -> bool {
    let inside = data.get(1..).unwrap_or_default();
    let mut framed = vec![1];
    framed.extend_from_slice(&(inside.len() as u32).to_le_bytes());
    framed.extend_from_slice(inside);
    let whole = blob(data);
    blob(&framed) || whole
}

fn blob(data: &[u8]) -> bool {
    let Ok(sets) = blob::decode(&Bytes::copy_from_slice(data)) else { return false };
    let mut again = Vec::new();
    blob::encode(sets.iter().map(blob::NumberedChangeSet::parts), &mut again);
    assert_eq!(blob::decode(&again.into()), Ok(sets));
    true
}
