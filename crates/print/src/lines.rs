//! Breaking a text into lines of glyphs, by the rules of Unicode (UAX #14).

use ab_glyph::GlyphId;
use unicode_linebreak::{BreakOpportunity, linebreaks};

use crate::faces::Face;

/// A glyph on a line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct PlacedGlyph {
    pub(crate) id: GlyphId,
    /// The character that the glyph shows.
    pub(crate) character: char,
    /// The distance in points from the left end of the column to the glyph's origin.
    pub(crate) x: f32,
}

/// A font with a size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct FontSetting {
    pub(crate) face: Face,
    /// The size of an em in points.
    pub(crate) size: f32,
}

/// The shape of a column of text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ColumnShape {
    /// The width of a line in points.
    pub(crate) width: f32,
    /// The indentation of the first line in points.
    pub(crate) indent: f32,
    /// Whether lines are justified to the whole width.
    pub(crate) justified: bool,
}

const SOFT_HYPHEN: char = '\u{ad}';

/// The widest space on a justified line, in ems. A line that would need wider ones stays short.
const WIDEST_SPACE: f32 = 0.75;

/// Reports whether a character has no glyph: a control, or a mark that joins, breaks or directs
/// text.
fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{34f}' | '\u{61c}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}'
        )
}

/// A character of the text with its glyph, as if on one endless line.
struct ShapedCharacter {
    id: GlyphId,
    character: char,
    /// The index of its first byte in the text.
    byte: usize,
    /// The distance in points from the beginning of the text to the glyph's origin.
    x: f32,
    /// The distance in points to the next character's origin, without kerning.
    width: f32,
    /// The index after the last character up to this one that is no space.
    text_end: usize,
}

impl ShapedCharacter {
    fn end(&self) -> f32 {
        self.x + self.width
    }
}

/// Reports whether a character is not shown at the end of a line.
fn is_space(c: char) -> bool {
    c.is_whitespace() && c != '\u{a0}' && c != '\u{202f}'
}

fn shape_text(text: &str, set_in: FontSetting) -> Vec<ShapedCharacter> {
    let FontSetting { face, size } = set_in;
    let mut all: Vec<ShapedCharacter> = Vec::with_capacity(text.len());
    for (byte, character) in text.char_indices().filter(|(_, c)| !is_invisible(*c)) {
        let id = face.glyph(character);
        let before = all.last();
        let kerning = before.map_or(0.0, |before| face.kerning(before.id, id) * size);
        let x = before.map_or(0.0, ShapedCharacter::end) + kerning;
        let width = if character == SOFT_HYPHEN { 0.0 } else { face.width(id) * size };
        let text_end = if is_space(character) { before.map_or(0, |before| before.text_end) } else { all.len() + 1 };
        all.push(ShapedCharacter { id, character, byte, x, width, text_end });
    }
    all
}

/// Breaks a text into lines. An empty text has none.
pub(crate) fn lines(text: &str, set_in: FontSetting, measure: ColumnShape) -> Vec<Vec<PlacedGlyph>> {
    let all = shape_text(text, set_in);
    let mut setting = LineBreaker { all: &all, set_in, measure, lines: Vec::new() };
    let (mut start, mut fits) = (0, 0);
    for (byte, kind) in linebreaks(text) {
        let end = all.partition_point(|shaped| shaped.byte < byte);
        while !setting.fits(start, end) {
            // The line ends at the last break that fits. Without one the word is broken at the end
            // of the line.
            let at = if fits > start { fits } else { setting.most_that_fit(start, end) };
            setting.add(start, at, false);
            start = at;
        }
        fits = end;
        if kind == BreakOpportunity::Mandatory && end > start {
            setting.add(start, end, true);
            start = end;
        }
    }
    setting.lines
}

/// The lines of a text while they are set.
struct LineBreaker<'a> {
    all: &'a [ShapedCharacter],
    set_in: FontSetting,
    measure: ColumnShape,
    lines: Vec<Vec<PlacedGlyph>>,
}

impl LineBreaker<'_> {
    fn indent(&self) -> f32 {
        if self.lines.is_empty() { self.measure.indent } else { 0.0 }
    }

    /// Returns the characters of a line without the spaces at its end.
    fn trimmed(&self, start: usize, end: usize) -> &[ShapedCharacter] {
        // The field is used instead of a search, since all characters may be spaces.
        let text_end = self.all[start..end].last().map_or(start, |last| last.text_end);
        &self.all[start..text_end.max(start)]
    }

    /// Returns the hyphen at the end of a line that is broken at a soft one, and its width.
    fn hyphen(&self, line: &[ShapedCharacter]) -> Option<(GlyphId, f32)> {
        let FontSetting { face, size } = self.set_in;
        let id = line.last().filter(|last| last.character == SOFT_HYPHEN).map(|_| face.glyph('-'))?;
        Some((id, face.width(id) * size))
    }

    fn width(&self, line: &[ShapedCharacter]) -> f32 {
        let text = line.first().zip(line.last()).map_or(0.0, |(first, last)| last.end() - first.x);
        text + self.hyphen(line).map_or(0.0, |(_, width)| width)
    }

    fn fits(&self, start: usize, end: usize) -> bool {
        self.width(self.trimmed(start, end)) <= self.measure.width - self.indent()
    }

    /// Returns the end of the longest line, of at least one character, without regard to breaks.
    fn most_that_fit(&self, start: usize, end: usize) -> usize {
        let room = self.measure.width - self.indent();
        let from = self.all[start].x;
        let fitting = self.all[start..end].partition_point(|shaped| shaped.end() - from <= room);
        start + fitting.max(1)
    }

    fn add(&mut self, start: usize, end: usize, is_last: bool) {
        let line = self.trimmed(start, end);
        let (indent, hyphen) = (self.indent(), self.hyphen(line));
        let spaces = line.iter().filter(|shaped| shaped.character == ' ').count();
        let missing = self.measure.width - indent - self.width(line);
        let spread = if spaces == 0 || is_last || !self.measure.justified { 0.0 } else { missing / spaces as f32 };
        let natural = self.set_in.face.width(self.set_in.face.glyph(' '));
        let spread = if natural + spread / self.set_in.size > WIDEST_SPACE { 0.0 } else { spread };
        let from = line.first().map_or(0.0, |first| first.x);
        let (mut placed, mut shift) = (Vec::with_capacity(line.len() + 1), indent - from);
        for shaped in line.iter().filter(|shaped| shaped.character != SOFT_HYPHEN) {
            placed.push(PlacedGlyph { id: shaped.id, character: shaped.character, x: shaped.x + shift });
            if shaped.character == ' ' {
                shift += spread;
            }
        }
        if let Some((id, _)) = hyphen {
            let x = line.last().map_or(0.0, ShapedCharacter::end) + shift;
            placed.push(PlacedGlyph { id, character: '-', x });
        }
        self.lines.push(placed);
    }
}
