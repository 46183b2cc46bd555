//! The work before and after the load: a trial of the meaning of revisions, and a read of all
//! posts.

use super::LiveblogLoad;
use super::evidence::{FinalLiveblog, HeldPost};
use super::model::{PostChange, PostId, PostState};
use super::plan::LiveblogOperationKind;
use super::wire;
use crate::desk::Desk;
use crate::settle::read_until_settled;

/// The number of posts per page.
const PAGE: usize = 500;
/// The post of the trial, which belongs to no client.
const TRIAL: PostId = PostId { client: u32::MAX, number: 0 };

impl LiveblogLoad {
    /// Checks with one post whether each change raises the liveblog's revision by one and reports
    /// it. Also checks whether the user may make all changes of the mix. Removes the post
    /// afterwards.
    pub(super) async fn try_out(&mut self, desk: &mut Desk) -> Result<(), String> {
        let read =
            desk.call(&self.forms.list(0, 1)).await.map_err(|why| format!("the liveblog can't be read: {why}"))?;
        let mut last = wire::posts(&read.1).and_then(|posts| posts.revision.or_else(|| read.1.revision()));
        if last.is_none() {
            self.uncounted = Some("its replies carry no revision".to_owned());
        }
        let is_in_mix = |kind: LiveblogOperationKind| self.weights[kind as usize] > 0;
        let steps = [
            (PostChange::Post { step: 0, attached: false }, 1, true),
            (PostChange::Edit { step: 1 }, 1, is_in_mix(LiveblogOperationKind::Edit)),
            (PostChange::Set(PostState::Pending), 1, is_in_mix(LiveblogOperationKind::Moderate)),
            (PostChange::Set(PostState::Pending), 0, is_in_mix(LiveblogOperationKind::Moderate)),
            (PostChange::Remove, 1, true),
        ];
        let mut id = String::new();
        for (change, step, _) in steps.into_iter().filter(|(_, _, wanted)| *wanted) {
            let call = self.forms.change(TRIAL, change, &id);
            let (_, answer) = desk
                .call(&call)
                .await
                .map_err(|why| format!("a liveblog can't be used: {} {}: {why}", call.method, call.path))?;
            let (revision, changed) = if change == PostChange::Remove {
                let acked = wire::parse_removal(&answer).and_then(|reply| reply.revision.or_else(|| answer.revision()));
                (acked, acked)
            } else {
                let shown =
                    wire::parse_shown_post(&answer).ok_or("the reply to a post does not have the documented form")?;
                id = shown.id().to_owned();
                if matches!(change, PostChange::Post { .. })
                    && self
                        .forms
                        .look(TRIAL, &shown)
                        .is_none_or(|look| look.status != PostState::Approved || look.step.is_none())
                {
                    return Err("a liveblog can't be used: a new post is not approved (the user may not moderate?), or not as it \
                                was sent"
                        .to_owned());
                }
                (shown.revision.or_else(|| answer.revision()), shown.changed())
            };
            let wanted = last.map(|last| last + step);
            if self.uncounted.is_none() && (revision != wanted || changed != wanted) {
                self.uncounted = Some("its revision does not rise by one with each change".to_owned());
            }
            last = wanted;
        }
        self.before = last.unwrap_or(0);
        Ok(())
    }
}

/// Reads all posts once no call is under way any more.
pub(super) async fn end(load: &LiveblogLoad, desk: &mut Desk, doubts: bool) -> Result<FinalLiveblog, String> {
    let look = async |desk: &mut Desk| read_all_pages(load, desk).await;
    read_until_settled(desk, doubts, "the posts", look, |last: &FinalLiveblog, now: &FinalLiveblog| last == now).await
}

/// Reads all pages at one revision.
async fn read_all_pages(load: &LiveblogLoad, desk: &mut Desk) -> Result<FinalLiveblog, String> {
    let mut end = FinalLiveblog::default();
    loop {
        let (_, answer) = desk.call(&load.forms.list(end.held.len(), PAGE)).await?;
        let posts = wire::posts(&answer).ok_or("the listing does not have the documented form")?;
        let revision = posts.revision.or_else(|| answer.revision()).unwrap_or(0);
        if end.held.is_empty() {
            (end.revision, end.counts, end.total) = (revision, posts.counts(), posts.total);
        } else if end.revision != revision {
            return Err("it changes while it is read".to_owned());
        }
        if posts.items.is_empty() {
            return Ok(end);
        }
        for shown in &posts.items {
            let post = shown.post();
            let look = post.and_then(|post| load.forms.look(post, shown));
            end.held.push(HeldPost { id: shown.id().to_owned(), post, look });
        }
    }
}
