//! What is known after a load: what each container held before and after, and what replies said in
//! between.

use super::Paper;

/// Stands for a position or count that the reply did not report.
pub const UNREPORTED: u32 = u32::MAX;

/// An acknowledged change of one container: some 50 bytes, as there may be millions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ack<C> {
    /// What was asked for.
    pub change: C,
    /// Of which container.
    pub container: u16,
    /// The revision that the reply spoke of: the one that the change led to, or that it found if
    /// there was nothing to do.
    pub revision: Option<u64>,
    /// The last revision of the container before it was made, as far as that is known.
    pub after: u64,
    /// The position according to the reply (after a removal: the one that there was).
    pub place: u32,
    /// The number of members according to the reply.
    pub count: u32,
}

/// A read of one container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// Which.
    pub container: u16,
    /// At which revision.
    pub revision: u64,
    /// See [`Paper::print`].
    pub print: u64,
}

/// A call of which nobody knows at which revision it was made, or whether it was: both halves of a
/// move, one of anything else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Doubt<C> {
    /// Container and change; of something that is taken from wherever it is, no container.
    pub here: (Option<u16>, C),
    /// Of a move: where it goes.
    pub there: Option<(u16, C)>,
    /// The last revision of the container before it was made, as far as that is known; of a move
    /// that of its target.
    pub after: u64,
    /// The last revision by which it was made, if it was.
    pub until: u64,
}

impl<C> Doubt<C> {
    /// A change of one container, of which no more is known.
    pub fn of(container: u16, change: C) -> Doubt<C> {
        Doubt { here: (Some(container), change), there: None, after: 0, until: u64::MAX }
    }
}

/// A container before and after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span<P> {
    /// What it held before the load.
    pub initial: P,
    /// What it holds after it. What is none of the load's has a number that nothing has.
    pub held: Vec<u32>,
    /// The revisions then; `None` if the server reports none.
    pub revisions: Option<(u64, u64)>,
}

/// All of it.
#[derive(Debug, Clone)]
pub struct Evidence<P: Paper> {
    /// The containers.
    pub containers: Vec<Span<P>>,
    /// What was acknowledged, in no order.
    pub acked: Vec<Ack<P::Change>>,
    /// What was read, in no order.
    pub seen: Vec<Seen>,
    /// What is in doubt.
    pub doubts: Vec<Doubt<P::Change>>,
}

impl<P: Paper> Default for Evidence<P> {
    fn default() -> Evidence<P> {
        Evidence { containers: Vec::new(), acked: Vec::new(), seen: Vec::new(), doubts: Vec::new() }
    }
}
