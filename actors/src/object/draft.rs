//! The draft: saved content of an object that is checked out (docs/api/content.md, "Drafts").

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::file::refer;
use super::record::{Content, Record, Text};
use crate::id::Loid;
use crate::store::{Key, Row, Table, loid_key};

/// The working copy of an object: one at most, whoever wrote it. It outlives the lock, so that
/// nothing that was saved is lost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Draft {
    /// The object.
    #[serde(with = "loid_key")]
    pub loid: Loid,
    /// Name of the user who saved it.
    pub author: Text,
    /// Epoch seconds.
    pub at: u64,
    /// The bytes.
    pub content: Content,
    /// What it comes from; `None` for an object without content, and where it was not noted yet.
    #[serde(default)]
    pub base: Option<Base>,
}

/// The content that a draft comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Base {
    /// Number of the version.
    pub version: u32,
    /// SHA-256 of its bytes: a version may be replaced.
    pub sha256: [u8; 32],
}

impl Base {
    /// The present content of an object.
    pub fn of(record: &Record) -> Option<Base> {
        record.content.as_ref().map(|content| Base { version: record.version, sha256: content.sha256 })
    }
}

impl Draft {
    /// Where the draft of an object lives.
    pub fn key(object: Loid) -> Key {
        Key { table: Table::Drafts, key: Bytes::copy_from_slice(&object.to_key()) }
    }

    /// Under which loid the bytes of an object's draft lie when they are small: that of a version
    /// which no object will ever have.
    pub const fn body_loid(object: Loid) -> Loid {
        object.at_version(u32::MAX)
    }
}

impl Row for Draft {
    fn place(&self) -> Key {
        Draft::key(self.loid)
    }

    fn index(&self, entries: &mut Vec<(Key, Bytes)>) {
        refer(&self.content, &self.place(), &[], entries);
    }
}
