//! Where an object lies on disk: its content under its name, its record beside it, what a bundle holds in a folder beside that
//! (docs/TRANSFER.md).

use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// What the name of a record file ends in.
pub const RECORD: &str = ".record.json";
/// What the name of the folder with a bundle's objects ends in.
pub const MEMBERS: &str = ".copies";

/// Bytes that a name on disk may have before its endings: file systems take 255.
const MAX_NAME: usize = 255 - RECORD.len();

/// The names that are taken in a folder on disk.
#[derive(Debug, Default)]
pub struct Names(HashSet<String>);

impl Names {
    /// The name on disk of an object: its own, or its uuid where its own is too long, could be taken for something else, or differs
    /// from another's in case alone, which some file systems do not tell apart.
    pub fn take(&mut self, name: &str, uuid: &str) -> String {
        let lower = name.to_lowercase();
        let clear = name.len() <= MAX_NAME
            && !lower.ends_with(RECORD)
            && !lower.ends_with(MEMBERS)
            && !name.contains(['\\', ':'])
            && !name.ends_with(['.', ' ']);
        if clear && self.0.insert(lower) {
            return name.to_owned();
        }
        self.0.insert(uuid.to_lowercase());
        uuid.to_owned()
    }
}

/// `name` with an ending, in that folder.
pub fn beside(folder: &Path, name: &str, ending: &str) -> PathBuf {
    folder.join(format!("{name}{ending}"))
}

/// A path in the repository, one level further.
pub fn below(folder: &str, name: &str) -> String {
    format!("{}/{name}", folder.trim_end_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_unless_they_could_be_taken_for_others() {
        let mut names = Names::default();
        for (name, on_disk) in [
            ("a.xml", "a.xml"),
            ("A.XML", "u"),
            (".hidden", ".hidden"),
            ("b.record.json", "u"),
            ("b.Copies", "u"),
            ("c.", "u"),
            ("d\\e", "u"),
        ] {
            assert_eq!(names.take(name, "u"), on_disk, "{name}");
        }
        assert_eq!(names.take(&"x".repeat(MAX_NAME), "u"), "x".repeat(MAX_NAME));
        assert_eq!(names.take(&"y".repeat(MAX_NAME + 1), "u"), "u");
        assert_eq!(below("/", "a"), "/a");
        assert_eq!(below("/a", "b"), "/a/b");
    }
}
