//! Workflow statuses: random workflows and random changes of a topic, its items and a document,
//! against a simple model.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use stet_actors::repository::Repository;
use stet_actors::runtime::{ChangeRequest, RuntimeOptions};
use stet_domain::clock::ManualClock;
use stet_domain::command::CallerIdentity;
use stet_domain::error::{Code, Error, Result};
use stet_domain::family::State;
use stet_domain::folder::root;
use stet_domain::id::{DatabaseId, Loid};
use stet_domain::joint::JointCommand;
use stet_domain::lifecycle::{CreateInFolder, DiscardObject, NewObject, RestoreObject};
use stet_domain::object::{CreateMode, Reach, Record, SharedText};
use stet_domain::planning::topic::{
    AddTopicItem, AttachToItem, ItemAddress, ItemFields, NewTopic, Topic, TopicItemPath, UpdateTopic, UpdateTopicItem,
};
use stet_domain::status::ChangeStatus;
use stet_domain::store::memory::MemoryStore;
use stet_domain::store::{BatchRoom, EventLog, ResumeRequest, RowReader};
use stet_domain::workflow::{StatusRights, WorkflowStatusChange, Workflows};

const MAIN: Loid = root(DatabaseId::FIRST);

/// A workflow that all types have: statuses are numbers, and the steps between them pairs.
#[derive(Debug, Clone)]
struct Flow {
    count: u8,
    steps: BTreeSet<(u8, u8)>,
    closed: BTreeSet<u8>,
}

impl Flow {
    fn allows(&self, from: Option<u8>, to: u8) -> bool {
        to < self.count && from.is_none_or(|from| self.steps.contains(&(from, to)))
    }
}

fn name(status: u8) -> SharedText {
    format!("W/{status}").as_str().into()
}

fn number(status: Option<&str>) -> Option<u8> {
    status.and_then(|status| status.strip_prefix("W/")?.parse().ok())
}

impl Workflows for Flow {
    fn check(&self, change: &WorkflowStatusChange) -> Result<()> {
        let to = number(change.to.as_deref()).expect("no status is taken away");
        if self.allows(number(change.from.as_deref()), to) {
            return Ok(());
        }
        Err(Error::new(Code::InvalidStatus, "It is not allowed."))
    }

    fn check_type_change(&self, _: &Record, _: &Record) -> Result<()> {
        unreachable!("no type changes")
    }

    fn is_first(&self, _: DatabaseId, _: &str, status: &str) -> bool {
        number(Some(status)) == Some(0)
    }

    fn has_status(&self, _: DatabaseId, _: &str, status: &str) -> bool {
        number(Some(status)).is_some_and(|status| status < self.count)
    }

    fn is_closed(&self, _: DatabaseId, status: &str) -> bool {
        number(Some(status)).is_some_and(|status| self.closed.contains(&status))
    }
}

/// The rights of a caller who may set every status but one.
#[derive(Debug)]
struct AllBut(u8);

impl StatusRights for AllBut {
    fn check(&self, change: &WorkflowStatusChange, _: &dyn RowReader) -> Result<()> {
        match number(change.to.as_deref()) {
            Some(to) if to == self.0 => Err(Error::new(Code::PermissionDenied, "It is not theirs to set.")),
            _ => Ok(()),
        }
    }

    fn check_new(&self, made: &WorkflowStatusChange, look: &dyn RowReader) -> Result<()> {
        self.check(made, look)
    }
}

/// A change that the test makes.
#[derive(Debug, Clone)]
enum Act {
    Set { item: Option<u8>, to: u8 },
    UpdateItem { item: u8, comment: Option<u8>, to: Option<u8> },
    UpdateTopic { title: u8, to: Option<u8> },
    AddItem { to: Option<u8> },
    AttachStory { item: u8 },
    DiscardStory,
    Again { new_version: bool, to: Option<u8> },
}

fn act() -> impl Strategy<Value = Act> {
    let status = 0..6_u8;
    let some = proptest::option::of(0..6_u8);
    prop_oneof![
        4 => (proptest::option::of(0..3_u8), status).prop_map(|(item, to)| Act::Set { item, to }),
        3 => (0..3_u8, proptest::option::of(0..2_u8), some.clone())
            .prop_map(|(item, comment, to)| Act::UpdateItem { item, comment, to }),
        2 => (0..2_u8, some.clone()).prop_map(|(title, to)| Act::UpdateTopic { title, to }),
        1 => some.clone().prop_map(|to| Act::AddItem { to }),
        1 => (0..3_u8).prop_map(|item| Act::AttachStory { item }),
        1 => Just(Act::DiscardStory),
        2 => (any::<bool>(), some).prop_map(|(new_version, to)| Act::Again { new_version, to }),
    ]
}

fn flow() -> impl Strategy<Value = Flow> {
    let steps = proptest::collection::btree_set((0..5_u8, 0..5_u8), 0..14);
    let closed = proptest::collection::btree_set(0..5_u8, 0..3);
    (1..6_u8, steps, closed).prop_map(|(count, steps, closed)| Flow { count, steps, closed })
}

/// The object or item, its status before, its status after.
type Step = (Loid, Option<u8>, Option<u8>);

struct World {
    flow: Flow,
    denied: u8,
    store: Arc<MemoryStore>,
    repository: Repository,
    topic: Loid,
    story: Loid,
    items: Vec<Loid>,
    status: Option<u8>,
    of_story: Option<u8>,
    of_items: Vec<Option<u8>>,
    steps: Vec<Step>,
}

fn own() -> ChangeRequest {
    ChangeRequest::by(CallerIdentity { user: "editor".into(), session: "s".into(), address: None })
}

impl World {
    async fn new(flow: Flow, denied: u8) -> World {
        let store = Arc::new(MemoryStore::new());
        let clock = ManualClock::at(1_763_726_400_000);
        let options = RuntimeOptions { arbiters: 1, ..RuntimeOptions::default() };
        let repository = Repository::start(store.clone(), Arc::new(clock), options).await.expect("it starts");
        repository.make_roots(&[DatabaseId::FIRST]).await.expect("roots can be made");
        repository.enforce(Arc::new(flow.clone()));
        let make = async |object| {
            let create = CreateInFolder { folder: MAIN, below: Vec::new(), object };
            repository.joint(create, own()).await.expect("it can be made").loid
        };
        let topic = make(NewObject::of::<Topic>("topic", "T", NewTopic::default())).await;
        let story = make(NewObject::document("story", "S")).await;
        let (status, of_story) = (None, None);
        let (items, of_items, steps) = (Vec::new(), Vec::new(), Vec::new());
        World { flow, denied, store, repository, topic, story, items, status, of_story, of_items, steps }
    }

    fn request(&self) -> ChangeRequest {
        ChangeRequest { statuses: Some(Arc::new(AllBut(self.denied))), ..own() }
    }

    async fn joint<J: JointCommand>(&self, joint: J) -> Result<J::Reply> {
        self.repository.joint(joint, self.request()).await
    }

    /// Returns the expected outcome of a change of status.
    fn expected(&self, from: Option<u8>, to: Option<u8>) -> Result<(), Code> {
        match to.filter(|to| from != Some(*to)) {
            Some(to) if !self.flow.allows(from, to) => Err(Code::InvalidStatus),
            Some(to) if to == self.denied => Err(Code::PermissionDenied),
            _ => Ok(()),
        }
    }

    fn is_closed(&self) -> bool {
        self.status.is_some_and(|status| self.flow.closed.contains(&status))
    }

    fn changed(&mut self, object: Loid, from: Option<u8>, to: Option<u8>) {
        if to.is_some() && from != to {
            self.steps.push((object, from, to));
        }
    }

    async fn act(&mut self, act: Act) {
        match act {
            Act::Set { item: None, to } => {
                let done = self.joint(ChangeStatus { object: self.topic, item: None, status: name(to) }).await;
                assert_eq!(done.map_err(|error| error.code), self.expected(self.status, Some(to)));
                if self.expected(self.status, Some(to)).is_ok() {
                    self.changed(self.topic, self.status, Some(to));
                    self.status = Some(to);
                }
            }
            Act::Set { item: Some(item), to } => {
                let Some(loid) = self.items.get(usize::from(item)).copied() else { return };
                let from = self.of_items[usize::from(item)];
                let done = self.joint(ChangeStatus { object: self.topic, item: Some(loid), status: name(to) }).await;
                assert_eq!(done.map_err(|error| error.code), self.expected(from, Some(to)));
                self.note_item(item, from, Some(to));
            }
            Act::UpdateItem { item, comment, to } => self.update_item(item, comment, to).await,
            Act::UpdateTopic { title, to } => {
                let update = UpdateTopic {
                    topic: self.topic,
                    title: Some(format!("{title}").as_str().into()),
                    description: None,
                    name: None,
                    attributes: None,
                    status: to.map(name),
                };
                let done = self.joint(update).await.map_err(|error| error.code);
                assert_eq!(done, self.expected(self.status, to));
                if done.is_ok() {
                    self.changed(self.topic, self.status, to);
                    self.status = to.or(self.status);
                }
            }
            Act::AddItem { to } => {
                let fields = ItemFields { name: Some("item".into()), status: to.map(name), ..ItemFields::default() };
                let add = AddTopicItem { under: None, fields, attachment: None, position: None };
                let done = self.repository.execute(self.topic, add, self.request()).await;
                // A new item may have any status; the first one needs no right.
                let denied = to.filter(|to| *to != 0 && *to == self.denied).map(|_| Code::PermissionDenied);
                assert_eq!(done.as_ref().err().map(|error| error.code), denied.or(self.refusal()));
                if let Ok(done) = done {
                    self.items.push(done.reply.item);
                    self.of_items.push(to);
                }
            }
            Act::AttachStory { item } => {
                let Some(loid) = self.items.get(usize::from(item)).copied() else { return };
                let which = TopicItemPath { item: ItemAddress::Loid(loid), subitem: None };
                let before = self.revision();
                let attach = AttachToItem { which, object: self.story };
                let done = self.repository.execute(self.topic, attach, self.request()).await;
                let refused = done.err().map(|error| error.code);
                assert!(refused == self.refusal() || self.revision() == before, "{refused:?}");
            }
            Act::DiscardStory => {
                self.joint(DiscardObject { object: self.story, reach: Reach::All }).await.expect("nothing holds it up");
                let back =
                    RestoreObject { object: self.story, folder: None, mode: CreateMode::Exception, reach: Reach::All };
                self.joint(back).await.expect("nothing holds it up");
            }
            Act::Again { new_version, to } => {
                let mode = if new_version { CreateMode::NewVersion } else { CreateMode::Replace };
                let object = NewObject { mode, status: to.map(name), ..NewObject::document("story", "S") };
                let done = self.joint(CreateInFolder { folder: MAIN, below: Vec::new(), object }).await;
                let done = done.map(drop).map_err(|error| error.code);
                assert_eq!(done, self.expected(self.of_story, to));
                if done.is_ok() {
                    self.changed(self.story, self.of_story, to);
                    self.of_story = to.or(self.of_story);
                }
            }
        }
    }

    async fn update_item(&mut self, item: u8, comment: Option<u8>, to: Option<u8>) {
        let Some(loid) = self.items.get(usize::from(item)).copied() else { return };
        let from = self.of_items[usize::from(item)];
        let view = self.repository.view::<Topic>(self.topic).await.expect("it can be loaded");
        let old = view.state.get(ItemAddress::Loid(loid)).expect("it is there").comment.clone();
        let comment: Option<SharedText> = comment.map(|comment| format!("{comment}").as_str().into());
        let changes_more = comment.as_ref().is_some_and(|comment| *comment != old);
        let fields = ItemFields { comment, status: to.map(name), ..ItemFields::default() };
        let which = TopicItemPath { item: ItemAddress::Loid(loid), subitem: None };
        let update = UpdateTopicItem { which, fields, attachment: None, position: None };
        let done = self.repository.execute(self.topic, update, self.request()).await;
        let expected = self.expected(from, to).err().or(self.refusal().filter(|_| changes_more));
        assert_eq!(done.err().map(|error| error.code), expected);
        if expected.is_none() {
            self.note_item(item, from, to);
        }
    }

    fn note_item(&mut self, item: u8, from: Option<u8>, to: Option<u8>) {
        if self.expected(from, to).is_ok() {
            let at = usize::from(item);
            self.changed(self.items[at], from, to);
            self.of_items[at] = to.or(from);
        }
    }

    /// Returns the code with which a change of the topic's items is refused, if it is.
    fn refusal(&self) -> Option<Code> {
        self.is_closed().then_some(Code::InvalidForContainer)
    }

    fn revision(&self) -> u64 {
        self.repository.record(self.topic).expect("the store is well").expect("it is there").revision
    }

    /// The statuses are those of the model; each revision has one event, and each change of a
    /// status one of its own.
    async fn check(&self) {
        let view = self.repository.view::<Topic>(self.topic).await.expect("it can be loaded");
        assert_eq!(number(view.state.object().record.status.as_deref()), self.status);
        for (item, status) in self.items.iter().zip(&self.of_items) {
            let item = view.state.get(ItemAddress::Loid(*item)).expect("it is there");
            assert_eq!(number(item.record.status.as_deref()), *status);
            assert!(item.record.revision <= view.state.object().record.revision);
        }
        let story = self.repository.record(self.story).expect("the store is well").expect("it is there");
        assert_eq!(number(story.status.as_deref()), self.of_story);
        for (container, revision) in [(self.topic, self.revision()), (self.story, story.revision)] {
            let resumed = ResumeRequest { container, after: 0, room: BatchRoom::of(10_000, 1 << 20) };
            let (events, _) = self.store.events_of(&resumed).expect("events can be read");
            let first = events.first().map_or(revision + 1, |event| event.revision);
            assert!(events.iter().map(|event| event.revision).eq(first..=revision), "each revision has one event");
            let told: Vec<Step> = events
                .iter()
                .filter_map(|event| {
                    let status = event.status.as_ref()?;
                    assert_eq!(event.kind, "object.status");
                    let object = event.ids[0].parse().expect("it names what has the status");
                    Some((object, number(status.from.as_deref()), number(status.to.as_deref())))
                })
                .collect();
            let of_story = |step: &&Step| (step.0 == self.story) == (container == self.story);
            assert_eq!(told, self.steps.iter().filter(of_story).copied().collect::<Vec<_>>());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn statuses_change_as_the_workflow_and_the_rights_allow(
        flow in flow(),
        denied in 0..6_u8,
        acts in proptest::collection::vec(act(), 1..40),
    ) {
        actix::System::new().block_on(async {
            let all = async {
                let mut world = World::new(flow, denied).await;
                for act in acts {
                    world.act(act).await;
                }
                world.check().await;
                world.repository.shut_down().await;
            };
            tokio::time::timeout(Duration::from_secs(60), all).await.expect("nothing hangs");
        });
    }
}
