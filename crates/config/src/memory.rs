//! The section about the memory of the process and how it is divided.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use stet_domain::command::{CHANGE_BYTES, LARGEST_CONTAINER};

/// `[memory]`: the memory that the process may take, and its parts.
///
/// Parts that are 0 are shares of the limit. Together they are half of it. The rest is for
/// the program, its connections, changes that are not in the tables yet, password checks, and the
/// allocator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MemoryConfig {
    /// Bytes that the process may take; 0 means half of the machine's memory, and at most
    /// [`MOST_BY_ITSELF`].
    pub limit_bytes: u64,
    /// Bytes of the tables' pages; 0 means a share of the limit.
    pub pages_bytes: u64,
    /// Bytes of the caches of records, replies, parts and pictures; 0 means a share of the limit.
    pub caches_bytes: u64,
    /// Bytes of containers in memory; 0 means a share of the limit.
    pub containers_bytes: u64,
    /// Bytes that calls take, for bodies, replies and pictures; 0 means a share of the limit.
    pub calls_bytes: u64,
    /// Bytes that one container may grow to; 0 means a share of the limit.
    pub largest_container_bytes: u64,
    /// Bytes of rows that one change may store.
    pub largest_change_bytes: usize,
}

/// The default limit on a large machine (4 GiB): caches gain little beyond it.
pub const MOST_BY_ITSELF: u64 = 4 << 30;

impl Default for MemoryConfig {
    fn default() -> MemoryConfig {
        MemoryConfig {
            limit_bytes: 0,
            pages_bytes: 0,
            caches_bytes: 0,
            containers_bytes: 0,
            calls_bytes: 0,
            largest_container_bytes: 0,
            largest_change_bytes: CHANGE_BYTES,
        }
    }
}

impl MemoryConfig {
    /// The smallest limit (256 MiB); a server with less would serve nobody well.
    pub const LEAST: u64 = 256 << 20;

    /// Returns the bytes that the process may take.
    pub fn limit(&self) -> u64 {
        match self.limit_bytes {
            0 => (machine_memory().unwrap_or(MOST_BY_ITSELF) / 2).clamp(MemoryConfig::LEAST, MOST_BY_ITSELF),
            bytes => bytes,
        }
    }

    /// Returns the configured part, or that share of the limit in percent.
    fn part(&self, configured: u64, percent: u64) -> u64 {
        if configured > 0 { configured } else { self.limit() / 100 * percent }
    }

    /// Returns the bytes of the tables' pages.
    pub fn pages(&self) -> usize {
        usize::try_from(self.part(self.pages_bytes, 8)).unwrap_or(usize::MAX)
    }

    /// Returns the bytes of all caches.
    pub fn caches(&self) -> CacheShares {
        CacheShares { bytes: self.part(self.caches_bytes, 10) }
    }

    /// Returns the bytes of containers in memory.
    pub fn containers(&self) -> u64 {
        self.part(self.containers_bytes, 14)
    }

    /// Returns the bytes that one container may grow to. By default it is a thirty-second of the
    /// limit: to read, change and store a container takes several times its size for a moment.
    pub fn largest_container(&self) -> u64 {
        match self.largest_container_bytes {
            0 => (self.limit() / 32).min(LARGEST_CONTAINER),
            bytes => bytes,
        }
    }

    /// Returns the bytes that calls take.
    pub fn calls(&self) -> u64 {
        self.part(self.calls_bytes, 18)
    }

    /// Returns the bytes of all parts together.
    pub fn parts(&self) -> u64 {
        let parts = [self.pages() as u64, self.caches().bytes, self.containers(), self.calls()];
        parts.into_iter().fold(0, u64::saturating_add)
    }

    /// Returns the bytes of rows that are changed and not in the tables yet.
    pub fn overlay(&self) -> usize {
        (self.limit() / 8).clamp(64 << 20, 256 << 20) as usize
    }

    /// Returns the bytes of rows that one change may store: it must fit beside others.
    pub fn largest_change(&self) -> usize {
        self.largest_change_bytes.min(self.overlay() / 2)
    }
}

/// The bytes of all caches, with the share of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheShares {
    bytes: u64,
}

impl CacheShares {
    /// Returns the bytes of records, with what readers see of them.
    pub fn records(self) -> u64 {
        self.bytes / 10 * 4
    }

    /// Returns the bytes of whole replies about containers.
    fn replies(self) -> u64 {
        self.bytes / 10 * 4
    }

    /// Returns the bytes of whole replies about drawers.
    pub fn drawers(self) -> u64 {
        self.replies() / 8 * 7
    }

    /// Returns the bytes of public pages of live blogs. They are taken from those of drawers, and
    /// only if there are such pages.
    pub fn pages(self) -> u64 {
        self.replies() / 4
    }

    /// Returns the bytes of structures of topics.
    pub fn structures(self) -> u64 {
        self.replies() / 8
    }

    /// Returns the bytes of parts of containers as JSON.
    fn parts(self) -> u64 {
        self.bytes / 10 - self.lengths()
    }

    /// Returns the bytes of posts as JSON.
    pub fn posts(self) -> u64 {
        self.parts() / 4 * 3
    }

    /// Returns the bytes of topic items as JSON.
    pub fn topic_items(self) -> u64 {
        self.parts() / 4
    }

    /// Returns the bytes of the lengths of liveblogs' contents.
    pub fn lengths(self) -> u64 {
        self.bytes / 1000
    }

    /// Returns the bytes of scaled pictures.
    pub fn pictures(self) -> u64 {
        self.bytes / 10 - self.xml_files()
    }

    /// Returns the bytes of configuration files as clients read them.
    pub fn xml_files(self) -> u64 {
        self.bytes / 20
    }
}

/// Returns the bytes of memory that this process can have: those of the machine, or of its control
/// group or address space if they are fewer. `None` if that is unknown.
pub fn machine_memory() -> Option<u64> {
    static MEMORY: LazyLock<Option<u64>> = LazyLock::new(|| {
        let info = std::fs::read_to_string("/proc/meminfo").ok()?;
        let total = info.lines().find_map(|line| line.strip_prefix("MemTotal:")?.trim().strip_suffix("kB"))?;
        let machine = total.trim().parse::<u64>().ok()?.saturating_mul(1024);
        let address_space = rlimit::getrlimit(rlimit::Resource::AS).map_or(u64::MAX, |(soft, _)| soft);
        Some(group_limits().into_iter().fold(machine.min(address_space), u64::min))
    });
    *MEMORY
}

/// Returns the limits of the control groups (version 2) of this process.
fn group_limits() -> Vec<u64> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let Some(own) = groups.lines().find_map(|line| line.strip_prefix("0::/")) else { return Vec::new() };
    let root = PathBuf::from("/sys/fs/cgroup");
    let own = root.join(own);
    let limit = |group: &Path| std::fs::read_to_string(group.join("memory.max")).ok()?.trim().parse().ok();
    own.ancestors().take_while(|group| group.starts_with(&root)).filter_map(limit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_the_memory_leave_half_of_it_for_the_rest() {
        for limit_bytes in [MemoryConfig::LEAST, 512 << 20, 4 << 30, 1 << 40] {
            let memory = MemoryConfig { limit_bytes, ..MemoryConfig::default() };
            assert!(memory.parts() <= limit_bytes / 2, "{limit_bytes}");
            assert!(memory.largest_change() <= memory.overlay() / 2);
        }
        let memory = MemoryConfig { calls_bytes: 7, ..MemoryConfig::default() };
        assert_eq!(memory.calls(), 7);
        assert!((MemoryConfig::LEAST..=MOST_BY_ITSELF).contains(&memory.limit()));
    }

    #[test]
    fn the_caches_share_what_there_is_for_them() {
        for bytes in [0, 1, 9, 1000, 640 << 20] {
            let caches = CacheShares { bytes };
            let all = [
                caches.records(),
                caches.replies(),
                caches.parts(),
                caches.lengths(),
                caches.pictures(),
                caches.xml_files(),
            ];
            assert!(all.iter().sum::<u64>() <= bytes, "{bytes}");
            assert!(caches.drawers() + caches.structures() <= caches.replies());
            assert!(caches.pages() <= caches.drawers() / 2);
            assert!(caches.posts() + caches.topic_items() <= caches.parts());
        }
    }
}
