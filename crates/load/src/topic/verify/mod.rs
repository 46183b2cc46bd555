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
                "{} of {} and their plan, applied one after the other, lead to the server's state, including the \
                 order.",
                format_count(revisions, "revision", "revisions"),
                format_count(order.containers.len().saturating_sub(1) as u64, "topic", "topics")
            ));
            if doubtful > 0 {
                let are = format_count(doubtful, "is", "are");
                details.push(format!("Of these, {are} explained only by calls with an unknown outcome or time."));
            }
            made = (changes, doubts);
            REPLAYED.to_owned()
        }
        Replay::Contradicted(why) => {
            problems.push(format!("No order of changes explains the acknowledged ones; {why}."));
            REPLAYED.to_owned()
        }
        Replay::TooMany(why) => format!("{MEMBERS} The server's order was not verified: {why}."),
    };
    let found = members(evidence);
    problems.extend(found);
    problems.extend(fields::compare(&evidence.told, &evidence.said));
    if problems.is_empty() {
        details.push(format!(
            "{} to be present, each once, and each item has its last values.",
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
            problems.push(format!("in the end there is a line {id} that the load did not create"));
        } else if !there.insert(*line) {
            problems.push(format!("in the end line {line} is there twice"));
        } else if evidence.removed.contains(line) {
            problems.push(format!("in the end line {line} exists, although its removal was acknowledged"));
        } else {
            match evidence.known.get(line) {
                Some(known) if known == id => {}
                Some(_) => problems.push(format!("in the end line {line} has another id than its creation returned")),
                None if evidence.unsure.contains(line) => {}
                None => problems.push(format!("in the end line {line} exists, but no reply acknowledged its creation")),
            }
        }
    }
    let may_be_away = |line: &LineNumber| evidence.removed.contains(line) || evidence.unsure.contains(line);
    let mut missing: Vec<_> =
        evidence.known.keys().filter(|line| !there.contains(line) && !may_be_away(line)).collect();
    missing.sort_unstable();
    problems
        .extend(missing.into_iter().map(|line| format!("in the end line {line} is missing, which no call removed")));
    let mut denied: Vec<_> = evidence.denied.iter().filter(|line| !may_be_away(line)).collect();
    denied.sort_unstable();
    let denied = denied.into_iter();
    problems.extend(
        denied
            .map(|line| format!("a move of item {line} was refused because it did not exist, but no call removed it")),
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
            None => (doubts.iter().any(may_be), "made by no acknowledged call".to_owned()),
        };
        if !right {
            problems.push(format!("followers received `{event}` for revision {revision}, which was {was}"));
        }
    }
}

const REPLAYED: &str = "Replay: all acknowledged changes are applied to a model in the order of revisions, which is \
                        compared with the server's state, with all reads, and with all events.";
const MEMBERS: &str = "Membership: lines that were created and not removed are present once, none is unknown, and \
                       items have their last values.";

#[cfg(test)]
mod tests;
