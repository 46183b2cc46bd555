//! Lists of analysed words as one text, and the tokenizer that reads them.
//!
//! The words are analysed before they are in the writer's queue. A list takes about the bytes of
//! its words there, without an allocation for each of them.

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

/// The name of the tokenizer in the index.
pub(super) const WORD_LIST: &str = "word_list";

/// Words with their positions, to be indexed.
#[derive(Default)]
pub(super) struct WordList(Vec<(u32, String)>);

impl WordList {
    /// Adds a word.
    pub fn push(&mut self, position: u32, word: String) {
        self.0.push((position, word));
    }

    /// Returns the list as a text, which is empty if the list is.
    ///
    /// Each word has two characters before it: its length in bytes, and the distance from the word
    /// before. The index needs ascending positions.
    pub fn into_text(mut self) -> String {
        self.0.sort_by_key(|(position, _)| *position);
        let mut text = String::with_capacity(self.0.iter().map(|(_, word)| word.len() + 2).sum());
        let mut before = 0;
        for (position, word) in &self.0 {
            text.push(to_character(word.len() as u32));
            text.push(to_character(position - before));
            text.push_str(word);
            before = *position;
        }
        text
    }
}

impl FromIterator<String> for WordList {
    /// Returns words without positions.
    fn from_iter<T: IntoIterator<Item = String>>(words: T) -> Self {
        Self(words.into_iter().map(|word| (0, word)).collect())
    }
}

/// The first of the code points that are no characters, and their number.
const SURROGATES: (u32, u32) = (0xd800, 0x800);

/// Returns the character for a number. The bounds of a document keep numbers below the largest.
fn to_character(number: u32) -> char {
    let point = if number < SURROGATES.0 { number } else { number.saturating_add(SURROGATES.1) };
    char::from_u32(point).unwrap_or(char::MAX)
}

/// Returns the number that a character stands for.
fn from_character(character: char) -> usize {
    let point = character as u32;
    (if point < SURROGATES.0 { point } else { point - SURROGATES.1 }) as usize
}

/// The tokenizer of word lists.
#[derive(Clone, Default)]
pub(super) struct WordListTokenizer(Token);

impl Tokenizer for WordListTokenizer {
    type TokenStream<'a> = WordListStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> WordListStream<'a> {
        self.0.reset();
        self.0.position = 0;
        WordListStream { rest: text, token: &mut self.0 }
    }
}

/// The words of a list.
pub(super) struct WordListStream<'a> {
    rest: &'a str,
    token: &'a mut Token,
}

impl TokenStream for WordListStream<'_> {
    fn advance(&mut self) -> bool {
        let mut characters = self.rest.chars();
        let (Some(length), Some(distance)) = (characters.next(), characters.next()) else { return false };
        let Some((word, rest)) = characters.as_str().split_at_checked(from_character(length)) else { return false };
        self.token.position += from_character(distance);
        self.token.text.clear();
        self.token.text.push_str(word);
        self.rest = rest;
        true
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_as_it_was_written() {
        let words = [(3, "z"), (0, "a\0\u{1}"), (3, "größe"), (200_000, ""), (65_000, "b"), (120_000, "東")];
        let mut list = WordList::default();
        words.iter().for_each(|(position, word)| list.push(*position, (*word).to_owned()));
        list.push(200_000, "x".repeat(60_000));
        let text = list.into_text();
        let mut tokenizer = WordListTokenizer::default();
        // The token is used again, so a second list must not depend on the first.
        for _ in 0..2 {
            let mut stream = tokenizer.token_stream(&text);
            let mut read = Vec::new();
            while let Some(token) = stream.next() {
                read.push((token.position as u32, token.text.clone()));
            }
            let mut expected: Vec<(u32, String)> = words.map(|(position, word)| (position, word.to_owned())).into();
            expected.push((200_000, "x".repeat(60_000)));
            expected.sort_by_key(|(position, _)| *position);
            assert_eq!(read, expected);
        }
        assert!(WordList::default().into_text().is_empty());
    }
}
