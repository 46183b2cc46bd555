//! Characters, names, references and normalisation according to XML 1.0 (fifth edition).

use std::borrow::Cow;

use super::error::{XmlError, XmlErrorKind, quoted};

/// White space, the production `S` of the grammar.
pub(super) const SPACE: [char; 4] = [' ', '\t', '\n', '\r'];

/// Reports whether XML can contain the character, literally or as a reference.
pub(super) fn is_char(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='\u{FFFD}' | '\u{10000}'..)
}

fn is_name_start(c: char) -> bool {
    matches!(c,
        ':' | '_' | 'A'..='Z' | 'a'..='z'
        | '\u{C0}'..='\u{D6}' | '\u{D8}'..='\u{F6}' | '\u{F8}'..='\u{2FF}'
        | '\u{370}'..='\u{37D}' | '\u{37F}'..='\u{1FFF}' | '\u{200C}'..='\u{200D}'
        | '\u{2070}'..='\u{218F}' | '\u{2C00}'..='\u{2FEF}' | '\u{3001}'..='\u{D7FF}'
        | '\u{F900}'..='\u{FDCF}' | '\u{FDF0}'..='\u{FFFD}' | '\u{10000}'..='\u{EFFFF}')
}

fn is_name_char(c: char) -> bool {
    is_name_start(c)
        || matches!(c,
            '-' | '.' | '0'..='9' | '\u{B7}' | '\u{300}'..='\u{36F}' | '\u{203F}'..='\u{2040}')
}

/// Reports whether the text is a legal name; colons are allowed anywhere, as in XML 1.0 itself.
pub(super) fn is_name(text: &str) -> bool {
    text.starts_with(is_name_start) && text.chars().all(is_name_char)
}

/// Reports whether the text is empty or white space only.
pub(super) fn is_space(text: &str) -> bool {
    text.bytes().all(|b| matches!(b, b' ' | b'\t' | b'\n' | b'\r'))
}

/// Replaces every literal end of line with a line feed, as XML readers report it.
pub(super) fn normalize_line_ends(text: &str) -> Cow<'_, str> {
    if !text.contains('\r') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\r') {
        out.push_str(before);
        out.push('\n');
        rest = after.strip_prefix('\n').unwrap_or(after);
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Returns an attribute value as readers report it: references resolved, and literal white space as
/// blanks.
///
/// `at` is the offset of `raw`, the text between the quotes.
pub(super) fn attribute_value(raw: &str, at: usize) -> Result<Cow<'_, str>, XmlError> {
    const SPECIAL: [char; 5] = ['&', '<', '\t', '\n', '\r'];
    if !raw.contains(SPECIAL) {
        return Ok(Cow::Borrowed(raw));
    }
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(found) = rest.find(SPECIAL) {
        let here = at + raw.len() - rest.len() + found;
        out.push_str(&rest[..found]);
        // Every special character is one byte long.
        let after = &rest[found + 1..];
        match rest.as_bytes()[found] {
            b'<' => {
                let fault = format!("\"<\" stands in the attribute value {}", quoted(raw));
                return Err(XmlError::syntax(here, fault));
            }
            b'&' => {
                let Some((body, after)) = after.split_once(';') else {
                    return Err(open_reference(here, after));
                };
                out.push(resolve_reference(body, here)?);
                rest = after;
            }
            b'\r' => {
                out.push(' ');
                rest = after.strip_prefix('\n').unwrap_or(after);
            }
            _ => {
                out.push(' ');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    Ok(Cow::Owned(out))
}

/// Returns the fault of a `&` without a `;`.
fn open_reference(at: usize, after: &str) -> XmlError {
    let fault = format!("\"&\" before {} begins no reference", quoted(after));
    XmlError::syntax(at, fault)
}

/// Returns the character that a reference denotes. `body` is the text between `&` and `;`, `at` the
/// offset of the `&`.
pub(super) fn resolve_reference(body: &str, at: usize) -> Result<char, XmlError> {
    match body {
        "amp" => return Ok('&'),
        "lt" => return Ok('<'),
        "gt" => return Ok('>'),
        "apos" => return Ok('\''),
        "quot" => return Ok('"'),
        _ => {}
    }
    let Some(number) = body.strip_prefix('#') else {
        return Err(if is_name(body) {
            let fault = format!(
                "the entity {} is not known; entities that a DOCTYPE declares are never resolved",
                quoted(body)
            );
            XmlError::at_byte(XmlErrorKind::UnknownEntity, at, fault)
        } else {
            let fault = format!("{} is no legal reference", quoted(&format!("&{body};")));
            XmlError::syntax(at, fault)
        });
    };
    let (digits, radix) = match number.strip_prefix('x') {
        Some(hex) => (hex, 16),
        None => (number, 10),
    };
    let reference = || quoted(&format!("&{body};"));
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        let fault = format!("{} is no legal character reference", reference());
        return Err(XmlError::syntax(at, fault));
    }
    u32::from_str_radix(digits, radix).ok().and_then(char::from_u32).filter(|&c| is_char(c)).ok_or_else(|| {
        let fault = format!("{} is no character that XML 1.0 can carry", reference());
        XmlError::at_byte(XmlErrorKind::BadCharacter, at, fault)
    })
}
