//! A document as a sequence of tokens, checked for everything that XML 1.0 demands of a well-formed
//! document.
//!
//! `quick_xml` finds the beginning and end of markup. The inside is checked here, since `quick_xml`
//! accepts much that the grammar does not.

use std::borrow::Cow;
use std::ops::Range;

use quick_xml::Reader;
use quick_xml::events::Event;

use super::Limits;
use super::chars::{SPACE, is_char, is_space, normalize_line_ends, resolve_reference};
use super::doctype;
use super::error::{XmlError, XmlErrorKind, quoted};
use super::tag;
use super::token::{TokenText, XmlToken};

/// Reads tokens; the first error ends the document.
pub(super) struct Scanner<'a> {
    source: &'a str,
    /// The bytes before `source`: those of a byte order mark, or none.
    base: usize,
    reader: Reader<&'a [u8]>,
    max_depth: usize,
    max_nodes: usize,
    /// Elements and attributes so far.
    nodes: usize,
    max_attributes: usize,
    max_namespaces: usize,
    /// Declarations of namespaces so far.
    namespaces: usize,
    /// The open elements and the offsets of their start tags.
    open: Vec<(&'a str, usize)>,
    /// The element just opened had the form `<a/>`.
    close_next: bool,
    /// The place of the last token.
    span: Range<usize>,
    root: Option<&'a str>,
    has_doctype: bool,
}

impl<'a> Scanner<'a> {
    /// Creates a scanner and checks size and characters, which need no parsing.
    pub(super) fn new(xml: &'a str, limits: &Limits) -> Result<Self, XmlError> {
        if xml.len() > limits.max_bytes {
            let fault = format!("the text of {} bytes exceeds the limit of {}", xml.len(), limits.max_bytes);
            let kind = XmlErrorKind::TooLarge;
            return Err(XmlError::at_byte(kind, limits.max_bytes, fault));
        }
        if let Some((at, c)) = xml.char_indices().find(|&(_, c)| !is_char(c)) {
            let fault = format!("XML 1.0 cannot carry the character U+{:04X}", u32::from(c));
            return Err(XmlError::at_byte(XmlErrorKind::BadCharacter, at, fault));
        }
        let source = xml.strip_prefix('\u{FEFF}').unwrap_or(xml);
        let base = xml.len() - source.len();
        if source.starts_with('\u{FEFF}') {
            // The reader would skip it without counting its bytes.
            let fault = "a second byte order mark stands before the root element";
            return Err(XmlError::syntax(base, fault));
        }
        let mut reader = Reader::from_str(source);
        // Both are checked here, with messages that name both sides.
        reader.config_mut().check_end_names = false;
        reader.config_mut().allow_unmatched_ends = true;
        Ok(Self {
            source,
            base,
            reader,
            max_depth: limits.depth(),
            max_nodes: limits.max_nodes,
            nodes: 0,
            max_attributes: limits.max_attributes,
            max_namespaces: limits.max_namespaces,
            namespaces: 0,
            open: Vec::new(),
            close_next: false,
            span: 0..0,
            root: None,
            has_doctype: false,
        })
    }

    /// Returns the root's name, once it has been read.
    pub(super) fn root(&self) -> Result<&'a str, XmlError> {
        self.root.ok_or_else(|| {
            let at = self.base + self.source.len();
            let fault = "the text ends and holds no root element";
            XmlError::at_byte(XmlErrorKind::NotOneRoot, at, fault)
        })
    }

    /// Returns the place of the last token in the text, in bytes. The end of an element of the form
    /// `<a/>` has the same place as its start.
    pub(super) fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// Reports whether the last token was the start of an element of the form `<a/>`.
    pub(super) fn starts_empty(&self) -> bool {
        self.close_next
    }

    /// Returns the next token; `None` when the whole document has been read and is well-formed.
    pub(super) fn next(&mut self) -> Result<Option<XmlToken<'a>>, XmlError> {
        if std::mem::take(&mut self.close_next)
            && let Some((name, _)) = self.open.pop()
        {
            return Ok(Some(XmlToken::End(name)));
        }
        loop {
            let start = self.position();
            let event = self.reader.read_event().map_err(|error| {
                let at = usize::try_from(self.reader.error_position()).unwrap_or(start);
                let fault = format!("the markup is not well-formed ({error})");
                XmlError::syntax(self.base + at, fault)
            })?;
            let at = self.base + start;
            self.span = at..self.base + self.position();
            let raw = self
                .source
                .get(start..self.position())
                .ok_or_else(|| XmlError::syntax(at, "the markup cannot be separated from the text around it"))?;
            let token = match event {
                Event::Start(_) => self.start(raw, at, false)?,
                Event::Empty(_) => self.start(raw, at, true)?,
                Event::End(_) => self.end(raw, at)?,
                Event::Text(_) => match self.text(raw, at)? {
                    Some(token) => token,
                    None => continue,
                },
                Event::CData(_) => {
                    self.inside_root(raw, at)?;
                    XmlToken::Text(TokenText {
                        text: normalize_line_ends(&raw["<![CDATA[".len()..raw.len() - 3]),
                        deliberate: true,
                    })
                }
                Event::GeneralRef(_) => {
                    self.inside_root(raw, at)?;
                    let c = resolve_reference(&raw[1..raw.len() - 1], at)?;
                    XmlToken::Text(TokenText { text: Cow::Owned(c.into()), deliberate: true })
                }
                Event::Comment(_) => comment(raw, at)?,
                Event::PI(_) => {
                    let (target, data) = tag::instruction(raw, at)?;
                    XmlToken::Instruction(target, normalize_line_ends(data))
                }
                Event::Decl(_) if start == 0 => {
                    let ascii = self.source.is_ascii();
                    XmlToken::Declaration(tag::declaration(raw, at, ascii)?)
                }
                Event::Decl(_) => {
                    let fault = "the XML declaration does not stand at the very beginning";
                    return Err(XmlError::syntax(at, fault));
                }
                Event::DocType(_) => self.doctype(raw, at)?,
                Event::Eof => return self.finish(),
            };
            return Ok(Some(token));
        }
    }

    fn position(&self) -> usize {
        // The position is within `source`, whose length is a usize.
        usize::try_from(self.reader.buffer_position()).unwrap_or(usize::MAX)
    }

    fn start(&mut self, raw: &'a str, at: usize, empty: bool) -> Result<XmlToken<'a>, XmlError> {
        if self.open.len() >= self.max_depth {
            let fault =
                format!("the tag {} begins an element below the limit of {} levels", quoted(raw), self.max_depth);
            return Err(XmlError::at_byte(XmlErrorKind::TooDeep, at, fault));
        }
        let (name, attributes) = tag::start_tag(raw, at, empty)?;
        self.nodes += 1 + attributes.len();
        if self.nodes > self.max_nodes {
            let fault = format!("the text has more than the {} elements and attributes allowed", self.max_nodes);
            return Err(XmlError::at_byte(XmlErrorKind::TooLarge, at, fault));
        }
        if attributes.len() > self.max_attributes {
            let fault = format!("the element {} has more than {} attributes", quoted(name), self.max_attributes);
            return Err(XmlError::at_byte(XmlErrorKind::TooLarge, at, fault));
        }
        if self.max_namespaces < usize::MAX {
            let declares = |name: &str| name == "xmlns" || name.starts_with("xmlns:");
            self.namespaces += attributes.iter().filter(|(name, _)| declares(name)).count();
            if self.namespaces > self.max_namespaces {
                let fault = format!("the text declares more than {} namespaces", self.max_namespaces);
                return Err(XmlError::at_byte(XmlErrorKind::TooLarge, at, fault));
            }
        }
        if self.open.is_empty() {
            if let Some(root) = self.root {
                let fault = format!("a second root element {} follows the root {}", quoted(name), quoted(root));
                return Err(XmlError::at_byte(XmlErrorKind::NotOneRoot, at, fault));
            }
            self.root = Some(name);
        }
        self.open.push((name, at));
        self.close_next = empty;
        Ok(XmlToken::Start(name, attributes))
    }

    fn end(&mut self, raw: &'a str, at: usize) -> Result<XmlToken<'a>, XmlError> {
        let name = raw[2..raw.len() - 1].trim_end_matches(SPACE);
        let fault = match self.open.pop() {
            Some((open, _)) if open == name => return Ok(XmlToken::End(open)),
            Some((open, opened)) => format!(
                "the end tag {} does not close the element {} that byte {} opens",
                quoted(raw),
                quoted(open),
                opened
            ),
            None => format!("the end tag {} closes no element", quoted(raw)),
        };
        Err(XmlError::at_byte(XmlErrorKind::TagMismatch, at, fault))
    }

    /// Returns a token of text; `None` for white space outside the root, which is not content.
    fn text(&self, raw: &'a str, at: usize) -> Result<Option<XmlToken<'a>>, XmlError> {
        if self.open.is_empty() && is_space(raw) {
            return Ok(None);
        }
        self.inside_root(raw, at)?;
        if let Some(found) = raw.find("]]>") {
            let fault = "\"]]>\" stands in text outside a CDATA section";
            return Err(XmlError::syntax(at + found, fault));
        }
        Ok(Some(XmlToken::Text(TokenText { text: normalize_line_ends(raw), deliberate: false })))
    }

    fn inside_root(&self, raw: &str, at: usize) -> Result<(), XmlError> {
        if !self.open.is_empty() {
            return Ok(());
        }
        let place = match self.root {
            Some(root) => format!("after the root element {}", quoted(root)),
            None => "before the root element".to_owned(),
        };
        let fault = format!("the text {} stands {place}", quoted(raw));
        Err(XmlError::syntax(at, fault))
    }

    fn doctype(&mut self, raw: &'a str, at: usize) -> Result<XmlToken<'a>, XmlError> {
        if self.root.is_some() || self.has_doctype {
            let fault = "a DOCTYPE may stand only once, before the root element";
            return Err(XmlError::syntax(at, fault));
        }
        doctype::check(raw, at)?;
        self.has_doctype = true;
        Ok(XmlToken::Doctype(raw))
    }

    fn finish(&mut self) -> Result<Option<XmlToken<'a>>, XmlError> {
        if let Some((name, at)) = self.open.pop() {
            let fault = format!("the element {} is opened and never closed", quoted(name));
            return Err(XmlError::at_byte(XmlErrorKind::TagMismatch, at, fault));
        }
        self.root().map(|_| None)
    }
}

fn comment(raw: &str, at: usize) -> Result<XmlToken<'_>, XmlError> {
    let text = &raw["<!--".len()..raw.len() - "-->".len()];
    if text.contains("--") || text.ends_with('-') {
        let fault = format!("\"--\" stands inside the comment {}", quoted(raw));
        return Err(XmlError::syntax(at, fault));
    }
    Ok(XmlToken::Comment(normalize_line_ends(text)))
}
