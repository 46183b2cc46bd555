//! Files between this machine and a target, with the memory of a few parts.

use std::fs::File;
use std::io::{Read, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use object_store::path::Path as ObjectPath;
use object_store::{GetOptions, GetRange, MultipartUpload, ObjectStore, ObjectStoreExt};
use sha2::{Digest, Sha256};
use tempfile::{NamedTempFile, TempPath};

use super::{BackupTarget, blocking};
use crate::{BackupError, BackupResult, Sha256Hash};

/// The size of a part in bytes, and of an object that is sent at once. Providers have a least size
/// of 5 MiB, and take 10,000 parts: 78 GiB.
pub(super) const PART: usize = 8 << 20;

impl BackupTarget {
    /// Stores a file of this machine as an object, in place of one with that name. Holds one part
    /// of 8 MiB in memory. Returns the size in bytes.
    ///
    /// # Errors
    /// `Damaged`: the file does not have the hash that it should have; nothing was stored.
    /// `LocalFile`: it is missing or can't be read. `Refused`, `Unreachable` and `Full`, for the
    /// target.
    pub async fn put_file(&self, name: &str, file: &Path, expected: Option<&Sha256Hash>) -> BackupResult<u64> {
        let path = self.path(name).await?;
        let mut source = SourceFile::open(file.to_owned()).await?;
        let first = source.next_part().await?;
        if first.len() < PART {
            source.verify(expected)?;
            let size = first.len() as u64;
            let stored = self.store.put(&path, first.into()).await;
            return stored.map(|_| size).map_err(|error| BackupError::of_failed_write(name, &error));
        }
        let upload = self.store.put_multipart(&path).await;
        let mut upload = upload.map_err(|error| BackupError::of_failed_write(name, &error))?;
        let sent = send_parts(name, first, &mut source, expected, upload.as_mut()).await;
        if sent.is_err() {
            // The reason of the failure counts. What stays behind is removed as unfinished later.
            let _ = upload.abort().await;
        }
        sent
    }

    /// Stores an object as a file of this machine, in place of one at that path. The file is
    /// complete and synced before it has its name. Holds one part of 8 MiB in memory. Returns the
    /// size in bytes.
    ///
    /// # Errors
    /// `NotFound`: there is no such object. `Damaged`: it does not have the hash that it should
    /// have; the file was left alone. `LocalFile` and `Full`, for this machine. `Refused` and
    /// `Unreachable`, for the target.
    pub async fn get_to_file(&self, name: &str, file: &Path, expected: Option<&Sha256Hash>) -> BackupResult<u64> {
        let path = self.path(name).await?;
        let found = self.store.head(&path).await.map_err(|error| BackupError::of_object_store(name, &error))?;
        let mut target = TargetFile::create(file).await?;
        let mut at = 0;
        while at < found.size {
            let range = at..found.size.min(at + PART as u64);
            // A writer that replaces the object between two parts is noticed.
            let part = self.get_part(name, &path, range, found.e_tag.clone()).await?;
            at += part.len() as u64;
            target = target.write(part).await?;
        }
        target.finish(name, expected).await?;
        Ok(at)
    }

    /// Returns one part of an object, if the object is still the one with that tag.
    pub(super) async fn get_part(
        &self,
        name: &str,
        path: &ObjectPath,
        range: Range<u64>,
        if_match: Option<String>,
    ) -> BackupResult<Bytes> {
        let length = range.end - range.start;
        let options = GetOptions { range: Some(GetRange::Bounded(range)), if_match, ..GetOptions::default() };
        let failed = |error| BackupError::of_object_store(name, &error);
        let part = self.store.get_opts(path, options).await.map_err(failed)?.bytes().await.map_err(failed)?;
        if part.len() as u64 == length { Ok(part) } else { Err(cut_off(name)) }
    }

    /// Returns an object of that size part by part.
    pub(super) async fn get_parts(
        &self,
        name: &str,
        path: &ObjectPath,
        size: u64,
        if_match: Option<String>,
    ) -> BackupResult<Bytes> {
        let mut bytes = BytesMut::with_capacity(size as usize);
        while (bytes.len() as u64) < size {
            let at = bytes.len() as u64;
            let part = self.get_part(name, path, at..size.min(at + PART as u64), if_match.clone()).await?;
            bytes.extend_from_slice(&part);
        }
        Ok(bytes.freeze())
    }
}

/// Creates the error of bytes that are fewer than announced.
pub(super) fn cut_off(name: &str) -> BackupError {
    BackupError::Unreachable(format!("The backup target returned a part of `{name}` that is cut off."))
}

/// Sends all parts of a file, and completes the object if the file is as expected.
async fn send_parts(
    name: &str,
    first: Bytes,
    source: &mut SourceFile,
    expected: Option<&Sha256Hash>,
    upload: &mut dyn MultipartUpload,
) -> BackupResult<u64> {
    let failed = |error| BackupError::of_failed_write(name, &error);
    let (mut part, mut size) = (first, 0);
    while !part.is_empty() {
        size += part.len() as u64;
        upload.put_part(part.into()).await.map_err(failed)?;
        part = source.next_part().await?;
    }
    source.verify(expected)?;
    upload.complete().await.map_err(failed)?;
    Ok(size)
}

/// A local file that is read part by part and hashed.
struct SourceFile {
    path: PathBuf,
    file: Arc<File>,
    /// The bytes that are expected to follow.
    left: u64,
    hasher: Sha256,
}

impl SourceFile {
    async fn open(path: PathBuf) -> BackupResult<SourceFile> {
        blocking(move || {
            let opened = File::open(&path).and_then(|file| Ok((file.metadata()?.len(), Arc::new(file))));
            let (left, file) = opened.map_err(|error| BackupError::of_local_file(&path, &error))?;
            Ok(SourceFile { path, file, left, hasher: Sha256::new() })
        })
        .await
    }

    /// Reads the next part, which is shorter than [`PART`] at the end of the file only.
    async fn next_part(&mut self) -> BackupResult<Bytes> {
        let (path, file, mut hasher) = (self.path.clone(), self.file.clone(), self.hasher.clone());
        let expected = self.left.min(PART as u64) as usize;
        let (part, hasher) = blocking(move || {
            let mut part = Vec::with_capacity(expected);
            let read = file.take(PART as u64).read_to_end(&mut part);
            read.map_err(|error| BackupError::of_local_file(&path, &error))?;
            hasher.update(&part);
            Ok((part, hasher))
        })
        .await?;
        self.left = self.left.saturating_sub(part.len() as u64);
        self.hasher = hasher;
        Ok(part.into())
    }

    /// Compares the hash of the parts with the expected one.
    fn verify(&self, expected: Option<&Sha256Hash>) -> BackupResult<()> {
        compare(&self.path.display(), &self.hasher, expected)
    }
}

/// A local file that is written part by part and hashed. It has another name until it is finished,
/// and is removed if it never is.
struct TargetFile {
    path: PathBuf,
    file: File,
    unfinished: TempPath,
    hasher: Sha256,
}

impl TargetFile {
    async fn create(path: &Path) -> BackupResult<TargetFile> {
        let path = path.to_owned();
        blocking(move || {
            let created = NamedTempFile::with_prefix_in(".unfinished-", folder_of(&path));
            let created = created.map_err(|error| BackupError::of_local_file(&path, &error))?;
            let (file, unfinished) = created.into_parts();
            Ok(TargetFile { path, file, unfinished, hasher: Sha256::new() })
        })
        .await
    }

    /// Appends a part.
    async fn write(mut self, part: Bytes) -> BackupResult<TargetFile> {
        blocking(move || {
            self.hasher.update(&part);
            match self.file.write_all(&part) {
                Ok(()) => Ok(self),
                Err(error) => Err(BackupError::of_local_file(&self.path, &error)),
            }
        })
        .await
    }

    /// Gives the file its name if it is as expected, and makes both durable.
    async fn finish(self, name: &str, expected: Option<&Sha256Hash>) -> BackupResult<()> {
        compare(&name, &self.hasher, expected)?;
        let TargetFile { path, file, unfinished, .. } = self;
        blocking(move || {
            let local = |error| BackupError::of_local_file(&path, &error);
            file.sync_all().map_err(local)?;
            unfinished.persist(&path).map_err(|error| local(error.error))?;
            File::open(folder_of(&path)).and_then(|folder| folder.sync_all()).map_err(local)
        })
        .await
    }
}

/// Returns the folder of a file.
fn folder_of(file: &Path) -> &Path {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// Compares the hash of the bytes of a file or object with the expected one.
fn compare(what: &dyn std::fmt::Display, hasher: &Sha256, expected: Option<&Sha256Hash>) -> BackupResult<()> {
    let hash = Sha256Hash(hasher.clone().finalize().into());
    if expected.is_none_or(|expected| *expected == hash) {
        return Ok(());
    }
    Err(BackupError::damaged(what, format!("its bytes have the SHA-256 {hash}")))
}
