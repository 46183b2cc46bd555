//! The identity of the contents in `content/`, by which a server recognises that they belong to its
//! tables.
//!
//! That folder may be on a disk of its own. If the disk is not mounted, or the directory was
//! restored without it, an empty folder looks like the right one. New contents would be written to
//! the wrong disk, and be lost once the right one is back. So a file in the folder has the identity
//! of the contents, and a mark in the tables has the same. The file is created first, and synced
//! with its name. So once the mark exists, the file does too; where the file is missing, the
//! contents are missing.
//!
//! An older directory has neither. It gets both, unless its rows refer to files and none of these
//! exists.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::path::Path;

use bytes::Bytes;
use stet_actors::repository::Repository;
use stet_domain::error::Result;
use stet_domain::store::{KeyRange, ReadLevel, RowChange, RowReader, StoreError, Table};

use super::{ContentStore, sync_folder};

/// The file's name in the folder of contents.
pub(super) const FILE: &str = "identity";

/// The mark's key in [`Table::Marks`].
pub const MARK: &[u8] = b"contents";

/// Maximum number of referenced files that are looked for in an older directory.
const LOOKED_FOR: usize = 1_000;

/// The identity of contents: 32 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContentIdentity(String);

impl ContentIdentity {
    fn new() -> ContentIdentity {
        ContentIdentity(format!("{:032x}", rand::random::<u128>()))
    }

    fn read(text: &[u8]) -> Option<ContentIdentity> {
        let text = str::from_utf8(text).ok()?.trim();
        let well = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        well.then(|| ContentIdentity(text.to_owned()))
    }

    /// Returns the identity of the contents in the data directory `data`; `None` if the file is
    /// missing. A malformed identity counts as that of another directory.
    fn in_folder(data: &Path) -> io::Result<Option<ContentIdentity>> {
        // Read beyond the length of an identity, so that a longer text is no identity.
        let mut text = Vec::new();
        match File::open(super::folder_in(data).join(FILE)) {
            Ok(file) => file.take(64).read_to_end(&mut text)?,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(None),
            Err(error) => return Err(error),
        };
        Ok(Some(
            ContentIdentity::read(&text)
                .unwrap_or_else(|| ContentIdentity(String::from_utf8_lossy(&text).into_owned())),
        ))
    }
}

/// The reason why contents do not belong to the tables: a sentence with the remedy.
pub type ContentMismatch = String;

/// Compares the contents in the data directory `data` with `mark`, the value of the mark in its
/// tables.
///
/// # Errors
/// The contents are missing, or another directory's.
pub fn compare(mark: &[u8], data: &Path) -> std::result::Result<(), ContentMismatch> {
    let folder = super::folder_in(data);
    let shown = folder.display();
    let advice = "mount the disk that they are on, or restore a backup of the whole directory, contents included";
    let Some(wanted) = ContentIdentity::read(mark) else {
        return Err("the tables don't state which contents are theirs: their mark can't be decoded".to_owned());
    };
    match ContentIdentity::in_folder(data) {
        Ok(Some(found)) if found == wanted => Ok(()),
        Ok(Some(_)) => {
            Err(format!("the contents in {shown} are another data directory's (by its file {FILE}): {advice}"))
        }
        Ok(None) => Err(format!(
            "the contents are not in {shown}, which has no file {FILE}: {advice}. If all contents are there and that file alone was lost, \
             write {} into it",
            wanted.0
        )),
        Err(error) => Err(format!("{} can't be read: {error}", folder.join(FILE).display())),
    }
}

/// Writes the identity of contents that were restored with tables whose mark is `mark`.
///
/// # Errors
/// The file can't be written.
pub fn write(mark: &[u8], data: &Path) -> io::Result<()> {
    let folder = super::folder_in(data);
    fs::create_dir_all(&folder)?;
    let mut file = File::create(folder.join(FILE))?;
    file.write_all(mark)?;
    file.sync_all()?;
    sync_folder(&folder)
}

/// The result of looking for the identity: whether the tables have a mark.
pub enum IdentityMark {
    /// The tables have a mark, and the contents match it.
    Known,
    /// The mark is still to be written.
    Unknown,
}

/// Checks whether the contents in the data directory `data` are those of its rows. Changes nothing.
///
/// # Errors
/// The contents are not those of the rows, or the rows can't be read.
pub fn look(store: &dyn RowReader, data: &Path) -> std::result::Result<IdentityMark, ContentMismatch> {
    let unread = |error: StoreError| format!("the identity of the contents can't be read from the tables: {error}");
    if let Some(mark) = store.get(ReadLevel::Committed, Table::Marks, MARK).map_err(unread)? {
        return compare(&mark, data).map(|()| IdentityMark::Known);
    }
    if let Ok(Some(_)) = ContentIdentity::in_folder(data) {
        // A crash came before the mark, or an operator wrote the file.
        return Ok(IdentityMark::Unknown);
    }
    let mut range = KeyRange::prefix(&[]);
    for looked in 0..LOOKED_FOR {
        let next = store.scan(ReadLevel::Committed, Table::Files, &range, 1, false).map_err(unread)?;
        let hash = next.first().and_then(|(key, _)| <[u8; 32]>::try_from(key.get(..32)?).ok());
        let Some(hash) = hash else {
            if looked == 0 {
                return Ok(IdentityMark::Unknown);
            }
            break;
        };
        if super::file_in(&super::folder_in(data), &hash).try_exists().unwrap_or(true) {
            return Ok(IdentityMark::Unknown);
        }
        // All other entries of that file are skipped.
        range = range.after(&[&hash[..], &[0xff; 64]].concat());
    }
    let folder = super::folder_in(data);
    Err(format!(
        "of the contents that rows speak of none is in {}: mount the disk that they are on, or restore a backup of the whole directory, \
         contents included. To go on without them, write 32 hexadecimal digits into {}",
        folder.display(),
        folder.join(FILE).display()
    ))
}

/// Gives contents that were checked by [`look`] an identity, and the tables their mark, if
/// they have none. A failure is logged, and the next start tries again: a server on a full disk
/// still serves reads.
pub async fn settle(found: IdentityMark, contents: &ContentStore, repository: &Repository) {
    let IdentityMark::Unknown = found else { return };
    let places = contents.places.clone();
    let made = super::blocking(move || {
        ensure_identity(&places.root, &places.unfinished)
            .map_err(|error| super::failure("written", &places.root.join(FILE), &error))
    });
    let noted = async {
        let ContentIdentity(text) = made.await?;
        let change = RowChange { table: Table::Marks, key: Bytes::from_static(MARK), value: Some(text.into()) };
        repository.commit(|set| set.changes = vec![change]).await
    };
    let noted: Result<()> = noted.await;
    if let Err(error) = noted {
        tracing::warn!(%error, "cannot store which contents belong to the tables");
    }
}

/// Returns the identity of the contents in `root`, created if missing. It stays, whatever fails
/// later.
fn ensure_identity(root: &Path, unfinished: &Path) -> io::Result<ContentIdentity> {
    let path = root.join(FILE);
    let there = match fs::read(&path) {
        Ok(text) => ContentIdentity::read(&text),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let identity = match there {
        // The process that wrote it may not have synced it.
        Some(identity) => {
            File::open(&path)?.sync_all()?;
            identity
        }
        None => {
            let (identity, new) = (ContentIdentity::new(), unfinished.join(FILE));
            let mut file = File::create(&new)?;
            file.write_all(format!("{}\n", identity.0).as_bytes())?;
            file.sync_all()?;
            fs::rename(&new, &path)?;
            identity
        }
    };
    sync_folder(root)?;
    Ok(identity)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use stet_actors::runtime::RuntimeOptions;
    use stet_domain::clock::ManualClock;
    use stet_domain::store::memory::MemoryStore;
    use tempfile::TempDir;

    use super::*;
    use crate::{UploadBounds, file_in, folder_in};

    struct Ground {
        data: TempDir,
        contents: ContentStore,
        store: Arc<MemoryStore>,
        repository: Repository,
    }

    impl Ground {
        async fn new() -> Ground {
            let (data, store) = (TempDir::new().unwrap(), Arc::new(MemoryStore::new()));
            let clock = Arc::new(ManualClock::at(1_700_000_000_000));
            let repository = Repository::start(store.clone(), clock, RuntimeOptions::default()).await.unwrap();
            let contents = ContentStore::open(data.path(), 100, UploadBounds::NONE).unwrap();
            Ground { data, contents, store, repository }
        }

        fn look(&self) -> std::result::Result<IdentityMark, ContentMismatch> {
            look(&*self.store, self.data.path())
        }

        async fn settle(&self) {
            settle(self.look().unwrap(), &self.contents, &self.repository).await;
        }

        /// Adds rows that refer to a file.
        async fn refer(&self, hash: [u8; 32]) {
            for entry in [&b"one"[..], b"other"] {
                let key = Bytes::from([&hash[..], entry].concat());
                let change = RowChange { table: Table::Files, key, value: Some(Bytes::new()) };
                self.repository.commit(|set| set.changes = vec![change]).await.unwrap();
            }
        }

        fn file(&self) -> std::path::PathBuf {
            folder_in(self.data.path()).join(FILE)
        }

        fn why(&self) -> String {
            self.look().err().expect("they are not the right ones")
        }
    }

    #[actix::test]
    async fn contents_get_an_identity_once_and_without_it_or_with_anothers_are_none() {
        let ground = Ground::new().await;
        assert!(matches!(ground.look(), Ok(IdentityMark::Unknown)));
        ground.settle().await;
        assert!(matches!(ground.look(), Ok(IdentityMark::Known)));
        let text = fs::read(ground.file()).unwrap();
        ground.settle().await;
        assert_eq!(fs::read(ground.file()).unwrap(), text);
        fs::remove_file(ground.file()).unwrap();
        let told = String::from_utf8(text.clone()).unwrap();
        assert!(ground.why().contains("mount the disk") && ground.why().contains(told.trim()), "{}", ground.why());
        for foreign in [&b"0123456789abcdef0123456789abcdef\n"[..], b"", b"nonsense"] {
            fs::write(ground.file(), foreign).unwrap();
            assert!(ground.why().contains("are another data directory's"), "{}", ground.why());
        }
        fs::remove_dir_all(folder_in(ground.data.path())).unwrap();
        assert!(ground.why().contains("has no file identity"));
        fs::create_dir(folder_in(ground.data.path())).unwrap();
        fs::write(ground.file(), text).unwrap();
        assert!(matches!(ground.look(), Ok(IdentityMark::Known)));
    }

    #[actix::test]
    async fn a_crash_before_the_mark_leaves_what_the_next_start_takes() {
        let ground = Ground::new().await;
        let made = ensure_identity(&ground.contents.places.root, &ground.contents.places.unfinished).unwrap();
        ground.settle().await;
        assert!(matches!(ground.look(), Ok(IdentityMark::Known)));
        assert_eq!(ContentIdentity::in_folder(ground.data.path()).unwrap(), Some(made));
    }

    #[actix::test]
    async fn a_directory_of_before_gets_an_identity_if_any_of_its_contents_is_there() {
        let ground = Ground::new().await;
        for hash in [[1; 32], [2; 32], [0xff; 32]] {
            ground.refer(hash).await;
        }
        assert!(ground.why().contains("none is in"), "{}", ground.why());
        let there = file_in(ground.contents.root(), &[0xff; 32]);
        fs::create_dir(there.parent().unwrap()).unwrap();
        fs::write(&there, "bytes").unwrap();
        ground.settle().await;
        assert!(matches!(ground.look(), Ok(IdentityMark::Known)));
    }
}
