//! The directory of a report.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::{Report, html, json};

/// The page.
pub const HTML: &str = "report.html";
/// The numbers.
pub const JSON: &str = "report.json";

/// Makes the directory, or takes one that is there and has no report in it.
///
/// # Errors
/// A sentence that names it.
pub fn directory(wanted: Option<&Path>, scenario: &str) -> Result<PathBuf, String> {
    let made = || {
        // 2026-01-31T08:00:00Z without what file systems do not like.
        let now: String = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
        let now: String = now.chars().filter(|char| !matches!(char, ':' | '-')).collect();
        PathBuf::from(format!("stet-load-{scenario}-{now}"))
    };
    let directory = wanted.map_or_else(made, Path::to_owned);
    let wrong = |why: &dyn std::fmt::Display| format!("`report`: {} can't be used: {why}", directory.display());
    std::fs::create_dir_all(&directory).map_err(|error| wrong(&error))?;
    for name in [HTML, JSON] {
        if directory.join(name).exists() {
            return Err(wrong(&format!("it has a {name} in it")));
        }
    }
    // Whether it can be written to is found out now, and not when all is done.
    tempfile::tempfile_in(&directory).map_err(|error| wrong(&error))?;
    Ok(directory)
}

/// Writes both files.
///
/// # Errors
/// What the disk says.
pub fn write(directory: &Path, report: &Report) -> std::io::Result<()> {
    std::fs::write(directory.join(JSON), json::json(report)?)?;
    std::fs::write(directory.join(HTML), html::page(report))
}
