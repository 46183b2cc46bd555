//! The files of the spool: records one after the other, in the order of changes.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use bytes::Bytes;
use stet_domain::store::Seq;
use stet_store::CommittedRecord;

/// Bytes before the payload of a record: its length and checksum (u32 each), the numbers of its
/// change sets and its time (u64 each).
const HEAD: usize = 4 + 4 + 8 + 8 + 8;

/// Appends the stored form of a record.
pub fn encode(record: &CommittedRecord, buffer: &mut Vec<u8>) {
    let begin = buffer.len();
    // A commit is smaller than 4 GiB: the store says so.
    buffer.extend_from_slice(&(record.payload.len() as u32).to_le_bytes());
    buffer.extend_from_slice(&[0; 4]);
    for number in [record.previous, record.last, record.at_ms] {
        buffer.extend_from_slice(&number.to_le_bytes());
    }
    buffer.extend_from_slice(&record.payload);
    let sum = crc32fast::hash(&buffer[begin + 8..]);
    buffer[begin + 4..begin + 8].copy_from_slice(&sum.to_le_bytes());
}

/// A reader of a file's records.
pub struct RecordReader {
    file: BufReader<File>,
    /// The place in bytes behind the last whole record.
    at: u64,
}

impl RecordReader {
    /// Opens a file, to read the records from a place on, which is given in bytes.
    pub fn open(path: &Path, at: u64) -> io::Result<RecordReader> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(at))?;
        Ok(RecordReader { file: BufReader::with_capacity(256 << 10, file), at })
    }

    /// Returns the place in bytes behind the last record that was returned.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// Returns the next record; `None` at the end, and where a crash has cut one off.
    pub fn next(&mut self) -> io::Result<Option<CommittedRecord>> {
        let mut head = [0; HEAD];
        if !self.fill(&mut head)? {
            return Ok(None);
        }
        let number = |at: usize| u64::from_le_bytes(std::array::from_fn(|index| head[at + index]));
        let [length, sum] = [0, 4].map(|at| u32::from_le_bytes(std::array::from_fn(|index| head[at + index])));
        let mut payload = Vec::new();
        let found = self.file.by_ref().take(u64::from(length)).read_to_end(&mut payload)?;
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&head[8..]);
        hasher.update(&payload);
        if found != length as usize || hasher.finalize() != sum {
            return Ok(None);
        }
        self.at += (HEAD + found) as u64;
        let [previous, last, at_ms] = [8, 16, 24].map(number);
        Ok(Some(CommittedRecord { previous, last, at_ms, payload: Bytes::from(payload) }))
    }

    fn fill(&mut self, buffer: &mut [u8]) -> io::Result<bool> {
        match self.file.read_exact(buffer) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// The facts about a file that was read as a whole.
pub struct ScannedFile {
    /// The last change set before the file, by its name.
    pub previous: Seq,
    /// The last change set in it.
    pub last: Seq,
    /// The bytes of whole records.
    pub bytes: u64,
}

/// Reads a whole file. Returns `None` if it does not continue from `last`.
pub fn scan(path: &Path, last: Seq) -> io::Result<Option<ScannedFile>> {
    let first = path.file_stem().and_then(|name| name.to_str()).and_then(|name| name.parse::<Seq>().ok());
    let Some(previous) = first.and_then(|first| first.checked_sub(1)) else { return Ok(None) };
    if last > 0 && previous != last {
        return Ok(None);
    }
    let mut reached = previous;
    let mut reader = RecordReader::open(path, 0)?;
    while let Some(record) = reader.next()? {
        if record.previous != reached {
            return Ok(None);
        }
        reached = record.last;
    }
    Ok(Some(ScannedFile { previous, last: reached, bytes: reader.at() }))
}
