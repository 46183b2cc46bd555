//! Dates in the patterns of Java's `SimpleDateFormat`, which clients of the older surface name
//! (docs/api/calendar.md, "Patterns").
//!
//! Written is what Java writes, in English, with weeks as ISO 8601 has them. Read is what the
//! pattern says and nothing else: where Java takes a thirteenth month for January, and passes over
//! what stands behind a date, it is refused here.

mod read;

use std::fmt::Write as _;

use jiff::ZonedDateTime;

/// Bytes of the longest pattern.
const MOST_BYTES: usize = 100;

/// Letters of the widest field.
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

/// Names are shortened to so many letters where a field has fewer than four.
const SHORT: usize = 3;

/// A pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimpleDateFormat(Vec<Piece>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    /// A field, and how many letters it has.
    Field(Field, usize),
}

/// What a letter stands for.
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
    /// 0 to 23.
    Hour,
    /// 1 to 24.
    HourFromOne,
    /// 0 to 11.
    HalfHour,
    /// 1 to 12.
    HalfHourFromOne,
    Minute,
    Second,
    Millisecond,
    ZoneName,
    /// `-0800`
    ZoneOffset,
    /// `-08`, `-0800` or `-08:00`; `Z` for none.
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

    /// Whether it is written in digits alone.
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
    /// Reads a pattern.
    ///
    /// # Errors
    /// A clause that says what is wrong with it.
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

    /// Writes a time, in its zone.
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
            // Before the year 1, years count backwards.
            let year = if year > 0 { year } else { 1 - year };
            // Two letters are the last two digits.
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
    // To write into a text can't fail.
    let _ = write!(out, "{number:0letters$}");
}

/// The first week of a month is the first with four days of it, as in ISO 8601; days before that
/// are in week 0.
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
    // To write into a text can't fail.
    let _ = match (field, letters) {
        (Field::ZoneIso, 1) => write!(out, "{sign}{hours:02}"),
        (Field::ZoneIso, 3) => write!(out, "{sign}{hours:02}:{minutes:02}"),
        _ => write!(out, "{sign}{hours:02}{minutes:02}"),
    };
}

#[cfg(test)]
mod tests;
