//! The directory of a report.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::{LoadReport, html, json};

/// The name of the HTML page.
pub const HTML: &str = "report.html";
/// The name of the file with the numbers.
pub const JSON: &str = "report.json";

/// Creates the directory, or takes an existing one that contains no report.
///
/// # Errors
/// One sentence that names the directory.
pub fn directory(wanted: Option<&Path>, scenario: &str) -> Result<PathBuf, String> {
    let made = || {
        // 2026-01-31T08:00:00Z without the characters that file systems do not like.
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
    // A directory that cannot be written to is found now, not at the end of the load.
    tempfile::tempfile_in(&directory).map_err(|error| wrong(&error))?;
    Ok(directory)
}

/// Writes both files.
///
/// # Errors
/// The error of the file system.
pub fn write(directory: &Path, report: &LoadReport) -> std::io::Result<()> {
    std::fs::write(directory.join(JSON), json::json(report)?)?;
    std::fs::write(directory.join(HTML), html::page(report))
}
