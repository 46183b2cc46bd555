//! The names of users, groups and keys, in the normalised form in which they are stored and
//! compared.
//!
//! Texts that people take for the same name are the same name: NFC, without white space around it.
//! Case distinguishes names. All external input (logins, bodies, paths, the CAS server, the
//! configuration, the command line) becomes a [`Name`] by normalising, and there is no other way to
//! create one. Only older rows are read with the names that they have: see
//! [`Directory::user`](super::Directory::user).

use std::fmt;
use std::ops::Deref;

use serde::{Deserialize, Serialize};
use stet_domain::error::{Code, Error, Result};
use stet_domain::object::{MAX_NAME_TEXT_BYTES, SharedText, file_name, normal_form};

/// A normalised name of a user, group or key.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Name(SharedText);

impl Name {
    /// Returns the name that a text stands for, whether or not it exists.
    pub fn of(text: &str) -> Name {
        let text = text.trim();
        if text.len() > MAX_NAME_TEXT_BYTES { Name(text.into()) } else { Name(normal_form(text).as_ref().into()) }
    }

    /// Returns a name for something new.
    ///
    /// # Errors
    /// `InvalidName` for an illegal name: see [`file_name`].
    pub fn checked(text: &str) -> Result<Name> {
        let name = Name::of(text);
        file_name(&name)?;
        Ok(name)
    }

    /// Returns a name for a new user. Folders are named after users, so a folder must be able to
    /// have it unchanged. Otherwise two users could have one home.
    ///
    /// # Errors
    /// `InvalidName`.
    pub fn for_user(text: &str) -> Result<Name> {
        let name = Name::checked(text)?;
        if file_name(&name)? == *name {
            return Ok(name);
        }
        let message = format!("The user name `{name}` has `:`, `\"` or `|`, which no folder's name can have.");
        Err(Error::new(Code::InvalidName, message).with_source(name.as_ref()))
    }

    /// Returns the name as a text to be stored.
    pub fn text(&self) -> &SharedText {
        &self.0
    }
}

impl Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for Name {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Name {
    fn from(text: &str) -> Name {
        Name::of(text)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

/// The names of rows from before names were normalised, with the forms by which they are compared.
#[derive(Debug, Default)]
pub(super) struct OlderNames(Vec<OlderName>);

#[derive(Debug)]
struct OlderName {
    /// The name in the row.
    row: SharedText,
    name: Name,
    /// The name of a folder for the user.
    folder: String,
}

impl OlderNames {
    /// Collects the names of rows that differ from what new rows would get.
    pub(super) fn among<'n>(rows: impl Iterator<Item = &'n str>) -> OlderNames {
        let older = rows.filter_map(|row| {
            let name = Name::of(row);
            let folder = folder_of(&name);
            (*name != *row || folder != row).then(|| OlderName { row: row.into(), name, folder })
        });
        OlderNames(older.collect())
    }

    /// Returns the row that a name stands for, if there is exactly one.
    pub(super) fn row(&self, name: &Name) -> Option<&SharedText> {
        let mut rows = self.0.iter().filter(|older| older.name == *name);
        let first = rows.next()?;
        rows.next().is_none().then_some(&first.row)
    }

    /// Returns a row whose user has the folders that a user of the name would have.
    pub(super) fn of_same_folder(&self, name: &Name) -> Option<&SharedText> {
        self.0.iter().find(|older| older.folder == **name).map(|older| &older.row)
    }
}

fn folder_of(name: &Name) -> String {
    file_name(name).unwrap_or_else(|_| name.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_read_the_same_are_one_name_and_case_counts() {
        for text in ["ren\u{e9}", "rene\u{301}", " ren\u{e9}", "rene\u{301}\t\n"] {
            assert_eq!(&*Name::of(text), "ren\u{e9}", "{text:?}");
        }
        assert_ne!(Name::of("Ada"), Name::of("ada"));
        assert_eq!(&*Name::of(" \n"), "");
        // No name is that long, so it is not normalised.
        let long = "e\u{301}".repeat(MAX_NAME_TEXT_BYTES);
        assert_eq!(&*Name::of(&long), long);
    }

    #[test]
    fn a_new_user_has_a_name_that_a_folder_can_have() {
        for text in ["", " ", ".", "..", "a/b", "a\nb", "\u{7f}a", "mia|b", "zoe:b", "a\"b", &"x".repeat(256)] {
            assert_eq!(Name::for_user(text).unwrap_err().code, Code::InvalidName, "{text:?}");
        }
        // Names that are short enough once normalised are legal.
        for text in ["x".repeat(255), "e\u{301}".repeat(127), " ada ".to_owned()] {
            assert_eq!(Name::for_user(&text).unwrap(), Name::of(&text));
        }
        assert_eq!(&*Name::checked("desk: sports").unwrap(), "desk: sports");
    }

    #[test]
    fn a_row_from_before_is_found_if_it_is_the_only_one() {
        let older = OlderNames::among(["ada", "rene\u{301}", "mia|b", " zoe", "zoe "].into_iter());
        let row = |name: &str| older.row(&Name::of(name)).map(ToString::to_string);
        assert_eq!(row("ren\u{e9}").as_deref(), Some("rene\u{301}"));
        assert_eq!(row("mia|b").as_deref(), Some("mia|b"));
        for name in ["ada", "zoe", "mia_b"] {
            assert_eq!(row(name), None, "{name}");
        }
        assert_eq!(older.of_same_folder(&Name::of("mia_b")).map(|row| &**row), Some("mia|b"));
    }
}
