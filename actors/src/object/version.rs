//! Versions: linear, immutable, each with its own loid (docs/api/content.md, "Versions").

use std::any::Any;
use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::file::refer;
use super::record::{Content, Text};
use crate::id::Loid;
use crate::store::{Key, Row, Table, loid_key};

/// One version of an object's content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Version {
    /// The version's own loid; its `version` part is the version's number.
    #[serde(with = "loid_key")]
    pub loid: Loid,
    /// Name of the user who wrote it.
    pub author: Text,
    /// Epoch seconds.
    pub at: u64,
    /// The bytes.
    pub content: Content,
}

/// Keeps a content file from being collected as long as there is a clone of it.
pub type Pin = Arc<dyn Any + Send + Sync>;

/// The bytes of a new version.
#[derive(Debug, Clone)]
pub struct NewContent {
    /// What they are.
    pub content: Content,
    /// The bytes themselves where they are small; else they lie in a file already.
    pub small: Option<Bytes>,
    /// Goes with the command until its change set has been submitted: from then on the file is
    /// referred to by a row, or by none ever. `None` for small ones, and for those that a row of
    /// the same container refers to.
    pub pin: Option<Pin>,
}

impl Version {
    /// Where the version `loid` lives.
    pub fn key(loid: Loid) -> Key {
        Key { table: Table::Versions, key: Bytes::copy_from_slice(&loid.to_key()) }
    }
}

impl Row for Version {
    fn place(&self) -> Key {
        Version::key(self.loid)
    }

    fn index(&self, entries: &mut Vec<(Key, Bytes)>) {
        refer(&self.content, &self.place(), &[], entries);
    }
}

/// The place of a version's bytes when they are small enough for a row. The row's value is the
/// bytes as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SmallBody;

impl SmallBody {
    /// Where the bytes of the version `loid` live.
    pub fn key(loid: Loid) -> Key {
        Key { table: Table::Bodies, key: Bytes::copy_from_slice(&loid.to_key()) }
    }
}
