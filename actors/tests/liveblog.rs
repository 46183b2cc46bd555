//! The rules of a liveblog (docs/api/posts.md), against a plain list of posts and one by one.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use stet_actors::families::Families;
use stet_actors::repository::Repository;
use stet_actors::runtime::{ChangeRequest, ContainerView, RuntimeOptions};
use stet_domain::clock::ManualClock;
use stet_domain::command::{CallerIdentity, Command};
use stet_domain::error::{Code, Error};
use stet_domain::family::State;
use stet_domain::folder::root;
use stet_domain::id::{DatabaseId, Loid};
use stet_domain::lifecycle::{CreateInFolder, DestroyObject, DiscardObject, NewObject, RestoreObject};
use stet_domain::liveblog::{
    AddPost, Liveblog, LiveblogState, MAX_HISTORY, NewLiveblog, Post, PostAddress, PostBody, PostFields, PostSight,
    PostStatus, RemovePost, SetPostStatus, UpdatePost, post_name,
};
use stet_domain::object::{Content, ContentLocation, CreateMode, NewContent, Reach, SmallBody, Version};
use stet_domain::part::{NewAttachment, attachment_body};
use stet_domain::store::memory::MemoryStore;
use stet_domain::store::{ReadLevel, RowReader, Table};

use crate::common::assert_sound;

const NOON: u64 = 1_763_726_400_000;

struct World {
    store: Arc<MemoryStore>,
    clock: ManualClock,
    repository: Repository,
    liveblog: Loid,
}

async fn repository(store: &Arc<MemoryStore>, clock: &ManualClock) -> Repository {
    let options = RuntimeOptions::default();
    Repository::start(store.clone(), Arc::new(clock.clone()), options).await.expect("a repository starts")
}

fn by(user: &str) -> ChangeRequest {
    ChangeRequest::by(CallerIdentity { user: user.into(), session: "s".into(), address: None })
}

/// Returns the command that creates the liveblog, or changes whether its posts wait for approval.
fn night(moderated: Option<bool>) -> CreateInFolder {
    let mut object =
        NewObject::of::<Liveblog>("night", "LiveBlog", NewLiveblog { moderated, ..NewLiveblog::default() });
    object.mode = CreateMode::Replace;
    CreateInFolder { folder: root(DatabaseId::FIRST), below: Vec::new(), object }
}

fn run<F: Future<Output = ()>>(test: impl FnOnce(World) -> F) {
    actix::System::new().block_on(async {
        let store = Arc::new(MemoryStore::new());
        let clock = ManualClock::at(NOON);
        let repository = repository(&store, &clock).await;
        repository.make_roots(&[DatabaseId::FIRST]).await.expect("roots are made");
        let liveblog = repository.joint(night(None), by("editor")).await.expect("a liveblog is made").loid;
        let all = test(World { store, clock, repository, liveblog });
        tokio::time::timeout(Duration::from_secs(60), all).await.expect("nothing hangs");
    });
}

fn content(text: &str) -> NewContent {
    let mut sha256 = [0; 32];
    sha256[..text.len().min(32)].copy_from_slice(&text.as_bytes()[..text.len().min(32)]);
    let content =
        Content { content_type: "text/xml".into(), size: text.len() as u64, sha256, stored: ContentLocation::Row };
    NewContent { content, small: Some(Bytes::copy_from_slice(text.as_bytes())), pin: None }
}

fn body(text: &str) -> PostBody {
    PostBody { content: content(text), text: text.to_lowercase().as_str().into() }
}

/// Returns a post dated `after` milliseconds past noon.
fn post(text: &str, after: u64) -> AddPost {
    AddPost {
        fields: PostFields { timestamp: Some(NOON + after), ..PostFields::default() },
        moderated: false,
        body: body(text),
        attachments: Vec::new(),
        mode: CreateMode::Exception,
        reach: Reach::All,
        sight: PostSight::All,
    }
}

fn update(post: Loid) -> UpdatePost {
    UpdatePost {
        post: PostAddress::Loid(post),
        fields: PostFields::default(),
        body: None,
        attachments: Vec::new(),
        remove_attachments: Vec::new(),
        reach: Reach::All,
    }
}

impl World {
    async fn as_user<C: Command<Family = Liveblog>>(&self, user: &str, command: C) -> Result<C::Reply, Error> {
        self.repository.execute(self.liveblog, command, by(user)).await.map(|done| done.reply)
    }

    async fn run<C: Command<Family = Liveblog>>(&self, command: C) -> C::Reply {
        self.as_user("editor", command).await.expect("the editor may")
    }

    async fn view(&self) -> Arc<ContainerView<LiveblogState>> {
        self.repository.view::<Liveblog>(self.liveblog).await.expect("the liveblog is there")
    }

    async fn post(&self, loid: Loid) -> Post {
        Post::clone(self.view().await.state.get(&PostAddress::Loid(loid)).expect("the post is there"))
    }

    fn row(&self, table: Table, key: &[u8]) -> Option<Bytes> {
        self.store.get(ReadLevel::Committed, table, key).expect("the store answers")
    }
}

#[test]
fn a_timestamp_names_a_post() {
    assert_eq!(post_name(0).unwrap(), "19700101-000000-000");
    assert_eq!(post_name(NOON + 7_384_005).unwrap(), "20251121-140304-005");
    assert_eq!(post_name(253_402_300_799_999).unwrap(), "99991231-235959-999");
    assert_eq!(post_name(253_402_300_800_000).unwrap_err().code, Code::InvalidParameter);
}

#[test]
fn pinned_posts_stand_first_then_the_newest() {
    run(|world| async move {
        let old = world.run(post("old", 1)).await.post;
        let new = world.run(post("new", 3)).await.post;
        let between = world.run(post("between", 2)).await.post;
        let order =
            |view: &ContainerView<LiveblogState>| view.state.posts().map(|post| post.loid()).collect::<Vec<_>>();
        assert_eq!(order(&*world.view().await), [new, between, old]);
        assert_eq!(world.view().await.state.last_timestamp(), Some(NOON + 3));
        let fields = PostFields { pinned: Some(true), ..PostFields::default() };
        world.run(UpdatePost { fields, ..update(old) }).await;
        assert_eq!(order(&*world.view().await), [old, new, between]);
        assert_eq!(world.view().await.state.last_timestamp(), Some(NOON + 3), "a pinned post need not be the newest");
        let fields = PostFields { timestamp: Some(NOON + 9), ..PostFields::default() };
        world.run(UpdatePost { fields, ..update(between) }).await;
        assert_eq!(order(&*world.view().await), [old, between, new]);
        assert_eq!(&*world.post(between).await.record.name, &*post_name(NOON + 2).unwrap(), "its name stays");
        assert_sound(Families::ALL, &world.store);
    });
}

#[test]
fn a_name_that_is_taken_is_met_as_the_mode_says() {
    run(|world| async move {
        let first = world.run(post("one", 1)).await;
        assert!(first.is_new);
        let again = |mode, text| AddPost { mode, ..post(text, 1) };
        let refused = world.as_user("editor", again(CreateMode::Exception, "two")).await.unwrap_err();
        assert_eq!(refused.code, Code::DuplicatedName);
        let other = world.run(again(CreateMode::AutoRename, "two")).await;
        assert!(other.is_new);
        assert_eq!(&*world.post(other.post).await.record.name, format!("{} (2)", post_name(NOON + 1).unwrap()));

        let key = first.post.at_version(1).to_key();
        let replaced = world.run(again(CreateMode::Replace, "three")).await;
        assert_eq!((replaced.post, replaced.is_new), (first.post, false));
        assert_eq!(world.post(first.post).await.record.version, 1);
        assert_eq!(world.row(Table::Bodies, &key).as_deref(), Some(&b"three"[..]));

        world.run(again(CreateMode::NewVersion, "four")).await;
        assert_eq!(world.post(first.post).await.record.version, 2);
        assert_eq!(world.row(Table::Bodies, &key).as_deref(), Some(&b"three"[..]), "versions don't change");
        assert!(world.row(Table::Versions, &first.post.at_version(2).to_key()).is_some());

        // Neither another user nor a key of the author may do it.
        for (user, reach) in [("reporter", Reach::Own), ("editor", Reach::Nothing)] {
            let stranger = AddPost { reach, ..again(CreateMode::Replace, "five") };
            assert_eq!(world.as_user(user, stranger).await.unwrap_err().code, Code::PermissionDenied);
        }
        assert_eq!(world.row(Table::Bodies, &key).as_deref(), Some(&b"three"[..]));
        let own = AddPost { reach: Reach::Own, ..again(CreateMode::NewVersion, "six") };
        assert_eq!(world.as_user("editor", own).await.unwrap().post, first.post);
        assert_sound(Families::ALL, &world.store);
    });
}

#[test]
fn a_loid_with_a_version_reads_a_post_only_while_that_version_is_present() {
    run(|world| async move {
        let first = world.run(post("one", 1)).await.post;
        let other = world.run(post("other", 2)).await.post;
        for present in 1..=3 {
            let view = world.view().await;
            for version in 1..=4 {
                let address = PostAddress::Loid(first.at_version(version));
                match view.state.read(&address) {
                    Ok(found) => assert_eq!((found.loid(), version), (first, present)),
                    Err(error) => {
                        assert_ne!(version, present);
                        assert_eq!(error.code, Code::ObjectNotFound);
                    }
                }
                assert!(view.state.find(&address).is_none(), "only readers name a post by its version");
            }
            for loid in [first, other] {
                assert_eq!(view.state.read(&PostAddress::Loid(loid)).expect("it is there").loid(), loid);
            }
            world.run(AddPost { mode: CreateMode::NewVersion, ..post("again", 1) }).await;
        }
    });
}

#[test]
fn a_post_that_was_moved_is_back_at_the_time_it_is_written_again_with() {
    run(|world| async move {
        let named = world.run(post("one", 1)).await.post;
        let beside = world.run(AddPost { mode: CreateMode::AutoRename, ..post("other", 1) }).await.post;
        let newest = world.run(post("newest", 5)).await.post;
        for mode in [CreateMode::Replace, CreateMode::NewVersion] {
            let fields = PostFields { timestamp: Some(NOON + 9), ..PostFields::default() };
            world.run(UpdatePost { fields, ..update(named) }).await;
            let again = world.run(AddPost { mode, ..post("again", 1) }).await;
            assert_eq!((again.post, again.is_new), (named, false));
            let view = world.view().await;
            assert_eq!(world.post(named).await.timestamp, NOON + 1);
            let order: Vec<Loid> = view.state.posts().map(|post| post.loid()).collect();
            assert_eq!(order, [newest, beside, named], "{mode:?}: two of one timestamp stand beside each other");
            assert_eq!(view.state.last_timestamp(), Some(NOON + 5));
            assert_sound(Families::ALL, &world.store);
        }
    });
}

#[test]
fn posts_without_a_timestamp_never_collide() {
    run(|world| async move {
        let now = |text| {
            let mut post = post(text, 0);
            post.fields.timestamp = None;
            post
        };
        let posts = [world.run(now("a")).await.post, world.run(now("b")).await.post, world.run(now("c")).await.post];
        let mut names = Vec::new();
        for loid in posts {
            names.push(world.post(loid).await.record.name.to_string());
            assert_eq!(world.post(loid).await.timestamp, NOON);
        }
        assert_eq!(names, ["20251121-120000-000", "20251121-120000-000 (2)", "20251121-120000-000 (3)"]);
        // Who knows a post by its name does not find another there while later ones stand.
        let name = async |text| {
            let made = world.run(now(text)).await.post;
            world.post(made).await.record.name.to_string()
        };
        world.run(RemovePost { post: PostAddress::Loid(posts[1]), reach: Reach::All }).await;
        assert_eq!(name("d").await, "20251121-120000-000 (4)");
        world.run(RemovePost { post: PostAddress::Loid(posts[0]), reach: Reach::All }).await;
        assert_eq!([name("e").await, name("f").await], ["20251121-120000-000", "20251121-120000-000 (5)"]);
    });
}

#[test]
fn new_posts_are_pending_if_moderated_or_if_the_author_cannot_moderate() {
    run(|world| async move {
        let plain = world.run(post("a", 1)).await.post;
        assert_eq!(world.post(plain).await.status, PostStatus::Approved);
        let moderated = world.run(AddPost { moderated: true, ..post("b", 2) }).await.post;
        let reported = world.as_user("reporter", AddPost { reach: Reach::Own, ..post("c", 3) }).await.unwrap().post;
        world.repository.joint(night(Some(true)), by("editor")).await.unwrap();
        let later = world.run(post("d", 4)).await.post;
        for loid in [moderated, reported, later] {
            let post = world.post(loid).await;
            assert_eq!(post.status, PostStatus::Pending);
            assert_eq!((post.history.len(), post.history[0].from, post.history[0].to), (1, None, PostStatus::Pending));
        }
        assert_eq!(&**world.post(reported).await.author(), "reporter");
        world.repository.joint(night(Some(false)), by("editor")).await.unwrap();
        let approved = world.run(post("e", 5)).await.post;
        assert_eq!(world.post(approved).await.status, PostStatus::Approved);
    });
}

#[test]
fn every_transition_is_there_for_moderators_and_some_for_authors() {
    run(|world| async move {
        let mut after = 0;
        for from in PostStatus::ALL {
            for to in PostStatus::ALL {
                for (user, reach) in [
                    ("editor", Reach::All),
                    ("reporter", Reach::Own),
                    ("stranger", Reach::Own),
                    ("reporter", Reach::Nothing),
                ] {
                    after += 1;
                    let loid = world.as_user("reporter", post("text", after)).await.unwrap().post;
                    let address = PostAddress::Loid(loid);
                    world.run(SetPostStatus { post: address.clone(), to: from, reach: Reach::All }).await;
                    let before = (world.post(loid).await, world.view().await.revision());
                    let outcome = world.as_user(user, SetPostStatus { post: address, to, reach }).await;
                    let own = (user, reach) == ("reporter", Reach::Own)
                        && matches!(to, PostStatus::Pending | PostStatus::Deleted)
                        && (from != PostStatus::Deleted || to == PostStatus::Deleted);
                    let there = world.post(loid).await;
                    if reach != Reach::All && !own {
                        assert_eq!(outcome.unwrap_err().code, Code::PermissionDenied, "{user}: {from:?} to {to:?}");
                        assert_eq!((there, world.view().await.revision()), before);
                        continue;
                    }
                    outcome.unwrap_or_else(|error| panic!("{user}: {from:?} to {to:?}: {error}"));
                    assert_eq!(there.status, to);
                    if from == to {
                        assert_eq!((there, world.view().await.revision()), before, "the same again changes nothing");
                    } else {
                        let last = there.history.last().unwrap();
                        assert_eq!((last.from, last.to, &*last.user), (Some(from), to, user));
                        assert_eq!(there.history.len(), before.0.history.len() + 1);
                    }
                }
            }
        }
        let view = world.view().await;
        for status in PostStatus::ALL {
            assert_eq!(view.state.count(status), view.state.posts().filter(|post| post.status == status).count());
        }
        assert_sound(Families::ALL, &world.store);
    });
}

#[test]
fn an_edit_by_someone_who_does_not_moderate_takes_the_approval_back() {
    run(|world| async move {
        let loid = world.as_user("reporter", post("one", 1)).await.unwrap().post;
        let edit = |text: &str, reach| UpdatePost { body: Some(body(text)), reach, ..update(loid) };
        world.run(edit("two", Reach::All)).await;
        assert_eq!(world.post(loid).await.status, PostStatus::Approved);
        assert_eq!(world.as_user("stranger", edit("x", Reach::Own)).await.unwrap_err().code, Code::PermissionDenied);
        world.as_user("reporter", edit("three", Reach::Own)).await.unwrap();
        let there = world.post(loid).await;
        assert_eq!((there.status, there.record.version, &*there.text), (PostStatus::Pending, 3, "three"));
        assert_eq!((&*there.record.creator, &*there.record.last_modifier), ("reporter", "reporter"));
        // A rejected post stays rejected.
        world.run(SetPostStatus { post: PostAddress::Loid(loid), to: PostStatus::Rejected, reach: Reach::All }).await;
        world.as_user("reporter", edit("four", Reach::Own)).await.unwrap();
        assert_eq!(world.post(loid).await.status, PostStatus::Rejected);
    });
}

#[test]
fn attachments_come_and_go_with_their_bytes() {
    run(|world| async move {
        let file = |name: &str| NewAttachment { name: name.into(), content: content(name) };
        let add = AddPost { attachments: vec![file("a.jpg"), file("b.jpg")], ..post("one", 1) };
        let loid = world.run(add).await.post;
        let ids: Vec<u64> = world.post(loid).await.attachments.iter().map(|attachment| attachment.id).collect();
        let stored = |id| {
            let key = attachment_body(world.liveblog, id);
            world.row(key.table, &key.key)
        };
        assert_eq!(stored(ids[1]).as_deref(), Some(&b"b.jpg"[..]));
        let change = UpdatePost { attachments: vec![file("c.jpg")], remove_attachments: vec![ids[0]], ..update(loid) };
        world.run(change).await;
        let names: Vec<String> =
            world.post(loid).await.attachments.iter().map(|attachment| attachment.name.to_string()).collect();
        assert_eq!(names, ["b.jpg", "c.jpg"]);
        assert_eq!(stored(ids[0]), None);
        let before = world.post(loid).await;
        let unknown = UpdatePost { remove_attachments: vec![ids[1], ids[0]], ..update(loid) };
        assert_eq!(world.as_user("editor", unknown).await.unwrap_err().code, Code::ObjectNotFound);
        assert_eq!((world.post(loid).await, stored(ids[1]).is_some()), (before, true), "all or nothing");
        world.run(RemovePost { post: PostAddress::Loid(loid), reach: Reach::All }).await;
        assert_eq!(stored(ids[1]), None);
        assert_sound(Families::ALL, &world.store);
    });
}

#[test]
fn long_histories_drop_old_entries_but_keep_creation_and_first_approval() {
    run(|world| async move {
        let loid = world.run(AddPost { moderated: true, ..post("one", 1) }).await.post;
        let set = |to| SetPostStatus { post: PostAddress::Loid(loid), to, reach: Reach::All };
        world.run(set(PostStatus::Rejected)).await;
        world.run(set(PostStatus::Approved)).await;
        // Never approved again.
        for turn in 0..MAX_HISTORY - 3 {
            world.run(set([PostStatus::Pending, PostStatus::Rejected][turn % 2])).await;
        }
        let full = world.post(loid).await.history;
        assert_eq!(full.len(), MAX_HISTORY);
        world.run(set(PostStatus::Deleted)).await;
        world.run(set(PostStatus::Pending)).await;
        let there = world.post(loid).await;
        // The creation, the first approval, and the latest.
        assert_eq!(there.history.len(), MAX_HISTORY);
        assert_eq!((&there.history[0], &there.history[1]), (&full[0], &full[2]));
        assert_eq!(there.history[2..MAX_HISTORY - 2], full[4..]);
        let last: Vec<PostStatus> = there.history[MAX_HISTORY - 2..].iter().map(|change| change.to).collect();
        assert_eq!(last, [PostStatus::Deleted, PostStatus::Pending]);
        assert!(there.was_approved());
        world.run(RemovePost { post: PostAddress::Loid(loid), reach: Reach::All }).await;
        let view = world.view().await;
        let removed: Vec<_> = view.state.since(0).filter_map(Result::err).collect();
        assert_eq!((removed.len(), removed[0].was_approved, &*removed[0].author), (1, true, "editor"));
        assert_sound(Families::ALL, &world.store);
    });
}

#[test]
fn an_update_that_says_what_is_there_changes_nothing() {
    run(|world| async move {
        let fields = PostFields {
            title: Some("Title".into()),
            tags: Some(vec!["one".into()]),
            attributes: Some("<a/>".into()),
            timestamp: Some(NOON + 1),
            ..PostFields::default()
        };
        let loid = world.run(AddPost { fields: fields.clone(), ..post("text", 1) }).await.post;
        let revision = world.view().await.revision();
        world.run(UpdatePost { fields: fields.clone(), ..update(loid) }).await;
        assert_eq!(world.view().await.revision(), revision);
        let fields = PostFields { attributes: Some("<b/>".into()), ..fields };
        world.run(UpdatePost { fields, ..update(loid) }).await;
        assert_eq!(world.view().await.revision(), revision + 1);
        assert_eq!(world.post(loid).await.record.revision, revision + 1);
    });
}

#[test]
fn a_liveblog_is_discarded_and_destroyed_together_with_its_posts() {
    run(|world| async move {
        let file = NewAttachment { name: "a.jpg".into(), content: content("a.jpg") };
        let fields = PostFields { attributes: Some("<a/>".into()), ..post("", 1).fields };
        let kept = world.run(AddPost { fields, attachments: vec![file], ..post("one", 1) }).await.post;
        let removed = world.run(post("two", 2)).await.post;
        world.run(RemovePost { post: PostAddress::Loid(removed), reach: Reach::All }).await;
        let editor = || by("editor");
        let object = world.liveblog;
        world
            .repository
            .joint(DiscardObject { object, reach: stet_domain::object::Reach::All }, editor())
            .await
            .unwrap();
        assert_eq!(world.repository.view::<Liveblog>(object).await.unwrap_err().code, Code::ObjectNotFound);
        let restore =
            RestoreObject { object, folder: None, mode: CreateMode::Exception, reach: stet_domain::object::Reach::All };
        world.repository.joint(restore, editor()).await.unwrap();
        assert_eq!(world.post(kept).await.record.loid, kept);
        world.repository.joint(DestroyObject { object }, editor()).await.unwrap();
        let left: Vec<_> = world
            .store
            .rows()
            .into_iter()
            .filter(|((table, key), _)| {
                matches!(table, Table::Parts | Table::PartOf | Table::Versions | Table::Bodies | Table::Attributes)
                    || (*table == Table::Objects && key.starts_with(&object.to_key()))
            })
            .collect();
        assert_eq!(left, [], "nothing of it is left");
        assert_eq!(world.row(Table::Versions, &SmallBody::key(kept.at_version(1)).key), None);
        assert_eq!(world.row(Table::Versions, &Version::key(kept.at_version(1)).key), None);
        assert_sound(Families::ALL, &world.store);
    });
}

/// A post as the model has it.
#[derive(Debug, Clone, PartialEq)]
struct Simple {
    loid: Loid,
    timestamp: u64,
    pinned: bool,
    status: PostStatus,
    text: String,
    revision: u64,
}

#[derive(Debug, Clone)]
enum Step {
    Add { after: u64, pinned: bool },
    Edit { at: usize, after: Option<u64>, pinned: Option<bool>, text: Option<u8> },
    Status { at: usize, to: usize },
    Remove { at: usize },
    Restart,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let edit =
        (any::<usize>(), prop::option::of(0u64..40), prop::option::of(any::<bool>()), prop::option::of(any::<u8>()))
            .prop_map(|(at, after, pinned, text)| Step::Edit { at, after, pinned, text });
    let step = prop_oneof![
        6 => (0u64..40, prop::bool::weighted(0.1)).prop_map(|(after, pinned)| Step::Add { after, pinned }),
        3 => edit,
        3 => (any::<usize>(), 0usize..4).prop_map(|(at, to)| Step::Status { at, to }),
        2 => any::<usize>().prop_map(|at| Step::Remove { at }),
        1 => Just(Step::Restart),
    ];
    prop::collection::vec(step, 1..60)
}

/// Asserts that each caller sees exactly their posts, in the order of all, from every offset.
fn assert_sights(state: &LiveblogState) {
    let own = ["editor", "reporter", "nobody"].map(|user| PostSight::Own(user.into()));
    for sight in own.into_iter().chain([PostSight::All, PostSight::Approved]) {
        let wanted: Vec<Loid> = state
            .posts()
            .filter(|post| match &sight {
                PostSight::All => true,
                PostSight::Own(user) => post.status == PostStatus::Approved || post.record.creator == *user,
                PostSight::Approved => post.status == PostStatus::Approved,
            })
            .map(|post| post.loid())
            .collect();
        for skip in 0..wanted.len() + 2 {
            let seen: Vec<Loid> = state.seen_from(&sight, skip).map(|post| post.loid()).collect();
            assert_eq!(seen, wanted.get(skip..).unwrap_or_default(), "{sight:?} from {skip}");
        }
        let counts =
            PostStatus::ALL.map(|status| state.seen_from(&sight, 0).filter(|post| post.status == status).count());
        assert_eq!(state.seen_counts(&sight), counts, "{sight:?}");
        assert!(state.posts().all(|post| state.sees(&sight, post) == wanted.contains(&post.loid())), "{sight:?}");
    }
}

async fn play(mut world: World, steps: Vec<Step>) {
    let mut model: Vec<Simple> = Vec::new();
    let mut gone: Vec<(u64, Loid)> = Vec::new();
    for step in steps {
        let chosen = |at: usize| model.get(at % model.len().max(1)).map(|post| (at % model.len(), post.loid));
        match step {
            Step::Add { after, pinned } => {
                let mut add = AddPost { mode: CreateMode::AutoRename, ..post("new", after) };
                add.fields.pinned = Some(pinned);
                let author = if after % 3 == 0 { "reporter" } else { "editor" };
                let loid = world.as_user(author, add).await.expect("both may").post;
                let revision = world.view().await.revision();
                let (timestamp, status, text) = (NOON + after, PostStatus::Approved, "new".to_owned());
                model.push(Simple { loid, timestamp, pinned, status, text, revision });
            }
            Step::Edit { at, after, pinned, text } => {
                let Some((at, loid)) = chosen(at) else { continue };
                let fields = PostFields { timestamp: after.map(|after| NOON + after), pinned, ..PostFields::default() };
                let text = text.map(|text| format!("text {text}"));
                let edit = UpdatePost { fields, body: text.as_deref().map(body), ..update(loid) };
                world.run(edit).await;
                let there = &mut model[at];
                let new = Simple {
                    timestamp: after.map_or(there.timestamp, |after| NOON + after),
                    pinned: pinned.unwrap_or(there.pinned),
                    text: text.clone().unwrap_or_else(|| there.text.clone()),
                    ..there.clone()
                };
                // New bytes are a new version even if they are the same.
                if new != *there || text.is_some() {
                    *there = Simple { revision: world.view().await.revision(), ..new };
                }
            }
            Step::Status { at, to } => {
                let Some((at, loid)) = chosen(at) else { continue };
                let to = PostStatus::ALL[to];
                world.run(SetPostStatus { post: PostAddress::Loid(loid), to, reach: Reach::All }).await;
                if model[at].status != to {
                    model[at].status = to;
                    model[at].revision = world.view().await.revision();
                }
            }
            Step::Remove { at } => {
                let Some((at, loid)) = chosen(at) else { continue };
                world.run(RemovePost { post: PostAddress::Loid(loid), reach: Reach::All }).await;
                model.remove(at);
                gone.push((world.view().await.revision(), loid));
            }
            Step::Restart => {
                let bytes = world.view().await.state.bytes();
                world.repository.shut_down().await;
                world.repository = repository(&world.store, &world.clock).await;
                assert_eq!(world.view().await.state.bytes(), bytes, "read anew it takes as much as it has come to");
            }
        }
        let view = world.view().await;
        let there: Vec<Simple> = view
            .state
            .posts()
            .map(|post| Simple {
                loid: post.loid(),
                timestamp: post.timestamp,
                pinned: post.pinned,
                status: post.status,
                text: post.text.to_string(),
                revision: post.record.revision,
            })
            .collect();
        let mut wanted = model.clone();
        wanted.sort_by_key(|post| std::cmp::Reverse((post.pinned, post.timestamp, post.loid.number)));
        assert_eq!(there, wanted);
        assert_sights(&view.state);
        let approved = || wanted.iter().filter(|post| post.status == PostStatus::Approved);
        assert_eq!(view.state.last_timestamp(), approved().map(|post| post.timestamp).max());
        let mut changes: Vec<(u64, Loid, bool)> = model.iter().map(|post| (post.revision, post.loid, true)).collect();
        changes.extend(gone.iter().map(|(revision, loid)| (*revision, *loid, false)));
        changes.sort();
        for since in [0, view.revision() / 2, view.revision()] {
            let wanted: Vec<(Loid, bool)> =
                changes.iter().filter(|(revision, ..)| *revision > since).map(|(_, loid, is)| (*loid, *is)).collect();
            let changed: Vec<(Loid, bool)> = view
                .state
                .since(since)
                .map(|change| change.map_or_else(|gone| (gone.post, false), |post| (post.loid(), true)))
                .collect();
            assert_eq!(changed, wanted, "since {since}");
        }
    }
    let view = world.view().await;
    let mut parts: Vec<Bytes> = world
        .store
        .rows()
        .into_iter()
        .filter(|((table, _), _)| *table == Table::Parts)
        .map(|((_, key), _)| key)
        .collect();
    let mut wanted: Vec<Bytes> = view.state.rows().into_iter().map(|key| key.key).collect();
    parts.sort();
    wanted.sort();
    assert_eq!(parts, wanted, "the rows are those of the state");
    assert_eq!(view.state.object().record.loid, world.liveblog);
    assert_sound(Families::ALL, &world.store);
}

#[test]
fn any_changes_and_restarts_leave_what_a_plain_list_would_have() {
    let config = ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() };
    TestRunner::new(config)
        .run(&steps(), |steps| {
            run(|world| play(world, steps));
            Ok(())
        })
        .expect("no steps tell liveblog and list apart");
}
