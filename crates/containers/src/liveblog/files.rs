//! The files of a post: its content and its attachments. Their ETags depend on the bytes alone, so
//! they stay valid while the liveblog changes.

use stet_content::download::{LocatedContent, OpenedContent};
use stet_domain::error::{Error, Result};
use stet_domain::id::Loid;
use stet_domain::liveblog::Post;
use stet_domain::object::Version;
use stet_domain::part::{PartAttachment, attachment_body};
use stet_domain::store::Row;
use stet_endpoint::settled::{UnsettledReply, build_settled};
use stet_endpoint::whole::{BodyPiece, ByteReply, known_time};
use stet_web::app::App;
use stet_web::call::Call;
use stet_web::etag::ETag;
use stet_web::reply::Reply;

use super::{address, of_post, open};

/// `GET /v3/container/liveblog/{source}/post/{post}/attachment/{id}`
pub async fn attachment(call: Call) -> Result<Reply> {
    let open = open(&call).await?;
    let post = open.seen(&address(&call, open.loid(), call.param("post"))?)?;
    let text = call.param("id");
    let id: u64 = text.parse().map_err(|_| Error::parameter("id", text, "the id of an attachment, a number"))?;
    let found = post.attachments.iter().find(|attachment| attachment.id == id);
    let attachment = found.ok_or_else(|| Error::not_found(text))?;
    let opened = open_attachment(&call.app, post, attachment, text).await?;
    send(&call, post.liveblog, opened, (id, &attachment.name), text)
}

/// Opens an attachment of a post. `named` is the caller's name of it, for errors.
///
/// # Errors
/// `ObjectNotFound` if it no longer belongs to the post; errors of disk and store.
pub(super) async fn open_attachment(
    app: &App,
    post: &Post,
    attachment: &PartAttachment,
    named: &str,
) -> Result<OpenedContent> {
    // An id is never reused for other bytes. They arrived with a change of the post, at the latest
    // with its last one.
    let (content, small) = (attachment.content.clone(), attachment_body(post.liveblog, attachment.id));
    let located = LocatedContent { content, small, at: post.record.modified };
    let locate = || {
        // The file may have been collected if the content no longer belongs to the post.
        let place = post.place();
        let there: Option<Post> = app.repository.row(place.table, &place.key)?;
        let is_there = there.is_some_and(|there| there.attachments.iter().any(|there| there.id == attachment.id));
        if is_there { Ok(located.clone()) } else { Err(Error::not_found(named)) }
    };
    OpenedContent::open(&app.repository, &app.content, named, locate).await
}

/// `GET /v3/container/liveblog/{source}/post/{post}/content`
pub async fn post_content(call: Call) -> Result<Reply> {
    let open = open(&call).await?;
    let named = call.param("post");
    let address = address(&call, open.loid(), named)?;
    let wanted = match call.query.integer("version").unwrap_or(-1) {
        -1 | 0 => None,
        number => {
            let refused = |_| Error::parameter("version", number, "a version's number, or -1");
            Some(u32::try_from(number).map_err(refused)?)
        }
    };
    let (opened, post) = build_settled(&call, open, async |open| {
        let post = open.seen(&address)?;
        if let Some(wanted) = wanted.filter(|wanted| *wanted != post.record.version) {
            return Err(Error::not_found(post.loid().at_version(wanted)).into());
        }
        Ok((open_content(&call.app, post, named).await?, post.clone()))
    })
    .await?;
    send(&call, post.liveblog, opened, (post.loid().number, &post.record.name), named)
}

/// Opens the content of a post. `named` is the caller's name of it, for errors.
///
/// # Errors
/// [`UnsettledReply::Changed`] if the post was changed since this state of it; errors of disk and
/// store.
pub(super) async fn open_content(app: &App, post: &Post, named: &str) -> Result<OpenedContent, UnsettledReply> {
    let repository = &app.repository;
    let key = Version::key(post.loid().at_version(post.record.version));
    let locate = || {
        let version: Option<Version> = of_post(repository, post, || repository.row(key.table, &key.key))?;
        // Every post is created with a content.
        Ok::<LocatedContent, UnsettledReply>(version.ok_or_else(|| Error::not_found(named))?.into())
    };
    OpenedContent::open(repository, &app.content, named, locate).await
}

fn send(call: &Call, of: Loid, opened: OpenedContent, (id, name): (u64, &str), source: &str) -> Result<Reply> {
    let OpenedContent { content, at, reader } = opened;
    let tag = ETag::of_bytes((id, content.sha256, &*content.content_type, name));
    let (media_type, modified) = (content.content_type.to_string(), known_time(call, at));
    let whole = ByteReply { of, media_type, parts: vec![BodyPiece::read(reader)], tag, modified };
    whole.reply(call, source, name)
}
