//! The text of a story as blocks: headings and paragraphs.

use std::ops::ControlFlow;

use stet_content::words::{is_inline, is_unread};
use stet_domain::object::normal_form;
use stet_print::{Block, BlockKind, MAX_CHARS};
use stet_xml::{DocumentPiece, Limits, XmlError, walk};

/// Elements that do not decide how their text is set; the element around them does.
const PLAIN: &[&str] = &["div", "line", "p", "para"];

/// Returns the blocks of a story, whatever its elements are called. Elements that stand within a
/// word in HTML belong to the block around them; all others begin a new one.
///
/// # Errors
/// If the text is not a well-formed document within `limits`, or refers to an entity.
pub(super) fn blocks(xml: &str, limits: &Limits) -> Result<Vec<Block>, XmlError> {
    let mut reading = BlockReader::default();
    walk(xml, limits, &mut |piece| {
        match piece {
            DocumentPiece::Start(name) => reading.begin(name),
            DocumentPiece::Text(text) => reading.add(&text),
            DocumentPiece::End => reading.end(),
        }
        // Read to the end even after enough text, because all of it must be well-formed.
        ControlFlow::Continue(())
    })?;
    Ok(reading.blocks)
}

/// An element that is still open.
#[derive(Clone, Copy)]
struct StoryElement {
    kind: BlockKind,
    is_inline: bool,
    is_unread: bool,
}

#[derive(Default)]
struct BlockReader {
    /// The open elements from the root to the innermost.
    elements: Vec<StoryElement>,
    blocks: Vec<Block>,
    has_headline: bool,
    /// The text of the block being built, with single spaces.
    text: String,
    kind: Option<BlockKind>,
    /// The number of characters in all blocks.
    chars: usize,
}

impl BlockReader {
    fn begin(&mut self, name: &str) {
        let name = name.rsplit_once(':').map_or(name, |(_, local)| local).to_ascii_lowercase();
        let (outer, is_inline) = (self.elements.last().copied(), is_inline(&name));
        if !is_inline {
            self.end_block();
        }
        let kind = match outer {
            Some(outer) if is_inline || PLAIN.contains(&&*name) => outer.kind,
            _ => self.kind_of(&name),
        };
        let is_unread = outer.is_some_and(|outer| outer.is_unread) || is_unread(&name);
        self.elements.push(StoryElement { kind, is_inline, is_unread });
    }

    /// Returns the kind of block for an element of that name. The first heading is the headline,
    /// unless its name says that it stands below or above one.
    fn kind_of(&self, name: &str) -> BlockKind {
        let is_heading = name.contains("head") || name.contains("title") || is_html_heading(name);
        if !is_heading {
            return BlockKind::Paragraph;
        }
        let is_below = name.contains("sub") || name.contains("over") || self.has_headline;
        if is_below { BlockKind::Subheading } else { BlockKind::Headline }
    }

    fn add(&mut self, piece: &str) {
        let Some(element) = self.elements.last().filter(|element| !element.is_unread) else { return };
        let kind = element.kind;
        for c in piece.chars() {
            // One character more than the limit shows the layout that text was left out.
            if self.chars > MAX_CHARS {
                return;
            }
            let is_space = matches!(c, ' ' | '\t' | '\r' | '\n');
            if is_space && (self.text.is_empty() || self.text.ends_with(' ')) {
                continue;
            }
            if !is_space {
                self.kind.get_or_insert(kind);
            }
            self.text.push(if is_space { ' ' } else { c });
            self.chars += 1;
        }
    }

    fn end(&mut self) {
        if self.elements.pop().is_some_and(|element| !element.is_inline) {
            self.end_block();
        }
    }

    fn end_block(&mut self) {
        let text = std::mem::take(&mut self.text);
        if let Some(kind) = self.kind.take() {
            self.has_headline |= kind == BlockKind::Headline;
            self.blocks.push(Block { kind, text: normal_form(text.trim_end_matches(' ')).into_owned() });
        }
    }
}

/// Reports whether an element is one of `h1` to `h6`.
fn is_html_heading(name: &str) -> bool {
    matches!(name.as_bytes(), [b'h', b'1'..=b'6'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(xml: &str) -> Vec<(BlockKind, String)> {
        let blocks = blocks(xml, &Limits::default()).expect("it is well-formed");
        blocks.into_iter().map(|block| (block.kind, block.text)).collect()
    }

    fn headline(text: &str) -> (BlockKind, String) {
        (BlockKind::Headline, text.to_owned())
    }

    fn subheading(text: &str) -> (BlockKind, String) {
        (BlockKind::Subheading, text.to_owned())
    }

    fn paragraph(text: &str) -> (BlockKind, String) {
        (BlockKind::Paragraph, text.to_owned())
    }

    #[test]
    fn blocks_of_a_story_are_its_headings_and_paragraphs() {
        let xml = "<doc:story xmlns:doc='urn:d'><doc:SubHeadline>Kicker</doc:SubHeadline><grouphead><overhead>Above</overhead><headline><p>The <b>f</b>erry</p>\
                   <p>is late</p></headline>\n <byline>By Ada</byline> own</grouphead><text><p>One\n  two</p><subhead>More</subhead>\
                   <title>Other</title><p>Three<br/>four &amp; <![CDATA[<five>]]></p> loose </text><h2>End</h2></doc:story>";
        let expected = [
            subheading("Kicker"),
            subheading("Above"),
            headline("The ferry"),
            headline("is late"),
            paragraph("By Ada"),
            headline("own"),
            paragraph("One two"),
            subheading("More"),
            subheading("Other"),
            paragraph("Three"),
            paragraph("four & <five>"),
            paragraph("loose"),
            subheading("End"),
        ];
        assert_eq!(shown(xml), expected);
    }

    #[test]
    fn blocks_have_no_text_of_comments_scripts_and_attributes() {
        let xml = "<story a='no'><!-- no --><?no no?><style>no <b>no</b></style><p>cafe\u{301}\u{a0}!</p><p> </p><p/></story>";
        assert_eq!(shown(xml), [paragraph("caf\u{e9}\u{a0}!")]);
        assert_eq!(shown("<story/>"), []);
    }

    #[test]
    fn blocks_end_where_no_more_is_set_and_the_rest_must_be_well_formed() {
        let long = "words ".repeat(MAX_CHARS / 3);
        let read = shown(&format!("<story><p>{long}</p><p>{long}</p></story>"));
        assert_eq!(read.iter().map(|(_, text)| text.len()).collect::<Vec<_>>(), [MAX_CHARS + 1]);
        let broken = format!("<story><p>{long}</p></other>");
        blocks(&broken, &Limits::default()).expect_err("its end is another's");
        blocks("<a><b><c/></b></a>", &Limits { max_depth: 2, ..Limits::default() }).expect_err("it is too deep");
    }
}
