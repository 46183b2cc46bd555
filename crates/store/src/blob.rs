//! The encoding of a commit's change sets: the payload of a journal record.
//!
//! Layout, integers little-endian: version (u8) and length of the rest (u32). Then for each change
//! set its number (u64) and count of changes (u32). For each change its table (u8), key length
//! (u32), key, value length plus one (u32; 0 removes the row) and value. Its events follow as rows
//! of [`Table::Events`]. Bytes after the announced length are ignored. The record around the blob
//! (`record`) has a checksum; the blob has none.

use bytes::Bytes;
use stet_domain::store::{EventId, RowChange, Seq, StoredEvent, Table};

const VERSION: u8 = 1;
const HEAD: usize = 5;

/// A change set with its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NumberedChangeSet {
    /// The number of the change set.
    pub seq: Seq,
    /// The changed rows.
    pub changes: Vec<RowChange>,
    /// The events that are added to the log.
    pub events: Vec<StoredEvent>,
}

impl NumberedChangeSet {
    /// Returns the change set in the borrowed form that is encoded.
    pub fn parts(&self) -> ChangeSetParts<'_> {
        ChangeSetParts { seq: self.seq, changes: &self.changes, events: &self.events }
    }
}

/// A borrowed change set, for encoding.
#[derive(Debug, Clone, Copy)]
pub struct ChangeSetParts<'a> {
    /// The number of the change set.
    pub seq: Seq,
    /// The changed rows.
    pub changes: &'a [RowChange],
    /// The events that are added to the log.
    pub events: &'a [StoredEvent],
}

/// The size in bytes of a row's encoding, without key and value.
const AROUND: usize = 9;
/// The longest key of an event, in bytes.
const EVENT_KEY: usize = 14;

/// Returns the encoded size of a change in bytes, which is what limits count.
pub(super) fn change_bytes(change: &RowChange) -> usize {
    AROUND + change.key.len() + change.value.as_ref().map_or(0, Bytes::len)
}

/// Returns the maximum encoded size of an event in bytes, which is what limits count.
pub(super) fn event_bytes(event: &StoredEvent) -> usize {
    AROUND + EVENT_KEY + event.value.len()
}

/// Appends the encoded change sets to the buffer.
pub fn encode<'a>(sets: impl Iterator<Item = ChangeSetParts<'a>>, blob: &mut Vec<u8>) {
    let begin = blob.len();
    blob.extend_from_slice(&[VERSION, 0, 0, 0, 0]);
    for ChangeSetParts { seq, changes, events } in sets {
        blob.extend_from_slice(&seq.to_le_bytes());
        put_len(blob, changes.len() + events.len());
        for change in changes {
            put_row(blob, change.table, &change.key, change.value.as_deref());
        }
        for event in events {
            put_row(blob, Table::Events, &event.id.to_key(), Some(&event.value));
        }
    }
    let len = len_u32(blob.len() - begin - HEAD);
    blob[begin + 1..begin + HEAD].copy_from_slice(&len.to_le_bytes());
}

fn put_row(blob: &mut Vec<u8>, table: Table, key: &[u8], value: Option<&[u8]>) {
    blob.push(table as u8);
    put_len(blob, key.len());
    blob.extend_from_slice(key);
    match value {
        Some(value) => {
            put_len(blob, value.len() + 1);
            blob.extend_from_slice(value);
        }
        None => put_len(blob, 0),
    }
}

fn len_u32(len: usize) -> u32 {
    // Submission refuses sets of more than `LimitOptions::set_bytes`, and a batch is closed by
    // `batch_bytes`.
    u32::try_from(len).expect("a commit is smaller than 4 GiB")
}

fn put_len(blob: &mut Vec<u8>, len: usize) {
    blob.extend_from_slice(&len_u32(len).to_le_bytes());
}

/// Decodes change sets. Keys and values of rows share the blob's memory; those of events do not.
///
/// # Errors
/// A description of the fault in the bytes.
pub fn decode(blob: &Bytes) -> Result<Vec<NumberedChangeSet>, String> {
    let mut head = BlobCursor { blob, at: 0, end: blob.len() };
    let version = head.u8()?;
    if version != VERSION {
        return Err(format!("version {version} where {VERSION} was expected"));
    }
    let len = head.u32()? as usize;
    if len > blob.len() - HEAD {
        return Err(format!("{len} bytes announced, {} there", blob.len() - HEAD));
    }
    let mut cursor = BlobCursor { blob, at: HEAD, end: HEAD + len };
    let mut sets = Vec::new();
    while cursor.at < cursor.end {
        let seq = cursor.u64()?;
        let count = cursor.u32()? as usize;
        // The count is not trusted for the allocation: every change takes at least nine bytes.
        let mut changes = Vec::with_capacity(count.min((cursor.end - cursor.at) / AROUND));
        let mut events = Vec::new();
        for _ in 0..count {
            let number = cursor.u8()?;
            let table = Table::from_number(number).ok_or_else(|| format!("no table has the number {number}"))?;
            let key_len = cursor.u32()? as usize;
            let key = cursor.bytes(key_len)?;
            let value = match cursor.u32()? as usize {
                0 => None,
                len => Some(cursor.bytes(len - 1)?),
            };
            match (table, value) {
                (Table::Events, Some(value)) => {
                    let id = EventId::from_key(&key).ok_or_else(|| "the key of an event is invalid".to_owned())?;
                    // Events stay in memory longer than the rest of the blob, and must not keep all
                    // of it there.
                    let value = Bytes::copy_from_slice(&value);
                    events.push(StoredEvent::read(id, value).map_err(|error| error.to_string())?);
                }
                (table, value) => changes.push(RowChange { table, key, value }),
            }
        }
        sets.push(NumberedChangeSet { seq, changes, events });
    }
    Ok(sets)
}

struct BlobCursor<'a> {
    blob: &'a Bytes,
    at: usize,
    end: usize,
}

impl BlobCursor<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], String> {
        let from = self.at;
        self.skip(N)?;
        Ok(std::array::from_fn(|index| self.blob[from + index]))
    }

    fn skip(&mut self, len: usize) -> Result<(), String> {
        if len > self.end - self.at {
            return Err(format!("{len} bytes wanted at {}, {} left", self.at, self.end - self.at));
        }
        self.at += len;
        Ok(())
    }

    fn u8(&mut self) -> Result<u8, String> {
        self.take().map(|[byte]| byte)
    }

    fn u32(&mut self) -> Result<u32, String> {
        self.take().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, String> {
        self.take().map(u64::from_le_bytes)
    }

    fn bytes(&mut self, len: usize) -> Result<Bytes, String> {
        let from = self.at;
        self.skip(len)?;
        Ok(self.blob.slice(from..self.at))
    }
}
