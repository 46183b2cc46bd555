//! What an endpoint answers, before it is put on the wire.

use std::pin::Pin;
use std::sync::Arc;

use actix_web::http::header::{HeaderName, HeaderValue};
use bytes::Bytes;
use futures_util::Stream;
use serde::Serialize;
use stet_actors::error::Error;
use stet_actors::receipt::KeptReply;

use super::etag::ETag;

/// A body that comes in pieces.
pub type BodyStream = Pin<Box<dyn Stream<Item = Result<Bytes, actix_web::Error>>>>;

/// A successful answer.
pub struct Reply {
    /// What it says.
    pub content: Content,
    /// The ETag.
    pub etag: Option<ETag>,
    /// Further headers.
    pub headers: Vec<(HeaderName, HeaderValue)>,
}

/// The body of an answer.
pub enum Content {
    /// JSON: `result` of the envelope on v3, the bare body on the older surface.
    Json(Bytes),
    /// JSON that is complete as it is, envelope and all.
    Whole(Bytes),
    /// Text of the given media type.
    Text(&'static str, String),
    /// Bytes of the given media type, and how many there are.
    Stream(String, u64, BodyStream),
    /// A part of such bytes, and what `Content-Range` says of it: 206.
    Part(String, u64, BodyStream, HeaderValue),
    /// Server-sent events, for as long as the client stays.
    Events(BodyStream),
    /// The client has it already: 304.
    NotModified,
    /// What the call was answered when it was sent before, headers and all.
    Kept(Arc<KeptReply>),
}

impl Reply {
    /// A reply without an ETag.
    pub fn new(content: Content) -> Reply {
        Reply { content, etag: None, headers: Vec::new() }
    }

    /// A JSON reply.
    ///
    /// # Errors
    /// None for the types that endpoints answer with: texts, numbers, lists and maps with text keys.
    pub fn json(result: &impl Serialize) -> Result<Reply, Error> {
        Ok(Reply::new(Content::Json(to_json(result)?)))
    }

    /// Plain text.
    pub fn text(text: impl Into<String>) -> Reply {
        Reply::new(Content::Text("text/plain;charset=utf-8", text.into()))
    }

    /// The client has it already.
    pub fn not_modified(etag: ETag) -> Reply {
        Reply { content: Content::NotModified, etag: Some(etag), headers: Vec::new() }
    }

    /// With this ETag.
    #[must_use]
    pub fn with_etag(mut self, etag: ETag) -> Reply {
        self.etag = Some(etag);
        self
    }

    /// With this header.
    #[must_use]
    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Reply {
        self.headers.push((name, value));
        self
    }
}

/// Serialises a result.
///
/// # Errors
/// See [`Reply::json`].
pub fn to_json(result: &impl Serialize) -> Result<Bytes, Error> {
    serde_json::to_vec(result).map(Bytes::from).map_err(|error| {
        tracing::error!(%error, "a reply can't be serialised");
        Error::internal()
    })
}

/// What goes before and after the `result` of a v3 reply.
pub const ENVELOPE: (&[u8], &[u8]) = (b"{\"status\":\"success\",\"result\":", b"}");

/// Puts a v3 result into its envelope.
pub fn enveloped(result: &[u8]) -> Bytes {
    let (before, after) = ENVELOPE;
    let mut whole = Vec::with_capacity(before.len() + result.len() + after.len());
    whole.extend_from_slice(before);
    whole.extend_from_slice(result);
    whole.extend_from_slice(after);
    whole.into()
}
