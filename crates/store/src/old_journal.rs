//! `journal.redb`, in which commits were kept before `journal.wal`: what is in it is taken over, and the file removed.

use std::io;

use bytes::Bytes;
use redb::{Database, ReadableDatabase, TableDefinition};
use stet_actors::store::Seq;

use super::backend::{Backends, OLD_JOURNAL};
use super::blob::{self, Set};
use super::journal::Journal;
use super::lease::Kept;
use super::migrate;
use super::options::{Loss, OpenError};
use super::tables::{META, RedbError, failure};

/// Number of the last change set of a commit → the commit's change sets (`blob`).
pub(super) const RECORDS: TableDefinition<'static, u64, &'static [u8]> = TableDefinition::new("journal/1");

/// Key in [`META`]: every change set up to this number was folded, and may have been dropped.
pub(super) const DROPPED: &str = "dropped";

/// Pages of it in memory, in bytes: it is read once.
const CACHE: usize = 32 << 20;

/// Moves what an old journal holds beyond `folded`, and beyond what has been moved before, to the new one. Gives its change sets.
///
/// The file stays until the tables have a format that an older stet refuses: before that, one would go on without what was moved.
pub(super) fn adopt(backends: &dyn Backends, journal: &mut Journal, folded: Seq) -> Result<Vec<Set>, OpenError> {
    let io = |error: io::Error| OpenError::Io(format!("{OLD_JOURNAL}: {error}"));
    let Some(file) = backends.open_old_journal().map_err(io)? else { return Ok(Vec::new()) };
    let (lease, db) = migrate::open_database(&Kept::new(file), CACHE, || Ok(()))?;
    let (dropped, records) = read(&db, folded.max(journal.last())).map_err(|error| OpenError::Io(error.to_string()))?;
    drop(db);
    lease.end();
    if dropped > folded {
        let why = format!("state.redb is older than {OLD_JOURNAL}: was one of them restored without the other?");
        return Err(OpenError::Lost(Loss { why, kept: folded, last: Some(dropped) }));
    }
    let mut sets = Vec::new();
    for (last, record) in records {
        let decoded =
            blob::decode(&record).map_err(|why| OpenError::Corrupt(format!("{OLD_JOURNAL}, record {last}: {why}")))?;
        let decoded: Vec<_> = decoded.into_iter().filter(|set| set.seq > folded).collect();
        journal.append(last, decoded.iter().map(Set::parts), folded).map_err(io)?;
        sets.extend(decoded);
    }
    tracing::info!(sets = sets.len(), "{OLD_JOURNAL} has been taken over");
    Ok(sets)
}

/// Removes the file, if it is there.
pub(super) fn remove(backends: &dyn Backends) -> Result<(), OpenError> {
    backends.remove_old_journal().map_err(|error| OpenError::Io(format!("{OLD_JOURNAL}: {error}")))
}

/// The number up to which change sets were dropped, and the records behind `last`.
fn read(db: &Database, last: Seq) -> Result<(Seq, Vec<(Seq, Bytes)>), RedbError> {
    let transaction = db.begin_read().map_err(failure)?;
    let meta = match transaction.open_table(META) {
        Ok(meta) => meta,
        // It was never finished.
        Err(redb::TableError::TableDoesNotExist(_)) => return Ok((0, Vec::new())),
        Err(error) => return Err(failure(error)),
    };
    let dropped = meta.get(DROPPED).map_err(failure)?.map_or(0, |seq| seq.value());
    let mut records = Vec::new();
    for record in transaction.open_table(RECORDS).map_err(failure)?.range(last + 1..).map_err(failure)? {
        let (last, record) = record.map_err(failure)?;
        records.push((last.value(), Bytes::copy_from_slice(record.value())));
    }
    Ok((dropped, records))
}
