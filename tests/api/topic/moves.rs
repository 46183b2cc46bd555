//! Moving items between topics.

use super::*;

#[test]
fn an_item_takes_along_what_stands_below_it_and_a_subitem_becomes_an_item() {
    let desk = Desk::new();
    let (from, to) = (desk.topic("from"), desk.topic("to"));
    let (a, b) = (desk.item(&from, json!({ "name": "a" })), desk.item(&from, json!({ "name": "b" })));
    let x = desk.subitem(&from, &b, json!({ "name": "x" }));
    desk.call("topicitem-divider-post", &[&from, &b]).json(&json!({ "title": "d" })).ok();
    for name in ["1", "2"] {
        desk.item(&to, json!({ "name": name }));
    }
    let reply = desk.move_into(&[&b], &to, Some(1)).ok();
    includes(&reply, &json!({ "info": { "id": to }, "items": [{ "id": b, "position": 1 }] }));
    assert_eq!((desk.tree(&from), desk.tree(&to)), (vec!["a".to_owned()], texts(&["1", "b", "  x", "  [d]", "2"])));
    let record = desk.read(&to).query("showPath", true).ok()["items"][1]["info"].clone();
    assert_eq!(record["path"], format!("{}/to/b", desk.folder));

    desk.move_into(&[&x, &a, &b], &to, None).gives(
        &json!({ "items": [{ "id": x, "position": 2 }, { "id": a, "position": 3 }, { "id": b, "position": 4 }] }),
    );
    assert_eq!(desk.tree(&to), ["1", "2", "x", "a", "b", "  [d]"]);
    desk.move_into(&[&b], &to, Some(0)).ok();
    assert_eq!(desk.tree(&to), ["b", "  [d]", "1", "2", "x", "a"]);
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn a_move_is_all_or_nothing() {
    let desk = Desk::new();
    let (from, to) = (desk.topic("from"), desk.topic("to"));
    let a = desk.item(&from, json!({ "name": "a" }));
    let story = desk.story("a.xml");
    for wrong in ["1$1.0.999999999", "/no/object"] {
        desk.move_into(&[&a, wrong], &to, None).fails(404, "ObjectNotFound");
    }
    desk.move_into(&[&a, "no source"], &to, None).fails(400, "InvalidParameter");
    // Existing objects are not reported as missing.
    for wrong in [&*story, &to, &format!("{}/a.xml", desk.folder)] {
        says(&desk.move_into(&[&a, wrong], &to, None).fails(409, "InvalidForContainer"), wrong);
    }
    desk.move_into(&[&a], &to, Some(-2)).fails(400, "InvalidParameter");
    desk.move_into(&[&a], &story, None).fails(400, "InvalidType");
    desk.move_into(&[&a], "1$1.0.999999999", None).fails(404, "ObjectNotFound");
    let stale = desk.read(&to).send().header("etag").expect("it has a tag").to_owned();
    desk.item(&to, json!({ "name": "1" }));
    desk.move_into(&[&a], &to, None).header("if-match", &stale).fails(412, "PreconditionFailed");
    assert_eq!((desk.tree(&from), desk.tree(&to)), (texts(&["a"]), texts(&["1"])));
    desk.call("topic-move-put", &[]).json(&json!({ "sources": [a] })).fails(400, "InvalidBody");
}

#[test]
fn opposite_moves_at_once_lose_nothing() {
    let desk = Desk::new();
    let topics = [desk.topic("left"), desk.topic("right")];
    let items: Vec<String> =
        (0..4).map(|number| desk.item(&topics[0], json!({ "name": number.to_string() }))).collect();
    for (number, item) in items.iter().enumerate() {
        desk.subitem(&topics[0], item, json!({ "name": format!("s{number}") }));
    }
    std::thread::scope(|scope| {
        for client in 0..4 {
            let (desk, topics, items) = (&desk, &topics, &items);
            scope.spawn(move || {
                for round in 0..15 {
                    let (item, target) = (&items[(round + client) % items.len()], &topics[(round + client / 2) % 2]);
                    // It may have been moved on while the call was on its way, and is moved from
                    // there.
                    desk.move_into(&[item], target, Some(0)).ok();
                }
            });
        }
    });
    let mut all = [desk.tree(&topics[0]), desk.tree(&topics[1])].concat();
    all.sort();
    assert_eq!(all, ["  s0", "  s1", "  s2", "  s3", "0", "1", "2", "3"]);
}

/// Covers clients that keep several topics, and learn from the reply which of them to read again.
#[test]
fn replies_to_moves_list_the_revision_of_each_changed_topic_and_plan() {
    let desk = Desk::new();
    let topics = ["a", "b", "c", "other"].map(|name| desk.topic(name));
    let [a, b, c, _] = &topics;
    let items = [a, b, c].map(|topic| desk.item(topic, json!({ "name": "i" })));
    let told = |moved: &Value| {
        let revisions = moved["revisions"].as_array().expect("there is a list").iter();
        let mut told: Vec<(String, u64)> = revisions
            .map(|one| (one["id"].as_str().expect("an id").to_owned(), one["revision"].as_u64().expect("a number")))
            .collect();
        told.sort();
        told
    };
    let revision = |answer: Answer| {
        let tag = answer.header("etag").expect("it has a tag").to_owned();
        tag.trim_matches('"').split('-').next().and_then(|text| text.parse::<u64>().ok()).expect("it has a revision")
    };
    let now = |call: &str, all: &[&String]| {
        let mut now: Vec<_> =
            all.iter().map(|one| ((*one).clone(), revision(desk.call(call, &[one]).send()))).collect();
        now.sort();
        now
    };
    let moved = desk.move_into(&[&items[0], &items[1], &items[2]], c, None).ok();
    assert_eq!(told(&moved), now("topic-get", &[a, b, c]));
    let moved = desk.move_into(&[&items[0]], c, Some(2)).ok();
    assert_eq!(told(&moved), now("topic-get", &[c]));

    let [monday, tuesday] = ["monday", "tuesday"].map(|name| desk.plan(name));
    desk.call("topicplan-add-put", &[&monday, a]).ok();
    let moved = desk.move_into(&[a, b], &tuesday, None).ok();
    assert_eq!(told(&moved), now("topicplan-get", &[&monday, &tuesday]));
}
