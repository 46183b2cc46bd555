//! The fonts of a layout, and the glyphs of characters.

use std::sync::LazyLock;

use ab_glyph::{Font, FontRef, GlyphId, PxScale};

/// The box for characters that a font lacks.
const MISSING: char = '\u{25a1}';

/// A font of the font family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Face {
    Regular,
    Bold,
}

const REGULAR_BYTES: &[u8] = include_bytes!("../fonts/LiberationSerif-Regular.ttf");
const BOLD_BYTES: &[u8] = include_bytes!("../fonts/LiberationSerif-Bold.ttf");

static REGULAR: LazyLock<FontRef<'static>> = LazyLock::new(|| parse_font(REGULAR_BYTES));
static BOLD: LazyLock<FontRef<'static>> = LazyLock::new(|| parse_font(BOLD_BYTES));

fn parse_font(bytes: &'static [u8]) -> FontRef<'static> {
    FontRef::try_from_slice(bytes).expect("the fonts in the program are well-formed")
}

impl Face {
    pub(crate) const ALL: [Face; 2] = [Face::Regular, Face::Bold];

    /// Returns the contents of the font's file.
    pub(crate) fn bytes(self) -> &'static [u8] {
        match self {
            Face::Regular => REGULAR_BYTES,
            Face::Bold => BOLD_BYTES,
        }
    }

    /// Returns the name of the font in a PDF.
    pub(crate) fn postscript_name(self) -> &'static str {
        match self {
            Face::Regular => "LiberationSerif",
            Face::Bold => "LiberationSerif-Bold",
        }
    }

    pub(crate) fn font(self) -> &'static FontRef<'static> {
        match self {
            Face::Regular => &REGULAR,
            Face::Bold => &BOLD,
        }
    }

    /// Returns the glyph of a character: a space for white space that the font lacks, and a box for
    /// other characters that it lacks.
    pub(crate) fn glyph(self, c: char) -> GlyphId {
        let font = self.font();
        match font.glyph_id(c) {
            // The font's own glyph for missing ones is blank.
            GlyphId(0) => font.glyph_id(if c.is_whitespace() { ' ' } else { MISSING }),
            found => found,
        }
    }

    /// Returns the number of font units in an em.
    pub(crate) fn units_per_em(self) -> f32 {
        // Fonts without this number are not parsed.
        self.font().units_per_em().unwrap_or(2048.0)
    }

    /// Returns the width of a glyph in ems.
    pub(crate) fn width(self, glyph: GlyphId) -> f32 {
        self.font().h_advance_unscaled(glyph) / self.units_per_em()
    }

    /// Returns the correction of the distance between two glyphs in ems.
    pub(crate) fn kerning(self, first: GlyphId, second: GlyphId) -> f32 {
        self.font().kern_unscaled(first, second) / self.units_per_em()
    }

    /// Returns the scale for drawing glyphs with the given number of pixels in an em.
    pub(crate) fn scale(self, pixels_per_em: f32) -> PxScale {
        PxScale::from(pixels_per_em * self.font().height_unscaled() / self.units_per_em())
    }
}
