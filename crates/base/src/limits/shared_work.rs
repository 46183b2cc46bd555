//! Work that is done once for all callers that need its result, where doing it needs a turn.
//!
//! Each caller waits in its own line, and the first one with a turn does the work. So no caller
//! waits for the line of another that asked earlier. Only one call of each holder waits for a turn,
//! and other calls of the same holder wait for that one: the line has limited room. A caller that
//! gets a turn while the work is being done returns the turn.

use std::hash::Hash;
use std::pin::pin;

use foldhash::HashSet;
use parking_lot::Mutex;
use stet_domain::error::Result;
use tokio::sync::Notify;

use super::Holder;
use super::call_task::behalf;

/// The work in progress. `K` identifies the value being computed.
#[derive(Debug)]
pub struct SharedWork<K: Eq + Hash> {
    now: Mutex<WorkInProgress<K>>,
    /// Notified when a value is ready or its worker has stopped.
    news: Notify,
}

#[derive(Debug)]
struct WorkInProgress<K> {
    /// The values for which a turn is awaited, and the holders that wait.
    awaited: HashSet<(K, Option<Holder>)>,
    /// The values being computed.
    made: HashSet<K>,
}

impl<K: Eq + Hash> Default for SharedWork<K> {
    fn default() -> SharedWork<K> {
        SharedWork {
            now: Mutex::new(WorkInProgress { awaited: HashSet::default(), made: HashSet::default() }),
            news: Notify::new(),
        }
    }
}

/// The outcome for a caller.
pub enum SharedOutcome<'o, K: Eq + Hash, T, P> {
    /// The value exists.
    Ready(T),
    /// The value is to be computed with this turn. Other callers wait until it exists and the claim
    /// is dropped.
    Make(WorkClaim<'o, K>, P),
}

/// The claim of a caller that waits for a turn on behalf of its holder, or has it and does the
/// work.
pub struct WorkClaim<'o, K: Eq + Hash> {
    of: &'o SharedWork<K>,
    awaited: (K, Option<Holder>),
    makes: bool,
}

impl<K: Eq + Hash + Clone> SharedWork<K> {
    /// Returns the value that `there` finds as soon as it exists, or a turn to compute it if that
    /// comes first.
    ///
    /// # Errors
    /// The errors of `turn`.
    pub async fn there_or_turn<T, P, F: Future<Output = Result<P>>>(
        &self,
        key: K,
        there: impl Fn() -> Option<T>,
        turn: impl Fn() -> F,
    ) -> Result<SharedOutcome<'_, K, T, P>> {
        let holder = behalf();
        loop {
            let found = || there().map(Ok).or_else(|| self.wait_for(&key, &holder).map(Err));
            let mut maker = match self.as_soon_as(found).await {
                Ok(there) => return Ok(SharedOutcome::Ready(there)),
                Err(maker) => maker,
            };
            let turn = tokio::select! {
                biased;
                there = self.as_soon_as(&there) => return Ok(SharedOutcome::Ready(there)),
                turn = turn() => turn?,
            };
            if maker.begin() {
                // Another caller may have computed it since the last check.
                return Ok(there().map_or_else(|| SharedOutcome::Make(maker, turn), SharedOutcome::Ready));
            }
        }
    }

    /// Returns a claim to wait for a turn; `None` while another call of the holder waits, or while
    /// the value is being computed.
    fn wait_for(&self, key: &K, holder: &Option<Holder>) -> Option<WorkClaim<'_, K>> {
        let mut now = self.now.lock();
        let awaited = (key.clone(), holder.clone());
        (!now.made.contains(key) && now.awaited.insert(awaited.clone())).then(|| WorkClaim {
            of: self,
            awaited,
            makes: false,
        })
    }

    /// Returns the first value that `look` finds, and calls it again after each notification.
    async fn as_soon_as<T>(&self, look: impl Fn() -> Option<T>) -> T {
        loop {
            let mut news = pin!(self.news.notified());
            // A notification between the call of `look` and the wait is not missed.
            news.as_mut().enable();
            if let Some(found) = look() {
                return found;
            }
            news.await;
        }
    }
}

impl<K: Eq + Hash + Clone> WorkClaim<'_, K> {
    /// Begins the work, unless another caller is doing it. Returns whether it has begun.
    fn begin(&mut self) -> bool {
        self.makes = self.of.now.lock().made.insert(self.awaited.0.clone());
        self.makes
    }
}

impl<K: Eq + Hash> Drop for WorkClaim<'_, K> {
    fn drop(&mut self) {
        let mut now = self.of.now.lock();
        now.awaited.remove(&self.awaited);
        if self.makes {
            now.made.remove(&self.awaited.0);
        }
        drop(now);
        self.of.news.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use futures_util::FutureExt;
    use futures_util::future::join_all;
    use stet_domain::error::{Code, Error};

    use super::*;
    use crate::limits::{FairQueue, WorkPermit, on_behalf_of, with_behalf};

    async fn of<T>(name: &str, task: impl Future<Output = T>) -> T {
        with_behalf(async {
            on_behalf_of(Holder::User(name.into()));
            task.await
        })
        .await
    }

    /// A value, with the number of times it has been computed.
    struct Thing<'t> {
        once: SharedWork<&'static str>,
        turns: &'t FairQueue,
        is_there: Cell<bool>,
        made: Cell<usize>,
    }

    impl<'t> Thing<'t> {
        fn new(turns: &'t FairQueue) -> Thing<'t> {
            Thing { once: SharedWork::default(), turns, is_there: Cell::new(false), made: Cell::new(0) }
        }

        fn there(&self) -> Option<()> {
            self.is_there.get().then_some(())
        }

        /// Returns the outcome, without doing the work.
        async fn come(&self) -> Result<SharedOutcome<'_, &'static str, (), WorkPermit>> {
            self.once.there_or_turn("thing", || self.there(), || self.turns.turn()).await
        }

        /// Does the work if necessary, which takes a while.
        async fn get(&self, comes_to: Result<()>) -> Result<()> {
            match self.come().await? {
                SharedOutcome::Ready(()) => Ok(()),
                SharedOutcome::Make(_maker, _turn) => {
                    self.made.set(self.made.get() + 1);
                    tokio::task::yield_now().await;
                    comes_to.inspect(|()| self.is_there.set(true))
                }
            }
        }
    }

    /// Regression test: one user with 126 pieces of work asked for a large object. Other users who
    /// asked for the same object had to wait for all of that work.
    #[tokio::test]
    async fn callers_wait_in_their_own_queue_and_not_in_an_earlier_callers() {
        let turns = FairQueue::new("test", "tests", 1, 100);
        let thing = Thing::new(&turns);
        let first = turns.turn().await.unwrap();
        let mut work: Vec<_> = (0..50).map(|_| Box::pin(of("a", turns.turn()))).collect();
        for piece in &mut work {
            assert!(piece.as_mut().now_or_never().is_none());
        }
        let mut of_a = Box::pin(of("a", thing.get(Ok(()))));
        let mut of_b = Box::pin(of("b", thing.get(Ok(()))));
        assert!(of_a.as_mut().now_or_never().is_none() && of_b.as_mut().now_or_never().is_none());
        drop(first);
        // Only one piece of the other's work runs before it.
        drop(work.remove(0).now_or_never().expect("it is the first").unwrap());
        assert!(of_b.as_mut().now_or_never().is_none(), "it is being made");
        of_b.await.unwrap();
        of_a.now_or_never().expect("who has asked before is served as well").unwrap();
        assert_eq!(thing.made.get(), 1);
        drop(work);
        drop(turns.turn().now_or_never().expect("nobody keeps a turn").unwrap());
    }

    #[tokio::test]
    async fn one_holders_callers_share_one_place_in_the_queue() {
        let turns = FairQueue::new("test", "tests", 1, 2);
        let thing = Thing::new(&turns);
        let first = turns.turn().await.unwrap();
        let all = join_all((0..100).map(|n| of(if n % 2 == 0 { "a" } else { "b" }, thing.get(Ok(())))));
        let begin = async {
            tokio::task::yield_now().await;
            drop(first);
        };
        let (all, ()) = tokio::join!(all, begin);
        assert!(all.into_iter().all(|outcome| outcome.is_ok()));
        assert_eq!(thing.made.get(), 1);
    }

    #[tokio::test]
    async fn a_permit_holder_returns_it_while_waiting_and_takes_over_abandoned_work() {
        let turns = FairQueue::new("test", "tests", 2, 10);
        let thing = Thing::new(&turns);
        let busy = of("c", turns.turn()).await.unwrap();
        let mut a = Box::pin(of("a", thing.come()));
        let mut b = Box::pin(of("b", thing.get(Ok(()))));
        let Some(Ok(SharedOutcome::Make(maker, turn))) = a.as_mut().now_or_never() else { panic!("it is to be made") };
        assert!(b.as_mut().now_or_never().is_none());
        drop(busy);
        assert!(b.as_mut().now_or_never().is_none());
        let free = of("c", turns.turn()).now_or_never().expect("it was given back").unwrap();
        // The worker stops without having done the work.
        drop((maker, turn, free));
        b.await.unwrap();
        assert_eq!(thing.made.get(), 1);
    }

    #[tokio::test]
    async fn a_failure_is_returned_to_its_maker_and_the_next_caller_retries() {
        let turns = FairQueue::new("test", "tests", 2, 10);
        let thing = Thing::new(&turns);
        let fails = || Err(Error::new(Code::InvalidType, "It can't be made."));
        let all =
            join_all([of("a", thing.get(fails())), of("a", thing.get(fails())), of("a", thing.get(Ok(())))]).await;
        assert_eq!(all.iter().map(Result::is_ok).collect::<Vec<_>>(), [false, false, true]);
        assert_eq!(thing.made.get(), 3);
        let now = thing.once.now.lock();
        assert!(now.awaited.is_empty() && now.made.is_empty());
    }
}
