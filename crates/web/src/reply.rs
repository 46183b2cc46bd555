//! The reply of an endpoint, before it becomes an HTTP response.
//!
//! A handler answers JSON as [`Json`], which names the serialised type. So the OpenAPI document
//! describes exactly what the handler returns. Everything else, for which a schema can only say
//! "bytes" or "text", is a [`Reply`].

use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;

use actix_web::http::header::{HeaderName, HeaderValue};
use bytes::Bytes;
use futures_util::{FutureExt, Stream};
use schemars::JsonSchema;
use serde::Serialize;
use stet_base::json::{ChangeAnswer, JoinedMembers, ReadyJson, TypeOf, append_json, type_of};
use stet_base::limits::SharedReservation;
use stet_base::limits::offload;
use stet_base::rope::{LARGE_PIECE, TextPieces, TextRope};
use stet_domain::error::Error;
use stet_domain::expect::RevisionTag;
use stet_domain::receipt::KeptReply;
use stet_newsroom::events::stream::EventStream;

use super::etag::ETag;
use super::minimal::MinimalReply;

/// A body that is sent in pieces.
pub type BodyStream = Pin<Box<dyn Stream<Item = Result<Bytes, actix_web::Error>>>>;

/// The result type of a handler.
pub trait HandlerAnswer {
    /// The schema of the body; `None` if that is not JSON.
    const SCHEMA: Option<TypeOf>;

    /// Whether the reply may be a [`MinimalReply`] instead, if the client prefers that.
    const MAY_BE_MINIMAL: bool = false;

    /// Converts the answer into a reply.
    fn into_reply(self) -> Reply;
}

/// The reply to a successful call.
pub struct Reply {
    /// The body.
    pub(super) content: ReplyBody,
    /// The ETag.
    pub(super) etag: Option<ETag>,
    /// Further headers.
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
    /// The number of bytes that a streamed body keeps in memory until it has been sent.
    pub(super) held: u64,
    /// Whether the client is known to have the representation already, so that the response is a
    /// 304.
    pub(super) unchanged: bool,
}

/// The body of a reply.
pub(super) enum ReplyBody {
    /// JSON: with its envelope on v3, its `result` alone on the older surface.
    Json(EnvelopedBytes),
    /// The short form that the client prefers, with the same rule for the envelope.
    Minimal(EnvelopedBytes),
    /// JSON that is rendered while it is sent, with or without its envelope as the endpoint
    /// requires.
    Listing(BodyStream),
    /// Text of the given media type.
    Text(&'static str, String),
    /// Bytes of the given media type, with their number.
    Stream(String, u64, BodyStream),
    /// A part of such bytes, with the value of `Content-Range`: 206.
    Part(String, u64, BodyStream, HeaderValue),
    /// A file of the given media type.
    File(&'static str, Bytes),
    /// A file of the given media type that is rendered while it is sent.
    StreamedFile(&'static str, BodyStream),
    /// Server-sent events, until the client disconnects.
    Events(EventStream),
    /// No body: the client has the representation already. The media type is that of the
    /// representation.
    NotModified(&'static str),
    /// The kept reply to an earlier attempt of the call, with its headers.
    Kept(Arc<KeptReply>),
}

impl Reply {
    fn new(content: ReplyBody) -> Reply {
        Reply { content, etag: None, headers: Vec::new(), held: 0, unchanged: false }
    }

    /// Creates a plain text.
    pub fn text(text: impl Into<String>) -> Reply {
        Reply::new(ReplyBody::Text("text/plain;charset=utf-8", text.into()))
    }

    /// Creates a reply of `size` bytes of that media type.
    pub fn stream(media_type: String, size: u64, bytes: BodyStream) -> Reply {
        Reply::new(ReplyBody::Stream(media_type, size, bytes))
    }

    /// Creates a reply with a part of such bytes; `range` is the value of `Content-Range`.
    pub fn part(media_type: String, size: u64, bytes: BodyStream, range: HeaderValue) -> Reply {
        Reply::new(ReplyBody::Part(media_type, size, bytes, range))
    }

    /// Creates an XML document.
    pub fn xml(text: Bytes) -> Reply {
        Reply::file("application/xml;charset=utf-8", text)
    }

    /// Creates a file of that media type.
    pub(super) fn file(media_type: &'static str, bytes: Bytes) -> Reply {
        Reply::new(ReplyBody::File(media_type, bytes))
    }

    /// Creates a file that is rendered while it is sent.
    pub(super) fn made(media_type: &'static str, bytes: BodyStream) -> Reply {
        Reply::new(ReplyBody::StreamedFile(media_type, bytes))
    }

    /// Creates a stream of server-sent events that lasts until the client disconnects.
    pub fn events(events: EventStream) -> Reply {
        Reply::new(ReplyBody::Events(events))
    }

    /// Creates the 304 in place of a text that the client has already
    /// ([`Call::has`](super::call::Call::has)).
    pub fn not_modified(etag: ETag) -> Reply {
        Reply::new(ReplyBody::NotModified("text/plain")).with_etag(etag)
    }

    /// Creates the 304 in place of a picture that the client has already.
    pub fn picture_not_modified(etag: ETag) -> Reply {
        Reply::new(ReplyBody::NotModified("image/jpeg")).with_etag(etag)
    }

    /// States whether the client has this complete reply already, and the response is a 304.
    #[must_use]
    pub fn unchanged(mut self, unchanged: bool) -> Reply {
        self.unchanged = unchanged;
        self
    }

    /// Creates JSON that is rendered while it is sent.
    pub(super) fn listing(json: BodyStream) -> Reply {
        Reply::new(ReplyBody::Listing(json))
    }

    /// Creates the short reply that the client prefers.
    pub(super) fn minimal(minimal: EnvelopedReply<MinimalReply>) -> Reply {
        Reply::new(ReplyBody::Minimal(minimal.body))
    }

    /// Creates the kept reply to an earlier attempt of the call.
    pub(super) fn kept(reply: Arc<KeptReply>) -> Reply {
        Reply::new(ReplyBody::Kept(reply))
    }

    /// States how many bytes a streamed body keeps in memory until it has been sent.
    #[must_use]
    pub fn holding(mut self, bytes: u64) -> Reply {
        self.held = bytes;
        self
    }

    /// Returns the number of bytes that a body in several pieces keeps in memory until it has been
    /// sent.
    pub(super) fn held(&self) -> u64 {
        match &self.content {
            ReplyBody::Json(body) | ReplyBody::Minimal(body) => body.bytes.len() as u64,
            _ => self.held,
        }
    }

    /// Returns the reservation shared by all clients that get these bytes.
    pub(super) fn share(&self) -> SharedReservation {
        match &self.content {
            ReplyBody::Json(body) => body.share(),
            _ => SharedReservation::default(),
        }
    }

    /// Adds an ETag.
    #[must_use]
    pub fn with_etag(mut self, etag: ETag) -> Reply {
        self.etag = Some(etag);
        self
    }

    /// Adds a header.
    #[must_use]
    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Reply {
        self.headers.push((name, value));
        self
    }
}

impl HandlerAnswer for Reply {
    const SCHEMA: Option<TypeOf> = None;

    fn into_reply(self) -> Reply {
        self
    }
}

/// An answer in JSON with the schema of `T`: serialised from a `T`, or kept from an earlier
/// attempt.
pub struct Json<T> {
    reply: Reply,
    of: PhantomData<fn() -> T>,
}

impl<T> Json<T> {
    pub(super) fn new(reply: Reply) -> Json<T> {
        Json { reply, of: PhantomData }
    }

    /// Serialises a result.
    ///
    /// # Errors
    /// The errors of [`EnvelopedReply::of`].
    pub fn of(result: &T) -> Result<Json<T>, Error>
    where
        T: Serialize,
    {
        EnvelopedReply::of(result, 0).map(Json::from)
    }

    /// Serialises a result of about `bytes` bytes. Its ETag is derived from its JSON and the
    /// revision of the object that it shows. Megabytes are serialised and hashed on another thread.
    ///
    /// # Errors
    /// The errors of [`offload::offload_if_large`] and [`EnvelopedReply::of`].
    pub async fn tagged(result: T, bytes: usize, of: RevisionTag) -> Result<Json<T>, Error>
    where
        T: Serialize + Send + 'static,
    {
        let made = offload::offload_if_large(bytes, move || {
            let whole = EnvelopedReply::of(&result, bytes)?;
            let tag = whole.tag(of);
            Ok::<(EnvelopedReply<T>, ETag), Error>((whole, tag))
        });
        let (whole, tag) = made.await??;
        Ok(Json::from(whole).with_etag(tag))
    }

    /// Builds and serialises a result of about `bytes` bytes, on another thread if it is large.
    ///
    /// # Errors
    /// The errors of [`offload::offload_if_large`], `make` and [`EnvelopedReply::of`].
    pub fn made(
        bytes: usize,
        make: impl FnOnce() -> Result<T, Error> + Send + 'static,
    ) -> impl Future<Output = Result<Json<T>, Error>>
    where
        T: Serialize + 'static,
    {
        let made = offload::offload_if_large(bytes, move || EnvelopedReply::of(&make()?, bytes));
        made.map(|made| made?.map(Json::from))
    }

    /// Creates the 304 in place of a reply that the client has already
    /// ([`Call::has`](super::call::Call::has)).
    pub fn not_modified(etag: ETag) -> Json<T> {
        Json::new(Reply::not_modified(etag))
    }

    /// Creates the kept reply to an earlier attempt of the call. The same endpoint has returned it,
    /// so it is a `T` too.
    pub(super) fn kept(reply: Arc<KeptReply>) -> Json<T> {
        Json::new(Reply::kept(reply))
    }

    /// Adds an ETag.
    #[must_use]
    pub fn with_etag(self, etag: ETag) -> Json<T> {
        Json::new(self.reply.with_etag(etag))
    }

    /// Adds a header.
    #[must_use]
    pub fn with_header(self, name: HeaderName, value: HeaderValue) -> Json<T> {
        Json::new(self.reply.with_header(name, value))
    }

    /// Converts the answer into one for objects that may be removed before the reply is rendered.
    pub fn shown<G>(self) -> Json<ChangeAnswer<T, G>> {
        // The JSON of `ChangeAnswer::Shown` is that of its content.
        Json::new(self.reply)
    }

    /// Returns the JSON of the result, for tests.
    #[cfg(any(test, feature = "testing"))]
    pub fn result(&self) -> serde_json::Value {
        let ReplyBody::Json(body) = &self.reply.content else { panic!("there is no body") };
        serde_json::from_slice(&body.bare().into_whole()).expect("it is JSON")
    }
}

impl<T> From<EnvelopedReply<T>> for Json<T> {
    fn from(enveloped: EnvelopedReply<T>) -> Json<T> {
        Json::new(Reply::new(ReplyBody::Json(enveloped.body)))
    }
}

impl<T: JsonSchema> HandlerAnswer for Json<T> {
    const SCHEMA: Option<TypeOf> = Some(type_of::<T>);

    fn into_reply(self) -> Reply {
        self.reply
    }
}

/// The envelope of every v3 reply to a successful call. Failures have a
/// [`super::error::FailureEnvelope`].
#[derive(Serialize)]
struct ReplyEnvelope<R> {
    status: &'static str,
    result: R,
}

/// Wraps a result in the envelope of a successful call.
pub(super) fn envelope<R: Serialize>(result: R) -> impl Serialize {
    ReplyEnvelope { status: "success", result }
}

/// The text before and after the `result` of a successful [`ReplyEnvelope`].
pub(super) const AROUND: (&[u8], &[u8]) = (b"{\"status\":\"success\",\"result\":", b"}");

/// The JSON of a result in its envelope.
#[derive(Clone)]
pub(super) struct EnvelopedBytes {
    bytes: TextPieces,
    /// The reservation shared by all clients that get these bytes.
    share: SharedReservation,
}

impl EnvelopedBytes {
    /// Returns the JSON with its envelope.
    pub(super) fn whole(self) -> TextPieces {
        self.bytes
    }

    /// Returns the result without its envelope.
    pub(super) fn bare(&self) -> TextPieces {
        let (before, after) = AROUND;
        self.bytes.slice(before.len()..self.bytes.len() - after.len())
    }

    /// Returns the reservation shared by all clients that get these bytes.
    pub(super) fn share(&self) -> SharedReservation {
        self.share.clone()
    }
}

/// The JSON of a `T` in its envelope, which may be sent any number of times. A clone shares the
/// bytes.
pub struct EnvelopedReply<T> {
    body: EnvelopedBytes,
    of: PhantomData<fn() -> T>,
}

impl<T> EnvelopedReply<T> {
    /// Creates a reply of JSON that stands in its envelope.
    pub(super) fn new(whole: TextRope) -> EnvelopedReply<T> {
        let bytes = whole.finish();
        EnvelopedReply { body: EnvelopedBytes { bytes, share: SharedReservation::default() }, of: PhantomData }
    }

    /// Serialises a result. `bytes` is the approximate length of the [`ReadyJson`] texts in it, 0
    /// if unknown.
    ///
    /// # Errors
    /// None for the types of endpoints: texts, numbers, lists and maps with text keys.
    pub fn of(result: &T, bytes: usize) -> Result<EnvelopedReply<T>, Error>
    where
        T: Serialize,
    {
        // There is room for a record, so that the bytes need not move while they grow.
        let mut whole = TextRope::with_capacity(bytes + 2048);
        append_json(&envelope(result), &mut whole)?;
        Ok(EnvelopedReply::new(whole))
    }

    /// Returns the length of the JSON in bytes.
    pub fn bytes(&self) -> usize {
        self.body.bytes.len()
    }

    /// Returns the ETag for the revision of the shown object.
    pub fn tag(&self, of: RevisionTag) -> ETag {
        ETag::new(of, &self.body.bytes)
    }
}

impl<T, M: Serialize> EnvelopedReply<JoinedMembers<T, M>> {
    /// Joins a base that is serialised already with further members.
    ///
    /// # Errors
    /// The errors of [`EnvelopedReply::of`].
    pub fn with(base: &ReadyJson<T>, more: &M) -> Result<EnvelopedReply<JoinedMembers<T, M>>, Error> {
        let (before, after) = AROUND;
        let copied = Some(base.text().len()).filter(|bytes| *bytes < LARGE_PIECE).unwrap_or_default();
        let mut whole = TextRope::with_capacity(before.len() + copied + 64);
        whole.extend_from_slice(before);
        JoinedMembers::write(base, more, &mut whole)?;
        whole.extend_from_slice(after);
        Ok(EnvelopedReply::new(whole))
    }
}

impl<T> Clone for EnvelopedReply<T> {
    fn clone(&self) -> Self {
        EnvelopedReply { body: self.body.clone(), of: PhantomData }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use stet_domain::id::{DatabaseId, Loid};
    use stet_domain::object::{FamilyKind, Record};

    use super::*;

    #[derive(Serialize, JsonSchema)]
    struct Count {
        count: usize,
    }

    #[derive(Serialize, JsonSchema)]
    struct Revision {
        revision: u64,
    }

    /// A text that notes the thread on which it is serialised.
    struct Threaded {
        text: String,
        thread: Arc<parking_lot::Mutex<Option<std::thread::ThreadId>>>,
    }

    impl Serialize for Threaded {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            *self.thread.lock() = Some(std::thread::current().id());
            self.text.serialize(serializer)
        }
    }

    #[tokio::test]
    async fn a_large_result_is_tagged_on_another_thread_as_it_would_be_here() {
        let of = RevisionTag::of(&Record::new(
            Loid::new(DatabaseId::FIRST, 7),
            "a",
            "Story",
            FamilyKind::Document,
            &"editor".into(),
            0,
        ));
        for (bytes, is_here) in [(10, true), (offload::LARGE_TEXT, false)] {
            let text = "x".repeat(bytes);
            let wanted = EnvelopedReply::of(&text, bytes).expect("it can be serialised").tag(of);
            let thread = Arc::default();
            let tagged = Json::tagged(Threaded { text, thread: Arc::clone(&thread) }, bytes, of).await;
            assert_eq!(tagged.expect("there is a turn").reply.etag.expect("it has one").value(), wanted.value());
            assert_eq!(*thread.lock() == Some(std::thread::current().id()), is_here, "{bytes}");
        }
    }

    #[test]
    fn a_result_stands_in_its_envelope_and_alone() {
        for count in [0, 12_345] {
            let enveloped = EnvelopedReply::of(&Count { count }, 0).expect("it can be serialised");
            let bare: serde_json::Value =
                serde_json::from_slice(&enveloped.body.bare().into_whole()).expect("it is JSON");
            let whole: serde_json::Value =
                serde_json::from_slice(&enveloped.body.whole().into_whole()).expect("it is JSON");
            assert_eq!((&whole["status"], &whole["result"]), (&json!("success"), &bare));
            assert_eq!(bare, json!({ "count": count }));
        }
    }

    #[test]
    fn a_reply_joined_from_ready_json_equals_the_whole_serialised() {
        let ready = ReadyJson::of(&Count { count: 1 }).expect("it can be serialised");
        let more = Revision { revision: 2 };
        let joined = EnvelopedReply::with(&ready, &more).expect("it can be serialised");
        let whole =
            EnvelopedReply::of(&JoinedMembers { base: Count { count: 1 }, more }, 0).expect("it can be serialised");
        assert_eq!(joined.body.whole().into_whole(), whole.body.whole().into_whole());
    }
}
