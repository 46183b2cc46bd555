//! Texts, attributes and documents of a given size.

use serde_json::{Value, json};

/// Returns a text of this number of bytes: words of pseudo-random letters, so that it compresses
/// about as well as prose.
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

/// Returns attributes of one element with a text of this number of bytes.
pub fn attributes(bytes: usize, seed: u64) -> Value {
    json!({ "story": { "headline": text(bytes, seed) } })
}

/// Returns attributes of this number of elements, each with a short text.
pub fn many_attributes(elements: usize) -> Value {
    json!({ "story": { "keyword": vec!["ab"; elements] } })
}

/// Returns a document of about this number of bytes, in paragraphs of 40 bytes.
pub fn document(bytes: usize) -> Vec<u8> {
    let paragraph = format!("<p>{}</p>", text(33, 7));
    format!("<story>{}</story>", paragraph.repeat(bytes / paragraph.len())).into_bytes()
}
