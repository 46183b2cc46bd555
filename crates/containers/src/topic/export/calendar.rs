//! Items as a calendar: to-dos (RFC 5545, 3.6.2), or events at their deadlines (3.6.1).
//!
//! The assignees of an item are in a property of ours. `ATTENDEE` takes addresses, and must not
//! occur in a calendar that is only published (RFC 5545, 3.8.4.1).

use chrono::{DateTime, Utc};
use icalendar::{Calendar, Component, Event, EventLike, Property, Todo};
use stet_domain::error::{Error, Result};
use stet_domain::planning::topic::TextOrNumber;

use super::ExportLine;
use super::zone::CalendarZone;

/// The calendar components that items become.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct CalendarComponents {
    /// Whether each item is a to-do.
    pub todos: bool,
    /// Whether each item with a deadline is an event.
    pub events: bool,
}

const END: &str = "END:VCALENDAR\r\n";

/// Writes the head of a calendar with that name, and its time zone, because a calendar must have at
/// least one component (RFC 5545, 3.6).
pub(super) fn begin(name: &str, zone: &CalendarZone, out: &mut Vec<u8>) -> Result<()> {
    let name = plain(name);
    let mut calendar = Calendar::empty();
    for (key, value) in [("VERSION", "2.0"), ("PRODID", "-//stet//stet//EN"), ("CALSCALE", "GREGORIAN")] {
        calendar.append_property((key, value));
    }
    // RFC 7986, whose properties the library does not support for texts, and the property for
    // programs that do not know it.
    calendar.append_property(Property::new("NAME", &name).add_parameter("VALUE", "TEXT").done());
    calendar.append_property(("X-WR-CALNAME", &*name));
    calendar.append_property(("X-WR-TIMEZONE", zone.name()));
    let empty = calendar.to_string();
    out.extend_from_slice(empty.strip_suffix(END).ok_or_else(Error::internal)?.as_bytes());
    out.extend_from_slice(zone.component().as_bytes());
    Ok(())
}

/// Writes the end of a calendar.
pub(super) fn end(out: &mut Vec<u8>) {
    out.extend_from_slice(END.as_bytes());
}

/// Writes an item or subitem.
pub(super) fn line(
    line: &ExportLine<'_>,
    zone: &CalendarZone,
    components: CalendarComponents,
    out: &mut Vec<u8>,
) -> Result<()> {
    let due = |name: &str| line.item.due.and_then(|due| zone.property(name, due));
    if components.todos {
        let mut todo = Todo::new();
        if let Some(due) = due("DUE") {
            todo.append_property(due);
        }
        describe(&mut todo, line, "");
        write(&todo, out)?;
    }
    if components.events
        && let Some(begins) = due("DTSTART")
    {
        let mut event = Event::new();
        // A deadline occupies no time.
        event.append_property(begins).add_property("TRANSP", "TRANSPARENT");
        describe(&mut event, line, EVENT);
        write(&event, out)?;
    }
    Ok(())
}

/// The suffix of an item's uuid in the UID of its event, which must differ from that of its to-do.
const EVENT: &str = "-event";

fn write(component: &impl Component, out: &mut Vec<u8>) -> Result<()> {
    // Writing to a text can't fail.
    let text = component.try_into_string().map_err(|_| Error::internal())?;
    out.extend_from_slice(text.as_bytes());
    Ok(())
}

/// Adds the properties that to-dos and events have in common.
fn describe<C: Component + EventLike>(todo: &mut C, line: &ExportLine<'_>, kind: &str) {
    let (item, record) = (line.item, &line.item.record);
    todo.uid(&format!("{}{kind}", record.uuid)).add_property("SUMMARY", plain(&record.name));
    if let Some(modified) = time(record.modified) {
        // Without a method this is the time of the last change (RFC 5545, 3.8.7.2), so an unchanged
        // item results in the same text.
        todo.timestamp(modified).last_modified(modified);
    }
    if let Some(created) = time(record.created) {
        todo.created(created);
    }
    if !item.comment.is_empty() {
        todo.add_property("DESCRIPTION", plain(&item.comment));
    }
    if let Some(priority) = priority(&item.priority) {
        todo.add_property("PRIORITY", priority.to_string());
    }
    let categories: Vec<String> =
        [&item.product, &item.edition].into_iter().filter(|text| !text.is_empty()).map(|text| plain(text)).collect();
    if !categories.is_empty() {
        todo.categories(categories);
    }
    if let Some(parent) = line.parent {
        todo.add_property("RELATED-TO", format!("{}{kind}", parent.record.uuid));
    }
    for assignee in &item.assignees {
        todo.add_multi_property("X-STET-ASSIGNEE", &plain(assignee));
    }
    let word = |word: &TextOrNumber| match word {
        TextOrNumber::Text(text) => plain(text),
        TextOrNumber::Number(number) => number.to_string(),
    };
    let attachment = line.attachment.map(|loid| loid.to_string()).unwrap_or_default();
    for (key, value) in [
        ("X-STET-TOPIC", plain(line.topic_title)),
        ("X-STET-STATUS", plain(record.status.as_deref().unwrap_or_default())),
        ("X-STET-OCCUPATION", plain(&item.occupation)),
        ("X-STET-CONTENT-TYPE", plain(&item.content_type)),
        ("X-STET-CUSTOM-PRIORITY", word(&item.custom_priority)),
        ("X-STET-ATTACHMENT", attachment),
    ] {
        if !value.is_empty() {
            todo.add_property(key, value);
        }
    }
}

/// Returns a text without characters that no value may contain (RFC 5545, 3.3.11). Line breaks
/// become `\n`, and other control characters except the tab are left out. So no text can end its
/// line and add another property.
fn plain(text: &str) -> String {
    let one = text.replace("\r\n", "\n").replace('\r', "\n");
    one.chars().filter(|letter| matches!(letter, '\n' | '\t') || !letter.is_control()).collect()
}

/// Converts epoch seconds; `None` beyond the times that calendars can write.
fn time(seconds: u64) -> Option<DateTime<Utc>> {
    const LAST: i64 = 253_402_300_799;
    let seconds = i64::try_from(seconds).ok().filter(|seconds| *seconds <= LAST)?;
    DateTime::from_timestamp(seconds, 0)
}

/// Converts a priority to that of calendars, 0 to 9 (RFC 5545, 3.8.1.9); `None` for any other.
fn priority(priority: &TextOrNumber) -> Option<u32> {
    match priority {
        TextOrNumber::Number(number) => u32::try_from(*number).ok().filter(|number| *number <= 9),
        TextOrNumber::Text(text) => {
            let mut letters = text.trim().chars();
            letters.next()?.to_digit(10).filter(|_| letters.next().is_none())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_ends_its_line() {
        assert_eq!(plain("a\r\nBEGIN:b\rc\nd\te\u{0}\u{7f}\u{85}ü"), "a\nBEGIN:b\nc\nd\teü");
        let mut out = Vec::new();
        let zone = CalendarZone::of(jiff::tz::TimeZone::UTC);
        begin("a\r\nX-EVIL:1\r\u{b}b;,\\", &zone, &mut out).expect("a head can be written");
        let text = String::from_utf8(out).expect("it is text");
        assert!(text.contains("\r\nNAME;VALUE=TEXT:a\\nX-EVIL:1\\nb\\;\\,\\\\\r\n"), "{text}");
    }

    #[test]
    fn a_priority_is_a_digit() {
        let text = |text: &str| priority(&TextOrNumber::Text(text.into()));
        assert_eq!([text("0"), text(" 9 "), text("10"), text(""), text("high")], [Some(0), Some(9), None, None, None]);
        let number = |number| priority(&TextOrNumber::Number(number));
        assert_eq!([number(0), number(9), number(10), number(-1)], [Some(0), Some(9), None, None]);
    }

    #[test]
    fn a_time_has_four_digits_for_its_year() {
        assert_eq!(time(253_402_300_799).expect("the last").to_string(), "9999-12-31 23:59:59 UTC");
        assert_eq!([time(253_402_300_800), time(u64::MAX)], [None, None]);
    }
}
