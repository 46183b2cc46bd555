//! The documents that say what a backup and its timelines are.

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{BACKUP_FORMAT, BackupName, BackupResult, TimelineId, document};

/// The content of `stet-backup.json`, written once, before anything else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupIdentity {
    /// The format of the backup: [`BACKUP_FORMAT`].
    pub format: u32,
    /// The random identifier of the backup. It distinguishes the target's folder from an empty
    /// mount point, and from the backup of another server.
    pub id: Uuid,
    /// The time of creation, in milliseconds since 1970.
    pub created_ms: u64,
}

impl BackupIdentity {
    /// Creates the identity of a new backup, with a random identifier.
    pub fn new(created_ms: u64) -> BackupIdentity {
        BackupIdentity { format: BACKUP_FORMAT, id: Uuid::new_v4(), created_ms }
    }

    /// Encodes the document, for the object [`BackupName::Identity`].
    pub fn encode(&self) -> Bytes {
        document::encode(self)
    }

    /// Reads the document.
    ///
    /// # Errors
    /// `Damaged`, or `Refused` for another format.
    pub fn read(bytes: &[u8]) -> BackupResult<BackupIdentity> {
        document::read(&BackupName::Identity, bytes)
    }
}

/// The content of a timeline's `timeline.json`, written before anything else of the timeline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimelineOrigin {
    /// The format of the document: [`BACKUP_FORMAT`].
    pub format: u32,
    /// The place where the timeline begins; `None` for the first one of a backup.
    pub branch: Option<TimelineBranch>,
    /// The time of creation, in milliseconds since 1970.
    pub created_ms: u64,
}

/// The place on another timeline where a timeline begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimelineBranch {
    /// The other timeline.
    pub parent: TimelineId,
    /// The last change that both timelines have in common.
    pub change: u64,
}

impl TimelineOrigin {
    /// Creates the origin of a new timeline.
    pub fn new(branch: Option<TimelineBranch>, created_ms: u64) -> TimelineOrigin {
        TimelineOrigin { format: BACKUP_FORMAT, branch, created_ms }
    }

    /// Encodes the document, for the object [`BackupName::Timeline`].
    pub fn encode(&self) -> Bytes {
        document::encode(self)
    }

    /// Reads the document of a timeline.
    ///
    /// # Errors
    /// `Damaged`, or `Refused` for another format.
    pub fn read(timeline: TimelineId, bytes: &[u8]) -> BackupResult<TimelineOrigin> {
        document::read(&BackupName::Timeline(timeline), bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BackupError;

    #[test]
    fn documents_are_read_as_they_were_written() {
        let identity = BackupIdentity::new(1_700_000_000_000);
        assert_eq!(BackupIdentity::read(&identity.encode()).unwrap(), identity);
        assert_ne!(identity.id, BackupIdentity::new(1_700_000_000_000).id);
        let branch = TimelineBranch { parent: TimelineId(7), change: u64::MAX };
        for branch in [None, Some(branch)] {
            let origin = TimelineOrigin::new(branch, 5);
            assert_eq!(TimelineOrigin::read(TimelineId(8), &origin.encode()).unwrap(), origin);
        }
    }

    /// Checks that each single fault of bits is found: none of them may move a branch.
    #[test]
    fn a_flipped_bit_anywhere_is_found() {
        let branch = TimelineBranch { parent: TimelineId(7), change: 12 };
        let sound = TimelineOrigin::new(Some(branch), 5).encode();
        for bit in 0..sound.len() * 8 {
            let mut bytes = sound.to_vec();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let found = TimelineOrigin::read(TimelineId(8), &bytes);
            assert!(matches!(found, Err(BackupError::Damaged { .. })), "bit {bit}: {found:?}");
        }
        for end in 0..sound.len() {
            assert!(TimelineOrigin::read(TimelineId(8), &sound[..end]).is_err(), "{end} bytes");
        }
    }

    #[test]
    fn a_newer_format_is_refused_with_its_number() {
        let newer = TimelineOrigin { format: 2, branch: None, created_ms: 5 }.encode();
        let error = TimelineOrigin::read(TimelineId(8), &newer).unwrap_err();
        assert!(matches!(&error, BackupError::Refused(text) if text.contains("the format 2")), "{error}");
    }
}
