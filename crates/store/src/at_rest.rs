//! Reading a store that no process has open.

use bytes::Bytes;
use redb::{Database, ReadableDatabase};
use stet_domain::store::{KeyRange, Table};

use super::backend::StoreFile;
use super::lease::{KeptFile, Lease};
use super::open::io;
use super::options::{OpenError, StoreOptions};
use super::reader::TableReader;
use super::tables::{self, RowTable, failure};
use super::texts::{self, TEXTS};

/// The tables in a data directory as of the last checkpoint, of a store that no process has open.
/// Nothing is changed.
pub struct ClosedStore {
    db: Database,
}

impl ClosedStore {
    /// Opens the tables; returns `None` if there are none.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn open(options: &StoreOptions) -> Result<Option<ClosedStore>, OpenError> {
        let failed = |error: std::io::Error| OpenError::Io(error.to_string());
        let Some(kept) = options.backends.open_existing(StoreFile::State).map_err(failed)?.map(KeptFile::new) else {
            return Ok(None);
        };
        let lease = kept.read_only_lease().map_err(failed)?;
        Ok(Some(ClosedStore { db: open_read_only(&lease, options)? }))
    }

    /// Returns the value of a row.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn get(&self, table: Table, key: &[u8]) -> Result<Option<Bytes>, OpenError> {
        let Some(rows) = self.rows(table)? else { return Ok(None) };
        let Some(row) = rows.get(key).map_err(failure).map_err(io)? else { return Ok(None) };
        let Some(texts) = self.open_table(TEXTS)? else { return Ok(Some(Bytes::copy_from_slice(row.value()))) };
        texts::restore_row(table, row.value(), &texts).map(Some).map_err(failure).map_err(io)
    }

    /// Returns the keys of the first rows of a range, at most `limit`.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn keys(&self, table: Table, range: &KeyRange, limit: usize) -> Result<Vec<Bytes>, OpenError> {
        let Some(rows) = self.rows(table)? else { return Ok(Vec::new()) };
        let found = match &range.to {
            Some(to) if *to <= range.from => return Ok(Vec::new()),
            Some(to) => rows.range::<&[u8]>(&range.from[..]..&to[..]),
            None => rows.range::<&[u8]>(&range.from[..]..),
        };
        let keys = found.map_err(failure).map_err(io)?.take(limit);
        keys.map(|row| row.map(|(key, _)| Bytes::copy_from_slice(key.value())).map_err(failure).map_err(io)).collect()
    }

    fn rows(&self, table: Table) -> Result<Option<TableReader>, OpenError> {
        self.open_table(tables::rows(table))
    }

    /// Opens a table; returns `None` in a file of an older format that lacks it.
    fn open_table(&self, table: RowTable) -> Result<Option<TableReader>, OpenError> {
        let transaction = self.db.begin_read().map_err(failure).map_err(io)?;
        match transaction.open_table(table) {
            Ok(rows) => Ok(Some(rows)),
            Err(redb::TableError::TableDoesNotExist(_)) => Ok(None),
            Err(error) => Err(io(failure(error))),
        }
    }
}

/// Opens the tables for reading only.
pub(super) fn open_read_only(lease: &Lease, options: &StoreOptions) -> Result<Database, OpenError> {
    tables::open(lease, options.cache_bytes).map_err(|error| match *error {
        redb::Error::DatabaseAlreadyOpen => OpenError::InUse(options.data.clone()),
        error => OpenError::Io(format!("state.redb: {}", tables::fault(lease, &error).text)),
    })
}
