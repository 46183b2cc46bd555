//! Stored contents, opened together with their bytes.

use std::fmt::Display;

use bytes::Bytes;
use stet_actors::repository::Reader;
use stet_domain::error::{Code, Error, Result};
use stet_domain::object::{Content as StoredContent, ContentLocation, SmallBody, Version};
use stet_domain::store::{ReadLevel, RowPlace};

use crate::{ContentReader, ContentStore};

/// Maximum number of attempts to read a content that is replaced each time.
const TRIES: usize = 16;

/// A content with the place of its bytes.
#[derive(Debug, Clone, PartialEq)]
pub struct LocatedContent {
    /// The content's record.
    pub content: StoredContent,
    /// Key of the row with the bytes, if they are small.
    pub small: RowPlace,
    /// Time at which the bytes were written, epoch seconds.
    pub at: u64,
}

impl From<Version> for LocatedContent {
    fn from(version: Version) -> LocatedContent {
        LocatedContent { small: SmallBody::key(version.loid), content: version.content, at: version.at }
    }
}

/// A content with its own bytes, whatever has replaced it since.
#[derive(Debug)]
pub struct OpenedContent {
    /// The content's record.
    pub content: StoredContent,
    /// Time at which the bytes were written, epoch seconds.
    pub at: u64,
    /// The reader of the bytes.
    pub reader: ContentReader,
}

impl OpenedContent {
    /// Opens the content that `locate` returns. Small bytes may be replaced in place between
    /// reading the record and reading the bytes. Then both are read again, so that they always
    /// belong together. `named` is the caller's name of the object.
    ///
    /// # Errors
    /// Errors of `locate`; `Overloaded` when the content is replaced again and again;
    /// `ObjectNotFound`; errors of disk and store.
    pub async fn open<E: From<Error>>(
        repository: &Reader,
        files: &ContentStore,
        named: impl Display,
        locate: impl Fn() -> Result<LocatedContent, E>,
    ) -> Result<OpenedContent, E> {
        for _ in 0..TRIES {
            let located = locate()?;
            let reader = match located.content.stored {
                // A file is named by its hash: if it exists it is the right one.
                ContentLocation::File => match files.open_if_there(&located.content).await {
                    Ok(Some(reader)) => Ok(reader),
                    _ if locate()? != located => continue,
                    // The row still refers to the file, so a missing one is an error.
                    Ok(None) => files.open_content(&located.content).await,
                    Err(error) => Err(error),
                },
                ContentLocation::Row => {
                    let bytes = read_small(repository, &located.small, &named);
                    if locate()? != located {
                        continue;
                    }
                    // The row is missing if the content was removed after it was located.
                    bytes.and_then(|bytes| bytes.map(ContentReader::of).ok_or_else(|| Error::not_found(&named)))
                }
            };
            let LocatedContent { content, at, .. } = located;
            return Ok(OpenedContent { content, at, reader: reader? });
        }
        let message = format!("The content of `{named}` keeps changing; try again.");
        Err(Error::new(Code::Overloaded, message).with_source(named).into())
    }
}

/// Reads the bytes of a small content; `None` if they no longer exist. They may be replaced in
/// place, so the caller must check that they are the right ones.
///
/// # Errors
/// Errors of the store.
pub fn read_small(repository: &Reader, place: &RowPlace, named: impl Display) -> Result<Option<Bytes>> {
    repository.look().get(ReadLevel::Committed, place.table, &place.key).map_err(|error| {
        tracing::error!(%named, %error, "the bytes of a content can't be read");
        Error::internal()
    })
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::sync::Arc;

    use sha2::{Digest, Sha256};
    use stet_actors::repository::Repository;
    use stet_actors::runtime::RuntimeOptions;
    use stet_domain::clock::SystemClock;
    use stet_domain::id::{DatabaseId, Loid};
    use stet_domain::store::memory::MemoryStore;
    use stet_domain::store::{ChangeSet, Row, RowChange, Store, encode_value};

    use super::*;

    const VERSION: Loid = Loid::new(DatabaseId::FIRST, 7).at_version(1);

    struct Ground {
        _data: tempfile::TempDir,
        store: Arc<MemoryStore>,
        repository: Repository,
        files: ContentStore,
    }

    impl Ground {
        async fn new() -> Ground {
            let data = tempfile::tempdir().expect("a temporary directory can be made");
            let files = ContentStore::open(data.path(), 8, crate::UploadBounds::NONE).expect("a new directory opens");
            let store = Arc::new(MemoryStore::new());
            let started = Repository::start(store.clone(), Arc::new(SystemClock), RuntimeOptions::default()).await;
            Ground { _data: data, store, repository: started.expect("a repository starts"), files }
        }

        /// Replaces the bytes of the version.
        async fn replace(&self, bytes: &[u8]) -> StoredContent {
            let mut upload = self.files.upload(&stet_base::limits::Reservation::unaccounted());
            upload.write(bytes).await.expect("the disk is well");
            let new = upload.finish("text/plain").await.expect("the disk is well");
            self.put(&new.content, new.small);
            new.content
        }

        fn put(&self, content: &StoredContent, small: Option<Bytes>) {
            let version = Version { loid: VERSION, author: "editor".into(), at: 1, content: content.clone() };
            let mut set = ChangeSet::fence(self.store.epoch(), |_| ());
            let RowPlace { table, key } = version.place();
            set.changes.push(RowChange { table, key, value: Some(encode_value(Version::FORMAT, &version)) });
            let RowPlace { table, key } = SmallBody::key(VERSION);
            set.changes.push(RowChange { table, key, value: small });
            self.store.submit(set).expect("it is taken");
        }

        fn locate(&self) -> Result<LocatedContent> {
            let key = Version::key(VERSION);
            let version: Option<Version> = self.repository.row(key.table, &key.key)?;
            Ok(version.ok_or_else(|| Error::not_found(VERSION))?.into())
        }

        /// Returns the result of a reader if `meanwhile` happens between its reads, and the number
        /// of reads.
        async fn opened(&self, meanwhile: impl Fn(usize)) -> (Result<(StoredContent, Bytes)>, usize) {
            let looks = Cell::new(0);
            let locate = || {
                let located = self.locate();
                looks.set(looks.get() + 1);
                meanwhile(looks.get());
                located
            };
            let outcome = async {
                let opened = OpenedContent::open(&self.repository, &self.files, VERSION, locate).await?;
                Ok((opened.content, opened.reader.read_all().await?))
            };
            (outcome.await, looks.get())
        }
    }

    fn sha256(bytes: &[u8]) -> [u8; 32] {
        Sha256::digest(bytes).into()
    }

    #[actix::test]
    async fn contents_replaced_during_a_download_are_served_with_their_own_bytes() {
        let ground = Ground::new().await;
        let (small, large) = (ground.replace(b"small").await, ground.replace(b"rather large").await);
        ground.put(&small, Some("small".into()));
        let other = StoredContent { size: 3, sha256: sha256(b"new"), ..small.clone() };
        // A row by a row, a row by a file, a file by a row: each after the first read of the
        // record.
        for (before, now, then, bytes) in [
            (&small, &other, Some("new"), "new"),
            (&small, &large, None, "rather large"),
            (&large, &other, Some("new"), "rather large"),
        ] {
            ground.put(before, (before.stored == ContentLocation::Row).then(|| "small".into()));
            let (outcome, _) = ground
                .opened(|look| {
                    if look == 1 {
                        ground.put(now, then.map(Bytes::from));
                    }
                })
                .await;
            let (content, read) = outcome.expect("there is one");
            assert_eq!((content.sha256, &*read), (sha256(bytes.as_bytes()), bytes.as_bytes()));
        }
    }

    #[actix::test]
    async fn a_content_that_never_stands_still_is_given_up() {
        let ground = Ground::new().await;
        let small = ground.replace(b"0").await;
        let (outcome, looks) = ground
            .opened(|look| {
                let text = (look % 10).to_string();
                ground.put(&StoredContent { sha256: sha256(text.as_bytes()), ..small.clone() }, Some(text.into()));
            })
            .await;
        assert_eq!((outcome.expect_err("it never stands still").code, looks), (Code::Overloaded, 2 * TRIES));
    }

    #[actix::test]
    async fn a_file_that_is_gone_because_the_content_was_replaced_is_no_failure() {
        let ground = Ground::new().await;
        let small = ground.replace(b"small").await;
        let lost = StoredContent { size: 9, sha256: [1; 32], stored: ContentLocation::File, ..small.clone() };
        ground.put(&lost, None);
        let (outcome, _) = ground
            .opened(|look| {
                if look == 1 {
                    ground.put(&small, Some("small".into()))
                }
            })
            .await;
        assert_eq!(outcome.expect("there is one").1, "small");
        ground.put(&lost, None);
        assert_eq!(ground.opened(|_| ()).await.0.expect_err("it is lost").code, Code::RepositoryError);
        ground.put(&small, None);
        assert_eq!(ground.opened(|_| ()).await.0.expect_err("its bytes are gone").code, Code::ObjectNotFound);
    }
}
