//! The object record on the wire (decisions 3).

mod cache;
mod listing;
mod render;

pub use self::cache::{Cached, RecordCache};
pub use self::listing::{Page, Sort};
pub use self::render::{LockerInfo, ObjectRecord, StatusInfo, Uuid, render, render_version};
use crate::http::display::Display;
