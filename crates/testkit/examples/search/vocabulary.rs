//! The words of a language, in the order of their frequency.

use stet_testkit::Dice;

/// The number of words that are derived from the lists of nouns.
const DERIVED_NOUNS: usize = 6_000;
/// The number of surnames that are made of syllables.
const SURNAMES: usize = 20_000;

/// The languages of the texts: their codes and their lists of words.
const LISTS: [(&str, &str); 4] = [
    ("en", include_str!("words/english.txt")),
    ("de", include_str!("words/german.txt")),
    ("fr", include_str!("words/french.txt")),
    ("es", include_str!("words/spanish.txt")),
];

/// The words of one language.
pub struct LanguageWords {
    /// The code of the language.
    pub code: &'static str,
    /// Words without a meaning of their own, such as articles.
    pub function: Vec<String>,
    /// Nouns, followed by the rarer ones that are derived from them.
    pub nouns: Vec<String>,
    pub verbs: Vec<String>,
    pub adjectives: Vec<String>,
    pub places: Vec<String>,
    pub forenames: Vec<String>,
    pub surnames: Vec<String>,
}

impl LanguageWords {
    /// Returns the words of all languages.
    pub fn all() -> Vec<LanguageWords> {
        LISTS.iter().map(|(code, lists)| LanguageWords::of(code, lists)).collect()
    }

    fn of(code: &'static str, lists: &str) -> LanguageWords {
        let section = |name: &str| -> Vec<String> {
            let text = lists.split_once(&format!("[{name}]")).expect("a list has each section").1;
            let words = text.split('[').next().unwrap_or_default().split_whitespace();
            words.map(str::to_owned).collect()
        };
        let mut nouns = section("nouns");
        let derived = if code == "de" { compounds(&nouns) } else { plurals(code, &nouns) };
        nouns.extend(derived);
        LanguageWords {
            code,
            function: section("function"),
            nouns,
            verbs: section("verbs"),
            adjectives: section("adjectives"),
            places: section("places"),
            forenames: section("forenames"),
            surnames: surnames(&section("beginnings"), &section("endings")),
        }
    }
}

/// Returns an element: the first is the most frequent, and the frequency of the others is inverse
/// to their place.
pub fn zipf<'a>(dice: &mut Dice, words: &'a [String]) -> &'a str {
    const STEPS: usize = 1 << 24;
    let share = dice.roll(STEPS) as f64 / STEPS as f64;
    let place = (words.len() as f64 + 1.0).powf(share) as usize;
    &words[place.clamp(1, words.len()) - 1]
}

/// Returns German nouns that are made of two others.
fn compounds(nouns: &[String]) -> Vec<String> {
    let mut dice = Dice::new(49);
    (0..DERIVED_NOUNS)
        .map(|_| {
            let mut roll = || &nouns[dice.roll(nouns.len())];
            let (first, second) = (roll(), roll());
            let needs_s = ["ung", "ion", "tät", "schaft", "heit", "keit", "ing"];
            let link = match first {
                _ if needs_s.iter().any(|ending| first.ends_with(ending)) => "s",
                _ if first.ends_with('e') => "n",
                _ => "",
            };
            format!("{first}{link}{}", second.to_lowercase())
        })
        .collect()
}

/// Returns the plurals of nouns.
fn plurals(code: &str, nouns: &[String]) -> Vec<String> {
    let plural = |noun: &String| match noun.chars().last() {
        Some('y') if code == "en" => format!("{}ies", &noun[..noun.len() - 1]),
        Some('s' | 'x' | 'h' | 'z') if code == "en" => format!("{noun}es"),
        Some('u') if code == "fr" => format!("{noun}x"),
        Some('n' | 'l' | 'r' | 'd' | 'z') if code == "es" => format!("{noun}es"),
        _ => format!("{noun}s"),
    };
    nouns.iter().map(plural).collect()
}

/// Returns surnames of two or three syllables, the shorter ones first.
fn surnames(beginnings: &[String], endings: &[String]) -> Vec<String> {
    let join = |first: &str, last: &[String]| -> Vec<String> {
        last.iter().map(|ending| format!("{first}{}", ending.to_lowercase())).collect()
    };
    let mut names: Vec<String> = beginnings.iter().flat_map(|first| join(first, endings)).collect();
    let longer = beginnings.iter().flat_map(|first| join(first, beginnings)).flat_map(|first| join(&first, endings));
    names.extend(longer.take(SURNAMES));
    names
}
