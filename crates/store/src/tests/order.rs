//! The order of the callbacks of change sets.

use std::sync::Arc;

use parking_lot::Mutex;
use stet_domain::store::{ChangeSet, KeyRange, ReadLevel, Seq, Store, StoreError, Table};

use super::*;
use crate::StoreFile;
use crate::shared::SubmissionPhase;

/// The callbacks so far, in order: `c3` for the third set's `on_commit`, `d3` for its `on_done`.
type Log = Arc<Mutex<Vec<String>>>;

fn logged(store: &RedbStore, log: &Log, name: usize, changes: Vec<RowChange>) -> ChangeSet {
    let (first, second) = (log.clone(), log.clone());
    ChangeSet {
        changes,
        on_commit: Box::new(move |_| first.lock().push(format!("c{name}"))),
        on_done: Box::new(move |outcome| {
            let text = match outcome {
                Ok(_) => format!("d{name}"),
                Err(error) => format!("e{name} {error:?}"),
            };
            second.lock().push(text);
        }),
        ..empty(store)
    }
}

/// Keeps the writer in a commit until the disk is released.
fn hold(disk: &SimulatedDisk, store: &RedbStore) -> Answer {
    let syncs = disk.syncs();
    disk.stall(StoreFile::Journal);
    let held = submit(store, vec![put(Table::Marks, "held", "1")]).expect("the first set is taken");
    // The queue is empty when the writer has taken it; from then on it waits for the disk.
    until("the writer takes the set", || store.shared.gate.lock().queue.is_empty());
    assert_eq!(disk.syncs(), syncs);
    held
}

#[test]
fn all_views_of_a_batch_are_published_before_any_reply_and_both_in_order() {
    let disk = SimulatedDisk::new();
    let store = open(&disk);
    let held = hold(&disk, &store);
    let log = Log::default();
    for name in 0..5 {
        let row = put(Table::Marks, "m", &name.to_string());
        store.submit(logged(&store, &log, name, vec![row])).expect("the set is taken");
    }
    assert!(log.lock().is_empty());
    disk.release();
    held.wait().expect("the held commit succeeds");
    until("the batch is answered", || log.lock().len() == 10);
    assert_eq!(*log.lock(), ["c0", "c1", "c2", "c3", "c4", "d0", "d1", "d2", "d3", "d4"]);
}

#[test]
fn an_empty_set_waits_for_those_before_it() {
    let disk = SimulatedDisk::new();
    let store = open(&disk);
    let held = hold(&disk, &store);
    let log = Log::default();
    store.submit(logged(&store, &log, 1, vec![put(Table::Marks, "m", "1")])).expect("taken");
    store.submit(logged(&store, &log, 2, vec![])).expect("taken");
    assert!(log.lock().is_empty());
    disk.release();
    held.wait().expect("the held commit succeeds");
    until("both are answered", || log.lock().len() == 4);
    assert_eq!(*log.lock(), ["c1", "c2", "d1", "d2"]);
}

#[test]
fn an_empty_set_with_nothing_pending_is_answered_at_once() {
    let disk = SimulatedDisk::new();
    let store = open(&disk);
    let seq = commit(&store, vec![put(Table::Marks, "m", "1")]);
    // The answer comes just before the writer is done with the batch.
    until("the writer rests", || store.shared.gate.lock().taken == 0);
    let log = Log::default();
    assert_eq!(store.submit(logged(&store, &log, 1, vec![])).expect("taken"), seq);
    assert_eq!(*log.lock(), ["c1", "d1"]);
}

#[test]
fn a_callback_may_submit() {
    let disk = SimulatedDisk::new();
    let store = Arc::new(open(&disk));
    let (sender, answer) = mpsc::channel();
    let inner = store.clone();
    let set = ChangeSet {
        changes: vec![put(Table::Marks, "m", "1")],
        on_done: Box::new(move |_| {
            let again = ChangeSet {
                on_done: Box::new(move |outcome| drop(sender.send(outcome))),
                changes: vec![put(Table::Marks, "m", "2")],
                ..empty(&inner)
            };
            inner.submit(again).expect("a callback's set is taken");
        }),
        ..empty(&store)
    };
    store.submit(set).expect("taken");
    answer.recv_timeout(LIMIT).expect("answered in time").expect("committed");
    assert_eq!(get(&store, ReadLevel::Committed, Table::Marks, "m").as_deref(), Some("2"));
}

#[test]
fn a_panic_in_a_callback_ends_neither_the_writer_nor_the_batch() {
    let disk = SimulatedDisk::new();
    let store = open(&disk);
    let held = hold(&disk, &store);
    let bad = ChangeSet {
        changes: vec![put(Table::Marks, "m", "1")],
        on_commit: Box::new(|_| panic!("a view can't be published")),
        on_done: Box::new(|_| panic!("a reply can't be sent")),
        ..empty(&store)
    };
    store.submit(bad).expect("taken");
    let next = submit(&store, vec![put(Table::Marks, "m", "2")]).expect("taken");
    disk.release();
    held.wait().expect("the held commit succeeds");
    next.wait().expect("the set behind the bad one is committed");
    commit(&store, vec![put(Table::Marks, "m", "3")]);
}

#[test]
fn numbers_are_consecutive_and_continue_after_a_restart() {
    let disk = SimulatedDisk::new();
    let numbers = |store: &RedbStore| -> Vec<Seq> {
        (0..3).map(|value| commit(store, vec![put(Table::Marks, "m", &value.to_string())])).collect()
    };
    let store = open(&disk);
    assert_eq!(numbers(&store), [1, 2, 3]);
    drop(store);
    let store = open(&disk);
    assert_eq!(store.committed(), 3);
    assert_eq!(numbers(&store), [4, 5, 6]);
    disk.crash(1);
    drop(store);
    assert_eq!(numbers(&open(&disk)), [7, 8, 9]);
}

#[test]
fn a_barrier_resolves_when_all_before_it_is_decided() {
    let disk = SimulatedDisk::new();
    let store = open(&disk);
    let held = hold(&disk, &store);
    let barrier = store.barrier();
    disk.release();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    let waited = runtime.block_on(async { tokio::time::timeout(LIMIT, barrier).await });
    waited.expect("the barrier resolves in time");
    assert!(matches!(held.answer.try_recv(), Ok(Ok(_))), "what the barrier waited for was answered before it");
}

#[test]
fn a_stalled_disk_blocks_neither_readers_nor_submitters() {
    let disk = SimulatedDisk::new();
    let store = open(&disk);
    commit(&store, vec![put(Table::Marks, "m", "old")]);
    let held = hold(&disk, &store);
    let next = submit(&store, vec![put(Table::Marks, "m", "new")]).expect("taken");
    assert_eq!(get(&store, ReadLevel::Committed, Table::Marks, "m").as_deref(), Some("old"));
    assert_eq!(get(&store, ReadLevel::Latest, Table::Marks, "m").as_deref(), Some("new"));
    assert_eq!(get(&store, ReadLevel::Committed, Table::Marks, "held"), None);
    let rows = store.scan(ReadLevel::Latest, Table::Marks, &KeyRange::prefix(b""), 10, false).expect("scanned");
    assert_eq!(rows.len(), 2);
    assert!(held.answer.try_recv().is_err());
    disk.release();
    assert_eq!(next.wait(), Ok(next.seq));
    let error: Result<Seq, StoreError> = held.wait();
    assert_eq!(error, Ok(held.seq));
}

#[test]
fn callers_waiting_for_a_decision_are_answered_although_the_store_closes() {
    let disk = SimulatedDisk::new();
    let store = Arc::new(open(&disk));
    let held = hold(&disk, &store);
    let closing = std::thread::spawn({
        let store = store.clone();
        move || store.close()
    });
    until("the store is being closed", || store.shared.gate.lock().phase == SubmissionPhase::Closing);
    let fence = submit_set(&store, empty(&store)).expect("the fence is taken");
    assert!(fence.answer.try_recv().is_err());
    disk.release();
    held.wait().expect("what was taken is committed");
    fence.wait().expect("the fence comes through");
    closing.join().expect("the store closes");
    assert_eq!(store.submit(empty(&store)).expect_err("refused").why, StoreError::Closed);
}

#[test]
fn a_store_may_be_dropped_by_its_own_callback() {
    let disk = SimulatedDisk::new();
    let store = Arc::new(open(&disk));
    let (sender, dropped) = mpsc::channel();
    let own = store.clone();
    disk.stall(StoreFile::Journal);
    let set = ChangeSet {
        changes: vec![put(Table::Marks, "m", "1")],
        on_done: Box::new(move |_| {
            drop(own);
            sender.send(()).expect("the test waits");
        }),
        ..empty(&store)
    };
    store.submit(set).expect("taken");
    drop(store);
    disk.release();
    dropped.recv_timeout(LIMIT).expect("dropped in time");
    until("the files are free", || try_open(&disk).is_ok_and(|store| store.committed() == 1));
}

#[test]
fn the_writer_takes_changes_while_lingering_or_asleep_and_ends_at_once() {
    for linger in [Duration::ZERO, Duration::from_secs(3600)] {
        let disk = SimulatedDisk::new();
        let store = RedbStore::open(StoreOptions { linger, ..options(&disk) }).expect("the store opens");
        for value in ["1", "2", "3"] {
            commit(&store, vec![put(Table::Marks, "m", value)]);
            // Without linger it falls asleep between two changes, with it never.
            until("the writer has nothing to do", || store.shared.gate.lock().asleep == linger.is_zero());
        }
        // An hour's linger that closing had to wait for would be seen as a test that hangs.
        store.close();
        drop(store);
        assert_eq!(get(&open(&disk), ReadLevel::Committed, Table::Marks, "m").as_deref(), Some("3"));
    }
}
