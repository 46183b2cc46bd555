//! `move/{target}`: over two drawers at once.

use super::*;

/// Two drawers of a capacity: stories 0 to 3, the first two here, the others there.
fn two(capacity: u32) -> (Desk, String) {
    let desk = Desk::new(capacity, 4, 2);
    let other = desk.other("other", capacity);
    desk.client.post(&below(&other, "/item"), &json!([desk.stories[2], desk.stories[3]])).ok();
    (desk, other)
}

#[test]
fn a_moved_item_arrives_at_the_tail() {
    let (desk, other) = two(5);
    let reply = desk.move_to(0, &other).ok();
    assert_eq!(reply["info"]["id"], other);
    assert_eq!(reply["info"]["count"], 3);
    assert_eq!(placed(&reply), [(desk.stories[0].clone(), 2)]);
    assert_eq!((desk.order(), desk.order_in(&other)), (vec![1], vec![2, 3, 0]));
}

#[test]
fn an_item_is_moved_by_its_shortcut_too() {
    let (desk, other) = two(5);
    let path = desk.path(&format!("/item/{}/move/{}", desk.shortcut(1), encoded(&other)));
    desk.client.put(&path, &json!({})).ok();
    assert_eq!((desk.order(), desk.order_in(&other)), (vec![0], vec![2, 3, 1]));
    // It was the shortcut of this drawer, and is no other's.
    desk.client.put(&path, &json!({})).fails(404, "ObjectNotFound");
}

#[test]
fn what_is_not_in_the_source_is_not_found() {
    let (desk, other) = two(5);
    let before = desk.order_in(&other);
    desk.refuses(|| desk.move_to(2, &other), 404, "ObjectNotFound");
    let path = desk.path(&format!("/item/{}/move/{}", encoded(NOWHERE), encoded(&other)));
    desk.refuses(|| desk.client.put(&path, &json!({})), 404, "ObjectNotFound");
    assert_eq!(desk.order_in(&other), before);
}

#[test]
fn a_full_target_refuses_and_nothing_changes_in_either() {
    let (desk, other) = two(2);
    let tag_there = tag(&desk.client.get(&below(&other, "?showItems=1")));
    let error = desk.refuses(|| desk.move_to(0, &other), 409, "DrawerFull");
    assert_eq!(error["source"], other);
    assert_eq!(error["details"]["capacity"], 2);
    assert_eq!(tag(&desk.client.get(&below(&other, "?showItems=1"))), tag_there);
}

#[test]
fn an_item_that_is_in_the_target_already_only_leaves_the_source_even_when_it_is_full() {
    let desk = Desk::new(2, 2, 2);
    let other = desk.other("other", 2);
    desk.client.post(&below(&other, "/item"), &json!([desk.stories[0], desk.stories[1]])).ok();
    let there = tag(&desk.client.get(&below(&other, "?showItems=1")));
    let reply = desk.move_to(0, &other).ok();
    assert_eq!(placed(&reply), [(desk.stories[0].clone(), 0)], "it stays where it stood");
    assert_eq!((desk.order(), desk.order_in(&other)), (vec![1], vec![0, 1]));
    assert_eq!(tag(&desk.client.get(&below(&other, "?showItems=1"))), there, "the target did not change");
}

#[test]
fn a_move_to_the_same_drawer_is_a_move_to_its_tail() {
    let desk = Desk::new(3, 3, 3);
    let reply = desk.move_to(0, &desk.drawer).ok();
    assert_eq!(placed(&reply), [(desk.stories[0].clone(), 2)]);
    assert_eq!(desk.order(), [1, 2, 0]);
    desk.leaves(|| desk.move_to(0, &desk.drawer));
}

#[test]
fn a_discarded_target_takes_nothing() {
    let (desk, other) = two(5);
    discard(&desk.client, &other);
    desk.refuses(|| desk.move_to(0, &other), 404, "ObjectNotFound");
    restore(&desk.client, &other);
    desk.move_to(0, &other).ok();
    assert_eq!(desk.order_in(&other), [2, 3, 0]);
}

#[test]
fn a_moved_item_gets_a_shortcut_of_its_new_drawer() {
    let (desk, other) = two(5);
    let old = desk.shortcut(0);
    let new = desk.move_to(0, &other).ok()["items"][0]["id"].as_str().unwrap().to_owned();
    desk.client.put(&below(&other, &format!("/shortcut/{new}/position/0")), &json!({})).ok();
    assert_eq!(desk.order_in(&other), [0, 2, 3]);
    desk.client.delete(&desk.path(&format!("/item/{old}"))).fails(404, "ObjectNotFound");
}

/// The target's ETag in the reply may be of a later change; these are of the move itself.
#[test]
fn a_move_tells_the_revisions_it_led_to() {
    let (desk, other) = two(5);
    let now = || [&desk.drawer, &other].map(|drawer| revision(&desk.client.get(&below(drawer, ""))));
    let told = |reply: Value| json!([reply["revisions"]["source"], reply["revisions"]["target"]]);
    let before = now();
    assert_eq!(told(desk.move_to(0, &other).ok()), json!([before[0] + 1, before[1] + 1]));
    assert_eq!(now(), [before[0] + 1, before[1] + 1]);
    // One that is there already only leaves.
    desk.client.post(&below(&other, &format!("/item/{}", encoded(&desk.stories[1]))), &json!({})).ok();
    let before = now();
    assert_eq!(told(desk.move_to(1, &other).ok()), json!([before[0] + 1, before[1]]));
    assert_eq!(now(), [before[0] + 1, before[1]]);
    // Within one drawer it goes to the tail, or is there.
    let path = below(&other, &format!("/item/{}/move/{}", encoded(&desk.stories[2]), encoded(&other)));
    let tail = now()[1] + 1;
    assert_eq!(told(desk.client.put(&path, &json!({})).ok()), json!([tail, tail]));
    assert_eq!(told(desk.client.put(&path, &json!({})).ok()), json!([tail, tail]));
    assert_eq!(now()[1], tail);
    assert_eq!(desk.add(2).ok()["revisions"], Value::Null, "only moves have them");
}
