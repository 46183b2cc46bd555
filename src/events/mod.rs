//! Following containers live: who follows what, and what they are sent.
//!
//! Followers are sent what the store keeps: the events that each change leaves in its own change
//! set ([`stored`]). A commit only rings a bell (`Followers`, an observer of the store): it costs a
//! lock that nobody holds for long, and nothing more where nobody follows. A task for each
//! container that is followed, its *pump*, then reads what is new, makes the text of each event
//! once, and passes it to all followers of the container: what was sent last is in memory, in so
//! many bytes for all containers together. Whoever comes back, is late, or is found to have missed
//! something, reads the same events from the store; who is later than `events.queue_events` is let
//! go.
//!
//! A stream has no more in memory than a piece of what it sends, or one large event, which counts
//! among the replies that wait for their clients (`memory.calls_bytes`). Reading what is stored,
//! and finding out which of many objects a caller may read, takes a turn: one of each user, and as
//! many in all as there are cores.
//!
//! # Why there is no gap
//!
//! A follower is in the list before it asks for the present revision. A change that is committed
//! later rings the bell, and one committed before is below that revision: in either case the pump,
//! or the store, has all that comes after it. Each revision of a container has one event, so a
//! follower sees by the numbers alone that nothing is missing, and leaves out what it was sent
//! already.
//!
//! [`sight`] decides who may be sent what; [`stream`] is the connection.

mod followers;
pub(crate) mod sight;
pub(crate) mod stored;
pub mod stream;

pub use self::followers::{Follower, Followers, Place};
