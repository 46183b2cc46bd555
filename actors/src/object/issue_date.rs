//! The day of the issue that an object is made for.

use super::Text;
use crate::error::{Error, Result};

/// A day, `yyyyMMdd`. There is no other way to give an object one, so each is stored with eight digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssueDate(Text);

impl IssueDate {
    /// Reads a day as clients write it: `yyyyMMdd`, or `yyMMdd` for one of the years 2000 to 2099.
    ///
    /// # Errors
    /// `InvalidParameter`, naming `issueDate`.
    pub fn parse(text: &str) -> Result<IssueDate> {
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        match text.len() {
            8 if digits => Ok(IssueDate(text.into())),
            6 if digits => Ok(IssueDate(format!("20{text}").into())),
            _ => Err(Error::parameter("issueDate", text, "a date as `yyyyMMdd`, or `yyMMdd` for 20yy")),
        }
    }

    /// The eight digits.
    pub fn text(&self) -> &Text {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_has_eight_digits_and_six_are_of_this_century() {
        for (given, kept) in [("20261121", "20261121"), ("221111", "20221111"), ("000101", "20000101")] {
            assert_eq!(&**IssueDate::parse(given).unwrap().text(), kept);
        }
        for given in ["", "2026-11-21", "2026112", "22111", "2211111", "tomorrow", "2211 1", "٢٢١"] {
            let error = IssueDate::parse(given).unwrap_err();
            assert!(error.message.contains("issueDate") && error.message.contains(given), "{error}");
        }
    }
}
