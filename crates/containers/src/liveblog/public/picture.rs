//! Pictures of approved posts, scaled down.
//!
//! The address has the beginning of the hash of the stored bytes, and not the id of the attachment,
//! so that it changes with the picture and tells nothing about the repository.

use std::sync::Arc;

use actix_web::http::header::{self, HeaderValue};
use actix_web::{HttpRequest, HttpResponse};
use stet_base::limits::{SharedReservation, begin_call, behalf};
use stet_content::download::OpenedContent;
use stet_domain::error::{Code, Result};
use stet_domain::id::ObjectUuid;
use stet_domain::liveblog::PostAddress;
use stet_domain::object::Content;
use stet_endpoint::settled::UnsettledReply;
use stet_web::app::App;
use stet_web::etag::ETag;
use stet_web::pieces::{ReplyAccounting, in_pieces};

use super::super::OpenLiveblog;
use super::super::files::{open_attachment, open_content};
use super::content::is_picture;
use super::{ReadOutcome, files, headers, if_there};

/// The number of bytes of a hash that name a picture.
pub(super) const NAMED: usize = 8;

/// Returns the address of a picture, relative to that of its page.
pub(super) fn address(liveblog: &str, post: &str, content: &Content) -> String {
    format!("{liveblog}/picture/{post}/{}", files::hex(&content.sha256[..NAMED]))
}

/// Parses the name of a picture.
pub(super) fn named(text: &str) -> Option<[u8; NAMED]> {
    let number = u64::from_str_radix(text, 16).ok()?;
    let hash = number.to_be_bytes();
    (files::hex(&hash) == text).then_some(hash)
}

/// Answers a request for a picture.
pub(super) async fn answer(
    app: &Arc<App>,
    http: &HttpRequest,
    open: &OpenLiveblog,
    post: ObjectUuid,
    hash: &[u8; NAMED],
) -> Result<ReadOutcome<HttpResponse>> {
    let Some(post) = if_there(open.seen(&PostAddress::Uuid(post)))? else { return Ok(ReadOutcome::Read(None)) };
    let is_it = |content: &Content| is_picture(content) && content.sha256.starts_with(hash);
    let longest = app.scaler.longest();
    let tag = ETag::of_bytes(("public", hash, longest));
    let attached = post.attachments.iter().find(|file| is_it(&file.content));
    if attached.is_none() && !post.record.content.as_ref().is_some_and(is_it) {
        return Ok(ReadOutcome::Read(None));
    }
    if tag.is_known(http.headers()) {
        let mut response = HttpResponse::NotModified().finish();
        finish(app, &mut response, &tag);
        return Ok(ReadOutcome::Read(Some(response)));
    }
    begin_call().await;
    let opened = match attached {
        Some(file) => if_there(open_attachment(app, post, file, &file.name).await)?,
        None => match open_content(app, post, &post.record.name).await {
            Ok(opened) => Some(opened),
            Err(UnsettledReply::Changed) => return Ok(ReadOutcome::Changed),
            Err(UnsettledReply::Failed(error)) => if_there(Err(error))?,
        },
    };
    // Removed since the view was published, or other bytes than those that were approved.
    let Some(opened) = opened.filter(|opened| is_it(&opened.content)) else { return Ok(ReadOutcome::Changed) };
    Ok(ReadOutcome::Read(scaled(app, opened, &tag).await?))
}

/// Returns the reply with a scaled picture; `None` if the content is none that can be scaled.
async fn scaled(app: &App, opened: OpenedContent, tag: &ETag) -> Result<Option<HttpResponse>> {
    let scaled = match app.scaler.scaled(&opened.content, opened.reader).await {
        Ok(scaled) => scaled,
        Err(error) if error.code == Code::InvalidType => return Ok(None),
        Err(error) => return Err(error),
    };
    let response = HttpResponse::Ok().content_type(scaled.media_type).body(scaled.bytes);
    let share = SharedReservation::default();
    let counted = ReplyAccounting::Against { memory: &app.memory, holder: behalf(), share, may_fail: true };
    let mut response = in_pieces(response, 0, &counted)?;
    finish(app, &mut response, tag);
    Ok(Some(response))
}

fn finish(app: &App, response: &mut HttpResponse, tag: &ETag) {
    let out = response.headers_mut();
    out.insert(header::ETAG, tag.value().clone());
    out.insert(header::CACHE_CONTROL, headers::caching(&app.config));
    out.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("default-src 'none'; sandbox"));
    headers::open_to_all(out);
}
