//! The section about search.

use serde::{Deserialize, Serialize};

/// The languages whose word forms are known, by their ISO 639-1 codes.
pub const SEARCH_LANGUAGES: [&str; 18] =
    ["ar", "da", "de", "el", "en", "es", "fi", "fr", "hu", "it", "nl", "no", "pt", "ro", "ru", "sv", "ta", "tr"];

/// `[search]`: search in everything (docs/api/search.md).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SearchConfig {
    /// Whether the server has an index and answers searches.
    pub enabled: bool,
    /// The languages of the texts, by their ISO 639-1 codes. The first is that of texts whose
    /// language is unknown.
    pub languages: Vec<String>,
    /// Number of bytes of a content that are indexed.
    pub content_bytes: usize,
}

impl Default for SearchConfig {
    fn default() -> SearchConfig {
        let languages = ["en", "de", "fr", "es"].map(str::to_owned).into();
        SearchConfig { enabled: true, languages, content_bytes: 1 << 20 }
    }
}
