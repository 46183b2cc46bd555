//! Writing a data directory from a backup.
//!
//! The directory is written beside its place, and gets its name when it is complete. So one that
//! was interrupted is never taken for a data directory, and the next attempt keeps the contents
//! that it has already.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File};
use std::io::ErrorKind;
use std::ops::ControlFlow;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use stet_backup::{
    BackupError, BackupName, BackupTarget, BaseManifest, Sha256Hash, TimelineBranch, TimelineId, read_chunk,
};
use stet_content::{ContentStore, UploadBounds, identity};
use stet_domain::store::{ReadLevel, RowReader, Seq, Table};
use stet_store::{CommittedRecord, OpenError, RedbStore, RestoredTables, StoreOptions, TablesCopy};

use tokio::runtime::{Builder, Runtime};

use crate::contents::content_of;
use crate::reading::ArchiveReader;
use crate::survey::{BackupSurvey, RestorePoint, SurveyedTimeline};
use crate::timeline::OwnTimeline;

/// The file by which an unfinished directory is known as that of a restoration.
const MARKER: &str = "restoring";

/// A wish to restore.
#[derive(Clone)]
pub struct RestoreRequest<'a> {
    /// The target.
    pub target: &'a BackupTarget,
    /// The new data directory, which must not exist, or be empty.
    pub data: &'a Path,
    /// The timeline; the newest one, if there is none.
    pub timeline: Option<TimelineId>,
    /// The state.
    pub point: RestorePoint,
    /// The contents of a running server. Whatever it has takes no room a second time: the file that
    /// was read from the target is replaced by a hard link. So only for a directory whose contents
    /// are read and removed.
    pub own_contents: Option<&'a ContentStore>,
}

/// The progress of a restoration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestoreProgress {
    /// Bytes of the base's rows that are written, and all of them.
    Rows(u64, u64),
    /// The changes up to this one are in the tables.
    Changes(Seq),
    /// Contents that are there.
    Contents {
        /// Their number.
        files: u64,
        /// The bytes that were read for them.
        bytes: u64,
    },
}

/// A state that was restored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoredState {
    /// The timeline from which it was restored.
    pub timeline: TimelineId,
    /// The last change in it.
    pub change: Seq,
    /// Contents that neither the target nor an earlier attempt has. Objects without them are in no
    /// later state.
    pub missing_contents: u64,
}

/// Writes a data directory. `options` returns those of the store in a directory. An error of
/// `progress` ends the work. Blocks.
///
/// # Errors
/// `Refused`: the state can't be restored, or there is something at the directory's place.
/// `Damaged`: an object of the backup. Errors of the target and of this machine.
pub fn restore(
    request: &RestoreRequest<'_>,
    options: impl Fn(&Path) -> StoreOptions,
    progress: &mut dyn FnMut(RestoreProgress) -> Result<(), BackupError>,
) -> Result<RestoredState, BackupError> {
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| BackupError::LocalFile(error.to_string()))?;
    check_is_free(request.data)?;
    let survey = runtime.block_on(BackupSurvey::of(request.target))?;
    let timeline = survey.timeline(request.timeline)?;
    let unfinished = beside(request.data);
    let failed = |error: std::io::Error| local(&unfinished, &error);
    begin(&unfinished).map_err(failed)?;
    let mut work = RestoreWork { request, timeline, progress, folder: &unfinished };
    let change = runtime.block_on(work.tables(options(&unfinished)))?;
    let missing_contents = work.contents(&runtime, &options(&unfinished))?;
    let branch = TimelineBranch { parent: timeline.timeline, change };
    OwnTimeline::restored(request.target, survey.backup, branch)
        .write(&unfinished.join(crate::FOLDER))
        .map_err(failed)?;
    fs::rename(&unfinished, request.data).map_err(|error| local(request.data, &error))?;
    let parent = request.data.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(parent).and_then(|parent| parent.sync_all()).map_err(|error| local(parent, &error))?;
    fs::remove_file(request.data.join(MARKER)).map_err(|error| local(request.data, &error))?;
    Ok(RestoredState { timeline: timeline.timeline, change, missing_contents })
}

struct RestoreWork<'a> {
    request: &'a RestoreRequest<'a>,
    timeline: &'a SurveyedTimeline,
    progress: &'a mut dyn FnMut(RestoreProgress) -> Result<(), BackupError>,
    /// The unfinished directory.
    folder: &'a Path,
}

impl RestoreWork<'_> {
    /// Writes the tables. Returns the last change in them.
    async fn tables(&mut self, options: StoreOptions) -> Result<Seq, BackupError> {
        let target = self.request.target;
        let stamp = self.timeline.base_for(self.request.point)?;
        let name = BackupName::Base(self.timeline.timeline, stamp);
        let manifest = BaseManifest::read(&name, &object(target, &name).await?)?;
        let known = TablesCopy::format();
        if manifest.store_format != known {
            return Err(BackupError::Refused(format!(
                "`{name}` has tables of format {}, and this version of stet writes format {known}. Restore it with stet \
                 {}; a later version converts the directory when it opens it.",
                manifest.store_format, manifest.stet_version
            )));
        }
        let mut tables = RestoredTables::create(options).map_err(|error| unwritable(&error))?;
        let (mut written, all) = (0, manifest.raw_bytes());
        for table in &manifest.tables {
            for chunk in &table.chunks {
                let stored = object(target, &BackupName::Chunk(chunk.sha256)).await?;
                let rows = read_chunk(&chunk.sha256, &stored)?;
                tables.put(&table.name, rows).map_err(|error| unwritable(&error))?;
                written += chunk.bytes;
                (self.progress)(RestoreProgress::Rows(written, all))?;
            }
        }
        tables.base_is_complete(manifest.seq).map_err(|error| unwritable(&error))?;
        self.changes(&mut tables, manifest.seq).await?;
        tables.finish().map_err(|error| unwritable(&error))
    }

    /// Adds the changes of the archive after a base.
    async fn changes(&mut self, tables: &mut RestoredTables, base: Seq) -> Result<(), BackupError> {
        let SurveyedTimeline { timeline, archive, .. } = self.timeline;
        let mut files = ArchiveReader::new(self.request.target, *timeline, archive, base);
        while let Some((name, records)) = files.next_file().await? {
            for record in records {
                if matches!(self.request.point, RestorePoint::Time(time_ms) if record.at_ms > time_ms) {
                    return Ok(());
                }
                let damaged = |fault: String| BackupError::Damaged { object: name.to_string(), fault };
                for set in CommittedRecord::decode(&record.payload).map_err(damaged)? {
                    match self.request.point {
                        RestorePoint::Change(wanted) if set.seq > wanted => return Ok(()),
                        _ if set.seq <= base => {}
                        _ => tables.apply(set).map_err(|error| unwritable(&error))?,
                    }
                }
                (self.progress)(RestoreProgress::Changes(record.last))?;
            }
        }
        Ok(())
    }

    /// Gets the contents to which the tables refer. Returns the number of those that are missing.
    fn contents(&mut self, runtime: &Runtime, options: &StoreOptions) -> Result<u64, BackupError> {
        let store = RedbStore::open(options.clone()).map_err(|error| unwritable(&error))?;
        let bounds = UploadBounds { reserve_bytes: 0, at_once: 1 };
        let content = ContentStore::open(self.folder, 0, bounds).map_err(|error| local(self.folder, &error))?;
        let failed = |error: stet_domain::store::StoreError| BackupError::LocalFile(error.to_string());
        if let Some(mark) = store.get(ReadLevel::Committed, Table::Marks, identity::MARK).map_err(failed)? {
            identity::write(&mark, self.folder).map_err(|error| local(self.folder, &error))?;
        }
        let (mut last, mut files, mut missing, mut bytes) = (None, 0, 0, 0);
        let fault = store.for_each(ReadLevel::Committed, Table::Files, |key, _| {
            let Some(hash) = content_of(key).filter(|hash| last != Some(*hash)) else {
                return ControlFlow::Continue(());
            };
            last = Some(hash);
            let got = runtime.block_on(self.content(hash, &content.path(&hash.0))).and_then(|got| {
                match got {
                    Some(more) => (files, bytes) = (files + 1, bytes + more),
                    None => missing += 1,
                }
                (self.progress)(RestoreProgress::Contents { files, bytes })
            });
            got.map_or_else(ControlFlow::Break, ControlFlow::Continue)
        });
        store.close();
        fault.map_err(failed)?.map_or(Ok(missing), Err)
    }

    /// Gets a content. Returns the bytes that were read, or `None` if the target does not have it.
    async fn content(&self, hash: Sha256Hash, path: &Path) -> Result<Option<u64>, BackupError> {
        // A file of an earlier attempt got its name when it was complete.
        if path.exists() {
            return Ok(Some(0));
        }
        let folder = path.parent().unwrap_or(self.folder);
        fs::create_dir_all(folder).map_err(|error| local(folder, &error))?;
        let name = BackupName::Content(hash).to_string();
        let bytes = match self.request.target.get_to_file(&name, path, Some(&hash)).await {
            Ok(bytes) => bytes,
            Err(BackupError::NotFound(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        if let Some(own) = self.request.own_contents {
            // The bytes are those of the hash. If the two are on different file systems, the copy
            // stays.
            let linked = path.with_extension("linked");
            if fs::hard_link(own.path(&hash.0), &linked).is_ok() {
                fs::rename(&linked, path).map_err(|error| local(path, &error))?;
            }
        }
        Ok(Some(bytes))
    }
}

async fn object(target: &BackupTarget, name: &BackupName) -> Result<bytes::Bytes, BackupError> {
    let name = name.to_string();
    target.get(&name).await?.ok_or(BackupError::NotFound(name))
}

/// Refuses a place where something is.
fn check_is_free(data: &Path) -> Result<(), BackupError> {
    let is_free = match fs::read_dir(data) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) if error.kind() == ErrorKind::NotFound => true,
        Err(error) => return Err(local(data, &error)),
    };
    if is_free {
        return Ok(());
    }
    Err(BackupError::Refused(format!("`{}` is not empty. Restore into a new directory.", data.display())))
}

/// Returns the place of the directory while it is written.
fn beside(data: &Path) -> PathBuf {
    let mut name = data.file_name().map_or_else(|| OsString::from("data"), OsString::from);
    name.push(".restoring");
    data.with_file_name(name)
}

/// Creates the unfinished directory. Of an earlier attempt only contents are kept. A directory of
/// that name that no attempt has made is left alone.
fn begin(folder: &Path) -> std::io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let is_ours = fs::read_dir(folder)?.next().is_none() || folder.join(MARKER).exists();
    if !is_ours {
        let why = "it has files, but is no unfinished restoration";
        return Err(std::io::Error::new(ErrorKind::AlreadyExists, why));
    }
    File::create(folder.join(MARKER))?.sync_all()?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            if entry.file_name() != "content" {
                fs::remove_dir_all(entry.path())?;
            }
        } else if entry.file_name() != MARKER {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

fn unwritable(error: &OpenError) -> BackupError {
    BackupError::LocalFile(format!("The tables can't be written: {error}."))
}

fn local(path: &Path, error: &std::io::Error) -> BackupError {
    BackupError::LocalFile(format!("`{}` can't be used: {error}.", path.display()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use stet_backup::S3Settings;

    use super::*;

    /// A drill beside a server must not need the room of all contents.
    #[test]
    fn contents_of_a_running_server_are_linked_once_the_target_has_proven_to_have_them() {
        let folder = tempfile::tempdir().unwrap();
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let target =
            BackupTarget::create(&format!("file://{}/target", folder.path().display()), &S3Settings::default())
                .unwrap();
        let bounds = UploadBounds { reserve_bytes: 0, at_once: 1 };
        let own = ContentStore::open(&folder.path().join("own"), 0, bounds).unwrap();
        let [kept, removed] = [&b"kept"[..], b"removed"].map(|bytes| {
            let hash = Sha256Hash::of(bytes);
            let name = BackupName::Content(hash).to_string();
            runtime.block_on(target.put(&name, bytes::Bytes::copy_from_slice(bytes))).unwrap();
            hash
        });
        fs::create_dir_all(own.path(&kept.0).parent().unwrap()).unwrap();
        fs::write(own.path(&kept.0), b"kept").unwrap();
        let data = folder.path().join("data");
        let point = RestorePoint::Newest;
        let request = RestoreRequest { target: &target, data: &data, timeline: None, point, own_contents: Some(&own) };
        let timeline = SurveyedTimeline {
            timeline: TimelineId(1),
            created_ms: 0,
            branch: None,
            bases: Vec::new(),
            ranges: Vec::new(),
            archive: Vec::new(),
        };
        let work = RestoreWork { request: &request, timeline: &timeline, progress: &mut |_| Ok(()), folder: &data };
        let get = |hash, name: &str| runtime.block_on(work.content(hash, &data.join(name)));
        assert_eq!(get(kept, "kept"), Ok(Some(4)));
        assert_eq!(get(removed, "removed"), Ok(Some(7)), "a change that came later may have removed it here");
        assert_eq!(get(Sha256Hash::of(b"gone"), "gone"), Ok(None));
        let inode = |path: &Path| fs::metadata(path).unwrap().ino();
        assert_eq!(inode(&data.join("kept")), inode(&own.path(&kept.0)));
        assert_eq!(fs::read(data.join("removed")).unwrap(), b"removed");
        let name = BackupName::Content(kept).to_string();
        runtime.block_on(target.put(&name, bytes::Bytes::from("worn"))).unwrap();
        assert!(matches!(get(kept, "again"), Err(BackupError::Damaged { .. })));
    }
}
