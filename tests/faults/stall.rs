//! A disk that does not respond: changes wait, reads continue, excess calls are refused, and
//! nothing is lost.

use std::io::Write;
use std::net::TcpStream;
use std::sync::mpsc;
use std::time::Duration;

use stet_domain::clock::{Clock, ManualClock, SystemClock};

use super::*;

const PERMITS: usize = 4;

fn item(drawer: &str, story: &str) -> String {
    format!("/v3/container/drawer/{}/item/{}", encoded(drawer), encoded(story))
}

#[test]
fn while_the_disk_stalls_changes_wait_reads_go_on_and_nothing_is_lost() {
    let mut house = House::empty();
    house.config.runtime.permits = PERMITS;
    house.clock = Some(ManualClock::at(SystemClock.now_ms()));
    house.start();
    let client = house.client();
    let (busy, other) = (client.drawer("/Stall", "busy", 10), client.drawer("/Stall", "other", 10));
    let stories: Vec<String> = (0..=PERMITS).map(|number| client.story("/Stall", &format!("story{number}"))).collect();
    client.post(&item(&other, &stories[0]), &serde_json::json!({})).ok();
    // Nothing is in memory afterwards.
    house.stop();
    house.start();
    let client = house.client();

    house.disk.stall(StoreFile::Journal);
    let (answered, answers) = mpsc::channel();
    for story in &stories[..PERMITS - 1] {
        let (client, path, answered) = (client.clone(), item(&busy, story), answered.clone());
        std::thread::spawn(move || answered.send(client.post(&path, &serde_json::json!({})).status));
    }
    // Another caller sends a call and disconnects.
    let path = item(&busy, &stories[PERMITS - 1]);
    let token = client.token.as_deref().expect("it is logged in");
    let address = client.base.strip_prefix("http://").expect("a base address");
    let mut gone = TcpStream::connect(address).expect("the server listens");
    write!(gone, "POST {path}?token={token} HTTP/1.1\r\nhost: {address}\r\ncontent-length: 0\r\n\r\n")
        .expect("it is sent");
    wait_until("all are admitted", || house.metric("stet_store_pending") == PERMITS as f64);
    assert_eq!(house.disk.waiting(), 1);
    drop(gone);

    let refused = client.post(&item(&busy, &stories[PERMITS]), &serde_json::json!({}));
    assert!(refused.header("retry-after").is_some(), "{refused:?}");
    refused.fails(503, "Overloaded");
    assert_eq!(client.items(&busy), Vec::<String>::new(), "what may yet fail is not shown");
    assert_eq!(client.items(&other), [stories[0].clone()], "a drawer that was not even in memory");
    client.get(&format!("/v3/object/{}", encoded(&stories[0]))).ok();
    assert_eq!(house.readiness(), (200, String::new()), "a moment is nothing");
    let clock = house.clock.clone().expect("it was given");
    clock.advance(Duration::from_secs(12));
    assert_eq!(house.readiness(), (503, "the disk has not answered for 12 s: changes wait".to_owned()));
    assert_eq!(house.metric("stet_store_commit_waits_seconds"), 12.0);
    assert_eq!(house.metric("stet_store_state{state=\"stalled\"}"), 1.0);
    assert!(answers.try_recv().is_err(), "nobody is answered before the disk is");

    house.disk.release();
    for _ in 0..PERMITS - 1 {
        assert_eq!(answers.recv_timeout(PATIENCE), Ok(200));
    }
    let all = |client: &Client| {
        let mut items = client.items(&busy);
        items.sort();
        items == stories[..PERMITS]
    };
    wait_until("the change of the one who went away is made, too", || all(&client));
    assert_eq!(house.readiness(), (200, String::new()));
    wait_until("nothing is pending", || house.metric("stet_store_pending") == 0.0);
    client.post(&item(&busy, &stories[PERMITS]), &serde_json::json!({})).ok();
    client.delete(&item(&busy, &stories[PERMITS])).ok();
    house.lose_power(1);
    house.start();
    assert!(all(&house.client()), "{:?}", house.client().items(&busy));
}

#[test]
fn while_the_tables_stall_neither_changes_nor_reads_wait() {
    let mut house = House::empty();
    house.config.store.checkpoint_rows = 1;
    house.start();
    let client = house.client();
    house.disk.stall(StoreFile::State);
    let drawer = client.drawer("/Stall", "drawer", 10);
    wait_until("a checkpoint is under way", || house.disk.waiting() == 1);
    let story = client.story("/Stall", "story");
    client.post(&item(&drawer, &story), &serde_json::json!({})).ok();
    assert_eq!(client.items(&drawer), std::slice::from_ref(&story));
    house.lose_power(2);
    house.start();
    assert_eq!(house.client().items(&drawer), [story]);
}

/// The large changes of one user: the running one, and those that may wait.
const LARGE: usize = 1 + 64;

/// Regression test: all large changes of one user entered their containers' queues at once, and
/// everybody else's changes came after them.
#[test]
fn large_changes_of_one_user_wait_for_their_turn_and_small_ones_do_not() {
    let house = House::started();
    let client = house.client();
    let (drawer, other) = (client.drawer("/Stall", "large", 1000), client.drawer("/Stall", "small", 10));
    // One more than a small change may alter.
    let mut stories: Vec<String> =
        (0..257).map(|number| client.story("/Stall", &format!("story{number:03}"))).collect();
    house.disk.stall(StoreFile::Journal);
    let (answered, answers) = mpsc::channel();
    let large = serde_json::json!({ "sources": &stories });
    for _ in 0..=LARGE {
        let path = format!("/v3/container/drawer/{}/item", encoded(&drawer));
        let (client, large, answered) = (client.clone(), large.clone(), answered.clone());
        std::thread::spawn(move || answered.send(client.post(&path, &large)));
    }
    let refused = answers.recv_timeout(PATIENCE).expect("one is too many");
    assert!(refused.header("retry-after").is_some(), "{refused:?}");
    refused.fails(503, "Overloaded");
    wait_until("one has its turn", || house.metric("stet_store_pending") == 1.0);
    let (small, path, told) = (client.clone(), item(&other, &stories[0]), answered.clone());
    let small = std::thread::spawn(move || drop(told.send(small.post(&path, &serde_json::json!({})))));
    wait_until("the small one waits for the disk alone", || house.metric("stet_store_pending") == 2.0);
    assert_eq!(house.metric("stet_overloaded_total{what=\"large_changes\"}"), 1.0);
    house.disk.release();
    small.join().expect("it ended well");
    for _ in 0..=LARGE {
        answers.recv_timeout(PATIENCE).expect("all are answered").ok();
    }
    assert_eq!(client.items(&drawer), stories);
    stories.truncate(1);
    assert_eq!(client.items(&other), stories);
}
