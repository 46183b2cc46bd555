//! Files that are being written. Each lies beside its target, under a name that is not imported,
//! and is locked while it is written. So an unlocked file with such a name is a leftover of an
//! interrupted run.

use std::fs::{File, OpenOptions, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use tempfile::NamedTempFile;

use super::layout::{PART_PREFIX, PART_SUFFIX, RECORD, beside, is_part};

/// A temporary file of this run. It is removed when the value is dropped, unless it has become its
/// target.
pub struct PartFile(NamedTempFile);

impl PartFile {
    /// Creates a temporary file that is to become `file`.
    ///
    /// # Errors
    /// The file can't be created.
    pub fn of(file: &Path) -> io::Result<PartFile> {
        let folder = file.parent().unwrap_or(Path::new("."));
        loop {
            let mut builder = tempfile::Builder::new();
            // Permissions follow the process's umask, as for other new files.
            builder.prefix(PART_PREFIX).suffix(PART_SUFFIX).permissions(Permissions::from_mode(0o666));
            let made = builder.tempfile_in(folder)?;
            // Another run's sweep may have found it before it was locked. Then that run owns and
            // removes it. If the file system has no locks, a sweeping run can't lock it either.
            let another_has_it = matches!(made.as_file().try_lock(), Err(TryLockError::WouldBlock));
            if !another_has_it && made.as_file().metadata()?.nlink() > 0 {
                return Ok(PartFile(made));
            }
        }
    }

    /// Returns the open file, for writing.
    pub fn file(&self) -> &File {
        self.0.as_file()
    }

    /// Moves the temporary file to its target, replacing an existing file.
    ///
    /// # Errors
    /// The file can't be moved.
    pub fn become_file(self, file: &Path) -> io::Result<()> {
        self.0.persist(file).map(drop).map_err(|error| error.error)
    }
}

/// Removes the temporary files in a directory that no running export has locked. Files that can't
/// be examined stay: they only take disk space.
pub fn sweep(directory: &Path) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name();
        // Earlier exports wrote objects under such names, each with its record beside it.
        let is_left = name.to_str().is_some_and(|name| is_part(name) && !has_record(directory, name));
        if is_left && entry.file_type().is_ok_and(|kind| kind.is_file()) {
            // Opened for writing, because some network file systems lock no other file.
            let Ok(part) = OpenOptions::new().read(true).write(true).open(entry.path()) else { continue };
            // It stays locked until it is removed. Otherwise the run that has just created it could
            // lock it in between.
            if part.try_lock().is_ok() {
                // It is removed already, or the directory is not writable, and then contains
                // nothing of ours.
                let _ = std::fs::remove_file(entry.path());
            }
            drop(part);
        }
    }
}

fn has_record(directory: &Path, name: &str) -> bool {
    beside(directory, name, RECORD).symlink_metadata().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(directory: &Path) -> usize {
        std::fs::read_dir(directory).expect("it can be listed").count()
    }

    /// Temporary files of a killed export were never removed. A nightly export that reached its
    /// time limit filled the disk.
    #[test]
    fn part_files_of_killed_runs_are_removed_and_those_of_running_ones_stay() {
        let directory = tempfile::tempdir().expect("a directory can be made");
        let at = |name: &str| directory.path().join(name);
        let object = [".stet-object.part", ".stet-object.part.record.json"];
        for name in [".stet-abcdef.part", ".stet-other", "stet-abcdef.part", "a.part"].iter().chain(&object) {
            std::fs::write(at(name), "cut short").expect("it can be written");
        }
        std::fs::create_dir(at(".stet-folder.part")).expect("it can be made");
        std::os::unix::fs::symlink("a.part", at(".stet-link.part")).expect("it can be made");
        let running = PartFile::of(&at("story.xml")).expect("it can be made");
        sweep(directory.path());
        assert!(!at(".stet-abcdef.part").exists());
        assert_eq!(parts(directory.path()), 8, "nothing else went");
        running.become_file(&at("story.xml")).expect("it can be put there");
        assert_eq!(parts(directory.path()), 8);
        assert!(at("story.xml").exists());
    }

    /// Two exports into one directory, each of which sweeps while the other creates files.
    #[test]
    fn runs_at_once_leave_each_other_their_parts() {
        let directory = tempfile::tempdir().expect("a directory can be made");
        std::thread::scope(|scope| {
            for run in 0..4 {
                let directory = directory.path();
                scope.spawn(move || {
                    for n in 0..200 {
                        let file = directory.join(format!("{run}-{n}"));
                        let part = PartFile::of(&file).expect("it can be made");
                        sweep(directory);
                        part.become_file(&file).expect("it is there still");
                    }
                });
            }
        });
        assert_eq!(parts(directory.path()), 800);
    }
}
