//! The rights to follow containers, and the events that each follower receives.

use super::*;

/// A server whose `reporter` may read below `/Top/Desk` and nothing elsewhere; and `admin`, and the
/// reporter.
fn limited() -> (Server, Client, Client) {
    let server = Server::start();
    let (admin, reporter) = (server.user("admin"), reporter_below(&server, "/Top/Desk", &["read"]));
    (server, admin, reporter)
}

#[test]
fn refused_followers_take_no_slot() {
    let (server, admin, reporter) = limited();
    let drawer = admin.drawer("/Top/Other", "hidden", 5);
    events(&server.client(), &drawer).fails(401, "InvalidToken");
    events(&reporter, &drawer).fails(404, "ObjectNotFound");
    assert_eq!(server.client().count("stet_event_followers"), 0);
}

#[test]
fn a_folder_that_is_merely_on_the_way_is_not_followed() {
    let (server, admin, reporter) = limited();
    // Made with the first object below it.
    admin.story("/Top/Desk", "seen.xml");
    let folders = ["/", "/Top"].map(|path| admin.call("object-get", &[&path]).ok()["id"].clone());
    for folder in folders {
        let folder = folder.as_str().expect("a folder has an id");
        // It is seen, and what leads on in it.
        reporter.call("object-get", &[&folder]).ok();
        let error = events(&reporter, folder).fails(403, "PermissionDenied");
        assert_eq!(error["details"]["privilege"], "read");
    }
    assert_eq!(server.client().count("stet_event_followers"), 0);
}

#[test]
fn no_user_takes_all_places() {
    let server = Server::with(&[("EVENTS__FOLLOWERS_PER_USER", "2"), ("EVENTS__KEEP_ALIVE_SECONDS", "1")]);
    let desk = desk(server.user("editor"), 1);
    let (mut one, _) = greeted(&desk.client, &desk.drawer);
    // In another session, and of another container.
    let again = server.login("editor");
    let folder = again.call("object-get", &[&"/News"]).ok()["id"].as_str().expect("an id is a text").to_owned();
    let two = greeted(&again, &folder);
    for client in [&desk.client, &again] {
        let refused = events(client, &desk.drawer).send();
        assert!(refused.header("retry-after").is_some());
        refused.fails(503, "Overloaded");
    }
    greeted(&server.login("reporter"), &folder);
    desk.put_in(0);
    assert_eq!(one.must().event, "drawer.item.add");
    drop(two);
    // A closed connection is noticed without any event.
    wait_until("there is a place", || again.try_follow(&events_of(&desk.drawer), None).is_ok());
}

#[test]
fn ids_of_what_may_not_be_read_are_left_out_and_the_numbers_stay_whole() {
    let (_server, admin, reporter) = limited();
    let drawer = admin.drawer("/Top/Desk", "desk", 9);
    let (seen, hidden) = (admin.story("/Top/Desk", "seen.xml"), admin.story("/Top/Other", "hidden.xml"));
    let (mut follow, hello) = greeted(&reporter, &drawer);
    let (mut all, _) = greeted(&admin, &drawer);
    for (id, sources) in [
        ("drawer-items-post", vec![&hidden]),
        ("drawer-items-post", vec![&seen]),
        ("drawer-items-delete", vec![&hidden, &seen]),
    ] {
        admin.call(id, &[&drawer]).json(&json!({ "sources": sources })).ok();
    }
    let whole: Vec<FollowedEvent> = (0..3).map(|_| all.must()).collect();
    let told: Vec<FollowedEvent> = (0..3).map(|_| follow.must()).collect();
    let numbers: Vec<u64> = told.iter().map(|told| told.id - hello.id).collect();
    assert_eq!(numbers, [1, 2, 3]);
    // Nothing is left but that there was a change.
    assert_eq!(
        (told[0].event.as_str(), &told[0].data),
        ("hidden", &json!({ "container": drawer, "revision": told[0].id }))
    );
    assert_eq!(told[1], whole[1]);
    assert!(ids(&told[1]).contains(&seen.as_str()));
    // The item of the hidden story is left out.
    assert_eq!((told[2].event.as_str(), ids(&whole[2]).len()), ("drawer.item.delete", 4));
    assert_eq!(ids(&told[2]), ids(&whole[2])[2..], "{whole:?}");
    // The same from the store.
    assert_eq!(stored(&reporter, &drawer, hello.id), told);
}

#[test]
fn a_logout_ends_the_streams_of_the_session_and_no_other() {
    let server = Server::start();
    let desk = desk(server.user("editor"), 2);
    let other = server.login("editor");
    let ((stream, _), (mut goes_on, _)) = (greeted(&other, &desk.drawer), greeted(&desk.client, &desk.drawer));
    other.call("auth-logout-get", &[]).ok();
    desk.put_in(0);
    // Not even a change immediately after it is sent.
    assert_eq!(ended(stream), []);
    assert_eq!(goes_on.must().event, "drawer.item.add");
    // An idle stream ends, too.
    let third = server.login("editor");
    let (mut idle, _) = greeted(&third, &desk.drawer);
    third.call("auth-logout-get", &[]).ok();
    assert_eq!(idle.rest(), []);
    events(&third, &desk.drawer).fails(401, "InvalidToken");
}

#[test]
fn a_right_that_is_taken_away_ends_the_stream() {
    let (_server, admin, reporter) = limited();
    let drawer = admin.drawer("/Top/Desk", "desk", 9);
    let (follow, _) = greeted(&reporter, &drawer);
    admin.call("group-update-post", &[]).json(&json!({ "groupName": "desk", "members": [] })).ok();
    admin.call("drawer-put", &[&drawer]).json(&json!({ "title": "secret" })).ok();
    assert_eq!(ended(follow), []);
}

#[test]
fn a_user_who_is_disabled_hears_no_more() {
    let (_server, admin, reporter) = limited();
    let (mut follow, _) = greeted(&reporter, &admin.drawer("/Top/Desk", "desk", 9));
    admin.call("stet-user-update-put", &[&"reporter"]).json(&json!({ "disabled": true })).ok();
    assert_eq!(follow.rest(), []);
}

#[test]
fn a_container_that_is_discarded_or_destroyed_ends_its_streams() {
    let desk = shared_desk(0);
    let other = desk.client.drawer(&desk.folder, "other", 3);
    let ((mut discarded, _), (mut destroyed, _)) = (greeted(&desk.client, &desk.drawer), greeted(&desk.client, &other));
    desk.client.call("object-discard", &[&desk.drawer]).ok();
    let told = discarded.rest();
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!((told[0].event.as_str(), ids(&told[0])), ("object.discard", vec![desk.drawer.as_str()]));
    desk.client.call("object-destroy", &[&other]).ok();
    assert_eq!(destroyed.rest(), []);
    for gone in [&desk.drawer, &other] {
        events(&desk.client, gone).fails(404, "ObjectNotFound");
    }
    // A restored container can be followed again, with all of its events.
    desk.client.call("stet-object-restore-post", &[&desk.drawer]).ok();
    let rest = stored(&desk.client, &desk.drawer, told[0].id);
    assert_eq!(rest.iter().map(|told| told.event.as_str()).collect::<Vec<_>>(), ["object.restore"]);
}
