//! Input from outside, and rows read back from disk, each kind as a function that takes any bytes:
//! no input may make it panic, and what it says must hold of every input that is taken.
//!
//! The fuzz targets in `fuzz/` call these; so do the tests here, with the seeds in `fuzz/seeds` and
//! what becomes of them.

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

/// A kind of input.
#[derive(Debug)]
pub struct Target {
    /// Name of the fuzz target, and of its folder of seeds.
    pub name: &'static str,
    /// Looks at an input. Panics when something does not hold; says whether the input was taken,
    /// rather than refused.
    pub run: fn(&[u8]) -> bool,
}

/// All kinds.
pub const TARGETS: &[Target] = &[
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

const fn target(name: &'static str, run: fn(&[u8]) -> bool) -> Target {
    Target { name, run }
}

/// Runs the target of that name.
///
/// # Panics
/// There is none, or something does not hold.
pub fn run(name: &str, data: &[u8]) {
    let target = TARGETS.iter().find(|target| target.name == name);
    let target = target.unwrap_or_else(|| panic!("there is no target `{name}`"));
    (target.run)(data);
}
