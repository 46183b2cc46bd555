//! `stet check`: proves a data directory from its rows. Every index entry must follow from a row, every row's entries must be
//! there, every part must have its object, and every body its bytes. Changes nothing.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use bytes::Bytes;
use stet_actors::id::Loid;
use stet_actors::object::{Record, Stored, Version};
use stet_actors::rows::{index_of, owner_of};
use stet_actors::store::{Look, Row, StoreError, Table, View, decode_value};

use crate::content::ContentStore;
use crate::store::RedbStore;

/// What was found.
#[derive(Debug, Default)]
pub struct Report {
    /// Rows in each table, indexes too.
    pub rows: BTreeMap<&'static str, u64>,
    /// The first faults, a sentence each.
    pub faults: Vec<String>,
    /// How many faults there are in all.
    pub fault_count: u64,
}

impl Report {
    /// Faults told one by one; the rest is counted.
    const TOLD: usize = 100;

    fn fault(&mut self, fault: String) {
        self.fault_count += 1;
        if self.faults.len() < Report::TOLD {
            self.faults.push(fault);
        }
    }
}

/// Reads everything once.
///
/// # Errors
/// That the store can't be read.
pub fn check(store: &RedbStore, content: &ContentStore) -> Result<Report, StoreError> {
    let mut report = Report::default();
    let mut expected: BTreeMap<Table, u64> = BTreeMap::new();
    for table in Table::ALL.iter().filter(|table| !table.is_index()) {
        let mut failed = None;
        let mut count = 0;
        store.for_each(View::Committed, *table, |key, value| {
            count += 1;
            match check_row(store, content, *table, key, value, &mut expected, &mut report) {
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
    // All that is expected was found; so an index with just as many entries has no others.
    for table in Table::ALL.iter().filter(|table| table.is_index()) {
        let mut count = 0u64;
        store.for_each(View::Committed, *table, |_, _| {
            count += 1;
            ControlFlow::<()>::Continue(())
        })?;
        report.rows.insert(table.name(), count);
        let wanted = expected.get(table).copied().unwrap_or_default();
        if count != wanted {
            report.fault(format!("the index {} has {count} entries, where the rows give {wanted}", table.name()));
        }
    }
    Ok(report)
}

fn check_row(
    store: &RedbStore,
    content: &ContentStore,
    table: Table,
    key: &Bytes,
    value: &Bytes,
    expected: &mut BTreeMap<Table, u64>,
    report: &mut Report,
) -> Result<(), StoreError> {
    let place = || format!("{} {}", table.name(), readable(key));
    let entries = match index_of(table, key, value) {
        Ok(entries) => entries,
        Err(error) => {
            report.fault(format!("{}: {error}", place()));
            return Ok(());
        }
    };
    for (entry, wanted) in entries {
        *expected.entry(entry.table).or_default() += 1;
        match store.get(View::Committed, entry.table, &entry.key)? {
            Some(found) if found == wanted => {}
            Some(_) => report.fault(format!("{}: its entry in {} speaks of another", place(), entry.table.name())),
            None => report.fault(format!("{}: it has no entry in {}", place(), entry.table.name())),
        }
    }
    if let Some(owner) = owner_of(table, key) {
        let owner = owner.to_key();
        let live = store.get(View::Committed, Table::Objects, &owner)?.is_some();
        if !live && store.get(View::Committed, Table::Recycled, &owner)?.is_none() {
            report.fault(format!("{}: its object has no record", place()));
        }
    }
    match table {
        Table::Objects => {
            let record: Record = decode_value(Record::FORMAT, value)?;
            if let Some(folder) = record.folder()
                && store.get(View::Committed, Table::Objects, &folder.to_key())?.is_none()
            {
                report.fault(format!("{}: the folder it lies in, {folder}, is not there", place()));
            }
            let version = Version::key(record.loid.at_version(record.version));
            if record.version > 0 && store.get(View::Committed, version.table, &version.key)?.is_none() {
                report.fault(format!("{}: its version {} is not there", place(), record.version));
            }
        }
        Table::Versions => {
            let version: Version = decode_value(Version::FORMAT, value)?;
            let there = match version.content.stored {
                Stored::Row => store.get(View::Committed, Table::Bodies, key)?.is_some(),
                Stored::File => content.is_there(&version.content),
            };
            if !there {
                report.fault(format!("{}: its bytes are not there", place()));
            }
        }
        _ => {}
    }
    Ok(())
}

/// A key as people can read it.
fn readable(key: &[u8]) -> String {
    match Loid::from_key(key) {
        Some(loid) if key.len() == Loid::KEY_LEN => loid.to_string(),
        Some(loid) => format!("{loid} {}", key[Loid::KEY_LEN..].escape_ascii()),
        None => key.escape_ascii().to_string(),
    }
}
