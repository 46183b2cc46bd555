//! The timeline that a data directory writes.
//!
//! The file `timeline.json` in the directory's folder of the backup names the backup and the
//! timeline. A restored directory gets a new timeline there, which branches off at the restored
//! change. So two directories never write the same timeline, unless one is a copy of the other,
//! which is noticed when an archive file of one is in the way of the other's.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};
use stet_backup::{
    BackupError, BackupIdentity, BackupName, BackupTarget, S3Settings, TimelineBranch, TimelineId, TimelineOrigin,
};
use uuid::Uuid;

use crate::now_ms;

const FILE: &str = "timeline.json";

/// The timeline of a data directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OwnTimeline {
    /// The address of the target.
    target: String,
    /// The id of the backup.
    backup: Uuid,
    /// The timeline.
    pub timeline: TimelineId,
    /// Where it begins, if not with the first change.
    branch: Option<TimelineBranch>,
    /// Whether the target has the backup. From then on a target without it counts as away: its disk
    /// may not be mounted.
    is_begun: bool,
}

impl OwnTimeline {
    /// Returns the timeline of a directory that was restored from a backup.
    pub fn restored(target: &BackupTarget, backup: Uuid, branch: TimelineBranch) -> OwnTimeline {
        OwnTimeline { backup, branch: Some(branch), is_begun: true, ..OwnTimeline::new(target) }
    }

    /// Returns the timeline of a new backup.
    fn new(target: &BackupTarget) -> OwnTimeline {
        let (number, _) = Uuid::new_v4().as_u64_pair();
        let (target, backup) = (target.address().to_owned(), Uuid::new_v4());
        OwnTimeline { target, backup, timeline: TimelineId(number), branch: None, is_begun: false }
    }

    fn read(folder: &Path) -> Result<Option<OwnTimeline>, BackupError> {
        let path = folder.join(FILE);
        let failed = |why: String| BackupError::LocalFile(format!("{}: {why}", path.display()));
        match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map(Some).map_err(|error| failed(error.to_string())),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed(error.to_string())),
        }
    }

    /// Opens the target of a directory. Creates the folder unless the backup has begun, because
    /// from then on a missing folder is away.
    ///
    /// # Errors
    /// Those of [`BackupTarget::create`].
    pub fn open_target(address: &str, s3: &S3Settings, folder: &Path) -> Result<BackupTarget, BackupError> {
        let is_begun = OwnTimeline::read(folder)?.is_some_and(|own| own.is_begun && own.target == address);
        if is_begun { BackupTarget::open(address, s3) } else { BackupTarget::create(address, s3) }
    }

    /// Writes the file, synced with its name.
    ///
    /// # Errors
    /// The folder can't be written.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        fs::create_dir_all(folder)?;
        let (path, unfinished) = (folder.join(FILE), folder.join("timeline.json.unfinished"));
        let mut file = File::create(&unfinished)?;
        file.write_all(&serde_json::to_vec(self)?)?;
        file.sync_all()?;
        fs::rename(unfinished, path)?;
        File::open(folder)?.sync_all()
    }

    /// Returns the timeline of a directory, and makes sure that the target has it. `folder` is the
    /// directory's folder of the backup. A new target and a new directory get a timeline.
    ///
    /// # Errors
    /// `Refused`: the target has backups of another data directory. Errors of the target.
    pub async fn settle(target: &BackupTarget, folder: &Path) -> Result<OwnTimeline, BackupError> {
        let identity = read_identity(target).await?;
        let own = OwnTimeline::read(folder)?;
        let mut own = match (own, &identity) {
            // It may have another address now.
            (Some(own), Some(identity)) if own.backup == identity.id => own,
            (_, Some(_)) => return Err(foreign(target)),
            (Some(own), None) if own.target == target.address() && own.is_begun => return Err(missing(target)),
            (Some(own), None) if own.target == target.address() => own,
            (_, None) => OwnTimeline::new(target),
        };
        let local =
            |error: io::Error| BackupError::LocalFile(format!("`{}` can't be written: {error}.", folder.display()));
        if identity.is_none() {
            own.write(folder).map_err(local)?;
            let identity = BackupIdentity { id: own.backup, ..BackupIdentity::new(now_ms()) };
            if !target.put_new(&BackupName::Identity.to_string(), identity.encode()).await? {
                return Err(foreign(target));
            }
        }
        let name = BackupName::Timeline(own.timeline).to_string();
        if !target.exists(&name).await? {
            target.put_new(&name, TimelineOrigin::new(own.branch, now_ms()).encode()).await?;
        }
        if !own.is_begun || own.target != target.address() {
            (own.is_begun, own.target) = (true, target.address().to_owned());
            own.write(folder).map_err(local)?;
        }
        Ok(own)
    }
}

/// Reads what a target says about its backup, if it has one.
pub(crate) async fn read_identity(target: &BackupTarget) -> Result<Option<BackupIdentity>, BackupError> {
    let bytes = target.get(&BackupName::Identity.to_string()).await?;
    bytes.map(|bytes| BackupIdentity::read(&bytes)).transpose()
}

fn missing(target: &BackupTarget) -> BackupError {
    BackupError::Unreachable(format!(
        "`{}` has no `{}`: the disk of the backup may not be mounted, or the server is another one. To begin a new backup there, stop the server and \
         delete the folder `{}` of its data directory.",
        target.address(),
        BackupName::Identity,
        crate::FOLDER
    ))
}

fn foreign(target: &BackupTarget) -> BackupError {
    BackupError::Refused(format!(
        "`{}` has the backup of another data directory. Each server needs a target of its own; to continue from that backup, restore it.",
        target.address()
    ))
}
