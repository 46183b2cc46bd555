//! The cost of a container's actor beside a bare channel that does the same work. Each handles 64
//! commands in flight on one drawer, over a store in memory that commits at once.

use std::sync::Arc;
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use stet_actors::repository::Repository;
use stet_actors::runtime::{ChangeRequest, RuntimeOptions};
use stet_domain::clock::SystemClock;
use stet_domain::command::{CallerIdentity, Command, Context, NumberSource};
use stet_domain::drawer::{Drawer, DrawerItemAddress, NewDrawer, ShiftDrawerItem};
use stet_domain::folder::root;
use stet_domain::id::{DatabaseId, Loid};
use stet_domain::lifecycle::{CreateInFolder, NewObject};
use stet_domain::store::memory::MemoryStore;
use tokio::sync::{mpsc, oneshot};

const IN_FLIGHT: u64 = 64;

/// A move needs no number.
struct NoNumbers;

impl NumberSource for NoNumbers {
    fn next(&self) -> stet_domain::error::Result<u64> {
        Err(stet_domain::error::Error::internal())
    }
}

fn request() -> ChangeRequest {
    ChangeRequest::by(CallerIdentity::system())
}

async fn repository() -> (Repository, Loid, Vec<Loid>) {
    let options = RuntimeOptions::default();
    let repository = Repository::start(Arc::new(MemoryStore::new()), Arc::new(SystemClock), options).await.unwrap();
    repository.make_roots(&[DatabaseId::FIRST]).await.unwrap();
    let create = async |object| {
        let create = CreateInFolder { folder: root(DatabaseId::FIRST), below: Vec::new(), object };
        repository.joint(create, request()).await.unwrap().loid
    };
    let mut stories = Vec::new();
    for n in 0..IN_FLIGHT {
        stories.push(create(NewObject::document(&format!("story-{n}"), "Story")).await);
    }
    let new = NewDrawer { items: stories.clone(), ..NewDrawer::empty(100) };
    let drawer = create(NewObject::of::<Drawer>("drawer", "Drawer", new)).await;
    (repository, drawer, stories)
}

/// Runs `each` for every worker until `count` are done among them.
async fn in_flight<F: Future<Output = ()>>(count: u64, each: impl Fn(u64, u64) -> F) -> Duration {
    let begun = Instant::now();
    let workers = (0..IN_FLIGHT).map(|worker| {
        let each = &each;
        async move {
            for round in 0..count / IN_FLIGHT + 1 {
                each(worker, round).await;
            }
        }
    });
    futures_util::future::join_all(workers).await;
    begun.elapsed()
}

fn benches(criterion: &mut Criterion) {
    let system = actix::System::new();
    let (repository, drawer, stories) = system.block_on(repository());
    let mut group = criterion.benchmark_group("64 in flight");
    group.bench_function("container", |bencher| {
        bencher.iter_custom(|count| {
            system.block_on(in_flight(count, |worker, round| {
                let item = DrawerItemAddress::Object(stories[worker as usize]);
                let command = ShiftDrawerItem { item, position: (round % IN_FLIGHT) as i64 };
                let repository = &repository;
                async move {
                    repository.execute(drawer, command, request()).await.unwrap();
                }
            }))
        });
    });
    // The same drawer and the same rule behind a channel and a thread: no supervision, no permits,
    // no store.
    let mut state = system.block_on(repository.view::<Drawer>(drawer)).unwrap().state.clone();
    let (sender, mut receiver) = mpsc::channel::<(ShiftDrawerItem, oneshot::Sender<bool>)>(1024);
    std::thread::spawn(move || {
        let (who, rows) = (CallerIdentity::system(), MemoryStore::new());
        while let Some((command, reply)) = receiver.blocking_recv() {
            let mut next = state.clone();
            let mut context = Context::new(0, &who, &rows, &NoNumbers);
            let moved = command.apply(&mut next, &mut context).is_ok();
            state = next;
            // The benchmark may have ended.
            let _ = reply.send(moved);
        }
    });
    group.bench_function("bare channel", |bencher| {
        bencher.iter_custom(|count| {
            system.block_on(in_flight(count, |worker, round| {
                let item = DrawerItemAddress::Object(stories[worker as usize]);
                let command = ShiftDrawerItem { item, position: (round % IN_FLIGHT) as i64 };
                let sender = &sender;
                async move {
                    let (reply, answer) = oneshot::channel();
                    sender.send((command, reply)).await.unwrap();
                    assert!(answer.await.unwrap());
                }
            }))
        });
    });
    group.finish();
    system.block_on(repository.shut_down());
}

criterion_group!(all, benches);
criterion_main!(all);
