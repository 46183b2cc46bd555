//! The reply of an endpoint, before it is put on the wire.
//!
//! JSON is answered as [`Json`], which names the type that is serialised: the document says of an
//! endpoint what its handler answers. Everything else, for which a schema can only say "bytes" or
//! "text", is a [`Reply`].

use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;

use actix_web::http::header::{HeaderName, HeaderValue};
use bytes::Bytes;
use futures_util::{FutureExt, Stream};
use schemars::JsonSchema;
use serde::Serialize;
use stet_actors::error::Error;
use stet_actors::expect::Tag;
use stet_actors::receipt::KeptReply;

use super::etag::ETag;
use super::minimal::Minimal;
use crate::json::{Changed, Ready, TypeOf, With, type_of, unserialisable};
use crate::limits::SharedReservation;
use crate::limits::offload;

/// A body that comes in pieces.
pub type BodyStream = Pin<Box<dyn Stream<Item = Result<Bytes, actix_web::Error>>>>;

/// What a handler gives.
pub trait Answer {
    /// The schema of the body; `None` if that is not JSON.
    const SCHEMA: Option<TypeOf>;

    /// Whether it may be a [`Minimal`] instead, as the client prefers.
    const MAY_BE_MINIMAL: bool = false;

    /// The body on the wire.
    fn into_reply(self) -> Reply;
}

/// A successful answer.
pub struct Reply {
    /// What it says.
    pub(super) content: Content,
    /// The ETag.
    pub(super) etag: Option<ETag>,
    /// Further headers.
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
    /// Bytes that a body that comes in pieces holds in memory until it has gone.
    pub(super) held: u64,
    /// Whether the client is known to have the representation already: 304.
    pub(super) unchanged: bool,
}

/// The body of an answer.
pub(super) enum Content {
    /// JSON, whole on v3, its `result` alone on the older surface.
    Json(Body),
    /// The short form that the client prefers, likewise.
    Minimal(Body),
    /// JSON, made while it goes out: in its envelope or without it, as the endpoint has it.
    Listing(BodyStream),
    /// Text of the given media type.
    Text(&'static str, String),
    /// Bytes of the given media type, and how many there are.
    Stream(String, u64, BodyStream),
    /// A part of such bytes, and what `Content-Range` says of it: 206.
    Part(String, u64, BodyStream, HeaderValue),
    /// A file of the given media type.
    File(&'static str, Bytes),
    /// The same, made while it goes out.
    Made(&'static str, BodyStream),
    /// Server-sent events, for as long as the client stays.
    Events(BodyStream),
    /// Nothing: the client has the representation already. The media type is that of the
    /// representation.
    NotModified(&'static str),
    /// What the call was answered when it was sent before, headers and all.
    Kept(Arc<KeptReply>),
}

impl Reply {
    fn new(content: Content) -> Reply {
        Reply { content, etag: None, headers: Vec::new(), held: 0, unchanged: false }
    }

    /// Plain text.
    pub fn text(text: impl Into<String>) -> Reply {
        Reply::new(Content::Text("text/plain;charset=utf-8", text.into()))
    }

    /// So many bytes of that media type.
    pub fn stream(media_type: String, size: u64, bytes: BodyStream) -> Reply {
        Reply::new(Content::Stream(media_type, size, bytes))
    }

    /// A part of such bytes; `range` is what `Content-Range` says of it.
    pub fn part(media_type: String, size: u64, bytes: BodyStream, range: HeaderValue) -> Reply {
        Reply::new(Content::Part(media_type, size, bytes, range))
    }

    /// An XML document.
    pub fn xml(text: Bytes) -> Reply {
        Reply::file("application/xml;charset=utf-8", text)
    }

    /// A file of that media type.
    pub(super) fn file(media_type: &'static str, bytes: Bytes) -> Reply {
        Reply::new(Content::File(media_type, bytes))
    }

    /// The same, made while it goes out.
    pub(super) fn made(media_type: &'static str, bytes: BodyStream) -> Reply {
        Reply::new(Content::Made(media_type, bytes))
    }

    /// Server-sent events, for as long as the client stays.
    pub fn events(events: BodyStream) -> Reply {
        Reply::new(Content::Events(events))
    }

    /// The 304 in place of a text that the client has already
    /// ([`Call::has`](super::call::Call::has)).
    pub fn not_modified(etag: ETag) -> Reply {
        Reply::new(Content::NotModified("text/plain")).with_etag(etag)
    }

    /// The 304 in place of a picture that the client has already.
    pub fn picture_not_modified(etag: ETag) -> Reply {
        Reply::new(Content::NotModified("image/jpeg")).with_etag(etag)
    }

    /// Marks a complete reply as one that the client has already, or not: then it is answered
    /// with 304.
    #[must_use]
    pub fn unchanged(mut self, unchanged: bool) -> Reply {
        self.unchanged = unchanged;
        self
    }

    /// JSON that is made while it goes out.
    pub(super) fn listing(json: BodyStream) -> Reply {
        Reply::new(Content::Listing(json))
    }

    /// As short as the client prefers.
    pub(super) fn minimal(minimal: Enveloped<Minimal>) -> Reply {
        Reply::new(Content::Minimal(minimal.body))
    }

    /// What the call was answered when it was sent before.
    pub(super) fn kept(reply: Arc<KeptReply>) -> Reply {
        Reply::new(Content::Kept(reply))
    }

    /// Made in part of so many bytes that are in memory for it until it has gone.
    #[must_use]
    pub fn holding(mut self, bytes: u64) -> Reply {
        self.held = bytes;
        self
    }

    /// All who are sent the bytes of it.
    pub(super) fn share(&self) -> SharedReservation {
        match &self.content {
            Content::Json(body) => body.share(),
            _ => SharedReservation::default(),
        }
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

impl Answer for Reply {
    const SCHEMA: Option<TypeOf> = None;

    fn into_reply(self) -> Reply {
        self
    }
}

/// An answer in JSON, that of a `T`: made of one, or kept from when it was.
pub struct Json<T> {
    reply: Reply,
    of: PhantomData<fn() -> T>,
}

impl<T> Json<T> {
    pub(super) fn new(reply: Reply) -> Json<T> {
        Json { reply, of: PhantomData }
    }

    /// A result.
    ///
    /// # Errors
    /// As [`Enveloped::of`].
    pub fn of(result: &T) -> Result<Json<T>, Error>
    where
        T: Serialize,
    {
        Enveloped::of(result, 0).map(Json::from)
    }

    /// A result of about that number of bytes, with the ETag of its bytes at that revision of the
    /// object that it shows. Megabytes are copied and hashed on another thread.
    ///
    /// # Errors
    /// As [`offload::offload_if_large`]; as [`Enveloped::of`].
    pub async fn tagged(result: T, bytes: usize, of: Tag) -> Result<Json<T>, Error>
    where
        T: Serialize + Send + 'static,
    {
        let made = offload::offload_if_large(bytes, move || {
            let whole = Enveloped::of(&result, bytes)?;
            let tag = whole.tag(of);
            Ok::<(Enveloped<T>, ETag), Error>((whole, tag))
        });
        let (whole, tag) = made.await??;
        Ok(Json::from(whole).with_etag(tag))
    }

    /// A result of about so many bytes, made and serialised where there is time for that many.
    ///
    /// # Errors
    /// As [`offload::offload_if_large`]; what `make` says; as [`Enveloped::of`].
    pub fn made(
        bytes: usize,
        make: impl FnOnce() -> Result<T, Error> + Send + 'static,
    ) -> impl Future<Output = Result<Json<T>, Error>>
    where
        T: Serialize + 'static,
    {
        let made = offload::offload_if_large(bytes, move || Enveloped::of(&make()?, bytes));
        made.map(|made| made?.map(Json::from))
    }

    /// The 304 in place of a reply that the client has already
    /// ([`Call::has`](super::call::Call::has)).
    pub fn not_modified(etag: ETag) -> Json<T> {
        Json::new(Reply::not_modified(etag))
    }

    /// What the call was answered when it was sent before: by the same endpoint, and so a `T` as
    /// well.
    pub(super) fn kept(reply: Arc<KeptReply>) -> Json<T> {
        Json::new(Reply::kept(reply))
    }

    /// With this ETag.
    #[must_use]
    pub fn with_etag(self, etag: ETag) -> Json<T> {
        Json::new(self.reply.with_etag(etag))
    }

    /// With this header.
    #[must_use]
    pub fn with_header(self, name: HeaderName, value: HeaderValue) -> Json<T> {
        Json::new(self.reply.with_header(name, value))
    }

    /// As the answer to a change of what may have gone since.
    pub fn shown<G>(self) -> Json<Changed<T, G>> {
        // The JSON of `Changed::Shown` is that of what is shown.
        Json::new(self.reply)
    }

    /// The result, as it goes on the wire; for tests.
    #[cfg(test)]
    pub fn result(&self) -> serde_json::Value {
        let Content::Json(body) = &self.reply.content else { panic!("there is no body") };
        serde_json::from_slice(&body.bare()).expect("it is JSON")
    }
}

impl<T> From<Enveloped<T>> for Json<T> {
    fn from(enveloped: Enveloped<T>) -> Json<T> {
        Json::new(Reply::new(Content::Json(enveloped.body)))
    }
}

impl<T: JsonSchema> Answer for Json<T> {
    const SCHEMA: Option<TypeOf> = Some(type_of::<T>);

    fn into_reply(self) -> Reply {
        self.reply
    }
}

/// What every v3 reply to a call that succeeded is; of others see
/// [`super::error::FailureEnvelope`].
#[derive(Serialize)]
struct Envelope<R> {
    status: &'static str,
    result: R,
}

/// A result in the envelope of a call that succeeded.
pub(super) fn envelope<R: Serialize>(result: R) -> impl Serialize {
    Envelope { status: "success", result }
}

/// The text before and after the `result` of a successful [`Envelope`].
pub(super) const AROUND: (&[u8], &[u8]) = (b"{\"status\":\"success\",\"result\":", b"}");

/// The JSON of a result in its envelope.
#[derive(Clone)]
pub(super) struct Body {
    bytes: Bytes,
    /// All who are sent these bytes.
    share: SharedReservation,
}

impl Body {
    /// Envelope and all.
    pub(super) fn whole(self) -> Bytes {
        self.bytes
    }

    /// The result alone.
    pub(super) fn bare(&self) -> Bytes {
        let (before, after) = AROUND;
        self.bytes.slice(before.len()..self.bytes.len() - after.len())
    }

    /// All who are sent it.
    pub(super) fn share(&self) -> SharedReservation {
        self.share.clone()
    }
}

/// A result of type `T` as it goes on the wire, to be sent any number of times. A clone shares the
/// bytes.
pub struct Enveloped<T> {
    body: Body,
    of: PhantomData<fn() -> T>,
}

impl<T> Enveloped<T> {
    pub(super) fn new(mut whole: Vec<u8>) -> Enveloped<T> {
        debug_assert!(whole.starts_with(AROUND.0) && whole.ends_with(AROUND.1), "it stands in its envelope");
        // It may be kept.
        let unused = whole.capacity() - whole.len();
        if unused > 4096 && unused > whole.len() / 8 {
            whole.shrink_to_fit();
        }
        Enveloped { body: Body { bytes: whole.into(), share: SharedReservation::default() }, of: PhantomData }
    }

    /// Serialises a result; `bytes` is about how long what is ready in it is, 0 if that is not
    /// known.
    ///
    /// # Errors
    /// None for the types that endpoints answer with: texts, numbers, lists and maps with text
    /// keys.
    pub fn of(result: &T, bytes: usize) -> Result<Enveloped<T>, Error>
    where
        T: Serialize,
    {
        // With room for a record, so that the bytes need not move while they grow.
        let mut whole = Vec::with_capacity(bytes + 2048);
        serde_json::to_writer(&mut whole, &envelope(result)).map_err(|error| unserialisable(&error))?;
        Ok(Enveloped::new(whole))
    }

    /// How many bytes it takes.
    pub fn bytes(&self) -> usize {
        self.body.bytes.len()
    }

    /// Its ETag, at that revision of the object that it shows.
    pub fn tag(&self, of: Tag) -> ETag {
        ETag::new(of, &*self.body.bytes)
    }
}

impl<T, M: Serialize> Enveloped<With<T, M>> {
    /// A base that is ready, and more members behind its own.
    ///
    /// # Errors
    /// As [`Enveloped::of`].
    pub fn with(base: &Ready<T>, more: &M) -> Result<Enveloped<With<T, M>>, Error> {
        let (before, after) = AROUND;
        let mut whole = Vec::with_capacity(before.len() + base.text().len() + 64);
        whole.extend_from_slice(before);
        With::write(base, more, &mut whole)?;
        whole.extend_from_slice(after);
        Ok(Enveloped::new(whole))
    }
}

impl<T> Clone for Enveloped<T> {
    fn clone(&self) -> Self {
        Enveloped { body: self.body.clone(), of: PhantomData }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use stet_actors::id::{DatabaseId, Loid};
    use stet_actors::object::{FamilyKind, Record};

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
        let of = Tag::of(&Record::new(
            Loid::new(DatabaseId::FIRST, 7),
            "a",
            "Story",
            FamilyKind::Document,
            &"editor".into(),
            0,
        ));
        for (bytes, is_here) in [(10, true), (offload::LARGE_TEXT, false)] {
            let text = "x".repeat(bytes);
            let wanted = Enveloped::of(&text, bytes).expect("it can be serialised").tag(of);
            let thread = Arc::default();
            let tagged = Json::tagged(Threaded { text, thread: Arc::clone(&thread) }, bytes, of).await;
            assert_eq!(tagged.expect("there is a turn").reply.etag.expect("it has one").value(), wanted.value());
            assert_eq!(*thread.lock() == Some(std::thread::current().id()), is_here, "{bytes}");
        }
    }

    #[test]
    fn a_result_stands_in_its_envelope_and_alone() {
        for count in [0, 12_345] {
            let enveloped = Enveloped::of(&Count { count }, 0).expect("it can be serialised");
            let bare: serde_json::Value = serde_json::from_slice(&enveloped.body.bare()).expect("it is JSON");
            let whole: serde_json::Value = serde_json::from_slice(&enveloped.body.whole()).expect("it is JSON");
            assert_eq!((&whole["status"], &whole["result"]), (&json!("success"), &bare));
            assert_eq!(bare, json!({ "count": count }));
        }
    }

    #[test]
    fn what_is_ready_is_sent_as_the_whole_would_be() {
        let ready = Ready::of(&Count { count: 1 }).expect("it can be serialised");
        let more = Revision { revision: 2 };
        let joined = Enveloped::with(&ready, &more).expect("it can be serialised");
        let whole = Enveloped::of(&With { base: Count { count: 1 }, more }, 0).expect("it can be serialised");
        assert_eq!(joined.body.whole(), whole.body.whole());
    }
}
