//! Containers as supervised actors. In this crate only this module uses actix, apart from the start
//! and stop of arbiters in [`crate::repository`].
//!
//! # The life of a container
//!
//! While a container is in memory, its `registry::RegistryEntry` is `Present`, and its
//! `cell::ContainerPhase` is what readers wait for:
//!
//! | before | event | after |
//! |---|---|---|
//! | no entry, or `RegistryEntry::Leaving` | first use; waits for the old actor | `Loading` |
//! | `Loading` | the state was read | `Live` |
//! | `Loading` | the object does not exist | `Gone` |
//! | `Loading` | the state can't be read: restart after a back-off | `Loading` |
//! | `Loading` | there is no memory for the state | `Failed` |
//! | `Live` | the object was destroyed | `Gone` |
//! | `Live` | a panic or a failed commit: restart; readers keep the view | `Live` |
//! | `Loading`, `Live` | the restart limit is reached: quarantine | `Failed` |
//! | `Failed` | next use after the failure is over | `Loading` |
//! | any phase | idle, and no permit is out: eviction | `RegistryEntry::Leaving` |
//! | `RegistryEntry::Leaving` | the actor was dropped | no entry |
//!
//! # Failures
//!
//! | event | the present command | waiting commands | counts against the restart limit |
//! |---|---|---|---|
//! | `apply` refuses | its error | continue | no |
//! | `apply` panics | `RepositoryError` | wait for the restart | yes |
//! | a commit fails | `RepositoryError`, `StorageFull` | wait for the restart | no: a disk fault |
//! | loading fails | – | wait for the next try | yes |
//! | loading finds no memory | – | `Overloaded`; the next call tries again | no |
//! | restart limit reached | `RepositoryError` | the same until the quarantine ends | – |
//! | it is large without a work permit | is given back, to be submitted again | continue | no |
//! | no permit is left | `Overloaded` | continue | no |
//!
//! # Rules
//!
//! - **At most one instance of a container lives.** The registry remembers an actor that is
//!   shutting down, and a new one loads only after that has ended ([`registry`]).
//! - **A reply never depends on a commit that may yet fail.** A change is replied to after its
//!   commit. A refusal, or a command without changes, is replied to once everything that it saw is
//!   committed, and caches above the store have been notified ([`cell::ViewCell::acknowledge`]).
//! - **Admission is by permit**, per container and overall; mailboxes themselves are unbounded. A
//!   permit is held until the reply is sent. So a container without permits has nothing pending,
//!   and may be evicted.
//! - **An admitted mutation runs to its end** even if the caller disconnects.

mod attempt;
mod cell;
mod container;
mod job;
mod large;
mod left;
mod lend;
mod memory;
mod numbers;
mod options;
mod reading;
mod refresher;
pub(crate) mod registry;
mod remains;
mod supervise;
mod turns;
mod untyped;

pub(crate) use self::attempt::error_of_fault;
pub use self::cell::ContainerView;
pub use self::job::{ChangeRequest, CommandResult};
pub(crate) use self::large::ReturnReason;
pub use self::large::{ChangePermit, LargeChangeAdmission, LargeChangePermit};
pub use self::left::{JointResult, ResultingObject};
pub(crate) use self::memory::ContainerMemory;
pub use self::memory::ReadingRoom;
pub use self::numbers::NumberMill;
pub use self::options::RuntimeOptions;
pub(crate) use self::reading::read_object;
pub use self::refresher::Cache;
pub(crate) use self::registry::Registry;
pub(crate) use self::remains::RemainderTracker;
pub(crate) use self::turns::run_joint;
pub(crate) use self::untyped::{AnyJoint, AnyReply, JointAnswerSender};

use std::sync::{Arc, OnceLock};

use parking_lot::RwLock;
use tokio::sync::Semaphore;

use stet_domain::clock::Clock;
use stet_domain::command::{Context, SubtreeFacts};
use stet_domain::ends::ExpiryClock;
use stet_domain::error::{Code, Error};
use stet_domain::store::{Health, Store, StoreError};
use stet_domain::workflow::Workflows;

/// The services and settings that all containers share.
pub(crate) struct RuntimeServices {
    pub store: Arc<dyn Store>,
    pub clock: Arc<dyn Clock>,
    pub ends: Arc<ExpiryClock>,
    pub numbers: Arc<NumberMill>,
    pub options: RuntimeOptions,
    /// The overall limit of admitted commands.
    pub admission: Arc<Semaphore>,
    /// The lock that separates commands which remove objects from all others. An application of a
    /// command consists of its reads of other rows, its changes and its submission. It is short and
    /// waits for nothing. Applications run in parallel, except that a command which removes objects
    /// runs alone ([`stet_domain::joint::JointCommand::ALONE`]). An object that a command has found
    /// alive is therefore still alive when its change is submitted. A command that removes it finds
    /// everything that refers to it.
    pub steps: RwLock<()>,
    /// The running changes of subtrees.
    pub remains: Arc<RemainderTracker>,
    /// The memory of containers.
    pub memory: Arc<ContainerMemory>,
    /// The workflows that all commands are held to, once they are set.
    pub workflows: OnceLock<Arc<dyn Workflows>>,
}

impl RuntimeServices {
    /// Returns the workflows that all commands are held to, if they are set.
    fn workflows(&self) -> Option<&dyn Workflows> {
        self.workflows.get().map(|workflows| &**workflows)
    }

    /// Returns the context of a command of this request. Its facts about subtrees are reliable only
    /// within a step: a change that begins a remainder steps alone.
    fn context_of<'a>(&'a self, request: &'a ChangeRequest, admits_large: bool) -> Context<'a> {
        let mut context = Context::new(self.clock.now_ms(), &request.who, &*self.store, &*self.numbers)
            .reading(request.readable.as_deref())
            .held_to(request.rules.as_deref())
            .expecting(request.expect.as_deref())
            .governed_by(self.workflows(), request.statuses.as_deref())
            .limited_by(self.options.limits)
            .admitting_large(admits_large);
        context.subtrees = SubtreeFacts {
            under_way: self.remains.are_under_way(),
            objects_per_step: self.options.objects_per_step,
            locks_seen: false,
        };
        context
    }
}

/// Returns the error for the caller if the store fails; the store has logged the failure.
pub fn store_failure(error: &StoreError) -> Error {
    match error {
        StoreError::Full => {
            Error::new(Code::StorageFull, "The disk of the repository is full: nothing was changed, reads go on.")
        }
        StoreError::Overloaded => overloaded_error("Too many changes wait for the disk"),
        StoreError::Closed => overloaded_error("The repository is shutting down"),
        StoreError::Corrupt(why) => {
            tracing::error!(%why, "cannot decode a stored row");
            Error::internal()
        }
        StoreError::Unknown(_) => unknown_outcome_error(),
        StoreError::Stale | StoreError::Failed(_) => Error::internal(),
    }
}

/// Returns the error for a change whose fate is unknown.
pub(crate) fn unknown_outcome_error() -> Error {
    let message = "The disk of the repository failed. It is unknown whether the change was stored: read the object \
                   before you try again.";
    Error::new(Code::RepositoryError, message).with_detail("outcome", "unknown")
}

/// The maximal number of failed commits during one change. After each, a joint command is applied
/// again, and rows of no container are submitted again.
pub(crate) const MOST_STALE: usize = 8;

/// Returns the error for a change that has met too many failed commits. If the disk is full, it
/// must say so rather than ask to try again.
pub(crate) fn commits_keep_failing(store: &dyn Store) -> Error {
    if store.health() == Health::Full {
        return store_failure(&StoreError::Full);
    }
    overloaded_error("Changes repeatedly failed to reach the disk")
}

/// Returns a refusal of work that may be tried again.
pub(crate) fn overloaded_error(why: &str) -> Error {
    Error::new(Code::Overloaded, format!("{why}; nothing was changed, try again."))
}
