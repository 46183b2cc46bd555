//! Changes of several items of a topic (docs/api/topics.md, "Changing several items").

use super::*;

fn remove<'c>(desk: &'c Desk, topic: &'c str, sources: &Value) -> Call<'c> {
    desk.call("stet-topicitems-delete", &[&topic]).json(sources)
}

/// Returns the source and code of each error.
fn codes(reply: &Value) -> Vec<(&str, &str)> {
    let errors = reply["errors"].as_array().expect("there is a list of errors").iter();
    errors.map(|error| (error["source"].as_str().expect("a text"), error["code"].as_str().expect("a text"))).collect()
}

#[test]
fn items_and_subitems_are_removed_in_order_and_failures_stop_no_other() {
    let desk = Desk::new();
    let (topic, other) = (desk.topic("t"), desk.topic("u"));
    let [a, b, c] = ["a", "b", "c"].map(|name| desk.item(&topic, json!({ "name": name })));
    let [below_a, below_b] = [&a, &b].map(|item| desk.subitem(&topic, item, json!({ "name": "below" })));
    let foreign = desk.item(&other, json!({ "name": "foreign" }));
    let before = desk.read(&topic).ok()["info"]["revision"].as_u64().expect("it has a revision");
    let sources = json!([below_b, a, below_a, foreign, "desk", "/a/path", c, c]);
    let reply = remove(&desk, &topic, &sources).ok();
    let item = |loid: &str| json!({ "source": loid, "id": loid });
    assert_eq!(reply["items"], json!([item(&below_b), item(&a), item(&c)]));
    let expected = [
        (&*below_a, "CMS.ObjectNotFound"),
        (&*foreign, "CMS.ObjectNotFound"),
        ("desk", "CMS.InvalidParameter"),
        ("/a/path", "CMS.ObjectNotFound"),
    ];
    assert_eq!(codes(&reply), expected);
    assert_eq!((desk.tree(&topic), desk.tree(&other)), (vec!["b".to_owned()], vec!["foreign".to_owned()]));
    let after = desk.read(&topic).ok()["info"]["revision"].as_u64().expect("it has a revision");
    assert_eq!(after, before + 3, "each is a change of its own");
    let again = remove(&desk, &topic, &json!([a])).ok();
    assert_eq!((&again["items"], codes(&again)), (&json!([]), vec![(&*a, "CMS.ObjectNotFound")]));
}

#[test]
fn the_status_of_several_items_is_changed_by_the_call_for_objects() {
    let desk = Desk::new();
    let topic = desk.topic("t");
    let [a, b] = ["a", "b"].map(|name| desk.item(&topic, json!({ "name": name })));
    let body = json!({ "sources": [a, b, topic], "status": "Topic/Accepted" });
    let reply = desk.call("stet-objects-status-post", &[]).json(&body).ok();
    assert_eq!(reply["items"].as_array().map(Vec::len), Some(3), "{reply}");
    let read = desk.read(&topic).ok();
    for item in read["items"].as_array().expect("there is a list") {
        assert_eq!(item["info"]["statusInfo"]["name"], "Topic/Accepted");
    }
}

#[test]
fn a_removal_of_items_keeps_to_rights_conditions_and_closed_topics() {
    let desk = Desk::new();
    let topic = desk.topic("t");
    let a = desk.item(&topic, json!({ "name": "a" }));
    let stale = desk.read(&topic).send().header("etag").expect("it has an ETag").to_owned();
    let b = desk.item(&topic, json!({ "name": "b" }));
    let fresh = desk.read(&topic).send().header("etag").expect("it has an ETag").to_owned();
    let both = json!([a, b]);
    remove(&desk, &topic, &both).by(&Server::shared().user("reader")).fails(403, "PermissionDenied");
    remove(&desk, &topic, &both).header("if-match", &stale).fails(412, "PreconditionFailed");
    desk.call("stet-object-status-post", &[&topic]).json(&json!({ "status": "Topic/Accepted" })).ok();
    remove(&desk, &topic, &both).header("if-match", &fresh).fails(412, "PreconditionFailed");
    desk.call("stet-object-status-post", &[&topic]).json(&json!({ "status": "Topic/Done" })).ok();
    let reply = remove(&desk, &topic, &both).ok();
    assert_eq!(codes(&reply), [(&*a, "CMS.InvalidForContainer"), (&*b, "CMS.InvalidForContainer")]);
    desk.call("stet-object-status-post", &[&topic]).json(&json!({ "status": "Topic/Accepted" })).ok();
    let fresh = desk.read(&topic).send().header("etag").expect("it has an ETag").to_owned();
    let reply = remove(&desk, &topic, &both).header("if-match", &fresh).ok();
    assert_eq!(reply["items"].as_array().map(Vec::len), Some(2), "{reply}");
    assert_eq!(desk.tree(&topic), Vec::<String>::new());
}
