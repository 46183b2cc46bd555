//! Names and paths (docs/api/README.md, "Names and paths").

use bytes::Bytes;
use unicode_normalization::UnicodeNormalization;

use crate::error::{Code, Error, Result, printable};
use crate::id::Loid;
use crate::store::key_of;

/// The longest name there is, in bytes of UTF-8.
pub const MAX_NAME_BYTES: usize = 255;

/// What happens when the name is taken (docs/api/README.md, "When a name is taken").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CreateMode {
    /// `DuplicatedName`.
    #[default]
    Exception,
    /// The new object gets another name.
    AutoRename,
    /// The object there gets the new content and attributes; its current version is replaced.
    Replace,
    /// The object there gets the new content as a new version.
    NewVersion,
    /// The object there is the answer, if it is of the same family; not on the wire.
    Existing,
}

/// A name as a file-like object gets it: `:`, `"` and `|` become `_`.
///
/// # Errors
/// `InvalidName` when it is empty, `.` or `..`, longer than [`MAX_NAME_BYTES`], or has a `/` or a control character.
pub fn file_name(name: &str) -> Result<String> {
    let refuse = |why: &str| {
        Err(Error::new(Code::InvalidName, format!("The name `{}` {why}.", printable(name))).with_source(name))
    };
    if name.trim().is_empty() {
        return refuse("is empty");
    }
    if name == "." || name == ".." {
        return refuse("stands for a folder of its own");
    }
    if name.len() > MAX_NAME_BYTES {
        return Err(Error::new(
            Code::InvalidName,
            format!("The name has {} bytes; at most {MAX_NAME_BYTES} are allowed.", name.len()),
        ));
    }
    if name.contains('/') {
        return refuse("has a `/`");
    }
    if name.chars().any(char::is_control) {
        return refuse("has a control character");
    }
    Ok(name.replace([':', '"', '|'], "_"))
}

/// Key of a name in its folder: names are compared in NFC.
pub fn name_key(folder: Loid, name: &str) -> Bytes {
    if name.is_ascii() {
        return key_of(&[&folder.to_key(), name.as_bytes()]);
    }
    let normal: String = name.nfc().collect();
    key_of(&[&folder.to_key(), normal.as_bytes()])
}

/// The names along an absolute path; `/` has none.
///
/// # Errors
/// `InvalidPath` when it does not begin with `/` or has an empty part; a `/` at the end is forgiven.
pub fn check_path(path: &str) -> Result<Names<'_>> {
    let refuse = |why: &str| Err(Error::new(Code::InvalidPath, format!("The path `{path}` {why}.")).with_source(path));
    let Some(rest) = path.strip_prefix('/') else { return refuse("does not begin with `/`") };
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    if rest.is_empty() {
        return if path == "/" { Ok(Names(None)) } else { refuse("has an empty part") };
    }
    if rest.split('/').any(str::is_empty) {
        return refuse("has an empty part");
    }
    Ok(Names(Some(rest.split('/'))))
}

/// See [`check_path`].
#[derive(Debug, Clone)]
pub struct Names<'a>(Option<std::str::Split<'a, char>>);

impl<'a> Iterator for Names<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        self.0.as_mut()?.next()
    }
}

/// The path of the folder that a path lies in, and its last name; `None` for `/`.
pub fn parent_path(path: &str) -> Option<(&str, &str)> {
    let (folder, name) = path.trim_end_matches('/').rsplit_once('/')?;
    Some((if folder.is_empty() { "/" } else { folder }, name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::DatabaseId;

    #[test]
    fn what_file_systems_dislike_becomes_an_underscore() {
        assert_eq!(file_name("a:b\"c|d").unwrap(), "a_b_c_d");
    }

    #[test]
    fn an_invalid_name_is_refused() {
        for name in ["", " ", ".", "..", "a/b", "a\nb", "a\u{7f}", &"x".repeat(256)] {
            assert_eq!(file_name(name).unwrap_err().code, Code::InvalidName, "{name:?}");
        }
        assert!(file_name(&"x".repeat(255)).is_ok());
    }

    #[test]
    fn names_that_look_alike_are_the_same_name() {
        let folder = Loid::new(DatabaseId::MAIN, 1);
        assert_eq!(name_key(folder, "Caf\u{e9}"), name_key(folder, "Cafe\u{301}"));
        assert_ne!(name_key(folder, "cafe"), name_key(folder, "Cafe"));
    }

    #[test]
    fn a_path_is_split_at_its_slashes() {
        let names = |path| check_path(path).map(|names| names.collect::<Vec<_>>());
        assert_eq!(names("/").unwrap(), Vec::<&str>::new());
        assert_eq!(names("/a/b").unwrap(), ["a", "b"]);
        assert_eq!(names("/a/b/").unwrap(), ["a", "b"]);
        for path in ["", "a", "//", "/a//b", "/a//"] {
            assert_eq!(names(path).unwrap_err().code, Code::InvalidPath, "{path}");
        }
        assert_eq!(parent_path("/a/b"), Some(("/a", "b")));
        assert_eq!(parent_path("/a"), Some(("/", "a")));
        assert_eq!(parent_path("/"), None);
    }
}
