//! SHA-256 hashes as names and values.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// A SHA-256. Its text is 64 lower-case hexadecimal digits, in JSON as well.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Sha256Hash(pub [u8; 32]);

impl Sha256Hash {
    /// Computes the hash of some bytes.
    pub fn of(bytes: &[u8]) -> Sha256Hash {
        Sha256Hash(Sha256::digest(bytes).into())
    }

    /// Parses the text of a hash; returns `None` for any other text, such as one in capitals.
    pub fn parse(text: &str) -> Option<Sha256Hash> {
        let digits: &[u8; 64] = text.as_bytes().try_into().ok()?;
        let mut hash = [0; 32];
        for (byte, pair) in hash.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = digit(pair[0])? << 4 | digit(pair[1])?;
        }
        Some(Sha256Hash(hash))
    }
}

/// Returns the value of a lower-case hexadecimal digit.
pub(crate) fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    }
}

impl fmt::Display for Sha256Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Sha256Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<Sha256Hash> for String {
    fn from(hash: Sha256Hash) -> String {
        hash.to_string()
    }
}

impl TryFrom<String> for Sha256Hash {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Sha256Hash, &'static str> {
        Sha256Hash::parse(&text).ok_or("a SHA-256 has 64 lower-case hexadecimal digits")
    }
}
