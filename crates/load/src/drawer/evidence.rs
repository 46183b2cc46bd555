//! What is known after a load: what each drawer held before and after, and what replies said in between.

use super::model::Change;

/// Stands for a position or count that the reply did not report.
pub const UNREPORTED: u32 = u32::MAX;

/// An acknowledged change of one drawer: 40 bytes, as there may be millions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ItemAck {
    /// What was asked for.
    pub change: Change,
    /// Of which drawer.
    pub drawer: u16,
    /// The revision that the reply spoke of: the one that the change led to, or that it found if there was nothing to do.
    pub revision: Option<u64>,
    /// The item's position according to the reply (after a deletion: the position that it had).
    pub place: u32,
    /// The number of items according to the reply.
    pub count: u32,
}

/// A read of one drawer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// Which.
    pub drawer: u16,
    /// At which revision.
    pub revision: u64,
    /// See [`super::model::print`].
    pub print: u64,
}

/// A call whose outcome is unknown: both halves of a move, one of anything else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Doubt {
    /// Drawer and change.
    pub here: (u16, Change),
    /// Of a move: where it goes.
    pub there: Option<(u16, Change)>,
}

/// A drawer before and after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// How many items fit.
    pub capacity: usize,
    /// What it held before the load.
    pub initial: Vec<u32>,
    /// What it holds after it. An object that is none of the load's has a number that no object has.
    pub held: Vec<u32>,
    /// The revisions then; `None` if the server reports none.
    pub revisions: Option<(u64, u64)>,
}

/// All of it.
#[derive(Debug, Clone, Default)]
pub struct Evidence {
    /// The drawers.
    pub drawers: Vec<Span>,
    /// What was acknowledged, in no order.
    pub acked: Vec<ItemAck>,
    /// What was read, in no order.
    pub seen: Vec<Seen>,
    /// What is in doubt.
    pub doubts: Vec<Doubt>,
}
