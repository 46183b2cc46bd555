//! Containers in a closed status, whose contents can't be changed.

use super::*;
use crate::api::conf::save;

#[track_caller]
fn is_closed(answer: &Answer) {
    let refused = answer.fails(409, "InvalidForContainer");
    let message = refused["message"].as_str().expect("an error has a message");
    assert!(message.contains("closed") && refused["details"]["status"].is_string(), "{refused}");
}

fn posts(client: &Client, blog: &str) -> Value {
    client.call("liveblog-get", &[&blog]).ok()["items"].clone()
}

#[test]
fn a_closed_liveblog_takes_no_posts_and_no_changes_of_them() {
    let desk = Desk::new();
    let (editor, blog) = (&desk.editor, desk.editor.liveblog(&desk.folder, "night"));
    let files = [("content", "post.xml", "text/xml", &b"<post/>"[..])];
    let add = |options: Value| editor.call("liveblog-post-create", &[&blog]).form(&options, &files).send();
    let post = id(&add(json!({ "timestamp": 1000 })).ok());
    set(editor, &blog, "LiveBlog/Closed").ok();
    let before = posts(editor, &blog);
    is_closed(&add(json!({})));
    is_closed(&add(json!({ "timestamp": 1000, "createMode": "REPLACE" })));
    is_closed(&editor.call("liveblog-post-put", &[&blog, &post]).form(&json!({ "title": "x" }), &[]).send());
    for state in ["pending", "reject", "delete"] {
        is_closed(&editor.call(&format!("liveblog-post-{state}-post"), &[&blog, &post]).send());
    }
    is_closed(&editor.call("liveblog-post-delete", &[&blog, &post]).send());
    assert_eq!(posts(editor, &blog), before);
    // A call without a change succeeds, and the liveblog itself can be changed.
    editor.call("liveblog-post-approve-post", &[&blog, &post]).ok();
    editor.call("liveblog-put", &[&blog]).bytes("text/xml", "<liveblog/>").ok();
    editor.call("stet-object-rename-post", &[&blog]).json(&json!({ "name": "morning" })).ok();
    set(editor, &blog, "LiveBlog/Open").ok();
    add(json!({ "timestamp": 2000 })).ok();
    editor.call("liveblog-post-delete", &[&blog, &post]).ok();
}

#[test]
fn a_closed_topic_keeps_its_items_and_lets_their_statuses_change() {
    let desk = Desk::new();
    let editor = &desk.editor;
    let (topic, open, story) =
        (desk.container("topic-post", "a"), desk.container("topic-post", "b"), desk.story("s.xml"));
    let (item, other) = (desk.item(&topic, "flood"), desk.item(&open, "storm"));
    let divider = id(&editor.call("topic-divider-post", &[&topic]).json(&json!({ "title": "Day" })).ok());
    let sub = id(&editor.call("topicsubitem-post", &[&topic, &item]).json(&json!({ "name": "picture" })).ok());
    set(editor, &topic, "Topic/Done").ok();
    let structure = || editor.call("topic-structure-get", &[&topic]).ok();
    let before = structure();
    let call = |id: &str, path: &[&dyn std::fmt::Display], body: Value| editor.call(id, path).json(&body).send();
    is_closed(&call("topicitem-post", &[&topic], json!({ "name": "x" })));
    is_closed(&call("topicitem-put", &[&topic, &item], json!({ "comment": "x" })));
    is_closed(&call("topicitem-put", &[&topic, &item], json!({ "status": "Topic/Done", "comment": "x" })));
    is_closed(&call("topicitem-put", &[&topic, &item], json!({ "status": "Topic/Done", "attributes": "<a/>" })));
    is_closed(&call("topicitem-put", &[&topic, &item], json!({ "position": -1 })));
    is_closed(&editor.call("topicitem-delete", &[&topic, &item]).send());
    is_closed(&call("topicitem-attach-put", &[&topic, &item, &story], json!({})));
    is_closed(&call("topicsubitem-post", &[&topic, &item], json!({ "name": "x" })));
    is_closed(&editor.call("topicsubitem-delete", &[&topic, &item, &sub]).send());
    is_closed(&call("topic-divider-post", &[&topic], json!({ "title": "x" })));
    is_closed(&call("topic-divider-put", &[&topic, &divider], json!({ "title": "x" })));
    is_closed(&editor.call("topic-divider-delete", &[&topic, &divider]).send());
    let move_into =
        |item: &str, target: &str| call("topic-move-put", &[], json!({ "sources": [item], "target": target }));
    is_closed(&move_into(&item, &open));
    is_closed(&move_into(&other, &topic));
    let again = json!({ "name": "a", "folderPath": desk.folder, "createMode": "REPLACE" });
    is_closed(&call("topic-post", &[], again));
    assert_eq!(structure(), before);
    editor.call("topic-put", &[&topic]).json(&json!({ "title": "Over" })).ok();
    set(editor, &item, "Topic/Accepted").ok();
    call("topicitem-put", &[&topic, &item], json!({ "status": "Topic/Done" })).ok();
    assert_eq!(steps(&item), ["Topic/Proposed>Topic/Accepted", "Topic/Accepted>Topic/Done"]);
    set(editor, &topic, "Topic/Accepted").ok();
    move_into(&item, &open).ok();
}

#[test]
fn a_closed_plan_keeps_its_topics_and_dividers() {
    let desk = Desk::new();
    let editor = &desk.editor;
    let (plan, open) = (desk.container("topicplan-post", "a"), desk.container("topicplan-post", "b"));
    let (topic, other) = (desk.container("topic-post", "t"), desk.container("topic-post", "o"));
    let add = |plan: &str, topic: &str| editor.call("topicplan-add-put", &[&plan, &topic]).json(&json!({})).send();
    add(&plan, &topic).ok();
    add(&open, &other).ok();
    let divider = id(&editor.call("topicplan-divider-post", &[&plan]).json(&json!({ "title": "Day" })).ok());
    set(editor, &plan, "Topic/Done").ok();
    let call = |id: &str, path: &[&dyn std::fmt::Display], body: Value| editor.call(id, path).json(&body).send();
    is_closed(&add(&plan, &other));
    is_closed(&editor.call("topicplan-topic-delete", &[&plan, &topic]).send());
    is_closed(&call("topicplan-divider-post", &[&plan], json!({ "title": "x" })));
    is_closed(&call("topicplan-divider-put", &[&plan, &divider], json!({ "title": "x" })));
    is_closed(&editor.call("topicplan-divider-delete", &[&plan, &divider]).send());
    for (source, target) in [(&topic, &open), (&other, &plan)] {
        is_closed(&call("topic-move-put", &[], json!({ "sources": [source], "target": target })));
    }
    set(editor, &plan, "Topic/Accepted").ok();
    add(&plan, &other).ok();
}

#[test]
fn a_closed_drawer_keeps_its_items_and_yields_to_the_end_of_their_objects() {
    let server = Server::start();
    let (admin, desk) = (server.user("admin"), Desk::at(&server));
    let file = "/SysConfig/Workflows/workflows.xml";
    let text = String::from_utf8(admin.call("stet-object-content-get", &[&file]).query("raw", true).send().body);
    let done = "<status name=\"Default/Done\" ";
    let text = text.expect("it is text").replace(done, &format!("{done}closed=\"true\" "));
    save(&admin, file, 1, text);
    assert_eq!(admin.get("/v3/conf/cache/workflows/refresh/1").ok()["errors"], json!([]));
    let editor = &desk.editor;
    let (drawer, open) = (desk.container("drawer-post", "a"), desk.container("drawer-post", "b"));
    let stories: Vec<String> = (0..3).map(|number| desk.story(&format!("{number}.xml"))).collect();
    let add = |drawer: &str, story: &str| editor.call("drawer-item-post", &[&drawer, &story]).send();
    add(&drawer, &stories[0]).ok();
    add(&drawer, &stories[1]).ok();
    add(&open, &stories[2]).ok();
    set(editor, &drawer, "Default/Done").ok();
    is_closed(&add(&drawer, &stories[2]));
    is_closed(&editor.call("drawer-item-position-put", &[&drawer, &stories[0], &-1]).send());
    is_closed(&editor.call("drawer-item-delete", &[&drawer, &stories[0]]).send());
    is_closed(&editor.call("drawer-item-clear-put", &[&drawer]).send());
    is_closed(&editor.call("drawer-item-move-put", &[&drawer, &stories[0], &open]).send());
    is_closed(&editor.call("drawer-item-move-put", &[&open, &stories[2], &drawer]).send());
    add(&drawer, &stories[0]).ok();
    editor.call("drawer-put", &[&drawer]).json(&json!({ "title": "Over" })).ok();
    assert_eq!(editor.items(&drawer), stories[..2]);
    // An object that is discarded or destroyed leaves also closed drawers.
    editor.call("object-discard", &[&stories[0]]).ok();
    assert_eq!(editor.items(&drawer), stories[1..2]);
    editor.call("stet-object-restore-post", &[&stories[0]]).json(&json!({})).ok();
    assert_eq!(editor.items(&drawer), stories[..2]);
    editor.call("object-destroy", &[&stories[1]]).ok();
    assert_eq!(editor.items(&drawer), stories[..1]);
    editor.call("object-discard", &[&drawer]).ok();
    editor.call("stet-object-restore-post", &[&drawer]).json(&json!({})).ok();
    set(editor, &drawer, "Default/New").ok();
    editor.call("drawer-item-clear-put", &[&drawer]).ok();
}
