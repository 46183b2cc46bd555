//! The query language: words that must all occur, with some signs.
//!
//! | query | finds documents with |
//! |---|---|
//! | `budget talks` | both words, in any form of the word |
//! | `"budget talks"` | the words side by side, as written |
//! | `budg*` | a word that begins so |
//! | `-budget` | no such word; a query of negations alone finds all other documents |
//! | `a b OR c` | `a`, and `b` or `c`: `OR` binds more tightly; it is written in capitals |
//! | `title:budget`, `author:"anna may"` | the words in a field |
//! | `modified:2026-01-01..2026-02-01`, `created:2026-05` | a date in a range |
//!
//! Fields are `name`, `title`, `text`, `kind`, `family`, `type`, `status` and `author`, and those
//! of the documents. The ends of a range of dates are included, and one may be left out.
//!
//! Anything else is read leniently. A missing closing quote is at the end. Signs without a word,
//! control characters, and `OR` without a neighbour are ignored. A word with a colon is a field
//! only if letters stand before the colon and something other than `//` behind it.

mod dates;
mod lexer;
mod parser;

use crate::QueryError;
use crate::analysis::AnalysedWord;

/// The largest length of a query in bytes.
pub const MAX_QUERY_BYTES: usize = 1_000;

/// The largest number of words, phrases and conditions in a query.
pub const MAX_QUERY_CONDITIONS: usize = 32;

/// The largest number of words in a query, those of phrases included.
pub const MAX_QUERY_WORDS: usize = 64;

/// The way in which a query is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueryOptions {
    /// Whether the last word, if no space follows it, also stands for words that begin so.
    ///
    /// An unfinished date at the end of the query is ignored then.
    pub as_you_type: bool,
    /// The offset from UTC, in seconds east, of dates without an offset of their own.
    pub zone_offset_seconds: i32,
}

/// A query that was parsed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchQuery {
    /// The clauses, all of which must match.
    pub(crate) clauses: Vec<QueryClause>,
}

/// Conditions of which one must match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct QueryClause {
    pub alternatives: Vec<QueryLeaf>,
}

/// A condition or its opposite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct QueryLeaf {
    pub negated: bool,
    pub condition: LeafCondition,
}

/// A condition about words or dates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LeafCondition {
    Words(WordCondition),
    Dates(DateCondition),
}

/// A word, joined words, or a phrase in some fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WordCondition {
    pub scope: FieldScope,
    /// The words side by side, at least one. Only the last may stand for a prefix.
    pub words: Vec<AnalysedWord>,
    /// The joined words as one word.
    pub whole: Option<AnalysedWord>,
    /// Whether the last word stands for words that begin so.
    pub prefix: bool,
    /// Whether only the written forms count.
    pub quoted: bool,
}

/// A range of dates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DateCondition {
    /// Whether the date of creation counts, and not that of the last change.
    pub created: bool,
    /// The first time in milliseconds.
    pub from: Option<i64>,
    /// The time behind the last one in milliseconds.
    pub to: Option<i64>,
}

/// The fields in which words are searched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FieldScope {
    /// Name, titles and texts.
    Any,
    Name,
    Title,
    Text,
    /// A category or a small field with this folded name.
    Small(String),
}

impl SearchQuery {
    /// Parses a query.
    ///
    /// # Errors
    ///
    /// An error states which bound is exceeded, or which date could not be read.
    pub fn parse(text: &str, options: QueryOptions) -> Result<Self, QueryError> {
        parser::parse(text, options)
    }

    /// Reports whether the query has no condition, so that each document matches.
    pub fn is_empty(&self) -> bool {
        self.clauses.is_empty()
    }

    /// Returns the conditions about words that are not negated.
    pub(crate) fn positive_words(&self) -> impl Iterator<Item = &WordCondition> {
        self.clauses.iter().flat_map(|clause| &clause.alternatives).filter_map(|leaf| match &leaf.condition {
            LeafCondition::Words(words) if !leaf.negated => Some(words),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests;
