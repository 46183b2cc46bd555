//! Two objects that are created in one folder as one change.

use std::sync::Arc;

use stet_actors::repository::Repository;
use stet_actors::runtime::{ChangeRequest, RuntimeOptions};
use stet_domain::clock::ManualClock;
use stet_domain::command::CallerIdentity;
use stet_domain::error::{Code, Error};
use stet_domain::expect::{Precondition, RevisionTag};
use stet_domain::folder::{child, root};
use stet_domain::id::{DatabaseId, Loid};
use stet_domain::lifecycle::{CreateInFolder, CreateObjectPair, CreateOutcome, NewObject, ObjectPairResult};
use stet_domain::object::CreateMode;
use stet_domain::store::ReadLevel;
use stet_domain::store::memory::MemoryStore;

const ROOT: Loid = root(DatabaseId::FIRST);

fn request() -> ChangeRequest {
    ChangeRequest::by(CallerIdentity { user: "editor".into(), session: "s".into(), address: None })
}

fn both(main: &str, beside: &str, mode: CreateMode) -> CreateObjectPair {
    let of = |name: &str| NewObject { mode, ..NewObject::document(name, "Image") };
    let main = CreateInFolder { folder: ROOT, below: vec!["Home".to_owned(), "Previews".to_owned()], object: of(main) };
    CreateObjectPair { main, beside: of(beside) }
}

async fn start() -> Repository {
    let clock = Arc::new(ManualClock::at(1_700_000_000_000));
    let repository = Repository::start(Arc::new(MemoryStore::new()), clock, RuntimeOptions::default()).await;
    let repository = repository.expect("it starts");
    repository.make_roots(&[DatabaseId::FIRST]).await.expect("roots can be made");
    repository
}

fn there(repository: &Repository, name: &str) -> Option<Loid> {
    let below = |folder, name| child(repository.look(), ReadLevel::Latest, folder, name).expect("it can be looked up");
    below(below(below(ROOT, "Home")?, "Previews")?, name)
}

#[test]
fn two_objects_are_made_with_their_folders_and_written_over_together() {
    actix::System::new().block_on(async {
        let repository = start().await;
        let made =
            repository.joint(both("a.png", "a.pdf", CreateMode::Replace), request()).await.expect("both are made");
        assert_eq!((made.main.outcome, made.beside.outcome), (CreateOutcome::New, CreateOutcome::New));
        assert_eq!(
            (there(&repository, "a.png"), there(&repository, "a.pdf")),
            (Some(made.main.loid), Some(made.beside.loid))
        );
        let again =
            repository.joint(both("a.png", "a.pdf", CreateMode::Replace), request()).await.expect("both are there");
        assert_eq!((again.main.loid, again.beside.loid), (made.main.loid, made.beside.loid));
        assert_eq!((again.main.outcome, again.beside.outcome), (CreateOutcome::Changed, CreateOutcome::Changed));
        repository.shut_down().await;
    });
}

#[test]
fn two_objects_are_refused_together() {
    let code = |outcome: Result<ObjectPairResult, Error>| outcome.map(drop).expect_err("it is refused").code;
    actix::System::new().block_on(async {
        let repository = start().await;
        repository.joint(both("a.png", "a.pdf", CreateMode::Replace), request()).await.expect("both are made");
        let taken = repository.joint(both("b.png", "a.pdf", CreateMode::Exception), request()).await;
        assert_eq!(code(taken), Code::DuplicatedName);
        let taken = repository.joint(both("a.png", "b.pdf", CreateMode::Exception), request()).await;
        assert_eq!(code(taken), Code::DuplicatedName);
        let alike = repository.joint(both("c:d", "c|d", CreateMode::Replace), request()).await;
        assert_eq!(code(alike), Code::InvalidName);
        for name in ["b.png", "b.pdf", "c_d"] {
            assert_eq!(there(&repository, name), None, "{name}");
        }
        repository.shut_down().await;
    });
}

#[test]
fn precondition_speaks_of_the_main_object_alone() {
    actix::System::new().block_on(async {
        let repository = start().await;
        let made =
            repository.joint(both("a.png", "a.pdf", CreateMode::Replace), request()).await.expect("both are made");
        let expecting = |loid: Loid| {
            let record = repository.record(loid).expect("the store is well").expect("it is there");
            ChangeRequest { expect: Some(Arc::new(Precondition::one_of([RevisionTag::of(&record)]))), ..request() }
        };
        let other = repository.joint(both("a.png", "a.pdf", CreateMode::Replace), expecting(made.beside.loid)).await;
        assert_eq!(other.map(drop).map_err(|error| error.code), Err(Code::PreconditionFailed));
        let main = repository.joint(both("a.png", "a.pdf", CreateMode::Replace), expecting(made.main.loid)).await;
        assert_eq!(main.map(|made| made.main.outcome), Ok(CreateOutcome::Changed));
        repository.shut_down().await;
    });
}
