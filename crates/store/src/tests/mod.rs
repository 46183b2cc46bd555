//! The shared fixture of these tests: stores on a disk that fails on demand, change sets, and
//! waiting with a limit.

mod answers;
mod blob;
mod copies;
mod crash;
mod damage;
mod failing;
mod files;
mod journal;
mod log;
mod model;
mod order;
mod reads;
mod refusals;
mod shelves;
mod texts;

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use bytes::Bytes;
use stet_domain::id::{DatabaseId, Loid};
use stet_domain::store::{
    ChangeSet, Event, EventId, EventLog, EventPeriod, LogDirection, ReadLevel, RowChange, RowReader, Seq, Store,
    StoreError, Table,
};
use stet_domain::trace::Trace;

use super::fault::SimulatedDisk;
use super::{OpenError, RedbStore, StoreOptions};

/// The longest time that a test waits for anything.
const LIMIT: Duration = Duration::from_secs(20);

/// Options for a store on `disk` that makes checkpoints only when told to, that is, when it is
/// closed.
fn options(disk: &SimulatedDisk) -> StoreOptions {
    let mut options = StoreOptions::new("on the disk in memory");
    options.backends = Arc::new(disk.clone());
    options.cache_bytes = 4 << 20;
    options.checkpoint.interval = Duration::from_secs(3600);
    options.event_retention_ms = None;
    options
}

/// Options for a store on `disk` that makes a checkpoint after nearly every commit.
fn busy_options(disk: &SimulatedDisk) -> StoreOptions {
    let mut options = options(disk);
    options.checkpoint.entries = 1;
    options.checkpoint.segment_events = 4;
    options.checkpoint.interval = Duration::from_millis(5);
    options
}

fn open(disk: &SimulatedDisk) -> RedbStore {
    RedbStore::open(options(disk)).expect("the store opens")
}

fn try_open(disk: &SimulatedDisk) -> Result<RedbStore, OpenError> {
    RedbStore::open(options(disk))
}

/// A change set that can still be altered.
fn empty(store: &RedbStore) -> ChangeSet {
    ChangeSet {
        changes: Vec::new(),
        events: Vec::new(),
        epoch: store.epoch(),
        passes: false,
        trace: Trace::none(),
        on_commit: Box::new(|_| ()),
        on_done: Box::new(|_| ()),
    }
}

fn put(table: Table, key: &str, value: &str) -> RowChange {
    RowChange { table, key: bytes(key), value: Some(bytes(value)) }
}

fn remove(table: Table, key: &str) -> RowChange {
    RowChange { table, key: bytes(key), value: None }
}

fn bytes(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}

fn event(container: u64, revision: u64, at_ms: u64) -> Event {
    Event {
        container: Some(Loid::new(DatabaseId::FIRST, container)),
        revision,
        kind: "add_post".to_owned(),
        ids: vec!["7".to_owned()],
        user: "editor".to_owned(),
        at_ms,
        session: String::new(),
        address: String::new(),
        withdrawn: None,
        unseen: None,
        status: None,
        before: None,
    }
}

/// The answer to a change set, to be waited for.
struct Answer {
    seq: Seq,
    answer: Receiver<Result<Seq, StoreError>>,
}

impl Answer {
    fn wait(&self) -> Result<Seq, StoreError> {
        self.answer.recv_timeout(LIMIT).expect("a change set was not answered in time")
    }
}

fn submit(store: &RedbStore, changes: Vec<RowChange>) -> Result<Answer, StoreError> {
    submit_set(store, ChangeSet { changes, ..empty(store) })
}

/// Submits `set` with an `on_done` of its own.
fn submit_set(store: &RedbStore, mut set: ChangeSet) -> Result<Answer, StoreError> {
    let (sender, answer) = mpsc::channel();
    // The test may have stopped waiting.
    set.on_done = Box::new(move |outcome| drop(sender.send(outcome)));
    let seq = store.submit(set).map_err(|refusal| refusal.why)?;
    Ok(Answer { seq, answer })
}

/// Submits and waits for the commit.
fn commit(store: &RedbStore, changes: Vec<RowChange>) -> Seq {
    submit(store, changes).expect("the change set is taken").wait().expect("the commit succeeds")
}

fn get(store: &RedbStore, view: ReadLevel, table: Table, key: &str) -> Option<String> {
    let value = store.get(view, table, key.as_bytes()).expect("the row can be read");
    value.map(|value| String::from_utf8_lossy(&value).into_owned())
}

/// The whole log of events, oldest first.
fn logged(store: &RedbStore) -> Vec<(EventId, Event)> {
    let (mut found, mut behind) = (Vec::new(), None);
    loop {
        let passage = store.events(LogDirection::Forth(behind), &EventPeriod::default()).expect("read");
        found.extend(passage.events);
        behind = passage.next;
        if behind.is_none() {
            return found;
        }
    }
}

/// Waits until `condition` holds.
pub(crate) fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < LIMIT, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}
