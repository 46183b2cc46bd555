//! The full-text engine: analysis of words, a query language, and an index on disk.
//!
//! The crate knows documents with words, categories and dates, but nothing of a newsroom. Read
//! [`TextIndex`] first, then [`SearchQuery`].
//!
//! Invariants:
//! - A search sees the last commit, whole or not at all.
//! - A document that the [`DocumentFilter`] refuses has no influence on results, totals, facets,
//!   the order of results or suggestions.
//! - Each input has a bound: words of a document, length of a word, words of a query.

mod analysis;
mod document;
mod error;
mod highlight;
mod index;
mod query;

pub use analysis::{ANALYSER_VERSION, MAX_DOCUMENT_WORDS, MAX_WORD_CHARS};
pub use document::{Category, DocumentFilter, FilterFields, IndexDocument};
pub use error::{QueryError, SearchError};
pub use highlight::Highlight;
pub use index::{
    FoundDocuments, IndexSettings, MAX_FACET_VALUES, MAX_LANGUAGES, MAX_RESULT_WINDOW, OpenOutcome, SearchRequest,
    SortOrder, TextIndex,
};
pub use query::{MAX_QUERY_BYTES, MAX_QUERY_CONDITIONS, MAX_QUERY_WORDS, QueryOptions, SearchQuery};

/// The result of a function of this crate.
pub type Result<T> = std::result::Result<T, SearchError>;
