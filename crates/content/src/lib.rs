//! The bytes of objects.
//!
//! A small content is part of the change set, and stored in the tables. A larger one is a file
//! below `<data>/content`, named by its SHA-256 (`ab/cdef…`), never changed, and shared by all
//! versions with the same bytes. The file is written and synced, with its name, before the change
//! that refers to it is submitted. So there is never a version without its content, whatever fails.
//! There may be a file that nothing refers to: it is left behind when the change is refused, and is
//! collected later ([`collect`]).
//!
//! Disk work runs on the blocking pool of the call's runtime.

pub mod collect;
pub mod download;
pub mod identity;
pub mod picture;
mod pins;
mod reader;
pub mod scaling;
#[cfg(test)]
mod tests;
pub mod text;
mod under_way;
mod upload;
pub mod words;

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::OFlags;
use rustix::io::Errno;
use sha2::{Digest, Sha256};
use stet_base::limits::Reservation;
use stet_domain::error::{Code, Error, Result};
use stet_domain::object::{Content, ContentLocation, ContentPin};
use tokio::sync::Notify;

use self::pins::{Hash, Pins};
pub use self::reader::{CHUNK, ContentReader};
use self::under_way::UploadLimit;
pub use self::upload::Upload;

/// The folder of contents in the data directory.
const FOLDER: &str = "content";

/// The folder in it for files that are being written.
const UNFINISHED: &str = "tmp";

/// Number of folders of files: one for each first byte of a hash.
const FOLDERS: u16 = 256;

/// Bytes of a file that are in memory while it is hashed.
const HASHED: usize = 256 << 10;

/// Returns the name of the folder for the hashes that begin with a byte.
fn folder_name(byte: u16) -> String {
    format!("{byte:02x}")
}

/// Returns the folder of contents in the data directory `data`. Another disk may be mounted there.
pub fn folder_in(data: &Path) -> PathBuf {
    data.join(FOLDER)
}

/// Returns the folders in which a server must be able to write for contents, relative to the data
/// directory: the folder of contents, that of unfinished files, and those of finished files. Some
/// may not exist yet.
pub fn folders() -> impl Iterator<Item = PathBuf> {
    let below = [UNFINISHED.to_owned()].into_iter().chain((0..FOLDERS).map(folder_name));
    [PathBuf::from(FOLDER)].into_iter().chain(below.map(|name| Path::new(FOLDER).join(name)))
}

/// Reports whether the data directory `data` has or had files of contents. A folder created for
/// them beforehand, such as a mount point, does not count.
///
/// # Errors
/// The folder can't be read.
pub fn is_any_in(data: &Path) -> io::Result<bool> {
    let finished = (0..FOLDERS).map(|number| folder_in(data).join(folder_name(number)));
    for folder in finished {
        if folder.try_exists()? {
            return Ok(true);
        }
    }
    folder_in(data).join(identity::FILE).try_exists()
}

/// Removes all contents from the data directory `data`. The folder of contents stays, and so do
/// foreign files.
///
/// # Errors
/// A file can't be removed.
pub fn remove_all_in(data: &Path) -> io::Result<()> {
    let root = folder_in(data);
    for folder in (0..FOLDERS).map(folder_name).chain([UNFINISHED.to_owned()]) {
        match fs::remove_dir_all(root.join(folder)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    match fs::remove_file(root.join(identity::FILE)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    if root.try_exists()? { sync_folder(&root) } else { Ok(()) }
}

/// The contents in a data directory. Clones share them.
#[derive(Debug, Clone)]
pub struct ContentStore {
    places: Arc<ContentFolders>,
}

#[derive(Debug)]
struct ContentFolders {
    /// The folder of contents, as it was opened.
    opened: File,
    /// The folder of finished files.
    root: PathBuf,
    /// The folder of files that are being written; on the same file system, so that renaming is
    /// enough to finish a file.
    unfinished: PathBuf,
    /// Maximum bytes of a content that is stored in the tables.
    small_body_bytes: usize,
    /// Files that must stay although no row refers to them yet.
    pins: Arc<Pins>,
    /// Bytes of free space on the disk that callers' uploads leave.
    reserve_bytes: u64,
    /// Uploads that are being written to the disk.
    under_way: Arc<UploadLimit>,
    /// Notified when there was no room for an upload.
    short: Notify,
}

/// The limits on all uploads of callers together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UploadBounds {
    /// Bytes of free space on the disk that they leave.
    pub reserve_bytes: u64,
    /// Maximum number of uploads written to the disk at a time.
    pub at_once: usize,
}

impl UploadBounds {
    /// No limits, for uses without uploads of callers.
    pub const NONE: UploadBounds = UploadBounds { reserve_bytes: 0, at_once: usize::MAX };
}

impl ContentStore {
    /// Opens the contents in the data directory `data`, and removes files that the last process was
    /// writing. No other process may use the directory: the caller must have the store open, which
    /// ensures that.
    ///
    /// # Errors
    /// The folders can't be created or read.
    pub fn open(data: &Path, small_body_bytes: usize, bounds: UploadBounds) -> io::Result<ContentStore> {
        let root = folder_in(data);
        let unfinished = root.join(UNFINISHED);
        fs::create_dir_all(&unfinished)?;
        sync_folder(data)?;
        sync_folder(&root)?;
        let mut removed = 0;
        for entry in fs::read_dir(&unfinished)? {
            fs::remove_file(entry?.path())?;
            removed += 1;
        }
        if removed > 0 {
            tracing::info!(removed, "removed unfinished uploads of the last run");
        }
        let pins = Arc::new(Pins::default());
        let UploadBounds { reserve_bytes, at_once } = bounds;
        let (under_way, short) = (UploadLimit::new(at_once), Notify::new());
        let opened = File::open(&root)?;
        let places =
            ContentFolders { opened, root, unfinished, small_body_bytes, pins, reserve_bytes, under_way, short };
        Ok(ContentStore { places: Arc::new(places) })
    }

    /// Begins the upload of a new content. Its bytes in memory are taken from `room`, and those on
    /// disk are charged to the holder of `room`.
    pub fn upload(&self, room: &Arc<Reservation>) -> Upload {
        Upload::new(self.places.clone(), room)
    }

    /// Reports whether the file of a content exists with the right length. Checking its bytes takes
    /// reading them all: see [`ContentStore::damage_of`].
    pub fn is_there(&self, content: &Content) -> bool {
        let found = fs::symlink_metadata(self.places.file(&content.sha256));
        found.is_ok_and(|found| found.is_file() && found.len() == content.size)
    }

    /// Returns the path of the file for that hash, whether or not it exists.
    pub fn path(&self, sha256: &[u8; 32]) -> PathBuf {
        self.places.file(sha256)
    }

    /// Returns the fault of the file for that hash; `None` if its bytes are right. Reads all bytes,
    /// with little memory.
    pub fn damage_of(&self, sha256: &[u8; 32]) -> Option<String> {
        match hash_of(&self.places.file(sha256)) {
            Err(error) => Some(format!("it can't be read: {error}")),
            Ok(found) if found != *sha256 => Some(format!("its bytes have the SHA-256 {}", hex(&found))),
            Ok(_) => None,
        }
    }

    /// Pins the file of a content that is to be referred to again; `None` if the file is missing.
    /// For contents that were read from rows of another container, which may be destroyed at any
    /// time. Takes as long as looking up a row.
    pub fn pin(&self, content: &Content) -> Option<ContentPin> {
        let held = self.places.pins.pin(content.sha256);
        self.is_there(content).then(|| Arc::new(held) as ContentPin)
    }

    /// Returns the folder of the files. Another disk may be mounted there.
    pub fn root(&self) -> &Path {
        &self.places.root
    }

    /// Returns the number of folders of files.
    pub fn folders(&self) -> usize {
        usize::from(FOLDERS)
    }

    /// Returns the number of files in one of the folders, and their bytes.
    ///
    /// # Errors
    /// The folder can't be read.
    pub fn size_of_folder(&self, number: usize) -> io::Result<(u64, u64)> {
        let number = u16::try_from(number).map_err(io::Error::other)?;
        let files = collect::old_files(&self.places.folder(number), Duration::ZERO)?;
        Ok((files.len() as u64, files.iter().map(|(_, size)| size).sum()))
    }

    /// Calls `each` with the hash and size of every file.
    ///
    /// # Errors
    /// A folder can't be read.
    pub fn for_each(&self, mut each: impl FnMut(&[u8; 32], u64)) -> io::Result<()> {
        for number in 0..FOLDERS {
            for (hash, size) in collect::old_files(&self.places.folder(number), Duration::ZERO)? {
                each(&hash, size);
            }
        }
        Ok(())
    }

    /// Opens a content that is stored in a file, which must exist: some row refers to it. For a
    /// content in the tables see [`ContentReader::of`].
    ///
    /// # Errors
    /// `RepositoryError` if the file is missing, has another length, or can't be read.
    pub async fn open_content(&self, content: &Content) -> Result<ContentReader> {
        let missing = || failure("opened", &self.places.file(&content.sha256), &io::ErrorKind::NotFound.into());
        self.open_if_there(content).await?.ok_or_else(missing)
    }

    /// Opens a content that is stored in a file; `None` if the file is missing. For readers of a
    /// row that may have changed since: then the file may have been collected, which is no failure.
    ///
    /// # Errors
    /// `RepositoryError` if the file has another length, or can't be read.
    pub async fn open_if_there(&self, content: &Content) -> Result<Option<ContentReader>> {
        if content.stored != ContentLocation::File {
            tracing::error!(
                sha256 = hex(&content.sha256),
                "a content that is stored in the tables was requested as a file"
            );
            return Err(Error::internal());
        }
        let path = self.places.file(&content.sha256);
        let size = content.size;
        blocking(move || {
            let (file, found) = match open_regular(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                opened => opened.map_err(|error| failure("opened", &path, &error))?,
            };
            if found != size {
                tracing::error!(path = %path.display(), found, wanted = size, "a content file has the wrong size");
                return Err(Error::internal());
            }
            Ok(Some(ContentReader::of_file(file, path, size)))
        })
        .await
    }
}

impl ContentFolders {
    /// Checks that the folder at the path of the contents is still the one that was opened. Called
    /// before a file gets its name there or loses it. If the data directory was moved away and
    /// replaced, such as by a backup, the open tables do not belong to the files there.
    ///
    /// # Errors
    /// It is another folder, or is missing.
    fn are_still_there(&self) -> io::Result<()> {
        let (at, own) = (fs::metadata(&self.root)?, self.opened.metadata()?);
        if (at.dev(), at.ino()) == (own.dev(), own.ino()) {
            return Ok(());
        }
        Err(io::Error::other(
            "another folder is in place of the one that was opened: stop the server before its data directory is moved",
        ))
    }

    /// Returns the folder of the hashes with that first byte.
    fn folder(&self, number: u16) -> PathBuf {
        self.root.join(folder_name(number))
    }

    fn file(&self, sha256: &[u8; 32]) -> PathBuf {
        file_in(&self.root, sha256)
    }
}

/// Returns the file for that hash in a folder of contents.
fn file_in(root: &Path, sha256: &[u8; 32]) -> PathBuf {
    let name = hex(sha256);
    // Split by the first byte, so that no folder gets too long for programs that list it.
    root.join(&name[..2]).join(&name[2..])
}

/// Opens a content's file for reading, and returns its length. A file of another kind is foreign,
/// and may be endless or never answer. So links are not followed, and opening does not wait.
fn open_regular(path: &Path) -> io::Result<(File, u64)> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = File::options().read(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it is no regular file"));
    }
    Ok((file, found.len()))
}

/// Computes the hash of a file's bytes.
fn hash_of(path: &Path) -> io::Result<Hash> {
    let (mut file, _) = open_regular(path)?;
    let mut hasher = Sha256::new();
    let mut bytes = vec![0; HASHED];
    loop {
        let read = match file.read(&mut bytes) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        if read == 0 {
            return Ok(hasher.finalize().into());
        }
        hasher.update(&bytes[..read]);
    }
}

/// Makes the names in a folder durable.
fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

fn hex(sha256: &[u8; 32]) -> String {
    sha256.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the hash by which a file below the folder of contents is named; `None` for other files.
fn file_hash(path: &Path) -> Option<Hash> {
    let rest = path.file_name()?.to_str()?;
    let name = format!("{}{rest}", path.parent()?.file_name()?.to_str()?);
    let mut hash = [0; 32];
    if name.len() != 2 * hash.len() || rest.len() != 62 || !name.is_ascii() {
        return None;
    }
    for (byte, digits) in hash.iter_mut().zip(name.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()?;
    }
    // Names in capitals are none of ours: they would be looked for in lower case.
    (hex(&hash) == name).then_some(hash)
}

/// Runs disk work on the blocking pool, where it stalls no other call.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => {
            tracing::error!(%error, "disk work on a content was interrupted");
            Err(Error::internal())
        }
    }
}

fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    // A file is too large beyond the limit of this process (`ulimit -f`) or of the file system.
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}

/// Reports whether the process, or the machine, has reached its limit of open files.
fn is_out_of_files(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    errno == Some(Errno::MFILE) || errno == Some(Errno::NFILE)
}

/// Logs an error of the disk, and returns the error for the client, without the details.
fn failure(what: &'static str, path: &Path, error: &io::Error) -> Error {
    tracing::error!(path = %path.display(), %error, "a content can't be {what}");
    let (full, many) = (is_full(error), is_out_of_files(error));
    let why = if full {
        "full"
    } else if many {
        "files"
    } else {
        "failed"
    };
    metrics::counter!("stet_content_failures_total", "what" => what, "why" => why).increment(1);
    if full {
        return Error::new(Code::StorageFull, "No disk space is left for the content; nothing was changed.");
    }
    if many {
        return Error::new(
            Code::Overloaded,
            "The server has reached its limit of open files; nothing was changed. Try again.",
        );
    }
    Error::internal()
}
