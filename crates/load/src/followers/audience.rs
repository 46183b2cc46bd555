//! The followers of a load: from when they begin to what came of them.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::board::{Board, BoardSummary, Times};
use super::{Followed, Followers, Following};
use crate::delivery::Delivery;
use crate::desk::Desk;
use crate::figures::number;

/// The most followers there may be: each is a connection, a file at both ends.
pub const MAX_FOLLOWERS: u32 = 20_000;

/// See the module's head. There may be none; then it only tells the time.
pub struct Audience {
    board: Arc<Board>,
    count: u32,
    followers: Mutex<Option<Followers>>,
    delivery: Mutex<Option<Delivery>>,
}

impl Audience {
    /// Nobody.
    pub fn none() -> Audience {
        let (followers, delivery) = (Mutex::new(None), Mutex::new(None));
        Audience { board: Arc::new(Board::new(0)), count: 0, followers, delivery }
    }

    /// So many on so many threads, who follow the events at a path, of a container at the revision
    /// `base`; returns when all follow.
    ///
    /// # Errors
    /// A sentence: one is refused, or no thread can be had.
    pub async fn start(desk: &Desk, path: String, count: u32, threads: usize, base: u64) -> Result<Audience, String> {
        let mut audience = Audience { board: Arc::new(Board::new(base)), count, ..Audience::none() };
        if count > 0 {
            let (target, token) = desk.pass();
            let board = audience.board.clone();
            let following = Following { target, token, path, count: count as usize, threads, board };
            audience.followers = Mutex::new(Some(Followers::start(following).await?));
        }
        Ok(audience)
    }

    /// The time since the load's begin.
    pub fn now(&self) -> Duration {
        self.board.now()
    }

    /// The call that made a revision was answered.
    pub fn made(&self, revision: u64, times: Times) {
        if self.count > 0 {
            self.board.made(revision, times);
        }
    }

    /// A remark for the live line.
    pub fn aside(&self) -> String {
        if self.count == 0 {
            return String::new();
        }
        let away = self.followers.lock().as_ref().map_or(0, Followers::away);
        let heard = format!("heard {}", number(self.board.deliveries()));
        if away > 0 { format!("{heard}  followers away {away}") } else { heard }
    }

    /// Waits until all have heard of that revision, or for so long nothing more was heard, and ends
    /// them. `None` where nobody follows.
    ///
    /// # Errors
    /// A sentence: a thread failed.
    pub async fn end(&self, revision: u64, patience: Duration) -> Result<Option<(BoardSummary, Followed)>, String> {
        // Nobody else takes it, and nothing is waited for with the lock.
        let followers = self.followers.lock().take();
        let Some(followers) = followers else { return Ok(None) };
        let followed = followers.end(revision, patience).await?;
        Ok(Some((self.board.summary(), followed)))
    }

    /// Keeps what they measured, once it has been verified.
    pub fn keep(&self, delivery: Delivery) {
        *self.delivery.lock() = Some(delivery);
    }

    /// What was kept.
    pub fn delivery(&self) -> Option<Delivery> {
        self.delivery.lock().take()
    }
}

/// How many threads follow, no more than there are followers; one for every four cores unless
/// something is said.
pub fn threads(followers: u32, said: Option<u32>) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    said.map_or((cores / 4).max(1), |threads| threads as usize).min(followers as usize)
}
