//! Comparisons with the known output of Java, and round trips.

use jiff::civil::{Date, date};
use jiff::tz::TimeZone;
use proptest::prelude::*;

use super::*;

fn zoned(text: &str) -> ZonedDateTime {
    text.parse().expect("it is a time")
}

fn written(pattern: &str, time: &str) -> String {
    SimpleDateFormat::parse(pattern).unwrap_or_else(|why| panic!("{pattern}: {why}")).write(&zoned(time))
}

fn read(pattern: &str, text: &str) -> Result<Date, String> {
    let zone = TimeZone::get("Europe/London").expect("it is known");
    SimpleDateFormat::parse(pattern).unwrap_or_else(|why| panic!("{pattern}: {why}")).read(text, &zone, 2026)
}

/// The table in the reference of Java's class.
#[test]
fn formats_match_the_examples_in_the_java_reference() {
    let time = "2001-07-04T12:08:56.235-07:00[America/Los_Angeles]";
    for (pattern, wanted) in [
        ("yyyy.MM.dd G 'at' HH:mm:ss z", "2001.07.04 AD at 12:08:56 PDT"),
        ("EEE, MMM d, ''yy", "Wed, Jul 4, '01"),
        ("h:mm a", "12:08 PM"),
        ("hh 'o''clock' a, z", "12 o'clock PM, PDT"),
        ("K:mm a, z", "0:08 PM, PDT"),
        ("yyyyy.MMMMM.dd GGG hh:mm aaa", "02001.July.04 AD 12:08 PM"),
        ("EEE, d MMM yyyy HH:mm:ss Z", "Wed, 4 Jul 2001 12:08:56 -0700"),
        ("yyMMddHHmmssZ", "010704120856-0700"),
        ("yyyy-MM-dd'T'HH:mm:ss.SSSZ", "2001-07-04T12:08:56.235-0700"),
        ("yyyy-MM-dd'T'HH:mm:ss.SSSXXX", "2001-07-04T12:08:56.235-07:00"),
        ("YYYY-'W'ww-u", "2001-W27-3"),
    ] {
        assert_eq!(written(pattern, time), wanted, "{pattern}");
    }
}

#[test]
fn each_letter_is_written_as_wide_as_it_stands_there() {
    let time = "2024-12-30T00:05:07.009+00:00[UTC]";
    for (pattern, wanted) in [
        ("yyyyMMdd", "20241230"),
        ("y", "2024"),
        ("yyy", "2024"),
        ("yy", "24"),
        // The Monday is in the first week of the year after.
        ("YYYY w ww", "2025 1 01"),
        ("M MM MMM MMMM LLLL", "12 12 Dec December December"),
        ("W F D DDDD", "5 5 365 0365"),
        ("E EEEE u", "Mon Monday 1"),
        ("H k K h HH kk KK hh", "0 24 0 12 00 24 00 12"),
        ("s SSS S SSSSS", "7 009 9 00009"),
        ("z Z X XX XXX", "UTC +0000 Z Z Z"),
        ("''''", "''"),
        ("'a'''", "a'"),
        ("dd/MM/yyyy; d.M.", "30/12/2024; 30.12."),
    ] {
        assert_eq!(written(pattern, time), wanted, "{pattern}");
    }
    assert_eq!(written("X XX XXX Z", "2024-06-01T12:00:00-02:30[America/St_Johns]").split(' ').next(), Some("-02"));
    assert_eq!(written("X", "2024-06-01T12:00:00+05:30[Asia/Kolkata]"), "+05");
    assert_eq!(written("y G", "-000043-03-15T12:00:00+00:00[UTC]"), "44 BC");
    // June 2024 begins with a Saturday: its first two days are in no week of it.
    assert_eq!(written("W", "2024-06-02T12:00:00+00:00[UTC]"), "0");
    assert_eq!(written("W", "2024-06-03T12:00:00+00:00[UTC]"), "1");
}

#[test]
fn patterns_that_can_not_be_are_refused_by_what_is_wrong() {
    for (pattern, part) in [
        ("yyyy-MM-dd'T", "never closed"),
        ("yyyyMMddT", "`T`"),
        ("b", "`b`"),
        ("XXXX", "`X`"),
        ("zzzz", "long names"),
        (&"y".repeat(21), "more than 20 times"),
        (&"-".repeat(101), "100 bytes"),
    ] {
        let why = SimpleDateFormat::parse(pattern).expect_err(pattern);
        assert!(why.contains(part), "{pattern}: {why}");
    }
    assert_eq!(SimpleDateFormat::parse("").expect("it is a pattern").write(&zoned("2024-01-01T00:00Z[UTC]")), "");
}

#[test]
fn months_and_weekdays_are_read_in_every_form_in_use() {
    for (place, name) in MONTHS.iter().enumerate() {
        let wanted = Ok(date(2026, place as i8 + 1, 5));
        let short = &name[..3];
        let upper = name.to_uppercase();
        let mut forms = vec![short.to_owned(), format!("{short}."), (*name).to_owned(), upper, short.to_lowercase()];
        if *name == "September" {
            forms.extend(["Sept".to_owned(), "Sept.".to_owned(), "SEPT".to_owned()]);
        }
        for form in forms {
            assert_eq!(read("d-MMM-yyyy", &format!("5-{form}-2026")), wanted, "{form}");
            assert_eq!(read("d MMMM yyyy", &format!("5 {form} 2026")), wanted, "{form}");
            assert_eq!(read("yyyy d MMM", &format!("2026 5 {form}")), wanted, "{form}");
            if !form.ends_with('.') {
                // The full stop of the pattern is not that of an abbreviation.
                assert_eq!(read("d.MMM.yyyy", &format!("5.{form}.2026")), wanted, "{form}");
                assert_eq!(read("dMMMyyyy", &format!("5{form}2026")), wanted, "{form}");
            }
        }
    }
    let days = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun", "Tues", "Weds", "Thur", "Thurs"];
    for form in days {
        let place = DAYS.iter().position(|day| day[..3] == form[..3]).expect("it is one");
        let day = 7 + place as i8;
        for form in [form.to_owned(), format!("{form}."), DAYS[place].to_owned(), form.to_uppercase()] {
            assert_eq!(read("EEE, d MMM yyyy", &format!("{form}, {day} Sept. 2026")), Ok(date(2026, 9, day)), "{form}");
        }
    }
    assert_eq!(read("EEEMMM d yyyy", "MonSept 7 2026"), Ok(date(2026, 9, 7)));
    assert_eq!(read("MMM'x' d yyyy", "Septx 7 2026"), Ok(date(2026, 9, 7)));
    for (pattern, text) in [
        ("d-MMM-yyyy", "5-Septem-2026"),
        ("d-MMM-yyyy", "5-Septembers-2026"),
        ("d-MMM-yyyy", "5-Juli-2026"),
        ("d-MMM-yyyy", "5-Mai-2026"),
        ("d-MMM-yyyy", "5-Se-2026"),
        ("yyyy d MMM", "2026 5 Sepp"),
        ("EEE d-MMM-yyyy", "Thurd 5-Sep-2026"),
    ] {
        let why = read(pattern, text).expect_err(text);
        assert!(why.contains("is none of"), "{text}: {why}");
    }
    assert!(read("d-MMM-yyyy", "5-September.-2026").is_err(), "a whole name has no full stop");
}

#[test]
fn dates_are_read_as_the_pattern_says() {
    let day = |year, month, day| Ok(date(year, month, day));
    for (pattern, text, wanted) in [
        ("yyyyMMdd", "20240229", day(2024, 2, 29)),
        ("yyMMdd", "260101", day(2026, 1, 1)),
        // From 1946 to 2045.
        ("yyMMdd", "450101", day(2045, 1, 1)),
        ("yyMMdd", "460101", day(1946, 1, 1)),
        ("dd.MM.yy", "01.02.2026", day(2026, 2, 1)),
        ("d.M.yyyy", "1.2.26", day(26, 2, 1)),
        ("d MMMM yyyy", "4 july 2001", day(2001, 7, 4)),
        ("EEE, d MMM yyyy", "Wed, 4 Jul 2001", day(2001, 7, 4)),
        // The last number of a run takes all its digits, as it is written.
        ("yyyyMMd", "20261224", day(2026, 12, 24)),
        ("yyyyMMd", "2026124", day(2026, 12, 4)),
        ("yyyyD", "2026358", day(2026, 12, 24)),
        ("ddMMyyy", "24122026", day(2026, 12, 24)),
        ("yyyy-MM-dd DDD", "2026-12-24 358", day(2026, 12, 24)),
        ("EEEE, d MMM yyyy", "Wednesday, 4 July 2001", day(2001, 7, 4)),
        ("YYYY-'W'ww-u", "2025-W01-1", day(2024, 12, 30)),
        ("yyyy-DDD", "2024-366", day(2024, 12, 31)),
        ("yyyy G", "44 BC", day(-43, 1, 1)),
        ("yyyy-MM-dd'T'HH:mm:ssXXX", "2026-03-29T23:30:00-05:00", day(2026, 3, 30)),
        ("yyyy-MM-dd'T'HH:mm:ssX", "2026-07-01T23:30:00Z", day(2026, 7, 2)),
        ("yyyy-MM-dd hh:mm a z", "2026-01-01 11:59 PM GMT+1:00", day(2026, 1, 1)),
        ("yyyy-MM-dd kk:mm Z", "2026-01-01 24:00 +0000", day(2026, 1, 1)),
    ] {
        assert_eq!(read(pattern, text), wanted, "{pattern} {text}");
    }
    for (pattern, text, part) in [
        ("yyyyMMdd", "20230229", "no such day"),
        ("yyyyMMdd", "20261301", "month is 13"),
        ("yyyyMMdd", "2026011", "not 2 digits"),
        ("yyyyMMdd", "202601011", "behind the date"),
        ("yyyyMMdd", "202612241", "day is 241"),
        ("yyyy-MM F E", "2026-12 3 Wed", "`W` and `F`"),
        ("yyyy-MM W E", "2026-12 3 Wed", "`W` and `F`"),
        ("YYYY-MM-dd", "2026-12-31", "`Y` is the year of a week"),
        ("yyyy-MM-dd DDD", "2026-12-24 001", "another than that of its month"),
        ("G yyyy MM dd", "BC 0000 12 24", "no such day"),
        ("yyyyMMdd", "00001224", "no such day"),
        ("YYYY-DDD", "2025-365", "`Y` is the year of a week"),
        ("yyyy-'W'ww-u", "2024-W01-1", "whose year is `Y`"),
        ("yyyyMMdd", "202x0101", "not 4 digits"),
        ("yyyyMMdd", "", "not 4 digits"),
        ("yyyy-MM-dd", "2026-01-01T", "behind the date"),
        ("yyyy-MM-dd", "2026/01/01", "`-` is missing"),
        ("MMM", "Brumaire", "month is none of"),
        ("EEE, d MMM yyyy", "Mon, 4 Jul 2001", "is a Wednesday"),
        ("yyyy-MM-dd X", "2026-01-01 +1:7", "time zone"),
        ("yyyy-MM-dd X", "2026-01-01 +99:00", "time zone"),
        ("yyyy-MM-dd z", "2026-01-01 PDT", "time zone"),
        ("yyyy", "99999", "year is 99999"),
        ("yyyy", "9999999999999", "no number"),
    ] {
        let why = read(pattern, text).expect_err(text);
        assert!(why.contains(part), "{pattern} {text}: {why}");
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(year in 1000_i16..9999, of_year in 1_i16..=365, which in 0_usize..9) {
        let day = date(year, 1, 1).with().day_of_year(of_year).build().unwrap();
        let pattern = ["yyyyMMdd", "dd.MM.yyyy", "EEEE, d MMMM yyyy", "yyyy-DDD", "YYYY-'W'ww-u", "MMM dd, yyyy HH:mm",
            "yyyy-MM-dd'T'HH:mm:ss.SSSXXX", "G yyyy/M/d K:mm a Z", "u E EEE yyyyMMdd kkmmss SSS"][which];
        for zone in ["Europe/London", "America/Sao_Paulo", "Pacific/Apia", "Asia/Kathmandu"] {
            let zone = TimeZone::get(zone).unwrap();
            let format = SimpleDateFormat::parse(pattern).unwrap();
            // The first moment of a day is not always midnight.
            let Ok(time) = day.to_zoned_datetime(zone.clone()) else { continue };
            // Long ago offsets had seconds, and one day of Samoa's never was.
            if time.offset().seconds() % 60 == 0 && time.date() == day {
                prop_assert_eq!(format.read(&format.write(&time), &zone, 2026), Ok(day));
            }
        }
    }

    #[test]
    fn nothing_makes_it_panic(pattern: String, text: String, letters in "[GyYMLwWDdFEuaHkKhmsSzZX'. :-]{0,30}", digits in "[0-9A-Z+:. -]{0,40}") {
        for pattern in [&pattern, &letters] {
            let Ok(format) = SimpleDateFormat::parse(pattern) else { continue };
            format.write(&zoned("2024-02-29T23:59:59.999+01:00[Europe/Paris]"));
            for text in [&text, &digits] {
                let _ = format.read(text, &TimeZone::UTC, 2026);
            }
        }
    }
}
