//! Kinds of parts.

use bytes::Bytes;

use crate::id::Loid;
use crate::store::{DecodeError, Key, Row, Table, decode_value, encode_value, key_of};

/// A kind of part in [`Table::Parts`]: its number, and what its values are. Numbers are part of the
/// file format: one that has been used is never given to another kind, in no family.
#[derive(Debug, Clone, Copy)]
pub struct PartKind {
    number: u8,
    row: Option<RowFunctions>,
}

/// Operations on a row whose type only the kind knows.
#[derive(Debug, Clone, Copy)]
struct RowFunctions {
    derive: fn(&[u8]) -> Result<Derived, DecodeError>,
    again: fn(&[u8]) -> Result<Bytes, DecodeError>,
}

/// What follows from a stored row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Derived {
    /// Where it must stand.
    pub place: Key,
    /// The index entries that must be there, place and value.
    pub entries: Vec<(Key, Bytes)>,
}

impl Derived {
    /// What follows from a row.
    pub fn of<R: Row>(row: &R) -> Derived {
        let mut entries = Vec::new();
        row.index(&mut entries);
        Derived { place: row.place(), entries }
    }

    /// What follows from a stored value.
    ///
    /// # Errors
    /// That the value can't be understood.
    pub fn read<R: Row>(value: &[u8]) -> Result<Derived, DecodeError> {
        Ok(Derived::of(&decode_value::<R>(R::FORMAT, value)?))
    }
}

impl PartKind {
    /// A kind whose values are rows of the type `R`.
    pub const fn of<R: Row>(number: u8) -> PartKind {
        let again = |value: &[u8]| Ok(encode_value(R::FORMAT, &decode_value::<R>(R::FORMAT, value)?));
        PartKind { number, row: Some(RowFunctions { derive: Derived::read::<R>, again }) }
    }

    /// A kind whose values are bytes as they are; no index follows from them. Several families may
    /// have it.
    pub const fn bytes(number: u8) -> PartKind {
        PartKind { number, row: None }
    }

    /// Its number.
    pub const fn number(self) -> u8 {
        self.number
    }

    /// Whether its values are rows.
    pub const fn has_rows(self) -> bool {
        self.row.is_some()
    }

    /// Where the part of a container lives that has `key` within the kind.
    pub fn place(self, container: Loid, key: &[u8]) -> Key {
        Key { table: Table::Parts, key: key_of(&[&container.to_key(), &[self.number], key]) }
    }

    /// What follows from a stored value; `None` for bytes.
    ///
    /// # Errors
    /// That the value can't be understood.
    pub fn derive(self, value: &[u8]) -> Result<Option<Derived>, DecodeError> {
        self.row.map(|row| (row.derive)(value)).transpose()
    }

    /// The value as it would be written today; bytes as they are.
    ///
    /// # Errors
    /// That the value can't be understood.
    pub fn again(self, value: &[u8]) -> Result<Bytes, DecodeError> {
        self.row.map_or_else(|| Ok(Bytes::copy_from_slice(value)), |row| (row.again)(value))
    }
}
