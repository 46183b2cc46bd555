//! `[content]`.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Config, Durability};

/// `[content]`: the bytes of objects, beside the settings for small ones in `[store]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ContentConfig {
    /// Seconds after which a content file that nothing refers to is removed; 0: never.
    pub collect_after_seconds: u64,
    /// Maximum pixels of the longer side of a scaled picture.
    pub lowres_pixels: u32,
    /// Maximum pixels of a picture that is scaled.
    pub picture_pixels: u64,
    /// Bytes of memory that scaling one picture may take, beside its file.
    pub picture_memory_bytes: u64,
    /// Maximum bytes of a picture that is scaled.
    pub picture_bytes: u64,
    /// Maximum number of pictures scaled at a time.
    pub scaled_at_once: usize,
    /// Seconds that a call waits for its turn to scale a picture, or for another call that scales
    /// it.
    pub scaling_wait_seconds: u64,
}

impl Default for ContentConfig {
    fn default() -> ContentConfig {
        ContentConfig {
            collect_after_seconds: 24 * 60 * 60,
            lowres_pixels: 512,
            picture_pixels: 64_000_000,
            picture_memory_bytes: 640_000_000,
            picture_bytes: 64 << 20,
            scaled_at_once: 2,
            scaling_wait_seconds: 10,
        }
    }
}

impl Config {
    /// Returns the time after which unreferenced content files are removed; `None`: never. Without
    /// durability a crash may bring back rows that were deleted, and their files must still exist.
    pub fn collect_after(&self) -> Option<Duration> {
        let after = Duration::from_secs(self.content.collect_after_seconds);
        (self.store.durability == Durability::Journal && !after.is_zero()).then_some(after)
    }
}
