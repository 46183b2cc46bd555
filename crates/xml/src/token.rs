//! The tokens of a document.

use std::borrow::Cow;

use super::chars::is_space;
use super::tag::Attributes;

/// The parts of a document in document order. Every `Start` has its `End`.
pub(super) enum XmlToken<'a> {
    /// The XML declaration, with the value of `standalone`.
    Declaration(Option<&'a str>),
    /// The whole DOCTYPE, as it is written.
    Doctype(&'a str),
    Start(&'a str, Attributes<'a>),
    End(&'a str),
    /// Text inside the root; adjoining tokens belong together.
    Text(TokenText<'a>),
    Comment(Cow<'a, str>),
    Instruction(&'a str, Cow<'a, str>),
}

/// A piece of text, line ends normalised and references resolved.
pub(super) struct TokenText<'a> {
    pub(super) text: Cow<'a, str>,
    /// Whether it is from a reference or CDATA, so that white space in it is not layout.
    pub(super) deliberate: bool,
}

/// Text gathered between two pieces of markup.
#[derive(Default)]
pub(super) struct Run {
    pub(super) text: String,
    deliberate: bool,
}

impl Run {
    pub(super) fn push(&mut self, piece: &TokenText<'_>) {
        self.text.push_str(&piece.text);
        self.deliberate |= piece.deliberate && !piece.text.is_empty();
    }

    /// Reports whether the run is only white space, none of it from a reference or CDATA.
    pub(super) fn is_layout(&self) -> bool {
        !self.deliberate && is_space(&self.text)
    }

    /// Reports whether the run is white space that would be taken for layout if it were written
    /// literally.
    pub(super) fn is_kept_space(&self) -> bool {
        self.deliberate && is_space(&self.text)
    }
}
