//! Replies about liveblogs and posts.

use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;
use stet_actors::runtime::ResultingObject;
use stet_base::json::{ChangeAnswer, JoinedMembers, ReadyJson};
use stet_base::limits::offload::{self, LARGE_TEXT};
use stet_content::text::decode_text;
use stet_content::words;
use stet_domain::error::{Code, Result};
use stet_domain::family::State;
use stet_domain::id::Loid;
use stet_domain::liveblog::{Liveblog, Post, PostAddress, PostBody, PostFields, PostStatus};
use stet_domain::object::{Attributes, Content, ContentLocation, NewContent};
use stet_endpoint::kept::{KeptParts, ShownPart};
use stet_endpoint::records::RemovedObject;
use stet_endpoint::records::{info_of, path_if_shown};
use stet_endpoint::settled::{OpenContainer, UnsettledReply, build_settled};
use stet_newsroom::records::Display;
use stet_newsroom::records::{Groups, ObjectRecord, is_large, render};
use stet_newsroom::titles::read_liveblog_title;
use stet_web::app::App;
use stet_web::call::Call;
use stet_web::etag::ETag;
use stet_web::listing::{EntryStep, Listing};
use stet_web::prefer::PreferredReply;
use stet_web::reply::{EnvelopedReply, Json};

use super::piece::{are_of, small_bytes_of};
use super::types::{
    ChangedLiveblog, ChangedPostReply, LiveblogInfo, LiveblogReply, Post as WirePost, PostAttachmentView,
    PostChangeView, PostCounts, RemovedLiveblog, StatusChangeView,
};
use super::{OpenLiveblog, of_post};

/// The cache of posts as JSON.
pub type KeptPosts = KeptParts<Loid, WirePost>;

/// The data of a post that is shown, but stored in rows of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PostDetails {
    /// Attribute texts of the post.
    pub attributes: Attributes,
    /// Bytes of the content, if it is text and stored in the tables.
    pub bytes: Option<Bytes>,
}

impl PostDetails {
    /// Reads the data from the rows.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn of(app: &App, post: &Post) -> Result<PostDetails> {
        let attributes = app.repository.attributes(post.loid())?;
        let bytes = match &post.record.content {
            Some(content) if is_included(content) => small_bytes_of(app, post)?,
            _ => None,
        };
        Ok(PostDetails { attributes, bytes })
    }

    /// Returns the data of a new post from what was sent, provided that nothing has changed the
    /// post since.
    pub fn sent(post: Loid, fields: &PostFields, body: &PostBody) -> PostDetails {
        let PostFields { attributes, system_attributes, .. } = fields;
        let NewContent { content, small, .. } = &body.content;
        PostDetails {
            attributes: Attributes {
                attributes: attributes.clone(),
                system_attributes: system_attributes.clone(),
                ..Attributes::none(post)
            },
            bytes: small.clone().filter(|_| words::is_text(&content.content_type)),
        }
    }
}

/// Returns a post as it is shown. `known` is its data from other rows, if it need not be read.
///
/// # Errors
/// [`UnsettledReply::Changed`]; errors of the store.
pub(super) async fn post_shown(
    app: &App,
    post: &Post,
    display: &Display,
    known: Option<PostDetails>,
) -> Result<ReadyJson<WirePost>, UnsettledReply> {
    let part = ShownPart {
        container: post.liveblog,
        part: post.loid(),
        revision: post.record.revision,
        display: display.clone(),
        path: path_if_shown(app, &post.record, display)?,
        configuration: app.sysconfig.changes(),
    };
    let make = async |part: &ShownPart<Loid>| {
        let PostDetails { attributes, bytes } = match known {
            Some(known) => known,
            None => of_post(&app.repository, post, || PostDetails::of(app, post))?,
        };
        let path = part.path.clone();
        let groups = Groups::of(&attributes, display).await?;
        let size = if is_large(&attributes) { LARGE_TEXT } else { 0 };
        let shown = rendered(app, post, groups, display, path, bytes)?;
        Ok(offload::offload_if_large(size, move || ReadyJson::of(&shown)).await??)
    };
    app.kept::<KeptPosts>().json(part, make).await
}

fn rendered(
    app: &App,
    post: &Post,
    groups: Groups,
    display: &Display,
    path: Option<String>,
    bytes: Option<Bytes>,
) -> Result<WirePost> {
    let content = post.record.content.as_ref().zip(bytes.as_ref());
    let content = content.map(|(content, bytes)| decode_text(&content.content_type, bytes).into_owned());
    Ok(WirePost {
        info: ObjectRecord { path, ..render(app, &post.record, groups, display)? },
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
            .map(|attachment| PostAttachmentView {
                id: attachment.id.to_string(),
                name: attachment.name.to_string(),
                content_type: attachment.content.content_type.to_string(),
                size: attachment.content.size,
            })
            .collect(),
        history: post
            .history
            .iter()
            .map(|change| StatusChangeView {
                from: change.from.map(|from| from.name().to_owned()),
                to: change.to.name().to_owned(),
                user: change.user.to_string(),
                at: change.at_ms,
            })
            .collect(),
    })
}

/// Reports whether a post's content is shown with it: it is text and stored in the tables.
fn is_included(content: &Content) -> bool {
    content.stored == ContentLocation::Row && words::is_text(&content.content_type)
}

/// The posts of a reply about a liveblog.
pub(super) struct PostList<'v> {
    /// The posts shown.
    pub posts: Vec<&'v Arc<Post>>,
    /// The total number of posts.
    pub total: usize,
    /// The removed posts, for a search with `since`.
    pub removed: Option<Vec<String>>,
}

/// Builds a reply about a liveblog and posts of it; `reply` completes it.
///
/// # Errors
/// [`UnsettledReply::Changed`]; errors of the store.
pub(super) async fn liveblog_reply<T: Serialize>(
    call: &Call,
    open: &OpenLiveblog,
    list: &PostList<'_>,
    display: &Display,
    reply: impl FnOnce(LiveblogReply) -> T,
) -> Result<Listing<T>, UnsettledReply> {
    let info = info(&call.app, open, display).await?;
    let posts: Vec<Loid> = list.posts.iter().map(|post| post.loid()).collect();
    let (total, revision) = (list.total, open.view.revision());
    let mut posts_of = PostsOfReply { open: Some(open.clone()), liveblog: open.loid(), display: display.clone() };
    let render = async move |call: &Call, post: &Loid, step: EntryStep| posts_of.post(call, *post, step.late).await;
    Listing::each(call, posts, render, |items, _| reply(LiveblogReply { info, items, total, revision })).await
}

/// A liveblog while its posts are rendered.
struct PostsOfReply {
    /// The liveblog as the reply shows it. `None` once the reply is being sent, which may take
    /// minutes: then each post is shown in its state when it is rendered.
    open: Option<OpenLiveblog>,
    liveblog: Loid,
    display: Display,
}

impl PostsOfReply {
    /// Renders a post; `None` for one that was removed since, or that the caller no longer sees.
    async fn post(
        &mut self,
        call: &Call,
        post: Loid,
        late: bool,
    ) -> Result<Option<ReadyJson<WirePost>>, UnsettledReply> {
        let address = PostAddress::Loid(post);
        if let Some(open) = self.open.as_ref().filter(|_| !late) {
            let post = open.view.state.get(&address)?;
            return post_shown(&call.app, post, &self.display, None).await.map(Some);
        }
        self.open = None;
        let shown = async {
            let view = call.view_of::<Liveblog>(self.liveblog).await?;
            build_settled(call, OpenLiveblog::of(call, view)?, async |open| {
                post_shown(&call.app, open.seen(&address)?, &self.display, None).await
            })
            .await
        };
        match shown.await {
            Ok(shown) => Ok(Some(shown)),
            Err(error) if error.code == Code::ObjectNotFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

async fn info(app: &App, open: &OpenLiveblog, display: &Display) -> Result<LiveblogInfo> {
    let state = &open.view.state;
    let counts = state.seen_counts(&open.sight);
    let count = |status: PostStatus| counts[status as usize];
    Ok(LiveblogInfo {
        record: info_of(app, state, display).await?,
        title: read_liveblog_title(app, state.object()).await?,
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

/// Builds the reply to a change of a liveblog: its state after the change, without posts. Another
/// call may have destroyed it since, or moved it out of the caller's sight.
pub(super) async fn changed_reply(
    call: &Call,
    liveblog: Loid,
    left: Option<&ResultingObject>,
    display: &Display,
) -> Result<PreferredReply<ChangedLiveblog>> {
    let Some(view) = call.view_after::<Liveblog>(liveblog, left).await? else {
        let info = RemovedObject { id: liveblog.to_string() };
        return Json::of(&ChangeAnswer::Gone(RemovedLiveblog { info, items: [] })).map(PreferredReply::from);
    };
    let open = OpenLiveblog::of(call, view)?;
    if let Some(minimal) = call.minimal(liveblog, open.tag())? {
        return Ok(minimal);
    }
    let shown = build_settled(call, open, async |open| {
        let total = open.view.state.seen_counts(&open.sight).iter().sum();
        let (info, revision) = (info(&call.app, open, display).await?, open.view.revision());
        let reply = LiveblogReply { info, items: Vec::new().into(), total, revision };
        Ok(Json::of(&reply)?.with_etag(ETag::new(open.tag(), "change")))
    })
    .await?;
    Ok(shown.shown().into())
}

/// Builds the reply about one post, with `more` in it; `known` is as for [`post_shown`].
///
/// # Errors
/// [`UnsettledReply::Changed`]; errors of the store.
pub(super) async fn post_reply<M: Serialize>(
    app: &App,
    open: &OpenLiveblog,
    post: &Post,
    what: &str,
    more: &M,
    known: Option<PostDetails>,
) -> Result<Json<JoinedMembers<WirePost, M>>, UnsettledReply> {
    let shown = post_shown(app, post, &Display::with_defaults(false), known).await?;
    Ok(Json::from(EnvelopedReply::with(&shown, more)?).with_etag(tag_of(open, post, what)))
}

/// Builds the reply with a post as a change has left it, although others have changed it since. It
/// is for the caller who made the change, and so sees the whole post. `None` if its bytes were
/// replaced in place. The attributes are the present ones.
pub(super) async fn post_as_left(
    app: &App,
    open: &OpenLiveblog,
    post: &Post,
    more: PostChangeView,
) -> Result<Option<Json<ChangedPostReply>>> {
    let PostDetails { attributes, bytes } = PostDetails::of(app, post)?;
    let is_left = match (&bytes, &post.record.content) {
        (Some(bytes), Some(content)) => are_of(content, bytes),
        // The bytes were removed, or are not shown.
        (None, Some(content)) => !is_included(content),
        (_, None) => true,
    };
    if !is_left {
        return Ok(None);
    }
    let display = Display::with_defaults(false);
    let groups = Groups::of(&attributes, &display).await?;
    let base = rendered(app, post, groups, &display, None, bytes)?;
    Ok(Some(Json::of(&JoinedMembers { base, more })?.with_etag(tag_of(open, post, "change"))))
}

fn tag_of(open: &OpenLiveblog, post: &Post, what: &str) -> ETag {
    ETag::new(open.tag(), (what, post.loid(), post.record.revision))
}
