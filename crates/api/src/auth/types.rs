//! Login, logout and the connection on the wire.

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use stet_domain::error::{Error, Result};
use stet_domain::id::DatabaseId;
use stet_newsroom::records::display::parse_boolean;
use stet_web::app::App;
use stet_web::body_keys::ANY_CASE;

use crate::configuration::UserConfiguration;

/// The body of a login; on the older surface, the fields of a form.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = password_or_pwd, transform = with_login_options)]
pub struct LoginRequest {
    /// One of the configured connections.
    pub(super) connection_id: String,
    /// Name of the client program.
    pub(super) application_id: String,
    pub(super) username: String,
    /// Required, unless `pwd` is given.
    #[serde(alias = "pwd")]
    pub(super) password: String,
    pub(super) options: Option<Map<String, Value>>,
    /// Options at the top level, which is allowed, too.
    #[serde(flatten)]
    pub(super) rest: Map<String, Value>,
}

/// Adds `pwd` as an alternative to `password`. `anyOf` is not used, because generators build no
/// class of a schema with it.
fn password_or_pwd(schema: &mut Schema) {
    let object = schema.ensure_object();
    if let Some(Value::Object(properties)) = object.get_mut("properties") {
        properties.insert("pwd".to_owned(), json!({ "type": "string", "description": "Same as `password`." }));
    }
    if let Some(Value::Array(required)) = object.get_mut("required") {
        required.retain(|name| name != "password");
    }
    object.insert("if".to_owned(), json!({ "not": { "required": ["password"] } }));
    object.insert("then".to_owned(), json!({ "required": ["pwd"] }));
}

/// The boolean options of a login, with their descriptions.
const LOGIN_OPTIONS: [(&str, &str); 5] = [
    ("loadConfig", "Show what the repository holds for this user."),
    ("showUserInfo", "Show the user."),
    ("showGroups", "With `showUserInfo`: show the user's groups."),
    ("showPrivileges", "Show the privileges that hold everywhere."),
    ("showAvailableConnections", "Show the connections that the application may use."),
];

/// Adds the options of a login, which may be under `options` and at the top level, in place of
/// arbitrary names.
fn with_login_options(schema: &mut Schema) {
    let mut properties = Map::new();
    for (name, about) in LOGIN_OPTIONS {
        // Clients send booleans as texts and numbers, too.
        let types = ["boolean", "string", "integer", "null"];
        properties.insert(name.to_owned(), json!({ "type": types, "description": about, ANY_CASE: true }));
    }
    let about = "Number or name of the database whose folders the configuration shows.";
    let database = json!({ "type": ["integer", "string", "null"], "description": about, ANY_CASE: true });
    properties.insert("databaseId".to_owned(), database);
    let object = schema.ensure_object();
    object.remove("additionalProperties");
    let Some(Value::Object(own)) = object.get_mut("properties") else { return };
    own.insert("options".to_owned(), json!({ "type": ["object", "null"], "properties": properties.clone() }));
    own.extend(properties);
}

/// The body of `auth/copy`.
#[derive(Deserialize, JsonSchema)]
pub struct CopyRequest {
    /// The token of the session to copy.
    pub(super) token: String,
}

/// A token with its lifetime.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenReply {
    /// The token, to be sent with every call.
    pub value: String,
    /// Time at which the token ends, used or not, in epoch seconds.
    pub expires: u64,
    /// Seconds without a call after which the token ends.
    pub idle_seconds: u64,
}

/// A user, as the user themself may see it.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UserInfo {
    /// The name to log in with.
    pub id: String,
    /// The name to log in with, again.
    pub name: String,
    /// The full name, as people write it.
    pub full_name: String,
    /// The user's work.
    pub description: String,
    /// The team.
    pub team: Option<String>,
    /// Path of the home folder.
    pub home: Option<String>,
    /// Path of the work folder.
    pub work_folder: Option<String>,
    /// E-mail address at home.
    pub home_email: Option<String>,
    /// E-mail address at work.
    pub business_email: Option<String>,
}

/// A connection for logins.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectionInfo {
    /// The id of the connection.
    pub id: String,
    /// The name of the connection.
    pub name: String,
    /// The purpose of the connection.
    pub description: String,
}

/// The reply to a login.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoginReply {
    /// The token.
    pub token: TokenReply,
    /// The connection logged in to.
    pub connection: ConnectionInfo,
    /// Name of the client program.
    pub application_id: String,
    /// Name of the user.
    pub username: String,
    /// The user, with `showUserInfo`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<UserInfo>,
    /// Names of the user's groups, with `showUserInfo` and `showGroups`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub groups: Option<Vec<String>>,
    /// Privileges that hold everywhere, with `showPrivileges`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub privileges: Option<Vec<String>>,
    /// The repository's data for this user, with `loadConfig`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub configuration: Option<UserConfiguration>,
    /// The connections that the application may use, with `showAvailableConnections`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub available_connections: Option<Vec<ConnectionInfo>>,
}

/// The connection of the caller's session.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectionReply {
    /// The connection logged in to.
    pub connection: ConnectionInfo,
    /// Name of the client program.
    pub application_id: String,
    /// Name of the user.
    pub username: String,
    /// Reference of the session; not the token.
    pub session: String,
    /// Time of the login, in epoch seconds.
    pub login: u64,
    /// Time at which the session ends, used or not, in epoch seconds; null for a key without an
    /// end.
    pub expires: Option<u64>,
}

/// The reply for a live session; a dead one gets 401.
#[derive(Serialize, JsonSchema)]
pub struct AliveReply {
    /// Always true.
    pub alive: bool,
}

/// The reply to the end of a session.
#[derive(Serialize, JsonSchema)]
pub struct LogoutReply {
    /// `ok`
    pub result: String,
}

/// The reply to an older logout (docs/api/auth.md, "Copy and logout").
pub type OlderLogout = LogoutReply;

/// The reply to an older login (docs/api/auth.md, "Older login").
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OlderLogin {
    /// Name of the client program.
    pub application_id: String,
    /// Name of the user.
    pub username: String,
    /// The token.
    pub token: String,
    /// The reference of the user's session.
    pub sessions: Vec<String>,
    /// The connection logged in to.
    pub connection_data: ConnectionData,
}

/// The connection in the reply to an older login (docs/api/auth.md, "Older login").
#[derive(Serialize, JsonSchema)]
pub struct ConnectionData {
    /// Whether the connection spans several databases.
    pub aggregation: bool,
    /// The purpose of the connection.
    pub description: String,
    /// The id of the connection.
    pub id: String,
    /// The name of the connection.
    pub name: String,
    /// One for each database.
    pub parameters: Vec<ConnectionParameter>,
}

/// A database of the connection in the reply to an older login (docs/api/auth.md, "Older login").
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectionParameter {
    /// The name of the database.
    pub description: String,
    /// The number of the database.
    pub id: String,
    /// The name of the database.
    pub name: String,
    /// Empty: there is no name service.
    pub name_service_address: String,
    /// Empty: there is no such channel.
    pub notification_channel_binding_path: String,
    /// Path of the database.
    pub repository_binding_path: String,
    /// The name of the database.
    pub short_path: String,
    /// Always true.
    pub use_pull_mode: bool,
}

impl LoginRequest {
    /// Returns the value of a name under `options` or at the top level, in any case of letters.
    pub(super) fn find(&self, name: &str) -> Option<Value> {
        let find = |map: &Map<String, Value>| {
            map.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.clone())
        };
        self.options.as_ref().and_then(find).or_else(|| find(&self.rest))
    }

    /// Returns the database whose folders the configuration shows; the main one if none is named.
    pub(super) fn database(&self, app: &App) -> Result<DatabaseId> {
        match self.find("databaseId") {
            None | Some(Value::Null) => app.database(None),
            Some(Value::String(name)) => app.database(Some(&name)),
            Some(Value::Number(number)) => app.database(Some(&number.to_string())),
            Some(other) => Err(Error::parameter("databaseId", other, "the number or name of a database")),
        }
    }

    /// Returns a login option, one of [`LOGIN_OPTIONS`], under `options` or at the top.
    pub(super) fn option(&self, name: &str, default: bool) -> Result<bool> {
        debug_assert!(LOGIN_OPTIONS.iter().any(|(known, _)| *known == name), "`{name}` is not an option of a login");
        match self.find(name) {
            None | Some(Value::Null) => Ok(default),
            Some(Value::Bool(value)) => Ok(value),
            Some(other) => {
                let text = other.as_str().map_or_else(|| other.to_string(), str::to_owned);
                parse_boolean(&text).ok_or_else(|| Error::parameter(name, text, "true, false, 1 or 0"))
            }
        }
    }
}
