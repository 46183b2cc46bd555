//! Dates and ranges of dates in queries.

use jiff::civil::{Date, Time};
use jiff::tz::Offset;
use jiff::{SignedDuration, ToSpan};

use super::DateCondition;
use crate::QueryError;

/// Parses a date or a range of dates, whose ends are included.
pub(super) fn parse_dates(created: bool, text: &str, zone_offset_seconds: i32) -> Result<DateCondition, QueryError> {
    let error = || {
        let name = if created { "created" } else { "modified" };
        let message = format!(
            "The date `{text}` of `{name}:` could not be read. A year, month, day or time such as `2026`, `2026-05`, \
             `2026-05-31` or `2026-05-31T18:30` is allowed, or a range such as `2026-05-01..2026-05-31`, one of whose \
             ends may be left out."
        );
        QueryError::new(message, text)
    };
    let offset = Offset::from_seconds(zone_offset_seconds).unwrap_or(Offset::UTC);
    let (from, to) = match text.split_once("..") {
        None => {
            let (from, to) = date_span(text, offset).ok_or_else(error)?;
            (Some(from), Some(to))
        }
        Some(("", "")) => return Err(error()),
        Some((first, "")) => (Some(date_span(first, offset).ok_or_else(error)?.0), None),
        Some(("", last)) => (None, Some(date_span(last, offset).ok_or_else(error)?.1)),
        Some((first, last)) => {
            let (from, _) = date_span(first, offset).ok_or_else(error)?;
            let (_, to) = date_span(last, offset).ok_or_else(error)?;
            (Some(from), Some(to))
        }
    };
    Ok(DateCondition { created, from, to })
}

/// Returns the milliseconds at which a year, month, day, minute or second begins and the next does.
fn date_span(text: &str, offset: Offset) -> Option<(i64, i64)> {
    let (day, time) = match text.split_once(['T', 't']) {
        Some((day, time)) => (day, Some(time)),
        None => (text, None),
    };
    let (first, next) = day_span(day)?;
    let Some(time) = time else {
        return Some((milliseconds(first, Time::midnight(), offset)?, milliseconds(next, Time::midnight(), offset)?));
    };
    if day.len() != 10 {
        return None;
    }
    let (clock, offset) = match time.find(['Z', 'z', '+', '-']) {
        Some(at) => (&time[..at], zone_offset(&time[at..])?),
        None => (time, offset),
    };
    let numbers: Vec<i8> = clock.split(':').map(two_digits).collect::<Option<_>>()?;
    let (time, length) = match numbers[..] {
        [hour, minute] => (Time::new(hour, minute, 0, 0).ok()?, SignedDuration::from_mins(1)),
        [hour, minute, second] => (Time::new(hour, minute, second, 0).ok()?, SignedDuration::from_secs(1)),
        _ => return None,
    };
    let from = milliseconds(first, time, offset)?;
    Some((from, from.checked_add(i64::try_from(length.as_millis()).ok()?)?))
}

/// Returns the first day of a year, month or day, and the first day of the next one.
fn day_span(text: &str) -> Option<(Date, Date)> {
    let mut parts = text.split('-');
    let year = parts.next().filter(|year| year.len() == 4 && is_number(year))?.parse().ok()?;
    let month = parts.next().map(|part| two_digits(part).ok_or(())).transpose().ok()?;
    let day = parts.next().map(|part| two_digits(part).ok_or(())).transpose().ok()?;
    if parts.next().is_some() || year == 0 {
        return None;
    }
    let first = Date::new(year, month.unwrap_or(1), day.unwrap_or(1)).ok()?;
    let span = match (month, day) {
        (None, _) => 1.year(),
        (Some(_), None) => 1.month(),
        (Some(_), Some(_)) => 1.day(),
    };
    Some((first, first.saturating_add(span)))
}

/// Reports whether a text is of digits only.
fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Reads a number of two digits.
fn two_digits(text: &str) -> Option<i8> {
    (text.len() == 2 && is_number(text)).then(|| text.parse().ok()).flatten()
}

/// Reads an offset like `Z` or `+02:00`.
fn zone_offset(text: &str) -> Option<Offset> {
    if text.eq_ignore_ascii_case("z") {
        return Some(Offset::UTC);
    }
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let (hours, minutes) = text.get(1..)?.split_once(':')?;
    let (hours, minutes) = (two_digits(hours)?, two_digits(minutes)?);
    if hours > 14 || minutes > 59 {
        return None;
    }
    Offset::from_seconds(sign * (i32::from(hours) * 3600 + i32::from(minutes) * 60)).ok()
}

/// Returns the milliseconds since 1970 of a day and time.
fn milliseconds(day: Date, time: Time, offset: Offset) -> Option<i64> {
    Some(offset.to_timestamp(day.to_datetime(time)).ok()?.as_millisecond())
}
