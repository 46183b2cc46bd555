//! The comparison of the whole store with the index.
//!
//! Each change of an object raises its revision, which its document has, too. So two steps find
//! every difference: the documents of live objects with another revision, and documents whose
//! object is no longer live. Both go through the store and the index in the order of their keys, a
//! batch at a time, so the memory does not depend on the number of objects.

use stet_domain::id::Loid;
use stet_domain::object::Record;
use stet_domain::store::{EventId, KeyRange, ReadLevel, Row, RowCursor, Table, decode_value};
use stet_fulltext::TextIndex;
use stet_newsroom::Newsroom;

use crate::documents::{key_of, loid_of};
use crate::feed::{COMMIT_AFTER, FeedFault, check_room, update_message, update_object};
use crate::service::NewsroomSearch;

/// Number of documents that are read from the index at once.
const BATCH: usize = 1000;

/// Brings the index up to date with the whole store. Returns the number of documents that differed.
///
/// # Errors
/// Errors of the store or the index; the interruption of the feed.
pub fn bring_up_to_date(search: &NewsroomSearch, index: &TextIndex, up_to: EventId) -> Result<usize, FeedFault> {
    let mut comparison = Comparison { search, index, up_to, differed: 0, uncommitted: 0 };
    comparison.objects()?;
    comparison.messages()?;
    comparison.documents()?;
    Ok(comparison.differed)
}

struct Comparison<'a> {
    search: &'a NewsroomSearch,
    index: &'a TextIndex,
    up_to: EventId,
    /// Number of documents that were put.
    differed: usize,
    /// Number of those since the last commit.
    uncommitted: usize,
}

impl Comparison<'_> {
    fn newsroom(&self) -> &Newsroom {
        &self.search.newsroom
    }

    /// Puts the documents of objects that the index lacks, or has at another revision.
    fn objects(&mut self) -> Result<(), FeedFault> {
        let mut cursor = RowCursor::over(Table::Objects, KeyRange::prefix(&[]));
        let search = self.search;
        while let Some(rows) = cursor.batch(search.newsroom.repository.look())? {
            for (key, value) in rows {
                let Some(loid) = Loid::from_key(&key) else { continue };
                let revision = decode_value::<Record>(Record::FORMAT, &value)
                    .map_err(stet_domain::store::StoreError::from)?
                    .revision;
                if self.index.revision_of(key_of(loid))? != Some(revision) {
                    self.put(|newsroom, index| update_object(newsroom, index, loid, true))?;
                }
            }
        }
        Ok(())
    }

    /// Puts the documents of messages that the index lacks.
    fn messages(&mut self) -> Result<(), FeedFault> {
        let mut cursor = RowCursor::over(Table::Messages, KeyRange::prefix(&[]));
        let search = self.search;
        while let Some(rows) = cursor.batch(search.newsroom.repository.look())? {
            for (key, _) in rows {
                let Ok(number) = key.as_ref().try_into().map(u64::from_be_bytes) else { continue };
                if self.index.revision_of(key_of(stet_newsroom::messages::id_of(number)))?.is_none() {
                    self.put(|newsroom, index| update_message(newsroom, index, number).map(|()| 1))?;
                }
            }
        }
        Ok(())
    }

    /// Removes the documents of what no longer exists.
    fn documents(&mut self) -> Result<(), FeedFault> {
        let mut after = None;
        loop {
            self.check_interruption()?;
            let documents = self.index.keys_after(after, BATCH)?;
            let Some(last) = documents.last() else { return Ok(()) };
            after = Some(last.0);
            for (key, _) in &documents {
                if !self.exists(loid_of(*key))? {
                    self.index.remove(*key);
                    self.index.remove_parts(*key);
                }
            }
        }
    }

    /// Reports whether an object, a post or a message exists. Their numbers are distinct.
    fn exists(&self, loid: Loid) -> Result<bool, FeedFault> {
        let Newsroom { repository, messages, .. } = self.newsroom();
        let object = repository.look().get(ReadLevel::Committed, Table::Objects, &loid.to_key())?;
        Ok(object.is_some()
            || repository.container_of(loid)?.is_some()
            || messages.message(loid.number)?.is_some_and(|message| message.id() == loid))
    }

    /// Puts documents, and commits now and then, so that they can be found.
    fn put(&mut self, put: impl FnOnce(&Newsroom, &TextIndex) -> Result<usize, FeedFault>) -> Result<(), FeedFault> {
        self.check_interruption()?;
        let put = put(&self.search.newsroom, self.index)?;
        self.differed += put;
        self.uncommitted += put;
        if self.uncommitted >= COMMIT_AFTER {
            self.uncommitted = 0;
            check_room(&self.search.newsroom)?;
            self.index.commit(self.up_to.seq)?;
        }
        Ok(())
    }

    fn check_interruption(&self) -> Result<(), FeedFault> {
        if self.search.changes.is_interrupted() { Err(FeedFault::Interrupted) } else { Ok(()) }
    }
}
