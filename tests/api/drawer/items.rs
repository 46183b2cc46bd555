//! Reading, adding and removing, one by one and in bulk.

use super::*;

#[test]
fn items_come_only_when_they_are_asked_for() {
    let desk = Desk::new(5, 2, 2);
    let call = desk.call("drawer-get", &[]).header("content-type", "application/json");
    let none = json!({ "items": [], "info": { "count": 2 } });
    call.gives(&none);
    for no in ["false", "0"] {
        call.clone().query("showItems", no).gives(&none);
    }
    for yes in ["TRUE", "1"] {
        let reply =
            call.clone().query("SHOWITEMS", yes).gives(&json!({ "items": [{ "object": { "name": "0.xml" } }, {}] }));
        assert_eq!(desk.placed(&reply), [(0, 0), (1, 1)]);
    }
    says(&call.query("showItems", "maybe").fails(400, "InvalidParameter"), &["showItems", "maybe"]);
}

#[test]
fn display_options_in_query_and_body_are_for_the_items_too() {
    let desk = Desk::new(5, 1, 1);
    let path = json!({ "items": [{ "object": { "path": format!("{}/0.xml", desk.folder) } }] });
    let shown = desk.call("drawer-get", &[]).query("showItems", 1).query("showPath", 1);
    shown.gives(&path);
    let shown = shown.query("showVirtualAttributes", false).ok();
    assert!(shown["items"][0]["object"].get("virtualAttributes").is_none());
    desk.add_all(json!({ "sources": desk.stories, "options": { "showPath": true } })).gives(&path);
}

#[test]
fn a_large_drawer_is_read_in_pages() {
    let desk = Desk::new(9, 5, 5);
    let pages = [
        (Some(2), None, 0..2),
        (Some(2), Some(2), 2..4),
        (Some(2), Some(4), 4..5),
        (None, Some(3), 3..5),
        (Some(9), Some(9), 0..0),
        (Some(0), None, 0..0),
        (None, Some(0), 0..5),
    ];
    for (limit, offset, expected) in pages {
        let mut call = desk.call("drawer-get", &[]).query("showItems", true);
        for (name, value) in [("limit", limit), ("offset", offset)] {
            call = if let Some(value) = value { call.query(name, value) } else { call };
        }
        let reply = call.gives(&json!({ "info": { "count": 5 } }));
        let expected: Vec<_> = expected.map(|at: usize| (at, at as u64)).collect();
        assert_eq!(desk.placed(&reply), expected, "{limit:?} {offset:?}");
        // The whole drawer is still there for who asks for it.
        assert_eq!(desk.order(), [0, 1, 2, 3, 4]);
    }
    desk.call("drawer-get", &[]).query("showItems", true).query("limit", "few").fails(400, "InvalidParameter");
}

#[test]
fn a_version_names_its_object_and_one_that_is_not_there_nothing() {
    let desk = Desk::new(5, 1, 0);
    let version = |loid: &str, version: u32| loid.replace("$1.0.", &format!("$1.{version}."));
    let reply = desk.call("drawer-item-post", &[&version(&desk.stories[0], 1)]).ok();
    assert_eq!(reply["items"][0]["source"], desk.stories[0], "an item stands for the object");
    let ninth = version(&desk.stories[0], 9);
    desk.refuses(desk.call("drawer-item-post", &[&ninth]), 404, "ObjectNotFound");
    desk.refuses(desk.call("drawer-item-position-put", &[&ninth, &0]), 404, "ObjectNotFound");
    // A drawer in memory, too.
    let ninth = version(&desk.drawer, 9);
    head(&desk.client, &ninth).fails(404, "ObjectNotFound");
    let call = desk.client.call("drawer-put", &[&ninth]).json(&json!({ "title": "x" }));
    desk.refuses(call, 404, "ObjectNotFound");
}

#[test]
fn an_added_object_is_the_last_item() {
    let desk = Desk::new(5, 3, 2);
    let reply = desk.add(2).gives(&json!({
        "info": { "id": desk.drawer, "count": 3, "capacity": 5 },
        "items": [{ "object": { "id": desk.stories[2], "name": "2.xml" } }],
    }));
    assert_eq!(desk.placed(&reply), [(2, 2)]);
    assert_eq!(reply["items"][0]["id"], desk.shortcut(2));
    assert_eq!(desk.order(), [0, 1, 2]);
}

#[test]
fn a_body_is_no_condition_for_adding() {
    let desk = Desk::new(5, 3, 0);
    desk.add(0).ok();
    desk.add(1).bytes("application/json", " \n").ok();
    desk.add(2).json(&json!({ "options": {}, "anything": 1 })).ok();
    assert_eq!(desk.order(), [0, 1, 2]);
}

#[test]
fn adding_to_a_full_drawer_is_refused() {
    let desk = Desk::new(2, 3, 2);
    desk.is_too_full_for(desk.add(2));
}

#[test]
fn adding_again_changes_nothing_even_when_full() {
    let desk = Desk::new(2, 2, 2);
    let reply = desk.leaves(desk.add(0));
    assert_eq!(desk.placed(&reply), [(0, 0)], "the reply shows where it stands");
    desk.leaves(desk.add_all(desk.sources(&[1, 0, 1])));
}

#[test]
fn anything_can_lie_in_a_drawer_a_folder_and_a_drawer_too() {
    let desk = Desk::new(5, 0, 0);
    let other = desk.other("other", 5);
    let folder = desk.client.call("object-get", &[&desk.folder]).ok()["id"].take();
    desk.add_all(json!({ "sources": [other, desk.folder] })).ok();
    includes(&desk.read(), &json!({ "items": [{ "source": other }, { "source": folder }] }));
}

#[test]
fn several_are_added_in_their_order() {
    let desk = Desk::new(5, 5, 1);
    let reply = desk.add_all(desk.sources(&[3, 1, 2])).ok();
    assert_eq!(desk.placed(&reply), [(3, 1), (1, 2), (2, 3)]);
    assert_eq!(desk.order(), [0, 3, 1, 2]);
}

#[test]
fn a_bare_list_is_as_good_as_sources() {
    let desk = Desk::new(5, 2, 0);
    desk.add_all(json!(desk.stories)).ok();
    assert_eq!(desk.order(), [0, 1]);
    desk.remove_all(json!([desk.stories[0]])).ok();
    assert_eq!(desk.order(), [1]);
}

#[test]
fn one_that_is_named_twice_is_added_once() {
    let desk = Desk::new(2, 2, 0);
    let reply = desk.add_all(desk.sources(&[1, 0, 1, 1, 0])).gives(&json!({ "info": { "count": 2 } }));
    assert_eq!(desk.placed(&reply), [(1, 0), (0, 1)]);
    assert_eq!(desk.order(), [1, 0]);
}

#[test]
fn one_too_many_refuses_them_all() {
    let desk = Desk::new(3, 4, 2);
    desk.is_too_full_for(desk.add_all(desk.sources(&[2, 3])));
    // Those that are there already need no room.
    desk.add_all(desk.sources(&[0, 2, 1])).ok();
    assert_eq!(desk.order(), [0, 1, 2]);
}

#[test]
fn one_that_is_missing_refuses_them_all_and_is_named() {
    let desk = Desk::new(9, 3, 1);
    let with = |source: &str| desk.add_all(json!({ "sources": [desk.stories[1], source, desk.stories[2]] }));
    for missing in [NOWHERE, "/no/such/object", "0190f3a1-7c1e-7000-8000-0123456789ab", "999999999999"] {
        let error = desk.refuses(with(missing), 404, "ObjectNotFound");
        assert_eq!(error["source"], missing);
    }
    desk.refuses(with("nonsense"), 400, "InvalidParameter");
}

#[test]
fn an_empty_list_changes_nothing() {
    let desk = Desk::new(2, 2, 2);
    desk.leaves(desk.add_all(json!({ "sources": [] })));
    desk.leaves(desk.remove_all(json!([])));
}

#[test]
fn an_item_is_removed_by_its_object_or_its_shortcut() {
    let desk = Desk::new(5, 3, 3);
    let reply = desk.remove(1).gives(&json!({ "info": { "count": 2 } }));
    assert_eq!(desk.placed(&reply), [(1, 1)]);
    assert_eq!(desk.order(), [0, 2]);
    desk.call("drawer-item-delete", &[&desk.shortcut(2)]).ok();
    assert_eq!(desk.order(), [0]);
    // The object itself is as it was.
    desk.client.call("object-get", &[&desk.stories[1]]).ok();
}

#[test]
fn removing_what_is_not_there_is_not_found() {
    let desk = Desk::new(5, 2, 1);
    let error = desk.refuses(desk.remove(1), 404, "ObjectNotFound");
    assert_eq!(error["source"], desk.stories[1]);
    let shortcut = desk.shortcut(0);
    desk.remove(0).ok();
    desk.refuses(desk.remove(0), 404, "ObjectNotFound");
    desk.refuses(desk.call("drawer-item-delete", &[&shortcut]), 404, "ObjectNotFound");
}

#[test]
fn a_shortcut_is_never_used_twice() {
    let desk = Desk::new(5, 1, 1);
    let first = desk.shortcut(0);
    desk.remove(0).ok();
    desk.add(0).ok();
    assert_ne!(desk.shortcut(0), first);
}

#[test]
fn a_shortcut_names_an_item_that_is_there_when_adding_or_positioning() {
    let desk = Desk::new(5, 3, 2);
    let shortcut = desk.shortcut(0);
    desk.leaves(desk.call("drawer-item-post", &[&shortcut]));
    desk.leaves(desk.add_all(json!([shortcut])));
    desk.call("drawer-item-position-put", &[&shortcut, &-1]).ok();
    assert_eq!(desk.order(), [1, 0]);
    desk.refuses(desk.call("drawer-item-position-put", &[&"999999999999", &0]), 404, "ObjectNotFound");
    // A path says which item is meant by the shortcut route, too, and there the object will do.
    desk.call("drawer-shortcut-position-put", &[&desk.stories[0], &0]).ok();
    assert_eq!(desk.order(), [0, 1]);
}

#[test]
fn several_are_removed_by_objects_and_shortcuts_and_the_rest_is_told() {
    let desk = Desk::new(5, 5, 4);
    // A shortcut may come as a number.
    let number: u64 = desk.shortcut(2).parse().expect("a shortcut is a number");
    let [first, stranger] = [&desk.stories[0], &desk.stories[4]];
    // An object listed twice counts once. Another name of it is another source.
    let again = desk.shortcut(0);
    let body = json!({ "sources": [first, number, stranger, NOWHERE, "nonsense", first, again] });
    let reply = desk.remove_all(body).gives(&json!({ "info": { "count": 2 } }));
    let removed: Vec<_> = desk.placed(&reply).into_iter().map(|(story, _)| story).collect();
    assert_eq!(removed, [0, 2]);
    assert_eq!(desk.order(), [1, 3]);
    let errors = reply["errors"].as_array().expect("a bulk reply has errors").iter().map(|error| {
        assert!(error["message"].as_str().is_some_and(|message| message.len() > 10), "{error}");
        (error["source"].as_str().unwrap_or_default(), error["code"].as_str().unwrap_or_default())
    });
    let mut errors: Vec<_> = errors.collect();
    errors.sort_unstable();
    let missing = "CMS.ObjectNotFound";
    let mut expected =
        [(&**stranger, missing), (NOWHERE, missing), ("nonsense", "CMS.InvalidParameter"), (&*again, missing)];
    expected.sort_unstable();
    assert_eq!(errors, expected);
}

#[test]
fn a_bulk_removal_of_nothing_that_is_there_changes_nothing() {
    let desk = Desk::new(5, 2, 1);
    let reply = desk.leaves(desk.remove_all(desk.sources(&[1])));
    assert_eq!(reply["errors"][0]["source"], desk.stories[1]);
}

#[test]
fn clearing_takes_everything_out() {
    let desk = Desk::new(3, 3, 3);
    desk.clear().gives(&json!({ "info": { "count": 0, "capacity": 3 }, "items": [] }));
    assert!(desk.order().is_empty());
    // An empty drawer has nothing to clear.
    desk.leaves(desk.clear());
    desk.add(2).ok();
    assert_eq!(desk.order(), [2]);
}

#[test]
fn removed_items_are_reported_with_their_positions_before_the_call() {
    let desk = Desk::new(5, 4, 4);
    let again = desk.shortcut(0);
    let gone = json!({ "sources": [desk.stories[3], desk.stories[0], desk.stories[1], again] });
    let reply = desk.client.call("drawer-items-delete", &[&desk.drawer]).json(&gone).gives(&json!({
        "items": [{ "position": 3 }, { "position": 0 }, { "position": 1 }],
        "errors": [{ "source": again, "code": "CMS.ObjectNotFound" }],
    }));
    assert_eq!((&reply["info"]["count"], desk.order()), (&json!(1), vec![2]));
}

#[test]
fn a_short_reply_tells_which_items_stand_where_as_the_whole_one_does() {
    let (one, other) = (Desk::new(5, 4, 2), Desk::new(5, 4, 2));
    let calls: [for<'d> fn(&'d Desk) -> Call<'d>; 5] = [
        |desk| desk.add(2),
        |desk| desk.add_all(desk.sources(&[3, 0])),
        |desk| desk.call("drawer-item-position-put", &[&desk.stories[3], &0]),
        |desk| desk.call("drawer-item-delete", &[&desk.stories[1]]),
        |desk| desk.call("drawer-item-clear-put", &[]),
    ];
    for call in calls {
        let (whole, answer) = (call(&one).ok(), call(&other).header("prefer", "return=minimal").send());
        let short = answer.ok();
        assert_eq!(other.placed(&short), one.placed(&whole));
        assert_eq!((&short["id"], &short["revision"]), (&json!(other.drawer), &json!(revision(&answer))));
        assert!(whole["items"].as_array().is_none_or(|items| items.is_empty() || items[0]["object"].is_object()));
    }
    let short = other.add(1).header("prefer", "return=minimal").ok();
    assert_eq!(short["items"][0]["id"], other.shortcut(1));
}
