//! Versions: linear, immutable, each with its own loid (docs/api/content.md, "Versions").

use std::any::Any;
use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::file::refer;
use super::record::{Content, SharedText};
use crate::id::Loid;
use crate::store::{Row, RowPlace, Table, loid_key};

/// One version of an object's content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Version {
    /// The version's own loid; its `version` part is the version's number.
    #[serde(with = "loid_key")]
    pub loid: Loid,
    /// The name of the user who wrote it.
    pub author: SharedText,
    /// The time of writing, epoch seconds.
    pub at: u64,
    /// The bytes.
    pub content: Content,
}

/// A guard that keeps a content file from being collected while a clone of it exists.
pub type ContentPin = Arc<dyn Any + Send + Sync>;

/// The content of a new version.
#[derive(Debug, Clone)]
pub struct NewContent {
    /// The media type, size, hash and location of the bytes.
    pub content: Content,
    /// The bytes themselves if they are small; else they are in a file already.
    pub small: Option<Bytes>,
    /// The guard of the file, held by the command until its change set is submitted. From then on a
    /// row refers to the file, or none ever will. It is `None` for small contents, and for a file
    /// that a row of the same container refers to.
    pub pin: Option<ContentPin>,
}

impl Version {
    /// Returns the key of the version `loid`.
    pub fn key(loid: Loid) -> RowPlace {
        RowPlace { table: Table::Versions, key: Bytes::copy_from_slice(&loid.to_key()) }
    }
}

impl Row for Version {
    fn place(&self) -> RowPlace {
        Version::key(self.loid)
    }

    fn index(&self, entries: &mut Vec<(RowPlace, Bytes)>) {
        refer(&self.content, &self.place(), &[], entries);
    }
}

/// The row of a version's bytes, if they are small. Its value is the bytes themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SmallBody;

impl SmallBody {
    /// Returns the key of the bytes of the version `loid`.
    pub fn key(loid: Loid) -> RowPlace {
        RowPlace { table: Table::Bodies, key: Bytes::copy_from_slice(&loid.to_key()) }
    }
}
