//! The check of the browser page that a request comes from.
//!
//! A browser sends the cookie with every request of any page to this server, and accepts a cookie
//! from any reply. So some requests must come from a page of this server, from a listed origin, or
//! from no page: changes that only the cookie authorises, and requests whose reply sets or clears
//! it. Otherwise a page could write as its reader, log the reader out, or log the reader in as
//! somebody else.
//!
//! The check uses headers that a page can't forge: `Origin`, and `Sec-Fetch-Site`, which browsers
//! also send where they omit `Origin`, as for a link. Programs send neither.

use actix_web::HttpRequest;
use actix_web::http::header::{self, HeaderValue};
use stet_domain::error::{Code, Error, Result};

use super::app::App;
use super::client;

const SEC_FETCH_SITE: &str = "sec-fetch-site";

/// The source of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
enum PageOrigin {
    /// No page as far as the headers show, a page of this server, or one of a listed origin.
    Trusted,
    /// A page of another site, with the browser's description of it.
    Foreign(String),
}

/// Returns the origin of a request, if it is a listed one.
pub fn listed_origin<'r>(app: &App, http: &'r HttpRequest) -> Option<&'r HeaderValue> {
    let listed = &app.config.server.cors_origins;
    if listed.is_empty() {
        return None;
    }
    let origin = http.headers().get(header::ORIGIN)?;
    listed.iter().any(|listed| listed.as_bytes() == origin.as_bytes()).then_some(origin)
}

/// Reports whether a request comes from a page of another site.
pub(super) fn is_foreign(app: &App, http: &HttpRequest) -> bool {
    matches!(page_of(app, http), PageOrigin::Foreign(_))
}

/// Refuses a request from the page of another site.
///
/// # Errors
/// `OriginRefused`.
pub(super) fn check(app: &App, http: &HttpRequest) -> Result<()> {
    let PageOrigin::Foreign(from) = page_of(app, http) else { return Ok(()) };
    let (scheme, host) = (scheme(app, http), client::host(http, &app.proxies));
    let message = format!(
        "A call that only the cookie authorises, or that sets it, must come from `{scheme}://{host}` or a listed origin, but came \
         from `{from}`."
    );
    Err(Error::new(Code::OriginRefused, message))
}

fn scheme(app: &App, http: &HttpRequest) -> &'static str {
    if client::is_secure(http, &app.proxies) { "https" } else { "http" }
}

fn page_of(app: &App, http: &HttpRequest) -> PageOrigin {
    if listed_origin(app, http).is_some() {
        return PageOrigin::Trusted;
    }
    let text = |value: &HeaderValue| value.to_str().unwrap_or("?").to_owned();
    let headers = http.headers();
    let site = headers.get(SEC_FETCH_SITE).map(text);
    judge(headers.get(header::ORIGIN).map(text), site, scheme(app, http), client::host(http, &app.proxies))
}

/// Judges a request by its headers. `scheme` and `host` are those of the client's request, as far
/// as this server knows.
fn judge(origin: Option<String>, site: Option<String>, scheme: &str, host: &str) -> PageOrigin {
    match (origin, site.as_deref()) {
        (None, None | Some("same-origin" | "none")) => PageOrigin::Trusted,
        (None, Some(site)) => PageOrigin::Foreign(format!("a {site} page")),
        (Some(origin), site) => {
            let (theirs, authority) = origin.split_once("://").unwrap_or(("", &origin));
            let same = match site {
                None | Some("none") => theirs.eq_ignore_ascii_case(scheme) && authority_is(authority, host, scheme),
                // The browser has compared the schemes and knows that of its request, which a proxy
                // may not have passed on.
                Some("same-origin") => authority_is(authority, host, theirs),
                Some(_) => false,
            };
            if same { PageOrigin::Trusted } else { PageOrigin::Foreign(origin) }
        }
    }
}

/// Reports whether two hosts with ports are the same, if the scheme's default port may be omitted.
fn authority_is(one: &str, other: &str, scheme: &str) -> bool {
    let own = if scheme.eq_ignore_ascii_case("https") { ":443" } else { ":80" };
    let bare = |authority: &'_ str| authority.strip_suffix(own).unwrap_or(authority).to_ascii_lowercase();
    !one.is_empty() && bare(one) == bare(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_pages_and_programs_are_trusted() {
        let is_trusted = |origin: &str, site: &str, scheme: &str, host: &str| {
            let given = |text: &str| Some(text.to_owned()).filter(|text| text != "-");
            judge(given(origin), given(site), scheme, host) == PageOrigin::Trusted
        };
        for (origin, site, scheme, host) in [
            // Programs; an address that was typed; pages.
            ("-", "-", "http", "desk"),
            ("-", "none", "https", "desk"),
            ("-", "same-origin", "https", "desk"),
            ("http://desk", "-", "http", "desk"),
            ("https://DESK", "-", "https", "desk:443"),
            ("http://desk:80", "-", "http", "Desk"),
            ("http://[::1]:8080", "-", "http", "[::1]:8080"),
            ("https://desk", "same-origin", "https", "desk"),
            // Behind a proxy that does not report that the client used TLS.
            ("https://desk", "same-origin", "http", "desk"),
        ] {
            assert!(is_trusted(origin, site, scheme, host), "{origin} {site} {scheme}://{host}");
        }
        for (origin, site, scheme, host) in [
            ("-", "cross-site", "https", "desk"),
            ("-", "same-site", "https", "desk"),
            ("-", "", "https", "desk"),
            ("http://desk", "-", "https", "desk"),
            ("https://desk", "-", "http", "desk"),
            ("https://desk:80", "-", "https", "desk"),
            ("http://desk:443", "-", "http", "desk"),
            ("http://desk:8080", "-", "http", "desk"),
            ("http://desk.example", "-", "http", "desk"),
            ("http://desk", "cross-site", "http", "desk"),
            ("http://desk", "same-site", "http", "desk"),
            ("http://evil", "same-origin", "http", "desk"),
            ("http://evil", "none", "http", "desk"),
            ("null", "-", "http", "desk"),
            ("", "-", "http", ""),
            ("http://", "-", "http", ""),
            ("desk", "-", "http", "desk"),
        ] {
            assert!(!is_trusted(origin, site, scheme, host), "{origin} {site} {scheme}://{host}");
        }
    }
}
