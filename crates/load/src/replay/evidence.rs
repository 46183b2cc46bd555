//! The evidence after a load: what each container held before and after, and what replies reported
//! in between.

use super::ContainerModel;

/// The position or count of a reply that reports none.
pub const UNREPORTED: u32 = u32::MAX;

/// An acknowledged change of one container. It takes about 50 bytes, as there may be millions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AcknowledgedChange<C> {
    /// The requested change.
    pub change: C,
    /// The number of the container.
    pub container: u16,
    /// The revision in the reply: the one that the change led to, or the current one if there was
    /// nothing to do.
    pub revision: Option<u64>,
    /// The last known revision of the container before the change was made.
    pub after: u64,
    /// The position in the reply; after a removal, the previous position.
    pub place: u32,
    /// The number of members in the reply.
    pub count: u32,
}

/// A read of one container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContainerRead {
    /// The number of the container.
    pub container: u16,
    /// The revision that was read.
    pub revision: u64,
    /// The fingerprint of the members, as [`ContainerModel::print`] computes it.
    pub print: u64,
}

/// A call that may have been made at an unknown revision, or not at all. A move has two halves, any
/// other call one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DoubtfulCall<C> {
    /// The container and the change. The container is `None` for the removing half of a move, whose
    /// source is unknown.
    pub here: (Option<u16>, C),
    /// The target and the adding half of a move.
    pub there: Option<(u16, C)>,
    /// The last known revision of the container (for a move, of its target) before the call was
    /// made.
    pub after: u64,
    /// The last revision by which the call was made, if it was.
    pub until: u64,
}

impl<C> DoubtfulCall<C> {
    /// Creates the doubt about a change of one container, with no bounds on its revision.
    pub fn of(container: u16, change: C) -> DoubtfulCall<C> {
        DoubtfulCall { here: (Some(container), change), there: None, after: 0, until: u64::MAX }
    }
}

/// The members and revisions of a container before and after a load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContainerSpan<P> {
    /// The members before the load.
    pub initial: P,
    /// The members after the load. One that is not the load's own has a number that no member has.
    pub held: Vec<u32>,
    /// The revisions before and after; `None` if the server reports none.
    pub revisions: Option<(u64, u64)>,
}

/// All evidence of a load.
#[derive(Debug, Clone)]
pub struct ReplayEvidence<P: ContainerModel> {
    /// The containers.
    pub containers: Vec<ContainerSpan<P>>,
    /// Acknowledged changes, in no particular order.
    pub acked: Vec<AcknowledgedChange<P::Change>>,
    /// Reads, in no particular order.
    pub seen: Vec<ContainerRead>,
    /// Calls whose outcome is in doubt.
    pub doubts: Vec<DoubtfulCall<P::Change>>,
}

impl<P: ContainerModel> Default for ReplayEvidence<P> {
    fn default() -> ReplayEvidence<P> {
        ReplayEvidence { containers: Vec::new(), acked: Vec::new(), seen: Vec::new(), doubts: Vec::new() }
    }
}
