//! `PUT /v3/container/drawer/{source}`

use super::*;

#[test]
fn drawer_updates_change_only_the_named_fields() {
    let desk = Desk::new(5, 2, 2);
    let before = desk.info();
    let name = &before["name"];
    let kept = json!({ "info": { "title": "New", "description": "", "capacity": 5, "name": name, "count": 2 } });
    desk.update(json!({ "title": "New" })).gives(&kept);
    let kept = json!({ "info": { "title": "New", "description": "What it is for", "capacity": 5 } });
    desk.update(json!({ "description": "What it is for" })).gives(&kept);
    let kept = json!({ "info": { "title": "New", "description": "What it is for", "capacity": 9, "count": 2 } });
    desk.update(json!({ "capacity": 9 })).gives(&kept);
    let all = json!({
        "title": "", "description": "d", "capacity": 3, "name": "renamed", "attributes": { "desk": { "a": "1" } },
    });
    desk.update(all.clone()).ok();
    let info = desk.info();
    includes(&info, &all);
    assert_eq!((&info["attributes"], &info["lastModifier"]), (&all["attributes"], &json!("editor")));
    assert_eq!(desk.order(), [0, 1]);
    head(&desk.client, &format!("{}/renamed", desk.folder)).ok();
    head(&desk.client, &format!("{}/desk", desk.folder)).fails(404, "ObjectNotFound");
}

#[test]
fn attributes_are_taken_as_xml_and_as_json() {
    let desk = Desk::new(5, 0, 0);
    let equal = json!({ "desk": { "section": "City" } });
    let xml = json!("<desk><section>City</section></desk>");
    for (attributes, read) in
        [(xml, &equal), (json!({ "desk": "other" }), &json!({ "desk": "other" })), (equal.clone(), &equal)]
    {
        desk.update(json!({ "attributes": attributes })).ok();
        assert_eq!(desk.info()["attributes"], *read);
    }
    for wrong in [json!("<open>"), json!({ "a": "", "b": "" }), json!("no xml"), json!(7)] {
        desk.refuses(desk.update(json!({ "title": "never", "attributes": wrong })), 400, "InvalidAttributes");
    }
}

#[test]
fn an_update_of_nothing_changes_nothing() {
    let desk = Desk::new(5, 1, 1);
    desk.update(json!({ "title": "T", "attributes": { "desk": "x" } })).ok();
    desk.leaves(desk.update(json!({})));
    desk.leaves(desk.call("drawer-put", &[]));
    desk.leaves(desk.update(json!({ "unknown": 1, "options": {} })));
    let same =
        json!({ "title": "T", "name": "desk", "capacity": 5, "attributes": { "desk": "x" }, "description": null });
    desk.leaves(desk.update(same));
}

#[test]
fn a_capacity_below_the_count_is_refused() {
    let desk = Desk::new(5, 4, 3);
    for capacity in [1, 2] {
        let body = json!({ "capacity": capacity, "title": "never" });
        let error = desk.refuses(desk.update(body), 400, "InvalidParameter");
        says(&error, &["capacity", "3"]);
    }
    desk.update(json!({ "capacity": 3 })).ok();
    desk.is_too_full_for(desk.add(3));
    desk.update(json!({ "capacity": 4 })).ok();
    desk.add(3).ok();
}

#[test]
fn a_capacity_is_between_1_and_10000() {
    let desk = Desk::new(5, 0, 0);
    for capacity in [0, -1, 10_001, 1 << 32, i64::MAX] {
        desk.refuses(desk.update(json!({ "capacity": capacity })), 400, "InvalidParameter");
    }
    for capacity in [10_000, 1] {
        desk.update(json!({ "capacity": capacity })).gives(&json!({ "info": { "capacity": capacity } }));
    }
}

#[test]
fn a_taken_name_is_refused_and_nothing_else_changes_either() {
    let desk = Desk::new(5, 1, 1);
    let other = desk.other("taken", 5);
    for name in ["taken", "0.xml"] {
        let body = json!({ "title": "never", "capacity": 9, "name": name });
        let error = desk.refuses(desk.update(body), 409, "DuplicatedName");
        let there = format!("{}/{name}", desk.folder);
        assert_eq!(error["details"]["existing"], desk.client.call("object-get", &[&there]).ok()["id"]);
    }
    for name in ["", "a/b", "bell\u{7}"] {
        desk.refuses(desk.update(json!({ "title": "never", "name": name })), 400, "InvalidName");
    }
    // A name is free again once its drawer is gone.
    discard(&desk.client, &other);
    desk.update(json!({ "name": "taken" })).ok();
    assert_eq!(desk.info()["name"], "taken");
}

#[test]
fn a_renamed_drawer_is_found_by_its_new_path_and_keeps_its_loid() {
    let desk = Desk::new(5, 1, 1);
    let uuid = desk.info()["pstate"]["uuid"].clone();
    desk.update(json!({ "name": "a:b" })).ok();
    let path = format!("{}/a_b", desk.folder);
    let info = json!({ "id": desk.drawer, "pstate": { "uuid": uuid }, "path": path });
    let call = desk.client.call("drawer-get", &[&path]).query("showItems", 1).query("showPath", 1);
    assert_eq!(desk.placed(&call.gives(&json!({ "info": info }))), [(0, 0)]);
}

#[test]
fn drawer_title_and_description_have_limits_on_creation_and_update() {
    let desk = Desk::new(5, 1, 1);
    desk.update(json!({ "title": "x".repeat(1024), "description": "x".repeat(8192) })).ok();
    for (name, limit) in [("title", 1024), ("description", 8192)] {
        let long = "é".repeat(limit / 2 + 1);
        desk.refuses(desk.update(json!({ name: long })), 400, "InvalidParameter");
        for mode in ["EXCEPTION", "REPLACE", "NEW_VERSION"] {
            for taken in ["desk", "another"] {
                let body = json!({ "name": taken, "folderPath": desk.folder, name: long, "createMode": mode });
                let call = desk.client.call("drawer-post", &[]).json(&body);
                if (mode, taken) == ("EXCEPTION", "desk") {
                    call.fails(409, "DuplicatedName");
                } else {
                    let error = call.fails(400, "InvalidParameter");
                    assert!(error["message"].as_str().is_some_and(|message| message.contains(name)), "{error}");
                }
            }
        }
    }
}
