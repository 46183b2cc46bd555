//! Removal of the records that earlier exports into a directory wrote of objects that have since
//! been renamed or moved. Otherwise an import would find two records of one object.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use uuid::Uuid;

use super::layout::{MEMBERS, RECORD, beside};
use super::part;
use super::places::PlaceIndex;
use super::progress::{TransferOutcome, TransferProgress};
use super::record::ExportRecord;

/// Removes all records of objects that are elsewhere, with the files beside them, from a directory
/// and its subdirectories. Only places to which an export writes are searched: folders and bundles
/// that have a record.
pub fn remove<O: Ord>(directory: &Path, places: &PlaceIndex<O>, progress: &TransferProgress) {
    part::sweep(directory);
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(on_disk) = name.to_str().and_then(|name| name.strip_suffix(RECORD)) else { continue };
        let file = entry.path();
        // An unreadable file is no record of ours; an import reports it.
        let Ok(record) = ExportRecord::read(&file) else { continue };
        let holds = members_directory(directory, on_disk, &record);
        if holds.symlink_metadata().is_ok_and(|there| there.is_dir()) {
            remove(&holds, places, progress);
        }
        let Ok(uuid) = record.uuid.parse::<Uuid>() else { continue };
        if places.is_elsewhere(uuid, &file) {
            match remove_one(directory, on_disk, &record, &file) {
                Ok(()) => progress.note(TransferOutcome::Removed, &file.display().to_string(), None),
                Err(error) => progress.note(TransferOutcome::Failed, &file.display().to_string(), Some(&error)),
            }
        }
    }
}

/// Returns the directory of an object's members, if it has any.
fn members_directory(directory: &Path, on_disk: &str, record: &ExportRecord) -> PathBuf {
    if record.is_folder() { directory.join(on_disk) } else { beside(directory, on_disk, MEMBERS) }
}

/// Removes one record and its files. The record is removed last, because without it the other files
/// would count as files of their own. Members that are nowhere in the repository stay.
fn remove_one(directory: &Path, on_disk: &str, record: &ExportRecord, file: &Path) -> io::Result<()> {
    if record.content.is_some() {
        ignore_missing(std::fs::remove_file(directory.join(on_disk)))?;
    }
    let holds = members_directory(directory, on_disk, record);
    match ignore_missing(std::fs::remove_dir(&holds)) {
        Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty && record.is_folder() => {}
        // An import could not create it as a folder, so it is set aside under another name.
        Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => {
            std::fs::rename(&holds, directory.join(format!(".{}{MEMBERS}", Uuid::now_v7())))?;
        }
        // Something else has taken the name.
        Err(error) if error.kind() == ErrorKind::NotADirectory => {}
        done => done?,
    }
    ignore_missing(std::fs::remove_file(file))
}

/// Ignores that the file was removed already.
fn ignore_missing(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}
