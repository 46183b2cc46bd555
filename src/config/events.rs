//! The section about those who follow containers live.

use serde::{Deserialize, Serialize};

/// `[events]`: following containers live.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EventsConfig {
    /// Followers of all containers together.
    pub followers: usize,
    /// Followers of one container.
    pub followers_per_container: usize,
    /// Followers of one user, of all containers together.
    pub followers_per_user: usize,
    /// Events that a follower may be behind.
    pub queue_events: usize,
    /// Seconds without an event after which a follower is sent a comment.
    pub keep_alive_seconds: u64,
}

impl Default for EventsConfig {
    fn default() -> EventsConfig {
        EventsConfig {
            followers: 8192,
            followers_per_container: 4096,
            followers_per_user: 2048,
            queue_events: 1024,
            keep_alive_seconds: 15,
        }
    }
}
