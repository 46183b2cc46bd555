//! Stems of words, by the Snowball stemmers.

use frostem::{Algorithm, Stemmer};

use super::normalise::fold;
use super::words::AnalysedWord;

/// The version of the stemmers' crate. An index of another version is built anew.
pub(crate) const STEMMER_VERSION: &str = "frostem 1.20260821.8";

/// A language with a stemmer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StemLanguage {
    /// The code of ISO 639-1.
    pub code: &'static str,
    /// The codes of ISO 639-2.
    long_codes: [&'static str; 2],
    /// The first character of terms of the language.
    pub tag: char,
    algorithm: Algorithm,
}

/// The languages with stemmers.
const LANGUAGES: [StemLanguage; 18] = [
    language("ar", ["ara", "ara"], 'a', Algorithm::Arabic),
    language("da", ["dan", "dan"], 'b', Algorithm::Danish),
    language("nl", ["nld", "dut"], 'c', Algorithm::Dutch),
    language("de", ["deu", "ger"], 'd', Algorithm::German),
    language("en", ["eng", "eng"], 'e', Algorithm::English),
    language("fi", ["fin", "fin"], 'f', Algorithm::Finnish),
    language("fr", ["fra", "fre"], 'g', Algorithm::French),
    language("el", ["ell", "gre"], 'h', Algorithm::Greek),
    language("hu", ["hun", "hun"], 'i', Algorithm::Hungarian),
    language("it", ["ita", "ita"], 'j', Algorithm::Italian),
    language("no", ["nor", "nob"], 'k', Algorithm::Norwegian),
    language("pt", ["por", "por"], 'l', Algorithm::Portuguese),
    language("ro", ["ron", "rum"], 'm', Algorithm::Romanian),
    language("ru", ["rus", "rus"], 'n', Algorithm::Russian),
    language("es", ["spa", "spa"], 'o', Algorithm::Spanish),
    language("sv", ["swe", "swe"], 'p', Algorithm::Swedish),
    language("ta", ["tam", "tam"], 'q', Algorithm::Tamil),
    language("tr", ["tur", "tur"], 'r', Algorithm::Turkish),
];

/// Makes an entry of [`LANGUAGES`].
const fn language(code: &'static str, long_codes: [&'static str; 2], tag: char, algorithm: Algorithm) -> StemLanguage {
    StemLanguage { code, long_codes, tag, algorithm }
}

impl StemLanguage {
    /// Returns the language of a code like `de`, `de-AT` or `deu`, if it has a stemmer.
    pub fn from_code(code: &str) -> Option<Self> {
        let primary = code.split(['-', '_']).next().unwrap_or_default().trim().to_ascii_lowercase();
        let primary = if matches!(primary.as_str(), "nb" | "nn" | "nno") { "no" } else { primary.as_str() };
        LANGUAGES.into_iter().find(|language| language.code == primary || language.long_codes.contains(&primary))
    }

    /// Reports whether words of the language have compounds that are taken apart.
    pub fn has_compounds(self) -> bool {
        self.algorithm == Algorithm::German
    }

    /// Reports whether a word and its stem without marks begin with the same letter. Some stemmers
    /// remove prefixes.
    pub fn keeps_first_letters(self) -> bool {
        !matches!(self.algorithm, Algorithm::Arabic | Algorithm::Dutch | Algorithm::Tamil)
    }

    /// Returns the stem of a word without marks.
    pub fn stem(self, word: &str) -> String {
        fold(&Stemmer::new(self.algorithm).stem(word)).0
    }

    /// Returns the stems of a word: of its form with marks, and of those without, if they differ.
    pub fn stems(self, word: &AnalysedWord) -> Vec<String> {
        let mut stems = vec![self.stem(&word.lower)];
        for written in word.written() {
            if written != word.lower {
                let stem = self.stem(written);
                if !stems.contains(&stem) {
                    stems.push(stem);
                }
            }
        }
        stems.retain(|stem| !stem.is_empty());
        stems
    }

    /// Returns the term of a stem in the index.
    pub fn term(self, stem: &str) -> String {
        let mut term = String::with_capacity(stem.len() + 1);
        term.push(self.tag);
        term.push_str(stem);
        term
    }
}
