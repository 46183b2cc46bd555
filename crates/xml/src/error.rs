//! The fault in a text or value: its kind, its location, and a description.

use std::fmt;

/// The kinds of fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum XmlErrorKind {
    /// More bytes than [`super::Limits::max_bytes`], or more nodes than
    /// [`super::Limits::max_nodes`].
    TooLarge,
    /// More levels than [`super::Limits::max_depth`].
    TooDeep,
    /// Markup that breaks the grammar of XML 1.0.
    Syntax,
    /// An element, attribute or other name that XML 1.0 does not allow.
    BadName,
    /// A character that XML 1.0 can't contain.
    BadCharacter,
    /// An attribute given twice on one element.
    DuplicateAttribute,
    /// An end tag that closes no or another element, or an element that is never closed.
    TagMismatch,
    /// No root element, or more than one.
    NotOneRoot,
    /// A reference to an entity that is not one of the five predefined ones.
    UnknownEntity,
    /// An undeclared prefix, or another violation of Namespaces in XML 1.0.
    Namespace,
    /// A declared encoding other than that of the text.
    UnsupportedEncoding,
    /// JSON of a shape that has no XML form.
    BadJson,
}

/// The location of a fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// The offset of a byte in the XML text.
    Byte(usize),
    /// The path of a JSON value, like `$.props.a[2]`.
    Path(String),
}

/// The reason why an XML text or a JSON view was refused. [`fmt::Display`] gives a whole sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct XmlError {
    kind: XmlErrorKind,
    location: Location,
    fault: String,
}

impl XmlError {
    /// Builds an error at a byte. `fault` is a clause that completes the sentence "At …, ….", and
    /// names the faulty value.
    pub(super) fn at_byte(kind: XmlErrorKind, offset: usize, fault: impl Into<String>) -> Self {
        Self { kind, location: Location::Byte(offset), fault: fault.into() }
    }

    /// Builds an error at a JSON path; `fault` is as for [`Self::at_byte`].
    pub(super) fn at_path(kind: XmlErrorKind, path: String, fault: impl Into<String>) -> Self {
        Self { kind, location: Location::Path(path), fault: fault.into() }
    }

    pub(super) fn syntax(offset: usize, fault: impl Into<String>) -> Self {
        Self::at_byte(XmlErrorKind::Syntax, offset, fault)
    }

    /// Returns the kind of the fault.
    #[must_use]
    pub fn kind(&self) -> XmlErrorKind {
        self.kind
    }

    /// Returns the location of the fault.
    #[must_use]
    pub fn location(&self) -> &Location {
        &self.location
    }
}

impl fmt::Display for XmlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.location {
            Location::Byte(offset) => write!(f, "At byte {offset} of the XML text, {}.", self.fault),
            Location::Path(path) => write!(f, "At {path} of the JSON value, {}.", self.fault),
        }
    }
}

impl std::error::Error for XmlError {}

/// Quotes a piece of input for a message: control characters as in JSON, and shortened so that the
/// message stays on one line.
pub(super) fn quoted(text: &str) -> String {
    const SHOWN: usize = 60;
    let mut shown = String::from("\"");
    for c in text.chars().take(SHOWN) {
        match c {
            '"' | '\\' => shown.extend(['\\', c]),
            '\n' => shown.push_str("\\n"),
            '\t' => shown.push_str("\\t"),
            '\r' => shown.push_str("\\r"),
            c if c.is_control() => shown.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => shown.push(c),
        }
    }
    shown.push('"');
    if text.chars().nth(SHOWN).is_some() {
        shown.push('…');
    }
    shown
}
