//! Caches of values that are read elsewhere and stay in force until they are read again, such as
//! the object types. Each is a supervised actor ([`Cache`](crate::runtime::Cache)) that reads one
//! value at a time. Readers get the value in force without asking the actor.
//!
//! - **Readers never wait.** The latest value is published; to get it is to load a pointer.
//! - **Refreshes join.** All refreshes that are requested while one is under way share the next
//!   one. A refresh sees every change made before it was requested.
//! - **Failures change nothing.** If an origin can't be read, or panics, the old value stays in
//!   force.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use stet_domain::command::CallerIdentity;

/// The extent of a refresh.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RefreshExtent {
    /// Changes since the last refresh only.
    Changed,
    /// The whole value.
    Everything,
}

/// The source that a cache reads.
pub trait CacheOrigin: Send + Sync + 'static {
    /// The cached value.
    type Value: Send + Sync + 'static;
    /// The reason why the value could not be read.
    type Fault: Clone + Send + Sync + 'static;

    /// Returns the name of the value, such as `commands`: the metrics' label `cache`.
    fn name(&self) -> &'static str;

    /// Returns the number of the database that is read, for the metrics.
    fn database(&self) -> u16;

    /// Reads the value again on behalf of `by`, the first caller who requested it; `before` is the
    /// value in force. The method must not block the thread; slow work has to run elsewhere.
    fn read(
        &self,
        before: Arc<Self::Value>,
        extent: RefreshExtent,
        by: CallerIdentity,
    ) -> BoxFuture<'static, Result<Arc<Self::Value>, Self::Fault>>;

    /// Returns the fault to report when reading has panicked or the server is shutting down.
    fn failed(&self) -> Self::Fault;

    /// Reports whether a value is still right, as far as the origin knows without reading. The
    /// origin knows what this server has written, but learns of other writers only by a refresh.
    fn is_current(&self, _value: &Self::Value) -> bool {
        true
    }
}

/// The value in force, with the time from which it holds.
#[derive(Debug)]
pub struct InForce<V> {
    /// The value that was read.
    pub value: Arc<V>,
    /// The time of the refresh in epoch milliseconds. Each refresh has a later time than the one
    /// before.
    pub at_ms: u64,
}
