//! Random trees that are discarded, restored and destroyed in steps of a few objects. Between the
//! steps come creations and other calls, failed commits, and crashes. In the model each call is one
//! step.
//!
//! From the first step on, every caller must find what the model says. At the end nothing is lost
//! or left over, however often the process ended. No step changes more objects than
//! it may.

use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use proptest::prelude::*;
use stet_actors::families::Families;
use stet_actors::repository::Repository;
use stet_actors::runtime::{ChangeRequest, RuntimeOptions};
use stet_domain::clock::ManualClock;
use stet_domain::command::CallerIdentity;
use stet_domain::drawer::{self, Drawer, DrawerItemAddress, NewDrawer};
use stet_domain::error::{Code, Error};
use stet_domain::folder::root;
use stet_domain::id::{DatabaseId, Loid, ObjectSource};
use stet_domain::lifecycle::{CreateInFolder, DestroyObject, DiscardObject, NewObject, RestoreObject};
use stet_domain::object::{CreateMode, Remainder, RemainderTask};
use stet_domain::store::memory::MemoryStore;
use stet_domain::store::observe::{ObservedStore, Observer};
use stet_domain::store::{ChangeSet, KeyRange, ReadLevel, RowChange, RowReader, Store, Table};

use crate::common::assert_sound;

/// Objects that a step may change.
const STEP: usize = 3;

/// Beyond that: drawers that hold the last object, and the folders that the objects lie in.
const BESIDE: usize = 2 + STEP;

type Call<'r> = Pin<Box<dyn Future<Output = Result<Option<Loid>, Error>> + 'r>>;

fn request() -> ChangeRequest {
    ChangeRequest::by(CallerIdentity { user: "editor".into(), session: "s".into(), address: None })
}

/// The most objects that were changed at once.
#[derive(Default)]
struct Largest(AtomicUsize);

impl Observer for Largest {
    fn changed(&self, objects: &[Loid]) {
        let objects: BTreeSet<&Loid> = objects.iter().collect();
        self.0.fetch_max(objects.len(), Ordering::SeqCst);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Live,
    /// Discarded along with that node.
    Bin(usize),
    Gone,
}

#[derive(Debug, Clone)]
struct Node {
    loid: Loid,
    name: String,
    parent: Option<usize>,
    is_folder: bool,
    state: State,
}

#[derive(Debug, Clone, Copy)]
enum Op {
    /// Creates a folder or a story under that node, with one of few names.
    Create(usize, u8, bool),
    Discard(usize),
    Restore(usize),
    Destroy(usize),
    /// Adds a node to the drawer.
    Add(usize),
}

#[derive(Debug, Clone, Copy)]
enum Step {
    /// An operation that is carried out to its end.
    Whole(Op),
    /// An operation that is decided, and then left after that number of further commits.
    Begun(Op, usize),
    /// A number of further commits.
    Commits(usize),
    /// The next commit fails.
    Fails,
    /// A crash: everything that is not on disk is lost.
    Crash,
    /// Every change under way comes to its end.
    Settle,
}

/// The expected outcome of a call, according to the model.
type Expected = Result<(), Code>;

#[derive(Clone)]
struct Model {
    nodes: Vec<Node>,
}

impl Model {
    fn below(&self, top: usize) -> Vec<usize> {
        let is_below = |mut at: usize| {
            while let Some(parent) = self.nodes[at].parent {
                if parent == top {
                    return true;
                }
                at = parent;
            }
            false
        };
        (0..self.nodes.len()).filter(|node| *node == top || is_below(*node)).collect()
    }

    fn path_of(&self, node: usize) -> String {
        let Node { name, parent, .. } = &self.nodes[node];
        format!("{}/{name}", parent.map(|parent| self.path_of(parent)).unwrap_or_default())
    }

    fn taken(&self, parent: usize, name: &str) -> bool {
        let is = |node: &Node| node.parent == Some(parent) && node.name == name && node.state == State::Live;
        self.nodes.iter().any(is)
    }

    fn set(&mut self, nodes: &[usize], from: State, to: State) {
        for node in nodes {
            if self.nodes[*node].state == from {
                self.nodes[*node].state = to;
            }
        }
    }

    fn expect(&mut self, op: Op) -> Expected {
        match op {
            Op::Create(parent, name, is_folder) => {
                let there = &self.nodes[parent];
                if there.state != State::Live {
                    return Err(Code::ObjectNotFound);
                }
                if !there.is_folder {
                    return Err(Code::InvalidType);
                }
                let name = format!("n{name}");
                if self.taken(parent, &name) {
                    return Err(Code::DuplicatedName);
                }
                let loid = Loid::new(DatabaseId::FIRST, 0);
                self.nodes.push(Node { loid, name, parent: Some(parent), is_folder, state: State::Live });
            }
            Op::Discard(node) => {
                if self.nodes[node].state != State::Live {
                    return Err(Code::ObjectNotFound);
                }
                let below = self.below(node);
                self.set(&below, State::Live, State::Bin(node));
            }
            Op::Restore(node) => {
                let Node { state, parent, name, .. } = &self.nodes[node];
                match *state {
                    State::Bin(entry) if entry == node => {}
                    State::Bin(_) => return Err(Code::InvalidForContainer),
                    State::Live | State::Gone => return Err(Code::ObjectNotFound),
                }
                let parent = parent.expect("the top is never discarded");
                if self.nodes[parent].state != State::Live {
                    return Err(Code::ObjectNotFound);
                }
                if self.taken(parent, name) {
                    return Err(Code::DuplicatedName);
                }
                let below = self.below(node);
                self.set(&below, State::Bin(node), State::Live);
            }
            Op::Destroy(node) => match self.nodes[node].state {
                State::Gone => return Err(Code::ObjectNotFound),
                State::Bin(entry) if entry != node => return Err(Code::InvalidForContainer),
                state => {
                    let below = self.below(node);
                    self.set(&below, state, State::Gone);
                }
            },
            Op::Add(node) => {
                if self.nodes[node].state != State::Live {
                    return Err(Code::ObjectNotFound);
                }
            }
        }
        Ok(())
    }
}

struct World {
    store: Arc<MemoryStore>,
    clock: ManualClock,
    largest: Arc<Largest>,
    repository: Repository,
    model: Model,
    drawer: Loid,
    /// `true` while a restore may be incomplete, so that live objects may be missing.
    returning: bool,
}

async fn open(store: &Arc<MemoryStore>, clock: &ManualClock, largest: &Arc<Largest>) -> Repository {
    let options = RuntimeOptions {
        arbiters: 2,
        failures_allowed: 1_000_000,
        restart_backoff_milliseconds: 0,
        objects_per_step: STEP,
        ..RuntimeOptions::default()
    };
    let store: Arc<dyn Store> = Arc::new(ObservedStore::new(store.clone(), largest.clone()));
    Repository::start(store, Arc::new(clock.clone()), options).await.expect("a repository starts")
}

/// Returns the number of remainders, in the latest or the committed state, whichever has more.
fn remainders(store: &MemoryStore) -> usize {
    let count =
        |view| store.scan(view, Table::Remainders, &KeyRange::prefix(&[]), usize::MAX, false).expect("readable").len();
    count(ReadLevel::Latest).max(count(ReadLevel::Committed))
}

impl World {
    async fn new() -> World {
        let store = Arc::new(MemoryStore::new());
        let clock = ManualClock::at(1_700_000_000_000);
        let largest = Arc::new(Largest::default());
        let repository = open(&store, &clock, &largest).await;
        repository.make_roots(&[DatabaseId::FIRST]).await.expect("roots can be made");
        let main = root(DatabaseId::FIRST);
        let made = |object| repository.joint(CreateInFolder { folder: main, below: Vec::new(), object }, request());
        let drawer =
            made(NewObject::of::<Drawer>("drawer", "Drawer", NewDrawer::empty(1000))).await.expect("made").loid;
        let top = made(NewObject::folder("top")).await.expect("made").loid;
        let top = Node { loid: top, name: "top".into(), parent: None, is_folder: true, state: State::Live };
        let model = Model { nodes: vec![top] };
        World { store, clock, largest, repository, model, drawer, returning: false }
    }

    /// The call in the repository; one that makes something says what.
    fn call<'r>(repository: &'r Repository, model: &Model, drawer: Loid, op: Op) -> Call<'r> {
        let loid = |node: usize| model.nodes[node].loid;
        match op {
            Op::Create(parent, name, is_folder) => {
                let name = format!("n{name}");
                let object = if is_folder {
                    NewObject { mode: CreateMode::Exception, ..NewObject::folder(&name) }
                } else {
                    NewObject::document(&name, "Story")
                };
                let create = CreateInFolder { folder: loid(parent), below: Vec::new(), object };
                Box::pin(async move { repository.joint(create, request()).await.map(|created| Some(created.loid)) })
            }
            Op::Discard(node) => {
                let discard = DiscardObject { object: loid(node), reach: stet_domain::object::Reach::All };
                Box::pin(async move { repository.joint(discard, request()).await.map(|()| None) })
            }
            Op::Restore(node) => {
                let restore = RestoreObject {
                    object: loid(node),
                    folder: None,
                    mode: CreateMode::Exception,
                    reach: stet_domain::object::Reach::All,
                };
                Box::pin(async move { repository.joint(restore, request()).await.map(|()| None) })
            }
            Op::Destroy(node) => {
                let destroy = DestroyObject { object: loid(node) };
                Box::pin(async move { repository.joint(destroy, request()).await.map(|()| None) })
            }
            Op::Add(node) => {
                let add = drawer::AddDrawerItems { items: vec![DrawerItemAddress::Object(loid(node))] };
                Box::pin(async move { repository.execute(drawer, add, request()).await.map(|_| None) })
            }
        }
    }

    /// An op on nodes that are there.
    fn fit(&self, op: Op) -> Op {
        let count = self.model.nodes.len();
        // The top stays.
        let node = |node: usize| if count == 1 { None } else { Some(1 + node % (count - 1)) };
        let or_create = |fitted: Option<Op>| fitted.unwrap_or(Op::Create(0, 0, true));
        match op {
            Op::Create(parent, name, is_folder) => Op::Create(parent % count, name, is_folder),
            Op::Discard(n) => or_create(node(n).map(Op::Discard)),
            Op::Restore(n) => or_create(node(n).map(Op::Restore)),
            Op::Destroy(n) => or_create(node(n).map(Op::Destroy)),
            Op::Add(n) => or_create(node(n).map(Op::Add)),
        }
    }

    /// Carries a call out to its end, or until it is decided and `commits` further commits are
    /// done.
    async fn carry_out(&mut self, op: Op, commits: Option<usize>) {
        let op = self.fit(op);
        let mut model = self.model.clone();
        let expected = model.expect(op);
        self.store.hold();
        let mut call = World::call(&self.repository, &self.model, self.drawer, op);
        let mut context = Context::from_waker(Waker::noop());
        let outcome = loop {
            if let Poll::Ready(outcome) = call.as_mut().poll(&mut context) {
                break Some(outcome);
            }
            self.store.step();
            if commits.is_some() && expected.is_ok() && self.is_decided(op) && remainders(&self.store) > 0 {
                break None;
            }
            tokio::task::yield_now().await;
        };
        drop(call);
        match outcome {
            // Decided, and not answered.
            None => {}
            Some(outcome) => {
                let code = outcome.as_ref().map(drop).map_err(|error| error.code);
                let may_be_missing = self.returning && matches!(op, Op::Add(_)) && code == Err(Code::ObjectNotFound);
                if code == Err(Code::RepositoryError) || may_be_missing {
                    return;
                }
                assert_eq!(code, expected, "{op:?}");
                if let Ok(Some(loid)) = outcome {
                    model.nodes.last_mut().expect("it was made").loid = loid;
                }
            }
        }
        self.model = model;
        self.returning = remainders(&self.store) > 0 && (self.returning || matches!(op, Op::Restore(_)));
        self.commit(commits.unwrap_or_default()).await;
    }

    /// Returns whether a call that succeeds has been decided.
    fn is_decided(&self, op: Op) -> bool {
        let (Op::Discard(node) | Op::Restore(node) | Op::Destroy(node)) = op else { return false };
        let loid = self.model.nodes[node].loid;
        let is_in = |table| self.store.get(ReadLevel::Committed, table, &loid.to_key()).expect("readable").is_some();
        match op {
            Op::Discard(_) => is_in(Table::Recycled),
            Op::Restore(_) => is_in(Table::Objects),
            _ => {
                Remainder::is_left(&*self.store, ReadLevel::Committed, loid, RemainderTask::Destroy).expect("readable")
            }
        }
    }

    async fn commit(&self, commits: usize) {
        for _ in 0..commits {
            // Every task under way submits to the store before long.
            for _ in 0..2000 {
                if self.store.pending() > 0 || remainders(&self.store) == 0 {
                    break;
                }
                tokio::task::yield_now().await;
            }
            self.store.step();
        }
    }

    async fn settle(&mut self) {
        self.store.release();
        while remainders(&self.store) > 0 {
            self.clock.advance(Duration::from_millis(1));
            tokio::task::yield_now().await;
        }
        self.returning = false;
    }

    async fn step(&mut self, step: Step) {
        match step {
            Step::Whole(op) => self.carry_out(op, None).await,
            Step::Begun(op, commits) => self.carry_out(op, Some(commits)).await,
            Step::Commits(commits) => self.commit(commits).await,
            Step::Fails => {
                self.store.fail_next();
                self.commit(1).await;
                // One that had nothing to fail.
                self.store.release();
                self.clock.advance(Duration::from_millis(1));
            }
            Step::Crash => {
                let rows = self.store.rows();
                self.store.close();
                self.store.release();
                self.repository.shut_down().await;
                self.store = Arc::new(MemoryStore::new());
                let changes =
                    rows.into_iter().map(|((table, key), value)| RowChange { table, key, value: Some(value) });
                let set = ChangeSet { changes: changes.collect(), ..ChangeSet::fence(0, |_| ()) };
                self.store.submit(set).expect("it is taken");
                self.repository = open(&self.store, &self.clock, &self.largest).await;
            }
            Step::Settle => {
                self.settle().await;
                self.check_settled().await;
            }
        }
        self.check();
    }

    /// Checks the state that callers see while changes may be under way.
    fn check(&self) {
        assert_sound(Families::ALL, &self.store);
        for (number, node) in self.model.nodes.iter().enumerate() {
            let found = self.repository.record(node.loid).expect("readable").is_some();
            let is_live = node.state == State::Live;
            let fits = found == is_live || (self.returning && is_live);
            assert!(fits, "node {number}, {node:?}: {:?}", self.repository.any_record(node.loid));
            let source = ObjectSource::Loid(node.loid);
            let resolved = self.repository.resolve(&source, DatabaseId::FIRST).map_err(|error| error.code);
            assert_eq!(resolved.is_ok(), found, "node {number}");
            if node.state == State::Gone {
                let any = self.repository.resolve_any(&source, DatabaseId::FIRST).map_err(|error| error.code);
                assert_eq!(any.err(), Some(Code::ObjectNotFound), "node {number} is destroyed");
            }
        }
        let largest = self.largest.0.load(Ordering::SeqCst);
        assert!(largest <= STEP + BESIDE, "{largest} objects were changed in one step");
    }

    /// Checks the state on disk when no change is under way.
    async fn check_settled(&self) {
        for (number, node) in self.model.nodes.iter().enumerate() {
            let record = self.repository.any_record(node.loid).expect("readable");
            let state = record.as_ref().map(|record| record.bin.as_ref().map(|bin| bin.entry));
            let expected = match node.state {
                State::Live => Some(None),
                State::Bin(entry) => Some(Some(self.model.nodes[entry].loid)),
                State::Gone => None,
            };
            assert_eq!(state, expected, "node {number}");
            if let Some(record) = &record {
                // Nothing is ever moved.
                let path = self.model.path_of(number);
                if let Some(bin) = &record.bin {
                    assert_eq!(*bin.path, *path);
                } else {
                    let found =
                        self.repository.resolve(&ObjectSource::Path(path), DatabaseId::FIRST).expect("it is there");
                    assert_eq!(found.loid, node.loid);
                }
            }
        }
        let view = self.repository.view::<Drawer>(self.drawer).await.expect("it is there");
        for item in view.state.visible() {
            let node = self.model.nodes.iter().find(|node| node.loid == item.object).expect("known");
            assert_eq!(node.state, State::Live, "an item is shown");
        }
        let is_binned = |loid| self.model.nodes.iter().any(|node| node.loid == loid && node.state != State::Live);
        let hidden = view.state.hidden();
        let held = self.store.scan(ReadLevel::Latest, Table::Members, &KeyRange::prefix(&[]), usize::MAX, false);
        let held = held.expect("readable");
        let binned = held.iter().filter(|(key, _)| is_binned(Loid::from_key(key).expect("a loid"))).count();
        assert_eq!(hidden, binned);
        assert!(self.repository.most_instances() <= 1, "a container lived more than once");
    }
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        8 => (0usize..64, 0u8..4, any::<bool>()).prop_map(|(parent, name, folder)| Op::Create(parent, name, folder)),
        3 => (0usize..64).prop_map(Op::Discard),
        3 => (0usize..64).prop_map(Op::Restore),
        2 => (0usize..64).prop_map(Op::Destroy),
        2 => (0usize..64).prop_map(Op::Add),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let change = prop_oneof![
        3 => (0usize..8).prop_map(Op::Discard),
        3 => (0usize..8).prop_map(Op::Restore),
        2 => (0usize..8).prop_map(Op::Destroy),
    ];
    prop_oneof![
        8 => op().prop_map(Step::Whole),
        6 => (change, 0usize..4).prop_map(|(op, commits)| Step::Begun(op, commits)),
        1 => (1usize..4).prop_map(Step::Commits),
        1 => Just(Step::Fails),
        1 => Just(Step::Crash),
        1 => Just(Step::Settle),
    ]
}

/// A tree to begin with: for each node its parent among those before it.
fn tree() -> impl Strategy<Value = Vec<(usize, bool)>> {
    prop::collection::vec((0usize..64, prop::bool::weighted(0.6)), 4..24)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn changes_of_subtrees_look_like_one_step_and_are_done_in_small_ones(
        tree in tree(),
        steps in prop::collection::vec(step(), 1..24),
    ) {
        actix::System::new().block_on(async {
            let all = async {
                let mut world = World::new().await;
                for (number, (parent, is_folder)) in tree.iter().enumerate() {
                    let name = 10 + u8::try_from(number).expect("few");
                    let folders: Vec<usize> =
                        (0..world.model.nodes.len()).filter(|node| world.model.nodes[*node].is_folder).collect();
                    let parent = folders[parent % folders.len()];
                    world.carry_out(Op::Create(parent, name, *is_folder), None).await;
                }
                for step in &steps {
                    world.step(*step).await;
                }
                world.step(Step::Settle).await;
                world.repository.shut_down().await;
            };
            tokio::time::timeout(Duration::from_secs(60), all).await.expect("nothing hangs");
        });
    }
}
