//! The media type that a client states for its bytes. It is stored with them and sent to their
//! readers.

use actix_web::http::header::{CONTENT_TYPE, HeaderMap};
use actix_web::mime::{CHARSET, Mime};
use stet_domain::error::{Error, Result};

/// The longest media type in bytes, including its parameters.
pub const MAX_MEDIA_TYPE_BYTES: usize = 255;

/// Returns the header `Content-Type` of a request; `None` if it is missing or empty.
///
/// # Errors
/// `InvalidParameter` for a text that is no media type (RFC 9110, 8.3.1) or is too long.
pub fn content_type(headers: &HeaderMap) -> Result<Option<&str>> {
    let Some(value) = headers.get(CONTENT_TYPE) else { return Ok(None) };
    let wanted = || format!("a media type like `text/xml; charset=utf-8`, of at most {MAX_MEDIA_TYPE_BYTES} bytes");
    let text = value.to_str().map(str::trim).unwrap_or("\u{fffd}");
    match text {
        "" => Ok(None),
        long if long.len() > MAX_MEDIA_TYPE_BYTES => {
            let begin: String = long.chars().take(40).collect();
            Err(Error::parameter("Content-Type", format!("{begin}…"), &wanted()))
        }
        _ if !is_media_type(text) => Err(Error::parameter("Content-Type", text, &wanted())),
        _ => Ok(Some(text)),
    }
}

/// Returns the charset that a media type names.
pub fn charset_of(media_type: &str) -> Option<String> {
    let read: Mime = media_type.parse().ok()?;
    read.get_param(CHARSET).map(|charset| charset.as_str().to_owned())
}

fn is_media_type(text: &str) -> bool {
    // The parser accepts an empty subtype, which is invalid.
    text.parse::<Mime>().is_ok_and(|read| !read.type_().as_str().is_empty() && !read.subtype().as_str().is_empty())
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::HeaderValue;
    use stet_domain::error::Code;

    use super::*;

    fn read(value: &[u8]) -> Result<Option<String>> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_bytes(value).unwrap());
        content_type(&headers).map(|text| text.map(str::to_owned))
    }

    #[test]
    fn a_media_type_is_taken_as_it_came_and_what_is_none_is_refused() {
        assert_eq!(content_type(&HeaderMap::new()), Ok(None));
        for empty in ["", " "] {
            assert_eq!(read(empty.as_bytes()), Ok(None));
        }
        let long = format!("text/xml; a={}", "x".repeat(255 - 12));
        assert_eq!(long.len(), 255);
        for well in
            ["text/xml", "Text/XML; Charset=\"utf-8\"", "image/svg+xml", "application/vnd.x-y.z+json;v=1", &long]
        {
            assert_eq!(read(well.as_bytes()), Ok(Some(well.to_owned())));
        }
        let longer = format!("{long}x");
        let huge = format!("text/xml; a={}", "x".repeat(60_000));
        for bad in ["text", "text/", "/xml", "text xml", "text/xml; charset", "text/xml, text/html", &longer, &huge] {
            let error = read(bad.as_bytes()).expect_err(bad);
            assert_eq!(error.code, Code::InvalidParameter);
            assert!(error.message.contains("Content-Type") && error.message.len() < 500, "{error}");
        }
        assert_eq!(read(b"text/\xe9").expect_err("no text").code, Code::InvalidParameter);
    }
}
