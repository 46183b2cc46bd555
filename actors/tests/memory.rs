//! The bounds on what containers and changes take: docs/OPERATION.md, "Memory".

use std::sync::Arc;
use std::time::Duration;

use stet_actors::repository::Repository;
use stet_actors::runtime::{ChangeRequest, RuntimeOptions};
use stet_domain::clock::ManualClock;
use stet_domain::command::{CallerIdentity, ChangeLimits};
use stet_domain::drawer::{AddDrawerItems, Drawer, DrawerItemAddress, NewDrawer};
use stet_domain::error::{Code, Error};
use stet_domain::family::State;
use stet_domain::folder::root;
use stet_domain::id::{DatabaseId, Loid};
use stet_domain::lifecycle::{CreateInFolder, DiscardObject, NewObject};
use stet_domain::object::{Reach, Record, SharedText};
use stet_domain::planning::topic::{
    AddTopicItem, ItemAddress, ItemFields, NewTopic, NewTopicItem, NewTopicLine, RemoveTopicItem, Topic, TopicItemPath,
    UpdateTopicItem,
};
use stet_domain::planning::{Line, LineupEntry};
use stet_domain::store::memory::MemoryStore;
use stet_domain::store::{ReadLevel, Row, RowChange, RowPlace, Store, encode_value};

const MAIN: Loid = root(DatabaseId::FIRST);

struct World {
    store: Arc<MemoryStore>,
    repository: Repository,
}

fn request() -> ChangeRequest {
    ChangeRequest::by(CallerIdentity { user: "editor".into(), session: "s".into(), address: None })
}

fn run<F: Future<Output = ()>>(options: RuntimeOptions, test: impl FnOnce(World) -> F) {
    actix::System::new().block_on(async {
        let store = Arc::new(MemoryStore::new());
        let clock = ManualClock::at(1_700_000_000_000);
        let repository = Repository::start(store.clone(), Arc::new(clock), options).await.unwrap();
        repository.make_roots(&[DatabaseId::FIRST]).await.unwrap();
        let all = test(World { store, repository });
        tokio::time::timeout(Duration::from_secs(60), all).await.expect("nothing hangs");
    });
}

impl World {
    async fn create_in(&self, folder: Loid, object: NewObject) -> Result<Loid, Error> {
        let create = CreateInFolder { folder, below: Vec::new(), object };
        Ok(self.repository.joint(create, request()).await?.loid)
    }

    /// A story with attributes of that many bytes.
    async fn story(&self, folder: Loid, name: &str, bytes: usize) -> Loid {
        let object = NewObject { attributes: Some(text(bytes)), ..NewObject::document(name, "Story") };
        self.create_in(folder, object).await.unwrap()
    }

    fn container_bytes(&self, loid: Loid) -> u64 {
        Record::find(&*self.store, ReadLevel::Latest, loid).unwrap().expect("it is there").container_bytes
    }
}

fn limited(limits: ChangeLimits) -> RuntimeOptions {
    RuntimeOptions { limits, ..RuntimeOptions::default() }
}

fn text(bytes: usize) -> SharedText {
    "x".repeat(bytes).into()
}

fn item_of(bytes: usize) -> ItemFields {
    ItemFields { name: Some("i".into()), comment: Some(text(bytes)), ..ItemFields::default() }
}

/// A new topic with items of 5,000 bytes.
fn topic_of(name: &str, lines: usize) -> NewObject {
    let line = || NewTopicLine::Item(Box::new(NewTopicItem { fields: item_of(5000), ..NewTopicItem::default() }));
    let new = NewTopic { lines: (0..lines).map(|_| line()).collect(), ..NewTopic::default() };
    NewObject::of::<Topic>(name, "Topic", new)
}

#[test]
fn a_container_grows_to_its_limit_and_no_further_and_may_shrink() {
    let options = limited(ChangeLimits { container_bytes: 40_000, ..ChangeLimits::default() });
    run(options, |world| async move {
        let topic = NewObject::of::<Topic>("t", "Topic", NewTopic::default());
        let topic = world.create_in(MAIN, topic).await.unwrap();
        let mut items = Vec::new();
        let add = || AddTopicItem { under: None, fields: item_of(5000), attachment: None, position: None };
        let refused = loop {
            match world.repository.execute(topic, add(), request()).await {
                Ok(done) => items.push(done.reply.item),
                Err(error) => break error,
            }
        };
        assert_eq!((refused.code, items.len()), (Code::TooLarge, 6), "{refused}");
        assert!(refused.message.contains("40000"), "{refused}");
        // The size in its record is its memory.
        let bytes = || async { world.repository.view::<Topic>(topic).await.unwrap().state.bytes() as u64 };
        assert_eq!(world.container_bytes(topic), bytes().await);
        // Small changes go on, and removals make room.
        let which = TopicItemPath { item: ItemAddress::Loid(items[0]), subitem: None };
        let update = UpdateTopicItem { which, fields: item_of(4000), attachment: None, position: None };
        world.repository.execute(topic, update, request()).await.unwrap();
        let remove = RemoveTopicItem { which };
        world.repository.execute(topic, remove, request()).await.unwrap();
        world.repository.execute(topic, add(), request()).await.unwrap();
        assert_eq!(world.container_bytes(topic), bytes().await);
    });
}

/// Regression test: with a record from before sizes were stored, any change of such a container
/// counted as growth.
#[test]
fn a_container_above_a_limit_that_was_lowered_may_shrink_and_not_grow() {
    run(RuntimeOptions::default(), |world| async move {
        let topic = world.create_in(MAIN, topic_of("t", 6)).await.unwrap();
        let record = Record::find(&*world.store, ReadLevel::Latest, topic).unwrap().expect("it is there");
        world.repository.shut_down().await;
        let options = limited(ChangeLimits { container_bytes: 20_000, ..ChangeLimits::default() });
        let clock = ManualClock::at(1_700_000_000_000);
        let repository = Repository::start(world.store.clone(), Arc::new(clock), options).await.unwrap();
        let old = Record { container_bytes: 0, ..record };
        let RowPlace { table, key } = old.place();
        let change = RowChange { table, key, value: Some(encode_value(Record::FORMAT, &old)) };
        repository.commit(|set| set.changes = vec![change]).await.unwrap();
        let view = repository.view::<Topic>(topic).await.unwrap();
        let item = view.state.lineup().visible().next().and_then(Line::member).expect("it has items").loid();
        let add = AddTopicItem { under: None, fields: item_of(10), attachment: None, position: None };
        assert_eq!(repository.execute(topic, add, request()).await.unwrap_err().code, Code::TooLarge);
        let remove = RemoveTopicItem { which: TopicItemPath { item: ItemAddress::Loid(item), subitem: None } };
        repository.execute(topic, remove, request()).await.unwrap();
    });
}

#[test]
fn a_new_container_states_its_size_and_is_held_to_the_limit() {
    let options = limited(ChangeLimits { container_bytes: 40_000, ..ChangeLimits::default() });
    run(options, |world| async move {
        let topic = |name: &str, lines: usize| world.create_in(MAIN, topic_of(name, lines));
        let made = topic("t", 6).await.unwrap();
        let view = world.repository.view::<Topic>(made).await.unwrap();
        assert_eq!(world.container_bytes(made), view.state.bytes() as u64);
        assert_eq!(topic("u", 7).await.unwrap_err().code, Code::TooLarge);
        // Nothing was created, so the name is free.
        topic("u", 1).await.unwrap();
    });
}

#[test]
fn a_change_that_would_store_too_much_is_refused_and_changes_nothing() {
    let options = limited(ChangeLimits { change_bytes: 100_000, ..ChangeLimits::default() });
    run(options, |world| async move {
        let topic = |lines: usize| {
            let fields = || ItemFields { attributes: Some(text(20_000)), ..ItemFields::default() };
            let line = || NewTopicLine::Item(Box::new(NewTopicItem { fields: fields(), ..NewTopicItem::default() }));
            let new = NewTopic { lines: (0..lines).map(|_| line()).collect(), ..NewTopic::default() };
            world.create_in(MAIN, NewObject::of::<Topic>("t", "Topic", new))
        };
        let refused = topic(5).await.unwrap_err();
        assert_eq!(refused.code, Code::TooLarge);
        assert!(refused.message.contains("100000 bytes"), "{refused}");
        topic(4).await.unwrap();
    });
}

#[test]
fn a_container_is_read_when_there_is_room_and_refused_while_all_is_in_use() {
    let options = RuntimeOptions { container_bytes: 300_000, ..RuntimeOptions::default() };
    run(options, |world| async move {
        let drawer = |name: &'static str| {
            let object = NewObject::of::<Drawer>(name, "Drawer", NewDrawer::empty(10));
            world.create_in(MAIN, NewObject { attributes: Some(text(200_000)), ..object })
        };
        let (busy, other) = (drawer("busy").await.unwrap(), drawer("other").await.unwrap());
        let story = world.story(MAIN, "s", 10).await;
        let count = async |drawer| world.repository.view::<Drawer>(drawer).await.map(|view| view.state.count());
        // The two drawers take turns: the unused one leaves memory.
        for _ in 0..3 {
            assert_eq!((count(busy).await, count(other).await), (Ok(0), Ok(0)));
        }
        assert_eq!(count(busy).await, Ok(0));
        world.store.hold();
        let add = AddDrawerItems { items: vec![DrawerItemAddress::Object(story)] };
        let mut adding = Box::pin(world.repository.execute(busy, add, request()));
        let refused = tokio::select! {
            _ = &mut adding => panic!("answered before the commit"),
            refused = count(other) => refused.unwrap_err(),
        };
        assert_eq!(refused.code, Code::Overloaded);
        assert!(refused.message.contains("try again"), "{refused}");
        // A command is refused likewise, and neither counts as a failure of the container.
        world.store.release();
        adding.await.unwrap();
        assert_eq!((count(other).await, count(busy).await), (Ok(0), Ok(1)));
        assert_eq!(world.repository.most_instances(), 1);
    });
}

#[test]
fn discard_steps_are_bounded_by_the_bytes_of_the_containers_they_read() {
    run(RuntimeOptions::default(), |world| async move {
        let steps = async |name: &'static str, bytes: usize| {
            let folder = world.create_in(MAIN, NewObject::folder(name)).await.unwrap();
            for number in 0..20 {
                world.story(folder, &format!("{number}"), bytes).await;
            }
            let before = world.store.committed();
            let discard = DiscardObject { object: folder, reach: Reach::All };
            world.repository.joint(discard, request()).await.unwrap();
            world.store.committed() - before
        };
        let (few, many) = (steps("small", 100).await, steps("large", 4_000_000).await);
        assert_eq!(few, 1, "256 objects are one step");
        // 32 MiB at a time are eight of them.
        assert!((3..=5).contains(&many), "{many}");
    });
}
