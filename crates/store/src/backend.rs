//! The files below redb, the ways to open them, and the meaning of their errors.

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
    /// All files of the store.
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

/// A source of the store's files: a directory, or a simulated disk in a test.
pub trait Backends: Send + Sync + 'static {
    /// Opens `file`, and creates it empty if it is missing.
    ///
    /// # Errors
    /// The file cannot be opened or created.
    fn open(&self, file: StoreFile) -> io::Result<Box<dyn StorageBackend>>;

    /// Reports whether `file` exists, even if it is empty.
    ///
    /// # Errors
    /// The file system cannot determine it.
    fn is_there(&self, file: StoreFile) -> io::Result<bool>;

    /// Removes `file`, which must not be open, if it exists. The caller syncs the directory.
    ///
    /// # Errors
    /// The file cannot be removed.
    fn remove(&self, file: StoreFile) -> io::Result<()>;

    /// Opens `file` if it exists; an empty one counts as missing.
    ///
    /// # Errors
    /// The file cannot be opened.
    fn open_existing(&self, file: StoreFile) -> io::Result<Option<Box<dyn StorageBackend>>>;

    /// Renames `file` instead of destroying it. Returns the new name; `None` if the file does not
    /// exist.
    ///
    /// # Errors
    /// The file cannot be moved.
    fn set_aside(&self, file: StoreFile) -> io::Result<Option<String>>;
}

fn backend(opened: File) -> io::Result<Box<dyn StorageBackend>> {
    let backend = FileBackend::new(opened).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(Box::new(backend))
}

/// The store's files in a directory.
#[derive(Debug)]
pub struct Files {
    data: PathBuf,
    /// Makes the names in a directory durable.
    sync_names: fn(&Path) -> io::Result<()>,
}

impl Files {
    /// Returns the files in the directory `data`, which is created when the first is opened.
    pub fn new(data: &Path) -> Files {
        Files { data: data.to_owned(), sync_names: |data| File::open(data)?.sync_all() }
    }
}

impl Backends for Files {
    fn open(&self, file: StoreFile) -> io::Result<Box<dyn StorageBackend>> {
        // The files contain hashes of passwords and tokens, and unpublished work in plain text. So
        // only the owner may read them.
        DirBuilder::new().recursive(true).mode(0o700).create(&self.data)?;
        let path = self.data.join(file.name());
        let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(&path)?;
        if opened.metadata()?.len() == 0 {
            // The name must survive a crash too, or synced content cannot be found under it. An
            // empty file was created just now, or by an earlier attempt that could not sync the
            // directory.
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

/// Reports whether an error means that this place of a file cannot be read, though others perhaps
/// can: a bad sector. The kinds are those of Linux (EIO, ENODATA).
pub(super) fn is_bad_place(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(5 | 61))
}

/// A failure of the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DiskError {
    /// Whether the disk or a disk quota is full.
    pub full: bool,
    /// The system's error message.
    pub text: String,
}

impl DiskError {
    pub fn of(error: &io::Error) -> DiskError {
        // std maps ENOSPC (28), EDQUOT (122) and EFBIG (27) to these kinds, where it knows them.
        // The last is the limit of a file's size for this process or the file system. There is room
        // again once that is raised.
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
        /// The results of the next syncs of the directory.
        static SYNCS: RefCell<VecDeque<bool>> = const { RefCell::new(VecDeque::new()) };
    }

    /// A regression test: the directory was synced only once, when the file was created. If that
    /// had failed, a crash could lose the file with all its content.
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

    #[test]
    fn files_set_aside_take_names_that_are_free() {
        let data = tempfile::tempdir().expect("a directory");
        let files = Files::new(data.path());
        assert_eq!(files.set_aside(StoreFile::Journal).expect("there is none"), None);
        for number in 1..=3 {
            let content = format!("number {number}");
            std::fs::write(data.path().join("journal.wal"), &content).expect("written");
            let name = files.set_aside(StoreFile::Journal).expect("moved").expect("it was there");
            assert_eq!(name, format!("journal.wal.lost-{number}"));
            assert_eq!(std::fs::read_to_string(data.path().join(name)).expect("kept"), content);
            assert!(!files.is_there(StoreFile::Journal).expect("known"));
        }
    }
}
