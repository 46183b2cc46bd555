//! Webhooks and deliveries as callers see them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stet_domain::id::Loid;

use crate::rows::{Delivery, DeliveryFailure, Webhook, WebhookProgress};

/// State of a webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum WebhookState {
    /// Events are sent as they happen.
    Active,
    /// The receiver did not accept the next event, which is sent again and again; or events can't
    /// be read, for which the log has the reason.
    Failing,
    /// Somebody has paused it.
    Paused,
    /// The owner is disabled or does not exist; it goes on when the owner is enabled again.
    OwnerDisabled,
    /// The receiver has accepted nothing for too long, or wants no more. It waits for somebody to
    /// resume it.
    Ended,
}

impl WebhookState {
    /// All states.
    pub const ALL: [WebhookState; 5] = [
        WebhookState::Active,
        WebhookState::Failing,
        WebhookState::Paused,
        WebhookState::OwnerDisabled,
        WebhookState::Ended,
    ];

    /// Returns the name, as in metrics.
    pub fn name(self) -> &'static str {
        match self {
            WebhookState::Active => "active",
            WebhookState::Failing => "failing",
            WebhookState::Paused => "paused",
            WebhookState::OwnerDisabled => "ownerDisabled",
            WebhookState::Ended => "ended",
        }
    }
}

/// A webhook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WebhookView {
    /// The id.
    pub id: String,
    /// Address of the receiver.
    pub url: String,
    /// Purpose, for people.
    pub description: String,
    /// Kinds of events, or patterns; an empty list stands for all.
    pub kinds: Vec<String>,
    /// Loid of the only container; null for all.
    #[schemars(with = "Option<Loid>")]
    pub container: Option<String>,
    /// Loid of the folder of the containers; null for everywhere.
    #[schemars(with = "Option<Loid>")]
    pub below: Option<String>,
    /// Name of the user who sees what the receiver is told.
    pub owner: String,
    /// Time of creation, epoch milliseconds.
    pub created: u64,
    /// State of the webhook.
    pub state: WebhookState,
    /// Reason why it has ended; null while it has not.
    pub ended: Option<String>,
    /// Id of the last event that needs no more work, as in the audit trail.
    pub position: String,
    /// Number of events that the receiver has accepted.
    pub delivered: u64,
    /// The event that was not accepted; null if there is none.
    pub failure: Option<FailureView>,
}

/// An event that is sent again and again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FailureView {
    /// Id of the event.
    pub event: String,
    /// Time of the first attempt, epoch milliseconds; null as long as the clock may be wrong.
    pub since: Option<u64>,
    /// Number of attempts.
    pub attempts: u32,
    /// Time of the next attempt, epoch milliseconds.
    pub next: u64,
}

impl FailureView {
    fn of(failure: &DeliveryFailure) -> FailureView {
        let DeliveryFailure { event, since_ms, attempts, next_ms, .. } = *failure;
        FailureView { event: event.to_string(), since: since_ms, attempts, next: next_ms }
    }
}

impl WebhookView {
    /// Builds the view of a webhook.
    pub fn of(webhook: &Webhook, progress: &WebhookProgress, state: WebhookState) -> WebhookView {
        let loid = |loid: Option<Loid>| loid.map(|loid| loid.to_string());
        WebhookView {
            id: webhook.id.to_string(),
            url: webhook.url.clone(),
            description: webhook.description.clone(),
            kinds: webhook.selection.kinds.clone(),
            container: loid(webhook.selection.container),
            below: loid(webhook.selection.below),
            owner: webhook.owner.to_string(),
            created: webhook.created_ms,
            state,
            ended: progress.ended.clone(),
            position: progress.position.to_string(),
            delivered: progress.delivered,
            failure: progress.failure.as_ref().map(FailureView::of),
        }
    }
}

/// One attempt to deliver an event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeliveryView {
    /// Id of the event, as in the audit trail; null for a test.
    pub event: Option<String>,
    /// Kind of the event.
    pub kind: String,
    /// Time of the attempt, epoch milliseconds.
    pub at: u64,
    /// Duration in milliseconds.
    pub milliseconds: u64,
    /// Status of the reply; null if there was none.
    pub status: Option<u16>,
    /// Reason why the event was not accepted; null if it was.
    pub error: Option<String>,
}

impl DeliveryView {
    /// Builds the view of an attempt.
    pub fn of(delivery: &Delivery) -> DeliveryView {
        let Delivery { event, kind, at_ms, took_ms, status, error } = delivery.clone();
        DeliveryView {
            event: event.map(|event| event.to_string()),
            kind,
            at: at_ms,
            milliseconds: took_ms,
            status,
            error,
        }
    }
}
