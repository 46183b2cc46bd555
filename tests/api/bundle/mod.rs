//! `/v3/bundle`, `/v3/container/bundle`, `/v3/container/web`, and the opening of containers

mod copies;
mod following;
mod lists;
mod opening;
mod web;

use serde_json::{Value, json};

use super::endpoints::cases::{Kind, Made, cases, list, word};
use crate::harness::*;

/// A client with a folder of its own.
pub(super) struct Desk {
    pub client: Client,
    pub folder: String,
}

impl std::ops::Deref for Desk {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

impl Desk {
    pub fn of(user: &str) -> Desk {
        Desk { client: Server::shared().user(user), folder: own_folder() }
    }

    /// Creates an object of a type with that content, and returns its loid.
    pub fn make(&self, kind: &str, name: &str, content: impl AsRef<[u8]>) -> String {
        let options = json!({ "name": name, "type": kind, "folderPath": self.folder });
        let file = ("content", name, "text/xml", content.as_ref());
        id(&self.call("stet-object-create-post", &[]).form(&options, &[file]).ok())
    }

    fn bundle(&self, name: &str) -> String {
        self.make("EOM::CompoundStory", name, "<story>1</story>")
    }
}

fn id(record: &Value) -> String {
    record["id"].as_str().expect("a record has an id").to_owned()
}

fn copy<'c>(client: &'c Client, bundle: &str, channel: &str, inherit_from: Option<&str>) -> Call<'c> {
    let body = json!({ "channel": channel, "inheritFrom": inherit_from });
    client.call("container-bundle-channelcopy-post", &[&bundle]).json(&body)
}

fn record(client: &Client, object: &str) -> Value {
    client.call("object-get", &[&object]).ok()
}

pub(super) fn content(client: &Client, object: &str) -> String {
    let answer = client.call("stet-object-content-get", &[&object]).send();
    assert_eq!(answer.status, 200, "{answer:?}");
    String::from_utf8(answer.body).expect("it is a text")
}

fn write<'c>(client: &'c Client, object: &str, text: &str) -> Call<'c> {
    client.call("stet-object-content-put", &[&object]).bytes("text/xml", text)
}

fn names(reply: &Value) -> Vec<&str> {
    let items = reply["items"].as_array().expect("a reply has items").iter();
    items.map(|item| item["name"].as_str().expect("an item has a name")).collect()
}

cases! {
    "bundle-root-get": |corner| Made::on([corner.bundle()[1].with_kind(Kind::Only("bundle"))]);
    "bundle-items-get": |corner| Made::on([corner.bundle()[0].clone()]);
    "bundle-view-get": |corner| Made::on([corner.bundle()[0].clone()]);
    "bundle-view-post": |corner| Made::on([corner.bundle()[0].clone()]);
    "bundle-view-named-get": |corner| Made::on([corner.bundle()[0].clone(), word("channels")]);
    "bundle-view-named-post": |corner| Made::on([corner.bundle()[0].clone(), word("channels")]);
    "bundle-recursive-get": |corner| Made::on([corner.bundle()[0].clone()]);
    "bundle-chain-get": |corner| Made::on([corner.bundle()[1].with_kind(Kind::Only("bundle"))]);
    "container-bundle-channelcopy-post": |corner| {
        Made::on([corner.bundle()[0].clone()]).json(json!({ "channel": "Tabloid", "inheritFrom": "Web" })).once()
    };
    "container-bundle-channelcopy-actions-get": |corner| Made::on([corner.bundle()[0].clone()]);
    "web-channelcopy-post": |corner| {
        Made::on([corner.web_container()]).json(json!({ "channel": "Tabloid", "inheritFrom": "Neutral" }))
    };
    "opendocument-source-post": |corner| Made::on([corner.bundle()[0].with_kind(Kind::Only("bundle or web container"))]);
    "opendocument-post": |corner| Made::default().json(json!({ "source": corner.web_container().to_string() }));
    "opendocuments-post": |corner| Made::default().json(list([&corner.bundle()[0]]));
}
