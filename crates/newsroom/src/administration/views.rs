//! Users, keys and sessions as requests and replies show them, over HTTP and on the command line.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stet_auth::{Directory, Grant, GroupChange, LiveSession, User};
use stet_domain::error::Result;

/// A received password, or a token to send. It is printed nowhere else.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// Wraps a password or token.
    pub fn new(text: String) -> Secret {
        Secret(text)
    }

    /// Returns the text, for hashing and checking, and for the one reply that contains a token.
    pub fn text(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// A user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UserView {
    /// The name to log in with.
    pub name: String,
    /// The full name, as people write it.
    pub full_name: String,
    /// The user's work.
    pub description: String,
    /// Whether the user is disabled.
    pub disabled: bool,
    /// Names of the groups.
    pub groups: Vec<String>,
    /// Path of the home folder; null for the configured one.
    pub home: Option<String>,
    /// Path of the work folder; null for the configured one.
    pub work_folder: Option<String>,
    /// The team.
    pub team: Option<String>,
    /// E-mail address at home.
    pub home_email: Option<String>,
    /// E-mail address at work.
    pub business_email: Option<String>,
    /// Time of the last change of the password, in epoch seconds; null without a password.
    pub password_changed: Option<u64>,
}

impl UserView {
    /// Builds the view of a user.
    pub fn of(user: &User) -> UserView {
        UserView {
            name: user.name.to_string(),
            full_name: user.full_name.clone(),
            description: user.description.clone(),
            disabled: user.disabled,
            groups: user.groups.iter().map(ToString::to_string).collect(),
            home: user.home.clone(),
            work_folder: user.work.clone(),
            team: user.team.clone(),
            home_email: user.home_email.clone(),
            business_email: user.business_email.clone(),
            password_changed: user.has_password().then(|| user.password_changed_ms() / 1000),
        }
    }
}

/// The fields of a new or changed user. Fields that are present are set, the others stay. An empty
/// text removes an optional value.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct UserChange {
    /// The name to log in with; required for a new user, and can't be changed.
    pub name: Option<String>,
    /// The full name, as people write it.
    pub full_name: Option<String>,
    /// The user's work.
    pub description: Option<String>,
    /// Whether the user is disabled. Disabling ends their sessions and keys for good.
    pub disabled: Option<bool>,
    /// Names of existing groups.
    pub groups: Option<Vec<String>>,
    /// Path of the home folder.
    pub home: Option<String>,
    /// Path of the work folder.
    pub work_folder: Option<String>,
    /// The team.
    pub team: Option<String>,
    /// E-mail address at home.
    pub home_email: Option<String>,
    /// E-mail address at work.
    pub business_email: Option<String>,
    /// A new password, which ends the user's sessions.
    pub password: Option<Secret>,
}

/// The fields of a new or changed group on the command line. Fields that are present are set, the
/// others stay.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GroupUpdate {
    /// The name of the group.
    pub name: String,
    /// The purpose of the group.
    pub description: Option<String>,
    /// Names of users who become members.
    pub join: Vec<String>,
    /// Names of users who stop being members.
    pub leave: Vec<String>,
    /// All privileges of the members.
    pub privileges: Option<Vec<Grant>>,
    /// Whether the last users who manage users and groups may lose that right.
    pub force: bool,
}

impl GroupUpdate {
    /// Splits the name from the change for the directory.
    pub fn parts(self) -> (String, GroupChange) {
        let GroupUpdate { name, description, join, leave, privileges, force: _ } = self;
        (name, GroupChange { description, members: None, join, leave, privileges })
    }
}

/// A key for a machine client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KeyView {
    /// The name of the key.
    pub name: String,
    /// Name of the user under whose name the key acts.
    pub user: String,
    /// The privileges of the key.
    pub privileges: Vec<Grant>,
    /// Reference of the key's session, as in the log and in locks; not the token.
    pub session: String,
    /// Creation time, in epoch seconds.
    pub created: u64,
    /// Time of the last use, or else of the creation, in epoch seconds.
    pub last_used: u64,
    /// Whether the key was ever used. Uses in the last `auth.flush_seconds` before a crash may be
    /// missing.
    pub used: bool,
    /// Time at which the key ends, in epoch seconds; null if it ends only when it is revoked.
    pub expires: Option<u64>,
}

impl KeyView {
    /// Builds the view of a key.
    ///
    /// # Errors
    /// Errors of the store.
    pub async fn of(live: &LiveSession, directory: &Directory) -> Result<KeyView> {
        let session = live.session();
        Ok(KeyView {
            name: session.key.as_ref().map(|key| key.name.to_string()).unwrap_or_default(),
            user: session.user.to_string(),
            privileges: directory.with_paths(live.grants().unwrap_or_default()).await?,
            session: session.id.to_string(),
            created: session.created_ms / 1000,
            last_used: live.last_seen_ms() / 1000,
            used: live.was_used(),
            expires: session.expires_s(),
        })
    }
}

/// The fields of a new key.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct KeyRequest {
    /// The name, which no key in force may have.
    pub name: String,
    /// Name of the user under whose name the key acts.
    pub user: String,
    /// The privileges of the key, at least one. They replace those of the user's groups.
    pub privileges: Vec<Grant>,
    /// Time at which the key ends, in epoch seconds; without it only when it is revoked.
    pub expires: Option<u64>,
}

/// A session of a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionView {
    /// Public reference of the session, as in the log and in locks; not the token.
    pub id: String,
    /// Name of the user.
    pub user: String,
    /// The connection logged in to.
    pub connection_id: String,
    /// Name of the client program.
    pub application_id: String,
    /// Address of the client at the login; empty if unknown.
    pub address: String,
    /// Time of the login, in epoch seconds.
    pub created: u64,
    /// Time of the last use, in epoch seconds.
    pub last_used: u64,
    /// Time at which the session ends, used or not, in epoch seconds.
    pub expires: u64,
    /// Whether it is the session of this call.
    pub current: bool,
}

impl SessionView {
    /// Builds the view of a session; `current` is the reference of the caller's own.
    pub fn of(live: &LiveSession, current: Option<&str>) -> SessionView {
        let session = live.session();
        SessionView {
            id: session.id.to_string(),
            user: session.user.to_string(),
            connection_id: session.connection_id.to_string(),
            application_id: session.application_id.to_string(),
            address: session.address.clone(),
            created: session.created_ms / 1000,
            last_used: live.last_seen_ms() / 1000,
            expires: session.expires_ms / 1000,
            current: current == Some(&*session.id),
        }
    }
}
