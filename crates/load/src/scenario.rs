//! What a scenario has to provide; everything else of a load is the same for all.

use super::client::{Answer, Connection, Trouble};
use super::delivery::Delivery;
use super::desk::Desk;
use super::hostile::Tallies;

/// What became of an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It was acknowledged: done, or there was nothing to do.
    Succeeded,
    /// It was refused by a rule that is part of the scenario, with this code: no fault of the
    /// server's.
    Refused(String),
    /// It was refused because too much was asked at once, with this code: nothing was done.
    Overloaded(String),
    /// It went wrong, with this code.
    Failed(String),
}

impl Outcome {
    /// What an answer means where only these codes (without their prefix) are among the scenario's
    /// rules.
    pub fn of(answered: &Result<Answer, Trouble>, rules: &[&str]) -> Outcome {
        let answer = match answered {
            Ok(answer) if answer.is_success() => return Outcome::Succeeded,
            Ok(answer) => answer,
            Err(trouble) => return Outcome::Failed(trouble.kind().to_owned()),
        };
        let code = answer.code();
        // The prefix is the server's own (docs/api/README.md, "Errors").
        let bare = code.rsplit_once('.').map_or(code.as_str(), |(_, bare)| bare);
        if answer.is_overloaded() {
            Outcome::Overloaded(code)
        } else if answer.status < 500 && rules.contains(&bare) {
            Outcome::Refused(code)
        } else {
            Outcome::Failed(code)
        }
    }
}

/// What the verification came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Finding {
    /// What the server holds is what it acknowledged.
    Verified,
    /// It is not.
    Violated,
    /// It could not be found out.
    Unknown,
}

/// The verification.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Verdict {
    /// What it came to.
    pub finding: Finding,
    /// Which verification was made, in a sentence.
    pub method: String,
    /// What was looked at, and what was found, a sentence each.
    pub details: Vec<String>,
    /// What is not as it should be, a sentence each; no more than some.
    pub problems: Vec<String>,
}

/// Faults that a report names; more are counted.
pub const NAMED: usize = 20;

/// As many faults as a report names, and how many more there are.
pub fn named(mut problems: Vec<String>) -> Vec<String> {
    let more = problems.len().saturating_sub(NAMED);
    problems.truncate(NAMED);
    if more > 0 {
        problems.push(format!("and {more} more"));
    }
    problems
}

impl Verdict {
    /// The verdict when what the load worked on can't be read in the end.
    pub fn unread(what: &str, why: &str) -> Verdict {
        Verdict {
            finding: Finding::Unknown,
            method: "None: what the server holds can't be read.".to_owned(),
            details: Vec::new(),
            problems: vec![format!("{what} can't be read: {why}.")],
        }
    }
}

/// A kind of load. One value is made from the settings, prepares itself, and is then shared by all
/// clients.
pub trait Scenario: Send + Sync + Sized + 'static {
    /// One thing to do.
    type Operation: Send;
    /// What a client remembers for the verification.
    type Notes: Default + Send;
    /// As the command line has it.
    const NAME: &'static str;
    /// The kinds of operations, as the mix names them.
    const KINDS: &'static [&'static str];
    /// Whose rules refuse some of them, as "the drawers".
    const RULES: &'static str;

    /// Makes what the load works on.
    ///
    /// # Errors
    /// A sentence for the operator.
    fn prepare(&mut self, desk: &mut Desk) -> impl Future<Output = Result<(), String>>;

    /// What a client is going to do, one operation after the other, without end: the same for the
    /// same seed.
    fn plan(&self, client: usize) -> impl Iterator<Item = Self::Operation> + Send + 'static;

    /// Index in [`Scenario::KINDS`].
    fn kind(operation: &Self::Operation) -> usize;

    /// Does it. What it takes is measured.
    fn carry_out(
        &self,
        connection: &mut Connection,
        operation: &Self::Operation,
    ) -> impl Future<Output = Result<Answer, Trouble>>;

    /// Notes what came of it. What this takes is not measured.
    fn note(&self, notes: &mut Self::Notes, operation: &Self::Operation, answered: &Result<Answer, Trouble>)
    -> Outcome;

    /// Makes less of what is remembered, where that can be. It is called about once a second while
    /// the load runs, by a thread that sends nothing, and may take its time.
    fn tidy(&self) {}

    /// Compares what the server holds with all the replies that clients got.
    fn verify(&self, desk: &mut Desk, notes: Vec<Self::Notes>) -> impl Future<Output = Verdict>;

    /// The scenario's own parameters, as name and value, for the report.
    fn parameters(&self) -> Vec<(String, String)>;

    /// A remark for the live line while the load runs; may be empty.
    fn aside(&self) -> String {
        String::new()
    }

    /// What those measured who followed, once it has been verified; nothing where nobody follows.
    fn delivery(&self) -> Option<Delivery> {
        None
    }

    /// What hostile clients were answered, once it has been verified; nothing where there were
    /// none.
    fn hostile(&self) -> Option<Tallies> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_succeeds_or_is_refused_by_rule_or_for_overload_and_all_else_fails() {
        let of = |status, code: &str| {
            let body = if code.is_empty() { String::new() } else { format!("{{\"result\":{{\"code\":\"{code}\"}}}}") };
            Outcome::of(&Ok(Answer { status, etag: None, body: body.into() }), &["DrawerFull"])
        };
        let (full, busy) = ("CMS.DrawerFull".to_owned(), "CMS.Overloaded".to_owned());
        assert_eq!([of(200, ""), of(204, "")], [Outcome::Succeeded, Outcome::Succeeded]);
        assert_eq!(of(409, &full), Outcome::Refused(full.clone()));
        assert_eq!(of(503, &busy), Outcome::Overloaded(busy.clone()));
        assert_eq!(of(429, ""), Outcome::Overloaded("status 429".to_owned()));
        // A proxy's: nobody knows what the server did.
        assert_eq!(of(503, ""), Outcome::Failed("status 503".to_owned()));
        assert_eq!(of(500, &full), Outcome::Failed(full));
        assert_eq!(of(412, "CMS.PreconditionFailed"), Outcome::Failed("CMS.PreconditionFailed".to_owned()));
        assert_eq!(Outcome::of(&Err(Trouble::TimedOut), &[]), Outcome::Failed("timeout".to_owned()));
    }
}
