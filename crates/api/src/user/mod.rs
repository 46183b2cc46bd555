//! Administration of users, and the caller's own password (docs/api/groups-and-users.md).

pub mod routes;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stet_base::limits::offload;
use stet_domain::error::{Code, Error, Result};
use stet_newsroom::administration::{Admin, Secret, UserChange, UserView};
use stet_web::call::Call;
use stet_web::cookie::with_cookie;
use stet_web::reply::Json;

use super::auth::{LogoutReply, attempted};

/// Users, in the order of their names.
#[derive(Serialize, JsonSchema)]
pub struct UserList {
    /// The requested page.
    pub items: Vec<UserView>,
    /// Total number of users.
    pub total: usize,
}

/// Body of a change of the caller's own password.
#[derive(Deserialize, JsonSchema)]
pub struct PasswordRequest {
    /// The current password.
    pub old: Secret,
    /// The new password.
    pub new: Secret,
}

/// Returns the administration of users, groups and keys on behalf of the caller.
pub(super) fn admin(call: &Call) -> Result<Admin> {
    Ok(Admin::of(&call.app, call.identity()?))
}

/// `GET /v3/user`
pub async fn list(call: Call) -> Result<Json<UserList>> {
    let admin = admin(&call)?;
    // The number of users is not limited.
    let users = offload::offload(move || admin.users()).await??;
    let total = users.len();
    Json::of(&UserList { items: call.query.page().cut(users), total })
}

/// `GET /v3/user/{name}`
pub async fn get(call: Call) -> Result<Json<UserView>> {
    Json::of(&admin(&call)?.user(call.param("name"))?)
}

/// `POST /v3/user`
pub async fn create(call: Call) -> Result<Json<UserView>> {
    let change: UserChange = call.json().await?;
    // Boxed, because the future is too large to hold beside the body.
    Json::of(&Box::pin(admin(&call)?.add_user(change)).await?)
}

/// `PUT /v3/user/{name}`
pub async fn change(call: Call) -> Result<Json<UserView>> {
    let change: UserChange = call.json().await?;
    Json::of(&admin(&call)?.change_user(call.param("name"), change).await?)
}

/// `POST /v3/user/password`: ends all sessions of the user, including the calling one, since a
/// stolen session may be the reason for the change.
pub async fn set_own_password(call: Call) -> Result<Json<LogoutReply>> {
    let request: PasswordRequest = call.json().await?;
    let caller = call.required_session()?;
    if caller.grants().is_some() {
        let message = "A key can't change its user's password.";
        return Err(Error::new(Code::PermissionDenied, message));
    }
    let directory = &call.app.directory;
    // A 401 would make clients discard a valid session.
    let check = Box::pin(directory.check_password(caller.user(), request.old.text()));
    let known = attempted(&call, caller.user(), check).await.map_err(|error| match error.code {
        Code::InvalidLogin => Error::new(Code::PermissionDenied, "`old` is not the password of the user."),
        _ => error,
    })?;
    directory.by(call.identity()?).change_password(&known, request.new.text()).await?;
    with_cookie(&call, Json::of(&LogoutReply { result: "ok".to_owned() })?, "", 0)
}
