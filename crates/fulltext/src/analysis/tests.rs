//! Tests of the analysis.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::normalise::lower;
use super::*;

/// Returns the written forms of a text with their positions.
fn written(text: &str) -> Vec<(u32, String)> {
    let clean = CleanText::new(text);
    let words = analyse(&clean.text, 0, MAX_DOCUMENT_WORDS);
    words.iter().flat_map(|word| word.written().map(|form| (word.position, form.to_owned()))).collect()
}

/// Returns the written forms of a text as a line: `|` separates positions, `/` forms.
fn line(text: &str) -> String {
    let forms = written(text);
    let positions: BTreeSet<u32> = forms.iter().map(|(position, _)| *position).collect();
    let at = |position: &u32| {
        let forms: Vec<&str> = forms.iter().filter(|form| form.0 == *position).map(|form| form.1.as_str()).collect();
        forms.join("/")
    };
    positions.iter().map(at).collect::<Vec<_>>().join("|")
}

#[test]
fn texts_have_the_written_forms_of_the_table() {
    let table = [
        ("Der Minister sprach.", "der|minister|sprach"),
        ("Müller", "muller/mueller"),
        ("Mu\u{308}ller", "muller/mueller"),
        ("Mueller", "mueller"),
        ("Straße STRASSE", "strasse|strasse"),
        ("Ärzte", "arzte/aerzte"),
        ("Tromsø Århus", "tromso/tromsoe|arhus/aarhus"),
        ("Łódź Đakovo", "lodz|dakovo"),
        ("œuvre Æther", "oeuvre|aether"),
        ("café naïve Ñandú", "cafe|naive|nandu"),
        ("ﬁnden Ｆｕｌｌ", "finden|full"),
        ("Bun\u{ad}des\u{ad}tag", "bundestag"),
        ("zero\u{200b}width\u{feff}", "zerowidth"),
        ("zehn\u{a0}Euro\u{202f}50", "zehn|euro|50"),
        ("Peter's Peter’s", "peter|peter"),
        ("l'homme d’accord qu'il dell'arte", "homme|accord|il|arte"),
        ("O'Neill", "o/oneill|neill"),
        ("rock'n'roll", "rock/rocknroll|n|roll"),
        ("don't", "don/dont|t"),
        ("E-Mail-Adresse", "e/emailadresse|mail|adresse"),
        ("Baden\u{2011}Württemberg", "baden/badenwurttemberg/badenwuerttemberg|wurttemberg/wuerttemberg"),
        ("3.14 1,000 G7", "3/314|14|1/1000|000|g7"),
        ("2026-05-01", "2026/20260501|05|01"),
        ("example.com", "example/examplecom|com"),
        ("U.S.A.", "u/usa|s|a"),
        ("東京都", "東|京|都"),
        ("カタカナ漢字abc", "カ|タ|カ|ナ|漢|字|abc"),
        ("한국어", "한국어"),
        ("Ελλάς ΕΛΛΆΣ", "ελλασ|ελλασ"),
        ("Привет, ёлка", "привет|елка"),
        ("שָׁלוֹם", "שלום"),
        ("हिन्दी", "हिन्दी"),
        ("İstanbul Diyarbakır", "istanbul|diyarbakir"),
        ("a\u{0}b\u{7}c", "a|b|c"),
        ("", ""),
        ("… – ! \u{1F600}", ""),
    ];
    for (text, expected) in table {
        assert_eq!(line(text), expected, "{text:?}");
    }
}

#[test]
fn words_and_documents_are_cut_at_their_bounds() {
    let long = "ä".repeat(1_000_000);
    let words = analyse(&long, 0, 10);
    assert_eq!(words.len(), 1);
    assert_eq!(words[0].plain.len(), MAX_WORD_CHARS);
    let many = "wort ".repeat(100);
    assert_eq!(analyse(&many, 3, 7).len(), 7);
    assert_eq!(analyse(&many, 3, 7)[6].position, 9);
    let joined = "a-".repeat(100_000);
    assert_eq!(analyse(&joined, 0, 500).len(), 500);
}

#[test]
fn stems_are_equal_for_forms_of_a_word() {
    let table = [
        ("de", "Häuser", "Haus"),
        ("de-AT", "Ministern", "Minister"),
        ("deu", "Verhandlungen", "Verhandlung"),
        ("de", "Muellers", "Müller"),
        ("en", "elections", "election"),
        ("en-GB", "running", "run"),
        ("fr", "états", "État"),
        ("fre", "présidentielles", "présidentielle"),
        ("nb", "biler", "bil"),
        ("es", "elecciones", "elección"),
    ];
    for (code, one, other) in table {
        let language = StemLanguage::from_code(code).unwrap();
        let stems = |word: &str| language.stems(&analyse(word, 0, 1)[0]);
        assert!(stems(one).iter().any(|stem| stems(other).contains(stem)), "{code} {one} {other}");
    }
    for code in ["", "xx", "pl", "germanic", "d"] {
        assert_eq!(StemLanguage::from_code(code), None, "{code}");
    }
}

#[test]
fn the_version_of_the_stemmers_is_the_one_in_use() {
    let lock = include_str!("../../../../Cargo.lock");
    let at = lock.find("name = \"frostem\"").unwrap();
    let version = lock[at..].lines().nth(1).unwrap().trim_start_matches("version = ").trim_matches('"');
    assert_eq!(STEMMER_VERSION, format!("frostem {version}"));
}

proptest! {
    #[test]
    fn composed_and_decomposed_texts_have_equal_forms(text in "\\PC{0,40}") {
        use unicode_normalization::UnicodeNormalization;
        let composed: String = text.nfc().collect();
        let decomposed: String = text.nfd().collect();
        prop_assert_eq!(lower(&composed), lower(&decomposed));
    }

    #[test]
    fn forms_are_stable_and_lie_in_their_texts(text in "(\\PC|[a-zäöüß' .-]){0,60}") {
        let clean = CleanText::new(&text);
        let mut last = 0;
        for word in analyse(&clean.text, 0, MAX_DOCUMENT_WORDS) {
            prop_assert!(clean.text.get(word.start..word.end).is_some());
            prop_assert!(word.position >= last || word.whole);
            last = last.max(word.position);
            for form in word.written() {
                prop_assert_eq!(normalise::fold(&lower(form)).0, form);
            }
        }
    }
}
