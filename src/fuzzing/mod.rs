//! Fuzzing of external input, and of rows read back from disk. Each kind of input is a function
//! that takes any bytes: no input may make it panic, and its assertions must hold for every
//! accepted input.
//!
//! The fuzz targets in `fuzz/` call these. So do the tests here, with the seeds in `fuzz/seeds` and
//! mutations of them.

mod dates;
mod documents;
mod headers;
mod names;
mod requests;
mod rows;
mod upload;

#[cfg(test)]
mod samples;
#[cfg(test)]
mod tests;

/// A fuzz target for one kind of input.
#[derive(Debug)]
pub struct FuzzTarget {
    /// Name of the fuzz target, and of its folder of seeds.
    pub name: &'static str,
    /// Checks an input, and panics when an assertion fails. Returns whether the input was accepted,
    /// rather than refused.
    pub run: fn(&[u8]) -> bool,
}

/// All fuzz targets.
pub const TARGETS: &[FuzzTarget] = &[
    target("source", names::source),
    target("query", requests::query),
    target("headers", headers::headers),
    target("json_body", requests::json_body),
    target("multipart", upload::multipart),
    target("attributes", documents::attributes),
    target("edits", documents::edits),
    target("xpath", documents::xpath),
    target("xml", documents::xml),
    target("declarations", documents::declarations),
    target("dates", dates::dates),
    target("rows", rows::rows),
    target("journal", rows::journal),
];

const fn target(name: &'static str, run: fn(&[u8]) -> bool) -> FuzzTarget {
    FuzzTarget { name, run }
}

/// Runs the target of that name.
///
/// # Panics
/// There is no such target, or an assertion fails.
pub fn run(name: &str, data: &[u8]) {
    let target = TARGETS.iter().find(|target| target.name == name);
    let target = target.unwrap_or_else(|| panic!("there is no target `{name}`"));
    (target.run)(data);
}
