//! Posts (docs/api/posts.md). The commands check all that depends on the state of the post.

pub mod routes;

use stet_base::json::ChangeAnswer;
use stet_content::words;
use stet_domain::command::Command;
use stet_domain::error::{Code, Error, Result};
use stet_domain::expect::RevisionTag;
use stet_domain::family::State;
use stet_domain::liveblog::{
    AddPost, Liveblog, Post, PostAddress, PostBody, PostFields, PostResult, PostStatus, RemovePost, SetPostStatus,
    UpdatePost,
};
use stet_domain::object::SharedText;
use stet_domain::part::NewAttachment;
use stet_endpoint::form::{self, FilePart, FileRule, FormSubmission, MultipartForm};
use stet_endpoint::requests::CreateOptions;
use stet_endpoint::settled::{UnsettledReply, build_settled};
use stet_newsroom::attribute_input::{attribute_text, rooted_text};
use stet_web::app::App;
use stet_web::arriving::IncomingCall;
use stet_web::call::Call;
use stet_web::etag::ETag;
use stet_web::prefer::PreferredReply;
use stet_web::reply::Json;

use super::reply::{PostDetails, post_as_left, post_reply};
use super::types::{
    AttachmentRef, ChangedPost, LiveblogRevision, PostChangeEffect, PostChangeView, PostOptions, PostReply, RemovedPost,
};
use super::{OpenLiveblog, address, open};

/// The files of a post's form.
const FILES: &[FileRule] = &[
    FileRule { name: "content", many: false, head: words::LOOKED_AT, keeps_generic_type: false },
    FileRule { name: "attachments", many: true, head: 0, keeps_generic_type: false },
];

/// `POST /v3/container/liveblog/{source}/post`: a multipart form of `options`, `content` and any
/// number of `attachments`.
pub async fn create_post(arriving: IncomingCall) -> Result<PreferredReply<ChangedPost>> {
    let (call, mut form): (_, MultipartForm<PostOptions>) =
        match form::read(arriving, form::permit_any_caller, FILES).await? {
            FormSubmission::New(call, form) => (call, form),
            FormSubmission::Answered(reply) => return Ok(reply.into()),
        };
    let open = open(&call).await?;
    let body = form.take("content").map(body_of).ok_or_else(|| {
        Error::new(Code::InvalidBody, "The form has no part `content`: a post needs one.")
            .with_detail("part", "content")
    })?;
    let mut options = form.options;
    let fields = fields_of(&call.app, &mut options).await?;
    let sent = (fields.clone(), body.clone());
    let command = AddPost {
        fields,
        moderated: options.moderated.unwrap_or(false),
        body,
        attachments: attachments_of(form.files),
        mode: CreateOptions::mode(options.options.as_ref(), options.create_mode),
        reach: open.reach,
        sight: open.sight.clone(),
    };
    execute(&call, open, command, Some(sent)).await
}

/// `PUT /v3/container/liveblog/{source}/post/{post}`: the same form. Parts that are missing stay as
/// they are.
pub async fn update_post(arriving: IncomingCall) -> Result<PreferredReply<ChangedPost>> {
    let (call, mut form): (_, MultipartForm<PostOptions>) =
        match form::read(arriving, form::permit_any_caller, FILES).await? {
            FormSubmission::New(call, form) => (call, form),
            FormSubmission::Answered(reply) => return Ok(reply.into()),
        };
    let open = open(&call).await?;
    let post = seen_post(&call, &open)?;
    let body = form.take("content").map(body_of);
    let mut options = form.options;
    let fields = fields_of(&call.app, &mut options).await?;
    let removed = options.remove_attachments.as_deref().unwrap_or_default().iter().map(|id| match id {
        AttachmentRef::Number(id) => Ok(*id),
        AttachmentRef::Text(text) => {
            text.parse().map_err(|_| Error::parameter("removeAttachments", text, "a list of ids of attachments"))
        }
    });
    let command = UpdatePost {
        post,
        fields,
        body,
        attachments: attachments_of(form.files),
        remove_attachments: removed.collect::<Result<_>>()?,
        reach: open.reach,
    };
    execute(&call, open, command, None).await
}

/// `GET /v3/container/liveblog/{source}/post/{post}`
pub async fn get_post(call: Call) -> Result<Json<PostReply>> {
    let open = open(&call).await?;
    let address = address(&call, open.loid(), call.param("post"))?;
    build_settled(&call, open, async |open| {
        let revision = LiveblogRevision { revision: open.view.revision() };
        post_reply(&call.app, open, open.seen(&address)?, "post", &revision, None).await
    })
    .await
}

/// `POST /v3/container/liveblog/{source}/post/{post}/approve`
pub async fn approve(call: Call) -> Result<PreferredReply<ChangedPost>> {
    set_status(&call, PostStatus::Approved).await
}

/// `POST /v3/container/liveblog/{source}/post/{post}/reject`
pub async fn reject(call: Call) -> Result<PreferredReply<ChangedPost>> {
    set_status(&call, PostStatus::Rejected).await
}

/// `POST /v3/container/liveblog/{source}/post/{post}/pending`
pub async fn set_pending(call: Call) -> Result<PreferredReply<ChangedPost>> {
    set_status(&call, PostStatus::Pending).await
}

/// `POST /v3/container/liveblog/{source}/post/{post}/delete`: the post stays in the liveblog.
pub async fn mark_deleted(call: Call) -> Result<PreferredReply<ChangedPost>> {
    set_status(&call, PostStatus::Deleted).await
}

async fn set_status(call: &Call, to: PostStatus) -> Result<PreferredReply<ChangedPost>> {
    let open = open(call).await?;
    let command = SetPostStatus { post: seen_post(call, &open)?, to, reach: open.reach };
    execute(call, open, command, None).await
}

/// `DELETE /v3/container/liveblog/{source}/post/{post}`: deletes the post permanently, whatever its
/// status.
pub async fn remove_post(call: Call) -> Result<Json<RemovedPost>> {
    let open = open(&call).await?;
    let command = RemovePost { post: seen_post(&call, &open)?, reach: open.reach };
    let done = call.change(&open.liveblog, command).await?;
    let reply = RemovedPost { id: done.reply.post.to_string(), revision: done.view.revision() };
    Ok(Json::of(&reply)?.with_etag(ETag::new(RevisionTag::of(&done.view.state.object().record), "change")))
}

/// Returns the post in the call's path, which is to be changed, if the caller sees it.
fn seen_post(call: &Call, open: &OpenLiveblog) -> Result<PostAddress> {
    let address = address(call, open.loid(), call.param("post"))?;
    Ok(PostAddress::Loid(open.to_change(&address)?))
}

/// Changes a post, and replies with the post as it is directly afterwards. `sent` is the content of
/// a new post.
async fn execute<C: Command<Family = Liveblog, Reply = PostResult>>(
    call: &Call,
    open: OpenLiveblog,
    command: C,
    sent: Option<(PostFields, PostBody)>,
) -> Result<PreferredReply<ChangedPost>> {
    let app = &call.app;
    let done = call.change(&open.liveblog, command).await?;
    let open = open.after(done.view);
    let (post, revision) = (PostAddress::Loid(done.reply.post), open.view.revision());
    // Authors are shown the post that they added even if they do not see it. On a retry it is not
    // shown once others have changed it.
    let user = call.user()?;
    let is_shown = |open: &OpenLiveblog, post: &Post| {
        open.view.state.sees(&open.sight, post) || (post.author() == user && post.record.last_modifier == *user)
    };
    let there = open.view.state.get(&post).ok();
    if there.is_some_and(|post| !is_shown(&open, post)) {
        return gone(&done.reply, revision);
    }
    if there.is_some()
        && let Some(minimal) = call.minimal(done.reply.post, open.tag())?
    {
        return Ok(minimal);
    }
    if let Some(left) = there {
        // On a retry, others may have changed it since.
        let is_as_made = done.reply.is_new && done.reply.revision == left.record.revision;
        let known = sent.filter(|_| is_as_made).map(|(fields, body)| PostDetails::sent(left.loid(), &fields, &body));
        let more = effect_on(&done.reply, &open, left);
        let reply = match post_reply(app, &open, left, "change", &more, known).await {
            Ok(reply) => Some(reply),
            Err(UnsettledReply::Failed(error)) => return Err(error),
            // Others have changed it since. The reply nevertheless describes the caller's own
            // change.
            Err(UnsettledReply::Changed) => post_as_left(app, &open, left, more).await?,
        };
        if let Some(reply) = reply {
            return Ok(reply.shown().into());
        }
    }
    let shown = build_settled(call, open, async |open| {
        let found = open.view.state.get(&post)?;
        if !is_shown(open, found) {
            return Err(open.view.state.not_held(&post).into());
        }
        post_reply(app, open, found, "change", &effect_on(&done.reply, open, found), None).await
    });
    match shown.await {
        // The change was made, now or in an earlier attempt. Others have removed the post since, or
        // change it continually.
        Err(error) if matches!(error.code, Code::ObjectNotFound | Code::Overloaded) => gone(&done.reply, revision),
        shown => shown.map(|shown| shown.shown().into()),
    }
}

/// Returns what the reply about a change of this post has in addition.
fn effect_on(done: &PostResult, open: &OpenLiveblog, post: &Post) -> PostChangeView {
    let effect = PostChangeEffect::of(done.former_status, Some(post.status));
    PostChangeView { revision: open.view.revision(), effect }
}

/// Builds the reply to a change of a post that no longer exists, or that the caller no longer sees.
fn gone(done: &PostResult, revision: u64) -> Result<PreferredReply<ChangedPost>> {
    Json::of(&ChangeAnswer::Gone(RemovedPost { id: done.post.to_string(), revision })).map(PreferredReply::from)
}

fn body_of(part: FilePart) -> PostBody {
    let text = words::text_of(&part.content.content.content_type, &part.head);
    PostBody { content: part.content, text: text.into() }
}

fn attachments_of(parts: Vec<FilePart>) -> Vec<NewAttachment> {
    let named = |(index, part): (usize, FilePart)| {
        let name = part.file_name.unwrap_or_else(|| format!("attachment-{}", index + 1));
        NewAttachment { name: name.into(), content: part.content }
    };
    parts.into_iter().enumerate().map(named).collect()
}

/// Returns the given changes of tags.
pub(super) fn tag_changes(
    tags: Option<Vec<String>>,
    remove: Option<Vec<String>>,
    add: Option<Vec<String>>,
) -> PostFields {
    let shared = |tags: Vec<String>| tags.iter().map(|tag| SharedText::from(tag.as_str())).collect::<Vec<_>>();
    PostFields {
        tags: tags.map(shared),
        remove_tags: remove.map(shared).unwrap_or_default(),
        add_tags: add.map(shared).unwrap_or_default(),
        ..PostFields::default()
    }
}

async fn fields_of(app: &App, options: &mut PostOptions) -> Result<PostFields> {
    let text = |value: &Option<String>| value.as_deref().map(SharedText::from);
    Ok(PostFields {
        title: text(&options.title),
        summary: text(&options.summary),
        description: text(&options.description),
        kind: text(&options.r#type),
        timestamp: options.timestamp,
        pinned: options.pinned,
        attributes: attribute_text(app, "attributes", options.attributes.take()).await?,
        system_attributes: rooted_text(app, "systemAttributes", options.system_attributes.take(), "props").await?,
        ..tag_changes(options.tags.take(), options.remove_tags.take(), options.add_tags.take())
    })
}
