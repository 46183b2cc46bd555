//! The section about the backup.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// `[backup]`: the continuous backup (docs/BACKUP.md).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BackupConfig {
    /// The address of the place that gets every change, such as `file:///backup/stet` or
    /// `s3://bucket/stet`. Empty: there is no backup.
    pub target: String,
    /// The address of the S3 server. Empty: that of AWS.
    pub s3_endpoint: String,
    /// The region of the bucket.
    pub s3_region: String,
    /// The file with the credentials of the S3 server. Empty: they are in the environment.
    pub s3_credentials_file: PathBuf,
    /// Number of bytes of changes that wait on the local disk while the target can't be reached.
    pub spool_bytes: u64,
    /// Hours from one base, a copy of all tables, to the next.
    pub base_hours: u64,
    /// Number of bytes that a base reads in a second.
    pub base_bytes_per_second: u64,
    /// Days whose every state stays restorable.
    pub keep_days: u64,
    /// Days from one drill, a restoration that is checked, to the next. 0: none.
    pub drill_days: u64,
}

impl Default for BackupConfig {
    fn default() -> BackupConfig {
        BackupConfig {
            target: String::new(),
            s3_endpoint: String::new(),
            s3_region: "us-east-1".to_owned(),
            s3_credentials_file: PathBuf::new(),
            spool_bytes: 1 << 30,
            base_hours: 24,
            base_bytes_per_second: 32 << 20,
            keep_days: 14,
            drill_days: 7,
        }
    }
}

impl BackupConfig {
    /// Reports whether there is a backup.
    pub fn is_on(&self) -> bool {
        !self.target.is_empty()
    }
}
