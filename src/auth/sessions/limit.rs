//! How many sessions one user may have.

use std::cmp::Reverse;
use std::hash::BuildHasher;
use std::sync::Arc;

use stet_actors::error::Result;

use super::{LiveSession, Sessions};
use crate::limits::{FairQueue, WorkPermit};

/// A queue for each user; some share one. Callers have their turns one after the other, so that one
/// who begins sessions without a pause delays others by one commit.
pub(super) struct Turns {
    hasher: foldhash::fast::RandomState,
    queues: [FairQueue; 32],
}

impl Default for Turns {
    fn default() -> Turns {
        let queues = std::array::from_fn(|_| FairQueue::never_refused(1, 1));
        Turns { hasher: foldhash::fast::RandomState::default(), queues }
    }
}

impl Turns {
    pub(super) async fn of(&self, user: &str) -> Result<WorkPermit> {
        let number = self.hasher.hash_one(user) as usize % self.queues.len();
        self.queues[number].turn().await
    }
}

impl Sessions {
    /// The sessions of a user that must end before there is room for one more: the least recently
    /// used. More than one only where the limit has been lowered.
    pub(super) async fn surplus(&self, user: &str) -> Result<Vec<Arc<LiveSession>>> {
        let limit = self.options.per_user;
        if limit == 0 {
            return Ok(Vec::new());
        }
        let mut sessions = self.standing(|session| session.key.is_none() && *session.user == *user).await?;
        sessions.sort_by_key(|live| Reverse((live.last_seen_ms(), live.session.created_ms)));
        // One place is the new one's.
        Ok(sessions.split_off(sessions.len().min(limit - 1)))
    }
}
