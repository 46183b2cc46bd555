//! Tokens: opaque texts that authenticate whoever holds them (docs/api/auth.md, "Sessions").

use std::fmt;

use rand::TryRng;
use rand::rngs::SysRng;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use stet_actors::error::{Error, Result};

/// 64 characters that need no escaping in a URL, a header or a cookie. With 64 of them, any byte
/// picks one evenly.
const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// 32 characters that can't be taken for one another when they are read out.
const READABLE: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// A token as its owner gets it, once. It prints as `…`.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// Characters of a session's token: 6 random bits each, so 192 bits (docs/api/auth.md,
    /// "Sessions").
    pub const LEN: usize = 32;

    /// What a key's token begins with, so that scanners for secrets recognise one.
    pub const KEY_PREFIX: &str = "stk_";

    /// A key's token that nobody can guess: [`Token::KEY_PREFIX`], then what a session's is made
    /// of.
    ///
    /// # Errors
    /// As [`Token::generate`].
    pub(super) fn generate_key() -> Result<Token> {
        let random = random_text::<{ Token::LEN }>(URL_SAFE)?;
        Ok(Token(format!("{}{random}", Token::KEY_PREFIX)))
    }

    /// A token that nobody can guess.
    ///
    /// # Errors
    /// `RepositoryError` when the operating system has no random numbers.
    pub(super) fn generate() -> Result<Token> {
        random_text::<{ Token::LEN }>(URL_SAFE).map(Token)
    }

    /// What its session is found by.
    pub(super) fn hash(&self) -> TokenHash {
        TokenHash::of_text(&self.0)
    }

    /// The text, for the reply and the cookie only.
    pub fn text(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// SHA-256 of a token: what is stored, and what sessions are found by.
///
/// A slow hash would protect nothing, because a token is as random as a key. Nor need hashes be
/// compared in constant time: how long a comparison takes reveals something of the first bytes of a
/// stored hash, but a caller chooses tokens, not hashes, and can't find a token whose hash begins
/// as wanted any sooner for knowing them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TokenHash([u8; 32]);

impl TokenHash {
    /// The hash of a text that has a token's length; of another none is known, so none is made.
    pub(super) fn of(token: &str) -> Option<TokenHash> {
        let random = token.strip_prefix(Token::KEY_PREFIX).filter(|rest| rest.len() == Token::LEN).unwrap_or(token);
        (random.len() == Token::LEN).then(|| TokenHash::of_text(token))
    }

    fn of_text(token: &str) -> TokenHash {
        TokenHash(Sha256::digest(token.as_bytes()).into())
    }

    /// The bytes: the session's key in its table.
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenHash(…)")
    }
}

/// A session's public reference, for locks and logs. Random on its own: nothing leads from it to
/// the token.
pub(super) fn reference() -> Result<String> {
    random_text::<12>(READABLE)
}

/// `N` characters drawn evenly from an alphabet whose length divides 256.
fn random_text<const N: usize>(alphabet: &[u8]) -> Result<String> {
    let mut bytes = [0; N];
    SysRng.try_fill_bytes(&mut bytes).map_err(|error| {
        tracing::error!(%error, "the operating system gives no random numbers");
        Error::internal()
    })?;
    Ok(bytes.iter().map(|byte| char::from(alphabet[usize::from(*byte) % alphabet.len()])).collect())
}
