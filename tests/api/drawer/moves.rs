//! `move/{target}`: over two drawers at once.

use super::*;

/// Two drawers of a capacity: stories 0 to 3, the first two here, the others there.
fn two(capacity: u32) -> (Desk, String) {
    let desk = Desk::new(capacity, 4, 2);
    let other = desk.other_with(&[2, 3], capacity);
    (desk, other)
}

#[test]
fn a_moved_item_arrives_at_the_tail() {
    let (desk, other) = two(5);
    let reply = desk.move_to(0, &other).gives(&json!({ "info": { "id": other, "count": 3 } }));
    assert_eq!(desk.placed(&reply), [(0, 2)]);
    assert_eq!((desk.order(), desk.order_in(&other)), (vec![1], vec![2, 3, 0]));
}

#[test]
fn an_item_is_moved_by_its_shortcut_too() {
    let (desk, other) = two(5);
    let call = desk.call("drawer-item-move-put", &[&desk.shortcut(1), &other]);
    call.ok();
    assert_eq!((desk.order(), desk.order_in(&other)), (vec![0], vec![2, 3, 1]));
    // It was the shortcut of this drawer, and is no other's.
    call.fails(404, "ObjectNotFound");
}

#[test]
fn moving_an_item_that_is_not_in_the_source_drawer_is_not_found() {
    let (desk, other) = two(5);
    let before = desk.order_in(&other);
    desk.refuses(desk.move_to(2, &other), 404, "ObjectNotFound");
    desk.refuses(desk.call("drawer-item-move-put", &[&NOWHERE, &other]), 404, "ObjectNotFound");
    assert_eq!(desk.order_in(&other), before);
}

#[test]
fn a_full_target_refuses_and_nothing_changes_in_either() {
    let (desk, other) = two(2);
    let there = tag(&read(&desk.client, &other));
    let error = desk.refuses(desk.move_to(0, &other), 409, "DrawerFull");
    includes(&error, &json!({ "source": other, "details": { "capacity": 2 } }));
    assert_eq!(tag(&read(&desk.client, &other)), there);
}

#[test]
fn moving_an_item_into_a_drawer_that_has_it_only_empties_the_source() {
    let desk = Desk::new(2, 2, 2);
    let other = desk.other_with(&[0, 1], 2);
    let there = tag(&read(&desk.client, &other));
    let reply = desk.move_to(0, &other).ok();
    assert_eq!(desk.placed(&reply), [(0, 0)], "it stays where it stood");
    assert_eq!((desk.order(), desk.order_in(&other)), (vec![1], vec![0, 1]));
    assert_eq!(tag(&read(&desk.client, &other)), there, "the target did not change");
}

#[test]
fn a_move_to_the_same_drawer_is_a_move_to_its_tail() {
    let desk = Desk::new(3, 3, 3);
    let call = desk.move_to(0, &desk.drawer);
    assert_eq!(desk.placed(&call.ok()), [(0, 2)]);
    assert_eq!(desk.order(), [1, 2, 0]);
    desk.leaves(call);
}

#[test]
fn a_discarded_target_takes_nothing() {
    let (desk, other) = two(5);
    discard(&desk.client, &other);
    desk.refuses(desk.move_to(0, &other), 404, "ObjectNotFound");
    restore(&desk.client, &other);
    desk.move_to(0, &other).ok();
    assert_eq!(desk.order_in(&other), [2, 3, 0]);
}

#[test]
fn a_moved_item_gets_a_shortcut_of_its_new_drawer() {
    let (desk, other) = two(5);
    let old = desk.shortcut(0);
    let reply = desk.move_to(0, &other).ok();
    let new = reply["items"][0]["id"].as_str().expect("an item has an id");
    desk.client.call("drawer-shortcut-position-put", &[&other, &new, &0]).ok();
    assert_eq!(desk.order_in(&other), [0, 2, 3]);
    desk.call("drawer-item-delete", &[&old]).fails(404, "ObjectNotFound");
}

/// The target's ETag in the reply may be of a later change; these are of the move itself.
#[test]
fn a_move_tells_the_revisions_it_led_to() {
    let (desk, other) = two(5);
    let now = || [&desk.drawer, &other].map(|drawer| revision(&head(&desk.client, drawer)));
    let leads_to = |call: Call<'_>, [here, there]: [u64; 2], after: [u64; 2]| {
        call.gives(&json!({ "revisions": { "source": here, "target": there } }));
        assert_eq!(now(), after);
    };
    let [here, there] = now();
    leads_to(desk.move_to(0, &other), [here + 1, there + 1], [here + 1, there + 1]);
    // One that is there already only leaves.
    desk.client.call("drawer-item-post", &[&other, &desk.stories[1]]).ok();
    let [here, there] = now();
    leads_to(desk.move_to(1, &other), [here + 1, there], [here + 1, there]);
    // Within one drawer the item moves to the tail, or is there already.
    let tail = there + 1;
    for _ in 0..2 {
        let within = desk.client.call("drawer-item-move-put", &[&other, &desk.stories[2], &other]);
        leads_to(within, [tail, tail], [here + 1, tail]);
    }
    assert_eq!(desk.add(2).ok()["revisions"], Value::Null, "only moves have them");
}
