//! What a call expects of the objects that it changes: `If-Match` (docs/api/README.md, "Conditional requests").
//!
//! It goes along in the [`Request`](crate::runtime::Request), and the command says of which objects it is asked
//! ([`Context::expects`](crate::command::Context::expects)): only there is it sure which object a creation meets, and nobody can come
//! between. A command that is asked under a condition and names no object is refused: so is a creation that meets nothing (RFC
//! 9110, 13.1.1), and a command whose author forgot it.

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
    /// One of these. It costs the same for each object, however many there are.
    OneOf(HashSet<Tag>),
}

impl Expect {
    /// Whether an object is in a state that is expected.
    ///
    /// # Errors
    /// `PreconditionFailed`.
    pub(crate) fn check(&self, record: &Record) -> Result<()> {
        match self {
            Expect::Any => return Ok(()),
            Expect::OneOf(tags) if tags.contains(&Tag::of(record)) => return Ok(()),
            Expect::OneOf(_) => {}
        }
        let Record { loid, revision, .. } = record;
        let message = format!("No tag of `If-Match` is of `{loid}` as it is: it is at revision {revision} now.");
        Err(Error::new(Code::PreconditionFailed, message).with_source(loid))
    }

    /// The refusal of a command that meets no object.
    pub(crate) fn met_nothing() -> Error {
        let message = "`If-Match` speaks of an object that is there, and the call meets none: it would make a new one.";
        Error::new(Code::PreconditionFailed, message)
    }
}
