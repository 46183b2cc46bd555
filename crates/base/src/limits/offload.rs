//! Work that can't be interrupted, such as parsing megabytes of JSON, on separate threads.
//!
//! These threads have a lower priority than those that serve requests and store changes, which
//! otherwise would wait for a processor as often as for the disk. They are few, because the
//! allocator keeps memory pages for each thread.
//!
//! In each queue at most as many pieces of work run at a time as there are processors. Users take
//! turns, and none may have all of them. Work on few bytes stays on its thread: a change of threads
//! takes some ten microseconds, and so does the work.

use std::any::Any;
use std::future::ready;
use std::sync::LazyLock;

use futures_util::future::Either;
use stet_actors::thread;
use stet_domain::error::{Error, Result};
use stet_domain::trace::Trace;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;

use super::{FairQueue, WorkPermit};

/// The size of a text above which parsing or rewriting it is offloaded, in bytes: that takes about
/// a millisecond.
pub const LARGE_TEXT: usize = 64 << 10;

/// The number of threads for large work per processor. Each queue gives as many turns as there are
/// processors, and a second queue does not wait for the first.
const THREADS_PER_CORE: usize = 2;

/// The runtime of the threads for large work. It drives no tasks.
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    let mut runtime = Builder::new_current_thread();
    runtime.max_blocking_threads(THREADS_PER_CORE * cores()).on_thread_start(|| {
        thread::name_this(c"stet-large-work");
        thread::lower_priority();
    });
    // A runtime without drivers opens nothing, so nothing can fail.
    runtime.build().expect("a runtime without drivers can be built")
});

/// Runs work on a thread for large work without a turn, for callers that have one of another queue.
pub fn spawn_large<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    RUNTIME.spawn_blocking(work)
}

/// The number of offloaded calls of one user that may wait for a turn.
const WAITING: usize = 128;

static QUEUE: LazyLock<FairQueue> = LazyLock::new(|| FairQueue::new("work_aside", "large calls", cores(), WAITING));

/// Returns the number of processors, at least two, because one user may occupy all threads but one.
fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).max(2)
}

/// The place for one piece of work: the current thread, or another one with the permit for it.
///
/// Memory for the work should be allocated after the place has been obtained: that limits the
/// memory in use at a time.
pub struct Offload {
    stays: bool,
    /// The permit; `None` for work that needs none.
    _permit: Option<WorkPermit>,
}

impl Offload {
    /// Waits for a turn on another thread.
    ///
    /// # Errors
    /// `Overloaded` if too much work of the same user waits.
    pub async fn turn() -> Result<Offload> {
        QUEUE.turn().await.map(|permit| Offload { stays: false, _permit: Some(permit) })
    }

    /// Returns the place for work on that many bytes: the current thread if they are few, otherwise
    /// another one.
    ///
    /// # Errors
    /// The errors of [`Offload::turn`].
    pub async fn for_bytes(bytes: u64) -> Result<Offload> {
        if bytes < LARGE_TEXT as u64 { Ok(Offload { stays: true, _permit: None }) } else { Offload::turn().await }
    }

    /// Does the work there. Work on another thread is completed even if the caller drops the
    /// future.
    ///
    /// # Errors
    /// `RepositoryError` while the server is stopping.
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

    /// Does [`Offload::work`] with erased types: a task for each type of work would add 1 MB to the
    /// program.
    async fn untyped(self, work: Box<dyn FnOnce() -> UntypedOutcome + Send>) -> Result<UntypedOutcome> {
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
type UntypedOutcome = Box<dyn Any + Send>;

/// Does work on another thread after waiting for a turn.
///
/// # Errors
/// The errors of [`Offload::turn`] and [`Offload::work`].
///
/// # Panics
/// When `work` does.
pub async fn offload<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    Offload::turn().await?.work(work).await
}

/// Does work on another thread without waiting for a turn. For calls of operators, which arrive one
/// at a time anyway.
///
/// # Errors
/// The errors of [`Offload::work`].
///
/// # Panics
/// When `work` does.
pub async fn offload_at_once<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    Offload { stays: false, _permit: None }.work(work).await
}

/// Does work on that many bytes at the place that [`Offload::for_bytes`] chooses.
///
/// The function is not an `async fn`, and offloaded work is on the heap. Otherwise each future that
/// waits for it would reserve space for `work` and its data several times, and would be copied with
/// each call.
///
/// # Errors
/// The errors of [`Offload::for_bytes`] and [`Offload::work`].
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
        // Other tests have permits too, so permits are taken until none is left.
        let mut had: Vec<Offload> = Vec::new();
        while let Some(place) = Offload::turn().now_or_never() {
            had.push(place.expect("the server's own has no bound"));
        }
        assert_eq!(offload_at_once(|| 3).await, Ok(3));
        assert!(had.len() <= std::thread::available_parallelism().map_or(1, usize::from).max(2));
    }
}
