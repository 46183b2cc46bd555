//! Opening `state.redb`: its format number, and the numbered steps from an older format to the
//! present one.
//!
//! A migration raises the format to its own number. It is one transaction, so that a crash leaves
//! the format before or after it. To change a format, append a [`Migration`] to [`MIGRATIONS`].
//! Rows in the journal are folded first, so a migration finds all rows in the tables.

use std::path::PathBuf;
use std::sync::Arc;

use redb::{Database, ReadableDatabase, TableHandle, WriteTransaction};
use stet_domain::store::{Seq, Table};

use super::journal::JournalFacts;
use super::lease::{KeptFile, Lease};
use super::options::OpenError;
use super::record::Salt;
use super::tables::{self, BELIEVED, FOLDED, FORMAT, META, RedbError, SALT, failure};
use super::texts::{TEXT_USES, TEXTS};

/// The first format number.
pub(super) const BASE: u64 = 1;

/// A step to the next format.
pub(super) struct Migration {
    /// The resulting format: one more than that of the previous step.
    pub number: u64,
    /// A description for the log.
    pub what: &'static str,
    /// The function that carries it out. It returns the number of changed rows.
    pub run: fn(&WriteTransaction) -> Result<u64, RedbError>,
}

/// The steps to the present format, oldest first. There are none yet.
pub(super) const MIGRATIONS: &[Migration] = &[];

/// The metadata of a `state.redb`.
#[derive(Debug, Clone, Copy)]
pub(super) struct StateHead {
    pub format: u64,
    pub folded: Seq,
    /// The salt of its journal; `None` before there was one.
    pub salt: Option<Salt>,
    /// The last trusted clock time; `None` before one was noted.
    pub believed_ms: Option<u64>,
}

impl StateHead {
    /// Returns the known facts about the journal.
    pub fn journal(&self) -> JournalFacts {
        JournalFacts { folded: self.folded, salt: self.salt, made: self.salt.is_some() }
    }
}

/// Opens the database in a file for the first time. `is_new` is called before a file that looks
/// unfinished is replaced. It returns an error if the file cannot have been unfinished.
pub(super) fn open_database(
    kept: &Arc<KeptFile>,
    cache_bytes: usize,
    is_new: impl FnOnce() -> Result<(), OpenError>,
) -> Result<(Lease, Database), OpenError> {
    let lease = kept.lease();
    let error = match tables::open(&lease, cache_bytes) {
        Ok(db) => return Ok((lease, db)),
        Err(error) => *error,
    };
    if let redb::Error::DatabaseAlreadyOpen = error {
        return Err(OpenError::InUse(PathBuf::new()));
    }
    if !kept.is_unfinished().unwrap_or(false) {
        return Err(OpenError::Io(format!("state.redb: {}", tables::fault(&lease, &error).text)));
    }
    is_new()?;
    kept.clear().map_err(|error| OpenError::Io(format!("state.redb: {error}")))?;
    let lease = kept.lease();
    match tables::open(&lease, cache_bytes) {
        Ok(db) => Ok((lease, db)),
        Err(error) => Err(OpenError::Io(tables::fault(&lease, &error).text)),
    }
}

/// Reads the metadata, and creates everything that is missing in a new file or one of an older
/// stet.
pub(super) fn head(db: &Database, migrations: &[Migration]) -> Result<StateHead, OpenError> {
    let present = present(migrations);
    let head = read_head(db).map_err(io)?;
    match head {
        Some(head) if head.format > present => {
            Err(OpenError::Newer { file: "state.redb", found: head.format, known: present })
        }
        Some(head) => {
            complete(db, None).map_err(io)?;
            Ok(head)
        }
        None => {
            complete(db, Some(present)).map_err(io)?;
            Ok(StateHead { format: present, folded: 0, salt: None, believed_ms: None })
        }
    }
}

/// Returns the newest format that `migrations` lead to.
pub(super) fn present(migrations: &[Migration]) -> u64 {
    migrations.last().map_or(BASE, |migration| migration.number)
}

/// Runs the migrations that are newer than the format `from`.
pub(super) fn migrate(db: &Database, from: u64, migrations: &[Migration]) -> Result<(), OpenError> {
    for migration in migrations.iter().filter(|migration| migration.number > from) {
        let rows = step(db, migration).map_err(|error| OpenError::Migration(migration.number, error.to_string()))?;
        tracing::info!(number = migration.number, what = migration.what, rows, "migrated state.redb");
    }
    Ok(())
}

fn step(db: &Database, migration: &Migration) -> Result<u64, RedbError> {
    let mut transaction = db.begin_write().map_err(failure)?;
    transaction.set_quick_repair(true);
    let rows = (migration.run)(&transaction)?;
    transaction.open_table(META).map_err(failure)?.insert(FORMAT, migration.number).map_err(failure)?;
    transaction.commit().map_err(failure)?;
    Ok(rows)
}

/// Notes the journal of the tables. From then on it must exist, and no other is accepted.
pub(super) fn pair(db: &Database, salt: Salt) -> Result<(), RedbError> {
    let mut transaction = db.begin_write().map_err(failure)?;
    transaction.set_quick_repair(true);
    {
        let mut meta = transaction.open_table(META).map_err(failure)?;
        for (key, number) in SALT.into_iter().zip(salt.numbers()) {
            meta.insert(key, number).map_err(failure)?;
        }
    }
    transaction.commit().map_err(failure)
}

/// Checks the checksum of every page of an existing file, and writes nothing.
pub(super) fn verify(kept: &Arc<KeptFile>, cache_bytes: usize) -> Result<(), OpenError> {
    let damaged = |why: &str| OpenError::Corrupt(format!("state.redb: {why}"));
    let lease = kept.read_only_lease().map_err(|error| OpenError::Io(format!("state.redb: {error}")))?;
    let mut db = match tables::open(&lease, cache_bytes) {
        Ok(db) => db,
        Err(error) if matches!(*error, redb::Error::DatabaseAlreadyOpen) => {
            return Err(OpenError::InUse(PathBuf::new()));
        }
        // The following regular opening reports or repairs this error.
        Err(_) => return Ok(()),
    };
    match db.check_integrity() {
        Ok(true) => Ok(()),
        Ok(false) => Err(damaged("the pages are inconsistent: the last write is damaged")),
        Err(error) => Err(damaged(&error.to_string())),
    }
}

pub(super) fn read_head(db: &Database) -> Result<Option<StateHead>, RedbError> {
    let transaction = db.begin_read().map_err(failure)?;
    let meta = match transaction.open_table(META) {
        Ok(meta) => meta,
        Err(redb::TableError::TableDoesNotExist(_)) => return Ok(None),
        Err(error) => return Err(failure(error)),
    };
    let format = meta.get(FORMAT).map_err(failure)?.map_or(BASE, |number| number.value());
    let folded = meta.get(FOLDED).map_err(failure)?.map_or(0, |seq| seq.value());
    let mut salt = [None; 2];
    for (key, number) in SALT.into_iter().zip(&mut salt) {
        *number = meta.get(key).map_err(failure)?.map(|number| number.value());
    }
    let salt = if let [Some(first), Some(second)] = salt { Some(Salt::of([first, second])) } else { None };
    let believed_ms = meta.get(BELIEVED).map_err(failure)?.map(|at| at.value());
    Ok(Some(StateHead { format, folded, salt, believed_ms }))
}

/// Creates the missing tables and, in a new file, the metadata.
fn complete(db: &Database, format: Option<u64>) -> Result<(), RedbError> {
    let transaction = db.begin_read().map_err(failure)?;
    let names: Vec<String> = transaction.list_tables().map_err(failure)?.map(|table| table.name().to_owned()).collect();
    drop(transaction);
    let is_missing = |table: &str| !names.iter().any(|name| name == table);
    let missing = |table: &&Table| is_missing(table.name());
    let misses_texts = is_missing(TEXTS.name()) || is_missing(TEXT_USES.name());
    if format.is_none() && !misses_texts && !Table::ALL.iter().any(|table| missing(&table)) {
        return Ok(());
    }
    let mut transaction = db.begin_write().map_err(failure)?;
    transaction.set_quick_repair(true);
    for table in Table::ALL.iter().filter(missing) {
        transaction.open_table(tables::rows(*table)).map_err(failure)?;
    }
    transaction.open_table(TEXTS).map_err(failure)?;
    transaction.open_table(TEXT_USES).map_err(failure)?;
    if let Some(format) = format {
        let mut meta = transaction.open_table(META).map_err(failure)?;
        meta.insert(FORMAT, format).map_err(failure)?;
        meta.insert(FOLDED, 0).map_err(failure)?;
    }
    transaction.commit().map_err(failure)
}

fn io(error: RedbError) -> OpenError {
    OpenError::Io(error.to_string())
}
