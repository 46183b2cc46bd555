//! The list of all headers that the server reads from requests and writes into replies. It also
//! decides which of them pages of other sites may use (`super::cors`).

use std::sync::LazyLock;

use actix_web::http::header::HeaderValue;

/// The party that writes a header into a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HeaderWriter {
    /// The caller. A page of another site may, too.
    Caller,
    /// The browser or the HTTP library, in the same way for every page; no page can choose the
    /// value.
    Browser,
    /// A proxy.
    Proxy,
}

/// The request headers that are read, in lower case.
const READ: &[(&str, HeaderWriter)] = &[
    ("accept", HeaderWriter::Caller),
    ("authorization", HeaderWriter::Caller),
    ("baggage", HeaderWriter::Caller),
    ("cache-control", HeaderWriter::Caller),
    ("content-encoding", HeaderWriter::Caller),
    ("content-range", HeaderWriter::Caller),
    ("content-type", HeaderWriter::Caller),
    ("idempotency-key", HeaderWriter::Caller),
    ("if-match", HeaderWriter::Caller),
    ("if-modified-since", HeaderWriter::Caller),
    ("if-none-match", HeaderWriter::Caller),
    ("if-range", HeaderWriter::Caller),
    ("if-unmodified-since", HeaderWriter::Caller),
    ("last-event-id", HeaderWriter::Caller),
    ("pragma", HeaderWriter::Caller),
    ("prefer", HeaderWriter::Caller),
    ("range", HeaderWriter::Caller),
    ("token", HeaderWriter::Caller),
    ("traceparent", HeaderWriter::Caller),
    ("tracestate", HeaderWriter::Caller),
    // Libraries add these two to every request.
    ("x-request-id", HeaderWriter::Caller),
    ("x-requested-with", HeaderWriter::Caller),
    ("accept-encoding", HeaderWriter::Browser),
    ("access-control-request-method", HeaderWriter::Browser),
    ("connection", HeaderWriter::Browser),
    ("content-length", HeaderWriter::Browser),
    ("cookie", HeaderWriter::Browser),
    ("expect", HeaderWriter::Browser),
    ("host", HeaderWriter::Browser),
    ("origin", HeaderWriter::Browser),
    ("sec-fetch-site", HeaderWriter::Browser),
    ("transfer-encoding", HeaderWriter::Browser),
    ("forwarded", HeaderWriter::Proxy),
    ("x-forwarded-for", HeaderWriter::Proxy),
    ("x-forwarded-host", HeaderWriter::Proxy),
    ("x-forwarded-proto", HeaderWriter::Proxy),
];

/// The response headers for the calling program, and so for pages too.
const EXPOSED: &[&str] = &[
    "Accept-Ranges",
    "Allow",
    "Content-Disposition",
    "Content-Encoding",
    "Content-Length",
    "Content-Range",
    "Date",
    "ETag",
    "Idempotency-Replayed",
    "Last-Modified",
    "Link",
    "Location",
    "Preference-Applied",
    "RateLimit-Limit",
    "RateLimit-Remaining",
    "RateLimit-Reset",
    "Retry-After",
    "Vary",
    "WWW-Authenticate",
    "X-Request-Id",
];

/// The response headers that are not exposed to pages: those for browsers and proxies, and those
/// that every page can read anyway.
#[cfg(test)]
const UNEXPOSED: &[&str] = &[
    "access-control-allow-credentials",
    "access-control-allow-headers",
    "access-control-allow-methods",
    "access-control-allow-origin",
    "access-control-expose-headers",
    "access-control-max-age",
    "cache-control",
    "connection",
    "content-security-policy",
    "content-type",
    "cross-origin-opener-policy",
    "referrer-policy",
    "set-cookie",
    "strict-transport-security",
    "x-accel-buffering",
    "x-content-type-options",
];

/// The value of `Access-Control-Allow-Headers`.
pub(super) static ALLOWED_OF_PAGES: LazyLock<HeaderValue> = LazyLock::new(|| {
    let callers = READ.iter().filter(|(_, writer)| *writer == HeaderWriter::Caller);
    list(callers.map(|(name, _)| *name))
});

/// The value of `Access-Control-Expose-Headers`. Each header is named, because with credentials `*`
/// is an ordinary name.
pub(super) static EXPOSED_TO_PAGES: LazyLock<HeaderValue> = LazyLock::new(|| list(EXPOSED.iter().copied()));

fn list<'n>(names: impl Iterator<Item = &'n str>) -> HeaderValue {
    let names: Vec<_> = names.collect();
    HeaderValue::try_from(names.join(", ")).expect("names of headers and commas are visible ASCII")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use super::*;

    /// Texts that the search finds but that name no header of a request or reply: headers of form
    /// parts, other constants.
    const ELSEWHERE: [&str; 4] = ["content-transfer-encoding", "key", "none", "x-stet-any-case"];

    /// Returns the server's source files without their tests, by path.
    fn code() -> Vec<(String, String)> {
        let mut files = Vec::new();
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let crates =
            ["api", "auth", "base", "config", "containers", "content", "endpoint", "observe", "sysconfig", "web"];
        let crates = crates.map(|name| root.join("crates").join(name).join("src"));
        let mut folders: Vec<_> = crates.into_iter().chain([root.join("src")]).collect();
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let name = path.display().to_string();
                if path.is_dir() {
                    folders.push(path);
                } else if name.ends_with(".rs")
                    && !["/tests", "/fuzzing/", "/testing.rs", "/web/src/headers.rs"]
                        .iter()
                        .any(|not| name.contains(not))
                {
                    let text = fs::read_to_string(&path).unwrap();
                    let end = text.find("#[cfg(test)]\nmod tests {").unwrap_or(text.len());
                    files.push((name, text[..end].to_owned()));
                }
            }
        }
        files
    }

    /// Returns the name behind each occurrence of `before`.
    fn names_behind<'t>(text: &'t str, before: &'t str) -> impl Iterator<Item = &'t str> {
        text.split(before).skip(1).map(|rest| {
            let of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
            &rest[..rest.find(|c| !of_name(c)).unwrap_or(rest.len())]
        })
    }

    /// Returns the headers that a file names: as constants of the library, imported or not, or as
    /// texts.
    fn named(file: &str, text: &str) -> BTreeSet<String> {
        let mut constants: Vec<&str> = names_behind(text, "header::").collect();
        for import in text.split("use actix_web::http::header::{").skip(1) {
            constants.extend(import[..import.find("};").unwrap()].split([',', ' ', '\n', '{', '}']));
        }
        constants.retain(|name| name.len() > 2 && name.chars().all(|c| c.is_ascii_uppercase() || c == '_'));
        let mut befores = vec!["HeaderName::from_static(\""];
        befores.extend(["headers.get(\"", "headers().get(\"", "headers.get_all(\"", "headers().get_all(\""]);
        if file.contains("/web/src/") {
            befores.push(": &str = \"");
        }
        if file.ends_with("/identify.rs") {
            befores.push("text(\"");
        }
        let texts =
            befores.iter().flat_map(|before| text.split(before).skip(1).filter_map(|rest| rest.split('"').next()));
        let is_name = |name: &&str| !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '-');
        let texts = texts.filter(is_name).map(str::to_owned);
        constants.iter().map(|name| name.to_ascii_lowercase().replace('_', "-")).chain(texts).collect()
    }

    #[test]
    fn every_header_that_the_code_names_is_listed() {
        let listed: BTreeSet<String> = READ
            .iter()
            .map(|(name, _)| *name)
            .chain(UNEXPOSED.iter().copied())
            .chain(ELSEWHERE)
            .map(str::to_owned)
            .chain(EXPOSED.iter().map(|name| name.to_ascii_lowercase()))
            .collect();
        let mut all = BTreeSet::new();
        for (file, text) in code() {
            let named = named(&file, &text);
            let missing: Vec<_> = named.difference(&listed).collect();
            assert!(missing.is_empty(), "{file} names headers that no list has: {missing:?}");
            all.extend(named);
        }
        for known in ["if-range", "if-modified-since", "content-encoding", "x-request-id", "token", "last-modified"] {
            assert!(all.contains(known), "{known} is not found in the code any more: this test looks for it in vain");
        }
    }
}
