//! Analysis: the way from a text to the forms by which words are found.
//!
//! A word has written forms ([`normalise::fold`]) and stems ([`StemLanguage`]). Documents and
//! queries are analysed by the same functions. A change of their results needs a new
//! [`ANALYSER_VERSION`].

mod compounds;
mod normalise;
mod stems;
mod words;

pub(crate) use compounds::{
    CompoundEntry, MIN_COMPOUND_CHARS, PartForm, compound_entry, may_be_compound_of, min_rest_chars, part_borders,
    part_forms, rest_forms,
};
pub(crate) use normalise::{CleanText, first_letter, fold_value, lower};
pub(crate) use stems::{STEMMER_VERSION, StemLanguage};
pub(crate) use words::{AnalysedWord, analyse, analyse_chosen, is_single_character_word};

/// The version of the analysis. An index of another version is built anew.
pub const ANALYSER_VERSION: u32 = 1;

/// The largest number of words of a document. Further words are ignored.
pub const MAX_DOCUMENT_WORDS: usize = 100_000;

/// The largest number of characters of a word. Further characters are ignored.
pub const MAX_WORD_CHARS: usize = 100;

#[cfg(test)]
mod tests;
