//! The rules on attributes (docs/api/objects.md, "Attributes"), as sentences.

mod faults;
mod hostile;
mod mapping;
mod properties;

use serde_json::Value;

use super::{Limits, Location, XmlError, XmlErrorKind, check, from_json, reserialize, to_json};

fn limits() -> Limits {
    Limits::default()
}

#[track_caller]
fn json(xml: &str) -> Value {
    to_json(xml, &limits()).unwrap_or_else(|error| panic!("{xml:?}: {error}"))
}

#[track_caller]
fn xml(value: &Value) -> String {
    from_json(value, &limits()).unwrap_or_else(|error| panic!("{value}: {error}"))
}

#[track_caller]
fn again(xml: &str) -> String {
    reserialize(xml, &limits()).unwrap_or_else(|error| panic!("{xml:?}: {error}"))
}

/// The fault of an XML text, which all three readers must find alike.
#[track_caller]
fn xml_fault(xml: &str) -> XmlError {
    let found = check(xml, &limits()).expect_err(xml);
    assert_eq!(to_json(xml, &limits()).as_ref(), Err(&found));
    assert_eq!(reserialize(xml, &limits()).as_ref(), Err(&found));
    found
}

#[track_caller]
fn json_fault(value: &Value) -> XmlError {
    from_json(value, &limits()).expect_err("the value is refused")
}
