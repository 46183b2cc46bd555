//! `stet import` and `stet export` (docs/TRANSFER.md): trees of files to repositories and back.

mod again;
mod broken;
mod databases;
mod reach;
mod round;
mod wire;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::*;

/// Runs `import` or `export` against a running server, as the administrator.
fn through(server: &Server, what: &[&str]) -> Run {
    let mut command = stet(&[what, &["--url", &server.client().base]].concat());
    command.env("STET_PASSWORD", ADMIN_PASSWORD);
    run(command)
}

#[track_caller]
fn done(ended: Run) -> String {
    assert_eq!(ended.code, Some(0), "{}{}", ended.out, ended.err);
    ended.out
}

/// Returns the files in a directory: their bytes by their relative paths.
fn tree(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    fn collect(at: &Path, top: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
        for entry in std::fs::read_dir(at).expect("it can be listed") {
            let path = entry.expect("it can be listed").path();
            if path.is_dir() {
                collect(&path, top, found);
            } else {
                let name = path.strip_prefix(top).expect("it lies below").to_owned();
                found.insert(name, std::fs::read(&path).expect("it can be read"));
            }
        }
    }
    let mut found = BTreeMap::new();
    collect(directory, directory, &mut found);
    found
}

/// Fails where two trees are not the same, naming the files.
#[track_caller]
fn same(first: &Path, second: &Path) {
    let (first, second) = (tree(first), tree(second));
    let differing: Vec<_> =
        first.keys().chain(second.keys()).filter(|name| first.get(*name) != second.get(*name)).collect();
    assert!(differing.is_empty() && !first.is_empty(), "{differing:?}");
}

/// Writes a file, and the folders on the way.
fn put(directory: &Path, name: &str, bytes: impl AsRef<[u8]>) {
    let file = directory.join(name);
    std::fs::create_dir_all(file.parent().expect("it lies in a folder")).expect("it can be made");
    std::fs::write(file, bytes).expect("it can be written");
}
