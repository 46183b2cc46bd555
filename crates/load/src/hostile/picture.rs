//! A picture of large dimensions in a small file.

/// A bit stream as DEFLATE has it: the first bit is the lowest of the first byte.
#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    count: usize,
}

impl Bits {
    /// Adds bits, the first one first.
    fn push(&mut self, bits: &[u8]) {
        for bit in bits {
            if self.count.is_multiple_of(8) {
                self.bytes.push(0);
            }
            *self.bytes.last_mut().expect("a byte has been added") |= bit << (self.count % 8);
            self.count += 1;
        }
    }
}

/// Returns a PNG file of black pixels, 16 bits for each of four channels.
pub fn black(side: u32) -> Vec<u8> {
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    let mut header = [side.to_be_bytes(), side.to_be_bytes()].concat();
    // 16 bits, red, green, blue and alpha, no interlacing.
    header.extend([16, 6, 0, 0, 0]);
    chunk(&mut file, *b"IHDR", &header);
    chunk(&mut file, *b"IDAT", &zeros(u64::from(side) * (u64::from(side) * 8 + 1)));
    chunk(&mut file, *b"IEND", &[]);
    file
}

fn chunk(file: &mut Vec<u8>, kind: [u8; 4], data: &[u8]) {
    // A picture of a small file: its length fits.
    file.extend(u32::try_from(data.len()).unwrap_or(u32::MAX).to_be_bytes());
    let begin = file.len();
    file.extend(kind);
    file.extend(data);
    let sum = crc(&file[begin..]);
    file.extend(sum.to_be_bytes());
}

/// The checksum of a chunk (CRC-32).
fn crc(bytes: &[u8]) -> u32 {
    let step = |sum: u32, _| if sum & 1 == 1 { sum >> 1 ^ 0xedb8_8320 } else { sum >> 1 };
    !bytes.iter().fold(u32::MAX, |sum, byte| (0..8).fold(sum ^ u32::from(*byte), step))
}

/// Returns a zlib stream of this many zeros: one literal, and repetitions of 258 bytes by the fixed codes.
fn zeros(count: u64) -> Vec<u8> {
    const LITERAL_ZERO: [u8; 8] = [0, 0, 1, 1, 0, 0, 0, 0];
    /// A repetition of 258 bytes, from one byte before.
    const REPEAT: [u8; 13] = [1, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0];
    const LONGEST: u64 = 258;
    let mut bits = Bits::default();
    // The last block, with the fixed codes.
    bits.push(&[1, 1, 0]);
    let repeats = count.saturating_sub(1) / LONGEST;
    (0..count - repeats * LONGEST).for_each(|_| bits.push(&LITERAL_ZERO));
    (0..repeats).for_each(|_| bits.push(&REPEAT));
    bits.push(&[0; 7]);
    // A window of 32 KiB; of zeros Adler-32 has the sum 1, and the sum of sums is their number.
    let sum = ((count % 65_521) << 16 | 1) as u32;
    [&[0x78, 0x01][..], &bits.bytes, &sum.to_be_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checksum_is_that_of_the_standard() {
        assert_eq!(crc(b"123456789"), 0xcbf4_3926);
        // The end of every PNG file.
        assert!(black(1).ends_with(&[0, 0, 0, 0, b'I', b'E', b'N', b'D', 0xae, 0x42, 0x60, 0x82]));
    }

    #[test]
    fn a_large_picture_is_a_small_file() {
        assert!(black(4000).len() < 1 << 20, "{}", black(4000).len());
    }

    #[test]
    fn few_zeros_are_what_other_programs_write() {
        // `zlib` with the fixed codes, of one zero.
        assert_eq!(zeros(1), [0x78, 0x01, 0x63, 0x00, 0x00, 0x00, 0x01, 0x00, 0x01]);
    }
}
