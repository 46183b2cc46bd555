//! Copies of many bundles at once (docs/api/bundles.md, "Web containers").

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use stet_actors::families::Families;
use stet_actors::repository::Repository;
use stet_actors::runtime::{ChangeRequest, RuntimeOptions};
use stet_domain::bundle::{
    Bundle, ChannelCopyOutcome, CopiedBundle, CopyInheritance, CopyLinkedBundles, CopyToChannel, MAX_COPIES,
};
use stet_domain::clock::ManualClock;
use stet_domain::command::{CallerIdentity, CommandFault, Context};
use stet_domain::error::{Code, Error};
use stet_domain::folder::root;
use stet_domain::id::{DatabaseId, Loid};
use stet_domain::joint::{ContainerTurns, JointCommand};
use stet_domain::lifecycle::{CreateInFolder, NewObject};
use stet_domain::object::FolderKey;
use stet_domain::store::memory::MemoryStore;
use stet_domain::store::{BatchRoom, EventLog, ResumeRequest};
use stet_domain::web_container::WebContainer;

use crate::common::assert_sound;

const MAIN: Loid = root(DatabaseId::FIRST);

/// A command that counts how often it is applied.
struct Counted<J> {
    joint: J,
    rounds: Arc<AtomicUsize>,
}

impl<J: JointCommand> JointCommand for Counted<J> {
    type Reply = J::Reply;
    const NAME: &'static str = J::NAME;
    const ALONE: bool = J::ALONE;

    fn wants(&self) -> Vec<Loid> {
        self.joint.wants()
    }

    fn apply(&self, turns: &mut ContainerTurns, context: &mut Context<'_>) -> Result<J::Reply, CommandFault> {
        self.rounds.fetch_add(1, Ordering::Relaxed);
        self.joint.apply(turns, context)
    }
}

struct World {
    store: Arc<MemoryStore>,
    repository: Repository,
    container: Loid,
    bundles: Vec<Loid>,
}

/// Runs a test with a web container and that number of bundles.
fn run<F: Future<Output = ()>>(bundles: usize, test: impl FnOnce(World) -> F) {
    actix::System::new().block_on(async {
        let store = Arc::new(MemoryStore::new());
        let clock = Arc::new(ManualClock::at(1_763_726_400_000));
        let started = Repository::start(store.clone(), clock, RuntimeOptions::default()).await;
        let repository = started.expect("a repository starts");
        repository.make_roots(&[DatabaseId::FIRST]).await.expect("roots are made");
        let mut world = World { store, repository, container: MAIN, bundles: Vec::new() };
        world.container = world.create(NewObject::of::<WebContainer>("page", "WebContainer", ())).await;
        for number in 0..bundles {
            let bundle = world.create(NewObject::of::<Bundle>(&format!("b{number}"), "Bundle", ())).await;
            world.bundles.push(bundle);
        }
        test(world).await;
    });
}

fn request() -> ChangeRequest {
    ChangeRequest::by(CallerIdentity { user: "editor".into(), session: "s".into(), address: None })
}

impl World {
    async fn create(&self, object: NewObject) -> Loid {
        let create = CreateInFolder { folder: MAIN, below: Vec::new(), object };
        self.repository.joint(create, request()).await.expect("it can be made").loid
    }

    /// Returns the ids in the last event of a container.
    fn told(&self, container: Loid) -> Vec<String> {
        let all = ResumeRequest { container, after: 0, room: BatchRoom::of(usize::MAX, usize::MAX) };
        let (events, _) = self.store.events_of(&all).expect("the log can be read");
        events.last().expect("something has happened").ids.clone()
    }

    /// Copies all bundles for a channel, in rounds. Also returns the number of rounds.
    async fn copy(&self, channel: &str, inherit: Option<&str>) -> (Result<Vec<CopiedBundle>, Error>, usize) {
        let copy = |bundle: &Loid| CopyToChannel {
            bundle: *bundle,
            channel: channel.into(),
            inherit: inherit.map(|channel| CopyInheritance { channel: channel.into(), is_neutral: false }),
            type_name: "Story".into(),
            status: None,
            checked_out_s: None,
            ticket: |_, _| None,
        };
        let rounds = Arc::new(AtomicUsize::new(0));
        let joint = CopyLinkedBundles { container: self.container, copies: self.bundles.iter().map(copy).collect() };
        let done = self.repository.joint(Counted { joint, rounds: rounds.clone() }, request()).await;
        assert_sound(Families::ALL, &self.store);
        (done, rounds.load(Ordering::Relaxed))
    }
}

fn made(done: Result<Vec<CopiedBundle>, Error>) -> Vec<Loid> {
    let new = |one: CopiedBundle| match one.copied {
        ChannelCopyOutcome::New(loid) => loid,
        ChannelCopyOutcome::There(loid) => panic!("{loid} was there"),
    };
    done.expect("they are copied").into_iter().map(new).collect()
}

#[test]
fn the_turns_of_all_inheritance_sources_are_requested_at_once() {
    run(MAX_COPIES, |world| async move {
        let (web, rounds) = world.copy("Web", None).await;
        let web = made(web);
        assert_eq!((web.len(), rounds), (MAX_COPIES, 1), "the turns of the bundles are there already");
        let (print, rounds) = world.copy("Print", Some("Web")).await;
        assert_eq!(rounds, 2, "once to find the copies, and once with all their turns");
        let print = made(print);
        // The page's event names all copies, and that of each bundle names its own.
        assert_eq!(world.told(world.container), print.iter().map(Loid::to_string).collect::<Vec<_>>());
        for (bundle, copy) in world.bundles.iter().zip(&print) {
            assert_eq!(world.told(*bundle), [copy.to_string()]);
        }
        for (copy, from) in print.into_iter().zip(&web) {
            let record = world.repository.record(copy).expect("readable").expect("it is there");
            let copy = record.copy.as_ref().expect("it is a copy");
            assert_eq!((copy.inherited_from, copy.follows), (Some(FolderKey(*from)), true));
        }
        // Those that are there need no turn.
        let (again, rounds) = world.copy("Print", Some("Web")).await;
        let again = again.expect("nothing is to be done");
        assert!(again.iter().all(|copied| matches!(copied.copied, ChannelCopyOutcome::There(_))));
        assert_eq!((again.len(), rounds), (MAX_COPIES, 1));
    });
}

#[test]
fn no_more_bundles_are_copied_at_once_than_one_step_takes() {
    run(MAX_COPIES + 1, |mut world| async move {
        let refused = world.copy("Web", None).await.0.expect_err("they are too many");
        assert_eq!(
            (refused.code, &refused.details.expect("it has some")["limit"]),
            (Code::TooLarge, &MAX_COPIES.into())
        );
        let last = world.bundles.pop().expect("there is one");
        made(world.copy("Web", None).await.0);
        world.bundles = vec![last];
        assert_eq!(made(world.copy("Web", None).await.0).len(), 1);
    });
}
