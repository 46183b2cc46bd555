//! A configuration file as a tree of elements with their positions. It is parsed by roxmltree
//! within the limits of [`stet_xml`], and checked against the vocabulary before its elements are
//! read. All faults are collected, so that an operator gets them at once.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;

use roxmltree::{Node, NodeId, ParsingOptions};
use stet_xml::Location;

use super::fault::{ConfigurationFault, MOST_FAULTS};
use super::files::{WHOLE_BYTES, limits};
use super::vocabulary::{self, ChildOccurrence, ValueKind};
use super::whole::{WholeFile, clause};

/// The largest size of an attribute, and of a text that is a name or a path, in bytes: faults quote
/// them.
pub(super) const MOST_VALUE_BYTES: usize = 4096;

/// The largest number of elements, texts, comments and instructions in a file.
const MOST_NODES: u32 = 1 << 18;

/// A value that is parsed from one configuration file.
pub trait ConfigFile: Sized {
    /// The vocabulary of the root element.
    const ROOT: &'static vocabulary::VocabularyElement;

    /// Reads a root element. Faults beyond the vocabulary are noted by [`ConfigElement::fault`]. If
    /// the file violates the vocabulary, the value only serves to find further faults, so any value
    /// will do, but a panic will not.
    fn read(root: ConfigElement<'_>) -> Self;
}

/// A parsed file, with its unknown parts.
#[derive(Debug)]
pub struct ParsedFile<T> {
    /// The value of the file.
    pub value: T,
    /// Elements and attributes that are not in the vocabulary and were ignored: mistakes, or
    /// additions of another version of stet.
    pub unknown: Vec<ConfigurationFault>,
}

/// The result of parsing a file as far as possible, with all faults.
#[derive(Debug)]
pub struct FileReading<T> {
    /// The value of the file; `None` if it is no document of its kind. With faults, it only serves
    /// to find further files.
    pub value: Option<T>,
    /// All faults of the file.
    pub faults: Vec<ConfigurationFault>,
    /// Unknown parts of the file.
    pub unknown: Vec<ConfigurationFault>,
}

/// Parses a file.
///
/// # Errors
/// All faults, up to the number that is reported.
pub fn parse<T: ConfigFile>(whole: &WholeFile) -> Result<ParsedFile<T>, Vec<ConfigurationFault>> {
    match read_on(whole) {
        FileReading { value: Some(value), faults, unknown } if faults.is_empty() => Ok(ParsedFile { value, unknown }),
        FileReading { faults, .. } => Err(faults),
    }
}

/// Parses a file to its end, so that one reading reports all its faults.
pub fn read_on<T: ConfigFile>(whole: &WholeFile) -> FileReading<T> {
    let document = match Document::of(whole, T::ROOT) {
        Ok(document) => document,
        Err(fault) => return FileReading { value: None, faults: vec![fault], unknown: Vec::new() },
    };
    let root = document.root();
    check(root, T::ROOT);
    document.reading.set(true);
    let value = T::read(root);
    let Document { faults, unknown, .. } = document;
    FileReading { value: Some(value), faults: faults.into_inner(), unknown: unknown.into_inner() }
}

/// An XML document, with its faults.
#[derive(Debug)]
struct Document<'a> {
    tree: roxmltree::Document<'a>,
    whole: &'a WholeFile,
    faults: RefCell<Vec<ConfigurationFault>>,
    unknown: RefCell<Vec<ConfigurationFault>>,
    /// The elements for which the vocabulary check noted faults. Further faults of them would only
    /// be consequences.
    faulty: RefCell<HashSet<NodeId>>,
    /// Whether the check against the vocabulary is done and the elements are being read.
    reading: Cell<bool>,
}

/// An element of a document.
#[derive(Debug, Clone, Copy)]
pub struct ConfigElement<'d> {
    node: Node<'d, 'd>,
    document: &'d Document<'d>,
}

impl<'a> Document<'a> {
    /// Parses a document whose root must be the given element.
    fn of(whole: &'a WholeFile, root: &vocabulary::VocabularyElement) -> Result<Document<'a>, ConfigurationFault> {
        let text = whole.text.as_str();
        // A byte order mark counts in the positions of faults, like any part of the text.
        stet_xml::check(text, &limits(WHOLE_BYTES)).map_err(|error| {
            let at = match error.location() {
                Location::Byte(at) => *at,
                Location::Path(_) => 0,
            };
            whole.fault(at, clause(&error))
        })?;
        // A DOCTYPE is allowed. Its declarations have no effect, because every reference to an
        // entity was refused above.
        let options = ParsingOptions { allow_dtd: true, nodes_limit: MOST_NODES, ..ParsingOptions::default() };
        let tree =
            roxmltree::Document::parse_with_options(text, options).map_err(|error| parser_fault(whole, &error))?;
        let document = Document {
            tree,
            whole,
            faults: RefCell::default(),
            unknown: RefCell::default(),
            faulty: RefCell::default(),
            reading: Cell::new(false),
        };
        let found = document.tree.root_element();
        if found.tag_name().name() == root.name {
            return Ok(document);
        }
        let name = found.tag_name().name();
        Err(whole.fault(found.range().start, format!("the root element is `{name}`, not `{}`", root.name)))
    }

    fn root(&self) -> ConfigElement<'_> {
        ConfigElement { node: self.tree.root_element(), document: self }
    }
}

impl<'d> ConfigElement<'d> {
    /// Returns the name without its namespace prefix.
    pub fn name(self) -> &'d str {
        self.node.tag_name().name()
    }

    /// Returns an attribute's trimmed value; `None` also for an empty one.
    pub fn attribute(self, name: &str) -> Option<&'d str> {
        self.node.attribute(name).map(str::trim).filter(|value| !value.is_empty())
    }

    /// Returns the value of a required attribute.
    pub fn required(self, name: &str) -> &'d str {
        // If it is missing, a fault was noted, and the value is not used.
        self.attribute(name).unwrap_or_default()
    }

    /// Returns a boolean attribute; `false` if it is missing.
    pub fn flag(self, name: &str) -> bool {
        matches!(self.attribute(name), Some("true" | "1"))
    }

    /// Returns a numeric attribute.
    pub fn number<N: std::str::FromStr>(self, name: &str) -> Option<N> {
        self.attribute(name).and_then(|value| value.parse().ok())
    }

    /// Returns the trimmed text directly in the element.
    pub fn text(self) -> String {
        let text: String = self.node.children().filter(Node::is_text).filter_map(|piece| piece.text()).collect();
        text.trim().to_owned()
    }

    /// Returns the children in the element's own namespace. Others are ignored.
    fn children(self) -> impl Iterator<Item = ConfigElement<'d>> {
        let namespace = self.node.tag_name().namespace();
        let own = move |child: &Node<'d, 'd>| child.is_element() && child.tag_name().namespace() == namespace;
        self.node.children().filter(own).map(move |node| ConfigElement { node, document: self.document })
    }

    /// Returns the children of this name.
    pub fn all(self, name: &str) -> impl Iterator<Item = ConfigElement<'d>> {
        self.children().filter(move |child| child.name() == name)
    }

    /// Returns the children called `name` of all children called `list`.
    pub fn all_in(self, list: &str, name: &str) -> impl Iterator<Item = ConfigElement<'d>> {
        self.all(list).flat_map(move |list| list.all(name))
    }

    /// Notes a fault of the element. `fault` is a clause that names the faulty part.
    pub fn fault(self, fault: impl Into<String>) {
        let mut faulty = self.document.faulty.borrow_mut();
        if !self.document.reading.get() {
            faulty.insert(self.node.id());
        } else if faulty.contains(&self.node.id()) {
            return;
        }
        self.note(&self.document.faults, fault);
    }

    fn pass_over(self, what: String) {
        self.note(&self.document.unknown, what);
    }

    /// Faults beyond the reported number are not located, because that takes time in proportion to
    /// the text.
    fn note(self, faults: &RefCell<Vec<ConfigurationFault>>, fault: impl Into<String>) {
        let mut faults = faults.borrow_mut();
        if faults.len() < MOST_FAULTS {
            faults.push(self.document.whole.fault(self.node.range().start, fault));
        }
    }
}

/// A set of names that must be unique.
#[derive(Debug, Default)]
pub struct UniqueNames(HashSet<String>);

impl UniqueNames {
    /// Adds a name. A duplicate is a fault of its element.
    pub fn check(&mut self, element: ConfigElement<'_>, kind: &str, name: &str) {
        if !self.0.insert(name.to_owned()) {
            element.fault(format!("the {kind} `{name}` is defined twice"));
        }
    }
}

/// Checks an element and its descendants against the vocabulary. The recursion is bounded, because
/// the depth of documents is.
fn check(element: ConfigElement<'_>, known: &vocabulary::VocabularyElement) {
    let name = known.name;
    for attribute in known.attributes {
        let value = element.node.attribute(attribute.name).map(str::trim);
        let empty_is_none = attribute.kind.takes("");
        match value {
            Some(value) if value.len() > MOST_VALUE_BYTES => {
                element.fault(format!("`{}` of `{name}` is longer than {MOST_VALUE_BYTES} bytes", attribute.name));
            }
            None if attribute.required => element.fault(format!("`{name}` has no attribute `{}`", attribute.name)),
            Some("") if attribute.required && !empty_is_none => {
                element.fault(format!("`{name}` has an empty attribute `{}`", attribute.name));
            }
            Some(value) if !value.is_empty() && !attribute.kind.takes(value) => {
                let wanted = attribute.kind.wanted();
                element.fault(format!("`{}` of `{name}` must be {wanted}, but is `{value}`", attribute.name));
            }
            _ => {}
        }
    }
    for attribute in element.node.attributes().filter(|attribute| attribute.namespace().is_none()) {
        if !known.attributes.iter().any(|known| known.name == attribute.name()) {
            element.pass_over(format!("`{name}` has an unknown attribute `{}`", attribute.name()));
        }
    }
    match known.text {
        Some(kind) => {
            let text = element.text();
            if kind != ValueKind::Text && text.len() > MOST_VALUE_BYTES {
                element.fault(format!("the text of `{name}` is longer than {MOST_VALUE_BYTES} bytes"));
            } else if !kind.takes(&text) {
                element.fault(format!("the text of `{name}` must be {}, but is `{text}`", kind.wanted()));
            }
        }
        None if !element.text().is_empty() => element.pass_over(format!("`{name}` has a text, which is not expected")),
        None => {}
    }
    let mut seen = HashSet::new();
    for child in element.children() {
        match known.children.iter().find(|known| known.element.name == child.name()) {
            Some(known) => {
                if !seen.insert(known.element.name) && known.times == ChildOccurrence::AtMostOnce {
                    child.fault(format!("`{name}` has a second `{}`", child.name()));
                }
                check(child, known.element);
            }
            None => child.pass_over(format!("`{name}` has an unknown element `{}`", child.name())),
        }
    }
    for child in known.children.iter().filter(|child| child.times == ChildOccurrence::AtLeastOnce) {
        if !seen.contains(child.element.name) {
            element.fault(format!("`{name}` has no `{}`", child.element.name));
        }
    }
}

/// Returns the fault for a document that [`stet_xml::check`] accepts and the parser does not: one
/// with undeclared namespaces, or too many nodes.
fn parser_fault(whole: &WholeFile, error: &roxmltree::Error) -> ConfigurationFault {
    let (place, sentence) = (error.pos(), error.to_string());
    let fault = sentence.strip_suffix(&format!(" at {place}")).unwrap_or(&sentence);
    // The parser counts lines and characters of the text with its includes.
    let line_start =
        whole.text.split_inclusive('\n').take(place.row.saturating_sub(1) as usize).map(str::len).sum::<usize>();
    let in_line =
        whole.text[line_start..].chars().take(place.col.saturating_sub(1) as usize).map(char::len_utf8).sum::<usize>();
    whole.fault(line_start + in_line, fault)
}
