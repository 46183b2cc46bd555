//! Tests of highlights.

use proptest::prelude::*;

use super::*;
use crate::query::QueryOptions;

/// Returns the fragment with its matches in brackets.
fn shown(query: &str, text: &str, max_chars: usize) -> Option<String> {
    let options = QueryOptions { as_you_type: query.ends_with('_'), ..QueryOptions::default() };
    let query = SearchQuery::parse(query.trim_end_matches('_'), options).unwrap();
    let languages = ["de".to_owned(), "en".to_owned()];
    let highlight = query.highlight(text, &languages, max_chars)?;
    let mut line = String::new();
    if highlight.cut_start {
        line.push('…');
    }
    for (at, character) in highlight.text.chars().enumerate() {
        if highlight.matches.iter().any(|(start, _)| *start == at) {
            line.push('[');
        }
        line.push(character);
        if highlight.matches.iter().any(|(_, end)| *end == at + 1) {
            line.push(']');
        }
    }
    if highlight.cut_end {
        line.push('…');
    }
    Some(line)
}

#[test]
fn matches_follow_the_rules_of_the_index() {
    let table = [
        ("haus", "Die Häuser im Haus.", Some("Die [Häuser] im [Haus].")),
        ("mueller", "Mu\u{308}ller!", Some("[Mu\u{308}ller]!")),
        ("bundestag", "Der Bun\u{ad}des\u{ad}tag.", Some("Der [Bun\u{ad}des\u{ad}tag].")),
        ("gar_", "Gärten und Garagen", Some("[Gärten] und [Garagen]")),
        ("\"zwei rote\"", "rote zwei rote zwei", Some("rote [zwei] [rote] zwei")),
        ("email", "Per E-Mail.", Some("Per [E-Mail].")),
        ("e-mail", "Per Email und E Mail.", Some("Per [Email] und [E] [Mail].")),
        ("minister", "Der Finanzminister.", Some("Der [Finanzminister].")),
        ("tor", "Der Motor.", None),
        ("-haus", "Das Haus.", None),
        ("type:haus", "Das Haus.", None),
        ("title:haus", "Das Haus.", Some("Das [Haus].")),
        ("京", "東京都", Some("東[京]都")),
        ("", "Das Haus.", None),
    ];
    for (query, text, expected) in table {
        assert_eq!(shown(query, text, 100).as_deref(), expected, "{query} {text}");
    }
}

#[test]
fn the_fragment_has_most_words_and_ends_at_words() {
    let text = "Anfang mit rot und viel weiterem Text dazwischen, dann rot und blau zusammen, und noch mehr am Ende.";
    assert_eq!(shown("rot blau", text, 40).as_deref(), Some("…dann [rot] und [blau] zusammen, und…"));
    assert_eq!(shown("anfang", text, 20).as_deref(), Some("[Anfang] mit rot und…"));
    assert_eq!(shown("ende", text, 20).as_deref(), Some("…noch mehr am [Ende]."));
    assert_eq!(shown("weiterem", text, 4).as_deref(), Some("…[weit]…"));
    assert_eq!(shown("rot", text, 0), None);
}

#[test]
fn long_texts_are_highlighted_within_bounds() {
    let text = "haus ".repeat(200_000);
    let query = SearchQuery::parse("haus", QueryOptions::default()).unwrap();
    let highlight = query.highlight(&text, &["de".to_owned()], 200).unwrap();
    assert_eq!((highlight.text.chars().count(), highlight.matches.len()), (199, 40));
    assert_eq!(query.highlight(&"x".repeat(10_000_000), &[], 200), None);
}

proptest! {
    #[test]
    fn matches_lie_in_the_fragment(text in "(haus|rot|\u{ad}|ü|東| |-|\\PC){0,60}", max in 1..30usize) {
        let query = SearchQuery::parse("haus rot ü* \"東 東\"", QueryOptions::default()).unwrap();
        if let Some(highlight) = query.highlight(&text, &["de".to_owned()], max) {
            let length = highlight.text.chars().count();
            prop_assert!(length <= max && text.contains(&highlight.text));
            prop_assert!(!highlight.matches.is_empty());
            let mut last = 0;
            for (start, end) in highlight.matches {
                prop_assert!(last <= start && start < end && end <= length);
                last = end;
            }
        }
    }
}

/// Pieces of words, of which compounds, inflected forms and words with umlauts are made.
const PIECES: &str =
    "(haus|häus|haeus|minist|tür|tuer|bau|erei|ue|e|aee|schloß|über|ge|löp|ski|er|en|s|ung|ий|нов|и|-|'){1,5}";

proptest! {
    #[test]
    fn words_that_match_are_not_left_out(text in PIECES, word in PIECES, languages in "(de|en|fr|nl|ru|sv|ar)") {
        let query = SearchQuery::parse(&word, QueryOptions::default()).unwrap();
        let languages = [StemLanguage::from_code(&languages).unwrap()];
        for condition in query.positive_words() {
            let condition = ConditionForms::new(condition, &languages);
            for word in crate::analysis::analyse(&text, 0, MAX_DOCUMENT_WORDS) {
                let derived = condition.is_derived(&word, &languages);
                let written = condition.condition.words.iter().any(|one| is_form_of(&word, one, true));
                prop_assert!(condition.may_be_derived(&word) || !derived, "{word:?}");
                prop_assert!(condition.may_match(&text[word.start..word.end]) || !derived && !written, "{word:?}");
            }
        }
    }
}
