//! Large changes wait for their turn; small ones do not.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use stet_actors::repository::Repository;
use stet_actors::runtime::{ChangePermit, ChangeRequest, LargeChangeAdmission, LargeChangePermit, RuntimeOptions};
use stet_domain::clock::SystemClock;
use stet_domain::command::{CallerIdentity, Command, CommandFault, Context};
use stet_domain::drawer::{AddDrawerItems, ClearDrawer, Drawer, DrawerItemAddress, DrawerState, NewDrawer};
use stet_domain::error::Result;
use stet_domain::folder::root;
use stet_domain::id::{DatabaseId, Loid};
use stet_domain::joint::{ContainerTurns, JointCommand};
use stet_domain::lifecycle::{CreateInFolder, NewObject};
use stet_domain::object::SharedText;
use stet_domain::store::memory::MemoryStore;
use stet_domain::store::{RowPlace, Table};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A turn that counts its charges.
struct Turn {
    _permit: OwnedSemaphorePermit,
    charged: Arc<AtomicUsize>,
}

impl ChangePermit for Turn {
    fn charge(&self, bytes: usize) {
        self.charged.fetch_add(bytes, Ordering::SeqCst);
    }
}

/// A gate that lets one turn at a time through.
#[derive(Debug)]
struct Gate {
    free: Arc<Semaphore>,
    asked: AtomicUsize,
    charged: Arc<AtomicUsize>,
    /// The bytes of changes without a turn.
    charged_small: AtomicUsize,
}

impl LargeChangeAdmission for Gate {
    fn turn(&self, _: bool) -> Pin<Box<dyn Future<Output = Result<LargeChangePermit>> + Send + '_>> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let (free, charged) = (self.free.clone(), self.charged.clone());
        Box::pin(async move {
            let _permit = free.acquire_owned().await.expect("it is open");
            Ok(Box::new(Turn { _permit, charged }) as LargeChangePermit)
        })
    }

    fn check_small(&self, _: &SharedText) -> Result<()> {
        Ok(())
    }

    fn charge_small(&self, user: &SharedText, bytes: usize) {
        assert_eq!(&**user, "editor");
        self.charged_small.fetch_add(bytes, Ordering::SeqCst);
    }
}

struct World {
    store: Arc<MemoryStore>,
    repository: Repository,
    gate: Arc<Gate>,
}

fn own() -> ChangeRequest {
    ChangeRequest::by(CallerIdentity { user: "editor".into(), session: "s".into(), address: None })
}

fn run<F: Future<Output = ()>>(test: impl FnOnce(World) -> F) {
    actix::System::new().block_on(async {
        let store = Arc::new(MemoryStore::new());
        let options = RuntimeOptions::default();
        let repository = Repository::start(store.clone(), Arc::new(SystemClock), options).await.unwrap();
        repository.make_roots(&[DatabaseId::FIRST]).await.unwrap();
        let gate = Arc::new(Gate {
            free: Arc::new(Semaphore::new(1)),
            asked: AtomicUsize::new(0),
            charged: Arc::default(),
            charged_small: AtomicUsize::new(0),
        });
        let all = test(World { store, repository, gate });
        tokio::time::timeout(Duration::from_secs(60), all).await.expect("nothing hangs");
    });
}

impl World {
    fn request(&self) -> ChangeRequest {
        ChangeRequest { large: Some(self.gate.clone()), ..own() }
    }

    fn asked(&self) -> usize {
        self.gate.asked.load(Ordering::SeqCst)
    }

    async fn create(&self, object: NewObject) -> Loid {
        let create = CreateInFolder { folder: root(DatabaseId::FIRST), below: Vec::new(), object };
        self.repository.joint(create, own()).await.unwrap().loid
    }

    async fn drawer(&self, name: &str) -> Loid {
        self.create(NewObject::of::<Drawer>(name, "Drawer", NewDrawer::empty(1000))).await
    }

    async fn stories(&self, many: usize) -> Vec<DrawerItemAddress> {
        let mut stories = Vec::new();
        for number in 0..many {
            stories.push(DrawerItemAddress::Object(
                self.create(NewObject::document(&format!("s{number}"), "Story")).await,
            ));
        }
        stories
    }

    async fn count(&self, drawer: Loid) -> usize {
        self.repository.view::<Drawer>(drawer).await.unwrap().state.count()
    }

    async fn until(&self, what: &str, condition: impl Fn() -> bool) {
        let waiting = async {
            while !condition() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), waiting).await.unwrap_or_else(|_| panic!("{what} never came"));
    }
}

/// Regression test: 64 users with a drawer each took seconds, one large change after the other.
/// Small changes of others had to wait for all of them.
#[test]
fn a_large_change_waits_for_its_turn_and_keeps_it_until_it_is_on_disk() {
    run(|world| async move {
        let (drawer, stories) = (world.drawer("d").await, world.stories(300).await);
        let turn = world.gate.free.clone().acquire_owned().await.unwrap();
        let (repository, request) = (world.repository.clone(), world.request());
        let add = AddDrawerItems { items: stories.clone() };
        let adding = actix::spawn(async move { repository.execute(drawer, add, request).await.map(drop) });
        world.until("the large change", || world.asked() == 1).await;
        // The same container, by the same user.
        for story in &stories[..10] {
            world.repository.execute(drawer, AddDrawerItems { items: vec![*story] }, world.request()).await.unwrap();
        }
        assert_eq!((world.count(drawer).await, world.asked()), (10, 1));
        world.store.hold();
        drop(turn);
        world.until("its submission", || world.store.pending() == 1).await;
        adding.abort();
        assert!(adding.await.is_err_and(|ended| ended.is_cancelled()), "nobody waits for it any more");
        assert_eq!(world.gate.free.available_permits(), 0);
        world.store.release();
        world.until("the turn", || world.gate.free.available_permits() == 1).await;
        assert_eq!(world.count(drawer).await, 300);
        world.repository.execute(drawer, ClearDrawer, world.request()).await.unwrap();
        assert_eq!((world.count(drawer).await, world.asked(), world.gate.free.available_permits()), (0, 2, 1));
        // 290 rows of items, with their index entries and the record.
        let charged = world.gate.charged.load(Ordering::SeqCst);
        assert!((20_000..200_000).contains(&charged), "{charged}");
        // The first ten items took no turn.
        let charged_small = world.gate.charged_small.load(Ordering::SeqCst);
        assert!((1_000..20_000).contains(&charged_small), "{charged_small}");
        // The repository's own changes wait for no turn.
        let _turn = world.gate.free.clone().acquire_owned().await.unwrap();
        world.repository.execute(drawer, AddDrawerItems { items: stories }, own()).await.unwrap();
        assert_eq!(world.asked(), 2);
    });
}

/// Changes rows without having said how many; counts how often.
struct Silent {
    drawer: Loid,
    rows: u32,
    bytes: usize,
    applied: Arc<AtomicUsize>,
}

impl Silent {
    fn note(&self, context: &mut Context<'_>) {
        self.applied.fetch_add(1, Ordering::SeqCst);
        for row in 0..self.rows {
            let key = RowPlace { table: Table::Marks, key: Bytes::copy_from_slice(&row.to_be_bytes()) };
            context.set(key, Some(vec![0; self.bytes].into()));
        }
    }
}

impl Command for Silent {
    type Family = Drawer;
    type Reply = ();
    const NAME: &'static str = "test.silent";

    fn apply(&self, _: &mut DrawerState, context: &mut Context<'_>) -> Result<(), CommandFault> {
        self.note(context);
        Ok(())
    }
}

impl JointCommand for Silent {
    type Reply = ();
    const NAME: &'static str = "test.silent.joint";

    fn wants(&self) -> Vec<Loid> {
        vec![self.drawer]
    }

    fn apply(&self, turns: &mut ContainerTurns, context: &mut Context<'_>) -> Result<(), CommandFault> {
        turns.get::<Drawer>(self.drawer)?;
        self.note(context);
        Ok(())
    }
}

#[test]
fn commands_without_a_size_estimate_count_by_their_rows_and_bytes() {
    run(|world| async move {
        let drawer = world.drawer("d").await;
        let mut asked = 0;
        let small = [(500, 1, false), (2, 50_000, false)];
        // Of the last of the large ones no row fits into a small change.
        let large = [(2000, 1, true), (3, 50_000, true), (1, 140_000, true)];
        for (rows, bytes, is_large) in small.into_iter().chain(large) {
            asked += 2 * usize::from(is_large);
            let applied = Arc::new(AtomicUsize::new(0));
            let silent = || Silent { drawer, rows, bytes, applied: applied.clone() };
            world.repository.execute(drawer, silent(), world.request()).await.unwrap();
            world.repository.joint(silent(), world.request()).await.unwrap();
            let times = if is_large { 4 } else { 2 };
            assert_eq!((applied.load(Ordering::SeqCst), world.asked()), (times, asked), "{rows} rows of {bytes} bytes");
            assert_eq!(world.gate.free.available_permits(), 1);
        }
    });
}
