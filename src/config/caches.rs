//! The section about what is kept in memory.

use serde::{Deserialize, Serialize};

/// `[caches]`: what is kept in memory because it was asked for lately.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CachesConfig {
    /// Bytes of all of it; the tables' pages, `store.cache_bytes`, are not part of it.
    pub bytes: u64,
}

impl Default for CachesConfig {
    fn default() -> CachesConfig {
        CachesConfig { bytes: 640 << 20 }
    }
}

impl CachesConfig {
    /// Bytes of records, with what readers see of them.
    pub fn records(&self) -> u64 {
        self.bytes / 10 * 4
    }

    /// Bytes of whole replies about containers.
    pub fn replies(&self) -> u64 {
        self.bytes / 10 * 4
    }

    /// Bytes of whole replies about drawers.
    pub fn drawers(&self) -> u64 {
        self.replies() / 8 * 7
    }

    /// Bytes of structures of topics.
    pub fn structures(&self) -> u64 {
        self.replies() / 8
    }

    /// Bytes of parts of containers as JSON.
    pub fn parts(&self) -> u64 {
        self.bytes / 10 - self.lengths()
    }

    /// Bytes of posts as JSON.
    pub fn posts(&self) -> u64 {
        self.parts() / 4 * 3
    }

    /// Bytes of topic items as JSON.
    pub fn topic_items(&self) -> u64 {
        self.parts() / 4
    }

    /// Bytes of how long the contents of liveblogs are.
    pub fn lengths(&self) -> u64 {
        self.bytes / 1000
    }

    /// Bytes of scaled pictures.
    pub fn pictures(&self) -> u64 {
        self.bytes / 10 - self.xml_files()
    }

    /// Bytes of configuration files as clients read them.
    pub fn xml_files(&self) -> u64 {
        self.bytes / 20
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_parts_together_are_no_more_than_the_whole() {
        for bytes in [0, 1, 9, 999, 1000, 640 << 20, u64::MAX] {
            let caches = CachesConfig { bytes };
            let parts = [
                caches.records(),
                caches.replies(),
                caches.parts(),
                caches.lengths(),
                caches.pictures(),
                caches.xml_files(),
            ];
            let sum: u128 = parts.map(u128::from).iter().sum();
            assert!(sum <= u128::from(bytes) && sum + 10 >= u128::from(bytes) || bytes < 1000, "{bytes}: {parts:?}");
            assert!(caches.drawers() + caches.structures() <= caches.replies());
            assert!(caches.posts() + caches.topic_items() <= caches.parts());
        }
    }
}
