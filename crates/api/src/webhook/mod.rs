//! Webhooks (docs/api/webhooks.md).

pub mod routes;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stet_domain::command::CallerIdentity;
use stet_domain::error::{Code, Error, Result};
use stet_domain::id::{Loid, ObjectSource};
use stet_newsroom::administration::Secret;
use stet_web::call::Call;
use stet_web::reply::Json;
use stet_webhooks::{DeliveryView, WebhookSettings, WebhookView, Webhooks};

/// Webhooks, the oldest first.
#[derive(Serialize, JsonSchema)]
pub struct WebhookList {
    /// The webhooks of the page.
    pub items: Vec<WebhookView>,
    /// Total number of webhooks.
    pub total: usize,
}

/// A webhook with its secret.
#[derive(Serialize, JsonSchema)]
pub struct WebhookSecretReply {
    /// Secret that signs, for the receiver. It is shown only this once.
    pub secret: Secret,
    /// The webhook.
    pub webhook: WebhookView,
}

/// The last attempts of a webhook, the newest first.
#[derive(Serialize, JsonSchema)]
pub struct DeliveryList {
    /// The attempts of the page.
    pub items: Vec<DeliveryView>,
    /// Total number of attempts that are kept.
    pub total: usize,
}

/// Body of a change of a webhook's position.
#[derive(Deserialize, JsonSchema)]
pub struct PositionRequest {
    /// Id of the event after which the webhook goes on, as in the audit trail; or `newest`, or
    /// `oldest` for everything that is still stored.
    pub position: String,
}

fn webhooks(call: &Call) -> &Webhooks {
    call.app.kept::<Arc<Webhooks>>()
}

/// Returns the identity of a person. A key may have fewer rights than its user, who would be the
/// owner.
fn person(call: &Call) -> Result<CallerIdentity> {
    if call.required_session()?.grants().is_some() {
        let message = "A key can't make or change webhooks, because they act with the rights of a user.";
        return Err(Error::new(Code::PermissionDenied, message));
    }
    call.identity()
}

/// Returns a function that finds the objects that settings name.
fn finder(call: &Call) -> impl Fn(&ObjectSource) -> Result<Loid> {
    |source| Ok(call.find(source, call.database()?)?.loid)
}

/// `GET /v3/webhook`
pub async fn list(call: Call) -> Result<Json<WebhookList>> {
    let all = webhooks(&call).list()?;
    let total = all.len();
    Json::of(&WebhookList { items: call.query.page().cut(all), total })
}

/// `GET /v3/webhook/{id}`
pub async fn get(call: Call) -> Result<Json<WebhookView>> {
    Json::of(&webhooks(&call).get(call.param("id"))?)
}

/// `POST /v3/webhook`
pub async fn create(call: Call) -> Result<Json<WebhookSecretReply>> {
    let settings: WebhookSettings = call.json().await?;
    let who = person(&call)?;
    let owner = who.user.clone();
    let (webhook, secret) = webhooks(&call).create(who, owner, settings, finder(&call)).await?;
    Json::of(&WebhookSecretReply { secret: Secret::new(secret), webhook })
}

/// `PUT /v3/webhook/{id}`
pub async fn change(call: Call) -> Result<Json<WebhookView>> {
    let settings: WebhookSettings = call.json().await?;
    let who = person(&call)?;
    let user = Some(who.user.clone());
    Json::of(&webhooks(&call).change(who, user, call.param("id"), settings, finder(&call)).await?)
}

/// `DELETE /v3/webhook/{id}`
pub async fn remove(call: Call) -> Result<Json<WebhookView>> {
    Json::of(&webhooks(&call).remove(person(&call)?, call.param("id")).await?)
}

/// `POST /v3/webhook/{id}/secret`
pub async fn renew_secret(call: Call) -> Result<Json<WebhookSecretReply>> {
    let who = person(&call)?;
    let user = Some(who.user.clone());
    let (webhook, secret) = webhooks(&call).renew_secret(who, user, call.param("id")).await?;
    Json::of(&WebhookSecretReply { secret: Secret::new(secret), webhook })
}

/// `POST /v3/webhook/{id}/position`
pub async fn set_position(call: Call) -> Result<Json<WebhookView>> {
    let PositionRequest { position } = call.json().await?;
    Json::of(&webhooks(&call).set_position(person(&call)?, call.param("id"), &position).await?)
}

/// `GET /v3/webhook/{id}/delivery`
pub async fn deliveries(call: Call) -> Result<Json<DeliveryList>> {
    let all = webhooks(&call).deliveries(call.param("id"))?;
    let total = all.len();
    Json::of(&DeliveryList { items: call.query.page().cut(all), total })
}

/// `POST /v3/webhook/{id}/test`
pub async fn test(call: Call) -> Result<Json<DeliveryView>> {
    person(&call)?;
    Json::of(&webhooks(&call).test(call.param("id")).await?)
}
