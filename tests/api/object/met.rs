//! The parts of an existing object that a creation under its name keeps.

use super::*;

/// The system attributes that an object shows.
fn system(client: &Client, object: &str) -> Value {
    read(client, object)["systemAttributes"]["props"].clone()
}

#[test]
fn product_and_team_replace_their_own_system_attributes_only() {
    let desk = Desk::of("editor");
    for (name, filler) in [("short.xml", "x".to_owned()), ("long.xml", "x".repeat(100_000))] {
        let product = json!({ "name": "HarbourCourier", "edition": "Late", "issueDate": "20261126", "insert": "A" });
        let props = json!({ "productInfo": product, "team": "Web", "embargo": "20:00", "notes": filler });
        let story = id(&desk.create(name, b"1", json!({ "systemAttributes": { "props": props } })).ok());
        for (mode, said, pointer, value) in [
            ("NEW_VERSION", json!({ "team": "City" }), "/team", "City"),
            ("REPLACE", json!({ "product": "Post" }), "/productInfo/name", "Post"),
            ("NEW_VERSION", json!({ "edition": "Morning" }), "/productInfo/edition", "Morning"),
            ("REPLACE", json!({ "issueDate": "261224" }), "/productInfo/issueDate", "20261224"),
        ] {
            let mut expected = system(&desk, &story);
            *expected.pointer_mut(pointer).expect("it is there") = json!(value);
            let mut extra = said.clone();
            extra["createMode"] = json!(mode);
            let met = desk.create(name, b"2", extra).ok();
            assert_eq!(met["id"], json!(story));
            assert_eq!(met["systemAttributes"]["props"], expected, "{name} {said}");
            assert_eq!(system(&desk, &story), expected, "{name} {said}");
        }
        shows(&read(&desk, &story), json!({ "issueDate": "20261224", "version": 3 }));
        // Nothing of them is said.
        let before = system(&desk, &story);
        assert_eq!(desk.again(name, b"3", "NEW_VERSION")["systemAttributes"]["props"], before, "{name}");
        // System attributes in a call replace all existing ones.
        let all = json!({ "createMode": "REPLACE", "team": "Sport", "systemAttributes": "<props><a>1</a></props>" });
        let met = desk.create(name, b"4", all).ok();
        assert_eq!(met["systemAttributes"]["props"], json!({ "a": "1", "team": "Sport" }), "{name}");
    }
    // One that has none yet.
    let bare = desk.make("bare.xml", b"1");
    desk.create("bare.xml", b"2", json!({ "createMode": "REPLACE", "team": "City", "edition": "Late" })).ok();
    assert_eq!(system(&desk, &bare), json!({ "productInfo": { "edition": "Late" }, "team": "City" }));
}

/// Checks that repeated creations under an object's name lose no increment by another caller. This
/// holds for short texts, and for long ones that are amended ahead.
#[test]
fn no_increment_is_lost_to_a_creation_that_meets_the_object() {
    let server = Server::start();
    let desk = Desk::at(server.user("editor"));
    for (name, filler) in [("short.xml", "x".to_owned()), ("long.xml", "x".repeat(100_000))] {
        let props = json!({ "n": "0", "notes": filler });
        let story = id(&desk.create(name, b"1", json!({ "systemAttributes": { "props": props } })).ok());
        let increase = json!({ "updateFields": [{
            "sourceIds": [story], "operators": [{ "inc": { "xpath": "/sysattributes/props/n" } }],
        }] });
        std::thread::scope(|scope| {
            for number in 0..4 {
                let (counting, creating) = (desk.afresh(), desk.afresh());
                let (increase, folder) = (&increase, &desk.folder);
                scope.spawn(move || {
                    for _ in 0..10 {
                        let reply = counting.call("stet-object-metadata-change-fields-post", &[]).json(increase).ok();
                        assert_eq!(reply["errors"], json!([]));
                    }
                });
                scope.spawn(move || {
                    for turn in 0..10 {
                        let options = json!({
                            "name": name, "folderPath": folder, "createMode": "REPLACE", "team": format!("{number}-{turn}"),
                        });
                        creating.call("stet-object-create-post", &[]).form(&options, &[]).ok();
                    }
                });
            }
        });
        let shown = system(&desk, &story);
        assert_eq!(shown["n"], "40", "{name}");
        assert!(shown["team"].as_str().is_some_and(|team| team.ends_with("-9")), "{}", shown["team"]);
    }
    ends_sound(server);
}

/// A template with attributes, system attributes and content of its own; the path.
fn template(desk: &Desk) -> String {
    let extra = json!({
        "type": "Template", "attributes": "<metadata><headline>Template</headline></metadata>",
        "systemAttributes": "<props><team>Template</team><shape>wide</shape></props>",
    });
    desk.create("template.xml", b"<template/>", extra).ok();
    format!("{}/template.xml", desk.folder)
}

#[test]
fn a_template_is_what_a_new_object_begins_with_and_no_other() {
    let desk = Desk::of("editor");
    let path = template(&desk);
    let from = |name: &str, extra: Value| {
        let mut options = json!({ "name": name, "folderPath": desk.folder, "type": "Story" });
        options.as_object_mut().expect("it is one").extend(extra.as_object().expect("it is one").clone());
        desk.call("stet-object-create-from-template-post", &[]).query("path", &path).json(&options).ok()
    };
    let own = json!({
        "attributes": { "metadata": { "headline": "Precious" } }, "systemAttributes": { "props": { "embargo": "20:00" } },
    });
    let story = id(&desk.create("a.xml", b"<mine/>", own.clone()).ok());
    shows(&from("a.xml", json!({ "createMode": "REPLACE" })), own.clone());
    assert_eq!((bytes_of(&desk, &story), &read(&desk, &story)["version"]), (b"<mine/>".to_vec(), &json!(1)));
    // A version more takes nothing away.
    shows(&from("a.xml", json!({ "createMode": "NEW_VERSION" })), own);
    assert_eq!(bytes_of_version(&desk, &story, 1), b"<mine/>");
    assert_eq!(bytes_of_version(&desk, &story, 2), b"<template/>");
    // What the call says itself counts, and the template's beside it does not.
    let said = json!({ "createMode": "REPLACE", "team": "City", "attributes": { "metadata": { "headline": "New" } } });
    let met = from("a.xml", said);
    shows(&met, json!({ "attributes": { "metadata": { "headline": "New" } } }));
    assert_eq!(met["systemAttributes"]["props"], json!({ "embargo": "20:00", "team": "City" }));
    // A new one has all of it.
    let new = from("b.xml", json!({ "createMode": "REPLACE" }));
    shows(&new, json!({ "attributes": { "metadata": { "headline": "Template" } }, "version": 1 }));
    assert_eq!(new["systemAttributes"]["props"], json!({ "team": "Template", "shape": "wide" }));
    assert_eq!(bytes_of(&desk, &id(&new)), b"<template/>");
}

#[test]
fn a_story_without_content_replaces_no_text() {
    let desk = Desk::of("editor");
    let story = desk.make("a.xml", b"<mine/>");
    let options = json!({ "name": "a.xml", "folderPath": desk.folder, "createMode": "REPLACE" });
    desk.call("stet-old-object-story-post", &[]).form(&options, &[]).ok();
    assert_eq!((bytes_of(&desk, &story), &read(&desk, &story)["version"]), (b"<mine/>".to_vec(), &json!(1)));
}

#[test]
fn work_folder_and_issue_date_in_system_attributes_show_in_the_record() {
    let desk = Desk::of("editor");
    let props = |folder: &str, date: &str| {
        let xml = format!(
            "<props><workFolder>{folder}</workFolder><productInfo><issueDate>{date}</issueDate></productInfo></props>"
        );
        json!({ "systemAttributes": xml })
    };
    let with = |mut options: Value, more: Value| {
        options.as_object_mut().expect("it is one").extend(more.as_object().expect("it is one").clone());
        options
    };
    let both = |folder: &str, date: &str| json!({ "workFolder": folder, "issueDate": date });
    let story = desk.create("a.xml", b"1", props("/News/Sport", "261201")).ok();
    shows(&story, both("/News/Sport", "20261201"));
    // Options of their own take precedence, and then no date is looked up.
    let said = with(props("/News/Sport", "tomorrow"), both("/News/City", "20261202"));
    shows(&desk.create("b.xml", b"1", said).ok(), both("/News/City", "20261202"));
    desk.create("c.xml", b"1", props("/News/Sport", "tomorrow")).fails(400, "InvalidParameter");
    desk.create("c.xml", b"1", props(&"/x".repeat(9000), "261201")).fails(400, "InvalidPath");
    // The same holds for an existing object. Omitted values stay.
    for (mode, date) in [("REPLACE", "20261203"), ("NEW_VERSION", "20261204")] {
        let met = desk.create("a.xml", b"2", with(props("/News/City", date), json!({ "createMode": mode }))).ok();
        shows(&met, both("/News/City", date));
    }
    let other = json!({ "createMode": "REPLACE", "systemAttributes": "<props><a/></props>" });
    shows(&desk.create("a.xml", b"3", other).ok(), both("/News/City", "20261204"));
    // And for one that begins as a template.
    let extra = with(props("/News/Sport", "tomorrow"), json!({ "type": "Template", "issueDate": "20261205" }));
    desk.create("template.xml", b"<t/>", extra).ok();
    let options = json!({ "name": "d.xml", "folderPath": desk.folder, "type": "Story" });
    let path = format!("{}/template.xml", desk.folder);
    let made = desk.call("stet-object-create-from-template-post", &[]).query("path", path).json(&options).ok();
    shows(&made, json!({ "workFolder": "/News/Sport", "issueDate": null }));
}

/// Checks that a creation without a type keeps the type of an existing object, and takes the status
/// from that type's workflow. Earlier, the workflow of a new object's type decided. So a template
/// could be ready as a story is, but not done.
#[test]
fn a_status_must_belong_to_the_type_that_the_existing_object_keeps() {
    let desk = Desk::of("editor");
    let of = |mode: &str, status: &str| json!({ "createMode": mode, "status": status });
    let made = desk.create("form.xml", b"1", json!({ "type": "Template" })).ok();
    for mode in ["REPLACE", "NEW_VERSION"] {
        for (status, status_code, code) in
            [("Story/Ready", 400, "InvalidStatus"), ("Nowhere/Ready", 404, "StatusNotFound")]
        {
            let refused = desk.create("form.xml", b"2", of(mode, status)).fails(status_code, code);
            assert_eq!(refused["source"], status, "{refused}");
        }
        shows(&read(&desk, &id(&made)), json!({ "statusInfo": made["statusInfo"], "revision": made["revision"] }));
        assert_eq!(bytes_of(&desk, &id(&made)), b"1");
    }
    for (mode, status) in [("REPLACE", "Default/Done"), ("NEW_VERSION", "Default/New")] {
        let met = desk.create("form.xml", b"2", of(mode, status)).ok();
        assert_eq!((&met["type"], &met["statusInfo"]["name"]), (&json!("Template"), &json!(status)));
    }
    // Who names the type gets the object of that type, and a status of its workflow.
    let mut named = of("REPLACE", "Story/Ready");
    named["type"] = json!("Template");
    desk.create("form.xml", b"3", named.clone()).fails(400, "InvalidStatus");
    named["type"] = json!("Story");
    desk.create("form.xml", b"3", named).gives(&json!({ "type": "Story", "statusInfo": { "name": "Story/Ready" } }));
    // A new object gets its type from its name, in every mode.
    for (at, mode) in ["EXCEPTION", "AUTO_RENAME", "REPLACE", "NEW_VERSION"].into_iter().enumerate() {
        let name = format!("new{at}.xml");
        desk.create(&name, b"1", of(mode, "Default/Done")).fails(400, "InvalidStatus");
        desk.create(&name, b"1", of(mode, "Story/Ready")).gives(&json!({ "statusInfo": { "name": "Story/Ready" } }));
    }
}

/// Regression test: a bundle saved again without its type was refused because its name is taken.
#[test]
fn bundles_and_web_containers_are_saved_again_without_a_type() {
    let desk = Desk::of("editor");
    for kind in ["CompoundStory", "WebContainer"] {
        let name = format!("{kind}.xml");
        let made = desk.create(&name, b"<story/>", json!({ "type": kind })).ok();
        for (mode, version) in [("REPLACE", 1), ("NEW_VERSION", 2)] {
            let met = desk.create(&name, mode.as_bytes(), json!({ "createMode": mode })).ok();
            assert_eq!((&met["id"], &met["type"], &met["version"]), (&made["id"], &made["type"], &json!(version)));
            assert_eq!(desk.call("stet-object-content-get", &[&id(&made)]).send().body, mode.as_bytes());
        }
        let other = json!({ "createMode": "REPLACE", "type": "Story" });
        desk.create(&name, b"x", other).fails(409, "DuplicatedName");
    }
    // Others are not made of a content.
    desk.call("folder-post", &[]).json(&json!({ "path": format!("{}/sub", desk.folder) })).ok();
    desk.create("sub", b"x", json!({ "createMode": "REPLACE", "type": "" })).fails(409, "DuplicatedName");
}
