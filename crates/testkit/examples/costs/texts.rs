//! Texts, attributes, pictures and documents of a given size.

use std::io::Write as _;

use serde_json::{Value, json};

/// A text of this many bytes: words of pseudo-random letters, so that it compresses about as prose does.
pub fn text(bytes: usize, seed: u64) -> String {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut text = String::with_capacity(bytes);
    while text.len() < bytes {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let letter = (state >> 33) % 31;
        text.push(if letter < 26 { char::from(b'a' + letter as u8) } else { ' ' });
    }
    text
}

/// Attributes of one element with a text of this many bytes.
pub fn attributes(bytes: usize, seed: u64) -> Value {
    json!({ "story": { "headline": text(bytes, seed) } })
}

/// Attributes of this many elements, each with a short text.
pub fn many_attributes(elements: usize) -> Value {
    json!({ "story": { "keyword": vec!["ab"; elements] } })
}

/// A document of about this many bytes in paragraphs of 40 bytes.
pub fn document(bytes: usize) -> Vec<u8> {
    let paragraph = format!("<p>{}</p>", text(33, 7));
    format!("<story>{}</story>", paragraph.repeat(bytes / paragraph.len())).into_bytes()
}

/// A PNG file of black pixels, 16 bits for each of four channels: the dearest kind for its bytes.
pub fn picture(side: u32) -> Vec<u8> {
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
    file.extend((data.len() as u32).to_be_bytes());
    let named = [&kind, data].concat();
    let mut sum = flate2::Crc::new();
    sum.update(&named);
    file.extend(named);
    file.extend(sum.sum().to_be_bytes());
}

/// Returns a zlib stream of this many zeros. One compressed block is repeated, so that it takes no time to make.
fn zeros(count: u64) -> Vec<u8> {
    const BLOCK: u64 = 1 << 20;
    let deflated = |count: u64, flush: flate2::FlushCompress| {
        let mut compress = flate2::Compress::new(flate2::Compression::best(), false);
        let mut out = Vec::with_capacity(1 << 16);
        let done = compress.compress_vec(&vec![0; count as usize], &mut out, flush);
        done.expect("zeros can be compressed");
        out
    };
    let mut stream = vec![0x78, 0xda];
    let block = deflated(BLOCK, flate2::FlushCompress::Full);
    for _ in 0..count / BLOCK {
        stream.write_all(&block).expect("a vector takes all");
    }
    stream.extend(deflated(count % BLOCK, flate2::FlushCompress::Finish));
    // Adler-32 of zeros: the sum stays 1, and the sum of sums is their number.
    let sum = (((count % 65_521) as u32) << 16) | 1;
    stream.extend(sum.to_be_bytes());
    stream
}
