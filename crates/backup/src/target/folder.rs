//! A folder as a target.

use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use object_store::local::LocalFileSystem;
use url::Url;

use crate::{BackupError, BackupName, BackupResult};

/// The folder of a target, as it was opened.
#[derive(Debug)]
pub(super) struct TargetFolder {
    root: PathBuf,
    /// The device and inode of the folder.
    identity: (u64, u64),
}

impl TargetFolder {
    /// Opens the folder with that address.
    pub fn open(address: &str) -> BackupResult<TargetFolder> {
        let path = folder_of(address)?;
        let opened = fs::canonicalize(&path).and_then(|root| {
            let found = fs::metadata(&root)?;
            if !found.is_dir() {
                return Err(ErrorKind::NotADirectory.into());
            }
            Ok(TargetFolder { root, identity: (found.dev(), found.ino()) })
        });
        opened.map_err(|error| BackupError::of_target_folder(&path.display(), &error))
    }

    /// Creates the folder with that address, if it is missing.
    pub fn create(address: &str) -> BackupResult<()> {
        let path = folder_of(address)?;
        create(&path).map_err(|error| BackupError::of_target_folder(&path.display(), &error))
    }

    /// Returns the library's view of the folder.
    pub fn store(&self) -> BackupResult<LocalFileSystem> {
        let store = LocalFileSystem::new_with_prefix(&self.root);
        let store = store.map_err(|error| BackupError::of_object_store(&self.root.to_string_lossy(), &error))?;
        Ok(store.with_fsync(true))
    }

    /// Checks that the folder at the path is the one that was opened.
    pub fn check(&self) -> BackupResult<()> {
        let root = self.root.display();
        match fs::metadata(&self.root) {
            Ok(found) if (found.dev(), found.ino()) == self.identity => Ok(()),
            Ok(_) => Err(BackupError::Unreachable(format!(
                "Another folder is in place of the backup target `{root}`: its disk may not be mounted."
            ))),
            Err(error) => Err(BackupError::Unreachable(format!("The backup target `{root}` can't be used: {error}."))),
        }
    }

    /// Makes the deletion of an object durable.
    pub fn sync_parent(&self, name: &str) -> BackupResult<()> {
        let path = self.root.join(name);
        let parent = path.parent().unwrap_or(&self.root);
        sync(parent).map_err(|error| BackupError::of_target_folder(&name, &error))
    }

    /// Removes a folder that has no objects.
    pub fn remove_empty(&self, name: &str) -> BackupResult<()> {
        fs::remove_dir(self.root.join(name)).map_err(|error| BackupError::of_target_folder(&name, &error))
    }

    /// Removes unfinished files from the folders of a backup, and returns their number.
    pub fn remove_unfinished(&self) -> BackupResult<u64> {
        let mut removed = 0;
        let mut folders = vec![self.root.clone()];
        while let Some(folder) = folders.pop() {
            // Folders beside those of a backup may be unreadable, such as `lost+found`.
            let is_root = folder == self.root;
            let own = |path: &Path| {
                [BackupName::TIMELINES, BackupName::CHUNKS, BackupName::CONTENTS]
                    .iter()
                    .any(|name| path.ends_with(name))
            };
            let failed = |error| BackupError::of_target_folder(&folder.display(), &error);
            for entry in fs::read_dir(&folder).map_err(failed)? {
                let entry = entry.map_err(failed)?;
                let (path, kind) = (entry.path(), entry.file_type().map_err(failed)?);
                if kind.is_dir() && (!is_root || own(&path)) {
                    folders.push(path);
                } else if kind.is_file() && is_unfinished(&path) {
                    fs::remove_file(&path).map_err(failed)?;
                    removed += 1;
                }
            }
        }
        Ok(removed)
    }
}

/// Returns the folder that an address names.
fn folder_of(address: &str) -> BackupResult<PathBuf> {
    // Shorter forms, such as `file:/path`, are valid, but may as well be mistakes.
    let url = Url::parse(address).ok().filter(|_| address.starts_with("file:///"));
    let url = url.filter(|url| url.query().is_none() && url.fragment().is_none());
    let path = url.and_then(|url| url.to_file_path().ok()).filter(|path| path.parent().is_some());
    path.ok_or_else(|| {
        BackupError::Refused(format!(
            "`{address}` is no address of a backup target. It must be `file://` and the absolute path of a folder, such \
             as `file:///srv/backup`, or `s3://` and the name of a bucket."
        ))
    })
}

/// Creates a folder and its parents if they are missing, and makes their names durable.
fn create(path: &Path) -> io::Result<()> {
    let missing: Vec<&Path> = path.ancestors().take_while(|folder| !folder.exists()).collect();
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    missing.iter().filter_map(|folder| folder.parent()).try_for_each(sync)
}

/// Makes the names in a folder durable.
fn sync(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Reports whether a file has the name of one that the library has not finished: the name of an
/// object, `#` and a number.
fn is_unfinished(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    let number = name.and_then(|name| name.split_once('#')).map(|(_, number)| number);
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}
