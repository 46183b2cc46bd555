//! The rules at the head of `runtime`, one test each.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use stet_actors::repository::Repository;
use stet_actors::runtime::{ChangeRequest, RuntimeOptions};
use stet_domain::checkout::{TakeLock, UnlockObject};
use stet_domain::clock::{Clock, ManualClock, SystemClock};
use stet_domain::command::{CallerIdentity, Command, CommandFault, Context};
use stet_domain::drawer::{
    AddDrawerItems, ClearDrawer, Drawer, DrawerItemAddress, DrawerState, MoveDrawerItem, NewDrawer,
};
use stet_domain::error::{Code, Error};
use stet_domain::expect::{Precondition, RevisionTag};
use stet_domain::family::State;
use stet_domain::folder::root;
use stet_domain::id::{DatabaseId, Loid};
use stet_domain::joint::{ContainerTurns, JointCommand};
use stet_domain::lifecycle::{CreateInFolder, DestroyObject, DiscardObject, NewObject, RestoreObject};
use stet_domain::object::{CreateMode, Record, SharedText};
use stet_domain::store::memory::MemoryStore;
use stet_domain::store::{ChangeSet, ReadLevel, RowChange, RowReader, Store, StoreError, Table};
use stet_domain::trace::{self, RequestId, RequestOrigin, Trace};

struct World {
    store: Arc<MemoryStore>,
    clock: ManualClock,
    repository: Repository,
}

fn request() -> ChangeRequest {
    ChangeRequest::by(CallerIdentity { user: "editor".into(), session: "s".into(), address: None })
}

fn run<F: Future<Output = ()>>(options: RuntimeOptions, test: impl FnOnce(World) -> F) {
    actix::System::new().block_on(async {
        let store = Arc::new(MemoryStore::new());
        let clock = ManualClock::at(1_700_000_000_000);
        let repository = Repository::start(store.clone(), Arc::new(clock.clone()), options).await.unwrap();
        repository.make_roots(&[DatabaseId::FIRST]).await.unwrap();
        let all = test(World { store, clock, repository });
        tokio::time::timeout(Duration::from_secs(30), all).await.expect("nothing hangs");
    });
}

impl World {
    async fn create(&self, object: NewObject) -> Loid {
        self.create_in(root(DatabaseId::FIRST), object).await
    }

    async fn create_in(&self, folder: Loid, object: NewObject) -> Loid {
        let create = CreateInFolder { folder, below: Vec::new(), object };
        self.repository.joint(create, request()).await.unwrap().loid
    }

    async fn story(&self, name: &str) -> Loid {
        self.create(NewObject::document(name, "Story")).await
    }

    async fn folder(&self, name: &str) -> Loid {
        self.create(NewObject::folder(name)).await
    }

    async fn drawer(&self, name: &str) -> Loid {
        self.create(NewObject::of::<Drawer>(name, "Drawer", NewDrawer::empty(10))).await
    }

    async fn add(&self, drawer: Loid, story: Loid) -> Result<(), Error> {
        let add = AddDrawerItems { items: vec![DrawerItemAddress::Object(story)] };
        self.repository.execute(drawer, add, request()).await.map(drop)
    }

    async fn count(&self, drawer: Loid) -> usize {
        self.repository.view::<Drawer>(drawer).await.unwrap().state.count()
    }

    /// Puts a row past all rules, as a fault of the disk would.
    async fn set_row(&self, table: Table, key: Loid, value: Option<Bytes>) {
        let key = Bytes::copy_from_slice(&key.to_key());
        let fill = |set: &mut ChangeSet| set.changes = vec![RowChange { table, key, value }];
        self.repository.commit(fill).await.unwrap();
    }

    /// Lets others run until `condition` holds.
    async fn until(&self, what: &str, condition: impl Fn() -> bool) {
        let waiting = async {
            while !condition() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), waiting).await.unwrap_or_else(|_| panic!("{what} never came"));
    }
}

/// Waits, inside `apply`, until it is let go: a command that takes long.
struct Slow {
    begun: Arc<AtomicUsize>,
    go: Arc<AtomicBool>,
}

impl Command for Slow {
    type Family = Drawer;
    type Reply = ();
    const NAME: &'static str = "test.slow";

    fn apply(&self, _: &mut DrawerState, _: &mut Context<'_>) -> Result<(), CommandFault> {
        self.begun.fetch_add(1, Ordering::SeqCst);
        while !self.go.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
        Ok(())
    }
}

/// Works for some milliseconds, and counts.
struct Long(Arc<AtomicUsize>);

impl Command for Long {
    type Family = Drawer;
    type Reply = ();
    const NAME: &'static str = "test.long";

    fn apply(&self, _: &mut DrawerState, _: &mut Context<'_>) -> Result<(), CommandFault> {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(3) {
            std::hint::spin_loop();
        }
        self.0.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
}

/// A command that returns the count at the time of its turn.
struct Note(Arc<AtomicUsize>);

impl Command for Note {
    type Family = Drawer;
    type Reply = usize;
    const NAME: &'static str = "test.note";

    fn apply(&self, _: &mut DrawerState, _: &mut Context<'_>) -> Result<usize, CommandFault> {
        Ok(self.0.load(Ordering::SeqCst))
    }
}

struct Panic;

impl Command for Panic {
    type Family = Drawer;
    type Reply = ();
    const NAME: &'static str = "test.panic";

    fn apply(&self, drawer: &mut DrawerState, context: &mut Context<'_>) -> Result<(), CommandFault> {
        ClearDrawer.apply(drawer, context)?;
        panic!("as the test wants");
    }
}

struct PanicJoint(Loid);

impl JointCommand for PanicJoint {
    type Reply = ();
    const NAME: &'static str = "test.panic.joint";

    fn wants(&self) -> Vec<Loid> {
        vec![self.0]
    }

    fn apply(&self, turns: &mut ContainerTurns, context: &mut Context<'_>) -> Result<(), CommandFault> {
        ClearDrawer.apply(turns.get::<Drawer>(self.0)?, context)?;
        panic!("as the test wants");
    }
}

#[test]
fn an_answer_goes_out_only_after_the_commit_and_readers_see_it_only_then() {
    run(RuntimeOptions::default(), |world| async move {
        let (drawer, story) = (world.drawer("d").await, world.story("s").await);
        assert_eq!(world.count(drawer).await, 0);
        world.store.hold();
        let adding = world.add(drawer, story);
        tokio::pin!(adding);
        let early = futures_util::future::poll_fn(|cx| std::task::Poll::Ready(adding.as_mut().poll(cx).is_ready()));
        assert!(!early.await);
        world.until("the submission", || world.store.pending() == 1).await;
        assert_eq!(world.count(drawer).await, 0, "nothing is shown that may yet fail");
        world.store.release();
        adding.await.unwrap();
        assert_eq!(world.count(drawer).await, 1);
    });
}

#[test]
fn the_next_command_does_not_wait_for_the_disk_but_its_answer_does() {
    run(RuntimeOptions::default(), |world| async move {
        let (drawer, story) = (world.drawer("d").await, world.story("s").await);
        world.store.hold();
        // The second add changes nothing, because it sees the first; if that fails, so must its
        // answer.
        let both = futures_util::future::join(world.add(drawer, story), world.add(drawer, story));
        tokio::pin!(both);
        let pending = world.until("both submissions", || world.store.pending() == 2);
        tokio::select! {
            outcome = &mut both => panic!("answered before the commit: {outcome:?}"),
            () = pending => {}
        }
        world.store.fail_next();
        world.store.release_failing();
        let (first, second) = both.await;
        assert_eq!(first.unwrap_err().code, Code::RepositoryError);
        assert_eq!(second.unwrap_err().code, Code::RepositoryError);
        assert_eq!(world.count(drawer).await, 0);
        world.add(drawer, story).await.expect("a failed commit does no harm to later ones");
        assert_eq!(world.count(drawer).await, 1);
    });
}

/// A command that returns whether `story` exists, but takes only the turn of `drawer`.
struct Sees {
    drawer: Loid,
    story: Loid,
}

impl JointCommand for Sees {
    type Reply = bool;
    const NAME: &'static str = "test.sees";

    fn wants(&self) -> Vec<Loid> {
        vec![self.drawer]
    }

    fn apply(&self, turns: &mut ContainerTurns, context: &mut Context<'_>) -> Result<bool, CommandFault> {
        turns.get::<Drawer>(self.drawer)?;
        Ok(Record::find(context.look(), ReadLevel::Latest, self.story)?.is_some_and(|story| !story.is_discarded()))
    }
}

/// Checks answers that are based on a pending change of another object, such as that it is deleted
/// or locked. If the commit fails, the answer would be wrong. So it waits for the commit, although
/// nothing of its own container is pending.
#[test]
fn an_answer_waits_for_what_it_is_based_on_whosever_it_is() {
    async fn waits<T: std::fmt::Debug>(
        world: &World,
        what: &str,
        first: impl Future<Output = Result<(), Error>>,
        second: impl Future<Output = Result<T, Error>>,
    ) {
        world.store.hold();
        let mut first = std::pin::pin!(first);
        tokio::select! {
            outcome = &mut first => panic!("answered before the commit: {outcome:?}"),
            () = world.until("the first submission", || world.store.pending() == 1) => {}
        }
        let mut both = std::pin::pin!(futures_util::future::join(first, second));
        tokio::select! {
            outcome = &mut both => panic!("answered before the commit: {outcome:?}"),
            () = world.until("the second submission", || world.store.pending() == 2) => {}
        }
        world.store.fail_next();
        world.store.release_failing();
        let (first, second) = both.await;
        let codes = (first.map_err(|error| error.code), second.map_err(|error| error.code));
        assert!(matches!(codes, (Err(Code::RepositoryError), Err(Code::RepositoryError))), "{what}: {codes:?}");
    }
    run(RuntimeOptions::default(), |world| async move {
        let (drawer, story, desk) = (world.drawer("d").await, world.story("s").await, world.folder("desk").await);
        let locked = world.create_in(desk, NewObject::document("l", "Story")).await;
        // Loaded, with nothing pending.
        assert_eq!(world.count(drawer).await, 0);
        let discard = || async {
            world
                .repository
                .joint(DiscardObject { object: story, reach: stet_domain::object::Reach::All }, request())
                .await
                .map(drop)
        };
        waits(&world, "a command", discard(), world.add(drawer, story)).await;
        let sees = || world.repository.joint(Sees { drawer, story }, request());
        waits(&world, "a joint command", discard(), sees()).await;
        assert!(sees().await.unwrap(), "it was never discarded");
        world.add(drawer, story).await.unwrap();

        let other = ChangeRequest::by(CallerIdentity { user: "other".into(), session: "t".into(), address: None });
        let lock = || world.repository.joint(TakeLock { object: locked, lasts_s: 60 }, request());
        let discard = || {
            world
                .repository
                .joint(DiscardObject { object: desk, reach: stet_domain::object::Reach::All }, other.clone())
        };
        // Once, so that all are loaded that it asks.
        lock().await.unwrap();
        assert_eq!(discard().await.unwrap_err().code, Code::ObjectLocked);
        let unlock = UnlockObject { object: locked, force: false, may_break: false };
        world.repository.joint(unlock, request()).await.unwrap();
        waits(&world, "a look for locks", lock(), discard()).await;
        discard().await.expect("it was never locked again");
    });
}

/// Locks were looked for once, and a lock that had been given back by then was broken although that
/// came to nothing.
#[test]
fn a_look_for_locks_counts_only_as_long_as_what_it_saw_may_come_to_be() {
    let options = RuntimeOptions { objects_per_step: 2, ..RuntimeOptions::default() };
    run(options, |world| async move {
        let desk = world.folder("desk").await;
        let mut locked = desk;
        for name in ["a", "b", "c", "d", "e", "f"] {
            locked = world.create_in(desk, NewObject::document(name, "Story")).await;
        }
        world.repository.joint(TakeLock { object: locked, lasts_s: 60 }, request()).await.unwrap();
        let other = ChangeRequest::by(CallerIdentity { user: "other".into(), session: "t".into(), address: None });
        let discard = || {
            world
                .repository
                .joint(DiscardObject { object: desk, reach: stet_domain::object::Reach::All }, other.clone())
        };
        assert_eq!(discard().await.unwrap_err().code, Code::ObjectLocked);

        world.store.hold();
        let unlock = UnlockObject { object: locked, force: false, may_break: false };
        let mut unlocking = std::pin::pin!(world.repository.joint(unlock, request()));
        tokio::select! {
            outcome = &mut unlocking => panic!("answered before the commit: {:?}", outcome.map(drop)),
            () = world.until("the submission", || world.store.pending() == 1) => {}
        }
        let store = world.store.clone();
        world.store.after_next_read_of(Table::Locks, move || {
            store.fail_next();
            store.release_failing();
        });
        let (unlocked, discarded) = futures_util::future::join(unlocking, discard()).await;
        assert_eq!(unlocked.map(drop).unwrap_err().code, Code::RepositoryError);
        assert_eq!(discarded.map(drop).unwrap_err().code, Code::ObjectLocked, "it was never unlocked");
    });
}

/// Regression test: with a full disk, a third of all mails, logins and keys failed with an internal
/// error. An unrelated commit had failed while theirs was prepared.
#[test]
fn independent_commits_succeed_although_an_earlier_commit_failed() {
    run(RuntimeOptions::default(), |world| async move {
        let mark =
            |name: &'static str| vec![RowChange { table: Table::Marks, key: name.into(), value: Some("1".into()) }];
        let fails_once = |set: &mut ChangeSet| {
            set.changes = mark("own");
            let mut others = ChangeSet::fence(world.store.epoch(), |_| ());
            others.changes = mark("others");
            world.store.fail_next();
            world.store.submit(others).expect("it is taken, and fails");
        };
        let before = world.store.epoch();
        world.repository.commit(fails_once).await.unwrap();
        assert_eq!(world.store.epoch(), before + 1);
        let is_there =
            |name: &str| world.store.get(ReadLevel::Committed, Table::Marks, name.as_bytes()).unwrap().is_some();
        assert_eq!((is_there("own"), is_there("others")), (true, false));
    });
}

#[test]
fn failing_commits_are_reported_as_storage_full_only_if_the_disk_is_full() {
    run(RuntimeOptions::default(), |world| async move {
        world.store.refuse(Some(StoreError::Stale));
        for (full, code) in [(false, Code::Overloaded), (true, Code::StorageFull)] {
            world.store.set_full(full);
            let create = CreateInFolder {
                folder: root(DatabaseId::FIRST),
                below: Vec::new(),
                object: NewObject::document("s", "Story"),
            };
            assert_eq!(world.repository.joint(create, request()).await.unwrap_err().code, code);
            let mark = RowChange { table: Table::Marks, key: "m".into(), value: Some("1".into()) };
            assert_eq!(world.repository.commit(|set| set.changes = vec![mark]).await.unwrap_err().code, code);
        }
    });
}

/// Regression test: a pending change of a subtree was continued although its commit then failed.
/// Objects were destroyed although the caller had received an error.
#[test]
fn a_change_of_a_subtree_that_came_to_nothing_is_not_gone_on_with() {
    /// Lets the pending commit fail as soon as a later task has read the bin members along with an
    /// entry.
    fn fail_once_it_was_read(store: &Arc<MemoryStore>) {
        let again = store.clone();
        store.after_next_read_of(Table::BinMembers, move || {
            if again.pending() == 0 {
                return fail_once_it_was_read(&again);
            }
            again.fail_next();
            again.release_failing();
        });
    }
    let options = RuntimeOptions { objects_per_step: 2, ..RuntimeOptions::default() };
    run(options, |world| async move {
        let desk = world.folder("desk").await;
        let mut stories = Vec::new();
        for name in ["a", "b", "c", "d", "e", "f"] {
            stories.push(world.create_in(desk, NewObject::document(name, "Story")).await);
        }
        world
            .repository
            .joint(DiscardObject { object: desk, reach: stet_domain::object::Reach::All }, request())
            .await
            .unwrap();
        let left = || world.store.rows().iter().filter(|((table, _), _)| *table == Table::Remainders).count();
        world.until("the bin", || left() == 0).await;

        world.store.hold();
        fail_once_it_was_read(&world.store);
        let destroyed = world.repository.joint(DestroyObject { object: desk }, request()).await;
        assert_eq!(destroyed.unwrap_err().code, Code::RepositoryError);
        // It waits until nothing is under way.
        let restore = RestoreObject {
            object: desk,
            folder: None,
            mode: CreateMode::Exception,
            reach: stet_domain::object::Reach::All,
        };
        world.repository.joint(restore, request()).await.expect("it is in the bin as before");
        world.until("what it took along", || left() == 0).await;
        for story in stories {
            assert!(world.repository.record(story).unwrap().is_some(), "{story} was not destroyed");
        }
    });
}

#[test]
fn one_command_too_many_is_overloaded_and_the_others_are_not() {
    let options = RuntimeOptions { permits_per_container: 2, ..RuntimeOptions::default() };
    run(options, |world| async move {
        let (drawer, other, story) = (world.drawer("d").await, world.drawer("e").await, world.story("s").await);
        let begun = Arc::new(AtomicUsize::new(0));
        let go = Arc::new(AtomicBool::new(false));
        // Loaded before commits are held back, since loading waits for pending commits.
        world.count(other).await;
        world.store.hold();
        let first = world.add(drawer, story);
        let second = world.add(drawer, story);
        tokio::pin!(first, second);
        for waiting in [&mut first, &mut second] {
            let poll = futures_util::future::poll_fn(|cx| std::task::Poll::Ready(waiting.as_mut().poll(cx).is_ready()));
            assert!(!poll.await);
        }
        let refused = world.add(drawer, story).await.unwrap_err();
        assert_eq!(refused.code, Code::Overloaded);
        // Another container has permits of its own.
        let slow = Slow { begun: begun.clone(), go: go.clone() };
        go.store(true, Ordering::SeqCst);
        // Its answer may depend on the held commit, so it is enough that the call has begun.
        let release = async {
            while begun.load(Ordering::SeqCst) == 0 {
                tokio::task::yield_now().await;
            }
            world.store.release();
        };
        let (answer, ()) = tokio::join!(world.repository.execute(other, slow, request()), release);
        answer.unwrap();
        first.await.unwrap();
        second.await.unwrap();
        world.add(drawer, story).await.expect("permits come back with the answers");
    });
}

#[test]
fn the_repository_as_a_whole_has_permits_too() {
    run(RuntimeOptions { permits: 1, ..RuntimeOptions::default() }, |world| async move {
        let (drawer, other, story) = (world.drawer("d").await, world.drawer("e").await, world.story("s").await);
        world.store.hold();
        let first = world.add(drawer, story);
        tokio::pin!(first);
        let poll = futures_util::future::poll_fn(|cx| std::task::Poll::Ready(first.as_mut().poll(cx).is_ready()));
        assert!(!poll.await);
        assert_eq!(world.add(other, story).await.unwrap_err().code, Code::Overloaded);
        let joint = MoveDrawerItem { item: DrawerItemAddress::Object(story), from: other, to: drawer };
        assert_eq!(world.repository.joint(joint, request()).await.unwrap_err().code, Code::Overloaded);
        world.store.release();
        first.await.unwrap();
    });
}

#[test]
fn a_mutation_runs_to_its_end_even_if_the_caller_goes_away() {
    run(RuntimeOptions::default(), |world| async move {
        let (drawer, target, story) = (world.drawer("d").await, world.drawer("e").await, world.story("s").await);
        {
            let adding = world.add(drawer, story);
            tokio::pin!(adding);
            let poll = futures_util::future::poll_fn(|cx| std::task::Poll::Ready(adding.as_mut().poll(cx).is_ready()));
            poll.await;
        }
        let shown = |drawer| world.repository.loaded::<Drawer>(drawer).is_some_and(|view| view.state.count() == 1);
        world.until("the abandoned add", || shown(drawer)).await;
        {
            let joint = MoveDrawerItem { item: DrawerItemAddress::Object(story), from: drawer, to: target };
            let moving = world.repository.joint(joint, request());
            tokio::pin!(moving);
            let poll = futures_util::future::poll_fn(|cx| std::task::Poll::Ready(moving.as_mut().poll(cx).is_ready()));
            poll.await;
        }
        world.until("the abandoned move", || shown(target)).await;
        assert_eq!(world.count(drawer).await, 0);
    });
}

#[test]
fn a_panic_is_answered_changes_nothing_and_costs_the_others_nothing() {
    run(RuntimeOptions::default(), |world| async move {
        let (drawer, other, story) = (world.drawer("d").await, world.drawer("e").await, world.story("s").await);
        world.add(drawer, story).await.unwrap();
        let outcome = world.repository.execute(drawer, Panic, request()).await;
        assert_eq!(outcome.unwrap_err().code, Code::RepositoryError);
        let outcome = world.repository.joint(PanicJoint(drawer), request()).await;
        assert_eq!(outcome.unwrap_err().code, Code::RepositoryError);
        assert_eq!(world.count(drawer).await, 1);
        world.add(other, story).await.unwrap();
        let cleared = world.repository.execute(drawer, ClearDrawer, request()).await.unwrap();
        assert_eq!(cleared.view.state.count(), 0);
        assert_eq!(world.repository.most_instances(), 1);
    });
}

#[test]
fn a_container_that_keeps_failing_is_quarantined_until_its_time_is_over() {
    let options = RuntimeOptions { restart_backoff_milliseconds: 0, ..RuntimeOptions::default() };
    run(options.clone(), |world| async move {
        let (drawer, story) = (world.drawer("d").await, world.story("s").await);
        for _ in 0..=options.failures_allowed {
            let outcome = world.repository.execute(drawer, Panic, request()).await;
            assert_eq!(outcome.unwrap_err().code, Code::RepositoryError);
        }
        let refused = world.add(drawer, story).await.unwrap_err();
        assert_eq!(refused.code, Code::RepositoryError);
        assert!(refused.message.contains("not available for now"), "{refused}");
        let other = world.drawer("e").await;
        world.add(other, story).await.expect("the rest goes on");
        world.clock.advance(Duration::from_secs(options.quarantine_seconds));
        world.add(drawer, story).await.expect("it is tried again");
    });
}

#[test]
fn unloadable_containers_back_off_and_recover_once_their_rows_are_valid() {
    run(RuntimeOptions::default(), |world| async move {
        let story = world.story("s").await;
        let drawer = world.drawer("d").await;
        let record = world.store.get(ReadLevel::Committed, Table::Objects, &drawer.to_key()).unwrap();
        world.set_row(Table::Objects, drawer, Some(Bytes::from_static(b"\xffnot a record"))).await;
        // Commands wait through the first waits, and are refused when the budget is used up.
        let adding = world.add(drawer, story);
        tokio::pin!(adding);
        let refused = loop {
            tokio::select! {
                outcome = &mut adding => break outcome.unwrap_err(),
                () = tokio::task::yield_now() => world.clock.advance(Duration::from_millis(10)),
            }
        };
        assert_eq!(refused.code, Code::RepositoryError);
        let reading = world.repository.view::<Drawer>(drawer).await.unwrap_err();
        assert_eq!(reading.code, Code::RepositoryError, "readers are told, too");
        world.set_row(Table::Objects, drawer, record).await;
        world.clock.advance(Duration::from_secs(30));
        world.add(drawer, story).await.expect("it loads again");
        assert_eq!(world.count(drawer).await, 1);
    });
}

#[test]
fn readers_alone_bring_a_container_back_once_its_quarantine_is_over() {
    let options = RuntimeOptions { restart_backoff_milliseconds: 0, ..RuntimeOptions::default() };
    run(options.clone(), |world| async move {
        let drawer = world.drawer("d").await;
        let record = world.store.get(ReadLevel::Committed, Table::Objects, &drawer.to_key()).unwrap();
        world.set_row(Table::Objects, drawer, Some(Bytes::from_static(b"\xffnot a record"))).await;
        let read = || world.repository.view::<Drawer>(drawer);
        assert_eq!(read().await.unwrap_err().code, Code::RepositoryError);
        world.set_row(Table::Objects, drawer, record).await;
        world.clock.advance(Duration::from_secs(options.quarantine_seconds) - Duration::from_millis(1));
        assert_eq!(read().await.unwrap_err().code, Code::RepositoryError, "not before its time");
        world.clock.advance(Duration::from_millis(1));
        let (one, other) = futures_util::future::join(read(), read()).await;
        assert_eq!((one.unwrap().state.count(), other.unwrap().state.count()), (0, 0));
        assert_eq!(world.repository.most_instances(), 1);
    });
}

#[test]
fn idle_containers_stay_readable_while_the_disk_stalls() {
    run(RuntimeOptions::default(), |world| async move {
        let (busy, idle, story) = (world.drawer("d").await, world.drawer("e").await, world.story("s").await);
        world.add(idle, story).await.unwrap();
        world.clock.advance(Duration::from_secs(3600));
        let none = || {
            world.repository.sweep();
            world.repository.containers() == 0
        };
        world.until("all have left memory", none).await;
        world.store.hold();
        let adding = world.add(busy, story);
        tokio::pin!(adding);
        tokio::select! {
            outcome = &mut adding => panic!("answered before the commit: {outcome:?}"),
            () = world.until("the submission", || world.store.pending() == 1) => {}
        }
        assert_eq!(world.count(idle).await, 1, "it is loaded now, while the other's change waits");
        world.store.release();
        adding.await.unwrap();
        assert_eq!(world.count(busy).await, 1);
    });
}

#[test]
fn an_idle_container_leaves_and_one_with_work_under_way_stays() {
    run(RuntimeOptions::default(), |world| async move {
        let (drawer, busy, story) = (world.drawer("d").await, world.drawer("e").await, world.story("s").await);
        world.add(drawer, story).await.unwrap();
        world.store.hold();
        let adding = world.add(busy, story);
        tokio::pin!(adding);
        let poll = futures_util::future::poll_fn(|cx| std::task::Poll::Ready(adding.as_mut().poll(cx).is_ready()));
        assert!(!poll.await);
        world.until("the submission", || world.store.pending() == 1).await;
        assert_eq!(world.repository.sweep(), 0, "nothing is idle yet");
        world.clock.advance(Duration::from_secs(301));
        assert!(world.repository.sweep() > 0);
        assert!(world.repository.loaded::<Drawer>(drawer).is_none());
        assert!(world.repository.is_in_memory::<Drawer>(busy));
        world.store.release();
        adding.await.unwrap();
        assert_eq!(world.count(drawer).await, 1, "it comes back as it went");
        assert_eq!(world.repository.most_instances(), 1);
    });
}

#[test]
fn the_least_recently_used_containers_are_evicted_but_busy_ones_stay() {
    run(RuntimeOptions { containers: 100, ..RuntimeOptions::default() }, |world| async move {
        let (busy, story) = (world.drawer("busy").await, world.story("s").await);
        let mut drawers = Vec::new();
        for number in 0..300 {
            drawers.push(world.drawer(&format!("d{number}")).await);
        }
        world.store.hold();
        let adding = world.add(busy, story);
        tokio::pin!(adding);
        let poll = futures_util::future::poll_fn(|cx| std::task::Poll::Ready(adding.as_mut().poll(cx).is_ready()));
        assert!(!poll.await);
        world.until("the submission", || world.store.pending() == 1).await;
        for drawer in &drawers {
            world.clock.advance(Duration::from_millis(1));
            world.count(*drawer).await;
        }
        let loaded = drawers.iter().filter(|drawer| world.repository.is_in_memory::<Drawer>(**drawer)).count();
        assert!((80..=120).contains(&loaded), "{loaded}");
        assert!(drawers[220..].iter().all(|drawer| world.repository.is_in_memory::<Drawer>(*drawer)), "the last stay");
        assert!(world.repository.is_in_memory::<Drawer>(busy));
        world.store.release();
        adding.await.unwrap();
        assert_eq!(world.repository.most_instances(), 1);
    });
}

#[test]
fn beyond_so_many_bytes_containers_leave_although_they_are_few() {
    let large: SharedText = format!("<m>{}</m>", "x".repeat(60_000)).into();
    run(RuntimeOptions { container_bytes: 4 << 20, ..RuntimeOptions::default() }, |world| async move {
        let mut drawers = Vec::new();
        for number in 0..200 {
            let object = NewObject::of::<Drawer>(&format!("d{number}"), "Drawer", NewDrawer::empty(10));
            drawers.push(world.create(NewObject { attributes: Some(large.clone()), ..object }).await);
        }
        let look_at = async |drawers: &[Loid]| {
            for drawer in drawers {
                world.clock.advance(Duration::from_millis(1));
                world.count(*drawer).await;
            }
        };
        let loaded = || drawers.iter().filter(|drawer| world.repository.is_in_memory::<Drawer>(**drawer)).count();
        look_at(&drawers).await;
        // Some sixty have room; seven in eight of them when it was last looked, and those that have
        // come since.
        assert!((50..=85).contains(&loaded()), "{}", loaded());
        assert!(drawers[160..].iter().all(|drawer| world.repository.is_in_memory::<Drawer>(*drawer)), "the last stay");
        // Small changes are unlimited once the large ones are done.
        world.clock.advance(Duration::from_secs(3600));
        world.repository.sweep();
        world.until("the large ones to go", || loaded() == 0).await;
        let mut small = Vec::new();
        for number in 0..200 {
            small.push(world.drawer(&format!("s{number}")).await);
        }
        look_at(&small).await;
        assert!(small.iter().all(|drawer| world.repository.is_in_memory::<Drawer>(*drawer)));
    });
}

#[test]
fn a_precondition_that_no_longer_holds_changes_nothing() {
    run(RuntimeOptions::default(), |world| async move {
        let (drawer, story) = (world.drawer("d").await, world.story("s").await);
        let revision = world.repository.view::<Drawer>(drawer).await.unwrap().revision();
        let expecting = |revisions: Vec<u64>| {
            let tags = revisions.into_iter().map(|revision| RevisionTag { object: drawer, revision });
            ChangeRequest { expect: Some(Arc::new(Precondition::one_of(tags))), ..request() }
        };
        let add = || AddDrawerItems { items: vec![DrawerItemAddress::Object(story)] };
        let refused = world.repository.execute(drawer, add(), expecting(vec![revision + 7])).await.unwrap_err();
        assert_eq!(refused.code, Code::PreconditionFailed);
        assert_eq!(world.count(drawer).await, 0);
        let done = world.repository.execute(drawer, add(), expecting(vec![revision])).await.unwrap();
        assert_eq!(done.view.revision(), revision + 1);
        assert_eq!(done.view.state.object().record.modified, world.clock.now_s());
        let joint = MoveDrawerItem { item: DrawerItemAddress::Object(story), from: drawer, to: drawer };
        let refused = world.repository.joint(joint, expecting(vec![revision])).await.unwrap_err();
        assert_eq!(refused.code, Code::PreconditionFailed);
    });
}

/// A joint command that says of no object that it is held to what the caller expects.
struct Forgetful(Loid);

impl JointCommand for Forgetful {
    type Reply = ();
    const NAME: &'static str = "test.forgetful";

    fn wants(&self) -> Vec<Loid> {
        vec![self.0]
    }

    fn apply(&self, turns: &mut ContainerTurns, _: &mut Context<'_>) -> Result<(), CommandFault> {
        let record = &mut turns.any(self.0)?.record;
        *record = Arc::new(Record::clone(record));
        Ok(())
    }
}

/// A joint command that changes what lies in a folder, and has not thought of the folder.
struct Renames(Loid);

impl JointCommand for Renames {
    type Reply = ();
    const NAME: &'static str = "test.renames";

    fn wants(&self) -> Vec<Loid> {
        vec![self.0]
    }

    fn apply(&self, turns: &mut ContainerTurns, _: &mut Context<'_>) -> Result<(), CommandFault> {
        Arc::make_mut(&mut turns.any(self.0)?.record).name = "another".into();
        Ok(())
    }
}

/// Guards clients that cache facts about a folder, such as its number of objects, by its revision.
#[test]
fn folders_with_changed_names_get_a_new_revision_even_without_a_turn() {
    run(RuntimeOptions::default(), |world| async move {
        let (folder, other) = (world.folder("f").await, world.folder("g").await);
        let story = world.create_in(folder, NewObject::document("story", "Story")).await;
        let revision = |loid| world.repository.record(loid).unwrap().unwrap().revision;
        let (before, of_other) = (revision(folder), revision(other));
        world.repository.joint(Renames(story), request()).await.unwrap();
        assert_eq!((revision(folder), revision(other)), (before + 1, of_other));
    });
}

#[test]
fn each_step_of_a_restore_changes_the_folders_whose_names_come_back() {
    const STEP: usize = 2;
    run(RuntimeOptions { objects_per_step: STEP, ..RuntimeOptions::default() }, |world| async move {
        let top = world.folder("top").await;
        let below = world.create_in(top, NewObject::folder("below")).await;
        for n in 0..7 {
            world.create_in(below, NewObject::document(&format!("{n}"), "Story")).await;
        }
        world
            .repository
            .joint(DiscardObject { object: top, reach: stet_domain::object::Reach::All }, request())
            .await
            .unwrap();
        let revision = || world.repository.any_record(below).unwrap().unwrap().revision;
        let before = revision();
        let restore = RestoreObject {
            object: top,
            folder: None,
            mode: CreateMode::Exception,
            reach: stet_domain::object::Reach::All,
        };
        world.repository.joint(restore, request()).await.unwrap();
        // The folder itself changes in the first step, and its stories in later ones, each up to
        // the step's size.
        assert!(revision() >= before + 1 + 7_u64.div_ceil(STEP as u64), "{} to {}", before, revision());
    });
}

#[test]
fn a_precondition_that_a_command_does_not_ask_about_refuses_it() {
    run(RuntimeOptions::default(), |world| async move {
        let drawer = world.drawer("d").await;
        let revision = async || world.repository.view::<Drawer>(drawer).await.unwrap().revision();
        let before = revision().await;
        for expect in [Precondition::Any, Precondition::one_of([RevisionTag { object: drawer, revision: before }])] {
            let expecting = ChangeRequest { expect: Some(Arc::new(expect)), ..request() };
            let refused = world.repository.joint(Forgetful(drawer), expecting).await.unwrap_err();
            assert_eq!(refused.code, Code::PreconditionFailed);
        }
        assert_eq!(revision().await, before);
        world.repository.joint(Forgetful(drawer), request()).await.unwrap();
        assert_eq!(revision().await, before + 1);
    });
}

#[test]
fn a_command_that_changes_nothing_leaves_no_trace() {
    run(RuntimeOptions::default(), |world| async move {
        let (drawer, story) = (world.drawer("d").await, world.story("s").await);
        world.add(drawer, story).await.unwrap();
        let (before, rows) = (world.store.committed(), world.store.rows().len());
        world.add(drawer, story).await.unwrap();
        assert_eq!((world.store.committed(), world.store.rows().len()), (before, rows));
    });
}

#[test]
fn numbers_are_never_given_twice_not_even_after_a_crash() {
    run(RuntimeOptions::default(), |world| async move {
        let first = world.story("a").await;
        // Another repository over the same rows is what a crash leaves: nothing was saved at its
        // end.
        let again = Repository::start(world.store.clone(), Arc::new(world.clock.clone()), RuntimeOptions::default())
            .await
            .unwrap();
        let create = CreateInFolder {
            folder: root(DatabaseId::FIRST),
            below: Vec::new(),
            object: NewObject::document("b", "Story"),
        };
        let second = again.joint(create, request()).await.unwrap().loid;
        assert!(second.number > first.number + 1000, "{first} {second}");
    });
}

#[test]
fn shutting_down_waits_for_what_was_admitted_and_refuses_what_comes_after() {
    run(RuntimeOptions::default(), |world| async move {
        let (drawer, story) = (world.drawer("d").await, world.story("s").await);
        world.store.hold();
        let adding = world.add(drawer, story);
        tokio::pin!(adding);
        let poll = futures_util::future::poll_fn(|cx| std::task::Poll::Ready(adding.as_mut().poll(cx).is_ready()));
        assert!(!poll.await);
        world.until("the submission", || world.store.pending() == 1).await;
        let down = world.repository.shut_down();
        tokio::pin!(down);
        let poll = futures_util::future::poll_fn(|cx| std::task::Poll::Ready(down.as_mut().poll(cx).is_ready()));
        assert!(!poll.await, "the add is still under way");
        assert_eq!(world.add(drawer, story).await.unwrap_err().code, Code::Overloaded);
        world.store.release();
        adding.await.unwrap();
        down.await;
    });
}

#[test]
fn a_busy_container_gives_way_to_the_others_of_its_thread() {
    run(RuntimeOptions { arbiters: 1, ..RuntimeOptions::default() }, |world| async move {
        let (busy, other) = (world.drawer("busy").await, world.drawer("other").await);
        let (begun, go) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let slow = Slow { begun: begun.clone(), go: go.clone() };
        let slow = world.repository.execute(busy, slow, request());
        let done = Arc::new(AtomicUsize::new(0));
        let all = futures_util::future::join_all(
            (0..50).map(|_| world.repository.execute(busy, Long(done.clone()), request())),
        );
        let note = world.repository.execute(other, Note(done.clone()), request());
        // All of them wait in the mailboxes before the first may go on.
        let go = async {
            world.until("the slow command", || begun.load(Ordering::SeqCst) == 1).await;
            go.store(true, Ordering::SeqCst);
        };
        let (_, _, noted, ()) = tokio::join!(slow, all, note, go);
        assert!(noted.unwrap().reply < 50, "the other container waited for all that the busy one had to do");
    });
}

/// The machine's clock, which notes whom the threads that ask it work for.
#[derive(Clone, Default)]
struct Noting(Arc<parking_lot::Mutex<Vec<Option<RequestOrigin>>>>);

impl Clock for Noting {
    fn now_ms(&self) -> u64 {
        self.0.lock().push(trace::current_origin());
        SystemClock.now_ms()
    }

    fn steady_ms(&self) -> u64 {
        SystemClock.steady_ms()
    }

    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        SystemClock.sleep(duration)
    }
}

#[test]
fn the_thread_of_a_container_knows_for_which_request_it_works() {
    actix::System::new().block_on(async {
        let (store, clock) = (Arc::new(MemoryStore::new()), Noting::default());
        let options = RuntimeOptions::default();
        let repository = Repository::start(store, Arc::new(clock.clone()), options).await.unwrap();
        repository.make_roots(&[DatabaseId::FIRST]).await.unwrap();
        let asked = |count| RequestOrigin { request: RequestId { process: 1, count }, client: [192, 0, 2, 7].into() };
        let by = |count| Trace::of(asked(count), tracing::Span::none()).in_scope(request);
        let object = NewObject::of::<Drawer>("d", "Drawer", NewDrawer::empty(10));
        let create = CreateInFolder { folder: root(DatabaseId::FIRST), below: Vec::new(), object };
        let drawer = repository.joint(create, by(1)).await.unwrap().loid;
        let noted = std::mem::take(&mut *clock.0.lock());
        assert!(noted.contains(&Some(asked(1))) && !noted.contains(&Some(asked(2))), "{noted:?}");
        repository.execute(drawer, ClearDrawer, by(2)).await.unwrap();
        let noted = std::mem::take(&mut *clock.0.lock());
        assert!(noted.contains(&Some(asked(2))) && !noted.contains(&Some(asked(1))), "{noted:?}");
        assert_eq!(trace::current_origin(), None);
    });
}
