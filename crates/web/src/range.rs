//! The requested part of a content: `Range` and `If-Range` (RFC 9110, 13.1.5 and 14).
//!
//! A single range is answered with that part. Several ranges, a unit other than bytes, and
//! malformed values are ignored, as the RFC permits, and the whole content is sent.
//!
//! actix-web's [`ByteRangeSpec`] evaluates a range for a content's size. The header is parsed here
//! because actix-web's parser deviates from the RFC: it knows `bytes` in lower case only (14.1:
//! units are case-insensitive), refuses numbers above 64 bits (14.1.2: they must be expected),
//! accepts `+1` as a number, and drops the unreadable ones of several ranges.

use actix_web::http::header::{ByteRangeSpec, HeaderMap, HttpDate, IF_RANGE, RANGE};

use super::etag::ETag;

/// The part of a content to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestedRange {
    /// All bytes.
    Whole,
    /// The bytes from the first to the last, both included; they exist.
    Part {
        /// The offset of the first byte, counted from 0.
        first: u64,
        /// The offset of the last byte.
        last: u64,
    },
    /// No bytes: the range begins behind the end.
    Nothing,
}

/// Returns the part that a GET with these headers requests from `size` bytes with this tag.
/// `modified` is their `Last-Modified` in epoch seconds, if there is one.
pub fn requested_range(headers: &HeaderMap, size: u64, tag: &ETag, modified: Option<u64>) -> RequestedRange {
    let mut ranges = headers.get_all(RANGE).filter_map(|value| value.to_str().ok());
    let (Some(range), None) = (ranges.next(), ranges.next()) else { return RequestedRange::Whole };
    if !still_holds(headers, tag, modified) {
        return RequestedRange::Whole;
    }
    select_part(range, size)
}

/// Reports whether the client has the beginning of exactly this content. A request that names no
/// content counts as such.
fn still_holds(headers: &HeaderMap, tag: &ETag, modified: Option<u64>) -> bool {
    let Some(value) = headers.get(IF_RANGE) else { return true };
    // A weak tag never equals one of the server's, which are strong.
    if value == tag.value() {
        return true;
    }
    let date = value.to_str().ok().and_then(|text| text.parse::<HttpDate>().ok());
    match (date, modified) {
        (Some(date), Some(modified)) => date == date_of(modified),
        _ => false,
    }
}

/// Converts epoch seconds into the date of a header.
pub fn date_of(seconds: u64) -> HttpDate {
    // The clock's years can be represented.
    (std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds)).into()
}

fn select_part(range: &str, size: u64) -> RequestedRange {
    let Some(spec) = spec(range) else { return RequestedRange::Whole };
    match (spec.to_satisfiable_range(size), spec) {
        (Some((first, last)), _) => RequestedRange::Part { first, last },
        // The last bytes of an empty content are the whole content.
        (None, ByteRangeSpec::Last(1..)) => RequestedRange::Whole,
        (None, _) => RequestedRange::Nothing,
    }
}

/// Returns the single range of bytes that a header requests.
fn spec(range: &str) -> Option<ByteRangeSpec> {
    let (unit, range) = range.split_once('=')?;
    let (first, last) = range.trim().split_once('-')?;
    if !unit.trim().eq_ignore_ascii_case("bytes") {
        return None;
    }
    match (first, last) {
        ("", last) => number(last).map(ByteRangeSpec::Last),
        (first, "") => number(first).map(ByteRangeSpec::From),
        (first, last) => {
            let (first, last) = (number(first)?, number(last)?);
            (first <= last).then_some(ByteRangeSpec::FromTo(first, last))
        }
    }
}

/// Parses digits only. A number too large for any content counts as the largest.
fn number(text: &str) -> Option<u64> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(text.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::HeaderValue;

    use super::*;

    fn asked(range: &str, size: u64) -> RequestedRange {
        with(&[("range", range)], size)
    }

    fn with(lines: &[(&str, &str)], size: u64) -> RequestedRange {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            let name = actix_web::http::header::HeaderName::try_from(*name).unwrap();
            headers.append(name, HeaderValue::from_str(value).unwrap());
        }
        requested_range(&headers, size, &ETag::of_bytes("a"), Some(1_700_000_000))
    }

    fn bytes(first: u64, last: u64) -> RequestedRange {
        RequestedRange::Part { first, last }
    }

    #[test]
    fn a_range_names_its_first_and_last_byte_or_how_many_at_the_end() {
        for (range, expected) in [
            ("bytes=0-0", bytes(0, 0)),
            ("bytes=0-9", bytes(0, 9)),
            ("bytes=3-", bytes(3, 9)),
            ("bytes=9-", bytes(9, 9)),
            ("bytes=2-5", bytes(2, 5)),
            ("bytes=2-99", bytes(2, 9)),
            ("bytes=2-99999999999999999999999", bytes(2, 9)),
            ("bytes=-4", bytes(6, 9)),
            ("bytes=-99999999999999999999999", bytes(0, 9)),
            ("BYTES = 1-2", bytes(1, 2)),
        ] {
            assert_eq!(asked(range, 10), expected, "{range}");
        }
    }

    #[test]
    fn a_range_without_a_byte_in_it_is_told_from_one_that_is_none() {
        for range in ["bytes=10-", "bytes=10-12", "bytes=99999999999999999999999-", "bytes=-0"] {
            assert_eq!(asked(range, 10), RequestedRange::Nothing, "{range}");
        }
        assert_eq!(asked("bytes=0-", 0), RequestedRange::Nothing);
        assert_eq!(asked("bytes=-1", 0), RequestedRange::Whole);
        for range in [
            "",
            "bytes",
            "bytes=",
            "bytes=-",
            "bytes=5-4",
            "bytes=20-15",
            "bytes=a-b",
            "bytes=1-b",
            "bytes=20-b",
            "bytes=+1-2",
            "bytes=--2",
            "bytes=1-2-3",
            "bytes=0-1,3-4",
            "bytes=20-,30-",
            "lines=0-1",
            "=0-1",
        ] {
            assert_eq!(asked(range, 10), RequestedRange::Whole, "{range}");
        }
        assert_eq!(with(&[("range", "bytes=0-1"), ("range", "bytes=2-3")], 10), RequestedRange::Whole);
        assert_eq!(with(&[], 10), RequestedRange::Whole);
    }

    #[test]
    fn a_range_of_another_state_is_answered_with_all_of_this_one() {
        let tag = ETag::of_bytes("a").value().to_str().unwrap().to_owned();
        let of = |state: &str| with(&[("range", "bytes=0-1"), ("if-range", state)], 10);
        assert_eq!(of(&tag), bytes(0, 1));
        assert_eq!(of("Tue, 14 Nov 2023 22:13:20 GMT"), bytes(0, 1));
        let others = [&format!("W/{tag}"), "\"7-0\"", "Tue, 14 Nov 2023 22:13:21 GMT", "yesterday", ""];
        for state in others {
            assert_eq!(of(state), RequestedRange::Whole, "{state}");
        }
        // The same for a range without bytes.
        assert_eq!(with(&[("range", "bytes=10-"), ("if-range", "\"7-0\"")], 10), RequestedRange::Whole);
    }
}
