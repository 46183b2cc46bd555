//! Preconditions for the objects that a call changes: `If-Match` (docs/api/README.md, "Conditional
//! requests").
//!
//! A precondition is part of the `ChangeRequest`. The command
//! names the objects that it applies to ([`Context::expects`](crate::command::Context::expects)).
//! Only within the command is it certain which object a creation meets, and that nobody interferes.
//! A conditional command that names no object is refused. That covers a creation that meets no
//! object (RFC 9110, 13.1.1), and a command whose author forgot to name one.

use std::collections::HashSet;

use crate::error::{Code, Error, Result};
use crate::id::Loid;
use crate::object::Record;

/// The state of an object that an ETag names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RevisionTag {
    /// The object; never one of its versions.
    pub object: Loid,
    /// The revision of the object.
    pub revision: u64,
}

impl RevisionTag {
    /// Returns the tag of the object at its present revision.
    pub fn of(record: &Record) -> RevisionTag {
        RevisionTag::at(record, record.revision)
    }

    /// Returns the tag of the object at that revision.
    pub fn at(record: &Record, revision: u64) -> RevisionTag {
        RevisionTag { object: record.loid.object(), revision }
    }
}

/// The precondition of a call: the states in which an object may be changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Precondition {
    /// Any state, but the object must exist.
    Any,
    /// No object: the command may only make a new one.
    Nothing,
    /// One of the given states. The cost of a check does not depend on their number.
    OneOf {
        /// The states that match.
        tags: HashSet<RevisionTag>,
        /// The states that the caller names by weak tags, which never match (RFC 9110, 13.1.1).
        weak: HashSet<RevisionTag>,
    },
}

/// The explanation of weak tags in a message.
const ABOUT_WEAK: &str = "weak tags (`W/\"…\"`) match nothing. A proxy that compresses replies weakens their tags: \
                          switch its compression off for this server, or send the tag without `W/`.";

impl Precondition {
    /// Expects one of these states.
    pub fn one_of(tags: impl IntoIterator<Item = RevisionTag>) -> Precondition {
        Precondition::OneOf { tags: tags.into_iter().collect(), weak: HashSet::new() }
    }

    /// Checks that an object is in an expected state.
    ///
    /// # Errors
    /// `PreconditionFailed`.
    pub fn check(&self, record: &Record) -> Result<()> {
        if matches!(self, Precondition::Nothing) {
            let message = format!("`If-None-Match: *` allows only a new object, but `{}` exists already.", record.loid);
            return Err(Error::new(Code::PreconditionFailed, message).with_source(record.loid));
        }
        let Precondition::OneOf { tags, weak } = self else { return Ok(()) };
        let now = RevisionTag::of(record);
        if tags.contains(&now) {
            return Ok(());
        }
        let Record { loid, revision, .. } = record;
        let mut message = format!("No tag in `If-Match` matches `{loid}`, which is at revision {revision} now.");
        if weak.contains(&now) {
            message =
                format!("The tag of `{loid}` in `If-Match` has the current revision, {revision}, but {ABOUT_WEAK}");
        } else if !weak.is_empty() {
            message += &format!(" Besides, {ABOUT_WEAK}");
        }
        Err(Error::new(Code::PreconditionFailed, message).with_source(loid))
    }

    /// Reports whether the caller names the present state of an object, and so has seen it.
    pub fn names(&self, record: &Record) -> bool {
        matches!(self, Precondition::OneOf { tags, .. } if tags.contains(&RevisionTag::of(record)))
    }

    /// Returns the refusal of a command that meets no object.
    pub fn met_nothing() -> Error {
        let message = "`If-Match` requires an existing object, but the call would create a new one.";
        Error::new(Code::PreconditionFailed, message)
    }
}
