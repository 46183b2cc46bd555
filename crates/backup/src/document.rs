//! JSON documents with a checksum: one line with the document, and one with the SHA-256 of the
//! first line without its end, as `{"sha256":"…"}`.

use std::fmt::Display;

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::{BackupError, BackupResult, Sha256Hash};

/// The number of the format of the documents in a backup, and of the layout that they describe.
/// Each document has it in its field `format`.
pub const BACKUP_FORMAT: u32 = 1;

/// The second line.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct DocumentChecksum {
    sha256: Sha256Hash,
}

/// The only field that is read from documents of all formats.
#[derive(Deserialize)]
struct DocumentFormat {
    format: u32,
}

/// Encodes a document, which has a field `format`.
pub(crate) fn encode<T: Serialize>(document: &T) -> Bytes {
    let line = |value: serde_json::Result<Vec<u8>>| value.expect("structs of texts and numbers have a JSON form");
    let mut text = line(serde_json::to_vec(document));
    let checksum = DocumentChecksum { sha256: Sha256Hash::of(&text) };
    text.push(b'\n');
    text.extend(line(serde_json::to_vec(&checksum)));
    text.push(b'\n');
    text.into()
}

/// Reads the document that is the object with that name.
///
/// # Errors
/// `Damaged`: the bytes are not those of a document. `Refused`: the format is not
/// [`BACKUP_FORMAT`].
pub(crate) fn read<T: DeserializeOwned>(object: &dyn Display, bytes: &[u8]) -> BackupResult<T> {
    let damaged = |fault: &str| BackupError::damaged(object, fault);
    let text = bytes.strip_suffix(b"\n").ok_or_else(|| damaged("its end is missing"))?;
    let middle = text.iter().position(|byte| *byte == b'\n').ok_or_else(|| damaged("its checksum is missing"))?;
    let (line, checksum) = (&text[..middle], &text[middle + 1..]);
    let checksum: DocumentChecksum =
        serde_json::from_slice(checksum).map_err(|_| damaged("its checksum can't be read"))?;
    if Sha256Hash::of(line) != checksum.sha256 {
        return Err(damaged("its bytes do not match its checksum"));
    }
    let unreadable = |error| damaged(&format!("it can't be read: {error}"));
    let DocumentFormat { format } = serde_json::from_slice(line).map_err(unreadable)?;
    if format != BACKUP_FORMAT {
        return Err(BackupError::Refused(format!(
            "`{object}` has the format {format}, and this version of stet reads the format {BACKUP_FORMAT} only. \
             The backup may belong to a newer version."
        )));
    }
    serde_json::from_slice(line).map_err(unreadable)
}
