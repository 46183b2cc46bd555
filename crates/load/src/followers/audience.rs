//! The followers of a load, from their start to their outcome.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::board::{Board, BoardSummary, CallTimes};
use super::{FollowerOutcome, FollowerSettings, Followers};
use crate::delivery::Delivery;
use crate::desk::Desk;
use crate::figures::number;

/// The greatest number of followers: each is a connection, an open file at both ends.
pub const MAX_FOLLOWERS: u32 = 20_000;

/// The followers of a load. Without any it only provides the time.
pub struct Audience {
    board: Arc<Board>,
    count: u32,
    followers: Mutex<Option<Followers>>,
    delivery: Mutex<Option<Delivery>>,
}

impl Audience {
    /// Creates an audience without followers.
    pub fn none() -> Audience {
        let (followers, delivery) = (Mutex::new(None), Mutex::new(None));
        Audience { board: Arc::new(Board::new(0)), count: 0, followers, delivery }
    }

    /// Starts `count` followers on `threads` threads. They follow the events at a path, of a
    /// container at the revision `base`. Returns when all follow.
    ///
    /// # Errors
    /// A sentence if one is refused, or if no thread can be started.
    pub async fn start(desk: &Desk, path: String, count: u32, threads: usize, base: u64) -> Result<Audience, String> {
        let mut audience = Audience { board: Arc::new(Board::new(base)), count, ..Audience::none() };
        if count > 0 {
            let (target, token) = desk.pass();
            let board = audience.board.clone();
            let following = FollowerSettings { target, token, path, count: count as usize, threads, board };
            audience.followers = Mutex::new(Some(Followers::start(following).await?));
        }
        Ok(audience)
    }

    /// Returns the time since the load's begin.
    pub fn now(&self) -> Duration {
        self.board.now()
    }

    /// Notes that the call that made a revision was answered.
    pub fn made(&self, revision: u64, times: CallTimes) {
        if self.count > 0 {
            self.board.made(revision, times);
        }
    }

    /// Returns a remark for the progress line.
    pub fn aside(&self) -> String {
        if self.count == 0 {
            return String::new();
        }
        let away = self.followers.lock().as_ref().map_or(0, Followers::away);
        let heard = format!("heard {}", number(self.board.deliveries()));
        if away > 0 { format!("{heard}  followers away {away}") } else { heard }
    }

    /// Waits until all followers have received that revision, or until nothing arrives for
    /// `patience`, and ends them. Returns `None` without followers.
    ///
    /// # Errors
    /// A sentence if a thread failed.
    pub async fn end(
        &self,
        revision: u64,
        patience: Duration,
    ) -> Result<Option<(BoardSummary, FollowerOutcome)>, String> {
        // Only this call takes it, and the lock is not held while it waits.
        let followers = self.followers.lock().take();
        let Some(followers) = followers else { return Ok(None) };
        let followed = followers.end(revision, patience).await?;
        Ok(Some((self.board.summary(), followed)))
    }

    /// Keeps the verified measurements.
    pub fn keep(&self, delivery: Delivery) {
        *self.delivery.lock() = Some(delivery);
    }

    /// Takes the kept measurements.
    pub fn delivery(&self) -> Option<Delivery> {
        self.delivery.lock().take()
    }
}

/// Returns the number of follower threads: the configured one, or one for every four cores. At most
/// one per follower.
pub fn threads(followers: u32, said: Option<u32>) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    said.map_or((cores / 4).max(1), |threads| threads as usize).min(followers as usize)
}
