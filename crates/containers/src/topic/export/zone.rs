//! The time zone of a calendar: its VTIMEZONE component (RFC 5545, 3.6.5), and times in it.

use std::fmt::Write;

use icalendar::Property;
use jiff::tz::{Dst, Offset, TimeZone};
use jiff::{Timestamp, ZonedDateTime};

/// The name of the zone for times without another zone.
const UTC: &str = "UTC";

/// The last second that the component covers: 2037-12-31T23:59:59Z. Later times are written in UTC.
const LAST: i64 = 2_145_916_799;

/// The time zone of a calendar's times.
pub(crate) struct CalendarZone {
    zone: TimeZone,
    name: String,
}

/// The times at which a zone changes from one offset to another under the same name.
#[derive(PartialEq)]
struct ZoneObservance {
    from: Offset,
    to: Offset,
    name: String,
    is_daylight: bool,
    /// The onsets in local time before the change.
    onsets: Vec<String>,
}

impl CalendarZone {
    /// Returns a zone of the tz database; UTC for any other.
    pub fn of(zone: TimeZone) -> CalendarZone {
        match zone.iana_name().map(str::to_owned) {
            Some(name) => CalendarZone { zone, name },
            None => CalendarZone { zone: TimeZone::UTC, name: UTC.to_owned() },
        }
    }

    /// Returns the zone's name in the tz database.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the component, with all changes of the offset from 1970 to 2037.
    pub fn component(&self) -> String {
        let mut text = format!("BEGIN:VTIMEZONE\r\nTZID:{}\r\n", self.name);
        for observance in self.observances() {
            let kind = if observance.is_daylight { "DAYLIGHT" } else { "STANDARD" };
            let [from, to] = [observance.from, observance.to].map(written);
            // Each observance has at least one onset.
            let (mut onsets, name) = (observance.onsets.iter(), &observance.name);
            let first = onsets.next().map_or("", String::as_str);
            // Writing to a text can't fail.
            let _ = write!(
                text,
                "BEGIN:{kind}\r\nDTSTART:{first}\r\nTZOFFSETFROM:{from}\r\nTZOFFSETTO:{to}\r\nTZNAME:{name}\r\n"
            );
            for onset in onsets {
                let _ = write!(text, "RDATE:{onset}\r\n");
            }
            let _ = write!(text, "END:{kind}\r\n");
        }
        text + "END:VTIMEZONE\r\n"
    }

    fn observances(&self) -> Vec<ZoneObservance> {
        let begin = self.zone.to_offset_info(Timestamp::UNIX_EPOCH);
        let local = |at: Timestamp, offset: Offset| offset.to_datetime(at).strftime("%Y%m%dT%H%M%S").to_string();
        let mut all = vec![ZoneObservance {
            from: begin.offset(),
            to: begin.offset(),
            name: begin.abbreviation().to_owned(),
            is_daylight: begin.dst() == Dst::Yes,
            onsets: vec![local(Timestamp::UNIX_EPOCH, begin.offset())],
        }];
        let mut offset = begin.offset();
        let changes = self.zone.following(Timestamp::UNIX_EPOCH);
        for change in changes.take_while(|change| change.timestamp().as_second() <= LAST) {
            let new = ZoneObservance {
                from: offset,
                to: change.offset(),
                name: change.abbreviation().to_owned(),
                is_daylight: change.dst() == Dst::Yes,
                onsets: Vec::new(),
            };
            let onset = local(change.timestamp(), offset);
            offset = new.to;
            let same = |known: &&mut ZoneObservance| {
                (known.from, known.to, &known.name, known.is_daylight) == (new.from, new.to, &new.name, new.is_daylight)
            };
            match all.iter_mut().find(same) {
                Some(known) => known.onsets.push(onset),
                None => all.push(ZoneObservance { onsets: vec![onset], ..new }),
            }
        }
        all
    }

    /// Returns a property with a time in epoch seconds. The first moment of a day is written as
    /// that day. Any other time is local if that is unambiguous, else in UTC. `None` beyond the
    /// times that calendars can write.
    pub fn property(&self, name: &str, seconds: u64) -> Option<Property> {
        let at = Timestamp::from_second(i64::try_from(seconds).ok()?).ok()?;
        let there = at.to_zoned_datetime(self.zone.clone());
        if there.start_of_day().is_ok_and(|begins| begins == there) {
            let day = there.strftime("%Y%m%d").to_string();
            return Some(Property::new(name, day).add_parameter("VALUE", "DATE").done());
        }
        if self.says(&there) {
            let local = there.strftime("%Y%m%dT%H%M%S").to_string();
            return Some(Property::new(name, local).add_parameter("TZID", &self.name).done());
        }
        Some(Property::new(name, at.strftime("%Y%m%dT%H%M%SZ").to_string()))
    }

    /// Reports whether a local time stands for this moment: the zone is not UTC, the time is not
    /// the second one after clocks were set back, and the component covers it.
    fn says(&self, there: &ZonedDateTime) -> bool {
        let names_first = there.datetime().to_zoned_datetime(self.zone.clone()).is_ok_and(|first| first == *there);
        self.name != UTC && names_first && there.timestamp().as_second() <= LAST
    }
}

/// Formats an offset as `+0100`.
fn written(offset: Offset) -> String {
    let (sign, seconds) = (if offset.seconds() < 0 { '-' } else { '+' }, offset.seconds().abs());
    let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let rest = if rest == 0 { String::new() } else { format!("{rest:02}") };
    format!("{sign}{hours:02}{minutes:02}{rest}")
}

#[cfg(test)]
mod tests {
    use jiff::civil::DateTime;

    use super::*;

    fn zone(name: &str) -> CalendarZone {
        CalendarZone::of(TimeZone::get(name).expect("it is in the database"))
    }

    fn due(zone: &CalendarZone, seconds: u64) -> String {
        let property = zone.property("DUE", seconds).expect("it can be written");
        let parameters: Vec<String> =
            property.params().values().map(|one| format!(";{}={}", one.key(), one.value())).collect();
        format!("DUE{}:{}", parameters.concat(), property.value())
    }

    #[test]
    fn times_are_local_where_that_names_one_moment() {
        let berlin = zone("Europe/Berlin");
        for (seconds, wanted) in [
            (1_782_000_001, "DUE;TZID=Europe/Berlin:20260621T020001"),
            // Midnight in Berlin, in summer and in winter.
            (1_781_992_800, "DUE;VALUE=DATE:20260621"),
            (1_764_198_000, "DUE;VALUE=DATE:20251127"),
            // 02:30 on the night when clocks are set back, for the first and for the second time.
            (1_761_438_600, "DUE;TZID=Europe/Berlin:20251026T023000"),
            (1_761_442_200, "DUE:20251026T013000Z"),
            // After the last second that the component covers.
            (2_145_960_000, "DUE:20380101T120000Z"),
            (2_145_913_200, "DUE;VALUE=DATE:20380101"),
        ] {
            assert_eq!(due(&berlin, seconds), wanted);
        }
        assert_eq!(due(&zone("UTC"), 1_782_000_001), "DUE:20260621T000001Z");
        assert_eq!(due(&zone("UTC"), 1_782_000_000), "DUE;VALUE=DATE:20260621");
        assert!(berlin.property("DUE", u64::MAX).is_none());
        // Clocks go on from 23:59:59 to 01:00:00: the day begins at one.
        let beirut = zone("Asia/Beirut");
        assert_eq!(due(&beirut, 1_711_836_000), "DUE;VALUE=DATE:20240331");
    }

    /// Returns the moment that a calendar program computes from a local time with the component
    /// alone: by the offset of the last onset before it.
    fn by_component(zone: &CalendarZone, local: DateTime) -> i64 {
        let read = |onset: &String| DateTime::strptime("%Y%m%dT%H%M%S", onset).expect("it is a time");
        let all = zone.observances();
        let all = all.iter().flat_map(|one| one.onsets.iter().map(move |onset| (read(onset), one.to)));
        let (_, offset) = all.filter(|(onset, _)| *onset <= local).max_by_key(|(onset, _)| *onset).expect("one is");
        offset.to_timestamp(local).expect("it is a time").as_second()
    }

    #[test]
    fn component_gives_each_local_time_its_moment() {
        for name in ["Europe/London", "America/St_Johns", "Asia/Kolkata", "Pacific/Apia", "Africa/Casablanca", "UTC"] {
            let zone = zone(name);
            let text = zone.component();
            assert!(text.starts_with(&format!("BEGIN:VTIMEZONE\r\nTZID:{name}\r\nBEGIN:")), "{text}");
            assert!(text.ends_with("END:VTIMEZONE\r\n") && text.contains("\r\nDTSTART:1"), "{text}");
            for seconds in (0..LAST).step_by(7 * 86_400 + 3_607) {
                let there = Timestamp::from_second(seconds).expect("it is a time").to_zoned_datetime(zone.zone.clone());
                if zone.says(&there) {
                    assert_eq!(by_component(&zone, there.datetime()), seconds, "{name}: {there}");
                }
            }
        }
        assert_eq!(["America/St_Johns", "UTC"].map(|name| written(zone(name).observances()[0].to)), ["-0330", "+0000"]);
    }
}
