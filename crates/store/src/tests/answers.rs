//! Answers that need no commit of their own: they are sent once the changes that they depend on are
//! visible everywhere.

use std::sync::Arc;

use parking_lot::{Condvar, Mutex};
use stet_actors::repository::Repository;
use stet_actors::runtime::{ChangeRequest, RuntimeOptions};
use stet_domain::checkout::{TakeLock, UnlockObject};
use stet_domain::clock::SystemClock;
use stet_domain::command::CallerIdentity;
use stet_domain::drawer::{AddDrawerItems, Drawer, DrawerItemAddress, NewDrawer, RemoveDrawerItems};
use stet_domain::error::Code;
use stet_domain::folder::root;
use stet_domain::lifecycle::{CreateInFolder, NewObject};
use stet_domain::store::observe::{ObservedStore, Observer};

use super::*;

/// A cache above the store that is slow to drop outdated entries.
#[derive(Default)]
struct SlowCache {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default, Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    #[default]
    Quick,
    /// The next commit is to be slow.
    Slow,
    /// The change is visible, but the cache still has the previous state.
    Behind,
    /// Somebody else was answered during that time.
    Overtaken,
}

impl Observer for SlowCache {
    fn changed(&self, _: &[Loid]) {
        let mut state = self.state.lock();
        if *state == State::Slow {
            *state = State::Behind;
            // Long enough for an answer that does not wait; one that does comes after it.
            self.changed.wait_for(&mut state, Duration::from_millis(200));
            if *state == State::Behind {
                *state = State::Quick;
            }
        }
    }
}

impl SlowCache {
    async fn is_behind(&self) {
        let begun = Instant::now();
        while *self.state.lock() != State::Behind {
            assert!(begun.elapsed() < LIMIT, "waited in vain: the cache is behind");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    fn answered(&self) {
        let mut state = self.state.lock();
        if *state == State::Behind {
            *state = State::Overtaken;
            self.changed.notify_all();
        }
    }
}

fn by(session: &str) -> ChangeRequest {
    ChangeRequest::by(CallerIdentity { user: "editor".into(), session: session.into(), address: None })
}

#[test]
fn commands_without_a_change_are_answered_once_caches_show_their_view() {
    let disk = SimulatedDisk::new();
    let (store, cache) = (Arc::new(open(&disk)), Arc::new(SlowCache::default()));
    let observed = Arc::new(ObservedStore::new(store.clone(), cache.clone()));
    actix::System::new().block_on(async {
        let clock = Arc::new(SystemClock);
        let repository = Repository::start(observed, clock, RuntimeOptions::default()).await.expect("it starts");
        repository.make_roots(&[DatabaseId::FIRST]).await.expect("roots can be made");
        let create = async |object| {
            let create = CreateInFolder { folder: root(DatabaseId::FIRST), below: Vec::new(), object };
            repository.joint(create, by("a")).await.expect("it can be made").loid
        };
        let drawer = NewObject::of::<Drawer>("d", "Drawer", NewDrawer::empty(5));
        let (drawer, story) = (create(drawer).await, create(NewObject::document("s", "Story")).await);

        // One that takes a turn: the lock of another session is seen, and no record shows it yet.
        *cache.state.lock() = State::Slow;
        let lock = async {
            repository.joint(TakeLock { object: drawer, lasts_s: 60 }, by("a")).await.expect("it can be locked");
        };
        let refused = async {
            cache.is_behind().await;
            let unlock = UnlockObject { object: drawer, force: false, may_break: false };
            let refused = repository.joint(unlock, by("b")).await.expect_err("it is locked");
            assert_eq!(refused.code, Code::ObjectLockedByMe);
            cache.answered();
        };
        tokio::join!(lock, refused);
        assert_eq!(*cache.state.lock(), State::Quick, "a refused turn was answered too early");

        // And a command of the container alone.
        *cache.state.lock() = State::Slow;
        let add = async {
            let add = AddDrawerItems { items: vec![DrawerItemAddress::Object(story)] };
            repository.execute(drawer, add, by("a")).await.expect("it can be changed");
        };
        let nothing = async {
            cache.is_behind().await;
            let remove = RemoveDrawerItems { items: Vec::<DrawerItemAddress>::new(), strict: false };
            repository.execute(drawer, remove, by("b")).await.expect("there is nothing to do");
            cache.answered();
        };
        tokio::join!(add, nothing);
        assert_eq!(*cache.state.lock(), State::Quick, "a command without a change was answered too early");
        repository.shut_down().await;
    });
}
