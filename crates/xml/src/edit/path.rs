//! Paths of plain steps, a small subset of XPath. Each step names children, so that missing ones
//! can be created.
//!
//! ```text
//! path  = "/" step ("/" step)* ["/@" name | "/text()"]
//! step  = (name | "*") ["[" which "]"]
//! which = number | "last()" | (name | "@" name | ".") "=" quoted
//! ```

use std::fmt;

use super::EditError;
use crate::cursor::MarkupCursor;

/// The longest path, in bytes.
const MAX_BYTES: usize = 1024;

/// The path to places in a document: elements, or attributes of elements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    text: String,
    pub(super) steps: Vec<XmlPathStep>,
    attribute: Option<String>,
}

/// A step from elements to children.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct XmlPathStep {
    /// The children's name; `None` for any.
    pub(super) name: Option<String>,
    pub(super) which: ChildSelector,
}

/// The choice among the children with that name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ChildSelector {
    All,
    /// Counted from 1.
    Nth(usize),
    Last,
    Attribute(String, String),
    Child(String, String),
    Text(String),
}

impl Path {
    /// Reads a path.
    ///
    /// # Errors
    /// `Path`, with the part that can't be read.
    pub fn parse(text: &str) -> Result<Path, EditError> {
        let fail = |why: String| {
            let shown: String = text.chars().take(100).collect();
            EditError::Path(format!("`{shown}` is not a valid path: {why}."))
        };
        if text.len() > MAX_BYTES {
            return Err(fail(format!("it has {} bytes; at most {MAX_BYTES} are allowed", text.len())));
        }
        let mut cursor = MarkupCursor::new(text, 0);
        let mut path = Path { text: text.to_owned(), steps: Vec::new(), attribute: None };
        while !cursor.rest().is_empty() {
            if !cursor.eat("/") {
                return Err(fail(format!("a slash is missing before `{}`", cursor.rest())));
            }
            if !path.steps.is_empty() && cursor.eat("text()") {
                break;
            }
            if !path.steps.is_empty() && cursor.eat("@") {
                path.attribute = Some(name(&mut cursor).map_err(fail)?);
                break;
            }
            path.steps.push(step(&mut cursor).map_err(fail)?);
        }
        if !cursor.rest().is_empty() {
            return Err(fail(format!("`{}` follows its end", cursor.rest())));
        }
        if path.steps.is_empty() {
            return Err(fail("it names no element".to_owned()));
        }
        Ok(path)
    }

    /// Returns the attribute that the path names on the elements that its steps find.
    pub(super) fn attribute(&self) -> Option<&str> {
        self.attribute.as_deref()
    }

    /// Returns the name for an element that is created for the path; `any` if the path has none.
    pub(super) fn last_name(&self) -> &str {
        self.steps.last().and_then(|step| step.name.as_deref()).unwrap_or("any")
    }

    /// Returns the name of the elements of the list that the path names.
    pub(super) fn list_name(&self) -> Result<&str, EditError> {
        match self.steps.as_slice() {
            [_, .., XmlPathStep { name: Some(name), which: ChildSelector::All }] if self.attribute.is_none() => {
                Ok(name)
            }
            _ => {
                let message = format!("`{self}` must end in the plain name of an element below the root.");
                Err(EditError::Path(message))
            }
        }
    }

    /// Reports whether both paths have steps of the same names, whichever elements of these names
    /// they choose.
    pub(super) fn names_as(&self, other: &Path) -> bool {
        let named = self.steps.iter().all(|step| step.name.is_some());
        named && self.steps.len() == other.steps.len() && self.attribute == other.attribute && self.is_above(other)
    }

    /// Reports whether the places of `other` may be those of this path, or within them.
    pub(super) fn is_above(&self, other: &Path) -> bool {
        let mut steps = self.steps.iter().zip(&other.steps);
        let same = steps.all(|(step, other)| step.name.is_none() || step.name == other.name);
        same && self.steps.len() <= other.steps.len() && (self.attribute.is_none() || self.attribute == other.attribute)
    }

    /// Returns the approximate bytes that the path takes in memory.
    pub(super) fn bytes(&self) -> usize {
        self.text.len() * 2 + self.steps.len() * size_of::<XmlPathStep>()
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn name(cursor: &mut MarkupCursor<'_>) -> Result<String, String> {
    let name = cursor.name("a step").map_err(|_| format!("`{}` does not begin with a name", cursor.rest()))?;
    // It is an axis of XPath.
    if name.contains("::") { Err(format!("`{name}` is not a name")) } else { Ok(name.to_owned()) }
}

fn step(cursor: &mut MarkupCursor<'_>) -> Result<XmlPathStep, String> {
    let name = if cursor.eat("*") { None } else { Some(name(cursor)?) };
    let which = if cursor.eat("[") { parse_selector(cursor)? } else { ChildSelector::All };
    Ok(XmlPathStep { name, which })
}

fn parse_selector(cursor: &mut MarkupCursor<'_>) -> Result<ChildSelector, String> {
    cursor.skip_space();
    let digits = cursor.rest().len() - cursor.rest().trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let found = if digits > 0 {
        let (number, rest) = cursor.rest().split_at(digits);
        let nth = number.parse().ok().filter(|nth| *nth > 0);
        let nth = nth.ok_or_else(|| format!("`{number}` is not a position; positions count from 1"))?;
        *cursor = MarkupCursor::new(rest, cursor.at() + digits);
        ChildSelector::Nth(nth)
    } else if cursor.eat("last()") {
        ChildSelector::Last
    } else if cursor.eat("@") {
        let name = name(cursor)?;
        ChildSelector::Attribute(name, value(cursor)?)
    } else if cursor.eat(".") {
        ChildSelector::Text(value(cursor)?)
    } else {
        let name = name(cursor)?;
        ChildSelector::Child(name, value(cursor)?)
    };
    cursor.skip_space();
    if cursor.eat("]") { Ok(found) } else { Err(format!("`{}` stands where `]` is expected", cursor.rest())) }
}

fn value(cursor: &mut MarkupCursor<'_>) -> Result<String, String> {
    cursor.skip_space();
    if !cursor.eat("=") {
        return Err(format!("`{}` stands where `=` is expected", cursor.rest()));
    }
    cursor.skip_space();
    let (_, value) = cursor.literal("a value").map_err(|_| "a value in quotes is missing after `=`".to_owned())?;
    Ok(value.to_owned())
}
