//! The console for browsers, at `/console/` below the base path.
//!
//! The page itself is checked for a newer version at each visit. It names the folder of the assets,
//! whose name changes with their content, so browsers keep assets for ever. Both are sent in the
//! form that the browser prefers, compressed when the binary was built. All addresses are relative,
//! so the console also works behind a proxy that adds a prefix.
//!
//! Invariant: every reply, errors included, has the headers of [`guard`].

use actix_web::http::header::{
    self, AcceptEncoding, ContentEncoding, Encoding, Header, HeaderMap, HeaderName, HeaderValue, Preference, Quality,
};
use actix_web::http::{Method, StatusCode};
use actix_web::{HttpRequest, HttpResponse};
use bytes::Bytes;
use stet_config::Config;
use stet_console::{ConsoleFile, ConsoleResource};

use super::compress::{CODINGS, VARY};
use super::etag;

/// The path of the console below the base path.
const CONSOLE: &str = "/console";

/// The page's rule for caches: kept, but checked at each use.
const CHECKED: HeaderValue = HeaderValue::from_static("no-cache");
/// The assets' rule for caches: a year, which is the longest that caches know, and no check before.
const IMMUTABLE: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");
/// The rule of replies about files that do not exist: another version may have them.
const UNKEPT: HeaderValue = HeaderValue::from_static("no-store");

/// A request to the console.
#[derive(Debug, Clone, Copy)]
pub enum ConsoleRequest {
    /// The console's address without its slash.
    Unslashed,
    /// A file.
    File(ConsoleResource),
    /// An address below the console without a file.
    Nothing,
}

impl ConsoleRequest {
    /// Returns the request to the console at a path; `None` if the path is none of the console's,
    /// or the console is disabled.
    pub fn at(config: &Config, path: &str) -> Option<ConsoleRequest> {
        let rest = path.strip_prefix(config.server.base_path.as_str())?.strip_prefix(CONSOLE)?;
        if !config.console.enabled {
            return None;
        }
        if rest.is_empty() {
            return Some(ConsoleRequest::Unslashed);
        }
        let file = stet_console::find(rest.strip_prefix('/')?);
        Some(file.map_or(ConsoleRequest::Nothing, ConsoleRequest::File))
    }

    /// Answers the request. The client is neither identified nor limited, because a reply costs no
    /// more than sending it.
    pub fn answer(self, http: &HttpRequest) -> HttpResponse {
        let is_read = matches!(*http.method(), Method::GET | Method::HEAD);
        let mut response = match self {
            _ if !is_read => HttpResponse::MethodNotAllowed().insert_header((header::ALLOW, "GET, HEAD")).finish(),
            ConsoleRequest::Unslashed => super::probe::redirect("console/"),
            ConsoleRequest::File(ConsoleResource::Index(page)) => deliver(page, CHECKED, http),
            ConsoleRequest::File(ConsoleResource::Asset(asset)) => deliver(asset, IMMUTABLE, http),
            ConsoleRequest::Nothing => {
                let text = "The console has no such file. Reload the page: the server may have a newer version.\n";
                let mut response = HttpResponse::NotFound();
                response.content_type("text/plain; charset=utf-8").insert_header((header::CACHE_CONTROL, UNKEPT));
                response.body(text)
            }
        };
        guard(response.headers_mut());
        response
    }
}

/// Returns the address to which `/` leads, relative to it: the console, or the documentation if the
/// console is disabled.
pub fn start_address(config: &Config) -> String {
    match config.console.enabled {
        true => format!("{}{CONSOLE}/", config.server.base_path)[1..].to_owned(),
        false => "docs/".to_owned(),
    }
}

/// Sets the headers that protect the console from other sites and from injected markup.
fn guard(headers: &mut HeaderMap) {
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(stet_console::POLICY));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    let opener = HeaderName::from_static("cross-origin-opener-policy");
    headers.insert(opener, HeaderValue::from_static("same-origin"));
}

/// Returns a file in the form that the client prefers, or a 304 if the client has that form.
fn deliver(file: &'static ConsoleFile, caching: HeaderValue, http: &HttpRequest) -> HttpResponse {
    let (coding, bytes) = preferred_form(file, http);
    let suffix = CODINGS.iter().find(|(known, _)| *known == coding).map_or("", |(_, suffix)| suffix);
    let tag = HeaderValue::try_from(format!("\"{}{suffix}\"", file.tag)).expect("digits are visible ASCII");
    let known = [&tag, &HeaderValue::from_static("*")].iter().any(|tag| etag::names_tag(http.headers(), tag));
    let mut response = HttpResponse::build(if known { StatusCode::NOT_MODIFIED } else { StatusCode::OK });
    response.insert_header((header::ETAG, tag));
    response.insert_header((header::CACHE_CONTROL, caching)).insert_header((header::VARY, VARY));
    if known {
        return response.finish();
    }
    if coding != ContentEncoding::Identity {
        response.insert_header(coding);
    }
    response.content_type(file.media_type).body(Bytes::from_static(bytes))
}

/// Returns the form of a file with the highest quality in `Accept-Encoding` (RFC 9110, 12.5.3).
/// Among equals brotli precedes gzip, and gzip the plain form. The plain form is also sent to a
/// client that accepts none.
fn preferred_form(file: &ConsoleFile, http: &HttpRequest) -> (ContentEncoding, &'static [u8]) {
    let accepted = match http.headers().contains_key(header::ACCEPT_ENCODING) {
        true => AcceptEncoding::parse(http).ok(),
        false => None,
    };
    let quality_of = |coding: ContentEncoding| {
        let accepted = accepted.as_ref()?;
        let specific = accepted.iter().find(|item| item.item == Preference::Specific(Encoding::Known(coding)));
        let any = || accepted.iter().find(|item| item.item == Preference::Any);
        specific.or_else(any).map(|item| item.quality)
    };
    // The plain form is acceptable if nothing is said about it, but a form that is named is better.
    let plain = (quality_of(ContentEncoding::Identity).unwrap_or(Quality::ZERO), ContentEncoding::Identity, file.plain);
    let coded = [(ContentEncoding::Gzip, file.gzip), (ContentEncoding::Brotli, file.brotli)];
    let coded = coded.into_iter().filter_map(|(coding, bytes)| {
        let quality = quality_of(coding).filter(|quality| *quality > Quality::ZERO)?;
        Some((quality, coding, bytes?))
    });
    // Of equals, the later one is the best.
    let best = coded.fold(plain, |best, form| if form.0 >= best.0 { form } else { best });
    (best.1, best.2)
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    static FILE: ConsoleFile = ConsoleFile {
        path: "x.js",
        media_type: "text/javascript",
        tag: "0123",
        plain: b"plain",
        brotli: Some(b"br"),
        gzip: Some(b"gzip"),
    };

    fn form(accepted: &str) -> &'static str {
        let http = TestRequest::get().insert_header((header::ACCEPT_ENCODING, accepted)).to_http_request();
        std::str::from_utf8(preferred_form(&FILE, &http).1).expect("it is text")
    }

    #[test]
    fn the_form_follows_the_qualities_and_brotli_wins_among_equals() {
        for (accepted, expected) in [
            ("gzip, deflate, br, zstd", "br"),
            ("br, gzip", "br"),
            ("gzip", "gzip"),
            ("GZIP", "gzip"),
            ("br;q=0.5, gzip;q=0.8", "gzip"),
            ("br;q=0, gzip", "gzip"),
            ("br;q=0, *", "gzip"),
            ("br;q=0.1", "br"),
            ("*", "br"),
            ("*;q=0.5, gzip", "gzip"),
            ("identity, br;q=0.5", "plain"),
            ("identity;q=0.5, gzip;q=0.5", "gzip"),
            ("identity;q=0, gzip;q=0.1", "gzip"),
            ("br;q=0, gzip;q=0", "plain"),
            ("zstd", "plain"),
            ("*;q=0", "plain"),
            ("", "plain"),
            ("br;q=x", "plain"),
        ] {
            assert_eq!(form(accepted), expected, "{accepted}");
        }
        assert_eq!(preferred_form(&FILE, &TestRequest::get().to_http_request()).1, b"plain");
    }

    #[test]
    fn a_file_without_compressed_forms_is_sent_plain() {
        static SMALL: ConsoleFile =
            ConsoleFile { path: "x.js", media_type: "", tag: "", plain: b"x", brotli: None, gzip: None };
        let http = TestRequest::get().insert_header((header::ACCEPT_ENCODING, "br, identity;q=0")).to_http_request();
        assert_eq!(preferred_form(&SMALL, &http).1, b"x");
    }

    #[test]
    fn only_paths_of_the_console_below_the_base_path_are_its_own() {
        let mut config = Config::default();
        assert_eq!(start_address(&config), "console/");
        assert!(matches!(ConsoleRequest::at(&config, "/console"), Some(ConsoleRequest::Unslashed)));
        assert!(matches!(ConsoleRequest::at(&config, "/console/"), Some(ConsoleRequest::File(_))));
        assert!(matches!(ConsoleRequest::at(&config, "/console/x"), Some(ConsoleRequest::Nothing)));
        assert!(ConsoleRequest::at(&config, "/consoles").is_none());
        config.server.base_path = "/swing/api".to_owned();
        assert_eq!(start_address(&config), "swing/api/console/");
        assert!(ConsoleRequest::at(&config, "/console/").is_none());
        assert!(matches!(ConsoleRequest::at(&config, "/swing/api/console/"), Some(ConsoleRequest::File(_))));
        config.console.enabled = false;
        assert_eq!(start_address(&config), "docs/");
        assert!(ConsoleRequest::at(&config, "/swing/api/console/").is_none());
    }
}
