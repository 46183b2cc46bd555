//! Containers as supervised actors; the only user of actix.
//!
//! # The life of a container
//!
//! ```text
//!               first use                       loaded
//!   Absent ───────────────────▶ Loading ──────────────────────▶ Live
//!     ▲  ▲                      │   ▲ ▲                        │  │ │
//!     │  │   there is no such   │   │ │  barrier, back-off     │  │ │
//!     │  └──────────────────────┘   │ └──── Restarting ◀───────┘  │ │
//!     │                      failed │        a panic, or a commit │ │
//!     │                             │        that failed          │ │
//!     │        time is over         ▼                             │ │
//!     │  ┌───────────────────── Quarantined ◀─────────────────────┘ │
//!     │  │ (next use: Loading)      too many failures               │
//!     │                                                             │
//!     └────────────── Draining ◀────────────────────────────────────┘
//!        actor stopped            idle, and no permit is out
//! ```
//!
//! | what happens | the command at work | those that wait | counts against the budget |
//! |---|---|---|---|
//! | `apply` refuses | its error | go on | no |
//! | `apply` panics | `RepositoryError` | wait for the restart | yes |
//! | a commit fails | `RepositoryError` or `StorageFull` | wait for the restart | no: the disk is to blame |
//! | loading fails | – | wait for the next try | yes |
//! | the budget is used up | `RepositoryError` | `RepositoryError`, until the quarantine ends | – |
//! | it is large and has no turn | is given back, to come again with one | go on | no |
//! | no permit is left | `Overloaded` | go on | no |
//!
//! # Rules
//!
//! - **At most one instance of a container lives.** The registry keeps a note of an actor that is
//!   on its way out, and a new one loads only when that is gone ([`registry`]).
//! - **An answer never depends on a commit that may yet fail.** A change is answered after its
//!   commit; a refusal, or a command that changed nothing, is answered once all that it saw is
//!   committed, and caches above the store have been notified ([`cell::Cell::acknowledge`]).
//! - **Admission is by permit**, per container and overall; a mailbox has no bound of its own. A
//!   permit is held until the answer goes out, so a container without permits out has nothing
//!   pending, and may be let go.
//! - **Once admitted, a mutation runs to its end** even if the caller goes away.

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

pub(crate) use self::attempt::refusal;
pub use self::cell::Published;
pub use self::job::{Done, Request};
pub(crate) use self::large::GivenBack;
pub use self::large::{ChangeTurn, LargeChanges, LargeTurn};
pub use self::left::{Jointly, Left};
pub(crate) use self::memory::ContainerMemory;
pub use self::numbers::NumberMill;
pub use self::options::RuntimeOptions;
pub use self::refresher::Cache;
pub(crate) use self::registry::Registry;
pub(crate) use self::remains::Remains;
pub(crate) use self::turns::run_joint;
pub(crate) use self::untyped::{Answer, AnyJoint, AnyReply};

use std::sync::{Arc, OnceLock};

use parking_lot::RwLock;
use tokio::sync::Semaphore;

use crate::clock::Clock;
use crate::command::Subtrees;
use crate::ends::Ends;
use crate::error::{Code, Error};
use crate::store::{Health, Store, StoreError};
use crate::workflow::Workflows;

/// What all containers share.
pub(crate) struct Shared {
    pub store: Arc<dyn Store>,
    pub clock: Arc<dyn Clock>,
    pub ends: Arc<Ends>,
    pub numbers: Arc<NumberMill>,
    pub options: RuntimeOptions,
    /// Admission overall.
    pub admission: Arc<Semaphore>,
    /// A step is a command's look at the rows of others, its application and its submission; it is
    /// short and waits for nothing. Steps go on beside each other, but a command that removes
    /// objects steps alone ([`crate::joint::Joint::ALONE`]): so an object that a command has found
    /// alive is so still when the command's change is submitted, and whoever removes it finds
    /// everything that refers to it.
    pub steps: RwLock<()>,
    /// Changes of subtrees that are under way.
    pub remains: Arc<Remains>,
    /// The memory that containers take.
    pub memory: Arc<ContainerMemory>,
    /// The workflows that all commands are held to, once there are any.
    pub workflows: OnceLock<Arc<dyn Workflows>>,
}

impl Shared {
    /// The workflows that all commands are held to, if there are any.
    fn workflows(&self) -> Option<&dyn Workflows> {
        self.workflows.get().map(|workflows| &**workflows)
    }

    /// What a command may know of subtrees.
    fn subtrees(&self) -> Subtrees {
        Subtrees {
            under_way: self.remains.are_under_way(),
            objects_per_step: self.options.objects_per_step,
            locks_seen: false,
        }
    }
}

/// The error that the caller gets for a failure of the store; the store has logged it.
pub fn store_failure(error: &StoreError) -> Error {
    match error {
        StoreError::Full => {
            Error::new(Code::StorageFull, "The disk of the repository is full: nothing was changed, reads go on.")
        }
        StoreError::Overloaded => overloaded("Too many changes wait for the disk"),
        StoreError::Closed => overloaded("The repository is shutting down"),
        StoreError::Corrupt(why) => {
            tracing::error!(%why, "a stored row can't be understood");
            Error::internal()
        }
        StoreError::Unknown(_) => unknown(),
        StoreError::Stale | StoreError::Failed(_) => Error::internal(),
    }
}

/// It is unknown whether the change will stand.
pub(crate) fn unknown() -> Error {
    let message = "The disk of the repository failed, and it is not known whether the change will stand: look before you try again.";
    Error::new(Code::RepositoryError, message).with_detail("outcome", "unknown")
}

/// How often a change may meet that a commit of others has failed since it was begun: a joint
/// command is applied afresh then, and rows of no container are submitted once more.
pub(crate) const MOST_STALE: usize = 8;

/// What whoever asks for a change is told that has met so many: whoever has to make room must not
/// hear that they try again.
pub(crate) fn commits_keep_failing(store: &dyn Store) -> Error {
    if store.health() == Health::Full {
        return store_failure(&StoreError::Full);
    }
    overloaded("Changes keep failing to reach the disk")
}

/// A refusal of work that may be tried again.
pub(crate) fn overloaded(why: &str) -> Error {
    Error::new(Code::Overloaded, format!("{why}; nothing was changed, try again."))
}
