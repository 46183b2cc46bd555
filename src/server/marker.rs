//! The marker that makes the filling of a new data directory atomic: it is completed, or begun
//! anew.
//!
//! Before anything is created in a new directory, a file named [`MARKER`] is created. It is removed
//! when everything that filling creates is on disk. A start that finds it removes the files of the
//! store and the contents. Only filling can have created them: the server listens after it, and
//! commands refuse such a directory. Without a marker, nothing is ever removed.
//!
//! If two processes start on a new directory at once, the one that fills holds a lock on the
//! marker. The marker gets its text only after its owner, with the lock held, has checked again
//! that the directory is new. So a marker that was created beside the files of another process,
//! which had just finished, has no text and is ignored.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use stet_store::{Backends, StoreFile};

use crate::exit::{Exit, Failure};

/// The marker's name in the data directory.
const MARKER: &str = "filling";

/// The marker's text, for people who find it.
const TEXT: &str = "stet is filling this directory, or was stopped while it did: the next start removes all files \
                    here and begins again.\n";

/// The number of attempts on a directory in which other processes create and remove markers.
const TRIES: u32 = 10;

/// A data directory that is being filled. If dropped unfinished, the next start begins anew.
pub(super) struct Filling {
    data: PathBuf,
    /// The marker file, locked.
    marker: File,
}

impl Filling {
    /// Begins to fill the directory if it is new or was not filled completely. Creates it if it is
    /// missing.
    ///
    /// # Errors
    /// [`Exit::InUse`]: another process is filling it. [`Exit::Data`]: it has contents without a
    /// store, or the disk fails.
    pub fn begin(data: &Path, store: &dyn Backends) -> Result<Option<Filling>, Failure> {
        make(data).and_then(|()| Filling::look(data, store)).map_err(|error| {
            if error.kind() == ErrorKind::ResourceBusy {
                return Failure::new(Exit::InUse, format!("{} is in use: another process fills it", data.display()));
            }
            let message = match data.exists() && !data.is_dir() {
                true => no_directory(data),
                false => format!("{} can't be opened: {error}", data.display()),
            };
            Failure::new(Exit::Data, message)
        })
    }

    fn look(data: &Path, store: &dyn Backends) -> io::Result<Option<Filling>> {
        for _ in 0..TRIES {
            match OpenOptions::new().read(true).write(true).open(data.join(MARKER)) {
                Ok(marker) => {
                    lock(&marker)?;
                    if is_at(&marker, &data.join(MARKER))? {
                        return Filling { data: data.to_owned(), marker }.take(store);
                    }
                }
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    if !is_new(data, store)? {
                        return Ok(None);
                    }
                    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(data.join(MARKER)) {
                        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
                        // The next round locks and checks it like one that was there before.
                        _ => {}
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Err(ErrorKind::ResourceBusy.into())
    }

    /// Begins with a marker that exists and is locked.
    fn take(mut self, store: &dyn Backends) -> io::Result<Option<Filling>> {
        if self.marker.metadata()?.len() > 0 {
            tracing::warn!(
                data = %self.data.display(),
                "the first start was interrupted: removing its files to begin again"
            );
            clear(&self.data, store)?;
        } else if !is_new(&self.data, store)? {
            self.remove()?;
            return Ok(None);
        }
        self.marker.write_all(TEXT.as_bytes())?;
        self.marker.sync_all()?;
        sync(&self.data)?;
        Ok(Some(self))
    }

    /// Ends the filling, once everything created is on disk.
    ///
    /// # Errors
    /// [`Exit::Data`]: the marker can't be removed.
    pub fn finish(self) -> Result<(), Failure> {
        let message = |error| format!("{} can't be removed: {error}", self.data.join(MARKER).display());
        self.remove().map_err(|error| Failure::new(Exit::Data, message(error)))
    }

    /// Ends the filling before anything was created, so that the directory is new again.
    ///
    /// # Errors
    /// The errors of [`Filling::finish`].
    pub fn give_up(self) -> Result<(), Failure> {
        self.finish()
    }

    fn remove(&self) -> io::Result<()> {
        std::fs::remove_file(self.data.join(MARKER))?;
        sync(&self.data)
    }
}

/// Returns the message about a data directory that is a file.
pub(super) fn no_directory(data: &Path) -> String {
    format!("{} is a file, and must be a directory", data.display())
}

/// Reports whether a first start on the directory is running or was interrupted.
pub(crate) fn is_unfilled(data: &Path) -> bool {
    std::fs::metadata(data.join(MARKER)).is_ok_and(|marker| marker.len() > 0)
}

/// Creates the directory and its missing parents, and syncs their names.
fn make(data: &Path) -> io::Result<()> {
    let missing: Vec<&Path> = data.ancestors().take_while(|folder| is_missing(folder)).collect();
    DirBuilder::new().recursive(true).mode(0o700).create(data)?;
    for folder in missing.into_iter().rev() {
        let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        sync(parent)?;
    }
    Ok(())
}

fn is_missing(folder: &Path) -> bool {
    !folder.as_os_str().is_empty() && matches!(folder.try_exists(), Ok(false))
}

/// Reports whether a data directory has neither store nor contents.
fn is_new(data: &Path, store: &dyn Backends) -> io::Result<bool> {
    for file in StoreFile::ALL {
        if store.is_there(file)? {
            return Ok(false);
        }
    }
    if stet_content::is_any_in(data)? {
        let message = format!("it has contents, but no {}: restore the whole directory", StoreFile::State.name());
        return Err(io::Error::other(message));
    }
    Ok(true)
}

/// Removes everything that filling creates.
fn clear(data: &Path, store: &dyn Backends) -> io::Result<()> {
    for file in StoreFile::ALL {
        store.remove(file)?;
    }
    stet_content::remove_all_in(data)?;
    sync(data)
}

fn lock(marker: &File) -> io::Result<()> {
    marker.try_lock().map_err(|error| match error {
        TryLockError::WouldBlock => ErrorKind::ResourceBusy.into(),
        TryLockError::Error(error) => error,
    })
}

/// Reports whether an open file is the one at a path. Another process may have removed it before it
/// was locked.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let at = match std::fs::metadata(path) {
        Ok(at) => at,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    let own = file.metadata()?;
    Ok((own.dev(), own.ino()) == (at.dev(), at.ino()))
}

fn sync(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use stet_store::Files;
    use tempfile::TempDir;

    use super::*;

    fn begin(data: &Path) -> Result<Option<Filling>, Failure> {
        Filling::begin(data, &Files::new(data))
    }

    fn names(data: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(data).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn unfinished_directories_are_cleared_by_the_next_start_finished_never() {
        let home = TempDir::new().unwrap();
        let data = home.path().join("a/b/data");
        for _ in 0..2 {
            let filling = begin(&data).unwrap().expect("it is to be filled");
            assert_eq!(names(&data), [MARKER]);
            assert!(is_unfilled(&data));
            std::fs::create_dir_all(data.join("content/ab")).unwrap();
            for file in ["state.redb", "journal.wal", "journal.mark", "content/ab/cd", "content/ours", "ours"] {
                std::fs::write(data.join(file), "x").unwrap();
            }
            drop(filling);
            let filling = begin(&data).unwrap().expect("it is to be filled anew");
            assert_eq!(names(&data), ["content", MARKER, "ours"], "and nothing of others is touched");
            assert_eq!(names(&data.join("content")), ["ours"]);
            drop(filling);
            std::fs::remove_file(data.join("ours")).unwrap();
            std::fs::remove_dir_all(data.join("content")).unwrap();
        }
        let filling = begin(&data).unwrap().unwrap();
        std::fs::write(data.join("state.redb"), "x").unwrap();
        filling.finish().unwrap();
        for _ in 0..2 {
            assert!(begin(&data).unwrap().is_none());
            assert_eq!(names(&data), ["state.redb"]);
        }
    }

    #[test]
    fn a_marker_without_its_text_stands_for_nothing() {
        let data = TempDir::new().unwrap();
        std::fs::write(data.path().join(MARKER), "").unwrap();
        assert!(begin(data.path()).unwrap().is_some(), "nothing was made yet");
        for file in ["state.redb", "journal.wal"] {
            let data = TempDir::new().unwrap();
            std::fs::write(data.path().join(file), "x").unwrap();
            std::fs::write(data.path().join(MARKER), "").unwrap();
            assert!(!is_unfilled(data.path()));
            assert!(begin(data.path()).unwrap().is_none());
            assert_eq!(names(data.path()), [file]);
        }
    }

    #[test]
    fn only_one_process_fills_and_contents_without_a_store_are_kept() {
        let data = TempDir::new().unwrap();
        let filling = begin(data.path()).unwrap();
        assert!(filling.is_some());
        let busy = begin(data.path()).err().expect("it is locked");
        assert!(busy.exit == Exit::InUse && busy.message.contains("in use"), "{busy:?}");
        let data = TempDir::new().unwrap();
        std::fs::create_dir_all(data.path().join("content/ab")).unwrap();
        let refused = begin(data.path()).err().expect("it may be all that is left");
        assert!(refused.exit == Exit::Data && refused.message.contains("contents"), "{refused:?}");
        assert_eq!(names(data.path()), ["content"]);
    }
}
