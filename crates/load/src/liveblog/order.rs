//! The assignment of revisions to acknowledged changes.

use std::collections::HashMap;

use super::evidence::{LiveblogEvidence, PostAck};
use super::model::{PostChange, PostId};
use crate::figures::format_count;

/// The acknowledged changes in their order.
#[derive(Debug, Default)]
pub struct ChangeOrder {
    /// The effective changes, each with the revision that it made.
    pub made: Vec<(u64, PostAck)>,
    /// The changes that found the post in the requested state, with the revision of their reply.
    pub found: Vec<PostAck>,
    /// The revisions that no acknowledged change made.
    pub gaps: Vec<u64>,
    /// The contradictions.
    pub problems: Vec<String>,
}

impl ChangeOrder {
    /// Orders the changes by revision, or without revisions as in the evidence.
    pub fn of(evidence: &LiveblogEvidence) -> ChangeOrder {
        if evidence.counted { by_revision(evidence) } else { order_as_acknowledged(evidence) }
    }

    /// Returns the first revision from which on some changes are unknown.
    pub fn known_until(&self) -> u64 {
        self.gaps.first().copied().unwrap_or(u64::MAX)
    }

    /// Returns the change that made each revision.
    pub fn makers(&self) -> HashMap<u64, (PostId, PostChange)> {
        self.made.iter().map(|(revision, acked)| (*revision, (acked.post, acked.change))).collect()
    }
}

fn order_as_acknowledged(evidence: &LiveblogEvidence) -> ChangeOrder {
    let made = evidence.acked.iter().zip(1..).map(|(acked, number)| (number, *acked)).collect();
    ChangeOrder { made, ..ChangeOrder::default() }
}

fn by_revision(evidence: &LiveblogEvidence) -> ChangeOrder {
    let mut order = ChangeOrder::default();
    let mut acked: Vec<&PostAck> = evidence.acked.iter().collect();
    // Of several changes with one revision, those that must have had an effect come first.
    acked.sort_by_key(|acked| (acked.revision, matches!(acked.change, PostChange::Set(_)), acked.post));
    let (before, after) = (evidence.before, evidence.end.revision);
    let mut last = before;
    for acked in acked {
        let PostAck { post, change, revision, changed, .. } = *acked;
        if revision <= before || revision > after {
            // A reply about a post cannot have a revision from before the load.
            order.problems.push(format!(
                "the reply to {} has revision {revision}, which is not between {} and {after}",
                change.of(post),
                before + 1
            ));
            continue;
        }
        if matches!(change, PostChange::Set(_)) && changed < revision {
            order.found.push(*acked);
            continue;
        }
        if changed != revision {
            order.problems.push(format!(
                "the reply to {} has revision {revision} and a last change at {changed}",
                change.of(post)
            ));
            continue;
        }
        if let Some((_, maker)) = order.made.last().filter(|(made, _)| *made == revision) {
            // Another call made the post's last change just before, with the same result.
            if maker.post == post && matches!(change, PostChange::Set(_)) {
                order.found.push(*acked);
            } else {
                order.problems.push(format!(
                    "revision {revision} was returned to {} and to {}",
                    maker.change.of(maker.post),
                    change.of(post)
                ));
            }
            continue;
        }
        order.gaps.extend(last + 1..revision);
        last = revision;
        order.made.push((revision, *acked));
    }
    order.gaps.extend(last + 1..=after);
    if order.gaps.len() > evidence.doubts.len() {
        order.problems.push(format!(
            "{} made by no acknowledged call, {} for one, but only {} an unknown outcome",
            format_count(order.gaps.len() as u64, "revision was", "revisions were"),
            order.gaps[0],
            format_count(evidence.doubts.len() as u64, "call has", "calls have")
        ));
    }
    order
}
