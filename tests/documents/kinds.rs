//! The kinds of changes that the pages of `docs/api` list are those that the sources have.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Commands that change nothing, and so leave no event.
const WITHOUT_EVENT: [&str; 1] = ["object.meet"];

/// The texts before the name of a kind in the sources. They stand for a command, a kind with a
/// constant of its own, and an event outside containers.
const BEFORE_A_KIND: [&str; 6] = [
    "const NAME: &'static str = \"",
    "_DIVIDER: &'static str = \"",
    "const STATUS_EVENT: &str = \"",
    "const SEND: &str = \"",
    ".deed(\"",
    "(who, \"",
];

/// The functions that list the kinds of changes of users and groups.
const LISTS: [&str; 2] = ["fn deeds(&self)", "fn deeds_since(&self,"];

/// Adds the text of all sources below a folder to `text`, those of tests aside.
fn read_sources(folder: &Path, text: &mut String) {
    for entry in std::fs::read_dir(folder).expect("a folder can be listed") {
        let path = entry.expect("an entry can be read").path();
        let name = path.file_name().unwrap_or_default();
        if name == "tests" || name == "tests.rs" {
            continue;
        }
        if path.is_dir() {
            read_sources(&path, text);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            text.push_str(&std::fs::read_to_string(&path).expect("a source can be read"));
        }
    }
}

/// Returns whether a text has the form of a kind: words with dots between them.
fn is_kind(text: &str) -> bool {
    text.contains('.') && text.chars().all(|char| char.is_ascii_lowercase() || matches!(char, '.' | '_'))
}

/// Returns the kinds that the sources have.
fn kinds_of_the_sources() -> BTreeSet<String> {
    let mut sources = String::new();
    for folder in [
        "actors/src",
        "crates/auth/src",
        "crates/domain/src",
        "crates/newsroom/src",
        "crates/sysconfig/src",
        "crates/webhooks/src",
        "src",
    ] {
        read_sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), &mut sources);
    }
    let mut kinds = BTreeSet::new();
    for before in BEFORE_A_KIND {
        let named = sources.split(before).skip(1).filter_map(|rest| rest.split('"').next());
        let known = kinds.len();
        kinds.extend(named.filter(|name| is_kind(name)).map(str::to_owned));
        assert!(kinds.len() > known, "the sources have no `{before}`: the test is out of date");
    }
    for list in LISTS {
        let (_, rest) = sources.split_once(list).unwrap_or_else(|| panic!("the sources have no `{list}`"));
        let (body, _) = rest.split_once("\n    }\n").expect("a function ends");
        kinds.extend(body.split('"').skip(1).step_by(2).filter(|text| is_kind(text)).map(str::to_owned));
    }
    kinds.retain(|kind| !WITHOUT_EVENT.contains(&kind.as_str()));
    kinds
}

/// Returns the kinds that stand in the first column of the tables below "Kinds of changes".
fn kinds_of_the_documents() -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/api");
    let mut kinds = BTreeSet::new();
    for entry in std::fs::read_dir(folder).expect("a folder can be listed") {
        let path = entry.expect("an entry can be read").path();
        let text = std::fs::read_to_string(&path).expect("a document can be read");
        let Some((_, section)) = text.split_once("\n## Kinds of changes\n") else { continue };
        let (section, _) = section.split_once("\n## ").expect("a section follows");
        for row in section.lines().filter_map(|line| line.strip_prefix("| `")) {
            let cell = row.split(" | ").next().unwrap_or_default();
            for kind in cell.split('`').step_by(2) {
                assert!(kinds.insert(kind.to_owned()), "{}: `{kind}` stands in the tables twice", path.display());
            }
        }
    }
    kinds
}

/// Returns the actions that the console has words for in a language, with the words.
fn words_of_the_console(language: &str) -> BTreeMap<String, String> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("console/text/actions.js");
    let text = std::fs::read_to_string(file).expect("the words can be read");
    let (_, rest) = text.split_once(&format!("const {language} = {{\n")).expect("the language has words");
    let (words, _) = rest.split_once("\n};").expect("they end");
    let pair = |line: &str| {
        let parts: Vec<&str> = line.split('"').collect();
        assert!(parts.len() == 5 && !parts[3].is_empty(), "{language}: `{line}`");
        (parts[1].to_owned(), parts[3].to_owned())
    };
    words.lines().map(pair).collect()
}

#[test]
fn the_console_has_words_for_exactly_the_kinds_of_the_sources() {
    let known = kinds_of_the_sources();
    for language in ["en", "de"] {
        let words = words_of_the_console(language);
        let named: BTreeSet<String> = words.keys().cloned().collect();
        assert_eq!(named, known, "{language}");
        let different: BTreeSet<&String> = words.values().collect();
        assert_eq!(different.len(), words.len(), "{language}: two kinds have the same words");
    }
}

#[test]
fn the_documents_list_exactly_the_kinds_of_the_sources() {
    let (known, listed) = (kinds_of_the_sources(), kinds_of_the_documents());
    let missing: Vec<_> = known.difference(&listed).collect();
    let unknown: Vec<_> = listed.difference(&known).collect();
    assert!(missing.is_empty() && unknown.is_empty(), "not in docs/api: {missing:?}; only there: {unknown:?}");
}
