//! The outer shape of a DOCTYPE. It is kept unchanged and nothing in it takes effect. So only the
//! extent of the declarations in its internal subset is read, and the names of the entities.

use std::collections::HashSet;
use std::ops::Range;

use super::chars::{SPACE, is_name};
use super::cursor::MarkupCursor;
use super::error::{XmlError, quoted};
use super::tag;

/// The parts of a DOCTYPE.
#[derive(Debug, Default)]
pub(super) struct DoctypeParts<'a> {
    /// The system identifier, if there is one.
    pub(super) system: Option<&'a str>,
    /// The range from `SYSTEM` or `PUBLIC` to the quote that ends the system identifier, in bytes
    /// of the declaration.
    pub(super) external: Range<usize>,
    /// The range between the brackets, in bytes of the declaration.
    pub(super) subset: Option<Range<usize>>,
    /// Names of the general entities that the subset declares.
    entities: HashSet<&'a str>,
    /// Whether the subset refers to parameter entities, which may declare further names.
    refers: bool,
    /// Whether such a reference is within a declaration, which only an external subset may have.
    pub(super) refers_within: bool,
    /// The entities whose text is in a file.
    pub(super) externals: Vec<ExternalEntity<'a>>,
}

/// The declaration of an entity whose text is in a file.
#[derive(Debug)]
pub(super) struct ExternalEntity<'a> {
    pub(super) name: &'a str,
    pub(super) system: &'a str,
    /// The range of the whole declaration, in bytes of the DOCTYPE.
    pub(super) place: Range<usize>,
}

impl DoctypeParts<'_> {
    /// Reports whether a reference to this entity is well-formed (XML 1.0, 4.1, Entity Declared).
    /// Any is if a part of the declarations is elsewhere.
    pub(super) fn may_declare(&self, entity: &str) -> bool {
        self.system.is_some() || self.refers || self.entities.contains(entity)
    }
}

/// Checks a DOCTYPE; `raw` is the whole declaration, from `<!DOCTYPE` to `>`.
pub(super) fn check(raw: &str, at: usize) -> Result<(), XmlError> {
    parse(raw, at).map(drop)
}

/// Parses a DOCTYPE; `raw` is as for [`check`].
pub(super) fn parse(raw: &str, at: usize) -> Result<DoctypeParts<'_>, XmlError> {
    let mut cursor = MarkupCursor::new(raw, at);
    let mut found = DoctypeParts::default();
    if !cursor.eat("<!DOCTYPE") {
        return Err(cursor.expected("\"<!DOCTYPE\" in capitals"));
    }
    cursor.space_before("the name of the document type")?;
    cursor.name("a document type")?;
    found.external = cursor.at() - at..cursor.at() - at;
    let spaced = cursor.skip_space();
    let public = cursor.rest().starts_with("PUBLIC");
    if spaced && (public || cursor.rest().starts_with("SYSTEM")) {
        let begun = cursor.at() - at;
        cursor.eat(if public { "PUBLIC" } else { "SYSTEM" });
        if public {
            cursor.space_before("a public identifier")?;
            check_public_identifier(&mut cursor)?;
        }
        cursor.space_before("a system identifier")?;
        let (_, system) = cursor.literal("a system identifier")?;
        found.system = Some(system);
        found.external = begun..cursor.at() - at;
        cursor.skip_space();
    }
    if cursor.eat("[") {
        let begun = cursor.at() - at;
        internal_subset(&mut cursor, at, &mut found)?;
        found.subset = Some(begun..cursor.at() - at - 1);
        cursor.skip_space();
    }
    if !cursor.eat(">") || !cursor.rest().is_empty() {
        return Err(cursor.expected("the end of the DOCTYPE"));
    }
    Ok(found)
}

fn check_public_identifier(cursor: &mut MarkupCursor<'_>) -> Result<(), XmlError> {
    let (at, text) = cursor.literal("a public identifier")?;
    let legal = |c: char| c.is_ascii_alphanumeric() || " \r\n-'()+,./:=?;!*#@$_%".contains(c);
    match text.char_indices().find(|&(_, c)| !legal(c)) {
        None => Ok(()),
        Some((i, c)) => {
            let fault = format!("{} stands in a public identifier", quoted(c.encode_utf8(&mut [0; 4])));
            Err(XmlError::syntax(at + i, fault))
        }
    }
}

/// Passes the subset and the closing `]`. The DOCTYPE begins at `begun`.
fn internal_subset<'a>(
    cursor: &mut MarkupCursor<'a>,
    begun: usize,
    found: &mut DoctypeParts<'a>,
) -> Result<(), XmlError> {
    loop {
        cursor.skip_space();
        if cursor.eat("]") {
            return Ok(());
        }
        let (at, from) = (cursor.at(), cursor.rest());
        if cursor.eat("%") {
            cursor.name("a parameter entity")?;
            found.refers = true;
            if !cursor.eat(";") {
                return Err(cursor.expected("\";\" after a reference"));
            }
        } else if cursor.eat("<!--") {
            cursor
                .through("--")
                .filter(|_| cursor.eat(">"))
                .ok_or_else(|| XmlError::syntax(at, "a comment in the DOCTYPE does not end with \"-->\""))?;
        } else if cursor.eat("<?") {
            let body =
                cursor.through("?>").ok_or_else(|| XmlError::syntax(at, "an instruction does not end with \"?>\""))?;
            tag::instruction(&from[..body.len() + 4], at)?;
        } else if ["<!ELEMENT", "<!ATTLIST", "<!ENTITY", "<!NOTATION"].iter().any(|keyword| cursor.eat(keyword)) {
            cursor.space_before("a declared name")?;
            if from.starts_with("<!ENTITY") {
                let name = cursor.rest().split(SPACE).next().filter(|name| is_name(name));
                found.entities.extend(name);
            }
            found.refers_within |= markup_declaration(cursor)?;
            if from.starts_with("<!ENTITY")
                && let Some((name, system)) = external_entity(&from[..cursor.at() - at])
            {
                found.externals.push(ExternalEntity { name, system, place: at - begun..cursor.at() - begun });
            }
        } else {
            return Err(cursor.expected("a declaration or the end of the DOCTYPE"));
        }
    }
}

/// Name and system identifier of an entity whose text is in a file; `None` for any other entity.
fn external_entity(declaration: &str) -> Option<(&str, &str)> {
    let mut cursor = MarkupCursor::new(declaration, 0);
    cursor.eat("<!ENTITY");
    cursor.skip_space();
    let name = cursor.name("an entity").ok()?;
    cursor.skip_space();
    if cursor.eat("PUBLIC") {
        cursor.skip_space();
        cursor.literal("a public identifier").ok()?;
    } else if !cursor.eat("SYSTEM") {
        return None;
    }
    cursor.skip_space();
    let (_, system) = cursor.literal("a system identifier").ok()?;
    cursor.skip_space();
    // Otherwise a notation follows, so the entity is not text.
    cursor.eat(">").then_some((name, system))
}

/// Passes a declaration's body and the closing `>`; a `>` in quotes does not close it. Returns
/// whether the declaration refers to a parameter entity.
fn markup_declaration(cursor: &mut MarkupCursor<'_>) -> Result<bool, XmlError> {
    let mut refers = false;
    loop {
        refers |= has_parameter_reference(cursor.before(&['"', '\'', '<', '>']));
        if cursor.eat(">") {
            return Ok(refers);
        }
        if cursor.rest().starts_with('<') {
            return Err(cursor.expected("the end of a declaration"));
        }
        let (_, text) = cursor.literal("a text of a declaration")?;
        refers |= has_parameter_reference(text);
    }
}

fn has_parameter_reference(text: &str) -> bool {
    text.split('%').skip(1).any(|after| after.split_once(';').is_some_and(|(name, _)| is_name(name)))
}
