//! The whole server on a disk in memory that fails, stalls and crashes when a test says so, or on a
//! real one that is full; spoken to over HTTP. Each kind of fault has a file. What
//! `docs/DURABILITY.md` says is shown here.

mod alerts;
mod corrupt;
mod crash;
mod errors;
mod filling;
mod followers;
mod full;
mod house;
mod model;
pub mod mounted;
mod panic;
mod stall;

use std::path::Path;

use stet_store::StoreFile;

use self::house::House;
use crate::harness::disk::{DiskFault, FaultPlan, SimulatedDisk};
use crate::harness::{FollowedEvent, *};

/// Whether a Rust file below `folder` has a function of that name.
fn is_function(folder: &Path, name: &str) -> bool {
    std::fs::read_dir(folder).expect("a folder can be listed").any(|entry| {
        let path = entry.expect("an entry can be read").path();
        if path.is_dir() {
            return is_function(&path, name);
        }
        let is_rust = path.extension().is_some_and(|extension| extension == "rs");
        is_rust && std::fs::read_to_string(&path).expect("a source is text").contains(&format!("fn {name}("))
    })
}

#[test]
fn every_test_that_the_manual_of_durability_names_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(root.join("docs/DURABILITY.md")).expect("the manual can be read");
    let names = text.split('`').skip(1).step_by(2).filter(|code| code.contains("::"));
    let mut count = 0;
    for name in names.filter_map(|code| code.rsplit("::").next()).filter(|name| name.contains('_')) {
        let folders = ["tests", "src", "crates/store/src/tests", "actors"];
        assert!(folders.iter().any(|folder| is_function(&root.join(folder), name)), "there is no test `{name}`");
        count += 1;
    }
    assert!(count > 20, "{count}");
}
