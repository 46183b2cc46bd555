//! The end of the process: its exit code and its output. Only this module and `log_lines` print
//! anything. So output that can't be written never ends in a panic or goes unnoticed.

use std::io::{self, Write};
use std::process::ExitCode;

use stet_domain::error::{Code, Error};
use stet_load::LoadError;

/// The exit code of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// The process did what it was asked to, and ended as requested.
    Ended = 0,
    /// The process failed while it ran, or refused what it was asked to do.
    Failed = 1,
    /// The command line or the configuration is at fault. The command line's own errors end with
    /// the same code.
    Usage = 2,
    /// The data directory can't be opened: it is from a newer stet, damaged, or lacks changes that
    /// were acknowledged. Another start finds it unchanged.
    Data = 3,
    /// `check`, `config check`, `config apply`, `backup probe` or `doctor` found faults, or `load`
    /// found a server that has lost acknowledged changes.
    Faults = 4,
    /// `load` did not meet its conditions: calls failed, for example.
    Short = 5,
    /// Another process has the data directory open: a server, or a command while it runs. A start
    /// may be tried again.
    InUse = 6,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

/// The reason why the server did not start, or did not end properly.
#[derive(Debug)]
pub struct Failure {
    /// The exit code.
    pub exit: Exit,
    /// A sentence for the operator.
    pub message: String,
}

impl Failure {
    /// Creates a failure with its sentence.
    pub fn new(exit: Exit, message: impl std::fmt::Display) -> Failure {
        Failure { exit, message: message.to_string() }
    }
}

/// Prints a whole text to standard output.
///
/// # Errors
/// [`Exit::Failed`] if it could not be written, as on a full disk. A reader that has closed the
/// pipe is no error.
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
/// Errors of the system, including a closed pipe.
pub fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Converts an error of the repository about a data directory that can't be used: damaged rows, or
/// a disk that fails or is full.
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
