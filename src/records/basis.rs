//! What rendered records depend on beside the records themselves.

use crate::newsroom::Newsroom;

/// Stands still as long as records are rendered as they were: to be had before anything is looked
/// at that they are rendered of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Basis {
    /// Changes of users: who has locked an object is shown by their full name.
    people: u64,
    /// Changes of what is in force: what types are called, and the colours of statuses.
    configuration: u64,
}

impl Basis {
    /// As it is now.
    pub fn now(newsroom: &Newsroom) -> Basis {
        Basis { people: newsroom.directory.changes(), configuration: newsroom.sysconfig.changes() }
    }

    /// Whether what names no users is rendered the same on both.
    pub fn agrees_but_for_people(self, other: Basis) -> bool {
        self.configuration == other.configuration
    }
}
