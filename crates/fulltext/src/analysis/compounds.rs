//! German compounds: where a word can be taken apart, and which parts count as words.

use std::ops::Range;

use hypher::{Lang, hyphenate};

use super::normalise::fold;
use super::stems::StemLanguage;
use super::words::AnalysedWord;

/// The fewest letters of a word that may be a compound.
pub(crate) const MIN_COMPOUND_CHARS: usize = 7;

/// The most letters of a word that is taken apart.
const MAX_COMPOUND_CHARS: usize = 60;

/// The fewest letters of a part of a compound.
const MIN_PART_CHARS: usize = 3;

/// A word that may be a compound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CompoundEntry {
    /// The stem of the word without marks.
    pub stem: String,
    /// The places between letters of the stem where the word may be hyphenated, ascending.
    pub borders: Vec<usize>,
}

/// Letters that link the parts of a compound.
const LINKS: [&str; 8] = ["", "s", "es", "n", "en", "er", "e", "ens"];

impl CompoundEntry {
    /// Returns the term: the reversed stem, a separator, and the borders as characters.
    pub fn to_term(&self) -> String {
        let mut term: String = self.stem.chars().rev().collect();
        term.push('\0');
        term.extend(self.borders.iter().filter_map(|border| char::from_u32(0x21 + *border as u32)));
        term
    }

    /// Reads a term of [`CompoundEntry::to_term`].
    pub fn from_term(term: &str) -> Option<Self> {
        let (reversed, borders) = term.split_once('\0')?;
        let borders = borders.chars().map(|c| (c as usize).saturating_sub(0x21)).collect();
        Some(Self { stem: reversed.chars().rev().collect(), borders })
    }
}

/// Returns the entry of a word, if it has a border with enough letters on both sides.
pub(crate) fn compound_entry(language: StemLanguage, word: &AnalysedWord) -> Option<CompoundEntry> {
    let chars = word.lower.chars().count();
    if !(MIN_COMPOUND_CHARS..=MAX_COMPOUND_CHARS).contains(&chars) || !word.lower.chars().all(char::is_alphabetic) {
        return None;
    }
    let stem = language.stem(&word.lower);
    let plain: Vec<char> = word.plain.chars().collect();
    let places = align(&plain, &stem)?;
    let length = stem.chars().count();
    if length < MIN_COMPOUND_CHARS {
        return None;
    }
    let mut at = 0;
    let mut borders = Vec::new();
    for syllable in hyphenate(&word.lower, Lang::German) {
        at += fold(syllable).0.chars().count();
        let Some(&border) = places.get(at) else { break };
        if border >= MIN_PART_CHARS && border + MIN_PART_CHARS <= length {
            borders.push(border);
        }
    }
    (!borders.is_empty()).then_some(CompoundEntry { stem, borders })
}

/// Returns for each place in a plain word the place in its stem, up to the stem's end.
///
/// The stemmer takes `ae`, `oe` and `ue` for umlauts: their `e` has no place of its own.
fn align(plain: &[char], stem: &str) -> Option<Vec<usize>> {
    let mut places = vec![0];
    let mut done = 0;
    let mut rest = stem.chars().peekable();
    let mut previous = ' ';
    for &character in plain {
        match rest.peek() {
            None => break,
            Some(&next) if next == character => {
                rest.next();
                done += 1;
            }
            Some(_) if character == 'e' && matches!(previous, 'a' | 'o' | 'u') => {}
            Some(_) => return None,
        }
        places.push(done);
        previous = character;
    }
    rest.peek().is_none().then_some(places)
}

/// A form of a word of a query that may begin or end the stem of a compound.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PartForm {
    /// The form without marks.
    pub text: String,
    /// Whether the form may also begin a compound.
    pub may_begin: bool,
}

/// Returns the forms of a word of a query that may begin or end the stem of a compound.
///
/// A stem within a compound may be shorter: of `tee` it is `tee`, of `kräutertee` `krauterte`.
/// The stemmer takes the end of nouns like `dienst` for that of a verb: without it, the form is at
/// the end of a compound only.
pub(crate) fn part_forms(language: StemLanguage, word: &AnalysedWord) -> Vec<PartForm> {
    if min_rest_chars(word).is_none() {
        return Vec::new();
    }
    let mut texts = vec![word.plain.clone(), language.stem(&word.lower)];
    if let Some(inner) = language.stem(&format!("{CARRIER}{}", word.lower)).strip_prefix(CARRIER) {
        texts.push(inner.to_owned());
    }
    texts.retain(|text| text.chars().count() + 1 >= MIN_PART_CHARS);
    texts.sort_unstable();
    texts.dedup();
    let may_begin = |text: &str| word.plain.strip_suffix("st") != Some(text);
    texts.into_iter().map(|text| PartForm { may_begin: may_begin(&text), text }).collect()
}

/// A word in front of another one for the stem that this has within a compound.
const CARRIER: &str = "grund";

/// Returns the fewest letters of the rest of a compound that a word is part of, if it can be.
pub(crate) fn min_rest_chars(word: &AnalysedWord) -> Option<usize> {
    let is_word = word.lower.chars().all(char::is_alphabetic);
    match word.plain.chars().count() {
        _ if !is_word => None,
        0..MIN_PART_CHARS => None,
        MIN_PART_CHARS => Some(MIN_PART_CHARS + 1),
        _ => Some(MIN_PART_CHARS),
    }
}

/// A way in which a part is at the begin or the end of a compound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PartBorder {
    /// The range of letters of the other part in the stem.
    pub rest: Range<usize>,
}

/// Returns the ways in which a part is at the begin or the end of a compound.
pub(crate) fn part_borders(entry: &CompoundEntry, part: &PartForm) -> Vec<PartBorder> {
    let text = part.text.as_str();
    let length = entry.stem.chars().count();
    let part_length = text.chars().count();
    let mut found = Vec::new();
    if entry.stem.ends_with(text) && part_length < length && entry.borders.contains(&(length - part_length)) {
        found.push(PartBorder { rest: 0..length - part_length });
    }
    if part.may_begin
        && let Some(behind) = entry.stem.strip_prefix(text)
    {
        for link in LINKS {
            let border = part_length + link.len();
            if behind.starts_with(link) && border < length && entry.borders.contains(&border) {
                found.push(PartBorder { rest: border..length });
            }
        }
    }
    found
}

/// Reports whether a word in the plain form may be a compound with a part. It takes no stem.
///
/// The stem is the beginning of the plain form, but may lack an `e` behind `a`, `o` or `u`.
pub(crate) fn may_be_compound_of(plain: &str, part: &PartForm) -> bool {
    plain.len() >= MIN_COMPOUND_CHARS
        && without_written_umlauts(plain).contains(without_written_umlauts(&part.text).trim_start_matches('e'))
}

/// Removes each `e` behind `a`, `o` or `u`.
fn without_written_umlauts(plain: &str) -> String {
    let mut previous = ' ';
    let is_kept = |character: &char| {
        let is_written_umlaut = *character == 'e' && matches!(previous, 'a' | 'o' | 'u');
        if !is_written_umlaut {
            previous = *character;
        }
        !is_written_umlaut
    };
    plain.chars().filter(is_kept).collect()
}

/// Words that are prefixes or suffixes of others and no parts of a compound.
const AFFIXES: [&str; 62] = [
    "vor", "auf", "aus", "bei", "ein", "mit", "nach", "uber", "unter", "gegen", "durch", "fur", "wider", "zwischen",
    "her", "hin", "dar", "ver", "ent", "zer", "miss", "hinter", "wieder", "weg", "los", "fort", "dazu", "hinaus",
    "herein", "hinein", "heraus", "umher", "schaft", "heit", "keit", "lich", "isch", "ung", "haft", "bar", "sam",
    "tum", "chen", "lein", "nis", "ling", "lings", "ieren", "ation", "iert", "ist", "and", "der", "die", "das", "den",
    "dem", "des", "und", "oder", "wie", "als",
];

/// Reports whether a part of a compound may count as a word.
fn is_rest_form(rest: &str, min_chars: usize) -> bool {
    rest.chars().count() >= min_chars && !AFFIXES.contains(&rest)
}

/// Returns the stems that the other part of a compound may have.
///
/// In front of the border a link is left out. No form is returned for a prefix or a suffix.
pub(crate) fn rest_forms(language: StemLanguage, rest: &str, in_front: bool, min_chars: usize) -> Vec<String> {
    let mut forms = Vec::new();
    if AFFIXES.contains(&rest) {
        return forms;
    }
    for link in &LINKS[..if in_front { LINKS.len() } else { 1 }] {
        let Some(bare) = rest.strip_suffix(link) else { continue };
        for form in [bare.to_owned(), language.stem(bare)] {
            if is_rest_form(bare, min_chars) && is_rest_form(&form, min_chars) && !forms.contains(&form) {
                forms.push(form);
            }
        }
    }
    forms
}

#[cfg(test)]
mod tests {
    use super::super::analyse;
    use super::*;

    fn entry(word: &str) -> Option<CompoundEntry> {
        let german = StemLanguage::from_code("de").unwrap();
        compound_entry(german, &analyse(word, 0, 1)[0])
    }

    fn part(text: &str) -> PartForm {
        PartForm { text: text.to_owned(), may_begin: true }
    }

    #[test]
    fn borders_are_hyphenation_points_of_the_stem() {
        let entry = entry("Bundesfinanzminister").unwrap();
        assert_eq!(entry.stem, "bundesfinanzminist");
        assert!(entry.borders.contains(&6) && entry.borders.contains(&12), "{entry:?}");
        assert_eq!(CompoundEntry::from_term(&entry.to_term()), Some(entry.clone()));
        assert_eq!(part_borders(&entry, &part("minist")), [PartBorder { rest: 0..12 }]);
        assert_eq!(part_borders(&entry, &part("bund")), [PartBorder { rest: 6..18 }]);
    }

    #[test]
    fn borders_survive_umlauts_and_written_out_ones() {
        assert!(entry("Straßenbahnfahrer").unwrap().borders.contains(&8));
        assert!(entry("Überseekoffer").unwrap().borders.contains(&7));
        assert!(entry("aktuelle").is_none_or(|entry| entry.stem == "aktull"));
        assert_eq!(entry("Motor"), None);
    }
}
