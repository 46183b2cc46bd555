//! How long work gives way to others. A thread that reads requests serves thousands of connections, and whatever it does for one
//! call keeps all others waiting. So no work there may take longer than some milliseconds at a time, and its length must not be
//! up to a client or to how much lies in the repository:
//!
//! - a loop over such a number asks [`GiveWay::now_and_then`] at each turn;
//! - a list of such a length is [`sorted`] here;
//! - work that can't stop halfway, such as reading a JSON of megabytes, goes [`aside`] when it is large.
//!
//! `stet_http_slow_turns_total` names the endpoints that do not keep to it.

use std::any::Any;
use std::cmp::Ordering;
use std::future::ready;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use futures_util::future::Either;
use stet_actors::error::{Error, Result};
use stet_actors::trace::Trace;

use crate::limits::{SLICE, Turn, Turns, give_way};

/// A loop that gives way to other calls, by the time that it has taken.
#[derive(Debug)]
pub struct GiveWay {
    since: Instant,
}

impl GiveWay {
    /// The time after which it gives way.
    pub const AFTER: Duration = SLICE;

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

    /// Lets others have their turn. A call whose user takes more time than others waits for the user's next turn.
    pub async fn at_once(&mut self) {
        give_way().await;
        self.since = Instant::now();
    }
}

/// Bytes of a text from which on reading or rewriting it is better done [`aside`]: that takes about a millisecond, and to go
/// aside some ten microseconds.
pub const LARGE_TEXT: usize = 64 << 10;

/// Entries of a list that are sorted or merged in a fraction of a millisecond.
const FEW: usize = 256;

/// A list sorted, giving way now and then however long it is; entries that are equal keep their order.
pub async fn sorted<T>(mut entries: Vec<T>, compare: impl Fn(&T, &T) -> Ordering) -> Vec<T> {
    if entries.len() <= FEW {
        entries.sort_by(compare);
        return entries;
    }
    let mut way = GiveWay::new();
    let mut runs = Vec::with_capacity(entries.len().div_ceil(FEW));
    let mut entries = entries.into_iter();
    while entries.len() > 0 {
        let mut run: Vec<T> = entries.by_ref().take(FEW).collect();
        run.sort_by(&compare);
        runs.push(run);
        way.now_and_then().await;
    }
    // Round by round, two neighbours at a time: so runs stay in order.
    while runs.len() > 1 {
        let mut round = Vec::with_capacity(runs.len().div_ceil(2));
        let mut left = runs.into_iter();
        while let Some(first) = left.next() {
            round.push(match left.next() {
                Some(second) => merged(first, second, &compare, &mut way).await,
                None => first,
            });
        }
        runs = round;
    }
    runs.pop().unwrap_or_default()
}

/// Two sorted lists as one; of entries that are equal, those of the first come first.
async fn merged<T>(first: Vec<T>, second: Vec<T>, compare: impl Fn(&T, &T) -> Ordering, way: &mut GiveWay) -> Vec<T> {
    let mut merged = Vec::with_capacity(first.len() + second.len());
    let (mut first, mut second) = (first.into_iter().peekable(), second.into_iter().peekable());
    while let (Some(a), Some(b)) = (first.peek(), second.peek()) {
        let next = if compare(a, b).is_le() { first.next() } else { second.next() };
        merged.extend(next);
        if merged.len().is_multiple_of(FEW) {
            way.now_and_then().await;
        }
    }
    merged.extend(first.chain(second));
    merged
}

/// Work of one user that may wait for its turn.
const WAITING: usize = 128;

static TURNS: LazyLock<Turns> = LazyLock::new(|| {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    // Of one user all but one, so there are two at least.
    Turns::new("work_aside", "large calls", cores.max(2), WAITING)
});

/// A turn for work on another thread: as many have one at a time as there are cores, and users have theirs one after the other.
/// What the work needs in memory is best got once there is a turn: that bounds how much of it is there at a time.
pub struct Aside {
    /// None is needed for what goes aside at once.
    _turn: Option<Turn>,
}

impl Aside {
    /// A turn, when it has come.
    ///
    /// # Errors
    /// `Overloaded`: too much of the same user waits.
    pub async fn turn() -> Result<Aside> {
        TURNS.turn().await.map(|turn| Aside { _turn: Some(turn) })
    }

    /// Does work that can't stop halfway on another thread; it is carried to its end even if the caller goes away.
    ///
    /// # Errors
    /// `RepositoryError` while the server ends.
    ///
    /// # Panics
    /// When `work` does.
    pub async fn work<T: Send + 'static>(self, work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
        let outcome = self.untyped(Box::new(move || Box::new(work()))).await?;
        // It is what `work` has given.
        outcome.downcast().map(|outcome| *outcome).map_err(|_| Error::internal())
    }

    /// [`Aside::work`] without types: a task of its own for each kind of work would be 1 MB of the program.
    async fn untyped(self, work: Box<dyn FnOnce() -> Untyped + Send>) -> Result<Untyped> {
        let trace = Trace::current();
        let working = tokio::task::spawn_blocking(move || {
            let _turn = self;
            trace.in_scope(work)
        });
        match working.await {
            Ok(outcome) => Ok(outcome),
            Err(broken) if broken.is_panic() => std::panic::resume_unwind(broken.into_panic()),
            Err(_) => Err(Error::internal()),
        }
    }
}

/// What work has given, of any type.
type Untyped = Box<dyn Any + Send>;

/// [`Aside::work`], when its turn has come.
///
/// # Errors
/// As [`Aside::turn`] and [`Aside::work`].
///
/// # Panics
/// When `work` does.
pub async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    Aside::turn().await?.work(work).await
}

/// Does work aside at once, whoever waits for a turn: what operators ask for, of which there is one at a time anyway.
///
/// # Errors
/// As [`Aside::work`].
///
/// # Panics
/// When `work` does.
pub async fn aside_at_once<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    Aside { _turn: None }.work(work).await
}

/// Where work is done whose length goes with a number of bytes: here if they are few, else aside.
pub struct Place(Option<Aside>);

impl Place {
    /// The place for so many bytes, when its turn has come.
    ///
    /// # Errors
    /// As [`Aside::turn`].
    pub async fn for_bytes(bytes: u64) -> Result<Place> {
        if bytes < LARGE_TEXT as u64 { Ok(Place(None)) } else { Aside::turn().await.map(|aside| Place(Some(aside))) }
    }

    /// Does work there that can't stop halfway.
    ///
    /// # Errors
    /// As [`Aside::work`].
    ///
    /// # Panics
    /// When `work` does.
    pub async fn work<T: Send + 'static>(self, work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
        match self.0 {
            None => Ok(work()),
            Some(aside) => aside.work(work).await,
        }
    }
}

/// [`Place::work`] at the place for so many bytes.
///
/// It is no `async fn`, and what goes aside is on the heap: else `work` with all that it holds would have its place, several times
/// over, in the state of each future that waits for it, and those are copied with each call.
///
/// # Errors
/// As [`Place::for_bytes`] and [`Place::work`].
///
/// # Panics
/// When `work` does.
pub fn by_size<T: Send + 'static>(
    bytes: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> impl Future<Output = Result<T>> {
    if bytes < LARGE_TEXT { Either::Left(ready(Ok(work()))) } else { Either::Right(Box::pin(aside(work))) }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use futures_util::FutureExt;

    use super::*;

    /// How often another task gets its turn before a loop ends, which it does when `ends` says so of that.
    async fn turns_of_others(gives_way: bool, ends: impl Fn(usize) -> bool) -> usize {
        let turns = Cell::new(0);
        let mut way = GiveWay::new();
        let looping = async {
            while !ends(turns.get()) {
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
        let begun = Instant::now();
        let hangs = || begun.elapsed() > Duration::from_secs(60);
        assert_eq!(turns_of_others(true, |turns| turns == 3 || hangs()).await, 3);
        let until = Instant::now() + GiveWay::AFTER * 10;
        assert_eq!(turns_of_others(false, |_| Instant::now() >= until).await, 0);
    }

    #[tokio::test]
    async fn a_list_is_sorted_as_it_would_be_at_once() {
        for length in [0, 1, FEW, FEW + 1, 3 * FEW, 5 * FEW + 7, 10_000] {
            // Few different keys, so that many are equal; the place tells them apart.
            let entries: Vec<(u32, usize)> =
                (0..length).map(|n| ((n as u32).wrapping_mul(2_654_435_761) >> 25, n)).collect();
            let mut wanted = entries.clone();
            wanted.sort_by_key(|(key, _)| *key);
            assert_eq!(sorted(entries, |a, b| a.0.cmp(&b.0)).await, wanted, "{length}");
        }
    }

    #[tokio::test]
    async fn work_aside_gives_its_outcome_and_its_panic() {
        let here = std::thread::current().id();
        assert_ne!(aside(|| std::thread::current().id()).await, Ok(here));
        assert_ne!(by_size(LARGE_TEXT, || std::thread::current().id()).await, Ok(here));
        assert_eq!(by_size(LARGE_TEXT - 1, || std::thread::current().id()).await, Ok(here));
        let panicked = tokio::spawn(aside(|| panic!("on purpose"))).await;
        assert!(panicked.is_err_and(|error| error.is_panic()));
        assert_eq!(aside(|| 3).await, Ok(3), "the turn has come back");
    }

    #[tokio::test]
    async fn what_goes_aside_at_once_waits_for_nobody() {
        // Other tests have turns, too, so it is tried until none is left.
        let mut had: Vec<Aside> = Vec::new();
        while let Some(turn) = Aside::turn().now_or_never() {
            had.push(turn.expect("the server's own has no bound"));
        }
        assert_eq!(aside_at_once(|| 3).await, Ok(3));
        assert!(had.len() <= std::thread::available_parallelism().map_or(1, usize::from).max(2));
    }
}
