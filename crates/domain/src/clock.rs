//! Time as an input, so that expiry, back-off and idle sweeps are tested without waiting.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use tokio::sync::Notify;

/// A source of time.
pub trait Clock: Send + Sync + 'static {
    /// Milliseconds since 1970-01-01T00:00:00Z.
    fn now_ms(&self) -> u64;

    /// Returns milliseconds since some moment of this process. They never go back, even if the
    /// system clock is set. Use them for limits, waits and idle times only, never for stored or
    /// displayed times.
    fn steady_ms(&self) -> u64;

    /// Resolves when `duration` has passed on this clock, even if the clock is set meanwhile.
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>>;

    /// Returns seconds since 1970-01-01T00:00:00Z, the unit of object records (docs/api/README.md,
    /// "Dates and times").
    fn now_s(&self) -> u64 {
        self.now_ms() / 1000
    }
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now_ms(&self) -> u64 {
        // A clock set before 1970 reads as 1970.
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
    }

    fn steady_ms(&self) -> u64 {
        static BEGUN: LazyLock<Instant> = LazyLock::new(Instant::now);
        BEGUN.elapsed().as_millis() as u64
    }

    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(tokio::time::sleep(duration))
    }
}

/// A clock that stands still until it is moved.
#[derive(Debug, Clone)]
pub struct ManualClock(Arc<ManualClockState>);

#[derive(Debug)]
struct ManualClockState {
    /// The time of day that the clock shows.
    now_ms: Mutex<u64>,
    /// The initial time plus all advances.
    steady_ms: Mutex<u64>,
    moved: Notify,
}

impl ManualClock {
    /// Creates a clock that shows `now_ms`.
    pub fn at(now_ms: u64) -> ManualClock {
        ManualClock(Arc::new(ManualClockState {
            now_ms: Mutex::new(now_ms),
            steady_ms: Mutex::new(now_ms),
            moved: Notify::new(),
        }))
    }

    /// Advances the clock, and wakes sleepers whose time has come.
    pub fn advance(&self, duration: Duration) {
        *self.0.now_ms.lock() += duration.as_millis() as u64;
        *self.0.steady_ms.lock() += duration.as_millis() as u64;
        self.0.moved.notify_waiters();
    }

    /// Sets the clock, forward or back, without any time passing.
    pub fn set(&self, now_ms: u64) {
        *self.0.now_ms.lock() = now_ms;
    }
}

impl Clock for ManualClock {
    fn now_ms(&self) -> u64 {
        *self.0.now_ms.lock()
    }

    fn steady_ms(&self) -> u64 {
        *self.0.steady_ms.lock()
    }

    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let manual = self.0.clone();
        let until = *manual.steady_ms.lock() + duration.as_millis() as u64;
        Box::pin(async move {
            loop {
                // Registered before the time is read, so that no advance in between is missed.
                let moved = manual.moved.notified();
                if *manual.steady_ms.lock() >= until {
                    return;
                }
                moved.await;
            }
        })
    }
}
