//! A document as a sequence of tokens, checked for everything that XML 1.0 calls well-formed.
//!
//! `quick_xml` finds where markup begins and ends; what is inside is checked here, since it lets
//! through much that the grammar does not.

use std::borrow::Cow;

use quick_xml::Reader;
use quick_xml::events::Event;

use super::Limits;
use super::chars::{is_char, is_space, normalize_line_ends, open_reference, resolve_reference};
use super::doctype;
use super::error::{XmlError, XmlErrorKind, quoted};
use super::tag::{self, Attributes};

/// The parts of a document in document order. Every `Start` has its `End`.
pub(super) enum Token<'a> {
    /// The XML declaration, with the value of `standalone`.
    Declaration(Option<&'a str>),
    /// The whole DOCTYPE as it is written.
    Doctype(&'a str),
    Start(&'a str, Attributes<'a>),
    End(&'a str),
    /// Text inside the root; adjoining tokens belong together.
    Text(Text<'a>),
    Comment(Cow<'a, str>),
    Instruction(&'a str, Cow<'a, str>),
}

/// A piece of text, line ends normalised and references resolved.
pub(super) struct Text<'a> {
    pub(super) text: Cow<'a, str>,
    /// It came from a reference or CDATA: white space in it is no layout.
    pub(super) deliberate: bool,
}

/// Text gathered between two pieces of markup.
#[derive(Default)]
pub(super) struct Run {
    pub(super) text: String,
    deliberate: bool,
}

impl Run {
    pub(super) fn push(&mut self, piece: &Text<'_>) {
        self.text.push_str(&piece.text);
        self.deliberate |= piece.deliberate && !piece.text.is_empty();
    }

    /// Nothing but white space, none of it referred to or in CDATA.
    pub(super) fn is_layout(&self) -> bool {
        !self.deliberate && is_space(&self.text)
    }

    /// White space that would be taken for layout if it were written literally.
    pub(super) fn is_kept_space(&self) -> bool {
        self.deliberate && is_space(&self.text)
    }
}

/// Reads tokens; the first error ends the document.
pub(super) struct Scanner<'a> {
    source: &'a str,
    /// The bytes before `source`: a byte order mark, or none.
    base: usize,
    reader: Reader<&'a [u8]>,
    max_depth: usize,
    /// The open elements and the offsets of their start tags.
    open: Vec<(&'a str, usize)>,
    /// The element just opened had the form `<a/>`.
    close_next: bool,
    root: Option<&'a str>,
    has_doctype: bool,
}

impl<'a> Scanner<'a> {
    /// Checks size and characters, which need no parsing.
    pub(super) fn new(xml: &'a str, limits: &Limits) -> Result<Self, XmlError> {
        if xml.len() > limits.max_bytes {
            let fault = format!(
                "the text of {} bytes exceeds the limit of {}",
                xml.len(),
                limits.max_bytes
            );
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
            // The reader would pass it by without counting its bytes.
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
            open: Vec::new(),
            close_next: false,
            root: None,
            has_doctype: false,
        })
    }

    /// The root's name, once it was read.
    pub(super) fn root(&self) -> Result<&'a str, XmlError> {
        self.root.ok_or_else(|| {
            let at = self.base + self.source.len();
            let fault = "the text ends and holds no root element";
            XmlError::at_byte(XmlErrorKind::NotOneRoot, at, fault)
        })
    }

    /// The next token; none when the whole document was read and is well-formed.
    pub(super) fn next(&mut self) -> Result<Option<Token<'a>>, XmlError> {
        if std::mem::take(&mut self.close_next)
            && let Some((name, _)) = self.open.pop()
        {
            return Ok(Some(Token::End(name)));
        }
        loop {
            let start = self.position();
            let event = self.reader.read_event().map_err(|error| {
                let at = usize::try_from(self.reader.error_position()).unwrap_or(start);
                let reason = quoted(&error.to_string());
                let fault = format!("the markup is not well-formed: {reason}");
                XmlError::syntax(self.base + at, fault)
            })?;
            let at = self.base + start;
            let raw = self.source.get(start..self.position()).ok_or_else(|| {
                XmlError::syntax(at, "the markup cannot be told from the text around it")
            })?;
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
                    Token::Text(Text {
                        text: normalize_line_ends(&raw["<![CDATA[".len()..raw.len() - 3]),
                        deliberate: true,
                    })
                }
                Event::GeneralRef(_) => {
                    self.inside_root(raw, at)?;
                    let c = resolve_reference(&raw[1..raw.len() - 1], at)?;
                    Token::Text(Text {
                        text: Cow::Owned(c.into()),
                        deliberate: true,
                    })
                }
                Event::Comment(_) => comment(raw, at)?,
                Event::PI(_) => {
                    let (target, data) = tag::instruction(raw, at)?;
                    Token::Instruction(target, normalize_line_ends(data))
                }
                Event::Decl(_) if start == 0 => Token::Declaration(tag::declaration(raw, at)?),
                Event::Decl(_) => {
                    let fault = "the XML declaration stands elsewhere than at the very beginning";
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
}
