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
pub struct SimpleDateFormat(Vec<Piece>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    /// A field, and its number of letters.
    Field(Field, usize),
}

/// The meaning of a pattern letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
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

impl Field {
    fn of(letter: char) -> Option<Field> {
        Some(match letter {
            'G' => Field::Era,
            'y' => Field::Year,
            'Y' => Field::WeekYear,
            'M' | 'L' => Field::Month,
            'w' => Field::WeekOfYear,
            'W' => Field::WeekOfMonth,
            'D' => Field::DayOfYear,
            'd' => Field::Day,
            'F' => Field::WeekdayOfMonth,
            'E' => Field::DayName,
            'u' => Field::DayNumber,
            'a' => Field::HalfOfDay,
            'H' => Field::Hour,
            'k' => Field::HourFromOne,
            'K' => Field::HalfHour,
            'h' => Field::HalfHourFromOne,
            'm' => Field::Minute,
            's' => Field::Second,
            'S' => Field::Millisecond,
            'z' => Field::ZoneName,
            'Z' => Field::ZoneOffset,
            'X' => Field::ZoneIso,
            _ => return None,
        })
    }

    /// Reports whether the field is written only with digits.
    fn is_number(self, letters: usize) -> bool {
        match self {
            Field::Era | Field::DayName | Field::HalfOfDay => false,
            Field::ZoneName | Field::ZoneOffset | Field::ZoneIso => false,
            Field::Month => letters < SHORT,
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
            let field = Field::of(letter).ok_or_else(|| format!("the letter `{letter}` stands for nothing"))?;
            if letters > MOST_LETTERS {
                return Err(format!("`{letter}` stands there more than {MOST_LETTERS} times in a row"));
            }
            match field {
                Field::ZoneIso if letters > 3 => return Err("`X` stands there more than 3 times in a row".to_owned()),
                Field::ZoneName if letters > 3 => {
                    return Err("the long names of time zones (`zzzz`) are not known".to_owned());
                }
                _ => {}
            }
            if !text.is_empty() {
                pieces.push(Piece::Text(std::mem::take(&mut text)));
            }
            pieces.push(Piece::Field(field, letters));
        }
        if !text.is_empty() {
            pieces.push(Piece::Text(text));
        }
        Ok(SimpleDateFormat(pieces))
    }

    /// Formats a time in its zone.
    pub fn write(&self, time: &ZonedDateTime) -> String {
        let mut out = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Field(field, letters) => write_field(&mut out, *field, *letters, time),
            }
        }
        out
    }
}

fn write_field(out: &mut String, field: Field, letters: usize, time: &ZonedDateTime) {
    let (date, half) = (time.date(), time.hour() % 12);
    let week = date.iso_week_date();
    let name = |name: &'static str| if letters > SHORT { name } else { &name[..SHORT] };
    let number = match field {
        Field::Era => return out.push_str(if date.year() > 0 { "AD" } else { "BC" }),
        Field::HalfOfDay => return out.push_str(if time.hour() < 12 { "AM" } else { "PM" }),
        Field::DayName => return out.push_str(name(DAYS[date.weekday().to_monday_zero_offset() as usize])),
        Field::Month if letters >= SHORT => return out.push_str(name(MONTHS[date.month() as usize - 1])),
        Field::ZoneName | Field::ZoneOffset | Field::ZoneIso => return write_zone(out, field, letters, time),
        Field::Year | Field::WeekYear => {
            let year = i32::from(if field == Field::Year { date.year() } else { week.year() });
            // Year 0 is 1 BC; years before the year 1 count backwards.
            let year = if year > 0 { year } else { 1 - year };
            // A field of two letters has the last two digits.
            if letters == 2 { year % 100 } else { year }
        }
        Field::Month => date.month().into(),
        Field::WeekOfYear => week.week().into(),
        Field::WeekOfMonth => week_of_month(date),
        Field::DayOfYear => date.day_of_year().into(),
        Field::Day => date.day().into(),
        Field::WeekdayOfMonth => (i32::from(date.day()) - 1) / 7 + 1,
        Field::DayNumber => date.weekday().to_monday_one_offset().into(),
        Field::Hour => time.hour().into(),
        Field::HourFromOne => i32::from(if time.hour() == 0 { 24 } else { time.hour() }),
        Field::HalfHour => half.into(),
        Field::HalfHourFromOne => i32::from(if half == 0 { 12 } else { half }),
        Field::Minute => time.minute().into(),
        Field::Second => time.second().into(),
        Field::Millisecond => time.millisecond().into(),
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

fn write_zone(out: &mut String, field: Field, letters: usize, time: &ZonedDateTime) {
    if field == Field::ZoneName {
        let info = time.time_zone().to_offset_info(time.timestamp());
        return out.push_str(info.abbreviation());
    }
    let seconds = time.offset().seconds();
    if field == Field::ZoneIso && seconds == 0 {
        return out.push('Z');
    }
    let sign = if seconds < 0 { '-' } else { '+' };
    let minutes = seconds.abs() / 60;
    let (hours, minutes) = (minutes / 60, minutes % 60);
    // Writing to a string can't fail.
    let _ = match (field, letters) {
        (Field::ZoneIso, 1) => write!(out, "{sign}{hours:02}"),
        (Field::ZoneIso, 3) => write!(out, "{sign}{hours:02}:{minutes:02}"),
        _ => write!(out, "{sign}{hours:02}{minutes:02}"),
    };
}

#[cfg(test)]
mod tests;
