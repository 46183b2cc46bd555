//! Loops that yield to other calls. A thread that reads requests serves thousands of connections,
//! and its work for one call makes all others wait. So no work there may take longer than some
//! milliseconds at a time. Its length must not depend on a client or on the size of the repository:
//!
//! - a loop over such a number calls [`YieldTimer::yield_if_due`] in each iteration;
//! - a list of such a length is sorted by [`sort_yielding`];
//! - work that can't be interrupted is offloaded if it is large
//!   ([`super::offload::offload_if_large`]).
//!
//! The metric `stet_http_slow_turns_total` names the endpoints that violate this.

use std::cmp::Ordering;
use std::time::{Duration, Instant};

use super::{SLICE, give_way};

/// The timer of a loop that yields to other calls after some time.
#[derive(Debug)]
pub struct YieldTimer {
    since: Instant,
}

impl YieldTimer {
    /// The time after which a loop yields.
    pub const AFTER: Duration = SLICE;

    /// Starts the timer of a loop.
    pub fn start() -> YieldTimer {
        YieldTimer { since: Instant::now() }
    }

    /// Yields to other calls if the loop has run long enough. Call it in each iteration.
    pub async fn yield_if_due(&mut self) {
        if self.is_due() {
            self.yield_now().await;
        }
    }

    /// Returns whether the loop has run long enough.
    pub fn is_due(&self) -> bool {
        self.since.elapsed() >= YieldTimer::AFTER
    }

    /// Yields to other calls. A call whose user takes more time than others waits for the user's
    /// next turn.
    pub async fn yield_now(&mut self) {
        give_way().await;
        self.since = Instant::now();
    }
}

/// The number of entries that are sorted or merged in a fraction of a millisecond.
const FEW: usize = 256;

/// Sorts a list, and yields repeatedly if it is long. Equal entries keep their order.
pub async fn sort_yielding<T>(mut entries: Vec<T>, compare: impl Fn(&T, &T) -> Ordering) -> Vec<T> {
    if entries.len() <= FEW {
        entries.sort_by(compare);
        return entries;
    }
    let mut timer = YieldTimer::start();
    let mut runs = Vec::with_capacity(entries.len().div_ceil(FEW));
    let mut entries = entries.into_iter();
    while entries.len() > 0 {
        let mut run: Vec<T> = entries.by_ref().take(FEW).collect();
        run.sort_by(&compare);
        runs.push(run);
        timer.yield_if_due().await;
    }
    // In rounds, two adjacent runs at a time, so that runs stay in order.
    while runs.len() > 1 {
        let mut round = Vec::with_capacity(runs.len().div_ceil(2));
        let mut left = runs.into_iter();
        while let Some(first) = left.next() {
            round.push(match left.next() {
                Some(second) => merge_yielding(first, second, &compare, &mut timer).await,
                None => first,
            });
        }
        runs = round;
    }
    runs.pop().unwrap_or_default()
}

/// Merges two sorted lists; among equal entries, those of the first come first.
async fn merge_yielding<T>(
    first: Vec<T>,
    second: Vec<T>,
    compare: impl Fn(&T, &T) -> Ordering,
    timer: &mut YieldTimer,
) -> Vec<T> {
    let mut merged = Vec::with_capacity(first.len() + second.len());
    let (mut first, mut second) = (first.into_iter().peekable(), second.into_iter().peekable());
    while let (Some(a), Some(b)) = (first.peek(), second.peek()) {
        let next = if compare(a, b).is_le() { first.next() } else { second.next() };
        merged.extend(next);
        if merged.len().is_multiple_of(FEW) {
            timer.yield_if_due().await;
        }
    }
    merged.extend(first.chain(second));
    merged
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Returns the number of turns that another task gets before a loop ends. The loop ends when
    /// `ends` returns true for that number.
    async fn turns_of_others(yields: bool, ends: impl Fn(usize) -> bool) -> usize {
        let turns = Cell::new(0);
        let mut timer = YieldTimer::start();
        let looping = async {
            while !ends(turns.get()) {
                if yields {
                    timer.yield_if_due().await;
                }
            }
        };
        let other = async {
            loop {
                turns.set(turns.get() + 1);
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            biased;
            () = looping => {}
            () = other => {}
        }
        turns.get()
    }

    #[tokio::test]
    async fn a_long_loop_lets_others_have_their_turn() {
        let begun = Instant::now();
        let hangs = || begun.elapsed() > Duration::from_secs(60);
        assert_eq!(turns_of_others(true, |turns| turns == 3 || hangs()).await, 3);
        let until = Instant::now() + YieldTimer::AFTER * 10;
        assert_eq!(turns_of_others(false, |_| Instant::now() >= until).await, 0);
    }

    #[tokio::test]
    async fn a_list_is_sorted_as_it_would_be_at_once() {
        for length in [0, 1, FEW, FEW + 1, 3 * FEW, 5 * FEW + 7, 10_000] {
            // Few different keys, so that many are equal; the second number distinguishes them.
            let entries: Vec<(u32, usize)> =
                (0..length).map(|n| ((n as u32).wrapping_mul(2_654_435_761) >> 25, n)).collect();
            let mut wanted = entries.clone();
            wanted.sort_by_key(|(key, _)| *key);
            assert_eq!(sort_yielding(entries, |a, b| a.0.cmp(&b.0)).await, wanted, "{length}");
        }
    }
}
