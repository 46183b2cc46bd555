//! Which time ends what is kept for so long and no longer.
//!
//! Events, the recycle bin, sessions, locks, messages, mails that wait, what is kept for calls sent
//! again: what has ended is gone for good, so a clock that is wrong for a moment must end nothing.
//! A machine often starts with one that is, until it has asked others for the time. So what ends by
//! time asks [`Ends`], of which there is one for each store, and not the clock: it holds the clock
//! against the time at which it was last right, and against the time that has passed since. While
//! the two are more than a day apart nothing ends. A clock that says the same for an hour is
//! believed: a server that has stood still for a hundred days is no other case.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use parking_lot::Mutex;

use crate::clock::Clock;

/// How far a clock may be from what it should say, milliseconds.
const APART_MS: u64 = 24 * 60 * 60 * 1000;

/// How long a clock that is further from it has to say so, milliseconds.
const DOUBTED_MS: u64 = 60 * 60 * 1000;

/// The present time, for what ends by it. Only [`Ends`] gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct EndTime(u64);

impl EndTime {
    /// Milliseconds since 1970-01-01T00:00:00Z.
    pub fn ms(self) -> u64 {
        self.0
    }

    /// Seconds since 1970-01-01T00:00:00Z.
    pub fn s(self) -> u64 {
        self.0 / 1000
    }
}

/// The one clock that things end by; see the module's head.
pub struct Ends {
    clock: Arc<dyn Clock>,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// When the clock was last believed; `None` before it was first asked, where nothing is known
    /// of earlier times.
    believed: Option<Reading>,
    /// What it first said of what it says, if that is not believed.
    doubted: Option<Reading>,
}

/// What the clock said when.
#[derive(Debug, Clone, Copy)]
struct Reading {
    now_ms: u64,
    steady_ms: u64,
}

impl Reading {
    fn of(clock: &dyn Clock) -> Reading {
        Reading { now_ms: clock.now_ms(), steady_ms: clock.steady_ms() }
    }

    fn until(self, later: Reading) -> u64 {
        later.steady_ms.saturating_sub(self.steady_ms)
    }

    /// Whether a later reading follows from this one by the time that has passed.
    fn leads_to(self, later: Reading) -> bool {
        later.now_ms.abs_diff(self.now_ms.saturating_add(self.until(later))) <= APART_MS
    }
}

impl Ends {
    /// By this clock, which was right at `last_ms`, the newest time that is known of the time
    /// before.
    pub fn since(clock: Arc<dyn Clock>, last_ms: Option<u64>) -> Ends {
        let believed = last_ms.map(|now_ms| Reading { now_ms, steady_ms: clock.steady_ms() });
        Ends { clock, known: Mutex::new(Known { believed, doubted: None }) }
    }

    /// By this clock, where nothing is known of earlier times: it is believed at first.
    pub fn by(clock: Arc<dyn Clock>) -> Ends {
        Ends::since(clock, None)
    }

    /// The present time, for what ends by it; `None` while the clock may be wrong. Then nothing may
    /// end.
    pub fn now(&self) -> Option<EndTime> {
        let reading = Reading::of(&*self.clock);
        let mut known = self.known.lock();
        let believed = known.believed.filter(|believed| !believed.leads_to(reading));
        if let Some(believed) = believed {
            let same = known.doubted.filter(|doubted| doubted.leads_to(reading));
            let Some(doubted) = same else {
                known.doubted = Some(reading);
                tracing::warn!(
                    clock = told(reading.now_ms),
                    last = told(believed.now_ms),
                    "the clock is more than a day from where it should be by what was last known of it: nothing ends by time before it \
                     has said so for an hour; if it is wrong, set it right"
                );
                return None;
            };
            if doubted.until(reading) < DOUBTED_MS {
                return None;
            }
        }
        if known.doubted.take().is_some() {
            tracing::info!(
                clock = told(reading.now_ms),
                "the clock is believed: what is past its time ends from now on"
            );
        }
        known.believed = Some(reading);
        Some(EndTime(reading.now_ms))
    }

    /// What the clock said when it was last believed: to be kept for [`Ends::since`].
    pub fn last_ms(&self) -> Option<u64> {
        self.known.lock().believed.map(|believed| believed.now_ms)
    }
}

impl fmt::Debug for Ends {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ends").field("known", &*self.known.lock()).finish_non_exhaustive()
    }
}

/// A time as people read it: of a clock that is beyond the year 9999, its last second.
fn told(at_ms: u64) -> String {
    const LAST_MS: u64 = 253_402_300_799_000;
    humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_millis(at_ms.min(LAST_MS))).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::ManualClock;

    const THEN: u64 = 1_700_000_000_000;
    const DAY: Duration = Duration::from_secs(24 * 60 * 60);
    const HOUR: Duration = Duration::from_secs(60 * 60);

    fn ms(duration: Duration) -> u64 {
        duration.as_millis() as u64
    }

    fn ends(now_ms: u64, last_ms: Option<u64>) -> (ManualClock, Ends) {
        let clock = ManualClock::at(now_ms);
        (clock.clone(), Ends::since(Arc::new(clock), last_ms))
    }

    #[test]
    fn a_start_with_a_clock_that_is_ahead_ends_nothing_and_a_clock_set_right_is_believed_at_once() {
        let (clock, ends) = ends(THEN + ms(100 * DAY), Some(THEN));
        assert_eq!(ends.now(), None);
        clock.advance(HOUR - Duration::from_secs(1));
        assert_eq!(ends.now(), None);
        assert_eq!(ends.last_ms(), Some(THEN), "what the next start is to know");
        clock.set(THEN + ms(HOUR));
        assert_eq!(ends.now().map(EndTime::ms), Some(THEN + ms(HOUR)));
        assert_eq!(ends.last_ms(), Some(THEN + ms(HOUR)));
    }

    #[test]
    fn what_stood_still_for_a_hundred_days_waits_for_an_hour() {
        let (clock, ends) = ends(THEN + ms(100 * DAY), Some(THEN));
        assert_eq!(ends.now(), None);
        clock.advance(HOUR);
        assert_eq!(ends.now().map(EndTime::s), Some((THEN + ms(100 * DAY + HOUR)) / 1000));
        clock.advance(50 * DAY);
        assert!(ends.now().is_some(), "the time has passed, although nobody asked");
    }

    #[test]
    fn a_clock_that_leaps_is_doubted_for_an_hour_from_its_last_leap_on() {
        let (clock, ends) = ends(THEN, None);
        assert!(ends.now().is_some(), "nothing is known that it could be held against");
        clock.set(THEN + ms(DAY));
        assert!(ends.now().is_some(), "no more than a day");
        for leap in [THEN + ms(300 * DAY), THEN + ms(200 * DAY), 0] {
            clock.set(leap);
            assert_eq!(ends.now(), None);
            clock.advance(HOUR / 2);
            assert_eq!(ends.now(), None);
        }
        clock.advance(HOUR / 2);
        assert!(ends.now().is_some());
    }
}
