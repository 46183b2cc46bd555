//! The site configuration, and files of the configuration (docs/api/configuration.md).

mod files;
mod pages;
mod resolve;
pub mod routes;
mod shape;
mod site;

pub use self::files::{clear_cache, xml_file};
pub use self::pages::{AccessoriesRequest, ShapesRequest, page_accessories, shape_templates, shape_templates_of};
pub use self::resolve::resolve_path;
pub use self::shape::story_shape;
pub(crate) use self::site::channel_id;
pub use self::site::{catalogs, collage, connections, indexes, site_config_xml};
