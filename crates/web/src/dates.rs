//! Preconditions by time: `If-Modified-Since` and `If-Unmodified-Since` (RFC 9110, 13.1.3 and
//! 13.1.4).
//!
//! A tag is more precise than a time. So where a request has both, the time does not count:
//! `If-None-Match` overrides the first, `If-Match` the second (13.2.2). A header that is no date,
//! or occurs more than once, is ignored. Both are ignored for content without `Last-Modified`.

use actix_web::http::header::{
    HeaderMap, HeaderName, HttpDate, IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_UNMODIFIED_SINCE,
};
use stet_domain::error::{Code, Error, Result};

use super::range::date_of;

/// Reports whether a client with these headers has the content already. `modified` is the time of
/// its last change in epoch seconds, if known.
pub fn is_known(headers: &HeaderMap, modified: Option<u64>) -> bool {
    let (Some(modified), false) = (modified, headers.contains_key(IF_NONE_MATCH)) else { return false };
    date(headers, &IF_MODIFIED_SINCE).is_some_and(|since| date_of(modified) <= since)
}

/// Refuses a call whose headers require that the content is unmodified since a time. `modified` is
/// the time of its last change in epoch seconds.
///
/// # Errors
/// `PreconditionFailed`.
pub fn check_unmodified(headers: &HeaderMap, modified: Option<u64>) -> Result<()> {
    let (Some(modified), false) = (modified, headers.contains_key(IF_MATCH)) else { return Ok(()) };
    match date(headers, &IF_UNMODIFIED_SINCE) {
        Some(since) if date_of(modified) > since => {
            let message = format!("It was modified at {}, after {since}.", date_of(modified));
            Err(Error::new(Code::PreconditionFailed, message))
        }
        _ => Ok(()),
    }
}

fn date(headers: &HeaderMap, name: &HeaderName) -> Option<HttpDate> {
    let mut values = headers.get_all(name);
    let (Some(value), None) = (values.next(), values.next()) else { return None };
    value.to_str().ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::HeaderValue;

    use super::*;

    /// Sun, 06 Nov 1994 08:49:37 GMT.
    const AT: u64 = 784_111_777;

    const BEFORE: &str = "Sun, 06 Nov 1994 08:49:36 GMT";
    const SAME: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
    const AFTER: &str = "Sun, 06 Nov 1994 08:49:38 GMT";

    fn with(lines: &[(HeaderName, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(name.clone(), HeaderValue::from_str(value).unwrap());
        }
        headers
    }

    #[test]
    fn if_modified_since_matches_equal_or_later_dates_unless_a_tag_is_given() {
        let known = |lines: &[(HeaderName, &str)]| is_known(&with(lines), Some(AT));
        for (date, wanted) in [(BEFORE, false), (SAME, true), (AFTER, true), ("yesterday", false), ("", false)] {
            assert_eq!(known(&[(IF_MODIFIED_SINCE, date)]), wanted, "{date}");
        }
        assert!(known(&[(IF_MODIFIED_SINCE, "Sunday, 06-Nov-94 08:49:37 GMT")]), "the older form of a date");
        assert!(!known(&[(IF_MODIFIED_SINCE, SAME), (IF_NONE_MATCH, "\"x\"")]));
        assert!(!known(&[(IF_MODIFIED_SINCE, SAME), (IF_MODIFIED_SINCE, SAME)]));
        assert!(!is_known(&with(&[(IF_MODIFIED_SINCE, AFTER)]), None));
        assert!(!known(&[]));
    }

    #[test]
    fn if_unmodified_since_refuses_earlier_dates_unless_a_tag_is_given() {
        let refused = |lines: &[(HeaderName, &str)]| check_unmodified(&with(lines), Some(AT)).is_err();
        for (date, wanted) in [(BEFORE, true), (SAME, false), (AFTER, false), ("yesterday", false)] {
            assert_eq!(refused(&[(IF_UNMODIFIED_SINCE, date)]), wanted, "{date}");
        }
        assert!(!refused(&[(IF_UNMODIFIED_SINCE, BEFORE), (IF_MATCH, "\"x\"")]));
        assert!(check_unmodified(&with(&[(IF_UNMODIFIED_SINCE, BEFORE)]), None).is_ok());
        let error = check_unmodified(&with(&[(IF_UNMODIFIED_SINCE, BEFORE)]), Some(AT)).unwrap_err();
        assert_eq!(error.code, Code::PreconditionFailed);
        assert!(error.message.contains(SAME) && error.message.contains(BEFORE), "{error}");
    }
}
