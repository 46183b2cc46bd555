//! The declarations of a DTD (XML 1.0, 3.2 and 3.3): elements with their possible children, and
//! attributes with their defaults. A DTD is read alone, as a file. Files that it refers to are not
//! read, and no document is validated against it.
//!
//! Parameter entities with a text of their own are expanded, within limits that no chain of them
//! can exceed. A reference to one that is a file is refused. Conditional sections are read or
//! skipped as their keyword demands.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::Limits;
use super::chars::{SPACE, is_char, is_name, resolve_reference};
use super::cursor::MarkupCursor;
use super::error::{XmlError, XmlErrorKind, quoted};

/// The deepest nesting of parameter entities.
const MOST_ENTITIES_DEEP: usize = 16;

/// Most expansions of parameter entities.
const MOST_PUT_IN: usize = 10_000;

/// The declarations of a DTD.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Declarations {
    /// The elements, in the order of the DTD.
    pub elements: Vec<DeclaredElement>,
}

/// An element type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredElement {
    /// The name of the element.
    pub name: String,
    /// The elements that may be its children, in the order of the declaration, each once.
    pub children: Vec<(String, Occurs)>,
    /// The attributes, in the order of the DTD.
    pub attributes: Vec<DeclaredAttribute>,
    /// The offset of the declaration, in bytes.
    pub at: usize,
}

/// An attribute of an element type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredAttribute {
    /// The name of the attribute.
    pub name: String,
    /// The values that it may have, if they are listed.
    pub values: Vec<String>,
    /// The value where none is given.
    pub default: Option<String>,
    /// The offset of the declaration, in bytes.
    pub at: usize,
}

/// The possible number of a child in an element, whatever its siblings are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Occurs {
    /// Exactly once.
    Once,
    /// Once or not at all.
    AtMostOnce,
    /// Any number of times.
    Any,
    /// At least once.
    AtLeastOnce,
}

impl Occurs {
    /// Returns the mark that DTDs use: nothing, `?`, `*` or `+`.
    pub fn mark(self) -> &'static str {
        match self {
            Occurs::Once => "",
            Occurs::AtMostOnce => "?",
            Occurs::Any => "*",
            Occurs::AtLeastOnce => "+",
        }
    }
}

/// Reads a DTD.
///
/// # Errors
/// If the text is not a DTD within `limits`, declares an element twice, or refers to a parameter
/// entity that is undeclared or a file.
pub fn declarations(dtd: &str, limits: &Limits) -> Result<Declarations, XmlError> {
    if dtd.len() > limits.max_bytes {
        let fault = format!("the DTD of {} bytes exceeds the limit of {}", dtd.len(), limits.max_bytes);
        return Err(XmlError::at_byte(XmlErrorKind::TooLarge, limits.max_bytes, fault));
    }
    if let Some((at, c)) = dtd.char_indices().find(|&(_, c)| !is_char(c)) {
        let fault = format!("XML 1.0 cannot carry the character U+{:04X}", u32::from(c));
        return Err(XmlError::at_byte(XmlErrorKind::BadCharacter, at, fault));
    }
    let mut reading = DtdReader {
        limits,
        entities: HashMap::new(),
        put_in: 0,
        bytes: 0,
        places: HashMap::new(),
        attributes: BTreeMap::new(),
        elements: Vec::new(),
    };
    reading.all(dtd)?;
    for element in &mut reading.elements {
        element.attributes = reading.attributes.remove(&element.name).unwrap_or_default();
    }
    Ok(Declarations { elements: reading.elements })
}

/// A parameter entity.
#[derive(Clone)]
enum Entity {
    /// An entity with a text of its own.
    Text(String),
    /// An entity whose text is in a file.
    File,
}

struct DtdReader<'l> {
    limits: &'l Limits,
    entities: HashMap<String, Entity>,
    /// The number of expansions so far.
    put_in: usize,
    /// Bytes of the expansions so far.
    bytes: usize,
    /// The index in `elements` by name.
    places: HashMap<String, usize>,
    /// The attributes by element, which may be declared later.
    attributes: BTreeMap<String, Vec<DeclaredAttribute>>,
    elements: Vec<DeclaredElement>,
}

/// A text that is being read: the DTD or an entity.
struct DtdSource {
    text: String,
    from: usize,
    /// The byte of the DTD that the whole text stands for; `None` for the DTD itself.
    stands_at: Option<usize>,
    /// The number of open conditional sections that are read.
    sections: usize,
}

impl DtdReader<'_> {
    fn all(&mut self, dtd: &str) -> Result<(), XmlError> {
        let begin = dtd.len() - dtd.trim_start_matches('\u{FEFF}').len();
        let mut from = begin;
        if dtd[from..].strip_prefix("<?xml").is_some_and(|rest| rest.starts_with(SPACE)) {
            let end =
                dtd[from..].find("?>").ok_or_else(|| XmlError::syntax(from, "the text declaration has no end"))?;
            from += end + 2;
        }
        let mut open = vec![DtdSource { text: dtd.to_owned(), from, stands_at: None, sections: 0 }];
        while let Some(mut source) = open.pop() {
            let at = source.stands_at.unwrap_or(source.from);
            let entered = self.next(&mut source, at)?;
            match entered {
                DtdConstruct::Declared => open.push(source),
                DtdConstruct::Over if source.sections > 0 => {
                    return Err(XmlError::syntax(at, "a conditional section has no end"));
                }
                DtdConstruct::Over => {}
                DtdConstruct::PutIn(text) => {
                    open.push(source);
                    if open.len() > MOST_ENTITIES_DEEP {
                        let fault = format!("parameter entities are nested more than {MOST_ENTITIES_DEEP} levels deep");
                        return Err(XmlError::at_byte(XmlErrorKind::TooDeep, at, fault));
                    }
                    open.push(DtdSource { text, from: 0, stands_at: Some(at), sections: 0 });
                }
            }
        }
        Ok(())
    }

    /// Reads the next construct of a source.
    fn next(&mut self, source: &mut DtdSource, at: usize) -> Result<DtdConstruct, XmlError> {
        let whole = std::mem::take(&mut source.text);
        let mut cursor = MarkupCursor::new(&whole[source.from..], source.stands_at.unwrap_or(source.from));
        cursor.skip_space();
        let begun = whole.len() - cursor.rest().len();
        let at = source.stands_at.map_or(begun, |_| at);
        let step = self.step(&mut cursor, at, &mut source.sections);
        source.from = whole.len() - cursor.rest().len();
        source.text = whole;
        step
    }

    fn step(
        &mut self,
        cursor: &mut MarkupCursor<'_>,
        at: usize,
        sections: &mut usize,
    ) -> Result<DtdConstruct, XmlError> {
        if cursor.rest().is_empty() {
            return Ok(DtdConstruct::Over);
        }
        if cursor.eat("<!--") {
            cursor
                .through("--")
                .filter(|_| cursor.eat(">"))
                .ok_or_else(|| XmlError::syntax(at, "a comment does not end with \"-->\""))?;
            return Ok(DtdConstruct::Declared);
        }
        if cursor.eat("<?") {
            cursor.through("?>").ok_or_else(|| XmlError::syntax(at, "an instruction does not end with \"?>\""))?;
            return Ok(DtdConstruct::Declared);
        }
        if cursor.eat("%") {
            let text = self.entity(cursor, at)?;
            return Ok(DtdConstruct::PutIn(text));
        }
        if cursor.eat("]]>") {
            *sections = sections
                .checked_sub(1)
                .ok_or_else(|| XmlError::syntax(at, "a conditional section ends without a beginning"))?;
            return Ok(DtdConstruct::Declared);
        }
        if cursor.eat("<![") {
            self.section(cursor, at, sections)?;
            return Ok(DtdConstruct::Declared);
        }
        let keyword = ["<!ELEMENT", "<!ATTLIST", "<!ENTITY", "<!NOTATION"].into_iter().find(|word| cursor.eat(word));
        let keyword = keyword.ok_or_else(|| cursor.expected("a declaration"))?;
        let body = declaration(cursor, at)?;
        match keyword {
            "<!ELEMENT" => {
                let body = self.expanded(body, at)?;
                self.element(&body, at)?;
            }
            "<!ATTLIST" => {
                let body = self.expanded(body, at)?;
                self.attlist(&body, at)?;
            }
            "<!ENTITY" => self.declare(body, at)?,
            _ => {}
        }
        Ok(DtdConstruct::Declared)
    }

    /// Returns the text of the parameter entity whose name and `;` are next.
    fn entity(&mut self, cursor: &mut MarkupCursor<'_>, at: usize) -> Result<String, XmlError> {
        let name = cursor.name("a parameter entity")?;
        if !cursor.eat(";") {
            return Err(cursor.expected("\";\" after a reference"));
        }
        let text = match self.entities.get(name) {
            Some(Entity::Text(text)) => text.clone(),
            Some(Entity::File) => {
                let fault =
                    format!("the parameter entity {} refers to another file, which is never read", quoted(name));
                return Err(XmlError::at_byte(XmlErrorKind::UnknownEntity, at, fault));
            }
            None => {
                let fault = format!("there is no parameter entity {}", quoted(name));
                return Err(XmlError::at_byte(XmlErrorKind::UnknownEntity, at, fault));
            }
        };
        self.put_in += 1;
        self.bytes += text.len();
        if self.put_in > MOST_PUT_IN || self.bytes > self.limits.max_bytes {
            let most = self.limits.max_bytes;
            let fault =
                format!("parameter entities are expanded more than {MOST_PUT_IN} times, or to more than {most} bytes");
            return Err(XmlError::at_byte(XmlErrorKind::TooLarge, at, fault));
        }
        Ok(text)
    }

    /// Returns a declaration with the references to parameter entities replaced by their texts,
    /// with a space on either side (XML 1.0, 4.4.8). Quoted text has no such references.
    fn expanded(&mut self, body: &str, at: usize) -> Result<String, XmlError> {
        let mut text = body.to_owned();
        for _ in 0..MOST_ENTITIES_DEEP {
            let (mut out, mut cursor, mut found) = (String::new(), MarkupCursor::new(&text, at), false);
            loop {
                out.push_str(cursor.before(&['%', '"', '\'']));
                if cursor.rest().is_empty() {
                    break;
                }
                if cursor.eat("%") {
                    found = true;
                    let put_in = self.entity(&mut cursor, at)?;
                    out.extend([" ", &put_in, " "]);
                } else {
                    let quote = if cursor.rest().starts_with('"') { '"' } else { '\'' };
                    let (_, literal) = cursor.literal("a text of a declaration")?;
                    out.push(quote);
                    out.push_str(literal);
                    out.push(quote);
                }
            }
            if !found {
                return Ok(out);
            }
            text = out;
        }
        let fault = format!("parameter entities are nested more than {MOST_ENTITIES_DEEP} levels deep");
        Err(XmlError::at_byte(XmlErrorKind::TooDeep, at, fault))
    }

    /// Begins a conditional section (XML 1.0, 3.4), or skips it entirely.
    fn section(&mut self, cursor: &mut MarkupCursor<'_>, at: usize, sections: &mut usize) -> Result<(), XmlError> {
        let head = cursor.through("[").ok_or_else(|| XmlError::syntax(at, "a conditional section has no \"[\""))?;
        let head = self.expanded(head, at)?;
        match head.trim_matches(SPACE) {
            "INCLUDE" => {
                *sections += 1;
                Ok(())
            }
            "IGNORE" => {
                let mut depth = 1;
                while depth > 0 {
                    // Each byte is examined once, however many sections begin.
                    cursor.before(&['<', ']']);
                    if cursor.eat("<![") {
                        depth += 1;
                    } else if cursor.eat("]]>") {
                        depth -= 1;
                    } else if !cursor.eat("<") && !cursor.eat("]") {
                        return Err(XmlError::syntax(at, "a conditional section has no end"));
                    }
                }
                Ok(())
            }
            other => {
                let fault = format!("a conditional section is {} where INCLUDE or IGNORE is expected", quoted(other));
                Err(XmlError::syntax(at, fault))
            }
        }
    }

    /// Notes a parameter entity; the first declaration of a name counts. General entities have
    /// effect in documents only.
    fn declare(&mut self, body: &str, at: usize) -> Result<(), XmlError> {
        let mut cursor = MarkupCursor::new(body, at);
        cursor.space_before("a declared name")?;
        if !cursor.eat("%") {
            return Ok(());
        }
        cursor.space_before("the name of a parameter entity")?;
        let name = cursor.name("a parameter entity")?.to_owned();
        cursor.space_before("the text of a parameter entity")?;
        let entity = if cursor.rest().starts_with(['"', '\'']) {
            let (_, literal) = cursor.literal("the text of a parameter entity")?;
            // References in it are expanded when it is declared (XML 1.0, 4.5).
            Entity::Text(self.value(literal, at)?)
        } else {
            Entity::File
        };
        self.entities.entry(name).or_insert(entity);
        Ok(())
    }

    /// Returns the text of an entity, with parameter entities expanded and character references
    /// resolved.
    fn value(&mut self, literal: &str, at: usize) -> Result<String, XmlError> {
        let (mut out, mut cursor) = (String::new(), MarkupCursor::new(literal, at));
        loop {
            out.push_str(cursor.before(&['%', '&']));
            if cursor.eat("%") {
                let text = self.entity(&mut cursor, at)?;
                out.push_str(&text);
            } else if cursor.eat("&#") {
                let body = cursor.through(";").ok_or_else(|| XmlError::syntax(at, "a reference has no \";\""))?;
                out.push(resolve_reference(&format!("#{body}"), at)?);
            } else if cursor.eat("&") {
                out.push('&');
            } else {
                return Ok(out);
            }
        }
    }

    fn element(&mut self, body: &str, at: usize) -> Result<(), XmlError> {
        let mut cursor = MarkupCursor::new(body, at);
        cursor.space_before("the name of an element")?;
        let name = name(&mut cursor, "an element")?;
        cursor.space_before("what may stand in an element")?;
        let children =
            if cursor.eat("EMPTY") || cursor.eat("ANY") { Vec::new() } else { self.content(&mut cursor, at)? };
        cursor.skip_space();
        if !cursor.rest().is_empty() {
            return Err(cursor.expected("the end of a declaration"));
        }
        if self.places.insert(name.clone(), self.elements.len()).is_some() {
            return Err(XmlError::syntax(at, format!("the element {} is declared a second time", quoted(&name))));
        }
        self.elements.push(DeclaredElement { name, children, attributes: Vec::new(), at });
        Ok(())
    }

    /// Returns how often each child may occur by a content model, whatever its siblings are.
    fn content(&self, cursor: &mut MarkupCursor<'_>, at: usize) -> Result<Vec<(String, Occurs)>, XmlError> {
        let mut open: Vec<ModelGroup> = Vec::new();
        let (mut order, mut seen) = (Vec::<String>::new(), HashSet::<String>::new());
        loop {
            cursor.skip_space();
            if cursor.eat("(") {
                if open.len() >= self.limits.depth() {
                    let fault = format!("a content model has groups below the limit of {} levels", self.limits.depth());
                    return Err(XmlError::at_byte(XmlErrorKind::TooDeep, at, fault));
                }
                open.push(ModelGroup::default());
                continue;
            }
            let mut counts = if cursor.eat("#PCDATA") {
                ChildCounts::new()
            } else {
                let name = name(cursor, "an element")?;
                if seen.insert(name.clone()) {
                    order.push(name.clone());
                }
                ChildCounts::from([(name, (1, 1))])
            };
            counts = apply_repetition(counts, cursor);
            // A member has been read; groups that end after it are members of the groups around
            // them.
            loop {
                let Some(group) = open.last_mut() else {
                    return Err(XmlError::syntax(at, "a content model is not a group in brackets"));
                };
                group.members.push(counts);
                cursor.skip_space();
                let separator = [',', '|'].into_iter().find(|sign| cursor.eat(sign.encode_utf8(&mut [0; 4])));
                if let Some(separator) = separator {
                    if *group.separator.get_or_insert(separator) != separator {
                        return Err(XmlError::syntax(at, "a content model has both \",\" and \"|\" in one group"));
                    }
                    break;
                }
                if !cursor.eat(")") {
                    return Err(cursor.expected("\",\", \"|\" or \")\" in a content model"));
                }
                // The loop has seen that it exists.
                let group = open.pop().unwrap_or_default();
                counts = apply_repetition(group.counts(), cursor);
                if open.is_empty() {
                    let occurs = |name: String| {
                        let occurs = counts.get(&name).map_or(Occurs::Any, |count| occurs(*count));
                        (name, occurs)
                    };
                    return Ok(order.into_iter().map(occurs).collect());
                }
            }
        }
    }

    fn attlist(&mut self, body: &str, at: usize) -> Result<(), XmlError> {
        let mut cursor = MarkupCursor::new(body, at);
        cursor.space_before("the name of an element")?;
        let element = name(&mut cursor, "an element")?;
        let known = self.attributes.entry(element).or_default();
        loop {
            let spaced = cursor.skip_space();
            if cursor.rest().is_empty() {
                return Ok(());
            }
            if !spaced {
                return Err(cursor.expected("white space before an attribute"));
            }
            if known.len() >= self.limits.max_attributes {
                let fault = format!("an element has more than {} attributes", self.limits.max_attributes);
                return Err(XmlError::at_byte(XmlErrorKind::TooLarge, at, fault));
            }
            let name = name(&mut cursor, "an attribute")?;
            cursor.space_before("the type of an attribute")?;
            let values = attribute_type(&mut cursor)?;
            cursor.space_before("the default of an attribute")?;
            let default = if cursor.eat("#REQUIRED") || cursor.eat("#IMPLIED") {
                None
            } else {
                if cursor.eat("#FIXED") {
                    cursor.space_before("the value of an attribute")?;
                }
                let (at, literal) = cursor.literal("the value of an attribute")?;
                Some(attribute_value(literal, at)?)
            };
            // The first declaration of an attribute counts (XML 1.0, 3.3).
            if !known.iter().any(|attribute| attribute.name == name) {
                known.push(DeclaredAttribute { name, values, default, at });
            }
        }
    }
}

enum DtdConstruct {
    /// A declaration, or something without effect.
    Declared,
    /// The end of the source.
    Over,
    /// A parameter entity with this text.
    PutIn(String),
}

/// The least and the greatest number of each child in a part of a content model; 2 stands for any
/// number.
type ChildCounts = BTreeMap<String, (u8, u8)>;

/// A group that has not ended.
#[derive(Default)]
struct ModelGroup {
    separator: Option<char>,
    members: Vec<ChildCounts>,
}

impl ModelGroup {
    fn counts(self) -> ChildCounts {
        let (members, is_choice) = (self.members.len(), self.separator == Some('|'));
        let mut all: BTreeMap<String, (u8, u8, usize)> = BTreeMap::new();
        for (name, (least, most)) in self.members.into_iter().flatten() {
            let count = all.entry(name).or_insert((if is_choice { 2 } else { 0 }, 0, 0));
            *count = match is_choice {
                true => (count.0.min(least), count.1.max(most), count.2 + 1),
                false => ((count.0 + least).min(2), (count.1 + most).min(2), count.2 + 1),
            };
        }
        let of = |(name, (least, most, of))| {
            // A child that is missing in one of the choices is optional.
            (name, (if is_choice && of < members { 0 } else { least }, most))
        };
        all.into_iter().map(of).collect()
    }
}

/// Applies the repetition mark that is next, if there is one.
fn apply_repetition(mut counts: ChildCounts, cursor: &mut MarkupCursor<'_>) -> ChildCounts {
    let (least, many) = if cursor.eat("?") {
        (true, false)
    } else if cursor.eat("*") {
        (true, true)
    } else if cursor.eat("+") {
        (false, true)
    } else {
        return counts;
    };
    for count in counts.values_mut() {
        if least {
            count.0 = 0;
        }
        if many {
            count.1 = 2;
        }
    }
    counts
}

fn occurs((least, most): (u8, u8)) -> Occurs {
    match (least, most) {
        (0, 0 | 1) => Occurs::AtMostOnce,
        (0, _) => Occurs::Any,
        (1, 1) => Occurs::Once,
        _ => Occurs::AtLeastOnce,
    }
}

/// Passes a name within a declaration, where other characters end it than in a document.
fn name(cursor: &mut MarkupCursor<'_>, what: &str) -> Result<String, XmlError> {
    const ENDS: [char; 14] = [' ', '\t', '\n', '\r', '(', ')', ',', '|', '?', '*', '+', '>', '"', '\''];
    let at = cursor.at();
    let found = cursor.before(&ENDS);
    if found.is_empty() {
        return Err(cursor.expected(what));
    }
    if is_name(found) {
        return Ok(found.to_owned());
    }
    let fault = format!("{} is no legal XML name for {what}", quoted(found));
    Err(XmlError::at_byte(XmlErrorKind::BadName, at, fault))
}

/// Passes the body of a declaration and the closing `>`; a `>` in quotes does not close it.
fn declaration<'a>(cursor: &mut MarkupCursor<'a>, at: usize) -> Result<&'a str, XmlError> {
    let from = cursor.rest();
    loop {
        cursor.before(&['>', '"', '\'']);
        let len = from.len() - cursor.rest().len();
        if cursor.eat(">") {
            return Ok(&from[..len]);
        }
        if cursor.rest().is_empty() {
            return Err(XmlError::syntax(at, "a declaration has no end"));
        }
        cursor.literal("a text of a declaration")?;
    }
}

/// Passes the type of an attribute; returns the values that it lists.
fn attribute_type(cursor: &mut MarkupCursor<'_>) -> Result<Vec<String>, XmlError> {
    const TYPES: [&str; 8] = ["CDATA", "IDREFS", "IDREF", "ID", "ENTITIES", "ENTITY", "NMTOKENS", "NMTOKEN"];
    if TYPES.into_iter().any(|word| cursor.eat(word)) {
        return Ok(Vec::new());
    }
    if cursor.eat("NOTATION") {
        cursor.space_before("the notations of an attribute")?;
    }
    if !cursor.eat("(") {
        return Err(cursor.expected("the type of an attribute"));
    }
    let mut values = Vec::new();
    loop {
        cursor.skip_space();
        let value = cursor.before(&[' ', '\t', '\n', '\r', ')', '|', '(', '"', '\'']);
        if value.is_empty() {
            return Err(cursor.expected("a value of an attribute"));
        }
        values.push(value.to_owned());
        cursor.skip_space();
        if cursor.eat(")") {
            return Ok(values);
        }
        if !cursor.eat("|") {
            return Err(cursor.expected("\"|\" or \")\" among the values of an attribute"));
        }
    }
}

/// Returns the value of an attribute with its references resolved.
fn attribute_value(literal: &str, at: usize) -> Result<String, XmlError> {
    let (mut out, mut rest) = (String::new(), literal);
    while let Some((before, behind)) = rest.split_once('&') {
        let (body, after) = behind.split_once(';').ok_or_else(|| XmlError::syntax(at, "a reference has no \";\""))?;
        out.push_str(before);
        out.push(resolve_reference(body, at)?);
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(dtd: &str) -> Declarations {
        declarations(dtd, &Limits::default()).unwrap_or_else(|error| panic!("{dtd}: {error}"))
    }

    fn fault(dtd: &str) -> String {
        let limits = Limits { max_bytes: 1 << 20, max_attributes: 3, ..Limits::default() };
        declarations(dtd, &limits).expect_err(dtd).to_string()
    }

    #[test]
    fn ignored_dtd_sections_are_skipped_in_one_pass_however_nested() {
        // A search for the end from each beginning would take hours.
        const MANY: usize = 80_000;
        let nested = format!("<![IGNORE[{}{}]]><!ELEMENT a EMPTY>", "<![".repeat(MANY), "]]>".repeat(MANY));
        assert_eq!(read(&nested).elements.len(), 1);
        let many = 300_000;
        assert!(fault(&format!("<![IGNORE[{}", "<![".repeat(many))).contains("no end"));
        assert!(fault(&format!("<![IGNORE[{}", "<]".repeat(many))).contains("no end"));
        assert_eq!(read("<![IGNORE[ a < b ] ]] > <!ELEMENT b ANY> ]]><!ELEMENT a EMPTY>").elements.len(), 1);
    }

    /// The children of the first element, each with its mark.
    fn children(dtd: &str) -> String {
        let children = &read(dtd).elements[0].children;
        children.iter().map(|(name, occurs)| format!("{name}{}", occurs.mark())).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn how_often_a_child_may_stand_follows_from_all_of_the_content_model() {
        for (model, wanted) in [
            ("EMPTY", ""),
            ("ANY", ""),
            ("(#PCDATA)", ""),
            ("(#PCDATA)*", ""),
            ("(#PCDATA | a | b)*", "a* b*"),
            ("(a)", "a"),
            ("( a , b?, c* ,d+ )", "a b? c* d+"),
            ("(a | b)", "a? b?"),
            ("(a | b)+", "a* b*"),
            ("(a, b)?", "a? b?"),
            ("(a, b)*", "a* b*"),
            ("(a, b)+", "a+ b+"),
            ("(a, b, a)", "a+ b"),
            ("(a?, b, a?)", "a* b"),
            ("((a, b) | (a, c))", "a b? c?"),
            ("((a, b) | (a+, c))", "a+ b? c?"),
            ("(a, (b | (c, d?)*), e+)", "a b? c* d* e+"),
            ("((((a))))", "a"),
            ("((a | b), (a | c))", "a* b? c?"),
            ("((a?)+)", "a*"),
        ] {
            assert_eq!(children(&format!("<!ELEMENT x {model}>")), wanted, "{model}");
        }
    }

    #[test]
    fn attributes_have_values_and_defaults() {
        let read = read(
            "<?xml version='1.0'?><!-- > --><!ATTLIST b c CDATA #IMPLIED d (one|two) 'two'\n e NMTOKEN #FIXED \"x &amp; &#233;\">
             <!ELEMENT a (b)><!ELEMENT b EMPTY><!ATTLIST b f ID #REQUIRED c CDATA 'late'><!ENTITY g 'general &h;'><!NOTATION n SYSTEM 'n'>
             <?do <!ELEMENT ?>",
        );
        let names: Vec<&str> = read.elements.iter().map(|element| &*element.name).collect();
        assert_eq!(names, ["a", "b"]);
        let shown: Vec<String> = read.elements[1]
            .attributes
            .iter()
            .map(|one| format!("{} {} {:?}", one.name, one.values.join("|"), one.default.as_deref()))
            .collect();
        assert_eq!(shown, ["c  None", "d one|two Some(\"two\")", "e  Some(\"x & é\")", "f  None"]);
    }

    #[test]
    fn parameter_entities_are_put_in_and_sections_are_read_or_not() {
        assert_eq!(
            children("<!ENTITY % inner 'b | c'><!ENTITY % model '(a, (%inner;)*)'><!ELEMENT x %model;>"),
            "a b* c*"
        );
        assert_eq!(children("<!ENTITY % all '<!ELEMENT x (a)><!ELEMENT y (x)>'>%all;<!ELEMENT z (y)>"), "a");
        assert_eq!(children("<!ENTITY % m '&#40;a)'><!ENTITY % m '(b)'><!ELEMENT x %m;>"), "a", "the first counts");
        let sections = "<!ENTITY % on 'INCLUDE'><!ENTITY % off 'IGNORE'><![%off;[<!ELEMENT x (no)><![INCLUDE[ ]]>]]>\
                        <![ %on; [<!ELEMENT x (a)><![IGNORE[<!ELEMENT x (no)>]]>]]>";
        assert_eq!(children(sections), "a");
        // In quotes, `%` is plain text.
        let attribute = &read("<!ELEMENT x EMPTY><!ATTLIST x y CDATA '50%of;'>").elements[0].attributes[0];
        assert_eq!(attribute.default.as_deref(), Some("50%of;"));
    }

    #[test]
    fn what_is_no_dtd_is_refused_at_its_place() {
        for (dtd, part) in [
            ("<!ELEMENT a (b, c | d)>", "both"),
            ("<!ELEMENT a (b ?)>", "content model"),
            ("<!ELEMENT a b>", "not a group"),
            ("<!ELEMENT a (b>", "content model"),
            ("<!ELEMENT a (b))>", "end of a declaration"),
            ("<!ELEMENT a ()>", "an element"),
            ("<!ELEMENT a (b)><!ELEMENT a (c)>", "second time"),
            ("<!ELEMENT 1a (b)>", "no legal XML name"),
            ("<!ELEMENT a (b", "no end"),
            ("<!ATTLIST a b>", "white space"),
            ("<!ATTLIST a b TEXT 'c'>", "type of an attribute"),
            ("<!ATTLIST a b (c) >", "value of an attribute"),
            ("<!ATTLIST a b CDATA '&e;'>", "not known"),
            ("<!ATTLIST a b CDATA '' c CDATA '' d CDATA '' e CDATA ''>", "more than 3 attributes"),
            ("<a/>", "a declaration"),
            ("%none;", "no parameter entity"),
            ("<!ENTITY % file SYSTEM 'file:///etc/passwd'>%file;", "which is never read"),
            ("<![INCLUDE[<!ELEMENT a EMPTY>", "no end"),
            ("<![IGNORE[<![ ]]>", "no end"),
            ("<![MAYBE[]]>", "INCLUDE or IGNORE"),
            ("]]>", "without a beginning"),
            ("<!-- a -- b -->", "-->"),
            ("<!ELEMENT a (b)>\u{1}", "U+0001"),
        ] {
            let fault = fault(dtd);
            assert!(fault.contains(part), "{dtd}: {fault}");
        }
        assert!(fault("<!ELEMENT a (b)>\n<!ELEMENT c d>").starts_with("At byte 17 "));
    }

    #[test]
    fn hostile_dtds_end_at_the_bounds() {
        let nested = |levels: usize| format!("<!ELEMENT a {}b{}>", "(".repeat(levels), ")".repeat(levels));
        assert_eq!(children(&nested(64)), "b");
        assert!(fault(&nested(65)).contains("64 levels"));
        let itself = "<!ENTITY % a '&#37;a;'>%a;";
        assert!(fault(itself).contains("levels deep"));
        let within = "<!ENTITY % a '&#37;a;'><!ELEMENT x (%a;)>";
        assert!(fault(within).contains("levels deep"));
        let mut laughs = "<!ENTITY % l0 'ha'>".to_owned();
        for level in 1..12 {
            laughs += &format!("<!ENTITY % l{level} '{}'>", format!("&#37;l{};", level - 1).repeat(10));
        }
        let bomb = format!("{laughs}<!ELEMENT x (%l11;)>");
        assert!(fault(&bomb).contains("expanded more than"), "{}", fault(&bomb));
        let at_once = format!("<!ENTITY % a '{}'>{}", " ".repeat(100_000), "%a;".repeat(20));
        assert!(fault(&at_once).contains("expanded more than"));
        // A long model and a long list are no problem.
        let many: Vec<String> = (0..20_000).map(|n| format!("e{n}")).collect();
        assert_eq!(read(&format!("<!ELEMENT a ({})>", many.join("|"))).elements[0].children.len(), 20_000);
        assert_eq!(
            read(&format!("<!ELEMENT a EMPTY><!ATTLIST a b ({}) 'e1'>", many.join("|"))).elements[0].attributes[0]
                .values
                .len(),
            20_000
        );
    }
}
