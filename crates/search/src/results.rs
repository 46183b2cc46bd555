//! The hits of a search, read from the store after the search.
//!
//! The index has no texts. So an extract is of the present text, and only of what the caller may
//! still read.

use std::time::Instant;

use stet_auth::Privilege;
use stet_domain::error::Result;
use stet_domain::id::Loid;
use stet_domain::liveblog::Post;
use stet_fulltext::{Category, IndexDocument, SearchQuery};
use stet_newsroom::Newsroom;
use stet_newsroom::messages::Message;

use crate::documents::{loid_of, message_document, object_document, post_document, post_row};
use crate::rights::ReadableDocuments;
use crate::service::SearchState;

/// Maximum characters of an extract.
const EXTRACT_CHARS: usize = 240;

/// Maximum number of extracts of a hit.
const MOST_EXTRACTS: usize = 3;

/// Number of bytes of a text in which an extract is looked for.
const LOOKED_AT: usize = 64 << 10;

/// A page of hits.
pub struct SearchPage {
    /// The hits of the page. One that was removed during the search is missing.
    pub hits: Vec<Hit>,
    /// Total number of documents that the caller may read and the criteria select.
    pub total: u64,
    /// The values of the wanted categories with their numbers of documents, the most frequent
    /// first.
    pub facets: Vec<(Category, Vec<(String, u64)>)>,
    /// The state of the index when the search began.
    pub state: SearchState,
}

/// A hit.
pub struct Hit {
    /// The object, post or message.
    pub item: FoundItem,
    /// The extracts.
    pub highlights: Vec<HitHighlight>,
}

/// The subject of a hit.
pub enum FoundItem {
    /// An object.
    Object(Loid),
    /// A post of a liveblog.
    Post(Box<Post>),
    /// A message in a box of the caller.
    Message(Box<Message>),
}

/// An extract of a text with the places of the words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HitHighlight {
    /// The field: `name`, `title` or `text`.
    pub field: &'static str,
    /// The extract.
    pub text: String,
    /// Begin and end of each match, in characters of the extract.
    pub matches: Vec<(usize, usize)>,
}

/// The reader of hits for one search.
pub struct ResultReader<'a> {
    newsroom: &'a Newsroom,
    languages: &'a [String],
    /// The words to be marked; `None` for no extracts.
    highlight: Option<&'a SearchQuery>,
    /// The time after which no more extracts are looked for.
    pub until: Instant,
}

impl<'a> ResultReader<'a> {
    /// Creates the reader of hits. `highlight` has the words to be marked.
    pub fn of(newsroom: &'a Newsroom, languages: &'a [String], highlight: Option<&'a SearchQuery>) -> ResultReader<'a> {
        let highlight = highlight.filter(|query| !query.is_empty());
        ResultReader { newsroom, languages, highlight, until: Instant::now() }
    }

    /// Reads the hit with that key; `None` if it was removed, or may no longer be read.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn read(&self, key: u128, filter: &ReadableDocuments<'_>) -> Result<Option<Hit>> {
        let (newsroom, loid) = (self.newsroom, loid_of(key));
        let (item, document) = if let Some(record) = newsroom.records.get(&newsroom.repository, loid)? {
            if !filter.access().may(Privilege::Read, &record)? {
                return Ok(None);
            }
            (FoundItem::Object(loid), self.document(|| object_document(newsroom, &record))?)
        } else if let Some(liveblog) = newsroom.repository.container_of(loid)? {
            let Some(post) = post_row(newsroom, liveblog, loid)?.filter(|post| filter.sees_post(post)) else {
                return Ok(None);
            };
            let document = self.document(|| post_document(newsroom, &post))?;
            (FoundItem::Post(Box::new(post)), document)
        } else {
            let Some(message) = newsroom.messages.message(loid.number)?.filter(|_| filter.admits_message(key)) else {
                return Ok(None);
            };
            let document = self.document(|| Ok(message_document(&message)))?;
            (FoundItem::Message(Box::new(message)), document)
        };
        let highlights = document.map(|document| self.highlights(&document)).unwrap_or_default();
        Ok(Some(Hit { item, highlights }))
    }

    /// Builds the document with the texts for extracts, if they are wanted and there is time.
    fn document(&self, build: impl FnOnce() -> Result<IndexDocument>) -> Result<Option<IndexDocument>> {
        let wanted = self.highlight.is_some() && Instant::now() < self.until;
        wanted.then(build).transpose()
    }

    fn highlights(&self, document: &IndexDocument) -> Vec<HitHighlight> {
        let Some(query) = self.highlight else { return Vec::new() };
        let titles = document.titles.iter().map(|text| ("title", text));
        let texts = document.texts.iter().map(|text| ("text", text));
        let all = titles.chain([("name", &document.name)]).chain(texts);
        // The index has stems of the document's language, or of the first one.
        let mut languages: Vec<String> = document.language.iter().chain(self.languages.first()).cloned().collect();
        languages.dedup();
        let found = all.take_while(|_| Instant::now() < self.until).filter_map(|(field, text)| {
            let highlight = query.highlight(beginning(text), &languages, EXTRACT_CHARS)?;
            Some(HitHighlight { field, text: highlight.text, matches: highlight.matches })
        });
        found.take(MOST_EXTRACTS).collect()
    }
}

/// Returns the part of a text in which an extract is looked for.
fn beginning(text: &str) -> &str {
    let mut end = text.len().min(LOOKED_AT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
