use image::codecs::webp::WebPEncoder;
use image::{GrayImage, ImageDecoder, Rgb, RgbImage, Rgba, RgbaImage};
use stet_domain::error::Code;

use super::*;

const RED: Rgb<u8> = Rgb([220, 10, 10]);
const BLUE: Rgb<u8> = Rgb([10, 10, 220]);
const MOST: u64 = 1_000_000;

/// Scales a picture with more memory than any picture of that many pixels takes.
fn scale(bytes: &[u8], longest: u32, most_pixels: u64) -> Result<ScaledPicture, String> {
    scale_within(bytes, longest, PictureLimits { pixels: most_pixels, bytes: most_pixels * 32 })
}

/// Scales a picture with all the memory that it asks for.
fn scale_within(bytes: &[u8], longest: u32, most: PictureLimits) -> Result<ScaledPicture, String> {
    super::scale(bytes, longest, most, &|_| Ok(())).map_err(|unscaled| match unscaled {
        ScalingFailure::Unfit(why) => why,
        ScalingFailure::NoMemory(error) => panic!("all memory is there: {error}"),
    })
}

#[test]
fn pictures_are_refused_by_the_memory_that_their_pixels_take() {
    let eight = DynamicImage::from(RgbaImage::new(100, 100));
    let deep = DynamicImage::from(eight.to_rgba16());
    // Pixels, copied once with the alpha channel, and the decoder's; then those of the scaled
    // picture.
    for (picture, needed) in [
        (DynamicImage::from(eight.to_rgb8()), 10_000 * (3 + 6) + 2500 * 11),
        (eight, 10_000 * (4 + 4 + 6) + 2500 * 12),
        (deep, 10_000 * (8 + 8 + 6) + 2500 * 16),
    ] {
        let bytes = encoded(&picture, ImageFormat::Png);
        assert!(scale_within(&bytes, 50, PictureLimits { pixels: MOST, bytes: needed }).is_ok());
        // Just that is reserved, and nothing is decoded without it.
        let refused = super::scale(&bytes, 50, PictureLimits { pixels: MOST, bytes: needed }, &|bytes| {
            Err(Error::new(Code::Overloaded, bytes.to_string()))
        });
        assert!(matches!(refused, Err(ScalingFailure::NoMemory(error)) if error.message == needed.to_string()));
        let why =
            scale_within(&bytes, 50, PictureLimits { pixels: MOST, bytes: needed - 1 }).expect_err("it takes too much");
        assert!(why.contains(&needed.to_string()), "{why}");
    }
}

/// Red on the left, blue on the right.
fn halves(width: u32, height: u32) -> RgbImage {
    RgbImage::from_fn(width, height, |x, _| if x < width / 2 { RED } else { BLUE })
}

fn encoded(picture: &DynamicImage, format: ImageFormat) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    picture.write_to(&mut bytes, format).expect("it can be encoded");
    bytes.into_inner()
}

const FORMATS: [ImageFormat; 4] = [ImageFormat::Jpeg, ImageFormat::Png, ImageFormat::Gif, ImageFormat::WebP];

fn decoded(scaled: &ScaledPicture) -> DynamicImage {
    let format = ImageFormat::from_mime_type(scaled.media_type).expect("it is a type of pictures");
    assert_eq!(image::guess_format(&scaled.bytes).expect("it is a picture"), format);
    image::load_from_memory_with_format(&scaled.bytes, format).expect("it can be decoded")
}

fn is_near(found: Rgb<u8>, wanted: Rgb<u8>) -> bool {
    found.0.iter().zip(wanted.0).all(|(found, wanted)| found.abs_diff(wanted) < 24)
}

#[track_caller]
fn is_at(picture: &DynamicImage, x: u32, y: u32, wanted: Rgb<u8>) {
    let found = *picture.to_rgb8().get_pixel(x, y);
    assert!(is_near(found, wanted), "{found:?} at {x}, {y} in place of {wanted:?}");
}

#[test]
fn a_picture_of_any_kind_is_scaled_to_fit_and_looks_the_same() {
    for format in FORMATS {
        let bytes = encoded(&halves(400, 100).into(), format);
        let scaled = scale(&bytes, 64, MOST).expect("it is a picture");
        assert_eq!((scaled.media_type, scaled.extension), ("image/jpeg", "jpg"), "{format:?}");
        let picture = decoded(&scaled);
        assert_eq!((picture.width(), picture.height()), (64, 16), "{format:?}");
        is_at(&picture, 5, 8, RED);
        is_at(&picture, 60, 8, BLUE);
    }
}

#[test]
fn a_small_picture_is_not_enlarged() {
    for (width, height) in [(64, 64), (63, 10), (1, 1)] {
        let scaled = scale(&encoded(&halves(width, height).into(), ImageFormat::Png), 64, MOST).expect("a picture");
        let picture = decoded(&scaled);
        assert_eq!((picture.width(), picture.height()), (width, height));
    }
}

#[test]
fn proportions_are_kept_as_far_as_pixels_allow() {
    for (size, longest, wanted) in [
        ((1000, 500), 100, (100, 50)),
        ((500, 1000), 100, (50, 100)),
        ((1001, 1000), 100, (100, 100)),
        ((10_000, 1), 100, (100, 1)),
        ((1, u32::MAX), 100, (1, 100)),
        ((u32::MAX, u32::MAX), 4096, (4096, 4096)),
        ((101, 34), 100, (100, 34)),
    ] {
        assert_eq!(within(size.0, size.1, longest), wanted, "{size:?}");
    }
}

#[test]
fn transparent_pictures_are_scaled_to_png_and_opaque_ones_to_jpeg() {
    let clear = |x| if x < 100 { 0 } else { 255 };
    let logo = RgbaImage::from_fn(200, 200, |x, _| Rgba([10, 200, 10, clear(x)]));
    for format in [ImageFormat::Png, ImageFormat::Gif, ImageFormat::WebP] {
        let scaled = scale(&encoded(&logo.clone().into(), format), 50, MOST).expect("it is a picture");
        assert_eq!((scaled.media_type, scaled.extension), ("image/png", "png"), "{format:?}");
        let picture = decoded(&scaled).to_rgba8();
        assert_eq!((picture.get_pixel(5, 25).0[3], picture.get_pixel(45, 25).0[3]), (0, 255), "{format:?}");
    }
    let full = RgbaImage::from_pixel(200, 200, Rgba([10, 200, 10, 255]));
    let scaled = scale(&encoded(&full.into(), ImageFormat::Png), 50, MOST).expect("it is a picture");
    assert_eq!(scaled.media_type, "image/jpeg");
    is_at(&decoded(&scaled), 25, 25, Rgb([10, 200, 10]));
}

#[test]
fn transparent_pixels_do_not_darken_the_edges_of_opaque_ones() {
    // White, and transparent black.
    let logo = RgbaImage::from_fn(200, 200, |x, _| if x < 99 { Rgba([0; 4]) } else { Rgba([255; 4]) });
    let scaled = scale(&encoded(&logo.into(), ImageFormat::Png), 50, MOST).expect("it is a picture");
    let picture = decoded(&scaled).to_rgba8();
    for pixel in picture.pixels().filter(|pixel| pixel.0[3] > 16) {
        assert!(pixel.0[..3].iter().all(|channel| *channel > 230), "{pixel:?}");
    }
}

#[test]
fn grey_stays_grey_and_sixteen_bits_become_eight() {
    let grey = GrayImage::from_pixel(200, 100, image::Luma([77]));
    for picture in [DynamicImage::from(grey.clone()), DynamicImage::from(grey).to_luma16().into()] {
        let scaled = scale(&encoded(&picture, ImageFormat::Png), 50, MOST).expect("it is a picture");
        let found = decoded(&scaled);
        assert_eq!(found.color(), image::ColorType::L8);
        assert!(found.to_luma8().get_pixel(20, 10).0[0].abs_diff(77) < 3);
    }
}

/// EXIF data that says only how the picture lies.
fn exif(orientation: u8) -> Vec<u8> {
    let mut tiff = b"MM\0\x2a\0\0\0\x08\0\x01".to_vec();
    tiff.extend([0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, orientation, 0, 0]);
    tiff.extend([0; 4]);
    tiff
}

#[test]
fn a_picture_is_turned_as_its_exif_orientation_says() {
    // The place of red, which is at the left of the stored picture.
    for (orientation, red, blue) in [
        (1, (2, 8), (29, 8)),
        (2, (29, 8), (2, 8)),
        (3, (29, 8), (2, 8)),
        (4, (2, 8), (29, 8)),
        (5, (8, 2), (8, 29)),
        (6, (8, 2), (8, 29)),
        (7, (8, 29), (8, 2)),
        (8, (8, 29), (8, 2)),
        (99, (2, 8), (29, 8)),
    ] {
        let mut bytes = Vec::new();
        let mut encoder = JpegEncoder::new_with_quality(&mut bytes, 90);
        encoder.set_exif_metadata(exif(orientation)).expect("it can have one");
        halves(64, 32).write_with_encoder(encoder).expect("it can be encoded");
        let scaled = scale(&bytes, 32, MOST).expect("it is a picture");
        let picture = decoded(&scaled);
        let turned = (5..=8).contains(&orientation);
        let size = if turned { (16, 32) } else { (32, 16) };
        assert_eq!((picture.width(), picture.height()), size, "{orientation}");
        is_at(&picture, red.0, red.1, RED);
        is_at(&picture, blue.0, blue.1, BLUE);
        // Once is enough.
        let mut again = JpegDecoder::new(Cursor::new(&scaled.bytes[..])).expect("it is one");
        assert_eq!(again.orientation().expect("readable"), image::metadata::Orientation::NoTransforms);
    }
}

fn profile(space: &[u8; 4], len: usize) -> Vec<u8> {
    let mut profile = vec![7; len];
    profile[16..20].copy_from_slice(space);
    profile
}

#[test]
fn a_colour_profile_is_kept_if_it_is_one_of_what_is_sent() {
    for (space, len, kept) in
        [(b"RGB ", 500, true), (b"CMYK", 500, false), (b"GRAY", 500, false), (b"RGB ", 70_000, false)]
    {
        let mut bytes = Vec::new();
        let mut encoder = JpegEncoder::new_with_quality(&mut bytes, 90);
        encoder.set_icc_profile(profile(space, len)).expect("it can have one");
        halves(64, 32).write_with_encoder(encoder).expect("it can be encoded");
        let scaled = scale(&bytes, 32, MOST).expect("it is a picture");
        let found = JpegDecoder::new(Cursor::new(&scaled.bytes[..])).and_then(|mut decoder| decoder.icc_profile());
        assert_eq!(found.expect("readable"), kept.then(|| profile(space, len)), "{space:?}");
    }
}

#[test]
fn more_pixels_than_allowed_are_refused_before_they_are_decoded() {
    let exact = encoded(&halves(100, 100).into(), ImageFormat::Png);
    assert!(scale(&exact, 50, 10_000).is_ok());
    for format in FORMATS {
        let bytes = encoded(&halves(101, 100).into(), format);
        let why = scale(&bytes, 50, 10_000).expect_err("it is too large");
        assert!(why.contains("101 × 100") && why.contains("10000"), "{why}");
    }
}

#[test]
fn a_small_file_that_claims_to_be_huge_is_refused() {
    let mut gif = encoded(&halves(4, 4).into(), ImageFormat::Gif);
    gif[6..10].fill(0xff);
    let mut jpeg = encoded(&halves(4, 4).into(), ImageFormat::Jpeg);
    let frame = jpeg.windows(2).position(|two| two == [0xff, 0xc0]).expect("it has a frame");
    jpeg[frame + 5..frame + 9].fill(0xff);
    for bytes in [gif, jpeg] {
        let why = scale(&bytes, 50, 64_000_000).expect_err("it is too large");
        assert!(why.contains("65535 × 65535"), "{why}");
    }
    // A frame larger than the picture that it is one of.
    let mut gif = encoded(&halves(4, 4).into(), ImageFormat::Gif);
    let frame = gif.iter().rposition(|byte| *byte == 0x2c).expect("it has a frame");
    let frame = gif[..=frame].iter().rposition(|byte| *byte == 0x2c).unwrap_or(frame);
    gif[frame + 5..frame + 9].fill(0xff);
    let _ = scale(&gif, 50, 1000);
}

/// A chunk of a WebP file.
fn chunk(name: &str, bytes: &[u8]) -> Vec<u8> {
    let mut chunk = claiming(name, bytes.len() as u32, bytes);
    chunk.resize(chunk.len().next_multiple_of(2), 0);
    chunk
}

/// Returns a chunk that claims to have that length.
fn claiming(name: &str, len: u32, bytes: &[u8]) -> Vec<u8> {
    [name.as_bytes(), &len.to_le_bytes(), bytes].concat()
}

/// A WebP file of 16 × 16 pixels with these flags and chunks.
fn webp(flags: u8, chunks: &[Vec<u8>]) -> Vec<u8> {
    let picture = chunk("VP8X", &[flags, 0, 0, 0, 15, 0, 0, 15, 0, 0]);
    let inside = [b"WEBP".to_vec(), picture, chunks.concat()].concat();
    claiming("RIFF", inside.len() as u32, &inside)
}

/// The chunk of a lossless picture of 16 × 16 pixels.
fn lossless() -> Vec<u8> {
    encoded(&halves(16, 16).into(), ImageFormat::WebP).split_off(12)
}

/// Returns the beginning of a lossy frame of that size.
fn lossy(side: u16) -> Vec<u8> {
    [&[0x10, 0x02, 0, 0x9d, 0x01, 0x2a][..], &side.to_le_bytes(), &side.to_le_bytes(), &[0; 8]].concat()
}

/// A frame of an animation that has all of those 16 × 16 pixels.
fn frame(chunks: &[Vec<u8>]) -> Vec<u8> {
    let head = [0, 0, 0, 0, 0, 0, 15, 0, 0, 15, 0, 0, 100, 0, 0, 0];
    chunk("ANMF", &[&head[..], &chunks.concat()].concat())
}

const ICC: u8 = 0x20;
const EXIF: u8 = 0x08;
const ANIMATION: u8 = 0x02;

#[test]
fn a_webp_of_many_chunks_is_scaled() {
    let anim = chunk("ANIM", &[0; 6]);
    for bytes in [
        webp(ICC, &[chunk("ICCP", &profile(b"RGB ", 501)), lossless()]),
        webp(EXIF, &[lossless(), chunk("EXIF", &exif(1))]),
        webp(0, &[lossless(), claiming("mine", 99, b"what nobody knows may be cut off")]),
        webp(ANIMATION, &[anim.clone(), frame(&[lossless()]), frame(&[chunk("VP8 ", &lossy(0x3fff))])]),
    ] {
        let picture = decoded(&scale(&bytes, 8, MOST).expect("it is a picture"));
        assert_eq!((picture.width(), picture.height()), (8, 8));
        is_at(&picture, 1, 4, RED);
    }
}

#[test]
fn a_webp_chunk_that_claims_more_than_the_file_is_refused_unread() {
    let anim = chunk("ANIM", &[0; 6]);
    for (name, bytes) in [
        ("ICCP", webp(ICC, &[lossless(), claiming("ICCP", 0xffff_fffe, b"x")])),
        ("EXIF", webp(EXIF, &[lossless(), claiming("EXIF", 0xffff_fffe, b"x")])),
        // The decoder takes these for the picture's, too.
        ("ICCP", webp(ICC | ANIMATION, &[anim.clone(), frame(&[lossless(), claiming("ICCP", 0xffff_fffe, b"x")])])),
        ("EXIF", webp(ANIMATION, &[anim, frame(&[lossless(), claiming("EXIF", 0xffff_fffe, b"x")])])),
    ] {
        let why = scale(&bytes, 8, MOST).expect_err("it claims too much");
        assert!(why.contains(&format!("`{name}` extends past the end of the file")), "{why}");
    }
}

#[test]
fn a_webp_frame_larger_than_the_picture_is_refused_before_decoding() {
    let (anim, alpha) = (chunk("ANIM", &[0; 6]), chunk("ALPH", &[0; 257]));
    for bytes in [
        webp(0, &[chunk("VP8 ", &lossy(0x3fff))]),
        webp(ANIMATION, &[anim.clone(), frame(&[chunk("VP8 ", &lossy(0x3fff))])]),
        webp(ANIMATION, &[anim.clone(), frame(&[alpha.clone(), chunk("VP8 ", &lossy(0x3fff))])]),
        // Whatever its name is.
        webp(ANIMATION, &[anim, frame(&[alpha, chunk("mine", &lossy(0x3fff))])]),
    ] {
        let why = scale(&bytes, 8, MOST).expect_err("it is too large");
        assert!(why.contains("16383 × 16383") && why.contains("1000000"), "{why}");
    }
}

#[test]
fn what_is_no_picture_is_refused_with_the_reason() {
    for (bytes, why) in [
        (&b""[..], "format is not known"),
        (b"<story/>", "format is not known"),
        (b"BM nothing of use", "image/bmp pictures are not scaled"),
        (b"\x89PNG\r\n\x1a\n", "can't be decoded"),
        (b"\xff\xd8\xff\xe0", "can't be decoded"),
        (b"GIF89a", "can't be decoded"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "can't be decoded"),
    ] {
        let found = scale(bytes, 50, MOST).expect_err("it is none");
        assert!(found.contains(why), "{found}");
    }
}

#[test]
fn a_picture_that_ends_early_or_is_damaged_anywhere_breaks_nothing() {
    for format in FORMATS {
        let whole = encoded(&halves(12, 9).into(), format);
        for end in 0..whole.len() {
            let _ = scale(&whole[..end], 8, MOST);
        }
        scale(&whole[..whole.len() / 2], 8, MOST).expect_err("half of it is missing");
        if format == ImageFormat::Jpeg {
            let found = scale(&whole[..whole.len() - 2], 8, MOST).expect_err("the end is missing");
            assert!(found.contains("incomplete"), "{found}");
        }
        for at in 0..whole.len() {
            for change in [0x01, 0xff] {
                let mut damaged = whole.clone();
                damaged[at] ^= change;
                // Within such bounds that a size that is claimed costs nothing either.
                let _ = scale(&damaged, 8, 10_000);
            }
        }
    }
    let mut bytes = Vec::new();
    let encoder = WebPEncoder::new_lossless(&mut bytes);
    halves(24, 16).write_with_encoder(encoder).expect("it can be encoded");
    assert!(scale(&bytes, 8, MOST).is_ok());
}

/// A file of `tests/pictures`, written by `cjpeg` of libjpeg-turbo: green on the left, red above
/// blue on the right.
macro_rules! fixture {
    ($name:literal) => {
        include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/pictures/", $name))
    };
}

#[test]
fn a_jpeg_is_scaled_right_or_refused_whatever_its_sampling_and_scans() {
    for bytes in [
        &fixture!("chroma-2x2.jpg")[..],
        fixture!("chroma-2x2-progressive.jpg"),
        fixture!("chroma-1x1-one-scan-each.jpg"),
    ] {
        let picture = decoded(&scale(bytes, 48, MOST).expect("it is supported"));
        is_at(&picture, 8, 16, Rgb([32, 176, 64]));
        is_at(&picture, 40, 2, Rgb([197, 47, 27]));
        is_at(&picture, 40, 29, Rgb([26, 63, 180]));
    }
    for (bytes, why) in [
        (&fixture!("chroma-2x2-one-scan-each.jpg")[..], "separate scans"),
        (fixture!("chroma-2x2-two-scans.jpg"), "separate scans"),
        (fixture!("chroma-2x1-two-scans.jpg"), "separate scans"),
        (fixture!("chroma-finer-than-luma.jpg"), "higher resolution than its brightness"),
    ] {
        let found = scale(bytes, 48, MOST).expect_err("it would come out wrong");
        assert!(found.contains(why), "{found}");
    }
}
