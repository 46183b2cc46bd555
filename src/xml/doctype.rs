//! The outer shape of a DOCTYPE. It is kept as it is and nothing in it takes effect, so the
//! declarations of its internal subset are only checked for where they begin and end.

use super::cursor::Cursor;
use super::error::XmlError;
use super::tag;

/// `raw` is the whole declaration, from `<!DOCTYPE` to `>`.
pub(super) fn check(raw: &str, at: usize) -> Result<(), XmlError> {
    let mut cursor = Cursor::new(raw, at);
    if !cursor.eat("<!DOCTYPE") {
        return Err(cursor.expected("\"<!DOCTYPE\" in capitals"));
    }
    cursor.space_before("the name of the document type")?;
    cursor.name("a document type")?;
    let spaced = cursor.skip_space();
    let public = cursor.rest().starts_with("PUBLIC");
    if spaced && (public || cursor.rest().starts_with("SYSTEM")) {
        cursor.eat(if public { "PUBLIC" } else { "SYSTEM" });
        if public {
            cursor.space_before("a public identifier")?;
            check_public_identifier(&mut cursor)?;
        }
        cursor.space_before("a system identifier")?;
        cursor.literal("a system identifier")?;
        cursor.skip_space();
    }
    if cursor.eat("[") {
        internal_subset(&mut cursor)?;
        cursor.skip_space();
    }
    if !cursor.eat(">") || !cursor.rest().is_empty() {
        return Err(cursor.expected("the end of the DOCTYPE"));
    }
    Ok(())
}

fn check_public_identifier(cursor: &mut Cursor<'_>) -> Result<(), XmlError> {
    let (at, text) = cursor.literal("a public identifier")?;
    let legal = |c: char| c.is_ascii_alphanumeric() || " \r\n-'()+,./:=?;!*#@$_%".contains(c);
    match text.char_indices().find(|&(_, c)| !legal(c)) {
        None => Ok(()),
        Some((i, c)) => {
            let fault = format!("{c:?} stands in a public identifier");
            Err(XmlError::syntax(at + i, fault))
        }
    }
}

/// Passes the subset and the `]` that ends it.
fn internal_subset(cursor: &mut Cursor<'_>) -> Result<(), XmlError> {
    loop {
        cursor.skip_space();
        if cursor.eat("]") {
            return Ok(());
        }
        let (at, from) = (cursor.at(), cursor.rest());
        if cursor.eat("%") {
            cursor.name("a parameter entity")?;
            if !cursor.eat(";") {
                return Err(cursor.expected("\";\" after a reference"));
            }
        } else if cursor.eat("<!--") {
            cursor
                .through("--")
                .filter(|_| cursor.eat(">"))
                .ok_or_else(|| XmlError::syntax(at, "a comment in the DOCTYPE ends in no \"-->\""))?;
        } else if cursor.eat("<?") {
            let body = cursor.through("?>").ok_or_else(|| XmlError::syntax(at, "an instruction ends in no \"?>\""))?;
            tag::instruction(&from[..body.len() + 4], at)?;
        } else if ["<!ELEMENT", "<!ATTLIST", "<!ENTITY", "<!NOTATION"].iter().any(|keyword| cursor.eat(keyword)) {
            cursor.space_before("a declared name")?;
            markup_declaration(cursor)?;
        } else {
            return Err(cursor.expected("a declaration or the end of the DOCTYPE"));
        }
    }
}

/// Passes a declaration's body and the `>` that ends it, which no quoted text hides.
fn markup_declaration(cursor: &mut Cursor<'_>) -> Result<(), XmlError> {
    loop {
        cursor.before(&['"', '\'', '<', '>']);
        if cursor.eat(">") {
            return Ok(());
        }
        if cursor.rest().starts_with('<') {
            return Err(cursor.expected("the end of a declaration"));
        }
        cursor.literal("a text of a declaration")?;
    }
}
