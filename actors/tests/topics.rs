//! The rules of topics and plans (docs/api/topics.md, docs/api/topic-plans.md): a random life
//! against plain lists, and one by one.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join_all;
use proptest::prelude::*;
use stet_actors::families::Families;
use stet_actors::repository::Repository;
use stet_actors::runtime::{ChangeRequest, RuntimeOptions};
use stet_domain::clock::ManualClock;
use stet_domain::command::{CallerIdentity, Command, Context, NumberSource};
use stet_domain::correlate::{CorrelatePair, LinkEnd, MakeLink};
use stet_domain::error::{Code, Error};
use stet_domain::family::State;
use stet_domain::folder::root;
use stet_domain::id::{DatabaseId, Loid};
use stet_domain::joint::JointCommand;
use stet_domain::lifecycle::{CreateInFolder, DestroyObject, DiscardObject, NewObject, RestoreObject};
use stet_domain::object::{CreateMode, Record, containers_of};
use stet_domain::planning::plan::{
    AddPlanTopic, MAX_MOVED_PLACES, MAX_MOVED_TOPICS, MovePlanTopics, NewPlan, NewPlanLine, RemovePlanTopic, TopicPlan,
};
use stet_domain::planning::topic::{
    self, AddTopicItem, AttachToItem, ItemAddress, ItemFields, MAX_ASSIGNEES, MoveTopicItems, NewTopic, NewTopicItem,
    NewTopicLine, RemoveTopicItem, TextOrNumber, Topic, TopicItem, TopicItemPath, UpdateTopic, UpdateTopicItem,
};
use stet_domain::planning::{
    AddDivider, Line, LineupEntry, MAX_DIVIDERS, MAX_LINES, NewDivider, RemoveDivider, UpdateDivider,
};
use stet_domain::proof::Proof;
use stet_domain::readable::{ObjectRights, ReadDecision};
use stet_domain::store::memory::MemoryStore;
use stet_domain::store::{
    BatchRoom, EventLog, KeyRange, ReadLevel, ResumeRequest, Row, RowReader, StoreError, Table, decode_value,
};

use crate::common::assert_sound;

const MAIN: Loid = root(DatabaseId::FIRST);

struct World {
    store: Arc<MemoryStore>,
    clock: ManualClock,
    repository: Repository,
}

async fn open(store: &Arc<MemoryStore>, clock: &ManualClock) -> Repository {
    let options = RuntimeOptions { arbiters: 2, ..RuntimeOptions::default() };
    Repository::start(store.clone(), Arc::new(clock.clone()), options).await.expect("a repository starts")
}

fn request() -> ChangeRequest {
    ChangeRequest::by(CallerIdentity { user: "editor".into(), session: "s".into(), address: None })
}

fn run<F: Future<Output = ()>>(test: impl FnOnce(World) -> F) {
    actix::System::new().block_on(async {
        let all = test(World::new().await);
        tokio::time::timeout(Duration::from_secs(60), all).await.expect("nothing hangs");
    });
}

/// Asserts that every index entry follows from a row, and that every container fits its family.
fn assert_proved(store: &MemoryStore) {
    assert_sound(Families::ALL, store);
    let mut faults = Vec::new();
    for ((table, _), value) in store.rows() {
        if matches!(table, Table::Objects | Table::Recycled) {
            let record: Record = decode_value(Record::FORMAT, &value).expect("a record can be read");
            let mut report = |fault| faults.push(fault);
            let mut proof = Proof::new(store, &|_, _| None, &mut report);
            Families::ALL.get(record.family).expect("it is listed").prove(&record, &mut proof).expect("readable");
        }
    }
    assert_eq!(faults, Vec::<String>::new());
}

impl World {
    async fn new() -> World {
        let store = Arc::new(MemoryStore::new());
        let clock = ManualClock::at(1_763_726_400_000);
        let repository = open(&store, &clock).await;
        repository.make_roots(&[DatabaseId::FIRST]).await.expect("roots can be made");
        World { store, clock, repository }
    }

    /// Shuts the repository down and opens it again.
    async fn reopen(&mut self) {
        self.repository.shut_down().await;
        self.repository = open(&self.store, &self.clock).await;
    }

    async fn joint<J: JointCommand>(&self, joint: J) -> Result<J::Reply, Error> {
        self.repository.joint(joint, request()).await
    }

    async fn execute<C: Command>(&self, container: Loid, command: C) -> Result<C::Reply, Error> {
        self.repository.execute(container, command, request()).await.map(|done| done.reply)
    }

    async fn create(&self, object: NewObject) -> Loid {
        self.joint(CreateInFolder { folder: MAIN, below: Vec::new(), object }).await.expect("it can be made").loid
    }

    async fn topic(&self, name: &str) -> Loid {
        self.create(NewObject::of::<Topic>(name, "Topic", NewTopic::default())).await
    }

    async fn plan(&self, name: &str) -> Loid {
        self.create(NewObject::of::<TopicPlan>(name, "TopicPlan", NewPlan::default())).await
    }

    async fn story(&self, name: &str) -> Loid {
        self.create(NewObject::document(name, "Story")).await
    }

    async fn add(&self, topic: Loid, under: Option<Loid>, name: &str, position: Option<i64>) -> Loid {
        let fields = ItemFields { name: Some(name.into()), ..ItemFields::default() };
        let add = AddTopicItem { under: under.map(ItemAddress::Loid), fields, attachment: None, position };
        self.execute(topic, add).await.expect("there is room").item
    }

    async fn divide(&self, topic: Loid, under: Option<Loid>, title: &str, position: Option<i64>) -> u64 {
        let divider = NewDivider { title: Some(title.into()), position };
        let add = AddDivider::<Topic> { under: under.map(ItemAddress::Loid), divider };
        self.execute(topic, add).await.expect("there is room").divider
    }

    /// Returns the lines of a topic in readable form.
    async fn tree(&self, topic: Loid) -> Vec<String> {
        let view = self.repository.view::<Topic>(topic).await.expect("the topic is there");
        let mut tree = Vec::new();
        for line in view.state.lineup().visible() {
            tree.push(line_text(line));
            if let Some(lineup) = line.member().and_then(|item| view.state.below(item.loid())) {
                tree.extend(lineup.visible().map(|line| format!("  {}", line_text(line))));
            }
        }
        tree
    }

    /// Returns the lines of a plan: topics by name, dividers in brackets.
    async fn planned(&self, plan: Loid) -> Vec<String> {
        let view = self.repository.view::<TopicPlan>(plan).await.expect("the plan is there");
        let text = |line: &Line<TopicPlan>| match line {
            Line::Member(planned) => {
                self.repository.any_record(planned.topic).expect("readable").expect("it is there").name.to_string()
            }
            Line::Divider(divider) => format!("[{}]", divider.title),
        };
        view.state.lineup().visible().map(text).collect()
    }

    async fn item(&self, topic: Loid, item: Loid) -> Arc<TopicItem> {
        let view = self.repository.view::<Topic>(topic).await.expect("the topic is there");
        view.state.get(ItemAddress::Loid(item)).expect("the item is there").clone()
    }

    fn holders(&self, object: Loid) -> Vec<Loid> {
        containers_of(&*self.store, ReadLevel::Committed, object).expect("the index can be read")
    }

    /// Returns the ids in the last event of a container.
    fn told(&self, container: Loid) -> Vec<String> {
        let all = ResumeRequest { container, after: 0, room: BatchRoom::of(usize::MAX, usize::MAX) };
        let (events, _) = self.store.events_of(&all).expect("the log can be read");
        events.last().expect("something has happened").ids.clone()
    }

    fn rows_of(&self, object: Loid) -> usize {
        let mentions = |key: &[u8]| key.windows(Loid::KEY_LEN).any(|window| *window == object.to_key());
        let rows = self.store.rows().into_iter();
        rows.filter(|((_, key), _)| mentions(key)).count()
    }
}

fn line_text(line: &Line<Topic>) -> String {
    match line {
        Line::Member(item) => {
            let attached = match item.attachment {
                None => "",
                Some(attached) if attached.hidden => " -",
                Some(_) => " +",
            };
            format!("{}{attached}", item.record.name)
        }
        Line::Divider(divider) => format!("[{}]", divider.title),
    }
}

fn item(item: Loid) -> TopicItemPath {
    TopicItemPath { item: ItemAddress::Loid(item), subitem: None }
}

fn subitem(item: Loid, subitem: Loid) -> TopicItemPath {
    TopicItemPath { item: ItemAddress::Loid(item), subitem: Some(ItemAddress::Loid(subitem)) }
}

fn update(which: TopicItemPath) -> UpdateTopicItem {
    UpdateTopicItem { which, fields: ItemFields::default(), attachment: None, position: None }
}

fn moved(items: &[Loid], target: Loid, position: Option<i64>) -> MoveTopicItems {
    let items = items.iter().map(|item| ItemAddress::Loid(*item)).collect();
    MoveTopicItems { items, target, position, changeable: None }
}

fn moved_topics(topics: &[Loid], target: Loid, position: Option<i64>) -> MovePlanTopics {
    MovePlanTopics { topics: topics.to_vec(), target, position, changeable: None }
}

fn restore(object: Loid) -> RestoreObject {
    RestoreObject { object, folder: None, mode: CreateMode::Exception, reach: stet_domain::object::Reach::All }
}

#[test]
fn items_and_dividers_share_one_order_in_the_topic_and_in_each_item() {
    run(|world| async move {
        let topic = world.topic("topic").await;
        let a = world.add(topic, None, "a", None).await;
        world.divide(topic, None, "d", Some(0)).await;
        world.add(topic, None, "b", Some(1)).await;
        world.add(topic, Some(a), "x", None).await;
        let e = world.divide(topic, Some(a), "e", Some(0)).await;
        world.add(topic, Some(a), "y", Some(-1)).await;
        assert_eq!(world.tree(topic).await, ["[d]", "b", "a", "  [e]", "  x", "  y"]);
        // Beyond the last is the end.
        world.execute(topic, UpdateTopicItem { position: Some(99), ..update(item(a)) }).await.expect("it is there");
        world.execute(topic, UpdateTopicItem { position: Some(0), ..update(item(a)) }).await.expect("it is there");
        let divider = NewDivider { title: Some("f".into()), position: Some(2) };
        let change = UpdateDivider::<Topic> { under: Some(ItemAddress::Loid(a)), id: e, divider };
        world.execute(topic, change).await.expect("it is there");
        assert_eq!(world.tree(topic).await, ["a", "  x", "  y", "  [f]", "[d]", "b"]);
        let wrong = world.execute(topic, UpdateTopicItem { position: Some(-2), ..update(item(a)) }).await;
        assert_eq!(wrong.unwrap_err().code, Code::InvalidParameter);
        // The divider of an item is none of the topic, and an item is none of its own subitems.
        let wrong = world.execute(topic, RemoveDivider::<Topic> { under: None, id: e }).await;
        assert_eq!(wrong.unwrap_err().code, Code::ObjectNotFound);
        for which in [subitem(a, a), subitem(a, Loid::new(DatabaseId::FIRST, 1 << 40))] {
            assert_eq!(world.execute(topic, RemoveTopicItem { which }).await.unwrap_err().code, Code::ObjectNotFound);
        }
        world.execute(topic, RemoveDivider::<Topic> { under: Some(ItemAddress::Loid(a)), id: e }).await.expect("there");
        assert_eq!(world.tree(topic).await, ["a", "  x", "  y", "[d]", "b"]);
        assert_proved(&world.store);
    });
}

#[test]
fn an_item_has_what_is_said_of_it_and_the_same_again_changes_nothing() {
    run(|world| async move {
        let topic = world.topic("topic").await;
        let loid = world.add(topic, None, "Interview: \"Mayor\" | City", None).await;
        assert_eq!(
            &*world.item(topic, loid).await.record.name,
            "Interview: \"Mayor\" | City",
            "items keep their names"
        );
        let fields = ItemFields {
            content_type: Some("Story".into()),
            comment: Some("Ask about the bridge".into()),
            occupation: Some("writer".into()),
            priority: Some(TextOrNumber::Number(2)),
            custom_priority: Some(TextOrNumber::Text("red".into())),
            product: Some("Daily".into()),
            edition: Some("First".into()),
            assignees: Some(vec!["ada".into(), "grace".into()]),
            due: Some(Some(1_763_740_000)),
            status: Some("Topic/Accepted".into()),
            attributes: Some("<a>1</a>".into()),
            ..ItemFields::default()
        };
        let said = UpdateTopicItem { fields, ..update(item(loid)) };
        world.execute(topic, said.clone()).await.expect("it can be said");
        let there = world.item(topic, loid).await;
        let texts = [&there.content_type, &there.comment, &there.occupation, &there.product, &there.edition];
        assert_eq!(texts.map(|text| &**text), ["Story", "Ask about the bridge", "writer", "Daily", "First"]);
        assert_eq!(
            (&there.priority, &there.custom_priority),
            (&TextOrNumber::Number(2), &TextOrNumber::Text("red".into()))
        );
        assert_eq!((there.assignees.len(), there.due), (2, Some(1_763_740_000)));
        assert_eq!(there.record.status.as_deref(), Some("Topic/Accepted"));
        let revision = world.repository.record(topic).unwrap().unwrap().revision;
        assert_eq!(there.record.revision, revision);
        world.execute(topic, said).await.expect("it can be said again");
        assert_eq!(world.repository.record(topic).unwrap().unwrap().revision, revision);
        let none = ItemFields { due: Some(None), ..ItemFields::default() };
        world
            .execute(topic, UpdateTopicItem { fields: none, ..update(item(loid)) })
            .await
            .expect("it can be taken back");
        assert_eq!(world.item(topic, loid).await.due, None);

        let long = |fields| UpdateTopicItem { fields, ..update(item(loid)) };
        let too_long = ItemFields { comment: Some("x".repeat(9000).as_str().into()), ..ItemFields::default() };
        let too_late = ItemFields { due: Some(Some(u64::MAX)), ..ItemFields::default() };
        let nameless = ItemFields { name: Some("..".into()), ..ItemFields::default() };
        let many = ItemFields { assignees: Some(vec!["x".into(); MAX_ASSIGNEES + 1]), ..ItemFields::default() };
        for (fields, code) in [
            (too_long, Code::InvalidParameter),
            (too_late, Code::InvalidParameter),
            (nameless, Code::InvalidName),
            (many, Code::TooLarge),
        ] {
            assert_eq!(world.execute(topic, long(fields)).await.unwrap_err().code, code);
        }
        let nothing = AddTopicItem { under: None, fields: ItemFields::default(), attachment: None, position: None };
        assert_eq!(world.execute(topic, nothing).await.unwrap_err().code, Code::InvalidName);
        world.execute(topic, RemoveTopicItem { which: item(loid) }).await.expect("it is there");
        assert_eq!(world.rows_of(loid), 0, "nothing of it is left");
        assert_proved(&world.store);
    });
}

#[test]
fn a_move_tells_each_container_of_what_has_left_it_or_come() {
    run(|world| async move {
        let texts = |loids: &[Loid]| loids.iter().map(Loid::to_string).collect::<Vec<_>>();
        let (target, plan) = (world.topic("target").await, world.plan("target-plan").await);
        let (mut topics, mut plans, mut items) = (Vec::new(), Vec::new(), Vec::new());
        let mut wanted = Vec::new();
        for number in 0..20 {
            let topic = world.topic(&format!("topic-{number}")).await;
            let of_it = [world.add(topic, None, "a", None).await, world.add(topic, None, "b", None).await];
            let old = world.plan(&format!("plan-{number}")).await;
            world.execute(old, AddPlanTopic { topic, position: None }).await.expect("it can be added");
            topics.push(topic);
            plans.push(old);
            items.extend(of_it);
            wanted.push(texts(&of_it));
        }
        let there = world.add(target, None, "there", None).await;
        items.push(there);
        world.joint(moved(&items, target, Some(0))).await.expect("they can be moved");
        assert_eq!(world.told(target), texts(&items));
        for (topic, items) in topics.iter().zip(wanted) {
            assert_eq!(world.told(*topic), items);
        }
        world.joint(moved_topics(&topics, plan, None)).await.expect("they can be moved");
        assert_eq!(world.told(plan), texts(&topics));
        for (old, topic) in plans.iter().zip(&topics) {
            assert_eq!(world.told(*old), texts(&[*topic]));
        }
    });
}

/// Rights to read everything, with a count of the decisions that begin without earlier results.
#[derive(Debug, Default)]
struct Afresh(AtomicUsize);

impl ObjectRights for Afresh {
    fn over<'a>(&'a self, _: &'a dyn RowReader) -> stet_domain::error::Result<ReadDecision<'a>> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(Box::new(|_| Ok(true)))
    }
}

#[test]
fn rights_found_out_for_one_topic_of_a_move_serve_the_others() {
    run(|world| async move {
        let (plan, mut topics) = (world.plan("plan").await, Vec::new());
        for number in 0..30 {
            topics.push(world.topic(&format!("topic-{number}")).await);
        }
        let (reads, changes) = (Arc::new(Afresh::default()), Arc::new(Afresh::default()));
        let asking = ChangeRequest { readable: Some(reads.clone()), ..request() };
        let moving = MovePlanTopics { changeable: Some(changes.clone()), ..moved_topics(&topics, plan, None) };
        world.repository.joint(moving, asking).await.expect("they can be moved");
        assert_eq!((reads.0.load(Ordering::Relaxed), changes.0.load(Ordering::Relaxed)), (1, 1));
        let lines = topics.iter().map(|topic| NewPlanLine::Topic(*topic)).collect();
        let object = NewObject::of::<TopicPlan>("other", "TopicPlan", NewPlan { lines, ..NewPlan::default() });
        let asking = ChangeRequest { readable: Some(reads.clone()), ..request() };
        let create = CreateInFolder { folder: MAIN, below: Vec::new(), object };
        world.repository.joint(create, asking).await.expect("it can be made");
        assert_eq!(reads.0.load(Ordering::Relaxed), 2);
    });
}

#[test]
fn a_move_of_topics_has_bounds_for_all_wait_for_it() {
    run(|world| async move {
        let (from, to, mut topics) = (world.plan("from").await, world.plan("to").await, Vec::new());
        for number in 0..=MAX_MOVED_TOPICS {
            let topic = world.topic(&format!("topic-{number}")).await;
            world.execute(from, AddPlanTopic { topic, position: None }).await.expect("there is room");
            topics.push(topic);
        }
        let refused = world.joint(moved_topics(&topics, to, None)).await.expect_err("they are too many");
        assert_eq!(
            (refused.code, &refused.details.expect("it has some")["limit"]),
            (Code::TooLarge, &MAX_MOVED_TOPICS.into())
        );
        // One that is named twice is one.
        let again = [&topics[..MAX_MOVED_TOPICS], &topics[..9]].concat();
        world.joint(moved_topics(&again, to, None)).await.expect("they are not too many");
        assert_eq!(world.planned(from).await, [format!("topic-{MAX_MOVED_TOPICS}")]);
        assert_eq!(world.planned(to).await.len(), MAX_MOVED_TOPICS);

        // All that holds a topic is looked through for plans: it stands in one, and hangs on items
        // of other topics.
        let held = topics[0];
        let fields = ItemFields { name: Some("a".into()), ..ItemFields::default() };
        let add = AddTopicItem { under: None, fields, attachment: Some(held), position: None };
        let hold = async |number: usize| {
            let holder = world.topic(&format!("holder-{number}")).await;
            // Of a container that holds it often no more is looked at than of another.
            for _ in 0..2 {
                world.execute(holder, add.clone()).await.expect("there is room");
            }
        };
        for number in 1..MAX_MOVED_PLACES {
            hold(number).await;
        }
        world.joint(moved_topics(&[held], from, None)).await.expect("it stands in no more places than are looked at");
        hold(0).await;
        let refused = world.joint(moved_topics(&[topics[1], held], to, None)).await.expect_err("it stands in too many");
        assert_eq!(
            (refused.code, &refused.details.expect("it has some")["limit"]),
            (Code::TooLarge, &MAX_MOVED_PLACES.into())
        );
        assert_eq!(world.planned(from).await.len(), 2, "nothing was moved");
        assert_proved(&world.store);
    });
}

/// A store whose reads are counted.
struct Looked<'a> {
    store: &'a MemoryStore,
    gets: AtomicUsize,
    scans: AtomicUsize,
}

impl RowReader for Looked<'_> {
    fn get(&self, view: ReadLevel, table: Table, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        self.gets.fetch_add(1, Ordering::Relaxed);
        self.store.get(view, table, key)
    }

    fn scan(
        &self,
        view: ReadLevel,
        table: Table,
        range: &KeyRange,
        limit: usize,
        reverse: bool,
    ) -> Result<Vec<(Bytes, Bytes)>, StoreError> {
        self.scans.fetch_add(1, Ordering::Relaxed);
        self.store.scan(view, table, range, limit, reverse)
    }
}

/// A number source that must not be used.
struct NoNumbers;

impl NumberSource for NoNumbers {
    fn next(&self) -> stet_domain::error::Result<u64> {
        unreachable!("nothing is made")
    }
}

fn link(source: LinkEnd, target: LinkEnd) -> MakeLink {
    let pair = CorrelatePair { source, source_name: "to".into(), target, target_name: "from".into() };
    MakeLink { pair, ticket: |_, _| None }
}

#[test]
fn a_removal_reads_once_for_each_line_however_many_go_with_it() {
    const LINES: usize = 300;
    run(|world| async move {
        let topic = world.topic("topic").await;
        let large = world.add(topic, None, "large", None).await;
        for number in 1..LINES {
            world.add(topic, Some(large), &format!("s{number}"), None).await;
        }
        // One of them has a link, and so has an item that is created among them and stays.
        let story = world.story("story").await;
        let stays = world.add(topic, None, "stays", None).await;
        let last = world.add(topic, Some(large), "last", None).await;
        for item in [stays, last] {
            let (item, story) =
                (LinkEnd { container: topic, item: Some(item) }, LinkEnd { container: story, item: None });
            world.joint(link(item, story)).await.expect("they can be linked");
        }
        let mut state = world.repository.view::<Topic>(topic).await.expect("the topic is there").state.clone();
        let look = Looked { store: &world.store, gets: AtomicUsize::new(0), scans: AtomicUsize::new(0) };
        let who = request().who;
        let mut context = Context::new(1_763_726_400_000, &who, &look, &NoNumbers);
        RemoveTopicItem { which: item(large) }.apply(&mut state, &mut context).expect("it is there");
        assert_eq!(state.lines(), 1);
        let (gets, scans) = (look.gets.into_inner(), look.scans.into_inner());
        assert!(gets <= LINES + 2 && scans <= 4, "{gets} and {scans} reads");
    });
}

#[test]
fn removed_items_leave_no_links_by_whomever_they_were_made() {
    run(|world| async move {
        let (topic, story) = (world.topic("topic").await, world.story("story").await);
        let of_story = LinkEnd { container: story, item: None };
        // Few links among many lines, and more links than lines.
        for (name, subitems, links) in [("few", 12, 1), ("many", 3, 3)] {
            let parent = world.add(topic, None, name, None).await;
            let mut below = Vec::new();
            for _ in 0..subitems {
                let fields =
                    ItemFields { name: Some("s".into()), attributes: Some("<a>1</a>".into()), ..ItemFields::default() };
                let add =
                    AddTopicItem { under: Some(ItemAddress::Loid(parent)), fields, attachment: None, position: None };
                below.push(world.execute(topic, add).await.expect("there is room").item);
                world.add(topic, None, "stays", None).await;
            }
            let end = |item: Loid| LinkEnd { container: topic, item: Some(item) };
            for item in &below[..links] {
                world.joint(link(end(*item), of_story)).await.expect("they can be linked");
                world.joint(link(of_story, end(parent))).await.map(drop).expect("they can be linked");
                world.joint(link(end(*item), end(below[links - 1]))).await.map(drop).unwrap_or_default();
            }
            let other = world.add(topic, None, "other", None).await;
            world.joint(link(end(other), of_story)).await.expect("they can be linked");
            world.execute(topic, RemoveTopicItem { which: item(parent) }).await.expect("it is there");
            for gone in below.iter().chain([&parent]) {
                assert_eq!(world.rows_of(*gone), 0, "{name}: nothing of it is left");
            }
            assert!(world.rows_of(other) > 3, "{name}: the link of another is there");
            assert_proved(&world.store);
        }
    });
}

#[test]
fn the_folder_tells_of_a_new_topic_and_of_all_that_it_begins_with() {
    run(|world| async move {
        let item = |name: &str, lines| {
            let fields = ItemFields { name: Some(name.into()), ..ItemFields::default() };
            NewTopicLine::Item(Box::new(NewTopicItem { fields, attachment: None, lines }))
        };
        let lines = vec![item("a", vec![item("b", Vec::new())]), NewTopicLine::Divider("d".into())];
        let new = NewTopic { lines, ..NewTopic::default() };
        let object = NewObject::of::<Topic>("topic", "Topic", new);
        // The folder in between is new, too, and has no event of its own.
        let create = CreateInFolder { folder: MAIN, below: vec!["Below".to_owned()], object };
        let topic = world.joint(create).await.expect("it can be made").loid;
        let told = world.told(MAIN);
        assert_eq!((told.len(), told.last()), (5, Some(&topic.to_string())));
        let view = world.repository.view::<Topic>(topic).await.expect("the topic is there");
        for item in view.state.lineup().members() {
            assert!(told.contains(&item.loid().to_string()), "{told:?}");
        }
    });
}

#[test]
fn no_more_is_moved_at_once_than_a_change_may_write() {
    run(|world| async move {
        let (from, to) = (world.topic("from").await, world.topic("to").await);
        let large = world.add(from, None, "large", None).await;
        let comment = "x".repeat(8192).as_str().into();
        let fields = ItemFields { name: Some("s".into()), comment: Some(comment), ..ItemFields::default() };
        let add = AddTopicItem { under: Some(ItemAddress::Loid(large)), fields, attachment: None, position: None };
        let mut below = Vec::new();
        for _ in 0..=topic::MAX_MOVED_BYTES / (8192 + 1024) {
            below.push(world.execute(from, add.clone()).await.expect("there is room").item);
        }
        let whole = world.tree(from).await;
        let refused = world.joint(moved(&[large], to, None)).await.unwrap_err();
        assert_eq!(refused.code, Code::TooLarge);
        assert_eq!((world.tree(from).await, world.tree(to).await), (whole, Vec::new()));
        for item in below.drain(..below.len() / 2) {
            world.execute(from, RemoveTopicItem { which: subitem(large, item) }).await.expect("it is there");
        }
        world.joint(moved(&[large], to, None)).await.expect("it is small enough");
        assert_eq!((world.tree(from).await.len(), world.tree(to).await.len()), (0, 1 + below.len()));
    });
}

#[test]
fn an_attachment_is_replaced_is_hidden_comes_back_and_goes() {
    run(|world| async move {
        let (topic, other) = (world.topic("topic").await, world.topic("other").await);
        let (story, picture) = (world.story("story").await, world.story("picture").await);
        let (a, b) = (world.add(topic, None, "a", None).await, world.add(topic, None, "b", None).await);
        let x = world.add(topic, Some(b), "x", None).await;
        for which in [item(a), item(b), subitem(b, x)] {
            world.execute(topic, AttachToItem { which, object: story }).await.expect("it can be attached");
        }
        assert_eq!(world.tree(topic).await, ["a +", "b +", "  x +"], "one object hangs on several items");
        world.execute(topic, UpdateTopicItem { attachment: Some(None), ..update(item(a)) }).await.expect("it is there");
        assert_eq!(world.tree(topic).await, ["a", "b +", "  x +"], "taking one away leaves the others");
        world.execute(topic, AttachToItem { which: item(b), object: picture }).await.expect("it can be attached");
        assert_eq!(world.item(topic, b).await.attachment.map(|attached| attached.object), Some(picture));

        world
            .joint(DiscardObject { object: story, reach: stet_domain::object::Reach::All })
            .await
            .expect("it can be discarded");
        assert_eq!(world.tree(topic).await, ["a", "b +", "  x -"]);
        let refused = world.execute(topic, AttachToItem { which: item(a), object: story }).await.unwrap_err();
        assert_eq!(refused.code, Code::ObjectNotFound, "it lies in the recycle bin");
        world.joint(restore(story)).await.expect("it can be restored");
        assert_eq!(world.tree(topic).await, ["a", "b +", "  x +"]);
        world.joint(DestroyObject { object: story }).await.expect("it can be destroyed");
        assert_eq!(world.tree(topic).await, ["a", "b +", "  x"]);
        assert_eq!((world.holders(story), world.rows_of(story)), (Vec::new(), 0));

        let own = world.execute(topic, AttachToItem { which: item(a), object: topic }).await.unwrap_err();
        assert_eq!(own.code, Code::InvalidForContainer);
        // Topics may hang on each other's items.
        let mutual = world.add(other, None, "m", None).await;
        world.execute(other, AttachToItem { which: item(mutual), object: topic }).await.expect("it can be attached");
        world.execute(topic, AttachToItem { which: item(a), object: other }).await.expect("it can be attached");
        world.joint(DestroyObject { object: topic }).await.expect("it can be destroyed");
        assert_eq!(world.tree(other).await, ["m"]);
        assert_eq!([topic, a, b, x].map(|gone| world.rows_of(gone)), [0; 4]);
        assert_proved(&world.store);
    });
}

#[test]
fn moved_items_keep_their_subtree_and_moved_subitems_become_items() {
    run(|mut world| async move {
        let (from, to) = (world.topic("from").await, world.topic("to").await);
        let story = world.story("story").await;
        let a = world.add(from, None, "a", None).await;
        let b = world.add(from, None, "b", None).await;
        let x = world.add(from, Some(b), "x", None).await;
        world.divide(from, Some(b), "d", None).await;
        let y = world.add(from, Some(b), "y", None).await;
        world.execute(from, AttachToItem { which: item(b), object: story }).await.expect("it can be attached");
        for name in ["1", "2"] {
            world.add(to, None, name, None).await;
        }
        world.joint(moved(&[b], to, Some(1))).await.expect("it can be moved");
        assert_eq!(world.tree(from).await, ["a"]);
        assert_eq!(world.tree(to).await, ["1", "b +", "  x", "  [d]", "  y", "2"]);
        assert_eq!(world.holders(story), [to]);
        let there = world.item(to, b).await;
        assert_eq!((there.record.folder(), &*there.record.type_name), (Some(to), topic::ITEM_TYPE));

        // An item and its subitem, named together, in the order given; and within one topic.
        world.joint(moved(&[x, b, a, x], to, Some(0))).await.expect("they can be moved");
        assert_eq!(world.tree(to).await, ["x", "b +", "  [d]", "  y", "a", "1", "2"]);
        assert_eq!(&*world.item(to, x).await.record.type_name, topic::ITEM_TYPE);
        assert_eq!(&*world.item(to, y).await.record.type_name, topic::SUBITEM_TYPE);
        world.joint(moved(&[y, b], from, None)).await.expect("they can be moved");
        assert_eq!(world.tree(from).await, ["y", "b +", "  [d]"]);
        let before = (world.tree(from).await, world.tree(to).await);
        let nowhere = moved(&[y, story], to, None);
        assert_eq!(world.joint(nowhere).await.unwrap_err().code, Code::ObjectNotFound, "all or none");
        assert_eq!((world.tree(from).await, world.tree(to).await), before);
        assert_proved(&world.store);
        world.reopen().await;
        assert_eq!((world.tree(from).await, world.tree(to).await), before);
        world
            .joint(DiscardObject { object: story, reach: stet_domain::object::Reach::All })
            .await
            .expect("it can be discarded");
        assert_eq!(world.tree(from).await, ["y", "b -", "  [d]"]);
    });
}

#[test]
fn a_topic_stands_in_a_plan_once_and_a_plan_hears_what_becomes_of_it() {
    run(|mut world| async move {
        let (plan, other) = (world.plan("plan").await, world.plan("other").await);
        let mut topics = Vec::new();
        for name in ["a", "b", "c"] {
            let topic = world.topic(name).await;
            world.execute(plan, AddPlanTopic { topic, position: None }).await.expect("it can be added");
            topics.push(topic);
        }
        let [a, b, c] = topics[..] else { unreachable!() };
        let divider = NewDivider { title: Some("d".into()), position: Some(1) };
        let divider =
            world.execute(plan, AddDivider::<TopicPlan> { under: (), divider }).await.expect("there is room").divider;
        assert_eq!(world.planned(plan).await, ["a", "[d]", "b", "c"]);
        let revision = || world.repository.record(plan).unwrap().unwrap().revision;
        let before = revision();
        world.execute(plan, AddPlanTopic { topic: a, position: None }).await.expect("it is there");
        world.execute(plan, AddPlanTopic { topic: c, position: Some(3) }).await.expect("it stands there");
        assert_eq!(revision(), before, "the same again changes nothing");
        world.execute(plan, AddPlanTopic { topic: c, position: Some(0) }).await.expect("it is there");
        assert_eq!(world.planned(plan).await, ["c", "a", "[d]", "b"]);

        world
            .joint(DiscardObject { object: a, reach: stet_domain::object::Reach::All })
            .await
            .expect("it can be discarded");
        assert_eq!(world.planned(plan).await, ["c", "[d]", "b"]);
        let hidden = world.execute(plan, RemovePlanTopic { topic: a }).await.unwrap_err();
        assert_eq!(hidden.code, Code::ObjectNotFound);
        world.joint(restore(a)).await.expect("it can be restored");
        assert_eq!(world.planned(plan).await, ["c", "a", "[d]", "b"], "where it was");
        world.execute(plan, RemovePlanTopic { topic: b }).await.expect("it is there");
        assert!(world.repository.record(b).unwrap().is_some(), "the topic stays");
        let gone = world.execute(plan, RemovePlanTopic { topic: b }).await.unwrap_err();
        assert_eq!(gone.code, Code::ObjectNotFound);

        let story = world.story("story").await;
        for (object, code) in [(story, Code::InvalidForContainer), (plan, Code::InvalidForContainer)] {
            let refused = world.execute(plan, AddPlanTopic { topic: object, position: None }).await.unwrap_err();
            assert_eq!(refused.code, code);
        }
        world.joint(moved_topics(&[b, c, b, a], other, Some(0))).await.expect("they can be moved");
        assert_eq!(
            (world.planned(plan).await, world.planned(other).await),
            (vec!["[d]".into()], vec!["b".into(), "c".into(), "a".into()])
        );
        let all = moved_topics(&[a, story], plan, None);
        assert_eq!(world.joint(all).await.unwrap_err().code, Code::InvalidForContainer, "all or none");
        assert_eq!(world.planned(other).await, ["b", "c", "a"]);
        world.joint(moved_topics(&[a, b], other, Some(1))).await.expect("they can be moved");
        assert_eq!(world.planned(other).await, ["c", "a", "b"]);
        world.joint(DestroyObject { object: c }).await.expect("it can be destroyed");
        assert_eq!(world.planned(other).await, ["a", "b"]);
        assert_eq!((world.holders(c), world.rows_of(c)), (Vec::new(), 0), "no trace");
        let divider_title = NewDivider { title: Some("e".into()), position: None };
        let change = UpdateDivider::<TopicPlan> { under: (), id: divider, divider: divider_title };
        world.execute(plan, change).await.expect("it is there");
        assert_eq!(world.planned(plan).await, ["[e]"]);
        assert_proved(&world.store);
        world.reopen().await;
        assert_eq!(world.planned(other).await, ["a", "b"]);
        world.joint(DestroyObject { object: other }).await.expect("it can be destroyed");
        assert_eq!((world.holders(a), world.rows_of(other)), (Vec::new(), 0));
        world.execute(plan, RemoveDivider::<TopicPlan> { under: (), id: divider }).await.expect("it is there");
        assert_eq!(world.planned(plan).await, Vec::<String>::new());
        assert_proved(&world.store);
    });
}

#[test]
fn topics_start_with_template_lines_and_are_overwritten_as_the_mode_says() {
    run(|world| async move {
        let named = |name: &str| ItemFields { name: Some(name.into()), ..ItemFields::default() };
        let below = vec![NewTopicLine::Divider("d".into()), new_line(named("x"), Vec::new())];
        let lines = vec![new_line(named("a"), below), NewTopicLine::Divider("e".into())];
        let new = NewTopic { title: Some("T".into()), lines, ..NewTopic::default() };
        let make = |mode, new: &NewTopic| {
            let mut object = NewObject::of::<Topic>("topic", "Topic", new.clone());
            object.mode = mode;
            CreateInFolder { folder: MAIN, below: Vec::new(), object }
        };
        let topic = world.joint(make(CreateMode::Exception, &new)).await.expect("it can be made").loid;
        let all = ["a", "  [d]", "  x", "[e]"];
        assert_eq!(world.tree(topic).await, all);
        // Cached replies about an item are distinguished by its revision, so the first change must
        // raise it.
        let first =
            world.repository.view::<Topic>(topic).await.unwrap().state.lineup().members().next().cloned().unwrap();
        let comment = ItemFields { comment: Some("c".into()), ..ItemFields::default() };
        world
            .execute(topic, UpdateTopicItem { fields: comment, ..update(item(first.loid())) })
            .await
            .expect("it is there");
        let changed = world.item(topic, first.loid()).await;
        assert!(first.record.revision < changed.record.revision, "{} stays", first.record.revision);
        world.joint(make(CreateMode::NewVersion, &NewTopic::default())).await.expect("it can be written over");
        assert_eq!(world.tree(topic).await, all);
        let head = async || world.repository.view::<Topic>(topic).await.unwrap().state.head().clone();
        assert_eq!(&*head().await.title, "T");
        let said = UpdateTopic {
            topic,
            title: None,
            description: Some("D".into()),
            name: Some("re:named".into()),
            attributes: None,
            status: None,
        };
        world.joint(said).await.expect("it can be changed");
        assert_eq!((&*head().await.title, &*head().await.description), ("T", "D"));
        assert_eq!(&*world.repository.record(topic).unwrap().unwrap().name, "re_named");
        let back = UpdateTopic {
            topic,
            title: None,
            description: None,
            name: Some("topic".into()),
            attributes: None,
            status: None,
        };
        world.joint(back).await.expect("it can be renamed");
        world.joint(make(CreateMode::Replace, &NewTopic::default())).await.expect("it can be replaced");
        assert_eq!((world.tree(topic).await, &*head().await.title), (Vec::<String>::new(), ""));
        let many = NewTopic { lines: vec![NewTopicLine::Divider("d".into()); 1001], ..NewTopic::default() };
        assert_eq!(world.joint(make(CreateMode::Replace, &many)).await.unwrap_err().code, Code::TooLarge);
        assert_proved(&world.store);
    });
}

fn new_line(fields: ItemFields, lines: Vec<NewTopicLine>) -> NewTopicLine {
    NewTopicLine::Item(Box::new(NewTopicItem { fields, attachment: None, lines }))
}

#[test]
fn a_topic_has_so_many_lines_and_no_more() {
    run(|world| async move {
        let (topic, other) = (world.topic("topic").await, world.topic("other").await);
        let named = ItemFields { name: Some("i".into()), ..ItemFields::default() };
        let fill = |lines: Vec<NewTopicLine>| {
            let mut object = NewObject::of::<Topic>("topic", "Topic", NewTopic { lines, ..NewTopic::default() });
            object.mode = CreateMode::NewVersion;
            CreateInFolder { folder: MAIN, below: Vec::new(), object }
        };
        for _ in 0..MAX_LINES / 1000 {
            let lines = vec![new_line(named.clone(), Vec::new()); 1000];
            world.joint(fill(lines)).await.expect("there is room");
        }
        let one_more = world.joint(fill(vec![new_line(named.clone(), Vec::new())])).await.unwrap_err();
        let divider = NewDivider { title: None, position: None };
        let divided = AddDivider::<Topic> { under: None, divider: divider.clone() };
        let divided = world.execute(topic, divided).await.unwrap_err();
        let a = world.add(other, None, "a", None).await;
        let moved = world.joint(moved(&[a], topic, None)).await.unwrap_err();
        let added = AddTopicItem { under: None, fields: named, attachment: None, position: None };
        let added = world.execute(topic, added).await.unwrap_err();
        assert_eq!([one_more, divided, moved, added].map(|error| error.code), [Code::TooLarge; 4]);
        assert_eq!(world.tree(other).await, ["a"]);

        let plan = world.plan("plan").await;
        for _ in 0..MAX_DIVIDERS {
            let add = AddDivider::<Topic> { under: Some(ItemAddress::Loid(a)), divider: divider.clone() };
            world.execute(other, add).await.expect("there is room");
            world
                .execute(plan, AddDivider::<TopicPlan> { under: (), divider: divider.clone() })
                .await
                .expect("there is room");
        }
        let add = AddDivider::<Topic> { under: Some(ItemAddress::Loid(a)), divider: divider.clone() };
        assert_eq!(world.execute(other, add).await.unwrap_err().code, Code::TooLarge);
        let add = AddDivider::<TopicPlan> { under: (), divider: divider.clone() };
        assert_eq!(world.execute(plan, add).await.unwrap_err().code, Code::TooLarge);
        // Another order has room of its own.
        world.execute(other, AddDivider::<Topic> { under: None, divider }).await.expect("there is room");
    });
}

/// Opposite concurrent moves of the same items: none is lost or duplicated, and all of them end.
#[test]
fn opposite_moves_at_once_lose_nothing() {
    run(|world| async move {
        let (left, right) = (world.topic("left").await, world.topic("right").await);
        let (plan, other) = (world.plan("plan").await, world.plan("other").await);
        let mut items = Vec::new();
        for number in 0..4 {
            let item = world.add(left, None, &format!("i{number}"), None).await;
            world.add(left, Some(item), &format!("s{number}"), None).await;
            items.push(item);
        }
        world.execute(plan, AddPlanTopic { topic: left, position: None }).await.expect("it can be added");
        for round in 0..50 {
            let mut moves = Vec::new();
            for (number, item) in items.iter().enumerate() {
                let (from, to) = if (round + number) % 2 == 0 { (left, right) } else { (right, left) };
                moves.push(world.joint(moved(&[*item], to, Some(0))));
                moves.push(world.joint(moved(&[*item], from, None)));
            }
            let turns = [plan, other].map(|target| world.joint(moved_topics(&[left, right], target, None)));
            let (done, plans) = futures_util::future::join(join_all(moves), join_all(turns)).await;
            // Wherever they are by then: an item that has been moved elsewhere is not gone.
            done.into_iter().for_each(|moved| drop(moved.expect("items can be moved")));
            plans.into_iter().for_each(|moved| drop(moved.expect("topics can be moved")));
            let mut all = [world.tree(left).await, world.tree(right).await].concat();
            all.sort();
            assert_eq!(all, ["  s0", "  s1", "  s2", "  s3", "i0", "i1", "i2", "i3"]);
            assert_eq!([world.planned(plan).await, world.planned(other).await].concat(), ["left", "right"]);
        }
        assert_proved(&world.store);
    });
}

const TOPICS: usize = 2;
const STORIES: usize = 3;

/// A step of a random life. Numbers count modulo the number of existing things.
#[derive(Debug, Clone)]
enum Step {
    Add {
        topic: usize,
        under: Option<usize>,
        position: i64,
    },
    Divide {
        topic: usize,
        under: Option<usize>,
        position: i64,
    },
    Shift {
        topic: usize,
        line: usize,
        position: i64,
    },
    Remove {
        topic: usize,
        line: usize,
    },
    Attach {
        topic: usize,
        line: usize,
        story: usize,
    },
    Detach {
        topic: usize,
        line: usize,
    },
    Move {
        picks: Vec<(usize, usize)>,
        target: usize,
        position: i64,
    },
    Discard(usize),
    Restore(usize),
    /// Destroys an object, and creates another of the same name.
    Destroy(usize),
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    let (topic, line, story, position) = (0..TOPICS, 0..20usize, 0..STORIES, -1..6i64);
    let under = || prop::option::weighted(0.4, 0..20usize);
    prop_oneof![
        4 => (topic.clone(), under(), position.clone())
            .prop_map(|(topic, under, position)| Step::Add { topic, under, position }),
        2 => (topic.clone(), under(), position.clone())
            .prop_map(|(topic, under, position)| Step::Divide { topic, under, position }),
        2 => (topic.clone(), line.clone(), position.clone())
            .prop_map(|(topic, line, position)| Step::Shift { topic, line, position }),
        1 => (topic.clone(), line.clone()).prop_map(|(topic, line)| Step::Remove { topic, line }),
        2 => (topic.clone(), line.clone(), story.clone())
            .prop_map(|(topic, line, story)| Step::Attach { topic, line, story }),
        1 => (topic.clone(), line.clone()).prop_map(|(topic, line)| Step::Detach { topic, line }),
        3 => (prop::collection::vec((topic.clone(), line), 1..4), topic, position)
            .prop_map(|(picks, target, position)| Step::Move { picks, target, position }),
        1 => story.clone().prop_map(Step::Discard),
        1 => story.clone().prop_map(Step::Restore),
        1 => story.prop_map(Step::Destroy),
        1 => Just(Step::Reopen),
    ]
}

/// A line as anyone would write it down.
#[derive(Debug, Clone, PartialEq)]
struct Written {
    name: String,
    /// The item; `None` for a divider.
    item: Option<Loid>,
    divider: Option<u64>,
    story: Option<usize>,
    below: Vec<Written>,
}

struct Life {
    world: World,
    topics: Vec<Loid>,
    stories: Vec<Loid>,
    discarded: Vec<bool>,
    written: Vec<Vec<Written>>,
    named: usize,
}

/// The place of a line: its index in the topic, and in the item if it is a subitem.
type Spot = (usize, Option<usize>);

impl Life {
    async fn new() -> Life {
        let world = World::new().await;
        let (mut topics, mut stories) = (Vec::new(), Vec::new());
        for number in 0..TOPICS {
            topics.push(world.topic(&format!("topic-{number}")).await);
        }
        for number in 0..STORIES {
            stories.push(world.story(&format!("story-{number}")).await);
        }
        let (discarded, written) = (vec![false; STORIES], vec![Vec::new(); TOPICS]);
        Life { world, topics, stories, discarded, written, named: 0 }
    }

    fn name(&mut self) -> String {
        self.named += 1;
        format!("n{}", self.named)
    }

    /// The item of the topic that stands for a number.
    fn parent(&self, topic: usize, number: Option<usize>) -> Option<usize> {
        let items: Vec<usize> =
            (0..self.written[topic].len()).filter(|at| self.written[topic][*at].item.is_some()).collect();
        (!items.is_empty()).then_some(())?;
        number.map(|number| items[number % items.len()])
    }

    /// The line of the topic that stands for a number.
    fn spot(&self, topic: usize, number: usize) -> Option<Spot> {
        let mut spots = Vec::new();
        for (at, line) in self.written[topic].iter().enumerate() {
            spots.push((at, None));
            spots.extend((0..line.below.len()).map(|below| (at, Some(below))));
        }
        (!spots.is_empty()).then(|| spots[number % spots.len()])
    }

    fn list(&mut self, topic: usize, under: Option<usize>) -> &mut Vec<Written> {
        match under {
            None => &mut self.written[topic],
            Some(at) => &mut self.written[topic][at].below,
        }
    }

    fn line(&mut self, topic: usize, (at, below): Spot) -> &mut Written {
        let line = &mut self.written[topic][at];
        match below {
            None => line,
            Some(below) => &mut line.below[below],
        }
    }

    fn which(&self, topic: usize, (at, below): Spot) -> Option<TopicItemPath> {
        let line = &self.written[topic][at];
        match below {
            None => line.item.map(item),
            Some(below) => line.below[below].item.zip(line.item).map(|(sub, of)| subitem(of, sub)),
        }
    }

    /// The item below which a line stands.
    fn under(&self, topic: usize, (at, below): Spot) -> Option<ItemAddress> {
        below.and_then(|_| self.written[topic][at].item.map(ItemAddress::Loid))
    }

    async fn step(&mut self, step: &Step) {
        match step.clone() {
            Step::Add { topic, under, position } => {
                let (name, under) = (self.name(), self.parent(topic, under));
                let parent = under.and_then(|at| self.written[topic][at].item);
                let item = self.world.add(self.topics[topic], parent, &name, Some(position)).await;
                let line = Written { name, item: Some(item), divider: None, story: None, below: Vec::new() };
                put(self.list(topic, under), position, line);
            }
            Step::Divide { topic, under, position } => {
                let (name, under) = (self.name(), self.parent(topic, under));
                let parent = under.and_then(|at| self.written[topic][at].item);
                let divider = self.world.divide(self.topics[topic], parent, &name, Some(position)).await;
                let line = Written { name, item: None, divider: Some(divider), story: None, below: Vec::new() };
                put(self.list(topic, under), position, line);
            }
            Step::Shift { topic, line, position } => {
                let Some(spot) = self.spot(topic, line) else { return };
                let done = match (self.which(topic, spot), self.line(topic, spot).divider) {
                    (Some(which), _) => {
                        let shift = UpdateTopicItem { position: Some(position), ..update(which) };
                        self.world.execute(self.topics[topic], shift).await.map(drop)
                    }
                    (None, id) => {
                        let divider = NewDivider { title: None, position: Some(position) };
                        let (under, id) = (self.under(topic, spot), id.expect("it is a divider"));
                        let shift = UpdateDivider::<Topic> { under, id, divider };
                        self.world.execute(self.topics[topic], shift).await.map(drop)
                    }
                };
                done.expect("it is there");
                let (at, below) = spot;
                let list = self.list(topic, below.map(|_| at));
                let line = list.remove(below.unwrap_or(at));
                put(list, position, line);
            }
            Step::Remove { topic, line } => {
                let Some(spot) = self.spot(topic, line) else { return };
                let done = match (self.which(topic, spot), self.line(topic, spot).divider) {
                    (Some(which), _) => {
                        self.world.execute(self.topics[topic], RemoveTopicItem { which }).await.map(drop)
                    }
                    (None, id) => {
                        let (under, id) = (self.under(topic, spot), id.expect("it is a divider"));
                        self.world.execute(self.topics[topic], RemoveDivider::<Topic> { under, id }).await.map(drop)
                    }
                };
                done.expect("it is there");
                let (at, below) = spot;
                self.list(topic, below.map(|_| at)).remove(below.unwrap_or(at));
            }
            Step::Attach { topic, line, story } => {
                let Some(spot) = self.spot(topic, line) else { return };
                let Some(which) = self.which(topic, spot) else { return };
                let attach = AttachToItem { which, object: self.stories[story] };
                let done = self.world.execute(self.topics[topic], attach).await;
                let there = self.line(topic, spot).story == Some(story);
                assert_eq!(done.is_ok(), !self.discarded[story] || there, "{done:?}");
                if done.is_ok() {
                    self.line(topic, spot).story = Some(story);
                }
            }
            Step::Detach { topic, line } => {
                let Some(spot) = self.spot(topic, line) else { return };
                let Some(which) = self.which(topic, spot) else { return };
                let detach = UpdateTopicItem { attachment: Some(None), ..update(which) };
                self.world.execute(self.topics[topic], detach).await.expect("it is there");
                self.line(topic, spot).story = None;
            }
            Step::Move { picks, target, position } => self.move_items(&picks, target, position).await,
            Step::Discard(story) if !self.discarded[story] => {
                self.world
                    .joint(DiscardObject { object: self.stories[story], reach: stet_domain::object::Reach::All })
                    .await
                    .expect("it is there");
                self.discarded[story] = true;
            }
            Step::Restore(story) if self.discarded[story] => {
                self.world.joint(restore(self.stories[story])).await.expect("it lies in the bin");
                self.discarded[story] = false;
            }
            Step::Destroy(story) => {
                self.world.joint(DestroyObject { object: self.stories[story] }).await.expect("it is there");
                for line in self.written.iter_mut().flatten() {
                    for line in [&mut line.story].into_iter().chain(line.below.iter_mut().map(|line| &mut line.story)) {
                        *line = line.filter(|there| *there != story);
                    }
                }
                self.stories[story] = self.world.story(&format!("story-{story}")).await;
                self.discarded[story] = false;
            }
            Step::Discard(_) | Step::Restore(_) => {}
            Step::Reopen => self.world.reopen().await,
        }
    }

    async fn move_items(&mut self, picks: &[(usize, usize)], target: usize, position: i64) {
        let mut sources: Vec<(usize, Loid)> = Vec::new();
        for (topic, line) in picks {
            let Some(spot) = self.spot(*topic, *line) else { continue };
            if let Some(item) = self.line(*topic, spot).item
                && !sources.iter().any(|(_, there)| *there == item)
            {
                sources.push((*topic, item));
            }
        }
        if sources.is_empty() {
            return;
        }
        let items: Vec<_> = sources.iter().map(|(_, item)| *item).collect();
        self.world.joint(moved(&items, self.topics[target], Some(position))).await.expect("they can be moved");
        // Subitems leave their items before those leave their topics.
        let mut lines: HashMap<Loid, Written> = HashMap::new();
        for below in [true, false] {
            for (topic, item) in &sources {
                let lists = match below {
                    true => self.written[*topic].iter_mut().map(|line| &mut line.below).collect::<Vec<_>>(),
                    false => vec![&mut self.written[*topic]],
                };
                for list in lists {
                    if let Some(at) = list.iter().position(|line| line.item == Some(*item)) {
                        lines.insert(*item, list.remove(at));
                    }
                }
            }
        }
        let list = &mut self.written[target];
        let at = usize::try_from(position).unwrap_or(usize::MAX).min(list.len());
        let moved = sources.iter().map(|(_, item)| lines.remove(item).expect("each was found"));
        list.splice(at..at, moved);
    }

    async fn check(&self) {
        for (topic, written) in self.topics.iter().zip(&self.written) {
            let text = |line: &Written| match (line.item, line.story) {
                (None, _) => format!("[{}]", line.name),
                (Some(_), None) => line.name.clone(),
                (Some(_), Some(story)) => format!("{} {}", line.name, if self.discarded[story] { "-" } else { "+" }),
            };
            let lines = written.iter().flat_map(|line| {
                std::iter::once(text(line)).chain(line.below.iter().map(move |line| format!("  {}", text(line))))
            });
            assert_eq!(self.world.tree(*topic).await, lines.collect::<Vec<_>>());
            let view = self.world.repository.view::<Topic>(*topic).await.expect("the topic is there");
            let count = written.iter().map(|line| 1 + line.below.len()).sum::<usize>();
            assert_eq!(view.state.lines(), count);
            // Its size equals that of a fresh topic, whatever its past.
            let mut rows: Vec<_> = self.world.store.rows().into_iter().map(|((table, key), _)| (table, key)).collect();
            rows.retain(|(table, key)| *table == Table::Parts && key.starts_with(&topic.to_key()));
            let mut said: Vec<_> = view.state.rows().into_iter().map(|key| (key.table, key.key)).collect();
            said.sort();
            assert_eq!(said, rows);
        }
        assert_proved(&self.world.store);
    }
}

/// Puts a line where a position says.
fn put(list: &mut Vec<Written>, position: i64, line: Written) {
    let at = usize::try_from(position).unwrap_or(usize::MAX).min(list.len());
    list.insert(at, line);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_random_life_of_topics_is_what_was_written_down(steps in prop::collection::vec(step(), 1..60)) {
        actix::System::new().block_on(async {
            let mut life = Life::new().await;
            for step in &steps {
                life.step(step).await;
                life.check().await;
            }
            let bytes = life.bytes().await;
            life.world.reopen().await;
            assert_eq!(life.bytes().await, bytes, "what a topic takes is what a fresh one takes");
            life.world.repository.shut_down().await;
        });
    }
}

impl Life {
    async fn bytes(&self) -> Vec<usize> {
        let mut bytes = Vec::new();
        for topic in &self.topics {
            bytes.push(self.world.repository.view::<Topic>(*topic).await.expect("it is there").state.bytes());
        }
        bytes
    }
}
