//! The index on disk.

mod columns;
mod compounds;
mod documents;
mod matching;
mod merge_policy;
mod opening;
mod queue;
mod schema;
mod search;
mod suggest;
mod walkers;
mod word_filter;
mod word_list;

use std::collections::HashSet;
use std::fs::File;
use std::net::Ipv6Addr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};
use tantivy::indexer::{IndexWriterOptions, UserOperation};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocSet, IndexReader, IndexWriter, SegmentReader, TERMINATED, Term};

pub(crate) use columns::SegmentColumns;
use documents::DerivedForms;
use merge_policy::PurgingMergePolicy;
pub use opening::OpenOutcome;
use opening::{CommitPayload, IndexRules, OpenIndex, lock_index, open_index};
use queue::{DocumentQueue, QueuedDocument};
use schema::IndexFields;
pub use search::{FoundDocuments, MAX_FACET_VALUES, MAX_RESULT_WINDOW, SearchRequest, SortOrder};
use word_filter::WordFilters;
use word_list::{WORD_LIST, WordListTokenizer};

use crate::analysis::StemLanguage;
use crate::document::IndexDocument;
use crate::{Result, SearchError};

/// The largest number of languages of an index.
pub const MAX_LANGUAGES: usize = 8;

/// The least memory of the writer in bytes.
const MIN_WRITER_BYTES: usize = 15_000_000;

/// The settings of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexSettings {
    /// Codes of ISO 639-1, at least one and at most [`MAX_LANGUAGES`].
    ///
    /// The first is that of documents without a language. Words of languages without a stemmer
    /// are found as written.
    pub languages: Vec<String>,
    /// The memory of the writer in bytes. At least 15 MB are taken.
    pub writer_bytes: usize,
}

/// The languages of an index.
#[derive(Clone, Debug)]
struct IndexLanguages {
    codes: Vec<String>,
    /// The languages with stemmers, each once.
    stemmed: Vec<StemLanguage>,
}

impl IndexLanguages {
    /// Checks the codes of languages.
    fn new(codes: &[String]) -> Result<Self> {
        if codes.is_empty() || codes.len() > MAX_LANGUAGES {
            let text = format!("The index has {} languages. From 1 to {MAX_LANGUAGES} are allowed.", codes.len());
            return Err(SearchError::Settings(text));
        }
        let codes: Vec<String> = codes.iter().map(|code| code.to_ascii_lowercase()).collect();
        let is_code = |code: &&String| code.len() != 2 || !code.bytes().all(|byte| byte.is_ascii_lowercase());
        if let Some(code) = codes.iter().find(is_code) {
            let text = format!("The language `{code}` is unknown. A code of ISO 639-1 such as `de` is allowed.");
            return Err(SearchError::Settings(text));
        }
        let mut stemmed: Vec<StemLanguage> = Vec::new();
        for language in codes.iter().filter_map(|code| StemLanguage::from_code(code)) {
            if !stemmed.contains(&language) {
                stemmed.push(language);
            }
        }
        Ok(Self { codes, stemmed })
    }

    /// Returns the language whose stemmer applies to a document, if any.
    fn of_document(&self, code: Option<&str>) -> Option<StemLanguage> {
        let known = code.and_then(StemLanguage::from_code);
        if let Some(language) = known {
            return self.stemmed.contains(&language).then_some(language);
        }
        let primary = code.and_then(|code| code.split(['-', '_']).next()).unwrap_or_default().to_ascii_lowercase();
        if self.codes.contains(&primary) {
            return None;
        }
        StemLanguage::from_code(&self.codes[0])
    }
}

/// An index of documents on disk.
///
/// One process at a time can open a directory; `{dir}.lock` says so. All threads share the index.
pub struct TextIndex {
    dir: PathBuf,
    fields: IndexFields,
    languages: IndexLanguages,
    rules: IndexRules,
    reader: IndexReader,
    /// Changes take a shared lock, commits an exclusive one.
    writer: RwLock<IndexWriter<QueuedDocument>>,
    queue: Arc<DocumentQueue>,
    derived: Mutex<DerivedForms>,
    word_filters: WordFilters,
    number: Mutex<Option<u64>>,
    /// The keys of documents that were put since the last commit.
    uncommitted: Mutex<HashSet<u128>>,
    /// The lock beside the directory, released last.
    _lock: File,
}

impl TextIndex {
    /// Opens the index in a directory, or creates an empty one.
    ///
    /// An index that is damaged, or was built by other rules or with other languages, is moved to
    /// the directory with `.damaged` behind its name, and replaces what is there. An empty index
    /// is created then. The checksums of all files are compared, so all files are read.
    ///
    /// # Errors
    ///
    /// An error is returned if the settings are out of bounds, the directory can't be written, or
    /// another process has the index open.
    pub fn open(dir: &Path, settings: &IndexSettings) -> Result<(Self, OpenOutcome)> {
        let languages = IndexLanguages::new(&settings.languages)?;
        let fields = IndexFields::new();
        let rules = IndexRules::new(&languages.codes);
        let lock = lock_index(dir)?;
        let (OpenIndex { index, reader, number }, outcome) = open_index(dir, &fields, &rules)?;
        index.tokenizers().register(WORD_LIST, WordListTokenizer::default());
        let options = IndexWriterOptions::builder()
            .memory_budget_per_thread(settings.writer_bytes.max(MIN_WRITER_BYTES))
            .num_worker_threads(1)
            .num_merge_threads(1)
            .build();
        let writer = index.writer_with_options(options)?;
        writer.set_merge_policy(Box::new(PurgingMergePolicy::default()));
        let index = Self {
            dir: dir.to_owned(),
            fields,
            languages,
            rules,
            reader,
            writer: RwLock::new(writer),
            queue: Arc::default(),
            derived: Mutex::default(),
            word_filters: WordFilters::default(),
            number: Mutex::new(number),
            uncommitted: Mutex::default(),
            _lock: lock,
        };
        Ok((index, outcome))
    }

    /// Returns the number that was given to the last commit, or `None` if there was none.
    pub fn state(&self) -> Option<u64> {
        *self.number.lock()
    }

    /// Adds a document, which replaces the one with its key.
    ///
    /// The call waits while too many bytes of documents are in the queue of the writer.
    ///
    /// # Errors
    ///
    /// An error is returned if the writer has failed, for example for want of space. The index
    /// must be opened again then; changes since the last commit are lost.
    pub fn put(&self, document: IndexDocument) -> Result<()> {
        let language = self.languages.of_document(document.language.as_deref());
        let permit = self.queue.enter(document.text_bytes());
        let (key, term) = (document.key, self.key_term(document.key));
        let document = documents::index_document(&self.fields, &document, language, &mut self.derived.lock());
        let queued = QueuedDocument(Box::new((document, permit)));
        let writer = self.writer.read();
        // Held until the document is added: of two with one key, put at the same time, one stays.
        let mut uncommitted = self.uncommitted.lock();
        if uncommitted.insert(key) && !self.has_term(&term)? {
            // A commit looks up each removed document in each segment.
            writer.add_document(queued)?;
        } else {
            writer.run([UserOperation::Delete(term), UserOperation::Add(queued)])?;
        }
        Ok(())
    }

    /// Removes the document with a key, if there is one.
    pub fn remove(&self, key: u128) {
        self.writer.read().delete_term(self.key_term(key));
    }

    /// Removes all documents that are parts of a container.
    pub fn remove_parts(&self, container: u128) {
        self.writer.read().delete_term(self.container_term(container));
    }

    /// Makes the changes durable and visible to searches, under a number.
    ///
    /// # Errors
    ///
    /// An error is returned if a file could not be written. Searches see the commit before then.
    pub fn commit(&self, number: u64) -> Result<()> {
        let payload = CommitPayload { number, rules: self.rules.clone() };
        let payload = serde_json::to_string(&payload).map_err(|error| SearchError::Storage(error.to_string()))?;
        let mut writer = self.writer.write();
        let mut commit = writer.prepare_commit()?;
        commit.set_payload(&payload);
        commit.commit()?;
        *self.number.lock() = Some(number);
        self.reader.reload()?;
        self.uncommitted.lock().clear();
        drop(writer);
        self.word_filters.retain(self.reader.searcher().segment_readers());
        Ok(())
    }

    /// Returns the revision of the committed document with a key.
    ///
    /// # Errors
    ///
    /// An error is returned if the index can't be read.
    pub fn revision_of(&self, key: u128) -> Result<Option<u64>> {
        Ok(self.documents_with(&self.key_term(key))?.first().map(|(_, revision)| *revision))
    }

    /// Returns the keys and revisions of the committed parts of a container, by key.
    ///
    /// # Errors
    ///
    /// An error is returned if the index can't be read.
    pub fn parts_of(&self, container: u128) -> Result<Vec<(u128, u64)>> {
        self.documents_with(&self.container_term(container))
    }

    /// Returns the keys and revisions of committed documents behind a key, in the order of keys.
    ///
    /// # Errors
    ///
    /// An error is returned if the index can't be read.
    pub fn keys_after(&self, after: Option<u128>, limit: usize) -> Result<Vec<(u128, u64)>> {
        let mut found = Vec::new();
        for reader in self.reader.searcher().segment_readers() {
            let columns = SegmentColumns::open(reader)?;
            let inverted = reader.inverted_index(self.fields.key)?;
            let range = inverted.terms().range();
            let mut terms = match after {
                Some(key) => range.gt(key_bytes(self.fields.key, key)),
                None => range,
            }
            .into_stream()?;
            let mut count = 0;
            while count < limit && terms.advance() {
                let mut postings = inverted.read_postings_from_terminfo(terms.value(), IndexRecordOption::Basic)?;
                let before = found.len();
                add_alive(reader, &columns, &mut postings, &mut found);
                count += found.len() - before;
            }
        }
        found.sort_unstable();
        found.truncate(limit);
        Ok(found)
    }

    /// Returns the size of all files of the index in bytes.
    pub fn size_bytes(&self) -> u64 {
        let Ok(entries) = std::fs::read_dir(&self.dir) else { return 0 };
        entries.flatten().filter_map(|entry| entry.metadata().ok()).map(|metadata| metadata.len()).sum()
    }

    /// Returns the number of committed documents.
    pub fn documents(&self) -> u64 {
        self.reader.searcher().num_docs()
    }

    /// Returns the keys and revisions of the committed documents with a term, by key.
    fn documents_with(&self, term: &Term) -> Result<Vec<(u128, u64)>> {
        let mut found = Vec::new();
        for reader in self.reader.searcher().segment_readers() {
            let inverted = reader.inverted_index(term.field())?;
            let Some(mut postings) = inverted.read_postings(term, IndexRecordOption::Basic)? else { continue };
            add_alive(reader, &SegmentColumns::open(reader)?, &mut postings, &mut found);
        }
        found.sort_unstable();
        Ok(found)
    }

    /// Reports whether a term is in the last commit, be it of removed documents.
    fn has_term(&self, term: &Term) -> Result<bool> {
        for reader in self.reader.searcher().segment_readers() {
            if reader.inverted_index(term.field())?.get_term_info(term)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the term of a key.
    fn key_term(&self, key: u128) -> Term {
        Term::from_field_ip_addr(self.fields.key, Ipv6Addr::from(key))
    }

    /// Returns the term of a container.
    fn container_term(&self, container: u128) -> Term {
        Term::from_field_ip_addr(self.fields.container, Ipv6Addr::from(container))
    }
}

/// Returns the bytes of a key in the dictionary of keys.
fn key_bytes(field: Field, key: u128) -> Vec<u8> {
    Term::from_field_ip_addr(field, Ipv6Addr::from(key)).serialized_value_bytes().to_vec()
}

/// Adds the keys and revisions of documents that are not deleted.
fn add_alive(
    reader: &SegmentReader,
    columns: &SegmentColumns,
    postings: &mut impl DocSet,
    found: &mut Vec<(u128, u64)>,
) {
    let mut doc = postings.doc();
    while doc != TERMINATED {
        if !reader.is_deleted(doc) {
            found.push((columns.key(doc), columns.revision(doc)));
        }
        doc = postings.advance();
    }
}

#[cfg(test)]
mod tests;
