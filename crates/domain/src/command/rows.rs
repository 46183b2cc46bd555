//! The rows that a command has noted, and their size. Here a change set is bounded while it is
//! being built.

use bytes::Bytes;

use super::CommandFault;
use crate::count::count_with_noun;
use crate::error::{Code, Error};
use crate::object::PathLimits;
use crate::store::RowChange;

/// The maximal number of parts or objects that a small change alters. A larger change waits for a
/// work permit (`LargeChangeAdmission`). Otherwise it would block its thread for
/// others and fill the shared memory.
pub const SMALL: usize = 256;

/// The maximal number of rows of a small change, including index entries.
const SMALL_ROWS: usize = 4 * SMALL;

/// The maximal number of bytes of those rows.
const SMALL_BYTES: usize = 128 << 10;

/// The default limit on the bytes of one change's rows (64 MiB). It is more than the size of the
/// largest container, so that a change of the whole container fits.
pub const CHANGE_BYTES: usize = 64 << 20;

/// The largest default limit on the memory of a container in bytes (32 MiB).
pub const LARGEST_CONTAINER: u64 = 32 << 20;

/// The configured limits that every change is held to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangeLimits {
    /// The limits on the length and depth of paths.
    pub paths: PathLimits,
    /// The limit on the bytes of rows that one change may store.
    pub change_bytes: usize,
    /// The limit on the bytes of memory that a container may take.
    pub container_bytes: u64,
}

impl Default for ChangeLimits {
    fn default() -> ChangeLimits {
        ChangeLimits { paths: PathLimits::default(), change_bytes: CHANGE_BYTES, container_bytes: LARGEST_CONTAINER }
    }
}

/// The rows noted so far.
///
/// Rows beyond the limit are dropped, so that no command can fill the memory before its size is
/// checked. Then [`NotedRows::check_size`] fails, and nothing of the command is carried out.
#[derive(Debug)]
pub(super) struct NotedRows {
    noted: Vec<RowChange>,
    bytes: usize,
    /// True once rows were dropped.
    is_over: bool,
    admits_large: bool,
    most_bytes: usize,
}

impl NotedRows {
    /// Returns an empty list, for a change that may be large.
    pub fn new() -> NotedRows {
        NotedRows { noted: Vec::new(), bytes: 0, is_over: false, admits_large: true, most_bytes: CHANGE_BYTES }
    }

    /// Limits the bytes of a large change.
    pub fn limit(&mut self, most_bytes: usize) {
        self.most_bytes = most_bytes;
    }

    /// Lifts the limit, for objects that come from another repository.
    pub fn lift_limit(&mut self) {
        self.most_bytes = usize::MAX;
    }

    /// Sets whether the change may be large.
    pub fn admit_large(&mut self, admits_large: bool) {
        self.admits_large = admits_large;
    }

    /// Returns whether the change may be large.
    pub fn admits_large(&self) -> bool {
        self.admits_large
    }

    /// Adds a row.
    pub fn push(&mut self, change: RowChange) {
        let bytes = change.key.len() + change.value.as_ref().map_or(0, Bytes::len);
        self.bytes = self.bytes.saturating_add(bytes);
        let fits = if self.admits_large {
            self.bytes <= self.most_bytes
        } else {
            self.bytes <= SMALL_BYTES && self.noted.len() < SMALL_ROWS
        };
        if fits && !self.is_over {
            self.noted.push(change);
        } else {
            self.is_over = true;
        }
    }

    /// Returns the bytes of the rows.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the rows.
    pub fn noted(&self) -> &[RowChange] {
        &self.noted
    }

    /// Consumes the list and returns the rows.
    pub fn into_noted(self) -> Vec<RowChange> {
        self.noted
    }

    /// Checks that the change is no larger than allowed.
    ///
    /// # Errors
    /// [`CommandFault::IsLarge`] where a small change was expected, otherwise `TooLarge`.
    pub fn check_size(&self) -> Result<(), CommandFault> {
        match (self.is_over, self.admits_large) {
            (false, _) => Ok(()),
            (true, false) => Err(CommandFault::IsLarge),
            (true, true) => {
                let most = count_with_noun(self.most_bytes as u64, "byte");
                let message =
                    format!("One change may store at most {most}, and the call needs more. Nothing was changed.");
                Err(Error::new(Code::TooLarge, message).with_detail("limit", self.most_bytes).into())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Table;

    fn row(bytes: usize) -> RowChange {
        RowChange { table: Table::Objects, key: Bytes::new(), value: Some(vec![0; bytes].into()) }
    }

    #[test]
    fn a_change_is_bounded_while_it_is_built() {
        let mut rows = NotedRows::new();
        rows.limit(3000);
        for _ in 0..3 {
            rows.push(row(1000));
            assert!(rows.check_size().is_ok());
        }
        rows.push(row(1));
        // A later row is dropped even if it would fit: a change is carried out as a whole or not at
        // all.
        rows.push(row(0));
        assert_eq!(rows.noted().len(), 3);
        let Err(CommandFault::Refused(error)) = rows.check_size() else { panic!("it is too large") };
        assert_eq!(error.code, Code::TooLarge);
        rows.lift_limit();
        assert!(rows.check_size().is_err(), "rows have been dropped");
    }

    #[test]
    fn a_small_change_turns_large_by_bytes_and_by_rows() {
        for (count, bytes, is_small) in
            [(SMALL_ROWS, 0, true), (SMALL_ROWS + 1, 0, false), (1, SMALL_BYTES, true), (2, SMALL_BYTES, false)]
        {
            let mut rows = NotedRows::new();
            rows.admit_large(false);
            (0..count).for_each(|_| rows.push(row(bytes)));
            assert_eq!(rows.check_size().is_ok(), is_small, "{count} rows of {bytes} bytes");
            assert!(rows.noted().len() <= SMALL_ROWS);
        }
    }
}
