//! What the change of a subtree has left to be done: a folder with all that lies below it goes to
//! the recycle bin, comes back, or ceases to be in steps of bounded size. The first step decides;
//! these rows say what the others still have to do, so that they are done after a crash, too.
//! Normally there are none.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::name::PathLimits;
use super::record::{Record, Text};
use crate::id::Loid;
use crate::store::{Key, Look, Range, Row, StoreError, Table, View, decode_value, key_of, loid_key};

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Task {
    /// What lies in the folder goes to the recycle bin along with the entry.
    Gather = 1,
    /// What the entry took along comes back.
    Restore = 2,
    /// What the entry took along ceases to be, and then the entry itself.
    Destroy = 3,
}

/// A part of such a change that is still to be done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remainder {
    /// The object that is discarded, restored or destroyed.
    #[serde(with = "loid_key")]
    pub entry: Loid,
    /// What is to be done.
    pub task: Task,
    /// The folder that it is to be done in; the entry itself, but for [`Task::Gather`].
    #[serde(with = "loid_key")]
    pub folder: Loid,
    /// How far it has been done: the rest of a key in [`Table::Names`] below the folder, or in
    /// [`Table::BinMembers`] below the entry. Empty: not begun.
    pub after: Vec<u8>,
    /// Name of the user who asked for it.
    pub user: Text,
    /// Reference of their session.
    pub session: Text,
    /// Where they called from.
    pub address: Option<Text>,
}

impl Remainder {
    /// Where it lives.
    pub fn key(entry: Loid, task: Task, folder: Loid) -> Key {
        let key = key_of(&[&entry.to_key(), &[task as u8], &folder.to_key()]);
        Key { table: Table::Remainders, key }
    }

    /// The first ones of an entry whose keys come after that one, `limit` at most.
    ///
    /// # Errors
    /// What the store says, or that a row can't be understood.
    pub fn of(
        look: &dyn Look,
        view: View,
        entry: Loid,
        after: Option<&[u8]>,
        limit: usize,
    ) -> Result<Vec<Remainder>, StoreError> {
        let mut range = Range::prefix(&entry.to_key());
        if let Some(key) = after {
            range = range.after(key);
        }
        let rows = look.scan(view, Table::Remainders, &range, limit, false)?;
        rows.iter().map(|(_, value)| Ok(decode_value(Remainder::FORMAT, value)?)).collect()
    }

    /// The first entry after that one for which something is left to be done.
    ///
    /// # Errors
    /// What the store says, or that a key is none.
    pub fn next_entry(look: &dyn Look, view: View, after: Option<Loid>) -> Result<Option<Loid>, StoreError> {
        let all = Range::prefix(&[]);
        let range = match after {
            // Behind all rows of that entry.
            Some(entry) => match Range::prefix(&entry.to_key()).to {
                Some(from) => Range { from, to: None },
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

    /// Whether that is left to be done for an entry as a whole: not for [`Task::Gather`], which is
    /// left for folders.
    ///
    /// # Errors
    /// What the store says.
    pub fn is_left(look: &dyn Look, view: View, entry: Loid, task: Task) -> Result<bool, StoreError> {
        let key = Remainder::key(entry, task, entry);
        Ok(look.get(view, key.table, &key.key)?.is_some())
    }
}

impl Row for Remainder {
    fn place(&self) -> Key {
        Remainder::key(self.entry, self.task, self.folder)
    }
}

/// How an object stands to the changes of subtrees that are under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It is as its record says.
    Settled,
    /// It goes to the recycle bin, or out of the world, along with that entry, or is the entry.
    Leaving(Loid),
    /// It comes back along with that entry, or lies below what does.
    Returning(Loid),
}

/// How an object stands to the changes of subtrees that are under way. Costs a walk up its folders.
///
/// # Errors
/// What the store says, or that a row can't be understood.
pub fn standing(look: &dyn Look, view: View, record: &Record) -> Result<Standing, StoreError> {
    let left = |entry, task| Remainder::is_left(look, view, entry, task);
    let mut returning = None;
    let mut at = record.clone();
    // No deeper than objects can be made.
    for _ in 0..=PathLimits::WIDEST.depth {
        match &at.bin {
            Some(bin) if left(bin.entry, Task::Restore)? => {
                returning.get_or_insert(bin.entry);
            }
            Some(bin) => {
                // What lies in a discarded folder is not yet where that is. What lies in the bin
                // itself is, unless it is the entry of more to come, or to be destroyed.
                let stays = at.loid == record.loid
                    && !left(bin.entry, Task::Destroy)?
                    && (bin.entry != at.loid || Remainder::of(look, view, bin.entry, None, 1)?.is_empty());
                return Ok(if stays { Standing::Settled } else { Standing::Leaving(bin.entry) });
            }
            None if returning.is_none() && left(at.loid, Task::Restore)? => returning = Some(at.loid),
            None => {}
        }
        let Some(folder) = at.folder() else { break };
        let Some(above) = Record::find(look, view, folder)? else { break };
        at = above;
    }
    Ok(returning.map_or(Standing::Settled, Standing::Returning))
}
