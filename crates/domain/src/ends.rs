//! The time by which stored data expires.
//!
//! Events, the recycle bin, sessions, locks, messages, waiting mails and receipts all expire, and
//! expired data is gone for good. A clock that is wrong for a moment must therefore expire nothing.
//! Machines often start with a wrong clock, until it is synchronised. All expiry therefore uses
//! [`ExpiryClock`] in place of the clock; each store has one. It compares the clock with the last
//! time at which it was right, plus the time that has passed since. While the two are more than a
//! day apart, nothing expires. A clock that is consistent for an hour is trusted. That covers a
//! server which was down for a hundred days.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use parking_lot::Mutex;

use crate::clock::Clock;

/// The tolerated deviation of the clock from the expected time, milliseconds.
const APART_MS: u64 = 24 * 60 * 60 * 1000;

/// The period after which a deviating but consistent clock is trusted, milliseconds.
const DOUBTED_MS: u64 = 60 * 60 * 1000;

/// The present time for decisions about expiry. Only [`ExpiryClock`] creates it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ExpiryTime(u64);

impl ExpiryTime {
    /// Returns milliseconds since 1970-01-01T00:00:00Z.
    pub fn ms(self) -> u64 {
        self.0
    }

    /// Returns seconds since 1970-01-01T00:00:00Z.
    pub fn s(self) -> u64 {
        self.0 / 1000
    }
}

/// The clock for expiry, which reports no time while the system clock is in doubt.
pub struct ExpiryClock {
    clock: Arc<dyn Clock>,
    known: Mutex<ClockHistory>,
}

#[derive(Debug, Default)]
struct ClockHistory {
    /// The last trusted reading of the clock; `None` before the first use if no earlier time is
    /// known.
    believed: Option<ClockReading>,
    /// The first of the present untrusted readings, which are consistent with each other.
    doubted: Option<ClockReading>,
}

/// A reading of the clock, with the steady time at which it was taken.
#[derive(Debug, Clone, Copy)]
struct ClockReading {
    now_ms: u64,
    steady_ms: u64,
}

impl ClockReading {
    fn of(clock: &dyn Clock) -> ClockReading {
        ClockReading { now_ms: clock.now_ms(), steady_ms: clock.steady_ms() }
    }

    fn until(self, later: ClockReading) -> u64 {
        later.steady_ms.saturating_sub(self.steady_ms)
    }

    /// Reports whether a later reading is consistent with this one and the time that has passed.
    fn leads_to(self, later: ClockReading) -> bool {
        later.now_ms.abs_diff(self.now_ms.saturating_add(self.until(later))) <= APART_MS
    }
}

impl ExpiryClock {
    /// Creates the expiry clock of a store. `last_ms` is the newest time known from before; the
    /// clock was right then.
    pub fn since(clock: Arc<dyn Clock>, last_ms: Option<u64>) -> ExpiryClock {
        let believed = last_ms.map(|now_ms| ClockReading { now_ms, steady_ms: clock.steady_ms() });
        ExpiryClock { clock, known: Mutex::new(ClockHistory { believed, doubted: None }) }
    }

    /// Creates the expiry clock of a store without known earlier times: the first reading is
    /// trusted.
    pub fn by(clock: Arc<dyn Clock>) -> ExpiryClock {
        ExpiryClock::since(clock, None)
    }

    /// Returns the present time for decisions about expiry; `None` while the clock may be wrong.
    /// Then nothing may expire.
    pub fn now(&self) -> Option<ExpiryTime> {
        let reading = ClockReading::of(&*self.clock);
        let mut known = self.known.lock();
        let believed = known.believed.filter(|believed| !believed.leads_to(reading));
        if let Some(believed) = believed {
            let same = known.doubted.filter(|doubted| doubted.leads_to(reading));
            let Some(doubted) = same else {
                known.doubted = Some(reading);
                tracing::warn!(
                    clock = format_time(reading.now_ms),
                    last = format_time(believed.now_ms),
                    "the clock is more than a day off the expected time: nothing expires until it has run on for an \
                     hour; if it is wrong, correct it"
                );
                return None;
            };
            if doubted.until(reading) < DOUBTED_MS {
                return None;
            }
        }
        if known.doubted.take().is_some() {
            tracing::info!(clock = format_time(reading.now_ms), "the clock is trusted again: expiry continues");
        }
        known.believed = Some(reading);
        Some(ExpiryTime(reading.now_ms))
    }

    /// Returns the last trusted time of the clock, to be stored for [`ExpiryClock::since`].
    pub fn last_ms(&self) -> Option<u64> {
        self.known.lock().believed.map(|believed| believed.now_ms)
    }
}

impl fmt::Debug for ExpiryClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ends").field("known", &*self.known.lock()).finish_non_exhaustive()
    }
}

/// Formats a time for people. Times after the year 9999 are shown as its last second.
fn format_time(at_ms: u64) -> String {
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

    fn ends(now_ms: u64, last_ms: Option<u64>) -> (ManualClock, ExpiryClock) {
        let clock = ManualClock::at(now_ms);
        (clock.clone(), ExpiryClock::since(Arc::new(clock), last_ms))
    }

    #[test]
    fn clock_ahead_at_start_expires_nothing_and_a_corrected_clock_is_trusted() {
        let (clock, ends) = ends(THEN + ms(100 * DAY), Some(THEN));
        assert_eq!(ends.now(), None);
        clock.advance(HOUR - Duration::from_secs(1));
        assert_eq!(ends.now(), None);
        assert_eq!(ends.last_ms(), Some(THEN), "what the next start is to know");
        clock.set(THEN + ms(HOUR));
        assert_eq!(ends.now().map(ExpiryTime::ms), Some(THEN + ms(HOUR)));
        assert_eq!(ends.last_ms(), Some(THEN + ms(HOUR)));
    }

    #[test]
    fn a_clock_that_stood_still_for_a_hundred_days_is_trusted_after_an_hour() {
        let (clock, ends) = ends(THEN + ms(100 * DAY), Some(THEN));
        assert_eq!(ends.now(), None);
        clock.advance(HOUR);
        assert_eq!(ends.now().map(ExpiryTime::s), Some((THEN + ms(100 * DAY + HOUR)) / 1000));
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
