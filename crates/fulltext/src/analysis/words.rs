//! Words of a text by Unicode's rules (UAX 29), with parts and wholes of joined words.

use unicode_segmentation::UnicodeSegmentation;

use super::MAX_WORD_CHARS;
use super::normalise::{fold, lower};

/// The largest number of parts of a joined word that has a form as a whole.
const MAX_WHOLE_PARTS: usize = 8;

/// Articles and pronouns that are elided before an apostrophe, in French and Italian.
const ELIDED: [&str; 33] = [
    "l", "d", "j", "m", "t", "s", "n", "c", "qu", "jusqu", "lorsqu", "puisqu", "quoiqu", "dell", "all", "nell", "sull",
    "dall", "coll", "un", "quest", "quell", "sant", "bell", "gl", "gli", "dov", "cos", "com", "anch", "senz", "entr",
    "presqu",
];

/// A word of a text and the forms by which it is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AnalysedWord {
    /// The form in lower case with its marks, for stemmers.
    pub lower: String,
    /// The form in lower case without marks.
    pub plain: String,
    /// The form with written-out umlauts, if it differs.
    pub expanded: Option<String>,
    /// The number of the word in the text.
    pub position: u32,
    /// The offset of the first byte in the clean text.
    pub start: usize,
    /// The offset behind the last byte in the clean text.
    pub end: usize,
    /// Whether the word is the whole of the joined words that begin at its position.
    pub whole: bool,
}

impl AnalysedWord {
    /// Returns the written forms.
    pub fn written(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.plain.as_str()).chain(self.expanded.as_deref())
    }
}

/// Reports whether a character is a word by itself, as in Chinese and Japanese.
pub(crate) fn is_single_character_word(character: char) -> bool {
    matches!(character, '\u{3005}'..='\u{3007}' | '\u{3041}'..='\u{309f}' | '\u{30a1}'..='\u{30ff}'
        | '\u{31f0}'..='\u{31ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{ff66}'..='\u{ff9f}' | '\u{20000}'..='\u{3ffff}')
}

/// Reports whether a text between two words joins them to one.
fn is_joint(between: &str) -> bool {
    matches!(
        between,
        "" | "-"
            | "\u{2010}"
            | "\u{2011}"
            | "'"
            | "\u{2019}"
            | "_"
            | "."
            | ","
            | ":"
            | "\u{b7}"
            | "/"
            | "@"
            | "&"
            | "+"
    )
}

/// Reports whether a sign within a word of UAX 29 separates its parts.
fn is_inner_sign(character: char) -> bool {
    matches!(
        character,
        '\'' | '\u{2019}'
            | '\u{2018}'
            | '_'
            | '.'
            | ','
            | ':'
            | ';'
            | '\u{b7}'
            | '\u{ff0e}'
            | '\u{ff07}'
            | '\u{2024}'
            | '\u{fe52}'
            | '\u{202f}'
    )
}

/// Analyses the words of a clean text; words after the first `limit` ones are ignored.
///
/// Positions begin with `first`.
pub(crate) fn analyse(clean: &str, first: u32, limit: usize) -> Vec<AnalysedWord> {
    analyse_chosen(clean, first, limit, |_| true)
}

/// Analyses the words of a clean text like [`analyse`], and returns those whose text is chosen.
pub(crate) fn analyse_chosen(
    clean: &str,
    first: u32,
    limit: usize,
    is_chosen: impl Fn(&str) -> bool,
) -> Vec<AnalysedWord> {
    let (words, chain) = (Vec::new(), Vec::new());
    let mut analysis = WordAnalysis { text: clean, is_chosen, words, chain, position: first, left: limit };
    for (start, word) in clean.unicode_word_indices() {
        if analysis.left == 0 {
            break;
        }
        analysis.add_segment(start, word);
    }
    analysis.end_chain();
    analysis.words
}

/// A piece of a text that becomes a word.
#[derive(Clone, Copy)]
struct WordPiece<'a> {
    text: &'a str,
    start: usize,
}

impl WordPiece<'_> {
    /// Returns the offset behind the piece.
    fn end(&self) -> usize {
        self.start + self.text.len()
    }
}

/// The state of [`analyse_chosen`].
struct WordAnalysis<'a, F> {
    text: &'a str,
    is_chosen: F,
    words: Vec<AnalysedWord>,
    /// The pieces of the joined word that is being read.
    chain: Vec<WordPiece<'a>>,
    position: u32,
    left: usize,
}

impl<'a, F: Fn(&str) -> bool> WordAnalysis<'a, F> {
    /// Adds a word of UAX 29, which may consist of several pieces.
    fn add_segment(&mut self, start: usize, word: &'a str) {
        if word.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            self.add_piece(WordPiece { text: word, start });
            return;
        }
        let mut from = 0;
        let mut previous_single = false;
        for (at, character) in word.char_indices() {
            let single = is_single_character_word(character);
            let joint = is_inner_sign(character);
            if (single || previous_single || joint) && at > from {
                self.add_piece(WordPiece { text: &word[from..at], start: start + from });
                from = at;
            }
            if joint {
                from = at + character.len_utf8();
            }
            previous_single = single;
        }
        if from < word.len() {
            self.add_piece(WordPiece { text: &word[from..], start: start + from });
        }
    }

    /// Adds a piece to the joined word that is being read, or begins a new one.
    fn add_piece(&mut self, piece: WordPiece<'a>) {
        if self.left == 0 {
            return;
        }
        self.left -= 1;
        if let Some(last) = self.chain.last() {
            let between = &self.text[last.end()..piece.start];
            let single = |text: &str| text.chars().next().is_some_and(is_single_character_word);
            if !is_joint(between) || single(last.text) || single(piece.text) {
                self.end_chain();
            }
        }
        self.chain.push(piece);
    }

    /// Makes words of the joined word that was read.
    fn end_chain(&mut self) {
        let mut chain = std::mem::take(&mut self.chain);
        if chain.len() > 1 {
            self.drop_particles(&mut chain);
        }
        let whole = (chain.len() > 1 && chain.len() <= MAX_WHOLE_PARTS).then(|| self.whole(&chain)).flatten();
        let position = self.position;
        for piece in &chain {
            self.add_word(piece.text, piece.start, piece.end(), self.position, false);
            self.position += 1;
        }
        if let (Some(text), Some(first), Some(last)) = (whole, chain.first(), chain.last()) {
            self.add_word(&text, first.start, last.end(), position, true);
        }
        chain.clear();
        self.chain = chain;
    }

    /// Removes a possessive s and elided articles, which stand at an apostrophe.
    fn drop_particles(&self, chain: &mut Vec<WordPiece<'a>>) {
        let apostrophe = |before: &WordPiece<'_>, after: &WordPiece<'_>| {
            matches!(&self.text[before.end()..after.start], "'" | "\u{2019}")
        };
        let count = chain.len();
        if count > 1
            && chain[count - 1].text.eq_ignore_ascii_case("s")
            && apostrophe(&chain[count - 2], &chain[count - 1])
        {
            chain.pop();
        }
        let mut at = 0;
        while at + 1 < chain.len() {
            let elided = apostrophe(&chain[at], &chain[at + 1]) && ELIDED.contains(&lower(chain[at].text).as_str());
            // Only at the begin of the chain and after a hyphen: the `n` of rock'n'roll stays.
            let begins = at == 0 || !apostrophe(&chain[at - 1], &chain[at]);
            if elided && begins && chain[at + 1].text.chars().nth(1).is_some() {
                chain.remove(at);
            } else {
                at += 1;
            }
        }
    }

    /// Returns the pieces of a chain as one word, if it is not too long.
    fn whole(&self, chain: &[WordPiece<'a>]) -> Option<String> {
        let bytes: usize = chain.iter().map(|piece| piece.text.len()).sum();
        (bytes <= MAX_WORD_CHARS).then(|| chain.iter().map(|piece| piece.text).collect())
    }

    /// Adds the word of a piece, if it is chosen.
    fn add_word(&mut self, text: &str, start: usize, end: usize, position: u32, whole: bool) {
        if !(self.is_chosen)(text) {
            return;
        }
        let cut = text.char_indices().nth(MAX_WORD_CHARS).map_or(text, |(at, _)| &text[..at]);
        let lower = lower(cut);
        let (plain, expanded) = fold(&lower);
        self.words.push(AnalysedWord { lower, plain, expanded, position, start, end, whole });
    }
}
