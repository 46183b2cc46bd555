//! The object record on the wire (docs/api/objects.md, "The object record").

mod basis;
mod cache;
pub mod display;
mod filter;
mod groups;
mod listing;
mod outline;
mod pick;
mod render;
pub mod usage;
mod ways;

pub use self::basis::Basis;
pub use self::cache::{CachedRecord, RecordCache};
pub use self::display::Display;
pub use self::filter::{FilterValues, NamePatterns, RecordFilter};
pub use self::groups::is_large;
pub use self::groups::{AttributeGroup, Groups, XmlGroup};
pub use self::listing::{ListingPage, PageCollector, Sort, in_order, parse_sort};
pub use self::outline::outline;
pub use self::pick::pick;
pub use self::render::{ObjectRecord, hex, render, render_version};
