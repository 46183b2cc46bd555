//! The shared state of unfinished changes of subtrees ([`stet_domain::object::Remainder`]), and the
//! waiting for them. `crate::remains` carries the changes on.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use tokio::sync::{Notify, Semaphore, watch};

use super::{overloaded_error, store_failure};
use stet_domain::error::{Error, Result};
use stet_domain::id::Loid;
use stet_domain::object::Remainder;
use stet_domain::store::{ReadLevel, RowReader};

/// The number of commands that may wait for changes of subtrees at a time.
const MOST_WAITING: usize = 1024;

/// The shared state of all unfinished changes of subtrees.
pub(crate) struct RemainderTracker {
    /// Whether remainders may exist. Set before the first one is submitted, and reset only when
    /// none is in any view, so callers that find it false need not look.
    under_way: AtomicBool,
    /// Whether remainders may exist that the task that carries them on does not know.
    news: AtomicBool,
    /// Wakes the task that carries remainders on.
    wake: Notify,
    /// Raised whenever a remainder is done or gets stuck.
    turned: watch::Sender<u64>,
    /// The entries whose remainders are stuck for now, and the reasons.
    stuck: Mutex<BTreeMap<Loid, Error>>,
    /// Whether no remainder is carried on any more in this process.
    over: AtomicBool,
    waiting: Semaphore,
}

impl RemainderTracker {
    pub fn new(under_way: bool) -> RemainderTracker {
        show(under_way);
        RemainderTracker {
            under_way: AtomicBool::new(under_way),
            news: AtomicBool::new(true),
            wake: Notify::new(),
            turned: watch::Sender::new(0),
            stuck: Mutex::default(),
            over: AtomicBool::new(false),
            waiting: Semaphore::new(MOST_WAITING),
        }
    }

    pub fn are_under_way(&self) -> bool {
        self.under_way.load(Ordering::Acquire)
    }

    /// Notes that remainders may exist. Called before the change set that creates some is
    /// submitted, by a caller that steps alone.
    pub fn begin(&self) {
        self.under_way.store(true, Ordering::Release);
        show(true);
    }

    /// Notes that no remainder exists. Called by a caller that steps alone.
    pub fn none_left(&self) {
        self.under_way.store(false, Ordering::Release);
        show(false);
        // A caller may wait for an entry whose first step failed before it was known here.
        self.turn();
    }

    /// Wakes the task that carries remainders on.
    pub fn wake(&self) {
        self.news.store(true, Ordering::Release);
        self.wake.notify_one();
    }

    /// Reports whether remainders may exist that were not looked for yet, and resets that.
    pub fn take_news(&self) -> bool {
        self.news.swap(false, Ordering::AcqRel)
    }

    /// Waits until [`RemainderTracker::wake`] is called.
    pub async fn woken(&self) {
        self.wake.notified().await;
    }

    /// Notes that all work for an entry has been done.
    pub fn ended(&self, entry: Loid) {
        self.stuck.lock().remove(&entry);
        self.turn();
    }

    /// Notes that the work for an entry continues.
    pub fn goes_on(&self, entry: Loid) {
        show(true);
        self.stuck.lock().remove(&entry);
    }

    /// Notes that the work for an entry is stuck for now; it will be tried again.
    pub fn sticks(&self, entry: Loid, why: Error) {
        self.stuck.lock().insert(entry, why);
        self.turn();
    }

    /// Notes that no work is carried on any more in this process.
    pub fn close(&self) {
        self.over.store(true, Ordering::Release);
        self.turn();
        self.wake();
    }

    fn turn(&self) {
        self.turned.send_modify(|count| *count += 1);
    }

    /// Waits until no work for an entry is left, on disk.
    ///
    /// # Errors
    /// The reason why the work is stuck for now; `Overloaded` when the repository is shutting down.
    pub async fn finished(&self, look: &dyn RowReader, entry: Loid) -> Result<()> {
        let mut turned = self.turned.subscribe();
        loop {
            // The count is read first: a change after that is seen in the next round.
            turned.borrow_and_update();
            if !self.are_under_way() {
                return Ok(());
            }
            let is_left = |view| Ok(!Remainder::of(look, view, entry, None, 1)?.is_empty());
            let left = is_left(ReadLevel::Latest).and_then(|latest| Ok(latest || is_left(ReadLevel::Committed)?));
            if !left.map_err(|error| store_failure(&error))? {
                return Ok(());
            }
            if let Some(why) = self.stuck.lock().get(&entry) {
                return Err(why.clone());
            }
            // The sender lives as long as `self`.
            if self.over.load(Ordering::Acquire) || turned.changed().await.is_err() {
                return Err(overloaded_error("The repository is shutting down"));
            }
        }
    }

    /// Waits as [`RemainderTracker::finished`] does, for a command that is to be applied after
    /// that.
    ///
    /// # Errors
    /// The errors of [`RemainderTracker::finished`]; `Overloaded` when too many commands wait.
    pub async fn awaited(&self, look: &dyn RowReader, entry: Loid) -> Result<()> {
        let _place = self.waiting.try_acquire().map_err(|_| {
            metrics::counter!("stet_overloaded_total", "what" => "folders").increment(1);
            overloaded_error("Too many calls wait for changes of folders")
        })?;
        self.finished(look, entry).await
    }
}

fn show(under_way: bool) {
    metrics::gauge!("stet_subtrees_under_way").set(f64::from(u8::from(under_way)));
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;
    use stet_domain::id::DatabaseId;
    use stet_domain::object::RemainderTask;
    use stet_domain::store::memory::MemoryStore;
    use stet_domain::store::{ChangeSet, Row, RowChange, Store, encode_value};

    /// Regression: if the first commit of a change failed before the task that carries it on knew
    /// the change, nothing woke the waiting callers.
    #[test]
    fn callers_waiting_for_a_change_whose_first_commit_failed_are_woken() {
        let entry = Loid::new(DatabaseId::FIRST, 7);
        let row = Remainder {
            entry,
            task: RemainderTask::Restore,
            folder: entry,
            after: Vec::new(),
            user: "editor".into(),
            session: "".into(),
            address: None,
        };
        let value = Some(encode_value(Remainder::FORMAT, &row));
        let store = MemoryStore::new();
        store.hold();
        let remains = RemainderTracker::new(true);
        let change = RowChange { table: row.place().table, key: row.place().key, value };
        let set = ChangeSet { changes: vec![change], ..ChangeSet::fence(store.epoch(), |_| ()) };
        store.submit(set).map_err(|refused| refused.why).expect("it is taken");
        let mut waiting = std::pin::pin!(remains.finished(&store, entry));
        assert!(waiting.as_mut().now_or_never().is_none(), "it is left to be done");

        store.fail_next();
        store.release_failing();
        remains.none_left();
        assert!(matches!(waiting.now_or_never(), Some(Ok(()))));
    }
}
