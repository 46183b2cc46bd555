//! The watch over the memory of the process, and the measures near its limit.
//!
//! Everything large is reserved before it is allocated, but reservations are estimates. So the
//! memory is read several times a second. Caches and unused containers are dropped first. Beyond
//! that, calls that need much memory are refused for a while.
//!
//! Mapped files, such as the index of the search, do not count: the system drops them by itself
//! when memory is scarce, and no measure here would make them fewer.

use std::sync::Arc;
use std::time::Duration;

use stet_actors::repository::Repository;
use stet_base::limits::bounded_cache;
use stet_observe::metering::allocated_bytes;
use stet_web::app::App;
use tokio::time::{Instant, MissedTickBehavior, interval};

/// The time between two readings.
const LOOK: Duration = Duration::from_millis(100);

/// The time between two rounds of emptying caches: freed memory shows with a delay.
const SHED: Duration = Duration::from_secs(1);

/// The part of the limit, a twentieth, that caches and containers must hold to be worth emptying.
const WORTHWHILE: u64 = 20;

/// The degree to which the process uses up its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Pressure {
    /// No measures.
    None,
    /// Caches and unused containers are dropped (above 85 percent).
    High,
    /// Calls that need much memory are refused, too (above 92 percent).
    Critical,
}

impl Pressure {
    fn of(allocated: u64, limit: u64) -> Pressure {
        match allocated.saturating_mul(100) / limit.max(1) {
            0..=85 => Pressure::None,
            86..=92 => Pressure::High,
            _ => Pressure::Critical,
        }
    }
}

/// Watches the memory of the process forever.
pub(super) async fn watch(app: Arc<App>, repository: Repository) {
    let limit = app.config.memory.limit();
    let mut looks = interval(LOOK);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut shed: Option<Instant> = None;
    let mut was_critical = false;
    loop {
        looks.tick().await;
        // If it can't be read, reservations alone limit the memory.
        let Some(allocated) = allocated_bytes() else { return };
        let pressure = Pressure::of(allocated, limit);
        let is_critical = pressure == Pressure::Critical;
        if is_critical != was_critical {
            app.memory.set_tight(is_critical);
            was_critical = is_critical;
        }
        // Emptying small caches would cost time and free nothing.
        let gain = || bounded_cache::bytes_of_all() + repository.container_bytes();
        let is_due = pressure > Pressure::None && shed.is_none_or(|at| at.elapsed() >= SHED);
        if is_due && gain() >= limit / WORTHWHILE {
            bounded_cache::clear_all();
            let containers = repository.evict_unused_containers();
            metrics::counter!("stet_memory_shed_total").increment(1);
            if shed.is_none_or(|at| at.elapsed() >= 10 * SHED) {
                tracing::warn!(
                    allocated,
                    limit,
                    containers,
                    "the process is near its limit of memory; caches were emptied"
                );
            }
            shed = Some(Instant::now());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caches_give_way_before_calls_are_refused() {
        let of = |allocated| Pressure::of(allocated, 1000);
        assert_eq!(
            [0, 859, 860, 929, 930, 5000].map(of),
            [Pressure::None, Pressure::None, Pressure::High, Pressure::High, Pressure::Critical, Pressure::Critical]
        );
    }
}
