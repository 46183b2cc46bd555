//! Disks that stay broken for a while: the answers during that time, and the recovery.

use stet_domain::store::{ChangeSet, Health, KeyRange, ReadLevel, Store, StoreError, Table};

use super::*;
use crate::StoreFile;
use crate::fault::{DiskFault, FaultPlan};
use crate::shared::SubmissionPhase;

fn broken(disk: &SimulatedDisk, fault: DiskFault) {
    disk.plan(FaultPlan { at: disk.syncs() + 1, times: u64::MAX, fault });
}

/// A store with the row `old` in its tables and `new` in memory.
fn two_rows(disk: &SimulatedDisk, options: StoreOptions) -> RedbStore {
    let store = open(disk);
    commit(&store, vec![put(Table::Marks, "old", "1")]);
    store.close();
    let store = RedbStore::open(options).expect("the store opens");
    commit(&store, vec![put(Table::Marks, "new", "1")]);
    store
}

fn all_marks(store: &RedbStore) -> usize {
    store.scan(ReadLevel::Committed, Table::Marks, &KeyRange::prefix(b""), 100, false).expect("reads go on").len()
}

#[test]
fn a_full_disk_is_told_reads_go_on_and_each_commit_tries_again() {
    let disk = SimulatedDisk::new();
    let mut options = options(&disk);
    // The file must be read anew for the writer; readers must not notice.
    options.cache_bytes = 0;
    let store = two_rows(&disk, options);
    broken(&disk, DiskFault::Full);
    let failed = submit(&store, vec![put(Table::Marks, "m", "1")]).expect("taken");
    until("the fault is told", || store.health() == Health::Full);
    assert_eq!(all_marks(&store), 2);
    disk.heal();
    assert_eq!(failed.wait(), Err(StoreError::Full));
    until("commits succeed again", || {
        submit(&store, vec![put(Table::Marks, "m", "2")]).is_ok_and(|answer| answer.wait().is_ok())
    });
    assert_eq!(store.health(), Health::Ok);
    assert_eq!(get(&store, ReadLevel::Latest, Table::Marks, "m").as_deref(), Some("2"));
}

#[test]
fn a_disk_that_was_full_for_one_commit_stays_told_until_the_next_succeeds() {
    let disk = SimulatedDisk::new();
    let store = open(&disk);
    disk.plan(FaultPlan { at: disk.syncs() + 1, times: 1, fault: DiskFault::Full });
    assert_eq!(submit(&store, vec![put(Table::Marks, "m", "1")]).expect("taken").wait(), Err(StoreError::Full));
    assert_eq!(store.health(), Health::Full);
    until("submissions are taken again", || {
        submit(&store, vec![put(Table::Marks, "m", "2")]).is_ok_and(|answer| answer.wait().is_ok())
    });
    assert_eq!(store.health(), Health::Ok);
}

/// Keeps the writer in the sync of a commit until the disk is released.
fn hold(disk: &SimulatedDisk, store: &RedbStore) -> Answer {
    disk.stall(StoreFile::Journal);
    let held = submit(store, vec![put(Table::Marks, "held", "1")]).expect("taken");
    until("the writer takes the set", || store.shared.gate.lock().queue.is_empty());
    held
}

/// A failed commit, with each set in a commit of its own, and the queue behind it.
struct Behind {
    disk: SimulatedDisk,
    store: RedbStore,
    /// The previous commit, which succeeded.
    held: Seq,
    failing: Answer,
    behind: Answer,
    fence: Answer,
}

impl Behind {
    /// Starts with a fault in `times` writes of the journal.
    fn of(fault: DiskFault, times: u64) -> Behind {
        let disk = SimulatedDisk::new();
        let mut options = options(&disk);
        options.limits.batch_sets = 1;
        let store = RedbStore::open(options).expect("the store opens");
        let held = hold(&disk, &store);
        let failing = submit(&store, vec![put(Table::Marks, "m", "1")]).expect("taken");
        let behind = submit(&store, vec![put(Table::Marks, "m", "2")]).expect("taken");
        let fence = submit_set(&store, empty(&store)).expect("taken");
        // The held commit's sync is the next; the writes after it fail.
        let at = disk.syncs_of(StoreFile::Journal) + 2;
        disk.plan_for(StoreFile::Journal, FaultPlan { at, times, fault });
        disk.release();
        let seq = held.seq;
        assert_eq!(held.wait(), Ok(seq));
        Behind { disk, store, held: seq, failing, behind, fence }
    }
}

#[test]
fn change_sets_queued_behind_a_failed_commit_are_stale() {
    let Behind { store, held, failing, behind, fence, .. } = Behind::of(DiskFault::Write, 1);
    assert!(matches!(failing.wait(), Err(StoreError::Failed(_))));
    assert_eq!(behind.wait(), Err(StoreError::Stale));
    assert_eq!(fence.wait(), Err(StoreError::Stale));
    assert_eq!(store.epoch(), 1);
    assert_eq!(get(&store, ReadLevel::Latest, Table::Marks, "m"), None);
    assert_eq!(store.committed(), held);
}

#[test]
fn change_sets_queued_behind_a_full_disk_commit_report_a_full_disk() {
    // Where there is room again at once, and where there is none for long.
    for times in [1, u64::MAX] {
        let Behind { disk, store, failing, behind, fence, .. } = Behind::of(DiskFault::Full, times);
        assert_eq!(failing.wait(), Err(StoreError::Full));
        assert_eq!(behind.wait(), Err(StoreError::Full), "it was never written, and there was no room for it");
        assert_eq!(fence.wait(), Err(StoreError::Full));
        assert_eq!(store.epoch(), 1, "whoever has built on it must load again all the same");
        disk.heal();
        until("commits succeed again", || {
            submit(&store, vec![put(Table::Marks, "after", "1")]).is_ok_and(|answer| answer.wait().is_ok())
        });
        assert_eq!(get(&store, ReadLevel::Latest, Table::Marks, "m"), None);
    }
}

/// Regression test: a caller could begin to wait between a panic of the writer and the end of its
/// thread. It was never answered.
#[test]
fn a_store_whose_writer_has_panicked_takes_in_nobody_who_waits() {
    let disk = SimulatedDisk::new();
    let store = open(&disk);
    let held = hold(&disk, &store);
    let phase = |phase| std::mem::replace(&mut store.shared.gate.lock().phase, phase);
    let before = phase(SubmissionPhase::Broken);
    assert!(matches!(submit_set(&store, empty(&store)), Err(StoreError::Closed)));
    assert!(matches!(submit(&store, vec![put(Table::Marks, "m", "1")]), Err(StoreError::Closed)));
    phase(SubmissionPhase::Closing);
    let waits = submit_set(&store, empty(&store)).expect("what is pending will be decided");
    phase(before);
    disk.release();
    assert_eq!((held.wait(), waits.wait()), (Ok(held.seq), Ok(held.seq)));
}

/// Regression test: a reader that saw the new epoch could then read rows that were not taken back
/// yet. It took the refused change for a current one.
#[test]
fn readers_of_the_new_epoch_see_nothing_of_refused_changes() {
    // It takes milliseconds to take all back, and one look may miss them.
    for _ in 0..4 {
        let disk = SimulatedDisk::new();
        let store = open(&disk);
        // The rollback visits all rows, and the later table last.
        let many: Vec<RowChange> = (0..50_000).map(|n| put(Table::Objects, &format!("row {n}"), "1")).collect();
        commit(&store, many);
        let held = hold(&disk, &store);
        let behind = submit(&store, vec![put(Table::Locks, "lock", "1")]).expect("taken");
        let at = disk.syncs_of(StoreFile::Journal) + 2;
        disk.plan_for(StoreFile::Journal, FaultPlan { at, times: 1, fault: DiskFault::Write });
        std::thread::scope(|scope| {
            let looker = scope.spawn(|| {
                while store.epoch() == 0 {
                    std::hint::spin_loop();
                }
                get(&store, ReadLevel::Latest, Table::Locks, "lock")
            });
            disk.release();
            assert_eq!(held.wait(), Ok(held.seq));
            assert!(matches!(behind.wait(), Err(StoreError::Failed(_))));
            assert_eq!(looker.join().expect("it looks"), None);
        });
    }
}

#[test]
fn a_commit_whose_sync_failed_but_whose_record_is_there_is_made_sure_of() {
    for fault in [DiskFault::Sync, DiskFault::SyncForgets] {
        let disk = SimulatedDisk::new();
        let store = open(&disk);
        let held = hold(&disk, &store);
        let behind = submit(&store, vec![put(Table::Marks, "m", "2")]).expect("taken");
        disk.plan(FaultPlan { at: disk.syncs() + 1, times: 1, fault });
        disk.release();
        assert_eq!(held.wait(), Ok(held.seq));
        assert_eq!(behind.wait(), Ok(behind.seq));
        assert_eq!(store.epoch(), 0);
        disk.crash(2);
        drop(store);
        assert_eq!(all_marks(&open(&disk)), 2);
    }
}

#[test]
fn submissions_fail_at_once_while_the_journal_is_broken() {
    let disk = SimulatedDisk::new();
    let mut options = options(&disk);
    options.decide_within = Duration::from_millis(30);
    let store = two_rows(&disk, options);
    broken(&disk, DiskFault::Sync);
    assert!(store.is_certain());
    let unknown = submit(&store, vec![put(Table::Marks, "m", "1")]).expect("taken");
    match unknown.wait() {
        Err(StoreError::Unknown(why)) => assert!(why.contains("removed"), "{why}"),
        other => panic!("{other:?}"),
    }
    assert!(matches!(store.health(), Health::Failing(_)), "{:?}", store.health());
    assert!(!store.is_certain(), "it may be found after a crash");
    let refusal = submit(&store, vec![put(Table::Marks, "m", "2")]).err();
    assert!(matches!(refusal, Some(StoreError::Failed(_))), "{refusal:?}");
    assert_eq!(get(&store, ReadLevel::Latest, Table::Marks, "m"), None);
    assert_eq!(all_marks(&store), 2);
    store.submit(empty(&store)).expect("nothing is pending, so nothing has to be waited for");

    // Its record was in the file all the while. It must not come back.
    disk.heal();
    until("the store is well again", || store.health() == Health::Ok);
    until("what was found is removed", || store.is_certain());
    commit(&store, vec![put(Table::Marks, "after", "1")]);
    disk.crash(5);
    drop(store);
    let store = open(&disk);
    assert_eq!(get(&store, ReadLevel::Committed, Table::Marks, "m"), None);
    assert_eq!(all_marks(&store), 3);
}

#[test]
fn a_batch_found_at_the_next_start_is_applied_whole_or_not_at_all() {
    let disk = SimulatedDisk::new();
    let mut options = options(&disk);
    options.decide_within = Duration::from_millis(30);
    options.checkpoint.entries = 2;
    let store = RedbStore::open(options).expect("the store opens");
    let held = hold(&disk, &store);
    // With this row a checkpoint begins: while the first half of the batch waits, and before there
    // is a second half.
    let first = submit(&store, vec![put(Table::Marks, "first", "1")]).expect("taken");
    until("a checkpoint has begun", || store.shared.overlay.active().0 == 0);
    let second = submit(&store, vec![put(Table::Marks, "second", "1")]).expect("taken");
    disk.plan_for(
        StoreFile::Journal,
        FaultPlan { at: disk.syncs_of(StoreFile::Journal) + 2, times: u64::MAX, fault: DiskFault::Sync },
    );
    disk.release();
    held.wait().expect("the held commit succeeds");
    for lost in [first, second] {
        assert!(matches!(lost.wait(), Err(StoreError::Unknown(_))));
    }
    until("the checkpoint is made", || store.shared.overlay.total().0 == 0);
    // The record stays: it can't be removed before the process ends.
    drop(store);
    disk.heal();
    let store = open(&disk);
    let there = |name| get(&store, ReadLevel::Committed, Table::Marks, name).is_some();
    assert!(there("held"));
    assert_eq!(there("first"), there("second"));
}

#[test]
fn a_barrier_does_not_resolve_before_the_fate_of_a_failed_commit_is_known() {
    let disk = SimulatedDisk::new();
    let store = open(&disk);
    broken(&disk, DiskFault::Sync);
    let pending = submit(&store, vec![put(Table::Marks, "m", "1")]).expect("taken");
    until("the fault is noticed", || store.health() != Health::Ok);
    let fence = submit_set(&store, empty(&store)).expect("taken");
    assert!(fence.answer.try_recv().is_err());
    disk.heal();
    assert_eq!(pending.wait(), Ok(pending.seq));
    fence.wait().expect("the fence comes through");
}

#[test]
fn a_store_whose_disk_is_gone_can_be_closed() {
    let disk = SimulatedDisk::new();
    let store = open(&disk);
    broken(&disk, DiskFault::Sync);
    let pending = submit(&store, vec![put(Table::Marks, "m", "1")]).expect("taken");
    until("the fault is noticed", || store.health() != Health::Ok);
    store.close();
    assert!(matches!(pending.answer.try_recv(), Ok(Err(StoreError::Unknown(_)))));
    assert_eq!(store.health(), Health::Closed);
}

#[test]
fn failed_checkpoints_are_reported_and_repeated_without_harm_to_others() {
    for fault in [DiskFault::Write, DiskFault::Sync, DiskFault::SyncForgets, DiskFault::Full] {
        let disk = SimulatedDisk::new();
        let mut options = options(&disk);
        options.cache_bytes = 0;
        let store = two_rows(&disk, options);
        // Held before its first sync, so that all commits go through before the fault comes.
        disk.stall(StoreFile::State);
        store.shared.checkpoint_due();
        until("a checkpoint is under way", || store.shared.overlay.active().0 == 0);
        let marks: Vec<RowChange> = (0..50).map(|number| put(Table::Marks, &format!("m{number}"), "1")).collect();
        commit(&store, marks);
        until("the writer rests", || store.shared.gate.lock().taken == 0);
        broken(&disk, fault);
        disk.release();
        until("the fault is told", || store.health() != Health::Ok);
        assert_eq!(store.health() == Health::Full, fault == DiskFault::Full, "{:?}", store.health());
        for _ in 0..5 {
            assert_eq!(all_marks(&store), 52, "{fault:?}");
            assert_eq!(get(&store, ReadLevel::Committed, Table::Marks, "old").as_deref(), Some("1"));
        }
        disk.heal();
        until("the checkpoint is made up for", || store.health() == Health::Ok);
        assert_eq!(all_marks(&store), 52);
        disk.crash(9);
        drop(store);
        assert_eq!(all_marks(&open(&disk)), 52, "{fault:?}");
    }
}

#[test]
fn syncs_forgotten_while_a_store_closes_lose_nothing_at_the_next_open() {
    let there = |store: &RedbStore| {
        store.scan(ReadLevel::Committed, Table::Marks, &KeyRange::prefix(b""), 1000, false).map(|rows| rows.len())
    };
    let many = |prefix: &str| -> Vec<RowChange> {
        (0..300).map(|number| put(Table::Marks, &format!("{prefix}{number}"), &"value ".repeat(50))).collect()
    };
    // Closing has some five syncs.
    for (times, closed) in [(1, true), (1, false), (3, true), (3, false), (13, true), (13, false)] {
        for at in 1..=6 {
            let disk = SimulatedDisk::new();
            let store = open(&disk);
            commit(&store, many("a"));
            disk.plan(FaultPlan { at: disk.syncs() + at, times, fault: DiskFault::SyncForgets });
            drop(store);
            disk.heal();
            let store = open(&disk);
            commit(&store, vec![put(Table::Marks, "b", "1")]);
            if closed {
                // Everything is folded; no journal makes up for what the tables have lost.
                store.close();
            }
            disk.crash(at);
            drop(store);
            let store = try_open(&disk).unwrap_or_else(|error| panic!("{at}, {times}, {closed}: {error}"));
            assert_eq!(there(&store), Ok(301), "{at}, {times}, {closed}");
            commit(&store, many("c"));
            drop(store);
            assert_eq!(there(&open(&disk)), Ok(601), "{at}, {times}, {closed}");
        }
    }
}

#[test]
fn syncs_forgotten_while_files_are_created_lose_nothing_at_the_next_open() {
    for times in [1, 2] {
        for at in 1..=12 {
            let disk = SimulatedDisk::new();
            disk.plan(FaultPlan { at, times, fault: DiskFault::SyncForgets });
            let store = try_open(&disk).or_else(|_| {
                disk.heal();
                try_open(&disk)
            });
            let store = store.unwrap_or_else(|error| panic!("{at}, {times}: {error}"));
            disk.heal();
            // No checkpoint comes by and writes anything anew.
            commit(&store, vec![put(Table::Marks, "m", "1")]);
            disk.crash(at);
            drop(store);
            let store = try_open(&disk).unwrap_or_else(|error| panic!("{at}, {times}: {error}"));
            assert_eq!(all_marks(&store), 1, "{at}, {times}");
        }
    }
}

#[test]
fn a_table_that_could_not_be_read_once_is_read_again() {
    let disk = SimulatedDisk::new();
    let mut options = options(&disk);
    options.cache_bytes = 0;
    let store = two_rows(&disk, options);
    disk.fail_reads(StoreFile::State, 1);
    assert_eq!(get(&store, ReadLevel::Committed, Table::Marks, "old").as_deref(), Some("1"));
    assert_eq!(all_marks(&store), 2);
}

/// Regression test: each read waited for two seconds for an opening that had failed at once. It
/// kept a thread that others needed.
#[test]
fn reads_do_not_wait_for_tables_that_cannot_be_opened() {
    let disk = SimulatedDisk::new();
    let mut options = options(&disk);
    options.cache_bytes = 0;
    let store = open(&disk);
    // More than one page.
    let rows = (0..200).map(|number| put(Table::Bodies, &format!("{number:03}"), &"row ".repeat(200)));
    commit(&store, rows.collect());
    store.close();
    let store = two_rows(&disk, options);
    let read = |number: u64| store.get(ReadLevel::Committed, Table::Bodies, format!("{number:03}").as_bytes());
    disk.fail_reads(StoreFile::State, u64::MAX);
    for number in 0..20 {
        let found = read(number);
        assert!(matches!(found, Err(StoreError::Failed(_))), "{found:?}");
    }
    let (_, waits) = store.shared.reopening.counts();
    assert!(waits <= 3, "of 20 reads {waits} have waited");
    assert_eq!(
        get(&store, ReadLevel::Committed, Table::Marks, "new").as_deref(),
        Some("1"),
        "what is in memory is told"
    );
    disk.fail_reads(StoreFile::State, 0);
    until("the tables can be read again", || read(1).is_ok());
    until("the store is well again", || store.health() == Health::Ok);
    assert_eq!(all_marks(&store), 2);
}

/// Regression test: each read of such a page reopened the file three times, which ended the
/// snapshots of all other readers.
#[test]
fn an_unreadable_page_is_retried_rarely_and_blocks_no_other_page() {
    let disk = SimulatedDisk::new();
    let mut options = options(&disk);
    options.cache_bytes = 0;
    let store = RedbStore::open(options).expect("the store opens");
    let rows = (0..200).map(|number| put(Table::Bodies, &format!("{number:03}"), &"row ".repeat(200)));
    let seq = commit(&store, rows.collect());
    store.shared.checkpoint_due();
    until("it is folded", || store.shared.folded.load(std::sync::atomic::Ordering::Acquire) == seq);
    let read = |number: u64| store.get(ReadLevel::Committed, Table::Bodies, format!("{number:03}").as_bytes());
    // Imitates a bad page: reading it fails, and fails again after a successful reopening of the
    // file. Without optimisation redb reads every page when it opens a file, so no page can stay
    // bad.
    let (shared, on) = (store.shared.clone(), disk.clone());
    let spoils = move || {
        let on = on.clone();
        shared.hooks.amid_look.set(move || on.fail_reads(StoreFile::State, 1));
    };
    spoils();
    store.shared.hooks.read_failed.set(spoils);
    for other in 0..20 {
        let spoilt = read(100);
        assert!(matches!(spoilt, Err(StoreError::Failed(_))), "{spoilt:?}");
        let found = read(other);
        assert!(found.is_ok(), "{other}: {found:?}");
    }
    let (ended, waits) = store.shared.reopening.counts();
    assert!(ended <= 3 && waits <= 3, "the file was opened {ended} times, and {waits} reads have waited");
    until("it is tried again", || read(100).is_ok());
}

#[test]
fn a_fault_that_was_got_over_is_not_told_in_place_of_a_newer_one() {
    let disk = SimulatedDisk::new();
    let store = open(&disk);
    let large = |size| vec![put(Table::Bodies, "b", &"x".repeat(size))];
    let first = commit(&store, large(300_000));
    store.shared.checkpoint_due();
    until("it is folded", || store.shared.folded.load(std::sync::atomic::Ordering::Acquire) == first);
    // The file can't grow. Then folded records make room.
    disk.plan_for(StoreFile::Journal, FaultPlan { at: 0, times: u64::MAX, fault: DiskFault::NoRoom });
    while disk.struck() == 0 {
        commit(&store, large(100_000));
    }
    disk.heal();
    let at = disk.syncs_of(StoreFile::Journal) + 1;
    disk.plan_for(StoreFile::Journal, FaultPlan { at, times: 1, fault: DiskFault::Write });
    let failed = submit(&store, vec![put(Table::Marks, "m", "1")]).expect("taken").wait();
    assert!(matches!(failed, Err(StoreError::Failed(_))), "{failed:?}");
}

#[test]
fn a_set_that_is_too_large_is_refused() {
    let disk = SimulatedDisk::new();
    let mut options = options(&disk);
    options.limits.set_bytes = 1_000;
    let store = RedbStore::open(options).expect("the store opens");
    let changes = vec![put(Table::Bodies, "b", &"x".repeat(1_001))];
    let refusal = store.submit(ChangeSet { changes, ..empty(&store) }).expect_err("refused");
    assert!(matches!(refusal.why, StoreError::Failed(_)));
    commit(&store, vec![put(Table::Bodies, "b", &"x".repeat(900))]);
}
