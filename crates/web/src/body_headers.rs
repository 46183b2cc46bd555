//! The check of the headers that describe a body. A body that is encoded or partial is refused
//! before it is received (docs/api/README.md, "Bodies").

use actix_web::http::header::{self, HeaderMap};
use stet_domain::error::{Code, Error, Result};

/// The number of characters of a header that a message repeats.
const SHOWN: usize = 100;

/// The registered content codings (RFC 9110, 8.4.1), except `identity`.
const CODINGS: [&str; 12] = [
    "aes128gcm",
    "br",
    "compress",
    "dcb",
    "dcz",
    "deflate",
    "exi",
    "gzip",
    "pack200-gzip",
    "x-compress",
    "x-gzip",
    "zstd",
];

/// Refuses a body whose bytes are not what the client means: encoded or partial ones.
///
/// # Errors
/// `InvalidBody` for an encoded body, `InvalidParameter` for a partial one.
pub fn check(headers: &HeaderMap) -> Result<()> {
    refuse_coding(headers)?;
    refuse_part(headers)
}

/// Reports whether a body is a multipart form.
pub fn is_multipart(headers: &HeaderMap) -> bool {
    let said = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    said.trim_start().to_ascii_lowercase().starts_with("multipart/form-data")
}

/// Refuses an encoded body: its bytes are not what the client means.
///
/// # Errors
/// `InvalidBody` for a registered `Content-Encoding`. Other values are ignored, because some
/// clients put a charset there.
fn refuse_coding(headers: &HeaderMap) -> Result<()> {
    for value in headers.get_all(header::CONTENT_ENCODING) {
        let said = String::from_utf8_lossy(value.as_bytes());
        let is_coding = |said: &str| CODINGS.iter().any(|coding| said.trim().eq_ignore_ascii_case(coding));
        if said.split(',').any(is_coding) {
            let message = format!("The `Content-Encoding` `{said}` is not supported. Send the body without it.");
            return Err(Error::new(Code::InvalidBody, message));
        }
    }
    Ok(())
}

/// Refuses a partial body, which would replace the complete content (RFC 9110, 14.5).
///
/// # Errors
/// `InvalidParameter` for a `Content-Range` of any value.
fn refuse_part(headers: &HeaderMap) -> Result<()> {
    let Some(value) = headers.get(header::CONTENT_RANGE) else { return Ok(()) };
    let shown: String = String::from_utf8_lossy(value.as_bytes()).chars().take(SHOWN).collect();
    Err(Error::parameter("Content-Range", shown, "omitted from requests (a body must be sent whole)"))
}
