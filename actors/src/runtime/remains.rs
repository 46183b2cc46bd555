//! What all know of the changes of subtrees that are under way ([`crate::object::Remainder`]), and
//! how it is waited for. `crate::remains` carries them on.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use tokio::sync::{Notify, Semaphore, watch};

use super::{overloaded, store_failure};
use crate::error::{Error, Result};
use crate::id::Loid;
use crate::object::Remainder;
use crate::store::{Look, View};

/// Commands that may wait for changes of subtrees at a time.
const MOST_WAITING: usize = 1024;

/// See the module's head.
pub(crate) struct Remains {
    /// Whether there may be any. Set before the first one is submitted, and only taken back when
    /// there are none in any view, so whoever finds it false need not look.
    under_way: AtomicBool,
    /// Whether there may be some that whoever carries them on does not know.
    news: AtomicBool,
    /// Wakes whoever carries them on.
    wake: Notify,
    /// Raised whenever one has ended, or can't go on.
    turned: watch::Sender<u64>,
    /// Those that can't go on for now, and why.
    stuck: Mutex<BTreeMap<Loid, Error>>,
    /// Whether none is carried on any more.
    over: AtomicBool,
    waiting: Semaphore,
}

impl Remains {
    pub fn new(under_way: bool) -> Remains {
        show(under_way);
        Remains {
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

    /// To be said before the change set that leaves some is submitted, by whoever steps alone.
    pub fn begin(&self) {
        self.under_way.store(true, Ordering::Release);
        show(true);
    }

    /// There are none. To be said by whoever steps alone.
    pub fn none_left(&self) {
        self.under_way.store(false, Ordering::Release);
        show(false);
        // Some may wait for an entry whose first step came to nothing before it was heard of here.
        self.turn();
    }

    /// Tells whoever carries them on that there are some.
    pub fn wake(&self) {
        self.news.store(true, Ordering::Release);
        self.wake.notify_one();
    }

    /// Whether there may be some that have not been asked for yet.
    pub fn take_news(&self) -> bool {
        self.news.swap(false, Ordering::AcqRel)
    }

    /// Waits until there are some.
    pub async fn woken(&self) {
        self.wake.notified().await;
    }

    /// All that is left of an entry has been done.
    pub fn ended(&self, entry: Loid) {
        self.stuck.lock().remove(&entry);
        self.turn();
    }

    /// What is left of an entry goes on.
    pub fn goes_on(&self, entry: Loid) {
        show(true);
        self.stuck.lock().remove(&entry);
    }

    /// What is left of an entry can't go on for now; it will be tried again.
    pub fn sticks(&self, entry: Loid, why: Error) {
        self.stuck.lock().insert(entry, why);
        self.turn();
    }

    /// None is carried on any more in this process.
    pub fn close(&self) {
        self.over.store(true, Ordering::Release);
        self.turn();
        self.wake();
    }

    fn turn(&self) {
        self.turned.send_modify(|count| *count += 1);
    }

    /// Waits until nothing is left to be done for an entry, on disk.
    ///
    /// # Errors
    /// Why it can't go on for now; `Overloaded` when the repository is shutting down.
    pub async fn finished(&self, look: &dyn Look, entry: Loid) -> Result<()> {
        let mut turned = self.turned.subscribe();
        loop {
            // First the count, then the look: what turns between them is seen at the next round.
            turned.borrow_and_update();
            if !self.are_under_way() {
                return Ok(());
            }
            let is_left = |view| Ok(!Remainder::of(look, view, entry, None, 1)?.is_empty());
            let left = is_left(View::Latest).and_then(|latest| Ok(latest || is_left(View::Committed)?));
            if !left.map_err(|error| store_failure(&error))? {
                return Ok(());
            }
            if let Some(why) = self.stuck.lock().get(&entry) {
                return Err(why.clone());
            }
            // The sender lives as long as `self`.
            if self.over.load(Ordering::Acquire) || turned.changed().await.is_err() {
                return Err(overloaded("The repository is shutting down"));
            }
        }
    }

    /// As [`Remains::finished`], for a command that is to be applied after that.
    ///
    /// # Errors
    /// As there; `Overloaded` when too many wait.
    pub async fn awaited(&self, look: &dyn Look, entry: Loid) -> Result<()> {
        let _place = self.waiting.try_acquire().map_err(|_| {
            metrics::counter!("stet_overloaded_total", "what" => "folders").increment(1);
            overloaded("Too many calls wait for changes of folders")
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
    use crate::id::DatabaseId;
    use crate::object::Task;
    use crate::store::memory::MemoryStore;
    use crate::store::{Change, ChangeSet, Row, Store, encode_value};

    /// Nobody woke those who waited for a change whose commit failed before it was heard of by what
    /// would have carried it on.
    #[test]
    fn who_waits_for_what_came_to_nothing_hears_of_it() {
        let entry = Loid::new(DatabaseId::FIRST, 7);
        let row = Remainder {
            entry,
            task: Task::Restore,
            folder: entry,
            after: Vec::new(),
            user: "editor".into(),
            session: "".into(),
            address: None,
        };
        let value = Some(encode_value(Remainder::FORMAT, &row));
        let store = MemoryStore::new();
        store.hold();
        let remains = Remains::new(true);
        let change = Change { table: row.place().table, key: row.place().key, value };
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
