//! A family that only tests have. It behaves like the others, so the rules common to all families
//! are in no family's own code.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use stet_actors::families::Families;
use stet_actors::repository::Repository;
use stet_actors::runtime::{ChangeRequest, RuntimeOptions};
use stet_domain::clock::ManualClock;
use stet_domain::command::{CallerIdentity, Command, CommandFault, Context};
use stet_domain::drawer::{self, Drawer, DrawerItemAddress, NewDrawer};
use stet_domain::error::{Code, Error};
use stet_domain::family::State;
use stet_domain::folder::root;
use stet_domain::id::{DatabaseId, Loid};
use stet_domain::joint::JointCommand;
use stet_domain::lifecycle::{
    CreateInFolder, CreateOutcome, DestroyObject, DiscardObject, NewObject, RenameObject, RestoreObject,
};
use stet_domain::object::{CreateMode, FolderKey, Record, containers_of};
use stet_domain::proof::Proof;
use stet_domain::store::memory::MemoryStore;
use stet_domain::store::{ChangeSet, ReadLevel, Row, RowChange, Store, Table, decode_value, encode_value};
use stet_testkit::shelf::{
    self, CarrySlot, FAMILIES, NewShelf, OTHERS, PutOnShelf, Shelf, ShelfState, Slot, SlotContent, TakeFromShelf,
};

use crate::common::assert_sound;

const MAIN: Loid = root(DatabaseId::FIRST);

struct World {
    store: Arc<MemoryStore>,
    clock: ManualClock,
    repository: Repository,
}

fn request() -> ChangeRequest {
    ChangeRequest::by(CallerIdentity { user: "editor".into(), session: "s".into(), address: None })
}

async fn open(families: Families, store: &Arc<MemoryStore>, clock: &ManualClock) -> Repository {
    let options = RuntimeOptions {
        arbiters: 2,
        failures_allowed: 1_000_000,
        restart_backoff_milliseconds: 0,
        ..RuntimeOptions::default()
    };
    let started = Repository::start_with(families, store.clone(), Arc::new(clock.clone()), options).await;
    started.expect("a repository starts")
}

fn run<F: Future<Output = ()>>(test: impl FnOnce(World) -> F) {
    actix::System::new().block_on(async {
        let all = test(World::new().await);
        tokio::time::timeout(Duration::from_secs(60), all).await.expect("nothing hangs");
    });
}

/// Asserts that every index entry follows from a row, and that every container fits its family.
fn assert_proved(store: &MemoryStore) {
    assert_sound(FAMILIES, store);
    let mut faults = Vec::new();
    for ((table, _), value) in store.rows() {
        if matches!(table, Table::Objects | Table::Recycled) {
            let record: Record = decode_value(Record::FORMAT, &value).expect("a record can be read");
            let mut report = |fault| faults.push(fault);
            let mut proof = Proof::new(store, &|_, _| None, &mut report);
            FAMILIES.get(record.family).expect("it is listed").prove(&record, &mut proof).expect("readable");
        }
    }
    assert_eq!(faults, Vec::<String>::new());
}

impl World {
    async fn new() -> World {
        let store = Arc::new(MemoryStore::new());
        let clock = ManualClock::at(1_700_000_000_000);
        let repository = open(FAMILIES, &store, &clock).await;
        repository.make_roots(&[DatabaseId::FIRST]).await.expect("roots can be made");
        World { store, clock, repository }
    }

    /// Shuts the repository down and opens it again with these families.
    async fn reopen(&mut self, families: Families) {
        self.repository.shut_down().await;
        self.repository = open(families, &self.store, &self.clock).await;
    }

    async fn joint<J: JointCommand>(&self, joint: J) -> Result<J::Reply, Error> {
        let done = self.repository.joint(joint, request()).await;
        assert_proved(&self.store);
        done
    }

    async fn create(&self, object: NewObject, below: &[&str]) -> Loid {
        let below = below.iter().map(|name| (*name).to_owned()).collect();
        self.joint(CreateInFolder { folder: MAIN, below, object }).await.expect("it can be made").loid
    }

    async fn story(&self, name: &str) -> Loid {
        self.create(NewObject::document(name, "Story"), &[]).await
    }

    async fn shelf(&self, name: &str) -> Loid {
        self.create(new_shelf(name, &["top", "low"]), &[]).await
    }

    async fn put(&self, shelf: Loid, board: &str, stands: SlotContent, position: usize) -> Result<u64, Error> {
        let put = PutOnShelf { board: board.into(), stands, position };
        Ok(self.repository.execute(shelf, put, request()).await?.reply)
    }

    /// Returns the visible slots of a shelf as board and object; a divider is `None`.
    async fn shown(&self, shelf: Loid) -> Vec<(String, Option<Loid>)> {
        let view = self.repository.view::<Shelf>(shelf).await.expect("the shelf is there");
        view.state.slots().visible_at(0).map(|slot| (slot.board.to_string(), slot.stands.object())).collect()
    }

    fn holders(&self, object: Loid) -> Vec<Loid> {
        containers_of(&*self.store, ReadLevel::Committed, object).expect("the index can be read")
    }

    fn rows_of(&self, object: Loid) -> usize {
        let mentions = |key: &[u8]| key.windows(Loid::KEY_LEN).any(|window| *window == object.to_key());
        let rows = self.store.rows().into_iter();
        rows.filter(|((_, key), _)| mentions(key)).count()
    }
}

fn new_shelf(name: &str, boards: &[&str]) -> NewObject {
    let boards = boards.iter().map(|board| (*board).into()).collect();
    NewObject::of::<Shelf>(name, "Shelf", NewShelf { boards })
}

fn object(loid: Loid) -> SlotContent {
    SlotContent::Object(FolderKey(loid))
}

fn on(board: &str, object: Loid) -> (String, Option<Loid>) {
    (board.to_owned(), Some(object))
}

#[test]
fn an_object_that_stands_twice_goes_and_comes_back_with_both_places() {
    run(|world| async move {
        let (shelf, story, other) = (world.shelf("shelf").await, world.story("a").await, world.story("b").await);
        let drawer = world.create(NewObject::of::<Drawer>("d", "Drawer", NewDrawer::empty(5)), &[]).await;
        let add = drawer::AddDrawerItems { items: vec![DrawerItemAddress::Object(story)] };
        world.repository.execute(drawer, add, request()).await.expect("there is room");
        for (board, stands) in [
            ("top", object(story)),
            ("top", object(other)),
            ("low", SlotContent::Divider("sport".into())),
            ("low", object(story)),
        ] {
            world.put(shelf, board, stands, usize::MAX).await.expect("it can be put there");
        }
        let all = vec![on("top", story), on("top", other), ("low".to_owned(), None), on("low", story)];
        assert_eq!(world.shown(shelf).await, all);
        assert_eq!(world.holders(story), [shelf, drawer]);
        let refused = world.put(shelf, "side", object(story), 0).await.expect_err("there is no such board");
        assert_eq!(refused.code, Code::ObjectNotFound);

        world
            .joint(DiscardObject { object: story, reach: stet_domain::object::Reach::All })
            .await
            .expect("it can be discarded");
        assert_eq!(world.shown(shelf).await, [on("top", other), ("low".to_owned(), None)]);
        assert_eq!(world.repository.view::<Drawer>(drawer).await.unwrap().state.count(), 0);
        let refused = world.put(shelf, "top", object(story), 0).await.expect_err("it lies in the recycle bin");
        assert_eq!(refused.code, Code::ObjectNotFound);
        let restore = RestoreObject {
            object: story,
            folder: None,
            mode: CreateMode::Exception,
            reach: stet_domain::object::Reach::All,
        };
        world.joint(restore).await.expect("it can be restored");
        assert_eq!(world.shown(shelf).await, all);

        world.joint(DestroyObject { object: story }).await.expect("it can be destroyed");
        assert_eq!(world.shown(shelf).await, [on("top", other), ("low".to_owned(), None)]);
        assert_eq!((world.holders(story), world.rows_of(story)), (Vec::new(), 0));
    });
}

#[test]
fn discarding_a_folder_updates_all_holders_inside_and_outside_it() {
    run(|mut world| async move {
        let outside = world.shelf("outside").await;
        let inside = world.create(new_shelf("inside", &["top"]), &["News"]).await;
        let story = world.create(NewObject::document("a", "Story"), &["News", "City"]).await;
        let folder = world.repository.record(inside).unwrap().unwrap().folder().unwrap();
        for (shelf, held) in [(outside, folder), (outside, story), (inside, story), (inside, inside), (outside, inside)]
        {
            world.put(shelf, "top", object(held), usize::MAX).await.expect("it can be put there");
        }
        let (out, within) = (world.shown(outside).await, world.shown(inside).await);
        assert_eq!((out.len(), within.len()), (3, 2));
        world
            .joint(DiscardObject { object: folder, reach: stet_domain::object::Reach::All })
            .await
            .expect("it can be discarded");
        assert_eq!(world.shown(outside).await, []);
        let gone = world.repository.view::<Shelf>(inside).await.expect_err("it lies in the recycle bin");
        assert_eq!(gone.code, Code::ObjectNotFound);
        world.reopen(FAMILIES).await;
        let restore = RestoreObject {
            object: folder,
            folder: None,
            mode: CreateMode::Exception,
            reach: stet_domain::object::Reach::All,
        };
        world.joint(restore).await.expect("it can be restored");
        assert_eq!((world.shown(outside).await, world.shown(inside).await), (out, within));
        world.joint(DestroyObject { object: folder }).await.expect("it can be destroyed");
        assert_eq!(world.shown(outside).await, []);
        for object in [folder, inside, story] {
            assert_eq!(world.rows_of(object), 0);
        }
    });
}

#[test]
fn a_shelf_goes_comes_back_is_renamed_and_ends_as_any_object() {
    run(|world| async move {
        let (shelf, story) = (world.shelf("shelf").await, world.story("a").await);
        for position in [0, 0, 1] {
            world.put(shelf, "top", object(story), position).await.expect("it can be put there");
        }
        let all = world.shown(shelf).await;
        world
            .joint(RenameObject { object: shelf, name: "other".to_owned(), mode: CreateMode::Exception })
            .await
            .expect("it can be renamed");
        world
            .joint(DiscardObject { object: shelf, reach: stet_domain::object::Reach::All })
            .await
            .expect("it can be discarded");
        // A discard hides the slots of a shelf in the recycle bin, too.
        world
            .joint(DiscardObject { object: story, reach: stet_domain::object::Reach::All })
            .await
            .expect("it can be discarded");
        let restore = |object| RestoreObject {
            object,
            folder: None,
            mode: CreateMode::Exception,
            reach: stet_domain::object::Reach::All,
        };
        world.joint(restore(shelf)).await.expect("it can be restored");
        assert_eq!(world.shown(shelf).await, []);
        world.joint(restore(story)).await.expect("it can be restored");
        assert_eq!(world.shown(shelf).await, all);
        world.joint(DestroyObject { object: shelf }).await.expect("it can be destroyed");
        assert_eq!((world.rows_of(shelf), world.holders(story)), (0, Vec::new()));
    });
}

#[test]
fn a_creation_that_meets_a_shelf_writes_over_it_as_the_family_says() {
    run(|world| async move {
        let (shelf, story) = (world.shelf("shelf").await, world.story("a").await);
        world.put(shelf, "top", object(story), 0).await.expect("it can be put there");
        let create = |mode, object: NewObject| CreateInFolder {
            folder: MAIN,
            below: Vec::new(),
            object: NewObject { mode, ..object },
        };
        let new = || new_shelf("shelf", &["top", "side"]);
        let made = world.joint(create(CreateMode::NewVersion, new())).await.expect("it can be written over");
        assert_eq!((made.loid, made.outcome), (shelf, CreateOutcome::Changed));
        assert_eq!(world.shown(shelf).await, [on("top", story)]);
        world.put(shelf, "side", object(story), 0).await.expect("it has that board now");
        world.joint(create(CreateMode::Replace, new())).await.expect("it can be replaced");
        assert_eq!((world.shown(shelf).await, world.holders(story)), (Vec::new(), Vec::new()));
        let other = NewObject::document("shelf", "Story");
        let refused = world.joint(create(CreateMode::Replace, other)).await.expect_err("it is of another family");
        assert_eq!(refused.code, Code::DuplicatedName);
        let wrong = world.repository.view::<Drawer>(shelf).await.expect_err("it is no drawer");
        assert_eq!(wrong.code, Code::InvalidType);
        assert_eq!(wrong.message, format!("`{shelf}` is a webcontainer, not a drawer."));
    });
}

#[test]
fn a_repository_that_does_not_know_the_family_leaves_alone_what_it_holds() {
    run(|mut world| async move {
        let (shelf, story) = (world.shelf("shelf").await, world.story("a").await);
        world.put(shelf, "top", object(story), 0).await.expect("it can be put there");
        world.reopen(OTHERS).await;
        for refused in [
            world
                .joint(DiscardObject { object: story, reach: stet_domain::object::Reach::All })
                .await
                .expect_err("its holder can't be told"),
            world.joint(DestroyObject { object: story }).await.expect_err("its holder can't be told"),
            world.joint(DestroyObject { object: shelf }).await.expect_err("it can't be changed"),
        ] {
            assert_eq!(refused.code, Code::InvalidType, "{refused}");
        }
        world.reopen(FAMILIES).await;
        assert_eq!(world.shown(shelf).await, [on("top", story)]);
    });
}

#[test]
fn shelf_invariants_are_proved_and_violations_named() {
    run(|world| async move {
        let (shelf, story) = (world.shelf("shelf").await, world.story("a").await);
        let id = world.put(shelf, "top", object(story), 0).await.expect("it can be put there");
        let record = world.repository.record(shelf).unwrap().unwrap();
        let faults = |slot: Option<&Slot>, head: bool| {
            let store = MemoryStore::new();
            let mut rows = world.store.rows();
            rows.retain(|((table, key), _)| {
                let number = key.get(Loid::KEY_LEN).copied();
                *table != Table::Parts
                    || number == Some(shelf::HEAD.number()) && head
                    || number == Some(shelf::SLOT.number()) && slot.is_none()
            });
            if let Some(slot) = slot {
                let place = slot.place();
                rows.push(((place.table, place.key), encode_value(Slot::FORMAT, slot)));
            }
            let rows = rows.into_iter();
            let changes = rows.map(|((table, key), value)| RowChange { table, key, value: Some(value) }).collect();
            let set = ChangeSet { changes, ..ChangeSet::fence(store.epoch(), drop) };
            store.submit(set).expect("it is taken");
            let mut faults = Vec::new();
            let mut report = |fault| faults.push(fault);
            let family = FAMILIES.get(record.family).expect("it is listed");
            family.prove(&record, &mut Proof::new(&store, &|_, _| None, &mut report)).expect("readable");
            faults
        };
        let slot = world.repository.view::<Shelf>(shelf).await.unwrap().state.slot(id).unwrap();
        assert_eq!(faults(None, true), Vec::<String>::new());
        let hidden = Slot { hidden: true, ..slot.clone() };
        let elsewhere = Slot { board: "side".into(), ..slot.clone() };
        let gone = Slot { stands: object(Loid::new(DatabaseId::FIRST, 999_999)), ..slot.clone() };
        for (slot, saying) in
            [(&hidden, "it is hidden, which"), (&elsewhere, "has no board `side`"), (&gone, "which is not there")]
        {
            let found = faults(Some(slot), true);
            assert!(found.len() == 1 && found[0].contains(saying), "{found:?}");
        }
        let found = faults(None, false);
        assert!(found.len() == 1 && found[0].contains("has no head"), "{found:?}");
    });
}

#[test]
fn an_object_put_on_a_shelf_while_discarded_is_hidden_or_refused() {
    run(|world| async move {
        let shelf = world.shelf("shelf").await;
        for round in 0..50 {
            let story = world.story(&format!("story-{round}")).await;
            let putting = (0..4).map(|_| world.put(shelf, "top", object(story), 0));
            let discard = world
                .repository
                .joint(DiscardObject { object: story, reach: stet_domain::object::Reach::All }, request());
            let (put, discarded) = futures_util::future::join(futures_util::future::join_all(putting), discard).await;
            discarded.expect("it can be discarded");
            for refused in put.into_iter().filter_map(Result::err) {
                assert_eq!(refused.code, Code::ObjectNotFound);
            }
            assert!(world.shown(shelf).await.is_empty());
            assert_proved(&world.store);
        }
    });
}

/// Changes the shelf, then panics: nothing of it may be seen.
struct Panic;

impl Command for Panic {
    type Family = Shelf;
    type Reply = ();
    const NAME: &'static str = "test.shelf.panic";

    fn apply(&self, shelf: &mut ShelfState, context: &mut Context<'_>) -> Result<(), CommandFault> {
        shelf.clear(context);
        panic!("as the test wants");
    }
}

const SHELVES: usize = 2;
const STORIES: usize = 4;

#[derive(Debug, Clone)]
enum Step {
    Put {
        shelf: usize,
        story: Option<usize>,
        position: usize,
        fails: bool,
    },
    Take {
        shelf: usize,
        nth: usize,
    },
    Carry {
        from: usize,
        to: usize,
        nth: usize,
        position: usize,
    },
    Discard(usize),
    Restore(usize),
    /// Destroys an object, and creates another of the same name.
    Destroy(usize),
    Panic(usize),
    Sweep,
    Reopen,
}

/// The expected slots of a shelf, in order: slot id, story, and whether it is hidden.
type Written = Vec<(u64, Option<usize>, bool)>;

struct Life {
    world: World,
    shelves: Vec<Loid>,
    stories: Vec<Loid>,
    discarded: Vec<bool>,
    written: Vec<Written>,
}

/// The index in front of the visible position.
fn index_at(written: &Written, position: usize) -> usize {
    let visible = written.iter().enumerate().filter(|(_, (_, _, hidden))| !hidden);
    visible.map(|(index, _)| index).nth(position).unwrap_or(written.len())
}

impl Life {
    async fn new() -> Life {
        let world = World::new().await;
        let mut life = Life {
            world,
            shelves: Vec::new(),
            stories: Vec::new(),
            discarded: vec![false; STORIES],
            written: vec![Written::new(); SHELVES],
        };
        for n in 0..SHELVES {
            life.shelves.push(life.world.shelf(&format!("shelf-{n}")).await);
        }
        for n in 0..STORIES {
            life.stories.push(life.world.story(&format!("story-{n}")).await);
        }
        life
    }

    fn visible(&self, shelf: usize, nth: usize) -> Option<u64> {
        let visible = self.written[shelf].iter().filter(|(_, _, hidden)| !hidden);
        visible.map(|(slot, _, _)| *slot).nth(nth)
    }

    fn mark(&mut self, story: usize, hidden: bool) {
        self.discarded[story] = hidden;
        let slots = self.written.iter_mut().flatten().filter(|(_, held, _)| *held == Some(story));
        slots.for_each(|slot| slot.2 = hidden);
    }

    async fn put(&mut self, shelf: usize, story: Option<usize>, position: usize, fails: bool) {
        let stands = story.map_or(SlotContent::Divider("d".into()), |story| object(self.stories[story]));
        if fails {
            self.world.store.fail_next();
        }
        let done = self.world.put(self.shelves[shelf], "top", stands, position).await;
        self.world.store.release();
        match done {
            Ok(slot) => {
                let index = index_at(&self.written[shelf], position);
                self.written[shelf].insert(index, (slot, story, false));
            }
            Err(error) if error.code == Code::RepositoryError => assert!(fails),
            Err(error) => {
                assert_eq!(error.code, Code::ObjectNotFound);
                assert!(story.is_some_and(|story| self.discarded[story]));
            }
        }
    }

    async fn step(&mut self, step: &Step) {
        match *step {
            Step::Put { shelf, story, position, fails } => self.put(shelf, story, position, fails).await,
            Step::Take { shelf, nth } => {
                let Some(slot) = self.visible(shelf, nth) else { return };
                let taken = self.world.repository.execute(self.shelves[shelf], TakeFromShelf { slot }, request()).await;
                taken.expect("it is there");
                self.written[shelf].retain(|(other, _, _)| *other != slot);
            }
            Step::Carry { from, to, nth, position } => {
                let Some(slot) = self.visible(from, nth) else { return };
                let carry = CarrySlot { slot, from: self.shelves[from], to: self.shelves[to], position };
                self.world.joint(carry).await.expect("it is there");
                let at = self.written[from].iter().position(|(other, _, _)| *other == slot).expect("it was found");
                let carried = self.written[from].remove(at);
                let index = index_at(&self.written[to], position);
                self.written[to].insert(index, carried);
            }
            Step::Discard(story) => {
                let done = self
                    .world
                    .joint(DiscardObject { object: self.stories[story], reach: stet_domain::object::Reach::All })
                    .await;
                assert_eq!(done.is_ok(), !self.discarded[story]);
                self.mark(story, true);
            }
            Step::Restore(story) => {
                let object = self.stories[story];
                let restore = RestoreObject {
                    object,
                    folder: None,
                    mode: CreateMode::Exception,
                    reach: stet_domain::object::Reach::All,
                };
                assert_eq!(self.world.joint(restore).await.is_ok(), self.discarded[story]);
                self.mark(story, false);
            }
            Step::Destroy(story) => {
                let object = self.stories[story];
                self.world.joint(DestroyObject { object }).await.expect("it is there");
                assert_eq!(self.world.rows_of(object), 0);
                self.written.iter_mut().for_each(|slots| slots.retain(|(_, held, _)| *held != Some(story)));
                self.stories[story] = self.world.story(&format!("story-{story}")).await;
                self.discarded[story] = false;
            }
            Step::Panic(shelf) => {
                let done = self.world.repository.execute(self.shelves[shelf], Panic, request()).await;
                assert_eq!(done.map(drop).unwrap_err().code, Code::RepositoryError);
            }
            Step::Sweep => {
                self.world.clock.advance(Duration::from_secs(301));
                self.world.repository.sweep();
            }
            Step::Reopen => self.world.reopen(FAMILIES).await,
        }
    }

    async fn check(&self) {
        let names: BTreeMap<Loid, usize> = self.stories.iter().copied().zip(0..).collect();
        for (shelf, written) in self.shelves.iter().zip(&self.written) {
            let view = self.world.repository.view::<Shelf>(*shelf).await.expect("it is there");
            let slots = view.state.slots().iter();
            let there: Written =
                slots.map(|slot| (slot.id, slot.stands.object().map(|loid| names[&loid]), slot.hidden)).collect();
            assert_eq!(there, *written);
            assert_eq!(view.state.object().record.loid, *shelf);
        }
        assert_proved(&self.world.store);
        assert!(self.world.repository.most_instances() <= 1, "a container lived more than once");
    }
}

fn step() -> impl Strategy<Value = Step> {
    let (shelf, story) = (0..SHELVES, 0..STORIES);
    let put = (shelf.clone(), prop::option::weighted(0.8, story.clone()), 0usize..6, prop::bool::weighted(0.1));
    prop_oneof![
        6 => put.prop_map(|(shelf, story, position, fails)| Step::Put { shelf, story, position, fails }),
        2 => (shelf.clone(), 0usize..6).prop_map(|(shelf, nth)| Step::Take { shelf, nth }),
        3 => (shelf.clone(), shelf.clone(), 0usize..6, 0usize..6)
            .prop_map(|(from, to, nth, position)| Step::Carry { from, to, nth, position }),
        2 => story.clone().prop_map(Step::Discard),
        2 => story.clone().prop_map(Step::Restore),
        1 => story.prop_map(Step::Destroy),
        1 => shelf.prop_map(Step::Panic),
        1 => Just(Step::Sweep),
        1 => Just(Step::Reopen),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_random_life_of_shelves_is_what_was_written_down(steps in prop::collection::vec(step(), 1..40)) {
        // Panics are part of the plan; their messages would drown the rest.
        std::panic::set_hook(Box::new(|info| {
            let planned = info.payload().downcast_ref::<&str>().is_some_and(|text| text.contains("as the test wants"));
            if !planned {
                eprintln!("{info}");
            }
        }));
        actix::System::new().block_on(async {
            let mut life = Life::new().await;
            for step in &steps {
                life.step(step).await;
                life.check().await;
            }
            life.world.repository.shut_down().await;
        });
    }
}
