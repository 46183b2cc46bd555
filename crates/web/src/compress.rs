//! The compression of replies for clients that ask for it (`Accept-Encoding`, RFC 9110, 12.5.3).
//!
//! The coders of actix-http run on the threads that serve requests, one piece at a time, and yield
//! to other calls in between. So compression takes no time from containers and the writer, whatever
//! the number of clients.
//!
//! Only text above a certain size is compressed: JSON, XML and the like. Exceptions are replies
//! that have a coding already, partial replies, events (each must arrive at once), and replies with
//! a secret, whose bytes could be guessed from lengths.

use std::cell::Cell;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use actix_http::ResponseHead;
use actix_http::encoding::Encoder;
use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::http::header::{self, AcceptEncoding, ContentEncoding, Encoding, Header, HeaderMap, HeaderValue};
use actix_web::http::{Method, StatusCode};
use actix_web::{HttpRequest, HttpResponse};
use bytes::Bytes;
use stet_base::limits::{Holder, MemoryBudget, MemoryPurpose, PIECE, Reservation, give_way};

use super::etag::{self, ETag};
use super::held::GuardedBody;

/// The most memory that a coder takes: brotli's, with its window.
const CODER_BYTES: u64 = 8 << 20;

/// The most memory that a coder takes for a reply of at most one piece. It is counted too: the
/// coder is created with the reply's head and stays until the client has taken the earlier replies.
const SMALL_CODER_BYTES: u64 = 1 << 20;

/// The codings, and the suffix that each adds to the ETag of a representation.
pub(super) const CODINGS: [(ContentEncoding, &str); 3] =
    [(ContentEncoding::Zstd, ".zst"), (ContentEncoding::Brotli, ".br"), (ContentEncoding::Gzip, ".gz")];

/// Returns the tag of a representation without the suffix of a coding.
pub(super) fn without_coding(tag: &str) -> &str {
    CODINGS.iter().find_map(|(_, suffix)| tag.strip_suffix(suffix)).unwrap_or(tag)
}

/// Returns the coding for a complete text reply to this request; `None` for no coding.
pub(super) fn negotiate_coding(http: &HttpRequest) -> Option<ContentEncoding> {
    if http.method() == Method::HEAD || !http.headers().contains_key(header::ACCEPT_ENCODING) {
        return None;
    }
    let known: Vec<Encoding> = CODINGS.iter().map(|(coding, _)| Encoding::Known(*coding)).collect();
    let accept = AcceptEncoding::parse(http).ok()?;
    match accept.negotiate(known.iter().chain([&Encoding::identity()])) {
        Some(Encoding::Known(coding)) if CODINGS.iter().any(|(ours, _)| *ours == coding) => Some(coding),
        _ => None,
    }
}

/// Reports whether the tag of a 304 follows from the request alone.
///
/// A 304 has the tag of the reply itself (RFC 9110, 15.4.5). If the client accepts a coding but
/// names no compressed form of the text, the tag depends on the size of the text. Then the reply
/// must be rendered first.
pub(super) fn is_form_known(http: &HttpRequest, from: u64, tag: &ETag) -> bool {
    from == 0 || negotiate_coding(http).is_none() || names_coded_form(http, tag)
}

/// Reports whether the client has a compressed form of a representation. Then its text is known to
/// be long enough for compression.
fn names_coded_form(http: &HttpRequest, tag: &ETag) -> bool {
    let coded = CODINGS.iter().filter_map(|(coding, _)| coded_tag(tag.value(), *coding));
    coded.into_iter().any(|coded| etag::names_tag(http.headers(), &coded))
}

/// The rules for compressing a reply, and the memory for that.
pub(super) struct Compression<'c> {
    /// The smallest reply that is compressed, in bytes; 0 compresses none.
    pub from: u64,
    /// Whether the reply contains a secret.
    pub secret: bool,
    /// The budget for replies that clients have not taken yet.
    pub memory: &'c MemoryBudget,
    /// The caller who gets the reply.
    pub holder: Option<Holder>,
}

impl Compression<'_> {
    /// Compresses a reply if the client asks for it and gains from it. If too many replies are
    /// waiting for their clients already, the reply is sent uncompressed.
    pub fn of(self, mut response: HttpResponse, http: &HttpRequest) -> HttpResponse {
        if response.status() != StatusCode::OK || !self.varies(&response) {
            return response;
        }
        let size = response.body().size();
        let coded = negotiate_coding(http).and_then(|coding| Some((coding, self.room(size)?)));
        let Some((coding, room)) = coded else {
            response.headers_mut().append(header::VARY, VARY);
            return response;
        };
        if let Some(tag) = response.headers().get(header::ETAG).and_then(|tag| coded_tag(tag, coding)) {
            response.headers_mut().insert(header::ETAG, tag);
        }
        // The encoder adds `Content-Encoding` and `Vary` to the head.
        response.map_body(|head, body| BoxBody::new(GuardedBody::new(encoder(coding, head, body), room)))
    }

    /// Builds the 304 in place of a reply that the client has already, with the tag and the `Vary`
    /// of that reply.
    ///
    /// If `response` is a 304 itself, the reply was not rendered, and its size is known from
    /// [`is_form_known`] alone.
    pub fn not_modified(&self, response: &HttpResponse, http: &HttpRequest) -> HttpResponse {
        let tag = response.headers().get(header::ETAG);
        let was_made = response.status() != StatusCode::NOT_MODIFIED;
        let varies = match was_made {
            true => response.status() == StatusCode::OK && self.varies(response),
            false => self.from > 0 && !self.secret && is_text(response.headers()),
        };
        let names_coded = || tag.is_some_and(|tag| names_coded_form(http, &ETag::from(tag.clone())));
        let coding = negotiate_coding(http).filter(|_| varies && (was_made || names_coded()));
        let mut bare = HttpResponse::NotModified();
        if let Some(tag) = tag {
            let coded = coding.and_then(|coding| coded_tag(tag, coding));
            bare.insert_header((header::ETAG, coded.unwrap_or_else(|| tag.clone())));
        }
        if let Some(control) = response.headers().get(header::CACHE_CONTROL) {
            bare.insert_header((header::CACHE_CONTROL, control.clone()));
        }
        if varies {
            bare.insert_header((header::VARY, VARY));
        }
        bare.finish()
    }

    /// Reports whether the form of a complete reply depends on the codings that the client accepts.
    fn varies(&self, response: &HttpResponse) -> bool {
        let is_long_enough = match response.body().size() {
            BodySize::Sized(size) => size >= self.from,
            BodySize::Stream => true,
            BodySize::None => false,
        };
        self.from > 0 && is_long_enough && !self.secret && is_text(response.headers())
    }

    /// Reserves memory for a coder until the reply has been sent.
    fn room(&self, size: BodySize) -> Option<Reservation> {
        let room = self.memory.reservation(self.holder.clone(), MemoryPurpose::Replies);
        let is_small = matches!(size, BodySize::Sized(size) if size <= PIECE as u64);
        room.try_grow_to(if is_small { SMALL_CODER_BYTES } else { CODER_BYTES }).then_some(room)
    }
}

/// The value of `Vary` of replies that are compressed for some clients.
pub(super) const VARY: HeaderValue = HeaderValue::from_static("accept-encoding");

/// Wraps a body in a coder, which runs one piece at a time on the thread that sends it.
pub(super) fn encoder(coding: ContentEncoding, head: &mut ResponseHead, body: BoxBody) -> impl MessageBody + 'static {
    let is_due = Rc::new(Cell::new(false));
    let slices = BodySlices { body, left: Bytes::new(), taken: 0, is_due: is_due.clone() };
    PausingEncoder { coder: Box::pin(Encoder::response(coding, head, slices)), is_due, pause: None }
}

/// A coder that pauses after each piece. When its body is not ready, the coder returns its output
/// so far and is polled again at once. So the pause is made around the coder.
struct PausingEncoder<B> {
    coder: Pin<Box<B>>,
    /// Whether a piece has been taken since the last pause.
    is_due: Rc<Cell<bool>>,
    /// The pause during which other calls run.
    pause: Option<Pin<Box<dyn Future<Output = ()>>>>,
}

impl<B: MessageBody> MessageBody for PausingEncoder<B> {
    type Error = B::Error;

    fn size(&self) -> BodySize {
        self.coder.size()
    }

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Self::Error>>> {
        if self.is_due.take() {
            self.pause = Some(Box::pin(give_way()));
        }
        if let Some(pause) = &mut self.pause {
            ready!(pause.as_mut().poll(cx));
            self.pause = None;
        }
        self.coder.as_mut().poll_next(cx)
    }
}

/// Reports whether a body is text that gains from compression.
fn is_text(headers: &HeaderMap) -> bool {
    let whole = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = whole.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let known = ["application/json", "application/xml", "application/rss+xml", "application/javascript"];
    let is_text =
        known.contains(&&*kind) || kind.starts_with("text/") || kind.ends_with("+json") || kind.ends_with("+xml");
    is_text && kind != "text/event-stream" && !headers.contains_key(header::CONTENT_ENCODING)
}

/// Returns the tag of a representation in a coding, which differs because the bytes do (RFC 9110,
/// 8.8.3.3). It names the same object and revision.
fn coded_tag(tag: &HeaderValue, coding: ContentEncoding) -> Option<HeaderValue> {
    let (_, suffix) = CODINGS.iter().find(|(known, _)| *known == coding)?;
    HeaderValue::try_from(format!("{}{suffix}\"", tag.to_str().ok()?.strip_suffix('"')?)).ok()
}

/// The number of bytes that a coder gets at once. The coder would send more to a thread of its own,
/// and there may be hundreds of those.
const SLICE: usize = 1023;

/// A body in slices that a coder processes on the calling thread. It pauses after each piece.
struct BodySlices {
    body: BoxBody,
    left: Bytes,
    /// Bytes since the last pause.
    taken: usize,
    /// Set at each pause, for the [`PausingEncoder`] around the coder.
    is_due: Rc<Cell<bool>>,
}

impl MessageBody for BodySlices {
    type Error = <BoxBody as MessageBody>::Error;

    fn size(&self) -> BodySize {
        self.body.size()
    }

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Self::Error>>> {
        if self.taken >= PIECE {
            // The coder returns its output for the piece, and other calls run first.
            self.taken = 0;
            self.is_due.set(true);
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        while self.left.is_empty() {
            match ready!(Pin::new(&mut self.body).poll_next(cx)) {
                Some(Ok(piece)) => self.left = piece,
                ended => return Poll::Ready(ended),
            }
        }
        let size = self.left.len().min(SLICE);
        self.taken += size;
        Poll::Ready(Some(Ok(self.left.split_to(size))))
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use actix_web::test::TestRequest;
    use stet_base::limits::{CallTask, TimeSlices};

    use super::*;

    #[tokio::test]
    async fn a_coder_is_given_slices_that_it_works_on_at_once_and_pauses() {
        let whole: Vec<u8> = (0..3 * PIECE + 5).map(|at| (at % 251) as u8).collect();
        let body = BoxBody::new(Bytes::from(whole.clone()));
        let mut slices = BodySlices { body, left: Bytes::new(), taken: 0, is_due: Rc::default() };
        let (mut all, mut pauses) = (Vec::new(), 0);
        loop {
            let next = poll_fn(|cx| match Pin::new(&mut slices).poll_next(cx) {
                Poll::Pending => Poll::Ready(None),
                ready => Poll::Ready(Some(ready)),
            });
            match next.await {
                None => pauses += 1,
                Some(Poll::Ready(Some(slice))) => {
                    let slice = slice.expect("bytes can't fail");
                    assert!(!slice.is_empty() && slice.len() <= SLICE);
                    all.extend_from_slice(&slice);
                }
                Some(_) => break,
            }
        }
        // One pause after each piece, which ends with a slice.
        assert!(all == whole && pauses == 2, "{} bytes, {pauses} pauses", all.len());
    }

    /// The coder answered each pause of its body with its output and continued. So a long reply
    /// monopolised its thread.
    #[tokio::test]
    async fn compressed_bodies_yield_after_each_piece() {
        for (coding, _) in CODINGS {
            let mut response = actix_http::Response::ok();
            let body = BoxBody::new(Bytes::from(vec![b'a'; 10 * PIECE]));
            let mut coded = Box::pin(encoder(coding, response.head_mut(), body));
            let mut pauses = 0;
            while let Some(piece) = poll_fn(|cx| match coded.as_mut().poll_next(cx) {
                Poll::Pending => Poll::Ready(Some(None)),
                Poll::Ready(piece) => Poll::Ready(piece.map(Some)),
            })
            .await
            {
                match piece {
                    Some(piece) => drop(piece.map_err(|_| "coded").expect("bytes can't fail")),
                    None => pauses += 1,
                }
            }
            assert!(pauses >= 9, "{coding:?}: {pauses}");
        }
    }

    #[tokio::test]
    async fn a_coder_goes_on_in_the_turn_of_whom_the_reply_goes_to() {
        let slices = TimeSlices::new(1);
        let other = CallTask::busy("other", &slices).run(slices.slice()).await;
        let task = CallTask::busy("reader", &slices);
        let mut response = actix_http::Response::ok();
        let body = BoxBody::new(Bytes::from(vec![b'a'; 10 * PIECE]));
        let mut coded = Box::pin(encoder(ContentEncoding::Gzip, response.head_mut(), body));
        let mut pieces = 0;
        let mut next = async || {
            let waiting = poll_fn(|cx| Poll::Ready(task.poll(|| coded.as_mut().poll_next(cx)).0.is_pending())).await;
            pieces += usize::from(!waiting);
            tokio::task::yield_now().await;
            pieces
        };
        // The head of the coded text is written before the first pause.
        for _ in 0..20 {
            assert!(next().await <= 2);
        }
        drop(other);
        for _ in 0..20 {
            next().await;
        }
        assert!(next().await > 5, "it has not gone on");
    }

    #[test]
    fn compression_reserves_memory_during_the_reply_and_is_skipped_without() {
        let pool = MemoryBudget::new(4 * CODER_BYTES);
        let answer = |bytes: usize| {
            let http = TestRequest::get().insert_header((header::ACCEPT_ENCODING, "br")).to_http_request();
            let response = HttpResponse::Ok().content_type("application/json").body("a".repeat(bytes));
            let holder = Some(Holder::User("reader".into()));
            Compression { from: 1, secret: false, memory: &pool, holder }.of(response, &http)
        };
        let is_coded = |response: &HttpResponse| response.headers().contains_key(header::CONTENT_ENCODING);
        // One user may take a quarter of the pool.
        let small: Vec<_> = (0..20).map(|_| answer(5000)).collect();
        assert_eq!(small.iter().filter(|response| is_coded(response)).count() as u64, CODER_BYTES / SMALL_CODER_BYTES);
        assert_eq!(pool.reserved(), CODER_BYTES);
        assert!(!is_coded(&answer(PIECE + 1)));
        drop(small);
        assert_eq!(pool.reserved(), 0);
        let large = answer(PIECE + 1);
        assert!(is_coded(&large) && pool.reserved() == CODER_BYTES);
    }

    #[test]
    fn text_alone_is_compressed_and_events_are_not() {
        let is = |kind: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_str(kind).expect("it is a header's value"));
            is_text(&headers)
        };
        for text in [
            "application/json",
            "text/plain;charset=utf-8",
            "APPLICATION/XML",
            "image/svg+xml",
            "application/vnd.stet.minimal+json",
        ] {
            assert!(is(text), "{text}");
        }
        for other in ["image/jpeg", "application/octet-stream", "text/event-stream", "application/zip", ""] {
            assert!(!is(other), "{other}");
        }
    }
}
