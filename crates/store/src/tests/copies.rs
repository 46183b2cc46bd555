//! Tests of copies of the tables, and of the tap on commits, from which a backup is made.

use parking_lot::Mutex;

use stet_domain::object::Attributes;
use stet_domain::store::{Row, encode_value};

use super::*;
use crate::{CommitTap, CommittedRecord, RestoredTables, TablesCopy, is_backed_up};

/// A tap that has everything in memory, as the spool of a backup has it on disk.
#[derive(Default)]
struct Recorder {
    records: Mutex<Vec<CommittedRecord>>,
    /// The last change set that it was told to keep.
    kept: Mutex<Seq>,
}

impl Recorder {
    fn last(&self) -> Seq {
        self.records.lock().last().map_or(0, |record| record.last)
    }
}

impl CommitTap for Recorder {
    fn opened(&self, folded: Seq, committed: Seq) {
        assert!(folded <= self.last(), "the tables have changes that the tap has never seen");
        assert!(self.last() <= committed, "the tap has changes that were never committed");
    }

    fn committed(&self, record: CommittedRecord) {
        let last = self.last();
        if record.last > last {
            assert_eq!(record.previous, last, "records follow each other without a gap");
            self.records.lock().push(record);
        }
    }

    fn keep(&self, last: Seq) {
        *self.kept.lock() = last;
    }
}

fn tapped(disk: &SimulatedDisk, tap: &Arc<Recorder>) -> StoreOptions {
    StoreOptions { tap: Some(tap.clone()), ..busy_options(disk) }
}

/// The encoded attributes of an object, with a large text that others have, too.
fn attributes(number: u64) -> Bytes {
    let text = |sign: &str| Some(Arc::from(sign.repeat(40_000)));
    let (attributes, usage_tickets) = (text(if number.is_multiple_of(2) { "x" } else { "y" }), text("z"));
    let loid = Loid::new(DatabaseId::FIRST, number);
    encode_value(Attributes::FORMAT, &Attributes { loid, attributes, system_attributes: None, usage_tickets })
}

/// All rows that a backup has, with their whole texts.
fn rows(store: &RedbStore) -> Vec<(Table, Bytes, Bytes)> {
    let mut rows = Vec::new();
    // Events become segments at other times.
    let are_alike =
        |table: &&Table| is_backed_up(**table) && !table.name().contains("event") && !table.name().contains("segment");
    for table in Table::ALL.iter().filter(are_alike) {
        let found = store.for_each(ReadLevel::Committed, *table, |key, value| {
            rows.push((*table, key.clone(), value.clone()));
            std::ops::ControlFlow::<()>::Continue(())
        });
        found.expect("the table can be read");
    }
    rows
}

/// Writes a store from a copy of the tables and the records after it, up to a change.
fn restore(base: &TablesCopy, records: &[CommittedRecord], up_to: Seq) -> RedbStore {
    let disk = SimulatedDisk::new();
    let mut restored = RestoredTables::create(options(&disk)).expect("the disk is empty");
    for name in TablesCopy::names() {
        let mut rows = Vec::new();
        base.for_each(name, |key, value| {
            rows.push((Bytes::copy_from_slice(key), Bytes::copy_from_slice(value)));
            std::ops::ControlFlow::<()>::Continue(())
        })
        .expect("the table can be read");
        restored.put(name, rows.into_iter()).expect("the disk works");
    }
    restored.base_is_complete(base.seq()).expect("the disk works");
    let sets = records.iter().flat_map(|record| record.sets().expect("a record can be read"));
    for set in sets.filter(|set| set.seq > base.seq() && set.seq <= up_to) {
        restored.apply(set).expect("the disk works");
    }
    assert_eq!(restored.finish().expect("the disk works"), up_to);
    open(&disk)
}

#[test]
fn a_copy_and_the_records_after_it_make_every_later_state() {
    let (disk, tap) = (SimulatedDisk::new(), Arc::new(Recorder::default()));
    let store = RedbStore::open(tapped(&disk, &tap)).expect("the store opens");
    for number in 0..30 {
        let key = format!("object{}", number % 7);
        let mut changes = vec![
            put(Table::Objects, &key, &format!("state {number}")),
            RowChange { table: Table::Attributes, key: bytes(&key), value: Some(attributes(number)) },
            put(Table::Sessions, "token", "somebody's"),
        ];
        if number % 5 == 4 {
            changes = vec![remove(Table::Objects, &key), remove(Table::Attributes, &key)];
        }
        let set = ChangeSet { changes, events: vec![event(number, 1, 1_000 + number)], ..empty(&store) };
        submit_set(&store, set).expect("it is taken").wait().expect("it is committed");
    }
    until("something is in the tables", || store.tables_copy().seq() > 3);
    let base = store.tables_copy();
    let mut states = Vec::new();
    for number in 0..20 {
        commit(
            &store,
            vec![
                put(Table::Objects, "later", &number.to_string()),
                remove(Table::Attributes, &format!("object{number}")),
            ],
        );
        states.push((store.committed(), rows(&store), logged(&store).len()));
    }
    let records = tap.records.lock().clone();
    for (seq, wanted, events) in states.into_iter().step_by(6) {
        let restored = restore(&base, &records, seq);
        assert_eq!(restored.committed(), seq);
        assert!(rows(&restored) == wanted, "the rows at {seq}");
        assert_eq!(logged(&restored).len(), events, "the events at {seq}");
        assert_eq!(get(&restored, ReadLevel::Committed, Table::Sessions, "token"), None);
        // It takes changes, and the texts are counted as before: none is missing after a removal.
        commit(&restored, vec![remove(Table::Attributes, "object1"), put(Table::Objects, "new", "1")]);
        restored.close();
    }
}

#[test]
fn the_tap_has_every_change_before_the_store_gives_it_up() {
    let (disk, tap) = (SimulatedDisk::new(), Arc::new(Recorder::default()));
    for round in 0..6u64 {
        let store = RedbStore::open(tapped(&disk, &tap)).expect("the store opens");
        for number in 0..20 {
            commit(&store, vec![put(Table::Objects, &format!("{round}-{number}"), "1")]);
        }
        until("a checkpoint", || store.tables_copy().seq() > 0);
        assert!(*tap.kept.lock() >= store.tables_copy().seq());
        disk.crash(round);
        drop(store);
        // A crash takes what the tap has not been told to keep.
        let kept = *tap.kept.lock();
        tap.records.lock().retain(|record| record.last <= kept);
    }
    let store = RedbStore::open(tapped(&disk, &tap)).expect("the store opens");
    let seen: usize = tap.records.lock().iter().map(|record| record.sets().expect("it can be read").len()).sum();
    assert_eq!((seen, rows(&store).len()), (120, 120));
}

#[test]
fn a_directory_with_tables_is_not_restored_over() {
    let disk = SimulatedDisk::new();
    open(&disk).close();
    let error = RestoredTables::create(options(&disk)).err().expect("there are tables");
    assert!(error.to_string().contains("has a state.redb already"), "{error}");
}
