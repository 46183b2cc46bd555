//! Contents that are files of their own: each is sent once, by its hash.

use std::collections::HashSet;

use stet_backup::{BackupError, BackupName, BackupTarget, Sha256Hash};
use stet_content::ContentStore;
use stet_domain::store::Table;
use stet_store::NumberedChangeSet;

/// The number of hashes that are remembered, so that the target is not asked again.
const REMEMBERED: usize = 100_000;

/// Sends contents to a target.
pub(crate) struct ContentSender<'a> {
    target: &'a BackupTarget,
    content: &'a ContentStore,
    /// Contents that the target has.
    there: HashSet<Sha256Hash>,
}

impl<'a> ContentSender<'a> {
    pub fn new(target: &'a BackupTarget, content: &'a ContentStore) -> ContentSender<'a> {
        ContentSender { target, content, there: HashSet::new() }
    }

    /// Sends a content, unless the target has it. Returns whether the target has it now: a file
    /// that nothing refers to any more may be gone.
    ///
    /// # Errors
    /// Errors of the target, and a damaged file.
    pub async fn send(&mut self, hash: Sha256Hash) -> Result<bool, BackupError> {
        if self.there.contains(&hash) {
            return Ok(true);
        }
        let name = BackupName::Content(hash).to_string();
        if !self.target.exists(&name).await? {
            match self.target.put_file(&name, &self.content.path(&hash.0), Some(&hash)).await {
                Ok(_) => {}
                Err(BackupError::NotFound(_)) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        if self.there.len() >= REMEMBERED {
            self.there.clear();
        }
        self.there.insert(hash);
        Ok(true)
    }
}

/// Returns the contents to which rows of a change set begin to refer.
pub(crate) fn new_contents(set: &NumberedChangeSet) -> impl Iterator<Item = Sha256Hash> {
    let entries = set.changes.iter().filter(|change| change.table == Table::Files && change.value.is_some());
    entries.filter_map(|change| content_of(&change.key))
}

/// Returns the content that an entry of the index of files is about.
pub(crate) fn content_of(key: &[u8]) -> Option<Sha256Hash> {
    key.first_chunk::<32>().map(|hash| Sha256Hash(*hash))
}
