//! Items, subitems and dividers.

use super::*;

#[test]
fn items_and_dividers_share_one_order_in_the_topic_and_below_each_item() {
    let desk = Desk::new();
    let topic = desk.topic("topic");
    let a = desk.item(&topic, json!({ "name": "a" }));
    let divider = desk.divider(&topic, json!({ "title": "d", "position": 0 }));
    desk.item(&topic, json!({ "name": "b", "position": 1 }));
    desk.subitem(&topic, &a, json!({ "name": "x" }));
    let below = desk.call("topicitem-divider-post", &[&topic, &a]).json(&json!({ "title": "e", "position": 0 }));
    let below = id(&below.ok());
    let y = desk.subitem(&topic, &a, json!({ "name": "y", "position": -1 }));
    assert_eq!(desk.tree(&topic), ["[d]", "b", "a", "  [e]", "  x", "  y"]);

    desk.call("topicitem-put", &[&topic, &a]).json(&json!({ "position": 0 })).gives(&json!({ "position": 0 }));
    desk.call("topicsubitem-put", &[&topic, &a, &y]).json(&json!({ "position": 1 })).gives(&json!({ "position": 1 }));
    let moved = json!({ "title": "f", "position": 99 });
    desk.call("topicitem-divider-put", &[&topic, &a, &below])
        .json(&moved)
        .gives(&json!({ "info": { "id": below, "title": "f", "position": 2 } }));
    desk.call("topic-divider-put", &[&topic, &divider]).json(&json!({ "position": -1 })).ok();
    assert_eq!(desk.tree(&topic), ["a", "  y", "  x", "  [f]", "b", "[d]"]);
    desk.call("topicitem-put", &[&topic, &a]).json(&json!({ "position": -2 })).fails(400, "InvalidParameter");

    // Without what stands below them.
    let children = desk.read(&topic).ok();
    assert_eq!((&children["items"][0]["items"], &children["items"][0]["dividers"]), (&json!([]), &json!([])));
    assert_eq!(children["info"]["count"], 2);

    // What stands below an item is none of the topic's, nor another item's.
    desk.call("topic-divider-delete", &[&topic, &below]).fails(404, "ObjectNotFound");
    desk.call("topicitem-delete", &[&topic, &y]).fails(404, "ObjectNotFound");
    let removed = desk.call("topicitem-divider-delete", &[&topic, &a, &below]).ok();
    assert_eq!(removed, json!({ "info": { "id": below } }));
    desk.call("topicsubitem-delete", &[&topic, &a, &y]).gives(&json!({ "info": { "id": y } }));
    desk.call("topic-divider-delete", &[&topic, &divider]).ok();
    assert_eq!(desk.tree(&topic), ["a", "  x", "b"]);
    desk.call("topicitem-delete", &[&topic, &a]).ok();
    assert_eq!(desk.tree(&topic), ["b"]);
    desk.call("topicitem-delete", &[&topic, &a]).fails(404, "ObjectNotFound");
}

#[test]
fn an_item_has_all_that_is_said_of_it() {
    let desk = Desk::new();
    let topic = desk.topic("topic");
    let said = json!({
        "name": "Interview: \"Mayor\" | City", "contentType": "Story", "comment": "Ask about the bridge", "occupation": "writer",
        "priority": 1, "customPriority": "red", "product": "HarbourCourier", "edition": "Morning",
        "assignees": ["reporter", "Ada"], "dueDate": 1_763_740_000_u64,
        "attributes": { "plan": { "slug": "mayor" } }, "systemAttributes": "<props><a>1</a></props>",
    });
    let made = desk.call("topicitem-post", &[&topic]).json(&said).ok();
    includes(
        &made["info"],
        &json!({
            "name": "Interview: \"Mayor\" | City", "contentType": "Story", "comment": "Ask about the bridge", "occupation": "writer",
            "priority": 1, "customPriority": "red", "product": "HarbourCourier", "edition": "Morning",
            "assignees": ["reporter", "Ada"], "dueDate": 1_763_740_000_u64, "attributes": { "plan": { "slug": "mayor" } },
            "systemAttributes": { "props": { "a": "1" } }, "type": "TopicItem",
            "statusInfo": { "name": "Topic/Proposed" },
        }),
    );
    let item = id(&made);
    let read = desk.read(&topic).ok();
    assert_eq!(read["items"][0]["info"], made["info"]);
    let uuid = made["info"]["pstate"]["uuid"].as_str().expect("it has a uuid").to_owned();

    // The uuid works, too. Only named fields are changed.
    let update = desk.call("topicitem-put", &[&topic, &uuid]);
    let changed = update.clone().json(&json!({ "priority": "high", "dueDate": null, "status": "Topic/Accepted" })).ok();
    includes(&changed["info"], &json!({ "priority": "high", "dueDate": null, "comment": "Ask about the bridge" }));
    assert_eq!(changed["info"]["statusInfo"]["name"], "Topic/Accepted");
    let tag = desk.read(&topic).send().header("etag").map(str::to_owned);
    update.clone().json(&json!({ "priority": "high", "dueDate": null, "assignees": ["reporter", "Ada"] })).ok();
    assert_eq!(desk.read(&topic).send().header("etag").map(str::to_owned), tag, "the same again changes nothing");

    for (body, status, code) in [
        (json!({ "comment": "x".repeat(8193) }), 400, "InvalidParameter"),
        (json!({ "occupation": "x".repeat(256) }), 400, "InvalidParameter"),
        (json!({ "priority": [1] }), 400, "InvalidBody"),
        (json!({ "dueDate": -1 }), 400, "InvalidBody"),
        (json!({ "dueDate": 253_402_300_800_u64 }), 400, "InvalidParameter"),
        (json!({ "name": ".." }), 400, "InvalidName"),
        (json!({ "assignees": vec!["x"; 101] }), 413, "TooLarge"),
        (json!({ "status": "Topic/Unheard" }), 404, "StatusNotFound"),
        (json!({ "status": "Story/Ready" }), 400, "InvalidStatus"),
        (json!({ "attributes": "<open>" }), 400, "InvalidAttributes"),
        (json!({ "systemAttributes": "<other/>" }), 400, "InvalidAttributes"),
    ] {
        update.clone().json(&body).fails(status, code);
    }
    desk.call("topicitem-post", &[&topic]).json(&json!({ "comment": "nameless" })).fails(400, "InvalidName");
    assert_eq!(desk.read(&topic).send().header("etag").map(str::to_owned), tag, "what is refused changes nothing");
    for unknown in ["1$1.0.999999999", "/no/item", &topic] {
        desk.call("topicitem-put", &[&topic, &unknown]).json(&json!({ "comment": "" })).fails(404, "ObjectNotFound");
    }
    desk.call("topicitem-put", &[&topic, &"no source"]).json(&json!({ "comment": "" })).fails(400, "InvalidParameter");
    let other = desk.topic("other");
    desk.call("topicitem-put", &[&other, &item]).json(&json!({ "comment": "" })).fails(404, "ObjectNotFound");
}

#[test]
fn a_structure_has_all_ids_in_order() {
    let desk = Desk::new();
    let topic = desk.topic("topic");
    let a = desk.item(&topic, json!({ "name": "a" }));
    let d = desk.divider(&topic, json!({ "title": "d" }));
    let x = desk.subitem(&topic, &a, json!({ "name": "x" }));
    let structure = desk.call("topic-structure-get", &[&topic]);
    let read = structure.ok();
    assert_eq!(
        read["items"],
        json!([{ "id": a, "kind": "item", "items": [{ "id": x, "kind": "item" }] }, { "id": d, "kind": "divider" }])
    );
    includes(&read["info"], &json!({ "id": topic, "count": 1 }));
    let tag = structure.send().header("etag").expect("it has a tag").to_owned();
    assert_eq!(structure.clone().header("if-none-match", &tag).send().status, 304);
    desk.call("topic-divider-put", &[&topic, &d]).json(&json!({ "position": 0 })).ok();
    assert_eq!(structure.header("if-none-match", &tag).ok()["items"][0]["id"], d);
}

#[test]
fn many_at_once_on_one_topic_lose_nothing_and_leave_dense_positions() {
    const CLIENTS: usize = 8;
    const EACH: usize = 12;
    let desk = Desk::new();
    let topic = desk.topic("topic");
    std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            let (desk, topic) = (&desk, &topic);
            scope.spawn(move || {
                for number in 0..EACH {
                    let position = (number % 3) as i64 - 1;
                    let name = format!("{client}-{number}");
                    let item = desk.item(topic, json!({ "name": name, "position": position }));
                    match number % 4 {
                        0 => drop(desk.divider(topic, json!({ "title": name, "position": 1 }))),
                        1 => drop(desk.call("topicitem-put", &[topic, &item]).json(&json!({ "position": 0 })).ok()),
                        2 => drop(desk.subitem(topic, &item, json!({ "name": name }))),
                        _ => drop(desk.call("topicitem-delete", &[topic, &item]).ok()),
                    }
                }
            });
        }
    });
    let tree = desk.tree(&topic);
    let of = |kind: fn(&&String) -> bool| tree.iter().filter(kind).count();
    assert_eq!(of(|line| line.starts_with('[')), CLIENTS * EACH / 4);
    assert_eq!(of(|line| line.starts_with("  ")), CLIENTS * EACH / 4);
    assert_eq!(of(|line| !line.starts_with(['[', ' '])), CLIENTS * EACH * 3 / 4);
}

/// A version's loid of an item must not change the item.
#[test]
fn the_loid_of_a_version_names_no_item() {
    let desk = Desk::new();
    let (topic, other, story) = (desk.topic("topic"), desk.topic("other"), desk.story("a.xml"));
    let item = desk.item(&topic, json!({ "name": "a" }));
    let below = desk.subitem(&topic, &item, json!({ "name": "x" }));
    let before = desk.read(&topic).query("limitToChildren", false).ok();
    for number in [1, 3] {
        let [version, version_below] = [&item, &below].map(|loid| loid.replacen(".0.", &format!(".{number}."), 1));
        let (named, body) = (json!({ "name": "b" }), json!({ "title": "d" }));
        for call in [
            desk.call("topicitem-put", &[&topic, &version]).json(&named),
            desk.call("topicitem-delete", &[&topic, &version]),
            desk.call("topicitem-attach-put", &[&topic, &version, &story]),
            desk.call("topicsubitem-post", &[&topic, &version]).json(&named),
            desk.call("topicsubitem-put", &[&topic, &item, &version_below]).json(&named),
            desk.call("topicsubitem-delete", &[&topic, &version, &below]),
            desk.call("topicitem-divider-post", &[&topic, &version]).json(&body),
            desk.move_into(&[&version], &other, None),
        ] {
            call.fails(400, "InvalidType");
        }
    }
    assert_eq!(desk.read(&topic).query("limitToChildren", false).ok(), before);
}

#[test]
fn item_has_the_day_and_the_work_folder_of_what_it_stands_in() {
    let desk = Desk::new();
    let body = json!({ "name": "t", "folder": desk.folder, "issueDate": "261127", "workFolder": "/News/City" });
    let topic = id(&desk.call("topic-post", &[]).json(&body).ok());
    let add = |body: Value| desk.call("topicitem-post", &[&topic]).json(&body).ok();
    let plain = add(json!({ "name": "plain" }));
    includes(&plain["info"], &json!({ "issueDate": "20261127", "workFolder": "/News/City" }));
    let own = add(json!({ "name": "own", "issueDate": "20261128", "workFolder": "/News/Sport" }));
    includes(&own["info"], &json!({ "issueDate": "20261128", "workFolder": "/News/Sport" }));
    let props = json!({ "props": { "workFolder": "/News/World", "productInfo": { "issueDate": "20261129" } } });
    let system = add(json!({ "name": "system", "systemAttributes": props }));
    includes(&system["info"], &json!({ "issueDate": "20261129", "workFolder": "/News/World" }));
    let below = desk.call("topicsubitem-post", &[&topic, &id(&own)]).json(&json!({ "name": "below" })).ok();
    includes(&below["info"], &json!({ "issueDate": "20261128", "workFolder": "/News/Sport" }));
    let put = |body: Value| desk.call("topicitem-put", &[&topic, &id(&plain)]).json(&body).ok();
    includes(&put(json!({ "comment": "c" }))["info"], &json!({ "issueDate": "20261127" }));
    includes(
        &put(json!({ "issueDate": "20261201" }))["info"],
        &json!({ "issueDate": "20261201", "workFolder": "/News/City" }),
    );
    let shown = desk.read(&topic).query("limitToChildren", false).ok();
    includes(&shown["items"][1]["items"][0]["info"], &json!({ "workFolder": "/News/Sport" }));
    let wrong = json!({ "name": "x", "issueDate": "tomorrow" });
    desk.call("topicitem-post", &[&topic]).json(&wrong).fails(400, "InvalidParameter");
    // Made from this topic as a template, items are of the new topic's day.
    let body = json!({ "name": "next", "folder": desk.folder, "issueDate": "20261204", "workFolder": "/News/Sport" });
    let next = id(&desk.call("topic-from-template-post", &[&topic]).json(&body).ok());
    let shown = desk.read(&next).ok();
    for item in shown["items"].as_array().expect("it has items") {
        assert_eq!(item["info"]["issueDate"], "20261204");
    }
}
