//! The verdict on a load of a liveblog.

use super::evidence::{Doubt, Evidence};
use super::model::{Change, PostId};
use super::order::Order;
use super::replay::replay;
use crate::figures::counted;
use crate::followers::board::what;
use crate::followers::heard::Heard;
use crate::scenario::{Finding, Verdict, named};

/// Verifies the evidence. `uncounted` is the reason why revisions cannot be used, if any.
pub(super) fn verdict(evidence: &Evidence, heard: Option<&Heard<'_>>, uncounted: Option<&str>) -> Verdict {
    let mut details = vec![format!(
        "{}, {} noted, {} had no certain outcome.",
        counted(evidence.acked.len() as u64, "change was acknowledged", "changes were acknowledged"),
        counted((evidence.polled.len() + evidence.listed.len()) as u64, "poll or listing", "polls and listings"),
        counted(evidence.doubts.len() as u64, "call", "calls")
    )];
    let order = Order::of(evidence);
    let replayed = replay(evidence, &order);
    let mut problems = evidence.odd.clone();
    problems.extend(order.problems.iter().cloned());
    problems.extend(replayed.problems);
    if problems.is_empty() {
        let held = counted(evidence.end.held.len() as u64, "post", "posts");
        details.push(format!("The liveblog holds the {held} that it has to hold, each as it was left."));
        details.push(format!(
            "What was there at their revisions is shown by {} and {}.",
            counted(replayed.replies, "reply to a change", "replies to changes"),
            counted(replayed.reads, "poll or listing", "polls and listings")
        ));
        if !order.gaps.is_empty() {
            details.push(format!(
                "{} explained only by calls whose outcome nobody was told.",
                counted(order.gaps.len() as u64, "revision is", "revisions are")
            ));
        }
    }
    if let Some(heard) = heard {
        heard.look(&mut details, &mut problems, |heard, problems| compare_events(evidence, &order, heard, problems));
    }
    let finding = if problems.is_empty() { Finding::Verified } else { Finding::Violated };
    let method = match uncounted {
        None => REPLAYED.to_owned(),
        Some(why) => format!("{BY_CLIENT} The server's order was not looked at: {why}."),
    };
    Verdict { finding, method, details, problems: named(problems) }
}

/// Checks that the event of each revision is the acknowledged change. For a revision that no reply
/// reported, a call in doubt must explain it.
fn compare_events(evidence: &Evidence, order: &Order, heard: &Heard<'_>, problems: &mut Vec<String>) {
    let makers = order.makers();
    let id = |post: &PostId| evidence.known.get(post).map_or("", |known| &*known.id);
    let may_be = |doubt: &Doubt, event: &str| match (doubt.change, id(&doubt.post)) {
        // The post's loid is unknown.
        (Change::Post { .. }, _) | (_, "") => event.starts_with(doubt.change.event()),
        (change, id) => event == what(change.event(), id),
    };
    for (revision, event) in (evidence.before + 1..).zip(heard.what) {
        if event.is_empty() {
            // No follower received it: reported with the followers.
            continue;
        }
        let right = match makers.get(&revision) {
            Some((post, change)) => **event == what(change.event(), id(post)),
            None => evidence.doubts.iter().any(|doubt| may_be(doubt, event)),
        };
        if !right {
            let maker = makers.get(&revision).map_or("nobody knows what".to_owned(), |(post, change)| change.of(*post));
            problems.push(format!("followers were told `{event}` of revision {revision}, which was {maker}"));
        }
    }
}

const REPLAYED: &str = "Replay: all that was acknowledged, carried out again on paper by revision, compared with what the liveblog \
                        holds, and with replies, polls, listings and events on the way.";
const BY_CLIENT: &str = "By client: each post is as the client that works on it left it.";

#[cfg(test)]
mod tests;
