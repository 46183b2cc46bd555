//! Tests of indexes that are damaged or were built by other rules.

use std::fs;
use std::path::PathBuf;

use super::{document, keys, open, settings};
use crate::index::*;

/// Makes an index with two segments and a deleted document, and returns its files.
fn build(dir: &Path) -> Vec<PathBuf> {
    let index = open(dir);
    index.put(document(1, "Haus", "Ein Haus im Garten")).unwrap();
    index.put(document(2, "Hof", "Ein Hof im Garten")).unwrap();
    for key in 3..9 {
        index.put(document(key, "Garten", "Ein Garten")).unwrap();
    }
    index.commit(7).unwrap();
    index.remove(2);
    index.put(document(10, "Bau", "Ein Bau im Garten")).unwrap();
    index.commit(8).unwrap();
    drop(index);
    let files = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_none_or(|extension| extension != "lock")).collect()
}

fn copy(files: &[PathBuf], to: &Path) {
    fs::create_dir_all(to).unwrap();
    for file in files {
        fs::copy(file, to.join(file.file_name().unwrap())).unwrap();
    }
}

/// Opens a directory and checks that its index is either whole or was replaced by an empty one.
fn check(dir: &Path, what: &str) -> bool {
    let (index, outcome) = TextIndex::open(dir, &settings(&["de", "en"])).unwrap();
    match outcome {
        OpenOutcome::Opened => {
            assert_eq!((index.state(), keys(&index, "garten").len()), (Some(8), 8), "{what}");
            false
        }
        OpenOutcome::Replaced(reason) => {
            assert!(!reason.is_empty() && index.state().is_none() && index.documents() == 0, "{what}");
            index.put(document(1, "Neu", "")).unwrap();
            index.commit(1).unwrap();
            assert_eq!(keys(&index, "neu"), [1], "{what}");
            assert!(PathBuf::from(format!("{}.damaged", dir.display())).is_dir(), "{what}");
            true
        }
        OpenOutcome::Created => panic!("{what}"),
    }
}

#[test]
fn a_damaged_file_gives_an_empty_index() {
    let root = tempfile::tempdir().unwrap();
    let files = build(&root.path().join("source"));
    let dir = root.path().join("index");
    let mut replaced = 0;
    for file in &files {
        let name = file.file_name().unwrap().to_str().unwrap().to_owned();
        let whole = fs::read(file).unwrap();
        let middle = whole.len() / 2;
        let mut flipped = whole.clone();
        flipped[middle] ^= 0x15;
        let damages: [(&str, Option<Vec<u8>>); 5] = [
            ("removed", None),
            ("emptied", Some(Vec::new())),
            ("truncated", Some(whole[..middle].to_vec())),
            ("overwritten", Some(vec![0x5a; whole.len()])),
            ("flipped", Some(flipped)),
        ];
        for (what, bytes) in damages {
            let _ = fs::remove_dir_all(&dir);
            copy(&files, &dir);
            match bytes {
                None => fs::remove_file(dir.join(&name)).unwrap(),
                Some(bytes) => fs::write(dir.join(&name), bytes).unwrap(),
            }
            let outcome = check(&dir, &format!("{name} {what}"));
            // The list of managed files is made anew; nothing of the index is in it.
            assert!(outcome || name.starts_with(".managed") || name == "meta.json", "{name} {what}");
            replaced += usize::from(outcome);
        }
    }
    assert!(replaced > files.len() * 4, "{replaced} of {}", files.len() * 5);
}

#[test]
fn other_rules_give_an_empty_index() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("index");
    build(&dir);
    let (index, outcome) = TextIndex::open(&dir, &settings(&["en", "de"])).unwrap();
    let OpenOutcome::Replaced(reason) = outcome else { panic!("{outcome:?}") };
    assert!(reason.contains("languages"), "{reason}");
    index.commit(3).unwrap();
    drop(index);
    let meta = dir.join("meta.json");
    let text = fs::read_to_string(&meta).unwrap();
    for (old, new) in [("frostem 1", "frostem 2"), ("\\\"analyser\\\":1", "\\\"analyser\\\":0"), ("number", "nummer")] {
        assert!(text.contains(old), "{old} {text}");
        fs::write(&meta, text.replace(old, new)).unwrap();
        let (index, outcome) = TextIndex::open(&dir, &settings(&["en", "de"])).unwrap();
        assert!(matches!(outcome, OpenOutcome::Replaced(_)), "{old}");
        drop(index);
        fs::write(&meta, &text).unwrap();
        fs::write(dir.join(".managed.json"), "[\"meta.json\"]").unwrap();
    }
    fs::remove_dir_all(&dir).unwrap();
    assert_eq!(TextIndex::open(&dir, &settings(&["de"])).unwrap().1, OpenOutcome::Created);
}

#[test]
fn changes_that_were_not_committed_are_lost() {
    let root = tempfile::tempdir().unwrap();
    build(&root.path().join("index"));
    let index = open(&root.path().join("index"));
    index.put(document(99, "Haus", "Garten")).unwrap();
    index.remove(1);
    drop(index);
    assert!(!check(&root.path().join("index"), "reopened"));
}

/// A server was killed in a commit, after the list of deleted documents was written and before the
/// index referred to it. Every later commit wanted to write a file of that name, and was refused.
#[test]
fn files_of_a_killed_commit_are_removed() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("index");
    build(&dir);
    let meta = tantivy::Index::open_in_dir(&dir).unwrap().load_metas().unwrap();
    for segment in &meta.segments {
        for number in meta.opstamp + 1..meta.opstamp + 20 {
            fs::write(dir.join(format!("{}.{number}.del", segment.id().uuid_string())), "half a list").unwrap();
        }
    }
    fs::write(dir.join(".tmpCut"), "half of the segments").unwrap();

    let index = open(&dir);
    assert!(!dir.join(".tmpCut").exists());
    index.remove(1);
    index.commit(9).unwrap();
    assert_eq!((keys(&index, "haus").len(), keys(&index, "garten").len()), (0, 7));
}

#[test]
fn an_index_is_opened_once_and_settings_are_checked() {
    let root = tempfile::tempdir().unwrap();
    let index = open(&root.path().join("index"));
    let again = TextIndex::open(&root.path().join("index"), &settings(&["de"])).err().unwrap();
    assert!(again.to_string().contains("another process"), "{again}");
    drop(index);
    for languages in [&[][..], &["deu"], &["d1"], &["de"; 9]] {
        let error = TextIndex::open(&root.path().join("index"), &settings(languages)).err().unwrap();
        assert!(matches!(error, SearchError::Settings(_)), "{error}");
    }
}
