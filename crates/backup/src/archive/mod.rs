//! Archive files: the committed change sets of a timeline in their order.
//!
//! A file is a head of [`HEAD`] bytes, one zstd frame with the records, and the SHA-256 of both.
//! Integers are little-endian. The head:
//!
//! | bytes | content |
//! |---|---|
//! | 8 | [`MAGIC`] |
//! | 4 | format: [`FORMAT`] |
//! | 4 | number of records |
//! | 8 | number of bytes that the frame unpacks to |
//! | 8, 8 | first and last change |
//! | 8, 8 | time of the first and of the last record, in milliseconds since 1970 |
//! | 32 | `ends_as` of the file before on the timeline, or zeros if there is none |
//! | 32 | `ends_as` of the last of the merged files, or zeros in a file that was not merged |
//!
//! A record is its last change (u64), its time (u64), the length of its payload (u32) and the
//! payload. The change before it is the last one of the record before.
//!
//! **The chain.** The hash of a file is the SHA-256 at its end. Each file names the file before it,
//! so that a missing or exchanged one is noticed. Merging removes files whose hashes their
//! successors name. So a file also has the hash that it **ends as**: its own if it was not merged,
//! and otherwise that of the last of the merged files. A successor names the hash that the file
//! before it ends as, whether that file is merged before or after the successor is written:
//! [`ArchiveHeader::is_followed_by`] compares the two.

mod merge;
#[cfg(test)]
mod tests;
mod writer;

pub use writer::ArchiveWriter;

use bytes::Bytes;

use crate::packing::{MAX_RAW_BYTES, unpack};
use crate::{ArchiveSpan, BackupError, BackupName, BackupResult, Sha256Hash, TimelineId};

/// The first bytes of each archive file.
const MAGIC: &[u8; 8] = b"stet-arc";
/// The number of the file format.
const FORMAT: u32 = 1;
/// The size of the head in bytes.
const HEAD: usize = 8 + 4 + 4 + 8 + 4 * 8 + 32 + 32;
/// The size of the hash at the end in bytes.
const SUM: usize = 32;
/// The size of a record without its payload, in bytes.
const RECORD_HEAD: usize = 8 + 8 + 4;

/// The change sets of one commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchiveRecord {
    /// The last change before the record.
    pub previous: u64,
    /// The last change of the record, after `previous`.
    pub last: u64,
    /// The time of the commit in milliseconds since 1970, at most
    /// [`MAX_TIME_MS`](crate::MAX_TIME_MS).
    pub at_ms: u64,
    /// The encoded change sets, which this crate does not look into.
    pub payload: Bytes,
}

/// The facts about an archive file, all of which are verified when it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchiveHeader {
    /// The changes and times in the file, which are also in its name.
    pub span: ArchiveSpan,
    /// The number of records.
    pub records: u32,
    /// The number of bytes of the unpacked records.
    pub raw_bytes: u64,
    /// The hash that the file before ends as; `None` for the first file of a timeline, and for the
    /// first one after a gap.
    pub predecessor: Option<Sha256Hash>,
    /// The hash that the next file must name as its predecessor.
    pub ends_as: Sha256Hash,
    /// The hash of the file itself: the SHA-256 of all bytes before the hash in it.
    pub hash: Sha256Hash,
}

impl ArchiveHeader {
    /// Reports whether `next` is the file after this one: its changes follow at once, and it names
    /// the hash that this file ends as.
    pub fn is_followed_by(&self, next: &ArchiveHeader) -> bool {
        self.span.last.checked_add(1) == Some(next.span.first) && next.predecessor == Some(self.ends_as)
    }

    /// Returns the name of the file on a timeline.
    pub fn name(&self, timeline: TimelineId) -> BackupName {
        BackupName::Archive(timeline, self.span)
    }

    /// Verifies the hash and the head of a file.
    fn read(name: &BackupName, bytes: &[u8]) -> BackupResult<ArchiveHeader> {
        let damaged = |fault: &str| BackupError::damaged(name, fault);
        if bytes.len() < HEAD + SUM {
            return Err(damaged("its end is missing"));
        }
        let (said, sum) = bytes.split_at(bytes.len() - SUM);
        let hash = Sha256Hash::of(said);
        if hash.0 != sum {
            return Err(damaged("its bytes do not match its checksum"));
        }
        let mut head = HeadReader(said);
        if head.take() != *MAGIC {
            return Err(damaged("it is no archive file"));
        }
        let format = u32::from_le_bytes(head.take());
        if format != FORMAT {
            return Err(BackupError::Refused(format!(
                "`{name}` has the format {format}, and this version of stet reads the format {FORMAT} only. \
                 The file may belong to a newer version."
            )));
        }
        let records = u32::from_le_bytes(head.take());
        let [raw_bytes, first, last, first_ms, last_ms] = std::array::from_fn(|_| u64::from_le_bytes(head.take()));
        let span = ArchiveSpan { first, last, first_ms, last_ms };
        if records == 0 || raw_bytes > MAX_RAW_BYTES as u64 || !span.is_valid() {
            return Err(damaged("its head is out of bounds"));
        }
        if !matches!(name, BackupName::Archive(_, named) if *named == span) {
            return Err(damaged("its changes or times are not those of its name"));
        }
        let [predecessor, merged] = std::array::from_fn(|_| head.take_hash());
        Ok(ArchiveHeader { span, records, raw_bytes, predecessor, ends_as: merged.unwrap_or(hash), hash })
    }
}

/// The fields of a head whose length was checked, one after the other.
struct HeadReader<'a>(&'a [u8]);

impl HeadReader<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let (field, rest) = self.0.split_first_chunk().expect("the length of the head was checked");
        self.0 = rest;
        *field
    }

    /// Returns a hash, for which zeros mean that there is none.
    fn take_hash(&mut self) -> Option<Sha256Hash> {
        let hash = self.take();
        (hash != [0; SUM]).then_some(Sha256Hash(hash))
    }
}

/// An encoded archive file.
#[derive(Debug, Clone)]
pub struct ArchiveFile {
    /// The facts about the file.
    pub header: ArchiveHeader,
    /// The whole file.
    pub bytes: Bytes,
}

impl ArchiveFile {
    /// Reads the archive file with that name, and verifies everything. The payloads share one
    /// buffer of [`ArchiveHeader::raw_bytes`], which stays in memory while one of them does.
    ///
    /// Any bytes may be passed. Those whose checksum is wrong are not unpacked. Others take at most
    /// [`MAX_RAW_BYTES`] and a list of their records.
    ///
    /// # Errors
    /// `Damaged`: the bytes are not those of that file. `Refused`: they have a newer format.
    pub fn read(name: &BackupName, bytes: &[u8]) -> BackupResult<(ArchiveHeader, Vec<ArchiveRecord>)> {
        let header = ArchiveHeader::read(name, bytes)?;
        let frame = &bytes[HEAD..bytes.len() - SUM];
        // The bound was checked with the head.
        let raw = Bytes::from(unpack(name, frame, header.raw_bytes as usize)?);
        let records = read_records(&header, &raw).map_err(|fault| BackupError::damaged(name, fault))?;
        Ok((header, records))
    }
}

/// Splits the unpacked records. The error is the fault.
fn read_records(header: &ArchiveHeader, raw: &Bytes) -> Result<Vec<ArchiveRecord>, &'static str> {
    let span = header.span;
    if raw.len() as u64 != header.raw_bytes {
        return Err("it unpacks to less than its head says");
    }
    // The number is not trusted for the allocation: each record takes some bytes.
    let mut records = Vec::with_capacity((header.records as usize).min(raw.len() / RECORD_HEAD));
    let (mut previous, mut before_ms) = (span.first - 1, span.first_ms);
    let mut rest = raw.clone();
    while !rest.is_empty() {
        if rest.len() < RECORD_HEAD {
            return Err("a record is cut off");
        }
        let mut head = HeadReader(&rest[..]);
        let [last, at_ms] = std::array::from_fn(|_| u64::from_le_bytes(head.take()));
        let length = u32::from_le_bytes(head.take()) as usize;
        if length > rest.len() - RECORD_HEAD {
            return Err("a record is cut off");
        }
        if last <= previous || at_ms < before_ms {
            return Err("its records are out of order");
        }
        if records.is_empty() && at_ms != span.first_ms {
            return Err("its first record has another time than its head");
        }
        let _ = rest.split_to(RECORD_HEAD);
        records.push(ArchiveRecord { previous, last, at_ms, payload: rest.split_to(length) });
        (previous, before_ms) = (last, at_ms);
    }
    if records.len() != header.records as usize || previous != span.last || before_ms != span.last_ms {
        return Err("its records are not those of its head");
    }
    Ok(records)
}
