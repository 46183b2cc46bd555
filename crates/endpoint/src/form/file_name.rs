//! Names of files as clients encode them in a header: percent-encoded, as encoded words, or with a
//! path in front.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use encoding_rs::Encoding;

/// Decodes the value of a plain `filename`.
///
/// Encoded words (RFC 2047) are decoded, because mail libraries write them. A name is
/// percent-encoded UTF-8 (RFC 7578, 4.2) if each `%` in it begins an encoded byte and this results
/// in characters beyond ASCII. In other names only `%22` is decoded, to `"`, because browsers write
/// that.
pub fn decode(value: &str) -> String {
    if let Some(decoded) = encoded_words(value) {
        return decoded;
    }
    match percent_decoded(value).map(String::from_utf8) {
        Ok(Ok(decoded)) if decoded.chars().filter(|c| !c.is_ascii()).count() > non_ascii(value) => decoded,
        _ => value.replace("%22", "\""),
    }
}

fn non_ascii(text: &str) -> usize {
    text.chars().filter(|c| !c.is_ascii()).count()
}

/// Returns the part of a name after the last `/` or `\`.
pub fn last_segment(name: &str) -> &str {
    name.rsplit(['/', '\\']).next().unwrap_or(name)
}

/// Returns the bytes that a percent-encoded text stands for.
fn percent_decoded(text: &str) -> Result<Vec<u8>, String> {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        if *byte != b'%' {
            decoded.push(*byte);
            at += 1;
            continue;
        }
        let digits = bytes.get(at + 1..at + 3).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        let value = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        decoded.push(value.ok_or("has a `%` without two hexadecimal digits behind it")?);
        at += 3;
    }
    Ok(decoded)
}

/// An extended value (RFC 8187): `charset'language'percent-encoded`.
#[derive(Debug)]
pub struct ExtendedValue;

impl ExtendedValue {
    /// Decodes a value.
    ///
    /// # Errors
    /// The reason, as the end of a sentence that begins with the value.
    pub fn decode(value: &str) -> Result<String, String> {
        ExtendedValue::decode_segments([(true, value)])
    }

    /// Decodes a value in segments (RFC 2231, 4.1). The flag of each tells whether it is
    /// percent-encoded; the first always is, and contains the charset.
    ///
    /// # Errors
    /// The errors of [`ExtendedValue::decode`].
    pub fn decode_segments<'v>(segments: impl IntoIterator<Item = (bool, &'v str)>) -> Result<String, String> {
        let mut segments = segments.into_iter();
        let first = segments.next().map(|(_, value)| value).unwrap_or_default();
        let mut fields = first.splitn(3, '\'');
        let (Some(charset), Some(_language), Some(text)) = (fields.next(), fields.next(), fields.next()) else {
            return Err("has no charset in front: write `utf-8''` and the name percent-encoded".to_owned());
        };
        let mut bytes = percent_decoded(text)?;
        for (encoded, value) in segments {
            match encoded {
                true => bytes.extend(percent_decoded(value)?),
                false => bytes.extend(value.bytes()),
            }
        }
        match charset.to_ascii_lowercase().as_str() {
            "utf-8" => String::from_utf8(bytes).map_err(|_| "is not UTF-8, although its charset is `utf-8`".to_owned()),
            // Browsers use another encoding under this name.
            "iso-8859-1" => Ok(bytes.into_iter().map(char::from).collect()),
            other => Err(format!(
                "has the charset `{}`, which is not known: `utf-8` and `iso-8859-1` are",
                stet_web::parameters::shortened(other)
            )),
        }
    }
}

/// Decodes a text of encoded words (RFC 2047); `None` if it has anything else in it, or can't be
/// decoded.
fn encoded_words(text: &str) -> Option<String> {
    let mut decoded = String::new();
    let mut rest = text.trim();
    if !rest.starts_with("=?") {
        return None;
    }
    while !rest.is_empty() {
        let (charset, behind) = rest.strip_prefix("=?")?.split_once('?')?;
        let (encoding, behind) = behind.split_once('?')?;
        let (word, behind) = behind.split_once("?=")?;
        // A language may follow the charset (RFC 2231, 5).
        let charset = charset.split('*').next().unwrap_or(charset);
        let charset = Encoding::for_label(charset.as_bytes())?;
        let bytes: Cow<'_, [u8]> = match encoding {
            "B" | "b" => STANDARD.decode(word).ok()?.into(),
            "Q" | "q" => percent_decoded(&word.replace('%', "=25").replace('_', " ").replace('=', "%")).ok()?.into(),
            _ => return None,
        };
        decoded += &charset.decode_without_bom_handling_and_without_replacement(&bytes)?;
        rest = behind.trim_start_matches([' ', '\t']);
    }
    Some(decoded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoded_words_are_decoded_where_all_of_them_can_be() {
        for (value, expected) in [
            ("=?utf-8?B?RsOkaHJlLnhtbA==?=", "Fähre.xml"),
            ("=?UTF-8?Q?F=C3=A4hre_100=25%.xml?=", "Fähre 100%%.xml"),
            ("=?iso-8859-1?q?F=E4hre?= =?utf-8*de?b?LnhtbA==?=", "Fähre.xml"),
            ("=?koi8-r?B?9MXL09Q=?=", "Текст"),
            ("=?utf-8?B?RsOkaHJl", "=?utf-8?B?RsOkaHJl"),
            ("=?nothing?B?RsOkaHJl?=", "=?nothing?B?RsOkaHJl?="),
            ("=?utf-8?B?*?=", "=?utf-8?B?*?="),
            ("=?utf-8?B?/w==?=", "=?utf-8?B?/w==?="),
            ("=?utf-8?B?RsOkaHJl?=.xml", "=?utf-8?B?RsOkaHJl?=.xml"),
        ] {
            assert_eq!(decode(value), expected, "{value}");
        }
    }

    #[test]
    fn percent_encoding_is_decoded_only_where_it_is_meant() {
        for (value, expected) in [
            ("a%22b", "a\"b"),
            ("100%.xml", "100%.xml"),
            ("a%0Ab", "a%0Ab"),
            ("F%C3%A4hre%25.xml", "Fähre%.xml"),
            ("Fä%20hre", "Fä%20hre"),
            ("F%E4hre", "F%E4hre"),
            ("F%C3%A4hre 100%", "F%C3%A4hre 100%"),
        ] {
            assert_eq!(decode(value), expected, "{value}");
        }
    }
}
