//! Keys for machine clients (docs/api/keys.md).

pub mod routes;

use schemars::JsonSchema;
use serde::Serialize;
use stet_domain::error::Result;
use stet_newsroom::administration::{KeyRequest, KeyView, Secret};
use stet_web::call::Call;
use stet_web::reply::Json;

use super::auth::LogoutReply;
use super::user::admin;

/// The keys in force, the oldest first.
#[derive(Serialize, JsonSchema)]
pub struct KeyList {
    /// The keys of the page.
    pub items: Vec<KeyView>,
    /// Total number of keys.
    pub total: usize,
}

/// A new key.
#[derive(Serialize, JsonSchema)]
pub struct NewKeyReply {
    /// Token of the key, which is shown only this once.
    pub token: Secret,
    /// The key.
    pub key: KeyView,
}

/// `GET /v3/key`
pub async fn list(call: Call) -> Result<Json<KeyList>> {
    let keys = admin(&call)?.keys().await?;
    let total = keys.len();
    Json::of(&KeyList { items: call.query.page().cut(keys), total })
}

/// `POST /v3/key`
pub async fn create(call: Call) -> Result<Json<NewKeyReply>> {
    let request: KeyRequest = call.json().await?;
    let (key, token) = admin(&call)?.add_key(request).await?;
    Json::of(&NewKeyReply { token, key })
}

/// `DELETE /v3/key/{name}`
pub async fn revoke(call: Call) -> Result<Json<LogoutReply>> {
    call.app.sessions.revoke(call.identity()?, call.param("name")).await?;
    Json::of(&LogoutReply { result: "ok".to_owned() })
}
