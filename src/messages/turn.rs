//! Changing who has a message: one change at a time, from reading to its being on disk.
//!
//! How many have a message is counted in a row of its own. So whoever changes entries must find all
//! earlier changes of entries on disk: those of callers, too, who went away before they were
//! answered. Nothing but a [`Turn`] changes entries that are there.

use std::collections::BTreeMap;

use stet_actors::error::Result;
use stet_actors::repository::Repository;
use stet_actors::store::{Change, Key, Row, encode_value};

use super::rows::{Copies, Message};
use crate::limits::{FairQueue, WorkPermit};

/// The queue for changes of entries. Users have their turns one after the other, so that one who
/// marks messages without a pause delays others by one commit.
pub(super) struct Turns(FairQueue);

impl Default for Turns {
    fn default() -> Turns {
        Turns(FairQueue::never_refused(1, 1))
    }
}

impl Turns {
    /// A turn, when what was changed in the one before is decided.
    ///
    /// # Errors
    /// `RepositoryError` while the server ends.
    pub async fn turn<'r>(&self, repository: &'r Repository) -> Result<Turn<'r>> {
        Ok(Turn { repository, held: self.0.turn().await? })
    }
}

/// Somebody's turn to change entries: see the module's head.
pub(super) struct Turn<'r> {
    repository: &'r Repository,
    held: WorkPermit,
}

impl Turn<'_> {
    /// What becomes of messages of which so many entries go: of one that nobody has any more,
    /// nothing stays.
    ///
    /// # Errors
    /// What the store says.
    pub fn without(&self, gone: &BTreeMap<u64, u32>) -> Result<Vec<Change>> {
        let mut changes = Vec::new();
        for (number, gone) in gone {
            let place = Copies::key(*number);
            let Some(copies) = self.repository.row::<Copies>(place.table, &place.key)? else { continue };
            let count = copies.count.saturating_sub(*gone);
            let value = (count > 0).then(|| encode_value(Copies::FORMAT, &Copies { count, ..copies }));
            changes.push(Change { table: place.table, key: place.key, value });
            if count == 0 {
                let Key { table, key } = Message::key(*number);
                changes.push(Change { table, key, value: None });
            }
        }
        Ok(changes)
    }

    /// Commits what follows from what was read in this turn. The turn goes along until that is
    /// decided, also if the caller goes away.
    ///
    /// # Errors
    /// What the store says.
    pub async fn commit(self, changes: Vec<Change>) -> Result<()> {
        let Turn { repository, held } = self;
        repository.commit_holding(held, |set| set.changes = changes).await
    }
}
