//! Pages as a PDF, with the used parts of the fonts.
//!
//! Each character of a font has its own code in the PDF, even if several share a glyph, such as the
//! box for missing ones. So readers can search and copy the text.

use std::collections::HashMap;
use std::io::Write;

use ab_glyph::Font;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use pdf_writer::types::{CidFontType, FontFlags, SystemInfo, UnicodeCmap};
use pdf_writer::{Content, Filter, Finish, Name, Pdf, Rect, Ref, Str, TextStr};
use subsetter::{GlyphRemapper, subset};

use crate::PrintError;
use crate::faces::Face;
use crate::layout::{FRAME, GlyphRun, Layout, PAGE};
use crate::lines::PlacedGlyph;

const IDENTITY: SystemInfo<'static> = SystemInfo { registry: Str(b"Adobe"), ordering: Str(b"Identity"), supplement: 0 };

/// The largest tolerated error of a glyph's position, in thousandths of an em, before it is
/// corrected.
const TOLERANCE: f32 = 0.5;

impl Layout {
    /// Draws all pages into a PDF with the given title, with or without a frame around each page.
    ///
    /// # Errors
    /// A font cannot be embedded.
    pub fn pdf(&self, title: &str, framed: bool) -> Result<Vec<u8>, PrintError> {
        let mut next = 0;
        let mut new_ref = || {
            next += 1;
            Ref::new(next)
        };
        let (catalog, tree, info) = (new_ref(), new_ref(), new_ref());
        let mut fonts =
            Face::ALL.map(|face| EmbeddedFont { face, id: new_ref(), characters: Vec::new(), codes: HashMap::new() });
        let mut pdf = Pdf::new();
        pdf.catalog(catalog).pages(tree);
        pdf.document_info(info).title(TextStr(title)).producer(TextStr("stet"));
        let mut kids = Vec::with_capacity(self.pages.len());
        for runs in &self.pages {
            let (page, stream) = (new_ref(), new_ref());
            kids.push(page);
            let drawn = draw_page(runs, &mut fonts, framed);
            pdf.stream(stream, &deflate(&drawn)?).filter(Filter::FlateDecode);
            let mut writer = pdf.page(page);
            writer.media_box(Rect::new(0.0, 0.0, PAGE.0, PAGE.1)).parent(tree).contents(stream);
            let mut resources = writer.resources();
            let mut named = resources.fonts();
            for font in &fonts {
                named.pair(name_of(font.face), font.id);
            }
            named.finish();
            resources.finish();
            writer.finish();
        }
        let count = i32::try_from(kids.len()).unwrap_or(i32::MAX);
        pdf.pages(tree).kids(kids).count(count);
        for font in &fonts {
            font.write(&mut pdf, &mut new_ref)?;
        }
        Ok(pdf.finish())
    }
}

/// Returns the name of a font in the instructions of a page.
const fn name_of(face: Face) -> Name<'static> {
    match face {
        Face::Regular => Name(b"R"),
        Face::Bold => Name(b"B"),
    }
}

fn deflate(bytes: &[u8]) -> Result<Vec<u8>, PrintError> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).map_err(|error| PrintError(error.to_string()))
}

/// Returns the instructions that draw a page.
fn draw_page(runs: &[GlyphRun], fonts: &mut [EmbeddedFont], framed: bool) -> Vec<u8> {
    let mut content = Content::new();
    if framed {
        content.set_line_width(0.5).set_stroke_gray(0.45);
        content.rect(FRAME, FRAME, PAGE.0 - 2.0 * FRAME, PAGE.1 - 2.0 * FRAME).stroke();
    }
    for run in runs {
        let font = fonts.iter_mut().find(|font| font.face == run.set_in.face);
        let (Some(font), Some(first)) = (font, run.glyphs.first()) else { continue };
        content.begin_text();
        content.set_font(name_of(font.face), run.set_in.size);
        content.set_text_matrix([1.0, 0.0, 0.0, 1.0, first.x, PAGE.1 - run.baseline]);
        let mut shown = content.show_positioned();
        let mut items = shown.items();
        let (mut codes, mut x) = (Vec::with_capacity(2 * run.glyphs.len()), first.x);
        for glyph in &run.glyphs {
            let correction = (x - glyph.x) / run.set_in.size * 1000.0;
            if correction.abs() > TOLERANCE {
                items.show(Str(&codes)).adjust(correction);
                codes.clear();
                x = glyph.x;
            }
            codes.extend(font.code(glyph).to_be_bytes());
            x += font.face.width(glyph.id) * run.set_in.size;
        }
        items.show(Str(&codes));
        items.finish();
        shown.finish();
        content.end_text();
    }
    content.finish().to_vec()
}

/// A font of the PDF, with its used characters.
struct EmbeddedFont {
    face: Face,
    id: Ref,
    /// The used characters, ordered by their codes, which begin at 1.
    characters: Vec<PlacedGlyph>,
    codes: HashMap<char, u16>,
}

impl EmbeddedFont {
    /// Returns the code of a character; 0, which shows nothing, if there are too many.
    fn code(&mut self, glyph: &PlacedGlyph) -> u16 {
        if let Some(code) = self.codes.get(&glyph.character) {
            return *code;
        }
        let Ok(code) = u16::try_from(self.characters.len() + 1) else { return 0 };
        self.characters.push(*glyph);
        self.codes.insert(glyph.character, code);
        code
    }

    fn write(&self, pdf: &mut Pdf, new_ref: &mut impl FnMut() -> Ref) -> Result<(), PrintError> {
        let (cid, descriptor, file, unicode, glyphs) = (new_ref(), new_ref(), new_ref(), new_ref(), new_ref());
        let (face, font) = (self.face, self.face.font());
        let mut remapper = GlyphRemapper::new();
        let (mut map, mut widths) = (vec![0, 0], vec![1000.0 * face.width(ab_glyph::GlyphId(0))]);
        let mut cmap = UnicodeCmap::<u16>::new(Name(b"Custom"), IDENTITY);
        for (code, glyph) in (1..=u16::MAX).zip(&self.characters) {
            map.extend(remapper.remap(glyph.id.0).to_be_bytes());
            widths.push(1000.0 * face.width(glyph.id));
            cmap.pair(code, glyph.character);
        }
        let name = format!("STETAA+{}", face.postscript_name());
        let name = Name(name.as_bytes());
        let mut type0 = pdf.type0_font(self.id);
        type0.base_font(name).encoding_predefined(Name(b"Identity-H")).descendant_font(cid).to_unicode(unicode);
        type0.finish();
        let mut cid_font = pdf.cid_font(cid);
        cid_font.subtype(CidFontType::Type2).base_font(name).system_info(IDENTITY).font_descriptor(descriptor);
        cid_font.cid_to_gid_map_stream(glyphs).widths().consecutive(0, widths);
        cid_font.finish();
        let thousandths = |units: f32| units / face.units_per_em() * 1000.0;
        let (ascent, descent) = (thousandths(font.ascent_unscaled()), thousandths(font.descent_unscaled()));
        let mut writer = pdf.font_descriptor(descriptor);
        writer.name(name).flags(FontFlags::SERIF | FontFlags::SYMBOLIC).font_file2(file);
        writer.bbox(Rect::new(-200.0, descent, 1200.0, ascent)).italic_angle(0.0);
        writer.ascent(ascent).descent(descent).cap_height(662.0);
        writer.stem_v(if face == Face::Bold { 140.0 } else { 80.0 });
        writer.finish();
        let part = subset(face.bytes(), 0, &remapper).map_err(|error| PrintError(error.to_string()))?;
        pdf.stream(file, &deflate(&part)?).filter(Filter::FlateDecode);
        pdf.stream(glyphs, &deflate(&map)?).filter(Filter::FlateDecode);
        pdf.cmap(unicode, &deflate(&cmap.finish())?).filter(Filter::FlateDecode);
        Ok(())
    }
}
