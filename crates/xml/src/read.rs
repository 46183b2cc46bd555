//! The conversion of XML to its JSON view.

use serde_json::map::Entry;
use serde_json::{Map, Value};

use super::Limits;
use super::error::XmlError;
use super::scan::Scanner;
use super::token::{Run, XmlToken};

/// The key of text beside children or attributes.
pub(super) const TEXT_KEY: &str = "#text";

/// An element that is being read. The children read so far are complete.
struct ElementBuilder<'a> {
    name: &'a str,
    members: Map<String, Value>,
    has_children: bool,
    /// The text since the last child.
    run: Run,
}

impl ElementBuilder<'_> {
    /// Ends a run of text, at a child or at the end of the element.
    fn end_run(&mut self) {
        let run = std::mem::take(&mut self.run);
        if run.text.is_empty() || (self.has_children && run.is_layout()) {
            return;
        }
        match self.members.entry(TEXT_KEY) {
            Entry::Vacant(place) => {
                place.insert(Value::String(run.text));
            }
            Entry::Occupied(mut place) => {
                if let Value::String(text) = place.get_mut() {
                    text.push_str(&run.text);
                }
            }
        }
    }

    fn into_value(mut self) -> Value {
        self.end_run();
        match self.members.len() {
            0 => Value::String(String::new()),
            1 => match self.members.remove(TEXT_KEY) {
                Some(text) => text,
                None => Value::Object(self.members),
            },
            _ => Value::Object(self.members),
        }
    }

    fn add_child(&mut self, name: &str, value: Value) {
        match self.members.entry(name) {
            Entry::Vacant(place) => {
                place.insert(value);
            }
            // No element has an array for its own value, so an array is the earlier elements.
            Entry::Occupied(mut place) => match place.get_mut() {
                Value::Array(items) => items.push(value),
                single => {
                    let first = single.take();
                    *single = Value::Array(vec![first, value]);
                }
            },
        }
    }
}

pub(super) fn to_json(xml: &str, limits: &Limits) -> Result<Value, XmlError> {
    let mut scanner = Scanner::new(xml, limits)?;
    let mut open: Vec<ElementBuilder<'_>> = Vec::new();
    let mut document = Map::new();
    while let Some(token) = scanner.next()? {
        match token {
            XmlToken::Start(name, attributes) => {
                if let Some(parent) = open.last_mut() {
                    parent.has_children = true;
                    parent.end_run();
                }
                let members = attributes
                    .into_iter()
                    .map(|(name, value)| (format!("@{name}"), Value::String(value.into_owned())))
                    .collect();
                open.push(ElementBuilder { name, members, has_children: false, run: Run::default() });
            }
            XmlToken::End(_) => {
                if let Some(frame) = open.pop() {
                    let name = frame.name;
                    let value = frame.into_value();
                    match open.last_mut() {
                        Some(parent) => parent.add_child(name, value),
                        None => {
                            document.insert(name.to_owned(), value);
                        }
                    }
                }
            }
            XmlToken::Text(piece) => {
                if let Some(frame) = open.last_mut() {
                    frame.run.push(&piece);
                }
            }
            XmlToken::Declaration(_) | XmlToken::Doctype(_) | XmlToken::Comment(_) | XmlToken::Instruction(..) => {}
        }
    }
    Ok(Value::Object(document))
}
