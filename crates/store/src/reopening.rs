//! Reopening of tables that cannot be read: when it happens, which readers wait for it, and which
//! reads are not repeated for a while.
//!
//! redb refuses everything after one failed read. So one unreadable page ends the snapshot of every
//! reader, and only a new opening by the checkpointer gives them another. A reader requests it and
//! waits; otherwise a single error would be returned to many callers. But readers are threads that
//! other work needs, so
//!
//! - waiting readers are notified of each opening that ends, successful or not, and no reader waits
//!   for one that is not due soon;
//! - openings for readers are at least [`PACE`] apart, and after a failed one the checkpointer
//!   retries at its own pace;
//! - a read that failed by itself is not repeated for a while ([`REST`]). Otherwise a page that
//!   many readers request would end all other snapshots as fast as they are made.

use std::hash::{BuildHasher, Hash};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use foldhash::fast::FixedState;
use parking_lot::{Condvar, Mutex};
use stet_domain::store::StoreError;

use super::reader::Snapshot;
use super::shared::StoreCore;

/// The minimum time between the end of one opening and the beginning of the next for readers.
pub(super) const PACE: Duration = Duration::from_millis(250);

/// The time for which a failed read is not repeated, and for which no opening for readers follows a
/// failed one.
pub(super) const REST: Duration = Duration::from_secs(2);

/// The maximum time from the first request of an opening for which any reader waits.
const WITHIN: Duration = Duration::from_secs(2);

/// The maximum number of failed reads that are remembered.
const MOST_FAILED: usize = 64;

/// The openings so far, and the failed reads.
#[derive(Default)]
pub(super) struct Reopening {
    state: Mutex<ReopeningState>,
    /// Notified when there is another snapshot, or an opening has ended.
    ended: Condvar,
    /// Whether any read has failed; spares readers the lock.
    any_failed: AtomicBool,
    failed: Mutex<Vec<FailedRead>>,
}

#[derive(Default)]
struct ReopeningState {
    /// The number of ended openings.
    ended: u64,
    /// The earliest time of the next opening for readers.
    next: Option<Instant>,
    /// The time of the first request of an opening that has not ended.
    asked: Option<Instant>,
    #[cfg(test)]
    waits: u64,
}

/// A failed read.
struct FailedRead {
    read: u64,
    until: Instant,
    why: StoreError,
}

/// Returns a number that identifies a read.
pub(super) fn number_of(read: impl Hash) -> u64 {
    FixedState::default().hash_one(read)
}

impl Reopening {
    /// Returns the error of a read that has failed recently.
    pub fn failure_of(&self, read: impl FnOnce() -> u64) -> Option<StoreError> {
        if !self.any_failed.load(Ordering::Acquire) {
            return None;
        }
        let (read, now) = (read(), Instant::now());
        let mut failed = self.failed.lock();
        failed.retain(|failed| failed.until > now);
        self.any_failed.store(!failed.is_empty(), Ordering::Release);
        failed.iter().find(|failed| failed.read == read).map(|failed| failed.why.clone())
    }

    /// Notes a read that failed by itself.
    pub fn has_failed(&self, read: u64, why: &StoreError) {
        let mut failed = self.failed.lock();
        failed.retain(|other| other.read != read);
        if failed.len() >= MOST_FAILED {
            failed.remove(0);
        }
        failed.push(FailedRead { read, until: Instant::now() + REST, why: why.clone() });
        self.any_failed.store(true, Ordering::Release);
    }

    /// Returns the number of ended openings, and how often a reader has waited for one.
    #[cfg(test)]
    pub fn counts(&self) -> (u64, u64) {
        let state = self.state.lock();
        (state.ended, state.waits)
    }
}

impl StoreCore {
    /// Publishes `snapshot` to readers.
    pub fn set_snapshot(&self, snapshot: Snapshot) {
        // The lock is taken so that no reader is between finding the old snapshot and waiting.
        let state = self.reopening.state.lock();
        let before = self.replace_snapshot(snapshot);
        drop(state);
        drop(before);
        self.reopening.ended.notify_all();
    }

    /// Notes the end of an opening and its snapshot. Returns the earliest time of the next opening
    /// for readers.
    pub fn end_reopening(&self, snapshot: Option<Snapshot>, well: bool) -> Instant {
        let mut state = self.reopening.state.lock();
        let before = snapshot.map(|snapshot| self.replace_snapshot(snapshot));
        let next = Instant::now() + if well { PACE } else { REST };
        state.ended += 1;
        state.next = Some(next);
        // The readers that made the request found the previous snapshot.
        state.asked = None;
        self.signal.lock().broken = false;
        drop(state);
        drop(before);
        self.reopening.ended.notify_all();
        next
    }

    /// Requests another snapshot in place of `broken`, and reports whether there is one. Waits for
    /// it if it is due soon. A reader whose `own` read failed on freshly reopened tables does not
    /// wait, as another opening would not help.
    pub fn is_reopened(&self, broken: &Arc<Snapshot>, own: bool) -> bool {
        let patience = if own { Duration::ZERO } else { PACE };
        let mut state = self.reopening.state.lock();
        let (ended, mut waits) = (state.ended, false);
        loop {
            if !Arc::ptr_eq(&self.snapshot(), broken) {
                return true;
            }
            if state.ended != ended {
                return false;
            }
            let now = Instant::now();
            let asked = *state.asked.get_or_insert(now);
            if !waits {
                self.signal.lock().broken = true;
                self.signalled.notify_one();
                waits = state.next.is_none_or(|next| next <= now + patience);
                #[cfg(test)]
                {
                    state.waits += u64::from(waits);
                }
            }
            if !waits || self.reopening.ended.wait_until(&mut state, asked + WITHIN).timed_out() {
                return false;
            }
        }
    }
}
