//! The bytes of an object (decisions 6).

use actix_web::http::header::{CONTENT_DISPOSITION, HeaderValue};
use bytes::Bytes;
use stet_actors::error::{Code, Error, Result};
use stet_actors::id::Loid;
use stet_actors::object::{self, Record, SmallBody, Stored};
use stet_actors::store::View;

use super::{version, version_named};
use crate::app::App;
use crate::content::ContentReader;
use crate::http::call::Call;
use crate::http::etag::ETag;
use crate::http::reply::{BodyStream, Content, Reply};

/// `GET /v3/object/{source}/content` and `/content/binary`: the bytes, streamed.
pub async fn content(call: Call) -> Result<Reply> {
    let record = call.resolve("source")?;
    let named = match version_named(&call.app, &call.source("source")?, &record)? {
        Some(version) => Some(version),
        None => match call.query.integer("version").unwrap_or(-1) {
            -1 => None,
            number => {
                let wanted = u32::try_from(number).ok().filter(|number| *number > 0);
                let wanted = wanted.ok_or_else(|| Error::parameter("version", number, "a version's number, or -1"))?;
                Some(version(&call.app, &record, wanted)?)
            }
        },
    };
    let source = call.param("source");
    let (loid, content) = match named {
        Some(version) => (version.loid, version.content),
        None => {
            let content = record.content.clone().ok_or_else(|| {
                Error::new(Code::ObjectNotFound, format!("`{source}` has no content.")).with_source(source)
            })?;
            (record.loid.at_version(record.version), content)
        }
    };
    let tag = ETag::new(record.revision, (content.sha256, call.query.integer("maxSize")));
    let reader = open(&call.app, loid, &content).await?.range(0, most(&call)?);
    let size = reader.remaining();
    let reply = Reply::new(Content::Stream(content.content_type.to_string(), size, streamed(reader))).with_etag(tag);
    Ok(match disposition(&record.name) {
        Some(value) => reply.with_header(CONTENT_DISPOSITION, value),
        None => reply,
    })
}

/// How many bytes `maxSize` lets through; it counts megabytes of 1,000,000 bytes (decisions 5).
fn most(call: &Call) -> Result<u64> {
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
