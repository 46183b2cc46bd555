//! The boundary of a multipart form, from the header `Content-Type`.
//!
//! Clients send boundaries such as `----=_Part_0_1330685.1342696` without the quotes that the
//! grammar requires for `=`. The boundary is read here and passed to the form's reader in quotes.

use actix_web::http::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use stet_domain::error::{Code, Error, Result};

use super::parameters::{HeaderParameter, HeaderParameters, shortened};

/// The characters that a boundary may have besides letters and digits: those of RFC 2046, 5.1.1,
/// and those of a token.
const PUNCTUATION: &str = "'()+_,-./:=?!#$%&*^`|~{}@<>[]";

/// Returns a header with the boundary from [`boundary_of`], for the parser of the parts. Its type
/// is not `multipart/form-data`, because the parser would then refuse valid part headers.
pub fn reader_header(boundary: &str) -> HeaderMap {
    let mut made = HeaderMap::new();
    if let Ok(value) = HeaderValue::try_from(format!("multipart/mixed; boundary=\"{boundary}\"")) {
        made.insert(CONTENT_TYPE, value);
    }
    made
}

/// Checks the header `Content-Type` of a form.
///
/// # Errors
/// The errors of [`boundary_of`].
pub fn check_form_type(headers: &HeaderMap) -> Result<()> {
    boundary_of(headers).map(drop)
}

/// Returns the boundary of a form: visible ASCII characters and blanks, but no quotes.
///
/// # Errors
/// `InvalidBody` if the header is missing, names another type, or has no usable boundary.
pub fn boundary_of(headers: &HeaderMap) -> Result<String> {
    let text = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
    let text = String::from_utf8_lossy(text);
    let (media_type, parameters) = HeaderParameters::of(&text);
    if !media_type.eq_ignore_ascii_case("multipart/form-data") {
        return Err(refusal(headers, "it is another type"));
    }
    let parameters = parameters.collect::<std::result::Result<Vec<HeaderParameter<'_>>, String>>();
    let parameters = parameters.map_err(|why| refusal(headers, &format!("it {why}")))?;
    let boundary = parameters.into_iter().find(|parameter| parameter.name.eq_ignore_ascii_case("boundary"));
    let boundary = boundary.ok_or_else(|| refusal(headers, "it has no boundary"))?;
    let allowed =
        |c: char| c.is_ascii_alphanumeric() || PUNCTUATION.contains(c) || boundary.quoted && matches!(c, ' ' | ';');
    let odd = boundary.value.chars().find(|c| !allowed(*c));
    match odd {
        _ if boundary.value.trim_end().is_empty() => Err(refusal(headers, "its boundary is empty")),
        _ if boundary.value.ends_with(' ') => Err(refusal(headers, "its boundary ends with a space")),
        None => Ok(boundary.value),
        Some(c @ (' ' | '\t' | '"')) if !boundary.quoted => {
            let message = format!("its boundary has the character `{c}`, so it must be quoted: `boundary=\"…\"`");
            Err(refusal(headers, &message))
        }
        Some(c) => Err(refusal(headers, &format!("a boundary can't have the character `{}`", c.escape_default()))),
    }
}

fn refusal(headers: &HeaderMap, why: &str) -> Error {
    let value = headers.get(CONTENT_TYPE).map(|value| String::from_utf8_lossy(value.as_bytes()));
    let shown = value.map_or_else(|| "missing".to_owned(), |value| format!("`{}`", shortened(&value)));
    let message = format!(
        "The body must be `multipart/form-data` with a boundary, but its `Content-Type` is {shown}: {why}. A boundary with a \
         space or `;` in it must be quoted."
    );
    Error::new(Code::InvalidBody, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(value: &str) -> Result<String> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_str(value).unwrap());
        let boundary = boundary_of(&headers)?;
        assert!(reader_header(&boundary).contains_key(CONTENT_TYPE));
        Ok(boundary)
    }

    #[test]
    fn a_boundary_is_taken_quoted_or_not() {
        for (value, expected) in [
            ("multipart/form-data; boundary=b", "b"),
            ("Multipart/Form-Data;BOUNDARY=bB", "bB"),
            ("multipart/form-data; boundary=----=_Part_0_1330685.1342696", "----=_Part_0_1330685.1342696"),
            ("multipart/form-data; boundary=a/b?c:d,(e)'f+g@h", "a/b?c:d,(e)'f+g@h"),
            ("multipart/form-data; charset=utf-8; boundary=\"a b;c=d\"; x=y", "a b;c=d"),
            ("multipart/form-data; charset=; boundary=b", "b"),
        ] {
            assert_eq!(read(value).as_deref(), Ok(expected), "{value}");
        }
    }

    #[test]
    fn a_boundary_that_can_not_be_taken_is_refused_with_the_reason() {
        for (value, part) in [
            ("multipart/form-data", "no boundary"),
            ("multipart/form-data; boundary=", "is empty"),
            ("multipart/form-data; boundary=\"\"", "is empty"),
            ("multipart/form-data; boundary=\"a \"", "ends with a space"),
            ("multipart/form-data; boundary=a b", "must be quoted"),
            ("multipart/form-data; boundary=a;b; c=d", "the parameter `b` without a value"),
            ("multipart/form-data; boundary=\"a", "closing"),
            ("multipart/form-data; boundary=\"a\\\"b\"", "can't have the character `\\\"`"),
            ("multipart/mixed; boundary=b", "another type"),
            ("application/json", "another type"),
        ] {
            let error = read(value).expect_err(value);
            assert_eq!(error.code, Code::InvalidBody);
            assert!(error.message.contains(part) && error.message.contains("quoted"), "{error}");
        }
    }
}
