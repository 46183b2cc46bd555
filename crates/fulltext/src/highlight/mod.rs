//! Highlights: the fragment of a text that shows best why it was found.

use std::collections::{HashMap, HashSet};

use crate::analysis::{
    AnalysedWord, CleanText, MAX_DOCUMENT_WORDS, MIN_COMPOUND_CHARS, PartForm, StemLanguage, analyse_chosen,
    compound_entry, first_letter, may_be_compound_of, part_borders, part_forms,
};
use crate::query::{FieldScope, SearchQuery, WordCondition};

/// A fragment of a text and the places of the query's words in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Highlight {
    /// The fragment.
    pub text: String,
    /// The first character of each match and the one behind its last, in Unicode scalar values.
    pub matches: Vec<(usize, usize)>,
    /// Whether the text has more before the fragment.
    pub cut_start: bool,
    /// Whether the text has more behind the fragment.
    pub cut_end: bool,
}

/// A match in a text, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct TextMatch {
    start: usize,
    end: usize,
    /// The number of the condition.
    condition: usize,
}

impl SearchQuery {
    /// Returns the fragment of a text, of at most `max_chars` characters, that has most matches.
    ///
    /// The rules of the index apply to the text without the index. `languages` are the languages
    /// whose stems count. A word of German that a word of the query can begin or end is a match;
    /// whether its other part occurs as a word is not known here. Words after the first
    /// [`MAX_DOCUMENT_WORDS`] are not looked at. Returns `None` if nothing matches.
    pub fn highlight(&self, text: &str, languages: &[String], max_chars: usize) -> Option<Highlight> {
        let languages: Vec<StemLanguage> = languages.iter().filter_map(|code| StemLanguage::from_code(code)).collect();
        let conditions: Vec<ConditionForms<'_>> = self
            .positive_words()
            .filter(|condition| !matches!(condition.scope, FieldScope::Small(_)))
            .map(|condition| ConditionForms::new(condition, &languages))
            .collect();
        if conditions.is_empty() || max_chars == 0 {
            return None;
        }
        let clean = CleanText::new(text);
        let may_match = |text: &str| conditions.iter().any(|condition| condition.may_match(text));
        let words = analyse_chosen(&clean.text, 0, MAX_DOCUMENT_WORDS, may_match);
        let mut ranges = Vec::new();
        for (number, condition) in conditions.iter().enumerate() {
            condition.find(&words, &languages, |start, end| ranges.push((start, end, number)));
        }
        if ranges.is_empty() {
            return None;
        }
        ranges.sort_unstable();
        let matches = to_characters(&clean, &ranges);
        let chars: Vec<char> = text.chars().collect();
        let (from, to) = best_window(&matches, conditions.len(), chars.len(), max_chars)?;
        let (from, to) = snap_to_words(&chars, from, to, &matches);
        let mut shown: Vec<(usize, usize)> = Vec::new();
        for found in matches.iter().filter(|found| found.start < to && found.end > from) {
            let (start, end) = (found.start.max(from) - from, found.end.min(to) - from);
            match shown.last_mut() {
                Some(last) if start < last.1 => last.1 = last.1.max(end),
                _ => shown.push((start, end)),
            }
        }
        Some(Highlight {
            text: chars[from..to].iter().collect(),
            matches: shown,
            cut_start: from > 0,
            cut_end: to < chars.len(),
        })
    }
}

/// The forms by which the words of a condition match.
struct ConditionForms<'a> {
    condition: &'a WordCondition,
    /// The terms of stems, if the condition is about one word that is not quoted.
    stems: HashSet<String>,
    /// The forms that may begin or end a compound.
    parts: Vec<PartForm>,
    /// The first letters of words with one of the stems; `None` if they may have any.
    stem_letters: Option<Vec<char>>,
    /// The first letters of words that match as written.
    written_letters: Vec<char>,
}

impl<'a> ConditionForms<'a> {
    /// Returns the forms of a condition.
    fn new(condition: &'a WordCondition, languages: &[StemLanguage]) -> Self {
        let single = if let [word] = &condition.words[..] { Some(word) } else { None };
        let written = condition.words.iter().chain(&condition.whole);
        let written_letters = written.filter_map(|word| word.plain.chars().next()).collect();
        let (stems, stem_letters) = (HashSet::new(), Some(Vec::new()));
        let mut forms = Self { condition, stems, parts: Vec::new(), stem_letters, written_letters };
        for word in single.into_iter().chain(&condition.whole).filter(|_| !condition.quoted) {
            for language in languages {
                let stems = language.stems(word);
                match &mut forms.stem_letters {
                    Some(letters) if language.keeps_first_letters() => {
                        letters.extend(stems.iter().filter_map(|stem| stem.chars().next()));
                    }
                    letters => *letters = None,
                }
                forms.stems.extend(stems.iter().map(|stem| language.term(stem)));
                if language.has_compounds() {
                    forms.parts.extend(part_forms(*language, word));
                }
            }
        }
        forms
    }

    /// Reports whether a word of a text may match, before it is analysed. Nearly all do not.
    fn may_match(&self, text: &str) -> bool {
        if !self.parts.is_empty() && text.len() >= MIN_COMPOUND_CHARS {
            return true;
        }
        let Some(letters) = &self.stem_letters else { return true };
        first_letter(text).is_none_or(|first| letters.contains(&first) || self.written_letters.contains(&first))
    }

    /// Reports whether a word may have a stem in common, or be a compound. It takes no stem.
    fn may_be_derived(&self, word: &AnalysedWord) -> bool {
        let Some(letters) = &self.stem_letters else { return true };
        word.plain.chars().next().is_none_or(|first| letters.contains(&first))
            || self.parts.iter().any(|part| may_be_compound_of(&word.plain, part))
    }

    /// Finds the matches in the words of a text.
    fn find(&self, words: &[AnalysedWord], languages: &[StemLanguage], mut found: impl FnMut(usize, usize)) {
        let single = if let [word] = &self.condition.words[..] { Some(word) } else { None };
        let mut derived: HashMap<&str, bool> = HashMap::new();
        for word in words {
            let written =
                single.into_iter().chain(&self.condition.whole).any(|one| is_form_of(word, one, self.condition.prefix));
            let mut is_derived = || {
                self.may_be_derived(word)
                    && *derived.entry(&word.lower).or_insert_with(|| self.is_derived(word, languages))
            };
            if written || is_derived() {
                found(word.start, word.end);
            }
        }
        if single.is_none() {
            self.find_phrases(words, found);
        }
    }

    /// Reports whether a word has a stem in common, or is a compound with one of the words.
    fn is_derived(&self, word: &AnalysedWord, languages: &[StemLanguage]) -> bool {
        if self.stems.is_empty() {
            return false;
        }
        languages.iter().any(|language| {
            let stems = language.stems(word);
            // Few words pass this test. Finding the borders of a word takes longer than its stem.
            let may_have = |part: &PartForm| {
                let text = part.text.as_str();
                stems.first().is_some_and(|stem| stem.starts_with(text) || stem.ends_with(text))
            };
            stems.iter().any(|stem| self.stems.contains(&language.term(stem)))
                || (language.has_compounds()
                    && self.parts.iter().any(may_have)
                    && compound_entry(*language, word)
                        .is_some_and(|entry| self.parts.iter().any(|part| !part_borders(&entry, part).is_empty())))
        })
    }

    /// Finds the places where all words stand side by side.
    fn find_phrases(&self, words: &[AnalysedWord], mut found: impl FnMut(usize, usize)) {
        let words: Vec<&AnalysedWord> = words.iter().filter(|word| !word.whole).collect();
        let wanted = &self.condition.words;
        let first = wanted[0].position;
        for window in words.windows(wanted.len()) {
            let matches = window.iter().zip(wanted).enumerate().all(|(number, (word, one))| {
                let prefix = self.condition.prefix && number + 1 == wanted.len();
                word.position - window[0].position == one.position - first && is_form_of(word, one, prefix)
            });
            if matches {
                window.iter().for_each(|word| found(word.start, word.end));
            }
        }
    }
}

/// Reports whether a word of a text is written as a word of a query is, or begins so.
fn is_form_of(word: &AnalysedWord, wanted: &AnalysedWord, prefix: bool) -> bool {
    word.written().any(|form| wanted.written().any(|wanted| form == wanted || (prefix && form.starts_with(wanted))))
}

/// Turns ranges of bytes of a clean text into ranges of characters of the original.
fn to_characters(clean: &CleanText<'_>, ranges: &[(usize, usize, usize)]) -> Vec<TextMatch> {
    let mut offsets: Vec<usize> = clean.text.char_indices().map(|(at, _)| at).collect();
    offsets.push(clean.text.len());
    let character = |at: usize| offsets.partition_point(|offset| *offset < at);
    let mut matches: Vec<TextMatch> = ranges
        .iter()
        .map(|&(start, end, condition)| TextMatch {
            start: character(start) + clean.removed.partition_point(|at| *at <= start),
            end: character(end) + clean.removed.partition_point(|at| *at < end),
            condition,
        })
        .collect();
    matches.sort_unstable();
    matches
}

/// Returns the range of at most `max_chars` characters with most conditions, then most matches.
fn best_window(
    matches: &[TextMatch],
    conditions: usize,
    text_chars: usize,
    max_chars: usize,
) -> Option<(usize, usize)> {
    let mut counts = vec![0_usize; conditions];
    let mut end = 0;
    let mut best: Option<((usize, usize), usize, usize)> = None;
    for (first, start) in matches.iter().enumerate() {
        end = end.max(first);
        while end < matches.len() && (end == first || matches[end].end.saturating_sub(start.start) <= max_chars) {
            counts[matches[end].condition] += 1;
            end += 1;
        }
        let value = (counts.iter().filter(|count| **count > 0).count(), end - first);
        if best.is_none_or(|(most, _, _)| value > most) {
            let last = matches[first..end].iter().map(|found| found.end).max().unwrap_or(start.end);
            best = Some((value, start.start, last));
        }
        counts[start.condition] -= 1;
    }
    let (_, start, last) = best?;
    if text_chars <= max_chars {
        return Some((0, text_chars));
    }
    let last = last.min(start + max_chars);
    let room = max_chars - (last - start);
    let from = start.saturating_sub(room / 2).min(text_chars - max_chars);
    Some((from, from + max_chars))
}

/// Moves the ends of a range inwards to borders of words, but not into a match.
fn snap_to_words(chars: &[char], from: usize, to: usize, matches: &[TextMatch]) -> (usize, usize) {
    let inside = |found: &&TextMatch| found.start >= from && found.end <= to;
    let first = matches.iter().find(inside).map_or(from, |found| found.start);
    let last = matches.iter().filter(inside).map(|found| found.end).max().unwrap_or(to);
    let mut start = from;
    if from > 0 && !chars[from - 1].is_whitespace() {
        start = (from..first).find(|at| chars[*at].is_whitespace()).map_or(from, |at| at + 1);
    }
    let mut end = to;
    if to < chars.len() && !chars[to].is_whitespace() {
        end = (last..to).rev().find(|at| chars[*at].is_whitespace()).unwrap_or(to);
    }
    while start < first.min(end) && chars[start].is_whitespace() {
        start += 1;
    }
    while end > last.max(start) && chars[end - 1].is_whitespace() {
        end -= 1;
    }
    (start, end)
}

#[cfg(test)]
mod tests;
