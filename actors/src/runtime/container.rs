//! The generic actor of containers.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use actix::{
    Actor, ActorContext, ActorFutureExt, AsyncContext, Context as ActorContextOf, Handler, Supervised, WrapFuture,
};
use tokio::sync::watch;

use super::cell::{ContainerView, ViewCell};
use super::job::Job;
use super::lend::{TurnRequest, TurnReturn};
use super::reading::read_from_disk;
use super::supervise::{InstanceMarker, Outage, RestartDecision, RestartLimit};
use super::{RuntimeServices, overloaded_error};
use stet_domain::error::{Code, Error};
use stet_domain::family::Family;
use stet_domain::id::Loid;
use stet_domain::store::{Epoch, Seq, StoreError};

/// The time after which a busy container yields to the others on its thread. An actor processes
/// messages as long as there are any. Without the limit one busy mailbox would stop all other
/// containers there.
const TURN: Duration = Duration::from_millis(2);

/// A message with a command to carry out.
#[derive(actix::Message)]
#[rtype(result = "()")]
pub(crate) struct ExecuteJob<F: Family>(pub Box<dyn Job<F>>);

/// A message that an outage may be over; then the container loads again.
#[derive(actix::Message)]
#[rtype(result = "()")]
pub(crate) struct WakeContainer;

/// The work that waits, in the mailbox's order, for the container to be live.
pub(super) enum WaitingWork<F: Family> {
    Execute(Box<dyn Job<F>>),
    Lend(TurnRequest<F>),
}

/// The state in memory, including submitted changes that may not be committed yet.
pub(super) struct LiveState<S> {
    /// The state; `None` if the container has been destroyed.
    pub state: Option<S>,
    /// The epoch in which the state is valid.
    pub epoch: Epoch,
    /// The last submitted change; 0 for none since loading.
    pub submitted: Seq,
}

/// The actor of a container.
pub(crate) struct Container<F: Family> {
    pub(super) loid: Loid,
    pub(super) shared: Arc<RuntimeServices>,
    pub(super) cell: Arc<ViewCell<F>>,
    pub(super) live: Option<LiveState<F::State>>,
    pub(super) stash: VecDeque<WaitingWork<F>>,
    budget: RestartLimit,
    /// The wait before the next load.
    backoff: Duration,
    /// The time spent on commands since it last yielded.
    busy: Duration,
    /// The present outage, in which every command is refused.
    outage: Option<Outage>,
    /// The instance before this one; resolves when that is gone.
    predecessor: Option<watch::Receiver<()>>,
    /// Whether a load has been tried, so that changes of the container may be pending.
    begun: bool,
    alive: InstanceMarker,
}

impl<F: Family> Actor for Container<F> {
    type Context = ActorContextOf<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        self.load(ctx);
    }
}

impl<F: Family> Supervised for Container<F> {
    /// Drops the state. The supervisor reuses the value, and no state must survive the restart.
    fn restarting(&mut self, _: &mut Self::Context) {
        self.live = None;
        metrics::counter!("stet_container_restarts_total", "family" => F::KIND.name()).increment(1);
    }
}

impl<F: Family> Container<F> {
    pub fn new(
        loid: Loid,
        shared: Arc<RuntimeServices>,
        cell: Arc<ViewCell<F>>,
        predecessor: Option<watch::Receiver<()>>,
        alive: InstanceMarker,
    ) -> Container<F> {
        Container {
            loid,
            shared,
            cell,
            live: None,
            stash: VecDeque::new(),
            budget: RestartLimit::default(),
            backoff: Duration::ZERO,
            busy: Duration::ZERO,
            outage: None,
            predecessor,
            begun: false,
            alive,
        }
    }

    /// Parks the mailbox until the state has been read.
    ///
    /// The predecessor must be gone first. Then everything that this container has submitted must
    /// be decided (the barrier). Only then are the rows on disk its complete state. A container
    /// that is new here, and has no pending changes, needs no barrier. It can be loaded while the
    /// disk stalls.
    fn load(&mut self, ctx: &mut <Self as Actor>::Context) {
        let (shared, loid) = (self.shared.clone(), self.loid);
        let predecessor = self.predecessor.take();
        let wait = std::mem::take(&mut self.backoff);
        let new = !std::mem::replace(&mut self.begun, true);
        if self.cell.view().is_none() {
            self.cell.loading();
        }
        let read = async move {
            if let Some(mut gone) = predecessor {
                // The channel carries no values: this resolves when the sender is dropped.
                while gone.changed().await.is_ok() {}
            }
            if wait > Duration::ZERO {
                shared.clock.sleep(wait).await;
            }
            loop {
                let epoch = shared.store.epoch();
                let settled = if new { read_from_disk::<F>(&shared, loid, true).await } else { None };
                let state = match settled {
                    Some(state) => state,
                    None => {
                        shared.store.barrier().await;
                        read_from_disk::<F>(&shared, loid, false).await.unwrap_or(Err(StoreError::Closed))
                    }
                };
                // A commit that failed meanwhile may have contained pending changes of this
                // container.
                if shared.store.epoch() == epoch {
                    return (epoch, state);
                }
            }
        };
        ctx.wait(read.into_actor(self).map(|(epoch, read), container, ctx| {
            let (state, room) = read.map_or_else(|error| (Err(error), None), |(state, room)| (Ok(state), room));
            container.loaded(epoch, state, ctx);
            // From here on the account includes the state itself.
            drop(room);
        }));
    }

    fn loaded(
        &mut self,
        epoch: Epoch,
        state: Result<Option<F::State>, StoreError>,
        ctx: &mut <Self as Actor>::Context,
    ) {
        match state {
            Ok(state) => {
                let view = state.clone().map(|state| Arc::new(ContainerView { state }));
                self.alive.count();
                // Nothing of this container was pending when the rows were read: it is new here, or
                // the barrier has passed. Nothing was submitted since, so this is the newest view.
                self.cell.publish_loaded(view);
                self.live = Some(LiveState { state, epoch, submitted: self.cell.acknowledged() });
                self.work_off(ctx);
            }
            // This is no fault of the container: there was no memory for it.
            Err(StoreError::Overloaded) => {
                let now = self.shared.clock.steady_ms();
                let error = overloaded_error("The containers in use fill the memory for containers");
                self.close_down(Outage::momentary(now, error.with_source(self.loid)));
            }
            Err(error) => {
                tracing::error!(container = %self.loid, family = F::KIND.name(), %error, "cannot load a container");
                self.failed(ctx);
            }
        }
    }

    /// Does the work that was set aside, in order, until the mailbox is parked again.
    fn work_off(&mut self, ctx: &mut <Self as Actor>::Context) {
        while self.live.is_some() {
            match self.stash.pop_front() {
                Some(WaitingWork::Execute(job)) => self.execute(job, ctx),
                Some(WaitingWork::Lend(lend)) => {
                    // Lending parks the mailbox, and with it the rest of the stash.
                    self.lend(lend, ctx);
                    return;
                }
                None => return,
            }
        }
    }

    /// Yields to the other containers of the thread after enough work.
    fn give_way(&mut self, took: Duration, ctx: &mut <Self as Actor>::Context) {
        self.busy += took;
        if self.busy >= TURN && self.live.is_some() {
            self.busy = Duration::ZERO;
            ctx.wait(tokio::task::yield_now().into_actor(self));
        }
    }

    /// Counts a failure, then restarts or gives up for a while.
    pub(super) fn failed(&mut self, ctx: &mut <Self as Actor>::Context) {
        self.live = None;
        match self.budget.fail(self.shared.clock.steady_ms(), &self.shared.options) {
            RestartDecision::Restart(wait) => {
                self.backoff = wait;
                ctx.stop();
            }
            RestartDecision::Quarantine(until) => {
                tracing::error!(container = %self.loid, family = F::KIND.name(), until, "quarantined");
                let message = format!("`{}` has failed repeatedly and is not available for now.", self.loid);
                let error = Error::new(Code::RepositoryError, message).with_source(self.loid);
                self.close_down(Outage::quarantine(until, error, F::KIND.name()));
            }
        }
    }

    /// Refuses all waiting work, and all new work until the outage is over.
    fn close_down(&mut self, outage: Outage) {
        self.cell.fail(outage.error.clone(), outage.until);
        for work in std::mem::take(&mut self.stash) {
            self.turn_away(work, outage.error.clone());
        }
        self.outage = Some(outage);
    }

    fn turn_away(&self, work: WaitingWork<F>, error: Error) {
        match work {
            WaitingWork::Execute(job) => job.finish(Err(error)),
            WaitingWork::Lend(lend) => lend.refuse(error),
        }
    }

    /// Sets aside work that arrives while there is no state. In an outage it is refused; after the
    /// outage it triggers the next load.
    fn set_aside(&mut self, work: WaitingWork<F>, ctx: &mut <Self as Actor>::Context) {
        match &self.outage {
            Some(outage) if self.shared.clock.steady_ms() < outage.until => {
                self.turn_away(work, outage.error.clone());
            }
            Some(_) => {
                self.outage = None;
                self.stash.push_back(work);
                ctx.stop();
            }
            None => self.stash.push_back(work),
        }
    }

    /// Reports whether the state is valid. After a failed commit that may have contained changes of
    /// it, it is not. Then the container restarts, which is not its own fault and does not count as
    /// a failure.
    pub(super) fn is_fresh(&mut self) -> bool {
        let now = self.shared.store.epoch();
        let acknowledged = self.cell.acknowledged();
        match &mut self.live {
            Some(live) if live.epoch == now => true,
            // Nothing of this container was pending when the commit failed.
            Some(live) if live.submitted == acknowledged => {
                live.epoch = now;
                true
            }
            _ => false,
        }
    }

    pub(super) fn lend(&mut self, lend: TurnRequest<F>, ctx: &mut <Self as Actor>::Context) {
        if !self.is_fresh() {
            self.stash.push_front(WaitingWork::Lend(lend));
            self.live = None;
            return ctx.stop();
        }
        let Some(live) = &self.live else { return };
        let Some(returned) = lend.hand_over(live, self.cell.clone()) else { return };
        let back = returned.into_actor(self).map(|returned, container, ctx| {
            let Some(live) = &mut container.live else { return };
            match returned {
                Ok(TurnReturn::Unchanged) => {}
                Ok(TurnReturn::Changed { state, seq }) => {
                    live.state = state;
                    live.submitted = seq;
                }
                Ok(TurnReturn::Stale) => {
                    container.live = None;
                    return ctx.stop();
                }
                // The borrower dropped the turn without a result: it is unknown what was submitted.
                Err(_) => return container.failed(ctx),
            }
            container.work_off(ctx);
        });
        ctx.wait(back);
    }
}

impl<F: Family> Handler<ExecuteJob<F>> for Container<F> {
    type Result = ();

    fn handle(&mut self, ExecuteJob(job): ExecuteJob<F>, ctx: &mut Self::Context) {
        if self.live.is_none() || !self.stash.is_empty() {
            self.set_aside(WaitingWork::Execute(job), ctx);
        } else {
            let begun = Instant::now();
            self.execute(job, ctx);
            self.give_way(begun.elapsed(), ctx);
        }
    }
}

impl<F: Family> Handler<WakeContainer> for Container<F> {
    type Result = ();

    fn handle(&mut self, WakeContainer: WakeContainer, ctx: &mut Self::Context) {
        let now = self.shared.clock.steady_ms();
        if self.outage.take_if(|outage| outage.until <= now).is_some() {
            ctx.stop();
        }
    }
}

impl<F: Family> Handler<TurnRequest<F>> for Container<F> {
    type Result = ();

    fn handle(&mut self, lend: TurnRequest<F>, ctx: &mut Self::Context) {
        if self.live.is_none() || !self.stash.is_empty() {
            self.set_aside(WaitingWork::Lend(lend), ctx);
        } else {
            self.lend(lend, ctx);
        }
    }
}
