//! Faults in configuration files.

use std::fmt;

use stet_domain::error::shorten_text;

/// The largest number of faults that one reading reports, even for a file full of faults.
pub const MOST_FAULTS: usize = 100;

/// The largest size of a fault's clause, and of its path, in bytes.
const MOST_BYTES: usize = 1024;

/// A fault at one place of a configuration file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigurationFault {
    /// Path of the file, in the repository.
    pub path: String,
    /// Line, counted from 1; 0 if the fault concerns the whole file.
    pub line: usize,
    /// Column in characters, counted from 1; 0 if the fault concerns the whole file.
    pub column: usize,
    /// Clause that names the faulty part.
    pub fault: String,
}

impl ConfigurationFault {
    /// Shortens the fault to the size that is reported.
    pub(super) fn cut(mut self) -> ConfigurationFault {
        self.path = shorten_text(self.path, MOST_BYTES);
        self.fault = shorten_text(self.fault, MOST_BYTES);
        self
    }

    /// Returns a fault that concerns a whole file.
    pub fn of_file(path: &str, fault: impl Into<String>) -> ConfigurationFault {
        ConfigurationFault { path: path.to_owned(), line: 0, column: 0, fault: fault.into() }
    }
}

impl fmt::Display for ConfigurationFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.fault),
            line => write!(f, "{}:{line}:{}: {}", self.path, self.column, self.fault),
        }
    }
}

/// Returns the line and column of a byte in a text, counted from 1.
pub(super) fn place_in(text: &str, at: usize) -> (usize, usize) {
    let mut end = at.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let before = &text[..end];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
    (line, before[line_start..].chars().count() + 1)
}
