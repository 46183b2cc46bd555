//! The journal's records.

use bytes::Bytes;
use proptest::prelude::*;
use stet_domain::store::{EventId, RowChange, Seq, StoredEvent, Table};

use super::event;
use crate::blob::{NumberedChangeSet, decode, encode};

fn encoded(sets: &[NumberedChangeSet]) -> Bytes {
    let mut blob = Vec::new();
    encode(sets.iter().map(NumberedChangeSet::parts), &mut blob);
    blob.into()
}

fn any_sets() -> impl Strategy<Value = Vec<NumberedChangeSet>> {
    let bytes = || prop::collection::vec(any::<u8>(), 0..40).prop_map(Bytes::from);
    // Rows of events are no rows of their own.
    let tables: Vec<Table> = Table::ALL.iter().copied().filter(|table| !matches!(table, Table::Events)).collect();
    let table = prop::sample::select(tables);
    let change =
        (table, bytes(), prop::option::of(bytes())).prop_map(|(table, key, value)| RowChange { table, key, value });
    let logged =
        |(seq, ordinal, revision)| StoredEvent::of(EventId { seq, ordinal }, &event(7, revision, revision / 2));
    let logged = (any::<Seq>(), any::<u32>(), any::<u64>()).prop_map(logged);
    let set = (any::<u64>(), prop::collection::vec(change, 0..5), prop::collection::vec(logged, 0..3));
    prop::collection::vec(set.prop_map(|(seq, changes, events)| NumberedChangeSet { seq, changes, events }), 0..6)
}

proptest! {
    #[test]
    fn encoded_change_sets_are_decoded_unchanged(sets in any_sets()) {
        prop_assert_eq!(decode(&encoded(&sets)), Ok(sets));
    }

    #[test]
    fn garbage_is_refused_or_read_but_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut bytes = bytes;
        let _ = decode(&Bytes::from(bytes.clone()));
        // The same behind a version and a length that let it through to the changes.
        bytes.splice(0..0, [1, bytes.len() as u8, 0, 0, 0]);
        let _ = decode(&Bytes::from(bytes));
    }

    #[test]
    fn a_damaged_record_never_panics(sets in any_sets(), at in any::<prop::sample::Index>(), to in any::<u8>()) {
        let mut bytes = encoded(&sets).to_vec();
        let at = at.index(bytes.len());
        bytes[at] = to;
        let _ = decode(&Bytes::from(bytes));
    }

    #[test]
    fn a_record_cut_short_is_refused(sets in any_sets(), cut in any::<prop::sample::Index>()) {
        let whole = encoded(&sets);
        let len = 5 + u32::from_le_bytes(whole[1..5].try_into().expect("four bytes")) as usize;
        prop_assert!(decode(&whole.slice(..cut.index(len))).is_err());
    }
}

#[test]
fn another_version_is_refused() {
    let mut bytes = encoded(&[]).to_vec();
    bytes[0] = 2;
    assert_eq!(decode(&bytes.into()), Err("version 2 where 1 was expected".to_owned()));
}

#[test]
fn a_table_that_is_not_known_is_refused() {
    let change = RowChange { table: Table::Objects, key: Bytes::from_static(b"k"), value: None };
    let mut bytes = encoded(&[NumberedChangeSet { seq: 1, changes: vec![change], events: vec![] }]).to_vec();
    bytes[5 + 12] = 200;
    assert_eq!(decode(&bytes.into()), Err("no table has the number 200".to_owned()));
}

#[test]
fn change_sets_are_appended_to_a_buffer_and_decoded_with_bytes_behind() {
    let change = RowChange { table: Table::Objects, key: Bytes::from_static(b"k"), value: None };
    let mut blob = b"before".to_vec();
    let set = NumberedChangeSet { seq: 1, changes: vec![change], events: vec![] };
    encode([set.parts()].into_iter(), &mut blob);
    blob.extend_from_slice(b"behind");
    assert_eq!(decode(&Bytes::from(blob).slice(6..)), Ok(vec![set]));
}

#[test]
fn rows_of_events_are_read_as_events_and_damaged_ones_are_refused() {
    let logged = StoredEvent::of(EventId { seq: 9, ordinal: 1 }, &event(7, 3, 5));
    let row = |table, key: &Bytes, value: &Bytes| RowChange { table, key: key.clone(), value: Some(value.clone()) };
    let key = logged.id.to_key();
    let other = row(Table::Marks, &key, &key);
    let changes = vec![row(Table::Events, &key, &logged.value), other.clone()];
    let read = decode(&encoded(&[NumberedChangeSet { seq: 9, changes, events: vec![] }]));
    assert_eq!(read, Ok(vec![NumberedChangeSet { seq: 9, changes: vec![other], events: vec![logged.clone()] }]));
    for damaged in [row(Table::Events, &key.slice(1..), &logged.value), row(Table::Events, &key, &key)] {
        assert!(decode(&encoded(&[NumberedChangeSet { seq: 9, changes: vec![damaged], events: vec![] }])).is_err());
    }
}

#[test]
fn events_do_not_keep_in_memory_what_was_written_beside_them() {
    let logged = StoredEvent::of(EventId { seq: 9, ordinal: 0 }, &event(7, 3, 5));
    let body = RowChange { table: Table::Bodies, key: Bytes::from_static(b"k"), value: Some(vec![7; 100_000].into()) };
    let blob = encoded(&[NumberedChangeSet { seq: 9, changes: vec![body], events: vec![logged] }]);
    let mut sets = decode(&blob).expect("it can be read");
    assert!(!blob.is_unique(), "rows share it");
    sets[0].changes.clear();
    assert_eq!(sets[0].events.len(), 1);
    assert!(blob.is_unique(), "events do not");
}
