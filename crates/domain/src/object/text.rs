//! Limits of texts that containers hold in memory and write again with each change of their row.
//! Longer texts from before the limits stay as they are.

use super::name::MAX_NAME_BYTES;
use crate::error::{Error, Result};

/// The limit of a title in bytes: several times the length of headlines.
pub const MAX_TITLE_BYTES: usize = 1024;

/// The limit of a summary or description in bytes: several times the length in agency news.
pub const MAX_DESCRIPTION_BYTES: usize = 8192;

/// The limit of a word in bytes, such as a name or type that distinguishes things.
pub const MAX_WORD_BYTES: usize = MAX_NAME_BYTES;

/// Checks the length of texts, given with their fields' names. `None` is always valid.
///
/// # Errors
/// `InvalidParameter` for the first text that is longer than its limit, in bytes of UTF-8.
pub fn check_texts<const N: usize>(texts: [(&str, Option<&str>, usize); N]) -> Result<()> {
    for (field, text, limit) in texts {
        let Some(text) = text.filter(|text| text.len() > limit) else { continue };
        let beginning: String = text.chars().take(40).collect();
        let wanted = format!("a text of at most {limit} bytes");
        let (bytes, value) = (text.len(), format!("{beginning}…"));
        return Err(Error::parameter(field, value, &wanted).with_detail("bytes", bytes).with_detail("limit", limit));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Code;

    #[test]
    fn a_text_may_have_as_many_bytes_as_its_limit() {
        let check = |text: Option<&str>| check_texts([("first", Some("x"), 1), ("title", text, 8)]);
        for well in [None, Some(""), Some("12345678"), Some("éééé")] {
            assert_eq!(check(well), Ok(()));
        }
        for long in ["123456789", "ééééé"] {
            let error = check(Some(long)).expect_err("it is too long");
            assert_eq!(error.code, Code::InvalidParameter);
            assert!(error.message.contains("`title`") && error.message.contains("8 bytes"), "{error}");
        }
    }
}
