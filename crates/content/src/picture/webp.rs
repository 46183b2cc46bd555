//! Checks of the sizes that a WebP file claims, before it is decoded. The decoder allocates memory
//! for a chunk by the claimed length, and decodes a lossy frame of any size before comparing that
//! with the picture's.
//!
//! The walk is that of the decoder: the chunks after `VP8X`, and those in the first frame of an
//! animation. A file without `VP8X` is one frame, and claims nothing but the size of the picture.
//! Lossless frames are compared with the picture's size before memory is allocated.
//!
//! This is a workaround for the following, and can be removed when they are fixed:
//! image-rs/image-webp#21 (memory limits, open: the length of a chunk is believed, and lossy frames
//! are decoded before any limit), image-rs/image-webp#186 (open: a lossy frame behind an alpha
//! channel is never compared with the frame of the animation), image-rs/image#3077 (`image` passes
//! no limits on to its WebP decoder; closed, but nothing of it is in `image` 0.25.10).

/// Offset of the first chunk: after `RIFF`, its length and `WEBP`.
const CHUNKS: u64 = 12;

/// Bytes of the head of a chunk: its name and its length.
const HEADER: u64 = 8;

/// Bytes of the header of an animation's frame (`ANMF`), before its chunks.
const FRAME_HEADER: u64 = 16;

/// The chunks that the decoder knows.
const KNOWN: [&[u8; 4]; 8] = [b"VP8 ", b"VP8L", b"ALPH", b"ANIM", b"ANMF", b"ICCP", b"EXIF", b"XMP "];

/// Checks the sizes that a file claims.
///
/// # Errors
/// The end of a sentence: a chunk ends behind the file, or a lossy frame has more than
/// `most_pixels`.
pub(super) fn check(bytes: &[u8], most_pixels: u64) -> Result<(), String> {
    // The decoder itself reports faults in these.
    let Some(first) = WebpChunk::at(bytes, CHUNKS).filter(|first| first.name == *b"VP8X") else { return Ok(()) };
    let length = number(bytes, 4, 4).unwrap_or_default();
    // The decoder looks as far as this, which is a little behind the end.
    let end = first.next + length.saturating_sub(CHUNKS);
    let mut animated = false;
    let mut next = first.next;
    while next < end
        && let Some(chunk) = WebpChunk::at(bytes, next)
    {
        chunk.check(bytes, most_pixels, chunk.name == *b"VP8 ")?;
        if chunk.name == *b"ANMF" && !std::mem::replace(&mut animated, true) {
            check_frame(bytes, &chunk, most_pixels)?;
        }
        next = chunk.next;
    }
    Ok(())
}

/// Checks the chunks of a frame: one, or an alpha channel and a second one, which the decoder takes
/// for a lossy frame whatever its name is.
fn check_frame(bytes: &[u8], frame: &WebpChunk, most_pixels: u64) -> Result<(), String> {
    let Some(first) = WebpChunk::at(bytes, frame.start + FRAME_HEADER) else { return Ok(()) };
    first.check(bytes, most_pixels, first.name == *b"VP8 ")?;
    let Some(second) = WebpChunk::at(bytes, first.next) else { return Ok(()) };
    second.check(bytes, most_pixels, second.name == *b"VP8 " || first.name == *b"ALPH")
}

struct WebpChunk {
    name: [u8; 4],
    /// Offset of its content; `len` is the length of that.
    start: u64,
    len: u64,
    /// Offset of the next chunk, which is even.
    next: u64,
}

impl WebpChunk {
    /// Returns the chunk whose header is at that offset.
    fn at(bytes: &[u8], place: u64) -> Option<WebpChunk> {
        let from = usize::try_from(place).ok()?;
        let name = *bytes.get(from..)?.first_chunk()?;
        let len = number(bytes, place + 4, 4)?;
        let start = place + HEADER;
        Some(WebpChunk { name, start, len, next: start + (len + len % 2).min(u64::from(u32::MAX)) })
    }

    fn check(&self, bytes: &[u8], most_pixels: u64, is_lossy: bool) -> Result<(), String> {
        if KNOWN.contains(&&self.name) && self.start + self.len > bytes.len() as u64 {
            let name = String::from_utf8_lossy(&self.name);
            return Err(format!(
                "it can't be decoded: its chunk `{}` extends past the end of the file",
                name.trim_end()
            ));
        }
        if !is_lossy {
            return Ok(());
        }
        // After three bytes of flags and three constant bytes. The decoder allocates nothing for a
        // shorter chunk.
        let side = |place| number(bytes, self.start + place, 2).map(|side| side & 0x3fff);
        let (Some(width), Some(height)) = (side(6), side(8)) else { return Ok(()) };
        if width * height > most_pixels {
            return Err(format!("it has {width} × {height} pixels; at most {most_pixels} in all are allowed"));
        }
        Ok(())
    }
}

/// Reads a little-endian number of `len` bytes.
fn number(bytes: &[u8], place: u64, len: usize) -> Option<u64> {
    let bytes = bytes.get(usize::try_from(place).ok()?..)?.get(..len)?;
    Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}
