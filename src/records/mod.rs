//! The object record on the wire (decisions 3).

mod cache;
mod listing;
mod render;
mod rendered;

pub use self::cache::{Cached, RecordCache};
pub use self::listing::{Page, Sort, parse_sort};
pub use self::render::{ObjectRecord, hex, render, render_version};
pub use self::rendered::{Rendered, Renderings, Seen};
use crate::http::display::Display;
