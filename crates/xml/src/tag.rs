//! The inside of start tags, of processing instructions and of the XML declaration.

use std::borrow::Cow;
use std::collections::HashSet;

use super::chars::attribute_value;
use super::cursor::MarkupCursor;
use super::error::{XmlError, XmlErrorKind, quoted};

/// Attributes in document order, their values as readers report them.
pub(super) type Attributes<'a> = Vec<(&'a str, Cow<'a, str>)>;

/// Parses a start tag. `raw` is the whole tag, from `<` to `>`; `empty` is true if it ends in `/>`.
pub(super) fn start_tag(raw: &str, at: usize, empty: bool) -> Result<(&str, Attributes<'_>), XmlError> {
    let end = raw.len() - if empty { 2 } else { 1 };
    let mut cursor = MarkupCursor::new(&raw[1..end], at + 1);
    let name = cursor.name("an element")?;
    let mut attributes = Attributes::new();
    // A linear search for each name would take quadratic time on a tag with many attributes.
    let mut seen = HashSet::new();
    while let Some(pair) = next_pair(&mut cursor)? {
        if !seen.insert(pair.name) {
            let fault = format!("the attribute {} stands twice on the element {}", quoted(pair.name), quoted(name));
            let kind = XmlErrorKind::DuplicateAttribute;
            return Err(XmlError::at_byte(kind, pair.at, fault));
        }
        attributes.push((pair.name, attribute_value(pair.value, pair.value_at)?));
    }
    Ok((name, attributes))
}

/// `name = "value"`, the value as written.
struct RawAttribute<'a> {
    at: usize,
    name: &'a str,
    value_at: usize,
    value: &'a str,
}

fn next_pair<'a>(cursor: &mut MarkupCursor<'a>) -> Result<Option<RawAttribute<'a>>, XmlError> {
    let spaced = cursor.skip_space();
    if cursor.rest().is_empty() {
        return Ok(None);
    }
    if !spaced {
        return Err(cursor.expected("white space before an attribute"));
    }
    let at = cursor.at();
    let name = cursor.name("an attribute")?;
    cursor.skip_space();
    if !cursor.eat("=") {
        return Err(cursor.expected(&format!("\"=\" after the attribute {}", quoted(name))));
    }
    cursor.skip_space();
    let (value_at, value) = cursor.literal("an attribute value")?;
    Ok(Some(RawAttribute { at, name, value_at, value }))
}

/// Parses a processing instruction from `<?` to `?>`: its target, and the text after the space
/// behind it.
pub(super) fn instruction(raw: &str, at: usize) -> Result<(&str, &str), XmlError> {
    let mut cursor = MarkupCursor::new(&raw[2..raw.len() - 2], at + 2);
    let target = cursor.name("a processing instruction")?;
    if target.eq_ignore_ascii_case("xml") {
        let fault = format!("the name {} is reserved for the declaration that begins a document", quoted(target));
        return Err(XmlError::at_byte(XmlErrorKind::BadName, at, fault));
    }
    if !cursor.skip_space() && !cursor.rest().is_empty() {
        return Err(cursor.expected("white space after a target"));
    }
    Ok((target, cursor.rest()))
}

/// Parses the XML declaration, from `<?xml` to `?>`. Returns the value of `standalone`, if stated.
/// `ascii` is true if the whole text is ASCII, which the declared encoding may then be.
pub(super) fn declaration(raw: &str, at: usize, ascii: bool) -> Result<Option<&str>, XmlError> {
    let mut cursor = MarkupCursor::new(&raw[5..raw.len() - 2], at + 5);
    let mut standalone = None;
    // The order is fixed, so the position of a pseudo-attribute also reveals a repeated one.
    let mut place = 0;
    while let Some(pair) = next_pair(&mut cursor)? {
        place = match (pair.name, place) {
            ("version", 0) => 1,
            ("encoding", 1) => 2,
            ("standalone", 1 | 2) => 3,
            _ => {
                let fault = format!("{} is out of place in the declaration", quoted(pair.name));
                return Err(XmlError::syntax(pair.at, fault));
            }
        };
        let legal = match pair.name {
            "version" => is_version(pair.value),
            "encoding" => {
                check_encoding(pair.value, pair.value_at, ascii)?;
                true
            }
            _ => {
                standalone = Some(pair.value);
                matches!(pair.value, "yes" | "no")
            }
        };
        if !legal {
            let fault = format!("{} is no legal {}", quoted(pair.value), pair.name);
            return Err(XmlError::syntax(pair.value_at, fault));
        }
    }
    if place == 0 {
        return Err(XmlError::syntax(at, "the declaration states no version"));
    }
    Ok(standalone)
}

/// Reports whether the version is acceptable: a reader of XML 1.0 treats every 1.x document as 1.0.
fn is_version(value: &str) -> bool {
    value.strip_prefix("1.").is_some_and(|minor| {
        // An empty minor version is invalid.
        !minor.is_empty() && minor.bytes().all(|b| b.is_ascii_digit())
    })
}

/// Refuses any other encoding than that of the text, which is stored as UTF-8 to the byte.
fn check_encoding(value: &str, at: usize, ascii: bool) -> Result<(), XmlError> {
    if value.eq_ignore_ascii_case("UTF-8") || (ascii && value.eq_ignore_ascii_case("US-ASCII")) {
        return Ok(());
    }
    let fault = format!("the declared encoding {} is not that of the text, which is UTF-8", quoted(value));
    let kind = XmlErrorKind::UnsupportedEncoding;
    Err(XmlError::at_byte(kind, at, fault))
}
