//! The section about live followers of containers.

use serde::{Deserialize, Serialize};

/// `[events]`: following containers live.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EventsConfig {
    /// Maximum followers of all containers together.
    pub followers: usize,
    /// Maximum followers of one container.
    pub followers_per_container: usize,
    /// Maximum followers of one user, of all containers together.
    pub followers_per_user: usize,
    /// Maximum containers that the streams of one user follow, counted in each stream.
    pub containers_per_user: usize,
    /// Maximum events by which a follower may be behind.
    pub queue_events: usize,
    /// Seconds without an event after which a follower receives a comment.
    pub keep_alive_seconds: u64,
}

impl Default for EventsConfig {
    fn default() -> EventsConfig {
        EventsConfig {
            followers: 8192,
            followers_per_container: 4096,
            followers_per_user: 2048,
            containers_per_user: 4096,
            queue_events: 1024,
            keep_alive_seconds: 15,
        }
    }
}
