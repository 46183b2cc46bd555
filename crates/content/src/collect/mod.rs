//! Removal of content files that no row refers to any more: those of refused changes, replaced
//! versions, dropped drafts, destroyed objects.
//!
//! A file is removed if it was neither created nor found wanted for a given time, and if nothing
//! can ever refer to it again without a new upload. That is so if, in this order,
//!
//! 1. no pin is held ([`super::pins`]), and none is taken until the removal,
//! 2. no row on disk or on its way there refers to it ([`ReadLevel::Latest`]),
//! 3. all changes that were on their way then have been decided (the barrier), and no commit has
//!    failed since (the epoch): so no row comes back, even after a crash,
//! 4. still no row refers to it, and the outcome of every change set is certain.
//!
//! A file is removed by renaming, so that an upload of the same bytes finds either the file or
//! none. After a crash in between, the file is in its place, or among those that the next start
//! removes.
//!
//! Files are in 256 folders. Each folder is examined once in the time for which files are kept, so
//! that the work is spread out. That time is a convenience, and not needed for safety. When there
//! was no room for an upload, all unreferenced files are removed at once. Otherwise contents that
//! were refused, replaced or destroyed would keep all uploads out for that long.

#[cfg(test)]
mod tests;

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use stet_domain::error::{Error, Result};
use stet_domain::object::is_referred_to;
use stet_domain::store::{ReadLevel, Store, StoreError};
use tokio::sync::oneshot;

use super::pins::Hash;
use super::{ContentStore, FOLDERS, blocking, failure, file_hash, hex};

/// Number of files examined before the store is asked which of them it refers to.
const BATCH: usize = 256;

/// The shortest pause between two rounds.
const SHORTEST: Duration = Duration::from_secs(1);

/// The shortest pause between two rounds through all files for want of room.
const SHORTEST_WHEN_SHORT: Duration = Duration::from_secs(60);

/// The collector of the unused files of a [`ContentStore`].
pub struct Collector {
    contents: ContentStore,
    store: Arc<dyn Store>,
    /// The time for which files are kept in any case.
    after: Duration,
}

/// The number and size of removed files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CollectionTotal {
    /// Number of files.
    pub files: u64,
    /// Bytes of the files.
    pub bytes: u64,
}

impl Collector {
    /// Creates a collector of files of `contents` that no row of `store` refers to, once they are
    /// older than `after`.
    pub fn new(contents: ContentStore, store: Arc<dyn Store>, after: Duration) -> Collector {
        Collector { contents, store, after }
    }

    /// Collects periodically until `end` resolves; a collection in progress is completed.
    pub async fn run(&self, mut end: oneshot::Receiver<()>) {
        let share = self.after / u32::from(FOLDERS);
        let pause = share.max(SHORTEST);
        // The number of folders in each round that keeps the pace.
        let at_once = (pause.as_nanos().div_ceil(share.as_nanos().max(1))).min(u128::from(FOLDERS)) as u16;
        // A random start: otherwise a server that is restarted often would never reach some of
        // them.
        let mut next = u16::from(rand::random::<u8>());
        let mut pressed_again = tokio::time::Instant::now();
        loop {
            let short = async {
                tokio::time::sleep_until(pressed_again).await;
                self.contents.places.short.notified().await;
            };
            let (folders, after) = tokio::select! {
                // Also when the sender was dropped.
                _ = &mut end => return,
                () = tokio::time::sleep(pause) => (at_once, self.after),
                () = short => (FOLDERS, Duration::ZERO),
            };
            let contents = self.contents.clone();
            let there = blocking(move || {
                let places = &contents.places;
                places.are_still_there().map_err(|error| failure("collected", &places.root, &error))
            });
            if after.is_zero() {
                pressed_again = tokio::time::Instant::now() + SHORTEST_WHEN_SHORT;
            }
            // The failure has been logged. The files now there may be another server's, so nothing
            // is removed until this server's own are back.
            if there.await.is_err() {
                continue;
            }
            let mut total = CollectionTotal::default();
            for _ in 0..folders {
                if !matches!(end.try_recv(), Err(oneshot::error::TryRecvError::Empty)) {
                    return;
                }
                // A failure has been logged, and is retried in the next pass through the folders.
                let found = self.folder(next, after).await.unwrap_or_default();
                total = CollectionTotal { files: total.files + found.files, bytes: total.bytes + found.bytes };
                next = (next + 1) % FOLDERS;
            }
            if total.files > 0 {
                let CollectionTotal { files, bytes } = total;
                tracing::info!(files, bytes, "removed content files without references");
            }
        }
    }

    /// Collects the files in one folder that are at least `after` old.
    ///
    /// # Errors
    /// `RepositoryError` if the folder can't be read.
    async fn folder(&self, number: u16, after: Duration) -> Result<CollectionTotal> {
        let contents = self.contents.clone();
        let old = blocking(move || {
            let path = contents.places.folder(number);
            old_files(&path, after).map_err(|error| failure("listed", &path, &error))
        })
        .await?;
        let mut total = CollectionTotal::default();
        for batch in old.chunks(BATCH) {
            let found = self.batch(batch).await?;
            total = CollectionTotal { files: total.files + found.files, bytes: total.bytes + found.bytes };
        }
        Ok(total)
    }

    /// Collects a batch of files. The module's head gives the reason for the order of the steps.
    async fn batch(&self, files: &[(Hash, u64)]) -> Result<CollectionTotal> {
        let epoch = self.store.epoch();
        let (contents, store, files) = (self.contents.clone(), self.store.clone(), files.to_vec());
        let unused = blocking(move || {
            let pins = &contents.places.pins;
            let mut considered = ConsideredFiles { contents: contents.clone(), files: Vec::new() };
            for (hash, size) in files {
                if !pins.consider(hash) {
                    continue;
                }
                considered.files.push((hash, size));
                if is_referred_to(&*store, ReadLevel::Latest, &hash).map_err(unreadable)? {
                    considered.files.pop();
                    pins.forget(&hash);
                }
            }
            Ok(considered)
        })
        .await?;
        if unused.files.is_empty() {
            return Ok(CollectionTotal::default());
        }
        self.store.barrier().await;
        let store = self.store.clone();
        blocking(move || {
            let mut collected = CollectionTotal::default();
            let places = &unused.contents.places;
            for (hash, size) in &unused.files {
                let taken = places.pins.leave(*hash, || -> Result<Option<_>> {
                    let referred_to = is_referred_to(&*store, ReadLevel::Latest, hash).map_err(unreadable)?
                        || is_referred_to(&*store, ReadLevel::Committed, hash).map_err(unreadable)?;
                    if referred_to || !store.is_certain() || store.epoch() != epoch {
                        return Ok(None);
                    }
                    places.are_still_there().map_err(|error| failure("collected", &places.root, &error))?;
                    let (path, away) = (places.file(hash), places.unfinished.join(format!("collected-{}", hex(hash))));
                    fs::rename(&path, &away).map_err(|error| failure("collected", &path, &error))?;
                    Ok(Some(away))
                });
                if let Some(away) = taken.transpose()?.flatten() {
                    // Removing a large file takes a while, so it is done after the renaming, when
                    // nobody waits for it. A file that stays is removed at the next start.
                    fs::remove_file(&away).map_err(|error| failure("collected", &away, &error))?;
                    metrics::counter!("stet_content_collected_total").increment(1);
                    metrics::counter!("stet_content_collected_bytes_total").increment(*size);
                    collected.files += 1;
                    collected.bytes += size;
                }
            }
            Ok(collected)
        })
        .await
    }
}

/// Files that are marked as considered until this is dropped.
struct ConsideredFiles {
    contents: ContentStore,
    files: Vec<(Hash, u64)>,
}

impl Drop for ConsideredFiles {
    fn drop(&mut self) {
        self.files.iter().for_each(|(hash, _)| self.contents.places.pins.forget(hash));
    }
}

fn unreadable(error: StoreError) -> Error {
    tracing::warn!(%error, "cannot find out which content files have references");
    Error::internal()
}

/// Returns the content files in a folder that were last wanted at least `after` ago, with their
/// sizes.
pub(super) fn old_files(folder: &Path, after: Duration) -> io::Result<Vec<(Hash, u64)>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let now = SystemTime::now();
    let mut old = Vec::new();
    for entry in entries {
        let path = entry?.path();
        // Foreign files are left alone.
        let Some(hash) = file_hash(&path) else { continue };
        let found = match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            found => found?,
        };
        // A file with a time in the future counts as young: clocks are set back at times.
        let age = now.duration_since(found.modified()?).unwrap_or_default();
        if found.is_file() && age >= after {
            old.push((hash, found.len()));
        }
    }
    Ok(old)
}
