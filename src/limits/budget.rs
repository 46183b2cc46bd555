//! A budget of bytes that are in memory at a time, whoever they belong to.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Notify;

/// So many bytes at a time. A clone is the same budget.
#[derive(Debug, Clone)]
pub struct Budget(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    limit: u64,
    taken: AtomicU64,
    /// Told whenever bytes come back.
    freed: Notify,
}

/// Bytes of a budget, given back when this is dropped.
#[derive(Debug)]
pub struct Taken {
    from: Budget,
    bytes: u64,
}

impl Budget {
    /// A budget of that many bytes.
    pub fn new(limit: u64) -> Budget {
        Budget(Arc::new(Inner { limit, taken: AtomicU64::new(0), freed: Notify::new() }))
    }

    /// Bytes that are taken now.
    pub fn taken(&self) -> u64 {
        self.0.taken.load(Ordering::Relaxed)
    }

    /// Bytes, if they are there.
    pub fn take(&self, bytes: u64) -> Option<Taken> {
        let more = |taken: u64| taken.checked_add(bytes).filter(|sum| *sum <= self.0.limit);
        let there = self.0.taken.fetch_update(Ordering::AcqRel, Ordering::Acquire, more);
        there.ok().map(|_| Taken { from: self.clone(), bytes })
    }

    /// Bytes, though they may not be there: for what is in memory already and can't be refused. Others are refused for it.
    pub fn owe(&self, bytes: u64) -> Taken {
        self.0.taken.fetch_add(bytes, Ordering::AcqRel);
        Taken { from: self.clone(), bytes }
    }

    /// Bytes, as soon as they are there; of more than the whole budget, the whole. Who waits holds nothing of it that another may
    /// wait for in turn, or a bound on the time.
    pub async fn wait(&self, bytes: u64) -> Taken {
        let bytes = bytes.min(self.0.limit);
        loop {
            // What comes back from here on is not missed.
            let freed = self.0.freed.notified();
            tokio::pin!(freed);
            freed.as_mut().enable();
            match self.take(bytes) {
                Some(taken) => return taken,
                None => freed.await,
            }
        }
    }

    fn give_back(&self, bytes: u64) {
        if bytes > 0 {
            self.0.taken.fetch_sub(bytes, Ordering::AcqRel);
            self.0.freed.notify_waiters();
        }
    }
}

impl Taken {
    /// How many there are.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Takes as many more as are missing to `bytes`. Whether they were there.
    pub fn grow_to(&mut self, bytes: u64) -> bool {
        match bytes.checked_sub(self.bytes).filter(|more| *more > 0) {
            None => true,
            Some(more) => self.from.take(more).map(|more| self.add(more)).is_some(),
        }
    }

    /// Gives back all but so many.
    pub fn shrink_to(&mut self, bytes: u64) {
        let unused = self.bytes.saturating_sub(bytes);
        self.bytes -= unused;
        self.from.give_back(unused);
    }

    /// Puts others of the same budget to these.
    pub fn add(&mut self, mut more: Taken) {
        debug_assert!(Arc::ptr_eq(&self.from.0, &more.from.0), "of one budget");
        self.bytes += std::mem::take(&mut more.bytes);
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.from.give_back(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn no_more_is_taken_than_there_is_and_all_comes_back() {
        let budget = Budget::new(100);
        let mut first = budget.take(60).expect("it is there");
        assert!(budget.take(41).is_none() && budget.take(u64::MAX).is_none());
        assert!(!first.grow_to(101) && first.grow_to(70) && first.grow_to(10));
        let second = budget.take(30).expect("it is there");
        assert_eq!((first.bytes(), budget.taken()), (70, 100));
        first.shrink_to(20);
        first.add(second);
        assert_eq!((first.bytes(), budget.taken()), (50, 50));
        let owed = budget.owe(200);
        assert!(budget.taken() == 250 && budget.take(1).is_none());
        drop((first, owed));
        assert_eq!(budget.taken(), 0);
    }

    #[test]
    fn who_waits_gets_what_comes_back_and_never_more_than_there_is() {
        let budget = Budget::new(100);
        let all = budget.wait(1000).now_or_never().expect("nothing is taken");
        assert_eq!(all.bytes(), 100);
        let mut waiting = Box::pin(budget.wait(10));
        assert!(waiting.as_mut().now_or_never().is_none());
        drop(all);
        let ten = waiting.now_or_never().expect("it has come back");
        assert_eq!((ten.bytes(), budget.taken()), (10, 10));
    }
}
