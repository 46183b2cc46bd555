//! The way from a document to the terms and columns of the index.

use std::collections::HashSet;
use std::net::Ipv6Addr;

use tantivy::TantivyDocument;
use tantivy::schema::Field;
use tantivy::tokenizer::{PreTokenizedString, Token};

use super::schema::{IndexFields, WordFields};
use crate::analysis::{
    AnalysedWord, CleanText, MAX_DOCUMENT_WORDS, MAX_WORD_CHARS, StemLanguage, analyse, compound_entry, fold_value,
};
use crate::document::IndexDocument;

/// The distance between the last word of a text and the first of the next one.
///
/// More than one, so that no phrase spans two texts.
const TEXT_GAP: u32 = 2;

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

/// Makes the document of the index.
pub(super) fn index_document(
    fields: &IndexFields,
    document: &IndexDocument,
    language: Option<StemLanguage>,
) -> TantivyDocument {
    let mut conversion = DocumentConversion {
        output: TantivyDocument::new(),
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
    let compounds = std::mem::take(&mut conversion.compounds).into_iter().map(|term| token(term, 0)).collect();
    conversion.add_tokens(fields.compounds, compounds);
    conversion.output
}

/// The state of [`index_document`].
struct DocumentConversion {
    output: TantivyDocument,
    language: Option<StemLanguage>,
    /// The number of words that may still be indexed.
    left: usize,
    compounds: HashSet<String>,
}

impl DocumentConversion {
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

    /// Adds the spellings of words with marks, which suggestions are made of.
    fn add_spellings<'a>(&mut self, field: Field, texts: impl Iterator<Item = &'a str>) {
        let mut spellings = HashSet::new();
        for text in texts {
            let clean = CleanText::new(text);
            for word in analyse(&clean.text, 0, self.left).into_iter().filter(|word| !word.whole) {
                if word.lower != word.plain {
                    spellings.extend(word.written().map(|written| joined_term(written, &word.lower)));
                }
            }
        }
        self.add_tokens(field, spellings.into_iter().map(|spelling| token(spelling, 0)).collect());
    }

    /// Adds the words of texts in both forms.
    fn add_words<'a>(&mut self, fields: WordFields, texts: impl Iterator<Item = &'a str>) {
        let mut tokens = Vec::new();
        let mut stems = HashSet::new();
        let mut seen = HashSet::new();
        let mut first = 0;
        for text in texts {
            let words = self.analyse(text, first);
            for word in words {
                first = first.max(word.position + TEXT_GAP);
                tokens.extend(word.written().map(|written| token(written.to_owned(), word.position)));
                if !seen.contains(&word.lower) {
                    self.add_derived(&word, &mut stems);
                    seen.insert(word.lower);
                }
            }
        }
        self.add_tokens(fields.written, tokens);
        self.add_tokens(fields.stems, stems.into_iter().map(|stem| token(stem, 0)).collect());
    }

    /// Adds the derived terms of a word once in each document: stems and compounds.
    fn add_derived(&mut self, word: &AnalysedWord, stems: &mut HashSet<String>) {
        let Some(language) = self.language else { return };
        let entry = if language.has_compounds() { compound_entry(language, word) } else { None };
        // A stem that is written so is found in the field of written forms, to save space. One of a
        // compound stays: it must be of the language.
        let derived = language.stems(word).into_iter().filter(|stem| *stem != word.plain || entry.is_some());
        stems.extend(derived.map(|stem| language.term(&stem)));
        self.compounds.extend(entry.map(|entry| entry.to_term()));
    }

    /// Adds the words of categories and small fields.
    fn add_small(&mut self, field: Field, document: &IndexDocument) {
        let mut tokens = Vec::new();
        let mut first = 0;
        let categories = document.category_values().map(|(category, value)| (category.name(), value));
        let fields = document.fields.iter().map(|(name, text)| (name.as_str(), text.as_str()));
        for (name, text) in categories.chain(fields) {
            let name = small_field_name(name);
            for word in self.analyse(text, first) {
                first = first.max(word.position + TEXT_GAP);
                tokens.extend(word.written().map(|written| token(joined_term(&name, written), word.position)));
            }
        }
        self.add_tokens(field, tokens);
    }

    /// Analyses a text within the bound of the document.
    fn analyse(&mut self, text: &str, first: u32) -> Vec<AnalysedWord> {
        let clean = CleanText::new(text);
        let mut words = analyse(&clean.text, first, self.left);
        self.left -= words.iter().filter(|word| !word.whole).count().min(self.left);
        words.retain(|word| !word.plain.is_empty());
        words
    }

    /// Adds tokens in the order of their positions, as the index needs them.
    fn add_tokens(&mut self, field: Field, mut tokens: Vec<Token>) {
        if !tokens.is_empty() {
            tokens.sort_by_key(|token| token.position);
            self.output.add_pre_tokenized_text(field, PreTokenizedString { text: String::new(), tokens });
        }
    }
}

/// Makes a token.
fn token(text: String, position: u32) -> Token {
    Token { offset_from: 0, offset_to: 0, position: position as usize, text, position_length: 1 }
}
