//! The largest depth of objects, for every way to create or move them. Also the operations that
//! remain possible on objects that already lie deeper.

use std::sync::Arc;

use stet_actors::repository::Repository;
use stet_actors::runtime::{ChangeRequest, RuntimeOptions};
use stet_domain::clock::ManualClock;
use stet_domain::command::{CallerIdentity, ChangeLimits};
use stet_domain::drawer::{Drawer, NewDrawer};
use stet_domain::error::{Code, Error};
use stet_domain::folder::{child, root};
use stet_domain::id::{DatabaseId, Loid, ObjectSource};
use stet_domain::lifecycle::{
    CreateInFolder, CreateResult, DestroyObject, DiscardObject, NewObject, RenameObject, RestoreObject,
};
use stet_domain::object::{CreateMode, PathLimits};
use stet_domain::store::ReadLevel;
use stet_domain::store::memory::MemoryStore;

const ROOT: Loid = root(DatabaseId::FIRST);

fn by_editor() -> ChangeRequest {
    ChangeRequest::by(CallerIdentity { user: "editor".into(), session: "s".into(), address: None })
}

async fn start(store: &Arc<MemoryStore>, depth: usize) -> Repository {
    let options = {
        let limits = ChangeLimits { paths: PathLimits { depth, ..PathLimits::default() }, ..ChangeLimits::default() };
        RuntimeOptions { limits, ..RuntimeOptions::default() }
    };
    let repository = Repository::start(store.clone(), Arc::new(ManualClock::at(1_700_000_000_000)), options).await;
    let repository = repository.expect("it starts");
    repository.make_roots(&[DatabaseId::FIRST]).await.expect("roots can be made");
    repository
}

async fn create(repository: &Repository, folder: Loid, below: &[&str], object: NewObject) -> Result<Loid, Error> {
    let below = below.iter().map(|name| (*name).to_owned()).collect();
    repository.joint(CreateInFolder { folder, below, object }, by_editor()).await.map(|CreateResult { loid, .. }| loid)
}

fn at(repository: &Repository, path: &str) -> Loid {
    let found = repository.loid_of(&ObjectSource::Path(path.to_owned()), DatabaseId::FIRST);
    found.expect("it can be looked up").unwrap_or_else(|| panic!("there is no {path}"))
}

fn is_too_deep(outcome: Result<impl Sized, Error>) {
    let error = outcome.map(drop).expect_err("it lies too deep");
    assert!(
        error.code == Code::InvalidPath && error.details.is_some_and(|details| details["limit"] == 3),
        "{}",
        error.message
    );
}

#[test]
fn nothing_is_made_or_comes_back_deeper_than_allowed() {
    actix::System::new().block_on(async {
        let store = Arc::new(MemoryStore::new());
        let repository = start(&store, 3).await;
        let folder = create(&repository, ROOT, &["a"], NewObject::folder("b")).await.expect("it is not deep");
        let story = || NewObject::document("story", "Story");
        create(&repository, folder, &[], story()).await.expect("it lies as deep as it may");
        let deepest = create(&repository, folder, &[], NewObject::folder("c")).await.expect("likewise");
        for object in [
            story(),
            NewObject::folder("x"),
            NewObject::of::<Drawer>("x", "Drawer", NewDrawer::empty(3)),
            NewObject { mode: CreateMode::AutoRename, ..story() },
        ] {
            is_too_deep(create(&repository, deepest, &[], object).await);
        }
        is_too_deep(create(&repository, folder, &["d"], story()).await);
        // A command that exceeds the depth has no effect, however far it came.
        let many: Vec<&str> = std::iter::repeat_n("n", 50_000).collect();
        is_too_deep(create(&repository, ROOT, &many, story()).await);
        let made = child(repository.look(), ReadLevel::Latest, ROOT, "n").expect("it can be looked up");
        assert_eq!(made, None);

        // A discarded tree is restored only where all of it has room.
        let top = create(&repository, ROOT, &[], NewObject::folder("top")).await.expect("it is not deep");
        create(&repository, top, &["below"], story()).await.expect("it lies as deep as it may");
        repository
            .joint(DiscardObject { object: top, reach: stet_domain::object::Reach::All }, by_editor())
            .await
            .expect("it is discarded");
        let restore = |folder| RestoreObject {
            object: top,
            folder,
            mode: CreateMode::Exception,
            reach: stet_domain::object::Reach::All,
        };
        let a = at(&repository, "/a");
        is_too_deep(repository.joint(restore(Some(a)), by_editor()).await);
        repository.joint(restore(None), by_editor()).await.expect("it has room where it was");
        repository
            .joint(RenameObject { object: top, name: "renamed".to_owned(), mode: CreateMode::Exception }, by_editor())
            .await
            .expect("it is renamed");

        // Nor does it by way of a folder that was moved meanwhile.
        let below = at(&repository, "/renamed/below");
        repository
            .joint(DiscardObject { object: below, reach: stet_domain::object::Reach::All }, by_editor())
            .await
            .expect("it is discarded");
        repository
            .joint(DiscardObject { object: top, reach: stet_domain::object::Reach::All }, by_editor())
            .await
            .expect("it is discarded");
        repository.joint(restore(Some(a)), by_editor()).await.expect("alone it has room there");
        let back = RestoreObject {
            object: below,
            folder: None,
            mode: CreateMode::Exception,
            reach: stet_domain::object::Reach::All,
        };
        is_too_deep(repository.joint(back, by_editor()).await);
        repository.shut_down().await;
    });
}

#[test]
fn objects_beyond_the_depth_limit_can_be_read_renamed_and_removed() {
    actix::System::new().block_on(async {
        let store = Arc::new(MemoryStore::new());
        let before = start(&store, 5000).await;
        let many: Vec<&str> = std::iter::repeat_n("n", 1100).collect();
        let story = create(&before, ROOT, &many, NewObject::document("story", "Story")).await.expect("it is made");
        let four = ["a", "b", "c", "d"];
        let other = create(&before, ROOT, &four, NewObject::document("other", "Story")).await.expect("it is made");
        before.shut_down().await;

        let repository = start(&store, 3).await;
        let record = repository.record(other).expect("it can be read").expect("it is there");
        assert_eq!(repository.path_of(&record).expect("it can be made").as_deref(), Some("/a/b/c/d/other"));
        let deepest = repository.record(story).expect("it can be read").expect("it is there");
        assert_eq!(repository.path_of(&deepest), Ok(None), "no path is as long as that");
        is_too_deep(repository.resolve(&ObjectSource::Path("/a/b/c/d/other".to_owned()), DatabaseId::FIRST));
        let beside = deepest.folder().expect("it lies in a folder");
        is_too_deep(create(&repository, beside, &[], NewObject::document("another", "Story")).await);

        repository
            .joint(RenameObject { object: story, name: "renamed".to_owned(), mode: CreateMode::Exception }, by_editor())
            .await
            .expect("it is renamed");
        for object in [story, other, at(&repository, "/a")] {
            repository
                .joint(DiscardObject { object, reach: stet_domain::object::Reach::All }, by_editor())
                .await
                .expect("it is discarded");
            repository.joint(DestroyObject { object }, by_editor()).await.expect("it is destroyed");
        }
        let around = record.folder().expect("it lay in a folder");
        assert_eq!(repository.record(around).expect("it can be read"), None);
        repository.shut_down().await;
    });
}
