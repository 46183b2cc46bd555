//! The actor of a cache ([`crate::cache`]) and the handle to it.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use actix::{
    Actor, ActorContext, ActorFutureExt, Addr, ArbiterHandle, AsyncContext, Context, Handler, Supervised, Supervisor,
    WrapFuture,
};
use arc_swap::ArcSwap;
use futures_util::FutureExt;
use tokio::sync::oneshot;

use crate::cache::{CacheOrigin, InForce, RefreshExtent};
use stet_domain::clock::Clock;
use stet_domain::command::CallerIdentity;
use stet_domain::trace::Trace;

/// A handle to a cache; clones refer to the same cache.
pub struct Cache<O: CacheOrigin> {
    origin: Arc<O>,
    published: Arc<ArcSwap<InForce<O::Value>>>,
    refresher: Addr<Refresher<O>>,
}

impl<O: CacheOrigin> Clone for Cache<O> {
    fn clone(&self) -> Self {
        Cache { origin: self.origin.clone(), published: self.published.clone(), refresher: self.refresher.clone() }
    }
}

impl<O: CacheOrigin> Cache<O> {
    /// Starts the actor; until its first refresh, `first` is in force.
    pub(crate) fn start(arbiter: &ArbiterHandle, origin: O, first: O::Value, clock: Arc<dyn Clock>) -> Cache<O> {
        begin_counting(origin.name(), origin.database());
        let first = InForce { value: Arc::new(first), at_ms: clock.now_ms() };
        let (origin, published) = (Arc::new(origin), Arc::new(ArcSwap::from_pointee(first)));
        let waiting = Vec::new();
        let refresher =
            Refresher { origin: origin.clone(), published: published.clone(), clock, waiting, is_reading: false };
        let refresher = Supervisor::start_in_arbiter(arbiter, |_| refresher);
        Cache { origin, published, refresher }
    }

    /// Returns the origin that the cache reads from.
    pub fn origin(&self) -> &O {
        &self.origin
    }

    /// Returns the name of the cached data: [`CacheOrigin::name`].
    pub fn name(&self) -> &'static str {
        self.origin.name()
    }

    /// Returns the time at which the present value was read, in epoch milliseconds.
    pub fn at_ms(&self) -> u64 {
        self.published.load().at_ms
    }

    /// Returns the value in force now.
    pub fn in_force(&self) -> Arc<InForce<O::Value>> {
        self.published.load_full()
    }

    /// Returns the value in force, after a refresh if the origin reports it outdated. If the
    /// refresh fails, the previous value stays.
    pub async fn current(&self) -> Arc<InForce<O::Value>> {
        let in_force = self.in_force();
        if self.origin.is_current(&in_force.value) {
            return in_force;
        }
        self.refresh(RefreshExtent::Changed, CallerIdentity::system()).await.unwrap_or(in_force)
    }

    /// Reads the origin again on behalf of `by`, and returns the value then in force. The read sees
    /// all changes made before the call. It continues even if the caller is dropped.
    ///
    /// # Errors
    /// The origin's fault; the previous value stays in force.
    pub async fn refresh(&self, extent: RefreshExtent, by: CallerIdentity) -> Result<Arc<InForce<O::Value>>, O::Fault> {
        let (answer, answered) = oneshot::channel();
        self.refresher.do_send(Refresh { extent, by, trace: Trace::current(), answer });
        // Dropped without an answer when the server shuts down.
        answered.await.unwrap_or_else(|_| Err(self.origin.failed()))
    }
}

/// Registers the cache's counters with 0, so that monitoring sees the first increase as one.
fn begin_counting(cache: &'static str, database: u16) {
    for outcome in ["refreshed", "failed", "panicked"] {
        drop(
            metrics::counter!("stet_cache_refreshes_total", "cache" => cache, "database" => database.to_string(), "outcome" => outcome),
        );
    }
    drop(metrics::counter!("stet_cache_restarts_total", "cache" => cache));
}

/// The outcome of a refresh.
type RefreshOutcome<O> = Result<Arc<InForce<<O as CacheOrigin>::Value>>, <O as CacheOrigin>::Fault>;

/// The message that requests a refresh and the value then in force.
#[derive(actix::Message)]
#[rtype(result = "()")]
struct Refresh<O: CacheOrigin> {
    extent: RefreshExtent,
    by: CallerIdentity,
    trace: Trace,
    /// The requester's channel; the requester may be gone.
    answer: oneshot::Sender<RefreshOutcome<O>>,
}

/// The actor of one cache.
struct Refresher<O: CacheOrigin> {
    origin: Arc<O>,
    published: Arc<ArcSwap<InForce<O::Value>>>,
    clock: Arc<dyn Clock>,
    /// The requests that the next refresh answers.
    waiting: Vec<Refresh<O>>,
    is_reading: bool,
}

impl<O: CacheOrigin> Refresher<O> {
    /// Begins a refresh for all waiting requests, unless one is under way. Requests do not join the
    /// one under way: it may have read data that changed since.
    fn begin(&mut self, ctx: &mut Context<Self>) {
        let Some(Refresh { by, trace, .. }) = self.waiting.first().filter(|_| !self.is_reading) else { return };
        let (by, trace) = (by.clone(), trace.clone());
        self.is_reading = true;
        let asked = std::mem::take(&mut self.waiting);
        let extent = asked.iter().map(|refresh| refresh.extent).max().unwrap_or(RefreshExtent::Changed);
        let (origin, before) = (self.origin.clone(), self.published.load().value.clone());
        // Outside of the actor's turn, so that further requests can arrive.
        let read = AssertUnwindSafe(async move { trace.follow(origin.read(before, extent, by)).await }).catch_unwind();
        ctx.spawn(read.into_actor(self).map(move |read, refresher, ctx| refresher.end(asked, read, ctx)));
    }

    fn end(
        &mut self,
        asked: Vec<Refresh<O>>,
        read: std::thread::Result<Result<Arc<O::Value>, O::Fault>>,
        ctx: &mut Context<Self>,
    ) {
        self.is_reading = false;
        let panicked = read.is_err();
        let outcome = match read {
            Ok(Ok(value)) => Ok(self.publish(value)),
            Ok(Err(fault)) => Err(fault),
            Err(_) => Err(self.origin.failed()),
        };
        self.report(match (&outcome, panicked) {
            (_, true) => "panicked",
            (Ok(_), _) => "refreshed",
            (Err(_), _) => "failed",
        });
        for Refresh { answer, .. } in asked {
            let _ = answer.send(outcome.clone());
        }
        if panicked {
            // The supervisor restarts it; the new life answers the waiting requests.
            ctx.stop();
        } else {
            self.begin(ctx);
        }
    }

    fn publish(&self, value: Arc<O::Value>) -> Arc<InForce<O::Value>> {
        let at_ms = self.clock.now_ms().max(self.published.load().at_ms + 1);
        let in_force = Arc::new(InForce { value, at_ms });
        self.published.store(in_force.clone());
        in_force
    }

    fn report(&self, outcome: &'static str) {
        let (cache, database) = (self.origin.name(), self.origin.database().to_string());
        metrics::counter!("stet_cache_refreshes_total", "cache" => cache, "database" => database.clone(), "outcome" => outcome)
            .increment(1);
        let broken = if outcome == "refreshed" { 0.0 } else { 1.0 };
        metrics::gauge!("stet_cache_broken", "cache" => cache, "database" => database).set(broken);
    }
}

impl<O: CacheOrigin> Actor for Refresher<O> {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        self.begin(ctx);
    }
}

impl<O: CacheOrigin> Supervised for Refresher<O> {
    /// Resets the value, which the supervisor reuses: nothing is under way in the new life, and the
    /// waiting requests remain.
    fn restarting(&mut self, _: &mut Self::Context) {
        self.is_reading = false;
        metrics::counter!("stet_cache_restarts_total", "cache" => self.origin.name()).increment(1);
    }
}

impl<O: CacheOrigin> Handler<Refresh<O>> for Refresher<O> {
    type Result = ();

    fn handle(&mut self, refresh: Refresh<O>, ctx: &mut Self::Context) {
        self.waiting.push(refresh);
        self.begin(ctx);
    }
}
