//! Products, and the days of their issues.

use std::collections::{BTreeMap, BTreeSet};
use std::iter::successors;
use std::ops::Bound;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan, ZonedDateTime};
use stet_domain::object::SharedText;

use super::channels::{Edition, editions};
use crate::document::{ConfigElement, UniqueNames};
use crate::vocabulary::{DAYS, day_of, month_and_day_of};

/// A newspaper, magazine or site.
#[derive(Debug, Clone)]
pub struct Product {
    /// Name, by which calls refer to the product.
    pub name: SharedText,
    /// Title for users.
    pub title: SharedText,
    /// Whether the product is used when none is named.
    pub is_default: bool,
    /// Editions in the order of the file.
    pub editions: Vec<Edition>,
    /// Inserts in the order of the file.
    pub inserts: Vec<Insert>,
    /// Calendars in the order of the file.
    pub calendars: Vec<Calendar>,
}

/// A separately printed part of a product.
#[derive(Debug, Clone)]
pub struct Insert {
    /// Name of the insert.
    pub name: SharedText,
    /// Whether the insert is used when none is named.
    pub is_default: bool,
}

/// The days with an issue: certain days of the week except holidays, modified by exceptions.
#[derive(Debug, Clone)]
pub struct Calendar {
    /// Name, by which channels refer to the calendar.
    pub name: SharedText,
    /// The time zone in which days begin and end.
    pub time_zone: TimeZone,
    /// The format in which clients show days.
    pub date_format: Option<SharedText>,
    /// Days of the week with an issue, Monday first.
    weekdays: [bool; 7],
    /// The months and days of a year that are no holidays, in order.
    workdays: Vec<(i8, i8)>,
    exceptions: BTreeMap<Date, bool>,
}

/// The number of years in which regular days are searched. In any 40 years, the 29th of February
/// falls on every day of the week.
const YEARS_AHEAD: i16 = 60;
/// The largest number of consecutive days that a time zone is assumed to skip. So far, zones have
/// skipped single days.
const MOST_LEFT_OUT: usize = 8;
/// The largest number of calendars of a product. Each is searched for one reply.
const MOST_CALENDARS: usize = 20;

impl Calendar {
    /// Reports whether the calendar has issues on that day of the week.
    fn is_weekday(&self, day: Date) -> bool {
        self.weekdays[day.weekday().to_monday_zero_offset() as usize]
    }

    /// Returns the days after this one that are no holidays, within [`YEARS_AHEAD`]. It iterates
    /// over workdays only, because almost all days may be holidays.
    fn workdays_after(&self, day: Date) -> impl Iterator<Item = Date> {
        let behind = self.workdays.partition_point(|workday| *workday <= (day.month(), day.day()));
        let years = (0..=YEARS_AHEAD).filter_map(move |years| day.year().checked_add(years));
        let days = years.flat_map(|year| self.workdays.iter().map(move |(month, day)| (year, *month, *day)));
        // A year may lack the 29th of February, and the last year has no successor.
        let days = days.skip(behind).filter_map(|(year, month, day)| Date::new(year, month, day).ok());
        let last = day.saturating_add(YEARS_AHEAD.years());
        days.take_while(move |day| *day <= last)
    }

    /// Reports whether there is an issue on a day.
    pub fn publishes(&self, day: Date) -> bool {
        let weekday = self.is_weekday(day);
        let usual = || weekday && self.workdays.binary_search(&(day.month(), day.day())).is_ok();
        self.exceptions.get(&day).copied().unwrap_or_else(usual)
    }

    /// Returns the first day after this one with an issue; `None` if there is none. Days without an
    /// exception are searched only within [`YEARS_AHEAD`], so the cost is bounded for any file.
    pub fn next_after(&self, day: Date) -> Option<Date> {
        let mut behind = self.exceptions.range((Bound::Excluded(day), Bound::Unbounded));
        let named = behind.find(|(_, publishes)| **publishes).map(|(named, _)| *named);
        if !self.weekdays.contains(&true) {
            return named;
        }
        let mut usual = self.workdays_after(day).take_while(|day| named.is_none_or(|named| *day < named));
        usual.find(|day| self.is_weekday(*day) && self.exceptions.get(day) != Some(&false)).or(named)
    }

    /// Returns the days of the week with an issue, by their names in files.
    pub fn weekdays(&self) -> impl Iterator<Item = &'static str> {
        DAYS.iter().zip(self.weekdays).filter(|(_, publishes)| *publishes).map(|(name, _)| *name)
    }
}

/// Returns the day at a time, given in epoch milliseconds, in a time zone.
pub fn day_at(now_ms: u64, zone: &TimeZone) -> Date {
    let now_ms = i64::try_from(now_ms).unwrap_or(i64::MAX);
    // A clock outside of that range has no sensible day.
    let now = Timestamp::from_millisecond(now_ms).unwrap_or(Timestamp::UNIX_EPOCH);
    ZonedDateTime::new(now, zone.clone()).date()
}

impl Product {
    /// Returns the day of the issue in production at a time, in epoch milliseconds, as `yyyyMMdd`.
    /// It is the first issue after that day; `None` if there is none.
    pub fn current_issue(&self, now_ms: u64) -> Option<String> {
        let next = self.next_issue(day_at(now_ms, &self.time_zone()))?;
        Some(next.strftime("%Y%m%d").to_string())
    }

    /// Returns the first day after this one with an issue in any of the calendars, and that
    /// calendar.
    fn next_after(&self, day: Date) -> Option<(Date, &Calendar)> {
        let next = |calendar: &'_ Calendar| calendar.next_after(day);
        self.calendars.iter().filter_map(|calendar| Some((next(calendar)?, calendar))).min_by_key(|(day, _)| *day)
    }

    /// Returns the start of the first day after this one with an issue, in the time zone of its
    /// calendar. Days don't start at midnight everywhere. A zone that moves across the date line
    /// skips a whole day, which then has no issue.
    pub fn next_issue(&self, day: Date) -> Option<ZonedDateTime> {
        let days = successors(self.next_after(day), |(day, _)| self.next_after(*day));
        let begins =
            days.map_while(|(day, calendar)| Some((day, day.to_zoned_datetime(calendar.time_zone.clone()).ok()?)));
        begins.take(MOST_LEFT_OUT).find(|(day, time)| time.date() == *day).map(|(_, time)| time)
    }

    /// Returns the time zone of the first calendar, which stands for all of them.
    pub fn time_zone(&self) -> TimeZone {
        self.calendars.first().map_or(TimeZone::UTC, |calendar| calendar.time_zone.clone())
    }
}

pub(super) fn read(root: ConfigElement<'_>) -> Vec<Product> {
    let mut known = UniqueNames::default();
    let product = |element: ConfigElement<'_>| {
        let name = element.required("name");
        known.check(element, "product", name);
        Product {
            name: name.into(),
            title: element.attribute("title").unwrap_or(name).into(),
            is_default: element.flag("isDefault"),
            editions: editions(element),
            inserts: inserts(element),
            calendars: calendars(element),
        }
    };
    root.all_in("products", "product").map(product).collect()
}

pub(super) fn inserts(element: ConfigElement<'_>) -> Vec<Insert> {
    let mut known = UniqueNames::default();
    let insert = |element: ConfigElement<'_>| {
        let name = element.required("name");
        known.check(element, "insert", name);
        for day in element.attribute("days").unwrap_or_default().split_whitespace() {
            if !DAYS.contains(&day) {
                element.fault(format!("`days` names `{day}`, which is not one of {}", DAYS.join(", ")));
            }
        }
        Insert { name: name.into(), is_default: element.flag("isDefault") }
    };
    element.all_in("inserts", "insert").map(insert).collect()
}

/// Returns all months and days except the given ones.
fn workdays(holidays: impl Iterator<Item = (i8, i8)>) -> Vec<(i8, i8)> {
    let holidays: BTreeSet<(i8, i8)> = holidays.collect();
    // A leap year, which has all of them.
    let all = successors(Date::new(2024, 1, 1).ok(), |day| day.tomorrow().ok()).take_while(|day| day.year() == 2024);
    all.map(|day| (day.month(), day.day())).filter(|day| !holidays.contains(day)).collect()
}

fn calendars(element: ConfigElement<'_>) -> Vec<Calendar> {
    let mut known = UniqueNames::default();
    if element.all("calendar").nth(MOST_CALENDARS).is_some() {
        element.fault(format!("it has more than {MOST_CALENDARS} elements `calendar`"));
    }
    let calendar = |element: ConfigElement<'_>| {
        let name = element.required("name");
        known.check(element, "calendar", name);
        let zone = element.attribute("timeZone").and_then(|name| TimeZone::get(name).ok());
        let mut calendar = Calendar {
            name: name.into(),
            // An unknown zone was refused already.
            time_zone: zone.unwrap_or(TimeZone::UTC),
            date_format: element.attribute("dateFormat").map(SharedText::from),
            weekdays: [false; 7],
            workdays: workdays(element.all("holiday").filter_map(|day| month_and_day_of(day.required("day")))),
            exceptions: BTreeMap::new(),
        };
        for day in element.all("publishes") {
            // An unknown day was refused already.
            if let Some(place) = DAYS.iter().position(|known| *known == day.required("day")) {
                calendar.weekdays[place] = true;
            }
        }
        for exception in element.all("exception") {
            let date = exception.required("date");
            let Some(day) = day_of(date) else { continue };
            if calendar.exceptions.insert(day, exception.flag("publishes")).is_some() {
                exception.fault(format!("the day {date} is defined twice"));
            }
        }
        calendar
    };
    element.all("calendar").map(calendar).collect()
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;
    use proptest::prelude::*;

    use super::*;

    fn calendar(weekdays: [bool; 7], holidays: &[(i8, i8)], exceptions: &[(Date, bool)]) -> Calendar {
        Calendar {
            name: "c".into(),
            time_zone: TimeZone::UTC,
            date_format: None,
            weekdays,
            workdays: workdays(holidays.iter().copied()),
            exceptions: exceptions.iter().copied().collect(),
        }
    }

    const DAILY: [bool; 7] = [true, true, true, true, true, true, false];

    #[test]
    fn sundays_holidays_and_exceptions_are_passed_over() {
        let christmas = calendar(DAILY, &[(12, 25), (1, 1)], &[(date(2026, 12, 27), true), (date(2027, 1, 2), false)]);
        for (from, next) in [
            (date(2026, 12, 23), date(2026, 12, 24)),
            (date(2026, 12, 24), date(2026, 12, 26)),
            (date(2026, 12, 26), date(2026, 12, 27)),
            (date(2026, 12, 31), date(2027, 1, 4)),
        ] {
            assert_eq!(christmas.next_after(from), Some(next), "{from}");
        }
    }

    /// Returns all months and days.
    fn all_days() -> Vec<(i8, i8)> {
        let all = (1..=12).flat_map(|month| (1..=31).map(move |day| (month, day)));
        all.filter(|(month, day)| Date::new(2024, *month, *day).is_ok()).collect()
    }

    #[test]
    fn a_calendar_may_have_no_further_day() {
        assert_eq!(calendar([false; 7], &[], &[]).next_after(date(2026, 1, 1)), None);
        let dated =
            calendar([false; 7], &[], &[(date(2026, 5, 1), true), (date(2026, 6, 1), false), (date(2026, 7, 1), true)]);
        assert_eq!(dated.next_after(date(2026, 4, 30)), Some(date(2026, 5, 1)));
        assert_eq!(dated.next_after(date(2026, 5, 1)), Some(date(2026, 7, 1)));
        assert_eq!(dated.next_after(date(2026, 7, 1)), None);
        // All days are holidays except a rare one, which is rarely a Saturday.
        let holidays = all_days();
        let all = calendar([true; 7], &holidays, &[]);
        assert_eq!(all.next_after(date(2026, 1, 1)), None);
        let leap: Vec<(i8, i8)> = holidays.into_iter().filter(|day| *day != (2, 29)).collect();
        let saturdays = calendar([false, false, false, false, false, true, false], &leap, &[]);
        assert_eq!(saturdays.next_after(date(2020, 2, 29)), Some(date(2048, 2, 29)));
        // The search does not extend to a distant exception that has no issue.
        let far = calendar([true; 7], &all_days(), &[(date(9998, 12, 31), false)]);
        assert_eq!(far.next_after(date(2026, 1, 1)), None);
        let named = calendar([true; 7], &all_days(), &[(date(9998, 12, 31), true)]);
        assert_eq!(named.next_after(date(2026, 1, 1)), Some(date(9998, 12, 31)));
        // Exceptions within the searched years, and beyond.
        let saturdays = |named| calendar([false, false, false, false, false, true, false], &leap, &[(named, true)]);
        for (from, named, next) in [
            (date(2020, 2, 29), date(2048, 3, 1), date(2048, 2, 29)),
            (date(2020, 2, 29), date(2048, 2, 28), date(2048, 2, 28)),
            (date(9992, 2, 29), date(9999, 12, 31), date(9999, 12, 31)),
        ] {
            assert_eq!(saturdays(named).next_after(from), Some(next), "{from}");
        }
        // The last representable day.
        assert_eq!(calendar([true; 7], &[], &[]).next_after(Date::MAX), None);
    }

    #[test]
    fn no_holiday_is_come_by() {
        let holidays: Vec<(i8, i8)> = all_days().into_iter().filter(|day| *day != (3, 1)).collect();
        let one = calendar([true; 7], &holidays, &[]);
        let days: Vec<Date> = one.workdays_after(date(2026, 3, 1)).collect();
        let years = YEARS_AHEAD as usize;
        assert_eq!((days.len(), days[0], days[years - 1]), (years, date(2027, 3, 1), date(2086, 3, 1)));
        assert_eq!(one.workdays_after(Date::MAX).count(), 0);
        assert_eq!(calendar([true; 7], &all_days(), &[]).workdays_after(date(2026, 1, 1)).count(), 0);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

        /// Compares with a search day by day over all searched years. With so few workdays, some
        /// are decades away or never occur.
        #[test]
        fn where_few_days_are_no_holidays_the_next_is_the_first_that_publishes(
            weekday in 0_usize..7,
            left in proptest::collection::vec(prop_oneof![Just((2_i8, 29_i8)), (1_i8..=12, 1_i8..=31)], 0..3),
            exceptions in proptest::collection::vec((0_i64..30_000, any::<bool>()), 0..3),
            from in 0_i64..3000,
        ) {
            let begin = date(1996, 1, 1);
            let mut weekdays = [false; 7];
            weekdays[weekday] = true;
            let holidays: Vec<(i8, i8)> = all_days().into_iter().filter(|day| !left.contains(day)).collect();
            let exceptions: Vec<(Date, bool)> = exceptions.into_iter().map(|(day, is)| (begin + day.days(), is)).collect();
            let calendar = calendar(weekdays, &holidays, &exceptions);
            let from = begin + from.days();
            let last = from.saturating_add(YEARS_AHEAD.years());
            let mut days = successors(from.tomorrow().ok(), |day| day.tomorrow().ok()).take_while(|day| *day <= last);
            // Beyond those years, only exceptions count.
            let named = || calendar.exceptions.iter().find(|(day, is)| **day > last && **is).map(|(day, _)| *day);
            let expected = days.find(|day| calendar.publishes(*day)).or_else(named);
            prop_assert_eq!(calendar.next_after(from), expected);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

        /// Compares with a search day by day over some years that include leap days.
        #[test]
        fn the_next_day_is_the_first_that_publishes(
            weekdays: [bool; 7],
            holidays in proptest::collection::vec((1_i8..=12, 1_i8..=31), 0..20),
            exceptions in proptest::collection::vec((0_i64..1500, any::<bool>()), 0..40),
            from in 0_i64..1500,
        ) {
            let begin = date(2023, 12, 1);
            let exceptions: Vec<(Date, bool)> = exceptions.into_iter().map(|(day, is)| (begin + day.days(), is)).collect();
            let calendar = calendar(weekdays, &holidays, &exceptions);
            let from = begin + from.days();
            // After the last exception there is a day within some weeks, or none: the holidays are
            // too few to fill a longer time.
            let expected = (1..4000).map(|days: i64| from + days.days()).find(|day| calendar.publishes(*day));
            prop_assert_eq!(calendar.next_after(from), expected);
        }
    }
}
