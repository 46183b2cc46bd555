//! The queue of large changes ([`stet_domain::command::SMALL`]). Users get turns in rotation. All
//! large changes wait while memory fills with rows that are not in the tables yet: the remaining
//! room is for small changes.

use std::fmt;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use stet_actors::runtime::{ChangePermit, LargeChangeAdmission, LargeChangePermit};
use stet_domain::error::{Code, Error, Result};
use stet_domain::object::SharedText;
use stet_domain::store::Store;
use tokio::time::{sleep, timeout};

use super::reserve_shares::ReserveShares;
use super::{FairQueue, WorkPermit};

/// The number of large changes that are made at a time: while one waits for the disk, another is
/// applied. One user makes one at a time.
const AT_ONCE: usize = 2;
/// The number of large changes of one user that may wait.
const WAITING: usize = 64;
/// The longest time for which a change waits for its turn.
const LONGEST: Duration = Duration::from_secs(30);
/// The bytes of a change for which its user lets one turn of others pass, if others wait.
const CHARGED_BYTES: usize = 1 << 20;
/// The interval of checks whether a checkpoint has made room.
const LOOK: Duration = Duration::from_millis(10);

/// The metrics label of refused large changes.
const NAME: &str = "large_changes";

/// The queue in which large changes wait for their turns.
pub struct LargeChangeQueue {
    turns: FairQueue,
    store: Arc<dyn Store>,
    reserve: ReserveShares,
}

impl LargeChangeQueue {
    /// Creates the queue for changes of a store in the directory `data`. Large changes leave
    /// `reserve_bytes` free on its disk.
    pub fn of(store: Arc<dyn Store>, data: PathBuf, reserve_bytes: u64) -> LargeChangeQueue {
        let reserve = ReserveShares::of(data, reserve_bytes);
        LargeChangeQueue { turns: FairQueue::new(NAME, "large changes", AT_ONCE, WAITING), store, reserve }
    }

    /// Checks that the disk has more room than the reserve.
    fn check_disk(&self) -> Result<()> {
        if !self.reserve.is_short() {
            return Ok(());
        }
        let message = "The disk of the repository is almost full: large changes are refused and nothing was changed, \
            small ones and reads go on.";
        Err(Error::new(Code::StorageFull, message))
    }
}

impl LargeChangeAdmission for LargeChangeQueue {
    fn turn(&self, removes: bool) -> Pin<Box<dyn Future<Output = Result<LargeChangePermit>> + Send + '_>> {
        Box::pin(async move {
            if !removes {
                self.check_disk()?;
            }
            let turn = async {
                let turn = self.turns.turn().await?;
                while self.store.backlog().fills {
                    sleep(LOOK).await;
                }
                Ok(Box::new(LargeChangeCharge(turn)) as LargeChangePermit)
            };
            timeout(LONGEST, turn).await.unwrap_or_else(|_| {
                metrics::counter!("stet_overloaded_total", "what" => NAME).increment(1);
                let message = "Too many large changes wait for the disk; nothing was changed, try again.";
                Err(Error::new(Code::Overloaded, message))
            })
        })
    }

    fn check_small(&self, user: &SharedText) -> Result<()> {
        self.reserve.check(user)
    }

    fn charge_small(&self, user: &SharedText, bytes: usize) {
        self.reserve.charge(user, bytes);
    }
}

/// The turn of a large change, charged by the bytes that the change stores.
struct LargeChangeCharge(WorkPermit);

impl ChangePermit for LargeChangeCharge {
    fn charge(&self, bytes: usize) {
        self.0.charge(u32::try_from(bytes / CHARGED_BYTES).unwrap_or(u32::MAX));
    }
}

impl fmt::Debug for LargeChangeQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LargeChangeQueue")
    }
}
