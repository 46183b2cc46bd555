//! Change sets that are not taken.

use stet_domain::store::{ChangeSet, Health, ReadLevel, Store, StoreError, Table};

use super::*;
use crate::StoreFile;
use crate::fault::{DiskFault, FaultPlan};

fn refused(store: &RedbStore, set: ChangeSet) -> StoreError {
    store.submit(set).expect_err("the set is refused").why
}

#[test]
fn a_set_from_before_a_failed_commit_is_stale_and_comes_back_whole() {
    let disk = SimulatedDisk::new();
    let store = open(&disk);
    let (changes, events) = (vec![put(Table::Marks, "m", "old")], vec![event(1, 1, 0)]);
    let old = ChangeSet { changes: changes.clone(), events: events.clone(), ..empty(&store) };
    disk.plan(FaultPlan { at: disk.syncs() + 1, times: 1, fault: DiskFault::Write });
    let failed = submit(&store, vec![put(Table::Marks, "m", "1")]).expect("taken");
    assert!(matches!(failed.wait(), Err(StoreError::Failed(_))));
    assert_eq!(store.epoch(), 1);
    let refused = store.submit(old).expect_err("the set is refused");
    assert_eq!(refused.why, StoreError::Stale);
    assert_eq!((refused.set.changes, refused.set.events), (changes, events), "it comes back whole");
    commit(&store, vec![put(Table::Marks, "m", "new")]);
}

#[test]
fn more_than_the_queue_holds_is_refused_and_the_rest_goes_on() {
    let disk = SimulatedDisk::new();
    let mut options = options(&disk);
    options.limits.queued = 3;
    let store = RedbStore::open(options).expect("the store opens");
    disk.stall(StoreFile::Journal);
    let mut taken = Vec::new();
    let refusal = loop {
        match submit(&store, vec![put(Table::Marks, "m", "1")]) {
            Ok(answer) => taken.push(answer),
            Err(why) => break why,
        }
        assert!(taken.len() < 10, "the limit is never reached");
    };
    assert_eq!(refusal, StoreError::Overloaded);
    store.submit(empty(&store)).expect("a set without changes is never too much");
    disk.release();
    for answer in taken {
        answer.wait().expect("what was taken is committed");
    }
    commit(&store, vec![put(Table::Marks, "m", "2")]);
}

#[test]
fn more_than_memory_may_hold_is_refused_until_a_checkpoint_has_made_room() {
    let disk = SimulatedDisk::new();
    let mut options = options(&disk);
    options.checkpoint.interval = Duration::from_millis(5);
    options.limits.overlay_entries = 20;
    let store = RedbStore::open(options).expect("the store opens");
    disk.stall(StoreFile::State);
    let mut count = 0;
    let refusal = loop {
        match submit(&store, vec![put(Table::Marks, &format!("m{count}"), "1")]) {
            Ok(answer) => answer.wait().expect("committed"),
            Err(why) => break why,
        };
        count += 1;
        assert!(count < 100, "the limit is never reached");
    };
    assert_eq!(refusal, StoreError::Overloaded);
    assert_eq!(store.health(), Health::Ok);
    disk.release();
    until("there is room again", || submit(&store, vec![put(Table::Marks, "again", "1")]).is_ok());
    store.close();
    let store = open(&disk);
    for number in 0..count {
        assert!(get(&store, ReadLevel::Committed, Table::Marks, &format!("m{number}")).is_some());
    }
}

#[test]
fn checkpoints_begin_before_memory_is_full_without_being_requested() {
    let disk = SimulatedDisk::new();
    let mut options = options(&disk);
    (options.checkpoint.entries, options.checkpoint.bytes) = (usize::MAX, usize::MAX);
    for (rows, bytes) in [(20, usize::MAX), (usize::MAX, 4000)] {
        (options.limits.overlay_entries, options.limits.overlay_bytes) = (rows, bytes);
        let store = RedbStore::open(options.clone()).expect("the store opens");
        for number in 0..100 {
            // Its interval is an hour: what made room was the checkpoint at half of it.
            until("there is room", || {
                let row = vec![put(Table::Marks, &format!("m{number}"), "1")];
                submit(&store, row).is_ok_and(|answer| answer.wait().is_ok())
            });
        }
    }
}

/// Numbers were not reserved in a memory that is full, so that changes failed for want of them that
/// others had made room for.
#[test]
fn a_row_that_changes_can_t_be_made_without_is_taken_where_memory_is_full() {
    let disk = SimulatedDisk::new();
    let mut options = options(&disk);
    options.limits.overlay_entries = 20;
    let store = RedbStore::open(options).expect("the store opens");
    disk.plan_for(StoreFile::State, FaultPlan { at: 0, times: u64::MAX, fault: DiskFault::NoRoom });
    let full = |number: usize| {
        let refused = submit(&store, vec![put(Table::Parts, &format!("p{number}"), "1")]).err();
        refused.map(|why| assert!(matches!(why, StoreError::Overloaded), "{why:?}")).is_some()
    };
    let filled = (0..100).find(|number| full(*number)).expect("memory is full");
    for number in 0..100 {
        let set =
            ChangeSet { changes: vec![put(Table::Marks, "m", &number.to_string())], passes: true, ..empty(&store) };
        submit_set(&store, set).expect("taken").wait().expect("committed");
    }
    assert!(full(filled), "it is so still");
    assert_eq!(get(&store, ReadLevel::Committed, Table::Marks, "m").as_deref(), Some("99"));
}

#[test]
fn a_journal_larger_than_memory_allows_is_folded_at_start() {
    let disk = SimulatedDisk::new();
    let store = open(&disk);
    for number in 0..30 {
        commit(&store, vec![put(Table::Marks, &format!("m{number}"), "1")]);
    }
    disk.crash(1);
    drop(store);
    for (rows, bytes, journal) in
        [(20, usize::MAX, u64::MAX), (usize::MAX, 2000, u64::MAX), (usize::MAX, usize::MAX, 1000)]
    {
        let files = StoreFile::ALL.map(|file| (file, disk.bytes(file)));
        let mut options = options(&SimulatedDisk::holding(files));
        let limits = &mut options.limits;
        (limits.overlay_entries, limits.overlay_bytes, limits.journal_bytes) = (rows, bytes, journal);
        let store = RedbStore::open(options).expect("the store opens");
        // Its interval is an hour.
        until("it is folded", || store.shared.overlay.total().0 == 0);
        commit(&store, vec![put(Table::Marks, "again", "1")]);
        for number in 0..30 {
            assert!(get(&store, ReadLevel::Committed, Table::Marks, &format!("m{number}")).is_some());
        }
    }
}

#[test]
fn a_closed_store_takes_and_shows_nothing() {
    let disk = SimulatedDisk::new();
    let store = open(&disk);
    commit(&store, vec![put(Table::Marks, "m", "1")]);
    let set = ChangeSet { changes: vec![put(Table::Marks, "m", "2")], ..empty(&store) };
    store.close();
    assert_eq!(refused(&store, set), StoreError::Closed);
    assert_eq!(store.health(), Health::Closed);
    assert_eq!(store.get(ReadLevel::Committed, Table::Marks, b"m"), Err(StoreError::Closed));
    store.close();
}

#[test]
fn closing_decides_everything_that_was_taken() {
    let disk = SimulatedDisk::new();
    let store = open(&disk);
    let answers: Vec<Answer> = (0..100)
        .map(|number| submit(&store, vec![put(Table::Marks, &format!("m{number}"), "1")]).expect("taken"))
        .collect();
    store.close();
    for answer in &answers {
        assert!(matches!(answer.answer.try_recv(), Ok(Ok(_))));
    }
    let store = open(&disk);
    assert_eq!(store.shared.overlay.total().0, 0, "a clean close leaves nothing to read back");
    assert!(get(&store, ReadLevel::Committed, Table::Marks, "m99").is_some());
}
