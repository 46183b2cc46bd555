//! `PUT /v3/container/drawer/{source}`

use super::*;

fn update(desk: &Desk, body: Value) -> Answer {
    desk.client.put(&desk.path(""), &body)
}

#[test]
fn what_is_named_changes_and_nothing_else() {
    let desk = Desk::new(5, 2, 2);
    let before = desk.info();
    let reply = update(&desk, json!({ "title": "New" })).ok();
    assert_eq!(reply["info"]["title"], "New");
    assert_eq!((&reply["info"]["description"], &reply["info"]["capacity"]), (&json!(""), &json!(5)));
    assert_eq!(reply["info"]["name"], before["name"]);
    let reply = update(&desk, json!({ "description": "What it is for" })).ok();
    assert_eq!((&reply["info"]["title"], &reply["info"]["description"]), (&json!("New"), &json!("What it is for")));
    let reply = update(&desk, json!({ "capacity": 9 })).ok();
    assert_eq!((&reply["info"]["title"], &reply["info"]["capacity"]), (&json!("New"), &json!(9)));
    assert_eq!(reply["info"]["count"], 2);
    let all = json!({
        "title": "", "description": "d", "capacity": 3, "name": "renamed", "attributes": { "desk": { "a": "1" } },
    });
    update(&desk, all).ok();
    let info = desk.info();
    for (field, value) in [
        ("title", json!("")),
        ("description", json!("d")),
        ("capacity", json!(3)),
        ("name", json!("renamed")),
        ("attributes", json!({ "desk": { "a": "1" } })),
        ("lastModifier", json!("editor")),
    ] {
        assert_eq!(info[field], value, "{field}");
    }
    assert_eq!(desk.order(), [0, 1]);
    desk.client.get(&below(&format!("{}/renamed", desk.folder), "")).ok();
    desk.client.get(&below(&format!("{}/desk", desk.folder), "")).fails(404, "ObjectNotFound");
}

#[test]
fn attributes_are_taken_as_xml_and_as_json() {
    let desk = Desk::new(5, 0, 0);
    let equal = json!({ "desk": { "section": "City" } });
    update(&desk, json!({ "attributes": "<desk><section>City</section></desk>" })).ok();
    assert_eq!(desk.info()["attributes"], equal);
    update(&desk, json!({ "attributes": { "desk": "other" } })).ok();
    assert_eq!(desk.info()["attributes"], json!({ "desk": "other" }));
    update(&desk, json!({ "attributes": equal })).ok();
    assert_eq!(desk.info()["attributes"], equal);
    for wrong in [json!("<open>"), json!({ "a": "", "b": "" }), json!("no xml"), json!(7)] {
        desk.refuses(|| update(&desk, json!({ "title": "never", "attributes": wrong })), 400, "InvalidAttributes");
    }
}

#[test]
fn an_update_of_nothing_changes_nothing() {
    let desk = Desk::new(5, 1, 1);
    update(&desk, json!({ "title": "T", "attributes": { "desk": "x" } })).ok();
    desk.leaves(|| update(&desk, json!({})));
    desk.leaves(|| desk.client.send("PUT", &desk.path(""), &[], b""));
    desk.leaves(|| update(&desk, json!({ "unknown": 1, "options": {} })));
    let same =
        json!({ "title": "T", "name": "desk", "capacity": 5, "attributes": { "desk": "x" }, "description": null });
    desk.leaves(|| update(&desk, same));
}

#[test]
fn a_capacity_below_the_count_is_refused() {
    let desk = Desk::new(5, 3, 3);
    for capacity in [1, 2] {
        let body = json!({ "capacity": capacity, "title": "never" });
        let error = desk.refuses(|| update(&desk, body), 400, "InvalidParameter");
        assert!(
            error["message"].as_str().is_some_and(|text| text.contains("capacity") && text.contains('3')),
            "{error}"
        );
    }
    update(&desk, json!({ "capacity": 3 })).ok();
    let story = desk.client.story(&desk.folder, "more.xml");
    let path = desk.path(&format!("/item/{}", encoded(&story)));
    desk.refuses(|| desk.client.post(&path, &json!({})), 409, "DrawerFull");
    update(&desk, json!({ "capacity": 4 })).ok();
    desk.client.post(&path, &json!({})).ok();
}

#[test]
fn a_capacity_is_between_1_and_10000() {
    let desk = Desk::new(5, 0, 0);
    for capacity in [0, -1, 10_001, 1 << 32, i64::MAX] {
        desk.refuses(|| update(&desk, json!({ "capacity": capacity })), 400, "InvalidParameter");
    }
    assert_eq!(update(&desk, json!({ "capacity": 10_000 })).ok()["info"]["capacity"], 10_000);
    assert_eq!(update(&desk, json!({ "capacity": 1 })).ok()["info"]["capacity"], 1);
}

#[test]
fn a_taken_name_is_refused_and_nothing_else_changes_either() {
    let desk = Desk::new(5, 1, 1);
    let other = desk.other("taken", 5);
    for name in ["taken", "0.xml"] {
        let body = json!({ "title": "never", "capacity": 9, "name": name });
        desk.refuses(|| update(&desk, body), 409, "DuplicatedName");
    }
    for name in ["", "a/b", "bell\u{7}"] {
        desk.refuses(|| update(&desk, json!({ "title": "never", "name": name })), 400, "InvalidName");
    }
    // A name is free again once its drawer is gone.
    discard(&desk.client, &other);
    update(&desk, json!({ "name": "taken" })).ok();
    assert_eq!(desk.info()["name"], "taken");
}

#[test]
fn a_renamed_drawer_is_found_by_its_new_path_and_keeps_its_loid() {
    let desk = Desk::new(5, 1, 1);
    let uuid = desk.info()["pstate"]["uuid"].clone();
    update(&desk, json!({ "name": "a:b" })).ok();
    let read = desk.client.get(&below(&format!("{}/a_b", desk.folder), "?showItems=1&showPath=1")).ok();
    assert_eq!(read["info"]["id"], desk.drawer);
    assert_eq!(read["info"]["pstate"]["uuid"], uuid);
    assert_eq!(read["info"]["path"], format!("{}/a_b", desk.folder));
    assert_eq!(placed(&read), [(desk.stories[0].clone(), 0)]);
}
