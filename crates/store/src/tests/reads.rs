//! Reads across memory and tables.

use std::ops::ControlFlow;

use std::sync::atomic::Ordering;

use stet_domain::store::{KeyRange, ReadLevel, Table};

use super::*;
use crate::StoreFile;

fn keys(store: &RedbStore, range: &KeyRange, limit: usize, backwards: bool) -> Vec<String> {
    let rows = store.scan(ReadLevel::Committed, Table::Names, range, limit, backwards).expect("scanned");
    rows.into_iter().map(|(key, value)| format!("{}={}", text(&key), text(&value))).collect()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A store with `a=1 b=1 c=1 d=1` in the tables, and in memory `b` changed, `c` removed, `e` new.
fn layered(disk: &SimulatedDisk) -> RedbStore {
    let store = open(disk);
    commit(&store, ["a", "b", "c", "d"].map(|key| put(Table::Names, key, "1")).to_vec());
    store.close();
    let store = open(disk);
    commit(&store, vec![put(Table::Names, "b", "2"), remove(Table::Names, "c"), put(Table::Names, "e", "2")]);
    store
}

#[test]
fn a_scan_merges_memory_and_tables_in_both_directions() {
    let disk = SimulatedDisk::new();
    let store = layered(&disk);
    let all = KeyRange::prefix(b"");
    assert_eq!(keys(&store, &all, 10, false), ["a=1", "b=2", "d=1", "e=2"]);
    assert_eq!(keys(&store, &all, 10, true), ["e=2", "d=1", "b=2", "a=1"]);
    assert_eq!(keys(&store, &all, 2, false), ["a=1", "b=2"]);
    assert_eq!(keys(&store, &all, 3, true), ["e=2", "d=1", "b=2"]);
}

#[test]
fn a_range_begins_with_its_first_key_and_ends_before_its_last() {
    let disk = SimulatedDisk::new();
    let store = layered(&disk);
    let range = KeyRange { from: bytes("b"), to: Some(bytes("e")) };
    assert_eq!(keys(&store, &range, 10, false), ["b=2", "d=1"]);
    assert_eq!(keys(&store, &range.after(b"b"), 10, false), ["d=1"]);
    let backwards = KeyRange { from: bytes("e"), to: Some(bytes("b")) };
    assert_eq!(keys(&store, &backwards, 10, false), [""; 0]);
    assert_eq!(keys(&store, &range, 0, false), [""; 0]);
}

#[test]
fn the_later_change_of_a_key_wins_within_a_set() {
    let disk = SimulatedDisk::new();
    let store = open(&disk);
    let changes = vec![put(Table::Names, "a", "1"), remove(Table::Names, "a"), put(Table::Names, "a", "3")];
    commit(&store, changes.clone());
    assert_eq!(keys(&store, &KeyRange::prefix(b""), 10, false), ["a=3"]);
    disk.crash(1);
    drop(store);
    let store = open(&disk);
    assert_eq!(keys(&store, &KeyRange::prefix(b""), 10, false), ["a=3"]);
}

#[test]
fn for_each_sees_every_row_over_many_pages_and_can_stop() {
    let disk = SimulatedDisk::new();
    let store = open(&disk);
    commit(&store, (0..2_000).map(|number| put(Table::Parts, &format!("{number:05}"), "x")).collect());
    store.close();
    let store = open(&disk);
    commit(&store, (2_000..2_500).map(|number| put(Table::Parts, &format!("{number:05}"), "x")).collect());
    let mut seen = Vec::new();
    let stopped: Option<()> = store
        .for_each(ReadLevel::Committed, Table::Parts, |key, _| {
            seen.push(text(key));
            ControlFlow::Continue(())
        })
        .expect("read");
    assert_eq!(stopped, None);
    assert_eq!(seen, (0..2_500).map(|number| format!("{number:05}")).collect::<Vec<_>>());
    let found = store.for_each(ReadLevel::Committed, Table::Parts, |key, _| match &key[..] {
        b"01500" => ControlFlow::Break("found"),
        _ => ControlFlow::Continue(()),
    });
    assert_eq!(found, Ok(Some("found")));
}

fn moved(from: &str, to: &str) -> Vec<RowChange> {
    vec![remove(Table::Names, from), put(Table::Names, to, "moved")]
}

/// Regression test: a scan read memory, and then the snapshot of a later checkpoint. The name was
/// in both places, or in none.
#[test]
fn a_scan_is_of_one_state_whatever_is_folded_in_its_midst() {
    for (from, to, backwards) in [("a", "b", false), ("b", "a", false), ("a", "b", true)] {
        let disk = SimulatedDisk::new();
        let store = layered(&disk);
        let (from, to) = (format!("name {from}"), format!("name {to}"));
        commit(&store, vec![put(Table::Names, &from, "moved")]);
        disk.stall(StoreFile::Journal);
        let rename = submit(&store, moved(&from, &to)).expect("taken");
        // The frozen rows contain the rename, which the checkpoint waits for.
        store.shared.checkpoint_due();
        until("a checkpoint has begun", || store.shared.overlay.active().0 == 0);
        let (shared, on, seq) = (store.shared.clone(), disk.clone(), rename.seq);
        store.shared.hooks.amid_look.set(move || {
            let before = shared.snapshot();
            on.release();
            until("the checkpoint is published", || !Arc::ptr_eq(&before, &shared.snapshot()));
            assert!(
                shared.committed() == seq && shared.folded.load(Ordering::Acquire) < seq,
                "rows wait for the reader"
            );
        });
        let names = keys(&store, &KeyRange::prefix(b"name"), 10, backwards);
        assert_eq!(names, [format!("{to}=moved")], "{from} to {to}");
        rename.wait().expect("committed");
    }
}

/// Regression test: a scan whose snapshot had failed read the next snapshot together with rows
/// taken from memory before.
#[test]
fn a_scan_that_is_begun_anew_looks_into_memory_anew() {
    for view in [ReadLevel::Committed, ReadLevel::Latest] {
        let disk = SimulatedDisk::new();
        let mut options = options(&disk);
        options.cache_bytes = 0;
        drop(layered(&disk));
        let store = Arc::new(RedbStore::open(options).expect("the store opens"));
        commit(&store, vec![put(Table::Names, "name a", "moved")]);
        let other = store.clone();
        store.shared.hooks.read_failed.set(move || {
            let seq = commit(&other, moved("name a", "name b"));
            other.shared.checkpoint_due();
            until("it is folded", || other.shared.folded.load(Ordering::Acquire) >= seq);
        });
        disk.fail_reads(StoreFile::State, 1);
        let rows = store.scan(view, Table::Names, &KeyRange::prefix(b"name"), 10, false).expect("scanned");
        let names: Vec<String> = rows.iter().map(|(key, _)| text(key)).collect();
        assert_eq!(names, ["name b"], "{view:?}");
    }
}
