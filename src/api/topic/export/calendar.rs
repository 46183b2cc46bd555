//! Items as a calendar: a VTODO each (RFC 5545, 3.6.2).
//!
//! Who is to do an item stands in a property of ours. `ATTENDEE` takes addresses, and must not stand in a calendar that is only
//! published (RFC 5545, 3.8.4.1).

use chrono::{DateTime, Utc};
use icalendar::{Calendar, Component, EventLike, Property, Todo};
use stet_actors::error::{Error, Result};
use stet_actors::topic::Word;

use super::Line;

const END: &str = "END:VCALENDAR\r\n";

/// The head of a calendar of that name.
pub(super) fn begin(name: &str, out: &mut Vec<u8>) -> Result<()> {
    let name = plain(name);
    let mut calendar = Calendar::empty();
    for (key, value) in [("VERSION", "2.0"), ("PRODID", "-//stet//stet//EN"), ("CALSCALE", "GREGORIAN")] {
        calendar.append_property((key, value));
    }
    // RFC 7986, whose properties the library does not know for texts; and what programs read that do not know it.
    calendar.append_property(Property::new("NAME", &name).add_parameter("VALUE", "TEXT").done());
    calendar.append_property(("X-WR-CALNAME", &*name));
    let empty = calendar.to_string();
    out.extend_from_slice(empty.strip_suffix(END).ok_or_else(Error::internal)?.as_bytes());
    Ok(())
}

/// Its end.
pub(super) fn end(out: &mut Vec<u8>) {
    out.extend_from_slice(END.as_bytes());
}

/// An item or subitem.
pub(super) fn line(line: &Line<'_>, out: &mut Vec<u8>) -> Result<()> {
    let (item, record) = (line.item, &line.item.record);
    let mut todo = Todo::new();
    todo.uid(&record.uuid.to_string()).summary(&plain(&record.name));
    if let Some(modified) = time(record.modified) {
        // Without a method this is the time of the last change (RFC 5545, 3.8.7.2), so that the same item is the same text.
        todo.timestamp(modified).last_modified(modified);
    }
    if let Some(created) = time(record.created) {
        todo.created(created);
    }
    if let Some(due) = item.due.and_then(time) {
        todo.due(due);
    }
    if !item.comment.is_empty() {
        todo.description(&plain(&item.comment));
    }
    if let Some(priority) = priority(&item.priority) {
        todo.priority(priority);
    }
    let categories: Vec<String> =
        [&item.product, &item.edition].into_iter().filter(|text| !text.is_empty()).map(|text| plain(text)).collect();
    if !categories.is_empty() {
        todo.categories(categories);
    }
    if let Some(parent) = line.parent {
        todo.add_property("RELATED-TO", parent.record.uuid.to_string());
    }
    for assignee in &item.assignees {
        todo.add_multi_property("X-STET-ASSIGNEE", &plain(assignee));
    }
    let word = |word: &Word| match word {
        Word::Text(text) => plain(text),
        Word::Number(number) => number.to_string(),
    };
    let attachment = line.attachment.map(|loid| loid.to_string()).unwrap_or_default();
    for (key, value) in [
        ("X-STET-TOPIC", plain(line.topic_name)),
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
    // Writing to a text can't fail.
    let text = todo.try_into_string().map_err(|_| Error::internal())?;
    out.extend_from_slice(text.as_bytes());
    Ok(())
}

/// A text without what no value may have in it (RFC 5545, 3.3.11): line breaks are `\n`, and other control characters are left out but
/// the tab. So nobody's text ends its line and goes on with another property.
fn plain(text: &str) -> String {
    let one = text.replace("\r\n", "\n").replace('\r', "\n");
    one.chars().filter(|letter| matches!(letter, '\n' | '\t') || !letter.is_control()).collect()
}

/// A time in epoch seconds; none beyond what calendars can write.
fn time(seconds: u64) -> Option<DateTime<Utc>> {
    const LAST: i64 = 253_402_300_799;
    let seconds = i64::try_from(seconds).ok().filter(|seconds| *seconds <= LAST)?;
    DateTime::from_timestamp(seconds, 0)
}

/// A priority as calendars have it, 0 to 9 (RFC 5545, 3.8.1.9); any other is none there.
fn priority(priority: &Word) -> Option<u32> {
    match priority {
        Word::Number(number) => u32::try_from(*number).ok().filter(|number| *number <= 9),
        Word::Text(text) => {
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
        begin("a\r\nX-EVIL:1\r\u{b}b;,\\", &mut out).expect("a head can be written");
        let text = String::from_utf8(out).expect("it is text");
        assert!(text.contains("\r\nNAME;VALUE=TEXT:a\\nX-EVIL:1\\nb\\;\\,\\\\\r\n"), "{text}");
    }

    #[test]
    fn a_priority_is_a_digit() {
        let text = |text: &str| priority(&Word::Text(text.into()));
        assert_eq!([text("0"), text(" 9 "), text("10"), text(""), text("high")], [Some(0), Some(9), None, None, None]);
        let number = |number| priority(&Word::Number(number));
        assert_eq!([number(0), number(9), number(10), number(-1)], [Some(0), Some(9), None, None]);
    }

    #[test]
    fn a_time_has_four_digits_for_its_year() {
        assert_eq!(time(253_402_300_799).expect("the last").to_string(), "9999-12-31 23:59:59 UTC");
        assert_eq!([time(253_402_300_800), time(u64::MAX)], [None, None]);
    }
}
