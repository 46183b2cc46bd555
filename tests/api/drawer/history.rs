//! The history of containers: docs/api/history.md.

use std::collections::HashMap;
use std::time::{SystemTime, UNIX_EPOCH};

use super::*;

fn revision_of(reply: &Value) -> u64 {
    reply["info"]["revision"].as_u64().expect("a drawer has a revision")
}

fn history(desk: &Desk) -> Vec<Value> {
    let reply = desk.client.call("stet-history-get", &[&desk.drawer]).ok();
    reply["items"].as_array().expect("it is a list").clone()
}

fn order_at(desk: &Desk, at: impl std::fmt::Display) -> Vec<usize> {
    let reply = desk.client.call("drawer-get", &[&desk.drawer]).query("showItems", true).query("at", at).ok();
    desk.placed(&reply).into_iter().map(|(story, _)| story).collect()
}

fn undo(desk: &Desk, body: Value) -> Answer {
    desk.client.call("stet-undo-post", &[&desk.drawer]).json(&body).send()
}

fn revert(desk: &Desk, revision: u64) -> Answer {
    desk.client.call("stet-revert-post", &[&desk.drawer]).json(&json!({ "revision": revision })).send()
}

#[test]
fn a_history_shows_who_did_what_and_when() {
    let desk = Desk::new(9, 3, 2);
    let begin = now_ms();
    desk.position(2, 0).ok();
    desk.shift(0, 2).ok();
    desk.remove(1).ok();
    desk.update(json!({ "title": "Front" })).ok();
    let entries = history(&desk);
    let kinds: Vec<&str> = entries.iter().filter_map(|entry| entry["kind"].as_str()).collect();
    assert_eq!(
        kinds,
        ["drawer.update", "drawer.item.delete", "drawer.shortcut.position", "drawer.item.position", "drawer.item.add"]
    );
    let latest = revision_of(&desk.read());
    for (entry, number) in entries.iter().zip((0..=latest).rev()) {
        assert_eq!((&entry["revision"], &entry["user"]), (&json!(number), &json!("editor")), "{entry}");
    }
    assert!(entries[0]["at"].as_u64() >= Some(begin));
    let steps = |entry: &Value| -> Vec<Value> {
        let items = entry["changes"]["items"].as_array().expect("the history of a drawer shows what was changed");
        let story = |item: &Value| desk.stories.iter().position(|story| item["source"] == *story);
        items.iter().map(|item| json!([story(item), item["name"], item["from"], item["to"]])).collect()
    };
    assert_eq!(steps(&entries[3])[0], json!([2, "2.xml", null, 0]), "{}", entries[3]);
    assert!(steps(&entries[2]).contains(&json!([0, "0.xml", 1, 2])), "{}", entries[2]);
    assert_eq!(steps(&entries[1]), [json!([1, "1.xml", 1, null])], "{}", entries[1]);
    assert_eq!(steps(&entries[4]), [json!([0, "0.xml", null, 0]), json!([1, "1.xml", null, 1])]);
    assert_eq!(entries[0]["changes"]["fields"], json!([{ "name": "title", "from": "", "to": "Front" }]));
}

#[test]
fn a_history_is_read_page_by_page() {
    let desk = Desk::new(9, 2, 2);
    for place in [1, 0, 1, 0, 1] {
        desk.shift(0, place).send();
    }
    let page = |before: Option<u64>| {
        let call = desk.client.call("stet-history-get", &[&desk.drawer]).query("limit", 2);
        before.into_iter().fold(call, |call, before| call.query("before", before)).ok()
    };
    let (mut all, mut next) = (Vec::new(), None);
    loop {
        let reply = page(next);
        all.extend(reply["items"].as_array().expect("it is a list").iter().map(|entry| entry["revision"].as_u64()));
        next = reply["next"].as_u64();
        if next.is_none() {
            break;
        }
    }
    let latest = revision_of(&desk.read());
    assert_eq!(all, (2..=latest).rev().map(Some).collect::<Vec<_>>());
    for (name, value) in [("limit", "0"), ("limit", "201"), ("before", "-1")] {
        let call = desk.client.call("stet-history-get", &[&desk.drawer]).query(name, value);
        let error = call.fails(400, "InvalidParameter");
        assert!(error["message"].as_str().is_some_and(|said| said.contains(name) && said.contains(value)), "{error}");
    }
}

#[test]
fn a_page_names_a_bounded_number_of_items() {
    let desk = Desk::new(200, 110, 110);
    for _ in 0..12 {
        desk.clear().ok();
        undo(&desk, json!({})).ok();
    }
    let entries = history(&desk);
    let of = |entry: &Value| {
        let changes = &entry["changes"];
        (changes["items"].as_array().map_or(0, Vec::len), changes["more"].as_u64().unwrap_or(0))
    };
    assert_eq!((entries.len(), of(&entries[0]), of(&entries[24])), (25, (100, 10), (0, 110)));
    assert_eq!(entries.iter().map(|entry| of(entry).0).sum::<usize>(), 2_000);
    let ids = entries.iter().filter_map(|entry| entry["ids"].as_array()).map(Vec::len);
    assert!(ids.sum::<usize>() <= 2_000);
}

#[test]
fn every_object_has_a_history() {
    let client = Server::shared().user("editor");
    let folder = own_folder();
    let story = client.story(&folder, "story.xml");
    client.call("stet-object-lock-post", &[&story]).ok();
    let reply = client.call("stet-history-get", &[&story]).ok();
    let entry = &reply["items"][0];
    assert_eq!(
        (&entry["kind"], &entry["user"], &entry["ids"]),
        (&json!("object.lock"), &json!("editor"), &json!([story]))
    );
    assert_eq!(entry.get("changes"), None);
}

#[test]
fn a_drawer_is_read_as_it_was_at_a_revision_and_at_a_time() {
    let desk = Desk::new(9, 3, 2);
    let first = revision_of(&desk.read());
    let then = now_ms();
    wait_until("the clock goes on", || now_ms() > then + 1);
    desk.position(2, 0).ok();
    desk.update(json!({ "title": "Front", "capacity": 3 })).ok();
    desk.clear().ok();
    desk.discard(0);
    assert_eq!(order_at(&desk, first), [0, 1], "a discarded object stood there then");
    assert_eq!(order_at(&desk, first + 1), [2, 0, 1]);
    assert_eq!(order_at(&desk, then), [0, 1]);
    let text = jiff::Timestamp::from_millisecond(then as i64).expect("it is a time").to_string();
    assert_eq!(order_at(&desk, &text), [0, 1], "{text}");
    let past = desk.client.call("drawer-get", &[&desk.drawer]).query("at", first).ok();
    assert_eq!((revision_of(&past), &past["info"]["title"], &past["info"]["capacity"]), (first, &json!(""), &json!(9)));
    assert_eq!(order_at(&desk, now_ms()), Vec::<usize>::new());
}

#[test]
fn a_moment_that_cannot_be_read_is_refused() {
    let desk = Desk::new(9, 1, 1);
    let at = |at: &str| desk.client.call("drawer-get", &[&desk.drawer]).query("at", at).send();
    for text in ["0", "yesterday", "-1", "2026-01-31", "999999999999999999999"] {
        let error = at(text).fails(400, "InvalidParameter");
        assert!(error["message"].as_str().is_some_and(|said| said.contains("at") && said.contains(text)), "{error}");
    }
    at("99").fails(400, "InvalidParameter");
    // The drawer was made later.
    at("2001-01-01T00:00:00Z").fails(404, "ObjectNotFound");
    at("1000000000000").fails(404, "ObjectNotFound");
}

#[test]
fn a_drawer_is_made_as_it_was_by_a_new_change() {
    let desk = Desk::new(9, 4, 3);
    let first = revision_of(&desk.update(json!({ "title": "Before" })).ok());
    desk.clear().ok();
    desk.add(3).ok();
    let latest = revision_of(&desk.update(json!({ "title": "After" })).ok());
    let reply = revert(&desk, first).ok();
    assert_eq!((revision_of(&reply), &reply["info"]["title"]), (latest + 1, &json!("Before")));
    assert_eq!(desk.order(), [0, 1, 2]);
    // Nothing is to be done a second time.
    assert_eq!(revision_of(&revert(&desk, first).ok()), latest + 1);
    let entries = history(&desk);
    assert_eq!(entries[0]["kind"], "drawer.revert");
    // A return is undone as any other change.
    undo(&desk, json!({})).ok();
    assert_eq!(desk.order(), [3]);
    for wrong in [0, latest + 100] {
        let error = revert(&desk, wrong).fails(400, "InvalidParameter");
        assert!(error["message"].as_str().is_some_and(|said| said.contains("revision")), "{error}");
    }
}

#[test]
fn what_is_gone_does_not_come_back_with_an_earlier_state() {
    let desk = Desk::new(2, 4, 2);
    let first = revision_of(&desk.read());
    desk.clear().ok();
    desk.discard(0);
    desk.add(2).ok();
    revert(&desk, first).ok();
    assert_eq!(desk.order(), [1]);
    desk.restore(0);
    assert_eq!(desk.order(), [1], "it was not in the drawer while it was in the recycle bin");
}

#[test]
fn ones_own_latest_change_is_undone_and_redone() {
    let desk = Desk::new(9, 4, 3);
    desk.remove(1).ok();
    let shortcut_before = desk.shortcut(0);
    let reply = undo(&desk, json!({})).ok();
    assert_eq!(desk.order(), [0, 1, 2]);
    assert_eq!(desk.placed(&reply), [(1, 1)], "the reply shows what came back, and where");
    undo(&desk, json!({})).ok();
    assert_eq!(desk.order(), [0, 2], "undoing twice does it again");
    desk.position(3, 0).ok();
    desk.client.call("stet-undo-post", &[&desk.drawer]).ok();
    assert_eq!((desk.order(), desk.shortcut(0)), (vec![0, 2], shortcut_before));
    desk.clear().ok();
    undo(&desk, json!({})).ok();
    assert_eq!(desk.order(), [0, 2]);
}

#[test]
fn a_change_is_undone_whatever_others_have_done_elsewhere() {
    let desk = Desk::new(9, 6, 5);
    let own = revision_of(&desk.shift(0, 3).ok());
    assert_eq!(desk.order(), [1, 2, 3, 0, 4]);
    let other = Server::shared().user("admin");
    other.call("drawer-item-delete", &[&desk.drawer, &desk.stories[2]]).ok();
    other.call("drawer-item-position-put", &[&desk.drawer, &desk.stories[5], &0]).ok();
    undo(&desk, json!({})).ok();
    assert_eq!(desk.order(), [5, 0, 1, 3, 4]);
    // What others have touched since stays.
    let own_again = revision_of(&desk.shift(0, 4).ok());
    other.call("drawer-shortcut-position-put", &[&desk.drawer, &desk.stories[0], &0]).ok();
    for body in [json!({}), json!({ "revision": own_again }), json!({ "revision": own })] {
        undo(&desk, body).fails(412, "PreconditionFailed");
    }
    assert_eq!(desk.order(), [0, 5, 1, 3, 4]);
}

#[test]
fn only_ones_own_changes_of_the_drawer_are_undone() {
    let desk = Desk::new(9, 3, 2);
    let other = Server::shared().user("admin");
    let theirs = other.call("drawer-shortcut-position-put", &[&desk.drawer, &desk.stories[1], &0]).ok();
    undo(&desk, json!({ "revision": revision_of(&theirs) })).fails(403, "PermissionDenied");
    undo(&desk, json!({ "revision": 0 })).fails(400, "InvalidParameter");
    undo(&desk, json!({ "revision": "one" })).fails(400, "InvalidBody");
    let renamed = revision_of(&desk.update(json!({ "name": "other" })).ok());
    undo(&desk, json!({ "revision": renamed })).fails(409, "InvalidForContainer");
    let target = desk.other("target", 9);
    desk.move_to(0, &target).ok();
    let moved = revision_of(&desk.read());
    let error = undo(&desk, json!({ "revision": moved })).fails(409, "InvalidForContainer");
    assert!(error["message"].as_str().is_some_and(|said| said.contains("drawer.item.move")), "{error}");
    let folder = own_folder();
    let mine = desk.client.drawer(&folder, "mine", 3);
    other.call("stet-undo-post", &[&mine]).json(&json!({})).fails(404, "ObjectNotFound");
    let story = desk.client.story(&folder, "story.xml");
    desk.client.call("stet-undo-post", &[&story]).json(&json!({})).fails(400, "InvalidType");
    desk.client.call("stet-revert-post", &[&story]).json(&json!({ "revision": 1 })).fails(400, "InvalidType");
}

#[test]
fn a_full_drawer_refuses_what_an_undo_would_bring_back() {
    let desk = Desk::new(2, 3, 2);
    desk.remove(0).ok();
    let other = Server::shared().user("admin");
    other.call("drawer-item-post", &[&desk.drawer, &desk.stories[2]]).ok();
    undo(&desk, json!({})).fails(409, "DrawerFull");
    assert_eq!(desk.order(), [1, 2]);
    // An item that had to leave a full drawer comes back when the one that took its place goes.
    desk.position(0, 0).ok();
    assert_eq!(desk.order(), [0, 1]);
    undo(&desk, json!({})).ok();
    assert_eq!(desk.order(), [1, 2]);
}

/// Rows are on disk a moment before the log shows their events. Reads in between were refused, as
/// if the history did not reach back.
#[test]
fn a_revision_is_read_the_same_however_much_is_changed_meanwhile() {
    let desk = Desk::new(9, 5, 5);
    let first = revision_of(&desk.read());
    std::thread::scope(|scope| {
        let change = |client: usize| {
            let desk = &desk;
            move || (0..120).for_each(|n| _ = desk.shift((n + client) % 5, n % 4).ok())
        };
        let changes = [0, 1, 2].map(|client| scope.spawn(change(client)));
        let mut seen: HashMap<u64, Vec<usize>> = HashMap::new();
        for n in 0.. {
            if changes.iter().all(std::thread::ScopedJoinHandle::is_finished) {
                break;
            }
            let present = revision_of(&desk.read());
            let revision = if n % 2 == 0 { present } else { first + n % (present - first + 1) };
            let order = order_at(&desk, revision);
            assert_eq!(*seen.entry(revision).or_insert_with(|| order.clone()), order, "{revision}");
        }
        assert!(seen.len() > 10, "{} revisions were read", seen.len());
    });
}

/// The history survives a crash of the server, and so does what can be undone.
#[test]
fn the_past_outlives_a_kill() {
    let mut server = Server::start();
    let client = server.user("editor");
    let folder = own_folder();
    let drawer = client.drawer(&folder, "desk", 9);
    let stories: Vec<String> = (0..3).map(|number| client.story(&folder, &format!("{number}.xml"))).collect();
    for story in &stories {
        client.call("drawer-item-post", &[&drawer, story]).ok();
    }
    client.call("drawer-item-clear-put", &[&drawer]).ok();
    server.kill();
    let server = server.restart();
    let client = client.to(&server);
    let past = client.call("drawer-get", &[&drawer]).query("at", 3).query("showItems", true).ok();
    let sources: Vec<_> = past["items"].as_array().expect("it has items").iter().map(|item| &item["source"]).collect();
    assert_eq!(sources, stories[..2].iter().collect::<Vec<_>>());
    client.call("stet-undo-post", &[&drawer]).json(&json!({})).ok();
    assert_eq!(client.items(&drawer), stories);
}

fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("the clock is right").as_millis() as u64
}
