//! The arrangement of lines on pages.

use crate::faces::Face;
use crate::lines::{ColumnShape, FontSetting, PlacedGlyph, lines};
use crate::{Block, BlockKind, MAX_CHARS, MAX_PAGES};

/// The size of a page (A5) in points. On a picture of about 500 pixels its text is still legible.
pub(crate) const PAGE: (f32, f32) = (420.0, 595.0);
/// The distance in points from the edges of a page to its text, at the sides, the top and the
/// bottom.
const SIDE: f32 = 44.0;
const TOP: f32 = 46.0;
const BOTTOM: f32 = 52.0;
/// The distance in points from the edges of a page to its frame.
pub(crate) const FRAME: f32 = 20.0;
/// The distance in points from the top of a page to the baseline of its number.
const NUMBER_AT: f32 = PAGE.1 - 31.0;

const BODY: BlockStyle = BlockStyle {
    set_in: FontSetting { face: Face::Regular, size: 10.5 },
    leading: 14.0,
    before: 0.0,
    after: 0.0,
    keep_with_next: false,
};
const SUBHEADING: BlockStyle = BlockStyle {
    set_in: FontSetting { face: Face::Bold, size: 12.0 },
    leading: 15.0,
    before: 10.0,
    after: 3.0,
    keep_with_next: true,
};
const HEADLINE: BlockStyle = BlockStyle {
    set_in: FontSetting { face: Face::Bold, size: 21.0 },
    leading: 25.0,
    before: 8.0,
    after: 9.0,
    keep_with_next: true,
};
const NUMBER: FontSetting = FontSetting { face: Face::Regular, size: 8.5 };

/// The indentation in points of a paragraph that follows another one.
const INDENT: f32 = 13.0;

/// The typography of a block; lengths in points.
#[derive(Clone, Copy)]
struct BlockStyle {
    set_in: FontSetting,
    /// The distance from baseline to baseline.
    leading: f32,
    before: f32,
    after: f32,
    /// Whether the first lines of the next block must be on the same page.
    keep_with_next: bool,
}

impl BlockStyle {
    const fn of(kind: BlockKind) -> BlockStyle {
        match kind {
            BlockKind::Headline => HEADLINE,
            BlockKind::Subheading => SUBHEADING,
            BlockKind::Paragraph => BODY,
        }
    }
}

/// A line of glyphs on a page.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct GlyphRun {
    pub(crate) set_in: FontSetting,
    /// The distance in points from the top of the page to the baseline.
    pub(crate) baseline: f32,
    /// The glyphs. Their positions are in points from the left edge of the page.
    pub(crate) glyphs: Vec<PlacedGlyph>,
}

/// A text laid out on pages.
#[derive(Debug, Clone, PartialEq)]
pub struct Layout {
    pub(crate) pages: Vec<Vec<GlyphRun>>,
    is_cut: bool,
}

impl Layout {
    /// Lays out blocks one below the other, on at least one page.
    pub fn of(blocks: &[Block]) -> Layout {
        let mut cursor = PageCursor { pages: vec![Vec::new()], y: TOP, is_full: false };
        let (mut left, mut before) = (MAX_CHARS, None);
        for block in blocks {
            if cursor.is_full || left == 0 {
                cursor.is_full = true;
                break;
            }
            let text = match block.text.char_indices().nth(left) {
                Some((end, _)) => &block.text[..end],
                None => &*block.text,
            };
            left -= text.chars().count();
            cursor.place(block.kind, text, before);
            before = Some(block.kind);
            cursor.is_full |= text.len() < block.text.len();
        }
        let PageCursor { mut pages, is_full, .. } = cursor;
        number(&mut pages);
        Layout { pages, is_cut: is_full }
    }

    /// Returns the number of pages.
    pub fn pages(&self) -> usize {
        self.pages.len()
    }

    /// Reports whether text was left out because it exceeds [`MAX_PAGES`] or [`MAX_CHARS`].
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }
}

/// The position of the next line.
struct PageCursor {
    pages: Vec<Vec<GlyphRun>>,
    /// The distance in points from the top of the page to the top of the line.
    y: f32,
    /// Whether text was left out.
    is_full: bool,
}

impl PageCursor {
    fn place(&mut self, kind: BlockKind, text: &str, before: Option<BlockKind>) {
        let style = BlockStyle::of(kind);
        let follows_text = before == Some(BlockKind::Paragraph);
        let is_body = kind == BlockKind::Paragraph;
        let measure = ColumnShape {
            width: PAGE.0 - 2.0 * SIDE,
            indent: if is_body && follows_text { INDENT } else { 0.0 },
            justified: is_body,
        };
        let lines = lines(text, style.set_in, measure);
        if self.y > TOP {
            self.y += style.before;
        }
        let kept = if style.keep_with_next {
            lines.len() as f32 * style.leading + style.after + 2.0 * BODY.leading
        } else {
            0.0
        };
        // A block longer than a page cannot be kept together with the next one.
        if kept < PAGE.1 - TOP - BOTTOM && !self.has_room(kept) {
            self.turn();
        }
        for glyphs in lines {
            if !self.has_room(style.leading) {
                self.turn();
            }
            if self.is_full {
                return;
            }
            let baseline = self.y + style.leading - 0.28 * style.set_in.size;
            self.put(GlyphRun { set_in: style.set_in, baseline, glyphs: shift_glyphs(glyphs, SIDE) });
            self.y += style.leading;
        }
        self.y += style.after;
    }

    fn has_room(&self, points: f32) -> bool {
        self.y == TOP || self.y + points <= PAGE.1 - BOTTOM
    }

    fn put(&mut self, run: GlyphRun) {
        if let Some(page) = self.pages.last_mut() {
            page.push(run);
        }
    }

    /// Begins a new page.
    fn turn(&mut self) {
        if self.pages.len() == MAX_PAGES {
            self.is_full = true;
            return;
        }
        self.pages.push(Vec::new());
        self.y = TOP;
    }
}

fn shift_glyphs(mut glyphs: Vec<PlacedGlyph>, by: f32) -> Vec<PlacedGlyph> {
    glyphs.iter_mut().for_each(|glyph| glyph.x += by);
    glyphs
}

/// Adds page numbers at the foot of each page, if there are several pages.
fn number(pages: &mut [Vec<GlyphRun>]) {
    let total = pages.len();
    if total == 1 {
        return;
    }
    let measure = ColumnShape { width: PAGE.0, indent: 0.0, justified: false };
    for (index, page) in pages.iter_mut().enumerate() {
        for glyphs in lines(&(index + 1).to_string(), NUMBER, measure) {
            let width = |glyph: &PlacedGlyph| glyph.x + NUMBER.face.width(glyph.id) * NUMBER.size;
            let left = (PAGE.0 - glyphs.last().map_or(0.0, width)) / 2.0;
            page.push(GlyphRun { set_in: NUMBER, baseline: NUMBER_AT, glyphs: shift_glyphs(glyphs, left) });
        }
    }
}
