//! The source of fresh numbers for loids and shortcuts, which never returns a number twice.
//!
//! Numbers are reserved on disk in blocks, ahead of use. After a crash, counting continues behind
//! the last block reserved, so the rest of a block is lost, which 64-bit numbers can bear.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bytes::Bytes;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use super::{overloaded_error, store_failure};
use stet_domain::clock::Clock;
use stet_domain::command::NumberSource;
use stet_domain::error::Result;
use stet_domain::store::{
    ChangeSet, Health, ReadLevel, RowChange, Seq, Store, StoreError, Table, decode_value, encode_value,
};

const KEY: &[u8] = b"numbers";
const BLOCK: u64 = 1 << 16;

/// The first number of loids that are not reserved for fixed objects, such as the root folders.
pub(crate) const FIRST: u64 = 1000;

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct NumberMark {
    /// The end of the reserved numbers: no number from here on has been given out.
    reserved: u64,
}

/// The wait before another block is requested after a refusal, unless a commit succeeds earlier.
const AGAIN_MS: u64 = 100;

/// The source of fresh numbers, which reserves them in blocks.
pub struct NumberMill {
    next: AtomicU64,
    blocks: Arc<NumberBlocks>,
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
}

/// The end of the reserved numbers, and the outcome of the last reservation.
#[derive(Default)]
struct NumberBlocks {
    reserved: AtomicU64,
    reserving: AtomicBool,
    /// Whether the last block could not be reserved because the disk is full.
    full: AtomicBool,
    refused: Mutex<Option<NumberRefusal>>,
}

/// The refusal of another block.
#[derive(Clone, Copy)]
struct NumberRefusal {
    /// Time of the request, by the steady clock.
    at_ms: u64,
    /// The last committed change set at that time.
    committed: Seq,
}

impl NumberMill {
    /// Reserves the first block. A full disk is no error: reads work without numbers, and each
    /// request for a number tries to reserve again.
    ///
    /// # Errors
    /// The store's error, unless the disk is full or overloaded.
    pub async fn open(store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Result<NumberMill, StoreError> {
        let next = match store.get(ReadLevel::Committed, Table::Marks, KEY)? {
            Some(mark) => decode_value::<NumberMark>(1, &mark)?.reserved,
            None => FIRST,
        };
        let blocks = Arc::new(NumberBlocks { reserved: AtomicU64::new(next), ..NumberBlocks::default() });
        let mill = NumberMill { next: AtomicU64::new(next), blocks, store, clock };
        let (sender, receiver) = oneshot::channel();
        mill.reserve(move |outcome| {
            // The opener awaits the outcome.
            let _ = sender.send(outcome);
        });
        match receiver.await.unwrap_or(Err(StoreError::Closed)) {
            Ok(()) => {}
            Err(why @ (StoreError::Full | StoreError::Overloaded)) => {
                tracing::error!(%why, "cannot reserve loid numbers: nothing can be created until this succeeds");
            }
            Err(error) => return Err(error),
        }
        Ok(mill)
    }

    /// Requests another block, unless a request is under way, or the last one was refused less than
    /// [`AGAIN_MS`] ago and nothing was committed since. A later request for a number tries again.
    /// A command may request thousands of numbers, and must not request a block with each.
    ///
    /// Returns at once. `then` gets the outcome, or is dropped if no block is requested. That
    /// cannot happen to [`NumberMill::open`], which makes the first request.
    fn reserve(&self, then: impl FnOnce(Result<(), StoreError>) + Send + 'static) {
        if self.blocks.reserving.swap(true, Ordering::AcqRel) {
            return;
        }
        let now = NumberRefusal { at_ms: self.clock.steady_ms(), committed: self.store.committed() };
        let before = *self.blocks.refused.lock();
        if before.is_some_and(|last| last.committed == now.committed && now.at_ms < last.at_ms + AGAIN_MS) {
            self.blocks.reserving.store(false, Ordering::Release);
            return;
        }
        let upto = self.blocks.reserved.load(Ordering::Acquire) + BLOCK;
        let (reserved, blocks) = (self.blocks.clone(), self.blocks.clone());
        let value = encode_value(1, &NumberMark { reserved: upto });
        let set = ChangeSet {
            changes: vec![RowChange { table: Table::Marks, key: Bytes::from_static(KEY), value: Some(value) }],
            passes: true,
            on_commit: Box::new(move |_| reserved.reserved.store(upto, Ordering::Release)),
            ..ChangeSet::fence(self.store.epoch(), move |outcome| {
                blocks.full.store(matches!(outcome, Err(StoreError::Full)), Ordering::Release);
                *blocks.refused.lock() = outcome.is_err().then_some(now);
                // Logged once per block, however often it is tried.
                if let (Err(error), None) = (&outcome, before) {
                    tracing::warn!(%error, "cannot reserve loid numbers");
                }
                blocks.reserving.store(false, Ordering::Release);
                then(outcome.map(drop));
            })
        };
        if let Err(refused) = self.store.submit(set) {
            (refused.set.on_done)(Err(refused.why));
        }
    }
}

impl NumberSource for NumberMill {
    fn next(&self) -> Result<u64> {
        let reserved = self.blocks.reserved.load(Ordering::Acquire);
        // Read before another block is requested: that may succeed now, but too late for this
        // number.
        let was_full = self.blocks.full.load(Ordering::Acquire);
        let number = self.next.fetch_add(1, Ordering::AcqRel);
        if number + BLOCK / 2 >= reserved {
            self.reserve(drop);
        }
        if number < reserved {
            return Ok(number);
        }
        // The number was not given out. It is put back for the next request, and lost only if
        // others have taken numbers in between.
        let _ = self.next.compare_exchange(number + 1, number, Ordering::AcqRel, Ordering::Relaxed);
        let full = was_full || self.blocks.full.load(Ordering::Acquire) || self.store.health() == Health::Full;
        // A change elsewhere may just have found room, so the caller needs the reason of this
        // refusal.
        Err(if full {
            store_failure(&StoreError::Full)
        } else {
            overloaded_error("No number for a new object or item can be assigned at the moment")
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use stet_domain::clock::ManualClock;
    use stet_domain::store::memory::MemoryStore;

    /// Regression: while a block was refused, each requested number requested the block again.
    #[tokio::test]
    async fn a_block_that_is_refused_is_not_asked_for_with_each_number() {
        let (store, clock) = (Arc::new(MemoryStore::new()), ManualClock::at(1_000));
        let mill = NumberMill::open(store.clone(), Arc::new(clock.clone())).await.expect("it opens");
        store.refuse(Some(StoreError::Full));
        let take = |many| (0..many).filter(|_| mill.next().is_ok()).count();
        assert_eq!((take(50_000), store.refused()), (50_000, 1));
        clock.advance(Duration::from_millis(AGAIN_MS - 1));
        assert_eq!((take(1_000), store.refused()), (1_000, 1));
        clock.advance(Duration::from_millis(1));
        assert_eq!((take(1_000), store.refused()), (1_000, 2));
        // Another change has found room.
        store.refuse(None);
        let row = RowChange { table: Table::Marks, key: Bytes::from_static(b"m"), value: None };
        store.submit(ChangeSet { changes: vec![row], ..ChangeSet::fence(store.epoch(), drop) }).expect("it is taken");
        store.refuse(Some(StoreError::Full));
        assert_eq!((take(1_000), store.refused()), (1_000, 3));
        // No number is given that is not reserved.
        assert_eq!((take(50_000), store.refused()), (BLOCK as usize - 53_000, 3));
        store.refuse(None);
        clock.advance(Duration::from_millis(AGAIN_MS));
        assert!(take(2) >= 1);
    }
}
