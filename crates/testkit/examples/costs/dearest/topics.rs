//! The requests on topics and topic plans.

use serde_json::json;

use super::{Dearest, compressed, shown};
use crate::fixture::{By, FOLDER, Fixture, LARGE_TEXT, id_in_info, line};
use crate::texts::attributes;
use crate::wire::Request;

/// Returns the most expensive requests of an endpoint of topics. Most of their cost is reading a
/// large topic.
pub fn dearest(id: &str, fixture: &Fixture) -> Option<Vec<Dearest>> {
    if let Some(of_plan) = plans(id, fixture) {
        return Some(of_plan);
    }
    let on_topic = |id: &str| Request::new(id, &[&fixture.topic()]);
    let one = |dearest| Some(vec![dearest]);
    match id {
        "topic-get" => Some(vec![
            Dearest::repeated(
                "largest topic with all below its items, br",
                compressed(shown(on_topic(id).query("limitToChildren", false))),
            ),
            Dearest::repeated("one item of the largest topic", on_topic(id).query("limit", 1)),
            Dearest::in_turn("one item of each of 30 large topics", {
                fixture.topics().iter().map(|topic| Request::new(id, &[topic]).query("limit", 1)).collect()
            }),
        ]),
        "topic-structure-get" => one(Dearest::repeated("structure of the largest topic, br", compressed(on_topic(id)))),
        "stet-topic-export-get" => Some(exports(id, fixture)),
        "topic-post" => one(Dearest::repeated(
            "topic with nearly 4 MB of attributes",
            Request::new(id, &[]).json(&json!({
                "name": fixture.name(), "folderPath": FOLDER, "createMode": "AUTO_RENAME",
                "attributes": attributes(LARGE_TEXT, 1),
            })),
        )),
        "topic-from-default-template-post" => one(Dearest::repeated(
            "topic with nearly 4 MB of attributes",
            Request::new(id, &[]).json(&json!({
                "name": fixture.name(), "folderPath": FOLDER, "createMode": "AUTO_RENAME",
                "attributes": attributes(LARGE_TEXT, 2),
            })),
        )),
        "topic-from-template-post" => Some(vec![
            Dearest::repeated("topic from the largest template", fixture.topic_from(fixture.template())),
            Dearest::repeated("topic from a template that is too large", fixture.topic_from(fixture.topic())),
        ]),
        "topic-put" => {
            let titles = ["a", "b"].map(|title| on_topic(id).json(&json!({ "title": title })));
            one(Dearest::in_turn("title of the largest topic", titles.into()))
        }
        "topic-move-put" => one(moved(fixture)),
        "topicitem-post" => one(Dearest::repeated("item with nearly 4 MB of attributes", {
            let topic = fixture.empty_topic();
            Request::new(id, &[&topic]).json(&json!({ "name": "a", "attributes": attributes(LARGE_TEXT, 3) }))
        })),
        "stet-topicitems-delete" => {
            let topic = fixture.empty_topic();
            let add = |number| Request::new("topicitem-post", &[&topic]).json(&line(number, 7800));
            let items: Vec<String> = fixture.build(By::Reporter, 1000, add).iter().map(id_in_info).collect();
            let request = Request::new(id, &[&topic]).json(&json!({ "sources": items }));
            one(Dearest::once("1,000 large items", request))
        }
        _ if id.starts_with("topic") => one(of_items(id, fixture)),
        _ => None,
    }
}

fn exports(id: &str, fixture: &Fixture) -> Vec<Dearest> {
    let mut all: Vec<_> = ["gzip", "zstd", "br"]
        .iter()
        .map(|coding| {
            let export = Request::new(id, &[&fixture.template(), &"csv"]).header("accept-encoding", coding);
            Dearest::repeated(&format!("table of 1,000 large items, {coding}"), export)
        })
        .collect();
    let whole = Request::new(id, &[&fixture.topic(), &"ics"]).query("as", "todos,events");
    all.push(Dearest::repeated("calendar of the largest topic, br", compressed(whole)));
    all
}

/// Returns a move of items that take 15 MB, and the move back.
fn moved(fixture: &Fixture) -> Dearest {
    let (from, to) = (fixture.empty_topic(), fixture.empty_topic());
    let made =
        fixture.build(By::Reporter, 330, |number| Request::new("topicitem-post", &[&from]).json(&line(number, 7800)));
    let items: Vec<String> = made.iter().map(id_in_info).collect();
    let there = [&to, &from].map(|target| {
        Request::new("topic-move-put", &[]).json(&json!({ "sources": items, "target": target, "position": 0 }))
    });
    Dearest::in_turn("15 MB of items to another topic", there.into())
}

/// Returns a call on an item, subitem or divider of a topic as large as its template.
fn of_items(id: &str, fixture: &Fixture) -> Dearest {
    let topic = fixture.large_topics(1, FOLDER).remove(0);
    let create = |id: &str, path: &[&dyn std::fmt::Display], body: serde_json::Value| {
        id_in_info(&fixture.result(By::Reporter, &Request::new(id, path).json(&body)))
    };
    let item = create("topicitem-post", &[&topic], json!({ "name": "item" }));
    let subitem = create("topicsubitem-post", &[&topic, &item], json!({ "name": "subitem" }));
    let divider = create("topic-divider-post", &[&topic], json!({ "title": "d" }));
    let below = create("topicitem-divider-post", &[&topic, &item], json!({ "title": "d" }));
    let path: Vec<&dyn std::fmt::Display> = stet_testkit::Endpoint::of(id)
        .parameters()
        .map(|name| match name {
            "topic" => &topic as _,
            "topicItem" => &item as _,
            "topicSubItem" => &subitem as _,
            "divider" if id.starts_with("topicitem") => &below as _,
            "divider" => &divider as _,
            _ => &fixture.heavy()[0] as _,
        })
        .collect();
    let request = Request::new(id, &path);
    match id {
        "topicitem-put" | "topicsubitem-put" => Dearest::in_turn(
            "nearly 4 MB of attributes of an item of a large topic",
            [1, 2].map(|seed| request.clone().json(&json!({ "attributes": attributes(LARGE_TEXT, seed) }))).into(),
        ),
        "topicsubitem-post" => Dearest::repeated(
            "subitem with nearly 4 MB of attributes in a large topic",
            request.json(&json!({ "name": "a", "attributes": attributes(LARGE_TEXT, 4) })),
        ),
        "topicitem-attach-put" | "topicsubitem-attach-put" => {
            Dearest::repeated("object with nearly 4 MB of attributes", request.query("showAttachment", true))
        }
        "topic-divider-post" | "topicitem-divider-post" => {
            Dearest::repeated("divider in a large topic", request.json(&json!({ "title": "d".repeat(1024) })))
        }
        "topic-divider-put" | "topicitem-divider-put" => Dearest::in_turn(
            "divider of a large topic",
            ["a", "b"].map(|title| request.clone().json(&json!({ "title": title.repeat(1024) }))).into(),
        ),
        _ => Dearest::once("part of a large topic", request),
    }
}

fn plans(id: &str, fixture: &Fixture) -> Option<Vec<Dearest>> {
    let on_plan = |id: &str| Request::new(id, &[&fixture.plan()]);
    let new = |seed| {
        json!({
            "name": fixture.name(), "folderPath": FOLDER, "createMode": "AUTO_RENAME",
            "attributes": attributes(LARGE_TEXT, seed),
        })
    };
    let dearest = match id {
        "topicplan-get" => Dearest::repeated(
            "plan of 30 large topics with all that is in them, br",
            compressed(shown(on_plan(id).query("limitToChildren", false))),
        ),
        "topicplan-structure-get" => Dearest::repeated("structure of the plan", compressed(on_plan(id))),
        "stet-topicplan-export-get" => {
            let export = Request::new(id, &[&fixture.plan(), &"csv"]).header("accept-encoding", "gzip");
            Dearest::repeated("table of 30 large topics, gzip", export)
        }
        "topicplan-post" | "topicplan-from-default-template-post" => {
            Dearest::repeated("plan with nearly 4 MB of attributes", Request::new(id, &[]).json(&new(1)))
        }
        "topicplan-from-template-post" => {
            Dearest::repeated("plan with nearly 4 MB of attributes", Request::new(id, &[&fixture.plan()]).json(&new(2)))
        }
        "topicplan-add-put" => {
            let places = [0, 29].map(|position| {
                let topic = &fixture.topics()[0];
                Request::new(id, &[&fixture.plan(), topic]).json(&json!({ "position": position }))
            });
            Dearest::in_turn("large topic to another place", places.into())
        }
        "topicplan-topic-delete" => {
            let [plan, topic] = [fixture.plan(), &fixture.topics()[0]];
            Dearest::once("large topic", Request::new(id, &[&plan, &topic]))
                .undone_by(By::Reporter, Request::new("topicplan-add-put", &[&plan, &topic]))
        }
        "topicplan-divider-post" => {
            Dearest::repeated("divider in a plan", on_plan(id).json(&json!({ "title": "d".repeat(1024) })))
        }
        "topicplan-divider-put" | "topicplan-divider-delete" => {
            // The plan of large topics may be full of dividers by then.
            let plan = json!({ "name": fixture.name(), "folderPath": FOLDER });
            let plan = Request::new("topicplan-post", &[]).json(&plan);
            let plan = id_in_info(&fixture.result(By::Reporter, &plan));
            let divider = Request::new("topicplan-divider-post", &[&plan]).json(&json!({ "title": "d" }));
            let divider = id_in_info(&fixture.result(By::Reporter, &divider));
            let request = Request::new(id, &[&plan, &divider]);
            if id.ends_with("delete") {
                Dearest::once("divider of a plan", request)
            } else {
                let titles = ["a", "b"].map(|title| request.clone().json(&json!({ "title": title.repeat(1024) })));
                Dearest::in_turn("divider of a plan", titles.into())
            }
        }
        _ => return None,
    };
    Some(vec![dearest])
}
