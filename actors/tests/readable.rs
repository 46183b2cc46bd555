//! Positions named by a caller who may not read everything. They count among the items that this
//! caller sees at the moment of the change.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join;
use proptest::prelude::*;
use stet_actors::repository::Repository;
use stet_actors::runtime::{ChangeRequest, RuntimeOptions, store_failure};
use stet_domain::clock::ManualClock;
use stet_domain::command::{CallerIdentity, Command, CommandFault, Context, NumberSource};
use stet_domain::drawer::{
    AddDrawerItems, Drawer, DrawerHead, DrawerHeadUpdate, DrawerItemAddress, DrawerState, MoveDrawerItem, NewDrawer,
    PlaceDrawerItem, RemoveDrawerItems, ShiftDrawerItem,
};
use stet_domain::drawer::{ItemPositions, UpdateDrawer};
use stet_domain::error::{Code, Error, Result};
use stet_domain::folder::root;
use stet_domain::id::{DatabaseId, Loid, ShortcutId};
use stet_domain::lifecycle::{CreateInFolder, NewObject, RenameObject};
use stet_domain::object::{Attributes, CreateMode, FamilyKind, Object, Record};
use stet_domain::readable::{ObjectRights, ReadDecision};
use stet_domain::store::memory::MemoryStore;
use stet_domain::store::{KeyRange, ReadLevel, Row, RowReader, StoreError, Table, decode_value};

/// Rows in which every object exists, except those in the recycle bin.
#[derive(Default)]
struct Alive {
    bin: HashSet<Loid>,
}

impl RowReader for Alive {
    fn get(&self, _: ReadLevel, _: Table, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        let in_bin = Loid::from_key(key).is_some_and(|object| self.bin.contains(&object));
        Ok((!in_bin).then(Bytes::new))
    }

    fn scan(&self, _: ReadLevel, _: Table, _: &KeyRange, _: usize, _: bool) -> Result<Vec<(Bytes, Bytes)>, StoreError> {
        Ok(Vec::new())
    }
}

struct Counting(AtomicU64);

impl NumberSource for Counting {
    fn next(&self) -> Result<u64> {
        Ok(self.0.fetch_add(1, Ordering::Relaxed))
    }
}

/// Rights to read exactly these objects.
#[derive(Debug)]
struct Only(HashSet<Loid>);

impl ObjectRights for Only {
    fn over<'a>(&'a self, _: &'a dyn RowReader) -> Result<ReadDecision<'a>> {
        Ok(Box::new(|object| Ok(self.0.contains(&object))))
    }
}

fn object(number: u64) -> Loid {
    Loid::new(DatabaseId::FIRST, number)
}

/// The number of objects; the caller may read those with even numbers.
const OBJECTS: u64 = 12;

fn is_seen(object: Loid) -> bool {
    object.number.is_multiple_of(2)
}

/// A drawer without a runtime around it.
struct Bare {
    state: DrawerState,
    rows: Alive,
    numbers: Counting,
    caller: Only,
}

impl Bare {
    fn new(capacity: u32) -> Bare {
        let loid = object(1_000);
        let record = Record::new(loid, "drawer", "Drawer", FamilyKind::Drawer, &"editor".into(), 0);
        let head = DrawerHead { loid, capacity, automatic: false, title: "".into(), description: "".into() };
        let own = Object { record: Arc::new(record), attributes: Arc::new(Attributes::none(loid)) };
        Bare {
            state: DrawerState::new(own, head, Vec::new()),
            rows: Alive::default(),
            numbers: Counting(AtomicU64::new(1)),
            caller: Only((0..OBJECTS).map(object).filter(|object| is_seen(*object)).collect()),
        }
    }

    /// Applies a command, for the caller if `restricted`, otherwise for a user who reads
    /// everything. A refused command changes nothing.
    fn apply<C: Command<Family = Drawer>>(&mut self, command: &C, restricted: bool) -> Result<C::Reply, Error> {
        let who = CallerIdentity::system();
        let readable: Option<&dyn ObjectRights> = if restricted { Some(&self.caller) } else { None };
        let mut context = Context::new(0, &who, &self.rows, &self.numbers).reading(readable);
        let mut after = self.state.clone();
        let reply = command.apply(&mut after, &mut context).map_err(|fault| match fault {
            CommandFault::Refused(error) => error,
            other => panic!("nothing else can happen: {other:?}"),
        })?;
        self.state = after;
        Ok(reply)
    }

    /// Does to the drawer what the runtime does when an object is discarded or restored.
    fn set_hidden(&mut self, object: Loid, hidden: bool) {
        let who = CallerIdentity::system();
        if hidden {
            self.rows.bin.insert(object);
        } else {
            self.rows.bin.remove(&object);
        }
        self.state.set_hidden(object, hidden, &mut Context::new(0, &who, &self.rows, &self.numbers));
    }

    fn all(&self) -> Vec<Loid> {
        self.state.visible().map(|item| item.object).collect()
    }

    fn shortcut_of(&self, object: Loid) -> Option<ShortcutId> {
        self.state.visible().find(|item| item.object == object).map(|item| item.shortcut)
    }
}

fn seen(all: &[Loid]) -> Vec<Loid> {
    all.iter().copied().filter(|object| is_seen(*object)).collect()
}

fn without(all: &[Loid], one: Loid) -> Vec<Loid> {
    all.iter().copied().filter(|object| *object != one).collect()
}

#[derive(Debug, Clone, Copy)]
enum Step {
    /// A placement by a user who reads everything.
    Put(u64, i64),
    Discard(u64),
    Restore(u64),
    /// A placement by the caller.
    Position(u64, i64),
    Shift(u64, i64),
    Add(u64),
    /// A removal of two items, of which one may be named twice; strict or not.
    Remove([u64; 2], bool),
}

fn step() -> impl Strategy<Value = Step> {
    let (number, position) = (0..OBJECTS, -2..9i64);
    prop_oneof![
        3 => (number.clone(), position.clone()).prop_map(|(number, position)| Step::Put(number, position)),
        1 => number.clone().prop_map(Step::Discard),
        1 => number.clone().prop_map(Step::Restore),
        4 => (number.clone(), position.clone()).prop_map(|(number, position)| Step::Position(number, position)),
        4 => (number.clone(), position).prop_map(|(number, position)| Step::Shift(number, position)),
        1 => number.clone().prop_map(Step::Add),
        1 => ([number.clone(), number], any::<bool>()).prop_map(|(numbers, strict)| Step::Remove(numbers, strict)),
    ]
}

/// Returns the index that a position means among `count` other items: that position, or the end.
fn place(asked: i64, count: usize) -> usize {
    usize::try_from(asked).map_or(count, |asked| asked.min(count))
}

fn check(drawer: &mut Bare, step: Step) {
    let before = drawer.all();
    let full = drawer.state.is_full();
    match step {
        Step::Put(number, position) => {
            let _ = drawer.apply(&PlaceDrawerItem { item: DrawerItemAddress::Object(object(number)), position }, false);
        }
        Step::Discard(number) => drawer.set_hidden(object(number), true),
        Step::Restore(number) => drawer.set_hidden(object(number), false),
        Step::Position(number, position) => {
            let object = object(number);
            let there = is_seen(object) && !drawer.rows.bin.contains(&object);
            let outcome = drawer.apply(&PlaceDrawerItem { item: DrawerItemAddress::Object(object), position }, true);
            let after = drawer.all();
            let others = without(&seen(&before), object);
            if position < -1 {
                assert_eq!(outcome.expect_err("it is refused").code, Code::InvalidParameter);
                assert_eq!(after, before);
            } else if !there {
                assert_eq!(outcome, Err(Error::not_found(object)), "whether or not it is there");
                assert_eq!(after, before);
            } else if before.contains(&object) {
                let mut wanted = others.clone();
                wanted.insert(place(position, others.len()), object);
                assert_eq!(seen(&after), wanted);
                assert_eq!(without(&after, object), without(&before, object), "nothing else has moved");
            } else if full && place(position, others.len()) == others.len() {
                assert_eq!(outcome.expect_err("it is full").code, Code::DrawerFull);
                assert_eq!(after, before);
            } else {
                let at = seen(&after).iter().position(|known| *known == object);
                assert_eq!(at, Some(place(position, others.len())));
                let stay = if full { &before[..before.len() - 1] } else { &before[..] };
                assert_eq!(without(&after, object), stay, "the last of all has made room, if that was needed");
            }
        }
        Step::Shift(number, position) => {
            let object = object(number);
            let Some(shortcut) = drawer.shortcut_of(object) else { return };
            let outcome =
                drawer.apply(&ShiftDrawerItem { item: DrawerItemAddress::Shortcut(shortcut), position }, true);
            let (after, last) = (drawer.all(), seen(&before).len().saturating_sub(1));
            if !is_seen(object) {
                let absent = drawer
                    .apply(&ShiftDrawerItem { item: DrawerItemAddress::Shortcut(ShortcutId(999_999)), position }, true);
                let text = |outcome: Result<ItemPositions, Error>| outcome.expect_err("it is not there").message;
                assert_eq!(text(outcome).replace(&format!("`{shortcut}`"), "*"), text(absent).replace("`999999`", "*"));
                assert_eq!(after, before);
            } else if position == -1 || (0..=last as i64).contains(&position) {
                let mut wanted = without(&seen(&before), object);
                wanted.insert(place(position, wanted.len()), object);
                assert_eq!(seen(&after), wanted);
                assert_eq!(without(&after, object), without(&before, object), "nothing else has moved");
            } else {
                let wanted =
                    Error::parameter("position", position, &format!("between 0 and {last}, or -1 for the tail"));
                assert_eq!(outcome, Err(wanted), "it names what was sent, and counts what they see");
                assert_eq!(after, before);
            }
        }
        Step::Add(number) => {
            let object = object(number);
            let outcome = drawer.apply(&AddDrawerItems { items: vec![DrawerItemAddress::Object(object)] }, true);
            let there = is_seen(object) && !drawer.rows.bin.contains(&object);
            assert_eq!(outcome.is_ok(), there && (before.contains(&object) || !full), "{outcome:?}");
        }
        Step::Remove(numbers, strict) => check_removal(drawer, numbers, strict),
    }
}

fn check_removal(drawer: &mut Bare, numbers: [u64; 2], strict: bool) {
    let before = drawer.all();
    let items = numbers.map(|number| DrawerItemAddress::Object(object(number))).to_vec();
    let outcome = drawer.apply(&RemoveDrawerItems { items, strict }, true);
    let place = |object: Loid| Some((seen(&before).iter().position(|known| *known == object)?, object));
    let mut wanted: Vec<_> = numbers.into_iter().filter_map(|number| place(object(number))).collect();
    wanted.dedup();
    if strict && wanted.len() < numbers.len() {
        assert_eq!(outcome.expect_err("one is not there").code, Code::ObjectNotFound);
        assert_eq!(drawer.all(), before);
    } else {
        let removed = outcome.expect("the others are removed");
        let items: Vec<_> = removed.items.iter().map(|(place, item)| (*place, item.object)).collect();
        assert_eq!(items, wanted, "with the positions that they had for the caller");
        assert_eq!(removed.errors.len(), numbers.len() - wanted.len());
        let left = wanted.iter().fold(before, |left, (_, object)| without(&left, *object));
        assert_eq!(drawer.all(), left);
    }
}

proptest! {
    #[test]
    fn a_position_is_among_the_items_that_the_caller_sees(
        capacity in 1..10u32,
        steps in proptest::collection::vec(step(), 1..60),
    ) {
        let mut drawer = Bare::new(capacity);
        for step in steps {
            check(&mut drawer, step);
        }
    }
}

/// Objects with a name that does not begin with `secret`, as the next change will find them.
#[derive(Debug)]
struct Named;

impl ObjectRights for Named {
    fn over<'a>(&'a self, look: &'a dyn RowReader) -> Result<ReadDecision<'a>> {
        Ok(Box::new(move |object: Loid| {
            let found =
                look.get(ReadLevel::Latest, Table::Objects, &object.to_key()).map_err(|error| store_failure(&error))?;
            let record = found.map(|value| decode_value::<Record>(Record::FORMAT, &value));
            let record = record.transpose().map_err(|error| store_failure(&error.into()))?;
            Ok(record.is_some_and(|record| !record.name.starts_with("secret")))
        }))
    }
}

fn by_editor() -> ChangeRequest {
    ChangeRequest::by(CallerIdentity { user: "editor".into(), session: "".into(), address: None })
}

fn by_reader() -> ChangeRequest {
    ChangeRequest { readable: Some(Arc::new(Named)), ..by_editor() }
}

struct World {
    store: Arc<MemoryStore>,
    repository: Repository,
}

impl World {
    fn run(test: impl AsyncFnOnce(World)) {
        actix::System::new().block_on(async {
            let (store, clock) = (Arc::new(MemoryStore::new()), Arc::new(ManualClock::at(1_700_000_000_000)));
            let started = Repository::start(store.clone(), clock, RuntimeOptions::default()).await;
            let repository = started.expect("a repository starts");
            repository.make_roots(&[DatabaseId::FIRST]).await.expect("roots are made");
            let all = test(World { store, repository });
            tokio::time::timeout(Duration::from_secs(30), all).await.expect("nothing hangs");
        });
    }

    async fn make(&self, object: NewObject) -> Loid {
        let create = CreateInFolder { folder: root(DatabaseId::FIRST), below: Vec::new(), object };
        self.repository.joint(create, by_editor()).await.expect("it is made").loid
    }

    async fn stories<const N: usize>(&self, names: [&str; N]) -> [Loid; N] {
        let mut loids = [object(0); N];
        for (loid, name) in loids.iter_mut().zip(names) {
            *loid = self.make(NewObject::document(name, "Story")).await;
        }
        loids
    }

    async fn drawer(&self, name: &str, items: &[Loid]) -> Loid {
        let new = NewDrawer { items: items.to_vec(), ..NewDrawer::empty(10) };
        self.make(NewObject::of::<Drawer>(name, "Drawer", new)).await
    }

    async fn items(&self, drawer: Loid) -> Vec<Loid> {
        let view = self.repository.view::<Drawer>(drawer).await.expect("it is there");
        view.state.visible().map(|item| item.object).collect()
    }
}

#[test]
fn positions_are_resolved_when_the_change_is_applied() {
    World::run(async |world| {
        let [h1, s1, h2, s2, s3] = world.stories(["secret 1", "1", "secret 2", "2", "3"]).await;
        let drawer = world.drawer("mixed", &[h1, s1, h2, s2]).await;
        // Both are on their way before either is carried out.
        let first = PlaceDrawerItem { item: DrawerItemAddress::Object(s2), position: 0 };
        let second = PlaceDrawerItem { item: DrawerItemAddress::Object(s3), position: 1 };
        let (first, second) = join(
            world.repository.execute(drawer, first, by_editor()),
            world.repository.execute(drawer, second, by_reader()),
        )
        .await;
        assert!(first.is_ok() && second.is_ok());
        // In front of what stands second for them now, and not of what did when the call came.
        assert_eq!(world.items(drawer).await, [s2, h1, s3, s1, h2]);
    });
}

#[test]
fn readability_is_decided_when_the_change_is_applied() {
    World::run(async |world| {
        let [h1, s1, s2] = world.stories(["secret 1", "1", "2"]).await;
        let drawer = world.drawer("mixed", &[h1, s1]).await;
        // From here on no commit reaches the disk: readers still see the secret.
        world.store.hold();
        let rename = actix::spawn({
            let repository = world.repository.clone();
            async move {
                repository
                    .joint(
                        RenameObject { object: h1, name: "open".to_owned(), mode: CreateMode::Exception },
                        by_editor(),
                    )
                    .await
            }
        });
        while world.store.pending() == 0 {
            tokio::task::yield_now().await;
        }
        let position = PlaceDrawerItem { item: DrawerItemAddress::Object(s2), position: 1 };
        let position = actix::spawn({
            let repository = world.repository.clone();
            async move { repository.execute(drawer, position, by_reader()).await }
        });
        while world.store.pending() == 1 {
            tokio::task::yield_now().await;
        }
        world.store.release();
        assert!(rename.await.expect("it ends").is_ok() && position.await.expect("it ends").is_ok());
        assert_eq!(world.items(drawer).await, [h1, s2, s1]);
    });
}

#[test]
fn unreadable_items_are_not_found_by_any_command() {
    World::run(async |world| {
        let [h1, s1, h2] = world.stories(["secret 1", "1", "secret 2"]).await;
        let (drawer, other) = (world.drawer("mixed", &[h1, s1]).await, world.drawer("other", &[]).await);
        let view = world.repository.view::<Drawer>(drawer).await.expect("it is there");
        let (_, hidden) = view.state.get(DrawerItemAddress::Object(h1)).expect("it is in it");
        let shortcut = DrawerItemAddress::Shortcut(hidden.shortcut);
        let not_found = |code: Option<Code>| assert_eq!(code, Some(Code::ObjectNotFound));
        for item in [shortcut, DrawerItemAddress::Object(h1)] {
            let moved = world.repository.joint(MoveDrawerItem { item, from: drawer, to: other }, by_reader()).await;
            not_found(moved.err().map(|error| error.code));
            let shifted = world.repository.execute(drawer, ShiftDrawerItem { item, position: 0 }, by_reader()).await;
            not_found(shifted.err().map(|error| error.code));
            let removed = RemoveDrawerItems { items: vec![item, DrawerItemAddress::Object(h2)], strict: false };
            let removed = world.repository.execute(drawer, removed, by_reader()).await.expect("it is no error");
            assert_eq!(
                removed.reply.errors.iter().map(|(index, error)| (*index, error.code)).collect::<Vec<_>>(),
                [(0, Code::ObjectNotFound), (1, Code::ObjectNotFound),]
            );
            let added = world.repository.execute(drawer, AddDrawerItems { items: vec![item] }, by_reader()).await;
            not_found(added.err().map(|error| error.code));
        }
        let new = NewDrawer { items: vec![s1, h2], ..NewDrawer::empty(10) };
        let object = NewObject::of::<Drawer>("new", "Drawer", new);
        let create = CreateInFolder { folder: root(DatabaseId::FIRST), below: Vec::new(), object };
        not_found(world.repository.joint(create, by_reader()).await.err().map(|error| error.code));
        // A refusal does not count the hidden items either.
        let update = || UpdateDrawer {
            drawer,
            head: DrawerHeadUpdate { capacity: Some(1), ..DrawerHeadUpdate::default() },
            name: None,
            attributes: None,
            status: None,
        };
        let message = |outcome: Result<()>| outcome.expect_err("two items are more than one").message;
        let all = message(world.repository.joint(update(), by_editor()).await);
        let seen = message(world.repository.joint(update(), by_reader()).await);
        assert_eq!(all, "`capacity` must be at least the present count, 2, but is `1`.");
        assert_eq!(seen, "`capacity` must be at least the present count, but is `1`.");
        assert_eq!(world.items(drawer).await, [h1, s1]);
    });
}
