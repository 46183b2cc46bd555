//! The site configuration that the service itself uses: object types, workflows, column catalogs, channels and content items.
//!
//! They are XML files of the repository that an operator edits through the interface and refreshes (docs/api/configuration.md,
//! "Configuration files"). [`SysConfig`] holds what was read last; if a text does not parse, the old one stays in force.

mod catalogs;
mod document;
mod object_types;
mod site;
mod workflows;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use arc_swap::ArcSwap;
use stet_actors::id::DatabaseId;

pub use self::catalogs::{Catalogs, ColumnView, Lists, WidthUnit};
pub use self::document::ParseError;
pub use self::object_types::ObjectTypes;
pub use self::site::{Channel, ContentItem, Site, Wanted};
pub use self::workflows::Workflows;

/// Where the object types are.
pub const OBJECT_TYPES_PATH: &str = "/SysConfig/ObjectTypes/objecttypes.xml";

/// Where the workflows are.
pub const WORKFLOWS_PATH: &str = "/SysConfig/Workflows/workflows.xml";

/// Where the column catalogs of a database are.
pub const CATALOGS_PATH: &str = "/SysConfig/Columns/columnCfgCatalogs.cfg";

/// Where the site configuration of a database is.
pub const SITE_PATH: &str = "/SysConfig/Site/siteconfig.xml";

/// Where the content items are.
pub const CONTENT_ITEMS_PATH: &str = "/SysConfig/ContentItems/contentItems.xml";

/// The configuration in force. Readers never wait, not even while it is replaced.
#[derive(Debug, Default)]
pub struct SysConfig {
    object_types: ArcSwap<ObjectTypes>,
    workflows: ArcSwap<Workflows>,
    /// By database; the built-in minimum serves where nothing was loaded.
    catalogs: ArcSwap<HashMap<DatabaseId, Arc<Catalogs>>>,
    /// By database; there are no channels where nothing was loaded.
    sites: ArcSwap<HashMap<DatabaseId, Arc<Site>>>,
    content_items: ArcSwap<Vec<ContentItem>>,
}

/// A file that could not be taken over; what was read before stays in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadError {
    /// The file's path in the repository.
    pub path: &'static str,
    /// What is wrong in it.
    pub error: ParseError,
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.error)
    }
}

impl std::error::Error for LoadError {}

impl SysConfig {
    /// The built-in minimum, until something is loaded.
    pub fn new() -> SysConfig {
        SysConfig::default()
    }

    /// Takes over the texts of the two files; `None` stands for a file that is missing, and gives the built-in minimum.
    /// Each is taken over or not by itself.
    ///
    /// # Errors
    /// One for each text that does not parse.
    pub fn load(&self, object_types: Option<&str>, workflows: Option<&str>) -> Result<(), Vec<LoadError>> {
        let mut errors = Vec::new();
        match object_types.map_or_else(|| Ok(ObjectTypes::default()), ObjectTypes::parse) {
            Ok(types) => self.object_types.store(Arc::new(types)),
            Err(error) => errors.push(LoadError { path: OBJECT_TYPES_PATH, error }),
        }
        match workflows.map_or_else(|| Ok(Workflows::default()), Workflows::parse) {
            Ok(workflows) => self.workflows.store(Arc::new(workflows)),
            Err(error) => errors.push(LoadError { path: WORKFLOWS_PATH, error }),
        }
        self.warn_of_missing_workflows();
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    /// Takes over the column catalogs of a database; `None` stands for a file that is missing, and gives the built-in minimum.
    ///
    /// # Errors
    /// The text does not parse.
    pub fn load_catalogs(&self, database: DatabaseId, text: Option<&str>) -> Result<(), LoadError> {
        let catalogs = text.map_or_else(|| Ok(Catalogs::default()), Catalogs::parse);
        let catalogs = Arc::new(catalogs.map_err(|error| LoadError { path: CATALOGS_PATH, error })?);
        self.catalogs.rcu(|known| {
            let mut known = HashMap::clone(known);
            known.insert(database, catalogs.clone());
            known
        });
        Ok(())
    }

    /// The column catalogs of a database in force now.
    pub fn catalogs(&self, database: DatabaseId) -> Arc<Catalogs> {
        self.catalogs.load().get(&database).cloned().unwrap_or_default()
    }

    /// Takes over the site configuration of a database; `None` stands for a file that is missing.
    ///
    /// # Errors
    /// The text does not parse.
    pub fn load_site(&self, database: DatabaseId, text: Option<&str>) -> Result<(), LoadError> {
        let site = text.map_or_else(|| Ok(Site::default()), Site::parse);
        let site = Arc::new(site.map_err(|error| LoadError { path: SITE_PATH, error })?);
        self.sites.rcu(|known| {
            let mut known = HashMap::clone(known);
            known.insert(database, site.clone());
            known
        });
        Ok(())
    }

    /// The site configuration of a database in force now: its own, or that of the main one.
    pub fn site(&self, database: DatabaseId) -> Arc<Site> {
        let sites = self.sites.load();
        sites.get(&database).or_else(|| sites.get(&DatabaseId::MAIN)).cloned().unwrap_or_default()
    }

    /// Takes over the content items; `None` stands for a file that is missing.
    ///
    /// # Errors
    /// The text does not parse.
    pub fn load_content_items(&self, text: Option<&str>) -> Result<(), LoadError> {
        let items = text.map_or_else(|| Ok(Vec::new()), site::content_items);
        self.content_items.store(Arc::new(items.map_err(|error| LoadError { path: CONTENT_ITEMS_PATH, error })?));
        Ok(())
    }

    /// The content items in force now.
    pub fn content_items(&self) -> Arc<Vec<ContentItem>> {
        self.content_items.load_full()
    }

    /// The object types in force now.
    pub fn object_types(&self) -> Arc<ObjectTypes> {
        self.object_types.load_full()
    }

    /// The workflows in force now.
    pub fn workflows(&self) -> Arc<Workflows> {
        self.workflows.load_full()
    }

    /// No error, since of two files that are edited one after the other the first would never load.
    fn warn_of_missing_workflows(&self) {
        let (types, workflows) = (self.object_types(), self.workflows());
        for kind in types.iter() {
            if let Some(workflow) = kind.workflow.as_deref().filter(|name| workflows.get(name).is_none()) {
                tracing::warn!(kind = &*kind.name, workflow, "the object type's workflow is missing; it has no status");
            }
        }
    }
}
