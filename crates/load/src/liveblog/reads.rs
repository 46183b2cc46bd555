//! The comparison of polls and listings with the model at their revisions.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::evidence::{KnownPost, ListingEvidence, LiveblogEvidence, PollEvidence};
use super::model::{PostId, PostModel};
use super::wire::{NEWEST, print};

/// Prints by revision, which can be joined over any range: a Fenwick tree whose sum is exclusive
/// or.
struct PrintTree(Vec<u64>);

impl PrintTree {
    /// Adds a print at a place, or removes it if it is there.
    fn toggle(&mut self, place: u64, print: u64) {
        let mut place = place + 1;
        while let Some(slot) = usize::try_from(place).ok().and_then(|place| self.0.get_mut(place)) {
            *slot ^= print;
            place += place & place.wrapping_neg();
        }
    }

    /// Returns the joined prints below a place.
    fn below(&self, mut place: u64) -> u64 {
        let mut joined = 0;
        while place > 0 {
            // A place that is too large is never requested: see `ReadComparison::of`.
            joined ^= usize::try_from(place).ok().and_then(|place| self.0.get(place)).copied().unwrap_or(0);
            place &= place - 1;
        }
        joined
    }
}

/// The reads to be compared, with the model at the present revision. Changes must be added in their
/// order.
pub struct ReadComparison {
    before: u64,
    /// The prints by revision of the last change, counted from the first of the load.
    changes: PrintTree,
    /// The existing posts, newest first, with their prints.
    newest: BTreeMap<(Reverse<u64>, PostId), u64>,
    counts: [u64; 4],
    polled: Vec<PollEvidence>,
    listed: Vec<ListingEvidence>,
    looked_at: u64,
}

impl ReadComparison {
    /// Selects the reads before the revision `known_until`.
    pub fn of(evidence: &LiveblogEvidence, known_until: u64) -> ReadComparison {
        let (before, after) = (evidence.before, evidence.end.revision);
        let known = |revision: u64| revision < known_until;
        let mut polled: Vec<_> = evidence.polled.iter().filter(|read| known(read.revision)).copied().collect();
        let mut listed: Vec<_> = evidence.listed.iter().filter(|read| known(read.revision)).copied().collect();
        // Taken from the end.
        polled.sort_by_key(|read| Reverse(read.revision));
        listed.sort_by_key(|read| Reverse(read.revision));
        let revisions = usize::try_from(after.saturating_sub(before)).unwrap_or(0);
        let changes = PrintTree(vec![0; revisions + 2]);
        ReadComparison { before, changes, newest: BTreeMap::new(), counts: [0; 4], polled, listed, looked_at: 0 }
    }

    /// Returns the number of compared reads.
    pub fn looked_at(&self) -> u64 {
        self.looked_at
    }

    /// Notes the change of a post.
    pub fn change(&mut self, known: &KnownPost, post: PostId, before: Option<PostModel>, now: PostModel) {
        let print_of = |paper: &PostModel| print(&known.id, paper.changed, (!paper.removed).then_some(paper.look));
        let place = |paper: &PostModel| paper.changed - self.before - 1;
        let key = (Reverse(known.timestamp), post);
        if let Some(before) = before {
            self.changes.toggle(place(&before), print_of(&before));
            if !before.removed {
                self.newest.remove(&key);
                self.counts[before.look.status as usize] -= 1;
            }
        }
        self.changes.toggle(place(&now), print_of(&now));
        if !now.removed {
            self.newest.insert(key, print_of(&now));
            self.counts[now.look.status as usize] += 1;
        }
    }

    /// Compares all remaining reads before a revision.
    pub fn until(&mut self, revision: u64, problems: &mut Vec<String>) {
        while let Some(read) = self.polled.pop_if(|read| read.revision < revision) {
            self.looked_at += 1;
            let upto = |revision: u64| self.changes.below(revision.saturating_sub(self.before));
            if upto(read.revision) ^ upto(read.since) != read.print {
                problems.push(format!(
                    "the changes reported after revision {} up to {} are not those that were made",
                    read.since, read.revision
                ));
            }
        }
        while let Some(read) = self.listed.pop_if(|read| read.revision < revision) {
            self.looked_at += 1;
            if !read.whole || read.counts != self.counts {
                problems.push(format!(
                    "a listing at revision {} counts {:?} posts by state, and there were {:?}",
                    read.revision, read.counts, self.counts
                ));
                continue;
            }
            let mut shown = self.newest.iter().take(NEWEST + 1);
            let newest: Vec<_> = shown.by_ref().take(NEWEST).collect();
            let cut = newest.last().zip(shown.next());
            // Only the server knows which of two posts with the same time is newer.
            let certain = cut.is_none_or(|(((last, _), _), ((next, _), _))| last != next);
            if certain && newest.iter().fold(0, |joined, (_, print)| joined ^ **print) != read.print {
                problems.push(format!("a listing at revision {} does not show the newest posts", read.revision));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_of_prints_are_joined_as_one_by_one() {
        let mut prints = PrintTree(vec![0; 102]);
        let mut plain = [0u64; 100];
        for step in 0..1000u64 {
            let (place, print) = (step * 37 % 100, step.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            prints.toggle(place, print);
            plain[place as usize] ^= print;
        }
        for end in 0..=100 {
            let joined = plain[..end].iter().fold(0, |joined, print| joined ^ print);
            assert_eq!(prints.below(end as u64), joined, "{end}");
        }
    }
}
