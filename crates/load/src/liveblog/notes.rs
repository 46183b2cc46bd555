//! The notes of a client for the verification.

use super::LiveblogLoad;
use super::book::Asked;
use super::evidence::{Doubt, Evidence, Known, Listed, Polled, PostAck};
use super::model::{Change, Look, PostId};
use super::wire::{self, NEWEST, Posts, print};
use crate::client::{Answer, Trouble};
use crate::figures::counted;
use crate::scenario::Outcome;

/// The greatest number of faults in single replies that a client keeps.
const MOST_ODD: usize = 5;

/// The evidence that one client collects.
#[derive(Default)]
pub struct Notes {
    acked: Vec<PostAck>,
    doubts: Vec<Doubt>,
    denied: Vec<(PostId, Change)>,
    polled: Vec<Polled>,
    listed: Vec<Listed>,
    odd: Vec<String>,
}

/// The interpretation of a reply to a change.
pub(super) struct Noted {
    /// Whether the reply was well-formed.
    pub understood: bool,
    /// The revision that the change made, if any.
    pub revision: Option<u64>,
}

impl Notes {
    /// Adds the notes to the evidence.
    pub(super) fn join(self, evidence: &mut Evidence) {
        evidence.acked.extend(self.acked);
        evidence.doubts.extend(self.doubts);
        evidence.denied.extend(self.denied);
        evidence.polled.extend(self.polled);
        evidence.listed.extend(self.listed);
        evidence.odd.extend(self.odd);
    }

    fn odd(&mut self, words: impl FnOnce() -> String) {
        if self.odd.len() < MOST_ODD {
            self.odd.push(words());
        }
    }

    /// Notes the outcome of a change.
    pub(super) fn changed(
        &mut self,
        load: &LiveblogLoad,
        post: PostId,
        change: Change,
        asked: &Asked,
        answered: &Result<Answer, Trouble>,
        outcome: &Outcome,
    ) -> Noted {
        let nothing = |understood| Noted { understood, revision: None };
        let answer = match answered {
            Ok(answer) if answer.is_success() => answer,
            // Refused before it had any effect, so its outcome is certain.
            Ok(answer) if answer.is_refusal() => {
                if matches!(outcome, Outcome::Refused(_)) && asked.known {
                    self.denied.push((post, change));
                }
                return nothing(true);
            }
            Err(Trouble::Unreachable(_)) => return nothing(true),
            // The outcome is unknown.
            _ => {
                self.doubts.push(Doubt { post, change });
                return nothing(true);
            }
        };
        let acked = if change == Change::Remove { removed(answer, post) } else { shown(load, answer, post, change) };
        let is_new = matches!(change, Change::Post { .. });
        let own = load.book.id(post);
        let Some((acked, known)) = acked else {
            self.doubts.push(Doubt { post, change });
            // Others may have removed the post before the reply was built. The reply does not show
            // then whether anything changed.
            let is_gone = wire::removed(answer).is_some_and(|gone| !is_new && own.as_deref() == Some(&*gone.id));
            return nothing(is_gone);
        };
        if !is_new && own.as_deref() != Some(&*known.id) {
            self.odd(|| format!("the reply to {} speaks of {}", change.of(post), known.id));
        }
        if is_new {
            load.book.learn(post, known);
        }
        self.acked.push(acked);
        Noted { understood: true, revision: (acked.changed == acked.revision).then_some(acked.revision) }
    }

    /// Notes the reply to a poll. Returns whether it was well-formed.
    pub(super) fn polled(&mut self, load: &LiveblogLoad, client: u32, answer: &Answer) -> bool {
        let Some(posts) = wire::posts(answer) else { return false };
        let since = load.book.asked(client).since;
        let Some(revision) = posts.revision.or_else(|| answer.revision()) else { return true };
        load.book.ask(client, |asked| asked.since = revision);
        if answer.may_be_of_several_moments() {
            return true;
        }
        let gone = posts.removed.iter().fold(0, |joined, id| joined ^ print(id, 0, None));
        if posts.total != posts.items.len() as u64 {
            self.odd(|| {
                let counted = counted(posts.total, "post", "posts");
                format!("a poll counts {counted} and shows {}", posts.items.len())
            });
        }
        if let Some(shown) = self.prints(load, &posts) {
            self.polled.push(Polled { since, revision, print: gone ^ shown });
        }
        true
    }

    /// Notes the reply to a listing. Returns whether it was well-formed.
    pub(super) fn listed(&mut self, load: &LiveblogLoad, answer: &Answer) -> bool {
        let Some(posts) = wire::posts(answer) else { return false };
        let Some(revision) = posts.revision.or_else(|| answer.revision()) else { return true };
        let counts = posts.counts();
        let whole =
            posts.total == counts.iter().sum::<u64>() && posts.items.len() as u64 == posts.total.min(NEWEST as u64);
        if let Some(print) = self.prints(load, &posts) {
            self.listed.push(Listed { revision, counts, whole, print });
        }
        true
    }

    /// Returns the joined prints of all shown posts; `None` if one of them is impossible.
    fn prints(&mut self, load: &LiveblogLoad, posts: &Posts<'_>) -> Option<u64> {
        let mut joined = 0;
        for shown in &posts.items {
            let look = shown.post().and_then(|post| load.forms.look(post, shown));
            let Some((look, changed)) = look.zip(shown.changed()) else {
                self.odd(|| format!("a post {} is shown that is none of the load's, or not whole", shown.id()));
                return None;
            };
            joined ^= print(shown.id(), changed, Some(look));
        }
        Some(joined)
    }
}

/// Returns the acknowledgement in the reply to a removal.
fn removed(answer: &Answer, post: PostId) -> Option<(PostAck, Known)> {
    let reply = wire::removed(answer)?;
    let revision = reply.revision.or_else(|| answer.revision()).unwrap_or(0);
    let acked = PostAck { post, change: Change::Remove, revision, changed: revision, look: None };
    Some((acked, Known { id: reply.id.into(), timestamp: 0 }))
}

/// Returns the acknowledgement in the reply to any other change.
fn shown(load: &LiveblogLoad, answer: &Answer, post: PostId, change: Change) -> Option<(PostAck, Known)> {
    let shown = wire::shown(answer)?;
    let revision = shown.revision.or_else(|| answer.revision()).unwrap_or(0);
    // A reply that shows another post, or an impossible one, gets a wrong state, which the
    // comparison finds.
    let look = load.forms.look(post, &shown).filter(|_| shown.post() == Some(post));
    let look = look.or(Some(Look { step: None, status: super::model::Status::Pending, attached: false }));
    let acked = PostAck { post, change, revision, changed: shown.changed().unwrap_or(revision), look };
    Some((acked, Known { id: shown.id().into(), timestamp: shown.timestamp }))
}
