//! The responses of HTTP, built from replies and errors.

use actix_web::http::header::{self, HeaderName, HeaderValue};
use actix_web::http::{ConnectionType, Method, StatusCode};
use actix_web::{HttpRequest, HttpResponse};
use bytes::Bytes;
use futures_util::stream::empty;
use stet_domain::error::{Code, Error};
use stet_domain::trace::RequestId;
use stet_newsroom::caller::Warnings;

use super::app::{App, ServerStage, as_header};
use super::error::{ApiSurface, ErrorReply};
use super::reply::{BodyStream, Reply, ReplyBody};
use super::route::{ReplyFormat, Route};
use super::{cors, idempotency, minimal, pieces, warnings};

/// The response header with the request's id.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Builds the complete response, and reports whether the client has it already.
pub(super) fn render(
    reply: Reply,
    route: Option<&'static Route>,
    warnings: &Warnings,
    surface: ApiSurface,
    http: &HttpRequest,
) -> (HttpResponse, bool) {
    let Reply { content, etag, headers, held: _, unchanged } = reply;
    // A reply may be unconditional; then its ETag decides here.
    let reading = matches!(*http.method(), Method::GET | Method::HEAD);
    let matches_etag = reading && etag.as_ref().is_some_and(|tag| tag.is_known(http.headers()));
    let client_has_it = unchanged || matches_etag || matches!(content, ReplyBody::NotModified(_));
    let json = match route.map(|route| route.produces) {
        Some(ReplyFormat::Xml) => "application/xml;charset=utf-8",
        _ => "application/json",
    };
    // A browser might show this content as a page. It may run and load nothing, and must not send
    // its address, which may contain a token.
    let page = matches!(
        content,
        ReplyBody::Stream(..) | ReplyBody::Part(..) | ReplyBody::File(..) | ReplyBody::StreamedFile(..)
    ) || json.starts_with("application/xml");
    let mut response = match content {
        ReplyBody::NotModified(media_type) => HttpResponse::NotModified().content_type(media_type).finish(),
        ReplyBody::Kept(kept) => idempotency::replay(&kept),
        ReplyBody::Json(body) => {
            let text = if surface == ApiSurface::V3 { warnings::beside(warnings, body.whole()) } else { body.bare() };
            HttpResponse::Ok().content_type(json).body(pieces::body_of(text))
        }
        ReplyBody::Minimal(body) => {
            let text = warnings::beside(warnings, body.whole());
            HttpResponse::Ok().content_type(minimal::MEDIA_TYPE).body(pieces::body_of(text))
        }
        ReplyBody::Listing(stream) => render_streamed(json, stream, http),
        ReplyBody::StreamedFile(media_type, stream) => render_streamed(media_type, stream, http),
        ReplyBody::File(media_type, bytes) => HttpResponse::Ok().content_type(media_type).body(bytes),
        ReplyBody::Text(media_type, text) => HttpResponse::Ok().content_type(media_type).body(text),
        ReplyBody::Stream(media_type, size, stream) => {
            let body = actix_web::body::SizedStream::new(size, stream);
            HttpResponse::Ok().content_type(media_type).body(body)
        }
        ReplyBody::Part(media_type, size, stream, range) => {
            let body = actix_web::body::SizedStream::new(size, stream);
            let mut response = HttpResponse::PartialContent();
            response.content_type(media_type).insert_header((header::CONTENT_RANGE, range)).body(body)
        }
        // After the last event, the connection is closed.
        ReplyBody::Events(stream) => {
            HttpResponse::Ok().content_type("text/event-stream").force_close().streaming(stream)
        }
    };
    let out = response.headers_mut();
    if page {
        out.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("default-src 'none'; sandbox"));
        out.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    }
    if let Some(etag) = etag {
        out.insert(header::ETAG, etag.value().clone());
        out.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    }
    if route.is_some_and(|route| route.secret) {
        out.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    for (name, value) in headers {
        out.append(name, value);
    }
    (response, client_has_it)
}

/// Builds the response whose body is rendered while it is sent. For a HEAD nothing is rendered.
fn render_streamed(media_type: &'static str, stream: BodyStream, http: &HttpRequest) -> HttpResponse {
    let mut response = HttpResponse::Ok();
    match *http.method() {
        Method::HEAD => response.content_type(media_type).streaming(empty::<Result<Bytes, actix_web::Error>>()),
        _ => response.content_type(media_type).streaming(stream),
    }
}

pub(super) fn render_error(
    app: &App,
    error: &Error,
    surface: ApiSurface,
    http: &HttpRequest,
    request_id: RequestId,
) -> HttpResponse {
    let request_id = &request_id.to_string();
    let failure = ErrorReply { error, surface, request_id, prefix: &app.config.compat.code_prefix };
    let (media_type, bytes) = failure.body(http.headers());
    let mut response = HttpResponse::build(failure.status()).content_type(media_type).body(bytes);
    for (name, value) in failure.headers() {
        response.headers_mut().insert(name, value);
    }
    if error.code == Code::MethodNotAllowed
        && let Some(allow) = error.details.as_ref().and_then(|details| details.get("allow")?.as_str())
        && let Ok(allow) = HeaderValue::from_str(allow)
    {
        response.headers_mut().insert(header::ALLOW, allow);
    }
    response
}

/// Adds the headers that every response has.
pub(super) fn finish(app: &App, http: &HttpRequest, mut response: HttpResponse, request_id: RequestId) -> HttpResponse {
    let bodiless = response.status() == StatusCode::NOT_MODIFIED;
    if app.stage() == ServerStage::Draining {
        // The client opens another connection for its next call, and a load balancer may choose
        // another server for it.
        response.head_mut().set_connection_type(ConnectionType::Close);
    }
    let headers = response.headers_mut();
    headers.insert(REQUEST_ID, as_header(request_id));
    cors::admit(app, http, headers);
    // The header describes a body, and a 304 has none. The client has it from the reply that it
    // keeps (RFC 9110, 15.4.5).
    if bodiless {
        return response;
    }
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if let Some(value) = &app.strict_transport {
        headers.insert(header::STRICT_TRANSPORT_SECURITY, value.clone());
    }
    response
}
