//! Manifests of bases.

use std::collections::HashSet;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::{BACKUP_FORMAT, BackupError, BackupName, BackupResult, BaseStamp, Sha256Hash, TimelineId, document};

/// The list of everything that a base consists of, but for contents: those follow from the rows.
/// A base exists once its manifest does, so that all chunks must be in the target before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BaseManifest {
    /// The format of the document: [`BACKUP_FORMAT`].
    pub format: u32,
    /// The timeline that the base is on.
    pub timeline: TimelineId,
    /// The last change that is in the base; all earlier ones are in it, too.
    pub seq: u64,
    /// The time at which the base was taken, in milliseconds since 1970.
    pub taken_ms: u64,
    /// The version of stet that took the base.
    pub stet_version: String,
    /// The number of the store's format, which says what the rows look like.
    pub store_format: u64,
    /// The tables. A table without rows may be missing.
    pub tables: Vec<TableChunks>,
}

/// A table in a base.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableChunks {
    /// The name of the table in the store, which no other table of the base has.
    pub name: String,
    /// The chunks in key order.
    pub chunks: Vec<ChunkReference>,
}

/// The facts about a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChunkReference {
    /// The SHA-256 of the raw bytes, which is the chunk's name.
    pub sha256: Sha256Hash,
    /// The number of rows.
    pub rows: u64,
    /// The number of raw bytes.
    pub bytes: u64,
}

impl BaseManifest {
    /// Creates the manifest of a base without tables.
    pub fn new(timeline: TimelineId, stamp: BaseStamp, stet_version: &str, store_format: u64) -> BaseManifest {
        let BaseStamp { seq, taken_ms } = stamp;
        let stet_version = stet_version.to_owned();
        BaseManifest { format: BACKUP_FORMAT, timeline, seq, taken_ms, stet_version, store_format, tables: Vec::new() }
    }

    /// Returns the name of the manifest.
    pub fn name(&self) -> BackupName {
        BackupName::Base(self.timeline, BaseStamp { seq: self.seq, taken_ms: self.taken_ms })
    }

    /// Returns all chunks, table by table. Tables with equal rows share chunks.
    pub fn chunks(&self) -> impl Iterator<Item = &ChunkReference> {
        self.tables.iter().flat_map(|table| &table.chunks)
    }

    /// Returns the number of raw bytes of all rows.
    pub fn raw_bytes(&self) -> u64 {
        self.chunks().fold(0, |sum, chunk| sum.saturating_add(chunk.bytes))
    }

    /// Encodes the manifest with its checksum. A chunk takes about 110 bytes.
    pub fn encode(&self) -> Bytes {
        document::encode(self)
    }

    /// Reads the manifest with that name, and verifies it.
    ///
    /// # Errors
    /// `Damaged`: the bytes are not those of that manifest. `Refused`: they have a newer format.
    pub fn read(name: &BackupName, bytes: &[u8]) -> BackupResult<BaseManifest> {
        let manifest: BaseManifest = document::read(name, bytes)?;
        if manifest.name() != *name {
            return Err(BackupError::damaged(name, "its timeline, change or time is not that of its name"));
        }
        let mut names = HashSet::new();
        match manifest.tables.iter().find(|table| !names.insert(&table.name)) {
            Some(table) => Err(BackupError::damaged(name, format!("the table `{}` is in it twice", table.name))),
            None => Ok(manifest),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn manifest() -> impl Strategy<Value = BaseManifest> {
        let chunk = (any::<[u8; 32]>(), any::<u64>(), any::<u64>()).prop_map(|(sha256, rows, bytes)| ChunkReference {
            sha256: Sha256Hash(sha256),
            rows,
            bytes,
        });
        let tables = prop::collection::btree_map("\\PC{1,8}", prop::collection::vec(chunk, 0..4), 0..4);
        let head = (any::<u64>(), any::<u64>(), any::<u64>(), "\\PC*", any::<u64>());
        (head, tables).prop_map(|((timeline, seq, taken_ms, version, store_format), tables)| {
            let stamp = BaseStamp { seq, taken_ms };
            let mut manifest = BaseManifest::new(TimelineId(timeline), stamp, &version, store_format);
            manifest.tables = tables.into_iter().map(|(name, chunks)| TableChunks { name, chunks }).collect();
            manifest
        })
    }

    proptest! {
        #[test]
        fn a_manifest_is_read_as_it_was_written(manifest in manifest()) {
            prop_assert_eq!(BaseManifest::read(&manifest.name(), &manifest.encode()).unwrap(), manifest);
        }

        #[test]
        fn a_changed_manifest_is_damaged(
            manifest in manifest(), at in any::<prop::sample::Index>(), flip in 1..=255_u8, cut in any::<bool>(),
        ) {
            let mut bytes = manifest.encode().to_vec();
            let at = at.index(bytes.len());
            if cut {
                bytes.truncate(at);
            } else {
                bytes[at] ^= flip;
            }
            let found = BaseManifest::read(&manifest.name(), &bytes);
            prop_assert!(matches!(found, Err(BackupError::Damaged { .. })), "{found:?}");
        }

        #[test]
        fn any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let name = BackupName::Base(TimelineId(1), BaseStamp { seq: 1, taken_ms: 1 });
            prop_assert!(BaseManifest::read(&name, &bytes).is_err());
        }
    }

    #[test]
    fn a_manifest_under_another_name_is_damaged() {
        let manifest = BaseManifest::new(TimelineId(1), BaseStamp { seq: 5, taken_ms: 6 }, "0.1.0", 3);
        for name in [
            BackupName::Base(TimelineId(2), BaseStamp { seq: 5, taken_ms: 6 }),
            BackupName::Base(TimelineId(1), BaseStamp { seq: 4, taken_ms: 6 }),
            BackupName::Base(TimelineId(1), BaseStamp { seq: 5, taken_ms: 7 }),
        ] {
            let error = BaseManifest::read(&name, &manifest.encode()).unwrap_err();
            assert!(matches!(&error, BackupError::Damaged { object, .. } if *object == name.to_string()), "{error}");
        }
    }

    #[test]
    fn a_table_is_in_a_manifest_once() {
        let mut manifest = BaseManifest::new(TimelineId(1), BaseStamp { seq: 5, taken_ms: 6 }, "0.1.0", 3);
        manifest.tables = vec![TableChunks { name: "objects/1".to_owned(), chunks: Vec::new() }; 2];
        let error = BaseManifest::read(&manifest.name(), &manifest.encode()).unwrap_err();
        assert!(error.to_string().contains("`objects/1` is in it twice"), "{error}");
    }

    #[test]
    fn bytes_are_summed_without_overflow() {
        let mut manifest = BaseManifest::new(TimelineId(1), BaseStamp { seq: 5, taken_ms: 6 }, "0.1.0", 3);
        let chunk = ChunkReference { sha256: Sha256Hash([0; 32]), rows: 1, bytes: u64::MAX };
        manifest.tables = vec![TableChunks { name: "objects/1".to_owned(), chunks: vec![chunk; 2] }];
        assert_eq!(manifest.raw_bytes(), u64::MAX);
    }
}
