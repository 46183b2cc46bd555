//! Making topics and plans, and changing topics.

use super::*;

#[test]
fn a_topic_is_made_with_the_folders_that_are_named() {
    let desk = Desk::new();
    let body = json!({
        "application": "Planner", "name": "Flood: \"what\" | now", "description": "All of it", "folder": format!("{}/a/b", desk.folder),
        "status": "Topic/Accepted", "workFolder": "/Work", "issueDate": "20261123", "title": "Flood: what now",
    });
    let made = desk.call("topic-post", &[]).json(&body).ok();
    includes(
        &made,
        &json!({
            "info": {
                "name": "Flood_ _what_ _ now", "title": "Flood: what now", "description": "All of it", "type": "Topic", "count": 0,
                "statusInfo": { "name": "Topic/Accepted" }, "issueDate": "20261123",
            },
            "items": [], "dividers": [],
        }),
    );
    let path = format!("{}/a/b/Flood_ _what_ _ now", desk.folder);
    desk.read(&path).query("showPath", true).gives(&json!({ "info": { "id": id(&made), "path": path } }));
    desk.call("topic-post", &[]).json(&body).fails(409, "DuplicatedName");
    let plain = json!({ "folder": desk.folder });
    assert_eq!(desk.call("topic-post", &[]).json(&plain).ok()["info"]["statusInfo"]["name"], "Topic/Proposed");
    let names = |call: &str| desk.call(call, &[]).json(&plain).ok()["info"]["name"].clone();
    assert_eq!(names("topic-post"), "Topic (2)");
    assert_eq!((names("topicplan-post"), names("topicplan-post")), (json!("TopicPlan"), json!("TopicPlan (2)")));
}

#[test]
fn topic_updates_change_only_the_named_fields() {
    let desk = Desk::new();
    let topic = desk.topic("topic");
    desk.item(&topic, json!({ "name": "a" }));
    let update = desk.call("topic-put", &[&topic]);
    let all = json!({ "title": "T", "description": "D", "name": "other", "attributes": { "a": { "b": "1" } } });
    includes(&update.clone().json(&all).ok()["info"], &all);
    update.clone().json(&json!({ "description": "" })).gives(&json!({ "info": { "title": "T", "description": "" } }));
    let tag = desk.read(&topic).send().header("etag").map(str::to_owned);
    update.clone().json(&json!({ "title": "T" })).ok();
    assert_eq!(desk.read(&topic).send().header("etag").map(str::to_owned), tag);
    update.clone().json(&json!({ "title": "x".repeat(1025) })).fails(400, "InvalidParameter");
    desk.topic("taken");
    update.json(&json!({ "name": "taken" })).fails(409, "DuplicatedName");
    assert_eq!(desk.tree(&topic), ["a"]);
}

#[test]
fn a_topic_begins_as_its_template_is() {
    let desk = Desk::new();
    let body = json!({ "folder": desk.folder, "name": "first" });
    let topic = id(&desk.call("topic-from-default-template-post", &[]).json(&body).ok());
    assert_eq!(desk.tree(&topic), ["[Words]", "Lead", "Background", "[Pictures]", "Main picture"]);
    let lead = desk.read(&topic).ok()["items"][0].clone();
    let story = desk.story("a.xml");
    let said = json!({ "attributes": { "a": "1" }, "attachment": story, "dueDate": 7 });
    let lead_id = lead["info"]["id"].as_str().expect("it has an id");
    desk.call("topicitem-put", &[&topic, &lead_id]).json(&said).ok();
    desk.subitem(&topic, lead_id, json!({ "name": "below" }));
    desk.call("topic-put", &[&topic]).json(&json!({ "title": "T", "description": "D" })).ok();

    let body = json!({ "folder": desk.folder, "name": "second", "description": "own" });
    let made = desk.call("topic-from-template-post", &[&topic]).json(&body).ok();
    includes(&made["info"], &json!({ "name": "second", "title": "T", "description": "own" }));
    let second = id(&made);
    assert_eq!(desk.tree(&second), ["[Words]", "Lead", "  below", "Background", "[Pictures]", "Main picture"]);
    let copied = desk.read(&second).ok()["items"][0].clone();
    includes(&copied, &json!({ "info": { "attributes": { "a": "1" }, "dueDate": 7, "occupation": "writer" } }));
    assert_eq!(copied["attachment"], Value::Null);
    assert_ne!(copied["info"]["id"], lead["info"]["id"]);

    let call =
        |template: &str| desk.call("topic-from-template-post", &[&template]).json(&json!({ "folder": desk.folder }));
    call("/SysConfig/none").fails(404, "TemplateNotFound");
    call(&story).fails(400, "InvalidType");
    call(PLAN_TEMPLATE).fails(400, "InvalidType");
    call(TEMPLATE).ok();
}

/// Regression test: the attributes of subitems were not counted before all of them had been read.
#[test]
fn a_topic_is_refused_as_soon_as_its_template_has_too_many_attributes() {
    let desk = Desk::new();
    let topic = desk.topic("large");
    let large = json!({ "name": "large", "attributes": { "a": { "b": "x".repeat(3_800_000) } } });
    let item = desk.item(&topic, json!({ "name": "item" }));
    let body = json!({ "folder": desk.folder, "name": "copy" });
    let copy = desk.call("topic-from-template-post", &[&topic]).json(&body);
    (0..2).for_each(|_| drop(desk.subitem(&topic, &item, large.clone())));
    copy.clone().ok();
    desk.subitem(&topic, &item, large);
    let body = json!({ "folder": desk.folder, "name": "refused" });
    let refused = desk.call("topic-from-template-post", &[&topic]).json(&body);
    let error = refused.fails(413, "TooLarge");
    assert!(error["message"].as_str().is_some_and(|message| message.contains("8388608")), "{error}");
    assert_eq!(desk.read(&format!("{}/refused", desk.folder)).send().status, 404);
}

#[test]
fn a_topic_or_plan_begins_with_the_attributes_of_its_template() {
    let desk = Desk::new();
    for kind in ["topic", "topicplan"] {
        let made = |call: &str, of: &[&dyn std::fmt::Display], said: Value| {
            let mut body = json!({ "folder": desk.folder, "name": kind, "createMode": "AUTO_RENAME" });
            body.as_object_mut().expect("it is one").extend(said.as_object().expect("it is one").clone());
            desk.call(&format!("{kind}-{call}"), of).json(&body).ok()["info"].clone()
        };
        let said = json!({
            "attributes": { "metadata": { "beat": "harbour" } },
            "systemAttributes": { "props": { "workFolder": "/News/City", "productInfo": { "issueDate": "20261201" } } },
        });
        let template = made("post", &[], said.clone());
        let template = template["id"].as_str().expect("it has an id");
        let from = |said: Value| made("from-template-post", &[&template], said);
        let taken = json!({ "workFolder": "/News/City", "issueDate": "20261201" });
        let plain = from(json!({}));
        includes(&plain, &said);
        includes(&plain, &taken);
        // What the body says counts.
        let own = json!({ "attributes": { "metadata": { "beat": "rail" } }, "workFolder": "/News/Sport", "issueDate": "20261202" });
        let named = from(own.clone());
        includes(&named, &own);
        assert_eq!(named["systemAttributes"], said["systemAttributes"]);
        let own = json!({ "systemAttributes": { "props": { "own": "1" } } });
        let named = from(own.clone());
        includes(&named, &own);
        assert_eq!((&named["attributes"], &named["issueDate"]), (&said["attributes"], &Value::Null));
        // One that is there keeps its own.
        let name = named["name"].clone();
        for mode in ["NEW_VERSION", "REPLACE"] {
            let met = made("from-template-post", &[&template], json!({ "name": name, "createMode": mode }));
            assert_eq!((&met["id"], &met["systemAttributes"]), (&named["id"], &own["systemAttributes"]), "{mode}");
        }
    }
}

#[test]
fn a_plan_begins_with_the_dividers_of_its_template() {
    let desk = Desk::new();
    let body = json!({ "folder": desk.folder, "name": "monday" });
    let plan = id(&desk.call("topicplan-from-default-template-post", &[]).json(&body).ok());
    let dividers = ["[Front page]", "[City]", "[Culture]", "[Online]"];
    assert_eq!(desk.planned(&plan), dividers);
    let topic = desk.topic("topic");
    desk.call("topicplan-add-put", &[&plan, &topic]).ok();
    let body = json!({ "folder": desk.folder, "name": "tuesday" });
    let second = id(&desk.call("topicplan-from-template-post", &[&plan]).json(&body).ok());
    assert_eq!(desk.planned(&second), dividers, "topics are of a day");
    let call = |template: &str| desk.call("topicplan-from-template-post", &[&template]);
    call("/SysConfig/none").fails(404, "TemplateNotFound");
    call(TEMPLATE).fails(400, "InvalidType");
}

#[test]
fn new_versions_of_topics_and_plans_keep_titles_and_replacements_do_not() {
    let desk = Desk::new();
    for (kind, dividers) in [("topic", "[Words]"), ("topicplan", "[City]")] {
        let call = format!("{kind}-from-default-template-post");
        let make = |extra: Value| {
            let mut body = json!({ "folder": desk.folder, "name": kind });
            body.as_object_mut().expect("it is one").extend(extra.as_object().expect("it is one").clone());
            desk.call(&call, &[]).json(&body).ok()["info"].clone()
        };
        let template = make(json!({ "name": format!("other {kind}") }));
        make(json!({ "title": "Own", "description": "Mine" }));
        let met = make(json!({ "createMode": "NEW_VERSION" }));
        includes(&met, &json!({ "title": "Own", "description": "Mine" }));
        let met = make(json!({ "createMode": "NEW_VERSION", "title": "Another" }));
        includes(&met, &json!({ "title": "Another", "description": "Mine" }));
        // Replaced it is as a new one.
        let met = make(json!({ "createMode": "REPLACE", "description": "New" }));
        includes(&met, &json!({ "title": template["title"], "description": "New" }));
        let loid = met["id"].as_str().expect("it has an id");
        let lines = if kind == "topic" { desk.tree(loid) } else { desk.planned(loid) };
        assert_eq!(lines.iter().filter(|line| *line == dividers).count(), 1, "{lines:?}");
    }
}

/// Covers a server whose templates are not in the configured place.
#[test]
fn a_missing_default_template_is_said_to_be_missing() {
    let server = Server::with(&[("TOPIC__TEMPLATE", "/SysConfig/none"), ("TOPIC_PLAN__TEMPLATE", "/SysConfig/none")]);
    let editor = server.login("editor");
    for call in ["topic-from-default-template-post", "topicplan-from-default-template-post"] {
        editor.call(call, &[]).json(&json!({ "name": "n" })).fails(404, "TemplateNotFound");
    }
}

#[test]
fn the_sample_newsroom_has_a_weeks_planning() {
    let desk = Desk::new();
    let plan = desk.read_plan("/Planning/this-week").query("limitToChildren", false).ok();
    assert_eq!(order(&plan).len(), 6);
    let first = &plan["items"][0];
    includes(&first["info"], &json!({ "name": "evening-ferry", "type": "Topic" }));
    assert_eq!(
        order(first),
        [
            "Council: the vote and the money",
            "On the last boat: \"We were two hundred\"",
            "[Pictures]",
            "Passengers at the pier after nine"
        ]
    );
    assert_eq!(order(&first["items"][0]).len(), 3);
}

#[test]
fn slash_in_the_name_of_a_topic_or_plan_becomes_an_underscore() {
    let desk = Desk::new();
    for call in
        ["topic-post", "topicplan-post", "topic-from-default-template-post", "topicplan-from-default-template-post"]
    {
        let folder = format!("{}/{call}", desk.folder);
        let body = json!({ "name": "Ferry/bridge: now", "folder": folder });
        let made = desk.call(call, &[]).json(&body).ok();
        assert_eq!(made["info"]["name"], "Ferry_bridge_ now");
        // It is the same name.
        desk.call(call, &[]).json(&body).fails(409, "DuplicatedName");
    }
    let topic = desk.topic("t");
    let renamed = desk.call("topic-put", &[&topic]).json(&json!({ "name": "a/b" })).ok();
    assert_eq!(renamed["info"]["name"], "a_b");
    desk.call("stet-object-rename-post", &[&topic]).json(&json!({ "name": "c/d" })).ok();
    assert_eq!(desk.read(&topic).ok()["info"]["name"], "c_d");
    let story = desk.story("s.xml");
    desk.call("stet-object-rename-post", &[&story]).json(&json!({ "name": "c/d" })).fails(400, "InvalidName");
}
