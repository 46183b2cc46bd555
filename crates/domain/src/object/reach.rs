//! The reach of a caller's rights over existing objects.

use super::SharedText;

/// The existing objects that a caller may change. It is determined where the caller's rights are
/// known, and passed to a command, since only the command sees which object it would change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// All objects.
    All,
    /// The objects that the caller created.
    Own,
    /// No objects: a key for a machine owns none (docs/api/rights.md, "Home and ownership").
    Nothing,
}

impl Reach {
    /// Reports whether an object that `creator` made is within reach of `user`.
    pub fn covers(self, creator: &SharedText, user: &SharedText) -> bool {
        match self {
            Reach::All => true,
            Reach::Own => creator == user,
            Reach::Nothing => false,
        }
    }
}
