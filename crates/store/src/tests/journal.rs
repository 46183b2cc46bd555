//! The journal's file: its content after appends, folds and crashes, compared with a list, and the
//! files that it refuses.

use proptest::prelude::*;

use super::*;
use crate::StoreFile;
use crate::blob::NumberedChangeSet;
use crate::fault::{DiskFault, FaultPlan};
use crate::journal::{FORMAT, Journal, JournalFacts};
use crate::record::{FileHead, PAGE};

fn open_journal(disk: &SimulatedDisk, folded: Seq) -> Result<(Journal, Vec<NumberedChangeSet>), OpenError> {
    Journal::open(disk, &JournalFacts { folded, salt: None, made: false })
}

fn set(seq: Seq, size: usize) -> NumberedChangeSet {
    NumberedChangeSet { seq, changes: vec![put(Table::Bodies, &format!("b{seq}"), &"x".repeat(size))], events: vec![] }
}

fn append(journal: &mut Journal, sets: &[NumberedChangeSet], folded: Seq) -> std::io::Result<u64> {
    let last = sets.last().expect("a commit has change sets").seq;
    journal.append(last, sets.iter().map(NumberedChangeSet::parts), folded)
}

#[derive(Debug, Clone)]
enum Step {
    /// A commit of change sets of these sizes.
    Append(Vec<usize>),
    /// A fold of this share of the committed records into the tables.
    Fold(u8),
    /// The machine goes down, or the process ends well.
    Crash(u64),
    Finish,
    /// The next commit fails at its sync, or at its write.
    Fail(bool),
}

fn any_step() -> impl Strategy<Value = Step> {
    let size = prop_oneof![4 => 0..3_000usize, 1 => 3_000..200_000usize];
    prop_oneof![
        8 => prop::collection::vec(size, 1..4).prop_map(Step::Append),
        3 => any::<u8>().prop_map(Step::Fold),
        1 => any::<u64>().prop_map(Step::Crash),
        1 => Just(Step::Finish),
        1 => any::<bool>().prop_map(Step::Fail),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn unfolded_journal_records_are_read_back_in_order(steps in prop::collection::vec(any_step(), 1..60)) {
        let disk = SimulatedDisk::new();
        let (mut journal, _) = open_journal(&disk, 0).expect("a new journal");
        journal.make_mark(&disk, 0).expect("the disk works");
        let salt = Some(journal.salt());
        let (mut committed, mut next, mut folded): (Vec<NumberedChangeSet>, Seq, Seq) = (Vec::new(), 1, 0);
        for step in steps {
            match step {
                Step::Append(sizes) => {
                    let sets: Vec<NumberedChangeSet> = sizes.iter().enumerate().map(|(n, size)| set(next + n as u64, *size)).collect();
                    next += sets.len() as u64;
                    match append(&mut journal, &sets, folded) {
                        Ok(_) => committed.extend(sets),
                        Err(_) => {
                            disk.heal();
                            let last = next - 1;
                            // Every second time the caller no longer waits.
                            let waits = last % 2 == 0;
                            let found = journal.reopen(waits.then_some(last)).expect("the disk works again");
                            prop_assert!(waits || !found);
                            if found {
                                committed.extend(sets);
                            }
                        }
                    }
                }
                Step::Fold(share) => {
                    let last = committed.last().map_or(0, |set| set.seq);
                    folded = folded.max(last * u64::from(share) / 255);
                }
                Step::Fail(sync) => {
                    let fault = if sync { DiskFault::Sync } else { DiskFault::Write };
                    disk.plan(FaultPlan { at: disk.syncs() + 1, times: 1, fault });
                }
                Step::Crash(_) | Step::Finish => {
                    disk.heal();
                    match step {
                        Step::Crash(seed) => disk.crash(seed),
                        _ => journal.finish(folded).expect("the disk works"),
                    }
                    drop(journal);
                    let (again, sets) = Journal::open(&disk, &JournalFacts { folded, salt, made: true }).expect("it opens");
                    let waiting: Vec<NumberedChangeSet> = committed.iter().filter(|set| set.seq > folded).cloned().collect();
                    prop_assert_eq!(sets, waiting);
                    journal = again;
                }
            }
        }
    }
}

#[test]
fn folded_journal_records_make_room() {
    let disk = SimulatedDisk::new();
    let (mut journal, _) = open_journal(&disk, 0).expect("a new journal");
    for seq in 1..2_000 {
        append(&mut journal, &[set(seq, 20_000)], seq.saturating_sub(20)).expect("the disk works");
    }
    let size = disk.bytes(StoreFile::Journal).len();
    assert!(size < 4 << 20, "40 MB went through {size} bytes");
    journal.finish(1_999).expect("the disk works");
    assert!(disk.bytes(StoreFile::Journal).len() <= 12 * PAGE);
    drop(journal);
    assert!(open_journal(&disk, 1_999).expect("it opens").1.is_empty());
}

#[test]
fn a_full_disk_leaves_the_room_that_there_is() {
    let disk = SimulatedDisk::new();
    let (mut journal, _) = open_journal(&disk, 0).expect("a new journal");
    append(&mut journal, &[set(1, 10)], 0).expect("there is room");
    disk.plan(FaultPlan { at: 0, times: u64::MAX, fault: DiskFault::NoRoom });
    let mut seq = 2;
    while append(&mut journal, &[set(seq, 50_000)], 0).is_ok() {
        seq += 1;
    }
    assert!(seq > 15, "of a mebibyte only {seq} records were written");
    assert!(!journal.reopen(Some(seq)).expect("nothing need be written"));
    append(&mut journal, &[set(seq + 1, 50_000)], seq - 1).expect("what is folded makes room");
}

/// Regression test: a refused record kept the remaining disk space that it had taken.
#[test]
fn a_record_for_which_the_disk_has_no_room_leaves_it_as_it_was() {
    let disk = SimulatedDisk::new();
    let (mut journal, _) = open_journal(&disk, 0).expect("a new journal");
    append(&mut journal, &[set(1, 10)], 0).expect("there is room");
    let before = disk.bytes(StoreFile::Journal).len();
    // There is for some of it.
    disk.plan_at_write(FaultPlan { at: disk.writes() + 3, times: u64::MAX, fault: DiskFault::NoRoom });
    append(&mut journal, &[set(2, 5 << 20)], 0).expect_err("there is no room");
    assert!(disk.struck() > 0);
    assert_eq!(disk.bytes(StoreFile::Journal).len(), before);
    assert!(!journal.reopen(Some(2)).expect("nothing need be written"));
    append(&mut journal, &[set(3, 10)], 0).expect("there is room for a small one");
    disk.heal();
    append(&mut journal, &[set(4, 5 << 20)], 0).expect("there is room again");
    disk.crash(1);
    drop(journal);
    let (_, sets) = open_journal(&disk, 0).expect("it opens");
    assert_eq!(sets.iter().map(|set| set.seq).collect::<Vec<_>>(), [1, 3, 4]);
}

#[test]
fn a_record_lost_from_among_the_others_is_noticed() {
    let disk = SimulatedDisk::new();
    let (mut journal, _) = open_journal(&disk, 0).expect("a new journal");
    for seq in 1..=4 {
        append(&mut journal, &[set(seq, 10)], 0).expect("the disk works");
    }
    drop(journal);
    let sound = disk.bytes(StoreFile::Journal);
    let place = |seq: u64| {
        let found = sound.windows(4).position(|text| text == format!("\0b{seq}\x0b").as_bytes());
        found.expect("the record is there") / PAGE * PAGE
    };
    let spoiled = |seq| {
        let mut bytes = sound.clone();
        bytes[place(seq) + 60] ^= 1;
        open_journal(&SimulatedDisk::holding([(StoreFile::Journal, bytes)]), 1)
    };
    // The first record is folded. The last one may be the rest of an unacknowledged record after a
    // crash.
    assert_eq!(spoiled(1).expect("it opens").1.len(), 3);
    assert_eq!(spoiled(4).expect("it opens").1.len(), 2);
    for (seq, kept, why) in [(2, 1, "begins after change 2"), (3, 2, "the record after change 2 is missing")] {
        match spoiled(seq) {
            Err(OpenError::Lost(loss)) => {
                assert_eq!((loss.kept, loss.last), (kept, Some(4)));
                assert!(loss.why.contains(why), "{loss}");
            }
            other => panic!("{:?}", other.err()),
        }
    }
}

#[test]
fn removed_journal_records_stay_removed_even_if_a_sync_was_forgotten() {
    let disk = SimulatedDisk::new();
    let (mut journal, _) = open_journal(&disk, 0).expect("it opens");
    // Most of the room is before the needed records, so that the next record does not overwrite
    // what follows.
    append(&mut journal, &[set(1, 600 << 10)], 0).expect("appended");
    append(&mut journal, &[set(2, 10)], 1).expect("appended");
    let next = |after: u64, fault| {
        disk.plan(FaultPlan { at: disk.syncs() + after, times: 1, fault });
    };
    next(1, DiskFault::Sync);
    append(&mut journal, &[set(3, 10), set(4, 10), set(5, 10)], 1).expect_err("its sync fails");
    // The written record reaches the disk in the end, and its removal does not.
    next(2, DiskFault::SyncForgets);
    journal.reopen(None).expect_err("the removal is not known to be on disk");
    drop(journal);
    disk.heal();
    let numbers = |sets: &[NumberedChangeSet]| sets.iter().map(|set| set.seq).collect::<Vec<_>>();
    let (mut journal, sets) = open_journal(&disk, 1).expect("it opens");
    assert_eq!(numbers(&sets), [2], "it reads as removed");
    append(&mut journal, &[set(3, 20)], 1).expect("appended");
    disk.crash(3);
    drop(journal);
    let (_, sets) = open_journal(&disk, 3).expect("it opens");
    assert_eq!(numbers(&sets), Vec::<Seq>::new());
}

#[test]
fn invalid_journal_files_are_refused_and_left_unchanged() {
    let disk = SimulatedDisk::new();
    let (mut journal, _) = open_journal(&disk, 0).expect("a new journal");
    append(&mut journal, &[set(1, 10)], 0).expect("the disk works");
    drop(journal);
    let sound = disk.bytes(StoreFile::Journal);
    let mut headless = sound.clone();
    headless[..PAGE].fill(0);
    let foreign = FileHead { format: FORMAT, salt: crate::record::Salt::random() }.page();
    for bytes in [headless, b"this is no journal".to_vec(), sound[..PAGE].to_vec(), foreign] {
        let disk = SimulatedDisk::holding([(StoreFile::Journal, bytes.clone())]);
        assert!(matches!(open_journal(&disk, 0), Err(OpenError::Lost(_))));
        assert_eq!(disk.bytes(StoreFile::Journal), bytes);
    }
    // Made, but not to the end.
    let disk = SimulatedDisk::holding([(StoreFile::Journal, vec![0; 2 * PAGE])]);
    assert!(open_journal(&disk, 0).expect("it is made anew").1.is_empty());
}
