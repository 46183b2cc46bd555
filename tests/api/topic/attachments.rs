//! Objects that hang on items.

use super::*;

/// Returns the attachments of a topic's items.
fn hanging(desk: &Desk, topic: &str, records: bool) -> Vec<Value> {
    let read = desk.read(topic).query("showAttachment", records).ok();
    read["items"].as_array().expect("there is a list").iter().map(|item| item["attachment"].clone()).collect()
}

#[test]
fn an_object_hangs_on_several_items_and_each_holds_one() {
    let desk = Desk::new();
    let (topic, story, picture) = (desk.topic("topic"), desk.story("a.xml"), desk.story("b.xml"));
    let made = json!({ "name": "1", "attachment": story, "options": { "showAttachment": true } });
    let reply = desk.call("topicitem-post", &[&topic]).json(&made).ok();
    includes(&reply["attachment"], &json!({ "id": story, "name": "a.xml" }));
    let (first, second) = (id(&reply), desk.item(&topic, json!({ "name": "2" })));
    let sub = desk.subitem(&topic, &second, json!({ "name": "3" }));
    let attach = |object: &str| desk.call("topicitem-attach-put", &[&topic, &second, &object]);
    attach(&story).gives(&json!({ "attachment": { "id": story } }));
    desk.call("topicsubitem-attach-put", &[&topic, &second, &sub, &story]).json(&json!({})).ok();
    assert_eq!(hanging(&desk, &topic, false), [json!({ "id": story }), json!({ "id": story })]);
    let whole = desk.read(&topic).query("limitToChildren", false).query("showAttachment", true).ok();
    assert_eq!(whole["items"][1]["items"][0]["attachment"]["name"], "a.xml");

    attach(&picture).ok();
    assert_eq!(hanging(&desk, &topic, true)[1]["name"], "b.xml", "another takes its place");
    desk.call("topicitem-put", &[&topic, &first])
        .json(&json!({ "attachment": null }))
        .gives(&json!({ "attachment": null }));
    assert_eq!(hanging(&desk, &topic, false), [Value::Null, json!({ "id": picture })]);
    desk.call("topicitem-put", &[&topic, &first])
        .json(&json!({ "comment": "c" }))
        .gives(&json!({ "attachment": null }));

    attach("1$1.0.999999999").fails(404, "ObjectNotFound");
    attach(&topic).fails(409, "InvalidForContainer");
}

#[test]
fn no_item_is_moved_into_the_topic_that_hangs_on_it() {
    let desk = Desk::new();
    let (from, to) = (desk.topic("from"), desk.topic("to"));
    let item = desk.item(&from, json!({ "name": "1", "attachment": to }));
    let (other, above) = (desk.item(&from, json!({ "name": "2" })), desk.item(&from, json!({ "name": "3" })));
    let below = desk.subitem(&from, &above, json!({ "name": "below", "attachment": to }));
    let before = desk.tree(&from);
    for moved in [vec![&*other, &*item], vec![&*above], vec![&*below]] {
        let refused = desk.move_into(&moved, &to, None).fails(409, "InvalidForContainer");
        says(&refused, "an item of its own");
        assert_eq!((desk.tree(&from), desk.tree(&to)), (before.clone(), Vec::new()), "{moved:?}");
    }
    desk.discard(&to);
    desk.call("stet-object-restore-post", &[&to]).ok();
    desk.move_into(&[&item], &to, None).fails(409, "InvalidForContainer");
    // Elsewhere it may hang, and without it the item may go.
    let third = desk.topic("third");
    desk.move_into(&[&item, &below], &third, None).ok();
    desk.call("topicitem-put", &[&third, &item]).json(&json!({ "attachment": null })).ok();
    desk.move_into(&[&item], &to, None).ok();
    assert_eq!((desk.tree(&third), desk.tree(&to)), (vec!["below".to_owned()], vec!["1".to_owned()]));
}

#[test]
fn discarded_attachments_are_hidden_until_they_are_restored_or_destroyed() {
    let desk = Desk::new();
    let (topic, story) = (desk.topic("topic"), desk.story("a.xml"));
    desk.item(&topic, json!({ "name": "1", "attachment": story }));
    let tag = || desk.read(&topic).send().header("etag").map(str::to_owned);
    let before = tag();
    desk.discard(&story);
    assert_eq!(hanging(&desk, &topic, true), [json!({ "hidden": true })]);
    assert_ne!(tag(), before);
    desk.restore(&story);
    assert_eq!(hanging(&desk, &topic, false), [json!({ "id": story })]);
    desk.destroy(&story);
    assert_eq!(hanging(&desk, &topic, false), [Value::Null]);
    assert_eq!(desk.tree(&topic), ["1"]);
}

#[test]
fn a_tag_speaks_of_the_records_that_are_shown() {
    let desk = Desk::new();
    let (topic, story) = (desk.topic("topic"), desk.story("a.xml"));
    desk.item(&topic, json!({ "name": "1", "attachment": story }));
    let with = desk.read(&topic).query("showAttachment", true);
    let tags = || [&desk.read(&topic), &with].map(|call| call.send().header("etag").expect("it has a tag").to_owned());
    let [bare, shown] = tags();
    assert_eq!(with.clone().header("if-none-match", &shown).send().status, 304);
    desk.call("stet-object-lock-post", &[&story]).ok();
    let now = tags();
    assert_eq!(now[0], bare, "nothing of the story is shown");
    assert_ne!(now[1], shown);
    assert_eq!(with.header("if-none-match", &shown).send().status, 200);
}
