//! Fresh numbers for loids and shortcuts, never given twice.
//!
//! Numbers are reserved on disk in blocks, ahead of use. After a crash, counting continues behind the last block reserved, so the
//! rest of a block is lost, which 64-bit numbers can bear.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use super::{overloaded, store_failure};
use crate::command::Numbers;
use crate::error::Result;
use crate::store::{Change, ChangeSet, Health, Store, StoreError, Table, View, decode_value, encode_value};

const KEY: &[u8] = b"numbers";
const BLOCK: u64 = 1 << 16;

/// Numbers below this are for what every repository has, such as the root folders.
pub(crate) const FIRST: u64 = 1000;

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Mark {
    /// No number from here on has been given.
    reserved: u64,
}

/// See the module's head.
pub struct NumberMill {
    next: AtomicU64,
    reserved: Arc<AtomicU64>,
    reserving: Arc<AtomicBool>,
    /// The last block could not be reserved because the disk is full.
    full: Arc<AtomicBool>,
    store: Arc<dyn Store>,
}

impl NumberMill {
    /// Reserves the first block. On a full disk there is none, nor while memory is full of what waits for the tables: reads are of use
    /// without numbers, and whoever needs one tries again.
    ///
    /// # Errors
    /// What the store says.
    pub async fn open(store: Arc<dyn Store>) -> Result<NumberMill, StoreError> {
        let next = match store.get(View::Committed, Table::Marks, KEY)? {
            Some(mark) => decode_value::<Mark>(1, &mark)?.reserved,
            None => FIRST,
        };
        let mill = NumberMill {
            next: AtomicU64::new(next),
            reserved: Arc::new(AtomicU64::new(next)),
            reserving: Arc::default(),
            full: Arc::default(),
            store,
        };
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

    /// Reserves another block, one at a time.
    fn reserve(&self, then: impl FnOnce(Result<(), StoreError>) + Send + 'static) {
        if self.reserving.swap(true, Ordering::AcqRel) {
            return;
        }
        let upto = self.reserved.load(Ordering::Acquire) + BLOCK;
        let (reserved, reserving, full) = (self.reserved.clone(), self.reserving.clone(), self.full.clone());
        let value = encode_value(1, &Mark { reserved: upto });
        let set = ChangeSet {
            changes: vec![Change { table: Table::Marks, key: Bytes::from_static(KEY), value: Some(value) }],
            on_commit: Box::new(move |_| reserved.store(upto, Ordering::Release)),
            ..ChangeSet::fence(self.store.epoch(), move |outcome| {
                full.store(matches!(outcome, Err(StoreError::Full)), Ordering::Release);
                reserving.store(false, Ordering::Release);
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
        let reserved = self.reserved.load(Ordering::Acquire);
        // As it was before another block is asked for: that may succeed now, and too late for this number.
        let was_full = self.full.load(Ordering::Acquire);
        let number = self.next.fetch_add(1, Ordering::AcqRel);
        if number + BLOCK / 2 >= reserved {
            self.reserve(|outcome| {
                if let Err(error) = outcome {
                    tracing::warn!(%error, "no numbers could be reserved");
                }
            });
        }
        if number < reserved {
            return Ok(number);
        }
        // Not given: the next one who asks may have it, unless others have asked in between, and then it is lost.
        let _ = self.next.compare_exchange(number + 1, number, Ordering::AcqRel, Ordering::Relaxed);
        let full = was_full || self.full.load(Ordering::Acquire) || self.store.health() == Health::Full;
        // Why there are none is for the one who asks to know: a change elsewhere may just have found room.
        Err(if full { store_failure(&StoreError::Full) } else { overloaded("No fresh numbers are left for now") })
    }
}
