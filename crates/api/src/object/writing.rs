//! Writes of an object's bytes: check-out, write and check-in as one step (docs/api/content.md,
//! "Writing content").

use futures_util::StreamExt;
use stet_auth::Privilege;
use stet_content::words::{essence, is_json};
use stet_domain::checkout::WriteContent;
use stet_domain::error::{Code, Error, Result};
use stet_domain::id::ObjectSource;
use stet_domain::object::{NewContent, Record};
use stet_endpoint::requests::switches;
use stet_web::arriving::IncomingCall;
use stet_web::body::describe_payload_error;
use stet_web::body::{IncomingBody, says_nothing, too_large};
use stet_web::call::Call;
use stet_web::media_type::content_type;
use stet_web::pace::PacedBody;
use stet_web::prefer::PreferredReply;

use super::reading::loid_in_query;
use super::{ChangedRecord, reply_after};

/// The content type that clients send when they don't know the type.
const ANY_BYTES: &str = "application/octet-stream";

/// The content types that state nothing about a content. HTTP clients send the second one with any
/// body by default.
const NO_TYPES: [&str; 2] = [ANY_BYTES, "application/x-www-form-urlencoded"];

/// `PUT /v3/object/{source}/content`
pub async fn write_content(arriving: IncomingCall) -> Result<PreferredReply<ChangedRecord>> {
    write_to(arriving, |call| call.source("source")).await
}

/// `PUT /v3/object/loid/content?loid=`
pub async fn write_content_by_loid(arriving: IncomingCall) -> Result<PreferredReply<ChangedRecord>> {
    write_to(arriving, loid_in_query).await
}

async fn write_to(
    arriving: IncomingCall,
    source: fn(&Call) -> Result<ObjectSource>,
) -> Result<PreferredReply<ChangedRecord>> {
    let target = |call: &Call| {
        let source = source(call)?;
        call.find_for(Privilege::Write, &source, call.database()?)
    };
    let (call, record, body) =
        arriving.received(target, async |call, incoming, record| receive(call, incoming, record).await).await?;
    let (object, display) = (record.loid, call.display_of_change().await?);
    let write =
        WriteContent { object, body, switches: switches(&call.query), lasts_s: call.app.config.auth.lock_idle_seconds };
    let done = call.change_jointly(write).await?;
    reply_after(&call, object, done.left.as_ref(), &display, 0, |record| record).await
}

/// Receives the body of a call as a new content of an object. `None` for a body without bytes, and
/// for `{}` as JSON if the object's content is not JSON. The media type is that of the header
/// `Content-Type`, unless that states nothing: then the object's type stays.
///
/// # Errors
/// `InvalidParameter` for the header; `TooLarge`; `InvalidBody` if the client breaks off or is too
/// slow; errors of the disk.
pub(super) async fn receive(call: &Call, incoming: IncomingBody, record: &Record) -> Result<Option<NewContent>> {
    // Checked before anything is received.
    let said = content_type(call.headers())?;
    let limits = &call.app.config.limits;
    let mut payload = PacedBody::new(incoming.payload, limits.upload_progress_bytes, limits.upload_progress_seconds);
    let mut upload = call.app.content.upload(&incoming.room);
    while let Some(chunk) = payload.next().await {
        let chunk = chunk.map_err(|error| {
            Error::new(Code::InvalidBody, format!("The body could not be read: {}.", describe_payload_error(&error)))
        })?;
        if upload.size() + chunk.len() as u64 > limits.upload_bytes {
            return Err(too_large("The body", limits.upload_bytes));
        }
        upload.write(&chunk).await?;
    }
    let present = record.content.as_ref().map(|content| &*content.content_type);
    let are_json = |kind: Option<&str>| kind.is_some_and(|kind| is_json(&essence(kind)));
    // If the content is JSON, `{}` may be meant as a content.
    let may_be_none = upload.size() == 0 || are_json(said) && !are_json(present);
    if may_be_none && upload.in_memory().is_some_and(says_nothing) {
        return Ok(None);
    }
    let media_type = said.filter(|said| !NO_TYPES.contains(&&*essence(said))).or(present).unwrap_or(ANY_BYTES);
    upload.finish(media_type).await.map(Some)
}
