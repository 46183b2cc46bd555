//! Continuous backup: every committed change is in another place within a second, and every state
//! can be restored.
//!
//! - [`Spool`] takes the records of the store's commits, and keeps them on the local disk until the
//!   target has them.
//! - [`BackupService`] ships them, with the contents that they refer to, and takes **bases**, which
//!   are copies of the tables.
//! - The service also removes what is older than the span that is kept, and restores the newest
//!   state in **drills**, to prove that it can be.
//! - [`BackupSurvey`] says what a target has, and [`restore`] writes a data directory from it.
//!
//! `stet-backup` has the formats and the target.

mod base;
mod contents;
mod drill;
mod merging;
mod pruning;
mod reading;
mod restoring;
mod retention;
mod rounds;
mod service;
mod shipping;
mod spool;
mod status;
mod survey;
mod timeline;

pub use drill::{DirectoryCheck, DrillFault, DrillRecord, DrillTools, VerifiedState};
pub use pruning::PruneReport;
pub use restoring::{RestoreProgress, RestoreRequest, RestoredState, restore};
pub use service::{BackupOptions, BackupService};
pub use spool::Spool;
pub use status::{BackupStatus, NewestBase};
pub use survey::{BackupSurvey, RestorableRange, RestorePoint, SurveyedTimeline};

/// The folder of the backup in a data directory: the spool, and the name of the timeline.
pub const FOLDER: &str = "backup";

/// Returns the present time in epoch milliseconds.
fn now_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
