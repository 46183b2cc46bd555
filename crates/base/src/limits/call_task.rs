//! The task of a call: the holder that it works for, and the time that it takes on a shared thread.
//!
//! There are few request threads, and each serves thousands of connections. A loop on such a thread
//! yields to other tasks every [`SLICE`], but that alone divides the thread among tasks: a user
//! with 64 of them would have 64 slices for one of each other user. So holders take turns instead
//! of tasks:
//!
//! - The holder is charged for all time in which its tasks are polled, for the handler and for the
//!   body of the reply ([`CallTask::poll`]).
//! - A holder may spend [`FREE`] a second in any number of tasks. Beyond that, a task that yields
//!   ([`give_way`]) continues only with a turn of [`TimeSlices`], and keeps the turn until it waits
//!   for anything. While several holders spend more than that, their calls begin in turns too
//!   ([`begin_call`]): otherwise thousands of short calls would occupy all threads.
//! - Turns are fewer than threads, and one holder has at most half of them. Waiting for one is
//!   never refused.
//!
//! Work without a holder is the server's own: it yields to other tasks, and takes no turns.

use std::cell::RefCell;
use std::future::poll_fn;
use std::mem;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::task::yield_now;

use super::fair_queue::{FairQueue, WorkPermit};
use super::turn_clock::begin_turn;
use super::{Holder, MOST_QUOTAS, Quota, Quotas};

/// The time after which a loop on a shared thread yields. Being polled again takes microseconds, so
/// this costs long work almost nothing.
pub const SLICE: Duration = Duration::from_millis(2);

/// The time that a holder may spend in a second without waiting for turns.
const FREE: Duration = Duration::from_millis(20);

/// The uncharged time from which a holder is charged at the end of a poll. The rest is charged when
/// the task ends: most calls take a tenth of that.
const CHARGED: Duration = Duration::from_micros(200);

/// The time after which a holder no longer counts as busy, since it last spent more than is free.
const BUSY: Duration = Duration::from_secs(1);

tokio::task_local! {
    static TASK: CallTask;
}

/// The task of one call. A clone is the same task.
#[derive(Clone)]
pub struct CallTask(Rc<RefCell<CallTaskState>>);

struct CallTaskState {
    slices: TimeSlices,
    /// The holder that the task works for; `None` until the caller is known.
    behalf: Option<Holder>,
    /// Whether the call has changed something and not reported it to the caller.
    changed: ChangeMark,
    /// True once the reply is on its way to the client.
    is_replying: bool,
    /// Time on its thread that the holder has not been charged for.
    uncharged: Duration,
    /// The start of the present poll, or the last charge during that poll.
    polled_since: Option<Instant>,
    /// The turn that the present poll is part of.
    turn: Option<WorkPermit>,
}

impl CallTask {
    /// Creates the task of a call whose holder is not known yet.
    pub fn new(slices: &TimeSlices) -> CallTask {
        CallTask(Rc::new(RefCell::new(CallTaskState {
            slices: slices.clone(),
            behalf: None,
            changed: ChangeMark::default(),
            is_replying: false,
            uncharged: Duration::ZERO,
            polled_since: None,
            turn: None,
        })))
    }

    /// Polls the task in a turn of the thread, and measures how long that occupies the thread.
    ///
    /// If the task has a turn, the turn ends with the poll: the task then waits for something else.
    pub fn poll<T>(&self, poll: impl FnOnce() -> T) -> (T, Duration) {
        let began = Instant::now();
        begin_turn(began);
        self.poll_from(began, poll)
    }

    /// Polls the task, as a part of a turn of the thread.
    fn poll_from<T>(&self, began: Instant, poll: impl FnOnce() -> T) -> (T, Duration) {
        self.0.borrow_mut().polled_since = Some(began);
        let outcome = TASK.sync_scope(self.clone(), poll);
        let ended = Instant::now();
        let turn = {
            let mut state = self.0.borrow_mut();
            state.measure(ended);
            if state.uncharged >= CHARGED {
                state.charge();
            }
            state.polled_since = None;
            state.turn.take()
        };
        // The end of a turn wakes the next task.
        drop(turn);
        (outcome, ended - began)
    }

    /// Notes that the reply is being sent. From now on no turn is refused to the task, because that
    /// would abort the reply.
    pub fn begin_reply(&self) {
        self.0.borrow_mut().is_replying = true;
    }

    /// Charges the holder for the time that the task has taken. If it has taken more than is free,
    /// returns the slices and the holder.
    fn charge(&self) -> Option<(TimeSlices, Holder)> {
        let mut state = self.0.borrow_mut();
        state.measure(Instant::now());
        if !state.charge() {
            return None;
        }
        state.behalf.clone().map(|holder| (state.slices.clone(), holder))
    }
}

impl CallTaskState {
    /// Adds the time of the present poll up to `now` to the uncharged time.
    fn measure(&mut self, now: Instant) {
        self.uncharged += self.polled_since.replace(now).map_or(Duration::ZERO, |since| now - since);
    }

    /// Charges the holder for the uncharged time. Returns whether it has taken more than is free.
    /// Time from before the holder was known is charged later.
    fn charge(&mut self) -> bool {
        let Some(holder) = &self.behalf else { return false };
        self.slices.charge(holder, mem::take(&mut self.uncharged))
    }
}

impl Drop for CallTaskState {
    fn drop(&mut self) {
        self.charge();
    }
}

/// The time of the threads that calls share, in slices for which holders take turns. A clone shares
/// the state.
#[derive(Clone)]
pub struct TimeSlices(Arc<Inner>);

struct Inner {
    turns: FairQueue,
    /// The balances of holders, in microseconds.
    free: Quotas<Holder>,
    /// The two holders that were the last to spend more than is free, with the times.
    busy: Mutex<[Option<(Holder, Instant)>; 2]>,
    started: Instant,
    granted: metrics::Counter,
}

impl TimeSlices {
    /// Creates the slices of a number of threads. If there are two or more, one is left to calls
    /// that need no turn.
    pub fn new(threads: usize) -> TimeSlices {
        let at_once = threads.saturating_sub(1).max(1);
        TimeSlices(Arc::new(Inner {
            turns: FairQueue::never_refused(at_once, at_once.div_ceil(2)),
            free: Quotas::new(Quota::new(FREE.as_micros() as u32, 1), MOST_QUOTAS),
            busy: Mutex::default(),
            started: Instant::now(),
            granted: metrics::counter!("stet_http_time_slices_total"),
        }))
    }

    /// Charges a holder for time. Returns whether it has taken more than is free.
    fn charge(&self, holder: &Holder, taken: Duration) -> bool {
        let now_ms = self.0.started.elapsed().as_millis() as u64;
        self.0.free.spend(holder, now_ms, taken.as_micros() as u64)
    }

    /// Notes that a holder has taken more than is free. Returns whether another holder has done so
    /// recently.
    fn is_busy_beside_others(&self, holder: &Holder) -> bool {
        let now = Instant::now();
        let mut busy = self.0.busy.lock();
        let own = busy.iter().position(|entry| entry.as_ref().is_some_and(|(other, _)| other == holder));
        // Otherwise the older entry; `None` counts as the oldest.
        let own = own.unwrap_or(usize::from(busy[0].as_ref().map(|(_, at)| at) > busy[1].as_ref().map(|(_, at)| at)));
        busy[own] = Some((holder.clone(), now));
        busy[1 - own].as_ref().is_some_and(|(_, at)| now.duration_since(*at) < BUSY)
    }

    /// Waits for a turn for the current task.
    pub async fn slice(&self) -> Option<WorkPermit> {
        let turn = self.0.turns.turn().await.ok()?;
        self.0.granted.increment(1);
        Some(turn)
    }
}

/// Yields to other tasks. A task whose holder has taken more than is free waits for the holder's
/// turn.
pub async fn give_way() {
    let charged = TASK.try_with(|task| task.charge().map(|(slices, _)| (task.clone(), slices)));
    let turn = match charged {
        Ok(Some((task, slices))) => Some((task, slices.slice().await)),
        _ => None,
    };
    // Yields even with a turn: a thread runs all woken tasks before it looks for new requests. If
    // one slice followed the other in one round, requests would wait for dozens of slices.
    yield_now().await;
    if let Some((task, turn)) = turn {
        task.0.borrow_mut().turn = turn;
    }
}

/// Waits for the holder's turn to begin a call, if the holder and at least one other have taken
/// more than is free. A single busy holder may use all threads: its waiting would help nobody.
pub async fn begin_call() {
    let busy = TASK.try_with(|task| {
        let (slices, holder) = task.charge()?;
        slices.is_busy_beside_others(&holder).then(|| (task.clone(), slices))
    });
    if let Ok(Some((task, slices))) = busy {
        let turn = slices.slice().await;
        task.0.borrow_mut().turn = turn;
    }
}

/// Does work that others wait for as the server's own, whichever call started it. It takes no
/// turns, because all others would wait for the turn of one user.
pub async fn as_server<T>(work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    // Outside of a call's task all work is the server's own.
    let own = TASK.try_with(|task| CallTask::new(&task.0.borrow().slices)).ok();
    poll_fn(|cx| match &own {
        Some(own) => own.poll_from(Instant::now(), || work.as_mut().poll(cx)).0,
        None => work.as_mut().poll(cx),
    })
    .await
}

/// Sets the holder that this task works for from now on. Does nothing outside of a call's task.
pub fn on_behalf_of(holder: Holder) {
    let _ = TASK.try_with(|task| task.0.borrow_mut().behalf = Some(holder));
}

/// Returns the holder that this task works for, if it is known.
pub fn behalf() -> Option<Holder> {
    TASK.try_with(|task| task.0.borrow().behalf.clone()).ok().flatten()
}

/// Whether a call has changed something and not reported it. A clone is the same mark.
///
/// A call with the mark may not be refused: the caller would assume that nothing was changed, and
/// make the change again.
#[derive(Debug, Clone, Default)]
pub struct ChangeMark(Arc<AtomicBool>);

impl ChangeMark {
    /// Sets or clears the mark.
    pub fn set(&self, has_changed: bool) {
        self.0.store(has_changed, Ordering::Relaxed);
    }

    /// Reports whether the mark is set.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Returns the mark of this task; outside of a call's task, a mark of its own.
pub fn change_mark() -> ChangeMark {
    TASK.try_with(|task| task.0.borrow().changed.clone()).unwrap_or_default()
}

/// Returns whether this task has a [`ChangeMark`] that is set.
pub(super) fn has_changed() -> bool {
    TASK.try_with(|task| task.0.borrow().changed.is_set()).unwrap_or(false)
}

/// Returns whether this task sends a reply, which a refusal would abort.
pub(super) fn is_replying() -> bool {
    TASK.try_with(|task| task.0.borrow().is_replying).unwrap_or(false)
}

/// Returns whether this task may be refused memory. It may not once it has changed something or is
/// replying. The server's own work may be refused.
pub fn may_be_refused() -> bool {
    !has_changed() && !is_replying()
}

/// Runs a future as the task of a call, on threads of its own.
#[cfg(any(test, feature = "testing"))]
pub async fn with_behalf<T>(future: impl Future<Output = T>) -> T {
    CallTask::new(&TimeSlices::new(1)).run(future).await
}

#[cfg(any(test, feature = "testing"))]
impl CallTask {
    /// Creates a task of a user who has used more time than is free.
    pub fn busy(user: &str, slices: &TimeSlices) -> CallTask {
        let task = CallTask::new(slices);
        {
            let mut state = task.0.borrow_mut();
            state.behalf = Some(Holder::User(user.into()));
            state.uncharged = FREE + SLICE;
        }
        task
    }

    /// Runs a future as this task.
    pub async fn run<T>(&self, future: impl Future<Output = T>) -> T {
        let mut future = pin!(future);
        poll_fn(|cx| self.poll(|| future.as_mut().poll(cx)).0).await
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use futures_util::FutureExt;
    use tokio::task::LocalSet;

    use super::*;

    fn task_of(name: &str, slices: &TimeSlices) -> CallTask {
        let task = CallTask::new(slices);
        task.0.borrow_mut().behalf = Some(Holder::User(name.into()));
        task
    }

    /// Occupies the thread for a time.
    fn work(time: Duration) {
        let began = Instant::now();
        while began.elapsed() < time {}
    }

    /// Returns the largest number of slices of work that a thread does between two polls of another
    /// task. The given number of users have that number of calls each, and have used their free
    /// time.
    async fn slices_between_polls(users: usize, calls: usize, threads: usize) -> usize {
        let slices = TimeSlices::new(threads);
        let (worked, is_over) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(false)));
        let thread = LocalSet::new();
        for call in 0..users * calls {
            let task = task_of(&format!("user-{}", call % users), &slices);
            let (worked, is_over) = (worked.clone(), is_over.clone());
            thread.spawn_local(async move {
                let calling = async {
                    while !is_over.get() {
                        work(SLICE / 4);
                        worked.set(worked.get() + 1);
                        // Simulates that this took all free slices of a second.
                        task.0.borrow_mut().uncharged += FREE + SLICE;
                        give_way().await;
                    }
                };
                task.run(calling).await;
            });
        }
        let other = async {
            let mut most = 0;
            for round in 0..40 {
                let before = worked.get();
                yield_now().await;
                // At the beginning each call has a free slice.
                if round > 5 {
                    most = most.max(worked.get() - before);
                }
            }
            is_over.set(true);
            most
        };
        let most = thread.run_until(other).await;
        thread.await;
        most
    }

    #[tokio::test]
    async fn one_user_with_many_calls_has_one_slice_between_two_of_another() {
        assert_eq!(slices_between_polls(1, 64, 2).await, 1);
        assert_eq!(slices_between_polls(8, 8, 2).await, 1);
        // One user has at most two of the four turns.
        assert_eq!(slices_between_polls(1, 64, 5).await, 2);
        assert_eq!(slices_between_polls(2, 64, 5).await, 4);
    }

    #[tokio::test]
    async fn short_work_and_the_servers_own_work_need_no_turn() {
        let slices = TimeSlices::new(2);
        let held = task_of("other", &slices).run(slices.slice()).await;
        let task = task_of("ada", &slices);
        let spends = async |slices: u32| {
            task.0.borrow_mut().uncharged = SLICE * slices - SLICE / 2;
            task.run(give_way()).await;
        };
        spends(8).await;
        spends(1).await;
        let mut waits = Box::pin(spends(4));
        for _ in 0..3 {
            assert!(waits.as_mut().now_or_never().is_none());
            yield_now().await;
        }
        let own = CallTask::new(&slices);
        own.0.borrow_mut().uncharged = SLICE * 1000;
        own.run(give_way()).await;
        drop(held);
        waits.await;
        assert!(task.0.borrow().turn.is_none(), "the turn ends with the poll");
    }

    #[tokio::test]
    async fn a_call_that_goes_away_gives_its_turn_to_the_next() {
        let slices = TimeSlices::new(1);
        let (first, second) = (CallTask::busy("ada", &slices), CallTask::busy("mia", &slices));
        let held = task_of("other", &slices).run(slices.slice()).await;
        {
            let mut abandoned = Box::pin(first.run(give_way()));
            for _ in 0..3 {
                assert!(abandoned.as_mut().now_or_never().is_none());
                yield_now().await;
            }
        }
        let mut waits = Box::pin(second.run(give_way()));
        assert!(waits.as_mut().now_or_never().is_none());
        yield_now().await;
        assert!(waits.as_mut().now_or_never().is_none());
        drop(held);
        waits.await;
    }

    #[tokio::test]
    async fn work_that_others_wait_for_takes_no_turn() {
        let slices = TimeSlices::new(2);
        let held = task_of("other", &slices).run(slices.slice()).await;
        let task = CallTask::busy("ada", &slices);
        task.run(as_server(async {
            work(SLICE);
            give_way().await;
        }))
        .await;
        let mut waits = Box::pin(task.run(give_way()));
        assert!(waits.as_mut().now_or_never().is_none());
        yield_now().await;
        assert!(waits.as_mut().now_or_never().is_none(), "its own work takes turns");
        drop(held);
        waits.await;
    }

    #[tokio::test]
    async fn the_time_of_all_polls_of_a_call_counts() {
        let slices = TimeSlices::new(2);
        let (task, ada) = (task_of("ada", &slices), Holder::User("ada".into()));
        let calling = async {
            for _ in 0..3 {
                work(FREE / 4);
                yield_now().await;
            }
        };
        task.run(calling).await;
        task.poll(|| work(FREE / 2));
        assert!(slices.charge(&ada, Duration::ZERO), "five quarters of what is free, less what has come back");
        assert!(!slices.charge(&Holder::User("mia".into()), FREE / 2));
    }

    /// Clients in a loop with calls of half a millisecond took no turns, whatever their number.
    #[tokio::test]
    async fn calls_of_busy_holders_begin_in_turns_unless_one_is_alone() {
        let slices = TimeSlices::new(2);
        let held = task_of("other", &slices).run(slices.slice()).await;
        let begins = |task: CallTask| async move { task.run(begin_call()).await };
        begins(task_of("idle", &slices)).await;
        begins(CallTask::busy("ada", &slices)).await;
        begins(CallTask::busy("ada", &slices)).await;
        let mut waits = Box::pin(begins(CallTask::busy("mia", &slices)));
        assert!(waits.as_mut().now_or_never().is_none(), "ada is busy, too");
        let mut first_waits = Box::pin(begins(CallTask::busy("ada", &slices)));
        assert!(first_waits.as_mut().now_or_never().is_none());
        begins(task_of("idle", &slices)).await;
        drop(held);
        waits.await;
        first_waits.await;
    }
}
