//! How long texts are that containers hold in memory, and that are written anew with each change of
//! what they stand in. Those that are there from before there was a bound stay as they are.

use super::name::MAX_NAME_BYTES;
use crate::error::{Error, Result};

/// Bytes of a title: several times what headlines have.
pub const MAX_TITLE_BYTES: usize = 1024;

/// Bytes of a summary or a description: several times what those of agencies have.
pub const MAX_DESCRIPTION_BYTES: usize = 8192;

/// Bytes of a word that something is told apart by.
pub const MAX_WORD_BYTES: usize = MAX_NAME_BYTES;

/// Looks at texts under their fields' names; what is not said is well.
///
/// # Errors
/// `InvalidParameter` for the first that is longer than its limit, in bytes of UTF-8.
pub fn check_texts<const N: usize>(texts: [(&str, Option<&str>, usize); N]) -> Result<()> {
    for (field, text, limit) in texts {
        let Some(text) = text.filter(|text| text.len() > limit) else { continue };
        let beginning: String = text.chars().take(40).collect();
        let wanted = format!("a text of {limit} bytes at most");
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
