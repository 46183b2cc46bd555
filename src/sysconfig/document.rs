//! A configuration file as a tree of elements that know where they stand: read by roxmltree, within
//! the bounds of [`stet_xml`], and checked against the vocabulary before anyone looks at it. What
//! is wrong is gathered, so that a reader is told all of it at once.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;

use roxmltree::{Node, NodeId, ParsingOptions};
use stet_xml::Location;

use super::fault::{Fault, MOST_FAULTS};
use super::files::{WHOLE_BYTES, limits};
use super::vocabulary::{self, Kind, Times};
use super::whole::{Whole, clause};

/// Bytes of the longest attribute, and of the longest text that is a name or a path: faults quote
/// them.
pub(super) const MOST_VALUE_BYTES: usize = 4096;

/// Elements, texts, comments and instructions that a file may have.
const MOST_NODES: u32 = 1 << 18;

/// What is read of a file.
pub trait ConfigFile: Sized {
    /// What the file may say.
    const ROOT: &'static vocabulary::Element;

    /// Reads a root. What is wrong beyond the vocabulary is noted by [`Element::fault`]. Where the
    /// vocabulary is not kept, the value is of no use but for finding further faults: then nothing
    /// but a panic would be wrong.
    fn read(root: Element<'_>) -> Self;
}

/// What was read of a file, and what in it is not known and was passed over.
#[derive(Debug)]
pub struct Parsed<T> {
    /// What the file says.
    pub value: T,
    /// Elements and attributes that stand in no vocabulary: mistakes in writing, or what another
    /// stet knows.
    pub unknown: Vec<Fault>,
}

/// What was read of a file as far as that goes, whatever is wrong in it.
#[derive(Debug)]
pub struct Reading<T> {
    /// What the file says; `None` if it is no document of its kind. With faults it leads to further
    /// files, and to no use.
    pub value: Option<T>,
    /// All that is wrong in it.
    pub faults: Vec<Fault>,
    /// What is not known in it.
    pub unknown: Vec<Fault>,
}

/// Reads a file.
///
/// # Errors
/// All that is wrong in it, as far as it can be told.
pub fn parse<T: ConfigFile>(whole: &Whole) -> Result<Parsed<T>, Vec<Fault>> {
    match read_on(whole) {
        Reading { value: Some(value), faults, unknown } if faults.is_empty() => Ok(Parsed { value, unknown }),
        Reading { faults, .. } => Err(faults),
    }
}

/// Reads a file to its end, so that one reading reports all its faults.
pub fn read_on<T: ConfigFile>(whole: &Whole) -> Reading<T> {
    let document = match Document::of(whole, T::ROOT) {
        Ok(document) => document,
        Err(fault) => return Reading { value: None, faults: vec![fault], unknown: Vec::new() },
    };
    let root = document.root();
    check(root, T::ROOT);
    document.reading.set(true);
    let value = T::read(root);
    let Document { faults, unknown, .. } = document;
    Reading { value: Some(value), faults: faults.into_inner(), unknown: unknown.into_inner() }
}

/// A document, and what is wrong in it.
#[derive(Debug)]
struct Document<'a> {
    tree: roxmltree::Document<'a>,
    whole: &'a Whole,
    faults: RefCell<Vec<Fault>>,
    unknown: RefCell<Vec<Fault>>,
    /// Elements that the vocabulary has found at fault: what else would be said of them follows
    /// from that.
    faulty: RefCell<HashSet<NodeId>>,
    /// Whether the vocabulary has been checked, and the file is read.
    reading: Cell<bool>,
}

/// An element of a document.
#[derive(Debug, Clone, Copy)]
pub struct Element<'d> {
    node: Node<'d, 'd>,
    document: &'d Document<'d>,
}

impl<'a> Document<'a> {
    /// Reads a document whose root has the name of that element.
    fn of(whole: &'a Whole, root: &vocabulary::Element) -> Result<Document<'a>, Fault> {
        let text = whole.text.as_str();
        // A byte order mark counts as a byte of the text that faults are told by.
        stet_xml::check(text, &limits(WHOLE_BYTES)).map_err(|error| {
            let at = match error.location() {
                Location::Byte(at) => *at,
                Location::Path(_) => 0,
            };
            whole.fault(at, clause(&error))
        })?;
        // A DOCTYPE may be there. What it declares is never put in: every reference to an entity
        // has been refused above.
        let options = ParsingOptions { allow_dtd: true, nodes_limit: MOST_NODES, ..ParsingOptions::default() };
        let tree = roxmltree::Document::parse_with_options(text, options).map_err(|error| unread(whole, &error))?;
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
        Err(whole.fault(found.range().start, format!("the root element is `{name}` where `{}` is expected", root.name)))
    }

    fn root(&self) -> Element<'_> {
        Element { node: self.tree.root_element(), document: self }
    }
}

impl<'d> Element<'d> {
    /// Without the prefix of its namespace.
    pub fn name(self) -> &'d str {
        self.node.tag_name().name()
    }

    /// An attribute's value, without the white space around it; `None` for an empty one, too.
    pub fn attribute(self, name: &str) -> Option<&'d str> {
        self.node.attribute(name).map(str::trim).filter(|value| !value.is_empty())
    }

    /// The value of an attribute that must be there.
    pub fn required(self, name: &str) -> &'d str {
        // Where it is missing, that is a fault, and nothing comes of what is read.
        self.attribute(name).unwrap_or_default()
    }

    /// An attribute that is true or false; without it false.
    pub fn flag(self, name: &str) -> bool {
        matches!(self.attribute(name), Some("true" | "1"))
    }

    /// An attribute that is a number.
    pub fn number<N: std::str::FromStr>(self, name: &str) -> Option<N> {
        self.attribute(name).and_then(|value| value.parse().ok())
    }

    /// The text directly in it, without the white space around it.
    pub fn text(self) -> String {
        let text: String = self.node.children().filter(Node::is_text).filter_map(|piece| piece.text()).collect();
        text.trim().to_owned()
    }

    /// The children in its own namespace; others are none of the reader's business.
    fn children(self) -> impl Iterator<Item = Element<'d>> {
        let namespace = self.node.tag_name().namespace();
        let own = move |child: &Node<'d, 'd>| child.is_element() && child.tag_name().namespace() == namespace;
        self.node.children().filter(own).map(move |node| Element { node, document: self.document })
    }

    /// The children of that name.
    pub fn all(self, name: &str) -> impl Iterator<Item = Element<'d>> {
        self.children().filter(move |child| child.name() == name)
    }

    /// The children of that name in the child of another one.
    pub fn all_in(self, list: &str, name: &str) -> impl Iterator<Item = Element<'d>> {
        self.all(list).flat_map(move |list| list.all(name))
    }

    /// Notes what is wrong with it; `fault` is a clause that names what is at fault.
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

    /// Beyond what is told nothing is looked up: to find a place takes time in proportion to the
    /// text.
    fn note(self, faults: &RefCell<Vec<Fault>>, fault: impl Into<String>) {
        let mut faults = faults.borrow_mut();
        if faults.len() < MOST_FAULTS {
            faults.push(self.document.whole.fault(self.node.range().start, fault));
        }
    }
}

/// Names that may be there once.
#[derive(Debug, Default)]
pub struct Once(HashSet<String>);

impl Once {
    /// Notes a name; an element of a kind whose name is there already is at fault.
    pub fn check(&mut self, element: Element<'_>, kind: &str, name: &str) {
        if !self.0.insert(name.to_owned()) {
            element.fault(format!("the {kind} `{name}` is there a second time"));
        }
    }
}

/// Holds an element and all in it against the vocabulary. The depth of documents is bounded.
fn check(element: Element<'_>, known: &vocabulary::Element) {
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
            element.pass_over(format!("`{name}` has an attribute `{}`, which is not known", attribute.name()));
        }
    }
    match known.text {
        Some(kind) => {
            let text = element.text();
            if kind != Kind::Text && text.len() > MOST_VALUE_BYTES {
                element.fault(format!("the text of `{name}` is longer than {MOST_VALUE_BYTES} bytes"));
            } else if !kind.takes(&text) {
                element.fault(format!("the text of `{name}` must be {}, but is `{text}`", kind.wanted()));
            }
        }
        None if !element.text().is_empty() => element.pass_over(format!("`{name}` has a text, which is not known")),
        None => {}
    }
    let mut seen = HashSet::new();
    for child in element.children() {
        match known.children.iter().find(|known| known.element.name == child.name()) {
            Some(known) => {
                if !seen.insert(known.element.name) && known.times == Times::AtMostOnce {
                    child.fault(format!("`{name}` has a second `{}`", child.name()));
                }
                check(child, known.element);
            }
            None => child.pass_over(format!("`{name}` has an element `{}`, which is not known", child.name())),
        }
    }
    for child in known.children.iter().filter(|child| child.times == Times::AtLeastOnce) {
        if !seen.contains(child.element.name) {
            element.fault(format!("`{name}` has no `{}`", child.element.name));
        }
    }
}

/// What [`stet_xml::check`] lets pass and the reader does not: namespaces that nothing declares,
/// more than can be read.
fn unread(whole: &Whole, error: &roxmltree::Error) -> Fault {
    let (place, sentence) = (error.pos(), error.to_string());
    let fault = sentence.strip_suffix(&format!(" at {place}")).unwrap_or(&sentence);
    // The reader counts lines and characters of the whole.
    let line_start =
        whole.text.split_inclusive('\n').take(place.row.saturating_sub(1) as usize).map(str::len).sum::<usize>();
    let in_line =
        whole.text[line_start..].chars().take(place.col.saturating_sub(1) as usize).map(char::len_utf8).sum::<usize>();
    whole.fault(line_start + in_line, fault)
}
