//! Authentication and authorisation: users, groups, passwords, sessions and keys (docs/api/auth.md,
//! docs/api/rights.md).
//!
//! [`Directory`] has the users and groups, [`Sessions`] the logins. Both keep their rows in the
//! repository's store. The commit that makes their cached data wrong also discards it, so a change
//! takes effect from the next request on.
//!
//! Tokens and passwords are never stored, logged or shown; the types that carry them print as `…`.

mod attempts;
mod cas;
mod change;
mod directory;
mod groups;
mod name;
mod password;
mod privilege;
mod rights;
mod rows;
mod sessions;
mod token;
mod users;

pub use self::attempts::{AttemptOptions, LoginAttempt, LoginLimiter};
#[cfg(any(test, feature = "fuzzing"))]
pub use self::cas::is_answer;
pub use self::cas::{Cas, LoginAddress};
pub use self::change::{DirectoryEditor, leaves_no_administrator};
pub use self::directory::Directory;
pub use self::groups::{GroupChange, GroupView};
pub use self::name::Name;
pub use self::password::{PasswordOptions, PasswordRules, Passwords};
pub use self::privilege::Privilege;
pub use self::rights::Rights;
pub use self::rows::{Grant, Session, User, UserGroup};
pub use self::sessions::{LiveSession, NewKey, NewSession, SessionOptions, Sessions};

/// Name of the cookie that may carry the token (docs/api/README.md, "Tokens").
pub const COOKIE: &str = "MRS_CONNECTION_TOKEN";

#[cfg(test)]
mod tests;
