//! Tables that can't be read: when they are opened anew, who waits for that, and what is not tried
//! again meanwhile.
//!
//! redb refuses everything once one read has failed, so one page that can't be read ends the
//! snapshot of every reader, and only a new opening gives them another. The checkpointer makes it.
//! A reader asks for it and waits, for otherwise an error that came once would be told to many; but
//! readers are threads that others need, so
//!
//! - who waits is told of each opening that ends, well or not, and nobody waits for one that is not
//!   to come soon;
//! - readers get one only so long after another ([`PACE`]), and after one that has failed the
//!   checkpointer tries again in its own time;
//! - a read that has failed by itself is not tried again for a while ([`REST`]): a page that many
//!   ask for would else end the snapshots of all others as fast as they come.

use std::hash::{BuildHasher, Hash};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use foldhash::fast::FixedState;
use parking_lot::{Condvar, Mutex};
use stet_actors::store::StoreError;

use super::reader::Snapshot;
use super::shared::Shared;

/// How long after the end of one opening the next begins that readers ask for, at the earliest.
pub(super) const PACE: Duration = Duration::from_millis(250);

/// How long a read that has failed is not tried again, and how long after an opening that has
/// failed none is made for readers.
pub(super) const REST: Duration = Duration::from_secs(2);

/// How long an opening that was asked for is waited for, by all together.
const WITHIN: Duration = Duration::from_secs(2);

/// How many reads that have failed are remembered.
const MOST_FAILED: usize = 64;

/// The openings so far, and the reads that have failed.
#[derive(Default)]
pub(super) struct Reopening {
    state: Mutex<State>,
    /// Notified when there is another snapshot, or an opening has ended.
    ended: Condvar,
    /// Whether there are any; spares readers the lock.
    any_failed: AtomicBool,
    failed: Mutex<Vec<Failed>>,
}

#[derive(Default)]
struct State {
    /// How many have ended.
    ended: u64,
    /// When the next begins that readers ask for, at the earliest.
    next: Option<Instant>,
    /// Since when the one is asked for that has not ended.
    asked: Option<Instant>,
    #[cfg(test)]
    waits: u64,
}

/// A read that has failed.
struct Failed {
    read: u64,
    until: Instant,
    why: StoreError,
}

/// A number for what is read.
pub(super) fn number_of(read: impl Hash) -> u64 {
    FixedState::default().hash_one(read)
}

impl Reopening {
    /// Why a read would fail that has failed just now.
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

    /// Notes a read that has failed by itself.
    pub fn has_failed(&self, read: u64, why: &StoreError) {
        let mut failed = self.failed.lock();
        failed.retain(|other| other.read != read);
        if failed.len() >= MOST_FAILED {
            failed.remove(0);
        }
        failed.push(Failed { read, until: Instant::now() + REST, why: why.clone() });
        self.any_failed.store(true, Ordering::Release);
    }

    /// How many openings have ended, and how often a reader has waited for one.
    #[cfg(test)]
    pub fn counts(&self) -> (u64, u64) {
        let state = self.state.lock();
        (state.ended, state.waits)
    }
}

impl Shared {
    /// Lets readers see the tables as of `snapshot`.
    pub fn set_snapshot(&self, snapshot: Snapshot) {
        // Taken so that nobody is between finding the old one and waiting.
        let state = self.reopening.state.lock();
        let before = self.replace_snapshot(snapshot);
        drop(state);
        drop(before);
        self.reopening.ended.notify_all();
    }

    /// Notes that an opening has ended, and with which snapshot. Gives the time before which the
    /// next is not made for readers.
    pub fn end_reopening(&self, snapshot: Option<Snapshot>, well: bool) -> Instant {
        let mut state = self.reopening.state.lock();
        let before = snapshot.map(|snapshot| self.replace_snapshot(snapshot));
        let next = Instant::now() + if well { PACE } else { REST };
        state.ended += 1;
        state.next = Some(next);
        // Whoever has asked found the snapshot before this one.
        state.asked = None;
        self.signal.lock().broken = false;
        drop(state);
        drop(before);
        self.reopening.ended.notify_all();
        next
    }

    /// Asks for another snapshot in place of `broken`, and tells whether it is there. It is waited
    /// for if it is to come soon; not by whose `own` read has failed of tables that have just been
    /// opened anew, which another opening would not help.
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
