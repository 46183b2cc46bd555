//! The cost per object of discarding, restoring and destroying a folder with many objects below it,
//! and the delay for other callers during that time. Runs through the real store on the disk of the
//! build.
//!
//! `SIZES=2000,20000` sets the numbers of objects.

use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use hdrhistogram::Histogram;
use stet_actors::repository::Repository;
use stet_actors::runtime::{ChangeRequest, RuntimeOptions};
use stet_domain::clock::SystemClock;
use stet_domain::command::CallerIdentity;
use stet_domain::drawer::{Drawer, DrawerItemAddress, NewDrawer, ShiftDrawerItem};
use stet_domain::error::Result;
use stet_domain::folder::root;
use stet_domain::id::{DatabaseId, Loid};
use stet_domain::lifecycle::{CreateInFolder, DestroyObject, DiscardObject, NewObject, RestoreObject};
use stet_domain::object::CreateMode;
use stet_store::{RedbStore, StoreOptions};

/// Objects in each folder.
const EACH: usize = 20;

fn request() -> ChangeRequest {
    ChangeRequest::by(CallerIdentity::system())
}

async fn create(repository: &Repository, below: Vec<String>, object: NewObject) -> Loid {
    let create = CreateInFolder { folder: root(DatabaseId::FIRST), below, object };
    repository.joint(create, request()).await.expect("it can be made").loid
}

/// The measurements of one change of the tree.
struct Measured {
    took: Duration,
    /// The times of another caller's changes during it, in microseconds.
    waits: Histogram<u64>,
}

/// Carries a change out while another caller moves an item of a drawer again and again.
async fn measured(
    repository: &Repository,
    drawer: Loid,
    item: Loid,
    change: impl Future<Output = Result<()>>,
) -> Measured {
    let (done, mut waits) = (Cell::new(false), Histogram::new(3).expect("it can be made"));
    let begun = Instant::now();
    let change = async {
        change.await.expect("it goes well");
        done.set(true);
        begun.elapsed()
    };
    let others = async {
        let mut position = 0;
        while !done.get() {
            let sent = Instant::now();
            position = 1 - position;
            let shift = ShiftDrawerItem { item: DrawerItemAddress::Object(item), position };
            repository.execute::<ShiftDrawerItem>(drawer, shift, request()).await.expect("it is moved");
            waits.record(sent.elapsed().as_micros() as u64).expect("it fits");
        }
    };
    let (took, ()) = futures_util::future::join(change, others).await;
    Measured { took, waits }
}

/// Bytes of memory that the process has, in MiB; nothing where that is not known.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or_default() / 1024
}

async fn run(objects: usize) {
    let data = tempfile::TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory can be made");
    let store = Arc::new(RedbStore::open(StoreOptions::new(data.path())).expect("a new store can be opened"));
    let options = RuntimeOptions::default();
    let repository = Repository::start(store.clone(), Arc::new(SystemClock), options).await.expect("it starts");
    repository.make_roots(&[DatabaseId::FIRST]).await.expect("roots can be made");
    let items = [NewObject::document("one", "Story"), NewObject::document("two", "Story")];
    let mut held = Vec::new();
    for item in items {
        held.push(create(&repository, Vec::new(), item).await);
    }
    let new = NewDrawer { items: held.clone(), ..NewDrawer::empty(10) };
    let drawer = create(&repository, Vec::new(), NewObject::of::<Drawer>("drawer", "Drawer", new)).await;
    let top = create(&repository, Vec::new(), NewObject::folder("top")).await;
    for folders in (0..objects / (EACH + 1)).collect::<Vec<_>>().chunks(16) {
        let repository = &repository;
        let made = folders.iter().map(|folder| async move {
            let below = vec!["top".to_owned(), format!("folder-{folder}")];
            for story in 0..EACH {
                let story = NewObject::document(&format!("story-{story}"), "Story");
                create(repository, below.clone(), story).await;
            }
        });
        join_all(made).await;
    }
    repository.sweep();
    println!("{objects} objects, {EACH} in each folder; {} MiB in memory", memory());
    let restore = RestoreObject {
        object: top,
        folder: None,
        mode: CreateMode::Exception,
        reach: stet_domain::object::Reach::All,
    };
    for name in ["discard", "restore", "destroy"] {
        let change = async {
            match name {
                "discard" => {
                    repository
                        .joint(DiscardObject { object: top, reach: stet_domain::object::Reach::All }, request())
                        .await
                }
                "restore" => repository.joint(restore, request()).await,
                _ => repository.joint(DestroyObject { object: top }, request()).await,
            }
        };
        let Measured { took, waits } = measured(&repository, drawer, held[0], change).await;
        println!(
            "  {name}: {:.2} s, {:.1} µs an object; {} changes of others meanwhile, p99 {:.1} ms, longest {:.1} ms; {} MiB, {} containers",
            took.as_secs_f64(),
            took.as_micros() as f64 / objects as f64,
            waits.len(),
            waits.value_at_quantile(0.99) as f64 / 1000.0,
            waits.max() as f64 / 1000.0,
            memory(),
            repository.containers(),
        );
    }
    repository.shut_down().await;
    store.close();
}

fn main() {
    // `cargo test --benches` runs it, too.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let sizes = std::env::var("SIZES").unwrap_or_else(|_| "2000,20000".to_owned());
    for size in sizes.split(',') {
        actix::System::new().block_on(run(size.trim().parse().expect("SIZES are numbers")));
    }
}
