//! Workflow statuses: docs/api/objects.md, "Changing the status"; docs/api/configuration.md,
//! "Workflows".

mod changes;
mod closed;
mod other_ways;
mod race;
mod rules;

use serde_json::{Value, json};

use crate::harness::*;

/// A folder of its own on the server that tests share, and an editor who works in it.
struct Desk {
    folder: String,
    editor: Client,
}

impl Desk {
    fn new() -> Desk {
        Desk::at(Server::shared())
    }

    fn at(server: &Server) -> Desk {
        Desk { folder: own_folder(), editor: server.user("editor") }
    }

    /// Makes a topic, a plan or a drawer by the call with that id.
    fn container(&self, call: &str, name: &str) -> String {
        let body = json!({ "name": name, "folderPath": self.folder });
        id(&self.editor.call(call, &[]).json(&body).ok())
    }

    /// Creates an object of a type, and returns its loid.
    fn object(&self, name: &str, kind: &str) -> String {
        let options = json!({ "name": name, "folderPath": self.folder, "type": kind });
        let files = [("content", name, "text/xml", &b"<a/>"[..])];
        id(&self.editor.call("stet-object-create-post", &[]).form(&options, &files).ok())
    }

    fn story(&self, name: &str) -> String {
        self.object(name, "Story")
    }

    fn item(&self, topic: &str, name: &str) -> String {
        id(&self.editor.call("topicitem-post", &[&topic]).json(&json!({ "name": name })).ok())
    }
}

/// The change of an object's status.
fn set<'c>(client: &'c Client, source: &str, status: &str) -> Call<'c> {
    client.call("stet-object-status-post", &[&source]).json(&json!({ "status": status }))
}

fn record(client: &Client, object: &str) -> Value {
    client.call("object-get", &[&object]).ok()
}

fn status_of(client: &Client, object: &str) -> Value {
    record(client, object)["statusInfo"]["name"].clone()
}

/// The changes of an object's status in the audit trail, oldest first, as `from>to`.
fn steps(object: &str) -> Vec<String> {
    steps_on(&Server::shared().user("admin"), object)
}

fn steps_on(admin: &Client, object: &str) -> Vec<String> {
    let page = admin.call("stet-audit-get", &[]).query("object", object).ok();
    let entries = page["items"].as_array().expect("a page has items").iter().rev();
    let steps = entries.filter(|entry| entry["action"] == "object.status");
    let name = |status: &Value| status.as_str().unwrap_or("none").to_owned();
    steps.map(|entry| format!("{}>{}", name(&entry["from"]), name(&entry["to"]))).collect()
}

/// The id that a reply names: of the record, or of what stands in `info`.
fn id(reply: &Value) -> String {
    reply["info"]["id"].as_str().or(reply["id"].as_str()).expect("a reply names an id").to_owned()
}
