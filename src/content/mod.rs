//! The bytes of objects.
//!
//! A small content travels in the change set and lies in the tables. A larger one is a file below
//! `<data>/content`, named by its SHA-256 (`ab/cdef…`), never changed once it is there, and shared
//! by all versions with the same bytes. Such a file is written and synced, its name too, before the
//! change that refers to it is submitted: a version whose content is not there can't come about,
//! whatever fails. The other way round it can: a file that nothing refers to is left behind when
//! the change is refused, and is collected later ([`collect`]).
//!
//! Disk work is done on the blocking pool of the runtime that a call is made in.

pub(crate) mod collect;
pub mod download;
pub(crate) mod identity;
pub(crate) mod picture;
mod pins;
mod reader;
pub(crate) mod scaling;
#[cfg(test)]
mod tests;
pub(crate) mod text;
mod under_way;
mod upload;
pub(crate) mod words;

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::OFlags;
use rustix::io::Errno;
use sha2::{Digest, Sha256};
use stet_actors::error::{Code, Error, Result};
use stet_actors::object::{Content, Pin, Stored};
use tokio::sync::Notify;

use self::pins::{Hash, Pins};
pub use self::reader::{CHUNK, ContentReader};
use self::under_way::UnderWay;
pub use self::upload::Upload;
use crate::limits::Reservation;

/// The folder of the data directory that contents lie in.
const FOLDER: &str = "content";

/// The folder in it where they are written.
const UNFINISHED: &str = "tmp";

/// How many folders the files lie in: one for each first byte of a hash.
const FOLDERS: u16 = 256;

/// Bytes of a file in memory while it is hashed.
const HASHED: usize = 256 << 10;

/// The folder of the contents whose hashes begin with a byte.
fn folder_name(byte: u16) -> String {
    format!("{byte:02x}")
}

/// Where the contents of the data directory `data` lie: another disk may be mounted there.
pub(crate) fn folder_in(data: &Path) -> PathBuf {
    data.join(FOLDER)
}

/// What a server must be able to write in for contents to come about, relative to the data
/// directory: the folder they lie in, the one where they are written, and those they get to. Not
/// all need be there.
pub(crate) fn folders() -> impl Iterator<Item = PathBuf> {
    let below = [UNFINISHED.to_owned()].into_iter().chain((0..FOLDERS).map(folder_name));
    [PathBuf::from(FOLDER)].into_iter().chain(below.map(|name| Path::new(FOLDER).join(name)))
}

/// Whether files of contents lie in the data directory `data`, or did. A folder made for them
/// beforehand, as where another disk is mounted, has none.
///
/// # Errors
/// It can't be looked into.
pub(crate) fn is_any_in(data: &Path) -> io::Result<bool> {
    let finished = (0..FOLDERS).map(|number| folder_in(data).join(folder_name(number)));
    for folder in finished {
        if folder.try_exists()? {
            return Ok(true);
        }
    }
    folder_in(data).join(identity::FILE).try_exists()
}

/// Removes all contents from the data directory `data`; the folder they lie in stays, and so does
/// what is no content.
///
/// # Errors
/// One can't be removed.
pub(crate) fn remove_all_in(data: &Path) -> io::Result<()> {
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

/// The contents in a data directory. Clones share it.
#[derive(Debug, Clone)]
pub struct ContentStore {
    places: Arc<Places>,
}

#[derive(Debug)]
struct Places {
    /// The folder of that path when it was opened.
    opened: File,
    /// Where finished files lie.
    root: PathBuf,
    /// Where files are while they are written; on the same file system, so that renaming is all
    /// that finishing takes.
    unfinished: PathBuf,
    /// Bytes up to which a content lies in the tables.
    small_body_bytes: usize,
    /// What must stay although no row refers to it yet.
    pins: Arc<Pins>,
    /// Bytes of the disk that callers' uploads leave free.
    reserve_bytes: u64,
    /// Uploads whose bytes are on their way to the disk.
    under_way: Arc<UnderWay>,
    /// There was no room for an upload.
    short: Notify,
}

/// What callers' uploads may take together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UploadBounds {
    /// Bytes of the disk that they leave free.
    pub reserve_bytes: u64,
    /// How many may be on their way to the disk at a time.
    pub at_once: usize,
}

impl UploadBounds {
    /// No bounds: where no caller uploads.
    pub const NONE: UploadBounds = UploadBounds { reserve_bytes: 0, at_once: usize::MAX };
}

impl ContentStore {
    /// Opens the contents in the data directory `data`, and removes what was being written when the
    /// last process ended. The caller must be alone in the directory: have the store open, which
    /// sees to that.
    ///
    /// # Errors
    /// The folders can't be made or read.
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
            tracing::info!(removed, "unfinished uploads of the last run are removed");
        }
        let pins = Arc::new(Pins::default());
        let UploadBounds { reserve_bytes, at_once } = bounds;
        let (under_way, short) = (UnderWay::new(at_once), Notify::new());
        let opened = File::open(&root)?;
        let places = Places { opened, root, unfinished, small_body_bytes, pins, reserve_bytes, under_way, short };
        Ok(ContentStore { places: Arc::new(places) })
    }

    /// A new content, to be fed. What of it is in memory takes of `room`, and what is on disk
    /// counts for its holder.
    pub fn upload(&self, room: &Arc<Reservation>) -> Upload {
        Upload::new(self.places.clone(), room)
    }

    /// Whether the file of a content is there, as long as it must be. Whether its bytes are the
    /// right ones takes reading them all: see [`ContentStore::damage_of`].
    pub fn is_there(&self, content: &Content) -> bool {
        let found = fs::symlink_metadata(self.places.file(&content.sha256));
        found.is_ok_and(|found| found.is_file() && found.len() == content.size)
    }

    /// Where the file of the content with that hash is, or would be.
    pub fn path(&self, sha256: &[u8; 32]) -> PathBuf {
        self.places.file(sha256)
    }

    /// What is wrong with the file of the content with that hash; `None` if its bytes are the right
    /// ones. Reads them all, with little memory.
    pub fn damage_of(&self, sha256: &[u8; 32]) -> Option<String> {
        match hash_of(&self.places.file(sha256)) {
            Err(error) => Some(format!("it can't be read: {error}")),
            Ok(found) if found != *sha256 => Some(format!("its bytes have the SHA-256 {}", hex(&found))),
            Ok(_) => None,
        }
    }

    /// Keeps the file of a content that is to be referred to again; `None` if there is no such
    /// file. For contents that were read from rows of another container, which may end meanwhile.
    /// Takes as long as looking up a row.
    pub fn pin(&self, content: &Content) -> Option<Pin> {
        let held = self.places.pins.pin(content.sha256);
        self.is_there(content).then(|| Arc::new(held) as Pin)
    }

    /// Where the files lie: another disk may be mounted there.
    pub fn root(&self) -> &Path {
        &self.places.root
    }

    /// How many folders the files lie in.
    pub fn folders(&self) -> usize {
        usize::from(FOLDERS)
    }

    /// How many files one of the folders has, and their bytes.
    ///
    /// # Errors
    /// It can't be read.
    pub fn size_of_folder(&self, number: usize) -> io::Result<(u64, u64)> {
        let number = u16::try_from(number).map_err(io::Error::other)?;
        let files = collect::old_files(&self.places.folder(number), Duration::ZERO)?;
        Ok((files.len() as u64, files.iter().map(|(_, size)| size).sum()))
    }

    /// Calls `each` with the hash and size of every file there is.
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

    /// A content that lies in a file, which must be there: some row refers to it. One that lies in
    /// the tables is read there: see [`ContentReader::of`].
    ///
    /// # Errors
    /// `RepositoryError`: the file is missing, is not as long as it was, or can't be read.
    pub async fn open_content(&self, content: &Content) -> Result<ContentReader> {
        let missing = || failure("opened", &self.places.file(&content.sha256), &io::ErrorKind::NotFound.into());
        self.open_if_there(content).await?.ok_or_else(missing)
    }

    /// As [`ContentStore::open_content`]; `None` if there is no such file. For readers of a row
    /// that may have changed meanwhile: then the file may have been collected, which is no failure.
    ///
    /// # Errors
    /// `RepositoryError`: the file is not as long as it was, or can't be read.
    pub async fn open_if_there(&self, content: &Content) -> Result<Option<ContentReader>> {
        if content.stored != Stored::File {
            tracing::error!(sha256 = hex(&content.sha256), "a content in the tables was looked for among the files");
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
                tracing::error!(path = %path.display(), found, wanted = size, "a content is not as long as it was");
                return Err(Error::internal());
            }
            Ok(Some(ContentReader::of_file(file, path, size)))
        })
        .await
    }
}

impl Places {
    /// Makes sure that the folder at the path of the contents is still the one that was opened. To
    /// be asked before a file gets its name there or loses it: where the data directory was moved
    /// away and another put in its place, such as a backup, the rows that are asked about contents
    /// are not those of what lies there.
    ///
    /// # Errors
    /// It is another, or none.
    fn are_still_there(&self) -> io::Result<()> {
        let (at, own) = (fs::metadata(&self.root)?, self.opened.metadata()?);
        if (at.dev(), at.ino()) == (own.dev(), own.ino()) {
            return Ok(());
        }
        Err(io::Error::other(
            "another folder is in place of the one that was opened: stop the server before its data directory is moved",
        ))
    }

    /// The folder of the hashes with that first byte.
    fn folder(&self, number: u16) -> PathBuf {
        self.root.join(folder_name(number))
    }

    fn file(&self, sha256: &[u8; 32]) -> PathBuf {
        file_in(&self.root, sha256)
    }
}

/// The file of the content with that hash in a folder of contents.
fn file_in(root: &Path, sha256: &[u8; 32]) -> PathBuf {
    let name = hex(sha256);
    // By the first byte, so that no folder gets too long for programs that list it.
    root.join(&name[..2]).join(&name[2..])
}

/// Opens a content's file to be read, and gives its length. What is no regular file is none of
/// ours, and may be without end, or never answer: it is not followed, nor waited for.
fn open_regular(path: &Path) -> io::Result<(File, u64)> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = File::options().read(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it is no regular file"));
    }
    Ok((file, found.len()))
}

/// The hash of what is in a file.
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

/// The hash that a file below the folder of contents is named by; `None` if it is another file.
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
    // Not one in capitals, which would be looked for under another name.
    (hex(&hash) == name).then_some(hash)
}

/// Runs disk work where it stalls no other call.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => {
            tracing::error!(%error, "disk work on a content was cut off");
            Err(Error::internal())
        }
    }
}

fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    // Too large is a file beyond what this process may write (`ulimit -f`), or the file system
    // keep.
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}

/// Whether the process, or the machine, has as many files open as it may.
fn is_out_of_files(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    errno == Some(Errno::MFILE) || errno == Some(Errno::NFILE)
}

/// What a client gets to see of an error of the disk; the rest goes to the log.
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
        return Error::new(Code::StorageFull, "There is no room left for the content; nothing was changed.");
    }
    if many {
        return Error::new(
            Code::Overloaded,
            "The server has as many files open as it may; nothing was changed. Try again.",
        );
    }
    Error::internal()
}
