//! Caches of what is read elsewhere and stays in force until it is read again, such as the object
//! types: each is a supervised actor ([`Cache`](crate::runtime::Cache)) that reads one thing after
//! the other, and what is in force is had without asking it.
//!
//! - **Readers never wait.** What was read last is published; to have it is a load of a pointer.
//! - **Refreshes join.** However many are asked for while one is under way, one more follows it and
//!   answers all of them: what was changed before a refresh was asked for is seen by it.
//! - **What fails changes nothing.** An origin that can't be read, or panics, leaves in force what
//!   was.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::command::Who;

/// How much of what is in force is read anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Extent {
    /// What has changed since.
    Changed,
    /// All of it.
    Everything,
}

/// Where a cache reads.
pub trait Origin: Send + Sync + 'static {
    /// What is in force.
    type Value: Send + Sync + 'static;
    /// Why it could not be read.
    type Fault: Clone + Send + Sync + 'static;

    /// What is read: `commands`. The metrics' label `cache`.
    fn name(&self) -> &'static str;

    /// The database that it is read of, in the metrics.
    fn database(&self) -> u16;

    /// Reads anew at the wish of `by`, of whoever asked first; `before` is what is in force. It
    /// must not block the thread: what takes long goes elsewhere.
    fn read(
        &self,
        before: Arc<Self::Value>,
        extent: Extent,
        by: Who,
    ) -> BoxFuture<'static, Result<Arc<Self::Value>, Self::Fault>>;

    /// Why nothing was read when reading has panicked, or the server is going down.
    fn failed(&self) -> Self::Fault;

    /// Whether what was read is still right as far as the origin can tell at once. What the server
    /// itself writes is known to it; of what others write it hears by a refresh alone.
    fn is_current(&self, _value: &Self::Value) -> bool {
        true
    }
}

/// What is in force, and since when.
#[derive(Debug)]
pub struct InForce<V> {
    /// What was read.
    pub value: Arc<V>,
    /// When, epoch milliseconds. Each refresh has a later time than the one before.
    pub at_ms: u64,
}
