//! The rows that state the remaining work of a subtree's change. A folder with everything below it
//! is discarded, restored or destroyed in steps of bounded size. The first step decides. These rows
//! state the work of the others, so that it is also done after a crash. Normally there are none.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::name::PathLimits;
use super::record::{Record, SharedText};
use crate::id::Loid;
use crate::store::{KeyRange, ReadLevel, Row, RowPlace, RowReader, StoreError, Table, decode_value, key_of, loid_key};

/// The kind of the remaining work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum RemainderTask {
    /// Discard the objects in the folder, along with the entry.
    Gather = 1,
    /// Restore the objects that were discarded along with the entry.
    Restore = 2,
    /// Destroy the objects that were discarded along with the entry, and then the entry itself.
    Destroy = 3,
}

/// The remaining work of a subtree's change, for one folder or one entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remainder {
    /// The object that is discarded, restored or destroyed.
    #[serde(with = "loid_key")]
    pub entry: Loid,
    /// The kind of the work.
    pub task: RemainderTask,
    /// The folder to work in; the entry itself, except for [`RemainderTask::Gather`].
    #[serde(with = "loid_key")]
    pub folder: Loid,
    /// The progress: the rest of a key in [`Table::Names`] below the folder, or in
    /// [`Table::BinMembers`] below the entry. It is empty if the work has not begun.
    pub after: Vec<u8>,
    /// The name of the user who requested the change.
    pub user: SharedText,
    /// The reference of the user's session.
    pub session: SharedText,
    /// The network address of the user.
    pub address: Option<SharedText>,
}

impl Remainder {
    /// Returns the key of a remainder.
    pub fn key(entry: Loid, task: RemainderTask, folder: Loid) -> RowPlace {
        let key = key_of(&[&entry.to_key(), &[task as u8], &folder.to_key()]);
        RowPlace { table: Table::Remainders, key }
    }

    /// Returns the first remainders of an entry after a key, at most `limit`.
    ///
    /// # Errors
    /// Errors of the store; a row that can't be decoded.
    pub fn of(
        look: &dyn RowReader,
        view: ReadLevel,
        entry: Loid,
        after: Option<&[u8]>,
        limit: usize,
    ) -> Result<Vec<Remainder>, StoreError> {
        let mut range = KeyRange::prefix(&entry.to_key());
        if let Some(key) = after {
            range = range.after(key);
        }
        let rows = look.scan(view, Table::Remainders, &range, limit, false)?;
        rows.iter().map(|(_, value)| Ok(decode_value(Remainder::FORMAT, value)?)).collect()
    }

    /// Returns the first entry after the given one that has remaining work.
    ///
    /// # Errors
    /// Errors of the store; a key without a loid.
    pub fn next_entry(look: &dyn RowReader, view: ReadLevel, after: Option<Loid>) -> Result<Option<Loid>, StoreError> {
        let all = KeyRange::prefix(&[]);
        let range = match after {
            // The search begins after all rows of that entry.
            Some(entry) => match KeyRange::prefix(&entry.to_key()).to {
                Some(from) => KeyRange { from, to: None },
                None => return Ok(None),
            },
            None => all,
        };
        let found = look.scan(view, Table::Remainders, &range, 1, false)?;
        let entry = |key: &Bytes| {
            Loid::from_key(key).ok_or_else(|| StoreError::Corrupt("a key in `remainders` has no loid".to_owned()))
        };
        found.first().map(|(key, _)| entry(key)).transpose()
    }

    /// Reports whether a kind of work is left for an entry as a whole. It does not apply to
    /// [`RemainderTask::Gather`], which is left for folders.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn is_left(
        look: &dyn RowReader,
        view: ReadLevel,
        entry: Loid,
        task: RemainderTask,
    ) -> Result<bool, StoreError> {
        let key = Remainder::key(entry, task, entry);
        Ok(look.get(view, key.table, &key.key)?.is_some())
    }
}

impl Row for Remainder {
    fn place(&self) -> RowPlace {
        Remainder::key(self.entry, self.task, self.folder)
    }
}

/// The state of an object in the running changes of subtrees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectStanding {
    /// The object is where its record states.
    Settled,
    /// The object is being discarded or destroyed along with this entry, or is the entry.
    Leaving(Loid),
    /// The object is being restored along with this entry, or is below one that is.
    Returning(Loid),
}

/// Returns the state of an object in the running changes of subtrees. It costs a walk up the
/// folders.
///
/// # Errors
/// Errors of the store; a row that can't be decoded.
pub fn find_standing(look: &dyn RowReader, view: ReadLevel, record: &Record) -> Result<ObjectStanding, StoreError> {
    let left = |entry, task| Remainder::is_left(look, view, entry, task);
    let mut returning = None;
    let mut at = record.clone();
    // The walk ends at the maximal depth of objects.
    for _ in 0..=PathLimits::WIDEST.depth {
        match &at.bin {
            Some(bin) if left(bin.entry, RemainderTask::Restore)? => {
                returning.get_or_insert(bin.entry);
            }
            Some(bin) => {
                // An object below a discarded folder is still to be discarded. An object in the bin
                // is settled, unless it is an entry with remaining work, or has to be destroyed.
                let stays = at.loid == record.loid
                    && !left(bin.entry, RemainderTask::Destroy)?
                    && (bin.entry != at.loid || Remainder::of(look, view, bin.entry, None, 1)?.is_empty());
                return Ok(if stays { ObjectStanding::Settled } else { ObjectStanding::Leaving(bin.entry) });
            }
            None if returning.is_none() && left(at.loid, RemainderTask::Restore)? => returning = Some(at.loid),
            None => {}
        }
        let Some(folder) = at.folder() else { break };
        let Some(above) = Record::find(look, view, folder)? else { break };
        at = above;
    }
    Ok(returning.map_or(ObjectStanding::Settled, ObjectStanding::Returning))
}
