//! The privileges that a group may grant to its members.

use schemars::JsonSchema;

/// A privilege that a group may grant to its members (docs/api/rights.md, "Privileges").
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub enum Privilege {
    /// Read objects, containers and configuration.
    Read,
    /// Create objects and containers.
    Create,
    /// Change objects and containers.
    Write,
    /// Move objects to the recycle bin, and restore them.
    Delete,
    /// Destroy objects permanently.
    Destroy,
    /// Approve and reject posts, change others' posts.
    Moderate,
    /// Break another user's lock.
    ForceUnlock,
    /// Create, change and remove groups and users.
    ManageGroups,
    /// Refresh caches, change the configuration.
    Configure,
}

impl Privilege {
    /// All privileges.
    pub const ALL: [Privilege; 9] = [
        Privilege::Read,
        Privilege::Create,
        Privilege::Write,
        Privilege::Delete,
        Privilege::Destroy,
        Privilege::Moderate,
        Privilege::ForceUnlock,
        Privilege::ManageGroups,
        Privilege::Configure,
    ];

    /// Returns the privilege's name in the API.
    pub const fn name(self) -> &'static str {
        match self {
            Privilege::Read => "read",
            Privilege::Create => "create",
            Privilege::Write => "write",
            Privilege::Delete => "delete",
            Privilege::Destroy => "destroy",
            Privilege::Moderate => "moderate",
            Privilege::ForceUnlock => "forceUnlock",
            Privilege::ManageGroups => "manageGroups",
            Privilege::Configure => "configure",
        }
    }
}
