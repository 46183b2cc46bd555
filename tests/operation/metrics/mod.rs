//! The monitoring of a server: `/metrics`, the document about it, the rules for alerts and the
//! dashboard.

mod alerts;
mod catalogue;
mod dashboard;
mod promtool;
mod scrape;

pub use self::promtool::{Cause, raises};
pub use self::scrape::Scrape;

use std::path::PathBuf;

/// A file of the repository.
fn file(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn text(path: &str) -> String {
    std::fs::read_to_string(file(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}
