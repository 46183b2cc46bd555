//! The section about webhooks.

use serde::{Deserialize, Serialize};

/// `[webhooks]`: reports of changes to other systems (docs/api/webhooks.md).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WebhooksConfig {
    /// Maximum number of webhooks.
    pub most: usize,
    /// Networks and addresses that are not public, and may receive events nevertheless.
    pub networks: Vec<String>,
    /// Seconds that a receiver may take for one event.
    pub timeout_seconds: u64,
    /// Seconds until an event that was not accepted is sent again. Each further pause is twice as
    /// long, up to a quarter of an hour.
    pub retry_seconds: u64,
    /// Hours after which a webhook whose receiver accepts nothing ends.
    pub give_up_hours: u64,
}

impl Default for WebhooksConfig {
    fn default() -> WebhooksConfig {
        WebhooksConfig { most: 32, networks: Vec::new(), timeout_seconds: 20, retry_seconds: 5, give_up_hours: 120 }
    }
}
