//! The reading of chunks.

use std::ops::Range;

use bytes::Bytes;

use crate::packing::{MAX_RAW_BYTES, unpack};
use crate::{BackupError, BackupName, BackupResult, Sha256Hash};

/// Unpacks the stored form of the chunk with that hash, and verifies it. The rows share one buffer,
/// which stays in memory while one of them does.
///
/// Any bytes may be passed; they take at most [`MAX_RAW_BYTES`].
///
/// # Errors
/// `Damaged`: the bytes are not those of that chunk, or its rows are not in key order.
pub fn read_chunk(expected: &Sha256Hash, stored: &[u8]) -> BackupResult<ChunkRows> {
    let name = BackupName::Chunk(*expected);
    let raw = Bytes::from(unpack(&name, stored, MAX_RAW_BYTES)?);
    if Sha256Hash::of(&raw) != *expected {
        return Err(BackupError::damaged(&name, "its bytes do not match its name"));
    }
    let rows = count_rows(&raw).ok_or_else(|| BackupError::damaged(&name, "its rows are cut off or out of order"))?;
    Ok(ChunkRows { raw, at: 0, rows })
}

/// The rows of a chunk in key order, as keys and values.
#[derive(Debug, Clone)]
pub struct ChunkRows {
    raw: Bytes,
    at: usize,
    /// The number of rows that are left.
    rows: usize,
}

impl Iterator for ChunkRows {
    type Item = (Bytes, Bytes);

    fn next(&mut self) -> Option<(Bytes, Bytes)> {
        let (key, value) = row_at(&self.raw, self.at)?;
        self.at = value.end;
        self.rows -= 1;
        Some((self.raw.slice(key), self.raw.slice(value)))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.rows, Some(self.rows))
    }
}

impl ExactSizeIterator for ChunkRows {}

/// Returns the places of key and value of the row that begins there; `None` at the end, and if the
/// row is cut off.
fn row_at(raw: &[u8], at: usize) -> Option<(Range<usize>, Range<usize>)> {
    let key = field_at(raw, at)?;
    let value = field_at(raw, key.end)?;
    Some((key, value))
}

fn field_at(raw: &[u8], at: usize) -> Option<Range<usize>> {
    let (length, rest) = raw.get(at..)?.split_first_chunk()?;
    let length = u32::from_le_bytes(*length) as usize;
    let begin = at + size_of::<u32>();
    (length <= rest.len()).then(|| begin..begin + length)
}

/// Counts the rows; returns `None` if one is cut off or its key is not after the one before.
fn count_rows(raw: &[u8]) -> Option<usize> {
    let (mut at, mut rows) = (0, 0);
    let mut last: Option<&[u8]> = None;
    while at < raw.len() {
        let (key, value) = row_at(raw, at)?;
        if last.is_some_and(|last| last >= &raw[key.clone()]) {
            return None;
        }
        last = Some(&raw[key]);
        at = value.end;
        rows += 1;
    }
    Some(rows)
}
