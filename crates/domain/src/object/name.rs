//! Names and paths (docs/api/README.md, "Names and paths").

use std::borrow::Cow;

use bytes::Bytes;
use unicode_normalization::{UnicodeNormalization, is_nfc};

use crate::error::{Code, Error, Result, escape_control_characters};
use crate::id::Loid;
use crate::object::FamilyKind;
use crate::store::key_of;

/// The maximal length of a name, in bytes of UTF-8.
pub const MAX_NAME_BYTES: usize = 255;

/// The maximal length of a text that can be a name in any form, in bytes. Normalisation shortens a
/// text by far less, to two bytes of seven at the utmost.
pub const MAX_NAME_TEXT_BYTES: usize = 16 * MAX_NAME_BYTES;

/// The limits on the length and depth of paths, which bound the cost of a client's call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathLimits {
    /// The maximal bytes of a path that names an object.
    pub bytes: usize,
    /// The maximal number of names in a path, and so the maximal depth of objects that are made or
    /// moved.
    pub depth: usize,
}

impl PathLimits {
    /// The limits that no configuration may exceed, used for paths that stet makes itself. Every
    /// walk up the folders stops at this depth.
    pub const WIDEST: PathLimits = PathLimits { bytes: (MAX_NAME_BYTES + 1) * 1024, depth: 1024 };
}

impl Default for PathLimits {
    /// Returns limits that allow any path of the default depth.
    fn default() -> PathLimits {
        PathLimits { bytes: (MAX_NAME_BYTES + 1) * 64, depth: 64 }
    }
}

/// The action if the name of a new object is taken (docs/api/README.md, "When a name is taken").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CreateMode {
    /// The call fails with `DuplicatedName`.
    #[default]
    Exception,
    /// The new object gets another name.
    AutoRename,
    /// The existing object gets the new content and attributes; its current version is replaced.
    Replace,
    /// The existing object gets the new content as a new version.
    NewVersion,
    /// The existing object is the reply, if it is of the same family; not on the wire.
    Existing,
}

/// Returns a name as a file-like object gets it: `:`, `"` and `|` become `_`.
///
/// # Errors
/// The errors of [`check_name`].
pub fn file_name(name: &str) -> Result<String> {
    check_name(name)?;
    Ok(name.replace([':', '"', '|'], "_"))
}

/// Returns a name as an object of that family gets it: a `/` in a title becomes `_`.
///
/// # Errors
/// The errors of [`check_name`].
pub fn name_for(family: FamilyKind, name: &str) -> Result<String> {
    if family.is_named_by_title() { file_name(&name.replace('/', "_")) } else { file_name(name) }
}

/// Checks a name.
///
/// # Errors
/// `InvalidName` for a name that is empty, `.` or `..`, is longer than [`MAX_NAME_BYTES`], or has a
/// `/` or a control character.
pub fn check_name(name: &str) -> Result<()> {
    let refuse = |why: &str| {
        Err(Error::new(Code::InvalidName, format!("The name `{}` {why}.", escape_control_characters(name)))
            .with_source(name))
    };
    if name.trim().is_empty() {
        return refuse("is empty");
    }
    if name == "." || name == ".." {
        return refuse("is reserved");
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
    Ok(())
}

/// Returns the key of a name in its folder. Names are compared in NFC.
pub fn name_key(folder: Loid, name: &str) -> Bytes {
    key_of(&[&folder.to_key(), normal_form(name).as_bytes()])
}

/// Returns a text in NFC, the form in which names are compared. It costs little for a text that is
/// in NFC already.
pub fn normal_form(name: &str) -> Cow<'_, str> {
    if name.is_ascii() || is_nfc(name) { Cow::Borrowed(name) } else { Cow::Owned(name.nfc().collect()) }
}

/// Returns the names in an absolute path; `/` has none.
///
/// # Errors
/// `InvalidPath` for a path that does not begin with `/`, has an empty part, or is longer or deeper
/// than allowed. A `/` at the end is accepted.
pub fn check_path(path: &str, limits: PathLimits) -> Result<PathNames<'_>> {
    let refuse = |why: &str| Err(Error::new(Code::InvalidPath, format!("The path `{path}` {why}.")).with_source(path));
    if path.len() > limits.bytes {
        let why = format!("has {} bytes; at most {} are allowed", path.len(), limits.bytes);
        return refuse(&why).map_err(|error| error.with_detail("limit", limits.bytes));
    }
    let Some(rest) = path.strip_prefix('/') else { return refuse("does not begin with `/`") };
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    if rest.is_empty() {
        return if path == "/" { Ok(PathNames(None)) } else { refuse("has an empty part") };
    }
    if rest.split('/').any(str::is_empty) {
        return refuse("has an empty part");
    }
    let names = rest.split('/').count();
    if names > limits.depth {
        let why = format!("has {names} names; at most {} are allowed", limits.depth);
        return refuse(&why).map_err(|error| error.with_detail("limit", limits.depth));
    }
    Ok(PathNames(Some(rest.split('/'))))
}

/// The names in a path, from [`check_path`].
#[derive(Debug, Clone)]
pub struct PathNames<'a>(Option<std::str::Split<'a, char>>);

impl<'a> Iterator for PathNames<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        self.0.as_mut()?.next()
    }
}

/// Splits a path into that of its folder and the last name; `None` for `/`.
pub fn parent_path(path: &str) -> Option<(&str, &str)> {
    let (folder, name) = path.trim_end_matches('/').rsplit_once('/')?;
    Some((if folder.is_empty() { "/" } else { folder }, name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::DatabaseId;

    #[test]
    fn characters_illegal_in_file_names_become_underscores() {
        assert_eq!(file_name("a:b\"c|d").unwrap(), "a_b_c_d");
        for family in [FamilyKind::Topic, FamilyKind::TopicPlan] {
            assert_eq!(name_for(family, "Ferry/bridge: |1|").unwrap(), "Ferry_bridge_ _1_");
            assert_eq!(name_for(family, "a\u{7}").unwrap_err().code, Code::InvalidName);
        }
        assert_eq!(name_for(FamilyKind::Document, "a:b").unwrap(), "a_b");
        assert_eq!(name_for(FamilyKind::Liveblog, "a/b").unwrap_err().code, Code::InvalidName);
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
        let folder = Loid::new(DatabaseId::FIRST, 1);
        assert_eq!(name_key(folder, "Caf\u{e9}"), name_key(folder, "Cafe\u{301}"));
        assert_ne!(name_key(folder, "cafe"), name_key(folder, "Cafe"));
    }

    #[test]
    fn a_path_is_split_at_its_slashes() {
        let names = |path| check_path(path, PathLimits::default()).map(|names| names.collect::<Vec<_>>());
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

    #[test]
    fn a_path_that_is_too_long_or_too_deep_is_refused_in_a_short_sentence() {
        let limits = PathLimits { bytes: 20, depth: 3 };
        let refused = |path: &str| check_path(path, limits).map(Iterator::count).map_err(|error| error.code);
        assert_eq!(refused("/a/b/c"), Ok(3));
        assert_eq!(refused("/a/b/c/"), Ok(3));
        assert_eq!(refused("/a/b/c/d"), Err(Code::InvalidPath));
        assert_eq!(refused(&format!("/{}", "x".repeat(19))), Ok(1));
        assert_eq!(refused(&format!("/{}", "x".repeat(20))), Err(Code::InvalidPath));
        let error = check_path(&"/x".repeat(2_000_000), PathLimits::default()).unwrap_err();
        assert!(error.message.contains("has 4000000 bytes; at most 16384 are allowed"), "{error}");
        assert!(error.message.len() < 4096, "{}", error.message.len());
        assert!(error.source.is_some_and(|source| source.len() <= 16_384));
    }
}
