//! Random histories, compared with a plain map for each number that a change set was given.

use std::collections::BTreeMap;

use proptest::prelude::*;
use stet_domain::store::{KeyRange, ReadLevel, Store, Table};

use super::*;
use crate::StoreFile;

const TABLES: [Table; 3] = [Table::Objects, Table::Names, Table::Parts];

type Rows = BTreeMap<(usize, Bytes), Bytes>;

#[derive(Debug, Clone)]
enum Step {
    Submit(Vec<(usize, u8, Option<u16>)>),
    /// The journal's disk stands still, until the next wait.
    Stall,
    /// Waits until everything submitted is decided.
    Wait,
    Checkpoint,
    Close,
    Crash(u64),
    Scan {
        table: usize,
        from: u8,
        to: Option<u8>,
        limit: usize,
        backwards: bool,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let table = || 0..TABLES.len();
    let change = (table(), 0..24_u8, prop::option::weighted(0.7, any::<u16>()));
    prop_oneof![
        12 => prop::collection::vec(change, 1..5).prop_map(Step::Submit),
        2 => Just(Step::Stall),
        3 => Just(Step::Wait),
        2 => Just(Step::Checkpoint),
        1 => Just(Step::Close),
        1 => any::<u64>().prop_map(Step::Crash),
        8 => (table(), 0..26_u8, prop::option::of(0..26_u8), 0..12_usize, any::<bool>())
            .prop_map(|(table, from, to, limit, backwards)| Step::Scan { table, from, to, limit, backwards }),
    ]
}

/// Keys of different lengths, some the beginning of others.
fn key(number: u8) -> Bytes {
    let mut key = b"a key with a long beginning "[..usize::from(number % 4) * 9].to_vec();
    key.extend(std::iter::repeat_n(number, 1 + usize::from(number % 3)));
    key.into()
}

struct Model {
    disk: SimulatedDisk,
    store: RedbStore,
    /// The rows after each change set, by its number.
    history: BTreeMap<Seq, Rows>,
    answers: Vec<Answer>,
}

impl Model {
    fn new() -> Model {
        let disk = SimulatedDisk::new();
        let store = open(&disk);
        Model { disk, store, history: BTreeMap::from([(0, Rows::new())]), answers: Vec::new() }
    }

    fn latest(&self) -> &Rows {
        self.history.last_key_value().expect("there is always one").1
    }

    fn submit(&mut self, changes: &[(usize, u8, Option<u16>)]) {
        let mut rows = self.latest().clone();
        let mut set = empty(&self.store);
        for (table, number, value) in changes {
            let value = value.map(|value| Bytes::from(vec![*number; usize::from(value % 300)]));
            match &value {
                Some(value) => rows.insert((*table, key(*number)), value.clone()),
                None => rows.remove(&(*table, key(*number))),
            };
            set.changes.push(RowChange { table: TABLES[*table], key: key(*number), value });
        }
        let answer = submit_set(&self.store, set).expect("taken");
        self.history.insert(answer.seq, rows);
        self.answers.push(answer);
    }

    fn wait(&mut self) {
        self.disk.release();
        for answer in self.answers.drain(..) {
            assert_eq!(answer.wait(), Ok(answer.seq));
        }
    }

    /// Reopens the store, and continues with its contents.
    fn reopen(&mut self, crash: Option<u64>) {
        if let Some(seed) = crash {
            let committed = self.store.committed();
            self.disk.crash(seed);
            self.answers.clear();
            self.store.close();
            self.store = open(&self.disk);
            assert!(self.store.committed() >= committed, "what was committed is there after a crash");
            self.history.split_off(&(self.store.committed() + 1));
        } else {
            self.wait();
            self.store.close();
            self.store = open(&self.disk);
        }
        assert_eq!(self.store.committed(), *self.history.last_key_value().expect("there is always one").0);
        self.compare_all();
    }

    fn compare_all(&self) {
        for table in 0..TABLES.len() {
            self.scan(table, &KeyRange { from: Bytes::new(), to: None }, usize::MAX, false);
        }
    }

    fn scan(&self, table: usize, range: &KeyRange, limit: usize, backwards: bool) {
        let found = self.store.scan(ReadLevel::Latest, TABLES[table], range, limit, backwards).expect("scanned");
        assert_eq!(found, expected(self.latest(), table, range, limit, backwards));
        // The committed number may rise between the two looks; then the result may be as of either.
        let before = self.store.committed();
        let found = self.store.scan(ReadLevel::Committed, TABLES[table], range, limit, backwards).expect("scanned");
        let after = self.store.committed();
        let fits = (before..=after).any(|seq| {
            self.history.get(&seq).is_some_and(|rows| found == expected(rows, table, range, limit, backwards))
        });
        assert!(fits, "committed {before} to {after}: {found:?}");
        for number in 0..26 {
            let value = self.store.get(ReadLevel::Latest, TABLES[table], &key(number)).expect("read");
            assert_eq!(value.as_ref(), self.latest().get(&(table, key(number))));
        }
    }
}

fn expected(rows: &Rows, table: usize, range: &KeyRange, limit: usize, backwards: bool) -> Vec<(Bytes, Bytes)> {
    let within = |key: &Bytes| *key >= range.from && range.to.as_ref().is_none_or(|to| key < to);
    let rows = rows.iter().filter(|((in_table, key), _)| *in_table == table && within(key));
    let rows = rows.map(|((_, key), value)| (key.clone(), value.clone()));
    if backwards { rows.rev().take(limit).collect() } else { rows.take(limit).collect() }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, max_shrink_iters: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn the_store_does_what_a_map_does(steps in prop::collection::vec(step(), 1..60)) {
        let mut model = Model::new();
        for step in steps {
            match step {
                Step::Submit(changes) => model.submit(&changes),
                Step::Stall => model.disk.stall(StoreFile::Journal),
                Step::Wait => model.wait(),
                Step::Checkpoint => model.store.shared.checkpoint_due(),
                Step::Close => model.reopen(None),
                Step::Crash(seed) => model.reopen(Some(seed)),
                Step::Scan { table, from, to, limit, backwards } => {
                    let range = KeyRange { from: key(from), to: to.map(key) };
                    model.scan(table, &range, limit, backwards);
                }
            }
        }
        model.wait();
        model.compare_all();
        model.reopen(Some(1));
        model.reopen(None);
    }
}
