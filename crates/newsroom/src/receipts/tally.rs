//! Accounting of kept receipts per user: beyond a bound, the oldest keys are removed.
//!
//! A client repeats a call within minutes, so keys older than many newer ones are of no use to it.
//! Refusing further calls instead would stop a program that creates many objects a day and rightly
//! sends each creation with a key.
//!
//! Only keys that this process has seen are counted. Older ones stay until they expire.

use std::collections::{HashMap, VecDeque};

use stet_domain::object::SharedText;

/// The bytes of a key beside the reply's body and the commands' outcomes: row, index entry,
/// headers.
const ITSELF: u64 = 1024;

/// The number of latest keys that are searched for the key of a reply, which follows soon after the
/// key.
const NEAR: usize = 256;

/// The part of a bound, 1/16, that may be exceeded before keys are removed. So they are removed in
/// batches.
const SLACK: u64 = 16;

/// The limits of what is kept for one user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReceiptBounds {
    /// Keys.
    pub keys: usize,
    /// Bytes of replies, outcomes and overhead.
    pub bytes: u64,
}

/// The keys of all users in memory.
pub(super) struct Tally {
    bounds: ReceiptBounds,
    users: HashMap<SharedText, UserTally>,
}

/// The keys of a user, the oldest first.
#[derive(Default)]
struct UserTally {
    keys: VecDeque<KeyUsage>,
    bytes: u64,
}

struct KeyUsage {
    key: SharedText,
    at_ms: u64,
    bytes: u64,
}

impl Tally {
    pub(super) fn new(bounds: ReceiptBounds) -> Tally {
        Tally { bounds, users: HashMap::new() }
    }

    /// Counts bytes under a key, and the key itself if it is new.
    pub(super) fn add(&mut self, user: &SharedText, key: &SharedText, at_ms: u64, more: u64) {
        let own = match self.users.get_mut(user) {
            Some(own) => own,
            None => self.users.entry(user.clone()).or_default(),
        };
        match own.keys.iter_mut().rev().take(NEAR).find(|counted| counted.key == *key) {
            Some(counted) => {
                counted.bytes += more;
                own.bytes += more;
            }
            None => {
                own.keys.push_back(KeyUsage { key: key.clone(), at_ms, bytes: ITSELF + more });
                own.bytes += ITSELF + more;
            }
        }
    }

    /// Returns a user's keys beyond the bounds, and stops counting them.
    pub(super) fn beyond(&mut self, user: &SharedText) -> Vec<SharedText> {
        let bounds = self.bounds;
        self.users.get_mut(user).map_or_else(Vec::new, |own| own.beyond(bounds))
    }

    /// Returns the keys of all users beyond the bounds with their users' names, and stops counting
    /// them.
    pub(super) fn all_beyond(&mut self) -> Vec<(SharedText, SharedText)> {
        let bounds = self.bounds;
        let of = |(user, own): (&SharedText, &mut UserTally)| {
            own.beyond(bounds).into_iter().map(|key| (user.clone(), key)).collect::<Vec<_>>()
        };
        self.users.iter_mut().flat_map(of).collect()
    }

    /// Stops counting keys up to `due_ms`: their receipts are removed because of their age.
    pub(super) fn forget(&mut self, due_ms: u64) {
        self.users.retain(|_, own| {
            while own.keys.front().is_some_and(|counted| counted.at_ms <= due_ms)
                && let Some(oldest) = own.keys.pop_front()
            {
                own.bytes -= oldest.bytes;
            }
            !own.keys.is_empty()
        });
    }
}

impl UserTally {
    fn beyond(&mut self, ReceiptBounds { keys, bytes }: ReceiptBounds) -> Vec<SharedText> {
        let with_slack = |bound: u64| bound + bound / SLACK;
        if self.keys.len() as u64 <= with_slack(keys as u64) && self.bytes <= with_slack(bytes) {
            return Vec::new();
        }
        let mut gone = Vec::new();
        // The newest key stays in any case, because its call may still run.
        while self.keys.len() > 1
            && (self.keys.len() > keys || self.bytes > bytes)
            && let Some(oldest) = self.keys.pop_front()
        {
            self.bytes -= oldest.bytes;
            gone.push(oldest.key);
        }
        gone
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(gone: &[SharedText]) -> Vec<&str> {
        gone.iter().map(|key| &**key).collect()
    }

    /// Counts bytes and returns the keys beyond the bounds.
    fn after(tally: &mut Tally, user: &SharedText, key: &str, at_ms: u64, more: u64) -> Vec<SharedText> {
        tally.add(user, &key.into(), at_ms, more);
        tally.beyond(user)
    }

    #[test]
    fn beyond_the_number_the_oldest_go_some_at_a_time() {
        let mut tally = Tally::new(ReceiptBounds { keys: 32, bytes: 1 << 30 });
        let (ann, bob): (SharedText, SharedText) = ("ann".into(), "bob".into());
        after(&mut tally, &bob, "0", 0, 0);
        for number in 0..34u64 {
            assert!(after(&mut tally, &ann, &number.to_string(), number, 0).is_empty(), "{number}");
        }
        assert_eq!(names(&after(&mut tally, &ann, "34", 34, 0)), ["0", "1", "2"]);
        assert!(after(&mut tally, &ann, "34", 35, 100).is_empty(), "it is the same one");
        assert_eq!(tally.users[&bob].keys.len(), 1);
        tally.forget(20);
        assert_eq!((tally.users[&ann].keys.len(), tally.users.contains_key(&bob)), (14, false));
        tally.forget(u64::MAX);
        assert!(tally.users.is_empty());
    }

    #[test]
    fn beyond_the_bytes_the_oldest_go_and_the_newest_stays() {
        let mut tally = Tally::new(ReceiptBounds { keys: 1000, bytes: 16_000 });
        let ann: SharedText = "ann".into();
        for key in ["a", "b", "c"] {
            assert!(after(&mut tally, &ann, key, 1, 0).is_empty());
            assert!(after(&mut tally, &ann, key, 1, 4000).is_empty());
        }
        assert!(after(&mut tally, &ann, "d", 2, 0).is_empty());
        tally.add(&ann, &"d".into(), 2, 4000);
        assert_eq!(tally.all_beyond(), [(ann.clone(), SharedText::from("a"))]);
        assert_eq!(names(&after(&mut tally, &ann, "e", 3, 100_000)), ["b", "c", "d"]);
        assert_eq!(tally.users[&ann].bytes, 100_000 + ITSELF);
        assert!(tally.all_beyond().is_empty());
    }
}
