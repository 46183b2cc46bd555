//! The exported calendar as a calendar program reads it.

use std::collections::BTreeMap;

use ical::parser::ical::component::{IcalCalendar, IcalTodo};
use ical::property::Property;

use crate::harness::*;

/// Parses an answer that is one calendar.
#[track_caller]
pub fn calendar(answer: &Answer) -> IcalCalendar {
    // Continued lines are joined here: the library trims the spaces at the end of each line, also
    // of continued ones.
    let text = std::str::from_utf8(&answer.body).expect("it is UTF-8");
    let unfolded = text.replace("\r\n ", "");
    let mut calendars: Vec<_> = ical::IcalParser::new(unfolded.as_bytes())
        .map(|calendar| calendar.unwrap_or_else(|error| panic!("{error}: {text}")))
        .collect();
    assert_eq!(calendars.len(), 1, "{text}");
    calendars.remove(0)
}

/// The properties of a to-do by their names, texts as they were before they were written; several
/// of one name by lines.
pub fn properties(todo: &IcalTodo) -> BTreeMap<&str, String> {
    by_name(&todo.properties)
}

/// Properties by their names, as of a to-do. The parameter of a time stands before it:
/// `TZID=Europe/London:20260621T010000`.
pub fn by_name(properties: &[Property]) -> BTreeMap<&str, String> {
    let mut all = BTreeMap::new();
    for Property { name, value, params } in properties {
        let mut value = value.clone().unwrap_or_default();
        for (parameter, of) in params.iter().flatten() {
            match &**name {
                "DUE" | "DTSTART" => value = format!("{parameter}={}:{value}", of.join(",")),
                "NAME" => {}
                _ => panic!("{name} has parameters: {params:?}"),
            }
        }
        let value = if name == "CATEGORIES" { value } else { unescaped(&value) };
        all.entry(&**name).and_modify(|all: &mut String| *all += &format!("\n{value}")).or_insert(value);
    }
    all
}

/// A text without its escapes (RFC 5545, 3.3.11).
pub fn unescaped(value: &str) -> String {
    let (mut text, mut letters) = (String::new(), value.chars());
    while let Some(letter) = letters.next() {
        text.push(match letter {
            '\\' => match letters.next().expect("something is escaped") {
                'n' | 'N' => '\n',
                escaped => escaped,
            },
            letter => letter,
        });
    }
    text
}
