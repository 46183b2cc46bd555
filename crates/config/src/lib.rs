//! The configuration: defaults in the code, over them the file, the environment and the command
//! line.
//!
//! Each key has one home, the struct of its section. `config.toml` at the top of this repository
//! documents every key with its default, and a test compares the two. Later sources in this list
//! win:
//!
//! 1. the defaults,
//! 2. the file: `./config.toml` if it exists, or the one named by `--config`, which must exist,
//! 3. the environment: `STET_SECTION__KEY` (two underscores), e.g. `STET_SERVER__LISTEN`,
//! 4. the command line.
//!
//! Nothing is guessed: an unknown key, a value of the wrong type and a value out of bounds are
//! errors that name the key and where it was set. The structs hold plain numbers; their users make
//! durations and options of them.

mod backup;
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
mod public;
mod repository;
mod search;
mod service;
mod templates;
#[cfg(test)]
mod tests;
mod value;
mod webhooks;

use std::fmt;

use serde::{Deserialize, Serialize};
use stet_actors::runtime::RuntimeOptions;
use stet_domain::command::ChangeLimits;
use stet_domain::id::DatabaseId;
use stet_domain::object::PathLimits;

pub use self::backup::BackupConfig;
pub use self::cas::CasConfig;
pub use self::content::ContentConfig;
pub use self::edge::network;
pub use self::edge::{ForwardedHeader, TlsConfig};
pub use self::events::EventsConfig;
pub use self::load::{ConfigOrigin, ConfigOverrides};
pub use self::memory::{CacheShares, MemoryConfig, machine_memory};
pub use self::messages::{MessagesConfig, SmtpConfig, SmtpSecurity};
pub use self::public::{PageLanguage, PublicConfig};
pub use self::repository::{
    ConnectionConfig, DatabaseConfig, DrawerConfig, Durability, FoldersConfig, RecycleBinConfig, SampleConfig,
    StoreConfig, for_user,
};
pub use self::search::{SEARCH_LANGUAGES, SearchConfig};
pub use self::service::{
    AuthConfig, CompatConfig, ConsoleConfig, DataConfig, LimitsConfig, LogConfig, LogFormat, ServerConfig, TracesConfig,
};
pub use self::templates::{LiveblogConfig, StoryConfig, TopicConfig, TopicPlanConfig};
pub use self::webhooks::WebhooksConfig;

/// The whole configuration. [`Config::load`] returns one that has been checked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The sources of the values.
    #[serde(skip)]
    pub origin: ConfigOrigin,
    /// The server's address, threads and connections.
    pub server: ServerConfig,
    /// The data directory.
    pub data: DataConfig,
    /// The log.
    pub log: LogConfig,
    /// The export of traces.
    pub traces: TracesConfig,
    /// The memory of the process.
    pub memory: MemoryConfig,
    /// The limits on requests of clients.
    pub limits: LimitsConfig,
    /// The compatibility with clients that were made for another server.
    pub compat: CompatConfig,
    /// The console for browsers.
    pub console: ConsoleConfig,
    /// Sessions and passwords.
    pub auth: AuthConfig,
    /// The options for running containers.
    pub runtime: RuntimeOptions,
    /// Following containers live.
    pub events: EventsConfig,
    /// Messages between users.
    pub messages: MessagesConfig,
    /// The mail relay.
    pub smtp: SmtpConfig,
    /// Reports of changes to other systems.
    pub webhooks: WebhooksConfig,
    /// Search in everything.
    pub search: SearchConfig,
    /// The continuous backup.
    pub backup: BackupConfig,
    /// The writing of changes to the disk.
    pub store: StoreConfig,
    /// The bytes of objects.
    pub content: ContentConfig,
    /// The databases: namespaces with numbers and names. One is the main one.
    pub databases: Vec<DatabaseConfig>,
    /// The connections that clients may name at login.
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
    /// The default folders.
    pub folders: FoldersConfig,
    /// `[recycle_bin]`
    pub recycle_bin: RecycleBinConfig,
    /// The sample newsroom of a new data directory.
    pub sample: SampleConfig,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            origin: ConfigOrigin::default(),
            server: ServerConfig::default(),
            data: DataConfig::default(),
            log: LogConfig::default(),
            traces: TracesConfig::default(),
            memory: MemoryConfig::default(),
            limits: LimitsConfig::default(),
            compat: CompatConfig::default(),
            console: ConsoleConfig::default(),
            auth: AuthConfig::default(),
            runtime: RuntimeOptions::default(),
            events: EventsConfig::default(),
            messages: MessagesConfig::default(),
            smtp: SmtpConfig::default(),
            webhooks: WebhooksConfig::default(),
            search: SearchConfig::default(),
            backup: BackupConfig::default(),
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
    /// Returns the options for running containers, with the limits on their changes.
    pub fn runtime_options(&self) -> RuntimeOptions {
        let LimitsConfig { path_bytes, path_depth, .. } = self.limits;
        RuntimeOptions {
            container_bytes: self.memory.containers(),
            limits: ChangeLimits {
                paths: PathLimits { bytes: path_bytes, depth: path_depth },
                change_bytes: self.memory.largest_change(),
                container_bytes: self.memory.largest_container(),
            },
            ..self.runtime.clone()
        }
    }

    /// Returns the main database.
    pub fn main_database(&self) -> DatabaseId {
        let main = self.databases.iter().find(|database| database.main);
        main.map_or(DatabaseId::FIRST, |main| DatabaseId(main.id))
    }
}

/// The faults of a configuration that can't be used: one sentence or more, one per line, each with
/// the key and where it was set.
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
