//! The text of a content's bytes.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

use super::words::{essence, is_markup};

/// Decodes a content's bytes as text: by its byte order mark, the charset of its type, the encoding
/// in its declaration, or else as UTF-8.
///
/// Bytes that can only be UTF-8 are decoded as such, whatever encoding is declared. Agencies do
/// send UTF-8 that is declared to be Latin-1, and hardly any text in another encoding is valid
/// UTF-8.
pub fn decode_text<'b>(content_type: &str, bytes: &'b [u8]) -> Cow<'b, str> {
    let said = if !bytes.is_ascii() && std::str::from_utf8(bytes).is_ok() {
        None
    } else {
        let declared = || if is_markup(&essence(content_type)) { read_declared_encoding(bytes) } else { None };
        charset(content_type).or_else(declared)
    };
    // Decoding prefers a byte order mark, and leaves it out.
    said.unwrap_or(UTF_8).decode(bytes).0
}

/// Returns the encoding that the parameter `charset` of a content type names; UTF-8 if the name is
/// unknown.
fn charset(content_type: &str) -> Option<&'static Encoding> {
    let label = content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches('"'))
    })?;
    Some(Encoding::for_label(label.as_bytes()).unwrap_or(UTF_8))
}

/// Returns the encoding that an XML declaration names.
fn read_declared_encoding(bytes: &[u8]) -> Option<&'static Encoding> {
    const LOOKED_AT: usize = 256;
    let head = &bytes[..bytes.len().min(LOOKED_AT)];
    let end = head.windows(2).position(|two| two == b"?>")?;
    let declaration = std::str::from_utf8(&head[..end]).ok()?.strip_prefix("<?xml ")?;
    let (_, value) = declaration.split_once("encoding")?;
    let encoding = Encoding::for_label(value.split(['"', '\'']).nth(1)?.as_bytes())?;
    // A declaration that can be read byte by byte is not in UTF-16: libraries declare the encoding
    // of their strings in memory, and send another.
    (encoding != UTF_16LE && encoding != UTF_16BE).then_some(encoding)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read_as_its_mark_its_type_or_its_declaration_says() {
        let latin = b"<?xml version='1.0' encoding='ISO-8859-1'?><p>K\xf6ln</p>";
        for (content_type, bytes, expected) in [
            ("text/plain", "Köln".as_bytes(), "Köln"),
            ("text/plain; charset=iso-8859-1", b"K\xf6ln".as_slice(), "Köln"),
            ("text/plain; x=y; Charset=\"latin1\"", b"K\xf6ln", "Köln"),
            ("text/plain; charset=iso-8859-1", "Köln".as_bytes(), "Köln"),
            ("text/plain; charset=iso-2022-jp", b"\x1b$BF|K\\\x1b(B", "日本"),
            ("text/plain; charset=nonsense", "Köln".as_bytes(), "Köln"),
            ("text/plain", b"K\xf6ln", "K\u{fffd}ln"),
            ("text/plain; charset=iso-8859-1", b"\xef\xbb\xbfK\xc3\xb6ln", "Köln"),
            ("text/plain", b"\xff\xfeK\0\xf6\0", "Kö"),
            (
                "text/xml; charset=utf-8",
                "<?xml version='1.0' encoding='ISO-8859-1'?>ö".as_bytes(),
                "<?xml version='1.0' encoding='ISO-8859-1'?>ö",
            ),
            ("text/xml", latin, "<?xml version='1.0' encoding='ISO-8859-1'?><p>Köln</p>"),
            ("text/plain", latin, "<?xml version='1.0' encoding='ISO-8859-1'?><p>K\u{fffd}ln</p>"),
        ] {
            assert_eq!(decode_text(content_type, bytes), expected, "{content_type}");
        }
    }

    #[test]
    fn a_declaration_that_is_read_byte_by_byte_is_no_word_of_utf_16() {
        for label in ["utf-16", "UTF-16LE", "utf-16be", "unicode", "ucs-2"] {
            let ascii = format!("<?xml version=\"1.0\" encoding=\"{label}\"?><p>Ferry</p>");
            assert_eq!(decode_text("text/xml", ascii.as_bytes()), ascii);
            let mixed = [ascii.as_bytes(), b"\xf6"].concat();
            assert_eq!(decode_text("text/xml", &mixed), format!("{ascii}\u{fffd}"));
        }
        // Without plain ASCII, the declared charset or a byte order mark decides.
        let (wide, marked) = (b"<\0p\0/\0>\0".as_slice(), b"\xff\xfe<\0p\0/\0>\0".as_slice());
        assert_eq!(decode_text("text/xml; charset=utf-16", wide), "<p/>");
        assert_eq!(decode_text("text/xml", marked), "<p/>");
    }
}
