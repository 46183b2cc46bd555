//! Conversion of replies for storage and replay.

use actix_web::HttpResponse;
use actix_web::body::{BoxBody, MessageBody};
use actix_web::http::StatusCode;
use actix_web::http::header::{self, HeaderName, HeaderValue};
use bytes::Bytes;
use stet_domain::receipt::KeptReply;

/// The header that marks a replayed reply.
const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// The largest body that is kept, in bytes. Replies to changes have a few KB, and lists that a POST
/// reads can be rendered again.
const MAX_BODY: usize = 256 << 10;

/// Returns a response, and its copy if it may be kept.
pub(super) fn copy_reply(response: HttpResponse, rights: u64) -> (HttpResponse, Option<KeptReply>) {
    if !may_be_kept(&response) {
        return (response, None);
    }
    let (head, body) = response.into_parts();
    let body = match body.try_into_bytes() {
        Ok(bytes) => bytes,
        Err(stream) => return (head.set_body(stream), None),
    };
    let headers = head.headers().iter();
    let headers = headers.map(|(name, value)| (name.to_string(), Bytes::copy_from_slice(value.as_bytes()))).collect();
    let kept = KeptReply { status: head.status().as_u16(), headers, body: body.clone(), rights };
    (head.set_body(BoxBody::new(body)), Some(kept).filter(|kept| kept.body.len() <= MAX_BODY))
}

/// Reports whether a reply is a success, and contains nothing that only the first caller may see.
fn may_be_kept(response: &HttpResponse) -> bool {
    let headers = response.headers();
    let secret = headers.contains_key(header::SET_COOKIE)
        || headers
            .get_all(header::CACHE_CONTROL)
            .any(|value| value.to_str().is_ok_and(|value| value.to_ascii_lowercase().contains("no-store")));
    response.status().is_success() && !secret
}

/// Builds the response from a kept reply.
pub fn replay(reply: &KeptReply) -> HttpResponse {
    // Only statuses of successful responses are kept, so this one is valid.
    let status = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::OK);
    let mut response = HttpResponse::build(status).body(reply.body.clone());
    let headers = response.headers_mut();
    headers.remove(header::CONTENT_TYPE);
    for (name, value) in &reply.headers {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name.as_str()), HeaderValue::from_bytes(value)) {
            headers.append(name, value);
        }
    }
    headers.insert(REPLAYED, HeaderValue::from_static("true"));
    response
}
