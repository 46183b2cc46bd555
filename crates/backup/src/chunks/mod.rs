//! Chunks: pieces of a table, cut where its rows say so.
//!
//! The rows of a table are cut in key order. Whether a chunk ends after a row depends on that row's
//! key and size alone, within bounds for the size of a chunk. So a change of a row changes the
//! chunk that it is in, and rarely a neighbour: all others are in the target already when the next
//! base is taken. How rows are cut is no part of the format. Another way gives chunks that can be
//! read as well, and are sent once more.
//!
//! A chunk's raw bytes are its rows: length of the key (u32, little-endian), key, length of the
//! value (u32), value. It is named by the SHA-256 of its raw bytes, and stored as a zstd frame.

mod reading;
#[cfg(test)]
mod tests;

pub use reading::{ChunkRows, read_chunk};

use bytes::Bytes;

use crate::packing::{MAX_RAW_BYTES, pack};
use crate::{BackupError, BackupName, BackupResult, ChunkReference, Sha256Hash};

/// The bounds of the size of a chunk, in raw bytes.
#[derive(Debug, Clone, Copy)]
struct ChunkSizes {
    /// The least size, but for the last chunk of a table and for one before a large row.
    least: usize,
    /// The mean distance from the least size to the next row that ends a chunk.
    mean: usize,
    /// The largest size, but for a chunk of a single row.
    most: usize,
}

/// The sizes of all chunks: 256 KiB, 768 KiB and 4 MiB. Chunks have 1 MiB on average, and one in a
/// hundred has the largest size.
const SIZES: ChunkSizes = ChunkSizes { least: 256 << 10, mean: 768 << 10, most: 4 << 20 };

/// The bytes of a row's two lengths.
const LENGTHS: usize = 8;

/// A piece of a table, not compressed yet: the target may have it already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableChunk {
    /// The facts for the manifest.
    pub reference: ChunkReference,
    /// The raw bytes.
    pub raw: Bytes,
}

impl TableChunk {
    fn new(raw: Vec<u8>, rows: u64) -> TableChunk {
        let reference = ChunkReference { sha256: Sha256Hash::of(&raw), rows, bytes: raw.len() as u64 };
        TableChunk { reference, raw: raw.into() }
    }

    /// Returns the name of the chunk.
    pub fn name(&self) -> BackupName {
        BackupName::Chunk(self.reference.sha256)
    }

    /// Compresses the chunk to its stored form.
    ///
    /// # Errors
    /// `Refused`: the library can't compress it.
    pub fn pack(&self) -> BackupResult<Bytes> {
        pack(&self.raw).map(Bytes::from)
    }
}

/// The cutter of one table. It holds the rows of one chunk in memory.
#[derive(Debug)]
pub struct ChunkCutter {
    sizes: ChunkSizes,
    raw: Vec<u8>,
    rows: u64,
    /// Whether a chunk ends after the last row.
    is_complete: bool,
    last_key: Option<Vec<u8>>,
}

impl Default for ChunkCutter {
    fn default() -> ChunkCutter {
        ChunkCutter::new()
    }
}

impl ChunkCutter {
    /// Begins a table.
    pub fn new() -> ChunkCutter {
        ChunkCutter::with_sizes(SIZES)
    }

    fn with_sizes(sizes: ChunkSizes) -> ChunkCutter {
        ChunkCutter { sizes, raw: Vec::new(), rows: 0, is_complete: false, last_key: None }
    }

    /// Adds the next row. Returns the chunk before it, if that is complete.
    ///
    /// # Errors
    /// `Refused`: the key is not after the one before, or the row is larger than
    /// [`MAX_RAW_BYTES`]. Nothing was added.
    pub fn push(&mut self, key: &[u8], value: &[u8]) -> BackupResult<Option<TableChunk>> {
        let size = key.len().saturating_add(value.len()).saturating_add(LENGTHS);
        if size > MAX_RAW_BYTES {
            return Err(BackupError::Refused(format!(
                "A row of {size} bytes can't be in a base: {MAX_RAW_BYTES} can."
            )));
        }
        if self.last_key.as_deref().is_some_and(|last| last >= key) {
            return Err(BackupError::Refused("The rows of a table must be in key order.".to_owned()));
        }
        let is_full = self.is_complete || self.raw.len().saturating_add(size) > self.sizes.most;
        let chunk = if is_full { self.take() } else { None };
        for field in [key, value] {
            let length = u32::try_from(field.len()).expect("the largest row has less than 4 GiB");
            self.raw.extend_from_slice(&length.to_le_bytes());
            self.raw.extend_from_slice(field);
        }
        self.rows += 1;
        self.is_complete = self.raw.len() >= self.sizes.least && self.ends_chunk(key, size);
        let last = self.last_key.get_or_insert_default();
        last.clear();
        last.extend_from_slice(key);
        Ok(chunk)
    }

    /// Ends the table. Returns its last chunk; `None` if there is no row.
    pub fn finish(mut self) -> Option<TableChunk> {
        self.take()
    }

    /// Reports whether a chunk ends after a row, by its key and size. Each byte of rows has the
    /// same chance, so that chunks of large rows and of small ones are equally long on average. A
    /// fixed chance for each row would leave it to the largest size where chunks of large rows end,
    /// and each of them would begin with another row once one has changed.
    fn ends_chunk(&self, key: &[u8], size: usize) -> bool {
        let [a, b, c, d, ..] = Sha256Hash::of(key).0;
        let hash = u64::from(u32::from_be_bytes([a, b, c, d]));
        hash * (self.sizes.mean as u64) < (size as u64) << u32::BITS
    }

    fn take(&mut self) -> Option<TableChunk> {
        self.is_complete = false;
        let (raw, rows) = (std::mem::take(&mut self.raw), std::mem::take(&mut self.rows));
        (rows > 0).then(|| TableChunk::new(raw, rows))
    }
}
