//! Damaged or lost files, and files of another store: a start reports them, or has lost nothing.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;

use proptest::prelude::*;
use stet_domain::store::{Health, KeyRange, ReadLevel, RowReader, Store, Table};

use super::*;
use crate::blob::{self, ChangeSetParts};
use crate::fault::{DiskFault, FaultPlan};
use crate::journal::FORMAT;
use crate::migrate::{MIGRATIONS, Migration, present};
use crate::record::{FileHead, HEAD, MarkContent, PAGE, Salt};
use crate::tables::{FOLDED, META};
use crate::{Backends, JournalLoss, StoreFile};

type Bytes3 = BTreeMap<StoreFile, Vec<u8>>;

fn files(disk: &SimulatedDisk) -> Bytes3 {
    StoreFile::ALL.into_iter().map(|file| (file, disk.bytes(file))).collect()
}

fn on_disk(files: &Bytes3) -> SimulatedDisk {
    SimulatedDisk::holding(files.clone())
}

/// Changes in the tables, and those after them that are in the journal alone.
const FOLDED_CHANGES: u64 = 3;
const CHANGES: u64 = 10;

/// Returns two states of the files. The first is that of a clean end after [`FOLDED_CHANGES`], the
/// second that of a killed process after [`CHANGES`].
fn killed() -> (Bytes3, Bytes3) {
    let disk = SimulatedDisk::new();
    let store = open(&disk);
    for number in 1..=FOLDED_CHANGES {
        assert_eq!(commit(&store, vec![put(Table::Marks, &format!("{number:03}"), "x")]), number);
    }
    store.close();
    let before = files(&disk);
    let store = open(&disk);
    for number in FOLDED_CHANGES + 1..=CHANGES {
        commit(&store, vec![put(Table::Marks, &format!("{number:03}"), "x")]);
    }
    (before, files(&disk))
}

/// Returns the number of changes in the store. They must be the first ones.
fn there(store: &RedbStore) -> u64 {
    let rows = store.scan(ReadLevel::Committed, Table::Marks, &KeyRange::prefix(b"0"), 1000, false).expect("readable");
    let wanted: Vec<_> = (1..=rows.len()).map(|number| format!("{number:03}")).collect();
    assert_eq!(rows.iter().map(|(key, _)| String::from_utf8_lossy(key).into_owned()).collect::<Vec<_>>(), wanted);
    rows.len() as u64
}

fn lost(files: &Bytes3) -> JournalLoss {
    match try_open(&on_disk(files)) {
        Err(OpenError::Lost(loss)) => loss,
        Err(error) => panic!("{error}"),
        Ok(store) => panic!("it opens, with {} changes", there(&store)),
    }
}

/// Returns the offset of a change's record. Each record is one page long.
fn record(files: &Bytes3, number: u64) -> usize {
    let name = format!("{number:03}");
    // A table's number, the length of the key, the key, and the length of the value and one.
    let row = [&[Table::Marks as u8, 3, 0, 0, 0], name.as_bytes(), &[2, 0, 0, 0]].concat();
    let found = files[&StoreFile::Journal].windows(row.len()).rposition(|bytes| bytes == row);
    found.expect("the record is there") / PAGE * PAGE
}

/// A way to damage the files of a killed process, and the result. The numbers are the last change
/// that is then present, and the last change known to be lost.
type Damage = (&'static str, fn(&mut Bytes3), u64, Option<u64>);

fn spoil(files: &mut Bytes3, last: u64, byte: impl Fn(u8) -> u8) {
    for number in CHANGES - last + 1..=CHANGES {
        let at = record(files, number);
        files
            .get_mut(&StoreFile::Journal)
            .expect("there")
            .iter_mut()
            .skip(at)
            .take(PAGE)
            .for_each(|at| *at = byte(*at));
    }
}

/// Changes one bit of a change's record.
fn flip(files: &mut Bytes3, number: u64, offset: usize) {
    let at = record(files, number) + offset;
    files.get_mut(&StoreFile::Journal).expect("there")[at] ^= 1;
}

fn cut(files: &mut Bytes3, last: u64) {
    let at = record(files, CHANGES - last + 1);
    files.get_mut(&StoreFile::Journal).expect("there").truncate(at);
}

/// Puts other records into the journal, of `each` changes, as a copy of the directory would have
/// written them.
fn written_elsewhere(files: &mut Bytes3, each: u64) {
    let journal = files.get_mut(&StoreFile::Journal).expect("there");
    let salt = FileHead::read(journal).expect("a journal").salt;
    journal.truncate(PAGE);
    for previous in (FOLDED_CHANGES..CHANGES + 2).step_by(each as usize) {
        let mut record = Vec::new();
        let numbers: Vec<_> = (previous + 1..=previous + each).collect();
        let changes: Vec<_> =
            numbers.iter().map(|number| [put(Table::Marks, &format!("{number:03}"), "elsewhere")]).collect();
        let sets =
            numbers.iter().zip(&changes).map(|(seq, changes)| ChangeSetParts { seq: *seq, changes, events: &[] });
        salt.sealed(previous, previous + each, &mut record, |payload| blob::encode(sets, payload));
        journal.extend(record);
    }
}

const DAMAGES: &[Damage] = &[
    ("the newest record is damaged", |files| spoil(files, 1, |byte| byte ^ 1), 9, Some(10)),
    ("the last two records are damaged", |files| spoil(files, 2, |byte| byte ^ 0x40), 8, Some(10)),
    ("the last six records are damaged", |files| spoil(files, 6, |byte| !byte), 4, Some(10)),
    ("the last two records are zeros", |files| spoil(files, 2, |_| 0), 8, Some(10)),
    ("the newest record has another checksum", |files| flip(files, CHANGES, HEAD - 1), 9, Some(10)),
    ("the newest record has another content", |files| flip(files, CHANGES, HEAD), 9, Some(10)),
    ("a record before others has another checksum", |files| flip(files, 6, HEAD - 1), 5, Some(10)),
    ("a record before others has another content", |files| flip(files, 6, HEAD), 5, Some(10)),
    ("it is cut by one record", |files| cut(files, 1), 9, Some(10)),
    ("it is cut by two records", |files| cut(files, 2), 8, Some(10)),
    ("it is cut by six records", |files| cut(files, 6), 4, Some(10)),
    ("it is empty", |files| files.get_mut(&StoreFile::Journal).expect("there").clear(), 3, Some(10)),
    ("it is not there", |files| drop(files.remove(&StoreFile::Journal)), 3, Some(10)),
    ("its head is damaged", |files| files.get_mut(&StoreFile::Journal).expect("there")[9] ^= 1, 3, Some(10)),
    (
        "it is another store's",
        |files| drop(files.insert(StoreFile::Journal, killed().1[&StoreFile::Journal].clone())),
        3,
        Some(10),
    ),
    (
        "journal and mark are another store's",
        |files| {
            let other = killed().1;
            for file in [StoreFile::Journal, StoreFile::Mark] {
                files.insert(file, other[&file].clone());
            }
        },
        3,
        None,
    ),
    ("it is that of a copy", |files| written_elsewhere(files, 1), 3, Some(10)),
    ("it is that of a copy, whose commits had two changes each", |files| written_elsewhere(files, 2), 3, Some(10)),
    ("the mark is not there", |files| drop(files.remove(&StoreFile::Mark)), 10, None),
    ("the mark is damaged", |files| files.get_mut(&StoreFile::Mark).expect("there").fill(7), 10, None),
];

#[test]
fn journal_losses_are_reported_with_numbers_and_can_be_accepted() {
    let (_, sound) = killed();
    assert_eq!(there(&open(&on_disk(&sound))), CHANGES);
    for (what, damage, kept, last) in DAMAGES {
        let mut damaged = sound.clone();
        damage(&mut damaged);
        let loss = lost(&damaged);
        assert_eq!((loss.kept, loss.last), (*kept, *last), "{what}: {loss}");

        let disk = on_disk(&damaged);
        let left = files(&disk);
        let found = RedbStore::salvage(options(&disk), false).expect("it can be looked at");
        assert_eq!((&found.loss, found.kept, found.folded), (&Some(loss), *kept, FOLDED_CHANGES), "{what}");
        assert!(files(&disk) == left, "{what}: looking at it has changed it");
        let done = RedbStore::salvage(options(&disk), true).expect("it can be given up");
        assert_eq!((done.loss, done.kept), (found.loss, found.kept), "{what}");
        for _ in 0..2 {
            let store = open(&disk);
            assert_eq!(there(&store), *kept, "{what}");
            // Numbers that were given are not given again.
            assert!(store.committed() >= last.unwrap_or(*kept), "{what}");
        }
        let whole = RedbStore::salvage(options(&disk), true).expect("it can be looked at");
        assert_eq!((whole.loss, whole.aside), (None, None), "{what}");
        commit(&open(&disk), vec![put(Table::Marks, "after", "x")]);
        assert_eq!(get(&open(&disk), ReadLevel::Committed, Table::Marks, "after").as_deref(), Some("x"), "{what}");
    }
}

#[test]
fn the_journal_of_a_copy_is_told_from_the_one_that_was_written_here() {
    let (base, _) = killed();
    let run = |changes: u64, what: &str, checkpoint: bool| {
        let disk = on_disk(&base);
        let store = if checkpoint { RedbStore::open(busy_options(&disk)).expect("it opens") } else { open(&disk) };
        for number in 0..changes {
            commit(&store, vec![put(Table::Marks, &format!("{what}{number}"), "x")]);
            if checkpoint {
                until("it is folded", || store.shared.folded.load(Ordering::Acquire) >= store.committed());
            }
        }
        // As `kill -9` leaves them.
        let files = files(&disk);
        drop(store);
        files
    };
    for (own, folded) in [(5, false), (5, true), (9, false), (1, false)] {
        let mine = run(own, "mine", folded);
        assert!(try_open(&on_disk(&mine)).is_ok());
        for theirs in [1, own, own + 1, own + 4] {
            let mut mixed = mine.clone();
            mixed.insert(StoreFile::Journal, run(theirs, "theirs", false)[&StoreFile::Journal].clone());
            if folded && theirs < own {
                // All that this one has made is in its tables.
                let store = open(&on_disk(&mixed));
                let newest = get(&store, ReadLevel::Committed, Table::Marks, &format!("mine{}", own - 1));
                assert_eq!(newest.as_deref(), Some("x"), "{own}, {theirs}");
                continue;
            }
            let loss = lost(&mixed);
            assert_eq!(loss.last, Some(FOLDED_CHANGES + own), "{own}, {theirs}: {loss}");
            if theirs >= own {
                assert!(loss.why.contains("was not written by this data directory"), "{own}, {theirs}: {loss}");
            }
            let theirs = run(theirs, "theirs", false);
            mixed.insert(StoreFile::Mark, theirs[&StoreFile::Mark].clone());
            // With its mark the loss can't be detected, as the documents state. Nothing is asserted
            // about it here.
            drop(try_open(&on_disk(&mixed)));
        }
    }
}

/// Regression test: a start and a salvage refused, whatever was in the sector.
#[test]
fn a_page_that_can_not_be_read_is_as_one_that_is_damaged() {
    let (_, sound) = killed();
    let without = |file, at: usize| {
        let disk = on_disk(&sound);
        disk.lose_page(file, at);
        disk
    };
    let journal = |at| without(StoreFile::Journal, at);
    let needed: Vec<usize> = (FOLDED_CHANGES + 1..=CHANGES).map(|number| record(&sound, number)).collect();
    let len = sound[&StoreFile::Journal].len();
    // Free space, and the records of changes that are in the tables.
    let others: Vec<usize> =
        (PAGE..len).step_by(PAGE).filter(|at| !needed.contains(at)).take(2).chain([len - PAGE]).collect();
    for at in others {
        let disk = journal(at);
        assert_eq!(RedbStore::salvage(options(&disk), false).expect("it can be looked at").loss, None, "{at}");
        let store = open(&disk);
        assert_eq!(there(&store), CHANGES, "{at}");
        disk.open(StoreFile::Journal).and_then(|file| file.read(at as u64, &mut [0; PAGE])).expect("it was written");
        commit(&store, vec![put(Table::Marks, "after", "x")]);
        drop(store);
        assert_eq!(there(&open(&disk)), CHANGES, "{at}");
    }
    // Records that are needed, with the newest; and what a journal begins with.
    let losses = (FOLDED_CHANGES..).zip(&needed).map(|(kept, at)| (kept, *at)).chain([(FOLDED_CHANGES, 0)]);
    for (kept, at) in losses {
        let disk = journal(at);
        let Err(OpenError::Lost(loss)) = try_open(&disk) else { panic!("{kept}: it opens") };
        assert_eq!((loss.kept, loss.last), (kept, Some(CHANGES)), "{loss}");
        let done = RedbStore::salvage(options(&disk), true).expect("it can be given up");
        assert_eq!(done.loss, Some(loss));
        disk.mend();
        assert_eq!(there(&open(&disk)), kept);
    }
    // One half of the mark is enough, and the other is written again.
    for at in [0, PAGE] {
        let disk = without(StoreFile::Mark, at);
        let store = open(&disk);
        assert_eq!(there(&store), CHANGES, "{at}");
        commit(&store, vec![put(Table::Marks, "after", "x")]);
        disk.open(StoreFile::Mark).and_then(|file| file.read(at as u64, &mut [0; PAGE])).expect("it was written");
    }
    // The newest record, which the older mark does not cover: it may have been acknowledged.
    let disk = on_disk(&sound);
    // Nothing that can be packed into a page.
    let mut state = 1u64;
    let letters = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        char::from(b'a' + (state >> 60) as u8)
    });
    let large: String = letters.take(6 * PAGE).collect();
    let store = open(&disk);
    commit(&store, vec![put(Table::Marks, &format!("{:03}", CHANGES + 1), &large)]);
    let mut files = files(&disk);
    drop(store);
    files.insert(StoreFile::Mark, sound[&StoreFile::Mark].clone());
    assert_eq!(there(&open(&on_disk(&files))), CHANGES + 1, "the mark is of before");
    let disk = on_disk(&files);
    let [old, new] = [&sound, &files].map(|files| files[&StoreFile::Journal].chunks(PAGE).collect::<Vec<_>>());
    let changed: Vec<usize> = (0..new.len()).filter(|page| old.get(*page) != Some(&new[*page])).collect();
    assert!(changed.len() > 1, "{changed:?}");
    disk.lose_page(StoreFile::Journal, changed[1] * PAGE);
    let Err(OpenError::Lost(loss)) = try_open(&disk) else { panic!("it opens") };
    assert_eq!((loss.kept, loss.last), (CHANGES, Some(CHANGES + 1)), "{loss}");
}

/// A start that took such a failure for damage would report a loss, or replace the journal by a new
/// one.
#[test]
fn a_read_that_fails_for_another_reason_is_not_taken_for_damage() {
    let (_, sound) = killed();
    for file in [StoreFile::Journal, StoreFile::Mark] {
        for reads in 0.. {
            let disk = on_disk(&sound);
            disk.run_out_of_memory(file, reads);
            let opened = try_open(&disk);
            if !disk.has_run_out_of_memory() {
                assert!(reads > 1, "{file:?} is read more than once");
                break;
            }
            let Err(OpenError::Io(_)) = opened else { panic!("{file:?}, {reads}: {:?}", opened.map(drop)) };
            assert_eq!(there(&open(&disk)), CHANGES, "{file:?}, {reads}");
        }
    }
}

/// Regression test: the mark was older than the close, whose empty record was taken for that of a
/// copy.
#[test]
fn a_journal_with_a_mark_older_than_a_close_is_not_taken_for_a_copy() {
    let (_, files_before) = killed();
    let disk = on_disk(&files_before);
    let store = open(&disk);
    let newest = record(&files_before, CHANGES);
    // The close has written its record, and the mark gets to the disk no more.
    disk.plan_for(
        StoreFile::Mark,
        FaultPlan { at: disk.syncs_of(StoreFile::Mark) + 1, times: 1, fault: DiskFault::Crash },
    );
    store.close();
    assert_eq!(disk.boots(), 1);
    let mark = files_before[&StoreFile::Mark].clone();
    let mut at_start = files(&disk);
    at_start.insert(StoreFile::Mark, mark.clone());
    assert_eq!(record(&at_start, CHANGES), newest, "the record that the mark speaks of is there");
    let disk = on_disk(&at_start);
    let store = open(&disk);
    let mut changes = CHANGES;
    while disk.bytes(StoreFile::Journal)[newest..newest + PAGE] == at_start[&StoreFile::Journal][newest..newest + PAGE]
    {
        changes += 1;
        assert_eq!(commit(&store, vec![put(Table::Marks, &format!("{changes:03}"), "x")]), changes);
        assert!(changes < 900, "its place is written over soon");
    }
    // Power fails, and none of the marks has got to the disk.
    let mut left = files(&disk);
    left.insert(StoreFile::Mark, mark);
    assert_eq!(there(&open(&on_disk(&left))), changes);
}

#[test]
fn a_salvage_that_ends_at_any_sync_can_be_repeated() {
    for (what, damage, kept, _) in DAMAGES {
        let mut damaged = killed().1;
        damage(&mut damaged);
        for at in 1.. {
            let disk = on_disk(&damaged);
            disk.plan(FaultPlan { at, times: 1, fault: DiskFault::Crash });
            let done = catch_unwind(AssertUnwindSafe(|| RedbStore::salvage(options(&disk), true)));
            let crashed = disk.boots() > 0;
            disk.heal();
            let again =
                RedbStore::salvage(options(&disk), true).unwrap_or_else(|error| panic!("{what}, {at}: {error}"));
            assert_eq!(there(&open(&disk)), *kept, "{what}, {at}: {done:?}, {again:?}");
            if !crashed {
                break;
            }
        }
    }
}

#[test]
fn after_a_clean_close_a_journal_that_is_gone_is_told_and_nothing_is_lost() {
    let (mut closed, _) = killed();
    closed.remove(&StoreFile::Journal);
    let loss = lost(&closed);
    assert_eq!((loss.kept, loss.last), (FOLDED_CHANGES, Some(FOLDED_CHANGES)));
    assert!(loss.to_string().contains("none is known to be missing"), "{loss}");
}

#[test]
fn older_tables_are_told_and_older_files_all_together_can_not_be() {
    let (closed, killed) = killed();
    // The journal still begins where the older tables end, so nothing is lost.
    let mut older = killed.clone();
    older.insert(StoreFile::State, closed[&StoreFile::State].clone());
    assert_eq!(there(&open(&on_disk(&older))), CHANGES);
    let disk = on_disk(&killed);
    drop(open(&disk));
    let mut older = files(&disk);
    older.insert(StoreFile::State, closed[&StoreFile::State].clone());
    let loss = lost(&older);
    assert_eq!((loss.kept, loss.last), (FOLDED_CHANGES, Some(CHANGES)), "{loss}");
    assert!(loss.why.contains("restored"), "{loss}");
    // An older journal beside the tables is noticed by the mark, and an older mark says nothing.
    let mut older = killed.clone();
    older.insert(StoreFile::Journal, closed[&StoreFile::Journal].clone());
    assert_eq!(lost(&older).last, Some(CHANGES));
    older.insert(StoreFile::Mark, closed[&StoreFile::Mark].clone());
    assert_eq!(there(&open(&on_disk(&older))), FOLDED_CHANGES);
    assert_eq!(there(&open(&on_disk(&closed))), FOLDED_CHANGES);
}

#[test]
fn tables_that_begin_with_zeros_are_refused_and_left_unchanged() {
    let (closed, killed) = killed();
    for files in [closed, killed] {
        for without in [None, Some(StoreFile::Journal)] {
            let mut files = files.clone();
            files.get_mut(&StoreFile::State).expect("there")[..64].fill(0);
            without.map(|file| files.remove(&file));
            let disk = on_disk(&files);
            let error = try_open(&disk).expect_err("refused");
            assert!(matches!(&error, OpenError::Corrupt(why) if why.contains("zeros")), "{error}");
            assert!(disk.bytes(StoreFile::State) == files[&StoreFile::State], "it was changed");
        }
    }
}

#[test]
fn tables_that_are_gone_are_told() {
    let (closed, killed) = killed();
    for mut files in [closed.clone(), killed] {
        files.remove(&StoreFile::State);
        for journal in [true, false] {
            if !journal {
                files.remove(&StoreFile::Journal);
            }
            let disk = on_disk(&files);
            let error = try_open(&disk).expect_err("refused");
            assert!(matches!(&error, OpenError::Corrupt(why) if why.contains("state.redb is missing")), "{error}");
            assert!(disk.bytes(StoreFile::State).is_empty(), "it was made anew");
            let error = RedbStore::salvage(options(&disk), true).expect_err("there is nothing to go on with");
            assert!(error.to_string().contains("state.redb"), "{error}");
        }
    }
    // A store whose journal goes back to its beginning loses nothing, unless the journal has a
    // loss, too.
    let disk = SimulatedDisk::new();
    let store = open(&disk);
    for number in 1..=CHANGES {
        commit(&store, vec![put(Table::Marks, &format!("{number:03}"), "x")]);
    }
    let mut files = files(&disk);
    files.remove(&StoreFile::State);
    assert_eq!(there(&open(&on_disk(&files))), CHANGES);
    cut(&mut files, 2);
    assert!(matches!(try_open(&on_disk(&files)), Err(OpenError::Corrupt(_))));
}

/// A mark that knows no record, but the number of the newest change alone.
fn mark_of_a_number_alone(sound: &Bytes3) -> Vec<u8> {
    let salt = FileHead::read(&sound[&StoreFile::Journal]).expect("a journal").salt;
    let mut half = salt.mark(MarkContent { sure: CHANGES, sum: None });
    half.resize(PAGE, 0);
    half.repeat(2)
}

#[test]
fn a_mark_with_a_number_only_is_read_and_the_next_one_has_the_record() {
    let sound = killed().1;
    let mut killed_so = sound.clone();
    killed_so.insert(StoreFile::Mark, mark_of_a_number_alone(&sound));
    let disk = on_disk(&killed_so);
    assert_eq!(there(&open(&disk)), CHANGES);
    // The content of the mark was written anew.
    let mut elsewhere = files(&disk);
    written_elsewhere(&mut elsewhere, 1);
    elsewhere.insert(StoreFile::State, sound[&StoreFile::State].clone());
    assert!(lost(&elsewhere).why.contains("was not written by this data directory"));
    // It still reports the loss.
    cut(&mut killed_so, 2);
    assert_eq!(lost(&killed_so).last, Some(CHANGES));
}

#[test]
fn a_migration_survives_a_crash_at_any_sync() {
    let before = killed().1;
    let step = || Migration { number: present(MIGRATIONS) + 1, what: "changes nothing", run: |_| Ok(0) };
    let try_open = |disk: &SimulatedDisk| RedbStore::open_with(options(disk), &[step()]);
    for fault in [DiskFault::Crash, DiskFault::Sync, DiskFault::SyncForgets] {
        for at in 1.. {
            let disk = on_disk(&before);
            disk.plan(FaultPlan { at, times: 1, fault });
            drop(try_open(&disk));
            let struck = disk.struck() > 0;
            disk.heal();
            let store = try_open(&disk).unwrap_or_else(|error| panic!("{fault:?}, {at}: {error}"));
            assert_eq!(there(&store), CHANGES, "{fault:?}, {at}");
            commit(&store, vec![put(Table::Marks, "after", "x")]);
            disk.crash(at);
            drop(store);
            let store = try_open(&disk).unwrap_or_else(|error| panic!("{fault:?}, {at}: {error}"));
            assert_eq!(there(&store), CHANGES, "{fault:?}, {at}");
            if !struck {
                break;
            }
        }
    }
}

#[test]
fn the_journal_of_new_tables_is_theirs_alone() {
    let disk = SimulatedDisk::new();
    drop(open(&disk));
    let mut files = files(&disk);
    let head = FileHead { format: FORMAT, salt: Salt::random() };
    files.get_mut(&StoreFile::Journal).expect("there")[..PAGE].copy_from_slice(&head.page());
    assert!(lost(&files).why.contains("another"));
}

/// Damage to one page.
#[derive(Debug, Clone)]
enum Blow {
    Zeros,
    Noise(u64),
    Flip(usize, u8),
    /// The file ends before it.
    Cut,
}

fn any_blow() -> impl Strategy<Value = (StoreFile, prop::sample::Index, Blow)> {
    let blow = prop_oneof![
        2 => Just(Blow::Zeros),
        2 => any::<u64>().prop_map(Blow::Noise),
        3 => (0..PAGE, 1..=255u8).prop_map(|(at, by)| Blow::Flip(at, by)),
        1 => Just(Blow::Cut),
    ];
    // The newest pages of the journal are hit most, for they are the ones that a loss can't be seen
    // of.
    let file = prop_oneof![4 => Just(StoreFile::Journal), 1 => Just(StoreFile::Mark), 2 => Just(StoreFile::State)];
    (file, any::<prop::sample::Index>(), blow)
}

fn strike(files: &mut Bytes3, file: StoreFile, page: usize, blow: &Blow) {
    let bytes = files.get_mut(&file).expect("there");
    let from = page * PAGE;
    let to = bytes.len().min(from + PAGE);
    match blow {
        _ if from >= bytes.len() => {}
        Blow::Zeros => bytes[from..to].fill(0),
        Blow::Noise(seed) => {
            let mut seed = *seed;
            bytes[from..to].iter_mut().for_each(|byte| *byte = crate::fault::random(&mut seed) as u8);
        }
        Blow::Flip(at, by) => {
            if from + at < to {
                bytes[from + at] ^= by;
            }
        }
        Blow::Cut => bytes.truncate(from),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, max_shrink_iters: 500, ..ProptestConfig::default() })]

    /// Damages random pages after a kill. A start that checks the tables' pages must refuse, or
    /// have all acknowledged changes. The newest commit may be missing where the mark is damaged,
    /// too.
    #[test]
    fn damaged_pages_are_told_or_nothing_is_lost(
        commits in 1..12u64,
        closes in prop::collection::vec(any::<prop::sample::Index>(), 0..2),
        blows in prop::collection::vec(any_blow(), 1..4),
    ) {
        let disk = SimulatedDisk::new();
        let mut store = open(&disk);
        let closes: Vec<_> = closes.iter().map(|at| at.index(commits as usize) as u64 + 1).collect();
        for number in 1..=commits {
            let text = "text ".repeat(number as usize * 100);
            commit(&store, vec![put(Table::Marks, &format!("{number:03}"), &text)]);
            if closes.contains(&number) {
                store.close();
                store = open(&disk);
            }
        }
        let mut files = files(&disk);
        drop(store);
        for (file, page, blow) in &blows {
            // The journal's rest is a mebibyte of zeros.
            let bytes = &files[file];
            let used = bytes.len() - bytes.iter().rev().take_while(|byte| **byte == 0).count();
            strike(&mut files, *file, page.index(used.div_ceil(PAGE).max(1)), blow);
        }
        let disk = on_disk(&files);
        let verified = crate::StoreOptions { verify: true, ..options(&disk) };
        if let Ok(store) = RedbStore::open(verified) {
            let rows = store.scan(ReadLevel::Committed, Table::Marks, &KeyRange::prefix(b"0"), 1000, false);
            let rows = rows.expect("what was checked can be read");
            let marked = blows.iter().any(|(file, ..)| *file == StoreFile::Mark);
            let there = rows.len() as u64;
            prop_assert!(there == commits || (marked && there + 1 == commits), "{} of {}", there, commits);
            for (number, (_, value)) in (1..).zip(&rows) {
                prop_assert_eq!(value.len(), number * 500);
                prop_assert!(value.chunks(5).all(|text| text == b"text "));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, max_shrink_iters: 200, ..ProptestConfig::default() })]

    /// Covers damaged pages in a running server, which does not check all pages at start. Whatever
    /// redb does with them, only the caller gets an error, in words.
    #[test]
    fn damaged_pages_of_the_tables_panic_nowhere(
        blows in prop::collection::vec((any::<prop::sample::Index>(), any_blow()), 1..4),
    ) {
        let disk = SimulatedDisk::new();
        let store = open(&disk);
        let rows: Vec<_> = (0..400).map(|number| put(Table::Marks, &format!("{number:03}"), &"text ".repeat(50))).collect();
        commit(&store, rows);
        store.close();
        let mut files = files(&disk);
        for (page, (_, _, blow)) in &blows {
            let pages = files[&StoreFile::State].len().div_ceil(PAGE).max(1);
            strike(&mut files, StoreFile::State, page.index(pages), blow);
        }
        let disk = on_disk(&files);
        let mut options = options(&disk);
        options.cache_bytes = 0;
        if let Ok(store) = RedbStore::open(options) {
            for table in Table::ALL {
                // Either is right; that it returns is what counts.
                drop(store.scan(ReadLevel::Committed, *table, &KeyRange::prefix(b""), 1000, false));
            }
            if let Ok(answer) = submit(&store, vec![put(Table::Marks, "after", "x")]) {
                answer.wait().expect("the journal takes it");
            }
            store.close();
        }
    }
}

#[test]
fn a_journal_that_grows_while_checkpoints_fail_is_bounded_by_its_bytes() {
    let disk = SimulatedDisk::new();
    let mut options = options(&disk);
    options.limits.journal_bytes = 200_000;
    let store = RedbStore::open(options).expect("the store opens");
    disk.stall(StoreFile::State);
    let text = "x".repeat(10_000);
    let mut taken = 0;
    // One row, again and again: in memory it is there once.
    let refusal = loop {
        match submit(&store, vec![put(Table::Marks, "m", &text)]) {
            Ok(answer) => answer.wait().expect("the journal works"),
            Err(why) => break why,
        };
        taken += 1;
        assert!(taken < 100, "there is no bound");
    };
    assert_eq!(refusal, StoreError::Overloaded);
    disk.release();
    until("a checkpoint makes room", || {
        submit(&store, vec![put(Table::Marks, "m", "x")]).is_ok_and(|answer| answer.wait().is_ok())
    });
}

#[test]
fn a_journal_not_rewritten_at_start_is_rewritten_before_the_next_commit() {
    let (_, killed) = killed();
    let disk = on_disk(&killed);
    // No write succeeds, not even an overwrite.
    disk.plan_for(StoreFile::Journal, FaultPlan { at: 0, times: u64::MAX, fault: DiskFault::Full });
    let Ok(store) = try_open(&disk) else { panic!("it opens for reading") };
    assert_eq!(there(&store), CHANGES);
    let before = disk.writes();
    disk.heal();
    until("changes are taken", || {
        submit(&store, vec![put(Table::Marks, "after", "x")]).is_ok_and(|answer| answer.wait().is_ok())
    });
    let pages = killed[&StoreFile::Journal].len().div_ceil(1 << 20) as u64;
    assert!(disk.writes() > before + pages, "the journal was written again before anything was built upon it");
    assert_eq!(store.health(), Health::Ok);
}

#[test]
fn tables_of_which_a_folded_number_is_not_true_are_told() {
    let data = tempfile::tempdir().expect("a directory");
    let (_, killed) = killed();
    let path = data.path().join("state.redb");
    for (file, bytes) in &killed {
        std::fs::write(data.path().join(file.name()), bytes).expect("written");
    }
    let db = redb::Database::open(&path).expect("a database");
    let transaction = db.begin_write().expect("a transaction");
    transaction.open_table(META).expect("the table").insert(FOLDED, 2).expect("inserted");
    transaction.commit().expect("committed");
    drop(db);
    let error = RedbStore::open(StoreOptions::new(data.path())).expect_err("refused");
    assert!(matches!(&error, OpenError::Lost(loss) if loss.kept == 2), "{error}");
}
