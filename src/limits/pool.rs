//! A pool of bytes that are in memory at a time: taken if they are there, waited for, or owed by what can't be refused.
//!
//! One holder has no more than a part of it, so that none takes the room of all; but whoever has nothing else may have anything
//! that fits in.

use std::sync::{Arc, Weak};

use foldhash::HashMap;
use parking_lot::Mutex;
use stet_actors::object::Text;
use tokio::sync::Notify;

/// What part of a pool one holder may have: a quarter.
const PART: u64 = 4;

/// Bytes of a piece of what goes out: some more than a connection gathers before it writes. No more than that is not counted:
/// connections are, and bound it.
pub const PIECE: usize = 64 << 10;

/// So many bytes at a time. A clone is the same pool.
#[derive(Clone)]
pub struct Pool(Arc<Inner>);

struct Inner {
    limit: u64,
    held: Mutex<Held>,
    /// Told whenever bytes come back.
    freed: Notify,
}

#[derive(Default)]
struct Held {
    bytes: u64,
    /// By whom; nobody is there with nothing.
    by: HashMap<Text, u64>,
}

/// Bytes of a pool, given back when this is dropped.
pub struct Taken {
    from: Pool,
    holder: Text,
    bytes: u64,
}

impl Pool {
    /// A pool of that many bytes.
    pub fn new(limit: u64) -> Pool {
        Pool(Arc::new(Inner { limit, held: Mutex::default(), freed: Notify::new() }))
    }

    /// Bytes that are taken now.
    pub fn taken(&self) -> u64 {
        self.0.held.lock().bytes
    }

    /// Nothing yet, which may grow.
    pub fn nothing(&self, holder: &Text) -> Taken {
        Taken { from: self.clone(), holder: holder.clone(), bytes: 0 }
    }

    fn give_back(&self, holder: &Text, bytes: u64) {
        if bytes == 0 {
            return;
        }
        let mut held = self.0.held.lock();
        held.bytes -= bytes;
        if let Some(own) = held.by.get_mut(holder) {
            *own -= bytes;
            if *own == 0 {
                held.by.remove(holder);
            }
        }
        drop(held);
        self.0.freed.notify_waiters();
    }
}

impl Taken {
    /// How many there are.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Takes as many more as are missing to `bytes`, if they are there for this holder. Whether there are as many now.
    pub fn grow_to(&mut self, bytes: u64) -> bool {
        self.grow(bytes, false)
    }

    /// Takes as many more as are missing to `bytes`, though they may not be there: for what is in memory already and can't be
    /// refused. Others are refused for it.
    pub fn owe_to(&mut self, bytes: u64) {
        self.grow(bytes, true);
    }

    /// Takes as many more as are missing to `bytes`, as soon as they are there for this holder; of more than the pool has, all.
    /// Who waits has little of it, or a bound on the time: others may wait for that in turn.
    pub async fn wait_to(&mut self, bytes: u64) {
        let pool = self.from.clone();
        let bytes = bytes.min(pool.0.limit);
        loop {
            // What comes back from here on is not missed.
            let freed = pool.0.freed.notified();
            tokio::pin!(freed);
            freed.as_mut().enable();
            if self.grow_to(bytes) {
                return;
            }
            freed.await;
        }
    }

    fn grow(&mut self, bytes: u64, at_any_price: bool) -> bool {
        let Some(more) = bytes.checked_sub(self.bytes).filter(|more| *more > 0) else { return true };
        let mut held = self.from.0.held.lock();
        let limit = self.from.0.limit;
        let all = held.bytes.saturating_add(more);
        let own = held.by.get(&self.holder).copied().unwrap_or(0);
        let is_in_part = own == self.bytes || own.saturating_add(more) <= limit / PART;
        if !at_any_price && (all > limit || !is_in_part) {
            return false;
        }
        held.bytes = all;
        *held.by.entry(self.holder.clone()).or_default() += more;
        self.bytes = bytes;
        true
    }

    /// Gives back all but so many.
    pub fn shrink_to(&mut self, bytes: u64) {
        let unused = self.bytes.saturating_sub(bytes);
        self.bytes -= unused;
        self.from.give_back(&self.holder, unused);
    }
}

/// Bytes in memory that may go to several clients at a time: they count once. Clones stand for the same bytes.
#[derive(Debug, Clone, Default)]
pub struct Share(Arc<Mutex<Weak<Taken>>>);

impl Share {
    /// The bytes' part of a pool, as long as anybody has it: with what is `taken` already, and more of it if they are missing, at any
    /// price unless it `may_fail`. `None` if they are not there.
    pub fn take(&self, bytes: u64, mut taken: Taken, may_fail: bool) -> Option<Arc<Taken>> {
        let mut known = self.0.lock();
        if let Some(taken) = known.upgrade() {
            return Some(taken);
        }
        if !may_fail {
            taken.owe_to(bytes);
        } else if !taken.grow_to(bytes) {
            return None;
        }
        let taken = Arc::new(taken);
        *known = Arc::downgrade(&taken);
        Some(taken)
    }
}

impl std::fmt::Debug for Taken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Taken").field("holder", &self.holder).field("bytes", &self.bytes).finish()
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.from.give_back(&self.holder, self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn taken(pool: &Pool, holder: &str, bytes: u64) -> Option<Taken> {
        let mut taken = pool.nothing(&holder.into());
        taken.grow_to(bytes).then_some(taken)
    }

    #[test]
    fn no_more_is_taken_than_there_is_and_all_comes_back() {
        let pool = Pool::new(100);
        let mut first = taken(&pool, "a", 60).expect("it is there");
        assert!(taken(&pool, "b", 41).is_none() && taken(&pool, "b", u64::MAX).is_none());
        assert!(!first.grow_to(101) && first.grow_to(70) && first.grow_to(10));
        let second = taken(&pool, "b", 30).expect("it is there");
        assert_eq!((first.bytes(), pool.taken()), (70, 100));
        first.shrink_to(20);
        let mut owed = pool.nothing(&"a".into());
        owed.owe_to(200);
        assert!(pool.taken() == 250 && taken(&pool, "c", 1).is_none());
        drop((first, second, owed));
        assert_eq!((pool.taken(), pool.0.held.lock().by.len()), (0, 0));
    }

    #[test]
    fn one_holder_leaves_room_for_others() {
        let pool = Pool::new(100);
        let large = taken(&pool, "a", 90).expect("who has nothing else may have anything that is there");
        assert!(taken(&pool, "a", 1).is_none() && taken(&pool, "b", 1).is_some());
        drop(large);
        let many: Vec<_> = (0..100).map_while(|_| taken(&pool, "a", 10)).collect();
        assert_eq!((many.len(), pool.taken()), (2, 20));
        assert!(taken(&pool, "b", 20).is_some());
    }

    #[test]
    fn who_waits_gets_what_comes_back_and_never_more_than_there_is() {
        let pool = Pool::new(100);
        let mut all = pool.nothing(&"a".into());
        all.wait_to(1000).now_or_never().expect("nothing is taken");
        assert_eq!(all.bytes(), 100);
        let mut ten = pool.nothing(&"b".into());
        let mut waiting = Box::pin(ten.wait_to(10));
        assert!(waiting.as_mut().now_or_never().is_none());
        drop(all);
        waiting.now_or_never().expect("it has come back");
        assert_eq!((ten.bytes(), pool.taken()), (10, 10));
    }
}
