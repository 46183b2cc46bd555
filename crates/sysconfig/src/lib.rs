//! The configuration of the newsroom: object types, workflows, commands, jobs, and the site
//! configuration with what belongs to it.
//!
//! They are XML files of the repository that an operator edits through the interface and refreshes
//! (docs/api/configuration.md, "Configuration files"). Reading is pure: from the texts of files
//! ([`files::FileShelf`]), it makes a value or a list of all faults. [`caches`] holds the values in
//! force.

pub mod caches;
mod catalogs;
mod check;
mod commands;
mod content;
mod document;
mod fault;
pub mod files;
mod metadata;
mod object_types;
mod pages;
mod references;
mod site;
mod trees;
mod validation;
mod vocabulary;
mod whole;
mod workflows;

#[cfg(test)]
mod tests;

pub use self::caches::SysConfig;
pub use self::catalogs::{Catalog, Catalogs, ColumnView, ListKind, WidthUnit};
pub use self::check::{ConfigurationCheck, check_folder, check_with};
pub use self::commands::{ClientCommand, Commands, Jobs, ScheduledCommand};
pub use self::content::{CATALOGS_PATH, CachedConfiguration, SiteContent};
pub use self::document::parse;
#[cfg(test)]
pub use self::document::{ConfigFile, ParsedFile};
pub use self::fault::ConfigurationFault;
pub use self::metadata::{MetadataDefinition, MetadataElement, TreeSource};
pub use self::object_types::{ObjectType, ObjectTypes};
pub use self::pages::{Accessory, Collage, ContentItem, Index, ShapeFrame, ShapeTemplate};
pub use self::site::{
    Calendar, Channel, Destination, DestinationQuery, Product, Site, StylesGroup, Stylesheet, Team, WorkFolder, day_at,
};
pub use self::validation::AttributeFinding;
pub use self::vocabulary::schema;
pub use self::whole::WholeFile;
pub use self::workflows::{Workflow, Workflows};
