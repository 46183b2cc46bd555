//! The older, unversioned resources. They read the same site configuration, sessions and rights as
//! all others.

mod calendar;
mod linked;
mod metadata;
mod page_channel;
mod page_plan;
mod paths;
mod people;
mod place;
pub mod routes;
mod site;

pub use self::calendar::next_publication_date;
pub use self::linked::linked;
pub use self::metadata::{definition, tree, tree_xml};
pub use self::page_plan::remove as remove_page_plan;
pub use self::paths::{resolve_path, site_config};
pub use self::people::{user_data, users};
pub use self::site::{channels, content_item_map, content_items, teams, work_folders};
