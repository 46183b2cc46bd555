//! Detection of JPEG files that the decoder would read wrongly without an error, by their markers.
//!
//! The decoder (zune-jpeg 0.5) was compared with libjpeg-turbo over sampling factors and scan
//! scripts. Two kinds come out in wrong colours, or panic:
//!
//! - A sequential file whose components come in scans of their own, if any component is sampled
//!   more than once.
//! - A file whose first component is not the one that is sampled most, such as a chroma that is
//!   finer than the brightness.
//!
//! Both are rare. All other complete files agree with libjpeg-turbo or are refused by the decoder
//! itself. The decoder fills the rest of a truncated file with grey: such a file is refused here,
//! too.

/// Refuses a file that would be decoded wrongly.
///
/// # Errors
/// The reason, as the end of a sentence.
pub(super) fn check(bytes: &[u8]) -> Result<(), String> {
    let mut frame = None;
    let mut at = 2;
    while let Some(segment) = JpegSegment::at(bytes, &mut at) {
        match segment.marker {
            // Frames; C4, C8 and CC are tables.
            0xc0..=0xcf if !matches!(segment.marker, 0xc4 | 0xc8 | 0xcc) => frame = JpegFrame::of(&segment),
            SCAN => {
                if !bytes[at..].windows(2).rev().any(|pair| pair == END) {
                    return Err("it is incomplete".to_owned());
                }
                let scanned = segment.body.first().copied().unwrap_or_default();
                return frame.map_or(Ok(()), |frame| frame.check(usize::from(scanned)));
            }
            _ => {}
        }
    }
    // The decoder itself reports anything that is missing before the first scan.
    Ok(())
}

/// The marker before a scan.
const SCAN: u8 = 0xda;

/// The marker after the last scan.
const END: [u8; 2] = [0xff, 0xd9];

struct JpegSegment<'b> {
    marker: u8,
    body: &'b [u8],
}

impl JpegSegment<'_> {
    /// The next segment with a length, from `at` on. Bytes between segments are skipped, as the
    /// decoder does.
    fn at<'b>(bytes: &'b [u8], at: &mut usize) -> Option<JpegSegment<'b>> {
        loop {
            *at += bytes.get(*at..)?.iter().position(|byte| *byte == 0xff)?;
            *at += bytes[*at..].iter().position(|byte| *byte != 0xff)?;
            let marker = bytes[*at];
            *at += 1;
            // A stuffed byte, restarts and the beginning of the file have no length.
            if !matches!(marker, 0x00 | 0x01 | 0xd0..=0xd8) {
                let length = usize::from(u16::from_be_bytes(*bytes.get(*at..)?.first_chunk()?));
                let body = bytes.get(*at + 2..*at + length.max(2))?;
                *at += length.max(2);
                return Some(JpegSegment { marker, body });
            }
        }
    }
}

/// The frame header of a picture.
struct JpegFrame {
    is_sequential: bool,
    /// Sampling factors of each component: horizontal and vertical.
    sampled: Vec<(u8, u8)>,
}

impl JpegFrame {
    fn of(segment: &JpegSegment<'_>) -> Option<JpegFrame> {
        // After precision, height, width and the number of components, each component has its name,
        // sampling and table.
        let components = segment.body.get(6..)?.chunks_exact(3);
        let sampled = components.map(|component| (component[1] >> 4, component[1] & 15)).collect();
        Some(JpegFrame { is_sequential: matches!(segment.marker, 0xc0 | 0xc1), sampled })
    }

    /// Checks that the decoder reads the frame correctly, if the first scan has that many
    /// components.
    fn check(&self, scanned: usize) -> Result<(), String> {
        let Some(first) = self.sampled.first().filter(|_| self.sampled.len() > 1) else { return Ok(()) };
        let is_apart = self.is_sequential && scanned < self.sampled.len();
        if is_apart && self.sampled.iter().any(|sampled| *sampled != (1, 1)) {
            return Err(
                "its colour components have separate scans and different resolutions, which is not supported".into()
            );
        }
        if self.sampled.iter().any(|(across, down)| *across > first.0 || *down > first.1) {
            return Err("its colours have a higher resolution than its brightness, which is not supported".into());
        }
        Ok(())
    }
}
