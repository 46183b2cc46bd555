//! Drills: restorations of the newest state into a scratch directory, which is checked and removed.
//!
//! A backup that was never restored proves nothing. The outcome is noted in a file in the folder of
//! the backup, so that a restart does not forget it.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use stet_backup::{BackupError, BackupTarget, TimelineId};
use stet_base::disk::free_at;
use stet_content::ContentStore;
use stet_domain::store::Seq;
use stet_store::{StoreFile, StoreOptions};

use crate::now_ms;
use crate::restoring::{RestoreProgress, RestoreRequest, restore};
use crate::survey::RestorePoint;

/// The file with the outcome.
const FILE: &str = "drill.json";

/// The folder of the scratch directory.
const SCRATCH: &str = "drill";

/// The pause in milliseconds after a drill that has failed.
const RETRY_MS: u64 = 60 * 60 * 1000;

/// A check of a directory that no server has open. The error is a text with the faults.
pub type DirectoryCheck = Box<dyn Fn(&Path) -> Result<(), String> + Send + Sync>;

/// The parts of a drill that know the configuration.
pub struct DrillTools {
    /// Returns the options of the store in a directory. They should take little memory.
    pub store_options: Box<dyn Fn(&Path) -> StoreOptions + Send + Sync>,
    /// The check of the restored directory.
    pub check: DirectoryCheck,
    /// The bytes on the disk that are left to the server.
    pub reserve_bytes: u64,
}

/// The outcome of drills.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DrillRecord {
    /// The time of the first base, from which on a drill is possible, in epoch milliseconds.
    pub since_ms: u64,
    /// The newest state that was restored and found without faults.
    pub verified: Option<VerifiedState>,
    /// The failure of the last drill, if it has failed.
    pub fault: Option<DrillFault>,
}

/// A state that was restored and found without faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VerifiedState {
    /// The last change in it.
    pub change: Seq,
    /// When the check ended, in epoch milliseconds.
    pub at_ms: u64,
}

/// The failure of a drill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DrillFault {
    /// When it failed, in epoch milliseconds.
    pub at_ms: u64,
    /// The reason.
    pub why: String,
}

impl DrillRecord {
    /// Returns the record before the first drill.
    pub(crate) fn since(since_ms: u64) -> DrillRecord {
        DrillRecord { since_ms, verified: None, fault: None }
    }

    /// Reads the record in a folder of the backup; `None` if there is none that can be read.
    pub(crate) fn read(folder: &Path) -> Option<DrillRecord> {
        let bytes = fs::read(folder.join(FILE)).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    /// Writes the record, synced with its name.
    pub(crate) fn write(&self, folder: &Path) -> io::Result<()> {
        let (path, unfinished) = (folder.join(FILE), folder.join("drill.json.unfinished"));
        let mut file = File::create(&unfinished)?;
        file.write_all(&serde_json::to_vec(self)?)?;
        file.sync_all()?;
        fs::rename(unfinished, path)?;
        File::open(folder)?.sync_all()
    }

    /// Returns the record after a drill.
    pub(crate) fn after(self, outcome: Result<Seq, String>) -> DrillRecord {
        let at_ms = now_ms();
        match outcome {
            Ok(change) => DrillRecord { verified: Some(VerifiedState { change, at_ms }), fault: None, ..self },
            Err(why) => DrillRecord { fault: Some(DrillFault { at_ms, why }), ..self },
        }
    }

    /// Returns the time from which the age of the proof counts, in epoch milliseconds.
    pub(crate) fn proven_ms(&self) -> u64 {
        self.verified.map_or(self.since_ms, |verified| verified.at_ms)
    }

    /// Reports whether a drill is due.
    pub(crate) fn is_due(&self, now_ms: u64, every: Duration) -> bool {
        let (from_ms, pause_ms) = match &self.fault {
            Some(fault) => (fault.at_ms, u128::from(RETRY_MS)),
            None => (self.proven_ms(), every.as_millis()),
        };
        // A time in the future is that of a clock that was wrong.
        from_ms > now_ms.saturating_add(RETRY_MS) || u128::from(now_ms.saturating_sub(from_ms)) >= pause_ms
    }
}

/// The work of one drill. It blocks, so it has a thread of its own.
pub(crate) struct DrillWork<'a> {
    pub target: &'a BackupTarget,
    pub tools: &'a DrillTools,
    /// The contents of the server.
    pub content: &'a ContentStore,
    /// The data directory.
    pub data: &'a Path,
    pub timeline: TimelineId,
    /// The most bytes that are read in a second.
    pub bytes_per_second: u64,
    /// Set when the server ends: the drill is given up.
    pub is_ended: &'a AtomicBool,
}

impl DrillWork<'_> {
    /// Restores the newest state and checks it. Returns the last change in it.
    ///
    /// # Errors
    /// Errors of the target and of this machine, and the faults that were found.
    pub fn run(&self) -> Result<Seq, String> {
        let folder = scratch_of(self.data);
        let outcome = self.check_room().and_then(|()| self.restore_and_check(&folder));
        remove_scratch(self.data).map_err(|error| format!("`{}` can't be removed: {error}.", folder.display()))?;
        outcome
    }

    fn restore_and_check(&self, folder: &Path) -> Result<Seq, String> {
        remove_scratch(self.data)
            .and_then(|()| fs::create_dir_all(folder))
            .map_err(|error| format!("`{}` can't be made: {error}.", folder.display()))?;
        let data = folder.join("data");
        let request = RestoreRequest {
            target: self.target,
            data: &data,
            timeline: Some(self.timeline),
            point: RestorePoint::Newest,
            own_contents: Some(self.content),
        };
        let mut pace = DrillPace { work: self, begun: Instant::now(), rows: 0, contents: 0 };
        let restored = restore(&request, &self.tools.store_options, &mut |progress| pace.next(progress));
        let restored = restored.map_err(|error| error.to_string())?;
        (self.tools.check)(&data)?;
        Ok(restored.change)
    }

    /// Refuses a drill for which the disk has no room.
    fn check_room(&self) -> Result<(), String> {
        let state = self.data.join(StoreFile::State.name());
        let unknown = |error: io::Error| format!("The room that a drill takes is unknown: {error}.");
        let tables = fs::metadata(&state).map_err(unknown)?.len();
        let (wanted, free) = (2 * tables + self.tools.reserve_bytes, free_at(self.data).map_err(unknown)?);
        if free >= wanted {
            return Ok(());
        }
        Err(format!(
            "The disk of `{}` has {free} free bytes. A drill needs {wanted}: twice the size of the tables, and {} bytes \
             that the server leaves free.",
            self.data.display(),
            self.tools.reserve_bytes
        ))
    }
}

/// The pace of a restoration.
struct DrillPace<'a> {
    work: &'a DrillWork<'a>,
    begun: Instant,
    /// Bytes of rows that were read.
    rows: u64,
    /// Bytes of contents that were read.
    contents: u64,
}

impl DrillPace<'_> {
    fn next(&mut self, progress: RestoreProgress) -> Result<(), BackupError> {
        let DrillWork { is_ended, bytes_per_second, data, tools, .. } = self.work;
        if is_ended.load(Ordering::Acquire) {
            return Err(BackupError::Unreachable("The server ends.".to_owned()));
        }
        match progress {
            RestoreProgress::Rows(written, _) => self.rows = written,
            RestoreProgress::Contents { bytes, .. } => self.contents = bytes,
            RestoreProgress::Changes(_) => {}
        }
        // Changes and contents of others take room, too.
        if free_at(data).is_ok_and(|free| free < tools.reserve_bytes) {
            return Err(BackupError::Full(format!("The disk of `{}` has too little room left.", data.display())));
        }
        let due = Duration::from_secs_f64((self.rows + self.contents) as f64 / (*bytes_per_second).max(1) as f64);
        std::thread::sleep(due.saturating_sub(self.begun.elapsed()));
        Ok(())
    }
}

fn scratch_of(data: &Path) -> PathBuf {
    data.join(crate::FOLDER).join(SCRATCH)
}

/// Removes the scratch directory of a drill, which a kill may have left.
pub(crate) fn remove_scratch(data: &Path) -> io::Result<()> {
    match fs::remove_dir_all(scratch_of(data)) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY_MS: u64 = 24 * RETRY_MS;
    const WEEK: Duration = Duration::from_millis(7 * DAY_MS);

    #[test]
    fn a_drill_is_due_after_its_period_and_an_hour_after_a_failure() {
        let begun = DrillRecord::since(1000);
        assert!(!begun.is_due(999 + 7 * DAY_MS, WEEK) && begun.is_due(1000 + 7 * DAY_MS, WEEK));
        let now = now_ms();
        let verified = begun.clone().after(Ok(7));
        assert_eq!(verified.verified.map(|verified| verified.change), Some(7));
        assert!(!verified.is_due(now + 6 * DAY_MS, WEEK) && verified.is_due(now_ms() + 7 * DAY_MS, WEEK));
        let failed = verified.clone().after(Err("it is damaged".to_owned()));
        assert_eq!(failed.verified, verified.verified, "the older proof stays");
        assert!(!failed.is_due(now + RETRY_MS - 1, WEEK) && failed.is_due(now_ms() + RETRY_MS, WEEK));
        assert_eq!(failed.after(Ok(9)).fault, None);
        let wrong = DrillRecord::since(now + 900 * DAY_MS);
        assert!(wrong.is_due(now, WEEK), "the clock was wrong when it was noted");
    }

    #[test]
    fn a_record_is_read_as_it_was_written_and_a_damaged_one_is_none() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(DrillRecord::read(folder.path()), None);
        let record = DrillRecord::since(5).after(Ok(3)).after(Err("no room".to_owned()));
        record.write(folder.path()).unwrap();
        assert_eq!(DrillRecord::read(folder.path()), Some(record));
        fs::write(folder.path().join(FILE), "{").unwrap();
        assert_eq!(DrillRecord::read(folder.path()), None);
    }
}
