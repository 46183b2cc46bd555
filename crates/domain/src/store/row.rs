//! The rows of the domain and their encoding: a format number, then MessagePack.
//!
//! Structs are arrays in field order. So a field may be added at the end with `#[serde(default)]`,
//! and old rows can still be read. Any other change raises [`Row::FORMAT`] and needs a numbered
//! migration.

use std::fmt;

use bytes::{BufMut, Bytes, BytesMut};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::Table;

/// The place of a row: its table and its key.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RowPlace {
    /// The table.
    pub table: Table,
    /// The key in the table.
    pub key: Bytes,
}

/// The error for a stored value that cannot be decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodeError(pub String);

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for DecodeError {}

impl From<DecodeError> for super::StoreError {
    fn from(error: DecodeError) -> Self {
        super::StoreError::Corrupt(error.0)
    }
}

/// A kind of row, with its place and the index entries that follow from it.
pub trait Row: Serialize + DeserializeOwned + Clone + Send + Sync + 'static {
    /// The version of the encoding.
    const FORMAT: u8 = 1;

    /// Whether the history of the container has the row as it was before each change
    /// ([`crate::history`]).
    const KEEPS_PAST: bool = false;

    /// Returns the row's place.
    fn place(&self) -> RowPlace;

    /// Adds the index entries that follow from the row: place and value. Nothing else may write an
    /// index.
    fn index(&self, entries: &mut Vec<(RowPlace, Bytes)>) {
        let _ = entries;
    }

    /// Reports whether the index entries of both rows are surely equal, without building them.
    fn same_index(&self, other: &Self) -> bool {
        let _ = other;
        false
    }
}

/// Joins parts into a key.
pub fn key_of(parts: &[&[u8]]) -> Bytes {
    let mut key = BytesMut::with_capacity(parts.iter().map(|part| part.len()).sum());
    for part in parts {
        key.put_slice(part);
    }
    key.freeze()
}

/// Returns the stored form of a value.
pub fn encode_value<T: Serialize>(format: u8, value: &T) -> Bytes {
    // Room for most rows; growth from nothing takes several allocations.
    encode_within(format, value, 256).into()
}

/// Returns the stored form of a value, with capacity for about `bytes` bytes.
pub(super) fn encode_within<T: Serialize>(format: u8, value: &T, bytes: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(bytes);
    bytes.push(format);
    // Writing to a Vec cannot fail. No row type has a map with non-text keys or a length unknown up
    // front, which are the only errors of rmp_serde.
    rmp_serde::encode::write(&mut bytes, value).expect("a row can always be encoded");
    bytes
}

/// Decodes the stored form.
///
/// # Errors
/// The format number is another, or the bytes are not such a value.
pub fn decode_value<'a, T: Deserialize<'a>>(format: u8, bytes: &'a [u8]) -> Result<T, DecodeError> {
    match bytes.split_first() {
        Some((&found, rest)) if found == format => {
            rmp_serde::from_slice(rest).map_err(|error| DecodeError(format!("{}: {error}", std::any::type_name::<T>())))
        }
        found => Err(DecodeError(format!(
            "{}: format {:?} where {format} was expected",
            std::any::type_name::<T>(),
            found.map(|(number, _)| number)
        ))),
    }
}
