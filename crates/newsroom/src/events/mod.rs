//! Live following of containers: the followers, and the events that they are sent.
//!
//! Followers are sent the events that the store keeps, which each change leaves in its own change
//! set ([`stored`]). A commit only notifies `Followers`, an observer of the store. That costs a
//! briefly held lock, and nothing more where nobody follows. A task for each followed container,
//! its *pump*, then reads new events and renders the text of each event once, for all followers of
//! the container. A stream follows one container or several, and is woken by each of them. The
//! latest events stay in memory, within one limit of bytes for all containers together. A follower
//! that comes back, is late, or has missed something reads the same events from the store. One that
//! is later than `events.queue_events` is disconnected.
//!
//! A stream has no more in memory than a piece of what it sends, or one large event. That counts
//! among the replies that wait for their clients (`memory.calls_bytes`). Reading stored events, and
//! finding out which of many objects a caller may read, takes a permit. Each user has one, and
//! there are as many in all as there are cores.
//!
//! # Why there is no gap
//!
//! A follower is in the list before it asks for the present revision. A later commit notifies the
//! pump, and an earlier one is below that revision. In either case the pump, or the store, has all
//! events after it. Each revision of a container has one event. So a follower sees by the numbers
//! alone that nothing is missing, and skips events that it was sent already.
//!
//! A stream can also follow all containers below a folder. The events of all such streams are read
//! by a single pump (`subtrees`), from a cursor in the log ([`LogCursor`]).
//!
//! [`sight`] decides which callers may be sent which parts of an event; [`stream`] is the
//! connection, [`position`] its ids, and [`control`] changes what it follows. [`presence`] tells
//! who else is here.

pub mod control;
mod cursor;
mod followers;
pub mod position;
pub mod presence;
mod ring;
pub mod sight;
pub mod stored;
pub mod stream;
mod subtrees;

pub use self::cursor::LogCursor;
pub use self::followers::{Follower, FollowerSlot, Followers};
pub use self::ring::NextEvent;
pub use self::subtrees::SubtreeFollower;
