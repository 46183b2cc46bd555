//! The rows: webhooks and their progress. They are stored as arrays in field order. So a new field
//! is added at the end, with `#[serde(default)]`, or the format is raised.

use std::collections::VecDeque;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use stet_domain::object::SharedText;
use stet_domain::store::{EventId, Row, RowPlace, Table};
use uuid::Uuid;

use crate::selection::EventSelection;
use crate::signature::WebhookSecret;

/// Number of deliveries that a webhook's log keeps.
pub const MOST_DELIVERIES: usize = 50;

/// A webhook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Webhook {
    /// The id.
    pub id: Uuid,
    /// The address of the receiver.
    pub url: String,
    /// The purpose, for people.
    pub description: String,
    /// The wanted events.
    pub selection: EventSelection,
    /// The name of the user whose rights decide what is sent.
    pub owner: SharedText,
    /// The secret that signs.
    pub secret: WebhookSecret,
    /// The secrets before, which sign as well until a time in epoch milliseconds.
    pub former: Vec<(WebhookSecret, u64)>,
    /// Whether nothing is sent for now.
    pub paused: bool,
    /// The time of creation, in epoch milliseconds.
    pub created_ms: u64,
}

impl Webhook {
    /// Returns the key of its row.
    pub fn key(id: Uuid) -> RowPlace {
        RowPlace { table: Table::Webhooks, key: Bytes::copy_from_slice(id.as_bytes()) }
    }
}

impl Row for Webhook {
    fn place(&self) -> RowPlace {
        Webhook::key(self.id)
    }
}

/// The progress of a webhook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookProgress {
    /// The id of the webhook.
    pub id: Uuid,
    /// The place in the log up to which all is done.
    pub position: EventId,
    /// Number of events that the receiver has accepted.
    pub delivered: u64,
    /// The failure of the next event, if it was sent and not accepted.
    pub failure: Option<DeliveryFailure>,
    /// The reason why nothing is sent any more until somebody resumes the webhook.
    pub ended: Option<String>,
    /// The last deliveries, the oldest first.
    pub deliveries: VecDeque<Delivery>,
}

impl WebhookProgress {
    /// Creates the progress of a webhook that begins after a place.
    pub fn after(id: Uuid, position: EventId) -> WebhookProgress {
        let (delivered, failure, ended, deliveries) = Default::default();
        WebhookProgress { id, position, delivered, failure, ended, deliveries }
    }

    /// Returns the key of its row.
    pub fn key(id: Uuid) -> RowPlace {
        RowPlace { table: Table::WebhookProgress, key: Bytes::copy_from_slice(id.as_bytes()) }
    }

    /// Notes that everything up to a place is done, and with it a failure there.
    pub fn move_to(&mut self, position: EventId) {
        self.position = position;
        self.failure = self.failure.filter(|failure| position < failure.event);
    }

    /// Adds a delivery to the log, which forgets the oldest.
    pub fn log(&mut self, delivery: Delivery) {
        self.deliveries.push_back(delivery);
        while self.deliveries.len() > MOST_DELIVERIES {
            self.deliveries.pop_front();
        }
    }
}

impl Row for WebhookProgress {
    fn place(&self) -> RowPlace {
        WebhookProgress::key(self.id)
    }
}

/// The failure of an event that is sent again and again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliveryFailure {
    /// The event.
    pub event: EventId,
    /// The time of the first attempt, in epoch milliseconds; `None` as long as the clock may be
    /// wrong.
    pub since_ms: Option<u64>,
    /// The number of attempts.
    pub attempts: u32,
    /// The time of the next attempt, in epoch milliseconds.
    pub next_ms: u64,
}

/// One attempt to deliver an event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// The event; `None` for a test.
    pub event: Option<EventId>,
    /// The kind of the event.
    pub kind: String,
    /// The time of the attempt, in epoch milliseconds.
    pub at_ms: u64,
    /// The duration in milliseconds.
    pub took_ms: u64,
    /// The status of the reply; `None` if there was none.
    pub status: Option<u16>,
    /// The reason why the event was not accepted; `None` if it was.
    pub error: Option<String>,
}
