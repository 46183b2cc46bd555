//! Many followers, some of which do not read.

use super::*;

/// Creates a drawer, and `stories` stories for it. Filling and clearing it are large events. Also
/// returns its creator.
fn filled(server: &Server, stories: usize) -> (Client, String, Vec<String>) {
    let client = server.login("editor");
    let folder = own_folder();
    let stories: Vec<String> = (0..stories).map(|number| client.story(&folder, &format!("{number}.xml"))).collect();
    let drawer = client.drawer(&folder, "followed", 1000);
    (client, drawer, stories)
}

fn item(drawer: &str) -> String {
    format!("/v3/container/drawer/{}/item", encoded(drawer))
}

#[test]
fn two_thousand_followers_of_one_container_cost_little_and_all_hear() {
    const FOLLOWERS: usize = 2000;
    let _turn = turn();
    let server = Server::start();
    let (client, drawer, stories) = filled(&server, 1);
    let before = resident(&server);
    let mut follows: Vec<Follow> = (0..FOLLOWERS).map(|_| client.follow(&drawer, None)).collect();
    follows.iter_mut().for_each(|follow| assert_eq!(follow.must().event, "hello"));
    client.post(&format!("{}/{}", item(&drawer), encoded(&stories[0])), &json!({})).ok();
    follows.iter_mut().for_each(|follow| assert_eq!(follow.must().event, "drawer.item.add"));
    let each = resident(&server).saturating_sub(before) / FOLLOWERS as u64;
    println!("{} KiB for each follower", each >> 10);
    // Twice the need, most of which is the connection's own buffers.
    assert!(each < 40 << 10, "{each} bytes for each follower");
    assert_serves(&server);
}

#[test]
fn event_readers_that_stall_cost_one_piece_each_and_are_limited() {
    const STORIES: usize = 400;
    const CHANGES: usize = 100;
    const READERS: usize = 300;
    let _turn = turn();
    let places = READERS.to_string();
    let server = Server::with(&[("EVENTS__FOLLOWERS_PER_USER", &places)]);
    let (client, drawer, stories) = filled(&server, STORIES);
    for _ in 0..CHANGES / 2 {
        client.post(&item(&drawer), &json!({ "sources": stories })).ok();
        client.put(&format!("{}/clear", item(&drawer)), &json!({})).ok();
    }
    let path = format!("/v3/container/{}/events", encoded(&drawer));
    let all = client.try_follow(&format!("{path}?wait=false"), Some(1)).expect("it is answered").rest();
    assert_eq!(all.len(), CHANGES, "all of it comes to whoever reads");
    // More than a MiB, which each follower that does not read would have in memory.
    let before = resident(&server);
    let ask = |wait: bool| {
        // In the system's buffers all of it might find room, and the place would be free.
        let mut stream = patient(connect_with_little_room(address(&server)));
        let token = token(&client);
        let request =
            format!("GET {path}?wait={wait} HTTP/1.1\r\nhost: x\r\ntoken: {token}\r\nlast-event-id: 1\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("a request can be sent");
        let mut head = [0; 12];
        stream.read_exact(&mut head).expect("an answer begins");
        (stream, head)
    };
    let readers: Vec<_> = [false, true].into_iter().flat_map(|wait| (0..READERS).map(move |_| wait)).map(ask).collect();
    assert!(readers.iter().all(|(_, head)| head == b"HTTP/1.1 200"), "there is room for as many");
    for wait in [false, true] {
        assert_eq!(&ask(wait).1, b"HTTP/1.1 503", "and for no more: {wait}");
    }
    assert_serves(&server);
    // A piece, and the connection's own buffers.
    assert_peak(&server, before, 2 * READERS as u64 * (256 << 10));
}

#[test]
fn a_follower_who_does_not_read_is_let_go_and_others_go_on() {
    let _turn = turn();
    // Not by the system, which would cut him off in the middle of an event.
    let server = Server::with(&[("EVENTS__QUEUE_EVENTS", "64"), ("SERVER__SLOW_READER_SECONDS", "0")]);
    let (client, drawer, stories) = filled(&server, 400);
    let mut slow = client.follow_with_little_room(&drawer);
    let begun = slow.must().id;
    let mut quick = client.follow(&drawer, None);
    quick.must();
    let before = resident(&server);
    // How many events the slow one was sent, and how many there had been when that last grew.
    let (mut last, mut stuck) = (begun, (0, begun));
    while last - stuck.1 < 150 {
        client.post(&item(&drawer), &json!({ "sources": stories })).ok();
        client.put(&format!("{}/clear", item(&drawer)), &json!({})).ok();
        for _ in 0..2 {
            last += 1;
            assert_eq!(quick.must().id, last);
        }
        // Sending stops when the system's buffers are full.
        let sent = server.client().count("stet_events_sent_total") - (last - begun);
        if sent != stuck.0 {
            stuck = (sent, last);
        }
    }
    println!("{} MiB before, {} MiB now", before / MIB, resident(&server) / MIB);
    // Once the follower reads, its stream ends where it fell behind, and it resumes there.
    let told = slow.rest();
    let had = told.last().map_or(begun, |told| told.id);
    assert!(had < last && slow.whole, "told up to {had} of {last}");
    assert_eq!(had - begun, told.len() as u64, "a gap");
    assert_eq!(server.client().count("stet_event_followers_dropped_total"), 1);
    let mut again = client.follow(&drawer, Some(had));
    for id in had + 1..=last {
        assert_eq!(again.must().id, id);
    }
}

#[test]
fn a_follower_behind_the_live_ring_reads_the_rest_from_the_store() {
    let _turn = turn();
    let server = Server::with(&[("SERVER__SLOW_READER_SECONDS", "0")]);
    for is_discarded in [false, true] {
        let (client, drawer, stories) = filled(&server, 400);
        let mut slow = client.follow_with_little_room(&drawer);
        let begun = slow.must().id;
        let (mut last, mut stuck) = (begun, (0, begun));
        // More than are passed on live, and fewer than he may be behind.
        while last - stuck.1 < 400 {
            client.post(&item(&drawer), &json!({ "sources": stories })).ok();
            client.put(&format!("{}/clear", item(&drawer)), &json!({})).ok();
            last += 2;
            let sent = server.client().count("stet_events_sent_total");
            if sent != stuck.0 {
                stuck = (sent, last);
            }
        }
        if is_discarded {
            client.call("object-discard", &[&drawer]).ok();
        }
        for id in begun + 1..=last {
            assert_eq!(slow.must().id, id);
        }
        if !is_discarded {
            client.post(&item(&drawer), &json!({ "sources": stories })).ok();
        }
        assert_eq!(slow.must().id, last + 1, "he is told of what comes next, and of the end");
    }
    assert_eq!(server.client().count("stet_event_followers_dropped_total"), 0);
}

#[test]
fn a_follower_of_a_folder_who_is_late_reads_the_rest_from_the_log() {
    let _turn = turn();
    // A follower of a container would be disconnected.
    let server = Server::with(&[("EVENTS__QUEUE_EVENTS", "64"), ("SERVER__SLOW_READER_SECONDS", "0")]);
    let (client, drawer, stories) = filled(&server, 400);
    let mut slow = client.follow_path_with_little_room("/v3/events?below=/");
    assert_eq!(slow.must().event, "hello");
    let begun = client.follow(&drawer, None).must().id;
    let (mut last, mut stuck) = (begun, (0, begun));
    while last - stuck.1 < 400 {
        client.post(&item(&drawer), &json!({ "sources": stories })).ok();
        client.put(&format!("{}/clear", item(&drawer)), &json!({})).ok();
        last += 2;
        let sent = server.client().count("stet_events_sent_total");
        if sent != stuck.0 {
            stuck = (sent, last);
        }
    }
    for id in begun + 1..=last {
        assert_eq!(slow.must().id, id);
    }
    client.post(&item(&drawer), &json!({ "sources": stories })).ok();
    assert_eq!(slow.must().id, last + 1, "he is told of what comes next");
    assert_eq!(server.client().count("stet_event_followers_dropped_total"), 0);
}

#[test]
fn a_follower_who_takes_nothing_is_cut_off() {
    let _turn = turn();
    let server = Server::with(&[("SERVER__SLOW_READER_SECONDS", "1")]);
    let (client, drawer, stories) = filled(&server, 400);
    let mut follow = client.follow_with_little_room(&drawer);
    follow.must();
    wait_until("he is cut off", || {
        client.post(&item(&drawer), &json!({ "sources": stories })).ok();
        client.put(&format!("{}/clear", item(&drawer)), &json!({})).ok();
        server.client().count("stet_event_followers") == 0
    });
    assert_serves(&server);
}
