//! Which existing objects a caller may change.

use super::Text;

/// Which existing objects a caller may change. Found by whoever knows the caller's rights, and
/// given to a command, which alone sees what it would change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// All of it.
    All,
    /// What they made themselves.
    Own,
    /// None: a key for a machine owns no objects (docs/api/rights.md, "Home and ownership").
    Nothing,
}

impl Reach {
    /// Whether what `creator` made is within reach of `user`.
    pub fn covers(self, creator: &Text, user: &Text) -> bool {
        match self {
            Reach::All => true,
            Reach::Own => creator == user,
            Reach::Nothing => false,
        }
    }
}
