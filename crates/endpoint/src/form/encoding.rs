//! The transfer encoding of a form's part (`Content-Transfer-Encoding`, RFC 2045), decoded while
//! the part arrives.
//!
//! Browsers send none. Mail libraries send `base64` and `quoted-printable`, whose text must not be
//! stored in place of the decoded bytes. A decoder holds back only a bounded number of bytes,
//! whatever the client sends.

use std::borrow::Cow;

use actix_web::http::header::HeaderMap;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use stet_web::parameters::shortened;

const HEADER: &str = "content-transfer-encoding";

/// The most white space at the end of a line that is held back: the largest length of a line of
/// mail, in bytes.
const MAX_HELD: usize = 998;

/// Decodes the bytes of a part, chunk by chunk.
#[derive(Debug)]
pub enum TransferDecoder {
    /// No encoding.
    Identity,
    /// Base64 with line breaks.
    Base64(Base64Decoder),
    /// Quoted-printable.
    QuotedPrintable(QuotedPrintableDecoder),
}

impl TransferDecoder {
    /// Returns the decoder for a part with these headers.
    ///
    /// # Errors
    /// The encoding is unknown; the text is the end of a sentence that begins with the part.
    pub fn of(headers: &HeaderMap) -> Result<TransferDecoder, String> {
        let values: Vec<_> = headers.get_all(HEADER).map(|value| String::from_utf8_lossy(value.as_bytes())).collect();
        let named = values.join(", ").trim().to_ascii_lowercase();
        match named.as_str() {
            "" | "7bit" | "8bit" | "binary" => Ok(TransferDecoder::Identity),
            "base64" => Ok(TransferDecoder::Base64(Base64Decoder::default())),
            "quoted-printable" => Ok(TransferDecoder::QuotedPrintable(QuotedPrintableDecoder::default())),
            other => Err(format!(
                "has the transfer encoding `{}`; `7bit`, `8bit`, `binary`, `base64` and `quoted-printable` are known",
                shortened(other)
            )),
        }
    }

    /// Returns more than the encoded bytes that any part of at most `limit` decoded bytes needs.
    pub fn most_encoded(limit: u64) -> u64 {
        limit.saturating_mul(4).saturating_add(4096)
    }

    /// Decodes the next bytes.
    ///
    /// # Errors
    /// The bytes are not of the encoding; the text is the end of a sentence that begins with the
    /// part.
    pub fn decode<'c>(&mut self, chunk: &'c [u8]) -> Result<Cow<'c, [u8]>, String> {
        match self {
            TransferDecoder::Identity => Ok(Cow::Borrowed(chunk)),
            TransferDecoder::Base64(decoder) => decoder.decode(chunk).map(Cow::Owned),
            TransferDecoder::QuotedPrintable(decoder) => decoder.decode(chunk).map(Cow::Owned),
        }
    }

    /// Checks that the bytes have ended where an encoding may end.
    ///
    /// # Errors
    /// The errors of [`TransferDecoder::decode`].
    pub fn finish(&self) -> Result<(), String> {
        match self {
            TransferDecoder::Identity => Ok(()),
            TransferDecoder::Base64(decoder) => decoder.finish(),
            TransferDecoder::QuotedPrintable(decoder) => decoder.finish(),
        }
    }
}

/// State between chunks of base64.
#[derive(Debug, Default)]
pub struct Base64Decoder {
    /// The characters of an incomplete group of four.
    group: Vec<u8>,
    /// Whether the padding was read. Only white space may follow it.
    ended: bool,
}

impl Base64Decoder {
    fn decode(&mut self, chunk: &[u8]) -> Result<Vec<u8>, String> {
        let mut text = std::mem::take(&mut self.group);
        text.extend(chunk.iter().filter(|byte| !byte.is_ascii_whitespace()));
        if text.is_empty() {
            return Ok(text);
        }
        if self.ended {
            return Err("is not base64: more follows its end".to_owned());
        }
        self.group = text.split_off(text.len() - text.len() % 4);
        self.ended = text.ends_with(b"=");
        STANDARD.decode(&text).map_err(|error| format!("is not base64: {}", described(&error)))
    }

    fn finish(&self) -> Result<(), String> {
        match self.group.as_slice() {
            [] => Ok(()),
            _ => Err("is not base64: it ends within a group of four characters".to_owned()),
        }
    }
}

fn described(error: &base64::DecodeError) -> String {
    match error {
        base64::DecodeError::InvalidByte(_, byte) => format!("`{}` is not of its alphabet", byte.escape_ascii()),
        _ => "its end or padding is wrong".to_owned(),
    }
}

/// State between chunks of quoted-printable.
#[derive(Debug, Default)]
pub struct QuotedPrintableDecoder {
    /// White space that is dropped if the line ends after it.
    spaces: Vec<u8>,
    state: QuotedPrintableState,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum QuotedPrintableState {
    /// Plain text.
    #[default]
    Text,
    /// The byte after `=`.
    Escape,
    /// The byte after `=` and a digit.
    Digit(u8),
    /// The bytes after `=` and white space. Only the end of a line may follow.
    SoftBreak,
    /// The byte after `=` and a carriage return.
    SoftReturn,
}

impl QuotedPrintableDecoder {
    fn decode(&mut self, chunk: &[u8]) -> Result<Vec<u8>, String> {
        let mut decoded = Vec::with_capacity(chunk.len() + self.spaces.len());
        for byte in chunk {
            self.take(*byte, &mut decoded)?;
        }
        Ok(decoded)
    }

    fn take(&mut self, byte: u8, decoded: &mut Vec<u8>) -> Result<(), String> {
        self.state = match (self.state, byte) {
            (QuotedPrintableState::Text, b' ' | b'\t') => {
                if self.spaces.len() == MAX_HELD {
                    return Err(format!("is not quoted-printable: more than {MAX_HELD} blanks in a row"));
                }
                self.spaces.push(byte);
                QuotedPrintableState::Text
            }
            (QuotedPrintableState::Text, b'\r' | b'\n') => {
                self.spaces.clear();
                decoded.push(byte);
                QuotedPrintableState::Text
            }
            (QuotedPrintableState::Text, byte) => {
                decoded.append(&mut self.spaces);
                match byte {
                    b'=' => QuotedPrintableState::Escape,
                    byte => {
                        decoded.push(byte);
                        QuotedPrintableState::Text
                    }
                }
            }
            (QuotedPrintableState::Escape | QuotedPrintableState::SoftBreak, b' ' | b'\t') => {
                QuotedPrintableState::SoftBreak
            }
            (QuotedPrintableState::Escape | QuotedPrintableState::SoftBreak, b'\r') => QuotedPrintableState::SoftReturn,
            (
                QuotedPrintableState::Escape | QuotedPrintableState::SoftBreak | QuotedPrintableState::SoftReturn,
                b'\n',
            ) => QuotedPrintableState::Text,
            (QuotedPrintableState::Escape, digit) if digit.is_ascii_hexdigit() => QuotedPrintableState::Digit(digit),
            (QuotedPrintableState::Digit(first), second) if second.is_ascii_hexdigit() => {
                let value = |digit: u8| char::from(digit).to_digit(16).unwrap_or_default() as u8;
                decoded.push(value(first) << 4 | value(second));
                QuotedPrintableState::Text
            }
            (_, byte) => {
                let shown = byte.escape_ascii();
                return Err(format!(
                    "is not quoted-printable: `{shown}` follows a `=` that begins neither a byte nor a line end"
                ));
            }
        };
        Ok(())
    }

    /// Checks that the text does not end within a byte. White space that was held back is dropped.
    /// A `=` at the end is a line break that belongs to the boundary.
    fn finish(&self) -> Result<(), String> {
        match self.state {
            QuotedPrintableState::Digit(_) => Err("is not quoted-printable: it ends within a byte".to_owned()),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::{HeaderName, HeaderValue};

    use super::*;

    fn decoder(encoding: &str) -> Result<TransferDecoder, String> {
        let mut headers = HeaderMap::new();
        headers.insert(HeaderName::from_static(HEADER), HeaderValue::from_str(encoding).unwrap());
        TransferDecoder::of(&headers)
    }

    /// Returns the result, which must be the same for chunks of each size.
    fn decoded(encoding: &str, text: &[u8]) -> Result<Vec<u8>, String> {
        let in_chunks = |size: usize| -> Result<Vec<u8>, String> {
            let mut decoder = decoder(encoding)?;
            let mut whole = Vec::new();
            for chunk in text.chunks(size) {
                whole.extend_from_slice(&decoder.decode(chunk)?);
            }
            decoder.finish().map(|()| whole)
        };
        let whole = in_chunks(text.len().max(1));
        for size in 1..text.len() {
            let cut = in_chunks(size);
            assert_eq!(cut.as_ref().ok(), whole.as_ref().ok(), "{size} bytes of {}", text.escape_ascii());
        }
        whole
    }

    #[test]
    fn base64_is_decoded_wherever_it_is_cut() {
        for (text, expected) in
            [("", ""), ("PGEvPg==", "<a/>"), ("PGEv\r\nPg==\r\n", "<a/>"), (" P G\tEv Pg = =", "<a/>"), ("YWJj", "abc")]
        {
            assert_eq!(decoded("base64", text.as_bytes()), Ok(expected.as_bytes().to_vec()), "{text}");
        }
        for bad in ["PGEvPg", "PGEvPg=", "PGEvPg==PGEv", "PGE*", "PG-_", "=", "PGEvPh==", "<a/>"] {
            assert!(decoded("base64", bad.as_bytes()).is_err(), "{bad}");
        }
    }

    #[test]
    fn quoted_printable_is_decoded_wherever_it_is_cut() {
        for (text, expected) in [
            ("", ""),
            ("F=C3=A4hre =3D =c3=9f", "Fähre = ß"),
            ("one =\r\nline", "one line"),
            ("one=\nline= \t\r\n!", "oneline!"),
            ("blanks \t\r\nhere  ", "blanks\r\nhere"),
            ("kept =20\r\n", "kept  \r\n"),
            ("end=", "end"),
            ("Fähre", "Fähre"),
        ] {
            assert_eq!(decoded("Quoted-Printable", text.as_bytes()), Ok(expected.as_bytes().to_vec()), "{text}");
        }
        let blanks = " ".repeat(MAX_HELD + 1) + "x";
        for bad in ["=x", "=4", "=4x", "= x", "=\rx", &blanks] {
            assert!(decoded("quoted-printable", bad.as_bytes()).is_err(), "{bad}");
        }
    }

    #[test]
    fn other_encodings_are_refused_by_name() {
        for known in ["7bit", " 8BIT ", "binary", ""] {
            assert!(matches!(decoder(known), Ok(TransferDecoder::Identity)), "{known}");
        }
        for unknown in ["x-uuencode", "base64, base64", "gzip"] {
            let why = decoder(unknown).expect_err(unknown);
            assert!(why.contains(unknown) && why.contains("quoted-printable"), "{why}");
        }
    }
}
