//! The kinds of values of attributes and texts.

use jiff::civil::Date;

/// A kind of value. Surrounding white space is ignored.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ValueKind {
    /// Any text.
    Text,
    /// A text that is not empty.
    Name,
    /// An absolute path in the repository.
    Path,
    /// `true` or `false`, `1` or `0`.
    Flag,
    /// An integer within these bounds.
    Whole(i64, i64),
    /// A number within these bounds.
    Number(f64, f64),
    /// One of these texts.
    OneOf(&'static [&'static str]),
    /// `rgb(r,g,b)` with numbers from 0 to 255.
    Colour,
    /// A day of the calendar, `yyyyMMdd`.
    Day,
    /// A day of the year, `MMdd`, which may be the 29th of February.
    MonthAndDay,
    /// The name of a time zone.
    TimeZone,
}

impl ValueKind {
    /// Reports whether a trimmed value is of the kind.
    pub fn takes(self, value: &str) -> bool {
        match self {
            ValueKind::Text => true,
            ValueKind::Name => !value.is_empty(),
            ValueKind::Path => value.starts_with('/'),
            ValueKind::Flag => matches!(value, "true" | "false" | "1" | "0"),
            ValueKind::Whole(least, most) => {
                value.parse::<i64>().is_ok_and(|number| (least..=most).contains(&number)) && !value.starts_with('+')
            }
            ValueKind::Number(least, most) => {
                is_decimal(value) && value.parse::<f64>().is_ok_and(|number| (least..=most).contains(&number))
            }
            ValueKind::OneOf(names) => names.contains(&value),
            ValueKind::Colour => is_colour(value),
            ValueKind::Day => day_of(value).is_some(),
            ValueKind::MonthAndDay => month_and_day_of(value).is_some(),
            ValueKind::TimeZone => jiff::tz::TimeZone::get(value).is_ok(),
        }
    }

    /// Returns the kind's description for a message.
    pub fn wanted(self) -> String {
        match self {
            ValueKind::Text => "a text".to_owned(),
            ValueKind::Name => "a text that is not empty".to_owned(),
            ValueKind::Path => "an absolute path, which begins with `/`".to_owned(),
            ValueKind::Flag => "`true` or `false`".to_owned(),
            ValueKind::Whole(least, i64::MAX) => format!("a whole number of {least} or more"),
            ValueKind::Whole(least, most) => format!("a whole number from {least} to {most}"),
            ValueKind::Number(least, most) => format!("a number from {least} to {most}"),
            ValueKind::OneOf(names) => format!("one of {}", names.join(", ")),
            ValueKind::Colour => "like `rgb(76,145,65)`, with numbers from 0 to 255".to_owned(),
            ValueKind::Day => "a day of the calendar, yyyyMMdd".to_owned(),
            ValueKind::MonthAndDay => "a day of the year, MMdd".to_owned(),
            ValueKind::TimeZone => "the name of a time zone, like `Europe/London`".to_owned(),
        }
    }
}

/// Parses a day of eight digits, `yyyyMMdd`.
pub fn day_of(text: &str) -> Option<Date> {
    if text.len() != 8 || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Date::new(text[..4].parse().ok()?, text[4..6].parse().ok()?, text[6..].parse().ok()?).ok()
}

/// Parses the month and day of four digits, `MMdd`.
pub fn month_and_day_of(text: &str) -> Option<(i8, i8)> {
    // A leap year, which has every day.
    let day = day_of(&format!("2024{text}"))?;
    Some((day.month(), day.day()))
}

/// Reports whether a text has only digits, with an optional point and minus sign, as in the schema.
fn is_decimal(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, part) = digits.split_once('.').unwrap_or((digits, "0"));
    let all_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    all_digits(whole) && all_digits(part)
}

fn is_colour(text: &str) -> bool {
    let Some(inner) = text.strip_prefix("rgb(").and_then(|rest| rest.strip_suffix(')')) else { return false };
    let parts: Vec<_> = inner.split(',').map(str::trim).collect();
    let is_byte =
        |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()) && part.parse::<u8>().is_ok();
    parts.len() == 3 && parts.iter().all(is_byte)
}
