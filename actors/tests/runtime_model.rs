//! A random life of a few drawers, compared with lists as a model: commands, joint commands,
//! panics, failed commits, idle sweeps and restarts.
//!
//! Nothing acknowledged may be lost, and nothing refused may have an effect. No two instances of a
//! container live at once. The rows on disk are what the containers show, and every index
//! follows from the rows.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use proptest::prelude::*;
use stet_actors::repository::{PastMoment, Repository};
use stet_actors::runtime::{ChangeRequest, RuntimeOptions};
use stet_domain::clock::ManualClock;
use stet_domain::command::{CallerIdentity, Command, CommandFault, Context};
use stet_domain::drawer::{self, Drawer, DrawerItemAddress, DrawerState, NewDrawer, UpdateDrawer};
use stet_domain::error::{Code, Error};
use stet_domain::folder::root;
use stet_domain::history::former_rows;
use stet_domain::id::{DatabaseId, Loid, ShortcutId};
use stet_domain::lifecycle::{CreateInFolder, DiscardObject, NewObject, RestoreObject};
use stet_domain::object::{Attributes, CreateMode, NameCounts, Record};
use stet_domain::store::memory::MemoryStore;
use stet_domain::store::{Row, RowPlace, Table, decode_value};
use stet_testkit::drawer::{DrawerOp, ModelDrawer, model_move};

const DRAWERS: usize = 3;
const DOCUMENTS: usize = 8;

#[derive(Debug, Clone)]
enum Step {
    /// Sent together, in this order, while commits are held back; then they go through, or the
    /// first commit fails.
    Batch {
        ops: Vec<(usize, BatchOp)>,
        fails: bool,
    },
    Move {
        from: usize,
        to: usize,
        document: usize,
    },
    Discard(usize),
    Restore(usize),
    Sweep,
    Reopen,
}

#[derive(Debug, Clone, Copy)]
enum BatchOp {
    Drawer(DrawerOp),
    Panic,
}

/// Changes the drawer, then panics: nothing of it may be seen.
struct Panic;

impl Command for Panic {
    type Family = Drawer;
    type Reply = ();
    const NAME: &'static str = "test.panic";

    fn apply(&self, drawer: &mut DrawerState, context: &mut Context<'_>) -> Result<(), CommandFault> {
        drawer::ClearDrawer.apply(drawer, context)?;
        panic!("as the test wants");
    }
}

fn request() -> ChangeRequest {
    ChangeRequest::by(CallerIdentity { user: "editor".into(), session: "s".into(), address: None })
}

struct World {
    store: Arc<MemoryStore>,
    clock: ManualClock,
    repository: Repository,
    drawers: Vec<Loid>,
    documents: Vec<Loid>,
    model: Vec<ModelDrawer>,
    discarded: Vec<bool>,
    /// Each drawer's states that were seen, by revision.
    past: BTreeMap<(usize, u64), PastDrawer>,
}

/// The items of a drawer with their ids, those hidden marked, and its capacity.
type PastDrawer = (Vec<(ShortcutId, Loid, bool)>, usize);

fn past_of(state: &DrawerState) -> PastDrawer {
    (state.all().map(|item| (item.shortcut, item.object, item.hidden)).collect(), state.capacity())
}

async fn open(store: &Arc<MemoryStore>, clock: &ManualClock) -> Repository {
    let options = RuntimeOptions {
        arbiters: 2,
        failures_allowed: 1_000_000,
        restart_backoff_milliseconds: 0,
        ..RuntimeOptions::default()
    };
    Repository::start(store.clone(), Arc::new(clock.clone()), options).await.unwrap()
}

impl World {
    async fn new() -> World {
        let store = Arc::new(MemoryStore::new());
        let clock = ManualClock::at(1_700_000_000_000);
        let repository = open(&store, &clock).await;
        repository.make_roots(&[DatabaseId::FIRST]).await.unwrap();
        let mut world = World {
            store,
            clock,
            repository,
            drawers: Vec::new(),
            documents: Vec::new(),
            model: Vec::new(),
            discarded: vec![false; DOCUMENTS],
            past: BTreeMap::new(),
        };
        for n in 0..DOCUMENTS {
            let object = NewObject::document(&format!("story-{n}.xml"), "Story");
            let created = world.create(object).await;
            world.documents.push(created);
        }
        for n in 0..DRAWERS {
            let capacity = 3 + n as u32;
            let new = NewDrawer::empty(capacity);
            let created = world.create(NewObject::of::<Drawer>(&format!("drawer-{n}"), "Drawer", new)).await;
            world.drawers.push(created);
            world.model.push(ModelDrawer::new(capacity as usize));
        }
        world
    }

    async fn create(&self, object: NewObject) -> Loid {
        let create = CreateInFolder { folder: root(DatabaseId::FIRST), below: vec!["News".into()], object };
        self.repository.joint(create, request()).await.unwrap().loid
    }

    async fn send(&self, drawer: usize, op: BatchOp) -> Result<(), Error> {
        let container = self.drawers[drawer];
        let address = |document: usize| DrawerItemAddress::Object(self.documents[document]);
        let repository = &self.repository;
        match op {
            BatchOp::Panic => repository.execute(container, Panic, request()).await.map(drop),
            BatchOp::Drawer(DrawerOp::Add(document)) => {
                let add = drawer::AddDrawerItems { items: vec![address(document)] };
                repository.execute(container, add, request()).await.map(drop)
            }
            BatchOp::Drawer(DrawerOp::Position(document, position)) => {
                let place = drawer::PlaceDrawerItem { item: address(document), position };
                repository.execute(container, place, request()).await.map(drop)
            }
            BatchOp::Drawer(DrawerOp::Shift(document, position)) => {
                let shift = drawer::ShiftDrawerItem { item: address(document), position };
                repository.execute(container, shift, request()).await.map(drop)
            }
            BatchOp::Drawer(DrawerOp::Remove(document)) => {
                let remove = drawer::RemoveDrawerItems { items: vec![address(document)], strict: true };
                repository.execute(container, remove, request()).await.map(drop)
            }
            BatchOp::Drawer(DrawerOp::Clear) => {
                repository.execute(container, drawer::ClearDrawer, request()).await.map(drop)
            }
            BatchOp::Drawer(DrawerOp::Capacity(capacity)) => {
                let head = drawer::DrawerHeadUpdate { capacity: Some(capacity), ..drawer::DrawerHeadUpdate::default() };
                let update = UpdateDrawer { drawer: container, head, name: None, attributes: None, status: None };
                repository.joint(update, request()).await
            }
        }
    }

    async fn batch(&mut self, ops: &[(usize, BatchOp)], fails: bool) {
        self.store.hold();
        if fails {
            self.store.fail_next();
        }
        let mut waiting: Vec<_> = ops.iter().map(|(drawer, op)| Box::pin(self.send(*drawer, *op))).collect();
        let mut outcomes: Vec<Option<Result<(), Error>>> = vec![None; ops.len()];
        // The first poll of each sends its command, so they are sent in order.
        let all = std::future::poll_fn(|cx| {
            for (future, outcome) in waiting.iter_mut().zip(&mut outcomes) {
                if outcome.is_none()
                    && let Poll::Ready(ready) = future.as_mut().poll(cx)
                {
                    *outcome = Some(ready);
                }
            }
            if outcomes.iter().all(Option::is_some) {
                return Poll::Ready(());
            }
            self.store.step();
            cx.waker().wake_by_ref();
            Poll::Pending
        });
        tokio::time::timeout(Duration::from_secs(20), all).await.expect("every command is answered");
        drop(waiting);
        self.store.release();
        for ((drawer, op), outcome) in ops.iter().zip(outcomes) {
            let outcome = outcome.unwrap().map_err(|error| error.code);
            if outcome == Err(Code::RepositoryError) {
                // A panic, or a commit that failed: no effect.
                continue;
            }
            let BatchOp::Drawer(op) = *op else { panic!("a panic was answered with {outcome:?}") };
            let discarded = self.discarded.clone();
            let expected = self.model[*drawer].apply(op, |document| !discarded[document]);
            assert_eq!(outcome, expected, "{op:?} on drawer {drawer}");
        }
    }

    async fn step(&mut self, step: &Step) {
        match step {
            Step::Batch { ops, fails } => self.batch(ops, *fails).await,
            Step::Move { from, to, document } => {
                let item = DrawerItemAddress::Object(self.documents[*document]);
                let command = drawer::MoveDrawerItem { item, from: self.drawers[*from], to: self.drawers[*to] };
                let outcome = self.repository.joint(command, request()).await.map(drop).map_err(|error| error.code);
                assert_eq!(outcome, model_move(&mut self.model, *from, *to, *document), "{step:?}");
            }
            Step::Discard(document) => {
                let command =
                    DiscardObject { object: self.documents[*document], reach: stet_domain::object::Reach::All };
                let outcome = self.repository.joint(command, request()).await.map_err(|error| error.code);
                let gone = std::mem::replace(&mut self.discarded[*document], true);
                assert_eq!(outcome, if gone { Err(Code::ObjectNotFound) } else { Ok(()) });
                self.model.iter_mut().for_each(|drawer| drawer.set_hidden(*document, true));
            }
            Step::Restore(document) => {
                let mode = CreateMode::Exception;
                let command = RestoreObject {
                    object: self.documents[*document],
                    folder: None,
                    mode,
                    reach: stet_domain::object::Reach::All,
                };
                let outcome = self.repository.joint(command, request()).await.map_err(|error| error.code);
                let gone = std::mem::replace(&mut self.discarded[*document], false);
                assert_eq!(outcome, if gone { Ok(()) } else { Err(Code::ObjectNotFound) });
                self.model.iter_mut().for_each(|drawer| drawer.set_hidden(*document, false));
            }
            Step::Sweep => {
                self.clock.advance(Duration::from_secs(301));
                self.repository.sweep();
            }
            Step::Reopen => {
                self.repository.shut_down().await;
                assert!(self.repository.most_instances() <= 1);
                self.repository = open(&self.store, &self.clock).await;
            }
        }
    }

    /// The containers show what the model says, and the rows are what the containers show.
    async fn check(&mut self) {
        for (number, (drawer, model)) in self.drawers.iter().zip(&self.model).enumerate() {
            let view = self.repository.view::<Drawer>(*drawer).await.unwrap();
            let shown: Vec<Loid> = view.state.visible().map(|item| item.object).collect();
            let expected: Vec<Loid> = model.visible().iter().map(|document| self.documents[*document]).collect();
            assert_eq!(shown, expected);
            assert_eq!(view.state.capacity(), model.capacity);
            self.past.insert((number, view.revision()), past_of(&view.state));
            assert_eq!(view.state.hidden(), model.items.iter().filter(|item| item.hidden).count());
            for key in view.state.rows() {
                assert!(
                    self.repository
                        .look()
                        .get(stet_domain::store::ReadLevel::Committed, key.table, &key.key)
                        .unwrap()
                        .is_some()
                );
            }
        }
        assert!(self.repository.most_instances() <= 1, "a container lived more than once");
        check_indexes(&self.store.rows());
    }

    /// Each drawer can be read as it was at every revision that was seen.
    async fn check_past(&self) {
        for ((number, revision), then) in &self.past {
            let moment = PastMoment::Revision(*revision);
            let past = self.repository.view_at::<Drawer>(self.drawers[*number], moment).await.unwrap();
            assert_eq!((past_of(&past.view.state), past.view.revision()), (then.clone(), *revision));
        }
    }

    /// A drawer becomes as it was, as far as its objects are still there, and is as before when
    /// that is undone.
    async fn check_return(&mut self) {
        let past: Vec<_> = self.past.iter().map(|(at, then)| (*at, then.clone())).collect();
        for ((number, revision), (items, capacity)) in past {
            let drawer = self.drawers[number];
            let present = self.repository.view::<Drawer>(drawer).await.unwrap();
            let then = self.repository.view_at::<Drawer>(drawer, PastMoment::Revision(revision)).await.unwrap();
            let revert = drawer::RevertDrawer::to(&then.view.state);
            self.repository.execute(drawer, revert, request()).await.unwrap();
            let reverted = self.repository.view::<Drawer>(drawer).await.unwrap();
            let is_there = |object: &Loid| {
                let document = self.documents.iter().position(|document| document == object);
                !self.discarded[document.expect("it is a document")]
            };
            let shown: Vec<Loid> = reverted.state.visible().map(|item| item.object).collect();
            let expected: Vec<Loid> = items.iter().map(|(_, object, _)| *object).filter(is_there).collect();
            assert_eq!(shown, expected, "{revision} of drawer {number}");
            assert_eq!(reverted.state.capacity(), capacity.max(expected.len()));
            if reverted.revision() == present.revision() {
                continue;
            }
            let events = self.repository.events_after(drawer, present.revision(), 10).await.unwrap();
            let former = former_rows(&events[0]).unwrap().expect("they are noted");
            let undo = drawer::UndoDrawerChange::of(&reverted.state, events[0].revision, &former).unwrap();
            let undone = self.repository.execute(drawer, undo.expect("it can be undone"), request()).await;
            // Items of discarded objects that were taken out can't come back.
            match undone {
                Ok(_) => {
                    let undone = self.repository.view::<Drawer>(drawer).await.unwrap();
                    assert_eq!(past_of(&undone.state), past_of(&present.state), "{revision} of drawer {number}");
                }
                Err(error) => assert_eq!(error.code, Code::ObjectNotFound, "{error:?}"),
            }
        }
    }
}

/// Asserts that the index entries are exactly those that follow from the rows.
fn check_indexes(rows: &[((Table, Bytes), Bytes)]) {
    let mut expected: BTreeMap<(Table, Bytes), Bytes> = BTreeMap::new();
    let mut entries: Vec<(RowPlace, Bytes)> = Vec::new();
    for ((table, key), value) in rows {
        match table {
            Table::Objects | Table::Recycled => {
                decode_value::<Record>(Record::FORMAT, value).unwrap().index(&mut entries);
            }
            Table::Attributes => decode_value::<Attributes>(1, value).unwrap().index(&mut entries),
            Table::Parts if key[Loid::KEY_LEN] == drawer::ITEM.number() => {
                decode_value::<drawer::Item>(1, value).unwrap().index(&mut entries);
            }
            _ => {}
        }
    }
    expected.extend(entries.into_iter().map(|(key, value)| ((key.table, key.key), value)));
    let mut counts = NameCounts::default();
    expected.keys().filter(|(table, _)| *table == Table::Names).for_each(|(_, key)| counts.add(key));
    expected.extend(counts.entries().map(|(key, count)| ((Table::NameCounts, key.into()), count.to_vec().into())));
    let found: BTreeMap<(Table, Bytes), Bytes> = rows
        .iter()
        .filter(|((table, _), _)| table.is_index())
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    assert_eq!(found, expected);
}

fn drawer_op() -> impl Strategy<Value = DrawerOp> {
    let document = 0..DOCUMENTS;
    prop_oneof![
        4 => document.clone().prop_map(DrawerOp::Add),
        3 => (document.clone(), -2i64..8).prop_map(|(document, position)| DrawerOp::Position(document, position)),
        2 => (document.clone(), -2i64..8).prop_map(|(document, position)| DrawerOp::Shift(document, position)),
        2 => document.prop_map(DrawerOp::Remove),
        1 => Just(DrawerOp::Clear),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let batch_op = prop_oneof![12 => drawer_op().prop_map(BatchOp::Drawer), 1 => Just(BatchOp::Panic)];
    let ops = prop::collection::vec((0..DRAWERS, batch_op), 1..8);
    let capacity = (0..DRAWERS, 0u32..8).prop_map(|(drawer, capacity)| Step::Batch {
        ops: vec![(drawer, BatchOp::Drawer(DrawerOp::Capacity(capacity)))],
        fails: false,
    });
    prop_oneof![
        6 => (ops, prop::bool::weighted(0.25)).prop_map(|(ops, fails)| Step::Batch { ops, fails }),
        1 => capacity,
        3 => (0..DRAWERS, 0..DRAWERS, 0..DOCUMENTS).prop_map(|(from, to, document)| Step::Move { from, to, document }),
        2 => (0..DOCUMENTS).prop_map(Step::Discard),
        2 => (0..DOCUMENTS).prop_map(Step::Restore),
        1 => Just(Step::Sweep),
        1 => Just(Step::Reopen),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn a_random_life_agrees_with_the_whiteboard(steps in prop::collection::vec(step(), 1..30)) {
        // Panics are part of the plan; their messages would drown the rest.
        std::panic::set_hook(Box::new(|info| {
            let planned = info.payload().downcast_ref::<&str>().is_some_and(|text| text.contains("as the test wants"));
            if !planned {
                eprintln!("{info}");
            }
        }));
        actix::System::new().block_on(async {
            let mut world = World::new().await;
            for step in &steps {
                world.step(step).await;
                world.check().await;
            }
            world.check_past().await;
            world.check_return().await;
            world.check_past().await;
            world.repository.shut_down().await;
        });
    }
}
