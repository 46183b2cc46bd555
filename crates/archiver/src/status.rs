//! The state of the backup, as operators see it.

use serde::{Deserialize, Serialize};
use stet_backup::TimelineId;
use stet_domain::store::Seq;

use crate::drill::DrillRecord;
use crate::pruning::PruneReport;

/// The state of the backup.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BackupStatus {
    /// The address of the target.
    pub target: String,
    /// The timeline, once the target was reached.
    pub timeline: Option<TimelineId>,
    /// The last change that the target has.
    pub archived: Seq,
    /// The last change that was committed.
    pub committed: Seq,
    /// Bytes that wait on the local disk.
    pub spool_bytes: u64,
    /// The reason why the target does not get anything at present.
    pub fault: Option<String>,
    /// The reason why changes are missing from the backup, until a new base has them.
    pub gap: Option<String>,
    /// The newest base.
    pub base: Option<NewestBase>,
    /// Whether a base is being taken.
    pub is_taking_base: bool,
    /// The reason why the last attempt to take a base has failed.
    pub base_fault: Option<String>,
    /// The number of attempts to take a base since the start, successful or not.
    pub ended_bases: u64,
    /// Whether a removal from the target runs.
    pub is_pruning: bool,
    /// The last removal since the start.
    pub prune: Option<PruneReport>,
    /// The reason why the last attempt to remove something has failed.
    pub prune_fault: Option<String>,
    /// The number of removals since the start, successful or not.
    pub ended_prunes: u64,
    /// Whether a drill runs.
    pub is_drilling: bool,
    /// The outcome of drills, once there is a base.
    pub drill: Option<DrillRecord>,
    /// The number of drills since the start, successful or not.
    pub ended_drills: u64,
}

/// The newest base.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NewestBase {
    /// The last change in it.
    pub change: Seq,
    /// When it was taken, in epoch milliseconds.
    pub taken_ms: u64,
}
