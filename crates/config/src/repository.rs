//! The sections about the repository: its storage and its defaults.

use serde::{Deserialize, Serialize};
use stet_domain::object::file_name;

/// The condition for the end of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Durability {
    /// The journal's fsync: an acknowledged change survives a crash of the machine.
    #[default]
    Journal,
    /// No condition. For measuring what durability costs.
    None,
}

/// `[store]`: how changes reach the disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StoreConfig {
    /// Bytes of changed rows in memory that start a checkpoint.
    pub checkpoint_bytes: usize,
    /// Changed rows in memory that start a checkpoint.
    pub checkpoint_rows: usize,
    /// Maximum seconds that a change waits for its checkpoint.
    pub checkpoint_seconds: u64,
    /// Days that events are kept; 0 keeps them for ever.
    pub events_keep_days: u64,
    /// Microseconds that the writer stays awake when it has nothing to do.
    pub linger_microseconds: u64,
    /// Maximum number of change sets that wait for the writer; one more is `Overloaded`.
    pub queue_change_sets: usize,
    /// The condition for the end of a commit.
    pub durability: Durability,
    /// Bytes of free space on the disk that uploads and large changes leave; 0: none.
    pub reserve_bytes: u64,
    /// Maximum bytes of a content that is stored in the tables; a larger one is a file.
    pub small_body_bytes: usize,
}

impl Default for StoreConfig {
    fn default() -> StoreConfig {
        StoreConfig {
            checkpoint_bytes: 32 << 20,
            checkpoint_rows: 100_000,
            checkpoint_seconds: 2,
            events_keep_days: 90,
            linger_microseconds: 150,
            queue_change_sets: 65_536,
            durability: Durability::Journal,
            reserve_bytes: 256 << 20,
            small_body_bytes: 32_768,
        }
    }
}

/// One of `[[databases]]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DatabaseConfig {
    /// The number in front of the database's loids. It must not change once there are objects.
    pub id: u16,
    /// The name, which may be used in place of the number.
    pub name: String,
    /// Whether this is the main database; if no entry says so, it is the one with the number 1.
    #[serde(default)]
    pub main: bool,
    /// Further names.
    #[serde(default)]
    pub aliases: Vec<String>,
}

impl DatabaseConfig {
    /// Creates a database with that number and name.
    pub fn named(id: u16, name: &str) -> DatabaseConfig {
        DatabaseConfig { id, name: name.to_owned(), main: false, aliases: Vec::new() }
    }

    /// Reports whether a number, name or alias in a call means this database.
    pub fn is_named(&self, wanted: &str) -> bool {
        self.name == wanted || wanted.parse() == Ok(self.id) || self.aliases.iter().any(|alias| alias == wanted)
    }
}

/// One of `[[connections]]`, named by a client at login as `connectionId`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConnectionConfig {
    /// Identifier for the login.
    pub id: String,
    /// Name for people.
    pub name: String,
    /// Purpose of the connection.
    #[serde(default)]
    pub description: String,
    /// The values of `applicationId` that may log in; none means any.
    #[serde(default)]
    pub applications: Vec<String>,
}

/// `[drawer]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DrawerConfig {
    /// Capacity of a drawer that is created without one.
    pub default_capacity: u32,
    /// The folder of a user's automatic drawer; see [`for_user`].
    pub automatic_folder: String,
    /// The name of a user's automatic drawer; see [`for_user`].
    pub automatic_name: String,
}

impl Default for DrawerConfig {
    fn default() -> DrawerConfig {
        DrawerConfig {
            default_capacity: 100,
            automatic_folder: "/Users/{user}".to_owned(),
            automatic_name: "Clipboard".to_owned(),
        }
    }
}

/// `[recycle_bin]`: the retention of discarded objects.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RecycleBinConfig {
    /// Days after which an entry is destroyed; 0 keeps it until a call destroys it.
    pub purge_after_days: u64,
}

/// `[folders]`: the default folders.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FoldersConfig {
    /// The folder above the users' homes.
    pub users: String,
    /// A user's home; see [`for_user`].
    pub home: String,
    /// The folder above the work folders.
    pub work: String,
}

impl Default for FoldersConfig {
    fn default() -> FoldersConfig {
        FoldersConfig { users: "/Users".to_owned(), home: "/Users/{user}".to_owned(), work: "/Work".to_owned() }
    }
}

/// `[sample]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SampleConfig {
    /// Whether a new data directory gets the sample newsroom.
    pub enabled: bool,
}

impl Default for SampleConfig {
    fn default() -> SampleConfig {
        SampleConfig { enabled: true }
    }
}

/// The placeholder for the user's name in a folder or name of the configuration.
pub(super) const USER: &str = "{user}";

/// Returns a folder or name of the configuration with the user's folder name in place of `{user}`.
/// An older user may have a name that no folder can have; then the name itself is used.
pub fn for_user(pattern: &str, user: &str) -> String {
    match file_name(user) {
        Ok(folder) => pattern.replace(USER, &folder),
        Err(_) => pattern.replace(USER, user),
    }
}
