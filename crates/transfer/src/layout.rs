//! The place of an object on disk: its content under its name, its record beside that, and a
//! bundle's members in a folder beside both (docs/TRANSFER.md).

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use uuid::Uuid;

/// The ending of a record file's name.
pub const RECORD: &str = ".record.json";
/// The ending of the name of the folder with a bundle's members.
pub const MEMBERS: &str = ".copies";

/// The beginning of the name of a file that is being written.
pub const PART_PREFIX: &str = ".stet-";
/// The end of the name of a file that is being written.
pub const PART_SUFFIX: &str = ".part";

/// Reports whether a name is one of a file that is being written. No object is written under such a
/// name.
pub fn is_part(name: &str) -> bool {
    name.starts_with(PART_PREFIX) && name.ends_with(PART_SUFFIX)
}

/// Bytes that a name on disk may have before its endings: file systems take 255.
const MAX_NAME: usize = 255 - RECORD.len();

/// Reports whether a name is safe as the name of a file in a folder: it leads nowhere else, and is
/// no alias there.
fn is_plain(name: &str) -> bool {
    !name.trim().is_empty() && name != "." && name != ".." && !name.contains(['/', '\\', ':', '\0'])
}

/// The names that are taken in a folder on disk.
#[derive(Debug, Default)]
pub struct Names(HashSet<String>);

impl Names {
    /// Returns an object's name on disk: its own name if that is safe, else its uuid. A name is
    /// unsafe if it is too long, or could be taken for something else, such as another object's
    /// uuid. It is also unsafe if it differs from another name only in case, which some file
    /// systems ignore.
    pub fn take(&mut self, name: &str, uuid: Uuid) -> String {
        let lower = name.to_lowercase();
        let clear = name.len() <= MAX_NAME
            && is_plain(name)
            && !lower.ends_with(RECORD)
            && !lower.ends_with(MEMBERS)
            && !name.ends_with(['.', ' '])
            && !is_part(&lower)
            // It could be the uuid of another object.
            && Uuid::try_parse(name).is_err();
        if clear && self.0.insert(lower) {
            return name.to_owned();
        }
        let uuid = uuid.to_string();
        self.0.insert(uuid.clone());
        uuid
    }
}

/// Returns the path of `name` with an ending, in that folder.
pub fn beside(folder: &Path, name: &str, ending: &str) -> PathBuf {
    folder.join(format!("{name}{ending}"))
}

/// Returns the path of a child in the repository.
pub fn below(folder: &str, name: &str) -> String {
    format!("{}/{name}", folder.trim_end_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_unless_they_could_be_taken_for_others() {
        let (mut names, uuid) = (Names::default(), Uuid::from_u128(7));
        let u = uuid.to_string();
        for (name, on_disk) in [
            ("a.xml", "a.xml"),
            ("A.XML", u.as_str()),
            (".hidden", ".hidden"),
            ("b.record.json", u.as_str()),
            ("b.Copies", u.as_str()),
            ("c.", u.as_str()),
            // The next export takes it for a file of an interrupted export.
            (".stet-abcdef.part", u.as_str()),
            (".stet-.PART", u.as_str()),
            (".stet-note", ".stet-note"),
            ("d\\e", u.as_str()),
            // It may be that of an object which is written under it.
            ("00000000-0000-0000-0000-000000000008", u.as_str()),
            ("0000000000000000000000000000000A", u.as_str()),
            // No server of ours reports such a name.
            ("../../x", u.as_str()),
            ("..", u.as_str()),
            ("", u.as_str()),
        ] {
            assert_eq!(names.take(name, uuid), on_disk, "{name}");
        }
        assert_eq!(names.take(&"x".repeat(MAX_NAME), uuid), "x".repeat(MAX_NAME));
        assert_eq!(names.take(&"y".repeat(MAX_NAME + 1), uuid), u);
        assert_eq!(below("/", "a"), "/a");
        assert_eq!(below("/a", "b"), "/a/b");
    }
}
