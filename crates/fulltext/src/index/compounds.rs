//! German compounds of a query's words, found in the dictionaries of the index.
//!
//! A word of a query is part of a compound if the compound begins or ends with it at a hyphenation
//! point, and the rest is a word of a document that the filter admits. So a document that the
//! caller may not find has no influence on the compounds.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use tantivy::schema::IndexRecordOption;
use tantivy::{DocSet, InvertedIndexReader, SegmentReader, TERMINATED};

use super::TextIndex;
use super::columns::SegmentColumns;
use super::matching::{CompoundStems, SearchClock};
use super::search::OpenSegment;
use super::word_filter::WordFilter;
use crate::Result;
use crate::analysis::{
    AnalysedWord, CompoundEntry, PartForm, StemLanguage, min_rest_chars, part_borders, part_forms, rest_forms,
};
use crate::document::DocumentFilter;
use crate::query::{FieldScope, SearchQuery};

/// The most compounds that a word of a query is part of.
const MAX_COMPOUNDS: usize = 1_000;

/// The most terms of a dictionary that are read for a form of a word.
const MAX_COMPOUND_TERMS: usize = 20_000;

/// The most possible rests of compounds that are looked up for a word of a query.
///
/// Each takes some look-ups in the dictionaries of each segment.
const MAX_RESTS: usize = 4_000;

/// The fewest letters of the two words in the rest of a compound of three words.
const MIN_INNER_CHARS: usize = 4;

impl TextIndex {
    /// Returns for each word of a query the stems of the compounds that it is part of.
    pub(super) fn compound_stems(
        &self,
        segments: &[OpenSegment<'_>],
        query: &SearchQuery,
        filter: &dyn DocumentFilter,
        clock: SearchClock,
    ) -> Result<CompoundStems> {
        let mut stems = CompoundStems::new();
        let Some(language) = self.languages.stemmed.iter().find(|language| language.has_compounds()) else {
            return Ok(stems);
        };
        let mut dictionaries = Vec::new();
        for (reader, columns) in segments {
            let filter = self.word_filters.of(reader, &self.fields, clock)?;
            for field in [self.fields.texts, self.fields.titles, self.fields.name] {
                let stems = reader.inverted_index(field.stems)?;
                let written = reader.inverted_index(field.written)?;
                dictionaries.push(WordDictionaries { reader, filter: filter.clone(), columns, stems, written });
            }
        }
        let mut search = CompoundSearch {
            index: self,
            language: *language,
            segments,
            dictionaries,
            filter,
            clock,
            known: HashMap::new(),
        };
        for condition in query.positive_words() {
            if condition.quoted || matches!(condition.scope, FieldScope::Small(_)) {
                continue;
            }
            let single = if let [word] = &condition.words[..] { Some(word) } else { None };
            for word in single.into_iter().chain(&condition.whole) {
                if !stems.contains_key(&word.lower) {
                    let found = search.compounds(word)?;
                    stems.insert(word.lower.clone(), found);
                }
            }
        }
        Ok(stems)
    }
}

/// The dictionaries of the words of a field in a segment.
struct WordDictionaries<'a> {
    reader: &'a SegmentReader,
    /// The filter for the words of all fields of the segment.
    filter: Arc<WordFilter>,
    columns: &'a SegmentColumns,
    stems: Arc<InvertedIndexReader>,
    written: Arc<InvertedIndexReader>,
}

/// The search for compounds of one query.
struct CompoundSearch<'a> {
    index: &'a TextIndex,
    language: StemLanguage,
    segments: &'a [OpenSegment<'a>],
    dictionaries: Vec<WordDictionaries<'a>>,
    filter: &'a dyn DocumentFilter,
    clock: SearchClock,
    /// Whether stems are words of a document that the filter admits.
    known: HashMap<String, bool>,
}

impl CompoundSearch<'_> {
    /// Returns the terms of the stems of the compounds that a word is part of.
    fn compounds(&mut self, word: &AnalysedWord) -> Result<Vec<String>> {
        let Some(min_chars) = min_rest_chars(word) else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        let known_before = self.known.len();
        for part in part_forms(self.language, word) {
            for entry in self.candidates(&part.text)? {
                if self.known.len() - known_before > MAX_RESTS {
                    return Ok(found);
                }
                let term = self.language.term(&entry.stem);
                if !found.contains(&term) && self.has_words(&entry, &part, min_chars)? {
                    found.push(term);
                    if found.len() == MAX_COMPOUNDS {
                        return Ok(found);
                    }
                }
            }
        }
        Ok(found)
    }

    /// Returns the entries of the words that begin or end with a part.
    fn candidates(&self, part: &str) -> Result<Vec<CompoundEntry>> {
        let mut terms = HashSet::new();
        let reversed: String = part.chars().rev().collect();
        let fields = &self.index.fields;
        for (reader, _) in self.segments {
            let compounds = reader.inverted_index(fields.compounds)?;
            self.for_prefix(compounds.terms(), &reversed, |term| {
                terms.insert(term.to_owned());
            })?;
            for field in [fields.name, fields.titles, fields.texts] {
                let mut words = HashSet::new();
                let stems = reader.inverted_index(field.stems)?;
                self.for_prefix(stems.terms(), &self.language.term(part), |term| {
                    words.insert(term.chars().skip(1).collect::<String>());
                })?;
                for word in words {
                    let mut key: String = word.chars().rev().collect();
                    key.push('\0');
                    self.for_prefix(compounds.terms(), &key, |term| {
                        terms.insert(term.to_owned());
                    })?;
                }
            }
        }
        let mut terms: Vec<String> = terms.into_iter().collect();
        terms.sort_unstable();
        Ok(terms.iter().filter_map(|term| CompoundEntry::from_term(term)).collect())
    }

    /// Reads the terms that begin with a text.
    fn for_prefix(
        &self,
        terms: &tantivy::termdict::TermDictionary,
        prefix: &str,
        mut take: impl FnMut(&str),
    ) -> Result<()> {
        let mut stream = terms.range().ge(prefix).into_stream()?;
        let mut count = 0;
        while count < MAX_COMPOUND_TERMS && stream.advance() && stream.key().starts_with(prefix.as_bytes()) {
            self.clock.check_at(count)?;
            if let Ok(term) = std::str::from_utf8(stream.key()) {
                take(term);
            }
            count += 1;
        }
        Ok(())
    }

    /// Reports whether the rest of a compound beside a part is a word or two.
    fn has_words(&mut self, entry: &CompoundEntry, part: &PartForm, min_chars: usize) -> Result<bool> {
        let letters: Vec<char> = entry.stem.chars().collect();
        for border in part_borders(entry, part) {
            let rest = border.rest;
            let in_front = rest.start == 0;
            if self.is_word(&letters[rest.clone()], in_front, min_chars)? {
                return Ok(true);
            }
            for inner in entry.borders.iter().filter(|inner| rest.contains(inner)) {
                if self.is_word(&letters[rest.start..*inner], true, MIN_INNER_CHARS)?
                    && self.is_word(&letters[*inner..rest.end], in_front, MIN_INNER_CHARS)?
                {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Reports whether letters are a word of a document that the filter admits.
    fn is_word(&mut self, letters: &[char], in_front: bool, min_chars: usize) -> Result<bool> {
        let text: String = letters.iter().collect();
        for form in rest_forms(self.language, &text, in_front, min_chars) {
            let known = match self.known.get(&form) {
                Some(known) => *known,
                None => {
                    let known = self.is_admitted(&form)?;
                    self.known.insert(form, known);
                    known
                }
            };
            if known {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Reports whether a stem occurs in a document that the filter admits.
    fn is_admitted(&self, stem: &str) -> Result<bool> {
        let term = self.language.term(stem);
        for dictionaries in &self.dictionaries {
            // A word that is written like its stem is only among the written forms.
            for (inverted, key) in [(&dictionaries.stems, term.as_str()), (&dictionaries.written, stem)] {
                if !dictionaries.filter.may_have(key) {
                    continue;
                }
                let Some(info) = inverted.terms().get(key)? else { continue };
                let mut postings = inverted.read_postings_from_terminfo(&info, IndexRecordOption::Basic)?;
                let mut doc = postings.doc();
                let mut walked = 0;
                while doc != TERMINATED {
                    self.clock.check_at(walked)?;
                    let deleted = dictionaries.reader.is_deleted(doc);
                    if !deleted && dictionaries.columns.is_admitted(doc, self.filter) {
                        return Ok(true);
                    }
                    walked += 1;
                    doc = postings.advance();
                }
            }
        }
        Ok(false)
    }
}
