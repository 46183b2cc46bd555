//! The events of topics and plans (docs/api/topics.md and docs/api/topic-plans.md, "Kinds of
//! changes").

use super::*;

fn id(reply: &Value) -> String {
    reply["info"]["id"].as_str().expect("it has an id").to_owned()
}

/// Returns all events of a container since its creation: kinds, and the ids in them.
fn told(client: &Client, container: &str) -> Vec<(String, Vec<String>)> {
    let told = stored(client, container, 1).into_iter();
    told.map(|told| (told.event.clone(), ids(&told).into_iter().map(str::to_owned).collect())).collect()
}

#[test]
fn a_plan_reports_its_order_and_topics_and_not_changes_inside_topics() {
    let (editor, folder) = (Server::shared().user("editor"), own_folder());
    let made = |call: &str| {
        let body = json!({ "name": call, "folder": folder, "createMode": "AUTO_RENAME" });
        id(&editor.call(call, &[]).json(&body).ok())
    };
    let (plan, other) = (made("topicplan-post"), made("topicplan-post"));
    let (topic, target, story) = (made("topic-post"), made("topic-post"), editor.story(&folder, "a.xml"));
    editor.call("topicplan-add-put", &[&plan, &topic]).ok();
    let item = id(&editor.call("topicitem-post", &[&topic]).json(&json!({ "name": "i" })).ok());
    editor.call("topicitem-put", &[&topic, &item]).json(&json!({ "comment": "c" })).ok();
    editor.call("topicitem-attach-put", &[&topic, &item, &story]).ok();
    let divider = id(&editor.call("topic-divider-post", &[&topic]).json(&json!({ "title": "d" })).ok());
    editor.call("topic-divider-delete", &[&topic, &divider]).ok();
    editor.call("topic-move-put", &[]).json(&json!({ "sources": [item], "target": target })).ok();
    editor.call("topic-move-put", &[]).json(&json!({ "sources": [topic], "target": other })).ok();

    let event = |kind: &str, ids: &[&String]| (kind.to_owned(), ids.iter().map(|id| (*id).clone()).collect());
    let of_plan = told(&editor, &plan);
    assert_eq!(of_plan, [event("topicplan.topic.add", &[&topic]), event("topicplan.topic.move", &[&topic])]);
    assert_eq!(told(&editor, &other).last(), Some(&event("topicplan.topic.move", &[&topic])));
    let of_topic = told(&editor, &topic);
    let wanted = [
        event("topic.item.add", &[&item]),
        event("topic.item.update", &[&item]),
        event("topic.item.attach", &[&story, &item]),
        event("topic.divider.add", &[&divider]),
        event("topic.divider.remove", &[&divider]),
        event("topic.item.move", &[&item]),
    ];
    assert_eq!(of_topic[of_topic.len() - wanted.len()..], wanted);
    assert_eq!(told(&editor, &target).last(), Some(&event("topic.item.move", &[&item])));
    // The audit trail has the same names.
    let page = Server::shared().user("admin").call("stet-audit-get", &[]).query("object", &topic).ok();
    let actions: Vec<_> =
        page["items"].as_array().expect("a page has items").iter().map(|item| &item["action"]).collect();
    for (action, _) in wanted.iter().chain(&of_plan) {
        assert!(actions.contains(&&json!(action)), "{action}: {actions:?}");
    }
}

#[test]
fn followers_do_not_learn_ids_of_objects_that_they_may_not_read() {
    let server = Server::start();
    let (admin, reporter) = (server.user("admin"), reporter_below(&server, "/Desk", &["read"]));
    let made =
        |call: &str, folder: &str| id(&admin.call(call, &[]).json(&json!({ "name": call, "folderPath": folder })).ok());
    let (plan, topic) = (made("topicplan-post", "/Desk"), made("topic-post", "/Desk"));
    let (secret, story) = (made("topic-post", "/Secret"), admin.story("/Secret", "a.xml"));
    admin.call("topicplan-add-put", &[&plan, &secret]).ok();
    let item = id(&admin.call("topicitem-post", &[&topic]).json(&json!({ "name": "i" })).ok());
    admin.call("topicitem-attach-put", &[&topic, &item, &story]).ok();
    admin
        .call("stet-object-correlate-post", &[&item])
        .json(&json!({ "sourceLinkName": "x", "targetLinkName": "y", "targetSource": secret }))
        .ok();
    admin.call("topicplan-topic-delete", &[&plan, &secret]).ok();
    let of_topic = told(&reporter, &topic);
    assert!(
        of_topic.iter().any(|(kind, ids)| kind == "topic.item.attach" && ids[..] == [item.clone()]),
        "{of_topic:?}"
    );
    for gone in [false, true] {
        if gone {
            admin.call("object-destroy", &[&secret]).ok();
        }
        for container in [&plan, &topic] {
            let told = told(&reporter, container);
            let named = told.iter().flat_map(|(_, ids)| ids).any(|id| [&secret, &story].contains(&id));
            assert!(!named, "{told:?}");
        }
    }
}
