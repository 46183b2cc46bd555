//! Suggestions: completions of the last word of a text.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocId, DocSet, InvertedIndexReader, SegmentReader, TERMINATED};

use super::TextIndex;
use super::columns::SegmentColumns;
use super::documents::joined_term;
use crate::Result;
use crate::analysis::{AnalysedWord, CleanText, MAX_DOCUMENT_WORDS, analyse};
use crate::document::DocumentFilter;

/// The most terms of a dictionary that are read.
const MAX_SUGGEST_TERMS: usize = 2_000;

/// The most documents that the filter is asked for.
const MAX_FILTER_CALLS: usize = 20_000;

/// The most spellings of a word that are read.
const MAX_SPELLINGS: usize = 16;

/// The most documents with a word that count for its rank.
const MAX_COUNTED: usize = 32;

impl TextIndex {
    /// Returns completions of the last word of a text, at most `limit` ones.
    ///
    /// Only words of names and titles of documents that the filter admits are returned, in lower
    /// case and with their marks and signs, those of most documents first. A text with a space at
    /// its end has none. The dictionary is read to a bound, so that of a very frequent beginning
    /// not all words are seen.
    ///
    /// # Errors
    ///
    /// An error is returned if the index can't be read.
    pub fn suggest(&self, text: &str, filter: &dyn DocumentFilter, limit: usize) -> Result<Vec<String>> {
        let clean = CleanText::new(text);
        let words = analyse(&clean.text, 0, MAX_DOCUMENT_WORDS);
        let last = words.iter().rev().find(|word| !word.whole).filter(|word| word.end == clean.text.len());
        let Some(last) = last.filter(|word| !word.plain.is_empty()) else { return Ok(Vec::new()) };
        let mut search = SuggestionSearch { filter, calls: 0, counts: HashMap::new() };
        for reader in self.reader.searcher().segment_readers() {
            let columns = SegmentColumns::open(reader)?;
            let spellings = reader.inverted_index(self.fields.spellings)?;
            let mut segment = SuggestionSegment { reader, columns, spellings, admitted: HashMap::new() };
            for field in [self.fields.name, self.fields.titles] {
                search.add_field(&mut segment, field.written, last)?;
            }
        }
        let typed: HashSet<&str> = last.written().chain([last.lower.as_str()]).collect();
        let mut found: Vec<(String, usize)> = search.counts.into_iter().collect();
        found.retain(|(word, _)| !typed.contains(word.as_str()));
        found.sort_unstable_by(|one, other| {
            let counts = other.1.min(MAX_COUNTED).cmp(&one.1.min(MAX_COUNTED));
            counts.then_with(|| one.0.cmp(&other.0))
        });
        found.truncate(limit);
        Ok(found.into_iter().map(|(word, _)| word).collect())
    }
}

/// The state of a search for suggestions.
struct SuggestionSearch<'a> {
    filter: &'a dyn DocumentFilter,
    calls: usize,
    /// The numbers of names and titles with a word.
    counts: HashMap<String, usize>,
}

/// A segment that is searched for suggestions.
struct SuggestionSegment<'a> {
    reader: &'a SegmentReader,
    columns: SegmentColumns,
    spellings: Arc<InvertedIndexReader>,
    /// The decisions of the filter.
    admitted: HashMap<DocId, bool>,
}

impl SuggestionSearch<'_> {
    /// Adds the words of a field that begin like a typed one.
    fn add_field(&mut self, segment: &mut SuggestionSegment<'_>, field: Field, typed: &AnalysedWord) -> Result<()> {
        // A word with umlauts is in the dictionary twice and counts once.
        let mut counts: HashMap<String, usize> = HashMap::new();
        let inverted = segment.reader.inverted_index(field)?;
        for prefix in typed.written() {
            let mut terms = inverted.terms().range().ge(prefix).into_stream()?;
            let mut read = 0;
            while read < MAX_SUGGEST_TERMS && terms.advance() && terms.key().starts_with(prefix.as_bytes()) {
                read += 1;
                let Ok(word) = std::str::from_utf8(terms.key()) else { continue };
                let postings = inverted.read_postings_from_terminfo(terms.value(), IndexRecordOption::Basic)?;
                let documents = self.admitted(segment, postings, MAX_COUNTED);
                if documents == 0 {
                    continue;
                }
                let spellings = self.spellings(segment, word)?;
                let shown = if spellings.is_empty() { vec![word.to_owned()] } else { spellings };
                for word in shown {
                    let count = counts.entry(word).or_default();
                    *count = documents.max(*count);
                }
            }
        }
        for (word, documents) in counts {
            *self.counts.entry(word).or_default() += documents;
        }
        Ok(())
    }

    /// Returns the spellings of a word with marks or signs.
    fn spellings(&mut self, segment: &mut SuggestionSegment<'_>, word: &str) -> Result<Vec<String>> {
        let prefix = joined_term(word, "");
        let spellings = Arc::clone(&segment.spellings);
        let mut terms = spellings.terms().range().ge(&prefix).into_stream()?;
        let (mut found, mut read) = (Vec::new(), 0);
        while read < MAX_SPELLINGS && terms.advance() && terms.key().starts_with(prefix.as_bytes()) {
            read += 1;
            let Ok(term) = std::str::from_utf8(terms.key()) else { continue };
            let postings = spellings.read_postings_from_terminfo(terms.value(), IndexRecordOption::Basic)?;
            if self.admitted(segment, postings, 1) > 0 {
                found.extend(term.get(prefix.len()..).map(str::to_owned));
            }
        }
        Ok(found)
    }

    /// Counts the documents that the filter admits, up to a bound.
    fn admitted(&mut self, segment: &mut SuggestionSegment<'_>, mut documents: impl DocSet, bound: usize) -> usize {
        let mut count = 0;
        let mut doc = documents.doc();
        while doc != TERMINATED && count < bound {
            let known = segment.admitted.get(&doc).copied();
            let admitted = known.unwrap_or_else(|| {
                if self.calls == MAX_FILTER_CALLS {
                    return false;
                }
                self.calls += 1;
                let admitted = !segment.reader.is_deleted(doc) && segment.columns.is_admitted(doc, self.filter);
                segment.admitted.insert(doc, admitted);
                admitted
            });
            count += usize::from(admitted);
            doc = documents.advance();
        }
        count
    }
}
