//! The rows: users, groups, sessions. They are stored as arrays in field order. So a new field is
//! added at the end with `#[serde(default)]`, or the format is raised.

use bytes::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stet_domain::object::SharedText;
use stet_domain::store::{Row, RowPlace, Table};

use super::name::Name;
use super::password::PasswordHash;
use super::privilege::Privilege;
use super::token::TokenHash;

/// A person who may log in. Only the [`Directory`](super::Directory) uses the private fields.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    /// Unique name, which is given at the login.
    pub name: Name,
    /// Full name, as people write it.
    pub full_name: String,
    /// Free text about the user's work.
    pub description: String,
    /// Whether the user is locked out.
    pub disabled: bool,
    /// `None` until a password is set; until then no login by password succeeds.
    pub(super) password: Option<PasswordHash>,
    /// Names of the groups. A missing group grants nothing.
    pub groups: Vec<Name>,
    /// Path of the home folder.
    pub home: Option<String>,
    /// Path of the work folder.
    pub work: Option<String>,
    /// The team.
    pub team: Option<String>,
    /// E-mail address at home.
    pub home_email: Option<String>,
    /// E-mail address at work.
    pub business_email: Option<String>,
    /// Time at which the password was last set, epoch milliseconds; 0 for never.
    pub(super) password_changed_ms: u64,
    /// The generation of the user's sessions; those of another generation are invalid. It is raised
    /// when the password is changed and when the user is disabled. That ends all sessions with one
    /// row, whether they are in memory or not. It starts with the current time, so that sessions of
    /// a former user of the same name stay invalid.
    pub(super) generation: u64,
    /// The generation of the user's keys. It is raised when the user is disabled, but not when the
    /// password is changed.
    #[serde(default)]
    pub(super) key_generation: u64,
}

impl User {
    /// Creates a user with nothing but a name.
    pub fn new(name: &str) -> User {
        User {
            name: name.into(),
            full_name: String::new(),
            description: String::new(),
            disabled: false,
            password: None,
            groups: Vec::new(),
            home: None,
            work: None,
            team: None,
            home_email: None,
            business_email: None,
            password_changed_ms: 0,
            generation: 0,
            key_generation: 0,
        }
    }

    /// Reports whether a password has been set.
    pub fn has_password(&self) -> bool {
        self.password.is_some()
    }

    /// Returns the time at which the password was last set, epoch milliseconds; 0 for never.
    pub fn password_changed_ms(&self) -> u64 {
        self.password_changed_ms
    }

    /// Copies the fields that only the directory may change.
    pub(super) fn keep_from(&mut self, old: User) {
        self.name = old.name;
        self.password = old.password;
        self.password_changed_ms = old.password_changed_ms;
        self.generation = old.generation;
        self.key_generation = old.key_generation;
    }

    /// Ends all existing sessions.
    pub(super) fn end_sessions(&mut self, now_ms: u64) {
        self.generation = now_ms.max(self.generation + 1);
    }

    /// Ends all existing sessions and keys.
    pub(super) fn end_sessions_and_keys(&mut self, now_ms: u64) {
        self.end_sessions(now_ms);
        self.key_generation = now_ms.max(self.key_generation + 1);
    }
}

impl Row for User {
    fn place(&self) -> RowPlace {
        RowPlace { table: Table::Users, key: Bytes::copy_from_slice(self.name.as_bytes()) }
    }
}

/// A privilege of a group's members or of a key, everywhere or below a folder (docs/api/rights.md,
/// "Privileges").
///
/// Unknown keys are refused: a misspelt `folder` would grant the privilege everywhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Grant {
    /// The granted privilege.
    pub privilege: Privilege,
    /// The folder below which the privilege holds, itself included; null for everywhere. Requests
    /// accept any source; replies have the folder's path. The loid is stored, so the grant stays
    /// with the folder when its path changes.
    pub folder: Option<String>,
}

/// A group of users with the same grants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserGroup {
    /// Unique name.
    pub name: Name,
    /// The purpose of the group.
    pub description: String,
    /// The grants of the members.
    pub privileges: Vec<Grant>,
}

impl Row for UserGroup {
    fn place(&self) -> RowPlace {
        RowPlace { table: Table::Groups, key: Bytes::copy_from_slice(self.name.as_bytes()) }
    }
}

/// A login until it ends, or a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// Hash of the token; the token itself is not stored.
    pub token_hash: TokenHash,
    /// Short public reference, for locks and logs; the token can't be derived from it.
    pub id: SharedText,
    /// Name of the user.
    pub user: SharedText,
    /// The connection, as given at the login.
    pub connection_id: SharedText,
    /// The application, as given at the login.
    pub application_id: SharedText,
    /// Time of the beginning, epoch milliseconds.
    pub created_ms: u64,
    /// Time of the end, whether or not the session is used; epoch milliseconds. [`NO_END`] for a
    /// key that ends only when it is revoked.
    pub expires_ms: u64,
    /// Time of the last recorded use; epoch milliseconds.
    pub last_seen_ms: u64,
    /// [`User::generation`] at the beginning; [`User::key_generation`] for a key.
    pub(super) generation: u64,
    /// Address of the client at the login; empty if unknown.
    #[serde(default)]
    pub address: String,
    /// The data of a key, if the session is one.
    #[serde(default)]
    pub key: Option<KeyPart>,
}

/// The [`Session::expires_ms`] of a key without an end.
pub const NO_END: u64 = u64::MAX;

/// The data that a key has beyond a person's session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyPart {
    /// Name, unique among the keys in force.
    pub name: Name,
    /// Grants of the key, in place of those of the user's groups.
    pub grants: Vec<Grant>,
}

impl Session {
    /// Returns the time of the end, used or not, in epoch seconds; `None` for a key without an end.
    pub fn expires_s(&self) -> Option<u64> {
        (self.expires_ms != NO_END).then_some(self.expires_ms / 1000)
    }

    pub(super) fn key(hash: &TokenHash) -> RowPlace {
        RowPlace { table: Table::Sessions, key: Bytes::copy_from_slice(hash.bytes()) }
    }
}

impl Row for Session {
    fn place(&self) -> RowPlace {
        Session::key(&self.token_hash)
    }
}
