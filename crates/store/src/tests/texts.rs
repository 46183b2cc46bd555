//! Large attribute texts: rows read as they were written, and each text is kept once, for as long
//! as a row has it.

use std::collections::BTreeMap;

use proptest::prelude::*;
use redb::{ReadableDatabase, ReadableTable, ReadableTableMetadata};
use stet_domain::object::Attributes;
use stet_domain::store::{KeyRange, Row, encode_value};
use tempfile::TempDir;

use super::*;
use crate::texts::{LARGE_TEXT, TEXT_USES, TEXTS};

/// An attribute text by number: none, a small one, the longest that is not kept apart, or one of
/// three large ones.
fn text(number: u8) -> Option<Arc<str>> {
    let large = |sign: &str, bytes: usize| Some(sign.repeat(bytes).into());
    match number % 6 {
        0 => None,
        1 => Some("<props/>".into()),
        2 => large("x", LARGE_TEXT - 1),
        3 => large("a", LARGE_TEXT),
        4 => large("ü", LARGE_TEXT),
        _ => large("c", 3 * LARGE_TEXT),
    }
}

fn row(object: u8, numbers: [u8; 3]) -> Attributes {
    let [attributes, system_attributes, usage_tickets] = numbers.map(text);
    let loid = Loid::new(DatabaseId::FIRST, u64::from(object));
    Attributes { loid, attributes, system_attributes, usage_tickets }
}

fn change(object: u8, numbers: Option<[u8; 3]>) -> RowChange {
    let key = Attributes::key(Loid::new(DatabaseId::FIRST, u64::from(object)));
    let value = numbers.map(|numbers| encode_value(Attributes::FORMAT, &row(object, numbers)));
    RowChange { table: key.table, key: key.key, value }
}

fn open_in(folder: &TempDir) -> RedbStore {
    let mut options = StoreOptions::new(folder.path());
    options.checkpoint.interval = Duration::from_secs(3600);
    RedbStore::open(options).expect("the store opens")
}

/// Returns the number of rows that use each large text, from the tables of a closed store. Asserts
/// that no other texts are stored.
fn uses(folder: &TempDir) -> BTreeMap<String, u64> {
    let db = redb::Database::open(folder.path().join("state.redb")).expect("a database");
    let transaction = db.begin_read().expect("begun");
    let texts = transaction.open_table(TEXTS).expect("a table");
    let uses = transaction.open_table(TEXT_USES).expect("a table");
    assert_eq!(texts.len().expect("counted"), uses.len().expect("counted"));
    let text_of = |hash: &[u8]| {
        let text = texts.get(hash).expect("read").expect("a text that is used is there");
        String::from_utf8(text.value().to_vec()).expect("it is a text")
    };
    let uses = uses.iter().expect("iterated").map(|row| row.expect("read"));
    uses.map(|(hash, count)| (text_of(hash.value()), count.value())).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn large_texts_are_kept_once_and_as_long_as_a_row_has_them(
        rounds in prop::collection::vec(
            prop::collection::vec((0..4_u8, prop::option::weighted(0.8, any::<[u8; 3]>())), 1..6), 1..5)
    ) {
        let folder = tempfile::tempdir().expect("a folder");
        let mut rows = BTreeMap::new();
        for changes in rounds {
            let store = open_in(&folder);
            for (object, numbers) in changes {
                commit(&store, vec![change(object, numbers)]);
                match numbers {
                    Some(numbers) => rows.insert(object, numbers),
                    None => rows.remove(&object),
                };
            }
            // Closing folds all rows into the tables.
            store.close();
            let mut wanted = BTreeMap::new();
            for large in rows.values().flatten().filter_map(|number| text(*number)).filter(|text| text.len() >= LARGE_TEXT) {
                *wanted.entry(large.to_string()).or_insert(0) += 1;
            }
            prop_assert_eq!(uses(&folder), wanted);
            let store = open_in(&folder);
            let found = store.scan(ReadLevel::Committed, Table::Attributes, &KeyRange { from: Bytes::new(), to: None }, 100, false);
            let written = rows.iter().map(|(object, numbers)| change(*object, Some(*numbers)));
            let written: Vec<_> = written.map(|change| (change.key, change.value.expect("it is a row"))).collect();
            prop_assert_eq!(&found.expect("scanned"), &written);
            for (key, value) in written {
                prop_assert_eq!(store.get(ReadLevel::Committed, Table::Attributes, &key).expect("read"), Some(value));
            }
            store.close();
        }
    }
}

/// A thousand objects from one template took the disk for a thousand copies of its attributes.
#[test]
fn a_thousand_objects_with_the_same_attributes_take_the_disk_for_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = open_in(&folder);
    let large: Arc<str> = "<props/>".repeat(1 << 16).into();
    for object in 0..1000 {
        let loid = Loid::new(DatabaseId::FIRST, object);
        let row = Attributes { attributes: Some(large.clone()), ..Attributes::none(loid) };
        let key = Attributes::key(loid);
        let value = Some(encode_value(Attributes::FORMAT, &row));
        commit(&store, vec![RowChange { table: key.table, key: key.key, value }]);
        if object % 100 == 99 {
            store.shared.checkpoint_due();
            until("the rows are folded", || store.shared.overlay.total().0 == 0);
        }
    }
    store.close();
    let bytes = std::fs::metadata(folder.path().join("state.redb")).expect("it is there").len();
    assert!(bytes < 16 * large.len() as u64, "{bytes}");
}

#[test]
fn a_row_whose_text_is_missing_is_reported_as_damaged() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = open_in(&folder);
    commit(&store, vec![change(1, Some([3, 0, 0])), change(2, Some([1, 0, 0]))]);
    store.close();
    {
        let db = redb::Database::open(folder.path().join("state.redb")).expect("a database");
        let transaction = db.begin_write().expect("begun");
        transaction.open_table(TEXTS).expect("a table").retain(|_, _| false).expect("removed");
        transaction.commit().expect("committed");
    }
    let store = open_in(&folder);
    let read = |object| store.get(ReadLevel::Committed, Table::Attributes, &change(object, None).key);
    assert!(matches!(read(1), Err(StoreError::Corrupt(why)) if why.contains("a text of a row is missing")));
    assert!(read(2).expect("it has its texts itself").is_some());
    store.close();
}
