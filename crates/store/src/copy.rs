//! A copy of the tables for a backup, and tables that are written from one.

use std::ops::ControlFlow;
use std::sync::Arc;

use bytes::Bytes;
use redb::{ReadableTable, WriteTransaction};
use stet_domain::store::{Seq, StoreError, Table};

use super::RedbStore;
use super::backend::StoreFile;
use super::blob::NumberedChangeSet;
use super::checkpoint::StateFile;
use super::lease::KeptFile;
use super::log::PackingRules;
use super::migrate::{self, MIGRATIONS};
use super::open::{fold_all, io};
use super::options::{OpenError, StoreOptions};
use super::overlay::Overlay;
use super::reader::{Snapshot, SnapshotError};
use super::tables::{self, FOLDED, META, failure};
use super::texts::{self, TEXT_USES, TEXTS};

/// The tables that no backup has. A reader of the backup must not be able to continue a session.
const LEFT_OUT: [Table; 1] = [Table::Sessions];

/// Bytes of rows that one transaction writes.
const TRANSACTION_BYTES: usize = 256 << 20;

/// Reports whether a backup has the rows of a table.
pub fn is_backed_up(table: Table) -> bool {
    !LEFT_OUT.contains(&table)
}

/// The tables as of one checkpoint. As long as it exists, `state.redb` keeps their pages.
pub struct TablesCopy {
    snapshot: Arc<Snapshot>,
}

impl RedbStore {
    /// Returns the tables as of the last checkpoint, as they are stored.
    pub fn tables_copy(&self) -> TablesCopy {
        TablesCopy { snapshot: self.shared.snapshot() }
    }
}

impl TablesCopy {
    /// Returns the number of the last change set that the tables have.
    pub fn seq(&self) -> Seq {
        self.snapshot.folded()
    }

    /// Returns the format number of the tables.
    pub fn format() -> u64 {
        migrate::present(MIGRATIONS)
    }

    /// Returns the names of the tables that belong into a backup. Texts that rows share are in a
    /// table of their own, which comes first.
    pub fn names() -> impl Iterator<Item = &'static str> {
        let rows = Table::ALL.iter().filter(|table| is_backed_up(**table)).map(|table| table.name());
        std::iter::once(TEXTS_NAME).chain(rows)
    }

    /// Calls `row` with the stored form of each row of a table, in the order of keys, until it
    /// breaks.
    ///
    /// # Errors
    /// The table can't be read, or the store was closed or reopened meanwhile. Take another copy.
    pub fn for_each<B>(
        &self,
        name: &str,
        mut row: impl FnMut(&[u8], &[u8]) -> ControlFlow<B>,
    ) -> Result<Option<B>, StoreError> {
        let unreadable = |error: SnapshotError| match error {
            SnapshotError::Closed => StoreError::Closed,
            SnapshotError::Storage(error) => StoreError::Failed(format!("the tables can't be read: {error}")),
        };
        let rows = self.snapshot.stored(name).map_err(unreadable)?;
        for entry in rows.iter().map_err(|error| unreadable(error.into()))? {
            let (key, value) = entry.map_err(|error| unreadable(error.into()))?;
            if let ControlFlow::Break(found) = row(key.value(), value.value()) {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }
}

/// The name of the table of texts in a backup.
const TEXTS_NAME: &str = "texts/1";

/// Tables of a new data directory that are being written from a backup.
///
/// The rows of a base come first, then all later change sets in their order. Until
/// [`RestoredTables::finish`] has returned, the directory is of no use.
pub struct RestoredTables {
    options: StoreOptions,
    state: StateFile,
    /// The transaction that writes rows of the base, and its bytes.
    writing: Option<(WriteTransaction, usize)>,
    /// Change sets that are not in the tables yet.
    overlay: Overlay,
    committed: Seq,
}

impl RestoredTables {
    /// Creates empty tables.
    ///
    /// # Errors
    /// [`OpenError::Corrupt`] if the directory has tables already; see [`OpenError`].
    pub fn create(options: StoreOptions) -> Result<RestoredTables, OpenError> {
        let failed = |error: std::io::Error| OpenError::Io(error.to_string());
        if options.backends.is_there(StoreFile::State).map_err(failed)? {
            return Err(OpenError::Corrupt(format!("{} has a state.redb already", options.data.display())));
        }
        let kept = options.backends.open(StoreFile::State).map(KeptFile::new).map_err(failed)?;
        let lease = kept.lease();
        let db = tables::open(&lease, options.cache_bytes).map_err(io)?;
        migrate::head(&db, MIGRATIONS)?;
        let state = StateFile::new(kept, lease, db, options.cache_bytes);
        Ok(RestoredTables { options, state, writing: None, overlay: Overlay::new(), committed: 0 })
    }

    /// Writes rows of a base, as [`TablesCopy::for_each`] has passed them.
    ///
    /// # Errors
    /// An unknown table; the file can't be written.
    pub fn put(&mut self, name: &str, rows: impl Iterator<Item = (Bytes, Bytes)>) -> Result<(), OpenError> {
        let (transaction, mut bytes) = match self.writing.take() {
            Some(writing) => writing,
            None => (self.state.db().map_err(io)?.begin_write().map_err(failure).map_err(io)?, 0),
        };
        if name == TEXTS_NAME {
            let mut texts = transaction.open_table(TEXTS).map_err(failure).map_err(io)?;
            for (key, value) in rows {
                bytes += key.len() + value.len();
                texts.insert(&key[..], &value[..]).map_err(failure).map_err(io)?;
            }
        } else {
            let known = Table::ALL.iter().copied().find(|table| table.name() == name && is_backed_up(*table));
            let table = known.ok_or_else(|| OpenError::Corrupt(format!("the table {name} is unknown")))?;
            let mut stored = transaction.open_table(tables::rows(table)).map_err(failure).map_err(io)?;
            let mut uses = transaction.open_table(TEXT_USES).map_err(failure).map_err(io)?;
            for (key, value) in rows {
                bytes += key.len() + value.len();
                texts::count_uses(table, &value, &mut uses).map_err(io)?;
                stored.insert(&key[..], &value[..]).map_err(failure).map_err(io)?;
            }
        }
        self.writing = Some((transaction, bytes));
        if bytes >= TRANSACTION_BYTES { self.commit() } else { Ok(()) }
    }

    fn commit(&mut self) -> Result<(), OpenError> {
        let Some((transaction, _)) = self.writing.take() else { return Ok(()) };
        transaction.commit().map_err(failure).map_err(io)
    }

    /// Notes that all rows of the base are written, which has everything up to `seq`.
    ///
    /// # Errors
    /// The file can't be written.
    pub fn base_is_complete(&mut self, seq: Seq) -> Result<(), OpenError> {
        self.commit()?;
        let transaction = self.state.db().map_err(io)?.begin_write().map_err(failure).map_err(io)?;
        transaction
            .open_table(META)
            .and_then(|mut meta| Ok(meta.insert(FOLDED, seq).map(drop)?))
            .map_err(failure)
            .map_err(io)?;
        transaction.commit().map_err(failure).map_err(io)?;
        self.committed = seq;
        Ok(())
    }

    /// Adds a change set after the base and all others. Rows that no backup has are skipped.
    ///
    /// # Errors
    /// The file can't be written.
    pub fn apply(&mut self, mut set: NumberedChangeSet) -> Result<(), OpenError> {
        set.changes.retain(|change| is_backed_up(change.table));
        self.committed = self.overlay.replay(set, self.committed);
        let (rows, bytes) = self.overlay.total();
        let (most_bytes, most_rows) = self.options.limits.most_gathered();
        if rows >= most_rows || bytes >= most_bytes { self.fold() } else { Ok(()) }
    }

    fn fold(&mut self) -> Result<(), OpenError> {
        // A new one each time: it would keep the events in memory.
        let overlay = std::mem::replace(&mut self.overlay, Overlay::new());
        fold_all(&self.state, &overlay, self.committed, &PackingRules::of(&self.options)).map_err(io)
    }

    /// Writes the rest, and makes the directory one that a server can open. Returns the number of
    /// its last change set.
    ///
    /// # Errors
    /// The files can't be written.
    pub fn finish(mut self) -> Result<Seq, OpenError> {
        self.commit()?;
        self.fold()?;
        let RestoredTables { options, state, committed, .. } = self;
        drop(state);
        RedbStore::open_as(options, MIGRATIONS, true)?.close();
        Ok(committed)
    }
}
