//! Users, keys and sessions as requests and replies show them, over HTTP and on the command line.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stet_actors::error::Result;

use crate::auth::{Directory, Grant, GroupChange, LiveSession, User};

/// A password on its way in, or a token on its way out. It is shown nowhere else.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// A password or token.
    pub fn new(text: String) -> Secret {
        Secret(text)
    }

    /// The text, for hashing and checking, and for the one reply that contains a token.
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
    /// As people write it.
    pub full_name: String,
    /// What they do.
    pub description: String,
    /// Whether they are kept out.
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
    /// When the password was last set, epoch seconds; null without one.
    pub password_changed: Option<u64>,
}

impl UserView {
    /// What an operator may see of a user.
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

/// What a user is to be: what is named is set, the rest stays. An empty text takes away what may be
/// missing.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct UserChange {
    /// The name to log in with; must be there for a new user, and can't be changed.
    pub name: Option<String>,
    /// As people write it.
    pub full_name: Option<String>,
    /// What they do.
    pub description: Option<String>,
    /// Whether they are kept out. Ends their sessions and keys for good.
    pub disabled: Option<bool>,
    /// Names of groups that there are.
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

/// What a group is to be, on the command line: what is named is set, the rest stays.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GroupUpdate {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// Names of users who become members.
    pub join: Vec<String>,
    /// Names of users who are members no more.
    pub leave: Vec<String>,
    /// All that its members may do.
    pub privileges: Option<Vec<Grant>>,
    /// Whether nobody may be left who manages users and groups.
    pub force: bool,
}

impl GroupUpdate {
    /// The name, and what the directory makes of the rest.
    pub fn parts(self) -> (String, GroupChange) {
        let GroupUpdate { name, description, join, leave, privileges, force: _ } = self;
        (name, GroupChange { description, members: None, join, leave, privileges })
    }
}

/// A key for a machine client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KeyView {
    /// Its name.
    pub name: String,
    /// Name of the user under whom it acts.
    pub user: String,
    /// What it may do.
    pub privileges: Vec<Grant>,
    /// Reference of its session, as in the log and in locks; not the token.
    pub session: String,
    /// When it was made, epoch seconds.
    pub created: u64,
    /// When it was last used, or made, epoch seconds.
    pub last_used: u64,
    /// Whether it was ever used. A use of the last `auth.flush_seconds` before a crash is not
    /// known.
    pub used: bool,
    /// When it ends, epoch seconds; null for only when it is revoked.
    pub expires: Option<u64>,
}

impl KeyView {
    /// What an operator may see of a key.
    ///
    /// # Errors
    /// What the store says.
    pub fn of(live: &LiveSession, directory: &Directory) -> Result<KeyView> {
        let session = live.session();
        Ok(KeyView {
            name: session.key.as_ref().map(|key| key.name.to_string()).unwrap_or_default(),
            user: session.user.to_string(),
            privileges: directory.with_paths(live.grants().unwrap_or_default())?,
            session: session.id.to_string(),
            created: session.created_ms / 1000,
            last_used: live.last_seen_ms() / 1000,
            used: live.was_used(),
            expires: session.expires_s(),
        })
    }
}

/// What a key is to be.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct KeyRequest {
    /// A name that no key in force has.
    pub name: String,
    /// Name of the user under whom it acts.
    pub user: String,
    /// What it may do, one entry at least, in place of what the user's groups may.
    pub privileges: Vec<Grant>,
    /// When it ends, epoch seconds; without it only when it is revoked.
    pub expires: Option<u64>,
}

/// A session of a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionView {
    /// Its public reference, as in the log and in locks; not the token.
    pub id: String,
    /// Name of the user.
    pub user: String,
    /// The connection logged in to.
    pub connection_id: String,
    /// Name of the client program.
    pub application_id: String,
    /// Address of the client at the login; empty where none is known.
    pub address: String,
    /// When it began, epoch seconds.
    pub created: u64,
    /// When it was last used, epoch seconds.
    pub last_used: u64,
    /// When it ends, used or not, epoch seconds.
    pub expires: u64,
    /// Whether it is the one that asks.
    pub current: bool,
}

impl SessionView {
    /// What may be shown of a session; `current` is the reference of the caller's own.
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
