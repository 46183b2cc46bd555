//! Tests of the spool: random histories of commits, shipping, crashes and starts.

use proptest::prelude::*;

use super::*;

/// The most bytes of the spool in these tests.
const MOST: u64 = 1 << 20;

fn record(previous: Seq, last: Seq) -> CommittedRecord {
    let payload = vec![last as u8; 40 + (last % 90) as usize].into();
    CommittedRecord { previous, last, at_ms: 1_000 + last, payload }
}

fn open(folder: &Path) -> Spool {
    Spool::open(folder, MOST).unwrap()
}

#[derive(Debug, Clone)]
enum Step {
    /// A commit, with its number of change sets.
    Commit(u64),
    /// A checkpoint of the store, before which the spool keeps everything.
    Checkpoint,
    /// The service reads records of a number of bytes, and ships a number of them.
    Ship(usize, usize),
    /// The process is killed: what is in memory is lost, and the store replays its journal.
    Kill,
    /// The machine loses power: the newest file may lose bytes that were not synced.
    LosePower(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (1..4_u64).prop_map(Step::Commit),
        2 => Just(Step::Checkpoint),
        3 => (1..600_usize, 0..8_usize).prop_map(|(bytes, count)| Step::Ship(bytes, count)),
        1 => Just(Step::Kill),
        1 => (0..400_usize).prop_map(Step::LosePower),
    ]
}

/// The store beside the spool, and the target.
struct Model {
    spool: Spool,
    committed: Vec<CommittedRecord>,
    /// The last change in the tables; later ones are in the journal.
    folded: Seq,
    shipped: Vec<CommittedRecord>,
    /// Bytes of the newest file that are synced.
    synced: u64,
}

impl Model {
    fn last(&self) -> Seq {
        self.committed.last().map_or(0, |record| record.last)
    }

    fn newest(folder: &Path) -> Option<PathBuf> {
        let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        files.pop()
    }

    fn restart(&mut self, folder: &Path) {
        self.spool = open(folder);
        self.spool.opened(self.folded, self.last());
        for record in self.committed.iter().filter(|record| record.last > self.folded) {
            self.spool.committed(record.clone());
        }
        // The service finds out what the target has.
        self.spool.shipped(self.shipped.last().map_or(0, |record| record.last)).unwrap();
    }

    fn take(&mut self, folder: &Path, step: &Step) {
        match *step {
            Step::Commit(sets) => {
                let record = record(self.last(), self.last() + sets);
                self.committed.push(record.clone());
                self.spool.committed(record);
            }
            Step::Checkpoint => {
                self.spool.keep(self.last());
                self.folded = self.last();
                self.synced = Model::newest(folder).map_or(0, |path| fs::metadata(path).unwrap().len());
            }
            Step::Ship(bytes, count) => {
                let records = self.spool.next(bytes).unwrap();
                self.shipped.extend(records.into_iter().take(count));
                self.spool.shipped(self.shipped.last().map_or(0, |record| record.last)).unwrap();
            }
            Step::Kill => self.restart(folder),
            Step::LosePower(bytes) => {
                if let Some(newest) = Model::newest(folder) {
                    let len = fs::metadata(&newest).unwrap().len();
                    let left = len.saturating_sub(bytes as u64).max(self.synced.min(len));
                    OpenOptions::new().write(true).open(newest).unwrap().set_len(left).unwrap();
                }
                self.restart(folder);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn every_record_is_shipped_once_and_in_order_whatever_ends_the_process(steps in prop::collection::vec(step(), 1..80)) {
        let folder = tempfile::tempdir().unwrap();
        let spool = open(folder.path());
        let mut model = Model { spool, committed: Vec::new(), folded: 0, shipped: Vec::new(), synced: 0 };
        for step in &steps {
            model.take(folder.path(), step);
            prop_assert_eq!(model.spool.gap(), None, "{:?}", step);
        }
        while model.shipped.len() < model.committed.len() {
            let before = model.shipped.len();
            model.take(folder.path(), &Step::Ship(10_000, usize::MAX));
            prop_assert!(model.shipped.len() > before, "{:?} of {:?}", model.shipped.last(), model.committed.last());
        }
        prop_assert_eq!(&model.shipped, &model.committed);
        prop_assert_eq!(model.spool.progress(), (model.last(), 0));
    }
}

#[test]
fn a_full_spool_drops_everything_until_a_base_is_begun() {
    let folder = tempfile::tempdir().unwrap();
    let spool = open(folder.path());
    let large = |last: Seq| CommittedRecord { payload: vec![0; 300 << 10].into(), ..record(last - 1, last) };
    (1..=4).for_each(|last| spool.committed(large(last)));
    spool.keep(4);
    assert!(spool.gap().unwrap().contains("backup.spool_bytes"));
    spool.committed(large(5));
    assert_eq!((spool.next(1 << 20).unwrap().len(), spool.progress().1), (0, 0));
    spool.begin().unwrap();
    assert_eq!((spool.begins_after(), spool.gap()), (5, None));
    spool.committed(large(6));
    let records = spool.next(1 << 20).unwrap();
    assert_eq!(records.iter().map(|record| (record.previous, record.last)).collect::<Vec<_>>(), [(5, 6)]);
}

#[test]
fn changes_that_were_made_without_the_spool_are_a_gap() {
    let folder = tempfile::tempdir().unwrap();
    let spool = open(folder.path());
    spool.opened(7, 7);
    assert!(spool.gap().unwrap().contains("1 to 7"));
    spool.begin().unwrap();
    drop(spool);
    // A start right after that finds no gap, though nothing was committed since.
    let spool = open(folder.path());
    spool.opened(7, 7);
    assert_eq!((spool.begins_after(), spool.gap()), (7, None));
    drop(spool);
    let spool = open(folder.path());
    spool.opened(9, 9);
    assert!(spool.gap().unwrap().contains("8 to 9"));
}

#[test]
fn a_folder_that_can_no_longer_be_written_is_a_gap_and_no_error() {
    let folder = tempfile::tempdir().unwrap();
    let spool = open(folder.path());
    fs::remove_dir(folder.path()).unwrap();
    spool.committed(record(0, 1));
    spool.keep(1);
    assert!(spool.gap().unwrap().contains("can't be written"));
}

/// A first start that is killed leaves a spool, and the next one begins with the first change again.
#[test]
fn records_of_changes_that_the_store_does_not_have_are_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let spool = open(folder.path());
    (1..=5).for_each(|last| spool.committed(record(last - 1, last)));
    spool.keep(5);
    drop(spool);
    let spool = open(folder.path());
    spool.opened(0, 2);
    assert!(spool.gap().unwrap().contains("set back from change 5 to 2"));
    spool.committed(record(0, 1));
    spool.begin().unwrap();
    assert_eq!((spool.last(), spool.begins_after()), (1, 1));
    let other = CommittedRecord { at_ms: 9, ..record(1, 2) };
    spool.committed(other.clone());
    assert_eq!(spool.next(1_000).unwrap(), [other]);
}
