//! The vocabulary of configuration files, as data: which elements there are, with which attributes
//! and children. Reading checks files against it, and the schema for editors in `docs/schema/` and
//! the reference in `docs/CONFIGURATION-FILES.md` are made of it, so that the three can't differ.

mod elements;
mod kind;
mod schema;

pub use self::elements::*;
pub use self::kind::{Kind, day_of, month_and_day_of};
pub use self::schema::schema;

/// An element.
#[derive(Debug)]
pub struct Element {
    /// Its name.
    pub name: &'static str,
    /// What it is for.
    pub about: &'static str,
    /// Its attributes.
    pub attributes: &'static [Attribute],
    /// What may stand in it, in any order.
    pub children: &'static [Child],
    /// What its text is; `None` for one that has none.
    pub text: Option<Kind>,
}

/// An attribute.
#[derive(Debug)]
pub struct Attribute {
    /// Its name.
    pub name: &'static str,
    /// Which values it takes.
    pub kind: Kind,
    /// Whether it must be there.
    pub required: bool,
    /// What it is for.
    pub about: &'static str,
}

/// A child of an element.
#[derive(Debug)]
pub struct Child {
    /// What it is.
    pub element: &'static Element,
    /// How often it stands there.
    pub times: Times,
}

/// How often something stands somewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Times {
    /// Once or not at all.
    AtMostOnce,
    /// As often as one likes.
    Any,
    /// Once at least.
    AtLeastOnce,
}
