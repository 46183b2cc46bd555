//! What a calendar program makes of a calendar of ours.

use std::collections::BTreeMap;

use ical::parser::ical::component::{IcalCalendar, IcalTodo};
use ical::property::Property;

use crate::harness::*;

/// The calendar that a file is.
#[track_caller]
pub fn calendar(answer: &Answer) -> IcalCalendar {
    // Lines are put together here: the library takes the spaces off at the end of each, also where it goes on.
    let text = std::str::from_utf8(&answer.body).expect("it is UTF-8");
    let unfolded = text.replace("\r\n ", "");
    let mut calendars: Vec<_> = ical::IcalParser::new(unfolded.as_bytes())
        .map(|calendar| calendar.unwrap_or_else(|error| panic!("{error}: {text}")))
        .collect();
    assert_eq!(calendars.len(), 1, "{text}");
    calendars.remove(0)
}

/// The properties of a to-do by their names, texts as they were before they were written; several of one name by lines.
pub fn properties(todo: &IcalTodo) -> BTreeMap<&str, String> {
    let mut all = BTreeMap::new();
    for Property { name, value, params } in &todo.properties {
        assert!(params.as_ref().is_none_or(Vec::is_empty), "{name} has parameters: {params:?}");
        let value = value.clone().unwrap_or_default();
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
