//! The limit on the sessions of one user.

use std::cmp::Reverse;
use std::hash::BuildHasher;
use std::sync::Arc;

use stet_base::limits::{FairQueue, WorkPermit};
use stet_domain::error::Result;

use super::{LiveSession, Sessions};

/// The queues of users who begin sessions; some users share one. Callers are served one after the
/// other, so that one who begins sessions without a pause delays others by one commit.
pub(super) struct SessionQueues {
    hasher: foldhash::fast::RandomState,
    queues: [FairQueue; 32],
}

impl Default for SessionQueues {
    fn default() -> SessionQueues {
        let queues = std::array::from_fn(|_| FairQueue::never_refused(1, 1));
        SessionQueues { hasher: foldhash::fast::RandomState::default(), queues }
    }
}

impl SessionQueues {
    pub(super) async fn of(&self, user: &str) -> Result<WorkPermit> {
        let number = self.hasher.hash_one(user) as usize % self.queues.len();
        self.queues[number].turn().await
    }
}

impl Sessions {
    /// Returns the sessions of a user that must end before there is room for one more: the least
    /// recently used. There are several only if the limit was lowered.
    pub(super) async fn surplus(&self, user: &str) -> Result<Vec<Arc<LiveSession>>> {
        let limit = self.options.per_user;
        if limit == 0 {
            return Ok(Vec::new());
        }
        let mut sessions = self.standing(|session| session.key.is_none() && *session.user == *user).await?;
        sessions.sort_by_key(|live| Reverse((live.last_seen_ms(), live.session.created_ms)));
        // One place is for the new session.
        Ok(sessions.split_off(sessions.len().min(limit - 1)))
    }
}
