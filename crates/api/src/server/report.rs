//! The findings of an examination, as the endpoint replies them and `stet doctor --json` prints
//! them.

use schemars::JsonSchema;
use serde::Serialize;

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
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
    /// Returns the name of the level, as it is written.
    pub const fn name(self) -> &'static str {
        match self {
            FindingLevel::Ok => "ok",
            FindingLevel::Warn => "warn",
            FindingLevel::Fail => "fail",
        }
    }
}

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DoctorFinding {
    /// Severity of the finding.
    pub level: FindingLevel,
    /// Subject of the check, in a word or a few.
    pub check: &'static str,
    /// Fact that was found: a clause without its full stop.
    pub found: String,
    /// Remedy, likewise; null where all is well.
    pub advice: Option<String>,
}

impl DoctorFinding {
    /// Returns a finding that needs no remedy.
    pub fn ok(check: &'static str, found: impl Into<String>) -> DoctorFinding {
        DoctorFinding { level: FindingLevel::Ok, check, found: found.into(), advice: None }
    }

    /// Returns a warning with its remedy.
    pub fn warn(check: &'static str, found: impl Into<String>, advice: impl Into<String>) -> DoctorFinding {
        DoctorFinding { level: FindingLevel::Warn, check, found: found.into(), advice: Some(advice.into()) }
    }

    /// Returns a failure with its remedy.
    pub fn fail(check: &'static str, found: impl Into<String>, advice: impl Into<String>) -> DoctorFinding {
        DoctorFinding { level: FindingLevel::Fail, check, found: found.into(), advice: Some(advice.into()) }
    }
}

/// All findings of an examination.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DoctorReport {
    /// Findings in the order of the checks.
    pub findings: Vec<DoctorFinding>,
    /// Number of warnings.
    pub warnings: usize,
    /// Number of failures.
    pub failures: usize,
}

impl DoctorReport {
    /// Returns the report with these findings.
    pub fn of(findings: Vec<DoctorFinding>) -> DoctorReport {
        let number = |level| findings.iter().filter(|finding| finding.level == level).count();
        let (warnings, failures) = (number(FindingLevel::Warn), number(FindingLevel::Fail));
        DoctorReport { findings, warnings, failures }
    }
}
