//! The error of this crate, with one variant for each way in which a service reacts.

use std::error::Error;
use std::fmt;
use std::io::{self, ErrorKind};
use std::path::Path;

use crate::target::S3Fault;

/// The reason why something was not read from a backup or written to it.
///
/// Nothing was changed, except that the outcome of an unreachable target is unknown: the object may
/// be there, complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BackupError {
    /// The target does not answer, or failed in a way that may pass. Trying again later may help.
    Unreachable(String),
    /// The target has no space left; or the local disk, for [`BackupTarget::get_to_file`]. The text
    /// says which.
    ///
    /// [`BackupTarget::get_to_file`]: crate::BackupTarget::get_to_file
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

    /// Creates the error of a local file.
    pub(crate) fn of_local_file(path: &Path, error: &io::Error) -> BackupError {
        let text = format!("The local file `{}` can't be used: {error}.", path.display());
        if is_full(error) { BackupError::Full(text) } else { BackupError::LocalFile(text) }
    }

    /// Creates the error of the target's folder or of a file in it.
    pub(crate) fn of_target_folder(what: &dyn fmt::Display, error: &io::Error) -> BackupError {
        let text = format!("The backup target can't use `{what}`: {error}.");
        if is_full(error) {
            BackupError::Full(text)
        } else if is_permanent(error.kind()) {
            BackupError::Refused(text)
        } else {
            BackupError::Unreachable(text)
        }
    }

    /// Creates the error for a failure of the library on the object `name`.
    pub(crate) fn of_object_store(name: &str, error: &object_store::Error) -> BackupError {
        use object_store::Error as StoreError;
        if let StoreError::NotFound { .. } = error {
            return BackupError::NotFound(name.to_owned());
        }
        if let Some(fault) = S3Fault::find(error) {
            return fault.to_backup_error(name);
        }
        if let Some(cause) = io_cause(error) {
            return BackupError::of_target_folder(&name, cause);
        }
        let text = match error {
            // The library's text repeats the address and the times.
            StoreError::Generic { store: "S3", source } => {
                format!("The backup target can't use `{name}`: {}.", innermost_cause(&**source))
            }
            _ => format!("The backup target can't use `{name}`: {error}."),
        };
        match error {
            StoreError::Generic { .. }
            | StoreError::JoinError { .. }
            | StoreError::Precondition { .. }
            | StoreError::NotModified { .. } => BackupError::Unreachable(text),
            _ => BackupError::Refused(text),
        }
    }

    /// Creates the error for a failure to write the object `name`. A server that does not know an
    /// upload any more says that it finds nothing, which is no statement about the object.
    pub(crate) fn of_failed_write(name: &str, error: &object_store::Error) -> BackupError {
        match BackupError::of_object_store(name, error) {
            BackupError::NotFound(name) => {
                BackupError::Unreachable(format!("The backup target has lost the upload of `{name}`."))
            }
            error => error,
        }
    }
}

/// Finds the error of the operating system among the causes of an error.
fn io_cause<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a io::Error> {
    let (mut cause, mut found) = (Some(error), None);
    while let Some(error) = cause {
        found = error.downcast_ref().or(found);
        cause = error.source();
    }
    found
}

/// Returns the text of the innermost cause, of which a server may have written any part.
fn innermost_cause(error: &(dyn Error + 'static)) -> String {
    let mut innermost = error;
    while let Some(cause) = innermost.source() {
        innermost = cause;
    }
    innermost.to_string().chars().map(|sign| if sign.is_control() { ' ' } else { sign }).take(300).collect()
}

fn is_full(error: &io::Error) -> bool {
    // A file is too large beyond the limit of this process (`ulimit -f`) or of the file system.
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge)
}

/// Reports whether an error of a folder stays until somebody changes something.
fn is_permanent(kind: ErrorKind) -> bool {
    use ErrorKind::{
        AlreadyExists, InvalidFilename, InvalidInput, IsADirectory, NotADirectory, PermissionDenied,
        ReadOnlyFilesystem, Unsupported,
    };
    matches!(
        kind,
        AlreadyExists
            | InvalidFilename
            | InvalidInput
            | IsADirectory
            | NotADirectory
            | PermissionDenied
            | ReadOnlyFilesystem
            | Unsupported
    )
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that a failure below the library is found, however deep.
    #[test]
    fn errors_of_the_operating_system_decide() {
        let of = |kind: ErrorKind| {
            let inner = object_store::Error::Generic { store: "test", source: io::Error::from(kind).into() };
            BackupError::of_object_store("name", &object_store::Error::Generic { store: "test", source: inner.into() })
        };
        assert!(matches!(of(ErrorKind::StorageFull), BackupError::Full(_)));
        assert!(matches!(of(ErrorKind::QuotaExceeded), BackupError::Full(_)));
        assert!(matches!(of(ErrorKind::PermissionDenied), BackupError::Refused(_)));
        assert!(matches!(of(ErrorKind::ReadOnlyFilesystem), BackupError::Refused(_)));
        assert!(matches!(of(ErrorKind::TimedOut), BackupError::Unreachable(_)));
        assert!(matches!(of(ErrorKind::StaleNetworkFileHandle), BackupError::Unreachable(_)));
    }

    #[test]
    fn failures_of_the_library_itself_may_pass() {
        let source = "no answer".into();
        let error = BackupError::of_object_store("a/b", &object_store::Error::Generic { store: "test", source });
        assert!(matches!(&error, BackupError::Unreachable(text) if text.contains("`a/b`")), "{error}");
    }
}
