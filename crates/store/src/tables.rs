//! The tables of `state.redb`, each described once.

use std::sync::Arc;

use redb::{Builder, Database, TableDefinition};
use stet_domain::store::Table;

use super::backend::DiskError;
use super::lease::{KeptFile, Lease};

/// Rows and index entries: the keys and values that `Table` describes.
pub(super) type RowTable = TableDefinition<'static, &'static [u8], &'static [u8]>;

/// Numbers about the file itself.
pub(super) const META: TableDefinition<'static, &'static str, u64> = TableDefinition::new("meta/1");

/// Key in [`META`]: the format number.
pub(super) const FORMAT: &str = "format";

/// Key in [`META`]: every change set up to this number is in the tables.
pub(super) const FOLDED: &str = "folded";

/// Key in [`META`]: the last plausible reading of the clock that decides about expiry, in epoch
/// milliseconds.
pub(super) const BELIEVED: &str = "clock believed";

/// Keys in [`META`]: the salt of the journal that belongs to the tables, in two numbers.
pub(super) const SALT: [&str; 2] = ["journal salt 1", "journal salt 2"];

/// The number of tables.
pub(super) const COUNT: usize = Table::ALL.len();

/// Returns the index of a table in [`Table::ALL`].
pub(super) fn table_index(table: Table) -> usize {
    const PLACES: [u8; 256] = {
        let mut places = [u8::MAX; 256];
        let mut place = 0;
        while place < COUNT {
            places[Table::ALL[place] as usize] = place as u8;
            place += 1;
        }
        places
    };
    PLACES[table as usize] as usize
}

/// Returns the rows of `table`.
pub(super) fn rows(table: Table) -> RowTable {
    TableDefinition::new(table.name())
}

/// The reason why redb failed. Boxed, because redb's error is large and failures are rare.
pub(super) type RedbError = Box<redb::Error>;

/// Converts any of redb's errors.
pub(super) fn failure(error: impl Into<redb::Error>) -> RedbError {
    Box::new(error.into())
}

/// Opens the database behind `lease`.
pub(super) fn open(lease: &Lease, cache_bytes: usize) -> Result<Database, RedbError> {
    let mut builder = Builder::new();
    // redb counts the bytes of pages. A page of 4 KiB takes 5 in memory, and larger ones take a
    // quarter more: a count stands before each, and the allocator has no size between the two.
    builder.set_cache_size(cache_bytes / 5 * 4);
    builder.set_repair_callback(|session| {
        tracing::debug!(progress = session.progress(), "checking a file that was not closed");
    });
    builder.create_with_backend(lease.clone()).map_err(failure)
}

/// Opens the database in `kept` after a failure under an earlier lease. Returns its lease too,
/// which states why the database can't be opened.
pub(super) fn reopen(kept: &Arc<KeptFile>, cache_bytes: usize) -> (Lease, Result<Database, RedbError>) {
    let lease = kept.lease();
    let written = kept.write_back().map_err(|error| {
        lease.note(&error);
        failure(redb::StorageError::Io(error))
    });
    let db = written.and_then(|()| open(&lease, cache_bytes));
    (lease, db)
}

/// Describes a failure under `lease`, which redb reports as `error`.
pub(super) fn fault(lease: &Lease, error: &redb::Error) -> DiskError {
    lease.fault().unwrap_or_else(|| DiskError { full: false, text: error.to_string() })
}
