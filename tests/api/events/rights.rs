//! Who may follow what, and what they are told.

use super::*;

/// A server whose `reporter` may read below `/Top/Desk` and nothing elsewhere; and `admin`, and the reporter.
fn limited() -> (Server, Client, Client) {
    let server = Server::start();
    let admin = server.login("admin");
    for path in ["/Top/Desk", "/Top/Other"] {
        admin.post("/v3/folder", &json!({ "path": path })).ok();
    }
    let privileges = json!([{ "privilege": "read", "folder": "/Top/Desk" }]);
    let group = json!({ "groupName": "desk", "members": ["reporter"], "privileges": privileges });
    admin.post("/v3/group/create", &group).ok();
    admin.post("/v3/group/update", &json!({ "groupName": "reporters", "members": [] })).ok();
    let reporter = server.login("reporter");
    (server, admin, reporter)
}

#[test]
fn who_may_not_read_a_container_may_not_follow_it() {
    let (server, admin, reporter) = limited();
    let drawer = admin.drawer("/Top/Other", "hidden", 5);
    let path = events_of(&drawer);
    server.client().get(&path).fails(401, "InvalidToken");
    reporter.get(&path).fails(404, "ObjectNotFound");
    reporter.get(&events_of("1$1.0.999999999")).fails(404, "ObjectNotFound");
    admin.get(&events_of("nonsense")).fails(400, "InvalidParameter");
    assert_eq!(server.client().count("stet_event_followers"), 0);
}

#[test]
fn the_liveblog_path_is_for_liveblogs() {
    let desk = shared_desk(1);
    for source in [&desk.drawer, &desk.stories[0]] {
        let path = format!("/v3/container/liveblog/{}/events", encoded(source));
        let error = desk.client.get(&path).fails(400, "InvalidType");
        assert_eq!(error["source"], **source);
    }
    desk.client.get("/v3/container/liveblog/1$1.0.999999999/events").fails(404, "ObjectNotFound");
}

#[test]
fn ids_of_what_may_not_be_read_are_left_out_and_the_numbers_stay_whole() {
    let (_server, admin, reporter) = limited();
    let drawer = admin.drawer("/Top/Desk", "desk", 9);
    let (seen, hidden) = (admin.story("/Top/Desk", "seen.xml"), admin.story("/Top/Other", "hidden.xml"));
    let mut follow = reporter.follow(&drawer, None);
    let mut all = admin.follow(&drawer, None);
    let hello = follow.must();
    all.must();
    let items = format!("/v3/container/drawer/{}/item", encoded(&drawer));
    admin.post(&items, &json!({ "sources": [hidden] })).ok();
    admin.post(&items, &json!({ "sources": [seen] })).ok();
    admin.delete_with(&items, &json!({ "sources": [hidden, seen] })).ok();
    let whole: Vec<Told> = (0..3).map(|_| all.must()).collect();
    let told: Vec<Told> = (0..3).map(|_| follow.must()).collect();
    let numbers: Vec<u64> = told.iter().map(|told| told.id - hello.id).collect();
    assert_eq!(numbers, [1, 2, 3]);
    // Nothing is left but that there was a change.
    assert_eq!(
        (told[0].event.as_str(), &told[0].data),
        ("hidden", &json!({ "container": drawer, "revision": told[0].id }))
    );
    assert_eq!(told[1], whole[1]);
    assert!(ids(&told[1]).contains(&seen.as_str()));
    // The item of the hidden story goes with it.
    assert_eq!((told[2].event.as_str(), ids(&whole[2]).len()), ("drawer.item.delete", 4));
    assert_eq!(ids(&told[2]), ids(&whole[2])[2..], "{whole:?}");
    // The same from the store.
    let path = format!("{}?wait=false", events_of(&drawer));
    assert_eq!(reporter.try_follow(&path, Some(hello.id)).expect("it is answered").rest(), told);
}

#[test]
fn a_logout_ends_the_streams_of_the_session_and_no_other() {
    let server = Server::start();
    let desk = desk(server.login("editor"), 2);
    let other = server.login("editor");
    let (mut ended, mut goes_on) = (other.follow(&desk.drawer, None), desk.follow(None));
    ended.must();
    goes_on.must();
    other.get("/v3/auth/logout").ok();
    desk.put_in(0);
    // Not even what was done at once after it.
    assert_eq!(ended.rest(), []);
    assert!(ended.whole, "it was cut off");
    assert_eq!(goes_on.must().event, "drawer.item.add");
    // An idle stream ends, too.
    let third = server.login("editor");
    let mut idle = third.follow(&desk.drawer, None);
    idle.must();
    third.get("/v3/auth/logout").ok();
    assert_eq!(idle.rest(), []);
    third.get(&events_of(&desk.drawer)).fails(401, "InvalidToken");
}

#[test]
fn a_right_that_is_taken_away_ends_the_stream() {
    let (_server, admin, reporter) = limited();
    let drawer = admin.drawer("/Top/Desk", "desk", 9);
    let mut follow = reporter.follow(&drawer, None);
    follow.must();
    admin.post("/v3/group/update", &json!({ "groupName": "desk", "members": [] })).ok();
    admin.put(&format!("/v3/container/drawer/{}", encoded(&drawer)), &json!({ "title": "secret" })).ok();
    assert_eq!(follow.rest(), []);
    assert!(follow.whole, "it was cut off");
}

#[test]
fn a_user_who_is_disabled_hears_no_more() {
    let (_server, admin, reporter) = limited();
    let drawer = admin.drawer("/Top/Desk", "desk", 9);
    let mut follow = reporter.follow(&drawer, None);
    follow.must();
    admin.put("/v3/user/reporter", &json!({ "disabled": true })).ok();
    assert_eq!(follow.rest(), []);
}

#[test]
fn a_container_that_is_discarded_or_destroyed_ends_its_streams() {
    let desk = shared_desk(0);
    let (mut discarded, other) = (desk.follow(None), desk.client.drawer(&desk.folder, "other", 3));
    let mut destroyed = desk.client.follow(&other, None);
    discarded.must();
    destroyed.must();
    desk.client.delete(&format!("/v3/object/{}/discard", encoded(&desk.drawer))).ok();
    let told = discarded.rest();
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!((told[0].event.as_str(), ids(&told[0])), ("object.discard", vec![desk.drawer.as_str()]));
    desk.client.delete(&format!("/v3/object/{}/destroy", encoded(&other))).ok();
    assert_eq!(destroyed.rest(), []);
    for gone in [&desk.drawer, &other] {
        desk.client.get(&events_of(gone)).fails(404, "ObjectNotFound");
    }
    // What comes back is followed again, and all that has been is told.
    desk.client.post(&format!("/v3/object/{}/restore", encoded(&desk.drawer)), &json!({})).ok();
    let path = format!("{}?wait=false", events_of(&desk.drawer));
    let rest = desk.client.try_follow(&path, Some(told[0].id)).expect("it is answered").rest();
    assert_eq!(rest.iter().map(|told| told.event.as_str()).collect::<Vec<_>>(), ["object.restore"]);
}
