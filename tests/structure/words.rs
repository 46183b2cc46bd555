//! The rules of `docs/WRITING.md` that can be counted. Each count is the present one. Where a rule
//! is not kept yet, the count may only fall, and a change that lowers it writes the lower number
//! here.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use syn::Item;

use super::files::is_for_tests;
use super::product_folders;

/// Names of types with three or more homes.
const COMMON_NAMES: usize = 0;
/// Types whose name is a participle or an adverb.
const PARTICIPLES: usize = 0;
/// Doc comments that begin with a word that says nothing where the first line stands alone.
const PRONOUNS: usize = 0;
/// Comment lines of more than 100 columns.
const LONG_LINES: usize = 0;
/// Functions of more than 70 lines.
const LONG_FUNCTIONS: usize = 0;

/// Percentage of the names of types that may be a single word.
const ONE_WORD_PERCENT: usize = 35;
/// Lines of the largest crate, tests aside.
const LARGEST_CRATE: usize = 20_000;
/// Lines of `docs/ARCHITECTURE.md`.
const MAP_LINES: usize = 150;

/// Names that mean the same wherever they are: a part of the type beside them.
const MAY_BE_COMMON: [&str; 5] = ["Inner", "State", "Entry", "Error", "Options"];

/// Participles that do not end in `ed`, and adverbs.
const IRREGULAR: [&str; 27] = [
    "Told", "Left", "Come", "Then", "Found", "Held", "Known", "Shown", "Seen", "Made", "Gone", "Given", "Said",
    "Heard", "Kept", "Met", "Put", "Read", "Sent", "Set", "Taken", "Written", "Begun", "Again", "Aside", "Beside",
    "Over",
];

/// Names that end in `ed` and are nouns.
const NOUNS: [&str; 2] = ["Feed", "Need"];

/// Words with which no doc comment begins.
const BEGINNINGS: [&str; 21] = [
    "It ", "Its ", "It's ", "That ", "That,", "That:", "Those ", "This ", "These ", "They ", "As ", "Of ", "To ",
    "By ", "The same", "See ", "So ", "Who ", "Whoever ", "Whose ", "What ",
];

/// The source files of the product, tests aside.
fn sources() -> Vec<PathBuf> {
    fn below(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).expect("a folder of the workspace can be read") {
            let path = entry.expect("it can be read").path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if path.is_dir() && name != "tests" {
                below(&path, found);
            } else if name.ends_with(".rs") && !["tests.rs", "testing.rs"].contains(&name) {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    for folder in product_folders() {
        below(&folder, &mut found);
    }
    found.sort();
    found
}

/// The types that a file defines, tests aside.
fn types_in(items: &[Item], found: &mut Vec<String>) {
    for item in items {
        let (name, attributes) = match item {
            Item::Struct(item) => (&item.ident, &item.attrs),
            Item::Enum(item) => (&item.ident, &item.attrs),
            Item::Trait(item) => (&item.ident, &item.attrs),
            Item::Type(item) => (&item.ident, &item.attrs),
            Item::Mod(item) => {
                if let Some((_, inner)) = &item.content
                    && !is_for_tests(&item.attrs)
                {
                    types_in(inner, found);
                }
                continue;
            }
            _ => continue,
        };
        if !is_for_tests(attributes) {
            found.push(name.to_string());
        }
    }
}

/// Types by name, with the files that define them.
fn homes() -> BTreeMap<String, BTreeSet<PathBuf>> {
    let mut homes: BTreeMap<String, BTreeSet<PathBuf>> = BTreeMap::new();
    for file in sources() {
        let text = std::fs::read_to_string(&file).expect("a source file can be read");
        let parsed = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let mut found = Vec::new();
        types_in(&parsed.items, &mut found);
        for name in found {
            homes.entry(name).or_default().insert(file.clone());
        }
    }
    homes
}

/// Holds a number of findings against the most that is allowed, and prints a row of the table that
/// `scripts/readability` shows.
fn is_as_known(what: &str, known: usize, found: &[String]) {
    let count = found.len();
    println!("| {what} | {count} | {known} |");
    assert!(count <= known, "{count} {what}, {known} before; docs/WRITING.md says how to write instead:\n{found:#?}");
}

#[test]
fn names_of_types_have_one_home() {
    let common = homes().into_iter().filter(|(name, files)| files.len() > 2 && !MAY_BE_COMMON.contains(&&**name));
    let common: Vec<_> = common.map(|(name, files)| format!("{name}: {} files", files.len())).collect();
    is_as_known("names with three or more homes", COMMON_NAMES, &common);
}

#[test]
fn names_of_types_are_nouns() {
    let is_participle = |name: &str| {
        let is_one_word = name.chars().skip(1).all(char::is_lowercase);
        is_one_word && !NOUNS.contains(&name) && (name.ends_with("ed") || IRREGULAR.contains(&name))
    };
    let found = homes().into_iter().filter(|(name, _)| is_participle(name));
    let found: Vec<_> = found.flat_map(|(name, files)| files.into_iter().map(move |file| at(&file, &name))).collect();
    is_as_known("types named by a participle or adverb", PARTICIPLES, &found);
}

/// A finding and its place, below the root of the repository.
fn at(file: &Path, what: &str) -> String {
    let file = file.strip_prefix(env!("CARGO_MANIFEST_DIR")).unwrap_or(file);
    format!("{}: {what}", file.display())
}

/// Comments of all files that satisfy a condition, given the line before and the line itself.
fn comments(wanted: impl Fn(&str, &str) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    for file in sources() {
        let text = std::fs::read_to_string(&file).expect("a source file can be read");
        let mut before = "";
        for line in text.lines() {
            if wanted(before, line) {
                found.push(at(&file, line.trim()));
            }
            before = line;
        }
    }
    found
}

#[test]
fn doc_comments_begin_with_their_subject() {
    let begins_badly = |before: &str, line: &str| {
        let doc = |line: &str| {
            let line = line.trim_start();
            line.strip_prefix("///").or_else(|| line.strip_prefix("//!")).map(|text| text.trim_start().to_owned())
        };
        doc(before).is_none() && doc(line).is_some_and(|text| BEGINNINGS.iter().any(|word| text.starts_with(word)))
    };
    is_as_known("doc comments that begin with a pronoun", PRONOUNS, &comments(begins_badly));
}

#[test]
fn lines_of_comments_have_at_most_100_columns() {
    let is_long = |_: &str, line: &str| {
        let text = line.trim_start().trim_start_matches(['/', '!']).trim_start();
        let is_comment = line.trim_start().starts_with("//");
        // Rows of tables and lines of examples can't be broken.
        is_comment && line.chars().count() > 100 && !text.starts_with(['|', '<'])
    };
    is_as_known("comment lines of more than 100 columns", LONG_LINES, &comments(is_long));
}

#[test]
fn functions_have_at_most_70_lines() {
    let mut found = Vec::new();
    for file in sources() {
        let text = std::fs::read_to_string(&file).expect("a source file can be read");
        let lines: Vec<&str> = text.lines().collect();
        for (first, line) in lines.iter().enumerate() {
            let code = line.trim_start();
            let Some((qualifiers, name)) = code.split_once("fn ") else { continue };
            let is_visibility = |word: &str| word.starts_with("pub") || word.ends_with(')');
            let qualifies = |word: &str| is_visibility(word) || ["async", "const"].contains(&word);
            // A declaration without a body ends with a semicolon.
            let signature_end = lines[first..].iter().find(|line| line.ends_with(['{', '}', ';']));
            let has_body = signature_end.is_some_and(|line| line.ends_with('{'));
            if !qualifiers.split_whitespace().all(qualifies) || !has_body {
                continue;
            }
            let name = name.split(['(', '<']).next().unwrap_or_default();
            // A function ends at the first brace with its own indentation.
            let end = format!("{}}}", &line[..line.len() - code.len()]);
            let length = lines[first..].iter().position(|line| *line == end).map_or(0, |last| last + 1);
            if length > 70 {
                found.push(at(&file, &format!("{name}: {length} lines")));
            }
        }
    }
    is_as_known("functions of more than 70 lines", LONG_FUNCTIONS, &found);
}

#[test]
fn few_names_of_types_are_a_single_word() {
    let (mut all, mut single) = (0, 0);
    for (name, files) in homes() {
        all += files.len();
        if name.chars().skip(1).all(|char| !char.is_uppercase()) {
            single += files.len();
        }
    }
    let percent = single * 100 / all;
    println!("| percent of {all} types with a name of one word | {percent} | {ONE_WORD_PERCENT} |");
    assert!(percent <= ONE_WORD_PERCENT, "{single} of {all} names of types are a single word");
}

#[test]
fn no_crate_has_too_many_lines() {
    let mut lines: BTreeMap<PathBuf, usize> = BTreeMap::new();
    for file in sources() {
        let text = std::fs::read_to_string(&file).expect("a source file can be read");
        let product = text.find("\n#[cfg(test)]\nmod tests {").unwrap_or(text.len());
        let folder = product_folders().into_iter().find(|folder| file.starts_with(folder)).expect("it is in a crate");
        *lines.entry(folder).or_default() += text[..product].lines().count();
    }
    for (folder, lines) in &lines {
        println!("| lines of {} | {lines} | {LARGEST_CRATE} |", at(folder, "").trim_end_matches(": "));
    }
    let large: Vec<_> = lines.iter().filter(|(_, lines)| **lines > LARGEST_CRATE).collect();
    assert!(large.is_empty(), "crates of more than {LARGEST_CRATE} lines: {large:?}");
}

#[test]
fn each_source_file_is_declared_as_a_module() {
    let mut undeclared = Vec::new();
    for file in sources() {
        let module = if file.ends_with("mod.rs") { file.parent().expect("it is in a folder") } else { &file };
        let name = module.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
        if ["lib", "main"].contains(&name) {
            continue;
        }
        let folder = module.parent().expect("it is in a folder");
        let declaration = format!("mod {name};");
        let is_declared = ["mod.rs", "lib.rs", "main.rs"]
            .iter()
            .any(|parent| std::fs::read_to_string(folder.join(parent)).is_ok_and(|text| text.contains(&declaration)));
        if !is_declared {
            undeclared.push(at(&file, &declaration));
        }
    }
    assert!(undeclared.is_empty(), "files that no module declares: {undeclared:#?}");
}

#[test]
fn the_map_of_the_code_stays_short() {
    let map = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/ARCHITECTURE.md");
    let lines = std::fs::read_to_string(map).expect("the map can be read").lines().count();
    println!("| lines of docs/ARCHITECTURE.md | {lines} | {MAP_LINES} |");
    assert!(lines <= MAP_LINES, "docs/ARCHITECTURE.md has {lines} lines");
}
