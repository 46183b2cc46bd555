//! Object attributes as XML text, and the JSON view of them.
//!
//! The stored form is XML; clients send and receive either form (docs/api/objects.md,
//! "Attributes").
//! The mapping is:
//!
//! | XML | JSON |
//! |---|---|
//! | element | key named like the element, the root included: `{"props": …}` |
//! | element with nothing but text | string |
//! | repeated element | array, in document order |
//! | attribute | key `@name` |
//! | text beside children or beside attributes | key `#text` |
//! | empty element | `""` |
//!
//! # What is exact
//!
//! - Element and attribute names, namespace prefixes included: a prefix is part of the name and
//!   `xmlns:x` is the key `@xmlns:x`.
//! - Every character of an attribute value and of the text of an element without children. What
//!   XML would normalise on reading is written as a character reference: carriage return
//!   everywhere, tab and line feed in attribute values.
//! - The order of attributes, of elements of one name, and of the first appearances of names.
//! - White space that is the whole text beside children, when it was written on purpose. Literal
//!   white space there is layout and is dropped from JSON; white space given by a character
//!   reference or in CDATA is text and is kept. A JSON `#text` of nothing but white space is
//!   therefore written as character references.
//!
//! # What is made canonical
//!
//! From XML to JSON:
//! - the interleaving of unlike siblings is lost: all elements of one name gather where the first
//!   of them stood;
//! - the places of mixed text are lost: its pieces are joined, where the first of them stood;
//! - comments, processing instructions, the declaration and the DOCTYPE are not part of the view;
//! - CDATA is text, and `<a></a>` is `<a/>`.
//!
//! From JSON to XML:
//! - an array of one item is the item, an empty array is no element at all;
//! - numbers and booleans are their text; `null` is `""`, as an element, attribute or text;
//! - `{}` is `""`, an empty `#text` is none, and an object with nothing but `#text` is its string.
//!
//! [`reserialize`] keeps comments, processing instructions and the DOCTYPE (to the byte); it
//! writes one kind of quotes and of escapes, makes CDATA plain text, and puts each item before
//! and after the root on a line of its own. A declaration is kept and says version 1.0, UTF-8.
//!
//! # Parts of documents
//!
//! A liveblog's content is a [`frame()`] for posts: each is a [`fragment()`], which means the same
//! at any place, or text. [`doctype_of`] a document can be combined with the DTD that it refers to.
//! [`inclusions()`] finds the files that a document includes, and [`declarations()`] reads a DTD.
//!
//! [`edit`] changes single places of a document and leaves everything else as it is written;
//! [`xpath`] finds places by XPath.
//!
//! # What is never done
//!
//! No entity is expanded and nothing is fetched (docs/api/objects.md, "Attributes"). A DOCTYPE is
//! kept, with whatever it declares, but nothing in it takes effect: neither entities nor attribute
//! defaults nor attribute types. The five predefined entities and character references are
//! resolved; a reference to any other entity is an error that names it.
//!
//! Time and memory are linear in the size of the input. Depth and size are checked before they
//! are spent, and no function here recurses.

mod chars;
mod cursor;
mod declarations;
mod doctype;
mod dtd;
pub mod edit;
mod error;
mod fragment;
mod frame;
mod inclusions;
mod namespaces;
mod output;
mod read;
mod references;
mod rewrite;
mod scan;
mod tag;
#[cfg(test)]
mod tests;
mod token;
mod walk;
mod write;
pub mod xpath;

use std::borrow::Cow;

use serde_json::Value;

pub use declarations::{Declarations, DeclaredAttribute, DeclaredElement, Occurs, declarations};
pub use dtd::{Doctype, doctype_of};
pub use error::{Location, XmlError, XmlErrorKind};
pub use fragment::{Fragment, fragment};
pub use frame::{DECLARATION, InsertionFrame, frame};
pub use inclusions::{Inclusions, inclusions};
pub use output::Output;
pub use references::references;
pub use walk::{DocumentPiece, first_text_of, walk};

/// Limits for accepted input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Levels of elements, the root being the first. Arrays in JSON are no level of their own.
    /// Values above [`Limits::DEPTH_CEILING`] count as the ceiling.
    pub max_depth: usize,
    /// Bytes of XML text, which [`to_json`], [`check`] and [`reserialize`] read and [`from_json`]
    /// writes.
    pub max_bytes: usize,
    /// Elements and attributes, in either form.
    pub max_nodes: usize,
    /// Attributes of one element of a text.
    pub max_attributes: usize,
    /// Declarations of namespaces in all of a text.
    pub max_namespaces: usize,
}

impl Limits {
    /// The deepest `max_depth` that has an effect. Dropping, comparing and printing a
    /// [`serde_json::Value`] recurse, so a deeper one could exhaust the stack of its owner.
    pub const DEPTH_CEILING: usize = 512;

    /// No limits but that on depth, as a base for limits of which only some matter.
    pub const UNBOUNDED: Limits = Limits {
        max_depth: Limits::DEPTH_CEILING,
        max_bytes: usize::MAX,
        max_nodes: usize::MAX,
        max_attributes: usize::MAX,
        max_namespaces: usize::MAX,
    };

    fn depth(&self) -> usize {
        self.max_depth.min(Self::DEPTH_CEILING)
    }
}

impl Default for Limits {
    /// 64 levels and 4 MiB, with any number of elements, attributes and namespaces.
    fn default() -> Self {
        Self { max_depth: 64, max_bytes: 4 * 1024 * 1024, ..Limits::UNBOUNDED }
    }
}

/// Returns the text without the characters that XML can't contain.
pub fn without_illegal_chars(text: &str) -> Cow<'_, str> {
    if text.chars().all(chars::is_char) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().filter(|c| chars::is_char(*c)).collect())
}

/// Returns the JSON view of an XML document: an object whose one key is the root element.
///
/// # Errors
/// When the text is not a well-formed document within `limits`, or refers to an entity.
pub fn to_json(xml: &str, limits: &Limits) -> Result<Value, XmlError> {
    read::to_json(xml, limits)
}

/// Returns the XML text of a JSON view: an object with exactly one key, the root element.
///
/// # Errors
/// If `value` has another shape, a key that is not a legal XML name, a character that XML can't
/// contain, an array in an array, or exceeds `limits`.
pub fn from_json(value: &Value, limits: &Limits) -> Result<String, XmlError> {
    write::from_json(value, limits)
}

/// Checks that the text is a well-formed document within `limits`, and returns the root's name.
///
/// A text that passes is accepted by [`to_json`] and [`reserialize`] under the same limits.
///
/// # Errors
/// When the text is not a well-formed document within `limits`, or refers to an entity.
pub fn check(xml: &str, limits: &Limits) -> Result<String, XmlError> {
    let mut scanner = scan::Scanner::new(xml, limits)?;
    while scanner.next()?.is_some() {}
    scanner.root().map(str::to_owned)
}

/// Parses a document and serialises it again: the same content, in one canonical spelling.
///
/// The size limit applies to the input. The output can be longer, by at most six times, where
/// characters need escapes that the input did not have.
///
/// # Errors
/// When the text is not a well-formed document within `limits`, or refers to an entity.
pub fn reserialize(xml: &str, limits: &Limits) -> Result<String, XmlError> {
    rewrite::reserialize(xml, limits)
}
