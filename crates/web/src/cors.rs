//! CORS: what a browser lets pages of other sites request, and which replies they may read.
//!
//! Only the origins of `server.cors_origins` get CORS headers. For all others, and if none is
//! listed, the server behaves as one without CORS, and browsers withhold its replies from the
//! pages.
//!
//! # Why not actix-cors
//!
//! Version 0.7.2, with the origins, methods and headers below, behaves as follows:
//!
//! - Origins that are not listed, and requests without one, still get
//!   `Access-Control-Allow-Credentials`, `Access-Control-Expose-Headers` and `Vary: Origin,
//!   Access-Control-Request-Method, Access-Control-Request-Headers`. They only lack
//!   `Access-Control-Allow-Origin`. Caches in between then distinguish replies by three request
//!   headers that affect none of them.
//! - A preflight from an origin that is not listed, or for another method or header, is 400 with a
//!   line of text. Here every `OPTIONS` is 405 `MethodNotAllowed` with `Allow`. The middleware runs
//!   before the endpoints, so its own answers have no `X-Request-Id`.
//! - A preflight is 200, not 204, and its lists are in another order in each process: the methods
//!   are a set.
//! - The same list decides which pages may write with a cookie alone (the module `identify`). That
//!   check would need a list of its own.

use actix_web::http::Method;
use actix_web::http::header::{self, HeaderMap, HeaderValue};
use actix_web::{HttpRequest, HttpResponse};

use super::app::App;
use super::headers::{ALLOWED_OF_PAGES, EXPOSED_TO_PAGES};
use super::origin::listed_origin;

/// The methods that endpoints have.
const METHODS: &str = "GET, HEAD, POST, PUT, DELETE";

/// The number of seconds for which a browser may cache a preflight.
const MAX_AGE: &str = "3600";

/// Answers the preflight request for a call from a page of a listed origin; `None` for any other
/// request.
pub fn preflight(app: &App, http: &HttpRequest) -> Option<HttpResponse> {
    let asks = *http.method() == Method::OPTIONS && http.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    if !asks {
        return None;
    }
    listed_origin(app, http)?;
    let mut response = HttpResponse::NoContent();
    for (name, value) in [
        (header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(METHODS)),
        (header::ACCESS_CONTROL_ALLOW_HEADERS, ALLOWED_OF_PAGES.clone()),
        (header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static(MAX_AGE)),
    ] {
        response.insert_header((name, value));
    }
    Some(response.finish())
}

/// Adds the headers that let a page of the request's origin read the reply, if the origin is
/// listed.
pub fn admit(app: &App, http: &HttpRequest, headers: &mut HeaderMap) {
    // Public pages are for every origin. Caches keep them, so they must not depend on this one.
    if headers.contains_key(header::ACCESS_CONTROL_ALLOW_ORIGIN) {
        return;
    }
    let Some(origin) = listed_origin(app, http) else { return };
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
    headers.insert(header::ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED_TO_PAGES.clone());
    headers.append(header::VARY, HeaderValue::from_static("Origin"));
}
