//! The lock for changes of inboxes: one change at a time, from reading until it is on disk.
//!
//! A separate row counts the users of a message. So a change of entries must see all earlier
//! changes on disk, including those of callers that disconnected before they were answered. Only a
//! [`InboxLockGuard`] changes existing entries.

use std::collections::BTreeMap;

use stet_actors::repository::Repository;
use stet_base::limits::{FairQueue, WorkPermit};
use stet_domain::error::Result;
use stet_domain::store::{Row, RowChange, RowPlace, encode_value};

use super::rows::{Message, MessageCopies};

/// The lock that serialises changes of entries. Users get turns in rotation, so that one who marks
/// messages without a pause delays others by one commit only.
pub(super) struct InboxLock(FairQueue);

impl Default for InboxLock {
    fn default() -> InboxLock {
        InboxLock(FairQueue::never_refused(1, 1))
    }
}

impl InboxLock {
    /// Waits for a turn, which begins when the previous change has been decided.
    ///
    /// # Errors
    /// `RepositoryError` while the server is stopping.
    pub async fn turn<'r>(&self, repository: &'r Repository) -> Result<InboxLockGuard<'r>> {
        Ok(InboxLockGuard { repository, held: self.0.turn().await? })
    }
}

/// The turn of a caller to change entries, which holds the lock.
pub(super) struct InboxLockGuard<'r> {
    repository: &'r Repository,
    held: WorkPermit,
}

impl InboxLockGuard<'_> {
    /// Builds the changes for messages that lose that number of entries: a smaller count, or the
    /// removal of a message that no box contains any more.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn without(&self, gone: &BTreeMap<u64, u32>) -> Result<Vec<RowChange>> {
        let mut changes = Vec::new();
        for (number, gone) in gone {
            let place = MessageCopies::key(*number);
            let Some(copies) = self.repository.row::<MessageCopies>(place.table, &place.key)? else { continue };
            let count = copies.count.saturating_sub(*gone);
            let value = (count > 0).then(|| encode_value(MessageCopies::FORMAT, &MessageCopies { count, ..copies }));
            changes.push(RowChange { table: place.table, key: place.key, value });
            if count == 0 {
                let RowPlace { table, key } = Message::key(*number);
                changes.push(RowChange { table, key, value: None });
            }
        }
        Ok(changes)
    }

    /// Commits changes that follow from what was read in this turn. The turn lasts until the commit
    /// is decided, even if the caller drops the future.
    ///
    /// # Errors
    /// Errors of the store.
    pub async fn commit(self, changes: Vec<RowChange>) -> Result<()> {
        let InboxLockGuard { repository, held } = self;
        repository.commit_holding(held, |set| set.changes = changes).await
    }
}
