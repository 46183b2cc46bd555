//! Reading a date by a pattern.

use jiff::civil::{Date, DateTime, ISOWeekDate, Time, Weekday};
use jiff::tz::{Offset, TimeZone};

use super::{DAYS, DateField, MONTHS, PatternPiece, SHORT, SimpleDateFormat};

/// A year of two digits lies at most this number of years before the current year.
const YEARS_BACK: i16 = 80;

/// The fields that were read from a text.
#[derive(Default)]
struct ParsedDate {
    /// Whether years count backwards.
    before_era: bool,
    year: Option<i16>,
    week_year: Option<i16>,
    week: Option<i8>,
    month: Option<i8>,
    day: Option<i8>,
    day_of_year: Option<i16>,
    weekday: Option<Weekday>,
    hour: Option<i8>,
    half_hour: Option<i8>,
    afternoon: bool,
    minute: i8,
    second: i8,
    milli: i32,
    offset: Option<Offset>,
}

impl SimpleDateFormat {
    /// Returns the day that a text states. If the text has an offset from UTC, it is the day in
    /// `zone` at that time. A year of two digits lies between 80 years before and 20 years after
    /// `this_year`.
    ///
    /// # Errors
    /// A clause about the fault in the text.
    pub fn read(&self, text: &str, zone: &TimeZone, this_year: i16) -> Result<Date, String> {
        self.tells_a_day()?;
        let (mut found, mut rest) = (ParsedDate::default(), text);
        for (place, piece) in self.0.iter().enumerate() {
            match piece {
                PatternPiece::Text(wanted) => {
                    rest = rest.strip_prefix(&**wanted).ok_or_else(|| format!("`{wanted}` is missing in it"))?;
                }
                PatternPiece::Field(field, letters) => {
                    // A number with another one directly behind it has exactly as many digits as
                    // letters. The last number of such a run takes all digits.
                    let is_number = |piece: Option<&PatternPiece>| matches!(piece, Some(PatternPiece::Field(field, letters)) if field.is_number(*letters));
                    let abuts = is_number(self.0.get(place + 1));
                    let ends_run = !abuts && is_number(place.checked_sub(1).and_then(|before| self.0.get(before)));
                    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
                    // The last number must not have fewer digits than letters, or a leading zero
                    // beyond them. Then a digit is missing or superfluous.
                    let odd = digits < *letters || (digits > *letters && rest.starts_with('0'));
                    if ends_run && is_number(Some(piece)) && odd {
                        return Err(format!(
                            "`{rest}` has not {letters} digits, or there is something behind the date"
                        ));
                    }
                    let next = match self.0.get(place + 1) {
                        Some(PatternPiece::Text(next)) => NextPiece::Text(next),
                        Some(PatternPiece::Field(..)) => NextPiece::Field,
                        None => NextPiece::End,
                    };
                    let in_pattern = FieldContext { field: *field, letters: *letters, abuts, next };
                    found.take(in_pattern, &mut rest, this_year)?;
                }
            }
        }
        if !rest.is_empty() {
            return Err("there is something behind the date".to_owned());
        }
        found.date(zone)
    }

    /// Checks that the pattern determines a day. Not every pattern for writing does.
    fn tells_a_day(&self) -> Result<(), String> {
        let has = |wanted: &[DateField]| {
            self.0.iter().any(|piece| matches!(piece, PatternPiece::Field(field, _) if wanted.contains(field)))
        };
        if has(&[DateField::WeekOfMonth, DateField::WeekdayOfMonth]) {
            return Err("days are not read by `W` and `F`".to_owned());
        }
        if has(&[DateField::WeekYear]) && has(&[DateField::Month, DateField::Day, DateField::DayOfYear]) {
            return Err(
                "`Y` is the year of a week, and no day is read by it and a month or day; that year is `y`".to_owned()
            );
        }
        let by_date = has(&[DateField::Month, DateField::Day, DateField::DayOfYear]);
        if has(&[DateField::WeekOfYear]) && has(&[DateField::Year]) && !by_date {
            return Err("no day is read by `y` and a week, whose year is `Y`".to_owned());
        }
        Ok(())
    }
}

/// Takes a number from `least` to `most` from the start of a text.
fn number<N: TryFrom<i64>>(
    text: &mut &str,
    digits: Option<usize>,
    (least, most): (i64, i64),
    what: &str,
) -> Result<N, String> {
    let there = text.bytes().take_while(u8::is_ascii_digit).count();
    let len = digits.unwrap_or(there);
    if len == 0 || len > there || len > 9 {
        return Err(match digits {
            Some(digits) => format!("its {what} has not {digits} digits"),
            None => format!("its {what} is no number"),
        });
    }
    // At most nine digits always parse.
    let number: i64 = text[..len].parse().unwrap_or_default();
    *text = &text[len..];
    let fits = (least..=most).contains(&number).then(|| N::try_from(number).ok()).flatten();
    fits.ok_or_else(|| format!("its {what} is {number}"))
}

/// Abbreviations of other than three letters, each with its name.
const ABBREVIATIONS: [(&str, &str); 5] =
    [("Sept", "September"), ("Tues", "Tuesday"), ("Weds", "Wednesday"), ("Thurs", "Thursday"), ("Thur", "Thursday")];

/// Takes one of some names from the start of a text, complete or abbreviated and in any case.
/// Returns its place. An abbreviation may end with a full stop, unless the pattern itself continues
/// with one. `next` is what follows in the pattern.
fn one_of<'t>(text: &mut &'t str, names: &[&str], next: NextPiece<'_>, what: &str) -> Result<usize, String> {
    let all = *text;
    let behind = |form: &str| {
        let (begin, behind) = all.split_at_checked(form.len())?;
        begin.eq_ignore_ascii_case(form).then_some(behind)
    };
    let of_three = |name: &str| behind(name.get(..SHORT)?);
    let of_more = |name: &str| {
        let mut forms = ABBREVIATIONS.iter().filter(|(_, whole)| *whole == name);
        forms.find_map(|(form, _)| behind(form))
    };
    let find = |behind: &dyn Fn(&str) -> Option<&'t str>| {
        names.iter().enumerate().find_map(|(place, name)| Some((place, behind(name)?)))
    };
    let whole = find(&|name| behind(name));
    // The longest form is tried first, because it begins with the others.
    let found = whole.or_else(|| find(&of_more)).or_else(|| find(&of_three));
    let none = || Err(format!("its {what} is none of {}", names.join(", ")));
    let Some((place, mut rest)) = found else { return none() };
    let is_abbreviated = whole.is_none() || names[place].len() == SHORT;
    if is_abbreviated && !matches!(next, NextPiece::Text(next) if next.starts_with('.')) {
        rest = rest.strip_prefix('.').unwrap_or(rest);
    }
    let goes_on = match next {
        NextPiece::Text(next) => !rest.starts_with(next),
        NextPiece::Field => false,
        NextPiece::End => true,
    };
    if goes_on && rest.starts_with(char::is_alphabetic) {
        return none();
    }
    *text = rest;
    Ok(place)
}

/// A field with its context in the pattern.
struct FieldContext<'p> {
    field: DateField,
    letters: usize,
    /// Whether a number follows directly.
    abuts: bool,
    next: NextPiece<'p>,
}

/// The element behind a field in a pattern.
#[derive(Debug, Clone, Copy)]
enum NextPiece<'p> {
    Text(&'p str),
    Field,
    End,
}

impl ParsedDate {
    /// Takes a field from the start of a text.
    fn take(&mut self, place: FieldContext<'_>, text: &mut &str, this_year: i16) -> Result<(), String> {
        let FieldContext { field, letters, abuts, next } = place;
        let digits = abuts.then_some(letters);
        match field {
            DateField::Era => self.before_era = one_of(text, &["AD", "BC"], next, "era")? == 1,
            DateField::Year | DateField::WeekYear => {
                let bytes = text.len();
                let year = number(text, digits, (0, 9999), "year")?;
                let is_short = letters <= 2 && bytes - text.len() == 2;
                let year = if is_short { of_two_digits(year, this_year) } else { year };
                *(if field == DateField::Year { &mut self.year } else { &mut self.week_year }) = Some(year);
            }
            DateField::Month if letters >= SHORT => {
                self.month = Some(one_of(text, &MONTHS, next, "month")? as i8 + 1);
            }
            DateField::Month => self.month = Some(number(text, digits, (1, 12), "month")?),
            DateField::WeekOfYear => self.week = Some(number(text, digits, (1, 53), "week")?),
            DateField::Day => self.day = Some(number(text, digits, (1, 31), "day")?),
            DateField::DayOfYear => self.day_of_year = Some(number(text, digits, (1, 366), "day of the year")?),
            DateField::DayName => {
                let place = one_of(text, &DAYS, next, "day of the week")?;
                self.weekday = Weekday::from_monday_zero_offset(place as i8).ok();
            }
            DateField::DayNumber => {
                let day = number(text, digits, (1, 7), "day of the week")?;
                self.weekday = Weekday::from_monday_one_offset(day).ok();
            }
            DateField::WeekOfMonth | DateField::WeekdayOfMonth => {
                return Err("days are not read by `W` and `F`".to_owned());
            }
            DateField::HalfOfDay => self.afternoon = one_of(text, &["AM", "PM"], next, "half of the day")? == 1,
            DateField::Hour => self.hour = Some(number(text, digits, (0, 23), "hour")?),
            DateField::HourFromOne => self.hour = Some(number::<i8>(text, digits, (1, 24), "hour")? % 24),
            DateField::HalfHour => self.half_hour = Some(number(text, digits, (0, 11), "hour")?),
            DateField::HalfHourFromOne => self.half_hour = Some(number::<i8>(text, digits, (1, 12), "hour")? % 12),
            DateField::Minute => self.minute = number(text, digits, (0, 59), "minute")?,
            DateField::Second => self.second = number(text, digits, (0, 59), "second")?,
            DateField::Millisecond => self.milli = number(text, digits, (0, 999), "millisecond")?,
            DateField::ZoneName | DateField::ZoneOffset | DateField::ZoneIso => self.offset = Some(offset(text)?),
        }
        Ok(())
    }

    /// Returns the day that the fields determine.
    fn date(&self, zone: &TimeZone) -> Result<Date, String> {
        let none = || "there is no such day".to_owned();
        // There is no year 0 in either era.
        if self.year == Some(0) || self.week_year == Some(0) {
            return Err(none());
        }
        let date = match (self.day_of_year, self.week) {
            (Some(day), _) if self.month.is_none() && self.day.is_none() => {
                let first = Date::new(self.year(), 1, 1).map_err(|_| none())?;
                first.with().day_of_year(day).build().map_err(|_| none())?
            }
            (_, Some(week)) if self.month.is_none() && self.day.is_none() => {
                let year = self.week_year.or(self.year).unwrap_or(1970);
                let day = self.weekday.unwrap_or(Weekday::Monday);
                ISOWeekDate::new(year, week, day).map_err(|_| none())?.date()
            }
            _ => Date::new(self.year(), self.month.unwrap_or(1), self.day.unwrap_or(1)).map_err(|_| none())?,
        };
        if let Some(weekday) = self.weekday.filter(|weekday| *weekday != date.weekday()) {
            let name = |day: Weekday| DAYS[day.to_monday_zero_offset() as usize];
            return Err(format!("it is said to be a {} and is a {}", name(weekday), name(date.weekday())));
        }
        let said = (self.day_of_year.unwrap_or(date.day_of_year()), self.week.unwrap_or(date.iso_week_date().week()));
        if said != (date.day_of_year(), date.iso_week_date().week()) {
            return Err("its day or week of the year is another than that of its month and day".to_owned());
        }
        let Some(offset) = self.offset else { return Ok(date) };
        let half = self.half_hour.map(|hour| hour + if self.afternoon { 12 } else { 0 });
        let hour = self.hour.or(half).unwrap_or(0);
        let time = Time::new(hour, self.minute, self.second, self.milli * 1_000_000).map_err(|_| none())?;
        let moment = offset.to_timestamp(DateTime::from_parts(date, time)).map_err(|_| none())?;
        Ok(moment.to_zoned_datetime(zone.clone()).date())
    }

    fn year(&self) -> i16 {
        let year = self.year.or(self.week_year).unwrap_or(1970);
        if self.before_era { 1 - year } else { year }
    }
}

/// Returns the year of two digits: at most 80 years before this one, and less than 20 after it.
fn of_two_digits(year: i16, this_year: i16) -> i16 {
    let first = this_year - YEARS_BACK;
    let candidate = first - first.rem_euclid(100) + year;
    if candidate < first { candidate + 100 } else { candidate }
}

/// Takes a UTC offset from the start of a text: `Z`, `UTC`, `GMT`, `GMT+1:00`, `+01`, `+0100` or
/// `+01:00`.
fn offset(text: &mut &str) -> Result<Offset, String> {
    let wrong = || "its time zone is none like `Z`, `GMT` or `+01:00`".to_owned();
    let (named, rest) = match ["Z", "UTC", "GMT"].into_iter().find_map(|name| text.strip_prefix(name)) {
        Some(rest) => (true, rest),
        None => (false, *text),
    };
    let sign = match rest.as_bytes().first() {
        Some(b'+') => 1,
        Some(b'-') => -1,
        _ if named => {
            *text = rest;
            return Ok(Offset::UTC);
        }
        _ => return Err(wrong()),
    };
    let rest = &rest[1..];
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (hours, behind) = rest.split_at(digits.min(2));
    let behind = behind.strip_prefix(':').unwrap_or(behind);
    let of_minutes = behind.bytes().take_while(u8::is_ascii_digit).count();
    let (minutes, rest) = behind.split_at(of_minutes.min(2));
    let hours: i32 = hours.parse().map_err(|_| wrong())?;
    let minutes: i32 = if minutes.is_empty() { 0 } else { minutes.parse().map_err(|_| wrong())? };
    if minutes > 59 || of_minutes == 1 {
        return Err(wrong());
    }
    *text = rest;
    Offset::from_seconds(sign * (hours * 3600 + minutes * 60)).map_err(|_| wrong())
}
