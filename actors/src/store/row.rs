//! Rows as the domain knows them, and their encoding: a format number, then MessagePack.
//!
//! Structs are arrays in field order, so a field may be added at the end with `#[serde(default)]`
//! and old rows still read; anything else raises [`Row::FORMAT`] and needs a numbered migration.

use std::fmt;

use bytes::{BufMut, Bytes, BytesMut};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::Table;

/// A row's place.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// The table.
    pub table: Table,
    /// The key in it.
    pub key: Bytes,
}

/// A stored value can't be understood.
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

/// A kind of row: where it lives, and which index entries follow from it.
pub trait Row: Serialize + DeserializeOwned + Clone + Send + Sync + 'static {
    /// Version of the encoding.
    const FORMAT: u8 = 1;

    /// Where this row lives.
    fn place(&self) -> Key;

    /// The index entries that follow from the row: place and value. Nothing else may write an
    /// index.
    fn index(&self, entries: &mut Vec<(Key, Bytes)>) {
        let _ = entries;
    }

    /// Whether the index entries of both are surely the same, found without making them.
    fn same_index(&self, other: &Self) -> bool {
        let _ = other;
        false
    }
}

/// Joins parts to a key.
pub fn key_of(parts: &[&[u8]]) -> Bytes {
    let mut key = BytesMut::with_capacity(parts.iter().map(|part| part.len()).sum());
    for part in parts {
        key.put_slice(part);
    }
    key.freeze()
}

/// The stored form of a value.
pub fn encode_value<T: Serialize>(format: u8, value: &T) -> Bytes {
    // Room for most rows; growing from nothing takes several allocations.
    encode_within(format, value, 256).into()
}

/// The stored form of a value that takes so many bytes, about.
pub(super) fn encode_within<T: Serialize>(format: u8, value: &T, bytes: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(bytes);
    bytes.push(format);
    // Writing to a Vec can't fail, and no row type has a map with non-text keys or a length unknown
    // up front: the only errors that rmp_serde has.
    rmp_serde::encode::write(&mut bytes, value).expect("a row can always be encoded");
    bytes
}

/// Reads the stored form.
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
