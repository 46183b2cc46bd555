//! Followers of containers, where the commands come past the web layer.

use std::future::Future;
use std::time::Duration;

use serde_json::json;
use stet_actors::clock::{Clock, ManualClock, SystemClock};
use stet_actors::command::{Command, Who};
use stet_actors::folder::root;
use stet_actors::id::{DatabaseId, Loid};
use stet_actors::lifecycle::{Create, NewObject, NewParts};
use stet_actors::liveblog::{
    AddPost, LiveBlog, PostAddress, PostBody, PostFields, PostStatus, RemovePost, SetStatus, UpdatePost,
};
use stet_actors::object::{Content, CreateMode, FamilyKind, NewContent, Stored};
use stet_actors::repository::Repository;
use stet_actors::runtime::Request;

use super::*;

fn wait<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime can be made");
    runtime.block_on(future)
}

fn by() -> Request {
    Request::by(Who { user: "editor".into(), session: "s".into(), address: None })
}

fn liveblog(repository: &Repository) -> Loid {
    let mut object = NewObject::document("night", "LiveBlog");
    object.family = FamilyKind::LiveBlog;
    object.parts = NewParts::LiveBlog { moderated: None };
    let create = Create { folder: root(DatabaseId::MAIN), below: Vec::new(), object };
    wait(repository.joint(create, by())).expect("a liveblog is made").loid
}

fn run<C: Command<Family = LiveBlog>>(repository: &Repository, liveblog: Loid, command: C) -> C::Reply {
    wait(repository.execute(liveblog, command, by())).expect("the command goes through").reply
}

fn post(moderated: bool) -> AddPost {
    let content = Content { content_type: "text/xml".into(), size: 4, sha256: [1; 32], stored: Stored::Row };
    AddPost {
        fields: PostFields::default(),
        moderated,
        body: PostBody { content: NewContent { content, small: Some("<p/>".into()), pin: None }, text: "".into() },
        attachments: Vec::new(),
        mode: CreateMode::Exception,
        moderates: true,
        own_only: false,
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
    // The reporter may write, the reader may not; a contributor writes posts, but not to the liveblog.
    let (mut reporter, mut reader, mut contributor) = (follow("reporter"), follow("reader"), follow("contributor"));
    let first = run(&repository, liveblog, post(true)).post;
    let status = |post: Loid, to| SetStatus { post: PostAddress::Loid(post), to, moderates: true };
    run(&repository, liveblog, status(first, PostStatus::Approved));
    let update = UpdatePost {
        post: PostAddress::Loid(first),
        fields: PostFields { title: Some("goal".into()), ..PostFields::default() },
        body: None,
        attachments: Vec::new(),
        remove_attachments: Vec::new(),
        moderates: true,
        own_only: false,
    };
    run(&repository, liveblog, update);
    run(&repository, liveblog, status(first, PostStatus::Rejected));
    let remove = |post| RemovePost { post: PostAddress::Loid(post), own_only: false };
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
    let whole: Vec<Told> = all.iter().map(|_| reporter.must()).collect();
    for (told, (kind, post)) in whole.iter().zip(all) {
        assert_eq!((told.event.as_str(), &told.data["ids"]), (kind, &json!([post])));
    }
    let hidden = |told: &Told| Told {
        id: told.id,
        event: "hidden".to_owned(),
        data: json!({ "container": liveblog.to_string(), "revision": told.id }),
    };
    let removed = |told: &Told| {
        let mut data = told.data.clone();
        data["kind"] = json!("removed");
        Told { id: told.id, event: "removed".to_owned(), data }
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
    let told: Vec<Told> = all.iter().map(|_| reader.must()).collect();
    assert_eq!(told, expected);
    let told: Vec<Told> = all.iter().map(|_| contributor.must()).collect();
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
    house.disk.plan(Plan { at: 0, times: u64::MAX, fault: Fault::Full });
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
    // Nobody calls meanwhile: following is no use of a session.
    clock.advance(Duration::from_secs(house.config.auth.session_idle_seconds));
    assert_eq!(follow.rest(), []);
    assert!(follow.whole, "it was cut off");
    follower.get(&format!("/v3/container/{}/events", encoded(&drawer))).fails(401, "InvalidToken");
    house.stop();
}
