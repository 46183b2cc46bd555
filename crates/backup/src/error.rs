//! The error of this crate, with one variant for each way in which a service reacts.

use std::error::Error;
use std::fmt;

/// The reason why something was not read from a backup or written to it.
///
/// Nothing was changed, except that the outcome of an unreachable target is unknown: the object may
/// be there, complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BackupError {
    /// The target does not answer, or failed in a way that may pass. Trying again later may help.
    Unreachable(String),
    /// The target has no space left; or the local disk, when a file is
    /// written. The text says which.
    Full(String),
    /// The target has no object with this name. Trying again does not help.
    NotFound(String),
    /// An object is not what was written there. Trying again does not help.
    Damaged {
        /// The name of the object, or the path of a local file.
        object: String,
        /// The fault found first: a clause without a subject.
        fault: String,
    },
    /// The request can't be carried out as it is: an operator or programmer must change something.
    Refused(String),
    /// A file of this machine can't be read or written.
    LocalFile(String),
}

impl BackupError {
    /// Creates the error of a damaged object.
    pub(crate) fn damaged(object: &dyn fmt::Display, fault: impl Into<String>) -> BackupError {
        BackupError::Damaged { object: object.to_string(), fault: fault.into() }
    }
}

impl fmt::Display for BackupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BackupError::NotFound(name) => write!(f, "There is no object `{name}` in the backup target."),
            BackupError::Damaged { object, fault } => write!(f, "The object `{object}` is damaged: {fault}."),
            BackupError::Unreachable(text)
            | BackupError::Full(text)
            | BackupError::Refused(text)
            | BackupError::LocalFile(text) => f.write_str(text),
        }
    }
}

impl Error for BackupError {}
