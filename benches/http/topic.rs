//! Topics by the number of their items, and reads of their structure beside a bare handler.

use serde_json::json;

use super::client::{Load, Target, drive};
use super::stet::Stet;
use super::{Plan, Requests, bare, ratio, report};

/// Items moved to places near the middle, within a topic and from it to itself by `move`, among 10
/// and among 10,000.
pub fn sizes(plan: &Plan) {
    let server = Stet::start("journal");
    for clients in [1, 8] {
        let topics = [10, 10_000].map(|items| (items, server.topic_of(&format!("{clients}-{items}"), items, clients)));
        let positioned = topics.each_ref().map(|(items, (topic, moved))| -> Requests {
            let path = |item: &String| format!("/v3/container/topic/{topic}/topicitem/{item}");
            let to = |item, place: usize| server.json("PUT", &path(item), &json!({ "position": place }));
            moved.iter().map(|item| vec![to(item, items / 2), to(item, items / 3)]).collect()
        });
        let moved = topics.each_ref().map(|(items, (topic, moved))| -> Requests {
            let to = |item: &String, place: usize| {
                let body = json!({ "sources": [item], "target": topic, "position": place });
                server.json("PUT", "/v3/container/topic/move", &body)
            };
            moved.iter().map(|item| vec![to(item, items / 2), to(item, items / 3)]).collect()
        });
        for (what, asked) in [("updates with a position", positioned), ("moves", moved)] {
            let mut rows: Vec<[Load; 2]> = Vec::new();
            for _ in 0..plan.rounds {
                rows.push([0, 1].map(|size| drive(&Target::new(&server.address), &asked[size], plan.length)));
            }
            println!("\nitems of a topic, {what}, {clients} clients:");
            report(&["10 items", "10,000 items"], &rows);
            ratio("cost at 10,000 items / at 10", &rows, |row| row[0].rate / row[1].rate);
        }
    }
}

/// The structure of a topic of 1,000 items, beside a bare handler that answers the same bytes.
pub fn structure(plan: &Plan) {
    let server = Stet::start("journal");
    let (topic, _) = server.topic_of("structure", 1000, 1);
    let request = server.request("GET", &format!("/v3/container/topic/{topic}/structure"), &[]);
    let body = server.body_of(&request);
    let bare = bare::Bare::start(&body, None);
    for clients in [16, 64] {
        let asked: Requests = vec![vec![request.clone()]; clients];
        let mut rows: Vec<[Load; 2]> = Vec::new();
        for _ in 0..plan.rounds {
            rows.push([
                drive(&Target::new(&server.address), &asked, plan.length),
                drive(&Target::new(&bare.address), &asked, plan.length),
            ]);
        }
        println!("\nthe structure of a topic of 1,000 items ({} bytes), {clients} clients, reads:", body.len());
        report(&["stet", "bare handler"], &rows);
        ratio("stet / bare handler", &rows, |row| row[0].rate / row[1].rate);
    }
}
