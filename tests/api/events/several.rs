//! Following several containers on one connection: `/v3/events`.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

/// The path that follows these containers, each from the present or after a revision.
fn path_of(containers: &[String]) -> String {
    format!("/v3/events?containers={}", encoded(&containers.join(",")))
}

pub fn follow_all(client: &Client, containers: &[String]) -> Follow {
    client.try_follow(&path_of(containers), None).expect("it is answered")
}

/// The stored events of a stream after that position.
fn stored_after(client: &Client, position: &str) -> Vec<FollowedEvent> {
    let mut follow =
        client.try_follow(&format!("/v3/events?wait=false&lastEventId={position}"), None).expect("it is answered");
    let told = follow.rest();
    assert!(follow.whole, "the answer was cut off");
    told
}

pub fn container(told: &FollowedEvent) -> &str {
    told.data["container"].as_str().expect("each event names its container")
}

#[test]
fn one_connection_has_the_events_of_each_container_in_order() {
    let desks = [(); 3].map(|()| shared_desk(2));
    let client = &desks[0].client;
    let drawers = desks.each_ref().map(|desk| desk.drawer.clone());
    let mut follow = follow_all(client, &drawers);
    for desk in &desks {
        let hello = follow.must();
        assert_eq!((hello.event.as_str(), container(&hello), hello.id), ("hello", &*desk.drawer, desk.present()));
    }
    for story in 0..2 {
        for desk in &desks {
            desk.put_in(story);
            let told = follow.must();
            assert_eq!((container(&told), told.id), (&*desk.drawer, desk.present()));
            assert!(told.event.starts_with("drawer."), "{told:?}");
        }
    }
}

#[test]
fn any_event_of_a_stream_stands_for_all_its_containers_when_it_resumes() {
    let desks = [(); 3].map(|()| shared_desk(3));
    let client = &desks[0].client;
    let mut follow = follow_all(client, &desks.each_ref().map(|desk| desk.drawer.clone()));
    let mut told: Vec<FollowedEvent> = desks.iter().map(|_| follow.must()).collect();
    for story in 0..3 {
        for desk in &desks {
            desk.put_in(story);
            told.push(follow.must());
        }
    }
    // Before the last greeting the stream does not stand for all of them.
    for known in 2..told.len() {
        let rest = stored_after(client, &told[known].position);
        for desk in &desks {
            let of = |events: &[FollowedEvent]| -> Vec<u64> {
                events.iter().filter(|event| container(event) == desk.drawer).map(|event| event.id).collect()
            };
            assert_eq!(of(&rest), of(&told[known + 1..]), "{}", told[known].position);
        }
    }
    let mut resumed = client
        .try_follow(&format!("/v3/events?lastEventId={}", told[4].position), None)
        .expect("a stream resumes without its containers");
    let rest: Vec<FollowedEvent> = told[5..].iter().map(|_| resumed.must()).collect();
    assert_eq!(rest.last().map(|last| &last.position), told.last().map(|last| &last.position));
    desks[1].shuffle(0);
    assert_eq!(container(&resumed.must()), desks[1].drawer);
}

#[test]
fn a_container_begins_after_its_own_revision_or_with_a_reset() {
    let desks = [(); 3].map(|()| shared_desk(2));
    let client = &desks[0].client;
    let [old, new, beyond] = desks.each_ref().map(Desk::present);
    desks.iter().for_each(|desk| drop(desk.put_in(0)));
    let wanted = [
        format!("{old}:{}", desks[0].drawer),
        format!("{}:{}", new + 1, desks[1].drawer),
        format!("{}:{}", beyond + 9, desks[2].drawer),
    ];
    let mut follow = follow_all(client, &wanted);
    let told = [follow.must(), follow.must()];
    let shown: Vec<_> = told.iter().map(|told| (told.event.as_str(), container(told), told.id)).collect();
    assert_eq!(shown, [("reset", &*desks[2].drawer, beyond + 1), ("drawer.item.add", &*desks[0].drawer, old + 1)]);
    desks[1].put_in(1);
    assert_eq!((follow.must().id, desks[1].present()), (new + 2, new + 2));
}

#[test]
fn a_container_that_ends_is_reported_and_the_others_go_on() {
    let desks = [(); 2].map(|()| shared_desk(1));
    let client = &desks[0].client;
    let mut follow = follow_all(client, &desks.each_ref().map(|desk| desk.drawer.clone()));
    let _ = [follow.must(), follow.must()];
    client.call("object-discard", &[&desks[0].drawer]).ok();
    let discarded = follow.must();
    assert_eq!((discarded.event.as_str(), container(&discarded)), ("object.discard", &*desks[0].drawer));
    client.call("object-destroy", &[&desks[0].drawer]).ok();
    desks[1].put_in(0);
    let told = follow.must();
    assert_eq!((container(&told), told.id), (&*desks[1].drawer, desks[1].present()));
    // The id still names the container that is gone, and a stream resumes with it all the same.
    let mut resumed =
        client.try_follow(&format!("/v3/events?lastEventId={}", discarded.position), None).expect("it is answered");
    let gone = resumed.must();
    assert_eq!((gone.event.as_str(), container(&gone)), ("unfollowed", &*desks[0].drawer));
    assert_eq!(container(&resumed.must()), desks[1].drawer);
}

#[test]
fn a_stream_of_several_refuses_what_it_cannot_follow() {
    let desk = shared_desk(0);
    let refused = |query: String| {
        let head = desk.client.try_follow(&format!("/v3/events?{query}"), None).err().expect("it is refused");
        head.lines().next().unwrap_or_default().split(' ').nth(1).unwrap_or_default().to_owned()
    };
    for (query, status) in [
        ("containers=nothing".to_owned(), "400"),
        ("containers=1$1.0.999999999".to_owned(), "404"),
        (format!("containers={}", vec![desk.drawer.as_str(); 65].join(",")), "400"),
        (format!("containers=99999999999999999999:{}", desk.drawer), "400"),
        ("lastEventId=41".to_owned(), "400"),
        ("lastEventId=1.2.x".to_owned(), "400"),
    ] {
        assert_eq!(refused(query.clone()), status, "{query}");
    }
    let twice = vec![desk.drawer.clone(); 64];
    let mut follow = follow_all(&desk.client, &twice);
    follow.must();
    desk.client.call("drawer-put", &[&desk.drawer]).json(&json!({ "capacity": 7 })).ok();
    assert_eq!(container(&follow.must()), desk.drawer);
}

/// Changes an open stream.
fn change(client: &Client, stream: &str, body: Value) -> Answer {
    client.call("stet-events-post", &[&stream]).json(&body).send()
}

#[test]
fn an_open_stream_follows_and_leaves_what_it_is_told() {
    let desks = [(); 3].map(|()| shared_desk(2));
    let client = &desks[0].client;
    let [first, second, third] = desks.each_ref().map(|desk| desk.drawer.clone());
    desks[2].put_in(0);
    let mut follow = follow_all(client, std::slice::from_ref(&first));
    follow.must();
    let stream = follow.stream.clone().expect("the stream has a name");
    let answer = change(client, &stream, json!({ "follow": [{ "container": second }] }));
    let expected = json!({ "stream": stream, "containers": [first, second] });
    assert_eq!(answer.ok(), expected);
    let hello = follow.must();
    assert_eq!((hello.event.as_str(), container(&hello)), ("hello", &*second));
    let before = desks[2].present() - 1;
    let body = json!({ "follow": [{ "container": third, "after": before }], "unfollow": [first] });
    assert_eq!(change(client, &stream, body).ok()["containers"], json!([second, third]));
    let told = [follow.must(), follow.must()];
    let shown = told.each_ref().map(|told| (told.event.as_str(), container(told)));
    assert_eq!(shown, [("unfollowed", &*first), ("drawer.item.add", &*third)]);
    desks[0].put_in(0);
    desks[1].put_in(0);
    assert_eq!(container(&follow.must()), second, "the first is not followed any more");
    // The id of an event names what the stream followed, however it came to follow it.
    let position = stored_after(client, &told[1].position);
    assert_eq!(position.iter().map(container).collect::<Vec<_>>(), [&*second]);
}

#[test]
fn a_stream_is_changed_by_its_user_alone_and_within_bounds() {
    let desk = shared_desk(0);
    let mut follow = follow_all(&desk.client, std::slice::from_ref(&desk.drawer));
    follow.must();
    let stream = follow.stream.clone().expect("the stream has a name");
    let wanted = json!({ "follow": [{ "container": desk.drawer }] });
    change(&Server::shared().user("reporter"), &stream, wanted.clone()).fails(404, "ObjectNotFound");
    change(&desk.client, "no-such-stream", wanted).fails(404, "ObjectNotFound");
    let own = |body| change(&desk.client, &stream, body);
    own(json!({ "follow": [{ "container": "x" }] })).fails(400, "InvalidParameter");
    own(json!({ "follow": [{ "container": "1$1.0.999999999" }] })).fails(404, "ObjectNotFound");
    own(json!({ "follow": [{}] })).fails(400, "InvalidBody");
    own(json!({ "unfollow": vec!["1$1.0.7"; 129] })).fails(400, "InvalidBody");
    // Nothing of a refused change is carried out.
    own(json!({ "unfollow": [desk.drawer], "follow": [{ "container": "1$1.0.999999999" }] }))
        .fails(404, "ObjectNotFound");
    desk.client.call("drawer-put", &[&desk.drawer]).json(&json!({ "capacity": 9 })).ok();
    assert_eq!(container(&follow.must()), desk.drawer);
}

#[test]
fn a_stream_of_several_ends_with_the_server_and_keeps_its_containers() {
    let mut server = Server::start();
    let mut desks = [(); 2].map(|()| desk(server.login("editor"), 2));
    let client = &desks[0].client;
    let mut empty = client.try_follow("/v3/events", None).expect("it is answered");
    let mut follow = follow_all(client, &desks.each_ref().map(|desk| desk.drawer.clone()));
    let _ = [follow.must(), follow.must()];
    desks[0].put_in(0);
    let position = follow.must().position;
    server.ask_to_end();
    for stream in [&mut follow, &mut empty] {
        assert_eq!(stream.rest().len(), 0, "no container is left");
        assert!(stream.whole, "the answer was cut off");
    }
    assert_eq!(server.ended(), Some(0));
    let server = server.restart();
    for desk in &mut desks {
        desk.client = desk.client.to(&server);
        desk.shuffle(0);
    }
    let missed = stored_after(&desks[0].client, &position);
    let shown: Vec<_> = missed.iter().map(|told| (container(told), told.id)).collect();
    let expected = desks.each_ref().map(|desk| (&*desk.drawer, desk.present()));
    assert_eq!(shown.len(), 2);
    assert!(expected.iter().all(|expected| shown.contains(expected)), "{shown:?}");
}

#[test]
fn a_stream_of_several_resumes_after_a_crash_amid_changes() {
    let mut server = Server::start();
    let mut desks = [(); 3].map(|()| desk(server.login("editor"), 4));
    desks.iter().for_each(|desk| (0..4).for_each(|story| drop(desk.put_in(story))));
    let mut known: BTreeMap<String, u64> = desks.iter().map(|desk| (desk.drawer.clone(), desk.present())).collect();
    let mut position = String::new();
    for _ in 0..3 {
        let over = AtomicBool::new(false);
        let note = |told: &FollowedEvent, known: &mut BTreeMap<String, u64>| {
            let last = known.get_mut(container(told)).expect("it is followed");
            assert_eq!(told.id, *last + 1, "{told:?}");
            *last = told.id;
        };
        std::thread::scope(|scope| {
            for desk in &desks {
                scope.spawn(|| {
                    for turn in 0.. {
                        let sent = desk.put_first(turn % 4).try_send();
                        if over.load(Ordering::Relaxed) || !sent.is_ok_and(|answer| answer.status == 200) {
                            return;
                        }
                    }
                });
            }
            let client = &desks[0].client;
            let mut follow = if position.is_empty() {
                let each: Vec<String> = known.iter().map(|(drawer, revision)| format!("{revision}:{drawer}")).collect();
                follow_all(client, &each)
            } else {
                client.try_follow(&format!("/v3/events?lastEventId={position}"), None).expect("it is answered")
            };
            for _ in 0..60 {
                let told = follow.must();
                note(&told, &mut known);
                position = told.position;
            }
            server.kill();
            over.store(true, Ordering::Relaxed);
        });
        server = server.restart();
        for desk in &mut desks {
            desk.client = desk.client.to(&server);
        }
        let missed = stored_after(&desks[0].client, &position);
        missed.iter().for_each(|told| note(told, &mut known));
        for desk in &desks {
            assert_eq!(known[&desk.drawer], desk.present(), "all that was done is told");
        }
        position = missed.last().map_or(position, |last| last.position.clone());
    }
}
