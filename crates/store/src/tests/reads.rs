//! Reads across memory and tables.

use std::ops::ControlFlow;

use stet_actors::store::{ChangeSet, Range, Table, View, decode_value};

use super::*;

fn keys(store: &RedbStore, range: &Range, limit: usize, backwards: bool) -> Vec<String> {
    let rows = store.scan(View::Committed, Table::Names, range, limit, backwards).expect("scanned");
    rows.into_iter().map(|(key, value)| format!("{}={}", text(&key), text(&value))).collect()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A store with `a=1 b=1 c=1 d=1` in the tables, and in memory `b` changed, `c` removed, `e` new.
fn layered(disk: &Disk) -> RedbStore {
    let store = open(disk);
    commit(&store, ["a", "b", "c", "d"].map(|key| put(Table::Names, key, "1")).to_vec());
    store.close();
    let store = open(disk);
    commit(&store, vec![put(Table::Names, "b", "2"), remove(Table::Names, "c"), put(Table::Names, "e", "2")]);
    store
}

#[test]
fn a_scan_merges_memory_and_tables_in_both_directions() {
    let disk = Disk::new();
    let store = layered(&disk);
    let all = Range::prefix(b"");
    assert_eq!(keys(&store, &all, 10, false), ["a=1", "b=2", "d=1", "e=2"]);
    assert_eq!(keys(&store, &all, 10, true), ["e=2", "d=1", "b=2", "a=1"]);
    assert_eq!(keys(&store, &all, 2, false), ["a=1", "b=2"]);
    assert_eq!(keys(&store, &all, 3, true), ["e=2", "d=1", "b=2"]);
}

#[test]
fn a_range_begins_with_its_first_key_and_ends_before_its_last() {
    let disk = Disk::new();
    let store = layered(&disk);
    let range = Range { from: bytes("b"), to: Some(bytes("e")) };
    assert_eq!(keys(&store, &range, 10, false), ["b=2", "d=1"]);
    assert_eq!(keys(&store, &range.after(b"b"), 10, false), ["d=1"]);
    let backwards = Range { from: bytes("e"), to: Some(bytes("b")) };
    assert_eq!(keys(&store, &backwards, 10, false), [""; 0]);
    assert_eq!(keys(&store, &range, 0, false), [""; 0]);
}

#[test]
fn the_later_change_of_a_key_wins_within_a_set() {
    let disk = Disk::new();
    let store = open(&disk);
    let changes = vec![put(Table::Names, "a", "1"), remove(Table::Names, "a"), put(Table::Names, "a", "3")];
    commit(&store, changes.clone());
    assert_eq!(keys(&store, &Range::prefix(b""), 10, false), ["a=3"]);
    disk.crash(1);
    drop(store);
    let store = open(&disk);
    assert_eq!(keys(&store, &Range::prefix(b""), 10, false), ["a=3"]);
}

#[test]
fn for_each_sees_every_row_over_many_pages_and_can_stop() {
    let disk = Disk::new();
    let store = open(&disk);
    commit(&store, (0..2_000).map(|number| put(Table::Parts, &format!("{number:05}"), "x")).collect());
    store.close();
    let store = open(&disk);
    commit(&store, (2_000..2_500).map(|number| put(Table::Parts, &format!("{number:05}"), "x")).collect());
    let mut seen = Vec::new();
    let stopped: Option<()> = store
        .for_each(View::Committed, Table::Parts, |key, _| {
            seen.push(text(key));
            ControlFlow::Continue(())
        })
        .expect("read");
    assert_eq!(stopped, None);
    assert_eq!(seen, (0..2_500).map(|number| format!("{number:05}")).collect::<Vec<_>>());
    let found = store.for_each(View::Committed, Table::Parts, |key, _| match &key[..] {
        b"01500" => ControlFlow::Break("found"),
        _ => ControlFlow::Continue(()),
    });
    assert_eq!(found, Ok(Some("found")));
}

#[test]
fn events_become_rows_that_can_be_found_by_number_and_by_container() {
    let disk = Disk::new();
    let store = open(&disk);
    let events = vec![event(1, 5, 100), event(2, 9, 100)];
    let set = ChangeSet { events: events.clone(), ..empty(&store) };
    let seq = submit_set(&store, set).expect("taken").wait().expect("committed");
    let rows = store.scan(View::Committed, Table::Events, &Range::prefix(&seq.to_be_bytes()), 10, false);
    let rows = rows.expect("scanned");
    let found: Vec<_> = rows.iter().map(|(_, value)| decode_value::<Event>(1, value).expect("decoded")).collect();
    assert_eq!(found, events);
    let mut key = events[1].container.unwrap().to_key().to_vec();
    key.extend(9_u64.to_be_bytes());
    let place = store.get(View::Committed, Table::EventsOf, &key).expect("read").expect("there");
    assert_eq!(place, rows[1].0);
    assert_eq!(place[..], [&seq.to_be_bytes()[..], &1_u16.to_be_bytes()].concat());
}

#[test]
fn an_event_of_no_container_is_kept_found_by_time_alone_and_goes_like_others() {
    use stet_actors::clock::ManualClock;
    let disk = Disk::new();
    let store = open(&disk);
    for at_ms in [1_000, 2_000, 9_000] {
        let events = vec![Event { container: None, ..event(1, 0, at_ms) }, event(1, at_ms, at_ms)];
        submit_set(&store, ChangeSet { events, ..empty(&store) }).expect("taken").wait().expect("committed");
    }
    let counts = |store: &RedbStore| {
        [Table::Events, Table::EventsOf]
            .map(|table| store.scan(View::Committed, table, &Range::prefix(b""), 10, false).expect("scanned").len())
    };
    assert_eq!(counts(&store), [6, 3]);
    store.close();
    let mut options = options(&disk);
    options.clock = Arc::new(ManualClock::at(12_500));
    options.event_retention_ms = Some(10_000);
    let store = RedbStore::open(options).expect("the store opens");
    assert_eq!(counts(&store), [6, 3], "as it was written");
    let rows = store.scan(View::Committed, Table::Events, &Range::prefix(b""), 1, false).expect("scanned");
    assert_eq!(decode_value::<Event>(1, &rows[0].1).expect("readable").container, None);
    commit(&store, vec![put(Table::Marks, "something to fold", "1")]);
    store.close();
    assert_eq!(counts(&open(&disk)), [2, 1]);
}

#[test]
fn events_past_their_retention_go_and_the_others_stay() {
    use stet_actors::clock::ManualClock;
    let disk = Disk::new();
    let store = open(&disk);
    for (revision, at_ms) in [(1, 1_000), (2, 2_000), (3, 3_000)] {
        let set = ChangeSet { events: vec![event(1, revision, at_ms)], ..empty(&store) };
        submit_set(&store, set).expect("taken").wait().expect("committed");
    }
    store.close();
    let mut options = options(&disk);
    options.clock = Arc::new(ManualClock::at(12_500));
    options.event_retention_ms = Some(10_000);
    let store = RedbStore::open(options).expect("the store opens");
    commit(&store, vec![put(Table::Marks, "something to fold", "1")]);
    store.close();
    let store = open(&disk);
    for table in [Table::Events, Table::EventsOf] {
        let rows = store.scan(View::Committed, table, &Range::prefix(b""), 10, false).expect("scanned");
        assert_eq!(rows.len(), 1, "{table:?}");
    }
}

#[test]
fn an_event_from_the_future_keeps_no_older_ones_and_goes_with_those_after_it() {
    use stet_actors::clock::ManualClock;
    let disk = Disk::new();
    let store = open(&disk);
    // The clock was set forward for a while, more than once.
    let times = [1_000, 900_000, 900_001, 900_002, 2_000, 900_003, 3_000, 900_004];
    for (revision, at_ms) in (1..).zip(times) {
        let set = ChangeSet { events: vec![event(1, revision, at_ms)], ..empty(&store) };
        submit_set(&store, set).expect("taken").wait().expect("committed");
    }
    store.close();
    let left = |now_ms: u64, checkpoints: u64| {
        let mut options = busy_options(&disk);
        options.clock = Arc::new(ManualClock::at(now_ms));
        options.event_retention_ms = Some(10_000);
        // Fewer at a time than there are from the future.
        options.checkpoint.trim = 2;
        let store = RedbStore::open(options).expect("the store opens");
        for number in 0..checkpoints {
            commit(&store, vec![put(Table::Marks, "something to fold", &number.to_string())]);
            until("it is folded", || {
                store.shared.folded.load(std::sync::atomic::Ordering::Acquire) >= store.committed()
            });
        }
        store.close();
        let store = open(&disk);
        let [events, of] = [Table::Events, Table::EventsOf]
            .map(|table| store.scan(View::Committed, table, &Range::prefix(b""), 10, false).expect("scanned"));
        assert_eq!(events.len(), of.len());
        events.iter().map(|(_, value)| decode_value::<Event>(1, value).expect("readable").at_ms).collect::<Vec<_>>()
    };
    assert_eq!(left(10_500, 3), times);
    assert_eq!(left(12_500, 8), [900_003, 3_000, 900_004]);
    assert_eq!(left(13_500, 8), [900_004]);
    // Nothing is known of the age of the last one, until its time has come.
    assert_eq!(left(900_003, 3), [900_004]);
    assert_eq!(left(910_005, 3), [0_u64; 0]);
}
