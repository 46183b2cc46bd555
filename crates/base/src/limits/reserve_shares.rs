//! The shares of users in the last bytes of the disk, which large changes and uploads leave free.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use stet_domain::error::{Code, Error, Result};
use stet_domain::object::SharedText;

use super::{MOST_QUOTAS, Quota, Quotas};
use crate::disk;

/// The number of shares: small changes of one user may take a sixteenth of the reserve.
const SHARES: u64 = 16;
/// The largest share, in bytes. A story's change takes some hundred bytes.
const LARGEST_SHARE: u64 = 16 << 20;
/// The period in which a used share is restored, in seconds: a day.
const PERIOD_SECONDS: u64 = 24 * 60 * 60;
/// The bytes that a change takes beside its rows, for its event and the journal.
const BESIDE_ROWS: usize = 512;
/// The time between two looks at the disk, in milliseconds.
const LOOK_MS: u64 = 100;

/// The shares of users in the last bytes of the disk. Without them, one user's small changes could
/// fill the disk for all.
pub struct ReserveShares {
    data: PathBuf,
    /// The number of bytes that large changes leave free on the disk; 0 for none.
    reserve_bytes: u64,
    /// The KiB that each user has used.
    used: Quotas<SharedText>,
    started: Instant,
    /// The time of the next look at the disk, in milliseconds since `started`.
    next_look_ms: AtomicU64,
    is_short: AtomicBool,
}

impl ReserveShares {
    /// Creates the shares in `reserve_bytes` of the disk that the directory `data` is on.
    pub fn of(data: PathBuf, reserve_bytes: u64) -> ReserveShares {
        let share = (reserve_bytes / SHARES).min(LARGEST_SHARE) >> 10;
        ReserveShares {
            data,
            reserve_bytes,
            used: Quotas::new(Quota::new(share as u32, PERIOD_SECONDS), MOST_QUOTAS),
            started: Instant::now(),
            next_look_ms: AtomicU64::new(0),
            is_short: AtomicBool::new(false),
        }
    }

    /// Reports whether the disk has less room than the reserve. At most one call in [`LOOK_MS`]
    /// looks at the disk; others get its result.
    pub fn is_short(&self) -> bool {
        let now_ms = self.now_ms();
        let next = self.next_look_ms.load(Ordering::Relaxed);
        let looks = now_ms >= next
            && self.next_look_ms.compare_exchange(next, now_ms + LOOK_MS, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        if looks && self.reserve_bytes > 0 {
            // If the room is unknown, the change itself will fail if necessary.
            let is_short = disk::free_at(&self.data).is_ok_and(|free| free < self.reserve_bytes);
            self.is_short.store(is_short, Ordering::Relaxed);
        }
        self.is_short.load(Ordering::Relaxed)
    }

    /// Checks that a user may make a small change.
    ///
    /// # Errors
    /// `StorageFull` if the disk is short and the user's share is used up.
    pub fn check(&self, user: &SharedText) -> Result<()> {
        if !self.is_short() || !self.used.spend(user, self.now_ms(), 0) {
            return Ok(());
        }
        let message = "The disk of the repository is almost full and your share of the rest is used up: \
            nothing was changed. Reads go on, and so do calls that discard or destroy objects.";
        Err(Error::new(Code::StorageFull, message))
    }

    /// Charges a user for a small change, if the disk is short.
    pub fn charge(&self, user: &SharedText, bytes: usize) {
        if self.is_short() {
            self.used.spend(user, self.now_ms(), (bytes + BESIDE_ROWS).div_ceil(1 << 10) as u64);
        }
    }

    fn now_ms(&self) -> u64 {
        self.started.elapsed().as_millis() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(reserve_bytes: u64) -> ReserveShares {
        ReserveShares::of(std::env::temp_dir(), reserve_bytes)
    }

    #[test]
    fn small_changes_of_one_user_leave_the_rest_of_a_short_disk_to_others() {
        let shares = shares(u64::MAX);
        let (one, other) = ("one".into(), "other".into());
        let mut written = 0;
        while shares.check(&one).is_ok() {
            shares.charge(&one, 100_000);
            written += 100_000;
        }
        // A little less, because events and the journal count, too.
        assert!((LARGEST_SHARE - (1 << 20)..=LARGEST_SHARE).contains(&written), "{written}");
        assert_eq!(shares.check(&one).expect_err("it is used up").code, Code::StorageFull);
        assert!(shares.check(&other).is_ok());
    }

    #[test]
    fn changes_cost_no_share_while_there_is_room() {
        for shares in [shares(1), shares(0)] {
            let user = "one".into();
            shares.charge(&user, usize::MAX >> 1);
            assert!(shares.check(&user).is_ok());
        }
    }
}
