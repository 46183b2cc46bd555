//! The durability promise at every sync. A scenario runs once to count its syncs. Then it runs
//! again for each of them and each way in which that sync can fail.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use stet_domain::store::{ChangeSet, Health, KeyRange, ReadLevel, Store, Table};

use super::*;
use crate::fault::{DiskFault, FaultPlan};

const GROUPS: usize = 5;
const GROUP: usize = 3;

/// Answers by the number of the change set, while the machine was up.
type Answers = Arc<Mutex<BTreeMap<usize, Result<Seq, StoreError>>>>;

fn name(number: usize) -> String {
    format!("o{number:03}")
}

fn numbered(store: &RedbStore, disk: &SimulatedDisk, answers: &Answers, number: usize) -> ChangeSet {
    let (disk, answers, boots) = (disk.clone(), answers.clone(), disk.boots());
    ChangeSet {
        changes: vec![
            put(Table::Objects, &name(number), &"body ".repeat(number * 40)),
            put(Table::Marks, "last", &name(number)),
        ],
        events: vec![event(1, number as u64, 1)],
        on_done: Box::new(move |outcome| {
            if disk.boots() == boots {
                answers.lock().insert(number, outcome);
            }
        }),
        ..empty(store)
    }
}

/// Submits groups of sets and waits for each group, until the machine is down. A fault that lasts
/// is mended once it has been noticed.
fn play(store: &RedbStore, disk: &SimulatedDisk) -> Answers {
    let answers = Answers::default();
    for group in 0..GROUPS {
        let numbers = group * GROUP..(group + 1) * GROUP;
        for number in numbers.clone() {
            if let Err(refusal) = store.submit(numbered(store, disk, &answers, number)) {
                answers.lock().insert(number, Err(refusal.why));
            }
        }
        let noticed = Instant::now();
        until("a group is answered", || {
            if noticed.elapsed() > Duration::from_millis(20) {
                disk.heal();
            }
            disk.boots() > 0 || numbers.clone().all(|number| answers.lock().contains_key(&number))
        });
    }
    answers
}

/// Asserts that every acknowledged set is there, no refused one is, and the sets are in order.
fn check(store: &RedbStore, answers: &Answers, when: &str) {
    let rows = store.scan(ReadLevel::Committed, Table::Objects, &KeyRange::prefix(b"o"), 1000, false).expect("scanned");
    let there: Vec<String> = rows.iter().map(|(key, _)| String::from_utf8_lossy(key).into_owned()).collect();
    for (number, answer) in answers.lock().iter() {
        assert_eq!(there.contains(&name(*number)), answer.is_ok(), "{when}: set {number} was answered {answer:?}");
    }
    assert_eq!(get(store, ReadLevel::Committed, Table::Marks, "last"), there.last().cloned(), "{when}");
    let events = logged(store);
    assert_eq!(events.len(), there.len(), "{when}: a set is there whole or not at all");
}

/// The kind of operation that a plan's number counts.
#[derive(Debug, Clone, Copy)]
enum Count {
    Syncs,
    Writes,
}

/// Plays the scenario with `plan`, and checks before and after a crash. Tells how many syncs or
/// writes there were.
fn replay(count: Count, plan: Option<FaultPlan>, seed: u64) -> u64 {
    let when = format!("{count:?}: {plan:?}");
    let disk = SimulatedDisk::new();
    match (count, plan) {
        (Count::Syncs, Some(plan)) => disk.plan(plan),
        (Count::Writes, Some(plan)) => disk.plan_at_write(plan),
        (_, None) => {}
    }
    let store = RedbStore::open(busy_options(&disk)).or_else(|_| {
        // The fault has struck while the files were made.
        disk.heal();
        RedbStore::open(busy_options(&disk))
    });
    let store = store.unwrap_or_else(|error| panic!("{when}: {error}"));
    let answers = play(&store, &disk);
    disk.heal();
    if disk.boots() == 0 {
        let again = || submit(&store, vec![put(Table::Marks, "again", "1")]).is_ok_and(|answer| answer.wait().is_ok());
        until(&format!("{when}: commits succeed again"), again);
        until(&format!("{when}: the store is well again"), || store.health() == Health::Ok);
        check(&store, &answers, &when);
    }
    let counted = match count {
        Count::Syncs => disk.syncs(),
        Count::Writes => disk.writes(),
    };
    disk.crash(seed);
    drop(store);
    let store = RedbStore::open(busy_options(&disk)).unwrap_or_else(|error| panic!("{when}: {error}"));
    check(&store, &answers, &format!("{when}, after a crash"));
    commit(&store, vec![put(Table::Marks, "again", "2")]);
    counted
}

fn at_every_sync(faults: &[DiskFault], times: &[u64]) {
    let syncs = replay(Count::Syncs, None, 0);
    assert!(syncs > (GROUPS + 4) as u64, "the scenario has {syncs} syncs");
    for at in 1..=syncs {
        for &fault in faults {
            for &times in times {
                replay(Count::Syncs, Some(FaultPlan { at, times, fault }), at);
            }
        }
    }
}

fn at_every_write(fault: DiskFault, times: u64) {
    let writes = replay(Count::Writes, None, 0);
    assert!(writes > 25, "the scenario has {writes} writes");
    for at in 1..=writes {
        replay(Count::Writes, Some(FaultPlan { at, times, fault }), at);
    }
}

#[test]
fn a_crash_at_any_write_loses_nothing_acknowledged() {
    at_every_write(DiskFault::Crash, 1);
}

#[test]
fn a_disk_that_is_full_at_any_write_keeps_the_promise() {
    at_every_write(DiskFault::Full, 1);
}

#[test]
fn an_io_error_at_any_write_keeps_the_promise() {
    at_every_write(DiskFault::Write, 1);
}

#[test]
fn a_crash_at_any_sync_loses_nothing_acknowledged() {
    at_every_sync(&[DiskFault::Crash], &[1]);
}

#[test]
fn a_sync_that_fails_at_any_point_keeps_the_promise() {
    at_every_sync(&[DiskFault::Sync], &[1, u64::MAX]);
}

#[test]
fn a_sync_that_fails_and_forgets_at_any_point_keeps_the_promise() {
    at_every_sync(&[DiskFault::SyncForgets], &[1, 2]);
}

#[test]
fn a_write_that_fails_at_any_point_keeps_the_promise() {
    at_every_sync(&[DiskFault::Write], &[1, u64::MAX]);
}

#[test]
fn a_disk_that_is_full_at_any_point_keeps_the_promise() {
    at_every_sync(&[DiskFault::Full], &[1, u64::MAX]);
}
