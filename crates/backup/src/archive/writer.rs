//! The encoding of archive files.

use super::{ArchiveFile, ArchiveHeader, ArchiveRecord, FORMAT, HEAD, MAGIC, RECORD_HEAD, SUM};
use crate::packing::{MAX_RAW_BYTES, pack};
use crate::{ArchiveSpan, BackupError, BackupResult, MAX_TIME_MS, Sha256Hash};

/// The builder of one archive file. It holds the records in memory until the file is encoded.
#[derive(Debug)]
pub struct ArchiveWriter {
    predecessor: Option<Sha256Hash>,
    /// The time that the next record has at least.
    least_ms: u64,
    /// The span of the records so far.
    span: Option<ArchiveSpan>,
    records: u32,
    raw: Vec<u8>,
}

impl ArchiveWriter {
    /// Begins a file. `predecessor` is what the file before it on the timeline ends as
    /// ([`ArchiveHeader::ends_as`]), or `None` if there is no such file or there is a gap. Records
    /// get the time `least_ms` at least, which should be the last time of the file before.
    pub fn new(predecessor: Option<Sha256Hash>, least_ms: u64) -> ArchiveWriter {
        let least_ms = least_ms.min(MAX_TIME_MS);
        ArchiveWriter { predecessor, least_ms, span: None, records: 0, raw: Vec::new() }
    }

    /// Adds a record, which must follow the one before it. If its time is earlier than that of a
    /// record before, because the clock was set back, the record gets the latest time so far. Times
    /// after [`MAX_TIME_MS`] become that.
    ///
    /// # Errors
    /// `Refused`: the record does not follow, has no change, or does not [fit](Self::has_room_for).
    /// Nothing was added.
    pub fn push(&mut self, record: &ArchiveRecord) -> BackupResult<()> {
        let ArchiveRecord { previous, last, at_ms, payload } = record;
        if let Some(span) = self.span.filter(|span| span.last != *previous) {
            let expected = span.last;
            return Err(BackupError::Refused(format!(
                "A record after change {previous} can't be archived after change {expected}."
            )));
        }
        if last <= previous {
            return Err(BackupError::Refused(format!("A record from {previous} to {last} has no change.")));
        }
        if !self.has_room_for(record) {
            let (length, most) = (payload.len(), MAX_RAW_BYTES);
            return Err(BackupError::Refused(format!(
                "An archive file can't take a record of {length} bytes: it has {} bytes already, and may have {most}.",
                self.raw.len()
            )));
        }
        let at_ms = (*at_ms).clamp(self.least_ms, MAX_TIME_MS);
        self.least_ms = at_ms;
        let length = u32::try_from(payload.len()).expect("the largest file has less than 4 GiB");
        self.raw.extend_from_slice(&last.to_le_bytes());
        self.raw.extend_from_slice(&at_ms.to_le_bytes());
        self.raw.extend_from_slice(&length.to_le_bytes());
        self.raw.extend_from_slice(payload);
        self.records += 1;
        let begun =
            self.span.unwrap_or(ArchiveSpan { first: previous + 1, last: *last, first_ms: at_ms, last_ms: at_ms });
        self.span = Some(ArchiveSpan { last: *last, last_ms: at_ms, ..begun });
        Ok(())
    }

    /// Reports whether the file can take the record. Otherwise the file must be finished first. A
    /// record that does not fit into an empty file can't be archived; the store makes none.
    pub fn has_room_for(&self, record: &ArchiveRecord) -> bool {
        let bytes = record.payload.len().saturating_add(RECORD_HEAD);
        bytes <= MAX_RAW_BYTES - self.raw.len() && self.records < u32::MAX
    }

    /// Returns the number of bytes of the records so far, before compression.
    pub fn raw_bytes(&self) -> usize {
        self.raw.len()
    }

    /// Returns the changes and times of the records so far; `None` if there is no record.
    pub fn span(&self) -> Option<ArchiveSpan> {
        self.span
    }

    /// Encodes the file. Takes the time of compressing and hashing all records.
    ///
    /// # Errors
    /// `Refused`: there is no record.
    pub fn finish(self) -> BackupResult<ArchiveFile> {
        self.encode(None)
    }

    /// Encodes the file. `merged` is the hash that it ends as if it replaces others.
    pub(super) fn encode(self, merged: Option<Sha256Hash>) -> BackupResult<ArchiveFile> {
        let ArchiveWriter { predecessor, span, records, raw, .. } = self;
        let span = span.ok_or_else(|| BackupError::Refused("An archive file needs a record.".to_owned()))?;
        let frame = pack(&raw)?;
        let mut bytes = Vec::with_capacity(HEAD + frame.len() + SUM);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&FORMAT.to_le_bytes());
        bytes.extend_from_slice(&records.to_le_bytes());
        let raw_bytes = raw.len() as u64;
        for field in [raw_bytes, span.first, span.last, span.first_ms, span.last_ms] {
            bytes.extend_from_slice(&field.to_le_bytes());
        }
        for hash in [predecessor, merged] {
            bytes.extend_from_slice(&hash.map_or([0; SUM], |hash| hash.0));
        }
        bytes.extend_from_slice(&frame);
        let hash = Sha256Hash::of(&bytes);
        bytes.extend_from_slice(&hash.0);
        let header = ArchiveHeader { span, records, raw_bytes, predecessor, ends_as: merged.unwrap_or(hash), hash };
        Ok(ArchiveFile { header, bytes: bytes.into() })
    }
}
