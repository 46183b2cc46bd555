//! `journal.redb`: one record a commit, appended and synced; folded stretches dropped.

use std::sync::Arc;

use bytes::Bytes;
use redb::{Database, Durability, ReadableDatabase, ReadableTable};
use stet_actors::store::{Change, Seq};

use super::backend::Fault;
use super::lease::{Kept, Lease};
use super::options::OpenError;
use super::tables::{self, DROPPED, FORMAT, Failure, JOURNAL, JOURNAL_FORMAT, META, failure};
use super::{blob, migrate};

/// Bytes of the journal's pages kept in memory: it is written far more than it is read.
const CACHE: usize = 32 << 20;

/// The journal, open for appending.
pub(super) struct Journal {
    kept: Arc<Kept>,
    lease: Lease,
    /// `None` between a failure and the next success of [`Journal::reopen`].
    db: Option<Database>,
    dropped: Seq,
}

impl Journal {
    /// Opens the file, or fills a new one.
    pub fn open(kept: Arc<Kept>) -> Result<Journal, OpenError> {
        let (lease, db) = migrate::open_database(&kept, CACHE)?;
        let mut journal = Journal { kept, lease, db: Some(db), dropped: 0 };
        journal.begin().map_err(|error| OpenError::Io(error.to_string()))?.map_err(|found| OpenError::Newer {
            file: "journal.redb",
            found,
            known: JOURNAL_FORMAT,
        })?;
        Ok(journal)
    }

    /// Makes what is missing; the inner error is the format number of a newer file.
    fn begin(&mut self) -> Result<Result<(), u64>, Failure> {
        let transaction = self.db()?.begin_write().map_err(failure)?;
        let found = {
            let mut meta = transaction.open_table(META).map_err(failure)?;
            let found = meta.get(FORMAT).map_err(failure)?.map(|number| number.value());
            if found.is_none() {
                meta.insert(FORMAT, JOURNAL_FORMAT).map_err(failure)?;
            }
            self.dropped = meta.get(DROPPED).map_err(failure)?.map_or(0, |seq| seq.value());
            transaction.open_table(JOURNAL).map_err(failure)?;
            found
        };
        match found {
            None => transaction.commit().map_err(failure)?,
            Some(_) => transaction.abort().map_err(failure)?,
        }
        Ok(found.filter(|number| *number > JOURNAL_FORMAT).map_or(Ok(()), Err))
    }

    fn db(&self) -> Result<&Database, Failure> {
        self.db.as_ref().ok_or_else(|| Box::new(redb::Error::DatabaseClosed))
    }

    /// Everything up to this number was folded, and its records dropped.
    pub fn dropped(&self) -> Seq {
        self.dropped
    }

    /// What the disk said to the present opening, for which redb says `error`.
    pub fn fault(&self, error: &redb::Error) -> Fault {
        tables::fault(&self.lease, error)
    }

    /// Appends a commit's record and drops those up to `folded`. On disk when it returns `Ok`;
    /// after an error nobody knows until [`Journal::reopen`] has looked.
    pub fn append(&mut self, last: Seq, record: &[u8], folded: Seq) -> Result<(), Failure> {
        self.write(folded, |journal| {
            journal.insert_reserve(last, record.len()).map_err(failure)?.as_mut().copy_from_slice(record);
            Ok(())
        })
    }

    /// Drops the records up to `folded`.
    pub fn drop_folded(&mut self, folded: Seq) -> Result<(), Failure> {
        if folded == self.dropped {
            return Ok(());
        }
        self.write(folded, |_| Ok(()))
    }

    /// One transaction: `work`, and dropping the records up to `folded`.
    fn write(
        &mut self,
        folded: Seq,
        work: impl FnOnce(&mut redb::Table<'_, u64, &'static [u8]>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut transaction = self.db()?.begin_write().map_err(failure)?;
        transaction.set_durability(Durability::Immediate).map_err(failure)?;
        {
            let mut journal = transaction.open_table(JOURNAL).map_err(failure)?;
            work(&mut journal)?;
            if folded > self.dropped {
                journal.retain_in(..=folded, |_, _| false).map_err(failure)?;
                transaction.open_table(META).map_err(failure)?.insert(DROPPED, folded).map_err(failure)?;
            }
        }
        transaction.commit().map_err(failure)?;
        self.dropped = self.dropped.max(folded);
        Ok(())
    }

    /// The change sets of all records with a number above `folded`, in order.
    pub fn replay(&self, folded: Seq) -> Result<Vec<(Seq, Vec<Change>)>, OpenError> {
        let io = |error: Failure| OpenError::Io(error.to_string());
        let transaction = self.db().map_err(io)?.begin_read().map_err(|error| io(failure(error)))?;
        let journal = transaction.open_table(JOURNAL).map_err(|error| io(failure(error)))?;
        let mut sets = Vec::new();
        for record in journal.range(folded + 1..).map_err(|error| io(failure(error)))? {
            let (last, record) = record.map_err(|error| io(failure(error)))?;
            let record = Bytes::copy_from_slice(record.value());
            let decoded = blob::decode(&record)
                .map_err(|why| OpenError::Corrupt(format!("journal, record {}: {why}", last.value())))?;
            sets.extend(decoded.into_iter().filter(|(seq, _)| *seq > folded));
        }
        Ok(sets)
    }

    /// Opens the file anew after a failed commit and settles what the failure left open: whether the record `last`
    /// was written. Whatever else is there above `committed` is removed: it was answered with an error.
    ///
    /// A record that is found is written once more, and removal is a commit too, before this returns: only a sync
    /// that has succeeded proves anything. And opening a file that was not closed makes redb write and sync a header
    /// over the one that the failed commit may have left.
    pub fn reopen(&mut self, committed: Seq, last: Option<Seq>) -> Result<bool, Failure> {
        self.lease.end();
        self.db = None;
        let (lease, db) = tables::reopen(&self.kept, CACHE);
        self.lease = lease;
        let db = db?;
        let (dropped, above) = {
            let transaction = db.begin_read().map_err(failure)?;
            let meta = transaction.open_table(META).map_err(failure)?;
            let dropped = meta.get(DROPPED).map_err(failure)?.map_or(0, |seq| seq.value());
            let journal = transaction.open_table(JOURNAL).map_err(failure)?;
            (dropped, journal.last().map_err(failure)?.is_some_and(|(last, _)| last.value() > committed))
        };
        self.dropped = dropped;
        let mut found = false;
        // Not without need: on a full disk there may be no room for even this commit.
        if above {
            let transaction = db.begin_write().map_err(failure)?;
            {
                let mut journal = transaction.open_table(JOURNAL).map_err(failure)?;
                let record = match last {
                    Some(last) => journal.get(last).map_err(failure)?.map(|record| record.value().to_vec()),
                    None => None,
                };
                journal.retain_in(committed + 1.., |_, _| false).map_err(failure)?;
                if let (Some(last), Some(record)) = (last, &record) {
                    journal.insert(last, record.as_slice()).map_err(failure)?;
                    found = true;
                }
            }
            transaction.commit().map_err(failure)?;
        }
        self.db = Some(db);
        Ok(found)
    }
}
