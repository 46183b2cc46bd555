//! The results of moving lines.

use serde::{Deserialize, Serialize};

use crate::id::Loid;
use crate::store::loid_key;

/// The result of moving lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineMoveResult<D> {
    /// The moved lines, in their new order.
    pub lines: Vec<D>,
    /// The source and target containers, each one once.
    pub revisions: Vec<ContainerRevision>,
}

/// A container that a command has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContainerRevision {
    /// The container.
    #[serde(with = "loid_key")]
    pub container: Loid,
    /// The revision after the command.
    pub revision: u64,
}

impl ContainerRevision {
    /// Creates the result for a container with the revision `before` the command, which raises it
    /// by one in any case.
    pub fn from(container: Loid, before: u64) -> ContainerRevision {
        ContainerRevision { container, revision: before + 1 }
    }
}
