//! Sessions: their listing, and the end of one (docs/api/auth.md, "Sessions").

pub mod routes;

use schemars::JsonSchema;
use serde::Serialize;
use stet_auth::Privilege;
use stet_domain::error::Result;
use stet_newsroom::administration::SessionView;
use stet_web::call::Call;
use stet_web::reply::Json;

use super::auth::LogoutReply;
use super::user::admin;

/// Sessions, the oldest first.
#[derive(Serialize, JsonSchema)]
pub struct SessionList {
    /// The sessions of the page.
    pub items: Vec<SessionView>,
    /// Total number of sessions.
    pub total: usize,
}

/// `GET /v3/session`: the caller's own sessions; with `manageGroups` also those of others, or all.
/// A key has none of its own.
pub async fn list(call: Call) -> Result<Json<SessionList>> {
    let caller = call.required_session()?;
    let named = call.query.text("user").filter(|user| !user.is_empty());
    let wanted = match named {
        None if call.query.boolean("all") => None,
        named => Some(named.unwrap_or(caller.user())),
    };
    let own = caller.grants().is_none() && wanted == Some(&**caller.user());
    if !own {
        call.access().check_everywhere(Privilege::ManageGroups)?;
    }
    let wanted = wanted.map(|user| admin(&call)?.user(user)).transpose()?;
    let sessions = call.app.sessions.list(wanted.as_ref().map(|user| user.name.as_str())).await?;
    let total = sessions.len();
    let page = call.query.page().cut(sessions);
    Json::of(&SessionList { items: page.iter().map(|live| SessionView::of(live, Some(caller.id()))).collect(), total })
}

/// `DELETE /v3/session/{id}`: ends one of the caller's own sessions; with `manageGroups` any.
/// Without it, sessions of others count as unknown.
pub async fn end(call: Call) -> Result<Json<LogoutReply>> {
    let caller = call.required_session()?;
    let own_only = !call.access().has_everywhere(Privilege::ManageGroups);
    if own_only && caller.grants().is_some() {
        call.access().check_everywhere(Privilege::ManageGroups)?;
    }
    let whose = own_only.then_some(&**caller.user());
    call.app.sessions.end_by_id(call.param("id"), whose).await?;
    Json::of(&LogoutReply { result: "ok".to_owned() })
}
