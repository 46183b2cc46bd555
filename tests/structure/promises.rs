//! Tests that `docs/DURABILITY.md` names for its promises: they must exist.

use std::path::{Path, PathBuf};

/// The prefixes of tests' names, and the places of these tests. Any other prefix is a folder or a
/// file of `tests/`.
const PLACES: &[(&str, &str)] = &[
    ("store", "crates/store/src/tests"),
    ("rules", "actors/tests/runtime_rules.rs"),
    ("runtime_model", "actors/tests/runtime_model.rs"),
    ("containers", "crates/containers/src"),
    ("ends", "crates/domain/src/ends.rs"),
    ("auth", "crates/auth/src"),
    ("receipts", "crates/newsroom/src/receipts"),
    ("check", "src/check"),
    ("content", "crates/content/src"),
    ("messages", "tests/api/message"),
    ("", "tests"),
];

/// Adds the source files at a path and below it.
pub fn sources(at: &Path, found: &mut Vec<PathBuf>) {
    if at.is_dir() {
        for entry in std::fs::read_dir(at).expect("a folder can be listed") {
            sources(&entry.expect("an entry can be read").path(), found);
        }
    } else if at.extension().is_some_and(|extension| extension == "rs") {
        found.push(at.to_owned());
    }
}

/// The text of the sources that a test with this path, without its own name, may stand in.
fn text_of(modules: &[&str]) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (_, place) =
        PLACES.iter().find(|(first, _)| modules.first() == Some(first) || first.is_empty()).expect("the last fits");
    let mut within = root.join(place);
    let rest = if *place == "tests" { modules } else { modules.get(1..).unwrap_or_default() };
    for module in rest {
        within.push(module);
    }
    let mut found = Vec::new();
    sources(&within, &mut found);
    let file = within.with_extension("rs");
    if file.is_file() {
        found.push(file);
    }
    found.iter().map(|file| std::fs::read_to_string(file).expect("a source can be read")).collect()
}

#[test]
fn the_tests_that_the_promises_name_are_there() {
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/DURABILITY.md");
    let document = std::fs::read_to_string(document).expect("the document can be read");
    let is_name = |text: &&str| {
        text.contains("::")
            && text.chars().all(|char| char.is_ascii_lowercase() || char.is_ascii_digit() || "_:".contains(char))
    };
    let names: Vec<&str> = document.split('`').skip(1).step_by(2).filter(is_name).collect();
    assert!(names.len() > 60, "only {} names were found", names.len());
    let mut missing = Vec::new();
    for name in names {
        let modules: Vec<&str> = name.split("::").collect();
        let text = text_of(&modules);
        let last = modules.last().copied().unwrap_or_default();
        let (_, above) = modules.split_last().expect("it has several parts");
        let is_test = text_of(above).contains(&format!("fn {last}("));
        // Some lines name a whole module.
        if !is_test && text.is_empty() {
            missing.push(name);
        }
    }
    assert_eq!(missing, Vec::<&str>::new(), "named in docs/DURABILITY.md, and not there");
}
