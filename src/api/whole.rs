//! Bytes on their way to a client, whatever they are made of: all of them or a part, and the
//! headers that say which.

use std::mem;
use std::ops::Range;

use actix_web::error::ErrorInternalServerError;
use actix_web::http::Method;
use actix_web::http::header::{ACCEPT_RANGES, CONTENT_DISPOSITION, HeaderValue, LAST_MODIFIED, TryIntoHeaderValue};
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use stet_actors::error::{Code, Error, Result};
use stet_actors::id::Loid;

use crate::content::{CHUNK, ContentReader};
use crate::http::call::Call;
use crate::http::dates;
use crate::http::etag::ETag;
use crate::http::query::parameters;
use crate::http::range::{self, Wanted, date_of};
use crate::http::reply::{BodyStream, Reply};

/// A part of what is sent.
pub struct Part {
    size: u64,
    /// Bytes in memory until it has gone.
    held: u64,
    stream: Box<dyn FnOnce(u64, u64) -> BodyStream>,
}

impl Part {
    /// So many bytes; `stream` gives a number of them from a place on, which it has.
    pub fn new(size: u64, stream: impl FnOnce(u64, u64) -> BodyStream + 'static) -> Part {
        Part { size, held: 0, stream: Box::new(stream) }
    }

    /// What a reader has left.
    pub fn read(reader: ContentReader) -> Part {
        Part::new(reader.remaining(), |first, len| streamed(reader.range(first, len)))
    }

    /// A text.
    pub fn text(text: impl Into<Bytes>) -> Part {
        let text = text.into();
        Part { held: text.len() as u64, ..Part::read(ContentReader::of(text)) }
    }
}

/// A stored content with other parts in the place of some of its bytes: places in their order, none
/// within another.
pub fn with_replaced(reader: &ContentReader, replaced: Vec<(Range<u64>, Vec<Part>)>) -> Vec<Part> {
    let (mut parts, mut at) = (Vec::new(), 0);
    for (place, new) in replaced {
        parts.push(Part::read(reader.clone().range(at, place.start - at)));
        parts.extend(new);
        at = place.end;
    }
    parts.push(Part::read(reader.clone().range(at, u64::MAX)));
    parts
}

/// So many bytes of all parts together, from a place on.
fn stream_of(parts: Vec<Part>, first: u64, len: u64) -> BodyStream {
    let (mut begin, end) = (0, first + len);
    let mut streams = Vec::new();
    for part in parts {
        let behind = begin + part.size;
        let (from, to) = (first.max(begin), end.min(behind));
        if from < to {
            streams.push((part.stream)(from - begin, to - from));
        }
        begin = behind;
    }
    Box::pin(stream::iter(streams).flatten())
}

/// Bytes to be served, whatever they are made of.
pub struct Whole {
    /// The object that they are shown of; the container, where they are of a part.
    pub of: Loid,
    /// Their media type.
    pub media_type: String,
    /// What they are made of, before `maxSize`.
    pub parts: Vec<Part>,
    /// Identifies the bytes; `maxSize` included.
    pub tag: ETag,
    /// What `Last-Modified` says, epoch seconds, if anything.
    pub modified: Option<u64>,
}

impl Whole {
    /// The answer to a call for all or a part of them (RFC 9110, 14); `source` is what the caller
    /// calls them, `name` what a browser is to call the file.
    ///
    /// # Errors
    /// `PreconditionFailed` by `If-Unmodified-Since`; `RangeNotSatisfiable`; `InvalidParameter` for
    /// `maxSize`.
    pub fn reply(self, call: &Call, source: &str, name: &str) -> Result<Reply> {
        let Whole { of, media_type, parts, tag, modified } = self;
        let size = parts.iter().map(|part| part.size).sum::<u64>().min(most(call)?);
        let held = parts.iter().map(|part| part.held).sum();
        dates::check_unmodified(call.headers(), modified)?;
        let unchanged = tag.is_known(call.headers()) || dates::is_known(call.headers(), modified);
        let wanted = match *call.http.method() {
            Method::GET if !unchanged => range::wanted(call.headers(), size, &tag, modified),
            _ => Wanted::Whole,
        };
        let reply = match wanted {
            Wanted::Whole => Reply::stream(media_type, size, while_readable(call, of, stream_of(parts, 0, size), size)),
            Wanted::Part { first, last } => {
                let len = last - first + 1;
                // Digits and such, which is all that a header's value must be.
                let range =
                    HeaderValue::try_from(format!("bytes {first}-{last}/{size}")).map_err(|_| Error::internal())?;
                Reply::part(media_type, len, while_readable(call, of, stream_of(parts, first, len), len), range)
            }
            Wanted::Nothing => {
                let message = format!("No byte lies in the range: there are {size}.");
                let error = Error::new(Code::RangeNotSatisfiable, message);
                return Err(error.with_source(source).with_detail("size", size));
            }
        };
        let mut reply = reply
            .holding(held)
            .unchanged(unchanged)
            .with_etag(tag)
            .with_header(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
        if let Some(date) = modified.and_then(|at| date_of(at).try_into_value().ok()) {
            reply = reply.with_header(LAST_MODIFIED, date);
        }
        Ok(match disposition(name) {
            Some(value) => reply.with_header(CONTENT_DISPOSITION, value),
            None => reply,
        })
    }
}

/// Bytes for as long as the caller may read the object: a client may take hours for them, and its
/// session may end or lose its rights meanwhile. Then the connection is broken off. The first of
/// them go out at once, and those that are few.
fn while_readable(call: &Call, of: Loid, bytes: BodyStream, size: u64) -> BodyStream {
    if size <= CHUNK {
        return bytes;
    }
    let (may_go_on, mut begun) = (call.may_go_on_reading(of), false);
    Box::pin(bytes.map(move |chunk| {
        if mem::replace(&mut begun, true) {
            may_go_on().map_err(ErrorInternalServerError)?;
        }
        chunk
    }))
}

/// When bytes were written, as far as it is known, in epoch seconds: they may change again within
/// the second; the time says which they were only once that is over.
pub fn known_time(call: &Call, at: u64) -> Option<u64> {
    Some(at).filter(|at| *at < call.app.repository.clock().now_s())
}

/// How many bytes `maxSize` lets through; it counts megabytes of 1,000,000 bytes
/// (docs/api/content.md, "Reading content"). All, where a call has no such parameter, as for the
/// files of a post.
fn most(call: &Call) -> Result<u64> {
    if !parameters(call.route).any(|parameter| parameter.name == "maxSize") {
        return Ok(u64::MAX);
    }
    match call.query.integer("maxSize") {
        None => Ok(u64::MAX),
        Some(megabytes) => u64::try_from(megabytes)
            .map(|megabytes| megabytes.saturating_mul(1_000_000))
            .map_err(|_| Error::parameter("maxSize", megabytes, "0 or more megabytes")),
    }
}

/// What a browser calls the file when it saves it. Pages of ours are never shown inline, so that
/// none can act as the user.
pub(super) fn disposition(name: &str) -> Option<HeaderValue> {
    let ascii: String = name
        .chars()
        .map(|c| if c.is_ascii_graphic() && !matches!(c, '"' | '\\') || c == ' ' { c } else { '_' })
        .collect();
    let encoded = percent_encoding::utf8_percent_encode(name, percent_encoding::NON_ALPHANUMERIC);
    HeaderValue::from_str(&format!("attachment; filename=\"{ascii}\"; filename*=UTF-8''{encoded}")).ok()
}

/// A reader as the body of a response. A failure midway breaks the connection off, which shows the
/// client that it has not got all.
pub fn streamed(reader: ContentReader) -> BodyStream {
    Box::pin(futures_util::stream::try_unfold(reader, |mut reader| async {
        let chunk = reader.next_chunk().await.map_err(ErrorInternalServerError)?;
        Ok(chunk.map(|chunk| (chunk, reader)))
    }))
}
