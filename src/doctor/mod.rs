//! `stet doctor`: checks a machine, a configuration and a data directory for an operator, before a
//! server runs on them, or beside one that does. It changes nothing. Each finding is a line that
//! states a fact and, if something is to be done, the remedy.

mod configuration;
mod directory;
mod disk;
mod edge;
mod machine;

use std::path::Path;

use serde::Serialize;
use stet_config::{Config, ConfigError, ConfigOverrides};
use stet_domain::count::count_with_noun;

use crate::exit::{self, Exit, Failure};

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FindingLevel {
    /// Nothing is to be done.
    Ok,
    /// A server runs, but trouble may follow.
    Warn,
    /// A server does not start, or does not work properly.
    Fail,
}

impl FindingLevel {
    const fn name(self) -> &'static str {
        match self {
            FindingLevel::Ok => "ok",
            FindingLevel::Warn => "warn",
            FindingLevel::Fail => "fail",
        }
    }
}

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DoctorFinding {
    level: FindingLevel,
    /// The subject of the check, in a word or a few.
    check: &'static str,
    /// The fact that was found: a clause without its full stop.
    found: String,
    /// The remedy, likewise; `None` where all is well.
    advice: Option<String>,
}

impl DoctorFinding {
    fn ok(check: &'static str, found: impl Into<String>) -> DoctorFinding {
        DoctorFinding { level: FindingLevel::Ok, check, found: found.into(), advice: None }
    }

    fn warn(check: &'static str, found: impl Into<String>, advice: impl Into<String>) -> DoctorFinding {
        DoctorFinding { level: FindingLevel::Warn, check, found: found.into(), advice: Some(advice.into()) }
    }

    fn fail(check: &'static str, found: impl Into<String>, advice: impl Into<String>) -> DoctorFinding {
        DoctorFinding { level: FindingLevel::Fail, check, found: found.into(), advice: Some(advice.into()) }
    }

    /// Returns the finding as one line for people.
    fn line(&self) -> String {
        let advice = self.advice.as_ref().map(|advice| format!(". To do: {advice}")).unwrap_or_default();
        // The texts contain paths and foreign messages.
        let said = format!("{}{advice}", self.found).replace(char::is_control, "?");
        format!("{:4}  {:13}  {said}\n", self.level.name(), self.check)
    }
}

/// All findings, as they are printed in JSON.
#[derive(Debug, Serialize)]
struct DoctorReport {
    findings: Vec<DoctorFinding>,
    /// Number of warnings.
    warnings: usize,
    /// Number of failures.
    failures: usize,
}

/// Runs all checks and prints the findings, as lines or as one JSON object.
///
/// # Errors
/// [`Exit::Faults`] when something fails; warnings alone are no failure. [`Exit::Failed`] when the
/// findings can't be printed.
pub fn run(
    config: Result<Config, ConfigError>,
    file: Option<&Path>,
    overrides: ConfigOverrides,
    json: bool,
) -> Result<(), Failure> {
    let findings = findings(config, file, overrides);
    let number = |level| findings.iter().filter(|finding| finding.level == level).count();
    let (warnings, failures) = (number(FindingLevel::Warn), number(FindingLevel::Fail));
    let text = if json {
        let report = DoctorReport { findings, warnings, failures };
        serde_json::to_string(&report).map_err(|error| Failure::new(Exit::Failed, error))? + "\n"
    } else {
        findings.iter().map(DoctorFinding::line).collect()
    };
    exit::print(&text)?;
    if failures == 0 {
        return Ok(());
    }
    let these = if failures == 1 { "1 check fails".to_owned() } else { format!("{failures} checks fail") };
    Err(Failure::new(Exit::Faults, these))
}

fn findings(
    config: Result<Config, ConfigError>,
    file: Option<&Path>,
    overrides: ConfigOverrides,
) -> Vec<DoctorFinding> {
    let mut findings = configuration::look(&config, file);
    match config {
        Ok(config) => {
            let server = directory::server_on(&config.data.directory);
            findings.extend(machine::look(&config, server.as_ref()));
            findings.extend(directory::look(&config, server.as_ref()));
            let is_served = server.is_some() || directory::may_have_server(&config.data.directory);
            findings.extend(edge::look(&config, is_served));
        }
        // Only checks that need no configuration, with the directory that was named.
        Err(_) => {
            if let Some(data) = overrides.data {
                let config = Config { data: stet_config::DataConfig { directory: data }, ..Config::default() };
                let server = directory::server_on(&config.data.directory);
                findings.extend(directory::look(&config, server.as_ref()));
            }
            let found = "limits, memory, addresses and certificates were not checked, because the checks depend on \
                         the configuration";
            findings.push(DoctorFinding::warn("unchecked", found, "correct the configuration, and run it again"));
        }
    }
    findings
}

/// Formats a number of bytes for people.
fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let mut unit = 0;
    let mut shown = bytes as f64;
    while shown >= 1024.0 && unit + 1 < UNITS.len() {
        shown /= 1024.0;
        unit += 1;
    }
    match (bytes, unit) {
        (_, 0) => count_with_noun(bytes, "byte"),
        _ => format!("{shown:.1} {}", UNITS[unit]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_is_one_line_with_what_to_do() {
        let finding = DoctorFinding::warn("disk", "7 bytes\nare free", "free some space");
        assert_eq!(finding.line(), "warn  disk           7 bytes?are free. To do: free some space\n");
        assert_eq!(DoctorFinding::ok("clock", "it is right").line(), "ok    clock          it is right\n");
    }

    #[test]
    fn bytes_are_told_in_the_unit_that_fits() {
        let told = [0, 1, 1023, 1024, 256 << 20, 5 << 40, u64::MAX].map(bytes);
        assert_eq!(told, ["0 bytes", "1 byte", "1023 bytes", "1.0 KiB", "256.0 MiB", "5.0 TiB", "16777216.0 TiB"]);
    }
}
