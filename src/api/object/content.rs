//! The bytes of an object (decisions 6).

use actix_web::http::Method;
use actix_web::http::header::{ACCEPT_RANGES, CONTENT_DISPOSITION, HeaderValue, LAST_MODIFIED, TryIntoHeaderValue};
use bytes::Bytes;
use stet_actors::checkout::is_held_by;
use stet_actors::error::{Code, Error, Result};
use stet_actors::id::{Loid, Source};
use stet_actors::object::{self, Draft, Record, SmallBody, Stored};
use stet_actors::store::View;

use super::{version, version_named};
use crate::app::App;
use crate::content::ContentReader;
use crate::http::call::Call;
use crate::http::etag::ETag;
use crate::http::range::{self, Wanted, date_of};
use crate::http::reply::{BodyStream, Content, Reply};

/// The bytes that a call asks for.
#[derive(PartialEq)]
pub(super) struct Found {
    /// Whose they are: a version's.
    loid: Loid,
    pub content: object::Content,
    /// When they were written, epoch seconds.
    pub at: u64,
}

/// `GET /v3/object/{source}/content` and `/content/binary`: the bytes, streamed. What is stored is what a plain object resolves to,
/// so `raw` changes nothing here.
pub async fn content(call: Call) -> Result<Reply> {
    let source = call.source("source")?;
    content_of(&call, &source).await
}

/// `GET /v3/object/loid/content?loid=`
pub async fn content_by_loid(call: Call) -> Result<Reply> {
    let source = loid_in_query(&call)?;
    content_of(&call, &source).await
}

/// The source in the parameter `loid`.
pub(super) fn loid_in_query(call: &Call) -> Result<Source> {
    // It is required, so there is one.
    Source::parse("loid", call.query.text("loid").unwrap_or_default())
}

pub(super) async fn content_of(call: &Call, source: &Source) -> Result<Reply> {
    let record = call.find(source, call.database()?)?;
    let most = most(call)?;
    let (Found { content, at, .. }, reader) = opened(call, source, &record).await?;
    let tag = ETag::new(record.revision, (content.sha256, call.query.integer("maxSize")));
    if tag.is_known(call.headers()) {
        return Ok(Reply::not_modified(tag));
    }
    let media_type = content.content_type.to_string();
    answer(call, source, Sent { tag, at, media_type, name: record.name.to_string(), reader: reader.range(0, most) })
}

/// What is to be sent.
pub(super) struct Sent {
    pub tag: ETag,
    /// When it was written, epoch seconds.
    pub at: u64,
    pub media_type: String,
    /// What a browser calls it.
    pub name: String,
    /// The bytes, as far as `maxSize` lets them through.
    pub reader: ContentReader,
}

/// All of it, or the part that the call asks for.
pub(super) fn answer(call: &Call, source: &Source, sent: Sent) -> Result<Reply> {
    let Sent { tag, at, media_type, name, reader } = sent;
    let size = reader.remaining();
    // A content may change again within the second; the time says which one it was only once that is over.
    let modified = Some(at).filter(|at| *at < call.app.repository.clock().now_s());
    let wanted = match *call.http.method() {
        Method::GET => range::wanted(call.headers(), size, &tag, modified),
        _ => Wanted::Whole,
    };
    let body = match wanted {
        Wanted::Whole => Content::Stream(media_type, reader.remaining(), streamed(reader)),
        Wanted::Part { first, last } => {
            let reader = reader.range(first, last - first + 1);
            // Digits and such, which is all that a header's value must be.
            let of = HeaderValue::try_from(format!("bytes {first}-{last}/{size}")).map_err(|_| Error::internal())?;
            Content::Part(media_type, reader.remaining(), streamed(reader), of)
        }
        Wanted::Nothing => {
            let message = format!("No byte lies in the range: there are {size}.");
            let error = Error::new(Code::RangeNotSatisfiable, message);
            return Err(error.with_source(source).with_detail("size", size));
        }
    };
    let mut reply = Reply::new(body).with_etag(tag).with_header(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    if let Some(date) = modified.and_then(|at| date_of(at).try_into_value().ok()) {
        reply = reply.with_header(LAST_MODIFIED, date);
    }
    Ok(match disposition(&name) {
        Some(value) => reply.with_header(CONTENT_DISPOSITION, value),
        None => reply,
    })
}

/// What a call asks for, and its bytes. They may be replaced between the look at what they are and the look at them; then once more.
pub(super) async fn opened(call: &Call, source: &Source, record: &Record) -> Result<(Found, ContentReader)> {
    const TRIES: usize = 16;
    for _ in 0..TRIES {
        let found_first = found(call, source, record)?;
        let reader = open(&call.app, found_first.loid, &found_first.content).await;
        // A file is named by its hash: it is never another. But it may have been collected, if nothing refers to it any more.
        let surely = found_first.content.stored == Stored::File && reader.is_ok();
        if surely || found(call, source, record)? == found_first {
            return Ok((found_first, reader?));
        }
    }
    let message = format!("The content of `{source}` keeps changing; try again.");
    Err(Error::new(Code::Overloaded, message).with_source(source))
}

/// The version that the source or `version` names; without, the caller's working copy or the latest.
fn found(call: &Call, source: &Source, record: &Record) -> Result<Found> {
    let app = &call.app;
    let named = match version_named(app, source, record)? {
        Some(version) => Some(version),
        None => match call.query.integer("version").unwrap_or(-1) {
            -1 => None,
            number => {
                let wanted = u32::try_from(number).ok().filter(|number| *number > 0);
                let wanted = wanted.ok_or_else(|| Error::parameter("version", number, "a version's number, or -1"))?;
                Some(version(app, record, wanted)?)
            }
        },
    };
    if named.is_none()
        && let Some(copy) = working_copy(call, record)?
    {
        return Ok(copy);
    }
    let version = match named {
        Some(version) => version,
        None if record.version > 0 => version(app, record, record.version)?,
        None => {
            let message = format!("`{source}` has no content.");
            return Err(Error::new(Code::ObjectNotFound, message).with_source(source));
        }
    };
    Ok(Found { loid: version.loid, content: version.content, at: version.at })
}

/// What the caller has saved of an object that is checked out in this session.
fn working_copy(call: &Call, record: &Record) -> Result<Option<Found>> {
    let lock = record.lock_at(call.app.repository.clock().now_s());
    let (Some(lock), Some(session)) = (lock, &call.session) else { return Ok(None) };
    if !is_held_by(lock, session.user(), session.id()) {
        return Ok(None);
    }
    let key = Draft::key(record.loid);
    let draft: Option<Draft> = call.app.repository.row(key.table, &key.key)?;
    Ok(draft.map(|draft| Found { loid: Draft::body_loid(draft.loid), content: draft.content, at: draft.at }))
}

/// How many bytes `maxSize` lets through; it counts megabytes of 1,000,000 bytes (decisions 5).
pub(super) fn most(call: &Call) -> Result<u64> {
    match call.query.integer("maxSize") {
        None => Ok(u64::MAX),
        Some(megabytes) => u64::try_from(megabytes)
            .map(|megabytes| megabytes.saturating_mul(1_000_000))
            .map_err(|_| Error::parameter("maxSize", megabytes, "0 or more megabytes")),
    }
}

/// What a browser calls the file when it saves it. Pages of ours are never shown inline, so that none can act as the user.
pub(in crate::api) fn disposition(name: &str) -> Option<HeaderValue> {
    let ascii: String = name
        .chars()
        .map(|c| if c.is_ascii_graphic() && !matches!(c, '"' | '\\') || c == ' ' { c } else { '_' })
        .collect();
    let encoded = percent_encoding::utf8_percent_encode(name, percent_encoding::NON_ALPHANUMERIC);
    HeaderValue::from_str(&format!("attachment; filename=\"{ascii}\"; filename*=UTF-8''{encoded}")).ok()
}

/// All bytes of an object's latest version.
///
/// # Errors
/// `ObjectNotFound` when it has none; what the store says.
pub async fn bytes_of(app: &App, record: &Record) -> Result<Bytes> {
    let content = record.content.as_ref().ok_or_else(|| Error::not_found(record.loid))?;
    open(app, record.loid.at_version(record.version), content).await?.read_all().await
}

async fn open(app: &App, version: Loid, content: &object::Content) -> Result<ContentReader> {
    if content.stored == Stored::File {
        return app.content.open_content(content).await;
    }
    let key = SmallBody::key(version);
    match app.repository.look().get(View::Committed, key.table, &key.key) {
        Ok(Some(bytes)) => Ok(ContentReader::of(bytes)),
        Ok(None) => Err(Error::not_found(version)),
        Err(error) => {
            tracing::error!(%version, %error, "the bytes of a version can't be read");
            Err(Error::internal())
        }
    }
}

/// A reader as the body of a response. A failure midway breaks the connection off, which tells the client that it has not got all.
pub(in crate::api) fn streamed(reader: ContentReader) -> BodyStream {
    Box::pin(futures_util::stream::try_unfold(reader, |mut reader| async {
        let chunk = reader.next_chunk().await.map_err(actix_web::error::ErrorInternalServerError)?;
        Ok(chunk.map(|chunk| (chunk, reader)))
    }))
}
