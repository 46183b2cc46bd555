//! What a call expects of the objects that it changes: `If-Match` (docs/api/README.md, "Conditional
//! requests").
//!
//! It goes along in the [`Request`](crate::runtime::Request), and the command says of which objects
//! it is asked ([`Context::expects`](crate::command::Context::expects)): only there is it sure
//! which object a creation meets, and nobody can come between. A command that is asked under a
//! condition and names no object is refused: so is a creation that meets nothing (RFC 9110,
//! 13.1.1), and a command whose author forgot it.

use std::collections::HashSet;

use crate::error::{Code, Error, Result};
use crate::id::Loid;
use crate::object::Record;

/// A state of an object, as an ETag names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Tag {
    /// Which object; never one of its versions.
    pub object: Loid,
    /// At which revision.
    pub revision: u64,
}

impl Tag {
    /// The object at its present revision.
    pub fn of(record: &Record) -> Tag {
        Tag::at(record, record.revision)
    }

    /// The object at that revision.
    pub fn at(record: &Record, revision: u64) -> Tag {
        Tag { object: record.loid.object(), revision }
    }
}

/// The states that a caller lets objects be changed in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expect {
    /// Any, so long as there is an object.
    Any,
    /// That there is no object: the command may only make a new one.
    Nothing,
    /// One of these. The cost for each object does not depend on their number.
    OneOf {
        /// The states that match.
        tags: HashSet<Tag>,
        /// The states that the caller names by weak tags, which match nothing (RFC 9110, 13.1.1).
        weak: HashSet<Tag>,
    },
}

/// The part of a message that explains weak tags.
const ABOUT_WEAK: &str = "weak tags (`W/\"…\"`) match nothing. A proxy that compresses replies weakens their tags: \
                          switch its compression off for this server, or send the tag without `W/`.";

impl Expect {
    /// Expects one of these states.
    pub fn one_of(tags: impl IntoIterator<Item = Tag>) -> Expect {
        Expect::OneOf { tags: tags.into_iter().collect(), weak: HashSet::new() }
    }

    /// Whether an object is in a state that is expected.
    ///
    /// # Errors
    /// `PreconditionFailed`.
    pub(crate) fn check(&self, record: &Record) -> Result<()> {
        if matches!(self, Expect::Nothing) {
            let message =
                format!("`If-None-Match: *` allows a new object alone, and the call meets `{}`.", record.loid);
            return Err(Error::new(Code::PreconditionFailed, message).with_source(record.loid));
        }
        let Expect::OneOf { tags, weak } = self else { return Ok(()) };
        let now = Tag::of(record);
        if tags.contains(&now) {
            return Ok(());
        }
        let Record { loid, revision, .. } = record;
        let mut message = format!("No tag of `If-Match` is of `{loid}` as it is: it is at revision {revision} now.");
        if weak.contains(&now) {
            message =
                format!("The tag of `{loid}` in `If-Match` is of its present revision, {revision}, but {ABOUT_WEAK}");
        } else if !weak.is_empty() {
            message += &format!(" Besides, {ABOUT_WEAK}");
        }
        Err(Error::new(Code::PreconditionFailed, message).with_source(loid))
    }

    /// Whether the caller names the present state of an object, and so has seen it.
    pub(crate) fn names(&self, record: &Record) -> bool {
        matches!(self, Expect::OneOf { tags, .. } if tags.contains(&Tag::of(record)))
    }

    /// The refusal of a command that meets no object.
    pub(crate) fn met_nothing() -> Error {
        let message = "`If-Match` speaks of an object that is there, and the call meets none: it would make a new one.";
        Error::new(Code::PreconditionFailed, message)
    }
}
