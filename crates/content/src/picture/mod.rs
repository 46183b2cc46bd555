//! Scaling a picture down: bytes in, bytes out.
//!
//! Pictures are recognised by their first bytes; the stated content type does not count. Nothing is
//! decoded before its dimensions are known to be within bounds.

use std::io::Cursor;

use bytes::Bytes;
use fast_image_resize::{ResizeOptions, Resizer};
use image::codecs::gif::GifDecoder;
use image::codecs::jpeg::{JpegDecoder, JpegEncoder};
use image::codecs::png::{PngDecoder, PngEncoder};
use image::codecs::webp::WebPDecoder;
use image::{ColorType, DynamicImage, ImageDecoder, ImageEncoder, ImageError, ImageFormat, ImageResult, Limits};
use stet_domain::error::Error;

mod jpeg;
mod webp;

/// At this quality and size people see no difference from the original.
const JPEG_QUALITY: u8 = 85;

/// A colour profile larger than this is left out: it would outweigh the picture.
const MOST_PROFILE_BYTES: usize = 64 << 10;

/// Bytes per pixel that a decoder may use internally, beside its output. A progressive JPEG has 16
/// bits for each of three channels, a lossy WebP its planes and an alpha channel of its own, a GIF
/// its frame and the screen.
const WITHIN_DECODER: u64 = 6;

/// The limits on a picture that is scaled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PictureLimits {
    /// Maximum number of pixels.
    pub pixels: u64,
    /// Maximum bytes of memory for scaling it, beside its file: see [`bytes_for`].
    pub bytes: u64,
}

/// Returns the bytes that scaling a picture takes at most, beside its file.
///
/// After decoding, the decoder's bytes are free for the converted picture of four bytes per pixel.
/// The bytes of the decoder and the scaled picture are enough for the picture that is scaled in one
/// direction only. A picture with transparency is copied whole before scaling, with premultiplied
/// colours.
fn bytes_for(pixels: u64, color: ColorType, scaled_pixels: u64) -> u64 {
    let each = u64::from(color.bytes_per_pixel());
    let copied = if color.has_alpha() { each } else { 0 };
    // The scaled picture, once more in 8 bits, and as a file.
    pixels.saturating_mul(each + copied + WITHIN_DECODER).saturating_add(scaled_pixels.saturating_mul(each + 8))
}

/// A function that reserves a number of bytes of memory.
pub(super) type MemoryReserver<'r> = &'r dyn Fn(u64) -> Result<(), Error>;

/// The reason why a picture was not scaled.
#[derive(Debug)]
pub(super) enum ScalingFailure {
    /// The picture can't be scaled at any time: it is none, damaged, or beyond the limits. The text
    /// is the end of a sentence.
    Unfit(String),
    /// The memory for scaling is not available now.
    NoMemory(Error),
}

impl From<String> for ScalingFailure {
    fn from(why: String) -> ScalingFailure {
        ScalingFailure::Unfit(why)
    }
}

/// A scaled picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScaledPicture {
    /// `image/jpeg`, or `image/png` for a picture with transparency.
    pub media_type: &'static str,
    /// Usual extension for a file name.
    pub extension: &'static str,
    /// The bytes of the file.
    pub bytes: Bytes,
}

/// Scales a JPEG, PNG, GIF (its first frame) or WebP picture so that neither side is longer than
/// `longest`, and turns it as its EXIF orientation says. Pictures are never enlarged. Colour
/// profiles are kept; all other metadata is dropped.
///
/// The memory for this is reserved by `reserve`, before anything is decoded.
///
/// # Errors
/// [`ScalingFailure`].
pub(super) fn scale(
    bytes: &[u8],
    longest: u32,
    most: PictureLimits,
    reserve: MemoryReserver<'_>,
) -> Result<ScaledPicture, ScalingFailure> {
    let format = image::guess_format(bytes).map_err(|_| "its format is not known".to_owned())?;
    let reader = Cursor::new(bytes);
    match format {
        ImageFormat::Jpeg => {
            jpeg::check(bytes)?;
            scale_with(JpegDecoder::new(reader), longest, most, reserve)
        }
        ImageFormat::Png => scale_with(PngDecoder::with_limits(reader, limits(most)), longest, most, reserve),
        ImageFormat::Gif => scale_with(GifDecoder::new(reader), longest, most, reserve),
        ImageFormat::WebP => {
            webp::check(bytes, most.pixels)?;
            scale_with(WebPDecoder::new(reader), longest, most, reserve)
        }
        other => Err(format!("{} pictures are not scaled", other.to_mime_type()).into()),
    }
}

/// Returns the media type of a picture that begins with these bytes; `None` if the kind is unknown.
pub fn media_type_of(head: &[u8]) -> Option<&'static str> {
    image::guess_format(head).ok().map(|format| format.to_mime_type())
}

fn limits(most: PictureLimits) -> Limits {
    let mut limits = Limits::no_limits();
    limits.max_alloc = Some(most.bytes);
    limits
}

fn scale_with(
    decoder: ImageResult<impl ImageDecoder>,
    longest: u32,
    most: PictureLimits,
    reserve: MemoryReserver<'_>,
) -> Result<ScaledPicture, ScalingFailure> {
    let damaged = |error: ImageError| format!("it can't be decoded: {error}");
    let mut decoder = decoder.map_err(damaged)?;
    let (width, height) = decoder.dimensions();
    let pixels = u64::from(width) * u64::from(height);
    if pixels > most.pixels {
        return Err(format!("it has {width} × {height} pixels; at most {} in all are allowed", most.pixels).into());
    }
    let (to_width, to_height) = within(width, height, longest);
    let needed = bytes_for(pixels, decoder.color_type(), u64::from(to_width) * u64::from(to_height));
    if needed > most.bytes {
        return Err(format!(
            "scaling it would take up to {needed} bytes of memory; at most {} are allowed",
            most.bytes
        )
        .into());
    }
    reserve(needed).map_err(ScalingFailure::NoMemory)?;
    if pixels == 0 {
        return Err("it has no pixels".to_owned().into());
    }
    decoder.set_limits(limits(most)).map_err(damaged)?;
    // Faults in these do not affect the picture.
    let orientation = decoder.orientation().ok();
    let profile = decoder.icc_profile().ok().flatten();
    let mut picture = DynamicImage::from_decoder(decoder).map_err(damaged)?;
    let color = picture.color();
    let (width, height) = (to_width, to_height);
    if (width, height) != (picture.width(), picture.height()) {
        // All pixels are converted to one kind: code for each kind would be 2 MB of the program.
        let pixels = DynamicImage::from(picture.into_rgba8());
        let mut scaled = DynamicImage::new(width, height, pixels.color());
        let options = ResizeOptions::new().use_alpha(color.has_alpha());
        Resizer::new()
            .resize(&pixels, &mut scaled, &options)
            .map_err(|error| format!("it can't be scaled: {error}"))?;
        picture = scaled;
    }
    if let Some(orientation) = orientation {
        picture.apply_orientation(orientation);
    }
    Ok(encode(picture, color, profile).map_err(|error| format!("it can't be encoded: {error}"))?)
}

/// Returns the size of a picture that fits, with the same proportions as far as whole pixels allow.
fn within(width: u32, height: u32, longest: u32) -> (u32, u32) {
    let side = width.max(height);
    if side <= longest {
        return (width, height);
    }
    // No side is longer than `longest`, so both fit into 32 bits again.
    let scaled = |of: u32| ((u64::from(of) * u64::from(longest) + u64::from(side) / 2) / u64::from(side)).max(1) as u32;
    (scaled(width), scaled(height))
}

/// Encodes a picture whose original had these colours.
fn encode(picture: DynamicImage, color: ColorType, profile: Option<Vec<u8>>) -> ImageResult<ScaledPicture> {
    let alpha = color.has_alpha().then(|| picture.to_rgba8());
    let seen_through = alpha.filter(|rgba| rgba.pixels().any(|pixel| pixel.0[3] < u8::MAX));
    let mut bytes = Vec::new();
    if let Some(rgba) = seen_through {
        let mut encoder = PngEncoder::new(&mut bytes);
        if let Some(profile) = fitting(profile, b"RGB ") {
            // Every encoder here supports profiles; without one the picture would look almost the
            // same.
            let _ = encoder.set_icc_profile(profile);
        }
        rgba.write_with_encoder(encoder)?;
        return Ok(ScaledPicture { media_type: "image/png", extension: "png", bytes: bytes.into() });
    }
    let mut encoder = JpegEncoder::new_with_quality(&mut bytes, JPEG_QUALITY);
    let (picture, space) = if color.has_color() {
        (DynamicImage::from(picture.into_rgb8()), b"RGB ")
    } else {
        (DynamicImage::from(picture.into_luma8()), b"GRAY")
    };
    if let Some(profile) = fitting(profile, space) {
        // As above.
        let _ = encoder.set_icc_profile(profile);
    }
    picture.write_with_encoder(encoder)?;
    Ok(ScaledPicture { media_type: "image/jpeg", extension: "jpg", bytes: bytes.into() })
}

/// Returns the profile if it is one of that colour space. Decoding turns others, such as CMYK, into
/// RGB.
fn fitting(profile: Option<Vec<u8>>, space: &[u8; 4]) -> Option<Vec<u8>> {
    profile.filter(|profile| profile.len() <= MOST_PROFILE_BYTES && profile.get(16..20) == Some(&space[..]))
}

#[cfg(test)]
mod tests;
