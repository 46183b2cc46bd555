//! Passwords: Argon2id, away from the threads that serve requests (docs/api/groups-and-users.md,
//! "Passwords").

use std::borrow::Cow;
use std::fmt;

use argon2::password_hash::phc::{Output, ParamsString, PasswordHash as Phc, Salt};
use argon2::{ARGON2ID_IDENT, Algorithm, Argon2, Params, PasswordHasher, PasswordVerifier, Version};
use rand::TryRng;
use rand::rngs::SysRng;
use serde::{Deserialize, Serialize};
use stet_base::limits::FairQueue;
use stet_config::AuthConfig;
use stet_domain::error::{Code, Error, Result};
use stet_domain::object::normal_form;
use unicode_segmentation::UnicodeSegmentation;

use super::name::Name;

/// Maximum length of a password in bytes of UTF-8. A longer one can't be set, and is wrong at a
/// login.
pub const MAX_PASSWORD_BYTES: usize = 1024;

/// Maximum number of logins of one address or user that wait for a password check. At some 20 ms
/// each the last of them waits for seconds, so further ones are refused with an error to try again.
/// Other addresses and users are served in between.
const MAX_WAITING: usize = 256;

/// The cost of hashing one password. A hash keeps the numbers with which it was computed, so new
/// numbers hold for a user from the next change of the password on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PasswordOptions {
    /// KiB of memory.
    pub memory_kib: u32,
    /// Passes over that memory.
    pub iterations: u32,
    /// Independent parts of that memory.
    pub lanes: u32,
}

impl Default for PasswordOptions {
    /// Returns the recommendation of OWASP for Argon2id.
    fn default() -> PasswordOptions {
        PasswordOptions { memory_kib: 19_456, iterations: 2, lanes: 1 }
    }
}

/// The requirements on a new password. Logins do not check them, so older passwords stay valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PasswordRules {
    /// Minimum number of characters as people see them: a letter with its accents is one, and so is
    /// an emoji of several parts (grapheme clusters, Unicode Annex 29).
    pub min_length: usize,
}

impl PasswordRules {
    /// Returns the rules of a configuration.
    pub fn of(config: &AuthConfig) -> PasswordRules {
        PasswordRules { min_length: config.password_min_length }
    }

    /// Checks a new password for the user of that name.
    ///
    /// # Errors
    /// `InvalidParameter` for one that is too short, too long, or the user's name in any case;
    /// `details` has the `reason`. The error has nothing of the password. The result is in the form
    /// that [`normalise_password`] returns.
    pub fn accept(self, user: &str, password: &str) -> Result<NewPassword> {
        let refused =
            |reason: &str, message: String| Error::new(Code::InvalidParameter, message).with_detail("reason", reason);
        // Before anything else, so that the work is bounded.
        if password.len() > MAX_PASSWORD_BYTES {
            let message =
                format!("The new password must have at most {MAX_PASSWORD_BYTES} bytes, but has {}.", password.len());
            return Err(refused("passwordTooLong", message));
        }
        let password = normalise_password(password);
        if password.len() > MAX_PASSWORD_BYTES {
            let message =
                format!("The new password must have at most {MAX_PASSWORD_BYTES} bytes in Unicode's form NFC.");
            return Err(refused("passwordTooLong", message));
        }
        let least = self.min_length.max(1);
        let length = password.graphemes(true).count();
        if length < least {
            let message =
                format!("The new password is too short: it must have at least {least} characters, and has {length}.");
            return Err(refused("passwordTooShort", message).with_detail("minLength", least));
        }
        if whatever_case(&password) == whatever_case(user) {
            let message = format!("The new password must not be the user's name, `{user}`, in upper or lower case.");
            return Err(refused("passwordIsName", message));
        }
        Ok(NewPassword(password.into_owned()))
    }
}

/// Returns the form in which a password is hashed: NFC, with every space as U+0020 (RFC 8265,
/// 4.2.2, `OpaqueString`). Keyboards and systems write the same password in several forms.
fn normalise_password(password: &str) -> Cow<'_, str> {
    let is_other_space =
        |c: char| matches!(c, '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}');
    if password.is_ascii() {
        return Cow::Borrowed(password);
    }
    let spaced = password.replace(is_other_space, " ");
    match normal_form(&spaced).as_ref() {
        same if same == password => Cow::Borrowed(password),
        other => Cow::Owned(other.to_owned()),
    }
}

/// The result of a password check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PasswordVerdict {
    /// Not the password of the hash.
    Wrong,
    /// The password, in the form in which passwords are hashed.
    Right,
    /// The password only as it was typed. The hash is older than the normalising of passwords, and
    /// should be computed again.
    RightAsTyped,
}

/// Returns a text in the form of names, equal for texts that differ in case alone.
fn whatever_case(text: &str) -> Name {
    // To upper case and back, so that `ß` and `SS` are equal. Case mapping may leave the normal
    // form, so the result is normalised again.
    Name::of(&Name::of(text).to_uppercase().to_lowercase())
}

/// A password that may be set: only [`PasswordRules::accept`] creates one, and nothing else can be
/// hashed. It prints as `…`.
pub struct NewPassword(String);

impl fmt::Debug for NewPassword {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NewPassword(…)")
    }
}

/// A password's hash in PHC form. It prints as `…`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PasswordHash(String);

impl fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PasswordHash(…)")
    }
}

/// The hashing and checking of passwords.
pub struct Passwords {
    params: Params,
    /// The requirements on a new password.
    pub(super) rules: PasswordRules,
    /// A hash of no known password, checked if a user has none: salt and hash are both random.
    nobody: PasswordHash,
    /// One hash at a time for every two cores, so that logins leave the other cores to requests.
    turns: FairQueue,
    /// The cost of every check so far, for the test that no wrong login is cheaper than another.
    #[cfg(test)]
    pub(super) checked: parking_lot::Mutex<Vec<String>>,
}

impl Passwords {
    /// Creates a hasher with that cost and those rules. Quick: nothing is hashed yet.
    ///
    /// # Errors
    /// `InvalidParameter` for numbers that Argon2 does not support; `RepositoryError` when the
    /// operating system has no random numbers.
    pub fn new(options: PasswordOptions, rules: PasswordRules) -> Result<Passwords> {
        let params = Params::new(options.memory_kib, options.iterations, options.lanes, None).map_err(|error| {
            Error::new(Code::InvalidParameter, format!("Passwords can't be hashed with {options:?}: {error}."))
        })?;
        let nobody = hash_without_password(&params)?;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let turns = FairQueue::new("passwords", "logins", cores / 2, MAX_WAITING);
        Ok(Passwords {
            params,
            rules,
            nobody,
            turns,
            #[cfg(test)]
            checked: parking_lot::Mutex::default(),
        })
    }

    /// Hashes a new password.
    ///
    /// # Errors
    /// `Overloaded`.
    pub async fn hash(&self, password: NewPassword) -> Result<PasswordHash> {
        self.hash_of(password.0).await
    }

    /// Hashes the current password of a user again, in its normal form.
    ///
    /// # Errors
    /// `Overloaded`.
    pub(super) async fn hash_again(&self, password: &str) -> Result<PasswordHash> {
        self.hash_of(normalise_password(password).into_owned()).await
    }

    /// Hashes a password without normalising it.
    pub(super) async fn hash_of(&self, password: String) -> Result<PasswordHash> {
        let params = self.params.clone();
        let made = self.work(move || argon2(params).hash_password(password.as_bytes()).map(|hash| hash.to_string()));
        made.await?.map(PasswordHash).map_err(|error| hashing_error(&error))
    }

    /// Checks a password against a hash. Without a hash the check fails after the same work: its
    /// cost depends on the given password alone. A password that is not in its normal form is also
    /// tried as typed, because older hashes are of that form.
    ///
    /// # Errors
    /// `Overloaded`; `RepositoryError` when the hash can't be parsed.
    pub async fn verify(&self, hash: Option<&PasswordHash>, password: &str) -> Result<PasswordVerdict> {
        if password.len() <= MAX_PASSWORD_BYTES
            && let Cow::Owned(normal) = normalise_password(password)
        {
            let as_typed = self.matches(hash, password).await?;
            return match (self.matches(hash, &normal).await?, as_typed) {
                (true, _) => Ok(PasswordVerdict::Right),
                (false, true) => Ok(PasswordVerdict::RightAsTyped),
                (false, false) => Ok(PasswordVerdict::Wrong),
            };
        }
        Ok(if self.matches(hash, password).await? { PasswordVerdict::Right } else { PasswordVerdict::Wrong })
    }

    /// Reports whether the hash is that of the password, byte for byte. The cost is the same
    /// without a hash, and for a password that is too long.
    async fn matches(&self, hash: Option<&PasswordHash>, password: &str) -> Result<bool> {
        let known = hash.filter(|_| password.len() <= MAX_PASSWORD_BYTES);
        let possible = known.is_some();
        let hash = known.unwrap_or(&self.nobody).clone();
        let password = password.as_bytes()[..password.len().min(MAX_PASSWORD_BYTES)].to_vec();
        // The check uses the hash's own numbers, not these.
        let params = self.params.clone();
        #[cfg(test)]
        self.checked.lock().extend(Phc::new(&hash.0).map(|hash| format!("{}: {} bytes", hash.params, password.len())));
        let checked = self.work(move || {
            let hash = Phc::new(&hash.0)?;
            argon2(params).verify_password(&password, &hash)
        });
        match checked.await? {
            Ok(()) => Ok(possible),
            Err(argon2::password_hash::Error::PasswordInvalid) => Ok(false),
            Err(error) => Err(hashing_error(&error)),
        }
    }

    /// Runs work on a blocking thread, once the queue permits it.
    async fn work<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
        let turn = self.turns.turn().await?;
        // The permit is moved along: it ends with the work, even if the caller gives up.
        let working = tokio::task::spawn_blocking(move || {
            let done = work();
            drop(turn);
            done
        });
        working.await.map_err(|error| hashing_error(&error))
    }
}

fn argon2(params: Params) -> Argon2<'static> {
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
}

fn hash_without_password(params: &Params) -> Result<PasswordHash> {
    let (mut salt, mut hash) = ([0; 16], [0; Params::DEFAULT_OUTPUT_LEN]);
    for bytes in [&mut salt[..], &mut hash[..]] {
        SysRng.try_fill_bytes(bytes).map_err(|error| hashing_error(&error))?;
    }
    let phc = Phc {
        algorithm: ARGON2ID_IDENT,
        version: Some(Version::V0x13.into()),
        params: ParamsString::try_from(params).map_err(|error| hashing_error(&error))?,
        salt: Some(Salt::new(&salt).map_err(|error| hashing_error(&error))?),
        hash: Some(Output::new(&hash).map_err(|error| hashing_error(&error))?),
    };
    Ok(PasswordHash(phc.to_string()))
}

/// Logs a failure. None of these errors contains anything of a password or a hash.
fn hashing_error(error: &dyn fmt::Display) -> Error {
    tracing::error!(%error, "a password can't be hashed or checked");
    Error::internal()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn whatever_is_refused_is_told_without_a_word_of_it(user in "\\PC{0,12}", password in "\\PC{0,40}", min_length in 1_usize..20) {
            let accepted = PasswordRules { min_length }.accept(&user, &password);
            let letters = password.graphemes(true).count();
            if let Err(error) = &accepted {
                prop_assert_eq!(error.code, Code::InvalidParameter);
                let without_name = error.message.replace(&user, "");
                prop_assert!(letters < 8 || user.contains(&password) || !without_name.contains(&password), "{}", error.message);
            }
            let is_name = whatever_case(&user) == whatever_case(&password);
            prop_assert_eq!(accepted.is_ok(), letters >= min_length && !is_name);
        }
    }
}
