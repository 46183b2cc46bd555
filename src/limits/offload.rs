//! Work that can't stop halfway, such as reading a JSON text of megabytes, on a thread of its own.
//!
//! Such threads have a lower priority than those that serve requests and store changes, which
//! otherwise wait for a processor as often as for the disk. Being few, they also keep little memory
//! for their next piece of work: the allocator gives each thread pages of its own.
//!
//! As many pieces of work are done at a time as there are processors. Users have turns on them, and
//! none has all of them. Work of few bytes stays where it is: to go to another thread takes some
//! ten microseconds, and so does the work.

use std::any::Any;
use std::future::ready;
use std::sync::LazyLock;

use futures_util::future::Either;
use stet_actors::error::{Error, Result};
use stet_actors::thread;
use stet_actors::trace::Trace;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;

use super::{FairQueue, WorkPermit};

/// Bytes of a text above which reading or rewriting it is offloaded: that takes about a
/// millisecond.
pub const LARGE_TEXT: usize = 64 << 10;

/// Threads for large work per processor. Each queue gives as many turns as there are processors; a
/// second queue does not wait for the first.
const THREADS_PER_CORE: usize = 2;

/// The runtime of those threads. It drives no tasks.
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    let mut runtime = Builder::new_current_thread();
    runtime.max_blocking_threads(THREADS_PER_CORE * cores()).on_thread_start(|| {
        thread::name_this(c"stet-large-work");
        thread::lower_priority();
    });
    // A runtime without drivers opens nothing, so nothing can fail.
    runtime.build().expect("a runtime without drivers can be built")
});

/// Runs work on a thread for large work, without a turn: for those who have one of another queue.
pub fn spawn_large<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    RUNTIME.spawn_blocking(work)
}

/// Offloaded calls of one user that may wait for their turn.
const WAITING: usize = 128;

static QUEUE: LazyLock<FairQueue> = LazyLock::new(|| FairQueue::new("work_aside", "large calls", cores(), WAITING));

/// Processors; at least two, since one user may occupy all threads but one.
fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).max(2)
}

/// The place for one piece of work: the present thread, or another one, with the permit for it.
///
/// Memory that the work needs is best taken once the place is there: that bounds how much is taken
/// at a time.
pub struct Offload {
    stays: bool,
    /// Work that goes to another thread at once needs none.
    _permit: Option<WorkPermit>,
}

impl Offload {
    /// Another thread, when its turn has come.
    ///
    /// # Errors
    /// `Overloaded`: too much work of the same user waits.
    pub async fn turn() -> Result<Offload> {
        QUEUE.turn().await.map(|permit| Offload { stays: false, _permit: Some(permit) })
    }

    /// The place for work on that many bytes: the present thread if they are few, otherwise another
    /// one.
    ///
    /// # Errors
    /// As [`Offload::turn`].
    pub async fn for_bytes(bytes: u64) -> Result<Offload> {
        if bytes < LARGE_TEXT as u64 { Ok(Offload { stays: true, _permit: None }) } else { Offload::turn().await }
    }

    /// Does the work there. Work on another thread is carried to its end even if the caller goes
    /// away.
    ///
    /// # Errors
    /// `RepositoryError` while the server ends.
    ///
    /// # Panics
    /// When `work` does.
    pub async fn work<T: Send + 'static>(self, work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
        if self.stays {
            return Ok(work());
        }
        let outcome = self.untyped(Box::new(move || Box::new(work()))).await?;
        // The outcome has the type that `work` gave it.
        outcome.downcast().map(|outcome| *outcome).map_err(|_| Error::internal())
    }

    /// [`Offload::work`] without types: a task for each type of work would add 1 MB to the program.
    async fn untyped(self, work: Box<dyn FnOnce() -> Untyped + Send>) -> Result<Untyped> {
        let trace = Trace::current();
        let working = spawn_large(move || {
            let _place = self;
            trace.in_scope(work)
        });
        match working.await {
            Ok(outcome) => Ok(outcome),
            Err(broken) if broken.is_panic() => std::panic::resume_unwind(broken.into_panic()),
            Err(_) => Err(Error::internal()),
        }
    }
}

/// The outcome of work of any type.
type Untyped = Box<dyn Any + Send>;

/// Does work on another thread, when its turn has come.
///
/// # Errors
/// As [`Offload::turn`] and [`Offload::work`].
///
/// # Panics
/// When `work` does.
pub async fn offload<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    Offload::turn().await?.work(work).await
}

/// Does work on another thread at once, without waiting for a turn: for calls of operators, which
/// come one at a time anyway.
///
/// # Errors
/// As [`Offload::work`].
///
/// # Panics
/// When `work` does.
pub async fn offload_at_once<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    Offload { stays: false, _permit: None }.work(work).await
}

/// Does work on that many bytes where [`Offload::for_bytes`] says.
///
/// The function is not an `async fn`, and offloaded work is on the heap. Otherwise `work` with all
/// that it holds would have its place, several times over, in the state of each future that waits
/// for it, and those are copied with each call.
///
/// # Errors
/// As [`Offload::for_bytes`] and [`Offload::work`].
///
/// # Panics
/// When `work` does.
pub fn offload_if_large<T: Send + 'static>(
    bytes: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> impl Future<Output = Result<T>> {
    if bytes < LARGE_TEXT { Either::Left(ready(Ok(work()))) } else { Either::Right(Box::pin(offload(work))) }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn offloaded_work_gives_its_outcome_and_its_panic() {
        let here = std::thread::current().id();
        assert_ne!(offload(|| std::thread::current().id()).await, Ok(here));
        assert_ne!(offload_if_large(LARGE_TEXT, || std::thread::current().id()).await, Ok(here));
        assert_eq!(offload_if_large(LARGE_TEXT - 1, || std::thread::current().id()).await, Ok(here));
        let few = Offload::for_bytes(LARGE_TEXT as u64 - 1).await.expect("few bytes wait for nobody");
        assert_eq!(few.work(|| std::thread::current().id()).await, Ok(here));
        let panicked = tokio::spawn(offload(|| panic!("on purpose"))).await;
        assert!(panicked.is_err_and(|error| error.is_panic()));
        assert_eq!(offload(|| 3).await, Ok(3), "the permit has come back");
    }

    #[tokio::test]
    async fn work_that_is_offloaded_at_once_waits_for_nobody() {
        // Other tests have permits, too, so it is tried until none is left.
        let mut had: Vec<Offload> = Vec::new();
        while let Some(place) = Offload::turn().now_or_never() {
            had.push(place.expect("the server's own has no bound"));
        }
        assert_eq!(offload_at_once(|| 3).await, Ok(3));
        assert!(had.len() <= std::thread::available_parallelism().map_or(1, usize::from).max(2));
    }
}
