//! Caches of configuration files: read from the repository, and kept in rows as they are in force.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::future::BoxFuture;
use stet_actors::cache::{CacheOrigin, RefreshExtent};
use stet_actors::repository::Repository;
use stet_base::json::ReadyJson;
use stet_content::ContentStore;
use stet_content::download::{LocatedContent, OpenedContent};
use stet_domain::command::CallerIdentity;
use stet_domain::error::{Code, Error, Result};
use stet_domain::id::{DatabaseId, ObjectSource};
use stet_domain::object::{Record, Version};
use stet_domain::store::{ChangeSet, Row, RowChange, Table, encode_value};

use super::snapshot::Snapshot;
use super::{EntryList, Listing};
use crate::check::{ConfigurationCheck, as_text};
use crate::document::ParsedFile;
use crate::fault::ConfigurationFault;
use crate::files::{ContentState, FILE_BYTES, FOLDER, FileShelf, Files, ReadingOutcome, SourceFile, too_much};

/// The reason why a refresh has changed nothing.
#[derive(Debug, Clone)]
pub enum RefreshFailure {
    /// Faults in the files.
    Faulty(Arc<Vec<ConfigurationFault>>),
    /// A failure to read the files, or to store them as in force.
    Failed(Error),
}

/// The cached configuration of some files.
#[derive(Debug)]
pub struct LoadedConfiguration<T: Listing> {
    /// The parsed configuration.
    pub content: Arc<T>,
    /// The entries as JSON.
    items: ReadyJson<Vec<T::Item>>,
    /// The files.
    pub files: Files,
    /// Parts of the files that are not known and were ignored.
    pub unknown: Vec<ConfigurationFault>,
}

impl<T: Listing> Default for LoadedConfiguration<T> {
    /// Returns the built-in configuration.
    fn default() -> LoadedConfiguration<T> {
        LoadedConfiguration::of(ParsedFile { value: T::default(), unknown: Vec::new() }, Files::new())
    }
}

impl<T: Listing> LoadedConfiguration<T> {
    fn of(parsed: ParsedFile<T>, files: Files) -> LoadedConfiguration<T> {
        // Structs of texts and numbers can always be serialised.
        let items = ReadyJson::of(&parsed.value.items()).expect("they can be serialised");
        LoadedConfiguration { content: Arc::new(parsed.value), items, files, unknown: parsed.unknown }
    }
}

impl<T: Listing> EntryList<T::Item> for LoadedConfiguration<T> {
    fn items(&self, _: bool) -> &ReadyJson<Vec<T::Item>> {
        &self.items
    }
}

/// The configuration files of one cache family in one database.
pub struct FileOrigin<T> {
    inner: Arc<Inner>,
    of: std::marker::PhantomData<fn() -> T>,
}

/// The access to files of the repository.
#[derive(Clone)]
pub(super) struct RepositoryFiles {
    pub(super) repository: Repository,
    pub(super) contents: ContentStore,
}

struct Inner {
    files: RepositoryFiles,
    database: DatabaseId,
    /// Whether the texts that were in force when the server ended have been looked up.
    restored: AtomicBool,
}

impl<T: Listing> FileOrigin<T> {
    /// Creates the origin for a database. A file that the database lacks is read from the main
    /// database.
    pub(super) fn new(files: RepositoryFiles, database: DatabaseId) -> FileOrigin<T> {
        let inner = Inner { files, database, restored: AtomicBool::new(false) };
        FileOrigin { inner: Arc::new(inner), of: std::marker::PhantomData }
    }
}

impl<T: Listing> CacheOrigin for FileOrigin<T> {
    type Value = LoadedConfiguration<T>;
    type Fault = RefreshFailure;

    fn name(&self) -> &'static str {
        T::NAME
    }

    fn database(&self) -> u16 {
        self.inner.database.0
    }

    fn read(
        &self,
        before: Arc<LoadedConfiguration<T>>,
        extent: RefreshExtent,
        by: CallerIdentity,
    ) -> BoxFuture<'static, std::result::Result<Arc<LoadedConfiguration<T>>, RefreshFailure>> {
        let inner = self.inner.clone();
        Box::pin(async move {
            let read = inner.read::<T>(before, extent, by).await;
            inner.report(T::NAME, &read);
            read
        })
    }

    fn failed(&self) -> RefreshFailure {
        RefreshFailure::Failed(Error::internal())
    }
}

impl<T: Listing> FileOrigin<T> {
    /// Reads the saved files, and notes the findings without putting anything into force.
    ///
    /// # Errors
    /// Files can't be read.
    pub async fn check(&self, checked: &mut ConfigurationCheck) -> Result<()> {
        let (read, files) = match self.inner.look::<T>(&Files::new()).await {
            Ok(found) => found,
            Err(RefreshFailure::Failed(error)) => return Err(error),
            Err(RefreshFailure::Faulty(faults)) => (Err((Arc::unwrap_or_clone(faults), Vec::new())), Files::new()),
        };
        match read {
            Ok(parsed) => checked.note(&files, Vec::new(), parsed.unknown),
            Err((faults, unknown)) => checked.note(&files, faults, unknown),
        }
        Ok(())
    }
}

impl RepositoryFiles {
    /// Returns a file of a database, or else of the main database; the one that was read `before`
    /// if it has not changed. Returns `None` if there is none.
    pub(super) async fn file(
        &self,
        database: DatabaseId,
        path: &str,
        before: Option<&Arc<SourceFile>>,
    ) -> Result<Option<Arc<SourceFile>>> {
        let mut record = None;
        for database in [database, DatabaseId::main()] {
            match self.repository.resolve(&ObjectSource::Path(path.to_owned()), database) {
                Ok(found) => {
                    record = Some(found);
                    break;
                }
                Err(error) if matches!(error.code, Code::ObjectNotFound | Code::InvalidPath | Code::InvalidName) => {}
                Err(error) => return Err(error),
            }
        }
        let Some(record) = record else { return Ok(None) };
        let state = record.content.as_ref().map(|content| ContentState { object: record.loid, sha256: content.sha256 });
        if let Some(before) = before.filter(|before| before.state == state && state.is_some()) {
            return Ok(Some(before.clone()));
        }
        let (state, text) = self.text_of(&record).await?;
        Ok(Some(Arc::new(SourceFile { path: path.to_owned(), text, state })))
    }

    /// Returns the text of an object's latest version, or why there is none.
    async fn text_of(&self, record: &Record) -> Result<(Option<ContentState>, Result<Arc<str>, String>)> {
        if record.version == 0 {
            return Ok((None, Err("it has no content".to_owned())));
        }
        let latest = || -> Result<LocatedContent> {
            // The object may have a newer version by now.
            let now = self.repository.record(record.loid)?.ok_or_else(|| Error::not_found(record.loid))?;
            let version = record.loid.at_version(now.version);
            let found = self.repository.row::<Version>(Table::Versions, &version.to_key())?;
            Ok(found.ok_or_else(|| Error::not_found(version))?.into())
        };
        let OpenedContent { content, reader, .. } =
            OpenedContent::open(&self.repository, &self.contents, record.loid, latest).await?;
        let state = Some(ContentState { object: record.loid, sha256: content.sha256 });
        if content.size > FILE_BYTES as u64 {
            let why = format!("it has {} bytes, more than the {FILE_BYTES} that are read", content.size);
            return Ok((state, Err(why)));
        }
        let bytes = reader.read_all().await?;
        Ok((state, as_text(&bytes)))
    }
}

impl Inner {
    async fn read<T: Listing>(
        &self,
        before: Arc<LoadedConfiguration<T>>,
        extent: RefreshExtent,
        by: CallerIdentity,
    ) -> Result<Arc<LoadedConfiguration<T>>, RefreshFailure> {
        if !self.restored.swap(true, Ordering::Relaxed)
            && let Some(held) = self.restored::<T>().await?
        {
            return Ok(Arc::new(held));
        }
        let known = Files::new();
        let (read, files) =
            self.look::<T>(if extent == RefreshExtent::Changed { &before.files } else { &known }).await?;
        match read {
            Ok(parsed) => self.keep(before, parsed, files, by).await,
            Err((faults, _)) => Err(RefreshFailure::Faulty(Arc::new(faults))),
        }
    }

    /// Reads and parses the saved files. Those that are unchanged since `before` are not read
    /// again.
    async fn look<T: Listing>(&self, before: &Files) -> Result<(ParseOutcome<T>, Files), RefreshFailure> {
        let mut files = Files::new();
        loop {
            let (read, known) = parse_files::<T>(files).await?;
            files = known;
            let needed = match read {
                ReadingOutcome::Done(parsed) => return Ok((Ok(parsed), files)),
                ReadingOutcome::Faulty { faults, unknown } => return Ok((Err((faults, unknown)), files)),
                ReadingOutcome::Needs(needed) => needed,
            };
            let mut left = needed.len();
            for path in needed {
                if let Some(why) = too_much(&files, left) {
                    return Ok((Err((vec![ConfigurationFault::of_file(FOLDER, why)], Vec::new())), files));
                }
                left -= 1;
                let old = before.get(&path).and_then(Option::as_ref);
                let file = self.files.file(self.database, &path, old).await.map_err(RefreshFailure::Failed)?;
                files.insert(path, file);
            }
        }
    }

    /// Returns the configuration that was in force when the server ended, unless this version of
    /// stet can't parse it any more.
    async fn restored<T: Listing>(&self) -> Result<Option<LoadedConfiguration<T>>, RefreshFailure> {
        let key = Snapshot::key(self.database, T::NAME);
        let kept = match self.files.repository.row::<Snapshot>(key.table, &key.key) {
            Ok(Some(kept)) => kept,
            Ok(None) => return Ok(None),
            // The store has logged the failure. The files are read instead.
            Err(_) => return Ok(None),
        };
        let (read, files) = parse_files::<T>(kept.into_files()).await?;
        match read {
            ReadingOutcome::Done(parsed) => Ok(Some(LoadedConfiguration::of(parsed, files))),
            _ => {
                tracing::warn!(
                    cache = T::NAME,
                    database = self.database.0,
                    "cannot read the configuration in force: reading its files again"
                );
                Ok(None)
            }
        }
    }

    /// Stores the files as in force and adds the refresh to the audit trail, if they have changed.
    async fn keep<T: Listing>(
        &self,
        before: Arc<LoadedConfiguration<T>>,
        parsed: ParsedFile<T>,
        files: Files,
        by: CallerIdentity,
    ) -> Result<Arc<LoadedConfiguration<T>>, RefreshFailure> {
        if before.files != files {
            let snapshot = Snapshot::of(self.database, T::NAME, &files);
            let key = snapshot.place();
            let value = Some(encode_value(Snapshot::FORMAT, &snapshot));
            let change = RowChange { table: key.table, key: key.key, value };
            let repository = &self.files.repository;
            let what = vec![format!("{}/{}", T::NAME, self.database.0)];
            let deed = by.deed("configuration.refresh", what, repository.clock().now_ms());
            let fill = |set: &mut ChangeSet| {
                set.changes = vec![change];
                set.events = vec![deed];
            };
            repository.commit(fill).await.map_err(RefreshFailure::Failed)?;
        }
        Ok(Arc::new(LoadedConfiguration::of(parsed, files)))
    }

    fn report<T: Listing>(&self, cache: &str, read: &Result<Arc<LoadedConfiguration<T>>, RefreshFailure>) {
        let database = self.database.0;
        match read {
            Ok(held) => {
                let first = held.unknown.first().map(ToString::to_string);
                if let Some(first) = first {
                    let more = held.unknown.len() - 1;
                    tracing::warn!(cache, database, first, more, "configuration files have unknown parts");
                }
            }
            Err(RefreshFailure::Faulty(faults)) => {
                let first = faults.first().map(ToString::to_string).unwrap_or_default();
                let more = faults.len().saturating_sub(1);
                tracing::error!(
                    cache,
                    database,
                    first,
                    more,
                    "configuration files have faults; the old configuration stays in force"
                );
            }
            Err(RefreshFailure::Failed(error)) => {
                tracing::error!(cache, database, %error, "cannot read configuration; the old one stays in force");
            }
        }
    }
}

/// The parsed files; or their faults and unknown parts.
type ParseOutcome<T> = std::result::Result<ParsedFile<T>, (Vec<ConfigurationFault>, Vec<ConfigurationFault>)>;

/// Parses files on another thread, because they may be large. A cache parses one set of files at a
/// time.
async fn parse_files<T: Listing>(files: Files) -> Result<(ReadingOutcome<ParsedFile<T>>, Files), RefreshFailure> {
    let work = move || {
        let shelf = FileShelf::of(&files);
        let read = T::read(&shelf);
        let read = match read {
            ReadingOutcome::Needs(_) => ReadingOutcome::Needs(shelf.needed()),
            done => done,
        };
        (read, files)
    };
    match tokio::task::spawn_blocking(work).await {
        Ok(read) => Ok(read),
        Err(broken) if broken.is_panic() => std::panic::resume_unwind(broken.into_panic()),
        Err(_) => Err(RefreshFailure::Failed(Error::internal())),
    }
}
