//! Replies about liveblogs and posts.

use std::sync::Arc;

use bytes::Bytes;
use stet_actors::error::{Error, Result};
use stet_actors::id::Loid;
use stet_actors::liveblog::{Post, PostStatus};
use stet_actors::object::{SmallBody, Stored};
use stet_actors::store::View;

use super::piece::are_of;
use super::types::{
    Attachment, LiveblogInfo, LiveblogReply, Post as WirePost, PostCounts, PostReply, Revision, StatusChange,
};
use super::{Open, of_post};
use crate::api::kept::{KeptParts, ShownPart};
use crate::api::records::{info_of, path_if_shown};
use crate::api::settled::{Unsettled, settled};
use crate::content::text::decoded;
use crate::content::words;
use crate::http::app::App;
use crate::http::call::Call;
use crate::http::etag::ETag;
use crate::http::reply::{Enveloped, Json};
use crate::json::{Ready, With};
use crate::records::Display;
use crate::records::{ObjectRecord, render};

/// Posts that are rendered before others get their turn.
const AT_A_TIME: usize = 64;

/// Posts as JSON.
pub(crate) type KeptPosts = KeptParts<Loid, WirePost>;

/// A post.
///
/// # Errors
/// [`Unsettled::Changed`]; what the store says.
pub(super) fn post_shown(app: &App, post: &Post, display: &Display) -> Result<Ready<WirePost>, Unsettled> {
    let part = ShownPart {
        container: post.liveblog,
        part: post.loid(),
        revision: post.record.revision,
        display: display.clone(),
        path: path_if_shown(app, &post.record, display)?,
    };
    app.kept::<KeptPosts>().json(part, |part| {
        let read = || rendered(app, post, display, part.path.clone(), content_of(app, post)?);
        Ok(Ready::of(&of_post(&app.repository, post, read)?)?)
    })
}

fn rendered(app: &App, post: &Post, display: &Display, path: Option<String>, bytes: Option<Bytes>) -> Result<WirePost> {
    let attributes = app.repository.attributes(post.loid())?;
    let content = post.record.content.as_ref().zip(bytes.as_ref());
    let content = content.map(|(content, bytes)| decoded(&content.content_type, bytes).into_owned());
    Ok(WirePost {
        info: ObjectRecord { path, ..render(app, &post.record, &attributes, display)? },
        status: post.status.name().to_owned(),
        title: post.title.to_string(),
        summary: post.summary.to_string(),
        description: post.description.to_string(),
        r#type: post.kind.to_string(),
        timestamp: post.timestamp,
        author: post.author().to_string(),
        moderated: post.moderated,
        pinned: post.pinned,
        tags: post.tags.iter().map(ToString::to_string).collect(),
        content,
        attachments: post
            .attachments
            .iter()
            .map(|attachment| Attachment {
                id: attachment.id.to_string(),
                name: attachment.name.to_string(),
                content_type: attachment.content.content_type.to_string(),
                size: attachment.content.size,
            })
            .collect(),
        history: post
            .history
            .iter()
            .map(|change| StatusChange {
                from: change.from.map(|from| from.name().to_owned()),
                to: change.to.name().to_owned(),
                user: change.user.to_string(),
                at: change.at_ms,
            })
            .collect(),
    })
}

/// The bytes of the content, if it is text and lies in the tables.
fn content_of(app: &App, post: &Post) -> Result<Option<Bytes>> {
    let Some(content) = &post.record.content else { return Ok(None) };
    if content.stored != Stored::Row || !words::is_text(&content.content_type) {
        return Ok(None);
    }
    let key = SmallBody::key(post.loid().at_version(post.record.version));
    app.repository.look().get(View::Committed, key.table, &key.key).map_err(|error| {
        tracing::error!(post = %post.loid(), %error, "the bytes of a post can't be read");
        Error::internal()
    })
}

/// The posts of a reply about a liveblog.
pub(super) struct PostList<'v> {
    /// The posts shown.
    pub posts: Vec<&'v Arc<Post>>,
    /// How many there are.
    pub total: usize,
    /// The removed posts, for a search with `since`.
    pub removed: Option<Vec<String>>,
}

/// A liveblog and posts of it.
///
/// # Errors
/// [`Unsettled::Changed`]; what the store says.
pub(super) async fn liveblog_reply(
    app: &App,
    open: &Open,
    list: &PostList<'_>,
    display: &Display,
) -> Result<LiveblogReply, Unsettled> {
    let mut items = Vec::with_capacity(list.posts.len());
    for (index, post) in list.posts.iter().enumerate() {
        if index % AT_A_TIME == AT_A_TIME - 1 {
            tokio::task::yield_now().await;
        }
        items.push(post_shown(app, post, display)?);
    }
    Ok(LiveblogReply { info: info(app, open, display)?, items, total: list.total, revision: open.view.revision() })
}

/// How long the posts of a reply are.
pub(super) fn bytes_of(reply: &LiveblogReply) -> usize {
    reply.items.iter().map(|post| post.text().len() + 1).sum::<usize>()
}

fn info(app: &App, open: &Open, display: &Display) -> Result<LiveblogInfo> {
    let state = &open.view.state;
    let counts = state.seen_counts(&open.sight);
    let count = |status: PostStatus| counts[status as usize];
    Ok(LiveblogInfo {
        record: info_of(app, state, display)?,
        post_counts: PostCounts {
            pending: count(PostStatus::Pending),
            approved: count(PostStatus::Approved),
            rejected: count(PostStatus::Rejected),
            deleted: count(PostStatus::Deleted),
        },
        moderated: state.head().moderated,
        last_post_timestamp: state.last_timestamp(),
    })
}

/// The reply to a change of a liveblog: as it is now, and none of its posts.
pub(super) async fn changed_reply(call: &Call, open: Open, display: &Display) -> Result<Json<LiveblogReply>> {
    settled(call, open, async |open| {
        let total = open.view.state.seen_counts(&open.sight).iter().sum();
        let list = PostList { posts: Vec::new(), total, removed: None };
        let reply = liveblog_reply(&call.app, open, &list, display).await?;
        Ok(Json::of(&reply)?.with_etag(ETag::new(open.tag(), "change")))
    })
    .await
}

/// A post alone.
///
/// # Errors
/// [`Unsettled::Changed`]; what the store says.
pub(super) fn post_reply(app: &App, open: &Open, post: &Post, what: &str) -> Result<Json<PostReply>, Unsettled> {
    let shown = post_shown(app, post, &Display::with_defaults(false))?;
    let revision = Revision { revision: open.view.revision() };
    Ok(Json::from(Enveloped::with(&shown, &revision)?).with_etag(tag_of(open, post, what)))
}

/// The post as a change has left it, for who made the change and so sees all of the post: although others have changed it since.
/// `None` if its bytes were replaced in place. Attributes are those of now.
pub(super) fn post_as_left(app: &App, open: &Open, post: &Post) -> Result<Option<Json<PostReply>>> {
    let bytes = content_of(app, post)?;
    let is_left = match (&bytes, &post.record.content) {
        (Some(bytes), Some(content)) => are_of(content, bytes),
        // Gone, or nothing that is shown.
        (None, Some(content)) => content.stored != Stored::Row || !words::is_text(&content.content_type),
        (_, None) => true,
    };
    if !is_left {
        return Ok(None);
    }
    let base = rendered(app, post, &Display::with_defaults(false), None, bytes)?;
    let more = Revision { revision: open.view.revision() };
    Ok(Some(Json::of(&With { base, more })?.with_etag(tag_of(open, post, "change"))))
}

fn tag_of(open: &Open, post: &Post, what: &str) -> ETag {
    ETag::new(open.tag(), (what, post.loid(), post.record.revision))
}
