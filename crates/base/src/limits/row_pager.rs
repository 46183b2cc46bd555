//! Loops over rows that yield.

use std::vec;

use bytes::Bytes;
use stet_domain::store::{RowCursor, RowReader, StoreError};

use super::yielding::YieldTimer;

/// The rows of a cursor one after the other, for a loop that yields to other calls.
pub struct RowPager<'l> {
    look: &'l dyn RowReader,
    cursor: RowCursor,
    /// Rows that were read, but not returned yet.
    batch: vec::IntoIter<(Bytes, Bytes)>,
    timer: YieldTimer,
}

impl RowPager<'_> {
    /// Begins a loop over the rows of a cursor.
    pub fn new(look: &dyn RowReader, cursor: RowCursor) -> RowPager<'_> {
        RowPager { look, cursor, batch: Vec::new().into_iter(), timer: YieldTimer::start() }
    }

    /// Returns the next row, its key and its value; `None` after the last. Yields if the loop has
    /// run long enough.
    ///
    /// # Errors
    /// Errors of the store.
    pub async fn next(&mut self) -> Result<Option<(Bytes, Bytes)>, StoreError> {
        self.timer.yield_if_due().await;
        if self.batch.len() == 0 {
            self.batch = self.cursor.batch(self.look)?.unwrap_or_default().into_iter();
        }
        Ok(self.batch.next())
    }
}
