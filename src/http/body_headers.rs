//! What a request says about its body: one that is not the thing as it is, and all of it, is
//! refused before it is received (docs/api/README.md, "Bodies").

use actix_web::http::header::{self, HeaderMap};
use stet_actors::error::{Code, Error, Result};

/// Characters of a header that a message repeats.
const SHOWN: usize = 100;

/// The codings of contents that are registered (RFC 9110, 8.4.1), but for `identity`.
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

/// Refuses a body that would be something else than the client means if it was read as it comes.
///
/// # Errors
/// `InvalidBody` for one in a coding, `InvalidParameter` for a part.
pub fn check(headers: &HeaderMap) -> Result<()> {
    refuse_coding(headers)?;
    refuse_part(headers)
}

/// Whether a body is a multipart form.
pub fn is_multipart(headers: &HeaderMap) -> bool {
    let said = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    said.trim_start().to_ascii_lowercase().starts_with("multipart/form-data")
}

/// Refuses a body that is encoded: read as it comes it would be something else than the client
/// means.
///
/// # Errors
/// `InvalidBody` for a `Content-Encoding` that there is. What names none is ignored: some clients
/// put a charset there.
fn refuse_coding(headers: &HeaderMap) -> Result<()> {
    for value in headers.get_all(header::CONTENT_ENCODING) {
        let said = String::from_utf8_lossy(value.as_bytes());
        let is_coding = |said: &str| CODINGS.iter().any(|coding| said.trim().eq_ignore_ascii_case(coding));
        if said.split(',').any(is_coding) {
            let message = format!("A body is taken as it is, and not in the `Content-Encoding` `{said}`.");
            return Err(Error::new(Code::InvalidBody, message));
        }
    }
    Ok(())
}

/// Refuses a part of the bytes, which would be put in place of all of them (RFC 9110, 14.5).
///
/// # Errors
/// `InvalidParameter` for a `Content-Range`, whatever it says.
fn refuse_part(headers: &HeaderMap) -> Result<()> {
    let Some(value) = headers.get(header::CONTENT_RANGE) else { return Ok(()) };
    let shown: String = String::from_utf8_lossy(value.as_bytes()).chars().take(SHOWN).collect();
    Err(Error::parameter(
        "Content-Range",
        shown,
        "left out of a request: a body is taken whole, and never as a part of one",
    ))
}
