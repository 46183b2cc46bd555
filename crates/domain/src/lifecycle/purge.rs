//! Removal of old entries from the recycle bin.

use super::DestroyObject;
use crate::command::{CommandFault, Context};
use crate::id::{DatabaseId, Loid};
use crate::joint::{ContainerTurns, JointCommand};
use crate::store::{KeyRange, ReadLevel, RowCursor, RowReader, StoreError, Table};

/// Destroys an entry of the recycle bin with everything discarded along with it, if it is still
/// there and was discarded before a given time. The reply is whether it was destroyed.
#[derive(Debug, Clone, Copy)]
pub struct PurgeBinEntry {
    /// The entry.
    pub object: Loid,
    /// The time in epoch seconds.
    pub before: u64,
}

impl JointCommand for PurgeBinEntry {
    type Reply = bool;
    const NAME: &'static str = "object.purge";
    const ALONE: bool = DestroyObject::ALONE;
    const REMOVES: bool = DestroyObject::REMOVES;
    const AWAITS: bool = DestroyObject::AWAITS;

    fn wants(&self) -> Vec<Loid> {
        vec![self.object]
    }

    fn top(&self) -> Option<Loid> {
        Some(self.object)
    }

    fn apply(&self, turns: &mut ContainerTurns, context: &mut Context<'_>) -> Result<bool, CommandFault> {
        let record = turns.any(self.object)?.record.clone();
        // It may have been restored since it was looked up.
        let is_old = record.bin.as_ref().is_some_and(|bin| bin.entry == self.object && bin.at < self.before);
        if !is_old {
            return Ok(false);
        }
        DestroyObject { object: self.object }.apply(turns, context)?;
        Ok(true)
    }
}

/// Returns a cursor over the entries of a database's recycle bin, the oldest first. Their keys are
/// read with [`entry_of_bin`].
pub fn bin_cursor(database: DatabaseId) -> RowCursor {
    RowCursor::over(Table::Bin, KeyRange::prefix(&database.0.to_be_bytes()))
}

/// Returns the object of an entry of the recycle bin, from the entry's key.
///
/// # Errors
/// [`StoreError::Corrupt`].
pub fn entry_of_bin(key: &[u8]) -> Result<Loid, StoreError> {
    // The key starts with the database and the time.
    let loid = key.get(2 + 8..).and_then(Loid::from_key);
    loid.ok_or_else(|| StoreError::Corrupt("an entry in `bin` has no loid".to_owned()))
}

/// Returns all entries of a database's recycle bin as of one moment, the newest first.
///
/// # Errors
/// Errors of the store.
pub fn entries_of_bin(look: &dyn RowReader, database: DatabaseId) -> Result<Vec<Loid>, StoreError> {
    let range = KeyRange::prefix(&database.0.to_be_bytes());
    let rows = look.scan(ReadLevel::Committed, Table::Bin, &range, usize::MAX, true)?;
    rows.iter().map(|(key, _)| entry_of_bin(key)).collect()
}
