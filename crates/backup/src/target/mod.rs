//! The target of a backup: a place for objects with names.
//!
//! A target is a folder, or a bucket of an S3 server.
//!
//! An object is visible under its name once it is complete and synced, and never before. Deletions
//! are synced, too. What a killed process leaves behind has other names, which no listing contains;
//! [`BackupTarget::remove_unfinished`] removes it from a folder. In a bucket it is an upload, which
//! a rule of the bucket has to end.
//!
//! A folder may be a mount point. When its disk is unmounted, another folder is in its place, and
//! whatever was written there would be on the wrong disk. So each operation first checks that the
//! folder is still the one that was opened, and fails as unreachable otherwise. A service then
//! opens the target again and compares its [`BackupIdentity`](crate::BackupIdentity).
//!
//! Disk work runs on the blocking pool of the runtime. An operation on a network file system that
//! hangs takes as long as that: set a limit of time around it. Each future may be dropped at any
//! time. A `put` that was begun may still complete then.

mod folder;
mod probe;
mod s3;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod transfer;

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::TryStreamExt;
use object_store::path::Path as ObjectPath;
use object_store::{Error as StoreError, ObjectStore, ObjectStoreExt, PutMode, PutOptions};

use self::folder::TargetFolder;
pub use self::probe::{ProbeOutcome, ProbeStep};
pub(crate) use self::s3::S3Fault;
pub use self::s3::S3Settings;
use self::s3::{S3Bucket, S3Timing};
use self::transfer::PART;
use crate::packing::MAX_RAW_BYTES;
use crate::{BackupError, BackupResult};

/// The maximum size in bytes of an object that is written or read as a whole. Whatever has at most
/// [`MAX_RAW_BYTES`] fits when it is compressed, even if that makes it larger.
pub const MAX_OBJECT_BYTES: u64 = MAX_RAW_BYTES as u64 + (4 << 20);

/// The maximum length of a name in bytes.
const MAX_NAME: usize = 512;

/// A place for the objects of a backup. Clones are the same place.
#[derive(Clone)]
pub struct BackupTarget {
    address: Arc<str>,
    store: Arc<dyn ObjectStore>,
    place: TargetPlace,
}

/// The steps that differ between the kinds of targets.
#[derive(Clone)]
enum TargetPlace {
    Folder(Arc<TargetFolder>),
    Bucket(Arc<S3Bucket>),
}

impl BackupTarget {
    /// Opens the target with that address, such as `file:///srv/backup` or `s3://bucket/stet`. It
    /// must exist. Blocks.
    ///
    /// # Errors
    /// `Refused`: the address has another form, or the target can't be used. `Unreachable`: there
    /// is no such folder, or the server does not answer. `LocalFile`: credentials can't be read.
    pub fn open(address: &str, s3: &S3Settings) -> BackupResult<BackupTarget> {
        if S3Bucket::is_named_by(address) {
            return BackupTarget::open_bucket(address, s3, S3Timing::default());
        }
        let folder = TargetFolder::open(address)?;
        let store = Arc::new(folder.store()?);
        Ok(BackupTarget { address: address.into(), store, place: TargetPlace::Folder(Arc::new(folder)) })
    }

    fn open_bucket(address: &str, s3: &S3Settings, timing: S3Timing) -> BackupResult<BackupTarget> {
        let bucket = S3Bucket::open(address, s3, timing)?;
        let store = bucket.store();
        Ok(BackupTarget { address: address.into(), store, place: TargetPlace::Bucket(Arc::new(bucket)) })
    }

    /// Opens a target as [`BackupTarget::open`] does. Creates the folder with mode 0700 if it is
    /// missing, and its parents. The mode of an existing folder is left alone. A bucket must exist.
    /// Blocks.
    ///
    /// # Errors
    /// Those of [`BackupTarget::open`]; `Full`, when the folder is created.
    pub fn create(address: &str, s3: &S3Settings) -> BackupResult<BackupTarget> {
        if !S3Bucket::is_named_by(address) {
            TargetFolder::create(address)?;
        }
        BackupTarget::open(address, s3)
    }

    /// Returns the address.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Stores an object, in place of one with that name.
    ///
    /// # Errors
    /// `Refused`: the name has another form than those of backups, or there are more than
    /// [`MAX_OBJECT_BYTES`]. `Unreachable`, `Full`.
    pub async fn put(&self, name: &str, bytes: Bytes) -> BackupResult<()> {
        self.put_as(name, bytes, PutMode::Overwrite).await.map_err(|error| failure(name, error))
    }

    /// Stores an object if there is none with that name, and reports whether there was none. Of
    /// several writers at the same time one succeeds.
    ///
    /// In a bucket, one with the same bytes counts as stored by this call. On a server without
    /// conditional puts, several writers at the same time may succeed.
    ///
    /// # Errors
    /// Those of [`BackupTarget::put`]. `Refused` also if the file system has no hard links, which
    /// make this possible.
    pub async fn put_new(&self, name: &str, bytes: Bytes) -> BackupResult<bool> {
        if let TargetPlace::Bucket(bucket) = &self.place {
            check_size(name, &bytes)?;
            return bucket.put_new(name, &path_of(name)?, bytes).await;
        }
        match self.put_as(name, bytes, PutMode::Create).await {
            Ok(()) => Ok(true),
            Err(OperationError::Store(StoreError::AlreadyExists { .. })) => Ok(false),
            Err(error) => Err(failure(name, error)),
        }
    }

    async fn put_as(&self, name: &str, bytes: Bytes, mode: PutMode) -> Result<(), OperationError> {
        check_size(name, &bytes)?;
        let path = self.path(name).await?;
        self.store.put_opts(&path, bytes.into(), PutOptions::from(mode)).await?;
        Ok(())
    }

    /// Returns an object; `None` if there is none with that name.
    ///
    /// # Errors
    /// `Damaged`: the object has more than [`MAX_OBJECT_BYTES`]. `Refused`, `Unreachable`.
    pub async fn get(&self, name: &str) -> BackupResult<Option<Bytes>> {
        let path = self.path(name).await?;
        let found = match self.store.get(&path).await {
            Err(StoreError::NotFound { .. }) => return Ok(None),
            found => found.map_err(|error| BackupError::of_object_store(name, &error))?,
        };
        let size = found.meta.size;
        if size > MAX_OBJECT_BYTES {
            let fault = format!("it has {size} bytes, and may have {MAX_OBJECT_BYTES}");
            return Err(BackupError::damaged(&name, fault));
        }
        if size > PART as u64 {
            // Each part has a limit of time of its own.
            let tag = found.meta.e_tag.clone();
            drop(found);
            return self.get_parts(name, &path, size, tag).await.map(Some);
        }
        let bytes = found.bytes().await.map_err(|error| BackupError::of_object_store(name, &error))?;
        if bytes.len() as u64 == size { Ok(Some(bytes)) } else { Err(transfer::cut_off(name)) }
    }

    /// Reports whether there is an object with that name.
    ///
    /// # Errors
    /// `Refused`, `Unreachable`.
    pub async fn exists(&self, name: &str) -> BackupResult<bool> {
        let path = self.path(name).await?;
        match self.store.head(&path).await {
            Ok(_) => Ok(true),
            Err(StoreError::NotFound { .. }) => Ok(false),
            Err(error) => Err(BackupError::of_object_store(name, &error)),
        }
    }

    /// Returns the names of all objects below a folder, such as `chunks/ab`, with their sizes in
    /// bytes, in the order of names. Foreign objects are among them. An entry takes some 150 bytes:
    /// list chunks and contents by the first byte of their hashes.
    ///
    /// # Errors
    /// `Refused`, `Unreachable`.
    pub async fn list(&self, folder: &str) -> BackupResult<Vec<(String, u64)>> {
        let path = self.path(folder).await?;
        self.collect(folder, self.store.list(Some(&path))).await
    }

    /// Returns what [`BackupTarget::list`] does, of the objects whose names are greater than
    /// `after`, which need not exist.
    ///
    /// # Errors
    /// `Refused`, `Unreachable`.
    pub async fn list_after(&self, folder: &str, after: &str) -> BackupResult<Vec<(String, u64)>> {
        let (path, after) = (self.path(folder).await?, path_of(after)?);
        self.collect(folder, self.store.list_with_offset(Some(&path), &after)).await
    }

    async fn collect(
        &self,
        folder: &str,
        found: futures_util::stream::BoxStream<'static, object_store::Result<object_store::ObjectMeta>>,
    ) -> BackupResult<Vec<(String, u64)>> {
        let found = found.map_ok(|found| (found.location.to_string(), found.size)).try_collect();
        let mut found: Vec<_> = found.await.map_err(|error| BackupError::of_object_store(folder, &error))?;
        found.sort_unstable();
        Ok(found)
    }

    /// Returns what [`BackupTarget::list`] does, with the time in milliseconds since 1970 at which
    /// each object was written, by the clock of the target.
    ///
    /// # Errors
    /// `Refused`, `Unreachable`.
    pub async fn list_dated(&self, folder: &str) -> BackupResult<Vec<(String, u64, u64)>> {
        let path = self.path(folder).await?;
        let dated = |found: object_store::ObjectMeta| {
            let written_ms = u64::try_from(found.last_modified.timestamp_millis()).unwrap_or_default();
            (found.location.to_string(), found.size, written_ms)
        };
        let found = self.store.list(Some(&path)).map_ok(dated).try_collect();
        let mut found: Vec<_> = found.await.map_err(|error| BackupError::of_object_store(folder, &error))?;
        found.sort_unstable();
        Ok(found)
    }

    /// Deletes an object. Does nothing if there is none with that name.
    ///
    /// # Errors
    /// `Refused`, `Unreachable`.
    pub async fn delete(&self, name: &str) -> BackupResult<()> {
        let path = self.path(name).await?;
        match self.store.delete(&path).await {
            Ok(()) => {}
            Err(StoreError::NotFound { .. }) => return Ok(()),
            Err(error) => return Err(BackupError::of_object_store(name, &error)),
        }
        let TargetPlace::Folder(folder) = &self.place else { return Ok(()) };
        // The library syncs no folder after a deletion.
        let (folder, owned) = (folder.clone(), name.to_owned());
        blocking(move || folder.sync_parent(&owned)).await
    }

    /// Removes the files of writers that were killed from a folder, and returns their number. Only
    /// the one writer of the backup may do this, when it has no `put` under way.
    ///
    /// # Errors
    /// `Refused`, `Unreachable`.
    pub async fn remove_unfinished(&self) -> BackupResult<u64> {
        let TargetPlace::Folder(folder) = &self.place else { return Ok(0) };
        let folder = folder.clone();
        blocking(move || {
            folder.check()?;
            folder.remove_unfinished()
        })
        .await
    }

    /// Converts a name for the library, once the target is known to be there.
    async fn path(&self, name: &str) -> BackupResult<ObjectPath> {
        let path = path_of(name)?;
        if let TargetPlace::Folder(folder) = &self.place {
            let folder = folder.clone();
            blocking(move || folder.check()).await?;
        }
        Ok(path)
    }
}

/// The address alone: the library's part has credentials.
impl fmt::Debug for BackupTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("BackupTarget").field(&self.address).finish()
    }
}

impl fmt::Display for BackupTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.address)
    }
}

/// A failure whose cause still matters.
enum OperationError {
    Store(StoreError),
    Backup(BackupError),
}

impl From<StoreError> for OperationError {
    fn from(error: StoreError) -> OperationError {
        OperationError::Store(error)
    }
}

impl From<BackupError> for OperationError {
    fn from(error: BackupError) -> OperationError {
        OperationError::Backup(error)
    }
}

fn failure(name: &str, error: OperationError) -> BackupError {
    match error {
        OperationError::Store(error) => BackupError::of_failed_write(name, &error),
        OperationError::Backup(error) => error,
    }
}

/// Refuses an object that could not be read.
fn check_size(name: &str, bytes: &Bytes) -> BackupResult<()> {
    if bytes.len() as u64 <= MAX_OBJECT_BYTES {
        return Ok(());
    }
    Err(BackupError::Refused(format!(
        "The object `{name}` has {} bytes, and may have {MAX_OBJECT_BYTES}.",
        bytes.len()
    )))
}

/// Converts a name for the library. Names of backups have few characters, so that each provider
/// takes them as they are; the library would encode some others.
fn path_of(name: &str) -> BackupResult<ObjectPath> {
    let is_known = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-._/".contains(&byte);
    let is_part = |part: &str| !part.is_empty() && part != "." && part != "..";
    if name.len() > MAX_NAME || !name.bytes().all(is_known) || !name.split('/').all(is_part) {
        return Err(BackupError::Refused(format!(
            "`{name}` is no name of an object. It may have at most {MAX_NAME} bytes of `a` to `z`, `0` to `9`, `-`, \
             `.`, `_`, with `/` between parts."
        )));
    }
    ObjectPath::parse(name).map_err(|error| BackupError::Refused(format!("`{name}` is no name of an object: {error}.")))
}

/// Runs disk work on the blocking pool.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> BackupResult<T> + Send + 'static) -> BackupResult<T> {
    let interrupted = |error| BackupError::Unreachable(format!("Work on the backup target was interrupted: {error}."));
    tokio::task::spawn_blocking(work).await.map_err(interrupted)?
}
