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
    let desk = desk(server.user("editor"), 1);
    let other = desk.client.drawer(&desk.folder, "other", 3);
    let first = greeted(&desk.client, &desk.drawer);
    let _second = greeted(&desk.client, &desk.drawer);
    let refused = desk.events().send();
    assert_overloaded(&refused);
    assert!(refused.json()["result"]["message"].as_str().is_some_and(|message| message.contains(&desk.drawer)));
    let (mut third, _) = greeted(&desk.client, &other);
    assert_overloaded(&events(&desk.client, &desk.folder).send());
    // Neither who asks for the headers nor who does not wait takes a place.
    assert_eq!(desk.client.send("HEAD", &events_of(&desk.drawer), &[], b"").status, 200);
    assert_eq!(desk.events().query("wait", false).send().status, 200);
    assert_eq!(server.client().count("stet_event_followers"), 3);
    // A place becomes free when its follower has disconnected, which the server detects at the next
    // event.
    drop(first);
    wait_until("a place is free", || {
        desk.put_in(0);
        desk.take_out(0);
        server.client().count("stet_event_followers") == 2
    });
    greeted(&desk.client, &desk.drawer);
    desk.client.call("drawer-item-post", &[&other, &desk.stories[0]]).ok();
    assert_eq!(third.must().event, "drawer.item.add");
}

#[test]
fn at_sigterm_streams_end_at_once_and_nobody_waits_for_them() {
    // Far beyond what the test waits.
    let mut server = Server::with(&[("SERVER__SHUTDOWN_SECONDS", "3600")]);
    let desk = desk(server.user("editor"), 1);
    let follows: Vec<Follow> = (0..20).map(|_| greeted(&desk.client, &desk.drawer).0).collect();
    desk.put_in(0);
    server.ask_to_end();
    for follow in follows {
        assert_eq!(ended(follow).len(), 1, "what was done before is told");
    }
    assert_eq!(server.ended(), Some(0));
}
