//! What is in force of the configuration: a cache for each family and database, and one for the
//! site configuration of each.
//!
//! A cache keeps what it read until it is refreshed, whatever is saved meanwhile, and also across a
//! restart: the texts that are in force are rows of their own ([`snapshot`]). Users and groups are
//! rows already; their caches follow the changes of these.

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
use stet_actors::cache::{Extent, InForce, Origin};
use stet_actors::command::Who;
use stet_actors::error::Result;
use stet_actors::id::DatabaseId;
use stet_actors::repository::Repository;
use stet_actors::runtime::Cache;

use self::origin::Repositories;
pub use self::origin::{FileOrigin, Held, Refused};
pub use self::people::{CachedUser, GroupsOrigin, People, UsersOrigin};
use self::status_rules::StatusRules;
use self::xml_files::XmlFiles;
use super::catalogs::Catalogs;
use super::check::Checked;
use super::commands::{Commands, Jobs};
use super::content::{Content, SiteContent};
use super::object_types::ObjectTypes;
use super::pages::ContentItems;
use super::site::Site;
use super::workflows::Workflows;
use crate::auth::{Directory, Privilege};
use crate::content::ContentStore;
use crate::json::Ready;

/// A [`Content`] that is shown as a list.
pub trait Listing: Content {
    /// An entry.
    type Item: Clone + Serialize + JsonSchema + Send + Sync + 'static;

    /// All entries.
    fn items(&self) -> Vec<Self::Item>;
}

impl Listing for Commands {
    type Item = super::commands::Command;

    fn items(&self) -> Vec<Self::Item> {
        self.0.clone()
    }
}

impl Listing for Jobs {
    type Item = super::commands::Job;

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

/// The entries of the site configuration are had one by one.
impl Listing for SiteContent {
    type Item = ();

    fn items(&self) -> Vec<()> {
        Vec::new()
    }
}

/// A value of a cache that is shown as a list.
pub trait ShownAs<I> {
    /// The entries; for who does not see `all` of the repository, without what tells of its
    /// folders.
    fn items(&self, all: bool) -> &Ready<Vec<I>>;
}

/// The caches of one kind, one for each database.
pub struct PerDatabase<O: Origin>(Vec<(DatabaseId, Cache<O>)>);

impl<O: Origin> Clone for PerDatabase<O> {
    fn clone(&self) -> Self {
        PerDatabase(self.0.clone())
    }
}

impl<O: Origin> PerDatabase<O> {
    /// That of a database; of one that is not configured, that of the main one.
    pub fn of(&self, database: DatabaseId) -> &Cache<O> {
        let own = self.0.iter().find(|(known, _)| *known == database);
        // The main database is always there: configuration without it is refused.
        own.or(self.0.first()).map(|(_, cache)| cache).expect("there is a main database")
    }

    /// All of them, the main database's first.
    pub fn all(&self) -> impl Iterator<Item = (DatabaseId, &Cache<O>)> {
        self.0.iter().map(|(database, cache)| (*database, cache))
    }
}

/// A cache, whatever it holds.
pub trait AnyCache: Send + Sync {
    /// Its name.
    fn name(&self) -> &'static str;

    /// When it was read, epoch milliseconds.
    fn at_ms(&self) -> u64;

    /// The same, after a refresh if it is known to be outdated.
    fn current_at_ms(&self) -> BoxFuture<'static, u64>;

    /// Refreshes it, and gives the time at which it was read.
    fn refresh_any(&self, extent: Extent, by: Who) -> BoxFuture<'static, std::result::Result<u64, Refused>>;
}

impl<O: Origin<Fault = Refused>> AnyCache for Cache<O> {
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

    fn refresh_any(&self, extent: Extent, by: Who) -> BoxFuture<'static, std::result::Result<u64, Refused>> {
        let cache = self.clone();
        Box::pin(async move { cache.refresh(extent, by).await.map(|in_force| in_force.at_ms) })
    }
}

/// See the module's head.
pub struct SysConfig {
    /// What clients offer to do to objects.
    pub commands: PerDatabase<FileOrigin<Commands>>,
    /// What clients run by the clock.
    pub jobs: PerDatabase<FileOrigin<Jobs>>,
    /// The object types.
    pub types: PerDatabase<FileOrigin<ObjectTypes>>,
    /// The workflows.
    pub flows: PerDatabase<FileOrigin<Workflows>>,
    /// The site configuration, and what is refreshed along with it.
    pub sites: PerDatabase<FileOrigin<SiteContent>>,
    /// The users.
    pub users: PerDatabase<UsersOrigin>,
    /// The groups.
    pub groups: PerDatabase<GroupsOrigin>,
    /// Files as clients read them.
    pub xml_files: XmlFiles,
}

impl SysConfig {
    /// Starts all caches, with what is built in in force; `xml_bytes` of files are kept as clients
    /// read them. Must be called within an actix system.
    pub fn start(
        repository: &Repository,
        contents: &ContentStore,
        directory: &Arc<Directory>,
        databases: &[DatabaseId],
        xml_bytes: u64,
    ) -> SysConfig {
        let files = Repositories { repository: repository.clone(), contents: contents.clone() };
        fn of_files<T: Listing>(files: &Repositories, databases: &[DatabaseId]) -> PerDatabase<FileOrigin<T>> {
            let start = |database: &DatabaseId| {
                let origin = FileOrigin::new(files.clone(), *database);
                (*database, files.repository.start_cache(origin, Held::default()))
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

    /// Brings into force what was when the server ended, or else what the files say. Whatever can't
    /// be read is logged, and leaves in force what is built in.
    pub async fn restore(&self) {
        restore(&self.types).await;
        restore(&self.flows).await;
        restore(&self.commands).await;
        restore(&self.jobs).await;
        restore(&self.sites).await;
    }

    /// The object types of a database in force now.
    pub fn object_types(&self, database: DatabaseId) -> Arc<ObjectTypes> {
        self.types.of(database).in_force().value.content.clone()
    }

    /// The workflows of a database in force now.
    pub fn workflows(&self, database: DatabaseId) -> Arc<Workflows> {
        self.flows.of(database).in_force().value.content.clone()
    }

    /// The commands of a database in force now.
    pub fn command_list(&self, database: DatabaseId) -> Arc<Commands> {
        self.commands.of(database).in_force().value.content.clone()
    }

    /// Returns the privileges of which each allows an object of that type in a database to get a
    /// status.
    pub fn privileges_for(&self, database: DatabaseId, type_name: &str, status: &str) -> BTreeSet<Privilege> {
        self.command_list(database).privileges_for(&self.object_types(database), type_name, status)
    }

    /// Returns the privileges that changes of status may take in any database.
    pub fn privileges_of_statuses(&self) -> BTreeSet<Privilege> {
        let lists = self.commands.all().map(|(_, cache)| cache.in_force().value.content.clone());
        lists.flat_map(|commands| commands.privileges_of_statuses()).collect()
    }

    /// Returns the workflows as the runtime enforces them: always those in force.
    pub fn status_rules(&self) -> StatusRules {
        StatusRules { types: self.types.clone(), flows: self.flows.clone() }
    }

    /// The site configuration of a database in force now.
    pub fn site(&self, database: DatabaseId) -> Arc<Site> {
        self.site_content(database).site.clone()
    }

    /// The site configuration of a database in force now, with what belongs to it.
    pub fn site_content(&self, database: DatabaseId) -> Arc<SiteContent> {
        self.sites.of(database).in_force().value.content.clone()
    }

    /// The same, and when it was read.
    pub fn site_in_force(&self, database: DatabaseId) -> Arc<InForce<Held<SiteContent>>> {
        self.sites.of(database).in_force()
    }

    /// The column catalogs of a database in force now.
    pub fn catalogs(&self, database: DatabaseId) -> Arc<Catalogs> {
        self.site_content(database).catalogs.clone()
    }

    /// The content items of a database in force now.
    pub fn content_items(&self, database: DatabaseId) -> Arc<ContentItems> {
        self.site_content(database).content_items.clone()
    }

    /// Stands still as long as the object types and workflows in force are the same: records that
    /// were rendered since it last did are still right. It is to be asked before anything in force
    /// is looked at.
    pub fn changes(&self) -> u64 {
        let types = self.types.all().map(|(_, cache)| cache.at_ms());
        let flows = self.flows.all().map(|(_, cache)| cache.at_ms());
        // Each is only ever raised, and so is the sum.
        types.chain(flows).fold(0, u64::wrapping_add)
    }
}

impl SysConfig {
    /// Reads all files as they are saved, without bringing anything into force.
    ///
    /// # Errors
    /// That they can't be read.
    pub async fn check(&self) -> Result<Checked> {
        let mut checked = Checked::default();
        check(&self.types, &mut checked).await?;
        check(&self.flows, &mut checked).await?;
        check(&self.commands, &mut checked).await?;
        check(&self.jobs, &mut checked).await?;
        check(&self.sites, &mut checked).await?;
        Ok(checked)
    }

    /// The caches of all families, of a database or of all, each database's by their names.
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

async fn check<T: Listing>(caches: &PerDatabase<FileOrigin<T>>, checked: &mut Checked) -> Result<()> {
    for (_, cache) in caches.all() {
        cache.origin().check(checked).await?;
    }
    Ok(())
}

async fn restore<T: Listing>(caches: &PerDatabase<FileOrigin<T>>) {
    for (_, cache) in caches.all() {
        // What is wrong has been logged.
        let _ = cache.refresh(Extent::Changed, Who::system()).await;
    }
}
