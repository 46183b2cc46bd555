//! `stet check`: verifies a data directory from its rows, and changes nothing. It checks that
//!
//! - every index entry follows from a row, and every row has its entries,
//! - every part has its object,
//! - every content has its bytes, with the stated SHA-256, and all bytes in the tables belong to a
//!   content,
//! - no version is later than the latest,
//! - every message is in as many mailboxes as are counted, and every mailbox entry has a message,
//! - each container keeps the rules of its family ([`Family::prove`]).
//!
//! [`Family::prove`]: stet_domain::family::Family::prove

mod messages;
mod rows;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

use stet_actors::families::Families;
use stet_content::{ContentStore, identity};
use stet_domain::count::count_with_noun;
use stet_domain::id::Loid;
use stet_domain::object::{NameCounts, referrers};
use stet_domain::proof::place_of;
use stet_domain::store::{ReadLevel, RowReader, StoreError, Table};
use stet_store::RedbStore;

/// Maximum number of rows that are named for one damaged file.
const NAMED: usize = 10;

/// The result of a check.
#[derive(Debug, Default)]
pub struct CheckReport {
    /// Number of rows in each table, indexes included.
    pub rows: BTreeMap<&'static str, u64>,
    /// The first faults, one sentence each.
    pub faults: Vec<String>,
    /// Total number of faults.
    pub fault_count: u64,
    /// Content files that no row refers to. They are no faults, since they are removed in time.
    pub unused_files: u64,
    /// Bytes of the unused files.
    pub unused_bytes: u64,
}

impl CheckReport {
    /// Number of faults that are reported one by one; the rest is counted.
    const SHOWN: usize = 100;

    fn fault(&mut self, fault: String) {
        self.fault_count += 1;
        if self.faults.len() < CheckReport::SHOWN {
            self.faults.push(fault);
        }
    }
}

/// Checks everything in one pass.
///
/// # Errors
/// Errors in reading the store.
pub fn check(store: &RedbStore, content: &ContentStore) -> Result<CheckReport, StoreError> {
    check_of(Families::ALL, store, content)
}

/// Checks everything, and whether the contents in the data directory `data` are those of its
/// tables.
///
/// # Errors
/// Errors in reading the store.
pub fn check_in(data: &Path, store: &RedbStore, content: &ContentStore) -> Result<CheckReport, StoreError> {
    let mark = store.get(ReadLevel::Committed, Table::Marks, identity::MARK)?;
    let mut report = check(store, content)?;
    if let Some(Err(foreign)) = mark.map(|mark| identity::compare(&mark, data)) {
        // Faults that follow from this one are less helpful, so it comes first.
        report.fault_count += 1;
        report.faults.insert(0, foreign);
    }
    Ok(report)
}

/// Checks the stored number of names in each folder against the names. Returns the number of
/// folders that have any.
fn check_counts(store: &RedbStore, report: &mut CheckReport) -> Result<u64, StoreError> {
    let mut wanted = NameCounts::default();
    store.for_each(ReadLevel::Committed, Table::Names, |key, _| {
        wanted.add(key);
        ControlFlow::<()>::Continue(())
    })?;
    let mut folders = 0;
    for (folder, count) in wanted.entries() {
        folders += 1;
        if store.get(ReadLevel::Committed, Table::NameCounts, &folder)?.is_none_or(|there| there != count[..]) {
            let folder = Loid::from_key(&folder).map_or_else(|| "something".to_owned(), |folder| folder.to_string());
            let names = count_with_noun(u64::from_be_bytes(count), "name");
            report.fault(format!("{folder} has {names}, but the index {} has another count", Table::NameCounts.name()));
        }
    }
    Ok(folders)
}

/// [`check`] with a given list of families.
fn check_of(families: Families, store: &RedbStore, content: &ContentStore) -> Result<CheckReport, StoreError> {
    let mut report = CheckReport::default();
    // The number of entries that each index must have.
    let mut expected = BTreeMap::new();
    for table in Table::ALL.iter().filter(|table| !table.is_index()) {
        let mut failed = None;
        let mut count = 0;
        store.for_each(ReadLevel::Committed, *table, |key, value| {
            count += 1;
            let mut check = rows::RowCheck { families, store, content, expected: &mut expected, report: &mut report };
            match check.row(*table, key, value) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    failed = Some(error);
                    ControlFlow::Break(())
                }
            }
        })?;
        if let Some(error) = failed {
            return Err(error);
        }
        report.rows.insert(table.name(), count);
    }
    messages::check(store, messages::LOT, &mut report)?;
    let folders = check_counts(store, &mut report)?;
    expected.insert(Table::NameCounts, folders);
    // All expected entries were found, so an index with the same number of entries has no others.
    for table in Table::ALL.iter().filter(|table| table.is_index()) {
        let mut count = 0u64;
        store.for_each(ReadLevel::Committed, *table, |_, _| {
            count += 1;
            ControlFlow::<()>::Continue(())
        })?;
        report.rows.insert(table.name(), count);
        let wanted = expected.get(table).copied().unwrap_or_default();
        if count != wanted {
            report.fault(format!(
                "the index {} has {}, but the rows require {wanted}",
                table.name(),
                count_with_noun(count, "entry")
            ));
        }
    }
    let mut unused = (0, 0);
    let mut failed = None;
    let listed = content.for_each(|sha256, size| match referrers(store, ReadLevel::Committed, sha256, NAMED) {
        Ok(rows) if rows.is_empty() => unused = (unused.0 + 1, unused.1 + size),
        Ok(rows) => {
            if let Some(damage) = content.damage_of(sha256) {
                let rows: Vec<_> = rows.iter().map(place_of).collect();
                let path = content.path(sha256);
                report.fault(format!("{}: {} is damaged: {damage}", rows.join(", "), path.display()));
            }
        }
        Err(error) => failed = Some(error),
    });
    if let Some(error) = failed {
        return Err(error);
    }
    if let Err(error) = listed {
        report.fault(format!("the content files can't be listed: {error}"));
    }
    (report.unused_files, report.unused_bytes) = unused;
    Ok(report)
}
