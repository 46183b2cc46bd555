//! `stet doctor`: checks a machine, a configuration and a data directory for an operator, before a
//! server runs on them, or beside one that does. It changes nothing. Each finding is a line that
//! states a fact and, if something is to be done, the remedy. A server runs the same checks on
//! itself for `GET /v3/server/doctor`.

mod configuration;
mod directory;
mod disk;
mod edge;
mod machine;

use std::path::Path;

use stet_api::server::{DoctorFinding, DoctorReport};
use stet_config::{Config, ConfigError, ConfigOverrides};
use stet_domain::count::count_with_noun;

use self::directory::RunningServer;
use crate::exit::{self, Exit, Failure};

/// Returns a finding as one line for people.
fn line(finding: &DoctorFinding) -> String {
    let advice = finding.advice.as_ref().map(|advice| format!(". To do: {advice}")).unwrap_or_default();
    // The texts contain paths and foreign messages.
    let said = format!("{}{advice}", finding.found).replace(char::is_control, "?");
    format!("{:4}  {:13}  {said}\n", finding.level.name(), finding.check)
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
    let report = DoctorReport::of(findings(config, file, overrides));
    let failures = report.failures;
    let text = if json {
        serde_json::to_string(&report).map_err(|error| Failure::new(Exit::Failed, error))? + "\n"
    } else {
        report.findings.iter().map(line).collect()
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
    let mut findings = configuration::look(config.as_ref(), file);
    match config {
        Ok(config) => {
            let server = directory::server_on(&config.data.directory);
            let is_served = server.is_some() || directory::may_have_server(&config.data.directory);
            findings.extend(beside(&config, server.as_ref(), is_served));
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

/// Runs all checks that need the configuration.
fn beside(config: &Config, server: Option<&RunningServer>, is_served: bool) -> Vec<DoctorFinding> {
    let mut findings = machine::look(config, server);
    findings.extend(directory::look(config, server));
    findings.extend(edge::look(config, is_served));
    findings
}

/// Runs all checks from within the server that has this configuration in force. Blocks for as long
/// as the disk and the resolver of host names take.
pub fn examine_own_server(config: &Config) -> DoctorReport {
    let mut findings = configuration::look(Ok(config), config.origin.file.as_deref());
    findings.extend(beside(config, Some(&RunningServer::own()), true));
    DoctorReport::of(findings)
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
        assert_eq!(line(&finding), "warn  disk           7 bytes?are free. To do: free some space\n");
        assert_eq!(line(&DoctorFinding::ok("clock", "it is right")), "ok    clock          it is right\n");
    }

    #[test]
    fn bytes_are_told_in_the_unit_that_fits() {
        let told = [0, 1, 1023, 1024, 256 << 20, 5 << 40, u64::MAX].map(bytes);
        assert_eq!(told, ["0 bytes", "1 byte", "1023 bytes", "1.0 KiB", "256.0 MiB", "5.0 TiB", "16777216.0 TiB"]);
    }
}
