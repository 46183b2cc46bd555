//! Dates in the patterns of Java's `SimpleDateFormat`, which clients of the older interface use
//! (docs/api/calendar.md, "Patterns").
//!
//! Writing matches Java in English, with weeks as in ISO 8601. Reading is stricter than Java: a
//! 13th month, or text after the date, is refused.

mod read;

use std::fmt::Write as _;

use jiff::ZonedDateTime;

/// The longest pattern in bytes.
const MOST_BYTES: usize = 100;

/// The largest number of letters of a field.
const MOST_LETTERS: usize = 20;

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/// The length of abbreviated names, used in fields of fewer than four letters.
const SHORT: usize = 3;

/// A parsed pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimpleDateFormat(Vec<PatternPiece>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum PatternPiece {
    Text(String),
    /// A field, and its number of letters.
    Field(DateField, usize),
}

/// The meaning of a pattern letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DateField {
    Era,
    Year,
    WeekYear,
    Month,
    WeekOfYear,
    WeekOfMonth,
    DayOfYear,
    Day,
    WeekdayOfMonth,
    DayName,
    DayNumber,
    HalfOfDay,
    /// The hour from 0 to 23.
    Hour,
    /// The hour from 1 to 24.
    HourFromOne,
    /// The hour of half a day, from 0 to 11.
    HalfHour,
    /// The hour of half a day, from 1 to 12.
    HalfHourFromOne,
    Minute,
    Second,
    Millisecond,
    ZoneName,
    /// The offset as `-0800`.
    ZoneOffset,
    /// The offset as `-08`, `-0800` or `-08:00`; `Z` for UTC.
    ZoneIso,
}

impl DateField {
    fn of(letter: char) -> Option<DateField> {
        Some(match letter {
            'G' => DateField::Era,
            'y' => DateField::Year,
            'Y' => DateField::WeekYear,
            'M' | 'L' => DateField::Month,
            'w' => DateField::WeekOfYear,
            'W' => DateField::WeekOfMonth,
            'D' => DateField::DayOfYear,
            'd' => DateField::Day,
            'F' => DateField::WeekdayOfMonth,
            'E' => DateField::DayName,
            'u' => DateField::DayNumber,
            'a' => DateField::HalfOfDay,
            'H' => DateField::Hour,
            'k' => DateField::HourFromOne,
            'K' => DateField::HalfHour,
            'h' => DateField::HalfHourFromOne,
            'm' => DateField::Minute,
            's' => DateField::Second,
            'S' => DateField::Millisecond,
            'z' => DateField::ZoneName,
            'Z' => DateField::ZoneOffset,
            'X' => DateField::ZoneIso,
            _ => return None,
        })
    }

    /// Reports whether the field is written only with digits.
    fn is_number(self, letters: usize) -> bool {
        match self {
            DateField::Era | DateField::DayName | DateField::HalfOfDay => false,
            DateField::ZoneName | DateField::ZoneOffset | DateField::ZoneIso => false,
            DateField::Month => letters < SHORT,
            _ => true,
        }
    }
}

impl SimpleDateFormat {
    /// Parses a pattern.
    ///
    /// # Errors
    /// A clause about the first fault.
    pub fn parse(pattern: &str) -> Result<SimpleDateFormat, String> {
        if pattern.len() > MOST_BYTES {
            return Err(format!("it has more than {MOST_BYTES} bytes"));
        }
        let (mut pieces, mut chars) = (Vec::new(), pattern.chars().peekable());
        let mut text = String::new();
        while let Some(letter) = chars.next() {
            if letter == '\'' {
                if chars.next_if_eq(&'\'').is_some() {
                    text.push('\'');
                    continue;
                }
                loop {
                    match chars.next() {
                        None => return Err("a quote in it is never closed".to_owned()),
                        Some('\'') if chars.next_if_eq(&'\'').is_none() => break,
                        Some(other) => text.push(other),
                    }
                }
                continue;
            }
            if !letter.is_ascii_alphabetic() {
                text.push(letter);
                continue;
            }
            let mut letters = 1;
            while chars.next_if_eq(&letter).is_some() {
                letters += 1;
            }
            let field = DateField::of(letter).ok_or_else(|| format!("the letter `{letter}` stands for nothing"))?;
            if letters > MOST_LETTERS {
                return Err(format!("`{letter}` stands there more than {MOST_LETTERS} times in a row"));
            }
            match field {
                DateField::ZoneIso if letters > 3 => {
                    return Err("`X` stands there more than 3 times in a row".to_owned());
                }
                DateField::ZoneName if letters > 3 => {
                    return Err("the long names of time zones (`zzzz`) are not known".to_owned());
                }
                _ => {}
            }
            if !text.is_empty() {
                pieces.push(PatternPiece::Text(std::mem::take(&mut text)));
            }
            pieces.push(PatternPiece::Field(field, letters));
        }
        if !text.is_empty() {
            pieces.push(PatternPiece::Text(text));
        }
        Ok(SimpleDateFormat(pieces))
    }

    /// Formats a time in its zone.
    pub fn write(&self, time: &ZonedDateTime) -> String {
        let mut out = String::new();
        for piece in &self.0 {
            match piece {
                PatternPiece::Text(text) => out.push_str(text),
                PatternPiece::Field(field, letters) => write_field(&mut out, *field, *letters, time),
            }
        }
        out
    }
}

fn write_field(out: &mut String, field: DateField, letters: usize, time: &ZonedDateTime) {
    let (date, half) = (time.date(), time.hour() % 12);
    let week = date.iso_week_date();
    let name = |name: &'static str| if letters > SHORT { name } else { &name[..SHORT] };
    let number = match field {
        DateField::Era => return out.push_str(if date.year() > 0 { "AD" } else { "BC" }),
        DateField::HalfOfDay => return out.push_str(if time.hour() < 12 { "AM" } else { "PM" }),
        DateField::DayName => return out.push_str(name(DAYS[date.weekday().to_monday_zero_offset() as usize])),
        DateField::Month if letters >= SHORT => return out.push_str(name(MONTHS[date.month() as usize - 1])),
        DateField::ZoneName | DateField::ZoneOffset | DateField::ZoneIso => {
            return write_zone(out, field, letters, time);
        }
        DateField::Year | DateField::WeekYear => {
            let year = i32::from(if field == DateField::Year { date.year() } else { week.year() });
            // Year 0 is 1 BC; years before the year 1 count backwards.
            let year = if year > 0 { year } else { 1 - year };
            // A field of two letters has the last two digits.
            if letters == 2 { year % 100 } else { year }
        }
        DateField::Month => date.month().into(),
        DateField::WeekOfYear => week.week().into(),
        DateField::WeekOfMonth => week_of_month(date),
        DateField::DayOfYear => date.day_of_year().into(),
        DateField::Day => date.day().into(),
        DateField::WeekdayOfMonth => (i32::from(date.day()) - 1) / 7 + 1,
        DateField::DayNumber => date.weekday().to_monday_one_offset().into(),
        DateField::Hour => time.hour().into(),
        DateField::HourFromOne => i32::from(if time.hour() == 0 { 24 } else { time.hour() }),
        DateField::HalfHour => half.into(),
        DateField::HalfHourFromOne => i32::from(if half == 0 { 12 } else { half }),
        DateField::Minute => time.minute().into(),
        DateField::Second => time.second().into(),
        DateField::Millisecond => time.millisecond().into(),
    };
    // Writing to a string can't fail.
    let _ = write!(out, "{number:0letters$}");
}

/// Returns the week of the month. The first week is the first with four days of the month, as in
/// ISO 8601; earlier days are in week 0.
fn week_of_month(date: jiff::civil::Date) -> i32 {
    let first = i32::from(date.first_of_month().weekday().to_monday_zero_offset());
    let begins_with_the_month = 7 - first >= 4;
    (i32::from(date.day()) + first - 1) / 7 + i32::from(begins_with_the_month)
}

fn write_zone(out: &mut String, field: DateField, letters: usize, time: &ZonedDateTime) {
    if field == DateField::ZoneName {
        let info = time.time_zone().to_offset_info(time.timestamp());
        return out.push_str(info.abbreviation());
    }
    let seconds = time.offset().seconds();
    if field == DateField::ZoneIso && seconds == 0 {
        return out.push('Z');
    }
    let sign = if seconds < 0 { '-' } else { '+' };
    let minutes = seconds.abs() / 60;
    let (hours, minutes) = (minutes / 60, minutes % 60);
    // Writing to a string can't fail.
    let _ = match (field, letters) {
        (DateField::ZoneIso, 1) => write!(out, "{sign}{hours:02}"),
        (DateField::ZoneIso, 3) => write!(out, "{sign}{hours:02}:{minutes:02}"),
        _ => write!(out, "{sign}{hours:02}{minutes:02}"),
    };
}

#[cfg(test)]
mod tests;
