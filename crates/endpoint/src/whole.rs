//! Bytes for a client, whatever their source: all of them or a range, with the headers that state
//! which.

use std::mem;
use std::ops::Range;

use actix_web::error::ErrorInternalServerError;
use actix_web::http::Method;
use actix_web::http::header::{ACCEPT_RANGES, CONTENT_DISPOSITION, HeaderValue, LAST_MODIFIED, TryIntoHeaderValue};
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use stet_content::{CHUNK, ContentReader};
use stet_domain::error::{Code, Error, Result};
use stet_domain::id::Loid;
use stet_web::call::Call;
use stet_web::dates;
use stet_web::etag::ETag;
use stet_web::query::parameters;
use stet_web::range::{self, RequestedRange, date_of};
use stet_web::reply::{BodyStream, Reply};

/// A piece of the bytes that are sent.
pub struct BodyPiece {
    size: u64,
    /// Bytes that stay in memory until the piece is sent.
    held: u64,
    stream: Box<dyn FnOnce(u64, u64) -> BodyStream>,
}

impl BodyPiece {
    /// Creates a piece of `size` bytes. `stream` returns a number of bytes from an offset; it is
    /// only called for bytes within the piece.
    pub fn new(size: u64, stream: impl FnOnce(u64, u64) -> BodyStream + 'static) -> BodyPiece {
        BodyPiece { size, held: 0, stream: Box::new(stream) }
    }

    /// Creates a piece of the remaining bytes of a reader.
    pub fn read(reader: ContentReader) -> BodyPiece {
        BodyPiece::new(reader.remaining(), |first, len| stream_reader(reader.range(first, len)))
    }

    /// Creates a piece of a text.
    pub fn text(text: impl Into<Bytes>) -> BodyPiece {
        let text = text.into();
        BodyPiece { held: text.len() as u64, ..BodyPiece::read(ContentReader::of(text)) }
    }
}

/// Returns a stored content with ranges of its bytes replaced by other pieces. The ranges are in
/// order and don't overlap.
pub fn with_replaced(reader: &ContentReader, replaced: Vec<(Range<u64>, Vec<BodyPiece>)>) -> Vec<BodyPiece> {
    let (mut parts, mut at) = (Vec::new(), 0);
    for (place, new) in replaced {
        parts.push(BodyPiece::read(reader.clone().range(at, place.start - at)));
        parts.extend(new);
        at = place.end;
    }
    parts.push(BodyPiece::read(reader.clone().range(at, u64::MAX)));
    parts
}

/// Streams `len` bytes of all pieces together, from offset `first` on.
fn stream_of(parts: Vec<BodyPiece>, first: u64, len: u64) -> BodyStream {
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

/// Bytes to be served, whatever their source.
pub struct ByteReply {
    /// The object that the bytes belong to; the container, if they belong to a part.
    pub of: Loid,
    /// Media type of the bytes.
    pub media_type: String,
    /// The pieces of the bytes, before `maxSize` is applied.
    pub parts: Vec<BodyPiece>,
    /// The tag of the bytes, `maxSize` included.
    pub tag: ETag,
    /// The value of `Last-Modified` in epoch seconds, if known.
    pub modified: Option<u64>,
}

impl ByteReply {
    /// Returns the reply to a call for all bytes or a range (RFC 9110, 14). `source` is the object
    /// as the caller named it, `name` the file name for browsers.
    ///
    /// # Errors
    /// `PreconditionFailed` by `If-Unmodified-Since`; `RangeNotSatisfiable`; `InvalidParameter` for
    /// `maxSize`.
    pub fn reply(self, call: &Call, source: &str, name: &str) -> Result<Reply> {
        let ByteReply { of, media_type, parts, tag, modified } = self;
        let size = parts.iter().map(|part| part.size).sum::<u64>().min(max_reply_bytes(call)?);
        let held = parts.iter().map(|part| part.held).sum();
        dates::check_unmodified(call.headers(), modified)?;
        let unchanged = tag.is_known(call.headers()) || dates::is_known(call.headers(), modified);
        let wanted = match *call.http.method() {
            Method::GET if !unchanged => range::requested_range(call.headers(), size, &tag, modified),
            _ => RequestedRange::Whole,
        };
        let stream = |first, len| while_readable(call, of, stream_of(parts, first, len), len);
        let reply = match wanted {
            RequestedRange::Whole => Reply::stream(media_type, size, stream(0, size)),
            RequestedRange::Part { first, last } => {
                let len = last - first + 1;
                // Digits and punctuation, which any header value may contain.
                let range =
                    HeaderValue::try_from(format!("bytes {first}-{last}/{size}")).map_err(|_| Error::internal())?;
                Reply::part(media_type, len, stream(first, len), range)
            }
            RequestedRange::Nothing => {
                let message = format!("The range contains no byte of the content, which has {size} bytes.");
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

/// Streams bytes as long as the caller may read the object. A client may take hours, and its
/// session may end or lose its rights during that time; then the connection is aborted. The first
/// chunk is not checked, and neither are short contents.
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

/// Returns the time at which bytes were written, in epoch seconds, once that second is over.
/// Before, the bytes may change again within it, so the time does not identify them.
pub fn known_time(call: &Call, at: u64) -> Option<u64> {
    Some(at).filter(|at| *at < call.app.repository.clock().now_s())
}

/// Returns the number of bytes that `maxSize` permits; it counts megabytes of 1,000,000 bytes
/// (docs/api/content.md, "Reading content"). Calls without such a parameter, as for the files of a
/// post, have no limit.
fn max_reply_bytes(call: &Call) -> Result<u64> {
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

/// Returns the `Content-Disposition` with the file name for saving. Stored pages are never shown
/// inline, so that none can act as the user.
pub fn disposition(name: &str) -> Option<HeaderValue> {
    let ascii: String = name
        .chars()
        .map(|c| if c.is_ascii_graphic() && !matches!(c, '"' | '\\') || c == ' ' { c } else { '_' })
        .collect();
    let encoded = percent_encoding::utf8_percent_encode(name, percent_encoding::NON_ALPHANUMERIC);
    HeaderValue::from_str(&format!("attachment; filename=\"{ascii}\"; filename*=UTF-8''{encoded}")).ok()
}

/// Returns a reader as the body of a response. A failure midway aborts the connection, so that the
/// client notices that the body is incomplete.
pub fn stream_reader(reader: ContentReader) -> BodyStream {
    Box::pin(futures_util::stream::try_unfold(reader, |mut reader| async {
        let chunk = reader.next_chunk().await.map_err(ErrorInternalServerError)?;
        Ok(chunk.map(|chunk| (chunk, reader)))
    }))
}
