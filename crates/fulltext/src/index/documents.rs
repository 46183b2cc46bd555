//! The way from a document to the terms and columns of the index.

use std::collections::{HashMap, HashSet};
use std::net::Ipv6Addr;

use tantivy::TantivyDocument;
use tantivy::schema::Field;

use super::schema::{IndexFields, WordFields};
use super::word_list::WordList;
use crate::analysis::{
    AnalysedWord, CleanText, MAX_DOCUMENT_WORDS, MAX_WORD_CHARS, StemLanguage, analyse, compound_entry, fold_value,
    lower,
};
use crate::document::IndexDocument;

/// The distance between the last word of a text and the first of the next one.
///
/// More than one, so that no phrase spans two texts.
const TEXT_GAP: u32 = 2;

/// The most words whose derived forms are kept, some 5 MB; of the longest words 25 MB.
const MAX_KEPT_WORDS: usize = 16_384;

/// Returns the separated parts of a term as one.
pub(super) fn joined_term(first: &str, second: &str) -> String {
    let mut term = String::with_capacity(first.len() + second.len() + 1);
    term.push_str(first);
    term.push('\0');
    term.push_str(second);
    term
}

/// Returns the folded name of a small field, cut to a bound.
pub(super) fn small_field_name(name: &str) -> String {
    fold_value(name).replace('\0', "").chars().take(MAX_WORD_CHARS).collect()
}

/// Returns the form of a name by which results are sorted.
pub(super) fn sort_name(name: &str) -> String {
    fold_value(name).chars().take(MAX_WORD_CHARS).collect()
}

/// The derived forms of words that occurred before. A few thousand words make up most of all texts.
#[derive(Default)]
pub(super) struct DerivedForms(HashMap<String, WordDerivation>);

/// The terms that are derived from a word.
struct WordDerivation {
    /// The terms of the stems.
    stems: Vec<String>,
    /// The term of the compound.
    compound: Option<String>,
}

impl DerivedForms {
    /// Returns the terms that are derived from a word. Too many words are forgotten together.
    fn of(&mut self, language: StemLanguage, word: &AnalysedWord) -> &WordDerivation {
        let key = language.term(&word.lower);
        if self.0.len() >= MAX_KEPT_WORDS && !self.0.contains_key(&key) {
            self.0.clear();
        }
        self.0.entry(key).or_insert_with(|| WordDerivation::of(language, word))
    }
}

impl WordDerivation {
    fn of(language: StemLanguage, word: &AnalysedWord) -> Self {
        let entry = if language.has_compounds() { compound_entry(language, word) } else { None };
        // A stem that is written so is found in the field of written forms, to save space. One of a
        // compound stays: it must be of the language.
        let stems = language.stems(word).into_iter().filter(|stem| *stem != word.plain || entry.is_some());
        Self { stems: stems.map(|stem| language.term(&stem)).collect(), compound: entry.map(|entry| entry.to_term()) }
    }
}

/// Makes the document of the index.
pub(super) fn index_document(
    fields: &IndexFields,
    document: &IndexDocument,
    language: Option<StemLanguage>,
    derived: &mut DerivedForms,
) -> TantivyDocument {
    let mut conversion = DocumentConversion {
        output: TantivyDocument::new(),
        derived,
        language,
        left: MAX_DOCUMENT_WORDS,
        compounds: HashSet::new(),
    };
    conversion.add_columns(fields, document);
    let heads = || std::iter::once(document.name.as_str()).chain(document.titles.iter().map(String::as_str));
    conversion.add_spellings(fields.spellings, heads());
    conversion.add_words(fields.name, std::iter::once(document.name.as_str()));
    conversion.add_words(fields.titles, document.titles.iter().map(String::as_str));
    conversion.add_small(fields.small, document);
    conversion.add_words(fields.texts, document.texts.iter().map(String::as_str));
    let compounds = std::mem::take(&mut conversion.compounds);
    conversion.add_list(fields.compounds, compounds.into_iter().collect());
    conversion.output
}

/// The state of [`index_document`].
struct DocumentConversion<'d> {
    output: TantivyDocument,
    derived: &'d mut DerivedForms,
    language: Option<StemLanguage>,
    /// The number of words that may still be indexed.
    left: usize,
    compounds: HashSet<String>,
}

impl DocumentConversion<'_> {
    /// Adds the values of columns and the identities.
    fn add_columns(&mut self, fields: &IndexFields, document: &IndexDocument) {
        let output = &mut self.output;
        output.add_ip_addr(fields.key, Ipv6Addr::from(document.key));
        output.add_ip_addr(fields.place, Ipv6Addr::from(document.place));
        if let Some(container) = document.container {
            output.add_ip_addr(fields.container, Ipv6Addr::from(container));
        }
        output.add_u64(fields.revision, document.revision);
        output.add_bool(fields.visible, document.visible);
        output.add_i64(fields.created, document.created_ms);
        output.add_i64(fields.modified, document.modified_ms);
        output.add_text(fields.sort_name, sort_name(&document.name));
        for owner in &document.owners {
            output.add_text(fields.owners, owner);
        }
        for (category, value) in document.category_values() {
            output.add_text(fields.categories[category.index()], value);
        }
    }

    /// Adds the spellings of words with marks or signs, which suggestions are made of.
    fn add_spellings<'a>(&mut self, field: Field, texts: impl Iterator<Item = &'a str>) {
        let mut spellings = HashSet::new();
        for text in texts {
            let clean = CleanText::new(text);
            for word in analyse(&clean.text, 0, self.left) {
                // The text of joined words has the signs between them.
                let joined = word.whole.then(|| lower(&clean.text[word.start..word.end]));
                let spelling = joined.as_ref().unwrap_or(&word.lower);
                if *spelling != word.plain {
                    spellings.extend(word.written().map(|written| joined_term(written, spelling)));
                }
            }
        }
        self.add_list(field, spellings.into_iter().collect());
    }

    /// Adds the words of texts in both forms.
    fn add_words<'a>(&mut self, fields: WordFields, texts: impl Iterator<Item = &'a str>) {
        let mut list = WordList::default();
        let mut stems = HashSet::new();
        let mut seen = HashSet::new();
        let mut first = 0;
        for text in texts {
            let words = self.analyse(text, first);
            for word in words {
                first = first.max(word.position + TEXT_GAP);
                word.written().for_each(|written| list.push(word.position, written.to_owned()));
                if !seen.contains(&word.lower) {
                    self.add_derived(&word, &mut stems);
                    seen.insert(word.lower);
                }
            }
        }
        self.add_list(fields.written, list);
        self.add_list(fields.stems, stems.into_iter().collect());
    }

    /// Adds the derived terms of a word once in each document: stems and compounds.
    fn add_derived(&mut self, word: &AnalysedWord, stems: &mut HashSet<String>) {
        let Some(language) = self.language else { return };
        let derived = self.derived.of(language, word);
        stems.extend(derived.stems.iter().cloned());
        self.compounds.extend(derived.compound.clone());
    }

    /// Adds the words of categories and small fields.
    fn add_small(&mut self, field: Field, document: &IndexDocument) {
        let mut list = WordList::default();
        let mut first = 0;
        let categories = document.category_values().map(|(category, value)| (category.name(), value));
        let fields = document.fields.iter().map(|(name, text)| (name.as_str(), text.as_str()));
        for (name, text) in categories.chain(fields) {
            let name = small_field_name(name);
            for word in self.analyse(text, first) {
                first = first.max(word.position + TEXT_GAP);
                word.written().for_each(|written| list.push(word.position, joined_term(&name, written)));
            }
        }
        self.add_list(field, list);
    }

    /// Analyses a text within the bound of the document.
    fn analyse(&mut self, text: &str, first: u32) -> Vec<AnalysedWord> {
        let clean = CleanText::new(text);
        let mut words = analyse(&clean.text, first, self.left);
        self.left -= words.iter().filter(|word| !word.whole).count().min(self.left);
        words.retain(|word| !word.plain.is_empty());
        words
    }

    /// Adds the words of a list.
    fn add_list(&mut self, field: Field, list: WordList) {
        let text = list.into_text();
        if !text.is_empty() {
            self.output.add_text(field, text);
        }
    }
}
