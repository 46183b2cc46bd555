//! The files and the names of the code that the documents have in backticks exist. Paths begin at
//! the root of the repository: `crates/domain/src/drawer/mod.rs`.

use std::collections::HashSet;
use std::path::Path;
use std::sync::LazyLock;

use super::promises::sources;

/// The root of the repository.
const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// The documents whose names of types, items and modules are compared with the code.
const DOCUMENTS: [&str; 4] = ["ARCHITECTURE.md", "CHANGING.md", "DESIGN.md", "GLOSSARY.md"];

/// Names that occur in libraries only.
const OF_LIBRARIES: &[&str] = &[];

/// A source file.
struct Source {
    /// The path below the root.
    path: String,
    /// The identifiers and keywords, without those in comments.
    words: HashSet<String>,
}

static SOURCES: LazyLock<Vec<Source>> = LazyLock::new(|| {
    let root = Path::new(ROOT);
    let mut files = Vec::new();
    for folder in ["actors", "crates", "src", "tests"] {
        sources(&root.join(folder), &mut files);
    }
    // The texts of these tests contain words that the code does not define.
    files.retain(|file| !file.starts_with(root.join("tests/structure")));
    files.iter().map(|file| Source::read(root, file)).collect()
});

impl Source {
    fn read(root: &Path, file: &Path) -> Source {
        let text = std::fs::read_to_string(file).expect("a source can be read");
        let code = text.lines().filter_map(|line| line.split("//").next());
        let words = code.flat_map(words_in).map(str::to_owned).collect();
        let path = file.strip_prefix(root).expect("a source lies below the root").display().to_string();
        Source { path, words }
    }
}

/// Splits a text into identifiers.
pub fn words_in(text: &str) -> impl Iterator<Item = &str> {
    text.split(|char: char| !char.is_alphanumeric() && char != '_').filter(|word| !word.is_empty())
}

fn text_of(document: &Path) -> String {
    std::fs::read_to_string(document).unwrap_or_else(|error| panic!("{}: {error}", document.display()))
}

/// Returns the texts in backticks. Blocks of code are among them, with their line breaks.
fn spans(document: &str) -> impl Iterator<Item = &str> {
    document.split('`').skip(1).step_by(2)
}

fn is_path(span: &str) -> bool {
    span.ends_with(".rs") && span.chars().all(|char| char.is_ascii_alphanumeric() || "_-./".contains(char))
}

/// Returns the name in a text such as `Loid`, `impl Row` or `Option<Loid>`, if it is one.
fn name_in(span: &str) -> Option<&str> {
    let name = span.strip_prefix("impl ").unwrap_or(span);
    let is_name = name.starts_with(|char: char| char.is_ascii_alphabetic())
        && name.chars().all(|char| char.is_ascii_alphanumeric() || "_:<>!()".contains(char));
    is_name.then_some(name)
}

/// Returns whether a name is that of a type, or a path with `::`. Other words may mean a file, a
/// key or a value.
fn is_of_the_code(name: &str) -> bool {
    let is_type = name.starts_with(|char: char| char.is_ascii_uppercase()) && name.contains(char::is_lowercase);
    is_type || name.contains("::")
}

#[test]
fn files_that_documents_name_exist() {
    let exists = |path: &str| Path::new(ROOT).join(path).is_file();
    let (mut count, mut missing) = (0, Vec::new());
    for entry in std::fs::read_dir(Path::new(ROOT).join("docs")).expect("a folder can be listed") {
        let document = entry.expect("an entry can be read").path();
        if document.extension().is_none_or(|extension| extension != "md") {
            continue;
        }
        for path in spans(&text_of(&document)).filter(|span| is_path(span)) {
            count += 1;
            if !exists(path) {
                missing.push(format!("{}: {path}", document.display()));
            }
        }
    }
    assert!(count > 200, "only {count} paths were found");
    assert_eq!(missing, Vec::<String>::new(), "paths in documents without a file; paths begin at the root");
}

#[test]
fn names_of_the_code_that_documents_have_exist() {
    let words: HashSet<&str> = SOURCES.iter().flat_map(|source| source.words.iter().map(String::as_str)).collect();
    let (mut count, mut missing) = (0, Vec::new());
    for document in DOCUMENTS {
        let text = text_of(&Path::new(ROOT).join("docs").join(document));
        for name in spans(&text).filter_map(name_in).filter(|name| is_of_the_code(name)) {
            count += 1;
            if !words_in(name).all(|word| words.contains(word) || OF_LIBRARIES.contains(&word)) {
                missing.push(format!("{document}: {name}"));
            }
        }
    }
    assert!(count > 100, "only {count} names were found");
    assert_eq!(missing, Vec::<String>::new(), "names in documents that the code does not have");
}

/// A file belongs to a name in texts such as "`Loid` (`crates/domain/src/id.rs`)" and "`Loid` in
/// `crates/domain/src/id.rs`".
#[test]
fn names_with_a_file_in_documents_occur_in_that_file() {
    let (mut count, mut missing) = (0, Vec::new());
    for document in DOCUMENTS {
        let text = text_of(&Path::new(ROOT).join("docs").join(document));
        let pieces: Vec<&str> = text.split('`').collect();
        for (at, between) in pieces.iter().enumerate().skip(2).step_by(2) {
            let (Some(name), Some(path)) = (name_in(pieces[at - 1]), pieces.get(at + 1)) else { continue };
            if ![" (", " in "].contains(between) || !is_path(path) {
                continue;
            }
            count += 1;
            let item = name.split('<').next().and_then(|name| words_in(name).last()).unwrap_or_default();
            if !SOURCES.iter().any(|source| source.path == **path && source.words.contains(item)) {
                missing.push(format!("{document}: {name} in {path}"));
            }
        }
    }
    assert!(count > 40, "only {count} names with a file were found");
    assert_eq!(missing, Vec::<String>::new(), "names in documents that their file does not have");
}
