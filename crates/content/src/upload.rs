//! Receiving and storing of contents.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use sha2::{Digest, Sha256};
use stet_base::disk;
use stet_base::limits::{GrowingBuffer, Holder, Reservation};
use stet_domain::error::{Error, Result};
use stet_domain::object::{Content, ContentLocation, NewContent};
use tempfile::NamedTempFile;

use super::pins::{FilePin, Hash};
use super::under_way::UploadSlot;
use super::{ContentFolders, blocking, failure, is_full, open_regular, sync_folder};

/// Bytes that are gathered before a write to the disk. Chunks from the network are small, and each
/// hand-over to another thread costs more than copying them.
const GATHER: usize = 256 << 10;

/// A content that is being received. Nothing is left behind if it is dropped before
/// [`Upload::finish`].
#[derive(Debug)]
pub struct Upload {
    places: Arc<ContentFolders>,
    /// Number of bytes received.
    size: u64,
    /// Bytes that are received and not yet in the file.
    gathered: GrowingBuffer,
    /// The holder of the upload; `None` for the server's own.
    holder: Option<Holder>,
    state: UploadState,
}

#[derive(Debug)]
enum UploadState {
    /// All bytes are in `gathered`.
    Memory,
    /// The bytes before `gathered` are in the file.
    Spilled(SpillFile),
    /// A write failed, or its future was dropped before it ended.
    Broken,
}

/// The file of a large content, which is removed when this is dropped.
#[derive(Debug)]
struct SpillFile {
    file: NamedTempFile,
    /// The hasher of the bytes in the file.
    hasher: Sha256,
    /// The place of the upload. A caller's upload must leave the reserve of the disk free.
    place: UploadSlot,
}

impl Upload {
    pub(super) fn new(places: Arc<ContentFolders>, room: &Arc<Reservation>) -> Upload {
        Upload {
            places,
            size: 0,
            gathered: GrowingBuffer::new(room),
            holder: room.holder().cloned(),
            state: UploadState::Memory,
        }
    }

    /// Returns the number of bytes received so far.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Returns the bytes received so far, if all of them are in memory; `None` once some are in a
    /// file.
    pub fn in_memory(&self) -> Option<&[u8]> {
        matches!(self.state, UploadState::Memory).then_some(&*self.gathered)
    }

    /// Takes the next bytes. The caller limits their number: see [`Upload::size`].
    ///
    /// # Errors
    /// `StorageFull`, or `RepositoryError` if the disk fails or an earlier write was cut off;
    /// `Overloaded` if there is no room in memory, or too many uploads are in progress. The upload
    /// is lost then.
    pub async fn write(&mut self, chunk: &[u8]) -> Result<()> {
        self.gathered.extend(chunk, GATHER + chunk.len())?;
        self.size += chunk.len() as u64;
        if self.is_small() || self.gathered.len() < GATHER {
            return Ok(());
        }
        self.spill(|spill, _| Ok(spill)).await.map(|spill| self.state = UploadState::Spilled(spill))
    }

    /// Ends the upload. When this returns, a large content is durable on disk.
    ///
    /// # Errors
    /// The errors of [`Upload::write`].
    pub async fn finish(mut self, content_type: &str) -> Result<NewContent> {
        let size = self.size;
        let content = |sha256, stored| Content { content_type: content_type.into(), size, sha256, stored };
        if self.is_small() {
            let small = self.gathered.take().freeze();
            return Ok(NewContent {
                content: content(Sha256::digest(&small).into(), ContentLocation::Row),
                small: Some(small),
                pin: None,
            });
        }
        let (sha256, held) = self.spill(move |spill, places| spill.keep(places, size)).await?;
        Ok(NewContent { content: content(sha256, ContentLocation::File), small: None, pin: Some(Arc::new(held)) })
    }

    fn is_small(&self) -> bool {
        matches!(self.state, UploadState::Memory) && self.size <= self.places.small_body_bytes as u64
    }

    /// Moves the gathered bytes into the file, and goes on with `then`. Until that is done the
    /// state is broken, so that an upload whose future was dropped half-way knows that bytes are
    /// missing.
    async fn spill<T: Send + 'static>(
        &mut self,
        then: impl FnOnce(SpillFile, &ContentFolders) -> io::Result<T> + Send + 'static,
    ) -> Result<T> {
        let before = match std::mem::replace(&mut self.state, UploadState::Broken) {
            UploadState::Memory => SpillStart::No(self.places.under_way.begin(self.holder.as_ref())?),
            UploadState::Spilled(spill) => SpillStart::Yes(spill),
            UploadState::Broken => {
                tracing::error!("an upload continued after a failed or cancelled write");
                return Err(Error::internal());
            }
        };
        let bytes = self.gathered.take();
        let places = self.places.clone();
        blocking(move || {
            let write = || {
                let mut spill = match before {
                    SpillStart::No(place) => SpillFile::new(&places.unfinished, place)?,
                    SpillStart::Yes(spill) => spill,
                };
                spill.add(&bytes, places.reserve_bytes)?;
                then(spill, &places)
            };
            write().map_err(|error| {
                if is_full(&error) {
                    places.short.notify_one();
                }
                failure("written", &places.unfinished, &error)
            })
        })
        .await
    }
}

/// The file of an upload, or its place before there is one.
enum SpillStart {
    No(UploadSlot),
    Yes(SpillFile),
}

impl SpillFile {
    fn new(folder: &Path, place: UploadSlot) -> io::Result<SpillFile> {
        // Opened here to keep the system's errors: those of `tempfile_in` have lost their number.
        let open = |path: &Path| File::options().read(true).write(true).create_new(true).mode(0o600).open(path);
        let file = tempfile::Builder::new().prefix("upload-").make_in(folder, open)?;
        Ok(SpillFile { file, hasher: Sha256::new(), place })
    }

    /// Adds bytes, unless fewer than `reserve` bytes would stay free on the disk.
    fn add(&mut self, bytes: &[u8], reserve: u64) -> io::Result<()> {
        if self.place.is_a_callers()
            && reserve > 0
            && disk::free_of(self.file.as_file())? < reserve.saturating_add(bytes.len() as u64)
        {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.hasher.update(bytes);
        self.file.as_file_mut().write_all(bytes)
    }

    /// Moves the file to its place among the contents, unless a file with the very same bytes is
    /// there already. Returns its hash with a pin. Anything else of that name is replaced.
    fn keep(self, places: &ContentFolders, size: u64) -> io::Result<(Hash, FilePin)> {
        places.are_still_there()?;
        let sha256 = self.hasher.finalize().into();
        // First, so that a file found there still exists when a row refers to it.
        let held = places.pins.pin(sha256);
        let path = places.file(&sha256);
        let folder = path.parent().unwrap_or(&places.root);
        match fs::create_dir(folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        match find_same(&path, self.file.as_file(), size) {
            // The new time shows the collector of unused files that this one is wanted again.
            Some(there) => there.set_modified(SystemTime::now())?,
            None => {
                self.file.as_file().sync_all()?;
                set_folder_aside(&path)?;
                self.file.persist(&path)?;
            }
        }
        // Also for an existing file: the process that put it there may not have synced yet.
        sync_folder(folder)?;
        sync_folder(&places.root)?;
        Ok((sha256, held))
    }
}

/// Returns the file at `path`, if it has the very bytes of the `new` one. A file of the same name
/// and length may be damaged, so the name proves nothing: acknowledged bytes must be readable
/// again.
fn find_same(path: &Path, new: &File, size: u64) -> Option<File> {
    let compared = open_regular(path).and_then(|(there, len)| {
        let same = len == size && are_same(&there, new, size)?;
        Ok(same.then_some(there))
    });
    match compared {
        Ok(Some(there)) => return Some(there),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Ok(None) => {
            let path = path.display();
            tracing::warn!(%path, "the file of a content was damaged; an upload of the right bytes replaces it");
        }
        Err(error) => {
            let path = path.display();
            tracing::warn!(%path, %error, "the file of a content can't be read; an upload of its bytes replaces it");
        }
    }
    None
}

/// Number of bytes compared at a time.
const COMPARED: usize = 64 << 10;

/// Reports whether the first `size` bytes of both are the same.
fn are_same(one: &File, other: &File, size: u64) -> io::Result<bool> {
    let (mut left, mut right) = (vec![0; COMPARED], vec![0; COMPARED]);
    let mut at = 0;
    while at < size {
        let len = (size - at).min(COMPARED as u64) as usize;
        one.read_exact_at(&mut left[..len], at)?;
        other.read_exact_at(&mut right[..len], at)?;
        if left[..len] != right[..len] {
            return Ok(false);
        }
        at += len as u64;
    }
    Ok(true)
}

/// Moves a folder away from the place of a file, since no file can replace a folder. Anything in it
/// is kept under another name.
fn set_folder_aside(path: &Path) -> io::Result<()> {
    if fs::symlink_metadata(path).is_ok_and(|found| found.is_dir()) {
        fs::rename(path, path.with_extension("aside"))?;
    }
    Ok(())
}
