//! A commit's change sets as bytes: what a record of the journal holds.
//!
//! Layout, integers little-endian: version (u8), length of what follows (u32), then for each change set its number
//! (u64) and count of changes (u32), then for each change its table (u8), key length (u32), key, and value length plus
//! one (u32; 0 removes the row) and value. Bytes behind that are ignored. The record around it (`record`) has a
//! checksum; there is none here.

use bytes::Bytes;
use stet_actors::store::{Change, Seq, Table};

const VERSION: u8 = 1;
const HEAD: usize = 5;

/// Change sets, each with its number.
/// Change sets with their numbers.
pub type Sets = Vec<(Seq, Vec<Change>)>;

/// Bytes that a change of such lengths takes; what limits count.
pub(super) fn change_bytes(change: &Change) -> usize {
    9 + change.key.len() + change.value.as_ref().map_or(0, Bytes::len)
}

/// Writes change sets, one after the other, behind what is in the buffer.
pub fn encode<'a>(sets: impl Iterator<Item = (Seq, &'a [Change])>, blob: &mut Vec<u8>) {
    let begin = blob.len();
    blob.extend_from_slice(&[VERSION, 0, 0, 0, 0]);
    for (seq, changes) in sets {
        blob.extend_from_slice(&seq.to_le_bytes());
        put_len(blob, changes.len());
        for change in changes {
            blob.push(change.table as u8);
            put_len(blob, change.key.len());
            blob.extend_from_slice(&change.key);
            match &change.value {
                Some(value) => {
                    put_len(blob, value.len() + 1);
                    blob.extend_from_slice(value);
                }
                None => put_len(blob, 0),
            }
        }
    }
    let len = len_u32(blob.len() - begin - HEAD);
    blob[begin + 1..begin + HEAD].copy_from_slice(&len.to_le_bytes());
}

fn len_u32(len: usize) -> u32 {
    // Submission refuses sets of more than `LimitOptions::set_bytes`, and a batch is closed by `batch_bytes`.
    u32::try_from(len).expect("a commit is smaller than 4 GiB")
}

fn put_len(blob: &mut Vec<u8>, len: usize) {
    blob.extend_from_slice(&len_u32(len).to_le_bytes());
}

/// Reads change sets back; keys and values share the blob's memory.
///
/// # Errors
/// Says what is wrong with the bytes.
pub fn decode(blob: &Bytes) -> Result<Sets, String> {
    let mut head = Cursor { blob, at: 0, end: blob.len() };
    let version = head.u8()?;
    if version != VERSION {
        return Err(format!("version {version} where {VERSION} was expected"));
    }
    let len = head.u32()? as usize;
    if len > blob.len() - HEAD {
        return Err(format!("{len} bytes announced, {} there", blob.len() - HEAD));
    }
    let mut cursor = Cursor { blob, at: HEAD, end: HEAD + len };
    let mut sets = Vec::new();
    while cursor.at < cursor.end {
        let seq = cursor.u64()?;
        let count = cursor.u32()? as usize;
        // Not trusted for the allocation: every change takes nine bytes at least.
        let mut changes = Vec::with_capacity(count.min((cursor.end - cursor.at) / 9));
        for _ in 0..count {
            let number = cursor.u8()?;
            let table = Table::from_number(number).ok_or_else(|| format!("no table has the number {number}"))?;
            let key_len = cursor.u32()? as usize;
            let key = cursor.bytes(key_len)?;
            let value = match cursor.u32()? as usize {
                0 => None,
                len => Some(cursor.bytes(len - 1)?),
            };
            changes.push(Change { table, key, value });
        }
        sets.push((seq, changes));
    }
    Ok(sets)
}

struct Cursor<'a> {
    blob: &'a Bytes,
    at: usize,
    end: usize,
}

impl Cursor<'_> {
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
