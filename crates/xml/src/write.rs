//! The conversion of a JSON view to XML.

use std::borrow::Cow;
use std::slice;

use serde_json::{Map, Value, map};

use super::Limits;
use super::chars::{is_char, is_name, is_space};
use super::error::{XmlError, XmlErrorKind, quoted};
use super::output::Output;
use super::read::TEXT_KEY;

/// A value with its key, and its index if it is in an array.
type JsonMember<'v> = (&'v str, Option<usize>, &'v Value);

/// An element that is being written. Its attributes are written, and its members follow.
struct ElementMembers<'v> {
    name: &'v str,
    /// The element's own index in an array, for paths.
    index: Option<usize>,
    members: map::Iter<'v>,
    /// The array whose items are being written, and the number of items written.
    array: Option<(&'v str, usize, slice::Iter<'v, Value>)>,
}

impl<'v> ElementMembers<'v> {
    /// Returns the next child or text; arrays are returned item by item.
    fn next(&mut self) -> Option<JsonMember<'v>> {
        loop {
            if let Some((key, count, items)) = &mut self.array {
                if let Some(item) = items.next() {
                    *count += 1;
                    return Some((*key, Some(*count - 1), item));
                }
                self.array = None;
            }
            let (key, value) = self.members.find(|(key, _)| !key.starts_with('@'))?;
            match value {
                Value::Array(items) if key != TEXT_KEY => self.array = Some((key, 0, items.iter())),
                _ => return Some((key, None, value)),
            }
        }
    }
}

struct JsonViewWriter<'v> {
    out: Output,
    open: Vec<ElementMembers<'v>>,
    max_depth: usize,
    max_bytes: usize,
    max_nodes: usize,
    /// Elements and attributes so far.
    nodes: usize,
}

pub(super) fn from_json(value: &Value, limits: &Limits) -> Result<String, XmlError> {
    let mut writer = JsonViewWriter {
        out: Output::default(),
        open: Vec::new(),
        max_depth: limits.depth(),
        max_bytes: limits.max_bytes,
        max_nodes: limits.max_nodes,
        nodes: 0,
    };
    writer.element(root(value)?)?;
    while let Some(frame) = writer.open.last_mut() {
        match frame.next() {
            Some(member) if member.0 == TEXT_KEY => writer.text_beside(member)?,
            Some(member) => writer.element(member)?,
            None => {
                writer.out.close(frame.name);
                writer.open.pop();
            }
        }
    }
    let JsonViewWriter { out, max_bytes, .. } = writer;
    check_output_size(&out, max_bytes, || "$".to_owned())?;
    Ok(out.into_text())
}

fn root(value: &Value) -> Result<JsonMember<'_>, XmlError> {
    let fault = |kind, fault: String| Err(XmlError::at_path(kind, "$".to_owned(), fault));
    let Value::Object(document) = value else {
        let fault_text = format!("{} stands where an object is expected", describe_value(value));
        return fault(XmlErrorKind::BadJson, fault_text);
    };
    let mut members = document.iter();
    let (Some((name, content)), None) = (members.next(), members.next()) else {
        let keys: Vec<String> = document.keys().take(3).map(|key| quoted(key)).collect();
        let fault_text = format!(
            "{} root elements stand where one is expected: [{}{}]",
            document.len(),
            keys.join(", "),
            if document.len() > 3 { ", …" } else { "" }
        );
        return fault(XmlErrorKind::NotOneRoot, fault_text);
    };
    match content {
        Value::Array(items) => match items.as_slice() {
            [only] => Ok((name, Some(0), only)),
            _ => {
                let fault_text =
                    format!("the root element {} is {}, not one element", quoted(name), describe_value(content));
                fault(XmlErrorKind::NotOneRoot, fault_text)
            }
        },
        _ => Ok((name, None, content)),
    }
}

impl<'v> JsonViewWriter<'v> {
    /// Writes an element. An element with members is only begun, and becomes the innermost open
    /// one.
    fn element(&mut self, (name, index, value): JsonMember<'v>) -> Result<(), XmlError> {
        let here = (name, index);
        if !is_name(name) {
            let fault = format!("the key {} is no legal XML name", quoted(name));
            return Err(self.error(XmlErrorKind::BadName, &[here], fault));
        }
        if self.open.len() >= self.max_depth {
            let fault = format!("the element {} lies below the limit of {} levels", quoted(name), self.max_depth);
            return Err(self.error(XmlErrorKind::TooDeep, &[here], fault));
        }
        self.out.open(name);
        self.nodes += 1;
        match value {
            Value::Object(members) => {
                self.attributes(here, members)?;
                self.open.push(ElementMembers { name, index, members: members.iter(), array: None });
            }
            Value::Array(_) => {
                let fault = format!("{} stands inside an array", describe_value(value));
                return Err(self.error(XmlErrorKind::BadJson, &[here], fault));
            }
            _ => {
                let text = self.scalar(&[here], value)?;
                self.out.text(&text);
                self.out.close(name);
            }
        }
        if self.nodes > self.max_nodes {
            let fault = format!("the value has more than the {} elements and attributes allowed", self.max_nodes);
            return Err(self.error(XmlErrorKind::TooLarge, &[here], fault));
        }
        check_output_size(&self.out, self.max_bytes, || self.path(&[here]))
    }

    fn attributes(
        &mut self,
        element: (&'v str, Option<usize>),
        members: &'v Map<String, Value>,
    ) -> Result<(), XmlError> {
        for (key, value) in members {
            let Some(name) = key.strip_prefix('@') else {
                continue;
            };
            let here = [element, (key, None)];
            if !is_name(name) {
                let fault = format!("the key {} is no \"@\" with a legal XML name", quoted(key));
                return Err(self.error(XmlErrorKind::BadName, &here, fault));
            }
            let text = self.scalar(&here, value)?;
            self.out.attribute(name, &text);
            self.nodes += 1;
        }
        Ok(())
    }

    /// Writes text of the innermost open element, which may have attributes or children as well.
    fn text_beside(&mut self, (key, index, value): JsonMember<'v>) -> Result<(), XmlError> {
        let here = [(key, index)];
        let text = self.scalar(&here, value)?;
        if is_space(&text) {
            self.out.kept_space(&text);
        } else {
            self.out.text(&text);
        }
        check_output_size(&self.out, self.max_bytes, || self.path(&here))
    }

    fn scalar(&self, here: &[(&str, Option<usize>)], value: &'v Value) -> Result<Cow<'v, str>, XmlError> {
        let text = match value {
            Value::Null => Cow::Borrowed(""),
            Value::Bool(true) => Cow::Borrowed("true"),
            Value::Bool(false) => Cow::Borrowed("false"),
            Value::Number(number) => Cow::Owned(number.to_string()),
            Value::String(text) => Cow::Borrowed(text.as_str()),
            Value::Array(_) | Value::Object(_) => {
                let fault = format!("{} stands where XML can only hold text", describe_value(value));
                return Err(self.error(XmlErrorKind::BadJson, here, fault));
            }
        };
        match text.chars().find(|&c| !is_char(c)) {
            None => Ok(text),
            Some(c) => {
                let fault =
                    format!("XML 1.0 cannot carry the character U+{:04X} of the text {}", u32::from(c), quoted(&text));
                Err(self.error(XmlErrorKind::BadCharacter, here, fault))
            }
        }
    }

    fn error(&self, kind: XmlErrorKind, here: &[(&str, Option<usize>)], fault: String) -> XmlError {
        XmlError::at_path(kind, self.path(here), fault)
    }

    /// Returns the path from the document through the open elements to `here`.
    fn path(&self, here: &[(&str, Option<usize>)]) -> String {
        let mut path = "$".to_owned();
        let open = self.open.iter().map(|frame| (frame.name, frame.index));
        for (key, index) in open.chain(here.iter().copied()) {
            let bare = key.strip_prefix('@').unwrap_or(key);
            let shown = quoted(key);
            // A long key is shortened, which its quotes show.
            if (is_name(bare) && !bare.contains('.') && !shown.ends_with('…')) || key == TEXT_KEY {
                path.push('.');
                path.push_str(key);
            } else {
                path.push_str(&format!("[{shown}]"));
            }
            if let Some(index) = index {
                path.push_str(&format!("[{index}]"));
            }
        }
        path
    }
}

/// Checks the size, after every element and text, so that the excess is never more than one of
/// them.
fn check_output_size(out: &Output, max: usize, path: impl Fn() -> String) -> Result<(), XmlError> {
    if out.len() <= max {
        return Ok(());
    }
    let fault = format!("the XML text reaches {} bytes and exceeds the limit of {max}", out.len());
    Err(XmlError::at_path(XmlErrorKind::TooLarge, path(), fault))
}

/// Formats a value for a message. Containers are not printed, which would recurse without bound.
fn describe_value(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("an array of length {}", items.len()),
        Value::Object(members) if members.len() == 1 => "an object with 1 key".to_owned(),
        Value::Object(members) => format!("an object with {} keys", members.len()),
        Value::String(text) => quoted(text),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}
