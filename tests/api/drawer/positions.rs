//! docs/api/drawers.md, "Adding at a position", line by line.

use super::*;

/// A story that is put at a position, where it stands in the reply, and the order of the stories
/// then.
type Step = (usize, i64, u64, &'static [usize]);

#[test]
fn an_object_is_put_where_the_position_says() {
    // Capacity, stories, the number of them in the drawer, and the steps.
    let cases: &[(&str, u32, usize, usize, &[Step])] = &[
        ("0 puts the item first", 5, 3, 2, &[(2, 0, 0, &[2, 0, 1])]),
        ("0 of an empty drawer is its only place", 1, 1, 0, &[(0, 0, 0, &[0])]),
        ("one beyond the count of a drawer with room is the end", 5, 2, 1, &[(1, 3, 1, &[0, 1])]),
        (
            "beyond the capacity is beyond the count, too",
            5,
            3,
            1,
            &[(1, 999, 1, &[0, 1]), (2, i64::MAX, 2, &[0, 1, 2])],
        ),
        ("one inside inserts there", 5, 5, 3, &[(3, 1, 1, &[0, 3, 1, 2]), (4, 3, 3, &[0, 3, 1, 4, 2])]),
        (
            "inserting into a full drawer removes the last item",
            3,
            6,
            3,
            &[(3, 0, 0, &[3, 0, 1]), (4, 1, 1, &[3, 4, 0]), (5, 2, 2, &[3, 4, 5])],
        ),
        ("a drawer of one place changes its item", 1, 2, 1, &[(1, 0, 0, &[1])]),
        ("the count appends where there is room", 3, 3, 2, &[(2, 2, 2, &[0, 1, 2])]),
        ("-1 is the tail", 3, 3, 2, &[(2, -1, 2, &[0, 1, 2])]),
        (
            "an object that is there moves",
            4,
            4,
            4,
            &[(3, 0, 0, &[3, 0, 1, 2]), (3, 2, 2, &[0, 1, 3, 2]), (0, 1, 1, &[1, 0, 3, 2])],
        ),
    ];
    for (rule, capacity, stories, inside, steps) in cases {
        let desk = Desk::new(*capacity, *stories, *inside);
        for (story, position, at, order) in *steps {
            let reply = desk.position(*story, position).ok();
            assert_eq!(desk.placed(&reply), [(*story, *at)], "{rule}");
            assert_eq!(reply["info"]["count"], order.len(), "{rule}");
            assert_eq!(desk.order(), *order, "{rule}");
        }
    }
}

#[test]
fn an_item_pushed_out_by_an_insertion_is_no_longer_in_the_drawer() {
    let desk = Desk::new(2, 3, 2);
    desk.position(2, 0).ok();
    desk.remove(1).fails(404, "ObjectNotFound");
    // It can be added again where there is room.
    desk.remove(0).ok();
    desk.add(1).ok();
    assert_eq!(desk.order(), [2, 1]);
}

#[test]
fn a_full_drawer_refuses_its_capacity_what_is_beyond_and_the_tail() {
    for capacity in [1, 2] {
        let desk = Desk::new(capacity, 3, capacity as usize);
        for position in [i64::from(capacity), 3, 4, 1_000_000, i64::MAX, -1] {
            desk.is_too_full_for(desk.position(2, position));
        }
    }
}

#[test]
fn a_position_below_minus_1_is_refused_full_or_not_there_or_not() {
    for capacity in [2, 5] {
        let desk = Desk::new(capacity, 3, 2);
        for (story, position) in [(2, -2), (0, -2), (2, i64::MIN)] {
            let error = desk.refuses(desk.position(story, position), 400, "InvalidParameter");
            says(&error, &["position", &position.to_string()]);
        }
        desk.refuses(desk.shift(0, -2), 400, "InvalidParameter");
    }
}

#[test]
fn a_position_that_is_no_whole_number_is_refused() {
    let desk = Desk::new(5, 2, 1);
    for position in ["first", "1.5", "0x1", " ", "9223372036854775808", "1e3", "--1"] {
        says(&desk.refuses(desk.position(1, position), 400, "InvalidParameter"), &["position"]);
        desk.refuses(desk.shift(0, position), 400, "InvalidParameter");
    }
}

#[test]
fn an_item_that_moves_stays_the_same_item() {
    let desk = Desk::new(4, 4, 4);
    let shortcut = desk.shortcut(3);
    desk.position(3, 0).gives(&json!({ "items": [{ "id": shortcut }] }));
}

#[test]
fn positions_at_or_beyond_the_count_mean_the_end_even_in_full_drawers() {
    for capacity in [3, 10] {
        let desk = Desk::new(capacity, 3, 3);
        for (turn, position) in [-1, 2, 3, 4, 99, i64::MAX].into_iter().enumerate() {
            let [first, second, third] = [0, 1, 2].map(|story| (story + turn) % 3);
            assert_eq!(desk.placed(&desk.position(first, position).ok()), [(first, 2)]);
            assert_eq!(desk.order(), [second, third, first], "{position} with capacity {capacity}");
        }
    }
}

#[test]
fn positioning_where_it_stands_changes_nothing() {
    let desk = Desk::new(3, 3, 3);
    for call in [desk.position(1, 1), desk.position(2, -1), desk.position(2, 77), desk.shift(0, 0), desk.shift(2, -1)] {
        desk.leaves(call);
    }
}

#[test]
fn a_shortcut_moves_to_every_place_of_the_drawer() {
    let desk = Desk::new(4, 4, 4);
    let steps: [Step; 4] =
        [(0, 2, 2, &[1, 2, 0, 3]), (3, 0, 0, &[3, 1, 2, 0]), (3, -1, 3, &[1, 2, 0, 3]), (1, 3, 3, &[2, 0, 3, 1])];
    for (story, position, at, order) in steps {
        assert_eq!(desk.placed(&desk.shift(story, position).ok()), [(story, at)]);
        assert_eq!(desk.order(), order);
    }
}

#[test]
fn a_shortcut_does_not_move_beyond_the_last_place() {
    let desk = Desk::new(9, 3, 3);
    for position in [3, 4, i64::MAX] {
        says(&desk.refuses(desk.shift(0, position), 400, "InvalidParameter"), &["position"]);
    }
}

#[test]
fn a_shortcut_that_the_drawer_does_not_hold_is_not_found() {
    let desk = Desk::new(5, 2, 1);
    let other = desk.other_with(&[1], 5);
    let foreign = read(&desk.client, &other).ok()["items"][0]["id"].as_str().expect("an item has an id").to_owned();
    for shortcut in [&foreign, "999999999999", &desk.stories[1]] {
        desk.refuses(desk.call("drawer-shortcut-position-put", &[&shortcut, &0]), 404, "ObjectNotFound");
        desk.refuses(desk.call("drawer-item-delete", &[&shortcut]), 404, "ObjectNotFound");
    }
}

#[test]
fn many_moves_to_one_place_keep_the_order() {
    // Each halves the room at that place; a hundred use it up, and the items around are spread out
    // again.
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
