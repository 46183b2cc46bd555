//! `GET /v3/container/drawer/object/{source}`

use super::*;

fn holders<'d>(desk: &'d Desk, story: usize) -> Call<'d> {
    desk.client.call("drawer-by-object-get", &[&desk.stories[story]])
}

/// Asserts which drawers hold a story.
#[track_caller]
fn hold(call: &Call<'_>, drawers: &[&String]) -> Value {
    let items: Vec<_> = drawers.iter().map(|id| json!({ "info": { "id": id } })).collect();
    call.gives(&json!({ "items": items, "total": drawers.len() }))
}

#[test]
fn the_drawers_that_hold_an_object_are_listed() {
    let desk = Desk::new(5, 2, 2);
    let other = desk.other_with(&[1], 5);
    desk.other("empty", 5);
    let reply = hold(&holders(&desk, 0), &[&desk.drawer]);
    includes(&reply, &json!({ "items": [{ "info": { "count": 2 }, "items": [] }] }));
    let full = holders(&desk, 1).query("showItems", true).query("showPath", 1);
    let reply = hold(&full, &[&desk.drawer, &other]);
    assert_eq!(desk.placed(&reply["items"][0]), [(0, 0), (1, 1)]);
    assert_eq!(reply["items"][1]["info"]["path"], format!("{}/other", desk.folder));
    desk.remove(1).ok();
    hold(&holders(&desk, 1), &[&other]);
    desk.clear().ok();
    hold(&holders(&desk, 0), &[]);
}

#[test]
fn the_listing_has_pages() {
    let desk = Desk::new(5, 1, 1);
    let others: Vec<String> = (0..4).map(|n| desk.other(&format!("d{n}"), 5)).collect();
    for other in &others {
        desk.client.call("drawer-item-post", &[other, &desk.stories[0]]).ok();
    }
    hold(&holders(&desk, 0), &[&[&desk.drawer], &*others.iter().collect::<Vec<_>>()].concat());
    let ids = |drawers: &[String]| drawers.iter().map(|id| json!({ "info": { "id": id } })).collect::<Vec<_>>();
    let page = holders(&desk, 0).query("limit", 2).query("offset", 1);
    page.gives(&json!({ "items": ids(&others[..2]), "total": 5 }));
    holders(&desk, 0).query("offset", 9).gives(&json!({ "items": [], "total": 5 }));
    let names = ["desk", "d3", "d2", "d1", "d0"].map(|name| json!({ "info": { "name": name } }));
    holders(&desk, 0).query("sortBy", "-name").gives(&json!({ "items": names }));
    holders(&desk, 0).query("sortBy", "colour").fails(400, "InvalidParameter");
}

#[test]
fn discarded_drawers_are_not_listed_and_their_objects_are_not_found() {
    let desk = Desk::new(5, 1, 1);
    let call = holders(&desk, 0);
    discard(&desk.client, &desk.drawer);
    hold(&call, &[]);
    restore(&desk.client, &desk.drawer);
    hold(&call, &[&desk.drawer]);
    desk.discard(0);
    call.fails(404, "ObjectNotFound");
    desk.restore(0);
    hold(&call, &[&desk.drawer]);
    destroy(&desk.client, &desk.drawer);
    hold(&call, &[]);
}
