//! The vocabulary of configuration files as data: the elements with their attributes and children.
//! Files are checked against it. The schema for editors in `docs/schema/` and the reference in
//! `docs/CONFIGURATION-FILES.md` are generated from it, so that the three can't differ.

mod elements;
mod kind;
mod schema;

pub use self::elements::*;
pub use self::kind::{ValueKind, day_of, month_and_day_of};
pub use self::schema::schema;

/// An element of configuration files.
#[derive(Debug)]
pub struct VocabularyElement {
    /// Name of the element.
    pub name: &'static str,
    /// Description for the schema and the reference.
    pub about: &'static str,
    /// Allowed attributes.
    pub attributes: &'static [Attribute],
    /// Allowed children, in any order.
    pub children: &'static [Child],
    /// Kind of the text; `None` for an element without text.
    pub text: Option<ValueKind>,
}

/// An attribute of an element.
#[derive(Debug)]
pub struct Attribute {
    /// Name of the attribute.
    pub name: &'static str,
    /// Kind of its values.
    pub kind: ValueKind,
    /// Whether the attribute is required.
    pub required: bool,
    /// Description for the schema and the reference.
    pub about: &'static str,
}

/// A child of an element.
#[derive(Debug)]
pub struct Child {
    /// Element that is the child.
    pub element: &'static VocabularyElement,
    /// Allowed number of occurrences.
    pub times: ChildOccurrence,
}

/// The number of times that a child may occur.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChildOccurrence {
    /// At most once.
    AtMostOnce,
    /// Any number of times.
    Any,
    /// At least once.
    AtLeastOnce,
}
