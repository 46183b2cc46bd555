//! The verdict on a load of a liveblog.

use super::evidence::{LiveblogEvidence, PostDoubt};
use super::model::{PostChange, PostId};
use super::order::ChangeOrder;
use super::replay::replay;
use crate::figures::format_count;
use crate::followers::board::event_text;
use crate::followers::heard::ReceivedEvents;
use crate::scenario::{LoadVerdict, VerificationFinding, limit_problems};

/// Verifies the evidence. `uncounted` is the reason why revisions cannot be used, if any.
pub(super) fn verdict(
    evidence: &LiveblogEvidence,
    heard: Option<&ReceivedEvents<'_>>,
    uncounted: Option<&str>,
) -> LoadVerdict {
    let mut details = vec![format!(
        "{}, {} noted, {} had no certain outcome.",
        format_count(evidence.acked.len() as u64, "change was acknowledged", "changes were acknowledged"),
        format_count((evidence.polled.len() + evidence.listed.len()) as u64, "poll or listing", "polls and listings"),
        format_count(evidence.doubts.len() as u64, "call", "calls")
    )];
    let order = ChangeOrder::of(evidence);
    let replayed = replay(evidence, &order);
    let mut problems = evidence.odd.clone();
    problems.extend(order.problems.iter().cloned());
    problems.extend(replayed.problems);
    if problems.is_empty() {
        let held = format_count(evidence.end.held.len() as u64, "post", "posts");
        details.push(format!("The liveblog has the {held} that it must have, each in its last state."));
        details.push(format!(
            "The state at their revisions is shown by {} and {}.",
            format_count(replayed.replies, "reply to a change", "replies to changes"),
            format_count(replayed.reads, "poll or listing", "polls and listings")
        ));
        if !order.gaps.is_empty() {
            details.push(format!(
                "{} explained only by calls with an unknown outcome.",
                format_count(order.gaps.len() as u64, "revision is", "revisions are")
            ));
        }
    }
    if let Some(heard) = heard {
        heard.look(&mut details, &mut problems, |heard, problems| compare_events(evidence, &order, heard, problems));
    }
    let finding = if problems.is_empty() { VerificationFinding::Verified } else { VerificationFinding::Violated };
    let method = match uncounted {
        None => REPLAYED.to_owned(),
        Some(why) => format!("{BY_CLIENT} The server's order was not verified: {why}."),
    };
    LoadVerdict { finding, method, details, problems: limit_problems(problems) }
}

/// Checks that the event of each revision is the acknowledged change. For a revision that no reply
/// reported, a call in doubt must explain it.
fn compare_events(
    evidence: &LiveblogEvidence,
    order: &ChangeOrder,
    heard: &ReceivedEvents<'_>,
    problems: &mut Vec<String>,
) {
    let makers = order.makers();
    let id = |post: &PostId| evidence.known.get(post).map_or("", |known| &*known.id);
    let may_be = |doubt: &PostDoubt, event: &str| match (doubt.change, id(&doubt.post)) {
        // The post's loid is unknown.
        (PostChange::Post { .. }, _) | (_, "") => event.starts_with(doubt.change.event()),
        (change, id) => event == event_text(change.event(), id),
    };
    for (revision, event) in (evidence.before + 1..).zip(heard.what) {
        if event.is_empty() {
            // No follower received it: reported with the followers.
            continue;
        }
        let right = match makers.get(&revision) {
            Some((post, change)) => **event == event_text(change.event(), id(post)),
            None => evidence.doubts.iter().any(|doubt| may_be(doubt, event)),
        };
        if !right {
            let maker =
                makers.get(&revision).map_or("caused by an unknown call".to_owned(), |(post, change)| change.of(*post));
            problems.push(format!("followers received `{event}` for revision {revision}, which was {maker}"));
        }
    }
}

const REPLAYED: &str = "Replay: all acknowledged changes are applied to a model in the order of revisions, which is \
                        compared with the liveblog, and with all replies, polls, listings and events.";
const BY_CLIENT: &str = "By client: each post is in the state in which its client left it.";

#[cfg(test)]
mod tests;
