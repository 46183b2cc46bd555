//! The errors of the index and of queries.

use std::error::Error;
use std::fmt;

/// An error of the index or of a search in it.
#[derive(Debug)]
pub enum SearchError {
    /// The deadline of a search passed before the search ended.
    TimedOut,
    /// The settings of an index are out of their bounds.
    Settings(String),
    /// An error while the index was read or written.
    Storage(String),
}

impl fmt::Display for SearchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TimedOut => f.write_str("The search took too long. Search for longer words or fewer of them."),
            Self::Settings(text) => f.write_str(text),
            Self::Storage(text) => write!(f, "The search index could not be read or written: {text}."),
        }
    }
}

impl Error for SearchError {}

impl From<tantivy::TantivyError> for SearchError {
    fn from(error: tantivy::TantivyError) -> Self {
        Self::Storage(error.to_string())
    }
}

impl From<std::io::Error> for SearchError {
    fn from(error: std::io::Error) -> Self {
        Self::Storage(error.to_string())
    }
}

/// The fault of a query, the offending piece, and the allowed values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryError {
    /// A full sentence or two about the fault and about what is allowed.
    pub message: String,
    /// The piece of the query that is at fault; cut to 100 characters.
    pub piece: String,
}

impl QueryError {
    /// Returns an error about a piece of a query.
    pub(crate) fn new(message: String, piece: &str) -> Self {
        Self { message, piece: piece.chars().take(100).collect() }
    }
}

impl fmt::Display for QueryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for QueryError {}
