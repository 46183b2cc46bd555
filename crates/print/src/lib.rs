//! Typesetting: blocks of text become pages, and pages become a picture or a PDF.
//!
//! [`Layout::of`] breaks the blocks into lines and the lines into pages. [`Layout::picture`] and
//! [`Layout::pdf`] draw the same layout, so that their breaks are the same.
//!
//! - The only fonts are those in `fonts/`, with Latin, Greek and Cyrillic letters. A character
//!   that they lack is drawn as a box.
//! - Text runs from left to right.
//! - The number of pages and of characters is bounded, and with it the time and memory that any
//!   text takes.
//! - The same blocks give the same bytes.

mod faces;
mod layout;
mod lines;
mod pdf;
mod picture;

use std::fmt;

pub use layout::Layout;

/// The largest number of pages in a layout.
pub const MAX_PAGES: usize = 40;

/// The largest number of characters in a layout, in all blocks together. Body text of that length
/// does not fit on [`MAX_PAGES`] pages.
pub const MAX_CHARS: usize = 200_000;

/// The typographic role of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockKind {
    /// The title of the whole: bold and large.
    Headline,
    /// A heading within the text: bold and somewhat larger than the text.
    Subheading,
    /// Body text, justified.
    Paragraph,
}

/// A piece of text that begins on a line of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// The typographic role.
    pub kind: BlockKind,
    /// The text. A line feed begins a new line.
    pub text: String,
}

/// The failure to write a picture or a PDF.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrintError(String);

impl fmt::Display for PrintError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for PrintError {}

#[cfg(test)]
mod tests;
