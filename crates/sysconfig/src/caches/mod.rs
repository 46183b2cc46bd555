//! The configuration in force: one cache per cache family and database, and one for each database's
//! site configuration.
//!
//! A cache keeps what it read until it is refreshed, also across a restart, whatever is saved in
//! the files: the texts in force are rows of their own ([`snapshot`]). Users and groups are rows
//! already, and their caches follow changes of these.

mod origin;
mod people;
pub mod snapshot;
mod status_rules;
mod xml_files;

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Serialize;
use stet_actors::cache::{CacheOrigin, InForce, RefreshExtent};
use stet_actors::repository::Repository;
use stet_actors::runtime::Cache;
use stet_auth::{Directory, Privilege};
use stet_base::json::ReadyJson;
use stet_content::ContentStore;
use stet_domain::command::CallerIdentity;
use stet_domain::error::Result;
use stet_domain::id::DatabaseId;

use self::origin::RepositoryFiles;
pub use self::origin::{FileOrigin, LoadedConfiguration, RefreshFailure};
pub use self::people::{CachedUser, GroupsOrigin, People, UsersOrigin};
use self::status_rules::StatusRules;
use self::xml_files::XmlFiles;
use super::catalogs::Catalogs;
use super::check::ConfigurationCheck;
use super::commands::{Commands, Jobs};
use super::content::{CachedConfiguration, SiteContent};
use super::object_types::ObjectTypes;
use super::pages::ContentItems;
use super::site::Site;
use super::workflows::Workflows;

/// A cached configuration that is served as a list.
pub trait Listing: CachedConfiguration {
    /// The type of an entry.
    type Item: Clone + Serialize + JsonSchema + Send + Sync + 'static;

    /// Returns all entries.
    fn items(&self) -> Vec<Self::Item>;
}

impl Listing for Commands {
    type Item = super::commands::ClientCommand;

    fn items(&self) -> Vec<Self::Item> {
        self.0.clone()
    }
}

impl Listing for Jobs {
    type Item = super::commands::ScheduledCommand;

    fn items(&self) -> Vec<Self::Item> {
        self.0.clone()
    }
}

impl Listing for ObjectTypes {
    type Item = super::object_types::ObjectType;

    fn items(&self) -> Vec<Self::Item> {
        self.iter().cloned().collect()
    }
}

impl Listing for Workflows {
    type Item = super::workflows::Workflow;

    fn items(&self) -> Vec<Self::Item> {
        self.iter().cloned().collect()
    }
}

/// A list without entries: the site configuration is served in parts.
impl Listing for SiteContent {
    type Item = ();

    fn items(&self) -> Vec<()> {
        Vec::new()
    }
}

/// A cached value that is served as a list.
pub trait EntryList<I> {
    /// Returns the entries. Callers who may not see `all` of the repository get them without
    /// references to its folders.
    fn items(&self, all: bool) -> &ReadyJson<Vec<I>>;
}

/// The caches of one cache family, one for each database.
pub struct PerDatabase<O: CacheOrigin>(Vec<(DatabaseId, Cache<O>)>);

impl<O: CacheOrigin> Clone for PerDatabase<O> {
    fn clone(&self) -> Self {
        PerDatabase(self.0.clone())
    }
}

impl<O: CacheOrigin> PerDatabase<O> {
    /// Returns the cache of a database; for a database that is not configured, that of the main
    /// one.
    pub fn of(&self, database: DatabaseId) -> &Cache<O> {
        let own = self.0.iter().find(|(known, _)| *known == database);
        // A configuration without the main database is refused.
        own.or(self.0.first()).map(|(_, cache)| cache).expect("there is a main database")
    }

    /// Returns all caches, the main database's first.
    pub fn all(&self) -> impl Iterator<Item = (DatabaseId, &Cache<O>)> {
        self.0.iter().map(|(database, cache)| (*database, cache))
    }
}

/// A cache of any cache family.
pub trait AnyCache: Send + Sync {
    /// Returns the cache family's name.
    fn name(&self) -> &'static str;

    /// Returns the time of the last reading, in epoch milliseconds.
    fn at_ms(&self) -> u64;

    /// Returns the time of the last reading, after a refresh if the cache is known to be outdated.
    fn current_at_ms(&self) -> BoxFuture<'static, u64>;

    /// Refreshes the cache. Returns the time of the reading.
    fn refresh_any(
        &self,
        extent: RefreshExtent,
        by: CallerIdentity,
    ) -> BoxFuture<'static, std::result::Result<u64, RefreshFailure>>;
}

impl<O: CacheOrigin<Fault = RefreshFailure>> AnyCache for Cache<O> {
    fn name(&self) -> &'static str {
        Cache::name(self)
    }

    fn at_ms(&self) -> u64 {
        Cache::at_ms(self)
    }

    fn current_at_ms(&self) -> BoxFuture<'static, u64> {
        let cache = self.clone();
        Box::pin(async move { cache.current().await.at_ms })
    }

    fn refresh_any(
        &self,
        extent: RefreshExtent,
        by: CallerIdentity,
    ) -> BoxFuture<'static, std::result::Result<u64, RefreshFailure>> {
        let cache = self.clone();
        Box::pin(async move { cache.refresh(extent, by).await.map(|in_force| in_force.at_ms) })
    }
}

/// The caches of all configuration.
pub struct SysConfig {
    /// The client commands.
    pub commands: PerDatabase<FileOrigin<Commands>>,
    /// The scheduled commands.
    pub jobs: PerDatabase<FileOrigin<Jobs>>,
    /// The object types.
    pub types: PerDatabase<FileOrigin<ObjectTypes>>,
    /// The workflows.
    pub flows: PerDatabase<FileOrigin<Workflows>>,
    /// The site configuration, with all that is refreshed along with it.
    pub sites: PerDatabase<FileOrigin<SiteContent>>,
    /// The users.
    pub users: PerDatabase<UsersOrigin>,
    /// The groups.
    pub groups: PerDatabase<GroupsOrigin>,
    /// The configuration files that clients read.
    pub xml_files: XmlFiles,
}

impl SysConfig {
    /// Starts all caches with the built-in values. `xml_bytes` limits the files that are kept for
    /// clients. Must be called within an actix system.
    pub fn start(
        repository: &Repository,
        contents: &ContentStore,
        directory: &Arc<Directory>,
        databases: &[DatabaseId],
        xml_bytes: u64,
    ) -> SysConfig {
        let files = RepositoryFiles { repository: repository.clone(), contents: contents.clone() };
        fn of_files<T: Listing>(files: &RepositoryFiles, databases: &[DatabaseId]) -> PerDatabase<FileOrigin<T>> {
            let start = |database: &DatabaseId| {
                let origin = FileOrigin::new(files.clone(), *database);
                (*database, files.repository.start_cache(origin, LoadedConfiguration::default()))
            };
            PerDatabase(databases.iter().map(start).collect())
        }
        let users = |database: &DatabaseId| {
            let origin = UsersOrigin::new(directory.clone(), *database);
            (*database, repository.start_cache(origin, People::none()))
        };
        let groups = |database: &DatabaseId| {
            let origin = GroupsOrigin::new(directory.clone(), *database);
            (*database, repository.start_cache(origin, People::none()))
        };
        SysConfig {
            commands: of_files(&files, databases),
            jobs: of_files(&files, databases),
            types: of_files(&files, databases),
            flows: of_files(&files, databases),
            sites: of_files(&files, databases),
            users: PerDatabase(databases.iter().map(users).collect()),
            groups: PerDatabase(databases.iter().map(groups).collect()),
            xml_files: XmlFiles::new(files, xml_bytes),
        }
    }

    /// Restores what was in force when the server ended; without it, reads the files. Failures are
    /// logged, and the built-in values stay in force.
    pub async fn restore(&self) {
        restore(&self.types).await;
        restore(&self.flows).await;
        restore(&self.commands).await;
        restore(&self.jobs).await;
        restore(&self.sites).await;
    }

    /// Returns the object types of a database that are in force.
    pub fn object_types(&self, database: DatabaseId) -> Arc<ObjectTypes> {
        self.types.of(database).in_force().value.content.clone()
    }

    /// Returns the workflows of a database that are in force.
    pub fn workflows(&self, database: DatabaseId) -> Arc<Workflows> {
        self.flows.of(database).in_force().value.content.clone()
    }

    /// Returns the client commands of a database that are in force.
    pub fn command_list(&self, database: DatabaseId) -> Arc<Commands> {
        self.commands.of(database).in_force().value.content.clone()
    }

    /// Returns the privileges, each of which allows setting a status on an object of this type in a
    /// database.
    pub fn privileges_for(&self, database: DatabaseId, type_name: &str, status: &str) -> BTreeSet<Privilege> {
        self.command_list(database).privileges_for(&self.object_types(database), type_name, status)
    }

    /// Returns the privileges that changes of status may require in any database.
    pub fn privileges_of_statuses(&self) -> BTreeSet<Privilege> {
        let lists = self.commands.all().map(|(_, cache)| cache.in_force().value.content.clone());
        lists.flat_map(|commands| commands.privileges_of_statuses()).collect()
    }

    /// Returns the rules for statuses that the runtime enforces. They always follow the workflows
    /// in force.
    pub fn status_rules(&self) -> StatusRules {
        StatusRules { types: self.types.clone(), flows: self.flows.clone() }
    }

    /// Returns the site configuration of a database that is in force.
    pub fn site(&self, database: DatabaseId) -> Arc<Site> {
        self.site_content(database).site.clone()
    }

    /// Returns the site configuration of a database that is in force, with all that belongs to it.
    pub fn site_content(&self, database: DatabaseId) -> Arc<SiteContent> {
        self.sites.of(database).in_force().value.content.clone()
    }

    /// Returns the content of [`SysConfig::site_content`], with the time of its reading.
    pub fn site_in_force(&self, database: DatabaseId) -> Arc<InForce<LoadedConfiguration<SiteContent>>> {
        self.sites.of(database).in_force()
    }

    /// Returns the column catalogs of a database that are in force.
    pub fn catalogs(&self, database: DatabaseId) -> Arc<Catalogs> {
        self.site_content(database).catalogs.clone()
    }

    /// Returns the content items of a database that are in force.
    pub fn content_items(&self, database: DatabaseId) -> Arc<ContentItems> {
        self.site_content(database).content_items.clone()
    }

    /// Returns a version stamp of the object types and workflows in force. While it is equal,
    /// rendered records are still right. Must be taken before anything in force is read.
    pub fn changes(&self) -> u64 {
        let types = self.types.all().map(|(_, cache)| cache.at_ms());
        let flows = self.flows.all().map(|(_, cache)| cache.at_ms());
        // Each time only grows, and so does the sum.
        types.chain(flows).fold(0, u64::wrapping_add)
    }
}

impl SysConfig {
    /// Reads all saved files without putting anything into force.
    ///
    /// # Errors
    /// Files can't be read.
    pub async fn check(&self) -> Result<ConfigurationCheck> {
        let mut checked = ConfigurationCheck::default();
        check(&self.types, &mut checked).await?;
        check(&self.flows, &mut checked).await?;
        check(&self.commands, &mut checked).await?;
        check(&self.jobs, &mut checked).await?;
        check(&self.sites, &mut checked).await?;
        Ok(checked)
    }

    /// Returns the caches of all cache families, of one database or of all. Each database's caches
    /// are sorted by their names.
    pub fn families(&self, of: Option<DatabaseId>) -> Vec<(DatabaseId, &dyn AnyCache)> {
        let databases = self.types.all().map(|(database, _)| database).filter(|known| of.is_none_or(|of| of == *known));
        let caches = |database| -> [(DatabaseId, &dyn AnyCache); 6] {
            [
                (database, self.commands.of(database)),
                (database, self.groups.of(database)),
                (database, self.jobs.of(database)),
                (database, self.types.of(database)),
                (database, self.users.of(database)),
                (database, self.flows.of(database)),
            ]
        };
        databases.flat_map(caches).collect()
    }
}

async fn check<T: Listing>(caches: &PerDatabase<FileOrigin<T>>, checked: &mut ConfigurationCheck) -> Result<()> {
    for (_, cache) in caches.all() {
        cache.origin().check(checked).await?;
    }
    Ok(())
}

async fn restore<T: Listing>(caches: &PerDatabase<FileOrigin<T>>) {
    for (_, cache) in caches.all() {
        // Failures are logged already.
        let _ = cache.refresh(RefreshExtent::Changed, CallerIdentity::system()).await;
    }
}
