//! The notes of a client for the verification.

use super::LiveblogLoad;
use super::book::LastRequest;
use super::evidence::{KnownPost, ListingEvidence, LiveblogEvidence, PollEvidence, PostAck, PostDoubt};
use super::model::{PostAppearance, PostChange, PostId};
use super::wire::{self, NEWEST, PostsReply, print};
use crate::client::{CallAnswer, CallTrouble};
use crate::figures::format_count;
use crate::scenario::OperationOutcome;

/// The greatest number of faults in single replies that a client keeps.
const MOST_ODD: usize = 5;

/// The evidence that one client collects.
#[derive(Default)]
pub struct LiveblogNotes {
    acked: Vec<PostAck>,
    doubts: Vec<PostDoubt>,
    denied: Vec<(PostId, PostChange)>,
    polled: Vec<PollEvidence>,
    listed: Vec<ListingEvidence>,
    odd: Vec<String>,
}

/// The interpretation of a reply to a change.
pub(super) struct ReplyNote {
    /// `true` if the reply was well-formed.
    pub understood: bool,
    /// The revision that the change made, if any.
    pub revision: Option<u64>,
}

impl LiveblogNotes {
    /// Adds the notes to the evidence.
    pub(super) fn join(self, evidence: &mut LiveblogEvidence) {
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
        change: PostChange,
        asked: &LastRequest,
        answered: &Result<CallAnswer, CallTrouble>,
        outcome: &OperationOutcome,
    ) -> ReplyNote {
        let nothing = |understood| ReplyNote { understood, revision: None };
        let answer = match answered {
            Ok(answer) if answer.is_success() => answer,
            // Refused before it had any effect, so its outcome is certain.
            Ok(answer) if answer.is_refusal() => {
                if matches!(outcome, OperationOutcome::Refused(_)) && asked.known {
                    self.denied.push((post, change));
                }
                return nothing(true);
            }
            Err(CallTrouble::Unreachable(_)) => return nothing(true),
            // The outcome is unknown.
            _ => {
                self.doubts.push(PostDoubt { post, change });
                return nothing(true);
            }
        };
        let acked = if change == PostChange::Remove {
            removal_ack(answer, post)
        } else {
            change_ack(load, answer, post, change)
        };
        let is_new = matches!(change, PostChange::Post { .. });
        let own = load.book.id(post);
        let Some((acked, known)) = acked else {
            self.doubts.push(PostDoubt { post, change });
            // Others may have removed the post before the reply was built. The reply does not show
            // then whether anything changed.
            let is_gone = wire::parse_removal(answer).is_some_and(|gone| !is_new && own.as_deref() == Some(&*gone.id));
            return nothing(is_gone);
        };
        if !is_new && own.as_deref() != Some(&*known.id) {
            self.odd(|| format!("the reply to {} is about {}", change.of(post), known.id));
        }
        if is_new {
            load.book.learn(post, known);
        }
        self.acked.push(acked);
        ReplyNote { understood: true, revision: (acked.changed == acked.revision).then_some(acked.revision) }
    }

    /// Notes the reply to a poll. Returns whether it was well-formed.
    pub(super) fn polled(&mut self, load: &LiveblogLoad, client: u32, answer: &CallAnswer) -> bool {
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
                let counted = format_count(posts.total, "post", "posts");
                format!("a poll counts {counted} and shows {}", posts.items.len())
            });
        }
        if let Some(shown) = self.prints(load, &posts) {
            self.polled.push(PollEvidence { since, revision, print: gone ^ shown });
        }
        true
    }

    /// Notes the reply to a listing. Returns whether it was well-formed.
    pub(super) fn listed(&mut self, load: &LiveblogLoad, answer: &CallAnswer) -> bool {
        let Some(posts) = wire::posts(answer) else { return false };
        let Some(revision) = posts.revision.or_else(|| answer.revision()) else { return true };
        let counts = posts.counts();
        let whole =
            posts.total == counts.iter().sum::<u64>() && posts.items.len() as u64 == posts.total.min(NEWEST as u64);
        if let Some(print) = self.prints(load, &posts) {
            self.listed.push(ListingEvidence { revision, counts, whole, print });
        }
        true
    }

    /// Returns the joined prints of all shown posts; `None` if one of them is impossible.
    fn prints(&mut self, load: &LiveblogLoad, posts: &PostsReply<'_>) -> Option<u64> {
        let mut joined = 0;
        for shown in &posts.items {
            let look = shown.post().and_then(|post| load.forms.look(post, shown));
            let Some((look, changed)) = look.zip(shown.changed()) else {
                self.odd(|| {
                    format!(
                        "a read shows the post {}, which the load did not create, or which is incomplete",
                        shown.id()
                    )
                });
                return None;
            };
            joined ^= print(shown.id(), changed, Some(look));
        }
        Some(joined)
    }
}

/// Returns the acknowledgement in the reply to a removal.
fn removal_ack(answer: &CallAnswer, post: PostId) -> Option<(PostAck, KnownPost)> {
    let reply = wire::parse_removal(answer)?;
    let revision = reply.revision.or_else(|| answer.revision()).unwrap_or(0);
    let acked = PostAck { post, change: PostChange::Remove, revision, changed: revision, look: None };
    Some((acked, KnownPost { id: reply.id.into(), timestamp: 0 }))
}

/// Returns the acknowledgement in the reply to any other change.
fn change_ack(
    load: &LiveblogLoad,
    answer: &CallAnswer,
    post: PostId,
    change: PostChange,
) -> Option<(PostAck, KnownPost)> {
    let shown = wire::parse_shown_post(answer)?;
    let revision = shown.revision.or_else(|| answer.revision()).unwrap_or(0);
    // A reply that shows another post, or an impossible one, gets a wrong state, which the
    // comparison finds.
    let look = load.forms.look(post, &shown).filter(|_| shown.post() == Some(post));
    let look = look.or(Some(PostAppearance { step: None, status: super::model::PostState::Pending, attached: false }));
    let acked = PostAck { post, change, revision, changed: shown.changed().unwrap_or(revision), look };
    Some((acked, KnownPost { id: shown.id().into(), timestamp: shown.timestamp }))
}
