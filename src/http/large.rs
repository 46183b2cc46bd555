//! Whose turn it is to make a large change ([`stet_actors::command::SMALL`]): users have theirs one after the other, and all of them wait
//! while memory fills up with what is not in the tables yet. What room there is then is for small changes.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use stet_actors::error::{Code, Error, Result};
use stet_actors::runtime::{LargeChanges, LargeTurn};
use stet_actors::store::Store;
use tokio::time::{sleep, timeout};

use crate::limits::Turns;

/// Large changes that are made at a time: while one waits for the disk, another is applied. One of them is another user's.
const AT_ONCE: usize = 2;
/// Those of one user that may wait.
const WAITING: usize = 64;
/// How long they wait.
const LONGEST: Duration = Duration::from_secs(30);
/// How often it is looked whether a checkpoint has made room.
const LOOK: Duration = Duration::from_millis(10);

/// The label of their refusals.
const NAME: &str = "large_changes";

/// See the module's head.
pub(super) struct Large {
    turns: Turns,
    store: Arc<dyn Store>,
}

impl Large {
    /// Those of a store.
    pub fn of(store: Arc<dyn Store>) -> Large {
        Large { turns: Turns::new(NAME, "large changes", AT_ONCE, WAITING), store }
    }
}

impl LargeChanges for Large {
    fn turn(&self) -> Pin<Box<dyn Future<Output = Result<LargeTurn>> + Send + '_>> {
        Box::pin(async move {
            let turn = async {
                let turn = self.turns.turn().await?;
                while self.store.backlog().fills {
                    sleep(LOOK).await;
                }
                Ok(Box::new(turn) as LargeTurn)
            };
            timeout(LONGEST, turn).await.unwrap_or_else(|_| {
                metrics::counter!("stet_overloaded_total", "what" => NAME).increment(1);
                let message = "Too many large changes wait for the disk; nothing was changed, try again.";
                Err(Error::new(Code::Overloaded, message))
            })
        })
    }
}

impl fmt::Debug for Large {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Large")
    }
}
