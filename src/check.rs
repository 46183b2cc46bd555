//! `stet check`: proves a data directory from its rows. Every index entry must follow from a row, every row's entries must be
//! there, every part must have its object, every body its bytes, and every drawer a head and no more items than fit. Changes
//! nothing.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use bytes::Bytes;
use stet_actors::drawer::{DrawerHead, Item};
use stet_actors::family::part;
use stet_actors::id::Loid;
use stet_actors::object::{FamilyKind, Record, Stored, Version};
use stet_actors::rows::{index_of, owner_of};
use stet_actors::store::{Look, Row, StoreError, Table, View, decode_value, key_of};

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

/// What is gathered on the way, to be compared at the end.
#[derive(Default)]
struct Gathered {
    /// Entries that each index must have.
    expected: BTreeMap<Table, u64>,
    /// Items of each drawer.
    items: BTreeMap<Loid, u64>,
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
            match check_row(store, content, *table, key, value, &mut gathered, &mut report) {
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
        let place = head_key(*drawer);
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
    Ok(report)
}

fn check_row(
    store: &RedbStore,
    content: &ContentStore,
    table: Table,
    key: &Bytes,
    value: &Bytes,
    gathered: &mut Gathered,
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
        *gathered.expected.entry(entry.table).or_default() += 1;
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
    // `index_of` has found that the rows can be read.
    let there =
        |table: Table, loid: Loid| Ok::<_, StoreError>(store.get(View::Committed, table, &loid.to_key())?.is_some());
    match table {
        Table::Objects | Table::Recycled => {
            let record: Record = decode_value(Record::FORMAT, value)?;
            match (&record.bin, record.folder()) {
                (None, Some(folder)) if !there(Table::Objects, folder)? => {
                    report.fault(format!("{}: the folder it lies in, {folder}, is not there", place()));
                }
                (Some(bin), _) if !there(Table::Recycled, bin.entry)? => {
                    let entry = bin.entry;
                    report.fault(format!("{}: what it was discarded with, {entry}, is not in the bin", place()));
                }
                _ => {}
            }
            if record.version > 0 {
                let key = Version::key(record.loid.at_version(record.version));
                match store.get(View::Committed, key.table, &key.key)? {
                    None => report.fault(format!("{}: its version {} is not there", place(), record.version)),
                    Some(version) => {
                        // One that can't be read is told of in its own place.
                        let version = decode_value::<Version>(Version::FORMAT, &version);
                        if version.is_ok_and(|version| record.content.as_ref() != Some(&version.content)) {
                            report.fault(format!("{}: its content is not that of its latest version", place()));
                        }
                    }
                }
            }
            if record.family == FamilyKind::Drawer
                && store.get(View::Committed, Table::Parts, &head_key(record.loid))?.is_none()
            {
                report.fault(format!("{}: the drawer has no head", place()));
            }
        }
        Table::Parts if key.get(Loid::KEY_LEN) == Some(&part::DRAWER_ITEM) => {
            let item: Item = decode_value(Item::FORMAT, value)?;
            *gathered.items.entry(item.drawer).or_default() += 1;
            let (live, discarded) = (there(Table::Objects, item.object)?, there(Table::Recycled, item.object)?);
            if !live && !discarded {
                report.fault(format!("{}: it stands for {}, which is not there", place(), item.object));
            } else if item.hidden != discarded {
                let state = if item.hidden { "hidden" } else { "shown" };
                report.fault(format!("{}: it is {state}, which {} does not ask for", place(), item.object));
            }
        }
        Table::Versions => {
            let version: Version = decode_value(Version::FORMAT, value)?;
            let there = match version.content.stored {
                Stored::Row => {
                    let bytes = store.get(View::Committed, Table::Bodies, key)?;
                    bytes.is_some_and(|bytes| bytes.len() as u64 == version.content.size)
                }
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

/// Where the head of a drawer lives.
fn head_key(drawer: Loid) -> Bytes {
    key_of(&[&drawer.to_key(), &[part::DRAWER_HEAD]])
}

/// A key as people can read it.
fn readable(key: &[u8]) -> String {
    match Loid::from_key(key) {
        Some(loid) if key.len() == Loid::KEY_LEN => loid.to_string(),
        Some(loid) => format!("{loid} {}", key[Loid::KEY_LEN..].escape_ascii()),
        None => key.escape_ascii().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use stet_actors::folder::root;
    use stet_actors::id::{DatabaseId, ObjectUuid, ShortcutId};
    use stet_actors::object::{Bin, Content, FolderKey, SmallBody};
    use stet_actors::store::{Change, ChangeSet, Key, Store, encode_value};

    use super::*;
    use crate::store::StoreOptions;

    struct Ground {
        _data: tempfile::TempDir,
        store: RedbStore,
        content: ContentStore,
    }

    const ROOT: Loid = root(DatabaseId::MAIN);
    const STORY: Loid = Loid::new(DatabaseId::MAIN, 7);
    const DRAWER: Loid = Loid::new(DatabaseId::MAIN, 8);
    const SPIKED: Loid = Loid::new(DatabaseId::MAIN, 9);

    fn record(loid: Loid, name: &str, family: FamilyKind) -> Record {
        Record {
            uuid: ObjectUuid(uuid::Uuid::from_u128(loid.number.into())),
            folder: (loid != ROOT).then_some(FolderKey(ROOT)),
            ..Record::new(loid, name, "Any", family, &"editor".into(), 1000)
        }
    }

    fn story() -> Record {
        Record { version: 1, content: Some(bytes()), ..record(STORY, "a.xml", FamilyKind::Document) }
    }

    fn spiked() -> Record {
        let bin = Bin { at: 1, by: "editor".into(), entry: SPIKED, path: "/b.xml".into() };
        Record { bin: Some(bin), ..record(SPIKED, "b.xml", FamilyKind::Document) }
    }

    fn bytes() -> Content {
        Content { content_type: "text/xml".into(), size: 8, sha256: [7; 32], stored: Stored::Row }
    }

    fn item(shortcut: u64, object: Loid, hidden: bool) -> Item {
        Item::new(DRAWER, ShortcutId(shortcut), object, u128::from(shortcut), hidden)
    }

    /// A row with its index entries.
    fn add(row: &impl Row, changes: &mut Vec<Change>) {
        let mut entries = vec![(row.place(), encode_value(1, row))];
        row.index(&mut entries);
        changes.extend(entries.into_iter().map(|(key, value)| Change {
            table: key.table,
            key: key.key,
            value: Some(value),
        }));
    }

    impl Ground {
        /// A root folder with a story, a drawer that holds it and a discarded one.
        fn new() -> Ground {
            let data = tempfile::tempdir().expect("a temporary directory can be made");
            let store = RedbStore::open(StoreOptions::new(data.path())).expect("a new directory opens");
            let content = ContentStore::open(data.path(), 1000).expect("a new directory opens");
            let ground = Ground { _data: data, store, content };
            let mut changes = Vec::new();
            for record in
                [record(ROOT, "", FamilyKind::Folder), story(), spiked(), record(DRAWER, "d", FamilyKind::Drawer)]
            {
                add(&record, &mut changes);
            }
            let head =
                DrawerHead { loid: DRAWER, capacity: 2, automatic: false, title: "".into(), description: "".into() };
            add(&head, &mut changes);
            add(&item(20, STORY, false), &mut changes);
            add(&item(21, SPIKED, true), &mut changes);
            let version = STORY.at_version(1);
            add(&Version { loid: version, author: "editor".into(), at: 1, content: bytes() }, &mut changes);
            let Key { table, key } = SmallBody::key(version);
            changes.push(Change { table, key, value: Some(Bytes::from_static(b"<story/>")) });
            ground.write(changes);
            ground
        }

        fn write(&self, changes: Vec<Change>) {
            let (sender, answer) = mpsc::channel();
            // The test waits below.
            let mut set = ChangeSet::fence(self.store.epoch(), move |outcome| drop(sender.send(outcome)));
            set.changes = changes;
            self.store.submit(set).expect("it is taken");
            answer.recv().expect("it is answered").expect("it is committed");
        }

        /// Writes a row behind the domain's back.
        fn set(&self, key: Key, value: Option<Bytes>) {
            self.write(vec![Change { table: key.table, key: key.key, value }]);
        }

        fn put<R: Row>(&self, row: &R) {
            self.set(row.place(), Some(encode_value(R::FORMAT, row)));
        }

        fn faults(&self) -> Vec<String> {
            let report = check(&self.store, &self.content).expect("the store can be read");
            assert_eq!(report.faults.len() as u64, report.fault_count);
            report.faults
        }

        /// There must be one fault that says all this.
        fn one_fault(&self, saying: &[&str]) {
            let faults = self.faults();
            let found = faults.iter().any(|fault| saying.iter().all(|words| fault.contains(words)));
            assert!(found, "{saying:?} is not among {faults:#?}");
        }
    }

    fn entry(row: &impl Row, table: Table) -> Key {
        let mut entries = Vec::new();
        row.index(&mut entries);
        let found = entries.into_iter().find(|(key, _)| key.table == table);
        found.expect("the row has an entry there").0
    }

    #[test]
    fn what_the_domain_writes_has_no_fault() {
        let ground = Ground::new();
        assert_eq!(ground.faults(), Vec::<String>::new());
        let report = check(&ground.store, &ground.content).unwrap();
        assert_eq!((report.rows["objects/1"], report.rows["names/1"], report.rows["members/1"]), (3, 2, 2));
    }

    #[test]
    fn an_index_entry_that_is_missing_is_found() {
        for table in [Table::Names, Table::Uuids] {
            let ground = Ground::new();
            ground.set(entry(&story(), table), None);
            ground.one_fault(&[&STORY.to_string(), "no entry in", table.name()]);
        }
        for table in [Table::Bin, Table::BinMembers] {
            let ground = Ground::new();
            ground.set(entry(&spiked(), table), None);
            ground.one_fault(&[&SPIKED.to_string(), "no entry in", table.name()]);
        }
        let ground = Ground::new();
        ground.set(entry(&item(20, STORY, false), Table::Members), None);
        ground.one_fault(&["no entry in members/1"]);
    }

    #[test]
    fn an_index_entry_that_leads_elsewhere_is_found() {
        let ground = Ground::new();
        ground.set(entry(&story(), Table::Names), Some(Bytes::copy_from_slice(&DRAWER.to_key())));
        ground.one_fault(&[&STORY.to_string(), "speaks of another"]);
    }

    #[test]
    fn an_index_entry_that_follows_from_no_row_is_found() {
        let ground = Ground::new();
        let key = Key { table: Table::Names, key: stet_actors::object::name_key(ROOT, "ghost.xml") };
        ground.set(key, Some(Bytes::copy_from_slice(&STORY.to_key())));
        ground.one_fault(&["names/1 has 3 entries, where the rows give 2"]);
    }

    #[test]
    fn a_row_that_cannot_be_read_or_stands_elsewhere_is_found() {
        let ground = Ground::new();
        ground.set(story().place(), Some(Bytes::from_static(b"\x01nonsense")));
        ground.one_fault(&[&STORY.to_string()]);
        let ground = Ground::new();
        let key = Key { table: Table::Objects, key: Bytes::copy_from_slice(&SPIKED.to_key()) };
        ground.set(key, Some(encode_value(Record::FORMAT, &story())));
        ground.one_fault(&["under another key"]);
    }

    #[test]
    fn a_row_whose_object_is_gone_is_found() {
        let ground = Ground::new();
        ground.set(story().place(), None);
        ground.one_fault(&["versions/1", "no record"]);
        ground.one_fault(&["bodies/1", "no record"]);
        ground.one_fault(&["parts/1", &STORY.to_string(), "which is not there"]);
    }

    #[test]
    fn an_object_whose_folder_is_gone_is_found() {
        let ground = Ground::new();
        ground.put(&Record { folder: Some(FolderKey(Loid::new(DatabaseId::MAIN, 99))), ..story() });
        ground.one_fault(&[&STORY.to_string(), "the folder it lies in"]);
    }

    #[test]
    fn what_was_discarded_with_nothing_is_found() {
        let ground = Ground::new();
        let bin = Bin { entry: STORY, ..spiked().bin.unwrap() };
        ground.put(&Record { bin: Some(bin), ..spiked() });
        ground.one_fault(&[&SPIKED.to_string(), "is not in the bin"]);
    }

    #[test]
    fn bytes_that_are_missing_or_of_another_length_are_found() {
        let key = SmallBody::key(STORY.at_version(1));
        for value in [None, Some(Bytes::from_static(b"<story"))] {
            let ground = Ground::new();
            ground.set(key.clone(), value);
            ground.one_fault(&["versions/1", "bytes are not there"]);
        }
        let ground = Ground::new();
        let content = Content { stored: Stored::File, ..bytes() };
        ground.put(&Version { loid: STORY.at_version(1), author: "editor".into(), at: 1, content });
        ground.one_fault(&["versions/1", "bytes are not there"]);
    }

    #[test]
    fn a_latest_version_that_is_missing_or_another_is_found() {
        let ground = Ground::new();
        ground.put(&Record { version: 2, ..story() });
        ground.one_fault(&[&STORY.to_string(), "version 2 is not there"]);
        let ground = Ground::new();
        ground.put(&Record { content: Some(Content { sha256: [8; 32], ..bytes() }), ..story() });
        ground.one_fault(&[&STORY.to_string(), "not that of its latest version"]);
    }

    #[test]
    fn a_drawer_that_is_not_whole_is_found() {
        let ground = Ground::new();
        let head = Key { table: Table::Parts, key: head_key(DRAWER) };
        ground.set(head, None);
        ground.one_fault(&["has items but no head"]);
        ground.one_fault(&[&DRAWER.to_string(), "the drawer has no head"]);
        let ground = Ground::new();
        ground.put(&item(20, STORY, true));
        ground.one_fault(&["it is hidden, which"]);
        let ground = Ground::new();
        ground.put(&item(21, SPIKED, false));
        ground.one_fault(&["it is shown, which"]);
        let ground = Ground::new();
        ground.put(&item(22, DRAWER, false));
        ground.one_fault(&["has 3 items, where 2 fit"]);
    }
}
