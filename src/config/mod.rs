//! The configuration: defaults in the code, over them the file, the environment and the command
//! line.
//!
//! Each key has one home, the struct of its section; `config.toml` at the top of this repository
//! documents every one with its default, and a test holds the two together. What is later in this
//! list wins:
//!
//! 1. the defaults,
//! 2. the file: `./config.toml` if it is there, or the one named by `--config`, which must be,
//! 3. the environment: `STET_SECTION__KEY` (two underscores), e.g. `STET_SERVER__LISTEN`,
//! 4. the command line.
//!
//! Nothing is guessed: an unknown key, a value of the wrong type and a value out of bounds are
//! errors that name the key and where it was set. The structs hold plain numbers; their users make
//! durations and options of them.

mod cas;
mod check;
mod content;
mod edge;
mod environment;
mod events;
mod layers;
mod load;
mod memory;
mod messages;
mod repository;
mod service;
mod templates;
#[cfg(test)]
mod tests;
mod value;

use std::fmt;

use serde::{Deserialize, Serialize};
use stet_actors::command::ChangeLimits;
use stet_actors::id::DatabaseId;
use stet_actors::object::PathLimits;
use stet_actors::runtime::RuntimeOptions;

use crate::auth::PasswordRules;

pub use self::cas::CasConfig;
pub use self::content::ContentConfig;
pub(crate) use self::edge::network;
pub use self::edge::{ForwardedHeader, TlsConfig};
pub use self::events::EventsConfig;
pub use self::load::{Origin, Overrides};
pub use self::memory::{CacheShares, MemoryConfig, machine_memory};
pub use self::messages::{MessagesConfig, SmtpConfig, SmtpSecurity};
pub use self::repository::{
    ConnectionConfig, DatabaseConfig, DrawerConfig, Durability, FoldersConfig, RecycleBinConfig, SampleConfig,
    StoreConfig, for_user,
};
pub use self::service::{
    AuthConfig, CompatConfig, DataConfig, LimitsConfig, LogConfig, LogFormat, ServerConfig, TracesConfig,
};
pub use self::templates::{LiveblogConfig, StoryConfig, TopicConfig, TopicPlanConfig};

/// The whole configuration. [`Config::load`] gives one that has been checked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// How the values were found.
    #[serde(skip)]
    pub origin: Origin,
    /// How it listens.
    pub server: ServerConfig,
    /// Where it keeps everything.
    pub data: DataConfig,
    /// What it logs.
    pub log: LogConfig,
    /// Where it sends traces.
    pub traces: TracesConfig,
    /// The memory of the process.
    pub memory: MemoryConfig,
    /// What it accepts from a client.
    pub limits: LimitsConfig,
    /// How it meets clients that were made for another server.
    pub compat: CompatConfig,
    /// Sessions and passwords.
    pub auth: AuthConfig,
    /// How containers are run.
    pub runtime: RuntimeOptions,
    /// Following containers live.
    pub events: EventsConfig,
    /// Messages between users.
    pub messages: MessagesConfig,
    /// The mail relay.
    pub smtp: SmtpConfig,
    /// How changes reach the disk.
    pub store: StoreConfig,
    /// The bytes of objects.
    pub content: ContentConfig,
    /// The databases: namespaces with numbers and names. One is the main one.
    pub databases: Vec<DatabaseConfig>,
    /// What clients may connect to.
    pub connections: Vec<ConnectionConfig>,
    /// Drawers.
    pub drawer: DrawerConfig,
    /// Liveblogs.
    pub liveblog: LiveblogConfig,
    /// Stories of the older surface.
    pub story: StoryConfig,
    /// Topics.
    pub topic: TopicConfig,
    /// Topic plans.
    pub topic_plan: TopicPlanConfig,
    /// Where things go when nobody says.
    pub folders: FoldersConfig,
    /// `[recycle_bin]`
    pub recycle_bin: RecycleBinConfig,
    /// What a new data directory is filled with.
    pub sample: SampleConfig,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            origin: Origin::default(),
            server: ServerConfig::default(),
            data: DataConfig::default(),
            log: LogConfig::default(),
            traces: TracesConfig::default(),
            memory: MemoryConfig::default(),
            limits: LimitsConfig::default(),
            compat: CompatConfig::default(),
            auth: AuthConfig::default(),
            runtime: RuntimeOptions::default(),
            events: EventsConfig::default(),
            messages: MessagesConfig::default(),
            smtp: SmtpConfig::default(),
            store: StoreConfig::default(),
            content: ContentConfig::default(),
            databases: vec![DatabaseConfig { main: true, ..DatabaseConfig::named(1, "main") }],
            connections: vec![ConnectionConfig {
                id: "Editorial".to_owned(),
                name: "Editorial".to_owned(),
                description: "The newsroom".to_owned(),
                applications: Vec::new(),
            }],
            drawer: DrawerConfig::default(),
            liveblog: LiveblogConfig::default(),
            story: StoryConfig::default(),
            topic: TopicConfig::default(),
            topic_plan: TopicPlanConfig::default(),
            folders: FoldersConfig::default(),
            recycle_bin: RecycleBinConfig::default(),
            sample: SampleConfig::default(),
        }
    }
}

impl Config {
    /// How containers are run, and what they may be called by.
    pub fn runtime_options(&self) -> RuntimeOptions {
        let LimitsConfig { path_bytes, path_depth, .. } = self.limits;
        RuntimeOptions {
            container_bytes: self.memory.containers(),
            limits: ChangeLimits {
                paths: PathLimits { bytes: path_bytes, depth: path_depth },
                change_bytes: self.memory.largest_change(),
                container_bytes: self.memory.largest_container_bytes,
            },
            ..self.runtime.clone()
        }
    }

    /// The main database.
    pub fn main_database(&self) -> DatabaseId {
        let main = self.databases.iter().find(|database| database.main);
        main.map_or(DatabaseId::FIRST, |main| DatabaseId(main.id))
    }

    /// What a new password must be.
    pub fn password_rules(&self) -> PasswordRules {
        PasswordRules { min_length: self.auth.password_min_length }
    }
}

/// Why the configuration can't be used: one sentence or more, a line each, that name the key and
/// where it was set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    faults: Vec<String>,
}

impl ConfigError {
    fn one(fault: impl Into<String>) -> ConfigError {
        ConfigError { faults: vec![fault.into()] }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.faults.join("\n"))
    }
}

impl std::error::Error for ConfigError {}
