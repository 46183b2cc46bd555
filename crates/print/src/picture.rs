//! A page as a picture.

use ab_glyph::{Font, point};
use image::codecs::png::PngEncoder;
use image::{ExtendedColorType, ImageEncoder};

use crate::PrintError;
use crate::layout::{FRAME, GlyphRun, Layout, PAGE};

/// The number of pixels in a point.
const SCALE: f32 = 2.0;

/// The size of a picture in pixels.
const SIZE: (u32, u32) = ((PAGE.0 * SCALE) as u32, (PAGE.1 * SCALE) as u32);

const WHITE: u8 = 255;

/// The grey of the frame.
const GREY: u8 = 120;

impl Layout {
    /// Draws a page into a PNG of 840 × 1190 pixels, with or without a frame. Pages are counted
    /// from 0. A number beyond the last page means the last page.
    ///
    /// # Errors
    /// The picture cannot be encoded.
    pub fn picture(&self, page: usize, framed: bool) -> Result<Vec<u8>, PrintError> {
        let mut canvas = Canvas { pixels: vec![WHITE; (SIZE.0 * SIZE.1) as usize] };
        if framed {
            canvas.frame();
        }
        // There is at least one page.
        for run in self.pages.get(page).or(self.pages.last()).into_iter().flatten() {
            canvas.draw(run);
        }
        let mut png = Vec::new();
        PngEncoder::new(&mut png)
            .write_image(&canvas.pixels, SIZE.0, SIZE.1, ExtendedColorType::L8)
            .map_err(|error| PrintError(error.to_string()))?;
        Ok(png)
    }
}

/// A picture being drawn, in shades of grey.
struct Canvas {
    pixels: Vec<u8>,
}

impl Canvas {
    /// Makes a pixel darker. Pixels outside the picture are ignored.
    fn darken(&mut self, x: i64, y: i64, coverage: f32) {
        let (Ok(x), Ok(y)) = (u32::try_from(x), u32::try_from(y)) else { return };
        if x < SIZE.0
            && y < SIZE.1
            && let Some(pixel) = self.pixels.get_mut((y * SIZE.0 + x) as usize)
        {
            *pixel = (f32::from(*pixel) * (1.0 - coverage.clamp(0.0, 1.0))).round() as u8;
        }
    }

    fn draw(&mut self, run: &GlyphRun) {
        let font = run.set_in.face.font();
        let scale = run.set_in.face.scale(run.set_in.size * SCALE);
        // The baseline is on whole pixels, so that lines look alike.
        let baseline = (run.baseline * SCALE).round();
        for placed in &run.glyphs {
            let glyph = placed.id.with_scale_and_position(scale, point(placed.x * SCALE, baseline));
            let Some(outline) = font.outline_glyph(glyph) else { continue };
            let corner = outline.px_bounds().min;
            outline.draw(|x, y, coverage| {
                self.darken(corner.x as i64 + i64::from(x), corner.y as i64 + i64::from(y), coverage);
            });
        }
    }

    fn frame(&mut self) {
        let margin = (FRAME * SCALE) as u32;
        let (right, bottom) = (SIZE.0 - margin - 1, SIZE.1 - margin - 1);
        for y in margin..=bottom {
            for x in margin..=right {
                if x == margin || x == right || y == margin || y == bottom {
                    self.pixels[(y * SIZE.0 + x) as usize] = GREY;
                }
            }
        }
    }
}
