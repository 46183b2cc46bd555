//! How long work gives way to others. A thread that reads requests serves thousands of connections, and whatever it does for one
//! call keeps all others waiting. So no work there may take longer than some milliseconds at a time, and its length must not be
//! up to a client or to how much lies in the repository:
//!
//! - a loop over such a number asks [`GiveWay::now_and_then`] at each turn;
//! - work that can't stop halfway, such as reading a JSON of megabytes, goes [`aside`] when it is large.
//!
//! `stet_http_slow_turns_total` names the endpoints that do not keep to it.

use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use stet_actors::error::{Error, Result};
use tokio::sync::Semaphore;

/// A loop that gives way to other calls, by the time that it has taken.
#[derive(Debug)]
pub struct GiveWay {
    since: Instant,
}

impl GiveWay {
    /// After how long it gives way. To be polled again takes microseconds, so this costs long work next to nothing.
    pub const AFTER: Duration = Duration::from_millis(2);

    /// For a loop that begins now.
    pub fn new() -> GiveWay {
        GiveWay { since: Instant::now() }
    }

    /// Lets others have their turn if it has been long enough; to be asked at each turn of the loop.
    pub async fn now_and_then(&mut self) {
        if self.is_time() {
            self.at_once().await;
        }
    }

    /// Whether it has been long enough.
    pub fn is_time(&self) -> bool {
        self.since.elapsed() >= GiveWay::AFTER
    }

    /// Lets others have their turn.
    pub async fn at_once(&mut self) {
        tokio::task::yield_now().await;
        self.since = Instant::now();
    }
}

/// Bytes of a text from which on reading or rewriting it is better done [`aside`]: that takes about a millisecond, and to go
/// aside some ten microseconds.
pub const LARGE_TEXT: usize = 64 << 10;

/// Entries from which on a list is better sorted [`aside`].
pub const LONG_LIST: usize = 4096;

/// Does work that can't stop halfway on another thread. As many run at a time as there are cores, however many ask; it is carried
/// to its end even if the caller goes away.
///
/// # Errors
/// `RepositoryError` while the server ends.
///
/// # Panics
/// When `work` does.
pub async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    static TURNS: LazyLock<Arc<Semaphore>> =
        LazyLock::new(|| Arc::new(Semaphore::new(std::thread::available_parallelism().map_or(1, usize::from))));
    // The semaphore is never closed.
    let turn = TURNS.clone().acquire_owned().await.map_err(|_| Error::internal())?;
    let working = tokio::task::spawn_blocking(move || {
        let _turn = turn;
        work()
    });
    match working.await {
        Ok(outcome) => Ok(outcome),
        Err(broken) if broken.is_panic() => std::panic::resume_unwind(broken.into_panic()),
        Err(_) => Err(Error::internal()),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// How often another task gets its turn while a loop goes on for so long.
    async fn turns_of_others(goes_on: Duration, gives_way: bool) -> usize {
        let turns = Cell::new(0);
        let mut way = GiveWay::new();
        let until = Instant::now() + goes_on;
        let looping = async {
            while Instant::now() < until {
                if gives_way {
                    way.now_and_then().await;
                }
            }
        };
        let other = async {
            loop {
                turns.set(turns.get() + 1);
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            biased;
            () = looping => {}
            () = other => {}
        }
        turns.get()
    }

    #[tokio::test]
    async fn a_long_loop_lets_others_have_their_turn() {
        assert!(turns_of_others(GiveWay::AFTER * 10, true).await > 0);
        assert_eq!(turns_of_others(GiveWay::AFTER * 10, false).await, 0);
    }

    #[tokio::test]
    async fn work_aside_gives_its_outcome_and_its_panic() {
        let here = std::thread::current().id();
        assert_ne!(aside(|| std::thread::current().id()).await, Ok(here));
        let panicked = tokio::spawn(aside(|| panic!("on purpose"))).await;
        assert!(panicked.is_err_and(|error| error.is_panic()));
        assert_eq!(aside(|| 3).await, Ok(3), "the turn has come back");
    }
}
