//! How the process ends: its exit code, and what it says on the way. Nothing is printed but here
//! and in `log_lines`, so that no output that can't be written ends in a panic, or in nothing at
//! all.

use std::io::{self, Write};
use std::process::ExitCode;

use stet_actors::error::{Code, Error};
use stet_load::LoadError;

/// How the process ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// It did what it was asked to and ended when it was asked to.
    Ended = 0,
    /// It failed while it ran, or refused what it was asked to do.
    Failed = 1,
    /// The command line or the configuration is at fault. The command line's own errors end with
    /// the same code.
    Usage = 2,
    /// The data directory can't be opened: from a newer stet, damaged, or without changes that were
    /// acknowledged. Another start finds it as it is.
    Data = 3,
    /// `check`, `config check`, `config apply` or `doctor` found faults, or `load` a server that
    /// does not hold what it acknowledged.
    Faults = 4,
    /// `load` was not good enough by its conditions: calls failed, for one.
    Short = 5,
    /// Another process has the data directory open: a server, or a command for as long as it takes.
    /// A start may be tried again.
    InUse = 6,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

/// Why the server did not come up, or did not end well.
#[derive(Debug)]
pub struct Failure {
    /// How the process ends.
    pub exit: Exit,
    /// A sentence for the operator.
    pub message: String,
}

impl Failure {
    /// A failure with its sentence.
    pub fn new(exit: Exit, message: impl std::fmt::Display) -> Failure {
        Failure { exit, message: message.to_string() }
    }
}

/// Prints a whole text to standard output.
///
/// # Errors
/// [`Exit::Failed`]: it could not be written, as on a full disk. That whoever reads has seen enough
/// is none.
pub fn print(text: &str) -> Result<(), Failure> {
    match write(text) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::new(Exit::Failed, format!("the output can't be written: {error}")))
        }
        _ => Ok(()),
    }
}

/// Writes a whole text to standard output.
///
/// # Errors
/// What the system says, also that nobody reads it.
pub fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// What the repository says of a data directory that can't be used: damaged rows, a disk that fails
/// or is full.
impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        match error.code {
            Code::StorageFull => Failure::new(Exit::Data, "the disk is full"),
            _ => Failure::new(Exit::Data, error.message.trim_end_matches('.')),
        }
    }
}

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Failure {
        match error {
            LoadError::Usage(message) => Failure::new(Exit::Usage, message),
            LoadError::Failed(message) => Failure::new(Exit::Failed, message),
            LoadError::Faults(message) => Failure::new(Exit::Faults, message),
            LoadError::Short(message) => Failure::new(Exit::Short, message),
        }
    }
}
