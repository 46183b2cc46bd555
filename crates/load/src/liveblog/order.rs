//! Which acknowledged change made which revision.

use std::collections::HashMap;

use super::evidence::{Evidence, PostAck};
use super::model::{Change, PostId};
use crate::figures::counted;

/// The acknowledged changes in their order.
#[derive(Debug, Default)]
pub struct Order {
    /// Those that changed something, each with the revision that it made.
    pub made: Vec<(u64, PostAck)>,
    /// Those that found the post as they wanted it, at the revision that they speak of.
    pub found: Vec<PostAck>,
    /// Revisions that no acknowledged change made.
    pub gaps: Vec<u64>,
    /// What contradicts itself.
    pub problems: Vec<String>,
}

impl Order {
    /// By revision, or, where there is none, as it stands in the evidence.
    pub fn of(evidence: &Evidence) -> Order {
        if evidence.counted { by_revision(evidence) } else { as_acknowledged(evidence) }
    }

    /// The first revision from which on nobody knows all that happened.
    pub fn known_until(&self) -> u64 {
        self.gaps.first().copied().unwrap_or(u64::MAX)
    }

    /// Which change made which revision.
    pub fn makers(&self) -> HashMap<u64, (PostId, Change)> {
        self.made.iter().map(|(revision, acked)| (*revision, (acked.post, acked.change))).collect()
    }
}

fn as_acknowledged(evidence: &Evidence) -> Order {
    let made = evidence.acked.iter().zip(1..).map(|(acked, number)| (number, *acked)).collect();
    Order { made, ..Order::default() }
}

fn by_revision(evidence: &Evidence) -> Order {
    let mut order = Order::default();
    let mut acked: Vec<&PostAck> = evidence.acked.iter().collect();
    // Of those that speak of one revision, whatever must have changed something goes first.
    acked.sort_by_key(|acked| (acked.revision, matches!(acked.change, Change::Set(_)), acked.post));
    let (before, after) = (evidence.before, evidence.end.revision);
    let mut last = before;
    for acked in acked {
        let PostAck { post, change, revision, changed, .. } = *acked;
        if revision <= before || revision > after {
            // What found a post as it was before anything happened is not made by anything.
            order.problems.push(format!(
                "the reply to {} speaks of revision {revision}, which is not between {} and {after}",
                change.of(post),
                before + 1
            ));
            continue;
        }
        if matches!(change, Change::Set(_)) && changed < revision {
            order.found.push(*acked);
            continue;
        }
        if changed != revision {
            order.problems.push(format!(
                "the reply to {} speaks of revision {revision} and of a last change at {changed}",
                change.of(post)
            ));
            continue;
        }
        if let Some((_, maker)) = order.made.last().filter(|(made, _)| *made == revision) {
            // The post's last change was made by another call just before, and it was as this one
            // wants it.
            if maker.post == post && matches!(change, Change::Set(_)) {
                order.found.push(*acked);
            } else {
                order.problems.push(format!(
                    "revision {revision} was told to {} and to {}",
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
            "{} made by nobody who was told of it, {} for one, and only {} no certain outcome",
            counted(order.gaps.len() as u64, "revision was", "revisions were"),
            order.gaps[0],
            counted(evidence.doubts.len() as u64, "call has", "calls have")
        ));
    }
    order
}
