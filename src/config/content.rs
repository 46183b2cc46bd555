//! `[content]`.

use serde::{Deserialize, Serialize};

/// `[content]`: the bytes of objects, beside what `[store]` says of small ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ContentConfig {
    /// Seconds after which a content file that nothing refers to is removed; 0: never.
    pub collect_after_seconds: u64,
}

impl Default for ContentConfig {
    fn default() -> ContentConfig {
        ContentConfig { collect_after_seconds: 24 * 60 * 60 }
    }
}
