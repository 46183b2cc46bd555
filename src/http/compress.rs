//! Replies compressed for clients that ask for it (`Accept-Encoding`, RFC 9110, 12.5.3), by the coders of actix-http, a piece at a time
//! on the threads of requests, which give way to others in between: however many ask for it, those threads alone work on it, and
//! containers and the writer have theirs.
//!
//! Text alone is: JSON, XML and the like, of a certain size. Never what has a coding or is compressed by nature, a part of
//! something, events (each must arrive when it comes), or what holds a secret, whose bytes could be guessed by lengths.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use actix_http::encoding::Encoder;
use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::http::header::{self, AcceptEncoding, ContentEncoding, Encoding, Header, HeaderMap, HeaderValue};
use actix_web::http::{Method, StatusCode};
use actix_web::{HttpRequest, HttpResponse};
use bytes::Bytes;
use stet_actors::object::Text;

use super::held::Held;
use crate::limits::{PIECE, Pool, Taken};

/// Memory of a coder, at most: brotli's with its window.
const CODER_BYTES: u64 = 8 << 20;

/// The same for a reply of no more than a piece, of which no coder sees more than that. It counts too: it is made with the reply's head,
/// and stays while the client has not taken the replies before.
const SMALL_CODER_BYTES: u64 = 1 << 20;

/// The codings, and what they add to the ETag of a representation.
const CODINGS: [(ContentEncoding, &str); 3] =
    [(ContentEncoding::Zstd, ".zst"), (ContentEncoding::Brotli, ".br"), (ContentEncoding::Gzip, ".gz")];

/// The tag of a representation without what a coding has added to it.
pub(super) fn uncoded(tag: &str) -> &str {
    CODINGS.iter().find_map(|(_, suffix)| tag.strip_suffix(suffix)).unwrap_or(tag)
}

/// The coding of `ours` that the client wants most; `None` for none at all.
pub(super) fn wanted(http: &HttpRequest, ours: &[ContentEncoding]) -> Option<ContentEncoding> {
    if !http.headers().contains_key(header::ACCEPT_ENCODING) {
        return None;
    }
    let known: Vec<Encoding> = ours.iter().map(|coding| Encoding::Known(*coding)).collect();
    let accept = AcceptEncoding::parse(http).ok()?;
    match accept.negotiate(known.iter().chain([&Encoding::identity()])) {
        Some(Encoding::Known(coding)) if ours.contains(&coding) => Some(coding),
        _ => None,
    }
}

/// For whom a reply may be compressed, and where.
pub(super) struct Compression<'c> {
    /// Bytes of a reply from which on it is; 0 is never.
    pub from: u64,
    /// Whether there is a secret in it.
    pub secret: bool,
    /// What is in memory for clients that have not taken it.
    pub pool: &'c Pool,
    /// Whom the reply goes to; callers without a session are one.
    pub holder: Option<Text>,
}

impl Compression<'_> {
    /// The reply, compressed if that is of use and asked for. Where too much waits for clients already it goes out as it is.
    pub fn of(self, mut response: HttpResponse, http: &HttpRequest) -> HttpResponse {
        let size = match response.body().size() {
            BodySize::Sized(size) if self.from > 0 && size >= self.from => Some(size),
            BodySize::Stream if self.from > 0 => None,
            _ => return response,
        };
        if self.secret || response.status() != StatusCode::OK || !is_text(response.headers()) {
            return response;
        }
        let ours = CODINGS.map(|(coding, _)| coding);
        let coding = wanted(http, &ours).filter(|_| http.method() != Method::HEAD);
        let coded = coding.and_then(|coding| Some((coding, self.room(size)?)));
        let Some((coding, room)) = coded else {
            response.headers_mut().append(header::VARY, HeaderValue::from_static("accept-encoding"));
            return response;
        };
        if let Some(tag) = response.headers().get(header::ETAG).and_then(|tag| coded_tag(tag, coding)) {
            response.headers_mut().insert(header::ETAG, tag);
        }
        // It says in the head what it does, and that it depends on what was asked for.
        response.map_body(|head, body| {
            let slices = Slices { body, left: Bytes::new(), taken: 0 };
            BoxBody::new(Held::new(Encoder::response(coding, head, slices), room))
        })
    }

    /// Room for a coder, for as long as the reply is under way.
    fn room(&self, size: Option<u64>) -> Option<Taken> {
        let mut room = self.pool.nothing(&self.holder.clone().unwrap_or_else(|| "".into()));
        let is_small = size.is_some_and(|size| size <= PIECE as u64);
        room.grow_to(if is_small { SMALL_CODER_BYTES } else { CODER_BYTES }).then_some(room)
    }
}

/// Whether a body is text that gains from it.
fn is_text(headers: &HeaderMap) -> bool {
    let whole = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = whole.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let known = ["application/json", "application/xml", "application/rss+xml", "application/javascript"];
    let is_text =
        known.contains(&&*kind) || kind.starts_with("text/") || kind.ends_with("+json") || kind.ends_with("+xml");
    is_text && kind != "text/event-stream" && !headers.contains_key(header::CONTENT_ENCODING)
}

/// The tag of a representation in a coding: its bytes are others (RFC 9110, 8.8.3.3). It names the same object and revision.
fn coded_tag(tag: &HeaderValue, coding: ContentEncoding) -> Option<HeaderValue> {
    let (_, suffix) = CODINGS.iter().find(|(known, _)| *known == coding)?;
    HeaderValue::try_from(format!("{}{suffix}\"", tag.to_str().ok()?.strip_suffix('"')?)).ok()
}

/// Bytes that a coder takes at once: it would send more to a thread of its own, of which there may be hundreds.
const SLICE: usize = 1023;

/// A body in slices that a coder works on where it is asked to, with a pause after each piece.
struct Slices {
    body: BoxBody,
    left: Bytes,
    /// Bytes since the last pause.
    taken: usize,
}

impl MessageBody for Slices {
    type Error = <BoxBody as MessageBody>::Error;

    fn size(&self) -> BodySize {
        self.body.size()
    }

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Self::Error>>> {
        if self.taken >= PIECE {
            // The coder gives what it has of the piece, and others come first.
            self.taken = 0;
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

    use super::*;

    #[tokio::test]
    async fn a_coder_is_given_slices_that_it_works_on_at_once_and_pauses() {
        let whole: Vec<u8> = (0..3 * PIECE + 5).map(|at| (at % 251) as u8).collect();
        let mut slices = Slices { body: BoxBody::new(Bytes::from(whole.clone())), left: Bytes::new(), taken: 0 };
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
        // One behind each piece, which ends with a slice.
        assert!(all == whole && pauses == 2, "{} bytes, {pauses} pauses", all.len());
    }

    #[test]
    fn a_coder_counts_while_its_reply_is_under_way_and_without_room_there_is_none() {
        let pool = Pool::new(4 * CODER_BYTES);
        let answer = |bytes: usize| {
            let http = TestRequest::get().insert_header((header::ACCEPT_ENCODING, "br")).to_http_request();
            let response = HttpResponse::Ok().content_type("application/json").body("a".repeat(bytes));
            let holder = Some("reader".into());
            Compression { from: 1, secret: false, pool: &pool, holder }.of(response, &http)
        };
        let is_coded = |response: &HttpResponse| response.headers().contains_key(header::CONTENT_ENCODING);
        // One user has a quarter of the pool.
        let small: Vec<_> = (0..20).map(|_| answer(5000)).collect();
        assert_eq!(small.iter().filter(|response| is_coded(response)).count() as u64, CODER_BYTES / SMALL_CODER_BYTES);
        assert_eq!(pool.taken(), CODER_BYTES);
        assert!(!is_coded(&answer(PIECE + 1)));
        drop(small);
        assert_eq!(pool.taken(), 0);
        let large = answer(PIECE + 1);
        assert!(is_coded(&large) && pool.taken() == CODER_BYTES);
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
