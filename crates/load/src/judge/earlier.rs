//! The report of an earlier load, as far as `compare` needs it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde::Deserialize;

use super::figure::Figures;

/// The greatest size of a report in bytes: many times that of the longest load.
const MOST_BYTES: u64 = 16 << 20;

/// The compared parts of an earlier report.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EarlierReport {
    /// The time of the begin, RFC 3339.
    pub begun: String,
    /// The parameters of the load, by name.
    pub parameters: BTreeMap<String, String>,
    /// The figures of all operations.
    pub all: Figures,
    /// The figures by kind of operation.
    pub kinds: BTreeMap<String, Figures>,
}

/// The fields that decide whether reports can be compared.
#[derive(Deserialize)]
struct ReportHead {
    format: u32,
    scenario: String,
}

impl EarlierReport {
    /// Reads `report.json`, or the one in a directory. The report must be of this scenario and in
    /// this format.
    ///
    /// # Errors
    /// A sentence that names the file and its fault.
    pub fn read(path: &Path, scenario: &str, format: u32) -> Result<EarlierReport, String> {
        let path = if path.is_dir() { path.join("report.json") } else { path.to_owned() };
        let wrong = |why: String| format!("`compare` is {}, which {why}", path.display());
        let mut text = Vec::new();
        let file = File::open(&path).map_err(|error| wrong(format!("can't be read: {error}")))?;
        let read = file.take(MOST_BYTES + 1).read_to_end(&mut text);
        read.map_err(|error| wrong(format!("can't be read: {error}")))?;
        if text.len() as u64 > MOST_BYTES {
            return Err(wrong(format!("is larger than {} MiB, and so no report of a load", MOST_BYTES >> 20)));
        }
        // Editors put a byte order mark in front of files.
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&text);
        let no_report = |error: serde_json::Error| wrong(format!("is no report of a load: {error}"));
        let head: ReportHead = serde_json::from_slice(text).map_err(no_report)?;
        if head.format != format {
            return Err(wrong(format!("has format {}, and only format {format} can be compared with", head.format)));
        }
        if head.scenario != scenario {
            return Err(wrong(format!("is of the scenario `{}`, and this one is `{scenario}`", head.scenario)));
        }
        serde_json::from_slice(text).map_err(no_report)
    }
}
