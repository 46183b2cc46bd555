//! Limits, and the end of the server.

use super::*;

fn assert_overloaded(answer: &Answer) {
    answer.fails(503, "Overloaded");
    let seconds = answer.header("retry-after").and_then(|value| value.parse::<u64>().ok());
    assert!(seconds.is_some_and(|seconds| seconds >= 1), "{answer:?}");
}

#[test]
fn there_is_room_for_so_many_followers_in_all_and_of_a_container() {
    let server = Server::with(&[("EVENTS__FOLLOWERS", "3"), ("EVENTS__FOLLOWERS_PER_CONTAINER", "2")]);
    let desk = desk(server.login("editor"), 1);
    let other = desk.client.drawer(&desk.folder, "other", 3);
    let begun = |container: &str| {
        let mut follow = desk.client.follow(container, None);
        follow.must();
        follow
    };
    let first = begun(&desk.drawer);
    let _second = begun(&desk.drawer);
    let refused = desk.client.get(&events_of(&desk.drawer));
    assert_overloaded(&refused);
    assert!(refused.json()["result"]["message"].as_str().is_some_and(|message| message.contains(&desk.drawer)));
    let mut third = begun(&other);
    assert_overloaded(&desk.client.get(&events_of(&desk.folder)));
    // Neither who asks for the headers nor who does not wait takes a place.
    assert_eq!(desk.client.send("HEAD", &events_of(&desk.drawer), &[], b"").status, 200);
    assert_eq!(desk.client.get(&format!("{}?wait=false", events_of(&desk.drawer))).status, 200);
    assert_eq!(server.client().count("stet_event_followers"), 3);
    // A place is free when its follower has gone, which is found out when they are told something.
    drop(first);
    wait_until("a place is free", || {
        desk.put_in(0);
        desk.client.delete(&desk.item(0)).ok();
        server.client().count("stet_event_followers") == 2
    });
    begun(&desk.drawer);
    desk.client
        .post(&format!("/v3/container/drawer/{}/item/{}", encoded(&other), encoded(&desk.stories[0])), &json!({}))
        .ok();
    assert_eq!(third.must().event, "drawer.item.add");
}

#[test]
fn at_sigterm_streams_end_at_once_and_nobody_waits_for_them() {
    // Far beyond what the test waits.
    let mut server = Server::with(&[("SERVER__SHUTDOWN_SECONDS", "3600")]);
    let desk = desk(server.login("editor"), 1);
    let mut follows: Vec<Follow> = (0..20).map(|_| desk.follow(None)).collect();
    follows.iter_mut().for_each(|follow| drop(follow.must()));
    desk.put_in(0);
    server.ask_to_end();
    for follow in &mut follows {
        assert_eq!(follow.rest().len(), 1, "what was done before is told");
        assert!(follow.whole, "it was cut off");
    }
    assert_eq!(server.ended(), Some(0));
}
