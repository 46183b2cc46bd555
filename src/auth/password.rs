//! Passwords: Argon2id, away from the threads that serve requests (docs/api/groups-and-users.md,
//! "Passwords").

use std::borrow::Cow;
use std::fmt;

use argon2::password_hash::phc::{Output, ParamsString, PasswordHash as Phc, Salt};
use argon2::{ARGON2ID_IDENT, Algorithm, Argon2, Params, PasswordHasher, PasswordVerifier, Version};
use rand::TryRng;
use rand::rngs::SysRng;
use serde::{Deserialize, Serialize};
use stet_actors::error::{Code, Error, Result};
use stet_actors::object::normal_form;
use unicode_segmentation::UnicodeSegmentation;

use super::name::Name;
use crate::limits::FairQueue;

/// Bytes of UTF-8 in the longest password; a longer one can't be set, and is wrong at a login.
pub const MAX_PASSWORD_BYTES: usize = 1024;

/// Characters that `auth.password_min_length` may ask for at most: so many fit into
/// [`MAX_PASSWORD_BYTES`] in any script.
pub const MAX_MIN_LENGTH: usize = 128;

/// How many of one address, or user, may wait for a password to be checked. At some 20 ms each the
/// last of them waits for seconds, so more get the error to try again; others have their turns
/// between.
const MAX_WAITING: usize = 256;

/// What hashing one password costs. Hashes keep the numbers that they were made with, so new
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
    /// What OWASP recommends for Argon2id.
    fn default() -> PasswordOptions {
        PasswordOptions { memory_kib: 19_456, iterations: 2, lanes: 1 }
    }
}

/// What a password must be to be set. Logins do not go by it: who has a password from before it was
/// so is let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PasswordRules {
    /// Characters that it has at least, as people see them: a letter with its accents is one, and
    /// so is an emoji of several parts (grapheme clusters, Unicode Annex 29).
    pub min_length: usize,
}

impl PasswordRules {
    /// The password as one that the user of that name may have from now on.
    ///
    /// # Errors
    /// `InvalidParameter` for one that is too short, too long, or the user's name in whatever case;
    /// `details` has the `reason`. Nothing of the password is in it. It is taken in the form that
    /// [`normalised`] gives.
    pub fn accept(self, user: &str, password: &str) -> Result<NewPassword> {
        let refused =
            |reason: &str, message: String| Error::new(Code::InvalidParameter, message).with_detail("reason", reason);
        // Before it is counted: this many bytes are looked at, whatever comes.
        if password.len() > MAX_PASSWORD_BYTES {
            let message =
                format!("The new password must have {MAX_PASSWORD_BYTES} bytes at most, but has {}.", password.len());
            return Err(refused("passwordTooLong", message));
        }
        let password = normalised(password);
        if password.len() > MAX_PASSWORD_BYTES {
            let message = format!("The new password must have {MAX_PASSWORD_BYTES} bytes at most in the form NFC.");
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
            let message = format!("The new password must not be the name of its user, `{user}`, in whatever case.");
            return Err(refused("passwordIsName", message));
        }
        Ok(NewPassword(password.into_owned()))
    }
}

/// A password in the one form in which it is hashed, for keyboards and systems write the same
/// password in several: NFC, with every space as U+0020 (RFC 8265, 4.2.2, `OpaqueString`).
fn normalised(password: &str) -> Cow<'_, str> {
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

/// How a password was found to be right or wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Not the password of the hash.
    Wrong,
    /// The password, in the form in which passwords are hashed.
    Right,
    /// The password as it was typed. The hash is from before passwords were normalised, and should
    /// be made anew.
    RightAsTyped,
}

/// A text in the form of names, the same for all that differ in case alone.
fn whatever_case(text: &str) -> Name {
    // There and back: `ß` and `SS` are one. What case mapping takes out of the normal form is
    // brought back.
    Name::of(&Name::of(text).to_uppercase().to_lowercase())
}

/// A password that may be set: [`PasswordRules::accept`] alone makes one, and nothing else can be
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

/// Makes and checks hashes.
pub struct Passwords {
    params: Params,
    /// What a new password must be.
    pub(super) rules: PasswordRules,
    /// A hash that no password is known for, checked where there is none to check: salt and hash
    /// are both random.
    nobody: PasswordHash,
    /// One at a time for every two cores: however many log in, the other cores go on serving
    /// requests.
    turns: FairQueue,
    /// The cost of every check so far, for the test that no wrong login is cheaper than another.
    #[cfg(test)]
    pub(super) checked: parking_lot::Mutex<Vec<String>>,
}

impl Passwords {
    /// Hashing at that cost what those rules let pass. Quick: hashes nothing yet.
    ///
    /// # Errors
    /// `InvalidParameter` for numbers that Argon2 can't do with; `RepositoryError` when the
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

    /// The hash of a new password.
    ///
    /// # Errors
    /// `Overloaded`.
    pub async fn hash(&self, password: NewPassword) -> Result<PasswordHash> {
        self.hash_of(password.0).await
    }

    /// The hash of a password that is a user's already, in its normal form.
    ///
    /// # Errors
    /// `Overloaded`.
    pub(super) async fn hash_again(&self, password: &str) -> Result<PasswordHash> {
        self.hash_of(normalised(password).into_owned()).await
    }

    /// The hash of a password just as it is.
    pub(super) async fn hash_of(&self, password: String) -> Result<PasswordHash> {
        let params = self.params.clone();
        let made = self.work(move || argon2(params).hash_password(password.as_bytes()).map(|hash| hash.to_string()));
        made.await?.map(PasswordHash).map_err(|error| failed(&error))
    }

    /// Whether it is the password of that hash. Without a hash it never is, and finding that out
    /// takes as long: what is done depends on the given password alone. One that is not in its
    /// normal form is tried as it is, too: hashes from before know no other.
    ///
    /// # Errors
    /// `Overloaded`; `RepositoryError` when the hash can't be understood.
    pub async fn verify(&self, hash: Option<&PasswordHash>, password: &str) -> Result<Verdict> {
        if password.len() <= MAX_PASSWORD_BYTES
            && let Cow::Owned(normal) = normalised(password)
        {
            let as_typed = self.matches(hash, password).await?;
            return match (self.matches(hash, &normal).await?, as_typed) {
                (true, _) => Ok(Verdict::Right),
                (false, true) => Ok(Verdict::RightAsTyped),
                (false, false) => Ok(Verdict::Wrong),
            };
        }
        Ok(if self.matches(hash, password).await? { Verdict::Right } else { Verdict::Wrong })
    }

    /// Whether it is, byte for byte, the password of that hash. The cost is the same without a
    /// hash, and for a password that is too long.
    async fn matches(&self, hash: Option<&PasswordHash>, password: &str) -> Result<bool> {
        let known = hash.filter(|_| password.len() <= MAX_PASSWORD_BYTES);
        let possible = known.is_some();
        let hash = known.unwrap_or(&self.nobody).clone();
        let password = password.as_bytes()[..password.len().min(MAX_PASSWORD_BYTES)].to_vec();
        // The hash's own numbers are what it is checked with, not these.
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
            Err(error) => Err(failed(&error)),
        }
    }

    /// Runs on a thread where it may take its time, when its turn comes.
    async fn work<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
        let turn = self.turns.turn().await?;
        // The turn goes along: it is not over when the caller gives up, but when the work is done.
        let working = tokio::task::spawn_blocking(move || {
            let done = work();
            drop(turn);
            done
        });
        working.await.map_err(|error| failed(&error))
    }
}

fn argon2(params: Params) -> Argon2<'static> {
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
}

fn hash_without_password(params: &Params) -> Result<PasswordHash> {
    let (mut salt, mut hash) = ([0; 16], [0; Params::DEFAULT_OUTPUT_LEN]);
    for bytes in [&mut salt[..], &mut hash[..]] {
        SysRng.try_fill_bytes(bytes).map_err(|error| failed(&error))?;
    }
    let phc = Phc {
        algorithm: ARGON2ID_IDENT,
        version: Some(Version::V0x13.into()),
        params: ParamsString::try_from(params).map_err(|error| failed(&error))?,
        salt: Some(Salt::new(&salt).map_err(|error| failed(&error))?),
        hash: Some(Output::new(&hash).map_err(|error| failed(&error))?),
    };
    Ok(PasswordHash(phc.to_string()))
}

/// None of the errors that come here has anything of a password or a hash in it.
fn failed(error: &dyn fmt::Display) -> Error {
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
