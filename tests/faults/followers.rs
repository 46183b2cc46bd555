//! Followers of containers, where the commands come past the web layer.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use serde_json::json;
use stet_actors::repository::Repository;
use stet_actors::runtime::ChangeRequest;
use stet_domain::clock::{Clock, ManualClock, SystemClock};
use stet_domain::command::{CallerIdentity, Command};
use stet_domain::folder::root;
use stet_domain::id::{DatabaseId, Loid};
use stet_domain::lifecycle::{CreateInFolder, DiscardObject, NewObject};
use stet_domain::liveblog::{
    AddPost, Liveblog, NewLiveblog, PostAddress, PostBody, PostFields, PostSight, PostStatus, RemovePost,
    SetPostStatus, UpdatePost,
};
use stet_domain::object::{Content, ContentLocation, CreateMode, NewContent, Reach};
use stet_newsroom::events::Followers;
use stet_newsroom::events::position::ContainerPosition;
use stet_newsroom::events::stream::{FollowRequest, FollowTarget};
use stet_web::app::App;

use super::*;

fn wait<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime can be made");
    runtime.block_on(future)
}

fn by() -> ChangeRequest {
    ChangeRequest::by(CallerIdentity { user: "editor".into(), session: "s".into(), address: None })
}

fn liveblog(repository: &Repository) -> Loid {
    liveblog_named(repository, "night")
}

fn liveblog_named(repository: &Repository, name: &str) -> Loid {
    let object = NewObject::of::<Liveblog>(name, "LiveBlog", NewLiveblog::default());
    let create = CreateInFolder { folder: root(DatabaseId::FIRST), below: Vec::new(), object };
    wait(repository.joint(create, by())).expect("a liveblog is made").loid
}

fn run<C: Command<Family = Liveblog>>(repository: &Repository, liveblog: Loid, command: C) -> C::Reply {
    wait(repository.execute(liveblog, command, by())).expect("the command goes through").reply
}

fn post(moderated: bool) -> AddPost {
    let content = Content { content_type: "text/xml".into(), size: 4, sha256: [1; 32], stored: ContentLocation::Row };
    AddPost {
        fields: PostFields::default(),
        moderated,
        body: PostBody { content: NewContent { content, small: Some("<p/>".into()), pin: None }, text: "".into() },
        attachments: Vec::new(),
        mode: CreateMode::Exception,
        reach: Reach::All,
        sight: PostSight::All,
    }
}

/// A client of one of the sample's users.
fn login(house: &House, user: &str) -> Client {
    let anybody = Client::at(&house.client().base, None);
    let body =
        json!({ "connectionId": "Editorial", "applicationId": "test", "username": user, "password": SAMPLE_PASSWORD });
    let reply = anybody.post("/v3/auth/login", &body).ok();
    Client::at(&anybody.base, reply["token"]["value"].as_str().map(str::to_owned))
}

#[test]
fn readers_of_a_liveblog_hear_of_approved_posts_only_and_writers_of_all() {
    let mut house = House::shared();
    house.start();
    let repository = house.repository();
    let liveblog = liveblog(&repository);
    let path = format!("/v3/container/liveblog/{}/events", encoded(&liveblog.to_string()));
    let follow = |user: &str| {
        let mut follow = login(&house, user).try_follow(&path, None).expect("it is answered");
        assert_eq!(follow.must().event, "hello");
        follow
    };
    // The reporter may write, the reader may not; a contributor writes posts, but not to the
    // liveblog.
    let (mut reporter, mut reader, mut contributor) = (follow("reporter"), follow("reader"), follow("contributor"));
    let first = run(&repository, liveblog, post(true)).post;
    let status = |post: Loid, to| SetPostStatus { post: PostAddress::Loid(post), to, reach: Reach::All };
    run(&repository, liveblog, status(first, PostStatus::Approved));
    let update = UpdatePost {
        post: PostAddress::Loid(first),
        fields: PostFields { title: Some("goal".into()), ..PostFields::default() },
        body: None,
        attachments: Vec::new(),
        remove_attachments: Vec::new(),
        reach: Reach::All,
    };
    run(&repository, liveblog, update);
    run(&repository, liveblog, status(first, PostStatus::Rejected));
    let remove = |post| RemovePost { post: PostAddress::Loid(post), reach: Reach::All };
    run(&repository, liveblog, remove(first));
    let second = run(&repository, liveblog, post(false)).post;
    run(&repository, liveblog, remove(second));
    let (first, second) = (first.to_string(), second.to_string());
    let all = [
        ("liveblog.post.add", &first),
        ("liveblog.post.status", &first),
        ("liveblog.post.update", &first),
        ("liveblog.post.status", &first),
        ("liveblog.post.remove", &first),
        ("liveblog.post.add", &second),
        ("liveblog.post.remove", &second),
    ];
    let whole: Vec<FollowedEvent> = all.iter().map(|_| reporter.must()).collect();
    for (told, (kind, post)) in whole.iter().zip(all) {
        assert_eq!((told.event.as_str(), &told.data["ids"]), (kind, &json!([post])));
    }
    let hidden = |told: &FollowedEvent| FollowedEvent {
        event: "hidden".to_owned(),
        data: json!({ "container": liveblog.to_string(), "revision": told.id }),
        ..told.clone()
    };
    let removed = |told: &FollowedEvent| {
        let mut data = told.data.clone();
        data["kind"] = json!("removed");
        FollowedEvent { event: "removed".to_owned(), data, ..told.clone() }
    };
    let expected = vec![
        hidden(&whole[0]),
        whole[1].clone(),
        whole[2].clone(),
        removed(&whole[3]),
        hidden(&whole[4]),
        whole[5].clone(),
        removed(&whole[6]),
    ];
    let told: Vec<FollowedEvent> = all.iter().map(|_| reader.must()).collect();
    assert_eq!(told, expected);
    let told: Vec<FollowedEvent> = all.iter().map(|_| contributor.must()).collect();
    assert_eq!(told, expected);
    // And from the store, long after the posts are gone.
    let stored = login(&house, "reader").try_follow(&format!("{path}?wait=false"), Some(whole[0].id - 1));
    assert_eq!(stored.expect("it is answered").rest(), expected);
    house.stop();
}

#[test]
fn a_change_that_does_not_reach_the_disk_is_told_to_nobody() {
    let mut house = House::shared();
    house.start();
    let client = house.client();
    let folder = own_folder();
    let (drawer, story) = (client.drawer(&folder, "desk", 5), client.story(&folder, "a.xml"));
    let mut follow = client.follow(&drawer, None);
    let hello = follow.must();
    let path = format!("/v3/container/drawer/{}/item/{}", encoded(&drawer), encoded(&story));
    house.disk.plan(FaultPlan { at: 0, times: u64::MAX, fault: DiskFault::Full });
    assert_ne!(client.post(&path, &json!({})).status, 200);
    assert!(house.disk.struck() > 0);
    house.disk.heal();
    wait_until("changes go through again", || client.post(&path, &json!({})).status == 200);
    client.delete(&path).ok();
    let told = [follow.must(), follow.must()];
    assert_eq!(told.each_ref().map(|told| told.id - hello.id), [1, 2]);
    assert_eq!(told.each_ref().map(|told| told.event.as_str()), ["drawer.item.add", "drawer.item.delete"]);
    house.stop();
}

#[test]
fn a_session_that_runs_out_ends_its_streams() {
    let mut house = House::shared();
    let clock = ManualClock::at(SystemClock.now_ms());
    house.clock = Some(clock.clone());
    house.start();
    let drawer = house.client().drawer(&own_folder(), "desk", 5);
    let follower = login(&house, "reader");
    let mut follow = follower.follow(&drawer, None);
    follow.must();
    // No call is made in between, since following does not count as a use of the session.
    clock.advance(Duration::from_secs(house.config.auth.session_idle_seconds));
    assert_eq!(follow.rest(), []);
    assert!(follow.whole, "it was cut off");
    follower.get(&format!("/v3/container/{}/events", encoded(&drawer))).fails(401, "InvalidToken");
    house.stop();
}

/// Returns the kinds of events that a slow follower receives, from behind an event or from now on.
/// The follower reads only when three posts and the discarding of the liveblog are on disk. The
/// second value is the expected kinds.
async fn told_at_the_end(
    (app, repository): (&Arc<App>, &Repository),
    followers: &Arc<Followers>,
    token: &str,
    liveblog: Loid,
    (after, wait): (Option<u64>, bool),
) -> (Vec<String>, Vec<String>) {
    let session = app.sessions.find(token).expect("it is logged in");
    let (newsroom, memory) = (app.newsroom.clone(), app.memory.clone());
    let target = FollowTarget::Container(ContainerPosition { container: liveblog, after });
    let following = FollowRequest { newsroom, session, target, wait, memory };
    let mut stream = following.begin(followers).await.expect("it begins");
    // `hello`, or a comment.
    stream.next().await.expect("it has begun").expect("it goes well");
    for _ in 0..3 {
        repository.execute(liveblog, post(false), by()).await.expect("a post is made");
    }
    repository
        .joint(DiscardObject { object: liveblog, reach: stet_domain::object::Reach::All }, by())
        .await
        .expect("it is discarded");
    let mut text = String::new();
    while let Some(piece) = stream.next().await {
        text.push_str(std::str::from_utf8(&piece.expect("it goes well")).expect("events are text"));
    }
    let told: Vec<String> = text.lines().filter_map(|line| line.strip_prefix("event: ")).map(str::to_owned).collect();
    let before = if after.is_some() { 1 } else { 0 };
    let all = [vec!["liveblog.post.add"; 3 + before], vec!["object.discard"]].concat();
    (told, all.into_iter().map(str::to_owned).collect())
}

#[test]
fn followers_that_read_late_get_all_events_up_to_the_end() {
    let mut house = House::shared();
    house.start();
    let (app, repository) = (house.app(), house.repository());
    let token = house.client().token.expect("it is logged in");
    // These followers get no notification: their streams find the changes by looking.
    let deaf = Arc::new(Followers::new(house.config.events.clone()));
    for (number, (followers, from_behind, wait)) in [
        (&app.followers, false, true),
        (&app.followers, true, true),
        (&app.followers, true, false),
        (&deaf, false, true),
    ]
    .into_iter()
    .enumerate()
    {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        let liveblog = liveblog_named(&repository, &format!("end-{number}"));
        let before = repository.record(liveblog).expect("it can be read").expect("it is there").revision;
        run(&repository, liveblog, post(false));
        let after = from_behind.then_some(before);
        let told = told_at_the_end((&app, &repository), followers, &token, liveblog, (after, wait));
        let all = async { tokio::time::timeout(PATIENCE, told).await.expect("the stream ends") };
        let (told, all) = runtime.block_on(all);
        assert_eq!(told, all, "{number}");
    }
    drop(app);
    house.stop();
}
