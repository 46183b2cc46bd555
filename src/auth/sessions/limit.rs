//! How many sessions one user may have.

use std::cmp::Reverse;
use std::hash::BuildHasher;
use std::sync::Arc;

use stet_actors::error::Result;
use tokio::sync::{Mutex, OwnedMutexGuard};

use super::{LiveSession, Sessions};

/// A lock for each user; some share one.
#[derive(Default)]
pub(super) struct Turns {
    hasher: foldhash::fast::RandomState,
    locks: [Arc<Mutex<()>>; 32],
}

impl Turns {
    pub(super) async fn of(&self, user: &str) -> OwnedMutexGuard<()> {
        let number = self.hasher.hash_one(user) as usize % self.locks.len();
        self.locks[number].clone().lock_owned().await
    }
}

impl Sessions {
    /// The sessions of a user that must end before there is room for one more: the least recently used. More than one only where
    /// the limit has been lowered.
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
