//! A correct server and the evidence of its clients, for tests.

use std::collections::BTreeMap;

use super::evidence::{HeldPost, KnownPost, ListingEvidence, LiveblogEvidence, PollEvidence, PostAck, PostDoubt};
use super::model::{PostChange, PostId, PostModel, PostState};
use super::wire::{NEWEST, print};

/// Returns a post of client 0.
pub const fn post(number: u32) -> PostId {
    PostId { client: 0, number }
}

/// Returns the loid of a post.
pub fn id(post: PostId) -> String {
    format!("1$1.{}.{}", post.client, post.number)
}

/// A sequence of changes on a correct server.
pub struct Story {
    pub evidence: LiveblogEvidence,
    pub papers: BTreeMap<PostId, PostModel>,
    pub revision: u64,
}

impl Story {
    /// Begins at revision 10.
    pub fn new() -> Story {
        let evidence = LiveblogEvidence { before: 10, counted: true, ..LiveblogEvidence::default() };
        Story { evidence, papers: BTreeMap::new(), revision: 10 }
    }

    fn apply(&mut self, post: PostId, change: PostChange) -> PostModel {
        self.revision += 1;
        let paper = self.papers.entry(post).or_insert_with(PostModel::blank);
        paper.apply(change, self.revision);
        *paper
    }

    /// Applies an acknowledged change.
    pub fn does(&mut self, post: PostId, change: PostChange) -> &mut Story {
        let paper = self.apply(post, change);
        let look = (change != PostChange::Remove).then_some(paper.look);
        if let PostChange::Post { .. } = change {
            // Two posts share a timestamp.
            let timestamp = u64::from(post.number / 2);
            self.evidence.known.insert(post, KnownPost { id: id(post).into(), timestamp });
        }
        self.evidence.acked.push(PostAck { post, change, revision: self.revision, changed: self.revision, look });
        self
    }

    /// Acknowledges a state that the post has already.
    pub fn finds(&mut self, post: PostId, status: PostState) -> &mut Story {
        let paper = self.papers[&post];
        let (revision, changed) = (self.revision, paper.changed);
        self.evidence.acked.push(PostAck {
            post,
            change: PostChange::Set(status),
            revision,
            changed,
            look: Some(paper.look),
        });
        self
    }

    /// Notes a change of unknown outcome, applied if `done`.
    pub fn loses(&mut self, post: PostId, change: PostChange, done: bool) -> &mut Story {
        if done {
            self.apply(post, change);
        }
        self.evidence.doubts.push(PostDoubt { post, change });
        self
    }

    fn id_of(&self, post: PostId) -> String {
        self.evidence.known.get(&post).map_or_else(|| id(post), |known| known.id.to_string())
    }

    /// Adds a poll and a listing.
    pub fn reads(&mut self, since: u64) -> &mut Story {
        let all = || self.papers.iter().map(|(post, paper)| (*post, *paper));
        let changed = all().filter(|(_, paper)| paper.changed > since);
        let changed = changed
            .map(|(post, paper)| print(&self.id_of(post), paper.changed, (!paper.removed).then_some(paper.look)));
        let polled =
            PollEvidence { since, revision: self.revision, print: changed.fold(0, |joined, print| joined ^ print) };
        let mut there: Vec<_> = all().filter(|(_, paper)| !paper.removed).collect();
        let counts =
            PostState::ALL.map(|status| there.iter().filter(|(_, paper)| paper.look.status == status).count() as u64);
        there.sort_by_key(|(post, _)| std::cmp::Reverse(post.number));
        let newest = there.iter().take(NEWEST);
        let newest =
            newest.fold(0, |joined, (post, paper)| joined ^ print(&self.id_of(*post), paper.changed, Some(paper.look)));
        self.evidence.polled.push(polled);
        self.evidence.listed.push(ListingEvidence { revision: self.revision, counts, whole: true, print: newest });
        self
    }

    /// Returns the evidence in the end.
    pub fn ends(&self) -> LiveblogEvidence {
        let mut evidence = self.evidence.clone();
        evidence.end.revision = self.revision;
        for (post, paper) in self.papers.iter().filter(|(_, paper)| !paper.removed) {
            evidence.end.held.push(HeldPost { id: self.id_of(*post), post: Some(*post), look: Some(paper.look) });
            evidence.end.counts[paper.look.status as usize] += 1;
        }
        evidence.end.total = evidence.end.held.len() as u64;
        // Replies are in no order.
        evidence.acked.reverse();
        evidence
    }
}
