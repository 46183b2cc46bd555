//! The headers of public replies, and the replies without a page.
//!
//! Every page of this server has the same origin as the console. So public pages are sandboxed: a
//! browser gives them an origin of their own, and even a script that got into one could not act for
//! a user of this server.

use actix_web::http::StatusCode;
use actix_web::http::header::{self, HeaderMap, HeaderValue};
use actix_web::{HttpResponse, HttpResponseBuilder};
use html_escape::encode_text;
use stet_config::{Config, PublicConfig};
use stet_domain::error::{Code, Error};
use stet_web::app::App;
use stet_web::etag::ETag;

use super::words;

/// The content security policy of pages, without the sites that may embed them.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; \
                      sandbox allow-scripts allow-popups allow-popups-to-escape-sandbox; frame-ancestors ";

/// Returns the content security policy of a page.
fn policy(public: &PublicConfig, embedded: bool) -> HeaderValue {
    let sites = public.embed_sites.join(" ");
    let sites = if embedded && !sites.is_empty() { &*sites } else { "'none'" };
    // The configuration was checked: sites are visible ASCII.
    HeaderValue::try_from(format!("{POLICY}{sites}")).unwrap_or(HeaderValue::from_static("default-src 'none'; sandbox"))
}

/// Returns the rule for caches. A change is seen everywhere within the configured time: half of it
/// a cache may use a reply, and the other half while it asks for a newer one.
pub(super) fn caching(config: &Config) -> HeaderValue {
    let seconds = config.liveblog.public.max_age_seconds;
    let stale = seconds / 2;
    let rule = format!("public, max-age={}, stale-while-revalidate={stale}", seconds - stale);
    HeaderValue::try_from(rule).unwrap_or(HeaderValue::from_static("no-cache"))
}

/// Adds the headers that all public replies share. Pages of any site may read them, because they
/// are the same for all.
pub(super) fn open_to_all(headers: &mut HeaderMap) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("strict-origin-when-cross-origin"));
}

/// Adds the tag of a reply that is kept in several codings. It is weak: one tag for all of them.
pub(super) fn of_kept(headers: &mut HeaderMap, tag: &ETag) {
    let value = tag.value().to_str().ok().and_then(|tag| HeaderValue::try_from(format!("W/{tag}")).ok());
    headers.insert(header::ETAG, value.unwrap_or_else(|| tag.value().clone()));
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
}

/// Adds the headers of a page.
pub(super) fn of_page(app: &App, headers: &mut HeaderMap, embedded: bool) {
    headers.insert(header::CONTENT_SECURITY_POLICY, policy(&app.config.liveblog.public, embedded));
    open_to_all(headers);
}

/// Returns the reply for an address without a page. It is the same for a live blog that does not
/// exist and for one that is not public.
pub(super) fn not_found(app: &App) -> HttpResponse {
    let words = words::of(app.config.liveblog.public.language);
    let mut response = HttpResponse::NotFound();
    response.insert_header((header::CACHE_CONTROL, caching(&app.config)));
    notice(app, response, words.missing_title, words.missing)
}

/// Returns the reply for a failure.
pub(super) fn failure(app: &App, error: &Error) -> HttpResponse {
    let words = words::of(app.config.liveblog.public.language);
    let is_busy = matches!(error.code, Code::Overloaded);
    let status = if is_busy { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::INTERNAL_SERVER_ERROR };
    let mut response = HttpResponse::build(status);
    response.insert_header((header::CACHE_CONTROL, "no-store"));
    if is_busy {
        response.insert_header((header::RETRY_AFTER, "5"));
    }
    notice(app, response, words.busy_title, words.busy)
}

/// Returns a plain page with one sentence.
fn notice(app: &App, mut response: HttpResponseBuilder, title: &str, text: &str) -> HttpResponse {
    let (title, text) = (encode_text(title), encode_text(text));
    let tag = words::of(app.config.liveblog.public.language).tag;
    let mut response = response.content_type("text/html; charset=utf-8").body(format!(
        "<!doctype html>\n<html lang=\"{tag}\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title}</title>\n<main>\n<h1>{title}</h1>\n<p>{text}</p>\n</main>\n</html>\n"
    ));
    of_page(app, response.headers_mut(), true);
    response
}
