//! The actor of a cache: which value is in force during a refresh, and after each outcome of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use futures_util::future::{BoxFuture, join_all};
use parking_lot::Mutex;
use stet_actors::cache::{CacheOrigin, RefreshExtent};
use stet_actors::repository::Repository;
use stet_actors::runtime::RuntimeOptions;
use stet_domain::clock::SystemClock;
use stet_domain::command::CallerIdentity;
use stet_domain::store::memory::MemoryStore;
use tokio::sync::Semaphore;

/// The data behind an origin, and the controls that a test has over it.
#[derive(Default)]
struct Source {
    /// The value that the next reading finds.
    now: AtomicU64,
    /// Readings so far.
    read: AtomicUsize,
    /// The requested extent of each reading so far.
    extents: Mutex<Vec<RefreshExtent>>,
    /// The outcome of the next reading.
    mood: Mutex<Mood>,
}

#[derive(Default, Clone, Copy, PartialEq)]
enum Mood {
    #[default]
    Well,
    Fails,
    Panics,
}

struct Numbers {
    source: Arc<Source>,
    /// The permits, of which each reading takes one.
    gate: Arc<Semaphore>,
}

impl CacheOrigin for Numbers {
    type Value = u64;
    type Fault = &'static str;

    fn name(&self) -> &'static str {
        "numbers"
    }

    fn database(&self) -> u16 {
        1
    }

    fn read(
        &self,
        _: Arc<u64>,
        extent: RefreshExtent,
        _: CallerIdentity,
    ) -> BoxFuture<'static, Result<Arc<u64>, &'static str>> {
        let (source, gate) = (self.source.clone(), self.gate.clone());
        source.extents.lock().push(extent);
        Box::pin(async move {
            // It is read before it waits, so that what changes meanwhile is not seen.
            let found = source.now.load(Ordering::SeqCst);
            source.read.fetch_add(1, Ordering::SeqCst);
            gate.acquire().await.expect("it is never closed").forget();
            let mood = std::mem::take(&mut *source.mood.lock());
            match mood {
                Mood::Well => Ok(Arc::new(found)),
                Mood::Fails => Err("it can't be read"),
                Mood::Panics => panic!("on purpose"),
            }
        })
    }

    fn failed(&self) -> &'static str {
        "it broke down"
    }

    fn is_current(&self, value: &u64) -> bool {
        self.source.now.load(Ordering::SeqCst) == *value
    }
}

async fn house() -> (Repository, Arc<Source>, Arc<Semaphore>) {
    let started = Repository::start(Arc::new(MemoryStore::new()), Arc::new(SystemClock), RuntimeOptions::default());
    (started.await.expect("a repository starts"), Arc::default(), Arc::new(Semaphore::new(0)))
}

#[actix::test]
async fn concurrent_refreshes_share_one_read_that_sees_all_earlier_changes() {
    let (repository, source, gate) = house().await;
    let cache = repository.start_cache(Numbers { source: source.clone(), gate: gate.clone() }, 0);
    source.now.store(1, Ordering::SeqCst);
    let first = tokio::task::spawn_local({
        let cache = cache.clone();
        async move { cache.refresh(RefreshExtent::Changed, CallerIdentity::system()).await }
    });
    while source.read.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    source.now.store(2, Ordering::SeqCst);
    let others: Vec<_> = (0..64)
        .map(|number| {
            let cache = cache.clone();
            let extent = if number == 7 { RefreshExtent::Everything } else { RefreshExtent::Changed };
            tokio::task::spawn_local(async move { cache.refresh(extent, CallerIdentity::system()).await })
        })
        .collect();
    // They are in the mailbox: the next message is answered behind them.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert_eq!(*cache.in_force().value, 0, "nobody waits to read");
    gate.add_permits(10);
    let first = first.await.expect("it ends").expect("it is well");
    assert_eq!(*first.value, 1);
    for other in join_all(others).await {
        let seen = other.expect("it ends").expect("it is well");
        assert_eq!(*seen.value, 2, "it was changed before it was asked for");
        assert!(seen.at_ms > first.at_ms);
    }
    assert!(source.read.load(Ordering::SeqCst) <= 3, "they join: {:?}", source.read);
    assert!(source.extents.lock().contains(&RefreshExtent::Everything));
    repository.shut_down().await;
    // The cache's thread notices the shutdown a little later. From then on no caller waits in vain.
    gate.add_permits(1_000_000);
    while let Err(fault) | Ok(fault) =
        cache.refresh(RefreshExtent::Changed, CallerIdentity::system()).await.map(|_| "it goes on for a moment")
        && fault != "it broke down"
    {
        tokio::task::yield_now().await;
    }
}

#[actix::test]
async fn a_failed_or_panicked_refresh_keeps_the_value_and_the_next_succeeds() {
    let (repository, source, gate) = house().await;
    gate.add_permits(1000);
    let cache = repository.start_cache(Numbers { source: source.clone(), gate }, 0);
    source.now.store(1, Ordering::SeqCst);
    let at_ms = cache.refresh(RefreshExtent::Changed, CallerIdentity::system()).await.expect("it is well").at_ms;
    for (mood, fault) in [(Mood::Fails, "it can't be read"), (Mood::Panics, "it broke down")] {
        source.now.store(2, Ordering::SeqCst);
        *source.mood.lock() = mood;
        assert_eq!(
            cache.refresh(RefreshExtent::Changed, CallerIdentity::system()).await.map(|in_force| *in_force.value),
            Err(fault)
        );
        assert_eq!((*cache.in_force().value, cache.at_ms()), (1, at_ms));
        *source.mood.lock() = mood;
        assert_eq!(*cache.current().await.value, 1, "it is the best there is");
    }
    // Those who wait while it panics are answered by the next life.
    *source.mood.lock() = Mood::Panics;
    let both = join_all((0..20).map(|_| cache.refresh(RefreshExtent::Changed, CallerIdentity::system()))).await;
    assert!(both.iter().any(Result::is_ok) || both.iter().all(Result::is_err));
    assert_eq!(*cache.current().await.value, 2, "what is known to be outdated is read anew");
    assert_eq!(source.read.load(Ordering::SeqCst), {
        cache.current().await;
        source.read.load(Ordering::SeqCst)
    });
    repository.shut_down().await;
}
