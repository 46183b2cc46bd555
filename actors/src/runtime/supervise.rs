//! The restart limit of containers, and the check that no two instances of one live at once.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;

use super::options::RuntimeOptions;
use stet_domain::error::Error;
use stet_domain::id::Loid;

/// A count of the loaded instances of each container. More than one at once is a fault of the
/// registry.
#[derive(Debug, Default)]
pub(crate) struct Census {
    loaded: Mutex<HashMap<Loid, usize>>,
    most: std::sync::atomic::AtomicUsize,
}

impl Census {
    /// Returns the most instances of one container that were ever loaded at once.
    pub fn most(&self) -> usize {
        self.most.load(std::sync::atomic::Ordering::SeqCst)
    }
}

/// A marker that is dropped with the actor, which tells a successor that this instance is gone.
pub(crate) struct InstanceMarker {
    loid: Loid,
    census: Arc<Census>,
    counted: bool,
    _sender: watch::Sender<()>,
}

impl InstanceMarker {
    pub fn new(loid: Loid, census: Arc<Census>, sender: watch::Sender<()>) -> InstanceMarker {
        InstanceMarker { loid, census, counted: false, _sender: sender }
    }

    /// Counts the instance as loaded.
    pub fn count(&mut self) {
        if std::mem::replace(&mut self.counted, true) {
            return;
        }
        let mut loaded = self.census.loaded.lock();
        let now = loaded.entry(self.loid).or_default();
        *now += 1;
        self.census.most.fetch_max(*now, std::sync::atomic::Ordering::SeqCst);
        if *now > 1 {
            tracing::error!(container = %self.loid, instances = *now, "a container has more than one running instance");
        }
    }
}

impl Drop for InstanceMarker {
    fn drop(&mut self) {
        if self.counted {
            let mut loaded = self.census.loaded.lock();
            if let Some(now) = loaded.get_mut(&self.loid) {
                *now -= 1;
                if *now == 0 {
                    loaded.remove(&self.loid);
                }
            }
        }
    }
}

/// The restart limit of one container.
#[derive(Debug, Default)]
pub(crate) struct RestartLimit {
    /// The times of its failures within the window, by the steady clock.
    failures: VecDeque<u64>,
}

/// The period in which a container is unavailable, with the error for its callers. A quarantine
/// counts in the metrics until this is dropped, whether or not the container is called.
pub(crate) struct Outage {
    /// The time from which on it may be tried again, by the steady clock.
    pub until: u64,
    pub error: Error,
    /// The family of a quarantined container.
    quarantined: Option<&'static str>,
}

impl Outage {
    /// Returns a quarantine after repeated failures.
    pub fn quarantine(until: u64, error: Error, family: &'static str) -> Outage {
        metrics::counter!("stet_container_quarantines_total", "family" => family).increment(1);
        metrics::gauge!("stet_containers_quarantined", "family" => family).increment(1);
        Outage { until, error, quarantined: Some(family) }
    }

    /// Returns an outage that is no failure of the container and ends with its next call.
    pub fn momentary(now_ms: u64, error: Error) -> Outage {
        Outage { until: now_ms, error, quarantined: None }
    }
}

impl Drop for Outage {
    fn drop(&mut self) {
        if let Some(family) = self.quarantined {
            metrics::gauge!("stet_containers_quarantined", "family" => family).decrement(1);
        }
    }
}

/// The reaction to a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RestartDecision {
    /// A reload after this wait.
    Restart(Duration),
    /// A quarantine until this time of the steady clock.
    Quarantine(u64),
}

impl RestartLimit {
    /// Counts a failure, and returns how to react.
    pub fn fail(&mut self, now_ms: u64, options: &RuntimeOptions) -> RestartDecision {
        let window = options.failure_window_seconds * 1000;
        self.failures.retain(|at| at + window > now_ms);
        self.failures.push_back(now_ms);
        if self.failures.len() > options.failures_allowed {
            // The next life begins without failures.
            self.failures.clear();
            return RestartDecision::Quarantine(now_ms + options.quarantine_seconds * 1000);
        }
        RestartDecision::Restart(self.wait(options))
    }

    /// Returns the wait before the restart after the failures so far.
    fn wait(&self, options: &RuntimeOptions) -> Duration {
        let doublings = self.failures.len().saturating_sub(2).min(20);
        if self.failures.len() < 2 {
            return Duration::ZERO;
        }
        let wait = options.restart_backoff_milliseconds << doublings;
        Duration::from_millis(wait.min(options.restart_backoff_max_milliseconds))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_until_the_budget_is_used_up() {
        let options = RuntimeOptions::default();
        let mut budget = RestartLimit::default();
        let verdicts: Vec<RestartDecision> = (0..6).map(|_| budget.fail(1000, &options)).collect();
        let wait = |ms| RestartDecision::Restart(Duration::from_millis(ms));
        assert_eq!(verdicts, [wait(0), wait(50), wait(100), wait(200), wait(400), RestartDecision::Quarantine(31_000)]);
    }

    #[test]
    fn failures_are_forgotten_after_the_window() {
        let options = RuntimeOptions::default();
        let mut budget = RestartLimit::default();
        for n in 0..100 {
            assert_eq!(budget.fail(n * 61_000, &options), RestartDecision::Restart(Duration::ZERO));
        }
    }
}
