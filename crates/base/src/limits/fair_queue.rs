//! A queue for work of which only a few pieces run at a time. Turns are fair: a caller with much
//! work waits for its own turns.
//!
//! Each holder has a line of waiting calls, and the lines get turns in rotation. So a caller with
//! one piece of work waits for one piece of each other holder, however many those have. And no
//! holder has all turns at once: a piece of work may take long, and others need not wait for its
//! end while another turn is free.

use std::collections::VecDeque;
use std::sync::Arc;

use foldhash::HashMap;
use parking_lot::Mutex;
use stet_domain::error::{Code, Error, Result};
use tokio::sync::oneshot;

use super::Holder;
use super::call_task::{behalf, has_changed, is_replying};

/// A queue with fair turns for holders. A clone shares the state.
#[derive(Clone)]
pub struct FairQueue(Arc<Inner>);

struct Inner {
    /// The name of the work in messages: `passwords`.
    about: &'static str,
    /// The number of turns that one holder may have at a time.
    share: usize,
    /// The number of calls of one holder that may wait.
    most: usize,
    lines: Mutex<FairQueueLines>,
    refused: metrics::Counter,
}

#[derive(Default)]
struct FairQueueLines {
    /// The number of free turns; 0 while a holder waits that has less than its share.
    free: usize,
    /// The running turns per holder. Work of the server itself takes turns, too, but is not counted
    /// here, so it has no share that limits it.
    working: HashMap<Holder, usize>,
    /// The waiting calls by holder; `None` is the server itself.
    waiting: HashMap<Option<Holder>, VecDeque<oneshot::Sender<WorkPermit>>>,
    /// The order in which the lines get turns.
    order: VecDeque<Option<Holder>>,
    /// The number of others' turns that each holder must let pass: see [`WorkPermit::charge`].
    owed: HashMap<Holder, u32>,
}

/// The permission to do one piece of work, which ends when this is dropped.
pub struct WorkPermit(Option<(Arc<Inner>, Option<Holder>)>);

impl WorkPermit {
    /// Charges the holder for work that took as long as that many turns. As long as others wait,
    /// they get that many turns before the holder's next one.
    pub fn charge(&self, turns: u32) {
        if let Some((inner, Some(holder))) = &self.0
            && turns > 0
        {
            *inner.lines.lock().owed.entry(holder.clone()).or_default() += turns;
        }
    }
}

impl FairQueue {
    /// Creates a queue with `at_once` turns, of which one holder may have all but one. At most
    /// `most` calls of one holder may wait. `name` is the label in the metrics, `about` the name of
    /// the work in messages.
    pub fn new(name: &'static str, about: &'static str, at_once: usize, most: usize) -> FairQueue {
        let refused = metrics::counter!("stet_overloaded_total", "what" => name);
        let share = at_once.saturating_sub(1);
        FairQueue::with(at_once, share, Inner { about, share, most, lines: Mutex::default(), refused })
    }

    /// Creates a queue with `at_once` turns, of which one holder may have `share`. Any number of
    /// calls may wait, so something else must limit them.
    pub fn never_refused(at_once: usize, share: usize) -> FairQueue {
        let refused = metrics::Counter::noop();
        let inner = Inner { about: "calls", share, most: usize::MAX, lines: Mutex::default(), refused };
        FairQueue::with(at_once, share, inner)
    }

    fn with(at_once: usize, share: usize, inner: Inner) -> FairQueue {
        let lines = Mutex::new(FairQueueLines { free: at_once.max(1), ..FairQueueLines::default() });
        FairQueue(Arc::new(Inner { share: share.max(1), lines, ..inner }))
    }

    /// Waits for a turn for the current task's holder. A task that has changed something without
    /// reporting it yet is not refused, and is first in its holder's line. A queue that never
    /// refuses keeps the order of arrival.
    ///
    /// # Errors
    /// `Overloaded` if too many calls of the same holder wait already, and this one may be refused.
    pub async fn turn(&self) -> Result<WorkPermit> {
        let (holder, has_changed) = (behalf(), has_changed());
        let goes_first = has_changed && self.0.most < usize::MAX;
        let coming = {
            let mut lines = self.0.lines.lock();
            if lines.free > 0 && lines.may_have_one(holder.as_ref(), self.0.share) {
                // Without running work, debts are cancelled.
                if lines.order.is_empty() && lines.working.is_empty() {
                    lines.owed.clear();
                }
                lines.begin(holder.as_ref());
                return Ok(WorkPermit(Some((self.0.clone(), holder))));
            }
            let FairQueueLines { waiting, order, .. } = &mut *lines;
            let is_new = !waiting.contains_key(&holder);
            let line = waiting.entry(holder.clone()).or_default();
            // Calls that have been dropped don't count.
            if line.len() >= self.0.most {
                line.retain(|waiting| !waiting.is_closed());
            }
            if holder.is_some() && !has_changed && !is_replying() && line.len() >= self.0.most {
                self.0.refused.increment(1);
                let message =
                    format!("Too many of your {} wait for their turn; nothing was changed, try again.", self.0.about);
                return Err(Error::new(Code::Overloaded, message));
            }
            if is_new {
                order.push_back(holder);
            }
            let (give, coming) = oneshot::channel();
            if goes_first {
                line.push_front(give);
            } else {
                line.push_back(give);
            }
            coming
        };
        // The sender is dropped only with a turn.
        coming.await.map_err(|_| Error::internal())
    }
}

impl FairQueueLines {
    fn may_have_one(&self, holder: Option<&Holder>, share: usize) -> bool {
        holder.and_then(|holder| self.working.get(holder)).is_none_or(|turns| *turns < share)
    }

    /// Takes one of the free turns.
    fn begin(&mut self, holder: Option<&Holder>) {
        self.free -= 1;
        if let Some(holder) = holder {
            *self.working.entry(holder.clone()).or_default() += 1;
        }
    }

    /// Returns a turn.
    fn end(&mut self, holder: Option<&Holder>) {
        self.free += 1;
        if let Some(holder) = holder
            && let Some(turns) = self.working.get_mut(holder)
        {
            *turns -= 1;
            if *turns == 0 {
                self.working.remove(holder);
            }
        }
    }

    /// Removes the next call whose holder may have a turn. Holders that owe turns let others pass.
    fn next(&mut self, share: usize) -> Option<(Option<Holder>, oneshot::Sender<WorkPermit>)> {
        let FairQueueLines { order, owed, working, .. } = self;
        let may_have_one = |holder: &Option<Holder>| {
            holder.as_ref().and_then(|holder| working.get(holder)).is_none_or(|turns| *turns < share)
        };
        let debt = |holder: &Option<Holder>| holder.as_ref().and_then(|holder| owed.get(holder)).copied().unwrap_or(0);
        // The first of the holders with the smallest debt.
        let candidates = order.iter().enumerate().filter(|(_, holder)| may_have_one(holder));
        let (place, least) = candidates.map(|(place, holder)| (place, debt(holder))).min_by_key(|(_, debt)| *debt)?;
        // Debts matter only among waiting holders, so the smallest debt is subtracted from all. One
        // more turn passes now.
        let passes = least.saturating_add(1);
        let next = order[place].clone();
        owed.retain(|holder, debt| {
            let paid = if next.as_ref() == Some(holder) { least } else { passes };
            *debt = debt.saturating_sub(paid);
            *debt > 0
        });
        let holder = self.order.remove(place)?;
        let line = self.waiting.get_mut(&holder)?;
        let next = line.pop_front()?;
        if line.is_empty() {
            self.waiting.remove(&holder);
        } else {
            self.order.push_back(holder.clone());
        }
        self.begin(holder.as_ref());
        Some((holder, next))
    }
}

impl Drop for WorkPermit {
    fn drop(&mut self) {
        let Some((inner, holder)) = self.0.take() else { return };
        let mut over = holder;
        loop {
            let mut lines = inner.lines.lock();
            lines.end(over.as_ref());
            let Some((holder, next)) = lines.next(inner.share) else { return };
            drop(lines);
            // A call that was dropped returns the turn, which is offered to the next one. It is not
            // dropped here, because that would recurse.
            match next.send(WorkPermit(Some((inner.clone(), holder)))) {
                Ok(()) => return,
                Err(mut unwanted) => over = unwanted.0.take().and_then(|(_, holder)| holder),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;

    use futures_util::FutureExt;
    use futures_util::future::join_all;

    use super::*;
    use crate::limits::{change_mark, on_behalf_of, with_behalf};

    fn user(name: &str) -> Holder {
        Holder::User(name.into())
    }

    async fn of<T>(name: &str, task: impl Future<Output = T>) -> T {
        with_behalf(async {
            on_behalf_of(user(name));
            task.await
        })
        .await
    }

    #[tokio::test]
    async fn lines_have_turns_one_after_the_other_however_long_they_are() {
        let turns = FairQueue::new("test", "tests", 1, 100);
        let first = turns.turn().await.unwrap();
        let order = Mutex::new(Vec::new());
        let work = async |name: &'static str| {
            let turn = of(name, turns.turn()).await.unwrap();
            order.lock().push(name);
            tokio::task::yield_now().await;
            drop(turn);
        };
        let names = ["a", "a", "a", "a", "b", "c", "b"];
        let all = join_all(names.map(work));
        let begin = async {
            tokio::task::yield_now().await;
            drop(first);
        };
        tokio::join!(all, begin);
        assert_eq!(*order.lock(), ["a", "b", "c", "a", "b", "a", "a"]);
        let lines = turns.0.lines.lock();
        assert_eq!((lines.free, lines.waiting.len(), lines.order.len()), (1, 0, 0));
    }

    /// Regression test: two pieces of work of one caller, of two minutes each, occupied both
    /// processors of a machine. No work of others began in that time.
    #[tokio::test]
    async fn a_holder_never_has_all_permits_of_a_fair_queue() {
        for (at_once, share) in [(1, 1), (2, 1), (4, 3)] {
            let turns = FairQueue::new("test", "tests", at_once, 100);
            let mut had: Vec<WorkPermit> = Vec::new();
            for _ in 0..share {
                had.push(of("a", turns.turn()).now_or_never().expect("it is free").unwrap());
            }
            let mut more = Box::pin(of("a", turns.turn()));
            assert!(more.as_mut().now_or_never().is_none());
            if at_once == 1 {
                drop(had);
                drop(more.await.unwrap());
                continue;
            }
            // Others get the remaining turn one after the other. A holder with a full share does
            // not.
            let mut waiting = Vec::new();
            let other = of("b", turns.turn()).now_or_never().expect("one is left").unwrap();
            for name in ["c", "a", "d"] {
                let mut turn = Box::pin(of(name, turns.turn()));
                assert!(turn.as_mut().now_or_never().is_none(), "{name}");
                waiting.push(turn);
            }
            drop(other);
            let c = waiting.remove(0).now_or_never().expect("it is the next").unwrap();
            assert!(more.as_mut().now_or_never().is_none(), "{at_once}");
            drop(c);
            let d = waiting.remove(1).now_or_never().expect("nor does the line of the other stand before it").unwrap();
            // The server's own work is not limited to a share.
            drop(d);
            let own = turns.turn().now_or_never().expect("one is free").unwrap();
            drop(had.pop());
            drop(more.now_or_never().expect("one of the same is over").unwrap());
            drop(own);
            drop(waiting.remove(0).now_or_never().expect("and another").unwrap());
            drop(had);
            let lines = turns.0.lines.lock();
            let left = (lines.free, lines.working.len(), lines.waiting.len(), lines.order.len());
            assert_eq!(left, (at_once, 0, 0, 0));
        }
    }

    #[tokio::test]
    async fn callers_who_have_changed_something_are_not_refused_and_go_first() {
        let turns = FairQueue::new("test", "tests", 1, 2);
        let first = of("a", turns.turn()).await.unwrap();
        let mut line: Vec<_> = (0..2).map(|_| Box::pin(of("a", turns.turn()))).collect();
        assert!(line.iter_mut().all(|waiting| waiting.as_mut().now_or_never().is_none()));
        let refused = of("a", turns.turn()).now_or_never().expect("it does not wait");
        assert_eq!(refused.err().map(|error| error.code), Some(Code::Overloaded));
        let mut tells = Box::pin(of("a", async {
            change_mark().set(true);
            turns.turn().await
        }));
        let mut of_another = Box::pin(of("b", turns.turn()));
        assert!(tells.as_mut().now_or_never().is_none() && of_another.as_mut().now_or_never().is_none());
        drop(first);
        drop(tells.await.unwrap());
        drop(of_another.now_or_never().expect("others have theirs in between").unwrap());
        for waiting in line {
            drop(waiting.await.unwrap());
        }
    }

    /// Replies to changes take slices as long as there are changes. If they went first, another
    /// call of the same user would wait for all of them.
    #[tokio::test]
    async fn where_none_is_refused_a_line_is_served_in_order_whatever_was_changed() {
        let turns = FairQueue::never_refused(1, 1);
        let first = of("a", turns.turn()).await.unwrap();
        let mut reads = Box::pin(of("a", turns.turn()));
        assert!(reads.as_mut().now_or_never().is_none());
        let mut tells = Box::pin(of("a", async {
            change_mark().set(true);
            turns.turn().await
        }));
        assert!(tells.as_mut().now_or_never().is_none());
        drop(first);
        assert!(tells.as_mut().now_or_never().is_none());
        drop(reads.now_or_never().expect("it came first").unwrap());
        drop(tells.await.unwrap());
    }

    #[tokio::test]
    async fn one_holder_has_so_many_waiting_and_who_goes_away_takes_no_turn() {
        let turns = FairQueue::new("test", "tests", 1, 2);
        let first = of("a", turns.turn()).await.unwrap();
        let mut waiting: Vec<_> = (0..2).map(|_| Box::pin(of("a", turns.turn()))).collect();
        for waiting in &mut waiting {
            assert!(waiting.as_mut().now_or_never().is_none());
        }
        let refused = of("a", turns.turn()).await.err().expect("two wait");
        assert_eq!(refused.code, Code::Overloaded);
        // Others may wait, and so may new calls when earlier ones of the same holder were dropped.
        let mut other = Box::pin(of("b", turns.turn()));
        assert!(other.as_mut().now_or_never().is_none());
        drop(waiting);
        let mut again = Box::pin(of("a", turns.turn()));
        assert!(again.as_mut().now_or_never().is_none());
        drop(first);
        assert!(other.as_mut().now_or_never().is_none(), "one at a time");
        drop(again.await.unwrap());
        drop(other.await.unwrap());
        // Work without a holder is the server's own.
        drop(turns.turn().await.unwrap());
    }

    #[tokio::test]
    async fn a_holder_that_was_charged_lets_as_many_turns_of_others_pass() {
        let turns = FairQueue::new("test", "tests", 2, 10);
        let order = std::cell::RefCell::new(Vec::new());
        let of = async |name: &'static str, charge: u32| {
            with_behalf(async {
                on_behalf_of(user(name));
                let turn = turns.turn().await.unwrap();
                order.borrow_mut().push(name);
                turn.charge(charge);
                tokio::task::yield_now().await;
            })
            .await;
        };
        // The first call of each holder gets a turn at once, and the others wait.
        let mut all = vec![of("heavy", 3).boxed_local(), of("other", 0).boxed_local(), of("heavy", 0).boxed_local()];
        all.extend(["a", "b", "c", "d"].map(|name| of(name, 0).boxed_local()));
        join_all(all).await;
        let order = order.into_inner();
        let heavy = order.iter().rposition(|name| *name == "heavy").unwrap();
        // The first two had their turns already.
        assert_eq!(order[2..heavy], ["a", "b", "c"], "{order:?}");
        assert!(turns.0.lines.lock().owed.is_empty());
    }
}
