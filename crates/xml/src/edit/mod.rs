//! Changing single places of a document. Everything else stays as it is written, to the byte.
//!
//! A place is named by a path of plain steps, `/story/keywords/keyword[2]/@lang` ([`Path`]). Places
//! that such a path does not find can be created. All edits of a document are applied to one tree
//! of it, so that many cost little more than one.

mod path;
#[cfg(test)]
mod tests;
mod tree;

use std::fmt;

use rust_decimal::Decimal;
use serde_json::{Map, Value};

pub use self::path::Path;
pub(crate) use self::tree::{NodePlace, TreeEvent, XmlTree};
use super::Limits;
use super::error::XmlError;

/// The reason why a place can't be changed. [`fmt::Display`] gives a whole sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditError {
    /// The path is invalid, or does not fit the document or the change.
    Path(String),
    /// The new content does not fit.
    Content(String),
    /// The present value does not fit: it is not a number.
    Value(String),
    /// The document can't be read, or would be larger or deeper than the limits.
    Document(XmlError),
}

impl fmt::Display for EditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EditError::Path(text) | EditError::Content(text) | EditError::Value(text) => f.write_str(text),
            EditError::Document(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for EditError {}

impl From<XmlError> for EditError {
    fn from(error: XmlError) -> EditError {
        EditError::Document(error)
    }
}

/// A change of the places that a path finds.
#[derive(Debug, Clone)]
pub struct Edit {
    path: Path,
    change: EditOperation,
}

#[derive(Debug, Clone)]
enum EditOperation {
    Set(EditContent),
    Unset,
    Increase(Decimal),
    Push { items: EditContent, keep: Option<usize> },
    Pull { first: bool, count: usize, equal: Option<String> },
}

/// The content to put into a document.
#[derive(Debug, Clone)]
enum EditContent {
    Text(String),
    /// Elements, as XML. `list` is true if they came as a list, so that they replace all elements
    /// found.
    Elements {
        written: Vec<String>,
        list: bool,
    },
}

impl EditContent {
    /// Converts the content to elements with the name.
    fn elements(self, name: &str) -> EditContent {
        match self {
            EditContent::Text(text) => {
                let mut out = super::Output::default();
                out.open(name);
                out.text(&text);
                out.close(name);
                EditContent::Elements { written: vec![out.into_text()], list: false }
            }
            elements => elements,
        }
    }

    fn len(&self) -> usize {
        match self {
            EditContent::Text(text) => text.len(),
            EditContent::Elements { written, .. } => written.iter().map(String::len).sum(),
        }
    }
}

impl Edit {
    /// Sets each place that is found to this content; if none is found, the first that the path
    /// names is created. A text, number or boolean becomes the text of the element or attribute;
    /// null empties it. An object is the JSON view of the element. A list is the view of all
    /// elements that the path finds.
    ///
    /// # Errors
    /// `EditContent` if the content has no XML form; `Path` if a list is to be an attribute or the
    /// root.
    pub fn set(path: Path, content: &Value, limits: &Limits) -> Result<Edit, EditError> {
        let content = content_of(&path, content, limits)?;
        if let EditContent::Elements { list, .. } = &content {
            if path.attribute().is_some() {
                return Err(EditError::Content(format!("The new value of the attribute `{path}` must be a text.")));
            }
            if *list {
                path.list_name()?;
            }
        }
        Ok(Edit { path, change: EditOperation::Set(content) })
    }

    /// Removes everything that is found.
    pub fn unset(path: Path) -> Edit {
        Edit { path, change: EditOperation::Unset }
    }

    /// Adds a number to each number that is found. An empty or new place counts as 0.
    ///
    /// # Errors
    /// `EditContent` if `by` is not a number.
    pub fn increase(path: Path, by: Option<&Value>) -> Result<Edit, EditError> {
        let by = match by {
            None => Decimal::ONE,
            Some(by) => {
                let text = text_of(by).unwrap_or_default();
                number(&text).ok_or_else(|| {
                    EditError::Content(format!("`{path}` can't be increased by {by}, which is not a number."))
                })?
            }
        };
        Ok(Edit { path, change: EditOperation::Increase(by) })
    }

    /// Adds an element after those that the path finds in the first parent, or several if the
    /// content is a list. With `keep`, at most that many remain, the last ones.
    ///
    /// # Errors
    /// The errors of [`Edit::set`]; `Path` if the path does not end in the plain name of an element
    /// below the root.
    pub fn push(path: Path, content: &Value, keep: Option<usize>, limits: &Limits) -> Result<Edit, EditError> {
        let name = path.list_name()?.to_owned();
        let items = content_of(&path, content, limits)?.elements(&name);
        Ok(Edit { path, change: EditOperation::Push { items, keep } })
    }

    /// Removes the first or the last `count` elements that are found; with `equal`, only elements
    /// with this text are considered.
    ///
    /// # Errors
    /// `Path` for attributes; `EditContent` if `equal` is not a text.
    pub fn pull(path: Path, first: bool, count: usize, equal: Option<&Value>) -> Result<Edit, EditError> {
        if path.attribute().is_some() {
            return Err(EditError::Path(format!("`{path}` names an attribute, but only elements can be pulled.")));
        }
        let equal = equal.map(|value| {
            text_of(value).ok_or_else(|| EditError::Content(format!("The value to pull from `{path}` must be a text.")))
        });
        Ok(Edit { path, change: EditOperation::Pull { first, count, equal: equal.transpose()? } })
    }

    /// Reports whether the edit names the same places as that path.
    pub fn is_at(&self, path: &Path) -> bool {
        self.path.names_as(path)
    }

    /// Reports whether the places of that path may be those of the edit, or within them.
    pub fn is_around(&self, path: &Path) -> bool {
        self.path.is_above(path)
    }

    /// Returns the approximate bytes that the edit takes in memory.
    pub fn bytes(&self) -> usize {
        let content = match &self.change {
            EditOperation::Set(content) | EditOperation::Push { items: content, .. } => content.len(),
            EditOperation::Pull { equal, .. } => equal.as_ref().map_or(0, String::len),
            EditOperation::Unset | EditOperation::Increase(_) => 0,
        };
        size_of::<Edit>() + self.path.bytes() + content
    }
}

/// Returns the document after the edits, applied in order. Without a document, the root is created.
/// Returns `None` if the root was removed.
///
/// # Errors
/// The first edit that fails; then none has an effect. The result is checked against `limits`, as
/// by [`super::check`].
pub fn apply_edits(xml: Option<&str>, edits: &[Edit], limits: &Limits) -> Result<Option<String>, EditError> {
    let mut tree = XmlTree::read(xml, limits)?;
    for edit in edits {
        tree.apply(edit)?;
    }
    let Some(text) = tree.written() else { return Ok(None) };
    super::check(&text, limits)?;
    Ok(Some(text))
}

/// Returns the first text that each path finds.
///
/// # Errors
/// `Document`.
pub fn first_texts<const N: usize>(
    xml: &str,
    paths: [&Path; N],
    limits: &Limits,
) -> Result<[Option<String>; N], EditError> {
    let tree = XmlTree::read(Some(xml), limits)?;
    Ok(paths.map(|path| tree.texts_at(path).into_iter().next()))
}

/// Returns the text of a text, number or boolean; empty for null, `None` for a list or object.
fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::Null => Some(String::new()),
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        Value::Array(_) | Value::Object(_) => None,
    }
}

/// Returns the exact number that a text states; `None` if it has more than about 28 digits.
fn number(text: &str) -> Option<Decimal> {
    let text = text.trim();
    let is_plain = text.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'+' | b'-' | b'.' | b'e' | b'E'));
    if !is_plain {
        return None;
    }
    Decimal::from_str_exact(text).or_else(|_| Decimal::from_scientific(text)).ok()
}

fn content_of(path: &Path, value: &Value, limits: &Limits) -> Result<EditContent, EditError> {
    if let Some(text) = text_of(value) {
        if super::without_illegal_chars(&text).len() < text.len() {
            return Err(EditError::Content(format!("The value for `{path}` has a character that XML can't contain.")));
        }
        return Ok(EditContent::Text(text));
    }
    let name = path.last_name();
    let one = |value: &Value| {
        if value.is_array() {
            return Err(EditError::Content(format!("The value for `{path}` has a list within a list.")));
        }
        let wrapped = Value::Object(Map::from_iter([(name.to_owned(), value.clone())]));
        super::from_json(&wrapped, limits)
            .map_err(|error| EditError::Content(format!("The value for `{path}` is invalid: {error}")))
    };
    let (written, list) = match value {
        Value::Array(items) => (items.iter().map(one).collect::<Result<_, _>>()?, true),
        value => (vec![one(value)?], false),
    };
    Ok(EditContent::Elements { written, list })
}
