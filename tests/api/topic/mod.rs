//! `/v3/container/topic` and `/v3/container/topicplan`: docs/api/topics.md,
//! docs/api/topic-plans.md.

use std::fmt::Display;

use serde_json::{Value, json};

use super::endpoints::cases::{Kind, Made, Part, Planned, cases, new_in, word};
use crate::harness::*;

mod addresses;
mod attachments;
mod bulk;
mod correlates;
mod creation;
mod export;
mod items;
mod moves;
mod plans;
mod rights;

const TEMPLATE: &str = "/SysConfig/Product/Shared/Templates/Default/topic";
const PLAN_TEMPLATE: &str = "/SysConfig/Product/Shared/Templates/Default/topicplan";

/// A planning desk: a folder of its own, and an editor who makes topics and plans in it.
struct Desk {
    folder: String,
    editor: Client,
}

impl Desk {
    fn new() -> Desk {
        Desk { folder: own_folder(), editor: Server::shared().user("editor") }
    }

    fn call(&self, id: &str, path: &[&dyn Display]) -> Call<'_> {
        self.editor.call(id, path)
    }

    fn topic(&self, name: &str) -> String {
        let body = json!({ "name": name, "folder": self.folder });
        id(&self.call("topic-post", &[]).json(&body).ok())
    }

    fn plan(&self, name: &str) -> String {
        let body = json!({ "name": name, "folder": self.folder });
        id(&self.call("topicplan-post", &[]).json(&body).ok())
    }

    fn story(&self, name: &str) -> String {
        self.editor.story(&self.folder, name)
    }

    fn item(&self, topic: &str, body: Value) -> String {
        id(&self.call("topicitem-post", &[&topic]).json(&body).ok())
    }

    fn subitem(&self, topic: &str, item: &str, body: Value) -> String {
        id(&self.call("topicsubitem-post", &[&topic, &item]).json(&body).ok())
    }

    fn divider(&self, topic: &str, body: Value) -> String {
        id(&self.call("topic-divider-post", &[&topic]).json(&body).ok())
    }

    fn read(&self, topic: &str) -> Call<'_> {
        self.call("topic-get", &[&topic])
    }

    fn read_plan(&self, plan: &str) -> Call<'_> {
        self.call("topicplan-get", &[&plan])
    }

    /// Returns the lines of a topic or a plan as the editor sees them, subitems after their items.
    /// Items are names, dividers are titles in brackets.
    fn tree(&self, topic: &str) -> Vec<String> {
        self.tree_of(&self.editor, "topic-get", topic)
    }

    fn planned(&self, plan: &str) -> Vec<String> {
        order(&self.read_plan(plan).ok())
    }

    fn tree_of(&self, client: &Client, call: &str, container: &str) -> Vec<String> {
        let whole = client.call(call, &[&container]).query("limitToChildren", false).ok();
        let mut lines = order(&whole);
        for item in whole["items"].as_array().expect("there is a list") {
            let place = lines.iter().position(|line| *line == item["info"]["name"]).expect("it stands there");
            let below = order(item).into_iter().map(|line| format!("  {line}"));
            lines.splice(place + 1..place + 1, below);
        }
        lines
    }

    fn move_into(&self, sources: &[&str], target: &str, position: Option<i64>) -> Call<'_> {
        let body = json!({ "sources": sources, "target": target, "position": position });
        self.call("topic-move-put", &[]).json(&body)
    }

    fn discard(&self, object: &str) {
        self.call("objects-discard", &[]).json(&json!([object])).ok();
    }

    fn restore(&self, object: &str) {
        self.call("stet-object-restore-post", &[&object]).ok();
    }

    fn destroy(&self, object: &str) {
        self.call("objects-destroy", &[]).json(&json!([object])).ok();
    }
}

/// Returns the id in the `info` of a reply.
fn id(reply: &Value) -> String {
    reply["info"]["id"].as_str().expect("it has an id").to_owned()
}

/// Items and dividers of one order, as their positions say; those are dense.
#[track_caller]
fn order(reply: &Value) -> Vec<String> {
    let mut lines: Vec<(u64, String)> = Vec::new();
    for item in reply["items"].as_array().expect("there is a list of items") {
        let name = item["info"]["name"].as_str().expect("it has a name").to_owned();
        lines.push((item["position"].as_u64().expect("it has a position"), name));
    }
    for divider in reply["dividers"].as_array().expect("there is a list of dividers") {
        let title = divider["title"].as_str().expect("it has a title");
        lines.push((divider["position"].as_u64().expect("it has a position"), format!("[{title}]")));
    }
    lines.sort();
    let positions: Vec<u64> = lines.iter().map(|(position, _)| *position).collect();
    assert_eq!(positions, (0..lines.len() as u64).collect::<Vec<_>>(), "positions are dense");
    lines.into_iter().map(|(_, line)| line).collect()
}

cases! {
    "topic-get": |corner| Made::on([corner.planned().topic]);
    "topic-structure-get": |corner| Made::on([corner.planned().topic]);
    "topic-post": |corner| Made::default().json(new_in(corner));
    "topic-from-default-template-post": |corner| Made::default().json(new_in(corner));
    "topic-from-template-post": |corner| {
        Made::on([Part::Object(TEMPLATE.to_owned(), Kind::Template)]).json(new_in(corner))
    };
    "topic-put": |corner| Made::on([corner.topic()]).json(json!({ "title": "changed" }));
    "topicitem-post": |corner| Made::on([corner.topic()]).json(json!({ "name": "new" }));
    "topicitem-put": |corner| {
        let Planned { topic, item, .. } = corner.planned();
        Made::on([topic, item]).json(json!({ "comment": "changed" }))
    };
    "stet-topicitems-delete": |corner| {
        let Planned { topic, item, .. } = corner.planned();
        let second = id(&corner.client.call("topicitem-post", &[&topic]).json(&json!({ "name": "c" })).ok());
        Made::on([topic]).json(json!({ "sources": [item.to_string(), second] })).once()
    };
    "topicitem-delete": |corner| {
        let Planned { topic, item, .. } = corner.planned();
        Made::on([topic, item])
    };
    "topicitem-attach-put": |corner| {
        let Planned { topic, item, .. } = corner.planned();
        Made::on([topic, item, corner.story()])
    };
    "topicsubitem-post": |corner| {
        let Planned { topic, item, .. } = corner.planned();
        Made::on([topic, item]).json(json!({ "name": "new" }))
    };
    "topicsubitem-put": |corner| {
        let Planned { topic, item, subitem, .. } = corner.planned();
        Made::on([topic, item, subitem]).json(json!({ "comment": "changed" }))
    };
    "topicsubitem-delete": |corner| {
        let Planned { topic, item, subitem, .. } = corner.planned();
        Made::on([topic, item, subitem])
    };
    "topicsubitem-attach-put": |corner| {
        let Planned { topic, item, subitem, .. } = corner.planned();
        Made::on([topic, item, subitem, corner.story()])
    };
    "topic-divider-post": |corner| Made::on([corner.topic()]).json(json!({ "title": "new" }));
    "topic-divider-put": |corner| {
        let Planned { topic, divider, .. } = corner.planned();
        Made::on([topic, divider]).json(json!({ "title": "changed" }))
    };
    "topic-divider-delete": |corner| {
        let Planned { topic, divider, .. } = corner.planned();
        Made::on([topic, divider]).once()
    };
    "topicitem-divider-post": |corner| {
        let Planned { topic, item, .. } = corner.planned();
        Made::on([topic, item]).json(json!({ "title": "new" }))
    };
    "topicitem-divider-put": |corner| {
        let Planned { topic, item, below, .. } = corner.planned();
        Made::on([topic, item, below]).json(json!({ "title": "changed" }))
    };
    "topicitem-divider-delete": |corner| {
        let Planned { topic, item, below, .. } = corner.planned();
        Made::on([topic, item, below])
    };
    "topic-move-put": |corner| {
        let (from, to) = (corner.planned(), corner.topic());
        Made::default().json(json!({ "sources": [from.item.to_string()], "target": to.to_string() }))
    };
    "stet-topic-export-get": |corner| Made::on([corner.planned().topic, word("ics")]);
    "topicplan-get": |corner| Made::on([corner.filled_plan()[0].clone()]);
    "topicplan-structure-get": |corner| Made::on([corner.filled_plan()[0].clone()]);
    "stet-topicplan-export-get": |corner| Made::on([corner.filled_plan()[0].clone(), word("csv")]);
    "topicplan-post": |corner| Made::default().json(new_in(corner));
    "topicplan-from-default-template-post": |corner| Made::default().json(new_in(corner));
    "topicplan-from-template-post": |corner| {
        Made::on([Part::Object(PLAN_TEMPLATE.to_owned(), Kind::Template)]).json(new_in(corner))
    };
    "topicplan-add-put": |corner| Made::on([corner.plan(), corner.topic().with_kind(Kind::Any)]);
    "topicplan-topic-delete": |corner| {
        let [plan, topic, _] = corner.filled_plan();
        Made::on([plan, topic])
    };
    "topicplan-divider-post": |corner| Made::on([corner.plan()]).json(json!({ "title": "new" }));
    "topicplan-divider-put": |corner| {
        let [plan, _, divider] = corner.filled_plan();
        Made::on([plan, divider]).json(json!({ "title": "changed" }))
    };
    "topicplan-divider-delete": |corner| {
        let [plan, _, divider] = corner.filled_plan();
        Made::on([plan, divider]).once()
    };
}
