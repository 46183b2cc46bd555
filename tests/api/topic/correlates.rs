//! Links between objects, and items of topics (docs/api/objects.md, "Correlates").

use super::*;
use crate::api::liveblog::reporter_below;

fn link(names: [&str; 2], target: &str) -> Value {
    json!({ "sourceLinkName": names[0], "targetLinkName": names[1], "targetSource": target })
}

impl Desk {
    fn correlate(&self, source: &str, names: [&str; 2], target: &str) -> Call<'_> {
        self.call("stet-object-correlate-post", &[&source]).json(&link(names, target))
    }

    fn uncorrelate(&self, source: &str, names: [&str; 2], target: &str) -> Call<'_> {
        self.call("stet-object-uncorrelate-post", &[&source]).json(&link(names, target))
    }

    fn links(&self, of: &str) -> Vec<String> {
        links_in(&self.call("stet-object-correlates-get", &[&of]).ok()["items"])
    }
}

/// Returns the names of links, and of the objects on the other side.
fn links_in(list: &Value) -> Vec<String> {
    let list = list.as_array().expect("there is a list").iter();
    let other = |object: &Value| if object["hidden"] == true { "?".into() } else { object["name"].clone() };
    list.map(|link| format!("{} {}", text_of(&link["linkName"]), text_of(&other(&link["object"])))).collect()
}

fn text_of(value: &Value) -> String {
    value.as_str().expect("it is a text").to_owned()
}

#[test]
fn a_link_is_seen_from_both_sides_each_under_its_own_name() {
    let desk = Desk::new();
    let (topic, story) = (desk.topic("topic"), desk.story("a.xml"));
    let item = desk.item(&topic, json!({ "name": "i", "comment": "c" }));
    let sub = desk.subitem(&topic, &item, json!({ "name": "s" }));
    let made = desk.correlate(&story, ["planned in", "text"], &item).ok();
    assert_eq!((&made["info"]["id"], links_in(&made["items"])), (&json!(story), vec!["planned in i".to_owned()]));
    includes(&made["items"][0]["object"], &json!({ "id": item, "comment": "c", "pstate": {} }));
    assert_eq!(desk.links(&item), ["text a.xml"]);
    desk.correlate(&sub, ["before", "after"], &item).ok();
    desk.correlate(&topic, ["about", "topic"], &story).ok();
    assert_eq!(desk.links(&item), ["after s", "text a.xml"]);
    assert_eq!(desk.links(&story), ["planned in i", "topic topic"]);
    let uuid = text_of(&desk.call("stet-object-correlates-get", &[&item]).ok()["info"]["pstate"]["uuid"]);
    assert_eq!(desk.links(&uuid), ["after s", "text a.xml"], "an item is named by its uuid, too");
}

#[test]
fn the_same_link_again_from_either_side_changes_nothing() {
    let desk = Desk::new();
    let [a, b] = ["a.xml", "b.xml"].map(|name| desk.story(name));
    let tag = |answer: Answer| answer.header("etag").expect("it has a tag").to_owned();
    let first = tag(desk.correlate(&a, ["x", "y"], &b).send());
    assert_eq!(tag(desk.correlate(&a, ["x", "y"], &b).send()), first);
    desk.correlate(&b, ["y", "x"], &a).ok();
    assert_eq!((desk.links(&a), desk.links(&b)), (vec!["x b.xml".to_owned()], vec!["y a.xml".to_owned()]));
    assert_eq!(tag(desk.correlate(&a, ["x", "y"], &b).send()), first);
    // Other names make another link.
    desk.correlate(&b, ["x", "y"], &a).ok();
    assert_eq!(desk.links(&a), ["x b.xml", "y b.xml"]);
    let read = desk.call("stet-object-correlates-get", &[&a]);
    let known = tag(read.send());
    assert_eq!(read.header("if-none-match", &known).send().status, 304);
    // A version is a source for reads, but links belong to the object.
    let version = a.replacen(".0.", ".1.", 1);
    assert_eq!(desk.links(&version), ["x b.xml", "y b.xml"]);
    desk.correlate(&version, ["x", "z"], &b).fails(400, "InvalidType");
}

#[test]
fn a_link_is_taken_back_from_either_side() {
    let desk = Desk::new();
    let [a, b] = ["a.xml", "b.xml"].map(|name| desk.story(name));
    desk.correlate(&a, ["x", "y"], &b).ok();
    desk.correlate(&a, ["v", "w"], &b).ok();
    desk.uncorrelate(&a, ["x", "x"], &b).fails(404, "ObjectNotFound");
    desk.uncorrelate(&b, ["y", "x"], &a).ok();
    assert_eq!(desk.links(&a), ["v b.xml"]);
    desk.uncorrelate(&b, ["y", "x"], &a).fails(404, "ObjectNotFound");
    desk.uncorrelate(&a, ["v", "w"], &b).ok();
    assert_eq!((desk.links(&a), desk.links(&b)), (vec![], vec![]));
}

#[test]
fn invalid_links_are_refused_and_change_nothing() {
    let desk = Desk::new();
    let story = desk.story("a.xml");
    let topic = desk.topic("topic");
    desk.correlate(&story, ["x", "y"], &story).fails(409, "InvalidForContainer");
    desk.correlate(&story, ["x", "y"], "1$1.0.999999999").fails(404, "ObjectNotFound");
    desk.correlate("1$1.0.999999999", ["x", "y"], &story).fails(404, "ObjectNotFound");
    desk.correlate(&story, ["x", "y"], "desk").fails(400, "InvalidParameter");
    for bad in ["", " ", "a\u{0}b", "a\nb", &"é".repeat(128)] {
        desk.correlate(&story, [bad, "y"], &topic).fails(400, "InvalidParameter");
        desk.correlate(&story, ["x", bad], &topic).fails(400, "InvalidParameter");
    }
    let body = json!({ "sourceLinkName": "x", "targetSource": topic });
    desk.call("stet-object-correlate-post", &[&story]).json(&body).fails(400, "InvalidBody");
    // A post is no item of a topic.
    let liveblog = desk.editor.liveblog(&desk.folder, "blog");
    let content = [("content", "", "text/xml", &b"<p/>"[..])];
    let post = id(&desk.call("liveblog-post-create", &[&liveblog]).form(&json!({ "title": "p" }), &content).ok());
    desk.correlate(&post, ["x", "y"], &topic).fails(404, "ObjectNotFound");
    desk.correlate(&topic, ["x", "y"], &post).fails(404, "ObjectNotFound");
    desk.discard(&story);
    desk.correlate(&topic, ["x", "y"], &story).fails(404, "ObjectNotFound");
    assert_eq!(desk.links(&topic), Vec::<String>::new());
}

#[test]
fn an_object_has_a_hundred_links_at_most() {
    let desk = Desk::new();
    let [a, b, c] = ["a.xml", "b.xml", "c.xml"].map(|name| desk.story(name));
    for number in 0..100 {
        desk.correlate(&a, [&format!("{number:03}"), "y"], &b).ok();
    }
    for (source, target) in [(&a, &c), (&c, &a), (&c, &b), (&b, &a)] {
        let refused = desk.correlate(source, ["new", "new"], target).fails(413, "TooLarge");
        assert_eq!(refused["details"]["limit"], 100);
    }
    assert_eq!((desk.links(&a).len(), desk.links(&c).len()), (100, 0));
    desk.correlate(&a, ["000", "y"], &b).ok();
    desk.uncorrelate(&a, ["000", "y"], &b).ok();
    desk.correlate(&c, ["new", "new"], &a).ok();
}

#[test]
fn topics_and_plans_show_links_when_asked() {
    let desk = Desk::new();
    let (plan, topic, story) = (desk.plan("plan"), desk.topic("topic"), desk.story("a.xml"));
    desk.call("topicplan-add-put", &[&plan, &topic]).ok();
    let item = desk.item(&topic, json!({ "name": "i" }));
    let sub = desk.subitem(&topic, &item, json!({ "name": "s" }));
    for (of, name) in [(&plan, "1"), (&topic, "2"), (&item, "3"), (&sub, "4")] {
        desk.correlate(of, [name, "in"], &story).ok();
    }
    let read = desk.read(&topic).query("limitToChildren", false).ok();
    assert_eq!((read.get("correlates"), read["items"][0].get("correlates")), (None, None));
    let asked = desk.read(&topic).query("limitToChildren", false).query("showCorrelates", true);
    let read = asked.ok();
    let item_read = &read["items"][0];
    let shown = [&read, item_read, &item_read["items"][0]].map(|of| links_in(&of["correlates"]));
    assert_eq!(shown, [["2 a.xml"], ["3 a.xml"], ["4 a.xml"]]);
    let planned = desk.read_plan(&plan).query("limitToChildren", false).query("showCorrelates", true).ok();
    let of_topic = &planned["items"][0];
    let shown = [&planned, of_topic, &of_topic["items"][0], &of_topic["items"][0]["items"][0]];
    assert_eq!(shown.map(|of| links_in(&of["correlates"])), [["1 a.xml"], ["2 a.xml"], ["3 a.xml"], ["4 a.xml"]]);
    // A tag covers the shown state.
    let tags = || {
        let plan = desk.read_plan(&plan).query("showCorrelates", true);
        [asked.clone(), plan].map(|call| call.send().header("etag").expect("it has a tag").to_owned())
    };
    let before = tags();
    desk.call("stet-object-lock-post", &[&story]).ok();
    let after = tags();
    assert!(before.iter().zip(&after).all(|(before, after)| before != after), "{before:?} {after:?}");
}

#[test]
fn a_link_goes_with_either_side_and_hides_what_is_discarded() {
    let desk = Desk::new();
    let (topic, other) = (desk.topic("topic"), desk.topic("other"));
    let [a, b] = ["a.xml", "b.xml"].map(|name| desk.story(name));
    let item = desk.item(&topic, json!({ "name": "i" }));
    let sub = desk.subitem(&topic, &item, json!({ "name": "s" }));
    desk.correlate(&a, ["1", "r"], &item).ok();
    desk.correlate(&a, ["2", "r"], &sub).ok();
    desk.correlate(&a, ["3", "r"], &b).ok();
    desk.correlate(&topic, ["r", "4"], &a).ok();
    assert_eq!(desk.links(&a), ["1 i", "2 s", "3 b.xml", "4 topic"]);

    desk.discard(&b);
    assert_eq!(desk.links(&a), ["1 i", "2 s", "3 ?", "4 topic"]);
    desk.restore(&b);
    assert_eq!(desk.links(&a), ["1 i", "2 s", "3 b.xml", "4 topic"]);
    desk.destroy(&b);
    assert_eq!(desk.links(&a), ["1 i", "2 s", "4 topic"]);

    // Links move with the item.
    desk.move_into(&[&sub], &other, None).ok();
    assert_eq!(desk.links(&a), ["1 i", "2 s", "4 topic"]);
    desk.call("topicitem-delete", &[&topic, &item]).ok();
    assert_eq!(desk.links(&a), ["2 s", "4 topic"]);
    desk.destroy(&topic);
    desk.discard(&other);
    assert_eq!(desk.links(&a), ["2 ?"]);
    desk.destroy(&other);
    assert_eq!(desk.links(&a), Vec::<String>::new());
}

#[test]
fn linking_needs_write_on_both_sides_and_unreadable_sides_show_a_place() {
    let mut server = Server::start();
    let admin = server.user("admin");
    let reporter = reporter_below(&server, "/Open", &["read", "write", "create"]);
    let made = |folder: &str, name: &str| {
        let body = json!({ "name": name, "folder": folder });
        id(&admin.call("topic-post", &[]).json(&body).ok())
    };
    let (open, closed) = (made("/Open", "open"), made("/Closed", "closed"));
    let item = |topic: &str| id(&admin.call("topicitem-post", &[&topic]).json(&json!({ "name": "i" })).ok());
    let (seen, unseen) = (item(&open), item(&closed));
    let story = admin.story("/Open", "a.xml");
    let correlate = |client: &Client, source: &str, target: &str| {
        client.call("stet-object-correlate-post", &[&source]).json(&link(["x", "y"], target)).send()
    };
    for (source, target) in [(&story, &unseen), (&story, &closed), (&unseen, &story), (&closed, &story)] {
        let answer = correlate(&reporter, source, target);
        assert_eq!(
            (answer.status, &answer.json()["result"]["code"]),
            (404, &json!("CMS.ObjectNotFound")),
            "{answer:?}"
        );
        assert_eq!(correlate(&admin, source, target).status, 200);
    }
    assert_eq!(correlate(&reporter, &story, &seen).status, 200);
    let read = reporter.call("stet-object-correlates-get", &[&story]).ok();
    let mut links = links_in(&read["items"]);
    links.sort();
    assert_eq!(links, ["x ?", "x ?", "x i", "y ?", "y ?"]);
    reporter.call("stet-object-correlates-get", &[&unseen]).fails(404, "ObjectNotFound");
    // Who may only read one of them links nothing with it.
    let reader = server.user("reader");
    let answer = correlate(&reader, &story, &seen);
    assert_eq!(answer.status, 403, "{answer:?}");
    server.kill();
    let (code, told) = server.check();
    assert_eq!(code, Some(0), "{told}");
}
