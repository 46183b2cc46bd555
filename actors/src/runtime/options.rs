//! The options for running containers.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use stet_domain::command::{ChangeLimits, OBJECTS_PER_STEP};

/// The options for running containers; the section `[runtime]` of the configuration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RuntimeOptions {
    /// Threads that run containers; 0 derives the number from the cores. A message to a sleeping
    /// thread costs tens of microseconds, so few threads win.
    pub arbiters: usize,
    /// Commands admitted to one container at a time; further ones get `Overloaded`.
    pub permits_per_container: usize,
    /// Commands admitted to the whole repository at a time.
    pub permits: usize,
    /// Seconds without use after which a container leaves memory.
    pub idle_seconds: u64,
    /// Containers in memory above which the least recently used ones leave early, unless work is
    /// under way.
    pub containers: usize,
    /// Seconds between two sweeps of the registry for such containers.
    pub sweep_seconds: u64,
    /// Failures within [`RuntimeOptions::failure_window_seconds`] after which a container is
    /// quarantined.
    pub failures_allowed: usize,
    /// The window of [`RuntimeOptions::failures_allowed`].
    pub failure_window_seconds: u64,
    /// Wait before the second restart in the window; doubles with each further one.
    pub restart_backoff_milliseconds: u64,
    /// The longest wait before a restart.
    pub restart_backoff_max_milliseconds: u64,
    /// Seconds that a quarantine lasts before the container is tried again.
    pub quarantine_seconds: u64,
    /// Objects that one step of a folder's change with its whole subtree changes at most, notified
    /// containers included. No other change runs during a step.
    pub objects_per_step: usize,
    /// Bytes of memory of all containers above which the least recently used ones leave, and reads
    /// of further ones wait. Set by the section of the configuration about memory.
    #[serde(skip)]
    pub container_bytes: u64,
    /// The limits of every change. Set by the sections about memory and limits.
    #[serde(skip)]
    pub limits: ChangeLimits,
}

impl Default for RuntimeOptions {
    fn default() -> RuntimeOptions {
        RuntimeOptions {
            arbiters: 0,
            permits_per_container: 1024,
            permits: 8192,
            idle_seconds: 300,
            containers: 20_000,
            container_bytes: 1 << 30,
            sweep_seconds: 15,
            failures_allowed: 5,
            failure_window_seconds: 60,
            restart_backoff_milliseconds: 50,
            restart_backoff_max_milliseconds: 2000,
            quarantine_seconds: 30,
            objects_per_step: OBJECTS_PER_STEP,
            limits: ChangeLimits::default(),
        }
    }
}

impl RuntimeOptions {
    /// Returns the milliseconds before the next try after this number of failures in a row.
    pub(crate) fn backoff_ms(&self, failures: u32) -> u64 {
        let doubled = 1_u64.checked_shl(failures.saturating_sub(1)).unwrap_or(u64::MAX);
        self.restart_backoff_milliseconds.saturating_mul(doubled).min(self.restart_backoff_max_milliseconds)
    }

    /// Returns the number of threads that run containers.
    pub(crate) fn threads(&self) -> usize {
        let automatic = || std::thread::available_parallelism().map_or(1, |cores| automatic_arbiters(cores.get()));
        if self.arbiters == 0 { automatic() } else { self.arbiters }
    }

    pub(crate) fn idle(&self) -> Duration {
        Duration::from_secs(self.idle_seconds)
    }
}

/// Returns one, or two from six cores on. There are half as many reading threads as cores, and one
/// more. A change takes a container's thread two fifths of the time that it takes a reading thread.
/// So one container thread serves two and a half reading threads. The writer takes at least half as
/// long for a change as a container's thread does: a third container thread would wait for it.
fn automatic_arbiters(cores: usize) -> usize {
    if cores < 6 { 1 } else { 2 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn container_threads_are_as_many_as_configured_or_fit_the_cores() {
        assert_eq!(RuntimeOptions { arbiters: 7, ..RuntimeOptions::default() }.threads(), 7);
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        assert_eq!(RuntimeOptions::default().threads(), automatic_arbiters(cores));
        assert_eq!([1, 2, 5, 6, 64].map(automatic_arbiters), [1, 1, 1, 2, 2]);
    }
}
