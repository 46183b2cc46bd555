//! `POST /v3/object/{source}/status` and its bulk form, on every family.

use super::*;

#[test]
fn a_status_changes_on_every_family_that_has_a_workflow() {
    let desk = Desk::new();
    let editor = &desk.editor;
    let liveblog = editor.liveblog(&desk.folder, "night");
    for (object, first, next) in [
        (desk.story("a.xml"), "Story/Draft", "Story/Edited"),
        (desk.object("b.jpg", "Image"), "Image/Raw", "Image/Ready"),
        (desk.object("c.xml", "CompoundStory"), "Story/Draft", "Story/Spiked"),
        (desk.object("d.xml", "WebContainer"), "Default/New", "Default/Done"),
        (liveblog, "LiveBlog/Open", "LiveBlog/Closed"),
        (desk.container("topic-post", "topic"), "Topic/Proposed", "Topic/Accepted"),
        (desk.container("topicplan-post", "plan"), "Topic/Proposed", "Topic/Done"),
        (desk.container("drawer-post", "drawer"), "Default/New", "Default/Done"),
    ] {
        let before = record(editor, &object);
        assert_eq!(before["statusInfo"]["name"], first, "{before}");
        let changed = set(editor, &object, next).ok();
        includes(&changed, &json!({ "id": object, "statusInfo": { "name": next }, "lastModifier": "editor" }));
        assert_eq!(changed["revision"].as_u64(), before["revision"].as_u64().map(|known| known + 1), "{changed}");
        assert_eq!(changed["path"], record_with_path(editor, &object), "{changed}");
        let after = record(editor, &object);
        assert_eq!((&after["statusInfo"]["name"], &after["version"]), (&json!(next), &before["version"]));
        assert_eq!(after["attributes"], before["attributes"]);
        assert_eq!(steps(&object), [format!("{first}>{next}")]);
    }
}

fn record_with_path(client: &Client, object: &str) -> Value {
    client.call("object-get", &[&object]).query("showPath", true).ok()["path"].clone()
}

#[test]
fn items_and_subitems_of_topics_change_their_status_by_loid_and_uuid() {
    let desk = Desk::new();
    let (editor, topic) = (&desk.editor, desk.container("topic-post", "topic"));
    let item = desk.item(&topic, "flood");
    let sub = editor.call("topicsubitem-post", &[&topic, &item]).json(&json!({ "name": "picture" })).ok();
    let (sub, uuid) = (id(&sub), sub["info"]["pstate"]["uuid"].as_str().expect("an item has a uuid").to_owned());
    let changed = set(editor, &item, "Topic/Accepted").ok();
    includes(&changed, &json!({ "id": item, "statusInfo": { "name": "Topic/Accepted" } }));
    includes(&set(editor, &uuid, "Topic/Done").ok(), &json!({ "id": sub, "statusInfo": { "name": "Topic/Done" } }));
    set(editor, &sub, "Topic/Proposed").fails(400, "InvalidStatus");
    assert_eq!(status_of(editor, &topic), "Topic/Proposed", "the topic's own status stays");
    assert_eq!(steps(&item), ["Topic/Proposed>Topic/Accepted"]);
    assert_eq!(steps(&sub), ["Topic/Proposed>Topic/Done"]);
    let short = set(editor, &item, "Topic/Done").header("prefer", "return=minimal").send();
    assert_eq!(short.ok()["id"], json!(item));
}

#[test]
fn the_present_status_again_is_no_change() {
    let desk = Desk::new();
    let (story, topic) = (desk.story("a.xml"), desk.container("topic-post", "topic"));
    let item = desk.item(&topic, "flood");
    for (container, object, status) in [(&story, &story, "Story/Draft"), (&topic, &item, "Topic/Proposed")] {
        let before = record(&desk.editor, container);
        set(&desk.editor, object, status).ok();
        assert_eq!(record(&desk.editor, container), before);
        assert_eq!(steps(object), Vec::<String>::new());
    }
}

#[test]
fn a_bulk_change_reports_each_source_by_itself() {
    let desk = Desk::new();
    let (a, b, topic) = (desk.story("a.xml"), desk.story("b.xml"), desk.container("topic-post", "topic"));
    let item = desk.item(&topic, "flood");
    set(&desk.editor, &b, "Story/Spiked").ok();
    let path = format!("{}/a.xml", desk.folder);
    let body = json!({ "sources": [path, b, item, "/nowhere"], "status": "Story/Ready" });
    let reply = desk.editor.call("stet-objects-status-post", &[]).json(&body).ok();
    assert_eq!(reply["items"], json!([{ "source": path, "id": a }]));
    let errors: Vec<(&str, &str)> = reply["errors"]
        .as_array()
        .expect("there are errors")
        .iter()
        .map(|error| (error["source"].as_str().unwrap(), error["code"].as_str().unwrap()))
        .collect();
    assert_eq!(errors, [(&*b, "CMS.InvalidStatus"), (&*item, "CMS.InvalidStatus"), ("/nowhere", "CMS.ObjectNotFound")]);
    assert_eq!(reply["errors"][0]["details"]["allowed"], json!(["Story/Draft"]));
    assert_eq!(
        (status_of(&desk.editor, &a), status_of(&desk.editor, &b)),
        (json!("Story/Ready"), json!("Story/Spiked"))
    );
    // An item is a source as any other, and its own id is in the reply.
    let body = json!({ "sources": [item], "status": "Topic/Accepted" });
    let reply = desk.editor.call("stet-objects-status-post", &[]).json(&body).ok();
    assert_eq!(reply["items"], json!([{ "source": item, "id": item }]));
}

#[test]
fn a_lock_of_somebody_else_refuses_a_change_of_status() {
    let desk = Desk::new();
    let story = desk.story("a.xml");
    Server::shared().user("reporter").call("stet-object-lock-post", &[&story]).ok();
    set(&desk.editor, &story, "Story/Edited").fails(403, "ObjectLocked");
    assert_eq!(status_of(&desk.editor, &story), "Story/Draft");
}

#[test]
fn followers_of_a_container_get_both_statuses() {
    let desk = Desk::new();
    let liveblog = desk.editor.liveblog(&desk.folder, "night");
    let mut follow = desk.editor.follow(&liveblog, None);
    assert_eq!(follow.must().event, "hello");
    set(&desk.editor, &liveblog, "LiveBlog/Closed").ok();
    let told = follow.must();
    assert_eq!(told.event, "object.status");
    includes(
        &told.data,
        &json!({ "from": "LiveBlog/Open", "to": "LiveBlog/Closed", "ids": [liveblog], "user": "editor" }),
    );
}

#[test]
fn a_change_of_status_with_more_has_an_event_for_each() {
    let desk = Desk::new();
    let topic = desk.container("topic-post", "topic");
    let before = record(&desk.editor, &topic)["revision"].as_u64().expect("a record has a revision");
    let mut follow = desk.editor.follow(&topic, Some(before));
    let body = json!({ "title": "Flood", "status": "Topic/Accepted" });
    desk.editor.call("topic-put", &[&topic]).json(&body).ok();
    let events: Vec<_> = (0..2).map(|_| follow.must()).map(|told| (told.event, told.id)).collect();
    let expected = [("topic.update", before + 1), ("object.status", before + 2)];
    assert_eq!(events, expected.map(|(event, revision)| (event.to_owned(), revision)));
    assert_eq!(record(&desk.editor, &topic)["revision"], json!(before + 2));
    // An item shows the revision that its topic has then.
    let item = desk.item(&topic, "flood");
    let changed = desk.editor.call("topicitem-put", &[&topic, &item]);
    let changed = changed.json(&json!({ "comment": "now", "status": "Topic/Done" })).ok();
    assert_eq!(changed["info"]["revision"], record(&desk.editor, &topic)["revision"]);
    assert_eq!(steps(&item), ["Topic/Proposed>Topic/Done"]);
}
