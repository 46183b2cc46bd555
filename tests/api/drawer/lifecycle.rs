//! Drawers when their objects are discarded, restored and destroyed, and when this happens to the
//! drawers themselves.

use super::*;

#[test]
fn a_discarded_object_is_hidden_and_comes_back_where_it_was() {
    let desk = Desk::new(5, 3, 3);
    let shortcut = desk.shortcut(1);
    desk.discard(1);
    assert_eq!(desk.order(), [0, 2]);
    assert_eq!(desk.counts(), (2, 1));
    desk.restore(1);
    assert_eq!(desk.order(), [0, 1, 2]);
    assert_eq!(desk.counts(), (3, 0));
    assert_eq!(desk.shortcut(1), shortcut);
}

#[test]
fn hidden_drawer_items_can_be_neither_addressed_nor_added() {
    let desk = Desk::new(5, 3, 3);
    let other = desk.other("other", 5);
    let shortcut = desk.shortcut(1);
    desk.discard(1);
    desk.refuses(desk.add(1), 404, "ObjectNotFound");
    desk.refuses(desk.position(1, 0), 404, "ObjectNotFound");
    desk.refuses(desk.remove(1), 404, "ObjectNotFound");
    desk.refuses(desk.move_to(1, &other), 404, "ObjectNotFound");
    for call in [
        desk.call("drawer-shortcut-position-put", &[&shortcut, &0]),
        desk.call("drawer-item-delete", &[&shortcut]),
        desk.call("drawer-item-move-put", &[&shortcut, &other]),
        desk.call("drawer-item-position-put", &[&shortcut, &0]),
        desk.call("drawer-item-post", &[&shortcut]),
    ] {
        desk.refuses(call, 404, "ObjectNotFound");
    }
    let reply = desk.leaves(desk.remove_all(json!([desk.stories[1], shortcut])));
    includes(&reply["errors"], &json!([{}, {}]));
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
    desk.refuses(desk.shift(1, 3), 400, "InvalidParameter");
    assert_eq!(desk.placed(&desk.shift(1, 2).ok()), [(1, 2)]);
    assert_eq!(desk.order(), [3, 4, 1]);
    assert_eq!(desk.placed(&desk.position(5, 1).ok()), [(5, 1)]);
    assert_eq!(desk.order(), [3, 5, 4, 1]);
    assert_eq!(desk.placed(&desk.add(6).ok()), [(6, 4)]);
    assert_eq!(desk.placed(&desk.position(4, 0).ok()), [(4, 0)]);
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
    assert_eq!((desk.order(), desk.counts()), (vec![0, 2, 3, 5], (4, 2)));
    desk.restore(1);
    desk.restore(4);
    assert_eq!((desk.order(), desk.counts()), (vec![0, 1, 2, 3, 4, 5], (6, 0)));
}

#[test]
fn a_hidden_item_stays_while_there_is_room() {
    let desk = Desk::new(4, 4, 3);
    desk.discard(1);
    desk.add(3).ok();
    assert_eq!(desk.counts(), (3, 1));
    desk.restore(1);
    assert_eq!(desk.order(), [0, 1, 2, 3]);
}

#[test]
fn a_hidden_item_yields_to_an_addition_when_the_drawer_is_full() {
    let desk = Desk::new(3, 5, 3);
    desk.discard(1);
    assert_eq!(desk.counts(), (2, 1));
    desk.add(3).ok();
    assert_eq!(desk.order(), [0, 2, 3]);
    assert_eq!(desk.counts(), (3, 0));
    desk.restore(1);
    assert_eq!(desk.order(), [0, 2, 3], "it has lost its place");
    desk.is_too_full_for(desk.add(1));
}

#[test]
fn a_hidden_item_yields_before_the_last_one_to_an_insertion() {
    let desk = Desk::new(3, 5, 3);
    desk.discard(0);
    desk.position(3, 0).ok();
    assert_eq!(desk.order(), [3, 1, 2]);
    assert_eq!(desk.counts(), (3, 0));
    desk.position(4, 0).ok();
    assert_eq!(desk.order(), [4, 3, 1]);
}

#[test]
fn a_hidden_item_yields_to_a_bulk_a_move_and_a_smaller_capacity() {
    let desk = Desk::new(3, 6, 3);
    desk.discard(1);
    desk.discard(2);
    desk.add_all(desk.sources(&[3, 4])).ok();
    assert_eq!((desk.order(), desk.counts()), (vec![0, 3, 4], (3, 0)));
    desk.discard(3);
    let other = desk.other_with(&[5], 2);
    desk.client.call("drawer-item-move-put", &[&other, &desk.stories[5], &desk.drawer]).ok();
    assert_eq!((desk.order(), desk.counts()), (vec![0, 4, 5], (3, 0)));
    desk.discard(4);
    desk.update(json!({ "capacity": 1 })).fails(400, "InvalidParameter");
    assert_eq!(desk.counts(), (2, 1));
    desk.update(json!({ "capacity": 2 })).ok();
    assert_eq!((desk.order(), desk.counts()), (vec![0, 5], (2, 0)));
}

#[test]
fn clearing_takes_the_hidden_ones_along() {
    let desk = Desk::new(3, 3, 3);
    desk.discard(1);
    desk.clear().ok();
    assert_eq!(desk.counts(), (0, 0));
    desk.restore(1);
    assert!(desk.order().is_empty());
}

#[test]
fn destroyed_objects_leave_their_drawers_for_good() {
    let desk = Desk::new(3, 4, 3);
    let other = desk.other_with(&[0], 3);
    destroy(&desk.client, &desk.stories[0]);
    assert_eq!((desk.order(), desk.counts()), (vec![1, 2], (2, 0)));
    assert!(desk.order_in(&other).is_empty());
    // From the recycle bin, too.
    desk.discard(2);
    assert_eq!(desk.counts(), (1, 1));
    destroy(&desk.client, &desk.stories[2]);
    assert_eq!((desk.order(), desk.counts()), (vec![1], (1, 0)));
    desk.refuses(desk.add(0), 404, "ObjectNotFound");
    desk.add(3).ok();
    assert_eq!(desk.order(), [1, 3]);
}

#[test]
fn a_discarded_drawer_is_not_found_and_comes_back_as_it_was() {
    let desk = Desk::new(3, 2, 2);
    let before = desk.read();
    discard(&desk.client, &desk.drawer);
    head(&desk.client, &desk.drawer).fails(404, "ObjectNotFound");
    head(&desk.client, &format!("{}/desk", desk.folder)).fails(404, "ObjectNotFound");
    for call in [desk.add(0), desk.position(0, 0), desk.remove(0), desk.update(json!({})), desk.clear()] {
        call.fails(404, "ObjectNotFound");
    }
    // The name is free meanwhile.
    let second = desk.other("desk", 1);
    desk.client.call("stet-object-restore-post", &[&desk.drawer]).fails(409, "DuplicatedName");
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
    assert_eq!((desk.order(), desk.counts()), (vec![0, 2], (2, 1)));
    desk.restore(1);
    assert_eq!(desk.order(), [0, 1, 2]);
}

#[test]
fn a_destroyed_drawer_leaves_its_objects_alone() {
    let desk = Desk::new(3, 2, 2);
    destroy(&desk.client, &desk.drawer);
    head(&desk.client, &desk.drawer).fails(404, "ObjectNotFound");
    desk.client.call("object-get", &[&desk.stories[0]]).ok();
    let again = desk.other("desk", 3);
    assert_ne!(again, desk.drawer, "numbers are never reused");
}

#[test]
fn a_discarded_folder_takes_drawer_and_objects_along_and_back() {
    let desk = Desk::new(5, 3, 3);
    let outside = editor().drawer(&own_folder(), "outside", 5);
    let outsider = editor().story(&own_folder(), "outside.xml");
    let sources = json!([outsider, desk.stories[0], desk.drawer]);
    desk.client.call("drawer-items-post", &[&outside]).json(&sources).ok();
    desk.add_all(json!([outsider])).ok();
    let folder = desk.client.call("object-get", &[&desk.folder]).ok();
    discard(&desk.client, &desk.folder);
    head(&desk.client, &desk.drawer).fails(404, "ObjectNotFound");
    assert_eq!(desk.client.items(&outside), [outsider.as_str()]);
    assert_eq!(head(&desk.client, &outside).ok()["info"]["hidden"], 2);
    // An object that was discarded with others can't be restored alone.
    desk.client.call("stet-object-restore-post", &[&desk.drawer]).fails(409, "InvalidForContainer");
    restore(&desk.client, folder["id"].as_str().expect("a folder has an id"));
    assert_eq!(desk.client.items(&desk.drawer).len(), 4);
    assert_eq!(desk.client.items(&outside), [outsider, desk.stories[0].clone(), desk.drawer.clone()]);
}

#[test]
fn a_drawer_that_holds_itself_lives_and_dies_like_others() {
    let desk = Desk::new(3, 1, 1);
    desk.add_all(json!([desk.drawer])).ok();
    let sources = placed(&desk.read());
    assert_eq!(sources, [(desk.stories[0].clone(), 0), (desk.drawer.clone(), 1)]);
    discard(&desk.client, &desk.drawer);
    head(&desk.client, &desk.drawer).fails(404, "ObjectNotFound");
    restore(&desk.client, &desk.drawer);
    assert_eq!(placed(&desk.read()), sources);
    destroy(&desk.client, &desk.drawer);
    head(&desk.client, &desk.drawer).fails(404, "ObjectNotFound");
    desk.client.call("drawer-by-object-get", &[&desk.stories[0]]).gives(&json!({ "total": 0 }));
}

#[test]
fn all_of_a_drawer_is_there_after_a_crash() {
    let mut server = Server::start();
    let desk = Desk::of(server.user("editor"), 9, 6, 5);
    let update =
        json!({ "title": "T", "description": "d", "capacity": 7, "name": "renamed", "attributes": "<a>1</a>" });
    desk.update(update).ok();
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
    let before = desk.state();
    assert_eq!((desk.order(), desk.counts()), (vec![5, 4, 3, 0], (4, 1)));
    server.kill();
    let server = server.restart();
    let desk = Desk { client: desk.client.to(&server), ..desk };
    assert_eq!(desk.state(), before);
    desk.client.call("drawer-by-object-get", &[&desk.stories[0]]).gives(&json!({ "total": 1 }));
    head(&desk.client, &gone).fails(404, "ObjectNotFound");
    let shortcut = desk.shortcut(4);
    desk.restore(1);
    assert_eq!((desk.order().len(), desk.counts()), (5, (5, 0)));
    assert_eq!(desk.shortcut(4), shortcut);
    restore(&desk.client, &gone);
    leaves_all_whole(server);
}
