//! The files below redb, who opens them, and what their errors mean.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use redb::StorageBackend;
use redb::backends::FileBackend;

/// One of the store's files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StoreFile {
    /// `journal.wal`
    Journal,
    /// `journal.mark`
    Mark,
    /// `state.redb`
    State,
}

impl StoreFile {
    /// Each of them.
    pub const ALL: [StoreFile; 3] = [StoreFile::Journal, StoreFile::Mark, StoreFile::State];

    /// The file's name in the data directory.
    pub const fn name(self) -> &'static str {
        match self {
            StoreFile::Journal => "journal.wal",
            StoreFile::Mark => "journal.mark",
            StoreFile::State => "state.redb",
        }
    }
}

/// Opens the files, or what stands for them in a test.
pub trait Backends: Send + Sync + 'static {
    /// Opens `file`, empty if it was not there.
    ///
    /// # Errors
    /// It can't be opened or made.
    fn open(&self, file: StoreFile) -> io::Result<Box<dyn StorageBackend>>;

    /// Whether `file` is there, be it empty.
    ///
    /// # Errors
    /// It can't be told.
    fn is_there(&self, file: StoreFile) -> io::Result<bool>;

    /// Removes `file`, which nobody has open, if it is there. The caller syncs the directory.
    ///
    /// # Errors
    /// It can't be removed.
    fn remove(&self, file: StoreFile) -> io::Result<()>;

    /// Opens `file` if it is there; one that is empty counts as missing.
    ///
    /// # Errors
    /// It can't be opened.
    fn open_existing(&self, file: StoreFile) -> io::Result<Option<Box<dyn StorageBackend>>>;

    /// Takes `file` out of the way without destroying it. Gives the name that it has now; `None`:
    /// it was not there.
    ///
    /// # Errors
    /// It can't be moved.
    fn set_aside(&self, file: StoreFile) -> io::Result<Option<String>>;
}

fn backend(opened: File) -> io::Result<Box<dyn StorageBackend>> {
    let backend = FileBackend::new(opened).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(Box::new(backend))
}

/// Files in a directory.
#[derive(Debug)]
pub struct Files {
    data: PathBuf,
    /// Makes the names in it durable.
    sync_names: fn(&Path) -> io::Result<()>,
}

impl Files {
    /// Files in the directory `data`, which is made when the first is opened.
    pub fn new(data: &Path) -> Files {
        Files { data: data.to_owned(), sync_names: |data| File::open(data)?.sync_all() }
    }
}

impl Backends for Files {
    fn open(&self, file: StoreFile) -> io::Result<Box<dyn StorageBackend>> {
        // Passwords and tokens are in there as hashes, and the newsroom's unpublished work as it
        // is: for the owner's eyes only.
        DirBuilder::new().recursive(true).mode(0o700).create(&self.data)?;
        let path = self.data.join(file.name());
        let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(&path)?;
        if opened.metadata()?.len() == 0 {
            // The name must survive a crash too, or what is synced into the file is not there under
            // it. One that is empty was just made, or by somebody who could not make sure of its
            // name.
            (self.sync_names)(&self.data)?;
        }
        backend(opened)
    }

    fn is_there(&self, file: StoreFile) -> io::Result<bool> {
        self.data.join(file.name()).try_exists()
    }

    fn remove(&self, file: StoreFile) -> io::Result<()> {
        match std::fs::remove_file(self.data.join(file.name())) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    fn open_existing(&self, file: StoreFile) -> io::Result<Option<Box<dyn StorageBackend>>> {
        let opened = match OpenOptions::new().read(true).write(true).open(self.data.join(file.name())) {
            Ok(opened) => opened,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        if opened.metadata()?.len() == 0 { Ok(None) } else { backend(opened).map(Some) }
    }

    fn set_aside(&self, file: StoreFile) -> io::Result<Option<String>> {
        let path = self.data.join(file.name());
        if !path.try_exists()? {
            return Ok(None);
        }
        let mut number = 1;
        let name = loop {
            let name = format!("{}.lost-{number}", file.name());
            if !self.data.join(&name).try_exists()? {
                break name;
            }
            number += 1;
        };
        std::fs::rename(&path, self.data.join(&name))?;
        File::open(&self.data)?.sync_all()?;
        Ok(Some(name))
    }
}

/// Whether this place of a file can't be read, and others perhaps can: a sector that has gone bad.
/// The kinds are those that Linux has for it (EIO, ENODATA).
pub(super) fn is_bad_place(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(5 | 61))
}

/// Why the disk did not do what it was asked to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DiskError {
    /// It is full (or a quota is).
    pub full: bool,
    /// What it said.
    pub text: String,
}

impl DiskError {
    pub fn of(error: &io::Error) -> DiskError {
        // The kinds are what std makes of ENOSPC (28), EDQUOT (122) and EFBIG (27) where it knows
        // them. The last is the end of what this process may write to a file, or the file system
        // keep in one: there is room again once that is raised.
        let full = matches!(
            error.kind(),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
        ) || matches!(error.raw_os_error(), Some(27 | 28 | 122));
        DiskError { full, text: error.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::VecDeque;

    use super::*;

    thread_local! {
        /// How syncs of the directory end that are to come.
        static SYNCS: RefCell<VecDeque<bool>> = const { RefCell::new(VecDeque::new()) };
    }

    /// The name was made sure of once, by whoever made the file; where that had failed a crash
    /// could take the file with all that was in it.
    #[test]
    fn the_name_of_a_file_is_made_sure_of_again_if_that_has_failed() {
        let data = tempfile::tempdir().expect("a directory");
        let files = Files {
            sync_names: |_| match SYNCS.with_borrow_mut(VecDeque::pop_front) {
                Some(true) => Ok(()),
                Some(false) => Err(io::Error::from_raw_os_error(5)),
                None => panic!("the name is sure"),
            },
            ..Files::new(data.path())
        };
        SYNCS.set([false, false, true].into());
        for _ in 0..2 {
            files.open(StoreFile::Journal).expect_err("its name is not sure");
        }
        let file = files.open(StoreFile::Journal).expect("it is");
        assert!(SYNCS.with_borrow(VecDeque::is_empty));
        file.set_len(1).expect("the disk works");
        drop(file);
        files.open(StoreFile::Journal).expect("it was there before");
    }
}
