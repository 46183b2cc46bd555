//! Names and folders of objects: how renaming and moving change them, and what they refuse.

use std::sync::Arc;
use std::time::Duration;

use stet_actors::families::Families;
use stet_actors::repository::Repository;
use stet_actors::runtime::{ChangeRequest, RuntimeOptions};
use stet_domain::clock::ManualClock;
use stet_domain::command::CallerIdentity;
use stet_domain::error::{Code, Error};
use stet_domain::folder::root;
use stet_domain::id::{DatabaseId, Loid};
use stet_domain::joint::JointCommand;
use stet_domain::lifecycle::{CreateInFolder, DiscardObject, MoveObject, NewObject, RenameObject};
use stet_domain::object::{CreateMode, Reach};
use stet_domain::store::memory::MemoryStore;

use crate::common::assert_sound;

struct World {
    store: Arc<MemoryStore>,
    repository: Repository,
}

fn run<F: Future<Output = ()>>(test: impl FnOnce(World) -> F) {
    actix::System::new().block_on(async {
        let (store, clock) = (Arc::new(MemoryStore::new()), Arc::new(ManualClock::at(1_700_000_000_000)));
        let started = Repository::start(store.clone(), clock, RuntimeOptions::default()).await;
        let repository = started.expect("a repository starts");
        let databases = [DatabaseId::FIRST, OTHER];
        repository.make_roots(&databases).await.expect("roots are made");
        let all = test(World { store, repository });
        tokio::time::timeout(Duration::from_secs(30), all).await.expect("nothing hangs");
    });
}

const TOP: Loid = root(DatabaseId::FIRST);
const OTHER: DatabaseId = DatabaseId(2);

impl World {
    async fn run<J: JointCommand>(&self, joint: J) -> Result<J::Reply, Error> {
        let by = ChangeRequest::by(CallerIdentity { user: "editor".into(), session: "s".into(), address: None });
        let done = self.repository.joint(joint, by).await;
        assert_sound(Families::ALL, &self.store);
        done
    }

    async fn make(&self, folder: Loid, object: NewObject) -> Loid {
        self.run(CreateInFolder { folder, below: Vec::new(), object }).await.expect("it is made").loid
    }

    async fn story(&self, folder: Loid, name: &str) -> Loid {
        self.make(folder, NewObject::document(name, "Story")).await
    }

    async fn folder(&self, folder: Loid, name: &str) -> Loid {
        self.make(folder, NewObject::folder(name)).await
    }

    async fn rename(&self, object: Loid, name: &str, mode: CreateMode) -> Result<(), Error> {
        self.run(RenameObject { object, name: name.to_owned(), mode }).await
    }

    async fn take_to(&self, folder: Loid, object: Loid, mode: CreateMode) -> Result<(), Error> {
        self.run(MoveObject { object, folder, mode, reach: Reach::All }).await
    }

    /// The folder and name of an object, and its revision.
    fn place(&self, object: Loid) -> (Loid, String, u64) {
        let record = self.repository.any_record(object).expect("it can be read").expect("it is there");
        (record.folder().unwrap_or(TOP), record.name.to_string(), record.revision)
    }
}

fn code(outcome: Result<(), Error>) -> Code {
    outcome.expect_err("it is refused").code
}

#[test]
fn a_name_that_is_taken_is_refused_or_numbered_as_the_mode_says() {
    run(|world| async move {
        let folder = world.folder(TOP, "f").await;
        let [_, there] = [world.story(TOP, "a.xml").await, world.story(folder, "a.xml").await];
        let moved = world.story(TOP, "b.xml").await;
        let before = world.place(there);
        assert_eq!(code(world.rename(moved, "a.xml", CreateMode::Exception).await), Code::DuplicatedName);
        assert_eq!(world.place(moved).1, "b.xml");
        world.rename(moved, "a.xml", CreateMode::AutoRename).await.expect("it gets another name");
        assert_eq!(world.place(moved).1, "a (2).xml");
        world.rename(moved, "c.xml", CreateMode::AutoRename).await.expect("the name is free");
        assert_eq!(world.place(moved).1, "c.xml");

        world.story(folder, "c.xml").await;
        assert_eq!(code(world.take_to(folder, moved, CreateMode::Exception).await), Code::DuplicatedName);
        assert_eq!(world.place(moved).0, TOP);
        world.take_to(folder, moved, CreateMode::AutoRename).await.expect("it gets another name");
        assert_eq!((world.place(moved).0, &*world.place(moved).1), (folder, "c (2).xml"));
        world.take_to(TOP, moved, CreateMode::AutoRename).await.expect("the name is free");
        assert_eq!((world.place(moved).0, &*world.place(moved).1), (TOP, "c (2).xml"));
        assert_eq!(world.place(there), before, "the object with the name is not touched");
    });
}

#[test]
fn the_present_name_and_folder_of_an_object_are_not_taken() {
    run(|world| async move {
        let story = world.story(TOP, "Caf\u{e9}").await;
        let before = world.place(story);
        world.rename(story, "Caf\u{e9}", CreateMode::Exception).await.expect("it has the name");
        world.take_to(TOP, story, CreateMode::Exception).await.expect("it is there");
        assert_eq!(world.place(story), before, "nothing has changed");
        // The same name with the accent as a character of its own.
        world.rename(story, "Cafe\u{301}", CreateMode::Exception).await.expect("nobody else has the name");
        assert!(world.place(story).1.starts_with("Caf"));
    });
}

#[test]
fn roots_discarded_objects_and_foreign_folders_take_part_in_no_move() {
    run(|world| async move {
        let top = world.folder(TOP, "top").await;
        let below = world.folder(top, "below").await;
        let gone = world.folder(TOP, "gone").await;
        let story = world.story(TOP, "s").await;
        let other = world.folder(root(OTHER), "other").await;
        world.run(DiscardObject { object: gone, reach: Reach::All }).await.expect("it is discarded");
        let invalid = Code::InvalidForContainer;
        for (object, folder, wanted) in [
            (top, top, invalid),
            (top, below, invalid),
            (TOP, top, invalid),
            (story, root(OTHER), invalid),
            (story, other, invalid),
            (gone, top, Code::ObjectNotFound),
            (story, gone, Code::ObjectNotFound),
        ] {
            let before = world.place(object);
            for mode in [CreateMode::Exception, CreateMode::AutoRename] {
                assert_eq!(code(world.take_to(folder, object, mode).await), wanted, "{object} to {folder}");
            }
            assert_eq!(world.place(object), before);
        }
        assert_eq!(code(world.rename(TOP, "name", CreateMode::Exception).await), invalid);
        assert_eq!(code(world.rename(gone, "name", CreateMode::Exception).await), Code::ObjectNotFound);
        world.take_to(below, story, CreateMode::Exception).await.expect("others are moved");
        assert_eq!(world.place(story).0, below);
    });
}
