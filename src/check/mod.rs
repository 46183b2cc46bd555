//! `stet check`: proves a data directory from its rows. Every index entry must follow from a row, every row's entries must be
//! there, every part must have its object, every content its bytes, and all bytes in the tables a content that they are of; no
//! version may lie above the latest; every container must have its head, no drawer more items than fit, and no liveblog two posts of
//! one name, or one that it remembers as removed. Changes nothing.

mod liveblog;
mod rows;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use bytes::Bytes;
use stet_actors::drawer::DrawerHead;
use stet_actors::family::part;
use stet_actors::id::Loid;
use stet_actors::object::is_referred_to;
use stet_actors::store::{Look, Row, StoreError, Table, View, decode_value, key_of};
use stet_store::RedbStore;

use crate::content::ContentStore;

/// What was found.
#[derive(Debug, Default)]
pub struct Report {
    /// Rows in each table, indexes too.
    pub rows: BTreeMap<&'static str, u64>,
    /// The first faults, a sentence each.
    pub faults: Vec<String>,
    /// How many faults there are in all.
    pub fault_count: u64,
    /// Content files that no row refers to: no fault, for they are removed in time.
    pub unused_files: u64,
    /// Their bytes.
    pub unused_bytes: u64,
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

/// What is gathered on the way, to be compared at the end.
#[derive(Default)]
struct Gathered {
    /// Entries that each index must have.
    expected: BTreeMap<Table, u64>,
    /// Items of each drawer.
    items: BTreeMap<Loid, u64>,
    /// Liveblogs that have posts, or remember removed ones.
    liveblogs: BTreeSet<Loid>,
    /// The parts of the liveblog that is being looked at.
    parts: Option<liveblog::Parts>,
}

impl Gathered {
    /// What has been seen of a liveblog so far. One before it has been seen whole.
    fn of_liveblog(&mut self, liveblog: Loid, report: &mut Report) -> &mut liveblog::Parts {
        if let Some(whole) = self.parts.take_if(|parts| parts.liveblog() != liveblog) {
            whole.settle(report);
        }
        self.parts.get_or_insert_with(|| liveblog::Parts::of(liveblog))
    }
}

/// Reads everything once.
///
/// # Errors
/// That the store can't be read.
pub fn check(store: &RedbStore, content: &ContentStore) -> Result<Report, StoreError> {
    let mut report = Report::default();
    let mut gathered = Gathered::default();
    for table in Table::ALL.iter().filter(|table| !table.is_index()) {
        let mut failed = None;
        let mut count = 0;
        store.for_each(View::Committed, *table, |key, value| {
            count += 1;
            let mut check = rows::Check { store, content, gathered: &mut gathered, report: &mut report };
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
    for (drawer, count) in &gathered.items {
        let place = head_key(*drawer, part::DRAWER_HEAD);
        let Some(head) = store.get(View::Committed, Table::Parts, &place)? else {
            report.fault(format!("the drawer {drawer} has items but no head"));
            continue;
        };
        // One that can't be read has been told of already.
        if let Ok(head) = decode_value::<DrawerHead>(DrawerHead::FORMAT, &head)
            && *count > u64::from(head.capacity)
        {
            report.fault(format!("the drawer {drawer} has {count} items, where {} fit", head.capacity));
        }
    }
    if let Some(last) = gathered.parts.take() {
        last.settle(&mut report);
    }
    for liveblog in &gathered.liveblogs {
        if store.get(View::Committed, Table::Parts, &head_key(*liveblog, part::LIVEBLOG_HEAD))?.is_none() {
            report.fault(format!("the liveblog {liveblog} has posts but no head"));
        }
    }
    // All that is expected was found; so an index with just as many entries has no others.
    for table in Table::ALL.iter().filter(|table| table.is_index()) {
        let mut count = 0u64;
        store.for_each(View::Committed, *table, |_, _| {
            count += 1;
            ControlFlow::<()>::Continue(())
        })?;
        report.rows.insert(table.name(), count);
        let wanted = gathered.expected.get(table).copied().unwrap_or_default();
        if count != wanted {
            report.fault(format!("the index {} has {count} entries, where the rows give {wanted}", table.name()));
        }
    }
    let mut unused = (0, 0);
    let mut failed = None;
    let listed = content.for_each(|sha256, size| match is_referred_to(store, View::Committed, sha256) {
        Ok(true) => {}
        Ok(false) => unused = (unused.0 + 1, unused.1 + size),
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

/// Where the head of a container lives.
fn head_key(container: Loid, kind: u8) -> Bytes {
    key_of(&[&container.to_key(), &[kind]])
}

/// A key as people can read it.
fn readable(key: &[u8]) -> String {
    match Loid::from_key(key) {
        Some(loid) if key.len() == Loid::KEY_LEN => loid.to_string(),
        Some(loid) => format!("{loid} {}", key[Loid::KEY_LEN..].escape_ascii()),
        None => key.escape_ascii().to_string(),
    }
}
