//! What is wrong in configuration files.

use std::fmt;

use stet_actors::error::shortened;

/// Faults of one reading that are told; a file of nothing but faults has no more.
pub const MOST_FAULTS: usize = 100;

/// Bytes of the clause of a fault, and of its path.
const MOST_BYTES: usize = 1024;

/// What is wrong at one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Path of the file, in the repository.
    pub path: String,
    /// Counted from 1; 0 where the fault is the whole file's.
    pub line: usize,
    /// In characters, counted from 1; 0 as for the line.
    pub column: usize,
    /// A clause that names what is at fault.
    pub fault: String,
}

impl Fault {
    /// The fault with what is told of it at most.
    pub(super) fn cut(mut self) -> Fault {
        self.path = shortened(self.path, MOST_BYTES);
        self.fault = shortened(self.fault, MOST_BYTES);
        self
    }

    /// A fault of a whole file.
    pub fn of_file(path: &str, fault: impl Into<String>) -> Fault {
        Fault { path: path.to_owned(), line: 0, column: 0, fault: fault.into() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.fault),
            line => write!(f, "{}:{line}:{}: {}", self.path, self.column, self.fault),
        }
    }
}

/// Line and column of a byte of a text, counted from 1.
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
