//! The draft: saved content of an object that is checked out (docs/api/content.md, "Drafts").

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::file::refer;
use super::record::{Content, Record, SharedText};
use crate::id::Loid;
use crate::store::{Row, RowPlace, Table, loid_key};

/// The working copy of an object; there is at most one, by any user. It outlives the lock, so that
/// no saved work is lost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Draft {
    /// The object.
    #[serde(with = "loid_key")]
    pub loid: Loid,
    /// The name of the user who saved it.
    pub author: SharedText,
    /// The time of the last save in epoch seconds.
    pub at: u64,
    /// The saved content.
    pub content: Content,
    /// The content that the draft is based on. `None` for an object without content, and in rows
    /// from before this was noted.
    #[serde(default)]
    pub base: Option<DraftBase>,
}

/// The content that a draft is based on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DraftBase {
    /// The number of the version.
    pub version: u32,
    /// The SHA-256 of the bytes, since a version may be replaced.
    pub sha256: [u8; 32],
}

impl DraftBase {
    /// Returns the present content of an object.
    pub fn of(record: &Record) -> Option<DraftBase> {
        record.content.as_ref().map(|content| DraftBase { version: record.version, sha256: content.sha256 })
    }
}

impl Draft {
    /// Returns the key of an object's draft.
    pub fn key(object: Loid) -> RowPlace {
        RowPlace { table: Table::Drafts, key: Bytes::copy_from_slice(&object.to_key()) }
    }

    /// Returns the loid for the bytes of a small draft: that of a version which no object will ever
    /// have.
    pub const fn body_loid(object: Loid) -> Loid {
        object.at_version(u32::MAX)
    }
}

impl Row for Draft {
    fn place(&self) -> RowPlace {
        Draft::key(self.loid)
    }

    fn index(&self, entries: &mut Vec<(RowPlace, Bytes)>) {
        refer(&self.content, &self.place(), &[], entries);
    }
}
