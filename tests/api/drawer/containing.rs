//! `GET /v3/container/drawer/object/{source}`

use super::*;

fn holders(client: &Client, source: &str, query: &str) -> Value {
    client.get(&below("object", &format!("/{}{query}", encoded(source)))).ok()
}

fn ids(reply: &Value) -> Vec<String> {
    let items = reply["items"].as_array().expect("a listing has items").iter();
    items.map(|item| item["info"]["id"].as_str().expect("each has an info").to_owned()).collect()
}

#[test]
fn the_drawers_that_hold_an_object_are_listed() {
    let desk = Desk::new(5, 2, 2);
    let other = desk.other("other", 5);
    desk.other("empty", 5);
    desk.client.post(&below(&other, "/item"), &json!([desk.stories[1]])).ok();
    let reply = holders(&desk.client, &desk.stories[0], "");
    assert_eq!(reply["total"], 1);
    assert_eq!(ids(&reply), [desk.drawer.as_str()]);
    assert_eq!((&reply["items"][0]["info"]["count"], &reply["items"][0]["items"]), (&json!(2), &json!([])));
    let reply = holders(&desk.client, &desk.stories[1], "?showItems=true&showPath=1");
    assert_eq!(reply["total"], 2);
    assert_eq!(ids(&reply), [desk.drawer.clone(), other.clone()]);
    assert_eq!(placed(&reply["items"][0]), [(desk.stories[0].clone(), 0), (desk.stories[1].clone(), 1)]);
    assert_eq!(reply["items"][1]["info"]["path"], format!("{}/other", desk.folder));
    desk.remove(1).ok();
    assert_eq!(ids(&holders(&desk.client, &desk.stories[1], "")), [other]);
    desk.client.put(&desk.path("/item/clear"), &json!({})).ok();
    let reply = holders(&desk.client, &desk.stories[0], "");
    assert_eq!((&reply["items"], &reply["total"]), (&json!([]), &json!(0)));
}

#[test]
fn the_listing_has_pages() {
    let desk = Desk::new(5, 1, 1);
    let mut all = vec![desk.drawer.clone()];
    for n in 0..4 {
        let other = desk.other(&format!("d{n}"), 5);
        desk.client.post(&below(&other, "/item"), &json!([desk.stories[0]])).ok();
        all.push(other);
    }
    assert_eq!(ids(&holders(&desk.client, &desk.stories[0], "")), all);
    let page = holders(&desk.client, &desk.stories[0], "?limit=2&offset=1");
    assert_eq!((ids(&page), &page["total"]), (all[1..3].to_vec(), &json!(5)));
    let page = holders(&desk.client, &desk.stories[0], "?offset=9");
    assert_eq!((ids(&page), &page["total"]), (vec![], &json!(5)));
    let named = holders(&desk.client, &desk.stories[0], "?sortBy=-name");
    let names: Vec<_> = named["items"].as_array().unwrap().iter().map(|item| item["info"]["name"].clone()).collect();
    assert_eq!(names, ["desk", "d3", "d2", "d1", "d0"]);
    desk.client
        .get(&below("object", &format!("/{}?sortBy=colour", encoded(&desk.stories[0]))))
        .fails(400, "InvalidParameter");
}

#[test]
fn drawers_in_the_recycle_bin_are_not_listed_and_their_objects_are_not_found() {
    let desk = Desk::new(5, 1, 1);
    discard(&desk.client, &desk.drawer);
    assert_eq!(holders(&desk.client, &desk.stories[0], "")["total"], 0);
    restore(&desk.client, &desk.drawer);
    assert_eq!(ids(&holders(&desk.client, &desk.stories[0], "")), [desk.drawer.as_str()]);
    desk.discard(0);
    desk.client.get(&below("object", &format!("/{}", encoded(&desk.stories[0])))).fails(404, "ObjectNotFound");
    desk.restore(0);
    assert_eq!(ids(&holders(&desk.client, &desk.stories[0], "")), [desk.drawer.as_str()]);
    destroy(&desk.client, &desk.drawer);
    assert_eq!(holders(&desk.client, &desk.stories[0], "")["total"], 0);
}
