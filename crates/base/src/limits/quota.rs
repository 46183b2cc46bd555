//! A rate limit: a number of uses in a period.

use std::sync::atomic::{AtomicU64, Ordering};

/// A rate limit: a number of uses in a period, which may be used all at once and are then restored
/// evenly.
///
/// A balance is stored as one number: the time of a steady clock in microseconds at which it will
/// be full; 0 is a full balance. A clock that can be set is unsuitable: it could fill balances, or
/// leave them empty for as long as it was set back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quota {
    limit: u64,
    /// The time after which one use is restored, in microseconds.
    each_us: u64,
}

/// The state of a balance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuotaBalance {
    /// The number of uses in a full balance.
    pub limit: u64,
    /// The number of remaining uses.
    pub remaining: u64,
    /// The seconds until the balance is full, rounded up.
    pub reset_seconds: u64,
    /// The seconds until the next use is possible, rounded up; 0 if one remains.
    pub retry_seconds: u64,
}

impl Quota {
    /// Creates a quota of `limit` uses in `seconds`; a 0 counts as 1.
    pub fn new(limit: u32, seconds: u64) -> Quota {
        let limit = u64::from(limit).max(1);
        Quota { limit, each_us: (seconds.saturating_mul(1_000_000) / limit).max(1) }
    }

    /// Takes one use. Returns the new balance, or `None` if no use remains.
    pub fn take(&self, balance: u64, now_ms: u64) -> Option<u64> {
        let after = self.bounded(balance, now_ms).saturating_add(self.each_us);
        (after <= self.empty_at(now_ms)).then_some(after)
    }

    /// Takes that many uses, even if fewer remain. Then the balance is in debt, by at most `limit`
    /// uses. Returns the new balance, and whether it is in debt.
    pub fn spend(&self, balance: u64, now_ms: u64, count: u64) -> (u64, bool) {
        let empty_at = self.empty_at(now_ms);
        let deepest = empty_at.saturating_add(self.each_us.saturating_mul(self.limit));
        let after = self.bounded(balance, now_ms).saturating_add(self.each_us.saturating_mul(count)).min(deepest);
        (after, after > empty_at)
    }

    /// Takes one use from a balance that other threads use at the same time. Returns whether a use
    /// remained, and the state of the balance.
    pub fn take_shared(&self, balance: &AtomicU64, now_ms: u64) -> (bool, QuotaBalance) {
        // Relaxed, because no other data depends on it.
        let taken = balance.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |at| self.take(at, now_ms));
        let now = taken.map_or_else(|at| at, |before| self.take(before, now_ms).unwrap_or(before));
        (taken.is_ok(), self.state_at(now, now_ms))
    }

    /// Restores one use.
    pub fn give_back(&self, balance: u64) -> u64 {
        balance.saturating_sub(self.each_us)
    }

    /// Returns the state of a balance.
    pub fn state_at(&self, balance: u64, now_ms: u64) -> QuotaBalance {
        let balance = self.bounded(balance, now_ms);
        let empty_at_us = self.empty_at(now_ms);
        let next_us = balance.saturating_add(self.each_us);
        QuotaBalance {
            limit: self.limit,
            remaining: empty_at_us.saturating_sub(balance) / self.each_us,
            reset_seconds: (balance - micros(now_ms)).div_ceil(1_000_000),
            retry_seconds: next_us.saturating_sub(empty_at_us).div_ceil(1_000_000),
        }
    }

    /// Returns a valid balance: it is never full at a time in the past.
    fn bounded(&self, balance: u64, now_ms: u64) -> u64 {
        balance.max(micros(now_ms))
    }

    /// Returns the time at which a balance that is empty now would be full.
    fn empty_at(&self, now_ms: u64) -> u64 {
        micros(now_ms).saturating_add(self.each_us.saturating_mul(self.limit))
    }
}

fn micros(ms: u64) -> u64 {
    ms.saturating_mul(1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_700_000_000_000;

    /// Takes uses until none remains. Returns their number and the balance.
    fn drain(quota: Quota, mut balance: u64, now_ms: u64) -> (u64, u64) {
        let mut count = 0;
        while let Some(after) = quota.take(balance, now_ms) {
            (balance, count) = (after, count + 1);
        }
        (count, balance)
    }

    #[test]
    fn all_may_be_taken_at_once_and_come_back_one_by_one() {
        let quota = Quota::new(10, 300);
        let (count, empty) = drain(quota, 0, NOW);
        assert_eq!(count, 10);
        let standing = quota.state_at(empty, NOW);
        assert_eq!(standing, QuotaBalance { limit: 10, remaining: 0, reset_seconds: 300, retry_seconds: 30 });
        assert_eq!(quota.take(empty, NOW + 29_999), None);
        assert_eq!(drain(quota, empty, NOW + 30_000).0, 1);
        assert_eq!(drain(quota, empty, NOW + 90_000).0, 3);
        assert_eq!(drain(quota, empty, NOW + 3_000_000).0, 10);
    }

    #[test]
    fn the_seconds_told_are_enough_and_one_less_is_not() {
        for (limit, seconds) in [(10, 300), (7, 60), (3, 1), (1, 1), (90_000, 60)] {
            let quota = Quota::new(limit, seconds);
            let (_, empty) = drain(quota, 0, NOW);
            for later in [0, 1, 499, 999] {
                let retry = quota.state_at(empty, NOW + later).retry_seconds;
                assert_eq!(retry > 0, quota.take(empty, NOW + later).is_none(), "{limit} in {seconds}, {later} later");
                assert!(quota.take(empty, NOW + later + retry * 1000).is_some(), "{limit} in {seconds}");
                let early = (retry.max(1) - 1) * 1000;
                assert!(retry == 0 || quota.take(empty, NOW + later + early).is_none(), "{limit} in {seconds}");
            }
        }
    }

    #[test]
    fn a_returned_quota_use_may_be_taken_again() {
        let quota = Quota::new(2, 60);
        let (_, empty) = drain(quota, 0, NOW);
        assert_eq!(drain(quota, quota.give_back(empty), NOW).0, 1);
        assert_eq!(quota.give_back(0), 0);
    }

    #[test]
    fn a_late_caller_with_an_older_clock_reading_gets_no_extra_quota() {
        let quota = Quota::new(10, 300);
        let (_, empty) = drain(quota, 0, NOW);
        assert_eq!(quota.take(empty, NOW - 5), None);
        assert_eq!(quota.state_at(empty, NOW - 5).retry_seconds, 31);
        assert_eq!(quota.state_at(u64::MAX, NOW).remaining, 0);
    }

    #[test]
    fn concurrent_callers_take_no_more_than_the_quota() {
        let (quota, balance) = (Quota::new(100, 60), AtomicU64::new(0));
        let taken: usize = std::thread::scope(|scope| {
            let take = || (0..50).filter(|_| quota.take_shared(&balance, NOW).0).count();
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(take)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(taken, 100);
        assert_eq!(quota.take_shared(&balance, NOW).1.remaining, 0);
    }
}
