//! The interface of a scenario; everything else of a load is common to all scenarios.

use super::client::{CallAnswer, CallTrouble, Connection};
use super::delivery::Delivery;
use super::desk::Desk;
use super::hostile::Tallies;

/// The outcome of an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OperationOutcome {
    /// The operation was acknowledged: it was done, or there was nothing to do.
    Succeeded,
    /// A rule that is part of the scenario refused the operation, with this code. It is no fault of
    /// the server.
    Refused(String),
    /// The operation was refused for overload, with this code; nothing was done.
    Overloaded(String),
    /// The operation failed with this code.
    Failed(String),
}

impl OperationOutcome {
    /// Classifies an answer. `rules` are the codes, without their prefix, of the scenario's own
    /// rules.
    pub fn of(answered: &Result<CallAnswer, CallTrouble>, rules: &[&str]) -> OperationOutcome {
        let answer = match answered {
            Ok(answer) if answer.is_success() => return OperationOutcome::Succeeded,
            Ok(answer) => answer,
            Err(trouble) => return OperationOutcome::Failed(trouble.kind().to_owned()),
        };
        let code = answer.code();
        // The prefix is the server's own (docs/api/README.md, "Errors").
        let bare = code.rsplit_once('.').map_or(code.as_str(), |(_, bare)| bare);
        if answer.is_overloaded() {
            OperationOutcome::Overloaded(code)
        } else if answer.status < 500 && rules.contains(&bare) {
            OperationOutcome::Refused(code)
        } else {
            OperationOutcome::Failed(code)
        }
    }
}

/// The finding of the verification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum VerificationFinding {
    /// The server holds exactly what it acknowledged.
    Verified,
    /// The server does not hold what it acknowledged.
    Violated,
    /// The verification was not possible.
    Unknown,
}

/// The result of the verification.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct LoadVerdict {
    /// The finding.
    pub finding: VerificationFinding,
    /// The method of verification, in one sentence.
    pub method: String,
    /// The checks and their findings, one sentence each.
    pub details: Vec<String>,
    /// Faults, one sentence each; at most [`NAMED`], and the number of others.
    pub problems: Vec<String>,
}

/// The maximum number of faults that a report names; others are counted.
pub const NAMED: usize = 20;

/// Returns the faults that a report names, and a last sentence with the number of others.
pub fn limit_problems(mut problems: Vec<String>) -> Vec<String> {
    let more = problems.len().saturating_sub(NAMED);
    problems.truncate(NAMED);
    if more > 0 {
        problems.push(format!("and {more} more"));
    }
    problems
}

impl LoadVerdict {
    /// Returns the verdict for a load whose final state cannot be read.
    pub fn unread(what: &str, why: &str) -> LoadVerdict {
        LoadVerdict {
            finding: VerificationFinding::Unknown,
            method: "None: the server's state can't be read.".to_owned(),
            details: Vec::new(),
            problems: vec![format!("{what} can't be read: {why}.")],
        }
    }
}

/// A kind of load. One value is created from the settings, prepares itself, and is then shared by
/// all clients.
pub trait Scenario: Send + Sync + Sized + 'static {
    /// One operation of a plan.
    type Operation: Send;
    /// The observations of one client, for the verification.
    type Notes: Default + Send;
    /// The scenario's name on the command line.
    const NAME: &'static str;
    /// The kinds of operations, as the mix names them.
    const KINDS: &'static [&'static str];
    /// The owner of the rules that refuse some operations, such as "the drawers".
    const RULES: &'static str;

    /// Creates the objects that the load works on.
    ///
    /// # Errors
    /// One sentence for the operator.
    fn prepare(&mut self, desk: &mut Desk) -> impl Future<Output = Result<(), String>>;

    /// Returns the endless sequence of a client's operations. It is the same for the same seed.
    fn plan(&self, client: usize) -> impl Iterator<Item = Self::Operation> + Send + 'static;

    /// Returns the operation's index in [`Scenario::KINDS`].
    fn kind(operation: &Self::Operation) -> usize;

    /// Carries out an operation. Its time is measured.
    fn carry_out(
        &self,
        connection: &mut Connection,
        operation: &Self::Operation,
    ) -> impl Future<Output = Result<CallAnswer, CallTrouble>>;

    /// Notes the outcome of an operation. Its time is not measured.
    fn note(
        &self,
        notes: &mut Self::Notes,
        operation: &Self::Operation,
        answered: &Result<CallAnswer, CallTrouble>,
    ) -> OperationOutcome;

    /// Condenses the observations where possible. It is called about once a second during the load,
    /// by a thread that sends nothing, and may take its time.
    fn tidy(&self) {}

    /// Compares what the server holds with all replies to the clients.
    fn verify(&self, desk: &mut Desk, notes: Vec<Self::Notes>) -> impl Future<Output = LoadVerdict>;

    /// Returns the scenario's own parameters as names and values, for the report.
    fn parameters(&self) -> Vec<(String, String)>;

    /// Returns a remark for the progress line, which may be empty.
    fn aside(&self) -> String {
        String::new()
    }

    /// Returns the followers' measurements after the verification; `None` without followers.
    fn delivery(&self) -> Option<Delivery> {
        None
    }

    /// Returns the answers to hostile clients after the verification; `None` without hostile
    /// clients.
    fn hostile(&self) -> Option<Tallies> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_count_as_success_rule_refusal_overload_or_failure() {
        let of = |status, code: &str| {
            let body = if code.is_empty() { String::new() } else { format!("{{\"result\":{{\"code\":\"{code}\"}}}}") };
            OperationOutcome::of(&Ok(CallAnswer { status, etag: None, body: body.into() }), &["DrawerFull"])
        };
        let (full, busy) = ("CMS.DrawerFull".to_owned(), "CMS.Overloaded".to_owned());
        assert_eq!([of(200, ""), of(204, "")], [OperationOutcome::Succeeded, OperationOutcome::Succeeded]);
        assert_eq!(of(409, &full), OperationOutcome::Refused(full.clone()));
        assert_eq!(of(503, &busy), OperationOutcome::Overloaded(busy.clone()));
        assert_eq!(of(429, ""), OperationOutcome::Overloaded("status 429".to_owned()));
        // The answer may come from a proxy, so what the server did is unknown.
        assert_eq!(of(503, ""), OperationOutcome::Failed("status 503".to_owned()));
        assert_eq!(of(500, &full), OperationOutcome::Failed(full));
        assert_eq!(of(412, "CMS.PreconditionFailed"), OperationOutcome::Failed("CMS.PreconditionFailed".to_owned()));
        assert_eq!(
            OperationOutcome::of(&Err(CallTrouble::TimedOut), &[]),
            OperationOutcome::Failed("timeout".to_owned())
        );
    }
}
