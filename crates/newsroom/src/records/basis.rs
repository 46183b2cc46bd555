//! The state that rendered records depend on beside the records themselves.

use crate::Newsroom;

/// A version stamp of that state. While it is equal, records are rendered the same. Must be taken
/// before anything is read for rendering.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Basis {
    /// The number of changes of users, because a lock shows its owner's full name.
    people: u64,
    /// The number of changes of the configuration, for labels of types and colours of statuses.
    configuration: u64,
}

impl Basis {
    /// Returns the current stamp.
    pub fn now(newsroom: &Newsroom) -> Basis {
        Basis { people: newsroom.directory.changes(), configuration: newsroom.sysconfig.changes() }
    }

    /// Reports whether a record without users' names is rendered the same under both.
    pub fn agrees_but_for_people(self, other: Basis) -> bool {
        self.configuration == other.configuration
    }
}
