//! The content, order and form of events.

use std::collections::BTreeMap;
use std::sync::Mutex;

use super::*;

#[test]
fn a_stream_begins_with_the_present_and_then_tells_each_change_once() {
    let desk = shared_desk(2);
    let (mut follow, hello) = greeted(&desk.client, &desk.drawer);
    assert_eq!(hello.id, desk.present());
    assert_eq!(hello.data, json!({ "container": desk.drawer, "revision": hello.id }));
    let added = desk.put_in(0);
    desk.put_first(1).ok();
    // A call without a change has no event.
    desk.put_first(1).ok();
    desk.take_out(0);
    desk.take_all_out();
    let told: Vec<FollowedEvent> = (0..4).map(|_| follow.must()).collect();
    assert_eq!(told[0].id, revision(&added));
    let kinds: Vec<(u64, &str)> = told.iter().map(|told| (told.id - hello.id, told.event.as_str())).collect();
    let expected =
        [(1, "drawer.item.add"), (2, "drawer.item.position"), (3, "drawer.item.delete"), (4, "drawer.item.clear")];
    assert_eq!(kinds, expected);
    for (told, story) in told.iter().zip([Some(0), Some(1), Some(0), None]) {
        includes(&told.data, &json!({ "container": desk.drawer, "kind": told.event, "user": "editor" }));
        assert!(told.data["at"].as_u64().is_some_and(|at| at > 1_700_000_000_000), "{told:?}");
        // Item and object; none where it is all of them.
        let object = ids(told).get(1).copied();
        assert_eq!(object, story.map(|story: usize| desk.stories[story].as_str()), "{told:?}");
        // Neither session nor address is anybody's business.
        assert_eq!(told.data.as_object().map(|data| data.len()), Some(6), "{told:?}");
    }
}

#[test]
fn the_answer_is_an_event_stream_that_nobody_keeps() {
    let desk = shared_desk(0);
    let head = desk.follow(None).head;
    for line in
        ["content-type: text/event-stream", "cache-control: no-store", "x-accel-buffering: no", "connection: close"]
    {
        assert!(head.lines().any(|found| found == line), "`{line}` is missing in: {head}");
    }
    assert!(!head.contains("content-encoding") && !head.contains("etag"), "{head}");
    let answer = desk.client.send("HEAD", &events_of(&desk.drawer), &[], b"");
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("text/event-stream")));
    assert!(answer.body.is_empty());
    let answer = desk.events().query("wait", false).send();
    let revision = desk.present();
    let expected = format!(
        "retry: 3000\n\nid: {revision}\nevent: hello\ndata: {{\"container\":\"{}\",\"revision\":{revision}}}\n\n",
        desk.drawer
    );
    assert_eq!(String::from_utf8(answer.body).unwrap(), expected);
}

#[test]
fn folders_and_documents_are_followed_too() {
    let desk = shared_desk(1);
    let (mut folder, _) = greeted(&desk.client, &desk.folder);
    let (mut story, _) = greeted(&desk.client, &desk.stories[0]);
    let made = desk.client.story(&desk.folder, "new.xml");
    let told = folder.must();
    assert_eq!((told.event.as_str(), ids(&told)), ("object.create", vec![made.as_str()]));
    let options = json!({ "name": "0.xml", "type": "Story", "folderPath": desk.folder, "createMode": "NEW_VERSION" });
    let files: &[File<'_>] = &[("content", "0.xml", "text/xml", b"<story>2</story>")];
    desk.client.call("stet-object-create-post", &[]).form(&options, files).ok();
    let told = story.must();
    assert_eq!((told.event.as_str(), &told.data["container"]), ("object.create", &json!(desk.stories[0])));
}

#[test]
fn a_comment_keeps_the_connection_and_finds_out_who_has_gone() {
    let server = Server::with(&[("EVENTS__KEEP_ALIVE_SECONDS", "1")]);
    let desk = desk(server.user("editor"), 1);
    let (mut follow, _) = greeted(&desk.client, &desk.drawer);
    follow.comment();
    desk.put_in(0);
    assert_eq!(follow.must().event, "drawer.item.add");
    assert_eq!(server.client().count("stet_event_followers"), 1);
    assert_eq!(server.client().count("stet_events_sent_total"), 1);
    drop(follow);
    wait_until("the one who has gone is forgotten", || server.client().count("stet_event_followers") == 0);
}

#[test]
fn a_disconnected_follower_keeps_its_slot_until_the_next_event_at_most() {
    let server = Server::with(&[("EVENTS__KEEP_ALIVE_SECONDS", "3600")]);
    let desk = desk(server.user("editor"), 1);
    let (follow, _) = greeted(&desk.client, &desk.drawer);
    drop(follow);
    desk.put_in(0);
    wait_until("the one who has gone is forgotten", || server.client().count("stet_event_followers") == 0);
}

#[test]
fn fifty_followers_get_all_events_of_eight_writers_in_revision_order() {
    const WRITERS: usize = 8;
    const FOLLOWERS: usize = 50;
    const EACH: usize = 40;
    let server = Server::start();
    let desk = desk(server.user("editor"), WRITERS * 2);
    let first = desk.present();
    // The story of each revision, from the writers' replies.
    let done: Mutex<BTreeMap<u64, String>> = Mutex::default();
    let heard: Vec<Vec<FollowedEvent>> = std::thread::scope(|scope| {
        let last = (WRITERS * EACH) as u64 + first;
        let followers: Vec<_> = (0..FOLLOWERS)
            .map(|_| {
                let mut follow = desk.follow(None);
                scope.spawn(move || {
                    let mut heard = vec![follow.must()];
                    while heard.last().is_some_and(|told| told.id < last) {
                        heard.push(follow.must());
                    }
                    heard
                })
            })
            .collect();
        for writer in 0..WRITERS {
            let (desk, done, server) = (&desk, &done, &server);
            scope.spawn(move || {
                let client = server.login("editor");
                for turn in 0..EACH {
                    let story = &desk.stories[writer * 2];
                    // In and out: each call changes something.
                    let id = if turn % 2 == 0 { "drawer-item-post" } else { "drawer-item-delete" };
                    let answer = client.call(id, &[&desk.drawer, story]).send();
                    answer.ok();
                    let before = done.lock().unwrap().insert(revision(&answer), story.clone());
                    assert_eq!(before, None, "two changes have one revision");
                }
            });
        }
        followers.into_iter().map(|follower| follower.join().expect("a follower hears all")).collect()
    });
    let done = done.into_inner().unwrap();
    for heard in heard {
        assert_eq!((heard[0].event.as_str(), heard[0].id), ("hello", first));
        let told: Vec<(u64, &str)> = heard[1..].iter().map(|told| (told.id, ids(told)[1])).collect();
        let expected: Vec<(u64, &str)> = done.iter().map(|(revision, story)| (*revision, story.as_str())).collect();
        assert_eq!(told, expected);
    }
}
