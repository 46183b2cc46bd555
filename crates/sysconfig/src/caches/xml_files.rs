//! Configuration files that clients read, kept in memory until they are cleared.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use quick_cache::Weighter;
use stet_base::limits::bounded_cache::{self, BoundedCache};
use stet_base::limits::offload;
use stet_domain::error::{Code, Error, Result};
use stet_domain::id::DatabaseId;

use super::origin::RepositoryFiles;
use crate::fault::ConfigurationFault;
use crate::files::{FileLookup, FileShelf, Files, ReadingOutcome, too_much};
use crate::whole::{WholeFile, whole};

/// The database and path of a file, and whether its included files are put in.
type XmlFileKey = (DatabaseId, Box<str>, bool);

/// The text of a file, for clients.
#[derive(Debug, PartialEq, Eq)]
pub struct XmlFile {
    /// Well-formed XML in UTF-8.
    pub text: Bytes,
    /// Name of the root element.
    pub root: String,
    /// SHA-256 of the text, for its ETag.
    pub sha256: [u8; 32],
}

#[derive(Clone)]
struct XmlFileWeigher;

impl Weighter<XmlFileKey, Arc<XmlFile>> for XmlFileWeigher {
    fn weight(&self, key: &XmlFileKey, file: &Arc<XmlFile>) -> u64 {
        (bounded_cache::ENTRY + key.1.len() + file.root.len() + file.text.len()) as u64
    }
}

/// The cache of configuration files for clients.
pub struct XmlFiles {
    files: RepositoryFiles,
    kept: BoundedCache<XmlFileKey, Arc<XmlFile>, XmlFileWeigher>,
    /// The number of calls of [`XmlFiles::clear`].
    cleared: AtomicU64,
}

impl XmlFiles {
    /// Creates a cache of at most `bytes`.
    pub(super) fn new(files: RepositoryFiles, bytes: u64) -> XmlFiles {
        // One shard, because a single file may be large.
        XmlFiles {
            files,
            kept: BoundedCache::new("xml_files", bytes, 16 << 10, 1, XmlFileWeigher),
            cleared: AtomicU64::new(0),
        }
    }

    /// Clears the cache, so that each file is read again.
    pub fn clear(&self) {
        // First, so that no concurrent reader keeps what it read before.
        self.cleared.fetch_add(1, Ordering::SeqCst);
        self.kept.clear();
    }

    /// Returns a file of a database, or else of the main database. If `resolved`, its included
    /// files are put in.
    ///
    /// # Errors
    /// `ObjectNotFound`; `InvalidBody` for a file that is no XML or has an include that is refused;
    /// errors of the disk and the store.
    pub async fn get(&self, database: DatabaseId, path: &str, resolved: bool) -> Result<Arc<XmlFile>> {
        let key = (database, Box::from(path), resolved);
        if let Some(kept) = self.kept.get(&key) {
            return Ok(kept);
        }
        let before = self.cleared.load(Ordering::SeqCst);
        let file = Arc::new(self.read(database, path, resolved).await?);
        self.kept.insert(key.clone(), file.clone());
        if self.cleared.load(Ordering::SeqCst) != before {
            // The file may be from before the clearing. A newer one that is removed with it is only
            // read again.
            self.kept.remove(&key);
        }
        Ok(file)
    }

    async fn read(&self, database: DatabaseId, path: &str, resolved: bool) -> Result<XmlFile> {
        let mut files = Files::new();
        loop {
            let asked = path.to_owned();
            let (read, known) = offload::offload(move || (text_of(&files, &asked, resolved), files)).await?;
            files = known;
            let needed = match read {
                XmlFileOutcome::Text(file) => return Ok(file),
                XmlFileOutcome::Missing => return Err(Error::not_found(path)),
                XmlFileOutcome::Faulty(fault) => {
                    let message = format!("The file can't be read as XML: {fault}.");
                    return Err(Error::new(Code::InvalidBody, message).with_source(path));
                }
                XmlFileOutcome::Needs(needed) => needed,
            };
            let mut left = needed.len();
            for needed in needed {
                if let Some(why) = too_much(&files, left) {
                    let message = format!("`{path}` includes too much: {why}.");
                    return Err(Error::new(Code::InvalidBody, message).with_source(path));
                }
                left -= 1;
                let file = self.files.file(database, &needed, None).await?;
                files.insert(needed, file);
            }
        }
    }
}

enum XmlFileOutcome {
    Text(XmlFile),
    Missing,
    Faulty(ConfigurationFault),
    Needs(std::collections::BTreeSet<String>),
}

fn text_of(files: &Files, path: &str, resolved: bool) -> XmlFileOutcome {
    let shelf = FileShelf::of(files);
    let read = if resolved { whole(path, &shelf) } else { as_it_is(path, &shelf) };
    match read {
        ReadingOutcome::Done(Some(whole)) => match whole.root() {
            Ok(root) => XmlFileOutcome::Text(XmlFile {
                sha256: <sha2::Sha256 as sha2::Digest>::digest(whole.text.as_bytes()).into(),
                text: whole.text.into(),
                root,
            }),
            Err(fault) => XmlFileOutcome::Faulty(fault),
        },
        ReadingOutcome::Done(None) => XmlFileOutcome::Missing,
        // A faulty reading has at least one fault.
        ReadingOutcome::Faulty { mut faults, .. } => XmlFileOutcome::Faulty(faults.swap_remove(0)),
        ReadingOutcome::Needs(_) => XmlFileOutcome::Needs(shelf.needed()),
    }
}

/// Returns a file with its includes as they are.
fn as_it_is(path: &str, shelf: &FileShelf<'_>) -> ReadingOutcome<Option<WholeFile>> {
    match shelf.ask(path) {
        FileLookup::Here(file) => match &file.text {
            Ok(text) => ReadingOutcome::Done(Some(WholeFile::of_text(path, text))),
            Err(why) => ReadingOutcome::Faulty {
                faults: vec![ConfigurationFault::of_file(path, why.clone())],
                unknown: Vec::new(),
            },
        },
        FileLookup::Missing => ReadingOutcome::Done(None),
        FileLookup::Unknown => ReadingOutcome::Needs(Default::default()),
    }
}
