//! Fresh numbers for loids and shortcuts, never given twice.
//!
//! Numbers are reserved on disk in blocks, ahead of use. After a crash, counting continues behind
//! the last block reserved, so the rest of a block is lost, which 64-bit numbers can bear.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bytes::Bytes;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use super::{overloaded, store_failure};
use crate::clock::Clock;
use crate::command::Numbers;
use crate::error::Result;
use crate::store::{Change, ChangeSet, Health, Seq, Store, StoreError, Table, View, decode_value, encode_value};

const KEY: &[u8] = b"numbers";
const BLOCK: u64 = 1 << 16;

/// Numbers below this are for what every repository has, such as the root folders.
pub(crate) const FIRST: u64 = 1000;

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Mark {
    /// No number from here on has been given.
    reserved: u64,
}

/// After how long another block is asked for once one was refused, unless a commit has gone through
/// before.
const AGAIN_MS: u64 = 100;

/// See the module's head.
pub struct NumberMill {
    next: AtomicU64,
    blocks: Arc<Blocks>,
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
}

/// How far numbers are reserved, and what became of the last try.
#[derive(Default)]
struct Blocks {
    reserved: AtomicU64,
    reserving: AtomicBool,
    /// The last block could not be reserved because the disk is full.
    full: AtomicBool,
    refused: Mutex<Option<Refused>>,
}

/// Another block was refused.
#[derive(Clone, Copy)]
struct Refused {
    /// When it was asked for, by the steady clock.
    at_ms: u64,
    /// What was on disk then.
    committed: Seq,
}

impl NumberMill {
    /// Reserves the first block. On a full disk there is none: reads are of use without numbers,
    /// and whoever needs one tries again.
    ///
    /// # Errors
    /// What the store says.
    pub async fn open(store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Result<NumberMill, StoreError> {
        let next = match store.get(View::Committed, Table::Marks, KEY)? {
            Some(mark) => decode_value::<Mark>(1, &mark)?.reserved,
            None => FIRST,
        };
        let blocks = Arc::new(Blocks { reserved: AtomicU64::new(next), ..Blocks::default() });
        let mill = NumberMill { next: AtomicU64::new(next), blocks, store, clock };
        let (sender, receiver) = oneshot::channel();
        mill.reserve(move |outcome| {
            // The opener waits for it.
            let _ = sender.send(outcome);
        });
        match receiver.await.unwrap_or(Err(StoreError::Closed)) {
            Ok(()) => {}
            Err(why @ (StoreError::Full | StoreError::Overloaded)) => {
                tracing::error!(%why, "no numbers could be reserved: reads only until they can be");
            }
            Err(error) => return Err(error),
        }
        Ok(mill)
    }

    /// Reserves another block, one at a time; not again at once after a refusal, for a command may
    /// ask for thousands of numbers.
    fn reserve(&self, then: impl FnOnce(Result<(), StoreError>) + Send + 'static) {
        if self.blocks.reserving.swap(true, Ordering::AcqRel) {
            return;
        }
        let now = Refused { at_ms: self.clock.steady_ms(), committed: self.store.committed() };
        let before = *self.blocks.refused.lock();
        if before.is_some_and(|last| last.committed == now.committed && now.at_ms < last.at_ms + AGAIN_MS) {
            self.blocks.reserving.store(false, Ordering::Release);
            return;
        }
        let upto = self.blocks.reserved.load(Ordering::Acquire) + BLOCK;
        let (reserved, blocks) = (self.blocks.clone(), self.blocks.clone());
        let value = encode_value(1, &Mark { reserved: upto });
        let set = ChangeSet {
            changes: vec![Change { table: Table::Marks, key: Bytes::from_static(KEY), value: Some(value) }],
            passes: true,
            on_commit: Box::new(move |_| reserved.reserved.store(upto, Ordering::Release)),
            ..ChangeSet::fence(self.store.epoch(), move |outcome| {
                blocks.full.store(matches!(outcome, Err(StoreError::Full)), Ordering::Release);
                *blocks.refused.lock() = outcome.is_err().then_some(now);
                // Once for a block, however often it is tried.
                if let (Err(error), None) = (&outcome, before) {
                    tracing::warn!(%error, "no numbers could be reserved");
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

impl Numbers for NumberMill {
    fn next(&self) -> Result<u64> {
        let reserved = self.blocks.reserved.load(Ordering::Acquire);
        // As it was before another block is asked for: that may succeed now, and too late for this
        // number.
        let was_full = self.blocks.full.load(Ordering::Acquire);
        let number = self.next.fetch_add(1, Ordering::AcqRel);
        if number + BLOCK / 2 >= reserved {
            self.reserve(drop);
        }
        if number < reserved {
            return Ok(number);
        }
        // Not given: the next one who asks may have it, unless others have asked in between, and
        // then it is lost.
        let _ = self.next.compare_exchange(number + 1, number, Ordering::AcqRel, Ordering::Relaxed);
        let full = was_full || self.blocks.full.load(Ordering::Acquire) || self.store.health() == Health::Full;
        // Why there are none is for the one who asks to know: a change elsewhere may just have
        // found room.
        Err(if full { store_failure(&StoreError::Full) } else { overloaded("No fresh numbers are left for now") })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::clock::ManualClock;
    use crate::store::memory::MemoryStore;

    /// Each number that was asked for while a block was refused asked for the block once more.
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
        // Something else has found room.
        store.refuse(None);
        let row = Change { table: Table::Marks, key: Bytes::from_static(b"m"), value: None };
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
