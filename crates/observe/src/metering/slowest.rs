//! The longest turn in which a call occupied its thread, in this minute and the one before: by the
//! clock, and by processor time.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// The shortest time for which a turn is remembered.
const SPAN: Duration = Duration::from_secs(60);

/// The longest turn of the current span, and of the one before it.
struct Slowest {
    began: Option<Instant>,
    this: Duration,
    before: Duration,
}

static BY_CLOCK: Mutex<Slowest> = Mutex::new(Slowest::NONE);
static BY_PROCESSOR: Mutex<Slowest> = Mutex::new(Slowest::NONE);

impl Slowest {
    const NONE: Slowest = Slowest { began: None, this: Duration::ZERO, before: Duration::ZERO };

    /// Starts the span that contains `now`, if it has not begun yet.
    fn go_on(&mut self, now: Instant) {
        let began = *self.began.get_or_insert(now);
        let passed = now.saturating_duration_since(began);
        if passed < SPAN {
            return;
        }
        self.before = if passed < SPAN * 2 { self.this } else { Duration::ZERO };
        self.this = Duration::ZERO;
        self.began = Some(now);
    }

    fn note(&mut self, now: Instant, took: Duration) {
        self.go_on(now);
        self.this = self.this.max(took);
    }

    fn longest(&mut self, now: Instant) -> Duration {
        self.go_on(now);
        self.this.max(self.before)
    }
}

/// Notes how long a turn took, and its processor time. It takes locks, so only long turns, which
/// are rare, are noted.
pub fn slow_turn(took: Duration, processor: Duration) {
    let now = Instant::now();
    BY_CLOCK.lock().note(now, took);
    BY_PROCESSOR.lock().note(now, processor);
}

pub(super) fn report() {
    let now = Instant::now();
    metrics::gauge!("stet_http_slowest_turn_seconds").set(BY_CLOCK.lock().longest(now).as_secs_f64());
    metrics::gauge!("stet_http_slowest_turn_processor_seconds").set(BY_PROCESSOR.lock().longest(now).as_secs_f64());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_is_remembered_for_a_minute_and_forgotten_after_two() {
        let (start, ms) = (Instant::now(), Duration::from_millis);
        let mut slowest = Slowest::NONE;
        assert_eq!(slowest.longest(start), Duration::ZERO);
        slowest.note(start + ms(59_000), ms(80));
        slowest.note(start + ms(59_500), ms(7));
        assert_eq!(slowest.longest(start + ms(61_000)), ms(80));
        slowest.note(start + ms(62_000), ms(9));
        assert_eq!(slowest.longest(start + ms(119_000)), ms(80));
        assert_eq!(slowest.longest(start + ms(122_000)), ms(9), "the span began when it was looked at");
        // A long time without a reading.
        slowest.note(start + ms(123_000), ms(50));
        assert_eq!(slowest.longest(start + ms(900_000)), Duration::ZERO);
    }
}
