//! The text of an item's bytes, in whatever encoding it was sent.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

/// Bytes in which an XML declaration must end.
const DECLARATION_BYTES: usize = 1024;

/// Decodes an item. The encoding follows from the byte order mark, or else from the zero bytes that
/// UTF-16 has beside its first character. Otherwise the XML declaration counts, and without one it
/// is UTF-8. Returns `None` if the bytes do not fit the encoding, or its name is unknown.
pub(super) fn decode(bytes: &[u8]) -> Option<Cow<'_, str>> {
    let (encoding, bytes) = match Encoding::for_bom(bytes) {
        Some((encoding, mark)) => (encoding, bytes.get(mark..)?),
        None => (guess_encoding(bytes)?, bytes),
    };
    encoding.decode_without_bom_handling_and_without_replacement(bytes)
}

fn guess_encoding(bytes: &[u8]) -> Option<&'static Encoding> {
    match bytes {
        [0, b'<' | b'{', ..] => Some(UTF_16BE),
        [b'<' | b'{', 0, ..] => Some(UTF_16LE),
        _ => match declared_encoding(bytes) {
            None => Some(UTF_8),
            Some(label) => {
                let named = Encoding::for_label(label.as_bytes())?;
                // The declaration could be read byte by byte, so the encoding is not UTF-16,
                // whatever it states.
                Some(if named == UTF_16BE || named == UTF_16LE { UTF_8 } else { named })
            }
        },
    }
}

/// Returns the encoding that an XML declaration names.
fn declared_encoding(bytes: &[u8]) -> Option<&str> {
    let declaration = bytes.trim_ascii_start().strip_prefix(b"<?xml")?;
    let declaration = &declaration[..declaration.len().min(DECLARATION_BYTES)];
    let end = declaration.windows(2).position(|pair| pair == b"?>")?;
    let declaration = std::str::from_utf8(&declaration[..end]).ok()?;
    let value = declaration.split_once("encoding")?.1.trim_start().strip_prefix('=')?.trim_start();
    let quote = value.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    value[1..].split_once(quote).map(|(label, _)| label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_are_told_by_mark_zero_bytes_or_declaration() {
        let utf16 = |text: &str, mark: &[u8], big: bool| -> Vec<u8> {
            let units = text.encode_utf16().flat_map(|unit| if big { unit.to_be_bytes() } else { unit.to_le_bytes() });
            mark.iter().copied().chain(units).collect()
        };
        let text = "<a>F\u{e4}hre</a>";
        for bytes in [
            text.as_bytes().to_vec(),
            [b"\xef\xbb\xbf", text.as_bytes()].concat(),
            utf16(text, b"\xff\xfe", false),
            utf16(text, b"\xfe\xff", true),
            utf16(text, b"", false),
            utf16(text, b"", true),
        ] {
            assert_eq!(decode(&bytes).as_deref(), Some(text), "{bytes:?}");
        }
        for (label, byte, letter) in [
            ("ISO-8859-1", 0xe4, '\u{e4}'),
            ("iso-8859-15", 0xa4, '\u{20ac}'),
            ("windows-1252", 0x80, '\u{20ac}'),
            ("koi8-r", 0xc1, '\u{430}'),
        ] {
            for quote in ["'", "\""] {
                let head = format!("\n<?xml version='1.0' encoding = {quote}{label}{quote} standalone='yes'?><a>");
                let decoded = decode(&[head.as_bytes(), &[byte]].concat()).map(Cow::into_owned);
                assert_eq!(decoded, Some(format!("{head}{letter}")));
            }
        }
        // Such a declaration remains when a document is stored again as UTF-8.
        assert!(decode(b"<?xml version='1.0' encoding='UTF-16'?><a/>").is_some());
        for wrong in [&b"<a>\xe4</a>"[..], b"<?xml version='1.0' encoding='ebcdic-x'?><a/>", b"\xff\xfe<\0\x00\xd8"] {
            assert_eq!(decode(wrong), None, "{wrong:?}");
        }
    }
}
