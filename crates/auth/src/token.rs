//! Tokens: opaque texts that authenticate their holders (docs/api/auth.md, "Sessions").

use std::fmt;

use rand::TryRng;
use rand::rngs::SysRng;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use stet_domain::error::{Error, Result};

/// 64 characters that need no escaping in a URL, a header or a cookie. 64 divides 256, so a random
/// byte selects one evenly.
const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// 32 characters that can't be confused with one another when they are read out.
const READABLE: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// A token, which its owner receives once. It prints as `…`.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// Number of characters of a session's token: 6 random bits each, so 192 bits
    /// (docs/api/auth.md, "Sessions").
    pub const LEN: usize = 32;

    /// The prefix of a key's token, by which scanners for secrets recognise one.
    pub const KEY_PREFIX: &str = "stk_";

    /// Generates a key's token that can't be guessed: [`Token::KEY_PREFIX`], then the random text
    /// of a session's token.
    ///
    /// # Errors
    /// The errors of [`Token::generate`].
    pub(super) fn generate_key() -> Result<Token> {
        let random = random_text::<{ Token::LEN }>(URL_SAFE)?;
        Ok(Token(format!("{}{random}", Token::KEY_PREFIX)))
    }

    /// Generates a token that can't be guessed.
    ///
    /// # Errors
    /// `RepositoryError` when the operating system has no random numbers.
    pub(super) fn generate() -> Result<Token> {
        random_text::<{ Token::LEN }>(URL_SAFE).map(Token)
    }

    /// Returns the hash by which the session is found.
    pub(super) fn hash(&self) -> TokenHash {
        TokenHash::of_text(&self.0)
    }

    /// Returns the text, for the reply and the cookie only.
    pub fn text(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// SHA-256 of a token, which is stored, and by which sessions are found.
///
/// A slow hash would protect nothing, because a token is as random as a key. Nor need hashes be
/// compared in constant time. The duration of a comparison reveals something of the first bytes of
/// a stored hash. But a caller chooses tokens, not hashes, and knowing those bytes does not help to
/// find a token.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TokenHash([u8; 32]);

impl TokenHash {
    /// Returns the hash of a text that has a token's length; `None` for other texts, since no token
    /// is like that.
    pub(super) fn of(token: &str) -> Option<TokenHash> {
        let random = token.strip_prefix(Token::KEY_PREFIX).filter(|rest| rest.len() == Token::LEN).unwrap_or(token);
        (random.len() == Token::LEN).then(|| TokenHash::of_text(token))
    }

    fn of_text(token: &str) -> TokenHash {
        TokenHash(Sha256::digest(token.as_bytes()).into())
    }

    /// Returns the bytes, which are the session's key in its table.
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenHash(…)")
    }
}

/// Generates a session's public reference, for locks and logs. It is random, so the token can't be
/// derived from it.
pub(super) fn reference() -> Result<String> {
    random_text::<12>(READABLE)
}

/// Returns `N` characters drawn evenly from an alphabet whose length divides 256.
fn random_text<const N: usize>(alphabet: &[u8]) -> Result<String> {
    let mut bytes = [0; N];
    SysRng.try_fill_bytes(&mut bytes).map_err(|error| {
        tracing::error!(%error, "cannot get random numbers from the operating system");
        Error::internal()
    })?;
    Ok(bytes.iter().map(|byte| char::from(alphabet[usize::from(*byte) % alphabet.len()])).collect())
}
