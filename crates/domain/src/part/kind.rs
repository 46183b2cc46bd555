//! Kinds of parts.
//!
//! A new kind takes the number after the highest in use. The constants of the type [`PartKind`]
//! state the numbers, beside their row types; the families of the tests have 250 and more. A list
//! of families that use a number twice does not compile. A kind that is removed is noted here, so
//! that its number stays unused: none so far.

use bytes::Bytes;

use crate::id::Loid;
use crate::store::{DecodeError, Row, RowPlace, Table, decode_value, encode_value, key_of};

/// A kind of part in [`Table::Parts`]: its number, and the type of its values. The numbers are part
/// of the file format. A number that was used once is never given to another kind, in any family.
#[derive(Debug, Clone, Copy)]
pub struct PartKind {
    number: u8,
    row: Option<RowFunctions>,
}

/// The operations on a row whose type only the kind knows.
#[derive(Debug, Clone, Copy)]
struct RowFunctions {
    derive: fn(&[u8]) -> Result<RowDerivation, DecodeError>,
    again: fn(&[u8]) -> Result<Bytes, DecodeError>,
}

/// The key and index entries that follow from a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowDerivation {
    /// The key that the row must have.
    pub place: RowPlace,
    /// The index entries that must exist, key and value.
    pub entries: Vec<(RowPlace, Bytes)>,
}

impl RowDerivation {
    /// Derives them from a row.
    pub fn of<R: Row>(row: &R) -> RowDerivation {
        let mut entries = Vec::new();
        row.index(&mut entries);
        RowDerivation { place: row.place(), entries }
    }

    /// Derives them from a stored value.
    ///
    /// # Errors
    /// An error if the value can't be decoded.
    pub fn read<R: Row>(value: &[u8]) -> Result<RowDerivation, DecodeError> {
        Ok(RowDerivation::of(&decode_value::<R>(R::FORMAT, value)?))
    }
}

impl PartKind {
    /// Creates a kind whose values are rows of the type `R`.
    pub const fn of<R: Row>(number: u8) -> PartKind {
        let again = |value: &[u8]| Ok(encode_value(R::FORMAT, &decode_value::<R>(R::FORMAT, value)?));
        PartKind { number, row: Some(RowFunctions { derive: RowDerivation::read::<R>, again }) }
    }

    /// Creates a kind whose values are plain bytes without index entries. Several families may use
    /// it.
    pub const fn bytes(number: u8) -> PartKind {
        PartKind { number, row: None }
    }

    /// Returns the number.
    pub const fn number(self) -> u8 {
        self.number
    }

    /// Reports whether the values are rows.
    pub const fn has_rows(self) -> bool {
        self.row.is_some()
    }

    /// Returns the key of a container's part that has `key` within the kind.
    pub fn place(self, container: Loid, key: &[u8]) -> RowPlace {
        RowPlace { table: Table::Parts, key: key_of(&[&container.to_key(), &[self.number], key]) }
    }

    /// Derives the key and the index entries from a stored value; `None` for plain bytes.
    ///
    /// # Errors
    /// An error if the value can't be decoded.
    pub fn derive(self, value: &[u8]) -> Result<Option<RowDerivation>, DecodeError> {
        self.row.map(|row| (row.derive)(value)).transpose()
    }

    /// Returns the value in today's encoding; plain bytes are returned unchanged.
    ///
    /// # Errors
    /// An error if the value can't be decoded.
    pub fn again(self, value: &[u8]) -> Result<Bytes, DecodeError> {
        self.row.map_or_else(|| Ok(Bytes::copy_from_slice(value)), |row| (row.again)(value))
    }
}
