//! Normalisation: one form for all spellings of a character.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;

/// Reports whether a character is invisible and stands for nothing.
fn is_ignorable(character: char) -> bool {
    matches!(character,
        '\u{ad}' | '\u{34f}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}')
}

/// Reports whether a character is a mark that is stripped from its base character.
///
/// Vowel signs of Indic scripts are marks too, but carry meaning, and stay.
fn is_stripped_mark(character: char) -> bool {
    matches!(character,
        '\u{300}'..='\u{36f}' | '\u{483}'..='\u{487}' | '\u{591}'..='\u{5bd}' | '\u{5bf}' | '\u{5c1}' | '\u{5c2}'
        | '\u{5c4}' | '\u{5c5}' | '\u{5c7}' | '\u{610}'..='\u{61a}' | '\u{640}' | '\u{64b}'..='\u{65f}' | '\u{670}'
        | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}')
}

/// A text without invisible characters, and the places of the removed ones.
pub(crate) struct CleanText<'a> {
    /// The text without invisible characters.
    pub text: Cow<'a, str>,
    /// The offset in `text` of each removed character, ascending.
    pub removed: Vec<usize>,
}

impl<'a> CleanText<'a> {
    /// Removes the invisible characters of a text.
    pub fn new(text: &'a str) -> Self {
        if text.is_ascii() || !text.chars().any(is_ignorable) {
            return Self { text: Cow::Borrowed(text), removed: Vec::new() };
        }
        let mut clean = String::with_capacity(text.len());
        let mut removed = Vec::new();
        for character in text.chars() {
            if is_ignorable(character) {
                removed.push(clean.len());
            } else {
                clean.push(character);
            }
        }
        Self { text: Cow::Owned(clean), removed }
    }
}

/// The plain and the expanded form of a letter that has no decomposition, or two usages.
fn letter_forms(character: char) -> Option<(&'static str, &'static str)> {
    Some(match character {
        'ä' => ("a", "ae"),
        'ö' | 'ø' => ("o", "oe"),
        'ü' => ("u", "ue"),
        'å' => ("a", "aa"),
        'ß' | 'ẞ' => ("ss", "ss"),
        'æ' => ("ae", "ae"),
        'œ' => ("oe", "oe"),
        'ł' => ("l", "l"),
        'đ' | 'ð' => ("d", "d"),
        'þ' => ("th", "th"),
        'ħ' => ("h", "h"),
        'ı' => ("i", "i"),
        'ŋ' => ("n", "n"),
        'ŧ' => ("t", "t"),
        'ſ' => ("s", "s"),
        'ς' => ("σ", "σ"),
        _ => return None,
    })
}

/// Returns the lower-case composed form of a word, for stemmers and hyphenation.
pub(crate) fn lower(word: &str) -> String {
    if word.is_ascii() {
        return word.to_ascii_lowercase();
    }
    word.chars().nfc().flat_map(char::to_lowercase).nfc().map(|c| if c == '’' { '\'' } else { c }).collect()
}

/// Returns the plain form of a word in lower case, and the expanded form if it differs.
///
/// The plain form of `müller` is `muller`, the expanded form `mueller`.
pub(crate) fn fold(lower: &str) -> (String, Option<String>) {
    if lower.is_ascii() {
        return (lower.to_owned(), None);
    }
    let mut plain = String::with_capacity(lower.len());
    let mut expanded = String::with_capacity(lower.len());
    for character in lower.chars() {
        if character.is_ascii() {
            plain.push(character);
            expanded.push(character);
        } else if let Some((one, two)) = letter_forms(character) {
            plain.push_str(one);
            expanded.push_str(two);
        } else {
            for part in std::iter::once(character).nfkd().flat_map(char::to_lowercase) {
                match letter_forms(part) {
                    _ if is_stripped_mark(part) => {}
                    Some((one, two)) => {
                        plain.push_str(one);
                        expanded.push_str(two);
                    }
                    None => {
                        plain.push(part);
                        expanded.push(part);
                    }
                }
            }
        }
    }
    let plain = compose(plain);
    let expanded = compose(expanded);
    let differs = expanded != plain;
    (plain, differs.then_some(expanded))
}

/// Returns the first letter of the plain form of a word. Its expanded form begins with the same.
pub(crate) fn first_letter(word: &str) -> Option<char> {
    match word.as_bytes().first() {
        Some(first) if first.is_ascii() => Some(first.to_ascii_lowercase().into()),
        _ => fold(&lower(word)).0.chars().next(),
    }
}

/// Composes the characters that have stayed decomposed, for example Hangul.
fn compose(text: String) -> String {
    if text.is_ascii() { text } else { text.nfc().collect() }
}

/// Returns the form of a value by which values of categories are compared and names are sorted.
pub(crate) fn fold_value(value: &str) -> String {
    fold(&lower(&CleanText::new(value).text)).0
}
