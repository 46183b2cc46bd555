//! The verification by replay: acknowledged changes are applied to a model in their order. Each
//! reply must show the post as in the model at that time. Each poll and each listing must match the
//! model at its revision. In the end the liveblog must hold the same posts as the model.
//!
//! A post with a call in doubt is compared only in the end, and both outcomes are allowed. Polls
//! and listings are compared up to the first revision that no reply reported.

use std::collections::{HashMap, HashSet};

use super::evidence::{FinalLiveblog, HeldPost, LiveblogEvidence, PostAck, PostDoubt};
use super::model::{PostAppearance, PostChange, PostId, PostModel, PostState};
use super::order::ChangeOrder;
use super::reads::ReadComparison;
use crate::figures::format_count;

/// The result of a replay.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ReplayResult {
    /// A sentence for each fault.
    pub problems: Vec<String>,
    /// The number of compared replies to changes.
    pub replies: u64,
    /// The number of compared polls and listings.
    pub reads: u64,
}

/// Applies the acknowledged changes, and compares.
pub fn replay(evidence: &LiveblogEvidence, order: &ChangeOrder) -> ReplayResult {
    let mut doubted: HashMap<PostId, Vec<PostChange>> = HashMap::new();
    for PostDoubt { post, change } in &evidence.doubts {
        doubted.entry(*post).or_default().push(*change);
    }
    let mut replayed = ReplayResult::default();
    let papers = carry_out(evidence, order, &doubted, &mut replayed);
    check_denied(evidence, &papers, &doubted, &mut replayed.problems);
    compare(evidence, &papers, &doubted, &mut replayed.problems);
    replayed
}

type PostModels = HashMap<PostId, PostModel>;
type DoubtfulChanges = HashMap<PostId, Vec<PostChange>>;

fn carry_out(
    evidence: &LiveblogEvidence,
    order: &ChangeOrder,
    doubted: &DoubtfulChanges,
    replayed: &mut ReplayResult,
) -> PostModels {
    let mut papers: PostModels = HashMap::new();
    let mut reads = evidence.counted.then(|| ReadComparison::of(evidence, order.known_until()));
    let mut found: Vec<&PostAck> = order.found.iter().collect();
    found.sort_by_key(|acked| acked.revision);
    let mut found = found.into_iter().peekable();
    let until_found =
        |papers: &PostModels, replayed: &mut ReplayResult, next: u64, found: &mut std::iter::Peekable<_>| {
            while let Some(acked) = found.next_if(|acked: &&PostAck| acked.revision < next) {
                check(evidence, acked, papers.get(&acked.post), doubted, replayed);
            }
        };
    for (revision, acked) in &order.made {
        until_found(&papers, replayed, *revision, &mut found);
        if let Some(reads) = &mut reads {
            reads.until(*revision, &mut replayed.problems);
        }
        let before = papers.get(&acked.post).copied();
        let is_new = matches!(acked.change, PostChange::Post { .. });
        let is_there = before.is_some_and(|paper| !paper.removed);
        if is_new == is_there && !doubted.contains_key(&acked.post) {
            let there = if is_there { "it was there already" } else { "it was not there" };
            replayed.problems.push(format!("{} was acknowledged, and {there}", acked.change.of(acked.post)));
        }
        let paper = papers.entry(acked.post).or_insert_with(PostModel::blank);
        paper.apply(acked.change, *revision);
        let now = *paper;
        check(evidence, acked, Some(&now), doubted, replayed);
        if let (Some(reads), Some(known)) = (&mut reads, evidence.known.get(&acked.post)) {
            reads.change(known, acked.post, before, now);
        }
    }
    until_found(&papers, replayed, u64::MAX, &mut found);
    if let Some(mut reads) = reads {
        reads.until(u64::MAX, &mut replayed.problems);
        replayed.reads = reads.looked_at();
    }
    papers
}

/// Compares a reply with the model.
fn check(
    evidence: &LiveblogEvidence,
    acked: &PostAck,
    paper: Option<&PostModel>,
    doubted: &DoubtfulChanges,
    replayed: &mut ReplayResult,
) {
    let (Some(look), false) = (acked.look, doubted.contains_key(&acked.post)) else { return };
    replayed.replies += 1;
    match paper {
        Some(paper)
            if !paper.removed && paper.look == look && (!evidence.counted || paper.changed == acked.changed) => {}
        Some(paper) if !paper.removed => replayed.problems.push(format!(
            "the reply to {} shows it {look} as of revision {}, and by what was acknowledged it was {} as of {}",
            acked.change.of(acked.post),
            acked.changed,
            paper.look,
            paper.changed
        )),
        _ => replayed.problems.push(format!("{} was acknowledged, and it was not there", acked.change.of(acked.post))),
    }
}

/// Checks that each post reported as missing may have been removed by some call.
fn check_denied(
    evidence: &LiveblogEvidence,
    papers: &PostModels,
    doubted: &DoubtfulChanges,
    problems: &mut Vec<String>,
) {
    for (post, change) in &evidence.denied {
        let may_have_gone = papers.get(post).is_some_and(|paper| paper.removed)
            || doubted.get(post).is_some_and(|doubts| doubts.contains(&PostChange::Remove));
        if !may_have_gone {
            problems.push(format!("{} was refused because it did not exist, but no call removed it", change.of(*post)));
        }
    }
}

/// Compares the model with the final posts.
fn compare(evidence: &LiveblogEvidence, papers: &PostModels, doubted: &DoubtfulChanges, problems: &mut Vec<String>) {
    let held = held_posts(evidence, papers, doubted, problems);
    let mut posts: Vec<_> = papers.iter().collect();
    posts.sort_unstable_by_key(|(post, _)| **post);
    for (post, paper) in posts {
        let doubts = doubted.get(post).map_or(&[][..], Vec::as_slice);
        match (held.get(post), paper.removed) {
            (None, true) => {}
            (Some(_), true) => {
                problems.push(format!("in the end {post} exists, although its removal was acknowledged"))
            }
            (None, false) if doubts.contains(&PostChange::Remove) => {}
            (None, false) => problems.push(format!("in the end {post} is missing, which should be {}", paper.look)),
            (Some(there), false) if !there.look.is_some_and(|look| may_look(paper, look, doubts)) => {
                let seen = there.look.map_or("as no post of the load".to_owned(), |look| look.to_string());
                problems.push(format!("in the end {post} is {seen}, and should be {}", paper.look));
            }
            (Some(_), false) => {}
        }
    }
    check_counts(&evidence.end, problems);
}

/// Returns the final posts of the load. Reports posts that are not of the load, that exist twice,
/// that have another loid, or whose creation no reply acknowledged.
fn held_posts<'e>(
    evidence: &'e LiveblogEvidence,
    papers: &PostModels,
    doubted: &DoubtfulChanges,
    problems: &mut Vec<String>,
) -> HashMap<PostId, &'e HeldPost> {
    let mut held: HashMap<PostId, &HeldPost> = HashMap::new();
    let mut ids = HashSet::new();
    for there in &evidence.end.held {
        if !ids.insert(&there.id) {
            problems.push(format!("in the end the post {} is there twice", there.id));
        }
        let Some(post) = there.post else {
            problems.push(format!("in the end there is a post {} that the load did not create", there.id));
            continue;
        };
        if held.insert(post, there).is_some() {
            problems.push(format!("in the end {post} is there twice"));
        }
        if evidence.known.get(&post).is_some_and(|known| *known.id != *there.id) {
            problems.push(format!("in the end {post} has another loid than its creation returned"));
        }
        if !papers.contains_key(&post) {
            let doubts = doubted.get(&post).map_or(&[][..], Vec::as_slice);
            match doubts.iter().find(|change| matches!(change, PostChange::Post { .. })) {
                None => problems.push(format!("in the end {post} exists, but no reply acknowledged its creation")),
                Some(creation) => {
                    let mut paper = PostModel::blank();
                    paper.apply(*creation, 0);
                    if there.look != Some(paper.look) {
                        problems.push(format!("in the end {post} is not as it was sent, if it was made at all"));
                    }
                }
            }
        }
    }
    held
}

/// Reports whether a post may look so in the end, given the calls in doubt.
fn may_look(paper: &PostModel, look: PostAppearance, doubts: &[PostChange]) -> bool {
    let may_have_step = |doubt: &PostChange| matches!(doubt, PostChange::Edit { step } if Some(*step) == look.step);
    look.attached == paper.look.attached
        && (look.step == paper.look.step || doubts.iter().any(may_have_step))
        && (look.status == paper.look.status || doubts.contains(&PostChange::Set(look.status)))
}

/// Compares the final counts that the server reported with the final posts.
fn check_counts(end: &FinalLiveblog, problems: &mut Vec<String>) {
    let mut counts = [0; 4];
    for look in end.held.iter().filter_map(|there| there.look) {
        counts[look.status as usize] += 1;
    }
    for status in PostState::ALL {
        let (said, there) = (end.counts[status as usize], counts[status as usize]);
        if said != there {
            let (said, there) = (format_count(said, "post is", "posts are"), format_count(there, "is", "are"));
            problems.push(format!("in the end {said} said to be {}, and {there}", status.name()));
        }
    }
    if end.total != end.held.len() as u64 {
        let (said, there) =
            (format_count(end.total, "post is", "posts are"), format_count(end.held.len() as u64, "is", "are"));
        problems.push(format!("in the end {said} said to be there, and {there}"));
    }
}

#[cfg(test)]
mod tests;
