//! The `Idempotency-Key` of a request, and replies as its receipt keeps them.
//!
//! Replies with `Cache-Control: no-store` or `Set-Cookie` are not kept: a repeated call renders
//! them again from the outcome.

use std::sync::Arc;

use actix_web::HttpResponse;
use actix_web::body::{BoxBody, MessageBody};
use actix_web::http::StatusCode;
use actix_web::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use bytes::Bytes;
use stet_domain::error::{Error, Result};
use stet_domain::object::SharedText;
use stet_domain::receipt::KeptReply;
use stet_newsroom::caller::Caller;
use stet_newsroom::receipts::{Claim, Receipts};

use super::query::{self, QueryPairs};
use super::route::Route;

/// The request header with the key.
const KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The header that marks a replayed reply.
const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// The largest number of characters of a key.
const MAX_KEY: usize = 255;

/// Returns the key of a request.
///
/// # Errors
/// `InvalidParameter` for a malformed key.
fn idempotency_key(headers: &HeaderMap) -> Result<Option<SharedText>> {
    let mut values = headers.get_all(&KEY);
    let Some(value) = values.next() else { return Ok(None) };
    let text = String::from_utf8_lossy(value.as_bytes());
    let wanted = format!("1 to {MAX_KEY} visible ASCII characters, given once");
    let well = (1..=MAX_KEY).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
    if !well || values.next().is_some() {
        let shown: String = text.chars().take(MAX_KEY).collect();
        return Err(Error::parameter("Idempotency-Key", shown, &wanted));
    }
    Ok(Some((&*text).into()))
}

/// Claims the call's `Idempotency-Key`, if it has one.
///
/// # Errors
/// Errors of [`Receipts::claim`](stet_newsroom::receipts::Receipts::claim).
pub(super) fn claim(
    caller: &Caller,
    route: &Route,
    path: &str,
    pairs: &QueryPairs<'_>,
    headers: &HeaderMap,
) -> Result<Option<Arc<Claim>>> {
    let Some(session) = caller.session().filter(|_| route.takes_key()) else { return Ok(None) };
    let Some(key) = idempotency_key(headers)? else { return Ok(None) };
    // The token is no part of the call's identity: a retry may have the token of a new login.
    let query = pairs.iter().filter(|(name, _)| !name.eq_ignore_ascii_case(query::TOKEN));
    let target = [route.method.name(), path].into_iter().chain(query.flat_map(|(name, value)| [name, value]));
    caller.newsroom().receipts.claim(key, &session.acts_as(), caller.rights(), target).map(Some)
}

/// Keeps the reply to a call, if it may be kept. Returns the response.
pub(super) fn keep(receipts: &Arc<Receipts>, claim: &Claim, response: HttpResponse) -> HttpResponse {
    let (response, reply) = copy_reply(response, claim.rights());
    if let Some(reply) = reply {
        receipts.keep(claim, reply);
    }
    response
}

/// Returns a response, and its copy if it may be kept.
fn copy_reply(response: HttpResponse, rights: u64) -> (HttpResponse, Option<KeptReply>) {
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
    (head.set_body(BoxBody::new(body)), Some(kept))
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
pub(super) fn replay(reply: &KeptReply) -> HttpResponse {
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

#[cfg(test)]
mod tests {
    use stet_domain::error::Code;

    use super::*;

    fn with_key(key: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(KEY, key.parse().unwrap());
        headers
    }

    #[test]
    fn a_key_is_visible_ascii_of_a_bounded_length_given_once() {
        let long = "k".repeat(MAX_KEY);
        for good in ["k", "\"k\"", long.as_str()] {
            assert_eq!(idempotency_key(&with_key(good)).unwrap().as_deref(), Some(good));
        }
        assert_eq!(idempotency_key(&HeaderMap::new()), Ok(None));
        let mut bad: Vec<HeaderMap> = ["", "a b", "\t"].into_iter().map(with_key).collect();
        bad.push(with_key(&format!("{long}k")));
        let mut umlaut = HeaderMap::new();
        umlaut.insert(KEY, HeaderValue::from_bytes("ü".as_bytes()).unwrap());
        bad.push(umlaut);
        let mut twice = with_key("k");
        twice.append(KEY, HeaderValue::from_static("k"));
        bad.push(twice);
        for headers in bad {
            let error = idempotency_key(&headers).unwrap_err();
            assert_eq!(error.code, Code::InvalidParameter, "{headers:?}");
            assert!(error.message.contains("Idempotency-Key"), "{}", error.message);
        }
    }

    fn taken_body(response: HttpResponse) -> Bytes {
        response.into_body().try_into_bytes().expect("it is whole")
    }

    #[test]
    fn a_kept_reply_is_repeated_word_for_word_and_marked() {
        let mut response = HttpResponse::Created();
        response.insert_header(("etag", "\"1-a\"")).content_type("application/json");
        let (sent, kept) = copy_reply(response.body("reply"), 7);
        let kept = kept.expect("it is kept");
        assert_eq!((kept.status, kept.rights), (201, 7));
        let replayed = replay(&kept);
        assert_eq!(replayed.headers().get("idempotency-replayed").unwrap(), "true");
        for response in [sent, replayed] {
            assert_eq!(response.status(), StatusCode::CREATED);
            assert_eq!(response.headers().get("etag").unwrap(), "\"1-a\"");
            assert_eq!(response.headers().get("content-type").unwrap(), "application/json");
            assert_eq!(taken_body(response), "reply");
        }
    }

    #[test]
    fn failures_and_secrets_are_not_kept() {
        for response in [
            HttpResponse::BadRequest().body("no"),
            HttpResponse::Ok().insert_header(("cache-control", "private, No-Store")).body("secret"),
            HttpResponse::Ok().insert_header(("set-cookie", "a=b")).body("secret"),
        ] {
            let (sent, kept) = copy_reply(response, 0);
            assert_eq!(kept, None);
            assert!(!taken_body(sent).is_empty(), "it is sent all the same");
        }
    }
}
