//! A store in memory, for tests. It gives the same promise within one process, and tests control
//! each of its steps.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::Poll;

use bytes::Bytes;
use imbl::OrdMap;
use parking_lot::Mutex;

use super::{
    Backlog, ChangeSet, Epoch, Event, EventId, EventLog, EventPeriod, Health, KeyRange, LogDirection, LogPassage,
    ReadLevel, ResumeRequest, RowReader, Seq, Store, StoreError, SubmitRefusal, Table, encode_value,
};
use crate::ends::ExpiryClock;

type MemoryRows = OrdMap<(Table, Bytes), Bytes>;

/// The action of a test at a moment of its choice.
type TestAction = Box<dyn FnOnce() + Send>;

/// A store in memory whose commits and failures tests control.
#[derive(Default)]
pub struct MemoryStore {
    inner: Mutex<Inner>,
    /// The number of next commits that fail.
    failing: AtomicUsize,
    /// The error with which changes are refused at once, if any.
    refusing: Mutex<Option<StoreError>>,
    /// The number of refused changes.
    refused: AtomicUsize,
    /// Whether [`Store::is_certain`] returns false.
    uncertain: AtomicBool,
    /// Whether [`Store::health`] reports a full disk.
    full: AtomicBool,
    /// The action right after the next read of a table.
    after_read: Mutex<Option<(Table, TestAction)>>,
}

#[derive(Default)]
struct Inner {
    committed: MemoryRows,
    latest: MemoryRows,
    queue: VecDeque<(Seq, ChangeSet)>,
    submitted: Seq,
    committed_seq: Seq,
    published: Seq,
    events: Vec<(EventId, Event)>,
    epoch: Epoch,
    held: bool,
    closed: bool,
}

impl MemoryStore {
    /// Creates an empty store that commits at once.
    pub fn new() -> MemoryStore {
        MemoryStore::default()
    }

    /// Stops commits until [`MemoryStore::step`] or a release.
    pub fn hold(&self) {
        self.inner.lock().held = true;
    }

    /// Commits pending changes, and commits at once again. Cancels failures that have not happened
    /// yet.
    pub fn release(&self) {
        self.failing.store(0, Ordering::SeqCst);
        self.inner.lock().held = false;
        self.step();
    }

    /// Commits pending changes, and commits at once again. Requested failures still happen.
    pub fn release_failing(&self) {
        self.inner.lock().held = false;
        self.step();
    }

    /// Makes the next commit fail.
    pub fn fail_next(&self) {
        self.failing.fetch_add(1, Ordering::SeqCst);
    }

    /// Refuses all changes at once from now on, or with `None` accepts them again.
    pub fn refuse(&self, why: Option<StoreError>) {
        *self.refusing.lock() = why;
    }

    /// Returns the number of changes refused by [`MemoryStore::refuse`].
    pub fn refused(&self) -> usize {
        self.refused.load(Ordering::SeqCst)
    }

    /// Sets the result of [`Store::is_certain`].
    pub fn set_certain(&self, certain: bool) {
        self.uncertain.store(!certain, Ordering::SeqCst);
    }

    /// Sets whether [`Store::health`] reports a full disk.
    pub fn set_full(&self, full: bool) {
        self.full.store(full, Ordering::SeqCst);
    }

    /// Runs `run` once, between the next read of that table and the use of its result.
    pub fn after_next_read_of(&self, table: Table, run: impl FnOnce() + Send + 'static) {
        *self.after_read.lock() = Some((table, Box::new(run)));
    }

    fn has_read(&self, table: Table) {
        // Without a lock: `run` may use the store.
        let run = self.after_read.lock().take_if(|(wanted, _)| *wanted == table);
        if let Some((_, run)) = run {
            run();
        }
    }

    /// Refuses everything from now on.
    pub fn close(&self) {
        self.inner.lock().closed = true;
    }

    /// Returns the number of waiting change sets.
    pub fn pending(&self) -> usize {
        self.inner.lock().queue.len()
    }

    /// Returns all committed rows and index entries.
    pub fn rows(&self) -> Vec<((Table, Bytes), Bytes)> {
        self.inner.lock().committed.iter().map(|(key, value)| (key.clone(), value.clone())).collect()
    }

    /// Returns the events of all committed changes.
    pub fn events(&self) -> Vec<Event> {
        self.inner.lock().events.iter().map(|(_, event)| event.clone()).collect()
    }

    /// Drives a call to its commit, and drops its caller before that is decided. Commits must be on
    /// hold.
    ///
    /// # Panics
    /// If the call is answered nevertheless.
    pub async fn abandoned(&self, call: impl Future) {
        let (mut call, sets) = (pin!(call), self.pending() + 1);
        while self.pending() < sets {
            poll_unanswered(call.as_mut()).await;
        }
    }

    /// Returns the outcome of a call that begins while others are under way. Those are decided as
    /// soon as the call waits.
    ///
    /// # Panics
    /// If the call is answered before that.
    pub async fn behind<T>(&self, call: impl Future<Output = T>) -> T {
        let mut call = pin!(call);
        run_until_waiting(call.as_mut()).await;
        self.release();
        call.await
    }

    /// Commits pending changes as one batch, or lets the batch fail.
    pub fn step(&self) {
        let mut inner = self.inner.lock();
        let batch: Vec<(Seq, ChangeSet)> = inner.queue.drain(..).collect();
        let writes = batch.iter().any(|(_, set)| !set.changes.is_empty() || !set.events.is_empty());
        let fails =
            writes && self.failing.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok();
        if fails {
            inner.epoch += 1;
            inner.latest = inner.committed.clone();
            drop(inner);
            for (_, set) in batch {
                (set.on_done)(Err(StoreError::Failed("as the test wants".to_owned())));
            }
            return;
        }
        let mut done = Vec::new();
        for (seq, set) in batch {
            apply(&mut inner.committed, &set);
            inner.committed_seq = seq;
            inner.events.extend((0..).map(|ordinal| EventId { seq, ordinal }).zip(set.events));
            done.push((seq, set.on_commit, set.on_done));
        }
        drop(inner);
        let mut answers = Vec::new();
        for (seq, on_commit, on_done) in done {
            on_commit(seq);
            self.inner.lock().published = seq;
            answers.push((seq, on_done));
        }
        for (seq, on_done) in answers {
            on_done(Ok(seq));
        }
    }
}

/// Drives an unanswered call to where it waits for others or for the disk.
///
/// # Panics
/// If the call is answered.
pub async fn run_until_waiting(mut call: Pin<&mut impl Future>) {
    // A call yields fewer times than that before it waits.
    for _ in 0..1000 {
        poll_unanswered(call.as_mut()).await;
    }
}

async fn poll_unanswered(mut call: Pin<&mut impl Future>) {
    let answered = poll_fn(|context| Poll::Ready(call.as_mut().poll(context).is_ready())).await;
    assert!(!answered, "nothing is decided yet");
    // Another task or thread may do the work that the call waits for.
    tokio::task::yield_now().await;
}

fn apply(rows: &mut MemoryRows, set: &ChangeSet) {
    for change in &set.changes {
        let key = (change.table, change.key.clone());
        match &change.value {
            Some(value) => {
                rows.insert(key, value.clone());
            }
            None => {
                rows.remove(&key);
            }
        }
    }
}

impl RowReader for MemoryStore {
    fn get(&self, view: ReadLevel, table: Table, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        let value = {
            let inner = self.inner.lock();
            let rows = if view == ReadLevel::Latest { &inner.latest } else { &inner.committed };
            rows.get(&(table, Bytes::copy_from_slice(key))).cloned()
        };
        self.has_read(table);
        Ok(value)
    }

    fn scan(
        &self,
        view: ReadLevel,
        table: Table,
        range: &KeyRange,
        limit: usize,
        backwards: bool,
    ) -> Result<Vec<(Bytes, Bytes)>, StoreError> {
        let rows = {
            let inner = self.inner.lock();
            if view == ReadLevel::Latest { inner.latest.clone() } else { inner.committed.clone() }
        };
        let within = |(key, value): (&(Table, Bytes), &Bytes)| (key.1.clone(), value.clone());
        let from = (table, range.from.clone());
        let inside = |key: &(Table, Bytes)| key.0 == table && range.to.as_ref().is_none_or(|to| key.1 < *to);
        let found = rows.range(from..).take_while(|(key, _)| inside(key)).map(within);
        let found = if backwards {
            let mut all: Vec<_> = found.collect();
            all.reverse();
            all.truncate(limit);
            all
        } else {
            found.take(limit).collect()
        };
        self.has_read(table);
        Ok(found)
    }
}

/// The greatest number of events of a passage.
const PASSAGE: usize = 4;

impl EventLog for MemoryStore {
    fn events_of(&self, resumed: &ResumeRequest) -> Result<(Vec<Event>, bool), StoreError> {
        let ResumeRequest { container, after, mut room } = *resumed;
        let inner = self.inner.lock();
        let all = inner.events.iter().map(|(_, event)| event);
        let of: Vec<&Event> =
            all.filter(|event| event.container == Some(container) && event.revision > after).collect();
        let fits = |event: &&&Event| room.takes(encode_value(1, **event).len());
        let found: Vec<Event> = of.iter().take_while(fits).map(|event| Event::clone(event)).collect();
        let more = found.len() < of.len();
        Ok((found, more))
    }

    fn events(&self, way: LogDirection, times: &EventPeriod) -> Result<LogPassage, StoreError> {
        let inner = self.inner.lock();
        let at = |id: EventId| inner.events.partition_point(|(other, _)| *other < id);
        let stretch: Vec<&(EventId, Event)> = match way {
            LogDirection::Forth(after) => {
                let begin = after.map_or(0, |id| inner.events.partition_point(|(other, _)| *other <= id));
                inner.events[begin..].iter().take(PASSAGE).collect()
            }
            LogDirection::Back(before) => {
                inner.events[..before.map_or(inner.events.len(), at)].iter().rev().take(PASSAGE).collect()
            }
        };
        let next = stretch.last().filter(|_| stretch.len() == PASSAGE).map(|(id, _)| *id);
        let read = stretch.len();
        let events = stretch.into_iter().filter(|(_, event)| times.contain(event.at_ms)).cloned().collect();
        Ok(LogPassage { events, read, next })
    }

    fn oldest(&self) -> Result<Option<EventId>, StoreError> {
        Ok(self.inner.lock().events.first().map(|(id, _)| *id))
    }
}

impl Store for MemoryStore {
    fn submit(&self, set: ChangeSet) -> Result<Seq, Box<SubmitRefusal>> {
        let mut inner = self.inner.lock();
        let refuse = |why, set| Err(Box::new(SubmitRefusal { why, set }));
        if inner.closed {
            return refuse(StoreError::Closed, set);
        }
        if set.epoch != inner.epoch {
            return refuse(StoreError::Stale, set);
        }
        let empty = set.changes.is_empty() && set.events.is_empty();
        if let Some(why) = self.refusing.lock().clone().filter(|_| !empty) {
            self.refused.fetch_add(1, Ordering::SeqCst);
            return refuse(why, set);
        }
        if empty && inner.queue.is_empty() {
            // Nothing is pending, so everything before it has been decided, on hold or not.
            let seq = inner.submitted;
            drop(inner);
            (set.on_commit)(seq);
            (set.on_done)(Ok(seq));
            return Ok(seq);
        }
        apply(&mut inner.latest, &set);
        inner.submitted += 1;
        let seq = inner.submitted;
        inner.queue.push_back((seq, set));
        let now = !inner.held;
        drop(inner);
        if now {
            self.step();
        }
        Ok(seq)
    }

    fn epoch(&self) -> Epoch {
        self.inner.lock().epoch
    }

    fn committed(&self) -> Seq {
        self.inner.lock().committed_seq
    }

    fn published(&self) -> Seq {
        self.inner.lock().published
    }

    fn health(&self) -> Health {
        match self.inner.lock().closed {
            true => Health::Closed,
            false if self.full.load(Ordering::SeqCst) => Health::Full,
            false => Health::Ok,
        }
    }

    fn is_certain(&self) -> bool {
        !self.uncertain.load(Ordering::SeqCst)
    }

    fn ends(&self) -> Option<Arc<ExpiryClock>> {
        None
    }

    fn backlog(&self) -> Backlog {
        Backlog { sets: self.pending(), since_ms: None, fills: false }
    }
}
