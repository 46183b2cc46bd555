//! The rights to see and move items and topics.

use super::*;
use crate::api::liveblog::reporter_below;

#[test]
fn topics_and_plans_hide_objects_that_the_caller_may_not_read() {
    let server = Server::start();
    let admin = server.user("admin");
    let reporter = reporter_below(&server, "/Open", &["read", "write", "create"]);
    let made = |call: &str, folder: &str, name: &str| {
        let body = json!({ "name": name, "folder": folder });
        id(&admin.call(call, &[]).json(&body).ok())
    };
    let (topic, plan) = (made("topic-post", "/Open", "topic"), made("topicplan-post", "/Open", "plan"));
    let (secret, open) = (made("topic-post", "/Closed", "secret"), made("topic-post", "/Open", "open"));
    let closed_plan = made("topicplan-post", "/Closed", "plan");
    let story = admin.story("/Closed", "a.xml");
    admin.call("topicitem-post", &[&topic]).json(&json!({ "name": "i", "attachment": story })).ok();
    for topic in [&secret, &open] {
        admin.call("topicplan-add-put", &[&plan, topic]).ok();
    }

    let read = reporter.call("topic-get", &[&topic]).query("showAttachment", true).ok();
    assert_eq!((order(&read), &read["items"][0]["attachment"]), (vec!["i".into()], &json!({ "hidden": true })));
    let read = reporter.call("topicplan-get", &[&plan]).ok();
    assert_eq!((order(&read), &read["info"]["count"]), (vec!["open".into()], &json!(1)));
    let structure = reporter.call("topicplan-structure-get", &[&plan]).ok();
    assert_eq!(structure["items"], json!([{ "id": open, "kind": "topic" }]));

    // Positions are those that the caller sees.
    let divider = reporter.call("topicplan-divider-post", &[&plan]).json(&json!({ "title": "d", "position": 0 })).ok();
    assert_eq!(divider["info"]["position"], 0);
    assert_eq!(order(&admin.call("topicplan-get", &[&plan]).ok()), ["secret", "[d]", "open"]);

    let item = id(&reporter.call("topicitem-post", &[&topic]).json(&json!({ "name": "own" })).ok());
    reporter.call("topicitem-attach-put", &[&topic, &item, &story]).fails(404, "ObjectNotFound");
    reporter.call("topicitem-put", &[&topic, &item]).json(&json!({ "attachment": story })).fails(404, "ObjectNotFound");
    reporter.call("topicplan-add-put", &[&plan, &secret]).fails(404, "ObjectNotFound");
    reporter.call("topicplan-topic-delete", &[&plan, &secret]).fails(404, "ObjectNotFound");
    let into = |sources: &[&str], target: &str| {
        reporter.call("topic-move-put", &[]).json(&json!({ "sources": sources, "target": target }))
    };
    into(&[&item], &secret).fails(404, "ObjectNotFound");
    into(&[&secret], &plan).fails(404, "ObjectNotFound");
    let hidden = id(&admin.call("topicitem-post", &[&secret]).json(&json!({ "name": "hidden" })).ok());
    into(&[&hidden], &topic).fails(404, "ObjectNotFound");
    // The plan that it would have to leave is hidden from them.
    admin.call("topicplan-add-put", &[&closed_plan, &open]).ok();
    let refused = into(&[&open], &plan).fails(403, "PermissionDenied");
    assert!(!refused.to_string().contains(&closed_plan), "{refused}");
    assert_eq!(order(&admin.call("topicplan-get", &[&closed_plan]).ok()), ["open"]);
}

#[test]
fn items_cannot_be_moved_out_of_a_topic_that_the_caller_may_not_change() {
    let server = Server::start();
    let admin = server.user("admin");
    let reporter = reporter_below(&server, "/Open", &["read"]);
    admin.call("folder-post", &[]).json(&json!({ "path": "/Own" })).ok();
    let grants = ["read", "write"].map(|privilege| json!({ "privilege": privilege, "folder": "/Own" }));
    let own = json!({ "groupName": "own", "members": ["reporter"], "privileges": grants });
    admin.call("group-create-post", &[]).json(&own).ok();
    let made = |folder: &str| {
        let body = json!({ "name": "topic", "folder": folder });
        id(&admin.call("topic-post", &[]).json(&body).ok())
    };
    let (topic, own) = (made("/Open"), made("/Own"));
    let item = id(&admin.call("topicitem-post", &[&topic]).json(&json!({ "name": "i" })).ok());
    let moves = json!({ "sources": [item], "target": own });
    reporter.call("topic-move-put", &[]).json(&moves).fails(403, "PermissionDenied");
    let names = |topic: &str| order(&reporter.call("topic-get", &[&topic]).ok());
    assert_eq!((names(&topic), names(&own)), (vec!["i".to_owned()], Vec::new()));
    admin.call("topic-move-put", &[]).json(&moves).ok();
    assert_eq!((names(&topic), names(&own)), (Vec::new(), vec!["i".to_owned()]));
    // The item is in their own topic now, so they may move it.
    reporter.call("topic-move-put", &[]).json(&moves).ok();
}
