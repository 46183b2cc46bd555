//! What a WebP file claims, looked at before it is decoded: the decoder takes memory for a chunk by
//! the length that the chunk claims, and decodes a lossy frame of any size before it compares that
//! with the picture's.
//!
//! The walk is the decoder's own: the chunks behind `VP8X`, and those in the first frame of an
//! animation. A file without `VP8X` is one frame, of which all that is claimed is the size that the
//! picture is taken to have. Lossless frames are compared with the picture's size before they take
//! memory.
//!
//! It stands in for these, and can go when they are done: image-rs/image-webp#21 (memory limits,
//! open: the length of a chunk is believed, and lossy frames are decoded before any limit),
//! image-rs/image-webp#186 (open: a lossy frame behind an alpha channel is never compared with the
//! frame of the animation), image-rs/image#3077 (`image` passes no limits on to its WebP decoder;
//! closed, but nothing of it is in `image` 0.25.10).

/// Where chunks begin: behind `RIFF`, its length and `WEBP`.
const CHUNKS: u64 = 12;

/// The head of a chunk: its name and its length.
const HEADER: u64 = 8;

/// What a frame of an animation (`ANMF`) begins with, before its chunks.
const FRAME_HEADER: u64 = 16;

/// The chunks that the decoder knows.
const KNOWN: [&[u8; 4]; 8] = [b"VP8 ", b"VP8L", b"ALPH", b"ANIM", b"ANMF", b"ICCP", b"EXIF", b"XMP "];

/// # Errors
/// Errors, each the end of a sentence: a chunk ends behind the file, or a lossy frame has more than
/// `most_pixels`.
pub(super) fn check(bytes: &[u8], most_pixels: u64) -> Result<(), String> {
    // The decoder reports whatever is wrong with these.
    let Some(first) = Chunk::at(bytes, CHUNKS).filter(|first| first.name == *b"VP8X") else { return Ok(()) };
    let length = number(bytes, 4, 4).unwrap_or_default();
    // So far the decoder looks, which is a little behind the end.
    let end = first.next + length.saturating_sub(CHUNKS);
    let mut animated = false;
    let mut next = first.next;
    while next < end
        && let Some(chunk) = Chunk::at(bytes, next)
    {
        chunk.check(bytes, most_pixels, chunk.name == *b"VP8 ")?;
        if chunk.name == *b"ANMF" && !std::mem::replace(&mut animated, true) {
            check_frame(bytes, &chunk, most_pixels)?;
        }
        next = chunk.next;
    }
    Ok(())
}

/// The chunks of a frame: one, or an alpha channel and another, which the decoder takes for a lossy
/// frame whatever its name is.
fn check_frame(bytes: &[u8], frame: &Chunk, most_pixels: u64) -> Result<(), String> {
    let Some(first) = Chunk::at(bytes, frame.start + FRAME_HEADER) else { return Ok(()) };
    first.check(bytes, most_pixels, first.name == *b"VP8 ")?;
    let Some(second) = Chunk::at(bytes, first.next) else { return Ok(()) };
    second.check(bytes, most_pixels, second.name == *b"VP8 " || first.name == *b"ALPH")
}

struct Chunk {
    name: [u8; 4],
    /// Where its content begins; `len` is its length.
    start: u64,
    len: u64,
    /// Where the next chunk begins, at an even offset.
    next: u64,
}

impl Chunk {
    /// The one whose header is there.
    fn at(bytes: &[u8], place: u64) -> Option<Chunk> {
        let from = usize::try_from(place).ok()?;
        let name = *bytes.get(from..)?.first_chunk()?;
        let len = number(bytes, place + 4, 4)?;
        let start = place + HEADER;
        Some(Chunk { name, start, len, next: start + (len + len % 2).min(u64::from(u32::MAX)) })
    }

    fn check(&self, bytes: &[u8], most_pixels: u64, is_lossy: bool) -> Result<(), String> {
        if KNOWN.contains(&&self.name) && self.start + self.len > bytes.len() as u64 {
            let name = String::from_utf8_lossy(&self.name);
            return Err(format!("it can't be decoded: its chunk `{}` ends behind the file", name.trim_end()));
        }
        if !is_lossy {
            return Ok(());
        }
        // Behind three bytes of flags and three that are always the same. Of what is shorter the
        // decoder takes nothing.
        let side = |place| number(bytes, self.start + place, 2).map(|side| side & 0x3fff);
        let (Some(width), Some(height)) = (side(6), side(8)) else { return Ok(()) };
        if width * height > most_pixels {
            return Err(format!("it has {width} × {height} pixels, where {most_pixels} in all are allowed"));
        }
        Ok(())
    }
}

/// A number of so many bytes, the least one first.
fn number(bytes: &[u8], place: u64, len: usize) -> Option<u64> {
    let bytes = bytes.get(usize::try_from(place).ok()?..)?.get(..len)?;
    Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}
