//! The verdict on the evidence of a topic load.

use std::collections::{HashMap, HashSet};

use super::fields::{self, ExpectedFields};
use super::model::{FOREIGN, LineNumber, TopicChange, TopicModel};
use super::wire::ShownItemFields;
use crate::figures::format_count;
use crate::followers::heard::ReceivedEvents;
use crate::replay::evidence::{DoubtfulCall, ReplayEvidence};
use crate::replay::{ContainerModel, Replay, replay};
use crate::scenario::{LoadVerdict, VerificationFinding, limit_problems};

/// All evidence of a topic load.
#[derive(Default)]
pub struct TopicEvidence {
    /// The evidence for the replay: the topics, with the plan as the last.
    pub order: ReplayEvidence<TopicModel>,
    /// The expected fields of the items.
    pub told: HashMap<LineNumber, ExpectedFields>,
    /// Lines whose removal was acknowledged.
    pub removed: HashSet<LineNumber>,
    /// Lines whose creation or removal has an unknown outcome.
    pub unsure: HashSet<LineNumber>,
    /// Items whose move was refused because they did not exist.
    pub denied: HashSet<LineNumber>,
    /// Faults in single replies.
    pub odd: Vec<String>,
    /// The ids of all lines whose creation was acknowledged.
    pub known: HashMap<LineNumber, Box<str>>,
    /// The ids of all lines at the end.
    pub held: Vec<(LineNumber, Box<str>)>,
    /// The fields of the items at the end.
    pub said: HashMap<LineNumber, ShownItemFields>,
}

/// Checks the evidence for contradictions. `uncounted` is the reason why revisions cannot be used,
/// if any. `is_divider` distinguishes dividers from items.
pub fn verdict(
    evidence: &TopicEvidence,
    heard: Option<&ReceivedEvents<'_>>,
    uncounted: Option<&str>,
    is_divider: impl Fn(LineNumber) -> bool,
) -> LoadVerdict {
    let order = &evidence.order;
    let mut details = vec![format!(
        "{}, {} noted, {} had no certain outcome or time.",
        format_count(order.acked.len() as u64, "change was acknowledged", "changes were acknowledged"),
        format_count(order.seen.len() as u64, "read", "reads"),
        format_count(order.doubts.len() as u64, "call", "calls")
    )];
    let mut problems = evidence.odd.clone();
    let replayed = match uncounted {
        Some(why) => Replay::TooMany(why.to_owned()),
        None => replay(order),
    };
    let mut made = (Vec::new(), Vec::new());
    let method = match replayed {
        Replay::Explained { revisions, doubtful, made: changes, doubts } => {
            details.push(format!(
                "{} of {} and their plan, one after the other, led to what the server holds, order and all.",
                format_count(revisions, "revision", "revisions"),
                format_count(order.containers.len().saturating_sub(1) as u64, "topic", "topics")
            ));
            if doubtful > 0 {
                let are = format_count(doubtful, "is", "are");
                details.push(format!(
                    "Of these, {are} explained only by calls of which nobody was told whether or when they were made."
                ));
            }
            made = (changes, doubts);
            REPLAYED.to_owned()
        }
        Replay::Contradicted(why) => {
            problems.push(format!("No order explains what was acknowledged; {why}."));
            REPLAYED.to_owned()
        }
        Replay::TooMany(why) => format!("{MEMBERS} The server's order was not looked at: {why}."),
    };
    let found = members(evidence);
    problems.extend(found);
    problems.extend(fields::compare(&evidence.told, &evidence.said));
    if problems.is_empty() {
        details.push(format!(
            "{} to be there, each once, and each item says what it was told to say.",
            format_count(
                evidence.held.len() as u64,
                "item or divider is there that has",
                "items and dividers are there that have"
            )
        ));
    }
    if let Some(heard) = heard {
        heard.look(&mut details, &mut problems, |heard, problems| {
            compare_events(evidence, &made, heard, problems, is_divider);
        });
    }
    let finding = if problems.is_empty() { VerificationFinding::Verified } else { VerificationFinding::Violated };
    LoadVerdict { finding, method, details, problems: limit_problems(problems) }
}

/// Checks which lines exist, independently of their order, and returns a sentence for each fault.
fn members(evidence: &TopicEvidence) -> Vec<String> {
    let mut problems = Vec::new();
    let mut there = HashSet::new();
    for (line, id) in &evidence.held {
        if *line == FOREIGN {
            problems.push(format!("in the end there is a line {id} that is none of the load's"));
        } else if !there.insert(*line) {
            problems.push(format!("in the end line {line} is there twice"));
        } else if evidence.removed.contains(line) {
            problems.push(format!("in the end line {line} is there, though its removal was acknowledged"));
        } else {
            match evidence.known.get(line) {
                Some(known) if known == id => {}
                Some(_) => problems.push(format!("in the end line {line} has another id than it was told to have")),
                None if evidence.unsure.contains(line) => {}
                None => problems.push(format!("in the end line {line} is there, and nobody was told that it was made")),
            }
        }
    }
    let may_be_away = |line: &LineNumber| evidence.removed.contains(line) || evidence.unsure.contains(line);
    let mut missing: Vec<_> =
        evidence.known.keys().filter(|line| !there.contains(line) && !may_be_away(line)).collect();
    missing.sort_unstable();
    problems.extend(missing.into_iter().map(|line| format!("in the end line {line} is missing, which nobody removed")));
    let mut denied: Vec<_> = evidence.denied.iter().filter(|line| !may_be_away(line)).collect();
    denied.sort_unstable();
    let denied = denied.into_iter();
    problems.extend(
        denied.map(|line| format!("a move of item {line} was refused because it was not there, and nobody removed it")),
    );
    problems
}

/// Checks that the events of each revision of the first topic match the change that made it, or a
/// call in doubt that may have made it. Revisions with unknown events are skipped.
fn compare_events(
    evidence: &TopicEvidence,
    (made, doubts): &(Vec<Option<TopicChange>>, Vec<DoubtfulCall<TopicChange>>),
    heard: &ReceivedEvents<'_>,
    problems: &mut Vec<String>,
    is_divider: impl Fn(LineNumber) -> bool,
) {
    let tells = |event: &str, change: TopicChange| {
        let kind = if is_divider(change.line()) { "divider" } else { "item" };
        let verb = match change {
            TopicChange::Add(..) => "add",
            TopicChange::Shift(..) | TopicChange::Order(..) | TopicChange::Edit(_) => "update",
            TopicChange::Attach(_) => "attach",
            TopicChange::Remove(_) => "remove",
            TopicChange::Leave(_) | TopicChange::Arrive(..) => "move",
        };
        let (name, ids) = event.split_once(' ').unwrap_or((event, ""));
        let id = evidence.known.get(&change.line());
        name == format!("topic.{kind}.{verb}") && id.is_none_or(|id| ids.split(' ').any(|one| *one == **id))
    };
    let base = evidence.order.containers.first().and_then(|first| first.revisions).map_or(0, |(base, _)| base);
    for ((revision, change), event) in (base + 1..).zip(made).zip(heard.what) {
        // Events that no follower received are reported with the followers.
        if event.is_empty() {
            continue;
        }
        let may_be = |doubt: &DoubtfulCall<TopicChange>| {
            let is_then = doubt.there.is_some() || (doubt.after < revision && revision <= doubt.until);
            let there = doubt.there.into_iter().map(|(_, change)| change);
            is_then && there.chain([doubt.here.1]).any(|change| tells(event, change))
        };
        let (right, was) = match change {
            // If an acknowledged call and one in doubt have the same result, the replay uses the
            // first.
            Some(change) => (tells(event, *change) || doubts.iter().any(may_be), TopicModel::name(*change)),
            None => (doubts.iter().any(may_be), "made by nobody who was told so".to_owned()),
        };
        if !right {
            problems.push(format!("followers were told `{event}` of revision {revision}, which was {was}"));
        }
    }
}

const REPLAYED: &str = "Replay: all that was acknowledged, carried out again on paper by revision, compared with what the server \
                        holds, with what was read on the way, and with what followers were told.";
const MEMBERS: &str = "Membership: what was made and not removed is there once, nothing is there from nowhere, and items say what \
                       they were told to say.";

#[cfg(test)]
mod tests;
