//! What a move of lines did.

use serde::{Deserialize, Serialize};

use crate::id::Loid;
use crate::store::loid_key;

/// What a move did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moved<D> {
    /// What was moved, in the order in which it stands now.
    pub lines: Vec<D>,
    /// The containers that it was taken from and put into, each once.
    pub revisions: Vec<Revised>,
}

/// A container that a command has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Revised {
    /// Which.
    #[serde(with = "loid_key")]
    pub container: Loid,
    /// The revision that this led to.
    pub revision: u64,
}

impl Revised {
    /// A container that had this revision before the command: it goes up by one, whatever the
    /// command does to it.
    pub fn from(container: Loid, before: u64) -> Revised {
        Revised { container, revision: before + 1 }
    }
}
