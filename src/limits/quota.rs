//! A quota: so many uses in so many seconds.

use std::sync::atomic::{AtomicU64, Ordering};

/// So many in so long: all at once if one likes, and then as they come back, evenly.
///
/// A budget is a number, the time of a steady clock in microseconds at which it is whole again; 0
/// is one that is whole. A clock that can be set would make budgets whole, or empty for as long as
/// it is set back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quota {
    limit: u64,
    /// Microseconds after which one comes back.
    each_us: u64,
}

/// What is left of a budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// How many there are when it is whole.
    pub limit: u64,
    /// How many are left.
    pub remaining: u64,
    /// Seconds until it is whole again, rounded up.
    pub reset_seconds: u64,
    /// Seconds until one may be taken, rounded up; 0 when one is left.
    pub retry_seconds: u64,
}

impl Quota {
    /// `limit` in `seconds`; neither counts as less than one.
    pub fn new(limit: u32, seconds: u64) -> Quota {
        let limit = u64::from(limit).max(1);
        Quota { limit, each_us: (seconds.saturating_mul(1_000_000) / limit).max(1) }
    }

    /// Takes one from a budget: the budget after it, or nothing if there is none left.
    pub fn take(&self, whole_at_us: u64, now_ms: u64) -> Option<u64> {
        let after = self.bounded(whole_at_us, now_ms).saturating_add(self.each_us);
        (after <= self.empty_at(now_ms)).then_some(after)
    }

    /// Takes that many from a budget, also if there are fewer: then the budget is in debt, by what
    /// is all of it at most. Returns the budget after it, and whether it is in debt.
    pub fn spend(&self, whole_at_us: u64, now_ms: u64, count: u64) -> (u64, bool) {
        let empty_at = self.empty_at(now_ms);
        let deepest = empty_at.saturating_add(self.each_us.saturating_mul(self.limit));
        let after = self.bounded(whole_at_us, now_ms).saturating_add(self.each_us.saturating_mul(count)).min(deepest);
        (after, after > empty_at)
    }

    /// Takes one from a budget that others take from at the same time. Returns its state, and
    /// whether one was left.
    pub fn take_shared(&self, budget: &AtomicU64, now_ms: u64) -> (bool, Standing) {
        // Relaxed: nothing else hangs on it.
        let taken = budget.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |at| self.take(at, now_ms));
        let now = taken.map_or_else(|at| at, |before| self.take(before, now_ms).unwrap_or(before));
        (taken.is_ok(), self.standing(now, now_ms))
    }

    /// Puts one back.
    pub fn give_back(&self, whole_at_us: u64) -> u64 {
        whole_at_us.saturating_sub(self.each_us)
    }

    /// What is left of a budget.
    pub fn standing(&self, whole_at_us: u64, now_ms: u64) -> Standing {
        let whole_at_us = self.bounded(whole_at_us, now_ms);
        let empty_at_us = self.empty_at(now_ms);
        let next_us = whole_at_us.saturating_add(self.each_us);
        Standing {
            limit: self.limit,
            remaining: empty_at_us.saturating_sub(whole_at_us) / self.each_us,
            reset_seconds: (whole_at_us - micros(now_ms)).div_ceil(1_000_000),
            retry_seconds: next_us.saturating_sub(empty_at_us).div_ceil(1_000_000),
        }
    }

    /// A budget as one that can be: it is never whole in the past.
    fn bounded(&self, whole_at_us: u64, now_ms: u64) -> u64 {
        whole_at_us.max(micros(now_ms))
    }

    /// When a budget would be whole that is empty now.
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

    /// Takes until there is none; gives how many there were, and the budget.
    fn drain(quota: Quota, mut budget: u64, now_ms: u64) -> (u64, u64) {
        let mut count = 0;
        while let Some(after) = quota.take(budget, now_ms) {
            (budget, count) = (after, count + 1);
        }
        (count, budget)
    }

    #[test]
    fn all_may_be_taken_at_once_and_come_back_one_by_one() {
        let quota = Quota::new(10, 300);
        let (count, empty) = drain(quota, 0, NOW);
        assert_eq!(count, 10);
        let standing = quota.standing(empty, NOW);
        assert_eq!(standing, Standing { limit: 10, remaining: 0, reset_seconds: 300, retry_seconds: 30 });
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
                let retry = quota.standing(empty, NOW + later).retry_seconds;
                assert_eq!(retry > 0, quota.take(empty, NOW + later).is_none(), "{limit} in {seconds}, {later} later");
                assert!(quota.take(empty, NOW + later + retry * 1000).is_some(), "{limit} in {seconds}");
                let early = (retry.max(1) - 1) * 1000;
                assert!(retry == 0 || quota.take(empty, NOW + later + early).is_none(), "{limit} in {seconds}");
            }
        }
    }

    #[test]
    fn what_is_given_back_may_be_taken_again() {
        let quota = Quota::new(2, 60);
        let (_, empty) = drain(quota, 0, NOW);
        assert_eq!(drain(quota, quota.give_back(empty), NOW).0, 1);
        assert_eq!(quota.give_back(0), 0);
    }

    #[test]
    fn who_has_read_the_clock_first_and_comes_last_gets_no_more() {
        let quota = Quota::new(10, 300);
        let (_, empty) = drain(quota, 0, NOW);
        assert_eq!(quota.take(empty, NOW - 5), None);
        assert_eq!(quota.standing(empty, NOW - 5).retry_seconds, 31);
        assert_eq!(quota.standing(u64::MAX, NOW).remaining, 0);
    }

    #[test]
    fn of_many_at_once_no_more_than_the_limit_get_one() {
        let (quota, budget) = (Quota::new(100, 60), AtomicU64::new(0));
        let taken: usize = std::thread::scope(|scope| {
            let take = || (0..50).filter(|_| quota.take_shared(&budget, NOW).0).count();
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(take)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(taken, 100);
        assert_eq!(quota.take_shared(&budget, NOW).1.remaining, 0);
    }
}
