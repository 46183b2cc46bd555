//! The rows: users, groups, sessions. Stored as arrays in field order, so a field is added at the
//! end, with `#[serde(default)]`, or the format goes up.

use bytes::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stet_actors::object::Text;
use stet_actors::store::{Change, Key, Row, Table, encode_value};

use super::name::Name;
use super::password::PasswordHash;
use super::privilege::Privilege;
use super::token::TokenHash;

/// Someone who may log in. What is not public is the [`Directory`](super::Directory)'s own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    /// Name, unique; what is given at the login.
    pub name: Name,
    /// As people write it.
    pub full_name: String,
    /// What they do.
    pub description: String,
    /// Whether they are kept out.
    pub disabled: bool,
    /// `None` until a password is set: nobody can log in under this name.
    pub(super) password: Option<PasswordHash>,
    /// Names of the groups. One that does not exist gives nothing.
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
    /// When the password was last set, epoch milliseconds; 0 for never.
    pub(super) password_changed_ms: u64,
    /// The generation of the user's sessions: those begun under another are dead. It goes up when
    /// the password is changed and when the user is disabled, which ends all sessions in one row,
    /// whether they are in memory or not. It begins with the time, so that nobody gets to use the
    /// sessions of a former user of the same name.
    pub(super) generation: u64,
    /// The same for the user's keys, which survive a change of the password: it goes up when the
    /// user is disabled.
    #[serde(default)]
    pub(super) key_generation: u64,
}

impl User {
    /// A user who has nothing but a name.
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

    /// Whether a password has been set.
    pub fn has_password(&self) -> bool {
        self.password.is_some()
    }

    /// When the password was last set, epoch milliseconds; 0 for never.
    pub fn password_changed_ms(&self) -> u64 {
        self.password_changed_ms
    }

    /// Takes over what only the directory may change.
    pub(super) fn keep_from(&mut self, old: User) {
        self.name = old.name;
        self.password = old.password;
        self.password_changed_ms = old.password_changed_ms;
        self.generation = old.generation;
        self.key_generation = old.key_generation;
    }

    /// Ends all sessions begun so far.
    pub(super) fn end_sessions(&mut self, now_ms: u64) {
        self.generation = now_ms.max(self.generation + 1);
    }

    /// Ends all sessions and keys made so far.
    pub(super) fn end_sessions_and_keys(&mut self, now_ms: u64) {
        self.end_sessions(now_ms);
        self.key_generation = now_ms.max(self.key_generation + 1);
    }
}

impl Row for User {
    fn place(&self) -> Key {
        Key { table: Table::Users, key: Bytes::copy_from_slice(self.name.as_bytes()) }
    }
}

/// What a group may do, everywhere or below a folder (docs/api/rights.md, "Privileges").
///
/// An unknown key is refused: a misspelt `folder` would allow it everywhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Grant {
    /// What is allowed.
    pub privilege: Privilege,
    /// The folder below which the privilege holds, itself included; `None` for everywhere. Requests
    /// take any source and replies have the folder's path. The loid is stored, so the grant stays
    /// with the folder when its path changes.
    pub folder: Option<String>,
}

/// Users who may do the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// Name, unique.
    pub name: Name,
    /// What it is for.
    pub description: String,
    /// What its members may do.
    pub privileges: Vec<Grant>,
}

impl Row for Group {
    fn place(&self) -> Key {
        Key { table: Table::Groups, key: Bytes::copy_from_slice(self.name.as_bytes()) }
    }
}

/// A login, until it ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// Hash of the token; the token itself is nowhere.
    pub token_hash: TokenHash,
    /// Short public reference, for locks and logs; nothing leads from it to the token.
    pub id: Text,
    /// Name of the user.
    pub user: Text,
    /// The connection, as given at the login.
    pub connection_id: Text,
    /// The application, as given at the login.
    pub application_id: Text,
    /// When it began, epoch milliseconds.
    pub created_ms: u64,
    /// When it ends, used or not; epoch milliseconds. [`NO_END`] for a key that only its revocation
    /// ends.
    pub expires_ms: u64,
    /// When it was last used, as far as that has been recorded; epoch milliseconds.
    pub last_seen_ms: u64,
    /// [`User::generation`] when it began; of a key [`User::key_generation`].
    pub(super) generation: u64,
    /// Address of the client at the login; empty where none is known.
    #[serde(default)]
    pub address: String,
    /// What makes it a key.
    #[serde(default)]
    pub key: Option<KeyPart>,
}

/// [`Session::expires_ms`] of what has no end.
pub const NO_END: u64 = u64::MAX;

/// What a key for a machine has beyond a person's session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyPart {
    /// Name, unique among the keys that are in force.
    pub name: Name,
    /// What it may do, in place of what the user's groups may.
    pub grants: Vec<Grant>,
}

impl Session {
    /// When it ends, used or not, epoch seconds; `None` for a key without an end.
    pub fn expires_s(&self) -> Option<u64> {
        (self.expires_ms != NO_END).then_some(self.expires_ms / 1000)
    }

    pub(super) fn key(hash: &TokenHash) -> Key {
        Key { table: Table::Sessions, key: Bytes::copy_from_slice(hash.bytes()) }
    }
}

impl Row for Session {
    fn place(&self) -> Key {
        Session::key(&self.token_hash)
    }
}

/// The change that sets a row. None of the rows here has an index.
pub(super) fn put<R: Row>(row: &R) -> Change {
    let Key { table, key } = row.place();
    Change { table, key, value: Some(encode_value(R::FORMAT, row)) }
}

/// The change that removes a row.
pub(super) fn remove(place: Key) -> Change {
    Change { table: place.table, key: place.key, value: None }
}
