//! The state of the continuous backup.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use stet_archiver::BackupService;
use stet_domain::error::Result;
use stet_web::call::Call;
use stet_web::reply::Json;

/// The state of the backup. Without a backup everything but `enabled` is null.
#[derive(Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BackupReport {
    /// Whether there is a backup: `backup.target` is set.
    pub enabled: bool,
    /// The address of the target.
    pub target: Option<String>,
    /// The timeline of the directory in the target, once that was reached.
    pub timeline: Option<String>,
    /// The last change that the target has.
    pub archived: Option<u64>,
    /// The last change that was committed.
    pub committed: Option<u64>,
    /// Bytes that wait on the local disk.
    pub spool_bytes: Option<u64>,
    /// The reason why the target does not get anything at present.
    pub fault: Option<String>,
    /// The reason why changes are missing from the backup, until a new base has them.
    pub gap: Option<String>,
    /// The newest base.
    pub base: Option<BaseReport>,
    /// Whether a base is being taken.
    pub is_taking_base: Option<bool>,
    /// The reason why the last attempt to take a base has failed.
    pub base_fault: Option<String>,
    /// The reason why the last removal of what is too old has failed.
    pub prune_fault: Option<String>,
    /// The proof that a state can be restored, once there is a base.
    pub drill: Option<DrillReport>,
}

/// A base of the backup.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BaseReport {
    /// The last change in it.
    pub change: u64,
    /// The time when it was taken, epoch milliseconds.
    pub taken_at: u64,
}

/// The outcome of the drills of a backup.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DrillReport {
    /// The time of the last restoration without a fault, epoch milliseconds.
    pub verified_at: Option<u64>,
    /// The change that was restored then.
    pub change: Option<u64>,
    /// The reason why the last drill has failed.
    pub fault: Option<String>,
}

/// `GET /v3/server/backup`
pub async fn backup(call: Call) -> Result<Json<BackupReport>> {
    let Some(service) = call.app.kept::<Option<Arc<BackupService>>>() else {
        return Json::of(&BackupReport::default());
    };
    let status = service.status();
    Json::of(&BackupReport {
        enabled: true,
        target: Some(status.target),
        timeline: status.timeline.map(|timeline| timeline.to_string()),
        archived: Some(status.archived),
        committed: Some(status.committed),
        spool_bytes: Some(status.spool_bytes),
        fault: status.fault,
        gap: status.gap,
        base: status.base.map(|base| BaseReport { change: base.change, taken_at: base.taken_ms }),
        is_taking_base: Some(status.is_taking_base),
        base_fault: status.base_fault,
        prune_fault: status.prune_fault,
        drill: status.drill.map(|drill| DrillReport {
            verified_at: drill.verified.map(|state| state.at_ms),
            change: drill.verified.map(|state| state.change),
            fault: drill.fault.map(|fault| fault.why),
        }),
    })
}
