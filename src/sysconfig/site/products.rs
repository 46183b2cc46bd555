//! Products, and on which days they appear.

use std::collections::{BTreeMap, BTreeSet};
use std::iter::successors;
use std::ops::Bound;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan, ZonedDateTime};
use stet_actors::object::Text;

use super::channels::{Edition, editions};
use crate::sysconfig::document::{Element, Once};
use crate::sysconfig::vocabulary::{DAYS, day_of, month_and_day_of};

/// A newspaper, magazine or site.
#[derive(Debug, Clone)]
pub struct Product {
    /// What calls name it by.
    pub name: Text,
    /// What people read.
    pub title: Text,
    /// Whether it is the one that is meant where none is named.
    pub is_default: bool,
    /// In the order of the file.
    pub editions: Vec<Edition>,
    /// In the order of the file.
    pub inserts: Vec<Insert>,
    /// In the order of the file.
    pub calendars: Vec<Calendar>,
}

/// A part of a product that is printed by itself.
#[derive(Debug, Clone)]
pub struct Insert {
    /// Its name.
    pub name: Text,
    /// Whether it is the one that is meant where none is named.
    pub is_default: bool,
}

/// On which days there are issues: on some days of the week, but on no holiday, and as the
/// exceptions say.
#[derive(Debug, Clone)]
pub struct Calendar {
    /// What channels name it by.
    pub name: Text,
    /// Where its days begin and end.
    pub time_zone: TimeZone,
    /// How clients write its days.
    pub date_format: Option<Text>,
    /// Days of the week with an issue, Monday first.
    weekdays: [bool; 7],
    /// Months and days of every year that are no holidays, in their order.
    workdays: Vec<(i8, i8)>,
    exceptions: BTreeMap<Date, bool>,
}

/// How far a usual day may be. The 29th of February falls on each day of the week at least every
/// forty years.
const YEARS_AHEAD: i16 = 60;
/// Days in a row that a time zone may leave out: it has been one at a time.
const MOST_LEFT_OUT: usize = 8;
/// Calendars of a product: each is looked through for one answer.
const MOST_CALENDARS: usize = 20;

impl Calendar {
    /// Whether there are issues on that day of the week.
    fn is_weekday(&self, day: Date) -> bool {
        self.weekdays[day.weekday().to_monday_zero_offset() as usize]
    }

    /// The days after this one that are no holidays, within [`YEARS_AHEAD`]. Holidays are not come
    /// by: almost all days may be some.
    fn workdays_after(&self, day: Date) -> impl Iterator<Item = Date> {
        let behind = self.workdays.partition_point(|workday| *workday <= (day.month(), day.day()));
        let years = (0..=YEARS_AHEAD).filter_map(move |years| day.year().checked_add(years));
        let days = years.flat_map(|year| self.workdays.iter().map(move |(month, day)| (year, *month, *day)));
        // A year may lack the 29th of February, and the last one is followed by none.
        let days = days.skip(behind).filter_map(|(year, month, day)| Date::new(year, month, day).ok());
        let last = day.saturating_add(YEARS_AHEAD.years());
        days.take_while(move |day| *day <= last)
    }

    /// Whether there is an issue on a day.
    pub fn publishes(&self, day: Date) -> bool {
        let weekday = self.is_weekday(day);
        let usual = || weekday && self.workdays.binary_search(&(day.month(), day.day())).is_ok();
        self.exceptions.get(&day).copied().unwrap_or_else(usual)
    }

    /// The first day after this one with an issue; `None` if there is no more. Days that are not
    /// named are looked for within
    /// [`YEARS_AHEAD`]: what that costs is bounded, whatever the file says.
    pub fn next_after(&self, day: Date) -> Option<Date> {
        let mut behind = self.exceptions.range((Bound::Excluded(day), Bound::Unbounded));
        let named = behind.find(|(_, publishes)| **publishes).map(|(named, _)| *named);
        if !self.weekdays.contains(&true) {
            return named;
        }
        let mut usual = self.workdays_after(day).take_while(|day| named.is_none_or(|named| *day < named));
        usual.find(|day| self.is_weekday(*day) && self.exceptions.get(day) != Some(&false)).or(named)
    }

    /// The days of the week with an issue, as files name them.
    pub fn weekdays(&self) -> impl Iterator<Item = &'static str> {
        DAYS.iter().zip(self.weekdays).filter(|(_, publishes)| *publishes).map(|(name, _)| *name)
    }
}

/// Returns the day that it is at a moment, in epoch milliseconds, in a time zone.
pub fn day_at(now_ms: u64, zone: &TimeZone) -> Date {
    let now_ms = i64::try_from(now_ms).unwrap_or(i64::MAX);
    // Of a clock that shows no year of four digits, the day matters to nobody.
    let now = Timestamp::from_millisecond(now_ms).unwrap_or(Timestamp::UNIX_EPOCH);
    ZonedDateTime::new(now, zone.clone()).date()
}

impl Product {
    /// Returns the day of the issue that is being made at a moment, in epoch milliseconds, as
    /// `yyyyMMdd`: the next one after that day; `None` where there is none.
    pub fn current_issue(&self, now_ms: u64) -> Option<String> {
        let next = self.next_issue(day_at(now_ms, &self.time_zone()))?;
        Some(next.strftime("%Y%m%d").to_string())
    }

    /// The first day after this one with an issue by any of its calendars, and that calendar.
    fn next_after(&self, day: Date) -> Option<(Date, &Calendar)> {
        let next = |calendar: &'_ Calendar| calendar.next_after(day);
        self.calendars.iter().filter_map(|calendar| Some((next(calendar)?, calendar))).min_by_key(|(day, _)| *day)
    }

    /// The first moment of the first day after this one with an issue, in the time zone of its
    /// calendar. It is not midnight everywhere, and a zone that goes over the date line leaves a
    /// whole day out, on which there is no issue.
    pub fn next_issue(&self, day: Date) -> Option<ZonedDateTime> {
        let days = successors(self.next_after(day), |(day, _)| self.next_after(*day));
        let begins =
            days.map_while(|(day, calendar)| Some((day, day.to_zoned_datetime(calendar.time_zone.clone()).ok()?)));
        begins.take(MOST_LEFT_OUT).find(|(day, time)| time.date() == *day).map(|(_, time)| time)
    }

    /// Where its days begin and end, as far as they agree: by its first calendar.
    pub fn time_zone(&self) -> TimeZone {
        self.calendars.first().map_or(TimeZone::UTC, |calendar| calendar.time_zone.clone())
    }
}

pub(super) fn read(root: Element<'_>) -> Vec<Product> {
    let mut known = Once::default();
    let product = |element: Element<'_>| {
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

pub(super) fn inserts(element: Element<'_>) -> Vec<Insert> {
    let mut known = Once::default();
    let insert = |element: Element<'_>| {
        let name = element.required("name");
        known.check(element, "insert", name);
        for day in element.attribute("days").unwrap_or_default().split_whitespace() {
            if !DAYS.contains(&day) {
                element.fault(format!("`days` names `{day}`, which is none of {}", DAYS.join(", ")));
            }
        }
        Insert { name: name.into(), is_default: element.flag("isDefault") }
    };
    element.all_in("inserts", "insert").map(insert).collect()
}

/// The months and days that there are without these.
fn workdays(holidays: impl Iterator<Item = (i8, i8)>) -> Vec<(i8, i8)> {
    let holidays: BTreeSet<(i8, i8)> = holidays.collect();
    // A year that has each of them.
    let all = successors(Date::new(2024, 1, 1).ok(), |day| day.tomorrow().ok()).take_while(|day| day.year() == 2024);
    all.map(|day| (day.month(), day.day())).filter(|day| !holidays.contains(day)).collect()
}

fn calendars(element: Element<'_>) -> Vec<Calendar> {
    let mut known = Once::default();
    if element.all("calendar").nth(MOST_CALENDARS).is_some() {
        element.fault(format!("it has more than {MOST_CALENDARS} elements `calendar`"));
    }
    let calendar = |element: Element<'_>| {
        let name = element.required("name");
        known.check(element, "calendar", name);
        let zone = element.attribute("timeZone").and_then(|name| TimeZone::get(name).ok());
        let mut calendar = Calendar {
            name: name.into(),
            // One that there is not has been refused.
            time_zone: zone.unwrap_or(TimeZone::UTC),
            date_format: element.attribute("dateFormat").map(Text::from),
            weekdays: [false; 7],
            workdays: workdays(element.all("holiday").filter_map(|day| month_and_day_of(day.required("day")))),
            exceptions: BTreeMap::new(),
        };
        for day in element.all("publishes") {
            // One that is no day has been refused.
            if let Some(place) = DAYS.iter().position(|known| *known == day.required("day")) {
                calendar.weekdays[place] = true;
            }
        }
        for exception in element.all("exception") {
            let date = exception.required("date");
            let Some(day) = day_of(date) else { continue };
            if calendar.exceptions.insert(day, exception.flag("publishes")).is_some() {
                exception.fault(format!("the day {date} is there a second time"));
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

    /// Each month and day that there is.
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
        // Each day is a holiday but one that is seldom there, and seldom a Saturday.
        let holidays = all_days();
        let all = calendar([true; 7], &holidays, &[]);
        assert_eq!(all.next_after(date(2026, 1, 1)), None);
        let leap: Vec<(i8, i8)> = holidays.into_iter().filter(|day| *day != (2, 29)).collect();
        let saturdays = calendar([false, false, false, false, false, true, false], &leap, &[]);
        assert_eq!(saturdays.next_after(date(2020, 2, 29)), Some(date(2048, 2, 29)));
        // Nothing is looked for up to a day that is named far away and does not count.
        let far = calendar([true; 7], &all_days(), &[(date(9998, 12, 31), false)]);
        assert_eq!(far.next_after(date(2026, 1, 1)), None);
        let named = calendar([true; 7], &all_days(), &[(date(9998, 12, 31), true)]);
        assert_eq!(named.next_after(date(2026, 1, 1)), Some(date(9998, 12, 31)));
        // What is named within the years that are looked through, and behind them.
        let saturdays = |named| calendar([false, false, false, false, false, true, false], &leap, &[(named, true)]);
        for (from, named, next) in [
            (date(2020, 2, 29), date(2048, 3, 1), date(2048, 2, 29)),
            (date(2020, 2, 29), date(2048, 2, 28), date(2048, 2, 28)),
            (date(9992, 2, 29), date(9999, 12, 31), date(9999, 12, 31)),
        ] {
            assert_eq!(saturdays(named).next_after(from), Some(next), "{from}");
        }
        // The last day that there is.
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

        /// Day by day over all years that are looked through: with so few days some are decades
        /// away, or never come.
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
            // Behind those years only what is named counts.
            let named = || calendar.exceptions.iter().find(|(day, is)| **day > last && **is).map(|(day, _)| *day);
            let expected = days.find(|day| calendar.publishes(*day)).or_else(named);
            prop_assert_eq!(calendar.next_after(from), expected);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

        /// Day by day, over some years with leap days among them.
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
            // Behind the last exception there is a day within some weeks, or none: so many holidays
            // in a row there are not.
            let expected = (1..4000).map(|days: i64| from + days.days()).find(|day| calendar.publishes(*day));
            prop_assert_eq!(calendar.next_after(from), expected);
        }
    }
}
