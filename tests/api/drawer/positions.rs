//! docs/api/drawers.md, "Adding at a position", line by line.

use super::*;

#[test]
fn position_0_puts_the_item_first() {
    let desk = Desk::new(5, 3, 2);
    let reply = desk.position(2, 0).ok();
    assert_eq!(placed(&reply), [(desk.stories[2].clone(), 0)]);
    assert_eq!(reply["info"]["count"], 3);
    assert_eq!(desk.order(), [2, 0, 1]);
}

#[test]
fn position_0_of_an_empty_drawer_is_its_only_place() {
    let desk = Desk::new(1, 1, 0);
    desk.position(0, 0).ok();
    assert_eq!(desk.order(), [0]);
}

#[test]
fn a_position_beyond_the_capacity_of_a_full_drawer_is_refused() {
    let desk = Desk::new(2, 3, 2);
    for position in [3, 4, 1_000_000, i64::MAX] {
        let error = desk.refuses(|| desk.position(2, position), 409, "DrawerFull");
        assert_eq!(error["details"]["capacity"], 2);
        assert_eq!(error["source"], desk.drawer);
    }
}

#[test]
fn a_position_beyond_the_count_of_a_drawer_with_room_is_the_end() {
    let desk = Desk::new(5, 4, 1);
    assert_eq!(placed(&desk.position(1, 3).ok()), [(desk.stories[1].clone(), 1)]);
    // Beyond the capacity is beyond the count, too.
    assert_eq!(placed(&desk.position(2, 999).ok()), [(desk.stories[2].clone(), 2)]);
    assert_eq!(placed(&desk.position(3, i64::MAX).ok()), [(desk.stories[3].clone(), 3)]);
    assert_eq!(desk.order(), [0, 1, 2, 3]);
}

#[test]
fn a_position_inside_inserts_there() {
    let desk = Desk::new(5, 5, 3);
    assert_eq!(placed(&desk.position(3, 1).ok()), [(desk.stories[3].clone(), 1)]);
    assert_eq!(desk.order(), [0, 3, 1, 2]);
    desk.position(4, 3).ok();
    assert_eq!(desk.order(), [0, 3, 1, 4, 2]);
}

#[test]
fn inserting_into_a_full_drawer_removes_the_last_item() {
    let desk = Desk::new(3, 6, 3);
    let reply = desk.position(3, 0).ok();
    assert_eq!(reply["info"]["count"], 3);
    assert_eq!(desk.order(), [3, 0, 1]);
    desk.position(4, 1).ok();
    assert_eq!(desk.order(), [3, 4, 0]);
    // The last place: what stood there goes.
    desk.position(5, 2).ok();
    assert_eq!(desk.order(), [3, 4, 5]);
    // What went is out: it is not found, and can be added again where there is room.
    desk.remove(0).fails(404, "ObjectNotFound");
}

#[test]
fn a_drawer_of_one_place_changes_its_item() {
    let desk = Desk::new(1, 2, 1);
    desk.position(1, 0).ok();
    assert_eq!(desk.order(), [1]);
    desk.refuses(|| desk.position(0, 1), 409, "DrawerFull");
}

#[test]
fn position_count_appends_where_there_is_room() {
    let desk = Desk::new(3, 3, 2);
    assert_eq!(placed(&desk.position(2, 2).ok()), [(desk.stories[2].clone(), 2)]);
    assert_eq!(desk.order(), [0, 1, 2]);
}

#[test]
fn position_capacity_of_a_full_drawer_is_refused() {
    let desk = Desk::new(2, 3, 2);
    let error = desk.refuses(|| desk.position(2, 2), 409, "DrawerFull");
    assert_eq!(error["details"]["capacity"], 2);
}

#[test]
fn minus_1_is_the_tail_unless_the_drawer_is_full() {
    let desk = Desk::new(3, 4, 2);
    assert_eq!(placed(&desk.position(2, -1).ok()), [(desk.stories[2].clone(), 2)]);
    assert_eq!(desk.order(), [0, 1, 2]);
    desk.refuses(|| desk.position(3, -1), 409, "DrawerFull");
}

#[test]
fn a_position_below_minus_1_is_refused_full_or_not_there_or_not() {
    for capacity in [2, 5] {
        let desk = Desk::new(capacity, 3, 2);
        for (story, position) in [(2, -2), (0, -2), (2, i64::MIN)] {
            let error = desk.refuses(|| desk.position(story, position), 400, "InvalidParameter");
            let message = error["message"].as_str().unwrap();
            assert!(message.contains("position") && message.contains(&position.to_string()), "{message}");
        }
        desk.refuses(|| desk.shift(0, -2), 400, "InvalidParameter");
    }
}

#[test]
fn a_position_that_is_no_whole_number_is_refused() {
    let desk = Desk::new(5, 2, 1);
    for position in ["first", "1.5", "0x1", "%20", "9223372036854775808", "1e3", "--1"] {
        let error = desk.refuses(|| desk.position(1, position), 400, "InvalidParameter");
        assert!(error["message"].as_str().is_some_and(|message| message.contains("position")), "{error}");
        desk.refuses(|| desk.shift(0, position), 400, "InvalidParameter");
    }
}

#[test]
fn positioning_an_object_that_is_there_moves_it() {
    let desk = Desk::new(4, 4, 4);
    let shortcut = desk.shortcut(3);
    let reply = desk.position(3, 0).ok();
    assert_eq!(placed(&reply), [(desk.stories[3].clone(), 0)]);
    assert_eq!(reply["items"][0]["id"], shortcut, "it is still the same item");
    assert_eq!(desk.order(), [3, 0, 1, 2]);
    desk.position(3, 2).ok();
    assert_eq!(desk.order(), [0, 1, 3, 2]);
    desk.position(0, 1).ok();
    assert_eq!(desk.order(), [1, 0, 3, 2]);
}

#[test]
fn positioning_what_is_there_at_the_count_or_beyond_is_the_tail_even_when_full() {
    for capacity in [3, 10] {
        for position in [-1, 2, 3, 4, 99, i64::MAX] {
            let desk = Desk::new(capacity, 3, 3);
            assert_eq!(placed(&desk.position(0, position).ok()), [(desk.stories[0].clone(), 2)]);
            assert_eq!(desk.order(), [1, 2, 0], "{position} with capacity {capacity}");
        }
    }
}

#[test]
fn positioning_where_it_stands_changes_nothing() {
    let desk = Desk::new(3, 3, 3);
    desk.leaves(|| desk.position(1, 1));
    desk.leaves(|| desk.position(2, -1));
    desk.leaves(|| desk.position(2, 77));
    desk.leaves(|| desk.shift(0, 0));
    desk.leaves(|| desk.shift(2, -1));
}

#[test]
fn a_shortcut_moves_to_every_place_of_the_drawer() {
    let desk = Desk::new(4, 4, 4);
    let reply = desk.shift(0, 2).ok();
    assert_eq!(placed(&reply), [(desk.stories[0].clone(), 2)]);
    assert_eq!(desk.order(), [1, 2, 0, 3]);
    desk.shift(3, 0).ok();
    assert_eq!(desk.order(), [3, 1, 2, 0]);
    desk.shift(3, -1).ok();
    assert_eq!(desk.order(), [1, 2, 0, 3]);
    desk.shift(1, 3).ok();
    assert_eq!(desk.order(), [2, 0, 3, 1]);
}

#[test]
fn a_shortcut_does_not_move_beyond_the_last_place() {
    let desk = Desk::new(9, 3, 3);
    for position in [3, 4, i64::MAX] {
        let error = desk.refuses(|| desk.shift(0, position), 400, "InvalidParameter");
        assert!(error["message"].as_str().is_some_and(|message| message.contains("position")), "{error}");
    }
}

#[test]
fn a_shortcut_that_the_drawer_does_not_hold_is_not_found() {
    let desk = Desk::new(5, 2, 1);
    let other = desk.other("other", 5);
    desk.client.post(&below(&other, &format!("/item/{}", encoded(&desk.stories[1]))), &json!({})).ok();
    let foreign = desk.client.get(&below(&other, "?showItems=1")).ok()["items"][0]["id"].clone();
    let foreign = foreign.as_str().unwrap();
    for shortcut in [foreign, "999999999999", &encoded(&desk.stories[1])] {
        let path = desk.path(&format!("/shortcut/{shortcut}/position/0"));
        desk.refuses(|| desk.client.put(&path, &json!({})), 404, "ObjectNotFound");
        let path = desk.path(&format!("/item/{shortcut}"));
        desk.refuses(|| desk.client.delete(&path), 404, "ObjectNotFound");
    }
}

#[test]
fn many_moves_to_one_place_keep_the_order() {
    // Each halves the room at that place; a hundred use it up, and the items around are spread out again.
    let desk = Desk::new(6, 6, 6);
    for _ in 0..60 {
        desk.position(3, 2).ok();
        desk.position(2, 2).ok();
    }
    assert_eq!(desk.order(), [0, 1, 2, 3, 4, 5]);
    // Every item is still found by its shortcut.
    for story in 0..6 {
        desk.shift(story, 0).ok();
    }
    assert_eq!(desk.order(), [5, 4, 3, 2, 1, 0]);
}
