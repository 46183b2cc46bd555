//! More changes at a time than are admitted.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::*;

const CLIENTS: usize = 24;
/// Changes that each asks for at least.
const CHANGES: usize = 40;
/// The largest number of calls; before it, at least one must have been refused.
const MOST: usize = 2000;

/// Lets many clients create drawers with `change` until some calls were refused. Its arguments are
/// the client, the client's number and the change's number. Returns the numbers of the acknowledged
/// changes. A refused change is not retried.
fn storm(server: &Server, change: impl Fn(&Client, usize, usize) -> Answer + Sync) -> BTreeSet<(usize, usize)> {
    let (refused, change) = (AtomicUsize::new(0), &change);
    let refused = &refused;
    std::thread::scope(|scope| {
        let client = |number: usize| {
            let client = server.login("editor");
            move || {
                let mut made = Vec::new();
                for count in 0..MOST {
                    if count >= CHANGES && refused.load(Ordering::Relaxed) > 0 {
                        break;
                    }
                    let answer = change(&client, number, count);
                    if answer.status == 200 {
                        made.push((number, count));
                    } else {
                        assert_overloaded(&answer);
                        refused.fetch_add(1, Ordering::Relaxed);
                    }
                }
                made
            }
        };
        let clients: Vec<_> = (0..CLIENTS).map(|number| scope.spawn(client(number))).collect();
        // Reading needs no permit, whatever is under way.
        let reader = server.login("reader");
        for _ in 0..20 {
            reader.get("/v3/folder/%2FNews/subfolders").ok();
        }
        let made: BTreeSet<_> = clients.into_iter().flat_map(|client| client.join().expect("it ended well")).collect();
        println!("{} acknowledged, {} refused", made.len(), refused.load(Ordering::Relaxed));
        assert!(refused.load(Ordering::Relaxed) > 0, "nobody was refused");
        made
    })
}

#[test]
fn changes_beyond_a_containers_permits_are_refused_and_affect_no_other() {
    let _turn = turn();
    let server = Server::with(&[("RUNTIME__PERMITS_PER_CONTAINER", "1")]);
    let editor = server.login("editor");
    let folder = own_folder();
    let drawer = editor.drawer(&folder, "busy", 10_000);
    let stories: Vec<String> = (0..CLIENTS).map(|number| editor.story(&folder, &format!("{number}.xml"))).collect();
    let before = peak(&server);
    let other = editor.drawer(&folder, "other", 10);
    let inside: Vec<AtomicBool> = (0..CLIENTS).map(|_| AtomicBool::new(false)).collect();
    std::thread::scope(|scope| {
        let storming = scope.spawn(|| {
            storm(&server, |client, number, _| {
                // In and out again, so that each change is one.
                let item = format!("/v3/container/drawer/{}/item/{}", encoded(&drawer), encoded(&stories[number]));
                let is_in = inside[number].load(Ordering::Relaxed);
                let answer = if is_in { client.delete(&item) } else { client.post(&item, &json!({})) };
                if answer.status == 200 {
                    inside[number].store(!is_in, Ordering::Relaxed);
                }
                answer
            })
        });
        // One at a time, so never too much for this container.
        let mut turns = 0;
        while !storming.is_finished() || turns < 10 {
            let item = format!("/v3/container/drawer/{}/item/{}", encoded(&other), encoded(&stories[turns % 10]));
            editor.put(&format!("{item}/position/0"), &json!({})).ok();
            turns += 1;
        }
        storming.join().expect("it ended well");
    });
    // Each story is as in its last acknowledged change: a refused change has no effect.
    let expected = (0..CLIENTS).filter(|number| inside[*number].load(Ordering::Relaxed));
    let expected: BTreeSet<&String> = expected.map(|number| &stories[number]).collect();
    let there = |server: &Server| editor.to(server).items(&drawer);
    assert_eq!(there(&server).iter().collect::<BTreeSet<_>>(), expected);
    assert_peak(&server, before, 128 * MIB);
    let server = server.restart();
    assert_eq!(there(&server).iter().collect::<BTreeSet<_>>(), expected);
}

#[test]
fn beyond_the_permits_of_all_changes_are_refused_and_readers_do_not_mind() {
    let _turn = turn();
    let server = Server::with(&[("RUNTIME__PERMITS", "1")]);
    let before = peak(&server);
    let folder = own_folder();
    // Each change is in a container of its own, as far as possible.
    let name = |number: usize, count: usize| format!("{number}-{count}");
    let made = storm(&server, |client, number, count| {
        let body = json!({ "folderPath": format!("{folder}/{number}"), "name": name(number, count) });
        client.post("/v3/container/drawer", &body)
    });
    assert_peak(&server, before, 128 * MIB);
    let server = server.restart();
    let editor = server.login("editor");
    for (number, count) in (0..CLIENTS).flat_map(|number| (0..CHANGES).map(move |count| (number, count))) {
        let path = format!("{folder}/{number}/{}", name(number, count));
        let status = editor.get(&format!("/v3/object/{}", encoded(&path))).status;
        assert_eq!(status == 200, made.contains(&(number, count)), "{path}: {status}");
    }
}
