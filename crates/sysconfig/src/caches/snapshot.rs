//! The configuration texts in force, as a row: after a restart, a cache has what it had before.

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use stet_domain::id::{DatabaseId, Loid};
use stet_domain::object::SharedText;
use stet_domain::store::{Row, RowPlace, Table};

use crate::files::{ContentState, Files, SourceFile};

/// The texts in force of one cache. Stored as an array in field order, so a field is added at the
/// end, with `#[serde(default)]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Number of the cache's database.
    pub database: u16,
    /// Name of the cache.
    pub cache: SharedText,
    /// The files of the reading, including those that did not exist.
    pub files: Vec<SnapshotFile>,
}

/// A file of a [`Snapshot`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotFile {
    /// The path by which the file was read.
    pub path: String,
    /// The text of the file; `None` if it did not exist.
    pub text: Option<String>,
    /// The object that contained the file.
    pub object: Option<Loid>,
    /// SHA-256 of the content.
    pub sha256: [u8; 32],
}

impl Snapshot {
    /// Returns the key of a cache's snapshot.
    pub fn key(database: DatabaseId, cache: &str) -> RowPlace {
        let mut key = database.0.to_be_bytes().to_vec();
        key.extend_from_slice(cache.as_bytes());
        RowPlace { table: Table::Configuration, key: Bytes::from(key) }
    }

    /// Returns the snapshot of readable files.
    pub fn of(database: DatabaseId, cache: &str, files: &Files) -> Snapshot {
        let file = |(path, file): (&String, &Option<std::sync::Arc<SourceFile>>)| SnapshotFile {
            path: path.clone(),
            text: file.as_ref().and_then(|file| file.text.as_deref().ok()).map(str::to_owned),
            object: file.as_ref().and_then(|file| file.state).map(|state| state.object),
            sha256: file.as_ref().and_then(|file| file.state).map(|state| state.sha256).unwrap_or_default(),
        };
        Snapshot { database: database.0, cache: cache.into(), files: files.iter().map(file).collect() }
    }

    /// Returns the files, to be parsed again.
    pub fn into_files(self) -> Files {
        let file = |file: SnapshotFile| {
            let SnapshotFile { path, text, object, sha256 } = file;
            let found = text.map(|text| {
                let state = object.map(|object| ContentState { object, sha256 });
                std::sync::Arc::new(SourceFile { path: path.clone(), text: Ok(text.into()), state })
            });
            (path, found)
        };
        self.files.into_iter().map(file).collect()
    }
}

impl Row for Snapshot {
    fn place(&self) -> RowPlace {
        Snapshot::key(DatabaseId(self.database), &self.cache)
    }
}
