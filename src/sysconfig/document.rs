//! A configuration file as a tree of elements that know where they stand: read by roxmltree, within the bounds of [`stet_xml`].

use std::fmt;

use roxmltree::{Node, ParsingOptions};
use stet_xml::{Limits, Location};

/// Elements, texts, comments and instructions that a file may have.
const MOST_NODES: u32 = 1 << 18;

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

/// A document whose root has the name that was asked for.
#[derive(Debug)]
pub(super) struct Document<'a> {
    tree: roxmltree::Document<'a>,
}

/// An element of a document.
#[derive(Debug, Clone, Copy)]
pub(super) struct Element<'d>(Node<'d, 'd>);

impl<'a> Document<'a> {
    /// Reads a document whose root has the name `root`.
    pub(super) fn parse(text: &'a str, root: &str) -> Result<Document<'a>, ParseError> {
        let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
        stet_xml::check(text, &Limits::default()).map_err(|error| {
            let at = match error.location() {
                Location::Byte(at) => *at,
                Location::Path(_) => 0,
            };
            let sentence = error.to_string();
            // Errors here give the location as line and column.
            let fault = sentence.split_once(" of the XML text, ").map_or(&*sentence, |(_, fault)| fault);
            error_at(text, at, fault.trim_end_matches('.').to_owned())
        })?;
        // A DOCTYPE may be there. What it declares is never put in: every reference to an entity has been refused above.
        let options = ParsingOptions { allow_dtd: true, nodes_limit: MOST_NODES, ..ParsingOptions::default() };
        let tree = roxmltree::Document::parse_with_options(text, options).map_err(unread)?;
        let document = Document { tree };
        let found = document.root();
        if found.name() == root {
            return Ok(document);
        }
        Err(found.error(format!("the root element is `{}` where `{root}` is expected", found.name())))
    }

    pub(super) fn root(&self) -> Element<'_> {
        Element(self.tree.root_element())
    }
}

impl<'d> Element<'d> {
    /// Without the prefix of its namespace.
    pub(super) fn name(self) -> &'d str {
        self.0.tag_name().name()
    }

    /// An attribute's value, without the white space around it. Attributes of namespaces are none of the reader's business.
    pub(super) fn attribute(self, name: &str) -> Option<&'d str> {
        self.0.attribute(name).map(str::trim)
    }

    /// The value of an attribute that must be there and not be empty.
    pub(super) fn required(self, attribute: &str) -> Result<&'d str, ParseError> {
        match self.attribute(attribute) {
            Some(value) if !value.is_empty() => Ok(value),
            found => {
                let how = if found.is_some() { "an empty" } else { "no" };
                Err(self.error(format!("`{}` has {how} attribute `{attribute}`", self.name())))
            }
        }
    }

    /// An attribute that is true or false; without it false.
    pub(super) fn flag(self, attribute: &str) -> Result<bool, ParseError> {
        match self.attribute(attribute) {
            None | Some("false" | "0") => Ok(false),
            Some("true" | "1") => Ok(true),
            Some(other) => Err(self.error(format!("`{attribute}` must be `true` or `false`, but is `{other}`"))),
        }
    }

    /// The text directly in it, without the white space around it.
    pub(super) fn text(self) -> String {
        let text: String = self.0.children().filter(Node::is_text).filter_map(|piece| piece.text()).collect();
        text.trim().to_owned()
    }

    /// The children of that name in its own namespace; others are none of the reader's business.
    pub(super) fn all(self, name: &str) -> impl Iterator<Item = Element<'d>> {
        let namespace = self.0.tag_name().namespace();
        let wanted = move |child: &Node<'d, 'd>| {
            let tag = child.tag_name();
            tag.name() == name && tag.namespace() == namespace
        };
        self.0.children().filter(Node::is_element).filter(wanted).map(Element)
    }

    /// `fault` is a clause that names what is at fault.
    pub(super) fn error(self, fault: impl Into<String>) -> ParseError {
        error_at(self.0.document().input_text(), self.0.range().start, fault.into())
    }
}

/// What [`stet_xml::check`] lets pass and the reader does not: namespaces that nothing declares, more than can be read.
fn unread(error: roxmltree::Error) -> ParseError {
    let (place, sentence) = (error.pos(), error.to_string());
    let fault = sentence.strip_suffix(&format!(" at {place}")).unwrap_or(&sentence);
    // No text of 4 GiB gets here.
    ParseError { line: place.row as usize, column: place.col as usize, fault: fault.to_owned() }
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
