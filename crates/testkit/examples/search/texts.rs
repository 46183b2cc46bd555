//! Articles: headlines, names and paragraphs, which the same number repeats.

use stet_testkit::Dice;

use crate::vocabulary::{LanguageWords, zipf};

/// The words of a paragraph, about.
const PARAGRAPH: usize = 60;

/// The parts of sentences: a function word (`f`), noun, verb, adjective, place, full name (`s`) or
/// number (`d`).
const SENTENCES: [&str; 8] =
    ["fanvfnfp", "fnfnvfan", "svffnfan", "pvfdnffnv", "fnvfnfsvfn", "anfnvfdan", "fsffnvfnfp", "ffnvanffnfn"];
/// The parts of headlines.
const HEADLINES: [&str; 4] = ["anvnp", "svan", "nnvfan", "pvnfn"];

/// An article.
pub struct Article {
    /// The code of the language.
    pub language: &'static str,
    pub headline: String,
    /// The words of the headline that have a meaning.
    pub keywords: Vec<String>,
    pub byline: String,
    pub summary: String,
    pub paragraphs: Vec<String>,
}

impl Article {
    /// Returns the number of bytes of all texts.
    pub fn text_bytes(&self) -> usize {
        let paragraphs: usize = self.paragraphs.iter().map(String::len).sum();
        self.headline.len() + self.byline.len() + self.summary.len() + paragraphs
    }

    /// Returns the paragraphs as XML.
    pub fn xml(&self, root: &str) -> String {
        let paragraphs: String = self.paragraphs.iter().map(|text| format!("<p>{text}</p>")).collect();
        format!("<{root}>{paragraphs}</{root}>")
    }
}

/// A writer of articles.
pub struct ArticleWriter {
    languages: Vec<LanguageWords>,
}

impl ArticleWriter {
    /// Creates a writer of all languages.
    pub fn new() -> ArticleWriter {
        ArticleWriter { languages: LanguageWords::all() }
    }

    /// Writes the article with a seed, whose body has a number of words in this range.
    pub fn write(&self, seed: [u64; 2], least: usize, most: usize) -> Article {
        let mut dice = Dice::of(&seed);
        let words = &self.languages[dice.roll(self.languages.len())];
        let (mut headline, mut keywords) = (String::new(), Vec::new());
        for role in HEADLINES[dice.roll(HEADLINES.len())].chars() {
            let word = word(words, role, &mut dice);
            push(&mut headline, &word);
            if role != 'f' {
                keywords.extend(word.split(' ').map(str::to_owned));
            }
        }
        let byline = word(words, 's', &mut dice);
        let mut left = least + dice.roll(most - least + 1);
        let mut paragraphs = Vec::new();
        while left > 0 {
            let (paragraph, written) = paragraph(words, left.min(PARAGRAPH), &mut dice);
            paragraphs.push(paragraph);
            left = left.saturating_sub(written);
        }
        let (summary, _) = paragraph(words, 1, &mut dice);
        Article { language: words.code, headline, keywords, byline, summary, paragraphs }
    }
}

/// Writes sentences until there are enough words. Returns the number of words, too.
fn paragraph(words: &LanguageWords, least: usize, dice: &mut Dice) -> (String, usize) {
    let (mut text, mut written) = (String::new(), 0);
    while written < least {
        let mut sentence = String::new();
        for role in SENTENCES[dice.roll(SENTENCES.len())].chars() {
            push(&mut sentence, &word(words, role, dice));
            written += 1;
        }
        let first: String = sentence.chars().take(1).flat_map(char::to_uppercase).collect();
        let rest: String = sentence.chars().skip(1).collect();
        push(&mut text, &format!("{first}{rest}."));
    }
    (text, written)
}

/// Returns a word for a part of a sentence.
fn word(words: &LanguageWords, role: char, dice: &mut Dice) -> String {
    let list = match role {
        'n' => &words.nouns,
        'v' => &words.verbs,
        'a' => &words.adjectives,
        'p' => &words.places,
        's' => {
            let forename = zipf(dice, &words.forenames);
            return format!("{forename} {}", zipf(dice, &words.surnames));
        }
        'd' => return (1 + dice.roll(10_000) * dice.roll(10)).to_string(),
        _ => &words.function,
    };
    zipf(dice, list).to_owned()
}

fn push(text: &mut String, word: &str) {
    if !text.is_empty() {
        text.push(' ');
    }
    text.push_str(word);
}
