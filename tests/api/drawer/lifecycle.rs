//! What becomes of drawers when objects are discarded, restored and destroyed, and of drawers themselves.

use super::*;

fn counts(desk: &Desk) -> (u64, u64) {
    let info = desk.info();
    (info["count"].as_u64().unwrap(), info["hidden"].as_u64().unwrap())
}

#[test]
fn a_discarded_object_is_hidden_and_comes_back_where_it_was() {
    let desk = Desk::new(5, 3, 3);
    let shortcut = desk.shortcut(1);
    desk.discard(1);
    assert_eq!(desk.order(), [0, 2]);
    assert_eq!(counts(&desk), (2, 1));
    desk.restore(1);
    assert_eq!(desk.order(), [0, 1, 2]);
    assert_eq!(counts(&desk), (3, 0));
    assert_eq!(desk.shortcut(1), shortcut);
}

#[test]
fn what_is_hidden_can_neither_be_named_nor_added() {
    let desk = Desk::new(5, 3, 3);
    let other = desk.other("other", 5);
    let shortcut = desk.shortcut(1);
    desk.discard(1);
    desk.refuses(|| desk.add(1), 404, "ObjectNotFound");
    desk.refuses(|| desk.position(1, 0), 404, "ObjectNotFound");
    desk.refuses(|| desk.remove(1), 404, "ObjectNotFound");
    desk.refuses(|| desk.move_to(1, &other), 404, "ObjectNotFound");
    for (method, path) in [
        ("PUT", format!("/shortcut/{shortcut}/position/0")),
        ("DELETE", format!("/item/{shortcut}")),
        ("PUT", format!("/item/{shortcut}/move/{}", encoded(&other))),
        ("PUT", format!("/item/{shortcut}/position/0")),
        ("POST", format!("/item/{shortcut}")),
    ] {
        desk.refuses(|| desk.client.send_json(method, &desk.path(&path), &json!({})), 404, "ObjectNotFound");
    }
    let reply = desk.leaves(|| desk.client.delete_with(&desk.path("/item"), &json!([desk.stories[1], shortcut])));
    assert_eq!(reply["errors"].as_array().unwrap().len(), 2);
    desk.restore(1);
    assert_eq!(desk.order(), [0, 1, 2]);
}

#[test]
fn positions_speak_of_what_can_be_seen() {
    let desk = Desk::new(9, 7, 5);
    desk.discard(0);
    desk.discard(2);
    assert_eq!(desk.order(), [1, 3, 4]);
    // The last place is 2 now.
    desk.refuses(|| desk.shift(1, 3), 400, "InvalidParameter");
    assert_eq!(placed(&desk.shift(1, 2).ok()), [(desk.stories[1].clone(), 2)]);
    assert_eq!(desk.order(), [3, 4, 1]);
    assert_eq!(placed(&desk.position(5, 1).ok()), [(desk.stories[5].clone(), 1)]);
    assert_eq!(desk.order(), [3, 5, 4, 1]);
    assert_eq!(placed(&desk.add(6).ok()), [(desk.stories[6].clone(), 4)]);
    assert_eq!(placed(&desk.position(4, 0).ok()), [(desk.stories[4].clone(), 0)]);
    assert_eq!(desk.order(), [4, 3, 5, 1, 6]);
    desk.restore(0);
    desk.restore(2);
    let order = desk.order();
    let seen: Vec<_> = order.iter().copied().filter(|story| ![0, 2].contains(story)).collect();
    assert_eq!(seen, [4, 3, 5, 1, 6]);
    assert!(order.contains(&0) && order.contains(&2), "{order:?}");
}

#[test]
fn hidden_items_keep_their_place_when_the_others_are_spread_out() {
    let desk = Desk::new(6, 6, 6);
    desk.discard(1);
    desk.discard(4);
    // A hundred moves to one place use up the room there.
    for _ in 0..60 {
        desk.position(3, 1).ok();
        desk.position(2, 1).ok();
    }
    assert_eq!((desk.order(), counts(&desk)), (vec![0, 2, 3, 5], (4, 2)));
    desk.restore(1);
    desk.restore(4);
    assert_eq!((desk.order(), counts(&desk)), (vec![0, 1, 2, 3, 4, 5], (6, 0)));
}

#[test]
fn a_hidden_item_stays_while_there_is_room() {
    let desk = Desk::new(4, 4, 3);
    desk.discard(1);
    desk.add(3).ok();
    assert_eq!(counts(&desk), (3, 1));
    desk.restore(1);
    assert_eq!(desk.order(), [0, 1, 2, 3]);
}

#[test]
fn a_hidden_item_yields_to_an_addition_when_the_drawer_is_full() {
    let desk = Desk::new(3, 5, 3);
    desk.discard(1);
    assert_eq!(counts(&desk), (2, 1));
    desk.add(3).ok();
    assert_eq!(desk.order(), [0, 2, 3]);
    assert_eq!(counts(&desk), (3, 0));
    desk.restore(1);
    assert_eq!(desk.order(), [0, 2, 3], "it has lost its place");
    desk.refuses(|| desk.add(1), 409, "DrawerFull");
}

#[test]
fn a_hidden_item_yields_before_the_last_one_to_an_insertion() {
    let desk = Desk::new(3, 5, 3);
    desk.discard(0);
    desk.position(3, 0).ok();
    assert_eq!(desk.order(), [3, 1, 2]);
    assert_eq!(counts(&desk), (3, 0));
    desk.position(4, 0).ok();
    assert_eq!(desk.order(), [4, 3, 1]);
}

#[test]
fn a_hidden_item_yields_to_a_bulk_a_move_and_a_smaller_capacity() {
    let desk = Desk::new(3, 6, 3);
    desk.discard(1);
    desk.discard(2);
    desk.client.post(&desk.path("/item"), &json!([desk.stories[3], desk.stories[4]])).ok();
    assert_eq!((desk.order(), counts(&desk)), (vec![0, 3, 4], (3, 0)));
    desk.discard(3);
    let other = desk.other("other", 2);
    desk.client.post(&below(&other, "/item"), &json!([desk.stories[5]])).ok();
    let path = below(&other, &format!("/item/{}/move/{}", encoded(&desk.stories[5]), encoded(&desk.drawer)));
    desk.client.put(&path, &json!({})).ok();
    assert_eq!((desk.order(), counts(&desk)), (vec![0, 4, 5], (3, 0)));
    desk.discard(4);
    desk.client.put(&desk.path(""), &json!({ "capacity": 1 })).fails(400, "InvalidParameter");
    assert_eq!(counts(&desk), (2, 1));
    desk.client.put(&desk.path(""), &json!({ "capacity": 2 })).ok();
    assert_eq!((desk.order(), counts(&desk)), (vec![0, 5], (2, 0)));
}

#[test]
fn clearing_takes_the_hidden_ones_along() {
    let desk = Desk::new(3, 3, 3);
    desk.discard(1);
    desk.client.put(&desk.path("/item/clear"), &json!({})).ok();
    assert_eq!(counts(&desk), (0, 0));
    desk.restore(1);
    assert!(desk.order().is_empty());
}

#[test]
fn destroyed_objects_leave_their_drawers_for_good() {
    let desk = Desk::new(3, 4, 3);
    let other = desk.other("other", 3);
    desk.client.post(&below(&other, "/item"), &json!([desk.stories[0]])).ok();
    destroy(&desk.client, &desk.stories[0]);
    assert_eq!((desk.order(), counts(&desk)), (vec![1, 2], (2, 0)));
    assert!(desk.order_in(&other).is_empty());
    // From the recycle bin, too.
    desk.discard(2);
    assert_eq!(counts(&desk), (1, 1));
    destroy(&desk.client, &desk.stories[2]);
    assert_eq!((desk.order(), counts(&desk)), (vec![1], (1, 0)));
    desk.refuses(|| desk.add(0), 404, "ObjectNotFound");
    desk.add(3).ok();
    assert_eq!(desk.order(), [1, 3]);
}

#[test]
fn a_discarded_drawer_is_not_found_and_comes_back_as_it_was() {
    let desk = Desk::new(3, 2, 2);
    let before = desk.read();
    discard(&desk.client, &desk.drawer);
    desk.client.get(&desk.path("")).fails(404, "ObjectNotFound");
    desk.client.get(&below(&format!("{}/desk", desk.folder), "")).fails(404, "ObjectNotFound");
    for answer in [desk.add(0), desk.position(0, 0), desk.remove(0), desk.client.put(&desk.path(""), &json!({}))] {
        answer.fails(404, "ObjectNotFound");
    }
    desk.client.put(&desk.path("/item/clear"), &json!({})).fails(404, "ObjectNotFound");
    // The name is free meanwhile.
    let second = desk.other("desk", 1);
    let path = format!("/v3/object/{}/restore", encoded(&desk.drawer));
    desk.client.post(&path, &json!({})).fails(409, "DuplicatedName");
    destroy(&desk.client, &second);
    restore(&desk.client, &desk.drawer);
    assert_eq!(desk.read()["items"], before["items"]);
}

#[test]
fn a_discarded_drawer_learns_what_happens_to_its_objects() {
    let desk = Desk::new(5, 4, 4);
    discard(&desk.client, &desk.drawer);
    desk.discard(1);
    desk.discard(2);
    desk.restore(2);
    destroy(&desk.client, &desk.stories[3]);
    restore(&desk.client, &desk.drawer);
    assert_eq!((desk.order(), counts(&desk)), (vec![0, 2], (2, 1)));
    desk.restore(1);
    assert_eq!(desk.order(), [0, 1, 2]);
}

#[test]
fn a_destroyed_drawer_leaves_its_objects_alone() {
    let desk = Desk::new(3, 2, 2);
    destroy(&desk.client, &desk.drawer);
    desk.client.get(&desk.path("")).fails(404, "ObjectNotFound");
    desk.client.get(&format!("/v3/object/{}", encoded(&desk.stories[0]))).ok();
    let again = desk.other("desk", 3);
    assert_ne!(again, desk.drawer, "numbers are never reused");
}

#[test]
fn a_discarded_folder_takes_drawer_and_objects_along_and_back() {
    let desk = Desk::new(5, 3, 3);
    let outside = editor().drawer(&own_folder(), "outside", 5);
    let outsider = editor().story(&own_folder(), "outside.xml");
    desk.client.post(&below(&outside, "/item"), &json!([outsider, desk.stories[0], desk.drawer])).ok();
    desk.client.post(&desk.path("/item"), &json!([outsider])).ok();
    let folder = desk.client.get(&format!("/v3/object/{}", encoded(&desk.folder))).ok();
    discard(&desk.client, &desk.folder);
    desk.client.get(&desk.path("")).fails(404, "ObjectNotFound");
    assert_eq!(desk.client.items(&outside), [outsider.as_str()]);
    assert_eq!(desk.client.get(&below(&outside, "")).ok()["info"]["hidden"], 2);
    // A part of what was discarded together can't come back alone.
    let path = format!("/v3/object/{}/restore", encoded(&desk.drawer));
    desk.client.post(&path, &json!({})).fails(409, "InvalidForContainer");
    restore(&desk.client, folder["id"].as_str().unwrap());
    assert_eq!(desk.client.items(&desk.drawer).len(), 4);
    assert_eq!(desk.client.items(&outside), [outsider, desk.stories[0].clone(), desk.drawer.clone()]);
}

#[test]
fn a_drawer_that_holds_itself_lives_and_dies_like_others() {
    let desk = Desk::new(3, 1, 1);
    desk.client.post(&desk.path("/item"), &json!([desk.drawer])).ok();
    let sources: Vec<_> = placed(&desk.client.get(&desk.path("?showItems=1")).ok());
    assert_eq!(sources, [(desk.stories[0].clone(), 0), (desk.drawer.clone(), 1)]);
    discard(&desk.client, &desk.drawer);
    desk.client.get(&desk.path("")).fails(404, "ObjectNotFound");
    restore(&desk.client, &desk.drawer);
    assert_eq!(placed(&desk.client.get(&desk.path("?showItems=1")).ok()), sources);
    destroy(&desk.client, &desk.drawer);
    desk.client.get(&desk.path("")).fails(404, "ObjectNotFound");
    assert_eq!(desk.client.get(&below("object", &format!("/{}", encoded(&desk.stories[0])))).ok()["total"], 0);
}

#[test]
fn all_of_a_drawer_is_there_after_a_crash() {
    let mut server = Server::start();
    let desk = Desk::of(server.login("editor"), 9, 6, 5);
    let update =
        json!({ "title": "T", "description": "d", "capacity": 7, "name": "renamed", "attributes": "<a>1</a>" });
    desk.client.put(&desk.path(""), &update).ok();
    desk.position(5, 0).ok();
    desk.shift(0, 3).ok();
    // Enough moves to one place for the items around to be spread out anew.
    for _ in 0..52 {
        desk.position(3, 1).ok();
        desk.position(4, 1).ok();
    }
    desk.discard(1);
    desk.discard(2);
    destroy(&desk.client, &desk.stories[2]);
    let gone = desk.other("gone", 1);
    discard(&desk.client, &gone);
    let (before, holders) = (desk.state(), below("object", &format!("/{}", encoded(&desk.stories[0]))));
    assert_eq!((desk.order(), counts(&desk)), (vec![5, 4, 3, 0], (4, 1)));
    server.kill();
    let mut server = server.restart();
    let desk = Desk { client: desk.client.to(&server), ..desk };
    assert_eq!(desk.state(), before);
    assert_eq!(desk.client.get(&holders).ok()["total"], 1);
    desk.client.get(&below(&gone, "")).fails(404, "ObjectNotFound");
    let shortcut = desk.shortcut(4);
    desk.restore(1);
    assert_eq!((desk.order().len(), counts(&desk)), (5, (5, 0)));
    assert_eq!(desk.shortcut(4), shortcut);
    restore(&desk.client, &gone);
    assert_eq!(server.terminate(), Some(0));
    let (code, output) = server.check();
    assert_eq!(code, Some(0), "{output}");
}
