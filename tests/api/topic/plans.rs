//! Topics of a plan.

use super::*;

#[test]
fn a_topic_stands_in_a_plan_once_and_stays_when_it_is_taken_out() {
    let desk = Desk::new();
    let plan = desk.plan("plan");
    let [a, b, c] = ["a", "b", "c"].map(|name| desk.topic(name));
    let add = |topic: &str, body: Value| desk.call("topicplan-add-put", &[&plan, &topic]).json(&body);
    for topic in [&a, &b, &c] {
        add(topic, json!({})).ok();
    }
    let divider = desk.call("topicplan-divider-post", &[&plan]).json(&json!({ "title": "d", "position": 1 })).ok();
    includes(&divider["info"], &json!({ "title": "d", "position": 1 }));
    let divider = id(&divider);
    assert_eq!(desk.planned(&plan), ["a", "[d]", "b", "c"]);
    let tag = || desk.read_plan(&plan).send().header("etag").map(str::to_owned);
    let before = tag();
    add(&a, json!({})).ok();
    add(&c, json!({ "position": 3 })).ok();
    assert_eq!(tag(), before, "the same again changes nothing");
    let moved = add(&c, json!({ "position": 0 })).ok();
    includes(&moved, &json!({ "info": { "count": 3 }, "items": [{ "info": { "name": "c" }, "position": 0 }] }));
    assert_eq!(desk.planned(&plan), ["c", "a", "[d]", "b"]);

    desk.discard(&a);
    assert_eq!(desk.planned(&plan), ["c", "[d]", "b"]);
    desk.restore(&a);
    assert_eq!(desk.planned(&plan), ["c", "a", "[d]", "b"]);
    let out = desk.call("topicplan-topic-delete", &[&plan, &b]).ok();
    assert_eq!(out["items"], json!([]));
    desk.read(&b).ok();
    desk.call("topicplan-topic-delete", &[&plan, &b]).fails(404, "ObjectNotFound");
    desk.destroy(&c);
    assert_eq!(desk.planned(&plan), ["a", "[d]"], "a destroyed topic leaves no trace");
    desk.call("topicplan-divider-put", &[&plan, &divider])
        .json(&json!({ "title": "e", "position": 0 }))
        .gives(&json!({ "info": { "id": divider, "title": "e", "position": 0 } }));
    assert_eq!(desk.planned(&plan), ["[e]", "a"]);
    let structure = desk.call("topicplan-structure-get", &[&plan]).ok();
    assert_eq!(structure["items"], json!([{ "id": divider, "kind": "divider" }, { "id": a, "kind": "topic" }]));
    assert_eq!(desk.call("topicplan-divider-delete", &[&plan, &divider]).ok(), json!({ "info": { "id": divider } }));
    desk.call("topicplan-divider-delete", &[&plan, &divider]).fails(404, "ObjectNotFound");
    add(&desk.story("a.xml"), json!({})).fails(409, "InvalidForContainer");
    add(&plan, json!({})).fails(409, "InvalidForContainer");
    add("1$1.0.999999999", json!({})).fails(404, "ObjectNotFound");
}

#[test]
fn topics_move_between_plans_in_one_step() {
    let desk = Desk::new();
    let (monday, tuesday, third) = (desk.plan("monday"), desk.plan("tuesday"), desk.plan("third"));
    let [a, b, c] = ["a", "b", "c"].map(|name| desk.topic(name));
    for (plan, topic) in [(&monday, &a), (&monday, &b), (&tuesday, &c), (&third, &a)] {
        desk.call("topicplan-add-put", &[plan, topic]).ok();
    }
    let reply = desk.move_into(&[&b, &a], &tuesday, Some(0)).ok();
    includes(
        &reply,
        &json!({ "info": { "id": tuesday }, "items": [{ "id": b, "position": 0 }, { "id": a, "position": 1 }] }),
    );
    let all = |plan: &str| desk.planned(plan);
    assert_eq!(
        (all(&monday).len(), all(&third).len(), all(&tuesday)),
        (0, 0, vec!["b".into(), "a".into(), "c".into()])
    );
    desk.move_into(&[&a, &desk.story("a.xml")], &monday, None).fails(409, "InvalidForContainer");
    desk.move_into(&[&c], &tuesday, Some(1)).ok();
    assert_eq!(all(&tuesday), ["b", "c", "a"]);
    // An item is no topic, and a topic no item.
    let item = desk.item(&a, json!({ "name": "i" }));
    desk.move_into(&[&item], &monday, None).fails(409, "InvalidForContainer");
    desk.move_into(&[&c], &a, None).fails(409, "InvalidForContainer");
}

#[test]
fn a_plan_shows_all_depths_but_its_revision_ignores_changes_in_topics() {
    let desk = Desk::new();
    let (plan, topic, empty) = (desk.plan("plan"), desk.topic("topic"), desk.topic("empty"));
    let item = desk.item(&topic, json!({ "name": "a", "attachment": desk.story("a.xml") }));
    desk.subitem(&topic, &item, json!({ "name": "x" }));
    desk.divider(&topic, json!({ "title": "d" }));
    desk.item(&topic, json!({ "name": "b" }));
    for topic in [&topic, &empty, &desk.topic("last")] {
        desk.call("topicplan-add-put", &[&plan, topic]).ok();
    }
    let children = desk.read_plan(&plan).ok();
    assert_eq!((&children["items"][0]["items"], &children["items"][0]["dividers"]), (&json!([]), &json!([])));
    let whole = desk.read_plan(&plan).query("limitToChildren", false).query("showAttachment", true);
    let read = whole.ok();
    assert_eq!(order(&read), ["topic", "empty", "last"]);
    assert_eq!(order(&read["items"][0]), ["a", "[d]", "b"]);
    assert_eq!(order(&read["items"][0]["items"][0]), ["x"].map(str::to_owned));
    assert_eq!(read["items"][0]["items"][0]["attachment"]["name"], "a.xml");
    assert_eq!(read["items"][1]["items"], json!([]));
    let topic_read = desk.read(&topic).query("limitToChildren", false).query("showAttachment", true).ok();
    assert_eq!(read["items"][0]["items"], topic_read["items"], "as the topic itself shows them");

    let tags =
        || [&whole, &desk.read_plan(&plan)].map(|call| call.send().header("etag").expect("it has one").to_owned());
    let revision = || desk.read_plan(&plan).ok()["info"]["lastModified"].clone();
    let ([before, _], at) = (tags(), revision());
    desk.call("topicitem-put", &[&topic, &item]).json(&json!({ "comment": "c" })).ok();
    assert_ne!(tags()[0], before, "the reply shows the item");
    assert_eq!(revision(), at);
    assert_eq!(whole.clone().header("if-none-match", &tags()[0]).send().status, 304);
}

/// Checks that a large plan is sent in pieces, each list at its depth.
#[test]
fn a_plan_that_is_too_large_to_be_made_at_once_is_the_same() {
    let desk = Desk::new();
    let plan = desk.plan("plan");
    let text = "x".repeat(6000);
    for number in 0..3 {
        let topic = desk.topic(&format!("t{number}"));
        for name in ["a", "b", "c", "d"] {
            let item = desk.item(&topic, json!({ "name": name, "comment": text }));
            for below in ["x", "y", "z"] {
                desk.subitem(&topic, &item, json!({ "name": below, "comment": text }));
            }
        }
        desk.call("topicplan-add-put", &[&plan, &topic]).ok();
    }
    let answer = desk.read_plan(&plan).query("limitToChildren", false).send();
    assert_eq!(answer.header("content-length"), None, "it is made while it goes out");
    let read = answer.ok();
    for topic in read["items"].as_array().expect("there is a list") {
        assert_eq!(order(topic), ["a", "b", "c", "d"]);
        for item in topic["items"].as_array().expect("there is a list") {
            assert_eq!(order(item), ["x", "y", "z"]);
        }
    }
    assert_eq!(read["items"].as_array().map(Vec::len), Some(3));
}

/// Regression test: a change of a plan was answered with 500, "nothing was changed", if the reply
/// was large. The attributes of the plan or of the topic can make it so.
#[test]
fn a_change_of_a_plan_with_much_to_show_is_answered_as_any() {
    let desk = Desk::new();
    let much = json!({ "metadata": { "notes": "x".repeat(300 << 10) } });
    let body = json!({ "name": "plan", "folder": desk.folder, "attributes": much });
    let made = desk.call("topicplan-post", &[]).json(&body).ok();
    let (plan, topic) = (id(&made), desk.topic("t"));
    let added = desk.call("topicplan-add-put", &[&plan, &topic]).ok();
    assert_eq!(order(&added), ["t"]);
    let removed = desk.call("topicplan-topic-delete", &[&plan, &topic]).ok();
    assert_eq!((&removed["items"], &removed["info"]["id"]), (&json!([]), &json!(plan)));

    let small = desk.plan("small");
    let body = json!({ "name": "large", "folder": desk.folder, "attributes": much });
    let large = id(&desk.call("topic-post", &[]).json(&body).ok());
    let added = desk.call("topicplan-add-put", &[&small, &large]).ok();
    assert_eq!(order(&added), ["large"]);
    assert_eq!(desk.planned(&small), ["large"]);
}

#[test]
fn a_topic_that_many_move_at_once_is_in_one_plan_then() {
    let desk = Desk::new();
    let plans = ["monday", "tuesday", "third"].map(|name| desk.plan(name));
    let topics = ["a", "b"].map(|name| desk.topic(name));
    for round in 0..20 {
        std::thread::scope(|scope| {
            for client in 0..4 {
                let (desk, plan) = (&desk, &plans[(round + client) % 3]);
                let sources = [&*topics[client % 2], &*topics[(client + 1) % 2]];
                scope.spawn(move || desk.move_into(&sources, plan, Some(0)).ok());
            }
        });
        let mut all = plans.iter().flat_map(|plan| desk.planned(plan)).collect::<Vec<_>>();
        all.sort();
        assert_eq!(all, ["a", "b"], "round {round}");
    }
}

#[test]
fn replies_about_a_plan_are_consistent_while_topics_are_discarded() {
    let desk = Desk::new();
    let plan = desk.plan("plan");
    let topics: Vec<String> = (0..30).map(|number| desk.topic(&number.to_string())).collect();
    for topic in &topics {
        desk.call("topicplan-add-put", &[&plan, topic]).ok();
    }
    let is_over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..60 {
                desk.discard(&topics[29]);
                desk.restore(&topics[29]);
            }
            is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        });
        while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
            let read = desk.read_plan(&plan).ok();
            // Positions are dense, too.
            assert_eq!(read["info"]["count"], order(&read).len());
        }
    });
}

#[test]
fn topics_and_plans_are_read_in_parts() {
    let desk = Desk::new();
    let (plan, topic) = (desk.plan("plan"), desk.topic("topic"));
    for name in ["a", "b", "c"] {
        desk.item(&topic, json!({ "name": name }));
        desk.call("topicplan-add-put", &[&plan, &desk.topic(name)]).ok();
    }
    desk.divider(&topic, json!({ "title": "d", "position": 0 }));
    desk.call("topicplan-divider-post", &[&plan]).json(&json!({ "title": "d", "position": 0 })).ok();
    for read in [desk.read(&topic), desk.read_plan(&plan)] {
        let part = read.clone().query("limit", 1).query("offset", 1).ok();
        includes(&part, &json!({ "info": { "count": 3 }, "total": 3, "dividers": [{ "position": 0 }] }));
        let items: Vec<_> = part["items"].as_array().expect("there is a list").iter().collect();
        assert_eq!(items.len(), 1);
        includes(items[0], &json!({ "info": { "name": "b" }, "position": 2 }));
        let tag = |limit: u64| read.clone().query("limit", limit).send().header("etag").map(str::to_owned);
        assert_ne!(tag(1), tag(2), "another part has another tag");
    }
    for structure in [desk.call("topic-structure-get", &[&topic]), desk.call("topicplan-structure-get", &[&plan])] {
        let whole = structure.ok();
        let part = structure.clone().query("limit", 2).query("offset", 1).ok();
        assert_eq!((&whole["total"], &part["total"]), (&json!(4), &json!(4)));
        assert_eq!(part["items"].as_array(), whole["items"].as_array().map(|all| all[1..3].to_vec()).as_ref());
        assert_eq!(structure.ok(), whole, "a part is not kept for the whole");
    }
}
