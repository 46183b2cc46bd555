//! The verdict on the evidence of a topic load.

use std::collections::{HashMap, HashSet};

use super::fields::{self, Told};
use super::model::{Change, FOREIGN, Line, Lines};
use super::wire::Said;
use crate::figures::counted;
use crate::followers::heard::Heard;
use crate::replay::evidence::{Doubt, Evidence as Order};
use crate::replay::{Paper, Replay, replay};
use crate::scenario::{Finding, Verdict, named};

/// All evidence of a topic load.
#[derive(Default)]
pub struct Evidence {
    /// The evidence for the replay: the topics, with the plan as the last.
    pub order: Order<Lines>,
    /// The expected fields of the items.
    pub told: HashMap<Line, Told>,
    /// Lines whose removal was acknowledged.
    pub removed: HashSet<Line>,
    /// Lines whose creation or removal has an unknown outcome.
    pub unsure: HashSet<Line>,
    /// Items whose move was refused because they did not exist.
    pub denied: HashSet<Line>,
    /// Faults in single replies.
    pub odd: Vec<String>,
    /// The ids of all lines whose creation was acknowledged.
    pub known: HashMap<Line, Box<str>>,
    /// The ids of all lines at the end.
    pub held: Vec<(Line, Box<str>)>,
    /// The fields of the items at the end.
    pub said: HashMap<Line, Said>,
}

/// Checks the evidence for contradictions. `uncounted` is the reason why revisions cannot be used,
/// if any. `is_divider` distinguishes dividers from items.
pub fn verdict(
    evidence: &Evidence,
    heard: Option<&Heard<'_>>,
    uncounted: Option<&str>,
    is_divider: impl Fn(Line) -> bool,
) -> Verdict {
    let order = &evidence.order;
    let mut details = vec![format!(
        "{}, {} noted, {} had no certain outcome or time.",
        counted(order.acked.len() as u64, "change was acknowledged", "changes were acknowledged"),
        counted(order.seen.len() as u64, "read", "reads"),
        counted(order.doubts.len() as u64, "call", "calls")
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
                counted(revisions, "revision", "revisions"),
                counted(order.containers.len().saturating_sub(1) as u64, "topic", "topics")
            ));
            if doubtful > 0 {
                let are = counted(doubtful, "is", "are");
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
            counted(
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
    let finding = if problems.is_empty() { Finding::Verified } else { Finding::Violated };
    Verdict { finding, method, details, problems: named(problems) }
}

/// Checks which lines exist, independently of their order, and returns a sentence for each fault.
fn members(evidence: &Evidence) -> Vec<String> {
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
    let may_be_away = |line: &Line| evidence.removed.contains(line) || evidence.unsure.contains(line);
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
    evidence: &Evidence,
    (made, doubts): &(Vec<Option<Change>>, Vec<Doubt<Change>>),
    heard: &Heard<'_>,
    problems: &mut Vec<String>,
    is_divider: impl Fn(Line) -> bool,
) {
    let tells = |event: &str, change: Change| {
        let kind = if is_divider(change.line()) { "divider" } else { "item" };
        let verb = match change {
            Change::Add(..) => "add",
            Change::Shift(..) | Change::Order(..) | Change::Edit(_) => "update",
            Change::Attach(_) => "attach",
            Change::Remove(_) => "remove",
            Change::Leave(_) | Change::Arrive(..) => "move",
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
        let may_be = |doubt: &Doubt<Change>| {
            let is_then = doubt.there.is_some() || (doubt.after < revision && revision <= doubt.until);
            let there = doubt.there.into_iter().map(|(_, change)| change);
            is_then && there.chain([doubt.here.1]).any(|change| tells(event, change))
        };
        let (right, was) = match change {
            // If an acknowledged call and one in doubt have the same result, the replay uses the
            // first.
            Some(change) => (tells(event, *change) || doubts.iter().any(may_be), Lines::name(*change)),
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
