//! The issue date of an object.

use super::SharedText;
use crate::error::{Error, Result};

/// A day, `yyyyMMdd`. Objects can get their date only through this type, so it always has eight
/// digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssueDate(SharedText);

impl IssueDate {
    /// Parses a client's text for a day. An empty text means no day, as the interface documents it.
    ///
    /// # Errors
    /// `InvalidParameter` for `issueDate`.
    pub fn given(text: Option<&str>) -> Result<Option<IssueDate>> {
        text.filter(|text| !text.is_empty()).map(IssueDate::parse).transpose()
    }

    /// Parses a day as clients write it: `yyyyMMdd`, or `yyMMdd` for one of the years 2000 to 2099.
    fn parse(text: &str) -> Result<IssueDate> {
        let whole = match text.len() {
            8 => text.to_owned(),
            6 => format!("20{text}"),
            _ => String::new(),
        };
        if !is_day(&whole) {
            return Err(Error::parameter("issueDate", text, "a date as `yyyyMMdd`, or `yyMMdd` for 20yy"));
        }
        Ok(IssueDate(whole.into()))
    }

    /// Returns the eight digits.
    pub fn text(&self) -> &SharedText {
        &self.0
    }
}

/// Reports whether eight digits are a day of the Gregorian calendar. Issues may be older than the
/// epoch of computers.
fn is_day(text: &str) -> bool {
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return false;
    }
    let number = |from, to| text.get(from..to).and_then(|part: &str| part.parse::<u32>().ok());
    let (Some(year), Some(month), Some(day)) = (number(0, 4), number(4, 6), number(6, 8)) else { return false };
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if is_leap => 29,
        2 => 28,
        _ => 0,
    };
    (1..=days).contains(&day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_has_eight_digits_and_six_are_of_this_century() {
        for (given, kept) in [
            ("20261121", "20261121"),
            ("221111", "20221111"),
            ("000101", "20000101"),
            ("240229", "20240229"),
            ("19450508", "19450508"),
        ] {
            assert_eq!(&**IssueDate::given(Some(given)).unwrap().unwrap().text(), kept);
        }
        for given in [
            "2026-11-21",
            "2026112",
            "22111",
            "2211111",
            "tomorrow",
            "2211 1",
            "٢٢١",
            "202601",
            "20261399",
            "20260229",
            "19000229",
            "20260431",
            "00000000",
            "20260100",
        ] {
            let error = IssueDate::given(Some(given)).unwrap_err();
            assert!(error.message.contains("issueDate") && error.message.contains(given), "{error}");
        }
    }

    #[test]
    fn an_empty_text_says_none() {
        assert_eq!((IssueDate::given(Some("")).unwrap(), IssueDate::given(None).unwrap()), (None, None));
    }
}
