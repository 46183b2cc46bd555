//! A configuration file as a tree of elements that know where they stand.

use std::fmt;

use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

use stet_xml::{Limits, Place};

/// Why a configuration file could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    /// Counted from 1.
    pub line: usize,
    /// In characters, counted from 1.
    pub column: usize,
    /// A clause that names what is at fault.
    pub fault: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "At line {}, column {}, {}.", self.line, self.column, self.fault)
    }
}

impl std::error::Error for ParseError {}

/// An element with all that is in it.
#[derive(Debug)]
pub(super) struct Element {
    pub(super) name: String,
    attributes: Vec<(String, String)>,
    /// The text directly in it, without the white space around it.
    pub(super) text: String,
    pub(super) children: Vec<Element>,
    /// The byte of the document that it begins at.
    at: usize,
}

/// A document and the text it was read from.
#[derive(Debug)]
pub(super) struct Document<'a> {
    text: &'a str,
    pub(super) root: Element,
}

impl<'a> Document<'a> {
    /// Reads a document whose root has the name `root`.
    pub(super) fn parse(text: &'a str, root: &str) -> Result<Document<'a>, ParseError> {
        let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
        // Everything that XML calls well-formed is checked there, the depth too; below, nothing is left to go wrong
        // but in ways that would be a defect.
        stet_xml::check(text, &Limits::default()).map_err(|error| {
            let at = match error.place() {
                Place::Byte(at) => *at,
                Place::Path(_) => 0,
            };
            let sentence = error.to_string();
            // The place is told by line and column here.
            let fault = sentence.split_once(" of the XML text, ").map_or(&*sentence, |(_, fault)| fault);
            error_at(text, at, fault.trim_end_matches('.').to_owned())
        })?;
        let found = tree(text)?.ok_or_else(|| error_at(text, 0, "there is no element".to_owned()))?;
        let document = Document { text, root: found };
        if document.root.name == root {
            Ok(document)
        } else {
            let fault = format!("the root element is `{}` where `{root}` is expected", document.root.name);
            Err(document.error(&document.root, fault))
        }
    }

    /// `fault` is a clause that names what is at fault.
    pub(super) fn error(&self, element: &Element, fault: impl Into<String>) -> ParseError {
        error_at(self.text, element.at, fault.into())
    }

    /// The value of an attribute that must be there and not be empty.
    pub(super) fn required<'e>(&self, element: &'e Element, attribute: &str) -> Result<&'e str, ParseError> {
        match element.attribute(attribute) {
            Some(value) if !value.is_empty() => Ok(value),
            found => {
                let how = if found.is_some() { "an empty" } else { "no" };
                Err(self.error(element, format!("`{}` has {how} attribute `{attribute}`", element.name)))
            }
        }
    }
}

impl Element {
    fn new(tag: &BytesStart<'_>, at: usize) -> Result<Element, quick_xml::Error> {
        let mut element =
            Element { name: name_of(tag), attributes: Vec::new(), text: String::new(), children: Vec::new(), at };
        for attribute in tag.attributes() {
            let attribute = attribute?;
            let value = attribute.normalized_value(XmlVersion::Implicit1_0)?;
            element.attributes.push((attribute.key.as_ref().to_owned(), value.trim().to_owned()));
        }
        Ok(element)
    }

    /// An attribute's value, without the white space around it.
    pub(super) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The children of that name; others are none of the reader's business.
    pub(super) fn all<'e>(&'e self, name: &'e str) -> impl Iterator<Item = &'e Element> {
        self.children.iter().filter(move |child| child.name == name)
    }
}

fn name_of(tag: &BytesStart<'_>) -> String {
    tag.name().as_ref().to_owned()
}

/// The root of a well-formed text.
fn tree(text: &str) -> Result<Option<Element>, ParseError> {
    let mut reader = Reader::from_str(text);
    let mut open: Vec<Element> = Vec::new();
    let mut root = None;
    loop {
        let at = usize::try_from(reader.buffer_position()).unwrap_or(text.len());
        let failed = |error: quick_xml::Error| error_at(text, at, format!("the markup can't be read ({error})"));
        let done = match reader.read_event().map_err(failed)? {
            Event::Start(tag) => {
                open.push(Element::new(&tag, at).map_err(failed)?);
                None
            }
            Event::Empty(tag) => Some(Element::new(&tag, at).map_err(failed)?),
            Event::End(_) => open.pop().map(|mut element| {
                element.text = element.text.trim().to_owned();
                element
            }),
            Event::Text(piece) => {
                add_text(&mut open, &piece.xml10_content());
                None
            }
            Event::CData(piece) => {
                add_text(&mut open, &piece.xml10_content());
                None
            }
            Event::GeneralRef(reference) => {
                match reference.resolve_char_ref().map_err(failed)? {
                    Some(c) => add_text(&mut open, c.encode_utf8(&mut [0; 4])),
                    None => add_text(&mut open, resolve_predefined_entity(&reference).unwrap_or_default()),
                }
                None
            }
            Event::Eof => return Ok(root),
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => None,
        };
        if let Some(element) = done {
            match open.last_mut() {
                Some(parent) => parent.children.push(element),
                None => root = Some(element),
            }
        }
    }
}

fn add_text(open: &mut [Element], piece: &str) {
    if let Some(element) = open.last_mut() {
        element.text.push_str(piece);
    }
}

fn error_at(text: &str, at: usize, fault: String) -> ParseError {
    let mut end = at.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let before = &text[..end];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
    ParseError { line, column: before[line_start..].chars().count() + 1, fault }
}
