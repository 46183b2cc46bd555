//! Files that are being written: each beside the one that it is to become, under a name that is not
//! imported, and locked for as long. So a file of such a name that nobody has locked is what a run
//! left that was cut short.

use std::fs::{File, OpenOptions, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use tempfile::NamedTempFile;

use super::layout::{PART_PREFIX, PART_SUFFIX, RECORD, beside, is_part};

/// A part of ours. It goes with its value, unless it became what it is for.
pub struct Part(NamedTempFile);

impl Part {
    /// One that is to become that file.
    ///
    /// # Errors
    /// It can't be made.
    pub fn of(file: &Path) -> io::Result<Part> {
        let folder = file.parent().unwrap_or(Path::new("."));
        loop {
            let mut builder = tempfile::Builder::new();
            // As other files that are made: the process's mask says who may read them.
            builder.prefix(PART_PREFIX).suffix(PART_SUFFIX).permissions(Permissions::from_mode(0o666));
            let made = builder.tempfile_in(folder)?;
            // Another run that sweeps may have come upon it before it was locked: then it is that
            // run's, and goes. Where the file system has no locks, none can be taken by a run that
            // sweeps either.
            let another_has_it = matches!(made.as_file().try_lock(), Err(TryLockError::WouldBlock));
            if !another_has_it && made.as_file().metadata()?.nlink() > 0 {
                return Ok(Part(made));
            }
        }
    }

    /// What is written to it.
    pub fn file(&self) -> &File {
        self.0.as_file()
    }

    /// Puts it where there may be a file already.
    ///
    /// # Errors
    /// It can't be put there.
    pub fn become_file(self, file: &Path) -> io::Result<()> {
        self.0.persist(file).map(drop).map_err(|error| error.error)
    }
}

/// Removes the parts in a directory that no running export has. What can't be looked at stays: it
/// is in nobody's way but the disk's.
pub fn sweep(directory: &Path) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name();
        // Earlier exports wrote objects of such names under them, each with its record beside it.
        let is_left = name.to_str().is_some_and(|name| is_part(name) && !has_record(directory, name));
        if is_left && entry.file_type().is_ok_and(|kind| kind.is_file()) {
            // For writing, as some network file systems lock no other.
            let Ok(part) = OpenOptions::new().read(true).write(true).open(entry.path()) else { continue };
            // It is locked until it is gone: else whoever has just made it could take it for theirs
            // in between.
            if part.try_lock().is_ok() {
                // It is gone already, or the directory is not ours to change: then nothing of ours
                // lies there.
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

    /// An export that was killed left its parts for ever: a nightly one that runs into its time
    /// limit filled the disk.
    #[test]
    fn what_a_killed_run_left_goes_and_what_a_running_one_writes_stays() {
        let directory = tempfile::tempdir().expect("a directory can be made");
        let at = |name: &str| directory.path().join(name);
        let object = [".stet-object.part", ".stet-object.part.record.json"];
        for name in [".stet-abcdef.part", ".stet-other", "stet-abcdef.part", "a.part"].iter().chain(&object) {
            std::fs::write(at(name), "cut short").expect("it can be written");
        }
        std::fs::create_dir(at(".stet-folder.part")).expect("it can be made");
        std::os::unix::fs::symlink("a.part", at(".stet-link.part")).expect("it can be made");
        let running = Part::of(&at("story.xml")).expect("it can be made");
        sweep(directory.path());
        assert!(!at(".stet-abcdef.part").exists());
        assert_eq!(parts(directory.path()), 8, "nothing else went");
        running.become_file(&at("story.xml")).expect("it can be put there");
        assert_eq!(parts(directory.path()), 8);
        assert!(at("story.xml").exists());
    }

    /// Two exports into one directory, of which each sweeps while the other makes parts.
    #[test]
    fn runs_at_once_leave_each_other_their_parts() {
        let directory = tempfile::tempdir().expect("a directory can be made");
        std::thread::scope(|scope| {
            for run in 0..4 {
                let directory = directory.path();
                scope.spawn(move || {
                    for n in 0..200 {
                        let file = directory.join(format!("{run}-{n}"));
                        let part = Part::of(&file).expect("it can be made");
                        sweep(directory);
                        part.become_file(&file).expect("it is there still");
                    }
                });
            }
        });
        assert_eq!(parts(directory.path()), 800);
    }
}
