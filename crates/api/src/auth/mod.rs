//! Login, logout and the connection (docs/api/auth.md).

pub mod routes;
mod types;

use stet_auth::{LoginAddress, LoginAttempt, Name, NewSession, Session, User};
use stet_base::nearest::suggestion;
use stet_config::ConnectionConfig;
use stet_domain::error::{Code, Error, Result};
use stet_domain::id::DatabaseId;
use stet_newsroom::access::Access;
use stet_newsroom::records::Display;
use stet_web::app::App;
use stet_web::call::Call;
use stet_web::client;
use stet_web::cookie::with_cookie;
use stet_web::reply::Json;

pub use self::types::{
    AliveReply, ConnectionData, ConnectionInfo, ConnectionParameter, ConnectionReply, CopyRequest, LoginReply,
    LoginRequest, LogoutReply, OlderLogin, OlderLogout, TokenReply, UserInfo,
};
use super::configuration;

/// Converts a connection for replies.
pub fn connection_info(connection: &ConnectionConfig) -> ConnectionInfo {
    ConnectionInfo {
        id: connection.id.clone(),
        name: connection.name.clone(),
        description: connection.description.clone(),
    }
}

/// Reports whether an application may use a connection.
fn admits(connection: &ConnectionConfig, application: &str) -> bool {
    connection.applications.is_empty() || connection.applications.iter().any(|admitted| admitted == application)
}

/// Returns the connection that a login names, if the application may use it.
fn connection_named<'a>(app: &'a App, id: &str, application: &str) -> Result<&'a ConnectionConfig> {
    let connections = &app.config.connections;
    let known = connections.iter().find(|connection| connection.id == id).ok_or_else(|| {
        // `GET /v3/conf/connections` lists them to everyone.
        let help = suggestion(id, connections.iter().map(|known| &*known.id));
        Error::new(Code::InvalidLogin, format!("There is no connection `{id}`.{help}")).with_detail("connectionId", id)
    })?;
    if admits(known, application) {
        return Ok(known);
    }
    let message = format!("The application `{application}` may not use the connection `{id}`.");
    Err(Error::new(Code::InvalidLogin, message).with_detail("applicationId", application))
}

/// Returns the connection of a session, which may have been removed from the configuration since.
fn connection_of(app: &App, session: &Session) -> ConnectionInfo {
    let known = app.config.connections.iter().find(|connection| *connection.id == *session.connection_id);
    known.map_or_else(
        || ConnectionInfo {
            id: session.connection_id.to_string(),
            name: session.connection_id.to_string(),
            description: String::new(),
        },
        connection_info,
    )
}

/// Begins a session for a user with the right password. The faults that `further` finds are
/// reported only to such a user, and then there is no session.
async fn begin<T>(call: &Call, request: &LoginRequest, further: impl FnOnce() -> Result<T>) -> Result<(NewSession, T)> {
    let app = &call.app;
    connection_named(app, &request.connection_id, &request.application_id)?;
    let LoginRequest { connection_id, application_id, username, password, .. } = request;
    // On the heap: a check is a large future, and takes milliseconds anyway.
    let check = Box::pin(app.directory.check_password(username, password));
    let user = attempted(call, username, check).await?;
    let further = further()?;
    let address = call.client.to_string();
    Ok((app.sessions.log_in_as(connection_id, application_id, &user, &address).await?, further))
}

/// Checks a password within the limit on failed logins.
///
/// # Errors
/// `TooManyRequests`; those of the check, of which `InvalidLogin` counts as a failure.
pub(super) async fn attempted<T>(call: &Call, user: &str, check: impl Future<Output = Result<T>>) -> Result<T> {
    let name = Name::of(user);
    let attempt = call.app.attempts.begin(&name, call.client, &**call.app.repository.clock()).await?;
    settle_attempt(attempt, check.await)
}

/// Reports the outcome of a login to its attempt, and returns it.
fn settle_attempt<T>(attempt: LoginAttempt<'_>, outcome: Result<T>) -> Result<T> {
    match &outcome {
        Ok(_) => attempt.succeeded(),
        // The attempt stays counted.
        Err(error) if error.code == Code::InvalidLogin => {}
        Err(_) => attempt.withdrawn(),
    }
    outcome
}

fn user_info(app: &App, user: &User) -> Result<UserInfo> {
    Ok(UserInfo {
        id: user.name.to_string(),
        name: user.name.to_string(),
        full_name: user.full_name.clone(),
        description: user.description.clone(),
        team: user.team.clone(),
        home: Some(app.home_of(&user.name)?),
        work_folder: Some(app.work_folder_of(&user.name)?),
        home_email: user.home_email.clone(),
        business_email: user.business_email.clone(),
    })
}

/// The parts of a login's reply beside the token.
struct LoginReplyParts {
    user: bool,
    groups: bool,
    privileges: bool,
    configuration: Option<ShownConfiguration>,
    connections: bool,
}

/// The options for the user's configuration in a login's reply.
struct ShownConfiguration {
    database: DatabaseId,
    /// For the records of folders.
    display: Display,
}

/// Builds the reply to every v3 login, however the user has logged in.
// Its future is large: callers put it on the heap.
async fn login_reply(call: &Call, new: &NewSession, shown: &LoginReplyParts) -> Result<Json<LoginReply>> {
    let app = &call.app;
    let session = new.session.session();
    let user = app.directory.user(&session.user)?.ok_or_else(Error::internal)?;
    let rights = app.directory.rights_of(&user.name)?;
    let access = Access::of(app, &new.session, &rights);
    let privileges = || rights.everywhere().iter().map(|privilege| privilege.name().to_owned()).collect();
    let idle_seconds = app.sessions.options().idle_seconds;
    let configuration = match &shown.configuration {
        Some(ShownConfiguration { database, display }) => {
            Some(configuration::of_user(app, access, &user, *database, display).await?)
        }
        None => None,
    };
    let usable = app.config.connections.iter().filter(|connection| admits(connection, &session.application_id));
    let reply = LoginReply {
        token: TokenReply { value: new.token.text().to_owned(), expires: session.expires_ms / 1000, idle_seconds },
        connection: connection_of(app, session),
        application_id: session.application_id.to_string(),
        username: session.user.to_string(),
        user: if shown.user { Some(user_info(app, &user)?) } else { None },
        groups: (shown.user && shown.groups).then(|| user.groups.iter().map(ToString::to_string).collect()),
        privileges: shown.privileges.then(privileges),
        configuration,
        available_connections: shown.connections.then(|| usable.map(connection_info).collect()),
    };
    with_cookie(call, Json::of(&reply)?, new.token.text(), app.sessions.options().absolute_seconds)
}

/// `GET /v3/auth/login`: by a ticket of the CAS server.
pub async fn log_in_with_ticket(call: Call) -> Result<Json<LoginReply>> {
    let app = &call.app;
    // The table of endpoints requires all three.
    let given = |name| call.query.text(name).unwrap_or_default();
    let (connection, application, ticket) = (given("connectionId"), given("applicationId"), given("ticket"));
    let cas = app.cas.as_ref().ok_or_else(|| {
        let message = "Login by CAS ticket is not available: no CAS server is configured (`auth.cas.server_url`).";
        Error::new(Code::InvalidLogin, message)
    })?;
    let load = call.query.boolean("loadConfig");
    let shown = LoginReplyParts {
        user: call.query.boolean("showUserInfo"),
        groups: call.query.boolean("showGroups"),
        privileges: call.query.boolean("showPrivileges"),
        configuration: None,
        connections: call.query.boolean("showAvailableConnections"),
    };
    // Everything else is checked before the ticket is used up, except for the database: strangers
    // must not learn which databases exist.
    connection_named(app, connection, application)?;
    // Only some tickets may be checked at a time; a client that invents tickets must not take all
    // places.
    let attempt = app.attempts.begin_nameless(call.client, &**app.repository.clock()).await?;
    let came_to = address_of(&call);
    let user = cas.user_of(&app.directory, ticket, &came_to, &call.client.to_string()).await;
    let user = settle_attempt(attempt, user)?;
    let shown = LoginReplyParts { configuration: shown_configuration(load, call.database()?, call.display()), ..shown };
    let new = app.sessions.log_in_as(connection, application, &user, &call.client.to_string()).await?;
    Box::pin(login_reply(&call, &new, &shown)).await
}

/// Returns the address that the client requested. A proxy may have terminated TLS.
fn address_of(call: &Call) -> LoginAddress {
    let (http, proxies) = (&call.http, &call.app.proxies);
    let scheme = if client::is_secure(http, proxies) { "https" } else { "http" };
    LoginAddress::new(scheme, client::host(http, proxies), http.uri().path(), http.query_string())
}

fn shown_configuration(load: bool, database: DatabaseId, display: Display) -> Option<ShownConfiguration> {
    load.then_some(ShownConfiguration { database, display })
}

/// `POST /v3/auth/login`
pub async fn log_in(call: Call) -> Result<Json<LoginReply>> {
    let request: LoginRequest = call.json().await?;
    let (load, display) = (request.option("loadConfig", true)?, call.display_of_body().await?);
    let shown = LoginReplyParts {
        user: request.option("showUserInfo", false)?,
        groups: request.option("showGroups", true)?,
        privileges: request.option("showPrivileges", false)?,
        configuration: None,
        connections: request.option("showAvailableConnections", false)?,
    };
    // Strangers must not learn which databases exist.
    let (new, database) = begin(&call, &request, || request.database(&call.app)).await?;
    let configuration = shown_configuration(load, database, display);
    let shown = LoginReplyParts { configuration, ..shown };
    Box::pin(login_reply(&call, &new, &shown)).await
}

/// `POST /v3/auth/copy`: a second session of the same user; the first one continues.
pub async fn copy(call: Call) -> Result<Json<LoginReply>> {
    let request: CopyRequest = call.json().await?;
    let new = call.app.sessions.copy(&request.token, &call.client.to_string()).await?;
    let shown =
        LoginReplyParts { user: false, groups: false, privileges: false, configuration: None, connections: false };
    Box::pin(login_reply(&call, &new, &shown)).await
}

async fn end(call: &Call) -> Result<Json<LogoutReply>> {
    let token = call.token().ok_or_else(Error::internal)?;
    call.app.sessions.end(&token).await?;
    with_cookie(call, Json::of(&LogoutReply { result: "ok".to_owned() })?, "", 0)
}

/// `GET /v3/auth/logout`
pub async fn log_out(call: Call) -> Result<Json<LogoutReply>> {
    end(&call).await
}

/// `GET /auth/logout`
pub async fn older_log_out(call: Call) -> Result<Json<OlderLogout>> {
    end(&call).await
}

/// `GET /v3/auth/connection/check`: the call only succeeds with a live session.
pub async fn check(call: Call) -> Result<Json<AliveReply>> {
    call.required_session()?;
    Json::of(&AliveReply { alive: true })
}

/// `GET /v3/auth/connection`
pub async fn connection(call: Call) -> Result<Json<ConnectionReply>> {
    let live = call.required_session()?;
    let session = live.session();
    Json::of(&ConnectionReply {
        connection: connection_of(&call.app, session),
        application_id: session.application_id.to_string(),
        username: session.user.to_string(),
        session: session.id.to_string(),
        login: session.created_ms / 1000,
        expires: session.expires_s(),
    })
}

/// `POST /auth/login`: a form, or the same as JSON.
pub async fn older_log_in(call: Call) -> Result<Json<OlderLogin>> {
    let request: LoginRequest = call.form().await?;
    let (new, ()) = begin(&call, &request, || Ok(())).await?;
    let session = new.session.session();
    let connection = connection_of(&call.app, session);
    let parameters = call.app.config.databases.iter().map(|database| ConnectionParameter {
        description: database.name.clone(),
        id: database.id.to_string(),
        name: database.name.clone(),
        name_service_address: String::new(),
        notification_channel_binding_path: String::new(),
        repository_binding_path: format!("/{}", database.name),
        short_path: database.name.clone(),
        use_pull_mode: true,
    });
    let reply = OlderLogin {
        application_id: session.application_id.to_string(),
        username: session.user.to_string(),
        token: new.token.text().to_owned(),
        sessions: vec![session.id.to_string()],
        connection_data: ConnectionData {
            aggregation: call.app.config.databases.len() > 1,
            description: connection.description,
            id: connection.id,
            name: connection.name,
            parameters: parameters.collect(),
        },
    };
    with_cookie(&call, Json::of(&reply)?, new.token.text(), call.app.sessions.options().absolute_seconds)
}
