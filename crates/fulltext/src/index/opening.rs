//! Opening an index, and setting a damaged or outdated one aside.

use std::fs::{self, File, TryLockError};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tantivy::directory::MmapDirectory;
use tantivy::{Index, IndexMeta, IndexReader, ReloadPolicy};

use super::columns::SegmentColumns;
use super::schema::{IndexFields, SCHEMA_VERSION};
use crate::analysis::{ANALYSER_VERSION, STEMMER_VERSION};
use crate::{Result, SearchError};

/// The file whose existence shows that a directory has an index.
const META_FILE: &str = "meta.json";

/// The file in which the library lists the files that it has made.
const MANAGED_FILE: &str = ".managed.json";

/// The state in which an index was found when it was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpenOutcome {
    /// The directory was empty or absent, and a new index was created.
    Created,
    /// The index was opened.
    Opened,
    /// The index was moved aside, for a reason in a clause, and a new one was created.
    Replaced(String),
}

/// The data that each commit carries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CommitPayload {
    /// The number that the caller gave to the commit.
    pub number: u64,
    /// The rules that the index was built by.
    #[serde(flatten)]
    pub rules: IndexRules,
}

/// The rules that an index was built by. An index of other rules is built anew.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct IndexRules {
    schema: u32,
    analyser: u32,
    stemmer: String,
    languages: Vec<String>,
}

impl IndexRules {
    /// Returns the rules of this version with some languages.
    pub fn new(languages: &[String]) -> Self {
        Self {
            schema: SCHEMA_VERSION,
            analyser: ANALYSER_VERSION,
            stemmer: STEMMER_VERSION.to_owned(),
            languages: languages.to_vec(),
        }
    }
}

/// An index that was opened.
pub(super) struct OpenIndex {
    pub index: Index,
    pub reader: IndexReader,
    pub number: Option<u64>,
}

/// Takes the lock of an index, a file beside its directory, until the file is dropped.
///
/// It is taken before the index is looked at: one that another process writes may look damaged.
pub(super) fn lock_index(dir: &Path) -> Result<File> {
    if let Some(parent) = dir.parent() {
        fs::create_dir_all(parent)?;
    }
    let file = File::options().create(true).append(true).open(beside(dir, ".lock"))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(SearchError::Storage("another process has the index open".to_owned())),
        Err(TryLockError::Error(error)) => Err(error.into()),
    }
}

/// Opens the index in a directory, or creates an empty one.
pub(super) fn open_index(dir: &Path, fields: &IndexFields, rules: &IndexRules) -> Result<(OpenIndex, OpenOutcome)> {
    if fs::symlink_metadata(dir).is_ok_and(|found| !found.is_dir()) {
        move_aside(dir)?;
        fs::create_dir_all(dir)?;
        return Ok((create(dir, fields)?, OpenOutcome::Replaced("it is no directory".to_owned())));
    }
    fs::create_dir_all(dir)?;
    if is_empty(dir)? {
        return Ok((create(dir, fields)?, OpenOutcome::Created));
    }
    // A file with wrong bytes may break an invariant of the library before a checksum is compared.
    let opened = catch_unwind(AssertUnwindSafe(|| open_existing(dir, fields, rules)))
        .unwrap_or_else(|_| Err("the files contradict each other".to_owned()));
    match opened {
        Ok(open) => Ok((open, OpenOutcome::Opened)),
        Err(reason) => {
            move_aside(dir)?;
            fs::create_dir_all(dir)?;
            Ok((create(dir, fields)?, OpenOutcome::Replaced(reason)))
        }
    }
}

/// Reports whether a directory has no file but locks.
fn is_empty(dir: &Path) -> io::Result<bool> {
    for entry in fs::read_dir(dir)? {
        if !entry?.file_name().to_string_lossy().ends_with(".lock") {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Creates an empty index.
fn create(dir: &Path, fields: &IndexFields) -> Result<OpenIndex> {
    let index = Index::create_in_dir(dir, fields.schema.clone())?;
    let reader = reader(&index)?;
    Ok(OpenIndex { index, reader, number: None })
}

/// Returns a reader that shows a new commit only after a reload.
fn reader(index: &Index) -> Result<IndexReader> {
    Ok(index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?)
}

/// Opens an index and checks it, or returns the reason why it can't be used.
fn open_existing(dir: &Path, fields: &IndexFields, rules: &IndexRules) -> std::result::Result<OpenIndex, String> {
    let damaged = |error: &dyn std::fmt::Display| format!("the index is damaged: {error}");
    if !dir.join(META_FILE).is_file() {
        return Err(format!("the file `{META_FILE}` is missing"));
    }
    let directory = MmapDirectory::open(dir).map_err(|error| damaged(&error))?;
    let index = Index::open(directory).map_err(|error| damaged(&error))?;
    let meta = index.load_metas().map_err(|error| damaged(&error))?;
    let payload = match &meta.payload {
        Some(payload) => Some(
            serde_json::from_str::<CommitPayload>(payload).map_err(|_| "the index has another format".to_owned())?,
        ),
        // An index without a commit is empty and can have any languages.
        None if meta.segments.is_empty() => None,
        None => return Err("the index has another format".to_owned()),
    };
    if index.schema() != fields.schema || payload.as_ref().is_some_and(|payload| payload.rules != *rules) {
        return Err("the index has other languages or belongs to another version".to_owned());
    }
    remove_leftovers(dir, &meta).map_err(|error| damaged(&error))?;
    if let Some(path) = index.validate_checksum().map_err(|error| damaged(&error))?.into_iter().next() {
        return Err(format!("the index is damaged: the checksum of `{}` is wrong", path.display()));
    }
    let reader = reader(&index).map_err(|error| damaged(&error))?;
    check_segments(&reader, fields).map_err(|error| damaged(&error))?;
    Ok(OpenIndex { index, reader, number: payload.map(|payload| payload.number) })
}

/// Removes the files of a commit or a merge that was killed before the index referred to them.
///
/// The next commit may write a file of the same name, which the library refuses to overwrite.
fn remove_leftovers(dir: &Path, meta: &IndexMeta) -> io::Result<()> {
    let living = meta.list_segment_files();
    for entry in fs::read_dir(dir)? {
        let name = entry?.file_name();
        let is_kept = name == META_FILE || name == MANAGED_FILE || name.to_string_lossy().ends_with(".lock");
        if !is_kept && !living.contains(Path::new(&name)) {
            fs::remove_file(dir.join(name))?;
        }
    }
    Ok(())
}

/// Checks that the parts of each segment have the same number of documents.
fn check_segments(reader: &IndexReader, fields: &IndexFields) -> Result<()> {
    for segment in reader.searcher().segment_readers() {
        let columns = SegmentColumns::open(segment)?;
        if columns.documents().iter().any(|documents| *documents != segment.max_doc()) {
            return Err(SearchError::Storage("a column has too few documents".to_owned()));
        }
        let counted = segment.alive_bitset().map_or(segment.max_doc(), |alive| alive.num_alive_docs() as u32);
        if counted != segment.num_docs() {
            return Err(SearchError::Storage("the number of deleted documents is wrong".to_owned()));
        }
        for field in [fields.key, fields.texts.written, fields.texts.stems] {
            segment.inverted_index(field)?;
        }
    }
    Ok(())
}

/// Returns the path with some letters behind the name of a directory.
fn beside(dir: &Path, ending: &str) -> PathBuf {
    let mut name = dir.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// Moves a directory, or a file in its place, aside. Replaces one that was moved before.
fn move_aside(dir: &Path) -> io::Result<()> {
    let aside = beside(dir, ".damaged");
    let removed = match fs::symlink_metadata(&aside) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(&aside),
        Ok(_) => fs::remove_file(&aside),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => fs::rename(dir, aside),
    }
}
