//! The names of posts, and the keys by which a liveblog finds them (docs/api/posts.md, "Timestamp
//! and name").

use std::fmt;
use std::time::{Duration, UNIX_EPOCH};

use crate::error::{Error, Result};
use crate::object::{MAX_NAME_TEXT_BYTES, SharedText, normal_form};

/// The last millisecond of the year 9999.
const LAST_TIMESTAMP: u64 = 253_402_300_799_999;

/// Returns the name of a post by its timestamp (epoch milliseconds): `yyyyMMdd-HHmmss-SSS` in UTC.
///
/// # Errors
/// `InvalidParameter` for a timestamp after the year 9999.
pub fn post_name(timestamp: u64) -> Result<String> {
    Ok(TimedName::at(timestamp)?.to_string())
}

/// A name that was made from a timestamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TimedName {
    /// The digits of `yyyyMMdd-HHmmss-SSS`, read as one number.
    time: u64,
    /// The number that follows the time in ` (2)`, ` (3)`, …; 1 without one.
    number: u64,
}

impl TimedName {
    /// Creates the name for a timestamp (epoch milliseconds), without a number.
    ///
    /// # Errors
    /// `InvalidParameter` for a timestamp after the year 9999.
    pub fn at(timestamp: u64) -> Result<TimedName> {
        if timestamp > LAST_TIMESTAMP {
            return Err(Error::parameter("timestamp", timestamp, &format!("at most {LAST_TIMESTAMP} milliseconds")));
        }
        // `2026-11-21T20:15:00.123Z`
        let text = humantime::format_rfc3339_millis(UNIX_EPOCH + Duration::from_millis(timestamp)).to_string();
        let time = text.bytes().filter(u8::is_ascii_digit).fold(0, |time, digit| time * 10 + u64::from(digit - b'0'));
        Ok(TimedName { time, number: 1 })
    }

    /// Returns the greatest possible name of the same time.
    pub fn last(self) -> TimedName {
        TimedName { number: u64::MAX, ..self }
    }

    /// Returns the name with the next number.
    pub fn next(self) -> TimedName {
        // Numbers are assigned one by one, so the greatest number is never reached.
        TimedName { number: self.number.saturating_add(1), ..self }
    }

    fn of(name: &str) -> Option<TimedName> {
        const LENGTH: usize = "yyyyMMdd-HHmmss-SSS".len();
        let (text, number) = name.split_at_checked(LENGTH)?;
        let number = match number {
            "" => 1,
            _ => {
                let digits = number.strip_prefix(" (")?.strip_suffix(')')?;
                digits.parse().ok().filter(|number| *number > 1 && !digits.starts_with(['0', '+']))?
            }
        };
        let mut time = 0;
        for (at, byte) in text.bytes().enumerate() {
            match (at, byte) {
                (8 | 15, b'-') => {}
                (8 | 15, _) => return None,
                (_, b'0'..=b'9') => time = time * 10 + u64::from(byte - b'0'),
                _ => return None,
            }
        }
        Some(TimedName { time, number })
    }
}

impl fmt::Display for TimedName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (day, second, millisecond) = (self.time / 1_000_000_000, self.time / 1000 % 1_000_000, self.time % 1000);
        write!(f, "{day:08}-{second:06}-{millisecond:03}")?;
        if self.number > 1 { write!(f, " ({})", self.number) } else { Ok(()) }
    }
}

/// The key by which a post is found: its name, as a number if possible. A map of numbers can be
/// copied without counting references, each of which would be at another place in memory.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum NameKey {
    /// A name made from a timestamp, as all posts have.
    Timed(TimedName),
    /// Any other text in NFC, which a caller may ask for.
    Other(SharedText),
}

impl NameKey {
    /// Creates the key for a name; `None` for a text that is longer than any name can be.
    pub fn of(name: &str) -> Option<NameKey> {
        if name.len() > MAX_NAME_TEXT_BYTES {
            return None;
        }
        Some(match TimedName::of(name) {
            Some(name) => NameKey::Timed(name),
            None => NameKey::Other(normal_form(name).as_ref().into()),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use unicode_normalization::UnicodeNormalization;

    use super::*;
    use crate::object::MAX_NAME_BYTES;

    fn key_of(name: &str) -> NameKey {
        NameKey::of(name).expect("it is short enough")
    }

    fn written(key: &NameKey) -> String {
        match key {
            NameKey::Timed(name) => name.to_string(),
            NameKey::Other(name) => name.to_string(),
        }
    }

    proptest! {
        #[test]
        fn a_key_has_all_of_its_name(
            time in "[0-9]{8}[-0]?[0-9]{6}-[0-9]{3}",
            rest in "( ?\\(?[-+ 0-9]{0,11}\\)?)?",
            other in "\\PC{0,24}",
        ) {
            for name in [format!("{time}{rest}"), other] {
                let normal: String = name.nfc().collect();
                prop_assert_eq!(written(&key_of(&name)), normal);
            }
        }

        #[test]
        fn a_name_of_a_timestamp_is_a_number(timestamp in 0..=LAST_TIMESTAMP, number in 2u64..) {
            let first = TimedName::at(timestamp).expect("it is a timestamp");
            prop_assert_eq!(key_of(&first.to_string()), NameKey::Timed(first));
            let numbered = TimedName { number, ..first };
            prop_assert_eq!(key_of(&numbered.to_string()), NameKey::Timed(numbered));
        }
    }

    #[test]
    fn post_names_with_an_irregular_suffix_are_other_names() {
        for tail in [" (1)", " (0)", " (02)", " (+2)", " (2", " 2", "(2)", " ()", " (2) ", " (18446744073709551616)"] {
            let name = format!("20251121-140304-005{tail}");
            assert_eq!(key_of(&name), NameKey::Other(name.as_str().into()), "{name}");
        }
        assert_eq!(key_of("e\u{301}"), key_of("\u{e9}"), "names are compared in NFC");
    }

    #[test]
    fn texts_longer_than_any_name_are_no_name_key_but_the_longest_form_is() {
        for long in
            ["a".repeat(4 << 20), "\u{e9}".repeat(2 << 20), format!("20251121-140304-005 ({})", "0".repeat(5_000))]
        {
            assert_eq!(NameKey::of(&long), None);
        }
        // No letter has a form that is longer in relation to its own.
        let name = "\u{390}".repeat(MAX_NAME_BYTES / 2);
        let longest = "\u{1fbe}\u{308}\u{301}".repeat(MAX_NAME_BYTES / 2);
        assert_eq!((key_of(&longest), longest.len()), (key_of(&name), 7 * (MAX_NAME_BYTES / 2)));
    }

    #[test]
    fn names_of_one_time_stand_together_in_the_order_of_their_numbers() {
        let [name, other] = [5, 6].map(|timestamp| TimedName::at(timestamp).expect("it is a timestamp"));
        assert_eq!(name.next().to_string(), "19700101-000000-005 (2)");
        assert!(name < name.next() && name.next() < name.last() && name.last() < other);
    }
}
