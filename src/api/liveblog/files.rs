//! The files of a post: its content, and what is attached to it.

use actix_web::http::header::CONTENT_DISPOSITION;
use stet_actors::error::{Error, Result};
use stet_actors::liveblog::attachment_body;
use stet_actors::object::{Content as StoredContent, SmallBody, Stored};
use stet_actors::store::{Key, View};

use super::{address, open};
use crate::api::object::{disposition, streamed};
use crate::content::ContentReader;
use crate::http::call::Call;
use crate::http::etag::ETag;
use crate::http::reply::{Content, Reply};

/// `GET /v3/container/liveblog/{source}/post/{post}/attachment/{id}`
pub async fn attachment(call: Call) -> Result<Reply> {
    let open = open(&call).await?;
    let post = open.seen(&address(&call, open.loid, call.param("post"))?)?;
    let text = call.param("id");
    let id: u64 = text.parse().map_err(|_| Error::parameter("id", text, "the id of an attachment, a number"))?;
    let found = post.attachments.iter().find(|attachment| attachment.id == id);
    let found = found.ok_or_else(|| Error::not_found(text))?;
    file(&call, &found.content, attachment_body(open.loid, id), &found.name, id).await
}

/// `GET /v3/container/liveblog/{source}/post/{post}/content`
pub async fn post_content(call: Call) -> Result<Reply> {
    let open = open(&call).await?;
    let post = open.seen(&address(&call, open.loid, call.param("post"))?)?;
    // Every post is made with a content.
    let content = post.record.content.as_ref().ok_or_else(|| Error::not_found(call.param("post")))?;
    let version = post.loid().at_version(post.record.version);
    file(&call, content, SmallBody::key(version), &post.record.name, post.loid().number).await
}

/// A file, streamed. Its ETag tells of the bytes alone: they stay what they are while the liveblog changes.
async fn file(call: &Call, content: &StoredContent, key: Key, name: &str, id: u64) -> Result<Reply> {
    let tag = ETag::new(0, (id, content.sha256, &*content.content_type, name));
    if tag.is_known(call.headers()) {
        return Ok(Reply::not_modified(tag));
    }
    let reader = match content.stored {
        Stored::File => call.app.content.open_content(content).await?,
        Stored::Row => {
            let bytes = call.app.repository.look().get(View::Committed, key.table, &key.key).map_err(|error| {
                tracing::error!(%error, "a file of a post can't be read");
                Error::internal()
            })?;
            // Gone, if it was removed since the view was published.
            ContentReader::of(bytes.ok_or_else(|| Error::not_found(name))?)
        }
    };
    let size = reader.remaining();
    let reply = Reply::new(Content::Stream(content.content_type.to_string(), size, streamed(reader))).with_etag(tag);
    Ok(match disposition(name) {
        Some(value) => reply.with_header(CONTENT_DISPOSITION, value),
        None => reply,
    })
}
